"""The report in a real browser: it sorts, filters, opens, predicts, and loads nothing."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from models import network_outputs, with_network
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from neuralrules import NeuralRuleClassifier, NeuralRuleClassifierCV, NeuralRuleRegressor
from neuralrules._charts._texts import short
from neuralrules._reading._conditions import cap
from neuralrules._reading._notation import number as exact
from neuralrules._reading._text import base_text, condition_texts, named_literals

LONG = "a_very_long_name_" * 12  # 204 letters without a place to break
HOSTILE = [
    "<script>alert(1)</script>",
    '"; DROP TABLE rules; --',
    "</script><img src=x onerror=alert(1)>",
    "{{7*7}}",
    LONG,
    "🦄 naïve ☃",
    "מחיר בשקלים",
    "\u202eright to left",
]


@pytest.fixture(scope="module")
def rare_frame(mixed_frame):
    """The mixed frame and a column with more categories than have indicators."""
    frame, y = mixed_frame
    rng = np.random.RandomState(1)
    rare = rng.rand(len(frame)) < 0.3
    codes = np.where(rare, rng.randint(62, 400, len(frame)), rng.randint(0, 62, len(frame)))
    frame = frame.assign(postcode=[f"P{code}" for code in codes])
    return frame, y ^ rare


def moved(model):
    """A model some of whose literals hold on every row, and some on none."""
    biases = model.network_.biases.copy()
    biases[::3] += 9
    biases[1::3] -= 9
    return with_network(model, replace(model.network_, biases=biases))


@pytest.fixture(scope="module")
def cases(rare_frame):
    """Fitted models with the table to take rows from."""
    rng = np.random.RandomState(0)
    X = rng.randn(300, 4)
    y = X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0
    iris = load_iris(as_frame=True)
    species = iris.target_names[iris.target]
    diabetes, progress = load_diabetes(return_X_y=True)
    both = np.stack([progress, 1000 - 2 * progress], axis=1)
    frame, labels = rare_frame
    classify = {"random_state": 0, "n_epochs": 20}
    return {
        "binary": (NeuralRuleClassifier.paper(4, **classify).fit(X, y), X, y),
        "iris": (
            NeuralRuleClassifier(n_trees=1, start="leaf", **classify).fit(iris.data, species),
            iris.data,
            species,
        ),
        "mean": (NeuralRuleClassifierCV([{}], cv=2, n_trees=2, **classify).fit(X, y), X, y),
        "hinge": (NeuralRuleClassifier(n_trees=3, loss="hinge", **classify).fit(X, y), X, y),
        "number": (
            NeuralRuleRegressor.paper(3, **classify).fit(diabetes, progress),
            diabetes,
            progress,
        ),
        "numbers": (
            NeuralRuleRegressor.paper(2, **classify).fit(diabetes, both),
            diabetes,
            both,
        ),
        "counts": (
            NeuralRuleRegressor.paper(3, loss="poisson", **classify).fit(diabetes, progress),
            diabetes,
            progress,
        ),
        "deep": (NeuralRuleClassifier.paper(4, deep=True, **classify).fit(X, y), X, y),
        "mixed": (
            NeuralRuleClassifier.paper(7, rule_source="forest", n_trees=3, **classify).fit(
                frame, labels
            ),
            frame,
            labels,
        ),
        "quantiles": (
            NeuralRuleClassifier(5, n_trees=2, scaling="quantile", **classify).fit(
                frame, labels
            ),
            frame,
            labels,
        ),
        "thresholds": (
            moved(
                NeuralRuleClassifier.paper(4, scaling="quantile", n_epochs=0).fit(frame, labels)
            ),
            frame,
            labels,
        ),
        "deep mixed": (
            NeuralRuleClassifier.paper(5, deep=True, **classify).fit(frame, labels),
            frame,
            labels,
        ),
    }


@pytest.fixture(scope="module")
def pages(cases, folder):
    return {
        name: model.report(folder / f"{name}.html", X, y, n_examples=20)
        for name, (model, X, y) in cases.items()
    }


def shuffled(X, seed, n=40):
    """Rows whose cells come from different rows, some of them missing or unknown."""
    rng = np.random.RandomState(seed)
    if isinstance(X, np.ndarray):
        rows = np.stack([rng.choice(column, n) for column in X.T], axis=1)
        rows *= rng.uniform(0.5, 3, rows.shape)
        rows[rng.rand(*rows.shape) < 0.1] = np.nan
        return rows
    rows = pd.concat(
        [X[name].sample(n, random_state=rng).reset_index(drop=True) for name in X], axis=1
    )
    for name in {"income", "age", "member", "city", "postcode", "code"} & set(X):
        if name in ("city", "postcode", "code"):
            rows[name] = rows[name].astype(object).mask(rng.rand(n) < 0.15, "never seen")
        rows[name] = rows[name].mask(rng.rand(n) < 0.15)
    if "income" in rows:
        rows.loc[:1, "income"] = [1e12, -1e12]  # far outside of the training rows
    return rows


def cells_of(page, X):
    """Rows of a table as values of the page's inputs, through its labels and options."""
    columns = page.evaluate(
        """() => [...document.querySelectorAll("#what-if-form .input")].map((box) => ({
            name: box.querySelector("label").textContent.trim(),
            options: [...box.querySelectorAll("option")].map((node) => node.textContent),
        }))"""
    )
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X).rename(columns="x{}".format)
    result = []
    for _, row in frame.iterrows():
        cells = []
        for column in columns:
            cell = row[column["name"]]
            if not column["options"]:
                cells.append(None if pd.isna(cell) else float(cell))
                continue
            text = "missing" if pd.isna(cell) else str(cell)
            known = text in column["options"]
            cells.append(column["options"].index(text if known else "another value"))
        result.append(cells)
    return result


TYPE_ROWS = """(rows) => rows.map((cells) => {
    cells.forEach((cell, place) => {
        const node = document.getElementById(`input-${place}`);
        node.value = cell === null ? "" : String(cell);
    });
    document.getElementById("input-0").dispatchEvent(new Event("input", { bubbles: true }));
    const answer = document.getElementById("prediction");
    return {
        decision: JSON.parse(answer.dataset.decision),
        probabilities: JSON.parse(answer.dataset.probabilities),
        numbers: JSON.parse(answer.dataset.numbers || "null"),
        label: answer.querySelector("b").textContent,
        parts: [...document.querySelectorAll("#contributions li")].map(
            (line) => [line.dataset.rule, Number(line.dataset.contribution)]),
        encoded: Array.from(window.neuralrules.encode(cells)),
    };
})"""


CLASSES_WITH_SHARES = ["binary", "iris", "deep", "mixed", "deep mixed", "quantiles", "mean"]
WITHOUT_START = ["binary", "deep", "mixed", "deep mixed", "thresholds"]


@pytest.mark.parametrize(
    "name",
    [
        *("binary", "iris", "mixed", "deep mixed", "quantiles", "mean"),
        *("hinge", "numbers", "counts"),
        pytest.param("deep", marks=pytest.mark.slow),
        pytest.param("number", marks=pytest.mark.slow),
    ],
)
def test_what_if_agrees_with_the_model(cases, pages, visit, name):
    model, X, _ = cases[name]
    rows = shuffled(X, seed=3)
    page = visit(pages[name])
    answers = page.evaluate(TYPE_ROWS, cells_of(page, rows))
    decisions = np.array([answer["decision"] for answer in answers])
    expected = network_outputs(model, rows)
    error = np.abs(decisions - expected) / np.maximum(1, np.abs(expected))
    assert error.max() < 1e-5
    assert len(np.unique(expected)) > 20  # the rows differ

    # Every encoded column is the encoder's, bit for bit.
    used = model.network_.without_unused_features().features
    encoded = np.array([answer["encoded"] for answer in answers])
    np.testing.assert_array_equal(encoded, model.encoder_.transform(rows)[:, used])

    if hasattr(model, "classes_"):
        assert [answer["label"] for answer in answers] == [
            str(label) for label in model.predict(rows).tolist()
        ]
    else:
        numbers = np.array([answer["numbers"] for answer in answers])
        predicted = model.predict(rows).reshape(numbers.shape)
        np.testing.assert_allclose(numbers, predicted, rtol=1e-4)
        link = "its exp is the prediction" in page.inner_text("#why-note")
        assert link == (name == "counts")
    if name in CLASSES_WITH_SHARES:
        probabilities = np.array([answer["probabilities"] for answer in answers])
        np.testing.assert_allclose(probabilities, model.predict_proba(rows), atol=1e-5)
    else:
        assert answers[0]["probabilities"] is None

    # The contributions listed are those of the rules that fire, and sum to the decision.
    explained = model.explain(rows)
    for number, answer in enumerate(answers):
        own = explained.rows == number
        shown = decisions[number].argmax() if name == "iris" else 0
        total = sum(part for _, part in answer["parts"])
        assert total == pytest.approx(decisions[number][shown], rel=1e-9, abs=1e-9)
        listed = {int(rule): part for rule, part in answer["parts"] if rule is not None}
        for rule, parts in zip(explained.rules[own], explained.contributions[own], strict=True):
            scale = max(1, abs(expected[number][shown]))
            assert abs(listed.get(rule, 0) - parts[shown]) < 1e-5 * scale
    # The start stands first, if there is one, then the rules by their contributions.
    sizes = [abs(part) for rule, part in answers[0]["parts"] if rule is not None]
    assert sizes == sorted(sizes, reverse=True)
    base = base_text(model.fitted_)
    assert bool(base) == (name not in WITHOUT_START)
    heads = [answer["parts"][0][0] for answer in answers]
    assert (heads == [None] * len(answers)) == bool(base)
    if base:
        first = page.locator("#contributions li").first
        assert first.locator(".who").inner_text() == "Start"
        assert first.locator(".what").inner_text() == base


def test_rare_and_missing_categories_were_tried(cases):
    encoder = cases["mixed"][0].encoder_
    features = cases["mixed"][0].network_.without_unused_features().features
    kinds = {
        (encoder.names[encoder.columns[i].source], encoder.columns[i].stored_as)
        for i in features
    }
    assert ("postcode", "rare") in kinds
    assert ("income", "missing") in kinds


def test_typing_loading_and_resetting(cases, pages, visit):
    model, X, y = cases["mixed"]
    page = visit(pages["mixed"])
    names = page.locator("#what-if-form .input label").all_inner_texts()
    income = page.get_by_label("income", exact=True)
    start = page.locator("#prediction").get_attribute("data-decision")
    assert income.input_value() == str(np.nanquantile(X["income"], 0.5, method="inverted_cdf"))

    def decision():
        return json.loads(page.locator("#prediction").get_attribute("data-decision"))[0]

    def expected(**changes):
        medians = {}
        for place, name in enumerate(names):
            node = page.locator(f"#input-{place}")
            value = node.evaluate(
                "(node) => node.selectedOptions?.[0].textContent ?? node.value"
            )
            medians[name] = None if value in ("", "missing") else value
        row = {name: medians.get(name, X[name].iloc[0]) for name in X} | changes
        for name in ("income", "children", "employed", "age", "member"):
            row[name] = np.nan if pd.isna(row[name]) else float(row[name])
        return model.decision_function(pd.DataFrame([row], columns=list(X)))[0]

    income.click()
    page.keyboard.press("Control+A")
    page.keyboard.type("61234.5")
    assert decision() == pytest.approx(expected(income=61234.5), abs=1e-5)
    income.fill("")
    assert decision() == pytest.approx(expected(income=np.nan), abs=1e-5)
    page.get_by_label("city", exact=True).select_option("missing")
    assert decision() == pytest.approx(expected(city=None), abs=1e-5)

    income.fill("1e30")
    assert page.locator("#prediction").inner_text() == "A marked value is not usable."
    assert income.get_attribute("aria-invalid") == "true"
    assert page.locator("#contributions li").count() == 0

    page.get_by_label("Load a row").select_option("3")
    row = int(np.linspace(0, len(X) - 1, 20)[3])
    assert decision() == pytest.approx(model.decision_function(X.iloc[[row]])[0], abs=1e-5)
    option = page.locator("#example option").nth(4).inner_text()
    assert option == f"row {row} (observed: {y[row]})"
    page.get_by_role("button", name="Reset").click()
    assert page.locator("#prediction").get_attribute("data-decision") == start


def rules_shown(page):
    return page.evaluate(
        """() => [...document.querySelectorAll("#rules-table tbody tr")]
            .filter((row) => row.checkVisibility()).map((row) => Number(row.dataset.rule))"""
    )


def test_sorting_by_mouse_and_keyboard(cases, pages, visit):
    model, X, y = cases["mixed"]
    table = model.rules_table(X, y)
    page = visit(pages["mixed"])
    assert rules_shown(page) == table.index.tolist()

    for heading, column in (
        ("Covers", "share"),
        ("Precision", "precision"),
        ("Value", "value"),
        ("Angle", "angle"),
        ("Overlap", "overlap"),
        ("Importance", "importance"),
    ):
        button = page.locator("#rules-table thead button", has_text=heading)
        header = page.locator("#rules-table thead th", has_text=heading)
        button.click()
        table = table.sort_values(column, ascending=False, kind="stable", na_position="last")
        assert header.get_attribute("aria-sort") == "descending"
        assert rules_shown(page) == table.index.tolist()
        button.focus()
        page.keyboard.press("Enter" if column == "share" else "Space")
        table = table.sort_values(column, kind="stable", na_position="last")
        assert header.get_attribute("aria-sort") == "ascending"
        assert rules_shown(page) == table.index.tolist()
        assert page.locator("thead th[aria-sort=none]").count() == 9

    page.locator("#rules-table thead button", has_text="Rule").click()
    assert rules_shown(page) == sorted(table.index)


def test_rules_without_a_precision_come_last(cases, folder, visit):
    model, X, y = cases["mixed"]
    few = X.iloc[:6], y[:6]
    table = model.rules_table(*few)
    assert 0 < table["precision"].isna().sum() < len(table)
    page = visit(model.report(folder / "few.html", *few))
    for ascending in (False, True):  # those that cover no row first
        page.locator("#rules-table thead button", has_text="Covers").click()
        table = table.sort_values("share", ascending=ascending, kind="stable")
    button = page.locator("#rules-table thead button", has_text="Precision")
    for ascending in (False, True):
        button.click()
        table = table.sort_values("precision", ascending=ascending, kind="stable")
        assert rules_shown(page) == table.index.tolist()


def test_filtering_shows_exactly_what_matches(cases, pages, visit):
    model, X, y = cases["iris"]
    table = model.rules_table(X, y)
    page = visit(pages["iris"])
    for words in ("petal width", "PETAL length (cm) >", "setosa", "≤", "no such rule"):
        page.get_by_label("Find").fill(words)
        texts = table["text"] + "\n" + table["tree_rule"] + "\n" + table["class"]
        expected = table[texts.str.lower().str.contains(words.lower(), regex=False)]
        assert rules_shown(page) == expected.index.tolist()
        n = len(expected)
        total = f"{len(table)} rules"
        total = total if n == len(table) else f"{n} of {total}"
        assert page.locator("#rule-count").inner_text() == total
    assert page.locator("#no-rules").is_visible()
    page.get_by_label("Find").fill("")
    page.locator("#filter-class").select_option("virginica")
    expected = table.index[table["class"] == "virginica"].tolist()
    assert 0 < len(expected) < len(table)
    assert rules_shown(page) == expected


@pytest.mark.parametrize(
    "name",
    [
        *("iris", "numbers", "mixed", "deep mixed", "thresholds"),
        pytest.param("binary", marks=pytest.mark.slow),
        pytest.param("quantiles", marks=pytest.mark.slow),
    ],
)
def test_a_rules_detail(cases, pages, visit, name):
    from playwright.sync_api import expect

    model, X, y = cases[name]
    table = model.rules_table(X, y)
    page = visit(pages[name])
    if name == "thresholds":
        texts = [condition_texts(model.fitted_, rule, 6, 10**6) for rule in table.index]
        assert any("no row" in text for text in texts)
        lengths = [len(text) for text in texts]
        assert sum(lengths) < table["n_literals"].sum()  # some hold on every row
        in_full = "(rules) => rules.map((rule) => window.neuralrules.fullText(rule))"
        every = page.evaluate(in_full, table.index.tolist())
        assert [written["conditions"] for written in every] == texts
        assert {written["cap"] for written in every} == {None}
    for rule in table.index[:: max(len(table) // 4, 1)]:
        line = table.loc[rule]
        button = page.locator(f"#rules-table [data-open='{rule}']")
        button.focus()
        page.keyboard.press("Enter")
        detail = page.locator("#detail")
        assert detail.get_by_role("heading", level=2).inner_text().startswith(f"Rule {rule}")
        assert page.locator("#detail-text").inner_text() == line["text"]
        assert page.locator("#detail-tree").inner_text() == line["tree_rule"]
        assert (
            page.locator("#detail-overlap").inner_text()
            == f"{100 * line['overlap']:.1f}\u202f%"
        )
        angles = page.locator("#detail-literals .angle").all_inner_texts()
        turns = [float(re.search(r"[\d.]+", text)[0]) for text in angles if text]
        assert turns == [angle for angle in line["angles"] if not np.isnan(angle)]
        assert len(angles) == len(line["angles"])
        # The page writes rules from the weights: as Python does, to the last digit.
        written = page.evaluate("(rule) => window.neuralrules.fullText(rule)", int(rule))
        texts = condition_texts(model.fitted_, rule, 6, 10**6)
        assert written["conditions"] == texts
        if model.network_.deep:
            assert written["literals"] == named_literals(model.fitted_, rule, 6, 10**6)
        shown = page.locator("#detail-conditions .formula").all_inner_texts()
        assert shown == written["conditions"]
        page.keyboard.press("Escape")
        expect(detail).to_be_hidden()
        expect(button).to_be_focused()


def test_stepping_through_details_follows_the_table(cases, pages, visit):
    page = visit(pages["mixed"])
    page.locator("#rules-table thead button", has_text="Covers").click()
    first, second, *_ = rules_shown(page)
    page.locator("#rules-table tbody [data-open]").first.click()
    assert page.locator("#detail-previous").is_disabled()
    page.locator("#detail-next").click()
    assert page.locator("#detail-title").inner_text().startswith(f"Rule {second},")
    page.locator("#detail-previous").click()
    assert page.locator("#detail-title").inner_text().startswith(f"Rule {first},")
    assert page.evaluate("document.getElementById('detail').contains(document.activeElement)")
    page.locator("#detail-close").click()
    # A rule that fires in the what-if panel opens as well.
    page.locator("#contributions [data-open]").first.click()
    assert page.locator("#detail").is_visible()


def test_the_keyboard_finds_a_way_past_the_header(pages, visit):
    from playwright.sync_api import expect

    page = visit(pages["iris"])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.evaluate("document.activeElement.getBoundingClientRect().width") > 50
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()
    unlabelled = page.evaluate(
        """() => [...document.querySelectorAll("input, select")]
            .filter((node) => !node.labels.length).map((node) => node.id)"""
    )
    assert unlabelled == []
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button")]
            .filter((node) => !node.textContent.trim()).length"""
    )
    assert nameless == 0
    page.locator("#rules-table thead button").first.focus()
    style = "getComputedStyle(document.activeElement).outlineStyle"
    page.keyboard.press("Tab")
    assert page.evaluate(style) == "solid"


@pytest.fixture(scope="module")
def hostile(folder):
    """Every name that a user may give is markup, code or a nuisance."""
    rng = np.random.RandomState(0)
    n = 400
    frame = pd.DataFrame({name: rng.randn(n) for name in HOSTILE[:-1]})
    frame[HOSTILE[-1]] = rng.choice(HOSTILE, n)
    names = list(frame)
    sure = (frame[names[0]] > 0).astype(int) + (frame[names[-1]] == HOSTILE[2])
    y = np.array(HOSTILE, object)[(sure + (frame[names[2]] > 1)).to_numpy()].astype(str)
    model = NeuralRuleClassifier.paper(5, random_state=0, n_epochs=10).fit(frame, y)
    title = "</title><script>alert(1)</script> & {{7*7}} " + LONG
    return model.report(folder / "hostile.html", frame, y, title=title, n_examples=20), title


def test_hostile_names_are_only_text(hostile, visit):
    path, title = hostile
    page = visit(path)
    assert page.title() == title
    assert page.locator("h1").inner_text() == title
    page.locator("#rules-table [data-open]").first.click()
    assert page.locator("script").count() == 2
    assert page.locator("img, iframe, object, embed, link, form[action]").count() == 0
    page.locator("#detail-close").click()
    for name in (HOSTILE[0], HOSTILE[2]):
        assert page.locator("#what-if-form label", has_text=name).first.is_visible()
        assert page.locator(".confusion th", has_text=name).first.is_visible()
    page.get_by_label("Find").fill(HOSTILE[2])
    assert rules_shown(page)
    # A name may not turn the direction of what stands after it.
    assert "\u202e" not in page.content()
    assert page.locator("label", has_text="⟨U+202E⟩right to left").count() == 1
    for box in page.locator("#what-if-form .input select").all():
        for option in range(box.locator("option").count()):
            box.select_option(str(option))
    assert "49" not in page.locator("h1").inner_text()


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["hostile", "iris", "deep mixed", "numbers"])
def test_no_sideways_scrolling_on_a_phone(hostile, pages, visit, name, scheme):
    path = hostile[0] if name == "hostile" else pages[name]
    page = visit(path, viewport={"width": 360, "height": 740}, color_scheme=scheme)
    width = "document.documentElement.scrollWidth"
    assert page.evaluate(width) <= 360
    page.locator("#sort-by").select_option(label="Covers")
    page.locator("#sort-turn").click()
    assert page.locator("th[aria-sort=ascending]").count() == 1
    page.locator("#rules-table [data-open]").first.click()
    assert page.evaluate(width) <= 360
    body = page.locator("#detail-body")
    assert body.evaluate("(node) => node.scrollWidth <= node.clientWidth")
    # Nothing sticks out of its box, except where the box scrolls by itself.
    page.locator("#detail-close").click()
    sticking = page.evaluate(
        """() => [...document.querySelectorAll("main *")].filter((node) =>
            !node.closest(".scroll, svg, .hidden, .rules thead") && node.checkVisibility()
            && node.getBoundingClientRect().right > 360.5).map((node) => node.outerHTML)"""
    )
    assert sticking == []


@pytest.mark.parametrize(
    ("n_classes", "width"),
    [
        (10, 1280),
        (30, 390),
        pytest.param(10, 390, marks=pytest.mark.slow),
        pytest.param(30, 1280, marks=pytest.mark.slow),
    ],
)
def test_many_classes_keep_their_labels(folder, visit, n_classes, width):
    rng = np.random.RandomState(0)
    codes = rng.randint(0, n_classes, 40 * n_classes)
    X = 4 * rng.randn(n_classes, 5)[codes] + rng.randn(len(codes), 5)
    word = "" if n_classes == 10 else "class number "
    names = np.array([f"{word}{code}" for code in range(n_classes)])
    model = NeuralRuleClassifier.paper(6, n_epochs=3, random_state=0).fit(X, names[codes])
    path = model.report(folder / f"{n_classes}-{width}.html", X, names[codes])
    page = visit(path, viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    card = page.locator(".card", has=page.locator(".confusion"))
    row = page.locator("#performance .metrics")
    assert abs(card.bounding_box()["width"] - row.bounding_box()["width"]) < 1
    # Two lines at most, and the number at the end of a name is not cut off.
    for label in page.locator(".confusion .name").all():
        box = label.evaluate(
            "(a) => [a.scrollHeight, a.clientHeight, a.scrollWidth, a.clientWidth]"
        )
        assert box[0] <= box[1] <= 52
        assert box[2] <= box[3] + 1
    for label in page.locator(".confusion tbody th small").all():
        assert label.bounding_box()["height"] < 30
    # The cells scroll sideways in their own box; the true classes stay in sight.
    scroll = card.locator(".scroll")
    wider = scroll.evaluate("(node) => node.scrollWidth - node.clientWidth")
    assert (wider > 0) == (width == 390 or n_classes == 30)
    before = page.locator(".confusion tbody th").first.bounding_box()["x"]
    scroll.evaluate("(node) => { node.scrollLeft = node.scrollWidth; }")
    assert abs(page.locator(".confusion tbody th").first.bounding_box()["x"] - before) < 1
    last = page.locator(".confusion tbody tr").first.locator("td").last.bounding_box()
    assert last["x"] + last["width"] <= width


CHART_TEXTS = """() => [...document.querySelectorAll("svg.chart")].map((chart) => ({
    width: chart.viewBox.baseVal.width, height: chart.viewBox.baseVal.height,
    texts: [...chart.querySelectorAll("text")].map((node) => {
        const { x, y, width, height } = node.getBBox();
        const full = node.querySelector("title");
        return { text: node.lastChild.textContent, full: full && full.textContent,
            x, y, right: x + width, bottom: y + height };
    }),
}))"""


@pytest.fixture(scope="module")
def scaled_pages(folder):
    """Reports of targets of any size, of both signs."""
    X, y = load_diabetes(return_X_y=True)

    def page(power):
        target = (y - 100) * 10.0**power
        model = NeuralRuleRegressor.paper(3, random_state=0, n_epochs=20).fit(X, target)
        return model, model.report(folder / f"scaled{power}.html", X, target, n_examples=5)

    return {power: page(power) for power in (0, 5, 7, 9, 12, -12)}


@pytest.mark.parametrize("power", [0, 5, 7, 9, 12, -12])
def test_charts_show_all_of_their_texts(scaled_pages, visit, power):
    page = visit(scaled_pages[power][1])
    charts = page.evaluate(CHART_TEXTS)
    # Means, errors, the error against size, and the columns.
    assert len(charts) == 3 + page.locator("#shapes figure").count() > 4
    for drawn in charts:
        texts = drawn["texts"]
        for text in texts:
            assert text["x"] >= 0, text
            assert text["right"] <= drawn["width"], text
            assert text["bottom"] <= drawn["height"], text
        for i, a in enumerate(texts):
            for b in texts[i + 1 :]:
                apart = a["right"] < b["x"] or b["right"] < a["x"]
                assert apart or a["bottom"] < b["y"] + 4 or b["bottom"] < a["y"] + 4, (a, b)
    ticks = charts[0]["texts"]
    lowest = {0: "−50", 5: "−5M", 7: "−0.5G", 9: "−50G", 12: "−0.5e+14", -12: "−0.5e−10"}
    assert ticks[0]["text"] == lowest[power]
    if power:
        assert float(ticks[0]["full"].replace("−", "-")) == pytest.approx(-50 * 10.0**power)


@pytest.mark.parametrize("power", [5, 9, 12, -12])
def test_targets_of_any_size_fit_a_phone(scaled_pages, visit, power):
    model, path = scaled_pages[power]
    page = visit(path, viewport={"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    sticking = """() => [...document.querySelectorAll(".number, .range, dd, #prediction b")]
        .filter((node) => !node.closest(".rules thead") && node.checkVisibility())
        .filter((node) => {
            const range = document.createRange();
            range.selectNodeContents(node);
            const box = node.closest(".card, .metrics, dialog, header").getBoundingClientRect();
            return range.getBoundingClientRect().right > box.right;
        }).map((node) => node.outerHTML)"""
    assert page.evaluate(sticking) == []
    for line in page.locator(".metrics dd").all():
        assert len(line.inner_text()) <= 10
        assert line.bounding_box()["height"] < 40  # one line
        assert len(line.get_attribute("title")) > 10
    # The script writes numbers as Python does.
    (first,) = model.rules_table().index[:1]
    value = page.locator(f"#rules-table [data-rule='{first}'] td[data-label=Value]")
    page.locator(f"#rules-table [data-open='{first}']").click()
    shown = page.locator("#detail .facts .number").first
    assert shown.inner_text() == value.inner_text()
    assert float(shown.get_attribute("title")) == float(value.get_attribute("title"))
    assert page.evaluate(sticking) == []
    page.locator("#detail-close").click()
    prediction = page.locator("#prediction b")
    decision = float(prediction.get_attribute("title"))
    assert prediction.inner_text() == short(decision, 4)


def test_literals_without_weights(folder, visit):
    """What is left of a literal that looks at no column any more is a cap."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = NeuralRuleClassifier.paper(4, n_epochs=20, random_state=0).fit(X, y)
    smaller = model.simplify(X, y, tolerance=0.05)
    table = smaller.rules_table(X, y)
    page = visit(smaller.report(folder / "constant.html", X, y))
    n_constant = n_caps = 0
    for rule, line in table.iterrows():
        page.locator(f"#rules-table [data-open='{rule}']").click()
        literals = page.locator("#detail-literals .literal").all()
        for literal, angle in zip(literals, line["angles"], strict=True):
            constant = literal.get_by_text("looks at no column").count() == 1
            assert constant == np.isnan(angle)
            assert (literal.locator(".angle").inner_text() == "") == constant
            assert (literal.locator(".bar-list li").count() == 0) == constant
            n_constant += constant
        highest = cap(smaller.fitted_, rule)
        notes = page.locator("#detail-body .note", has_text="Its activation is")
        assert notes.count() == int(np.isfinite(highest))
        if notes.count():
            size = exact(highest, 6)
            everywhere = condition_texts(smaller.fitted_, rule, 6, 9) == ["every row"]
            said = f"{size} on every row" if everywhere else f"at most {size}"
            assert notes.inner_text() == f"Its activation is {said}."
            n_caps += not everywhere
        page.locator("#detail-close").click()
    assert 0 < n_caps <= n_constant < table["n_literals"].sum()
    glossary = page.locator(".glossary div", has_text="Angle").first.inner_text()
    assert glossary.endswith("A literal that looks at no column any more has no angle.")


CONTRAST = """(selectors) => {
    const channels = (text) => {
        const numbers = text.match(/[\\d.]+/g).map(Number);
        return text.startsWith("color(") ? numbers.map((x, i) => i < 3 ? 255 * x : x) : numbers;
    };
    const light = (rgb) => rgb.slice(0, 3).map((x) => x / 255)
        .map((x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
        .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = (node) => {
        for (; node; node = node.parentElement) {
            const colour = channels(getComputedStyle(node).backgroundColor);
            if (colour.length < 4 || colour[3] === 1) return colour;
        }
        return [255, 255, 255];
    };
    const result = {};
    for (const selector of selectors) {
        for (const node of document.querySelectorAll(selector)) {
            const style = getComputedStyle(node);
            const own = channels(node.closest("svg") ? style.fill : style.color);
            const [a, b] = [light(own), light(ground(node))];
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            result[selector] = Math.min(ratio, result[selector] ?? 99);
        }
    }
    return result;
}"""


def test_dark_mode_changes_colours_and_keeps_contrast(pages, visit):
    grounds = set()
    texts = ["h1", ".meta", ".lead", ".link", "nav a", ".confusion td b", ".confusion td small"]
    texts += [".eyebrow", ".grew", ".facts dt", ".tick", ".notice", ".what", ".glossary dd"]
    texts += [".rules thead button", "caption", "input", "select", "small", "#reset"]
    shapes = [".dot", ".bar .fill", ".fill.negative", ".overlap .leaf", ".overlap .now"]
    for scheme in ("light", "dark"):
        page = visit(pages["deep mixed"], color_scheme=scheme)
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.locator("#rules-table [data-open]").first.click()
        ratios = page.evaluate(CONTRAST, texts)
        assert set(texts) - set(ratios) <= {".notice"}
        assert min(ratios.values()) >= 4.5, ratios
        drawn = page.evaluate(CONTRAST, shapes)
        assert len(drawn) == len(shapes)
        assert min(drawn.values()) >= 3, drawn
    assert len(grounds) == 2


def test_without_javascript_tables_and_charts_show(pages, visit, cases):
    page = visit(pages["iris"], java_script_enabled=False)
    model = cases["iris"][0]
    assert page.locator("#rules-table tbody tr:visible").count() == model.network_.n_rules
    n_columns = len(model.fitted_.used_columns)
    assert page.locator("svg.chart:visible").count() == 2 + n_columns
    assert page.locator("noscript p").is_visible()
    assert not page.locator("#what-if-form").is_visible()
    assert not page.locator("#filter-text").is_visible()


def test_printing_leaves_the_controls_out(pages, visit):
    page = visit(pages["mixed"], viewport={"width": 720, "height": 1000})  # as A4
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    assert page.locator("#rules-table thead").is_visible()
    assert not page.locator("nav").is_visible()
    assert not page.locator("#what-if").is_visible()
    assert not page.locator("#filter-text").is_visible()
    assert page.locator("#rules-table tbody tr").first.is_visible()
    clamp = "(node) => getComputedStyle(node).display"
    assert page.locator(".rules .says").first.evaluate(clamp) == "block"


def test_a_large_report_builds_details_only_when_asked(folder, visit):
    rng = np.random.RandomState(0)
    X = rng.randn(2000, 100)
    frame = pd.DataFrame(X, columns=[f"measurement number {i}" for i in range(100)])
    y = (X[:, :50].sum(axis=1) * X[:, 50:].sum(axis=1)) > 0
    model = NeuralRuleClassifier.paper(
        6, rule_source="forest", n_trees=20, max_rules=200, n_epochs=2, random_state=0
    ).fit(frame, y)
    assert model.network_.n_rules == 200
    assert model.network_.features.size >= 95
    path = model.report(folder / "large.html", frame, y, n_examples=20)
    assert path.stat().st_size < 5e6
    page = visit(path)
    assert page.locator("#detail-body *").count() == 0
    assert page.locator("*").count() < 10_000  # more would be slow to open
    page.locator("#rules-table [data-open]").first.click()
    assert page.locator("#detail-body *").count() > 0
    page.locator("#detail-close").click()


@pytest.mark.parametrize("hours", [0, 7])
def test_dates_are_typed_as_dates(visit, tmp_path, hours):
    """With a time of day where the table has one."""
    rng = np.random.default_rng(0)
    days = pd.to_timedelta(24 * rng.integers(0, 3000, 300) + hours, unit="h")
    X = pd.DataFrame({"opened": pd.Timestamp("2015-01-01") + days, "a": rng.normal(size=300)})
    X.loc[::7, "opened"] = pd.NaT
    y = (X["opened"] > "2019-01-01") + 0.5 * X["a"]
    model = NeuralRuleRegressor(n_trees=4, n_epochs=10, random_state=0).fit(X, y)
    model.report(tmp_path / "report.html", X, y, n_examples=9)
    page = visit(tmp_path / "report.html")
    field = page.locator("#what-if-form").get_by_label("opened")
    assert field.get_attribute("type") == ("datetime-local" if hours else "date")
    rows = np.unique(np.linspace(0, 299, 9).astype(int))
    for place, row in enumerate(rows):
        page.locator("#example").select_option(str(place))
        (shown,) = json.loads(page.locator("#prediction").get_attribute("data-numbers"))
        assert shown == pytest.approx(model.predict(X.iloc[[row]])[0], abs=1e-4)
    text = "2021-03-04T05:06" if hours else "2021-03-04"
    field.fill(text)
    (shown,) = json.loads(page.locator("#prediction").get_attribute("data-numbers"))
    typed = X.iloc[[rows[-1]]].assign(opened=pd.Timestamp(text))
    assert shown == pytest.approx(model.predict(typed)[0], abs=1e-4)
    conditions = " ".join(page.locator("#rules").all_inner_texts())
    assert re.search(r"opened [<>] 20\d\d-\d\d-\d\d", conditions)
