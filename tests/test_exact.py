"""The text that loses nothing."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import EVERY_MODEL, fitted

from neuralrules import NeuralRuleClassifier, read_rules


def agree(model, X):
    rules = read_rules(model.exact_text())
    expected = np.asarray(model._decide(X))
    outputs = rules.decision_function(X)
    scale = 1 + np.abs(model.network_.values).max() * np.abs(expected).max()
    np.testing.assert_allclose(
        outputs.reshape(expected.shape), expected, rtol=2e-5, atol=2e-6 * scale
    )
    clear = np.abs(expected).min(axis=1) > 1e-4
    predicted = model.predict(X)
    if predicted.dtype.kind == "f":
        np.testing.assert_allclose(
            rules.predict(X).reshape(predicted.shape), predicted, rtol=1e-5
        )
    else:
        assert (rules.predict(X) == predicted)[clear].all()


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_it_predicts_what_the_model_predicts(kind, deep):
    model, X, _ = fitted(kind, deep)
    agree(model, X)


def test_new_rows_with_holes_and_unknown_categories():
    model, X, _ = fitted("mixed")
    rng = np.random.RandomState(1)
    rows = X.sample(200, random_state=1, replace=True).reset_index(drop=True)
    for column in rows.columns:
        rows.loc[rng.rand(200) < 0.3, column] = None
    rows["city"] = rows["city"].where(rng.rand(200) < 0.8, "Atlantis")
    agree(model, rows)
    agree(model, rows[::-1])


@pytest.mark.parametrize("holes", [False, True])
def test_rare_categories_and_holes(holes):
    """A hole is rare where training had none, and a category of its own where it had."""
    rng = np.random.RandomState(0)
    codes = np.array([f"c{i}" for i in np.minimum(rng.geometric(0.02, 1500), 200)], object)
    often = set(pd.Series(codes).value_counts().index[:55])
    y = np.array([code in often for code in codes])
    if holes:
        codes[::10] = None
        y[::10] = True
    model = NeuralRuleClassifier(3, n_epochs=10, random_state=0).fit(codes[:, None], y)
    kinds = {model.encoder_.columns[feature].kind for feature in model.network_.features}
    assert "rare" in kinds
    rows = np.array([["c1"], ["c170"], [None], ["never seen"]], object)
    agree(model, np.vstack([codes[:, None], rows]))


def test_columns_are_found_by_name():
    model, X, _ = fitted("mixed")
    rules = read_rules(model.exact_text())
    turned = X[X.columns[::-1]]
    np.testing.assert_array_equal(rules.decision_function(turned), rules.decision_function(X))
    with pytest.raises(ValueError, match="X has no column 'income', which the rules name"):
        rules.predict(X.rename(columns={"income": "Income"}))
    with pytest.raises(ValueError, match="X has 2 columns, but the rules were written for 5"):
        rules.predict(X[["income", "city"]])
    with pytest.raises(ValueError, match="Column 'income' must hold numbers"):
        rules.predict(X.assign(income="much"))


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_any_name_survives(column, category, label):
    if category == "Rome" or label == "other":
        return
    frame = pd.DataFrame({column: ["Rome", category] * 10, column + "2": np.arange(20.0)})
    y = np.where(np.arange(20) % 2, label, "other")
    model = NeuralRuleClassifier(2, n_epochs=2, engine="numpy", random_state=0).fit(frame, y)
    rules = read_rules(model.exact_text())
    np.testing.assert_array_equal(rules.predict(frame), model.predict(frame))


def test_the_text_is_json_where_it_names_things():
    model, X, _ = fitted("mixed")
    columns = [line for line in model.exact_text().splitlines() if line.startswith("column ")]
    for line, name in zip(columns, X.columns, strict=True):
        assert json.JSONDecoder().raw_decode(line[len("column ") :])[0] == name
    assert 'categories ["Lima", "Oslo", "Rome"] missing' in columns[2]
    assert columns[3].endswith("] missing rare")


GOOD = """neuralrules rules 1
task "classes"
outputs ["yes"]
classes ["no", "yes"]
loss "logistic"
column "age" number missing 40.0
column "city" categories ["Oslo"]
intercept [0.5]

rule 0 value [2.0]
  + 1.0 * "age" - 30.0
  - 100.0 * ["city" = "Oslo"] + 50.0
"""


def test_a_text_written_by_hand():
    rules = read_rules(GOOD)
    frame = pd.DataFrame(
        {"age": [35.0, 95.0, np.nan, 35.0], "city": ["Rome", "x", None, "Oslo"]}
    )
    np.testing.assert_array_equal(rules.decision_function(frame), [10.5, 100.5, 20.5, 0.5])
    assert rules.predict(frame).tolist() == ["yes"] * 4
    assert rules.decision_function(np.array([[31, "Rome"]], object)).tolist() == [2.5]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "rules 1",
            "rules 2",
            "Line 1 of the rules: the first line must be 'neuralrules rules 1'",
        ),
        ('task "classes"', "tusk", "Line 2 of the rules: expected 'task', found 'tusk'"),
        ('["yes"]', '["yes"', "Line 3 of the rules: '[\"yes\"' is not a JSON value"),
        (
            "number missing 40.0",
            "number",
            "Line 6 of the rules: 'column \"age\" number' does not declare a column",
        ),
        (
            "rule 0 value",
            "rule zero",
            "Line 10 of the rules: expected a rule, found 'rule zero [2.0]'",
        ),
        ("[2.0]", "[2.0, 1.0]", "Line 10 of the rules: the rule has 2 values for 1 outputs"),
        ('* "age"', '* "aged"', "Line 11 of the rules: there is no column 'aged'"),
        ("+ 50.0", "+ import os", "Line 12 of the rules: cannot read ' + import os'"),
        ("- 30.0", "- 30.0 * A7", "Line 11 of the rules: there is no literal A7"),
        ("- 30.0", "- nan", "Line 11 of the rules: cannot read ' - nan'"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(old, new, message):
    whole = f"^{re.escape(message)}. The text must be as exact_text\\(\\) wrote it.$"
    with pytest.raises(ValueError, match=whole):
        read_rules(GOOD.replace(old, new, 1))


def test_rules_need_literals():
    with pytest.raises(ValueError, match="there is no rule"):
        read_rules(GOOD.partition("rule 0")[0])
    with pytest.raises(ValueError, match="the rule has no literal"):
        read_rules(GOOD.partition("  + 1.0")[0])
