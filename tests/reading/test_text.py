"""Rules in the user's words."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from models import mixed_table, tailed_table
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor
from neuralrules._data._scaling import Knots
from neuralrules._engine._reference import rules_forward
from neuralrules._reading._conditions import reach, sum_in_units
from neuralrules._reading._notation import number
from neuralrules._reading._text import tree_rule_text
from neuralrules._reading._wording import Wording


def fitted(frame, y, **options):
    return NeuralRuleClassifier(random_state=0, **options).fit(frame, y)


def one_tree(frame, y, **options):
    """The paper's: leaves of any size, no intercept, literals that look at every column."""
    return NeuralRuleClassifier.paper(random_state=0, **options).fit(frame, y)


def literal_text(model, literal, precision, max_terms):
    network = model.network
    weights, bias = network.weights[literal].astype(float), float(network.biases[literal])
    found = sum_in_units(model.encoder, network.features, weights, bias)
    return Wording(model.encoder, precision, max_terms).statement(found).text


def test_tree_rules_are_written_in_original_units():
    ages = np.arange(20.0, 60.0)
    model = fitted(pd.DataFrame({"age": ages}), ages > 39.5, max_depth=1, n_epochs=0)
    assert tree_rule_text(model.fitted_, 0, 4) == "age ≤ 39.5"
    assert tree_rule_text(model.fitted_, 1, 4) == "age > 39.5"
    assert literal_text(model.fitted_, 0, 4, 3) == "age < 39.5"
    assert literal_text(model.fitted_, 1, 4, 3) == "age > 39.5"


def test_bounds_are_merged():
    x = np.arange(100.0)
    model = one_tree(pd.DataFrame({"x": x}), (x > 20) & (x < 60), max_depth=2, n_epochs=0)
    texts = [tree_rule_text(model.fitted_, rule, 3) for rule in range(model.rules_.n_rules)]
    assert texts == ["x ≤ 20.5", "20.5 < x ≤ 59.5", "x > 59.5"]


def test_categories_and_missing_values():
    frame = pd.DataFrame({"city": ["Oslo", "Rome", "Lima"] * 20})
    model = fitted(frame, frame["city"] == "Rome", max_depth=1, n_epochs=0)
    assert {tree_rule_text(model.fitted_, 0, 3), tree_rule_text(model.fitted_, 1, 3)} == {
        "city = Rome",
        "city ≠ Rome",
    }
    assert literal_text(model.fitted_, 1, 3, 3) == "[city = Rome] > 0.5"
    frame = pd.DataFrame({"income": [1.0, np.nan] * 30})
    model = fitted(frame, frame["income"].isna(), max_depth=1, n_epochs=0)
    assert {tree_rule_text(model.fitted_, 0, 3), tree_rule_text(model.fitted_, 1, 3)} == {
        "income is missing",
        "income is known",
    }


def test_a_literals_text_holds_exactly_where_the_literal_is_positive(rotated_xor):
    X, y = rotated_xor
    frame = pd.DataFrame(X * [3, 50] + [100, -7], columns=["u", "v"])
    model = fitted(frame, y, max_depth=3)
    network = model.network_
    encoded = model.encoder_.transform(frame)[:, network.features]
    values = encoded @ network.weights.T + network.biases
    for literal in range(network.n_literals):
        text = literal_text(model.fitted_, literal, precision=9, max_terms=2).replace("·", "*")
        holds = frame.eval(text)
        clear = np.abs(values[:, literal]) > 1e-3
        assert (holds == (values[:, literal] > 0))[clear].all(), text


def test_long_literals_are_cut(mixed_frame):
    frame, y = mixed_frame
    model = fitted(frame, y, n_trees=4, max_depth=4, n_epochs=3)
    text = model.rules_text(max_terms=1)
    assert " + … " in text
    assert text.count("Rule ") == model.network_.n_rules
    assert re.match(r"Every row starts at [\d.]+ % for 1\.\n\nRule ", text)


def test_text_of_every_kind_of_model():
    rng = np.random.RandomState(0)
    X = rng.randn(200, 3)
    regressor = NeuralRuleRegressor(2, deep=True).fit(X, X[:, :2])
    text = regressor.rules_text()
    assert text.count("  where A = ") == text.count("  now   ") == regressor.network_.n_rules
    constant = fitted(np.ones((20, 1)), np.arange(20) % 2, max_depth=1, n_epochs=0)
    assert constant.rules_text() == (
        "Rule 0: value 0 for 0 (covers 100 % of the training rows)\n"
        "  leaf  every row\n"
        "  now   every row"
    )


def test_text_needs_a_fit():
    with pytest.raises(NotFittedError):
        NeuralRuleClassifier().rules_text()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1, "1"),
        (1234.5, "1234"),
        (123456789, "123456789"),
        (77355675666215, "7.74e+13"),
        (0.012345, "0.0123"),
        (1e-9, "1e-09"),
        (-2.50, "-2.5"),
    ],
)
def test_numbers(value, text):
    assert number(value, 3) == text


def test_share_of_rows_is_of_all_training_rows():
    X = np.arange(100.0)[:, None]
    y = X[:, 0] > 79.5
    best = one_tree(X, y, max_depth=1, n_epochs=0, max_rules=1)
    assert "covers 80 % of the training rows" in best.rules_text()
    forest = one_tree(X, y, max_depth=1, n_epochs=0, rule_source="forest", n_trees=5)
    shares = [
        float(line.split("covers ")[1].split(" %")[0])
        for line in forest.rules_text().splitlines()
        if "covers" in line
    ]
    assert max(shares) > 60


def test_columns_far_from_zero_get_enough_digits():
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(
        {"t": 1.6e9 + rng.rand(500) * 1e6, "year": rng.randint(2000, 2020, 500)}
    )
    y = (frame["t"] > 1.6e9 + 5e5) ^ (frame["year"] > 2010)
    model = fitted(frame, y, max_depth=3, n_epochs=20)
    network = model.network_
    values = model.encoder_.transform(frame)[:, network.features] @ network.weights.T
    values += network.biases
    for literal in range(network.n_literals):
        holds = frame.eval(literal_text(model.fitted_, literal, 3, 2).replace("·", "*"))
        assert (holds == (values[:, literal] > 0)).mean() > 0.97


def term_values(term, frame, means):
    """What a term of a literal's text stands for: a missing number counts as its mean."""
    if not term.startswith("["):
        return frame[term].fillna(means.get(term, np.nan)).to_numpy(float)
    inner = term[1:-1]
    if inner.endswith(" is missing"):
        return frame[inner.removesuffix(" is missing")].isna().to_numpy(float)
    column, category = inner.split(" = ")
    return (frame[column] == category).to_numpy(float)


def literal_holds(text, frame, means=()):
    """Read an inequality as a person would, with the means that the text's foot tells."""
    left, sign, bound = re.fullmatch(r"(.*) ([<>]) (\S+)", text).groups()
    total = np.zeros(len(frame))
    for part in re.finditer(r"(?:^| ([+-]) )(?:([\d.e+-]+)·)?(\[[^]]*\]|\w+)", left):
        factor = float(part[2] or 1) * (-1 if part[1] == "-" else 1)
        total += factor * term_values(part[3], frame, dict(means))
    return total > float(bound) if sign == ">" else total < float(bound)


def test_literals_about_holes_and_categories_hold_where_they_say():
    frame, y = mixed_table()
    frame = frame[["income", "children", "city"]]
    model = fitted(frame, y, n_trees=4, max_depth=4, n_epochs=40)
    network = model.network_
    assert set(network.features) & set(model.encoder_.missing_indicators)
    foot = re.search(r"their means: income ([\d.]+)\.$", model.rules_text(precision=9))
    means = {"income": float(foot[1])}
    encoded = model.encoder_.transform(frame)[:, network.features]
    values = encoded @ network.weights.T + network.biases
    for literal in range(network.n_literals):
        text = literal_text(model.fitted_, literal, precision=9, max_terms=99)
        clear = np.abs(values[:, literal]) > 1e-3
        np.testing.assert_array_equal(
            literal_holds(text, frame, means)[clear], values[clear, literal] > 0, err_msg=text
        )


def test_what_is_cut_is_taken_at_its_mean():
    """A cut literal agrees with the whole one where the other columns are at their means."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = one_tree(X, y, max_depth=4)
    network = model.network_
    for literal in range(network.n_literals):
        text = literal_text(model.fitted_, literal, precision=9, max_terms=2)
        names = re.findall(r"[a-z][a-z ]+[a-z]", text)
        assert len(names) == 2
        typical = pd.DataFrame([X.mean()] * len(X))
        typical[names] = X[names].to_numpy()
        values = (
            model.encoder_.transform(typical)[:, network.features] @ network.weights[literal]
        )
        values += network.biases[literal]
        renamed = {name: f"c{i}" for i, name in enumerate(names)}
        for name, short in renamed.items():
            text = text.replace(f'"{name}"', short)
        holds = literal_holds(text.replace(" + …", ""), typical.rename(columns=renamed))
        clear = np.abs(values) > 1e-3
        np.testing.assert_array_equal(holds[clear], values[clear] > 0, err_msg=text)


def test_the_means_of_columns_with_holes_are_said_once():
    frame, y = mixed_table()
    frame["holes nobody looks at"] = np.where(np.arange(len(frame)) % 2, np.nan, 1.0)
    model = fitted(frame, y, n_epochs=5, early_stopping=False)
    mean = round(frame["income"].mean())
    start, *rules, last = model.rules_text().split("\n\n")
    assert start.startswith("Every row starts at ")
    assert len(rules) == model.network_.n_rules
    assert last == f"Missing numbers count as their means: income {mean}."
    alone = fitted(frame[["children", "city"]], y, n_epochs=5)
    assert "Missing" not in alone.rules_text()


def deep_rule_fires(text, frame):
    """Read the text of a deep rule as a person would: where all its conditions hold."""
    lines = [line.strip() for line in text.splitlines()]
    literals = {}
    for line in lines:
        if line.startswith("where "):
            name, sum_ = line.removeprefix("where ").split(" = ", 1)
            left, sign, constant = re.fullmatch(r"(.*) ([+-]) (\S+)", sum_).groups()
            total = np.full(len(frame), float(constant) * (-1 if sign == "-" else 1))
            for part in re.finditer(r"(?:^(-?)| ([+-]) )(?:([\d.e+-]+)·)?(\w+)", left):
                minus = part[1] == "-" or part[2] == "-"
                total += (-1 if minus else 1) * float(part[3] or 1) * frame[part[4]].to_numpy()
            literals[name] = np.maximum(total, 0)
    fires = np.ones(len(frame), bool)
    for line in lines:
        if line.startswith(("now ", "and ")):
            left, bound = line[3:].strip().split(" > ")
            total = np.zeros(len(frame))
            for part in re.finditer(r"(?:^(-?)| ([+-]) )(?:([\d.e+-]+)·)?([A-Z]\d*)⁺", left):
                minus = part[1] == "-" or part[2] == "-"
                total += (-1 if minus else 1) * float(part[3] or 1) * literals[part[4]]
            fires &= total > float(bound)
    return fires


def test_deep_rules_fire_where_their_text_says():
    """Also on columns far from zero, with no more digits than people read."""
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "t": 1.6e9 + rng.rand(500) * 1e6,
            "year": rng.randint(2000, 2020, 500),
            "z": rng.randn(500),
        }
    )
    y = (frame["t"] > 1.6e9 + 5e5) ^ (frame["year"] > 2010)
    model = fitted(frame, y, n_trees=3, max_depth=3, n_epochs=30, deep=True)
    network = model.network_
    x = model.encoder_.transform(frame)[:, network.features]
    active = rules_forward(network.parameters, network.layout, x) > 0
    start, *blocks = model.rules_text(precision=4, max_terms=9).split("\n\n")
    assert start.startswith("Every row starts at ")
    for block in blocks:
        rule = int(re.match(r"Rule (\d+):", block)[1])
        assert (deep_rule_fires(block, frame) == active[:, rule]).mean() > 0.98, block


def test_values_say_for_whom_they_speak():
    frame, y = mixed_table()
    model = one_tree(frame, y, max_depth=2, n_epochs=0)
    assert "Rule 0: values " in model.rules_text()
    assert re.search(r"values \S+ \(high\), \S+ \(low\), \S+ \(middle\)", model.rules_text())
    X = np.arange(10.0)[:, None]
    model = one_tree(X, np.where(X[:, 0] > 4, "yes", "no"), max_depth=1, n_epochs=0)
    assert "value -1 for no" in model.rules_text()
    assert "value 1 for yes" in model.rules_text()


def test_the_most_important_rule_stands_first():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = fitted(X, y, max_depth=4)
    order = [int(rule) for rule in re.findall(r"^Rule (\d+):", model.rules_text(), re.M)]
    assert order == model.rules_table().index.tolist()


def test_bounds_around_the_mean_include_the_holes():
    income = np.append(np.arange(40.0), [np.nan] * 8)
    y = ~(income <= 10)  # the holes side with the large incomes, as the mean does
    model = one_tree(pd.DataFrame({"income": income}), y, max_depth=1, n_epochs=0)
    texts = [tree_rule_text(model.fitted_, rule, 3) for rule in range(2)]
    assert texts == ["income ≤ 10.5", "(income > 10.5 or missing)"]


def test_a_line_break_in_a_name_stays_on_its_line():
    frame = pd.DataFrame({"a\nRule 7: value": np.arange(20.0)})
    model = one_tree(frame, frame.iloc[:, 0] > 9, max_depth=1, n_epochs=0)
    assert tree_rule_text(model.fitted_, 1, 3) == '"a\\nRule 7: value" > 9.5'
    assert model.rules_text().count("Rule 7") == 4
    assert len(model.rules_text().splitlines()) == 7


def test_labels_stay_on_their_line():
    X = np.arange(20.0)[:, None]
    y = np.where(X[:, 0] > 9, "a\nb", "c\x1b[1m")
    text = one_tree(X, y, max_depth=1, n_epochs=0).rules_text()
    assert "for a\\nb (" in text
    assert "for c\\x1b[1m (" in text


def scaled_model(n_epochs):
    """The leaves of one tree over scaled columns, and its table."""
    X, y = tailed_table()
    model = NeuralRuleClassifier.paper(3, n_epochs=n_epochs, scaling="quantile", random_state=0)
    return model.fit(X, y), X


def test_a_literal_over_one_scaled_column_is_a_threshold_in_its_units():
    model, X = scaled_model(n_epochs=0)
    network = model.network_
    X = X.dropna(subset=["income"])
    encoded = model.encoder_.transform(X)[:, network.features]
    values = encoded @ network.weights.T + network.biases
    for literal in range(network.n_literals):
        text = literal_text(model.fitted_, literal, precision=9, max_terms=2)
        assert re.fullmatch(r"(.*) [<>] -?[\d.]+", text)
        text = text.replace(r'"a \"b\" [c]"', "other")
        assert (
            X.rename(columns={'a "b" [c]': "other"}).eval(text) == (values[:, literal] > 0)
        ).all(), text


@pytest.mark.parametrize(
    ("weight", "bias", "text"),
    [
        (1, 2, "every row"),  # above 0 wherever the column is above -2, which it always is
        (1, 1, "x > 0"),
        (2, 1, "x > 2"),
        (1, -0.5, "x > 52"),
        (1, -1, "no row"),
        (-1, 2, "every row"),
        (-1, 1, "x < 100"),
        (-2, 1, "x < 52"),
        (-1, -1, "no row"),
    ],
)
def test_outside_of_its_knots_a_literal_holds_everywhere_or_nowhere(weight, bias, text):
    model = fitted(pd.DataFrame({"x": np.arange(9.0)}), np.arange(9) > 4, n_epochs=0)
    knots = Knots((0.0, 4.0, 100.0), (-1.0, 0.0, 1.0))
    encoder = replace(
        model.encoder_, columns=[replace(c, knots=knots) for c in model.encoder_.columns]
    )
    weights = np.array([float(weight)])
    reached = reach(encoder, np.array([0]), weights, float(bias))
    settled = "every row" if reached.always else "no row" if reached.never else None
    literal = sum_in_units(encoder, np.array([0]), weights, float(bias))
    shown = Wording(encoder, 3, 3).statement(literal).text
    assert (settled or shown) == text
    rows = pd.DataFrame({"x": [-50, 0, 1, 1.9, 2, 2.1, 51, 52, 53, 99, 100, 5000]})
    positive = encoder.transform(rows)[:, 0] * weight + bias > 0
    held = {"every row": [True] * 12, "no row": [False] * 12}.get(text)
    assert (positive == (rows.eval(text) if held is None else held)).all()


def test_sums_over_scaled_columns_hold_where_their_text_and_its_foot_say():
    model, X = scaled_model(n_epochs=40)
    text = model.rules_text(precision=9)
    scaled = {}
    for name, points in re.findall(r"(?m)^(scaled\(.*\)) is the line through (.*); flat", text):
        pairs = [[float(part) for part in point.split(" → ")] for point in points.split(", ")]
        plain = name[len("scaled(") : -1].replace(r'"a \"b\" [c]"', 'a "b" [c]')
        column = X[plain].to_numpy(float)
        scaled[name] = np.nan_to_num(np.interp(column, *np.transpose(pairs)))
        scaled[name][np.isnan(column)] = 0
    assert len(scaled) == 3
    network = model.network_
    values = model.encoder_.transform(X)[:, network.features] @ network.weights.T
    values += network.biases
    for literal in range(network.n_literals):
        written = literal_text(model.fitted_, literal, precision=9, max_terms=3)
        for place, name in enumerate(scaled):
            written = written.replace(name, f"s[{place}]")
        holds = eval(written.replace("·", "*"), {"s": list(scaled.values())})
        clear = np.abs(values[:, literal]) > 1e-4
        assert (holds == (values[:, literal] > 0))[clear].all(), written
    stand_in = text.rpartition("the means of their scaled columns: income ")[2]
    assert float(stand_in[:-1]) == pytest.approx(model.encoder_.columns[0].stand_in, rel=1e-8)


def test_scaled_columns_that_are_cut_are_taken_at_the_means_of_these():
    model, _ = scaled_model(n_epochs=40)
    network = model.network_
    for literal in range(network.n_literals):
        bound = float(literal_text(model.fitted_, literal, 9, max_terms=1).split()[-1])
        largest = network.weights[literal, np.abs(network.weights[literal]).argmax()]
        assert bound == pytest.approx(-network.biases[literal] / largest, rel=1e-6)


def test_only_the_scaled_columns_that_are_spoken_of_are_explained():
    model, _ = scaled_model(n_epochs=0)
    assert "scaled(" not in model.rules_text()
    model, _ = scaled_model(n_epochs=40)
    assert "scaled(children) is the line through 0 → -1.44, 1 → -0.561" in model.rules_text()
    assert r'scaled("a \"b\" [c]") is' not in model.rules_text(max_rules=1, max_terms=1)
