"""The text that loses nothing."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from models import (
    EVERY_MODEL,
    fitted,
    fitted_on_mixed,
    fitted_on_rare_codes,
    network_outputs,
    simplified,
)
from sklearn.datasets import load_diabetes

from neuralrules import (
    NeuralRuleClassifier,
    NeuralRuleClassifierCV,
    NeuralRuleRegressor,
    NeuralRuleRegressorCV,
    read_rules,
)
from neuralrules._data._columns import Number
from neuralrules._engine._reference import literals_forward, rules_forward, units_forward

# Room for the rounding of some ten operations one after the other.
DOUBLE, SINGLE = 2e-15, 1e-6
DEPTHS = [{"max_depth": 2}, {"max_depth": 3}]


def raw_table(model, X):
    """The table before standardisation, (n_rows, n_encoded) float64."""
    return np.vstack([raw for _, _, raw in model.encoder_._raw_chunks(X, {})])


def in_double(model, X):
    """Outputs of the model had it computed in float64, and what rounding is relative to.

    The scales (n_rows, n_outputs) are what the outputs would be if no sum cancelled: in
    units of the table, where the text sums, and standardised, where the model does.
    """
    network, encoder = model.network_, model.encoder_
    raw = raw_table(model, X)
    encoded = [column.encoded(raw[:, place]) for place, column in enumerate(encoder.columns)]
    encoded = np.nan_to_num(np.transpose(encoded))[:, network.features]
    parameters = type(network.parameters)(*(a.astype(float) for a in network.parameters))
    outputs = rules_forward(parameters, network.layout, encoded) @ parameters.values

    def uncancelled(x):
        sizes = type(parameters)(*map(np.abs, parameters))
        units = units_forward(sizes, network.layout, literals_forward(sizes, network.layout, x))
        largest = np.maximum.reduceat(units, network.offsets[:-1], axis=1)
        return largest @ sizes.values + np.abs(network.intercept)

    mean, scale = encoder._mean, encoder._scale
    apart = (np.abs(np.where(np.isnan(raw), mean, raw)) + np.abs(mean)) / scale
    bent = [place for place in network.features if encoder.columns[place].knots is not None]
    apart[:, bent] = np.abs(encoded[:, np.searchsorted(network.features, bent)])
    return (
        outputs + network.intercept,
        uncancelled(apart[:, network.features]),
        uncancelled(np.abs(encoded)),
    )


def agree(model, X, text=None):
    """The text predicts in float64 what its model does, and to float32 what it did."""
    rules = read_rules(model.exact_text() if text is None else text)
    expected, apart, standardised = in_double(model, X)
    outputs = rules.decision_function(X).reshape(expected.shape)
    assert (np.abs(outputs - expected) <= DOUBLE * apart).all()
    decided = network_outputs(model, X)
    tolerance = DOUBLE * apart + SINGLE * standardised
    assert (np.abs(outputs - decided) <= tolerance).all()
    predicted = model.predict(X)
    assert rules.predict(X).shape == predicted.shape
    if not hasattr(model, "classes_"):
        np.testing.assert_array_equal(rules.predict(X).reshape(outputs.shape), outputs)
        return
    best = np.sort(np.hstack([decided, 0 * decided] if decided.shape[1] == 1 else [decided]))
    clear = best[:, -1] - best[:, -2] > 2 * tolerance.max(axis=1)
    assert clear.mean() > 0.9 or (decided == decided[0]).all()  # or all are a toss
    assert (rules.predict(X) == predicted)[clear].all()
    if model.loss == "logistic":
        np.testing.assert_allclose(
            rules.predict_proba(X), model.predict_proba(X), rtol=0, atol=tolerance.max()
        )


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_it_predicts_what_the_model_predicts(kind, deep):
    model, X, _ = fitted(kind, deep)
    agree(model, X)


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (NeuralRuleRegressor, {}),
        (NeuralRuleRegressor, {"deep": True}),
        (NeuralRuleRegressor, {"rule_source": "boosting", "n_trees": 4}),
        (NeuralRuleRegressorCV, {"candidates": DEPTHS, "cv": 2, "n_trees": 4}),
        (NeuralRuleClassifier, {"rule_source": "boosting", "n_trees": 4}),
        (NeuralRuleClassifier, {"class_weight": {"low": 20, "middle": 1, "high": 1}}),
        (NeuralRuleClassifier, {"loss": "squared"}),
        (NeuralRuleClassifierCV, {"candidates": DEPTHS, "cv": 2, "refit": "single"}),
        (NeuralRuleClassifier, {"start": "leaf", "n_trees": 4, "scaling": "quantile"}),
        (NeuralRuleRegressor, {"rule_source": "tree", "literal_columns": "tree"}),
    ],
)
def test_every_way_to_fit_a_frame_with_holes(estimator, options):
    model, X = fitted_on_mixed(estimator, options)
    agree(model, X)
    agree(model, broken(X))


@pytest.mark.parametrize("kind", ["mixed", "two targets"])
@pytest.mark.parametrize("deep", [False, True])
def test_simplified_models(kind, deep):
    model, X, _ = fitted(kind, deep)
    small = simplified(kind, deep)
    assert small.network_.n_parameters < model.network_.n_parameters
    agree(small, X)


@pytest.mark.parametrize("spread", [1.0, 3600.0, 1e7])
def test_columns_far_from_zero(spread):
    rng = np.random.RandomState(0)
    X = np.column_stack([1.6e9 + spread * rng.randn(300), -1e9 + rng.randn(300)])
    y = (X[:, 0] - 1.6e9) / spread + (X[:, 1] > -1e9)
    agree(NeuralRuleRegressor.paper(3, n_epochs=10, random_state=0).fit(X, y), X)


@pytest.mark.parametrize("n_targets", [None, 1, 2])
def test_predictions_have_the_models_shape(n_targets):
    X, y = load_diabetes(return_X_y=True)
    if n_targets:
        y = np.column_stack([y, -y])[:, :n_targets]
    model = NeuralRuleRegressor.paper(2, n_epochs=2, random_state=0).fit(X, y)
    assert f"\nflat {json.dumps(n_targets is None)}\n" in model.exact_text()
    assert read_rules(model.exact_text()).predict(X).shape == y.shape
    agree(model, X)


def test_numbers_are_read_as_they_were_written():
    """Bit by bit: no parameter of the network changes on its way through the text."""
    for kind in ("mixed", "two targets", "quantiles"):
        model, _, _ = fitted(kind, True)
        network, columns = model.network_, model.encoder_.columns
        rules = read_rules(model.exact_text())
        np.testing.assert_array_equal(rules.intercept, network.intercept)
        np.testing.assert_array_equal([rule.values for rule in rules.rules], network.values)
        declared = {column.name: column.stand_in for column in rules.columns}
        for column in columns:
            if isinstance(column, Number):
                assert declared[model.encoder_.names[column.source]] == column.mean
        literals = [literal for rule in rules.rules for literal in rule.literals]
        units = [unit for rule in rules.rules for unit in rule.units]
        scales = np.array([columns[feature].in_sums.scale for feature in network.features])
        for literal, weights in zip(literals, network.weights, strict=True):
            factors = (weights.astype(float) / scales)[weights != 0]
            assert [factor for factor, _ in literal[:-1]] == factors.tolist()
        for unit, shift in zip(units, network.shifts, strict=True):
            assert unit[-1] == (shift, None)
        mixing = [factor for unit in units for factor, _ in unit[:-1]]
        assert mixing == network.mixing[network.mixing != 0].astype(float).tolist()


@pytest.mark.parametrize("kind", ["two classes", "mixed", "two targets", "quantiles"])
@pytest.mark.parametrize("digits", [7, 11])
def test_every_digit_matters(kind, digits):
    model, X, _ = fitted(kind)
    before, mark, sums = model.exact_text().partition("rule 0")
    cut = re.sub(r"\d+\.\d+(e-\d+)?", lambda m: f"{float(m[0]):.{digits}g}", sums)
    agree(model, X, before + mark + sums)
    with pytest.raises(AssertionError):
        agree(model, X, before + mark + cut)


def broken(X):
    """Rows of a mixed table with more holes, and a category that training had not."""
    rng = np.random.RandomState(1)
    rows = X.sample(200, random_state=1, replace=True).reset_index(drop=True)
    rows = rows.astype({"children": float})
    for column in rows.columns:
        rows.loc[rng.rand(200) < 0.3, column] = None
    rows["city"] = rows["city"].where(rng.rand(200) < 0.8, "Atlantis")
    return rows


def test_new_rows_with_holes_and_unknown_categories():
    model, X, _ = fitted("mixed")
    rows = broken(X)
    agree(model, rows)
    agree(model, rows[::-1])


@pytest.mark.parametrize("holes", [False, True])
def test_rare_categories_and_holes(holes):
    """A hole is rare where training had none, and a category of its own where it had."""
    agree(*fitted_on_rare_codes(holes))


def test_columns_are_found_by_name():
    model, X, _ = fitted("mixed")
    rules = read_rules(model.exact_text())
    turned = X[X.columns[::-1]]
    np.testing.assert_array_equal(rules.decision_function(turned), rules.decision_function(X))
    with pytest.raises(ValueError, match="X has no column 'income', which the rules name"):
        rules.predict(X.rename(columns={"income": "Income"}))
    with pytest.raises(ValueError, match="X has 2 columns, but the rules were written for 5"):
        rules.predict(X[["income", "city"]])
    message = (
        "Column 'income' held numbers when the model was fitted and holds text or categories"
    )
    with pytest.raises(ValueError, match=message):
        rules.predict(X.assign(income="much"))
    with pytest.raises(ValueError, match=r"infinity or a value .*: column 'income' holds inf"):
        rules.predict(X.assign(income=np.inf))


def test_probabilities_only_of_logistic_rules():
    for kind, loss in (("hinge", "hinge"), ("numbers", "squared")):
        rules = read_rules(fitted(kind)[0].exact_text())
        assert not hasattr(rules, "predict_proba")
        with pytest.raises(AttributeError) as error:
            rules.predict_proba(fitted(kind)[1])
        assert str(error.value.__cause__) == (
            f"predict_proba needs loss='logistic'; these rules have loss='{loss}'."
        )


@pytest.mark.parametrize("classes", [[False, True], [3, 7, 9], [1.0, 2.0], ["a", "b", "c"]])
def test_classes_keep_their_type(classes):
    X = np.arange(60.0)[:, None]
    model = NeuralRuleClassifier.paper(3, n_epochs=2).fit(
        X, np.repeat(classes, 60 // len(classes))
    )
    agree(model, X)
    assert read_rules(model.exact_text()).predict(X).tolist() == model.predict(X).tolist()


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
@example("a", "Rome\0", "other\0")
def test_any_name_survives(column, category, label):
    assume(category != "Rome" and label != "other")
    frame = pd.DataFrame({column: ["Rome", category] * 10, column + "2": np.arange(20.0)})
    y = np.array(["other", label] * 10, object)
    model = NeuralRuleClassifier.paper(2, n_epochs=2, engine="numpy", random_state=0).fit(
        frame, y
    )
    rules = read_rules(model.exact_text())
    assert rules.predict(frame).tolist() == model.predict(frame).tolist()


def test_the_text_is_json_where_it_names_things():
    model, X, _ = fitted("mixed")
    columns = [line for line in model.exact_text().splitlines() if line.startswith("column ")]
    for line, name in zip(columns, X.columns, strict=True):
        assert json.JSONDecoder().raw_decode(line[len("column ") :])[0] == name
    assert 'categories ["Lima", "Oslo", "Rome"] missing' in columns[2]
    assert columns[3].endswith("] missing rare")


GOOD = """neuralrules rules 1
task "classes"
classes ["no", "yes"]
loss "logistic"
column "age" number missing 40.0
column "city" categories ["Oslo"]
intercept [0.5]

rule 0 value [2.0]
  + 1.0 * "age" - 30.0
  - 100.0 * ["city" = "Oslo"] + 50.0

rule 1 value [1.0]
  + 0.5
  - 1.0 * ["age" is missing]
  through
  + 2.0 * A0 - 3.0 * A1 + 0.0
  + 1.0 * A0 + 0.25
"""


def test_a_text_written_by_hand():
    rules = read_rules(GOOD)
    frame = pd.DataFrame(
        {"age": [35.0, 95.0, np.nan, 35.0], "city": ["Rome", "x", None, "Oslo"]}
    )
    decision = np.array([11.25, 101.25, 21.25, 1.25])
    np.testing.assert_array_equal(rules.decision_function(frame), decision)
    np.testing.assert_allclose(rules.predict_proba(frame)[:, 1], 1 / (1 + np.exp(-decision)))
    assert rules.predict(frame).tolist() == ["yes"] * 4
    assert rules.decision_function(np.array([[31, "Rome"]], object)).tolist() == [3.25]
    below = read_rules(GOOD.replace("[0.5]", "[-20.0]"))
    assert below.predict(frame).tolist() == ["no", "yes", "yes", "no"]


SCALED = GOOD.replace(
    "number missing 40.0", "scaled [[0.0, -2.0], [50.0, 0.5], [90.0, 2.5]]"
).replace('1.0 * "age" - 30.0', '2.0 * scaled("age") + 1.0')


def test_a_scaled_column_written_by_hand():
    frame = pd.DataFrame({"age": [10.0, 70.0, np.nan, 1e9, -1e9], "city": ["x"] * 5})
    # Scaled -1.5, 1.5, 0, 2.5 and -2.
    decision = np.array([0, 2 * 4, 2 * 1, 2 * 6, 0]) + 1.25
    for text in (SCALED, SCALED.replace("2.5]]", "2.5]] mean 5.0 deviation 1e3")):
        rules = read_rules(text)
        np.testing.assert_allclose(rules.decision_function(frame), decision, atol=1e-12)
        model = read_rules(text, estimator=True)
        np.testing.assert_allclose(model.decision_function(frame), decision, atol=1e-5)
        assert "where A = 2·scaled(age) + 1\n" in model.rules_text()
        again = read_rules(model.exact_text(), estimator=True)
        np.testing.assert_array_equal(
            again.decision_function(frame), model.decision_function(frame)
        )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('scaled("age")', '"age"', "10: there is no column 'age' with number here"),
        ('scaled("age")', 'scaled("city")', "10: there is no column 'city' with scaled here"),
        ("[[0.0, -2.0], [50.0, 0.5], ", "[", "5: a scaled column needs at least two points"),
        ("[90.0, 2.5]", "[90.0, 2.5, 1.0]", "5: the points of a scaled column must be pairs"),
        ("[90.0, 2.5]", "[90.0]", "5: the points of a scaled column must be pairs"),
        ("[90.0, 2.5]", "[90.0, NaN]", "5: nan is not a finite number"),
        ("[90.0, 2.5]", "90.0", "5: expected a list of numbers, found 90.0"),
        ("[90.0, 2.5]", "[50.0, 2.5]", "5: the points of a scaled column must rise, to scaled"),
        ("[90.0, 2.5]", "[90.0, 0.5]", "5: the points of a scaled column must rise, to scaled"),
        ("-2.0]", "0.1]", "5: the points of a scaled column must rise, to scaled numbers aro"),
        ("[90.0, 2.5]", "[1e30, 2.5]", "5: the points of a scaled column must not go beyond"),
        ("2.5]]", "2.5]] mean 1.0 deviation 0.0", "5: a deviation must be above 0"),
    ],
)
def test_scaled_columns_that_cannot_be_read(old, new, message):
    assert old in SCALED
    number, _, what = message.partition(": ")
    with pytest.raises(ValueError, match=f"^Line {number} of the rules: {re.escape(what)}"):
        read_rules(SCALED.replace(old, new, 1))


HUGE = "9" * 10_000
NUMBERS = GOOD.replace(
    'classes"\nclasses ["no", "yes"]\nloss "logistic"', 'numbers"\nflat true'
)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rules 1", "rules 2", "1: the first line must be 'neuralrules rules 1'"),
        (GOOD, "", "1: the first line must be 'neuralrules rules 1'"),
        (GOOD, "\0\xff\x1b\n\x80", "1: the first line must be 'neuralrules rules 1'"),
        (GOOD, "neuralrules rules 1\n", "2: expected 'task', found ''"),
        ('task "classes"', "tusk", "2: expected 'task', found 'tusk'"),
        ('task "classes"', 'task "x"', '2: the task must be "classes" or "numbers", not \'x\''),
        ('task "classes"', "task []", '2: the task must be "classes" or "numbers", not []'),
        ('["no", "yes"]', '["no"', "3: '[\"no\"' is not a JSON value"),
        ('["no", "yes"]', "[" * 10**5, f"3: '{'[' * 40}' is not a JSON value"),
        ('["no", "yes"]', '["no", 1]', "3: classes must be a list of strings"),
        ('["no", "yes"]', "3", "3: classes must be a list of strings"),
        ('["no", "yes"]', "[[], []]", "3: classes must be a list of strings"),
        ('["no", "yes"]', "[]", "3: classes must be a list of strings"),
        ('["no", "yes"]', '["no"]', "3: there must be at least two classes"),
        ('["no", "yes"]', '["no", "no"]', "3: there must be at least two classes"),
        ('["no", "yes"]', "[1.0, NaN]", "3: nan is not a finite number"),
        ('["no", "yes"]', f"[1, {HUGE}]", f"3: '[1, {'9' * 36}' is not a JSON value"),
        ('["no", "yes"]', '["a", "b", "c"]', "7: expected an intercept for 3 outputs, found 1"),
        ('"logistic"', '"cubic"', "4: the loss must be one of logistic, hinge, squared"),
        ('"logistic"', "{}", "4: the loss must be one of logistic, hinge, squared"),
        ("number missing 40.0", "number", "5: 'column \"age\" number' does not declare"),
        ("missing 40.0", "missing 1e999", "5: '1e999' is not a finite number"),
        ("missing 40.0", f"missing {HUGE}", f"5: '{'9' * 40}' is not a finite number"),
        ('"age" number', '"\\q" number', "5: '\"\\\\q\"' is not a JSON value"),
        ('column "city"', 'column "age"', "6: column 'age' is declared twice"),
        ('["Oslo"]', '["Oslo", "Oslo"]', "6: categories must be strings, and all of them"),
        ('["Oslo"]', '["Oslo", 1]', "6: categories must be strings, and all of them"),
        ('["Oslo"]', "[[]]", "6: categories must be strings, and all of them"),
        ("[0.5]", "0.5", "7: expected a list of numbers, found 0.5"),
        ("[0.5]", "[]", "7: expected a list of numbers, found []"),
        ("[0.5]", "[true]", "7: expected a list of numbers, found [True]"),
        ("[0.5]", "[0.5, 0.5]", "7: expected an intercept for 1 outputs, found 2"),
        ("[0.5]", "[1e999]", "7: inf is not a finite number"),
        ("[0.5]", "[NaN]", "7: nan is not a finite number"),
        ("[0.5]", f"[{'9' * 400}]", f"7: {'9' * 60} is not a finite number"),
        ("rule 0 value", "rule zero", "9: expected a rule, found 'rule zero [2.0]'"),
        ("[2.0]", "[2.0, 1.0]", "9: the rule has 2 values for 1 outputs"),
        ("[2.0]", '["a"]', "9: expected a list of numbers, found ['a']"),
        ('* "age"', '* "aged"', "10: there is no column 'aged' with number here"),
        ('* "age"', '* "city"', "10: there is no column 'city' with number here"),
        ('* "age"', '* ["age" is rare]', "10: there is no column 'age' with rare here"),
        ('* "age"', '* ["age" = "x"]', "10: there is no column 'age' with category 'x' here"),
        ('= "Oslo"', '= "Rome"', "11: there is no column 'city' with category 'Rome' here"),
        ('= "Oslo"', "is rare", "11: there is no column 'city' with rare here"),
        ('= "Oslo"', "is missing", "11: there is no column 'city' with missing here"),
        ("+ 50.0", "+ import os", "11: cannot read ' + import os'"),
        ("- 30.0", "- 30.0 * A0", "10: there is no literal A0 here"),
        ("- 30.0", "- nan", "10: cannot read ' - nan'"),
        ("- 30.0", "- 1e999", "10: '-1e999' is not a finite number"),
        ("- 30.0", f"- {HUGE}", f"10: '-{'9' * 39}' is not a finite number"),
        ("3.0 * A1", "3.0 * A2", "17: there is no literal A2 here"),
        ("3.0 * A1", f"3.0 * A{HUGE}", "17: there is no literal A999999999 here"),
        ("3.0 * A1", '3.0 * "age"', "17: there is no column 'age' with number here"),
        ("  + 1.0 * A0 + 0.25\n", "", "16: 1 units stand above 2 literals"),
        ("+ 0.25", "+ 0.25\n  + 1.0", "16: 3 units stand above 2 literals"),
        ("+ 0.25", "+ 0.25\n  through", "19: expected a rule, found '  through'"),
        ('  + 1.0 * "age" - 30.0\n', "\n  through\n", "9: the rule has no literal"),
        (GOOD[GOOD.index("  + 1.0") :], "", "9: the rule has no literal"),
        (GOOD[GOOD.index("rule 0") :], "\n\n", "11: expected a rule, found ''"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(old, new, message):
    assert old in GOOD
    number, _, what = message.partition(": ")
    start = f"^Line {number} of the rules: {re.escape(what)}"
    with pytest.raises(ValueError, match=start) as error:
        read_rules(GOOD.replace(old, new, 1))
    assert str(error.value).endswith(". The text must be as exact_text() wrote it.")


def test_the_shape_of_a_regression_must_fit_its_outputs():
    assert read_rules(NUMBERS).predict(np.array([[31, "x"]], object)).shape == (1,)
    whole = "Line 3 of the rules: flat must be true or false, not 1"
    with pytest.raises(ValueError, match=whole):
        read_rules(NUMBERS.replace("true", "1"))
    two = NUMBERS.replace("[0.5]", "[0.5, 0.5]")
    with pytest.raises(ValueError, match="Line 6 of the rules: expected an intercept for 1"):
        read_rules(two)
    with pytest.raises(ValueError, match="Line 8 of the rules: the rule has 1 values for 2"):
        read_rules(two.replace("true", "false"))
    with pytest.raises(TypeError, match="takes the text as a str, got bytes"):
        read_rules(GOOD.encode())


@st.composite
def mutated(draw):
    """A valid text with some characters or lines dropped, doubled, moved or replaced."""
    fits = [fitted("mixed", True)[0].exact_text()[:6000], SCALED]
    text = draw(st.sampled_from([GOOD, NUMBERS, *fits]))
    for _ in range(draw(st.integers(1, 3))):
        pieces = text.split("\n") if draw(st.booleans()) else list(text)
        whole = "\n" if pieces != list(text) else ""
        a, b = (draw(st.integers(0, len(pieces) - 1)) for _ in range(2))
        other = draw(st.sampled_from([pieces[b], "", "\n", draw(st.text(max_size=3)), *PIECES]))
        pieces[a : a + draw(st.integers(0, 2))] = [other]
        text = whole.join(pieces)
        if not text:
            break
    return text


PIECES = [*'[]"*+-=.e019A{}\\ ', "NaN", "1e999", "null", "true", "through", "is rare", "\0"]


@settings(max_examples=300)
@given(mutated())
def test_a_damaged_text_is_refused_with_its_line_or_is_a_model(text):
    try:
        rules = read_rules(text)
    except ValueError as error:
        number = int(re.match(r"Line (\d+) of the rules: ", str(error))[1])
        assert 1 <= number <= text.count("\n") + 1
        return
    cells = [0.5 if column.stand_in is not None else "Oslo" for column in rules.columns]
    with np.errstate(all="ignore"):  # a damaged factor may be as large as float64 allows
        assert len(rules.predict(np.array([cells, cells], object))) == 2
        if rules.loss == "logistic":
            assert rules.predict_proba(np.array([cells], object)).shape[0] == 1


@given(st.binary(max_size=200))
def test_garbage_is_refused(data):
    with pytest.raises(ValueError, match=r"^Line \d+ of the rules: "):
        read_rules(data.decode("latin-1"))
    with pytest.raises(ValueError, match=r"^Line \d+ of the rules: "):
        read_rules("neuralrules rules 1\n" + data.decode("latin-1"))


def test_labels_that_json_does_not_know_are_refused():
    X = np.arange(20.0)[:, None]
    y = np.datetime64("2020-01-01") + np.arange(20) % 2
    model = NeuralRuleClassifier.paper(1, n_epochs=0, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match=r"cannot write the class datetime\.date\(2020"):
        model.exact_text()
