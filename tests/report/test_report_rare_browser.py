"""The report in a browser: the threshold of a rare class, shapes of columns, reasons."""

import json
from functools import cache

import numpy as np
import pytest
from models import credit_table
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import confusion_matrix, f1_score, precision_score, recall_score

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor
from neuralrules._charts._shapes import shown_range

SLOW = pytest.mark.slow


@cache
def case(name):
    """A fitted model of some kind, with its rows."""
    options = {"random_state": 0, "n_epochs": 10}
    if name == "classes":
        iris = load_iris(as_frame=True)
        X, y, model = iris.data, iris.target, NeuralRuleClassifier(**options)
    elif name in ("number", "counts"):
        X, y = load_diabetes(return_X_y=True, as_frame=True)
        loss = "squared" if name == "number" else "poisson"
        model = NeuralRuleRegressor(loss=loss, **options)
    else:
        X, y = credit_table(2500)
        X.loc[::10, "income"] = np.nan
        more = {"deep": {"deep": True}, "hinge": {"loss": "hinge"}, "rare": {}}[name]
        model = NeuralRuleClassifier(**more, **options)
    return model.fit(X, y), X, y


@pytest.fixture(scope="module")
def page_of(folder):
    @cache
    def write(name):
        model, X, y = case(name)
        return model.report(folder / f"{name}.html", X, y, n_examples=6)

    return write


def numbers(page):
    """The cells of the matrix, and what stands beside the slider."""
    cells = page.locator("#confusion tbody td b").all_inner_texts()
    facts = {
        name: page.locator(f"#now-{name}").inner_text()
        for name in ("precision", "recall", "f1", "flagged", "alarms")
    }
    return [int(cell.replace(",", "")) for cell in cells], facts


def percent(share):
    return f"{100 * share:.1f}\u202f%"


@pytest.mark.parametrize("name", ["rare", pytest.param("hinge", marks=SLOW)])
def test_the_slider_moves_the_matrix_and_its_numbers(page_of, visit, name):
    model, X, y = case(name)
    page = visit(page_of(name))
    scores = -model.decision_function(X) if name == "hinge" else model.predict_proba(X)[:, 0]
    slider, own = page.locator("#threshold"), model.predict(X) == "bad"
    start = int(slider.input_value())
    last = int(slider.get_attribute("max"))
    seen = set()
    for place in (start, 0, last // 3, last // 2, last - 3, last, start):
        slider.evaluate(
            "(node, place) => { node.value = place; node.dispatchEvent(new Event('input')); }",
            place,
        )
        cut = float(page.locator("#threshold-now").inner_text().replace("−", "-"))
        flagged = own if place == start else scores >= cut
        cells, facts = numbers(page)
        truth = y == "bad"
        matrix = confusion_matrix(~truth, ~flagged)  # bad comes first
        assert cells == matrix.ravel().tolist()
        if flagged.any():
            assert facts["precision"] == percent(precision_score(truth, flagged))
            assert float(facts["f1"]) == pytest.approx(f1_score(truth, flagged), abs=6e-4)
        assert facts["recall"] == percent(recall_score(truth, flagged))
        assert facts["flagged"] == percent(flagged.mean())
        shares = page.locator("#confusion tbody td small").all_inner_texts()
        assert [float(share.split()[0]) for share in shares] == pytest.approx(
            (100 * matrix / matrix.sum(axis=1, keepdims=True)).ravel().tolist(), abs=0.051
        )
        dot = page.locator("#gains-now")
        seen.add((dot.get_attribute("cx"), dot.get_attribute("cy")))
    assert len(seen) == 6
    assert page.locator("#threshold-reset").is_disabled()
    slider.press("ArrowRight")
    assert page.locator("#threshold-reset").is_enabled()
    page.locator("#threshold-reset").click()
    assert slider.input_value() == str(start)
    assert page.locator("#threshold-now").inner_text() == ("0.5" if name == "rare" else "0")


def test_the_gains_are_shares_of_rows_and_of_the_class(page_of, visit):
    model, X, y = case("rare")
    page = visit(page_of("rare"))
    chart = page.locator("svg.chart", has=page.locator("#gains-now"))
    data = json.loads(page.locator("#report-data").inner_text())["threshold"]
    corner = [chart.locator(".diagonal").get_attribute(key) for key in ("x1", "y1", "x2", "y2")]
    left, bottom, right, top = map(float, corner)
    scores, truth = model.predict_proba(X)[:, 0], y == "bad"
    for place in range(0, len(data["cuts"]), 9):
        if place == data["own"]:
            continue
        flagged = scores >= data["cuts"][place]
        x = (data["x"][place] - left) / (right - left)
        height = (data["y"][place] - bottom) / (top - bottom)
        assert x == pytest.approx(flagged.mean(), abs=1e-4)
        assert height == pytest.approx(flagged[truth].mean(), abs=1e-4)


DRAWN_SHAPES = """() => [...document.querySelectorAll("#shapes figure")].map((figure) => ({
    column: figure.dataset.column,
    n_lines: figure.querySelectorAll("path.line").length,
    dots: [...figure.querySelectorAll("circle.dot")].map(
        (dot) => [Number(dot.dataset.output), Number(dot.getAttribute("cy"))]),
    levels: [...figure.querySelectorAll(".levels tbody tr")].map(
        (row) => [row.querySelector("th").innerText.trim(), Number(row.dataset.outputs)]),
}))"""


@pytest.mark.parametrize(
    "name",
    [
        "rare",
        "classes",
        "number",
        *(pytest.param(n, marks=SLOW) for n in ("deep", "hinge", "counts")),
    ],
)
def test_shapes_are_drawn_as_the_model_says(page_of, visit, name):
    model, X, _ = case(name)
    figures = visit(page_of(name)).evaluate(DRAWN_SHAPES)
    assert len(figures) == min(len(model.fitted_.used_columns), 6)
    names = [figure["column"] for figure in figures]
    shapes = model.shapes(X, names, n_values=40, max_rows=1000, random_state=0)
    for figure, shape in zip(figures, shapes, strict=True):
        expected = model.fitted_.task.comparable(shape.outputs)
        if name in ("rare", "deep", "hinge"):
            expected = -expected  # the rare class is the first
        if figure["levels"]:
            assert dict(figure["levels"]) == pytest.approx(
                dict(zip(shape.values, expected[:, 0], strict=True)), abs=1e-9
            )
            continue
        assert figure["n_lines"] == expected.shape[1]
        drawn, heights = np.array(figure["dots"]).T
        low, high = shown_range(shape._levels)
        days = shape._levels.numbers
        kept = np.isnan(days) | ((days >= low) & (days <= high))
        np.testing.assert_allclose(drawn, expected[kept].T.ravel(), atol=1e-9)  # line by line
        # Higher outputs are drawn higher, in proportion.
        slope, constant = np.polyfit(drawn, heights, 1)
        assert slope < 0
        np.testing.assert_allclose(slope * drawn + constant, heights, atol=0.02)


@pytest.mark.parametrize(
    "name",
    ["rare", "classes", "number", *(pytest.param(n, marks=SLOW) for n in ("deep", "counts"))],
)
def test_reasons_are_those_of_the_model(page_of, visit, name):
    """Loaded rows have the model's sentences; those typed the same rules in the same order."""
    model, X, y = case(name)
    page = visit(page_of(name))
    adverse = None
    if hasattr(model, "classes_"):
        labels, counts = np.unique(y, return_counts=True)
        adverse = labels[np.flatnonzero(counts == counts.min())[-1]]
    rows = np.unique(np.linspace(0, len(X) - 1, 6).astype(int))
    told = model.reasons(X.iloc[rows], adverse=adverse)
    assert any(told.reasons)
    items = page.locator("#reasons li[data-rule]")
    for place, own in enumerate(told.reasons):
        page.locator("#example").select_option(str(place))
        assert items.all_inner_texts() == [" ".join(reason.text.split()) for reason in own]
        # The same row, once it counts as typed.
        page.evaluate(
            """() => { document.getElementById("example").value = "";
                document.querySelector("#what-if-form .input :is(input, select)")
                    .dispatchEvent(new Event("input", { bubbles: true })); }"""
        )
        assert [int(item.get_attribute("data-rule")) for item in items.all()] == [
            reason.rule for reason in own
        ]
        for item, reason in zip(items.all_inner_texts(), own, strict=True):
            # From the comparison on, both say the same.
            assert item.rpartition(": ")[2] == " ".join(reason.text.split()).rpartition(": ")[2]


def test_several_targets_have_no_reasons(folder, visit):
    X, y = load_diabetes(return_X_y=True)
    both = np.stack([y, -y], axis=1)
    model = NeuralRuleRegressor(random_state=0, n_epochs=3).fit(X, both)
    page = visit(model.report(folder / "two.html", X, both, n_examples=2))
    assert page.locator("#reasons").count() == 0
    assert page.locator("#shapes figure .key").first.inner_text().split("\n") == [
        "target 0",
        "target 1",
    ]


@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=SLOW)])
@pytest.mark.parametrize("name", ["rare", "classes", "number"])
def test_it_fits_the_screen(page_of, visit, name, width):
    page = visit(page_of(name), viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # No text of a chart lies over another or outside of its chart.
    charts = page.evaluate(
        """() => [...document.querySelectorAll("svg.chart")].map((chart) => ({
            width: chart.viewBox.baseVal.width,
            texts: [...chart.querySelectorAll("text")].map((node) => {
                const { x, y, width, height } = node.getBBox();
                return { text: node.textContent, x, y, right: x + width, bottom: y + height };
            }) }))"""
    )
    for drawn in charts:
        for i, a in enumerate(drawn["texts"]):
            assert a["x"] >= 0, a
            assert a["right"] <= drawn["width"], a
            for b in drawn["texts"][i + 1 :]:
                apart = a["right"] < b["x"] or b["right"] < a["x"]
                assert apart or a["bottom"] < b["y"] + 4 or b["bottom"] < a["y"] + 4, (a, b)


def test_weights_count_in_the_matrix(folder, visit):
    X, y = credit_table(600)
    model = NeuralRuleClassifier(random_state=0, n_epochs=3).fit(X, y)
    weight = np.where(y == "bad", 2.5, 1.0)
    page = visit(model.report(folder / "weighted.html", X, y, sample_weight=weight))
    cells = page.locator("#confusion tbody td b").all_inner_texts()
    shown = [float(cell.replace(",", "")) for cell in cells]
    matrix = confusion_matrix(y, model.predict(X), sample_weight=weight)
    assert shown == pytest.approx(matrix.ravel().tolist(), abs=0.051)


def test_the_rare_class_comes_first_everywhere(folder, visit):
    """Also where it is the second; and a column without a cell moves nothing."""
    _, X, y = case("rare")
    y = np.where(y == "bad", "no", "fine")
    model = NeuralRuleClassifier(random_state=0, n_epochs=3).fit(X, y)
    page = visit(model.report(folder / "empty.html", X.assign(income=np.nan), y))
    columns = page.locator("#shapes figure").evaluate_all(
        "(nodes) => nodes.map((node) => node.dataset.column)"
    )
    assert "late_payments" in columns
    assert "income" not in columns
    assert page.locator("#probabilities .name").all_inner_texts() == ["no", "fine"]
    assert page.locator("#filter-class option").all_inner_texts()[1:] == ["no", "fine"]
    heads = page.locator("#confusion thead .name, #confusion tbody .name")
    assert heads.all_inner_texts() == ["no", "fine", "no", "fine"]
    page.locator("#filter-class").select_option(label="no")
    shown = page.locator("#rules-table tbody tr:visible td.label .name").all_inner_texts()
    assert set(shown) == {"no"}


def test_printing_keeps_the_matrix_and_leaves_the_slider_out(page_of, visit):
    page = visit(page_of("rare"), viewport={"width": 720, "height": 1000})
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    assert not page.locator("#threshold").is_visible()
    assert page.locator("#threshold-now").is_visible()
    assert page.locator("#confusion").is_visible()
    assert page.locator("#shapes svg.chart").first.is_visible()


def test_rows_without_weight_do_not_count(folder, visit):
    model, X, y = case("rare")
    weight = (np.arange(len(y)) % 2 == 0).astype(float)
    page = visit(model.report(folder / "half.html", X, y, sample_weight=weight))
    cells, _ = numbers(page)
    half = weight > 0
    assert cells == confusion_matrix(y[half], model.predict(X[half])).ravel().tolist()
