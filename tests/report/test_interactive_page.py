"""The site's page of sliders: it scores as the model does, and lights the rules that fire."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.generators import LOANS
from neuralrules import NeuralRuleClassifier

sys.path.append(str(Path(__file__).resolve().parents[2] / "docs" / "_ext"))
from interactive_page import write_interactive

MOVE = """(rows) => rows.map((cells) => {
    cells.forEach((cell, place) => {
        const hole = document.getElementById(`hole-${place}`);
        if (hole) hole.checked = cell === null;
        if (cell !== null) document.getElementById(`input-${place}`).value = String(cell);
    });
    document.getElementById("input-0").dispatchEvent(new Event("input", { bubbles: true }));
    return {
        moved: cells.map((cell, place) =>
            cell === null ? null : Number(document.getElementById(`input-${place}`).value)),
        probabilities: JSON.parse(document.getElementById("prediction").dataset.probabilities),
        shown: document.getElementById("prediction").textContent,
        lit: [...document.querySelectorAll("li.on")].map((line) => Number(line.dataset.rule)),
        factors: [...document.querySelectorAll("li.on .does")].map((node) => node.textContent),
    };
})"""


@pytest.fixture(scope="module")
def loans():
    table = pd.read_csv(LOANS, parse_dates=["employed_since"])
    X, y = table.drop(columns=["outcome", "age", "region"]), table["outcome"]
    model = NeuralRuleClassifier(
        2, n_trees=16, max_terms=1, n_epochs=5, early_stopping=False, random_state=0
    )
    return model.fit(X, y), X


@pytest.fixture(scope="module")
def page_file(loans, folder):
    model, X = loans
    return write_interactive(model, X, folder / "interactive.html", "Loans")


def inputs_of(page):
    """Names of the columns, and the options of categories."""
    return page.evaluate(
        """() => [...document.querySelectorAll(".input")].map((box) => ({
            name: box.querySelector("label").textContent,
            options: [...box.querySelectorAll("option")].map((node) => node.textContent),
            hole: box.querySelector("[type=checkbox]") !== null,
        }))"""
    )


def random_cells(X, inputs, n_rows):
    """Values for the inputs, each from another row."""
    rng = np.random.RandomState(0)
    rows = []
    for _ in range(n_rows):
        cells = []
        for column in inputs:
            if column["options"]:
                cells.append(int(rng.randint(len(column["options"]) - 1)))
                continue
            cell = X[column["name"]].dropna().sample(random_state=rng).iloc[0]
            if isinstance(cell, pd.Timestamp):
                cell = (cell - pd.Timestamp(0)).days
            hole = column["hole"] and rng.rand() < 0.3
            cells.append(None if hole else float(cell))
        rows.append(cells)
    return rows


def as_row(X, inputs, cells):
    """What the sliders say, as a row of the table."""
    row = dict.fromkeys(X)
    for column, cell in zip(inputs, cells, strict=True):
        if column["options"]:
            option = column["options"][int(cell)]
            row[column["name"]] = None if option == "missing" else option
        elif column["name"] == "employed_since":
            row[column["name"]] = pd.Timestamp(0) + pd.Timedelta(days=cell)
        else:
            row[column["name"]] = np.nan if cell is None else cell
    return row


def test_sliders_score_as_the_model_does_and_light_the_rules_that_fire(loans, page_file, visit):
    model, X = loans
    page = visit(page_file)
    inputs = inputs_of(page)
    assert {"late_payments", "utilisation", "income", "employed_since"} <= {
        column["name"] for column in inputs
    }
    answers = page.evaluate(MOVE, random_cells(X, inputs, 40))
    rows = pd.DataFrame([as_row(X, inputs, answer["moved"]) for answer in answers])[list(X)]
    rows = rows.astype({"income": float, "employed_since": X["employed_since"].dtype})
    expected = model.predict_proba(rows)
    shown = np.array([answer["probabilities"] for answer in answers])
    np.testing.assert_allclose(shown, expected, atol=1e-6)
    assert len(np.unique(expected)) > 30  # the rows differ
    assert rows["income"].isna().any()

    explained = model.explain(rows)
    for number, answer in enumerate(answers):
        own = explained.rows == number
        assert sorted(answer["lit"]) == sorted(explained.rules[own])
        # Contributions are to the log odds of good, factors of the odds of bad.
        by_rule = dict(zip(explained.rules[own], explained.contributions[own, 0], strict=True))
        for rule, text in zip(answer["lit"], answer["factors"], strict=True):
            assert float(text[2:]) == pytest.approx(np.exp(-by_rule[rule]), rel=0.06)
        assert answer["shown"].endswith("for bad")
        assert float(answer["shown"].split()[0]) == pytest.approx(
            100 * expected[number, 0], abs=0.51
        )


def test_a_slider_is_moved_by_keys_and_all_go_back(page_file, visit):
    page = visit(page_file)
    before = page.locator("#prediction").get_attribute("data-probabilities")
    late = page.get_by_label("late_payments")
    late.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert late.input_value() == "4"
    assert page.locator("#prediction").get_attribute("data-probabilities") != before
    assert late.get_attribute("aria-valuetext") == "4"
    page.get_by_role("button", name="Back to the middle").click()
    assert page.locator("#prediction").get_attribute("data-probabilities") == before
    assert json.loads(before)[0] < 0.1  # a loan in the middle goes well


@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_fits_the_screen(page_file, visit, width):
    page = visit(page_file, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#prediction").is_visible()
    page.mouse.wheel(0, 3000)
    assert page.locator("#prediction").bounding_box()["y"] >= 0  # it stays in sight
