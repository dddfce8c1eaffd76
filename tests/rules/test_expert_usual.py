"""Rules that people write about usual outcomes: what they hold for, and what is refused."""

import re

import numpy as np
import pandas as pd
import pytest
from models import cities_classes, cities_table, fitted_on_cities

from neuralrules import NeuralRuleClassifier
from neuralrules._data._columns import Usual
from neuralrules._rules._expert import read_rule
from neuralrules._rules._rules import unmeasured


def encoder_of(kind="two classes"):
    return fitted_on_cities(kind)[0].encoder_


def held(text, kind="two classes"):
    """The rows that a rule holds for, and the usual outcomes of the cities of all rows."""
    model, X, _ = fitted_on_cities(kind)
    rules = unmeasured([read_rule(text, model.encoder_, "rule")], model.fitted_.task)
    cells = model.encoder_.cells(X, 0)
    own = [one for one in model.encoder_.columns_of(0) if isinstance(one, Usual)]
    usual = np.stack([column.raw(cells) for column in own], axis=1)
    return rules.covers(model.encoder_.transform(X))[:, 0], usual


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("usual(city) > 0.5", 1),
        ("usual( 'city' ) >= 0.5", 1),
        ('usual("city")<0.5', -1),
        ("usual(city, good) ≤ 0.5", -1),
    ],
)
def test_usual_outcomes_are_compared(text, sign):
    holds, usual = held(text)
    np.testing.assert_array_equal(holds, sign * usual[:, 0] > sign * 0.5)
    assert 0 < holds.sum() < len(holds)


def test_the_number_itself_is_reached_or_not():
    model, X, _ = fitted_on_cities("two classes")
    table = model.categories_table().query("column == 'city'")
    value, usual = table["value"].iloc[0], float(table["usual"].iloc[0])
    own = (X["city"] == value).to_numpy()
    for sign, reached in {">": False, ">=": True, "<": False, "<=": True}.items():
        holds, _ = held(f"usual(city) {sign} {usual!r}")
        assert (holds[own] == reached).all()


def test_one_of_several_outcomes_is_named():
    holds, usual = held("usual(city, late) > 0.13 and usual(city, good) < 0.5", "three classes")
    np.testing.assert_array_equal(holds, (usual[:, 1] > 0.13) & (usual[:, 0] < 0.5))
    holds, usual = held("usual(city, 1) > 3.3", "two targets")
    np.testing.assert_array_equal(holds, usual[:, 1] > 3.3)


def test_texts_of_rules_are_read_back():
    """What `rules_table` shows of such a rule is a rule that people may write."""
    model, _, _ = fitted_on_cities("three classes")
    text = "usual(city, late) > 0.13 and usual(code, good) < 0.4"
    assert model.edit(replace={0: text}).rules_table().loc[0, "text"] == text


def test_they_are_given_to_a_fit():
    X, y = cities_classes()
    rules = ["usual(city, good) > 0.6 and income > 20000", "free: usual(code, late) > 0.2"]
    model = NeuralRuleClassifier(
        2, n_trees=1, n_epochs=3, expert_rules=rules, random_state=0
    ).fit(X, y)
    assert model.rules_table().loc[0, "text"] == "usual(city, good) > 0.6 and income > 20000"


def test_a_column_may_have_such_a_name():
    frame, y = cities_table()
    frame = frame.rename(columns={"income": "usual(city)"})
    model = NeuralRuleClassifier(2, n_trees=1, n_epochs=0, random_state=0).fit(frame, y)
    (feature, sign, _) = read_rule("usual(city) > 20000", model.encoder_, "rule")[0]
    assert (model.encoder_.columns[feature].stored_as, sign) == ("number", 1)
    quoted = read_rule('usual("city") > 0.5', model.encoder_, "rule")[0]
    assert isinstance(model.encoder_.columns[quoted[0]], Usual)


def test_a_column_of_digits_may_be_named():
    frame, y = cities_table()
    frame = pd.DataFrame({7: frame["city"]})
    model = NeuralRuleClassifier(2, n_trees=1, n_epochs=0, random_state=0).fit(frame, y)
    for text in ("usual(column 7) > 0.5", "usual(7) > 0.5", "usual('7') > 0.5"):
        assert read_rule(text, model.encoder_, "rule")
    assert model.edit(replace={0: "usual(7) > 0.5"}).rules_table().loc[0, "text"] == (
        "usual(column 7) > 0.5"
    )


@pytest.mark.parametrize(
    ("kind", "text", "marked", "what"),
    [
        (
            "two classes",
            "usual(income) > 3",
            "-->usual(income) > 3",
            "the column 'income' has no usual outcomes, which only text columns with many "
            "values have.",
        ),
        (
            "two classes",
            "usual(citi) > 3",
            "-->usual(citi) > 3",
            "there is no column 'citi'; did you mean city?",
        ),
        (
            "two classes",
            "usual(city, bad) > 0.3",
            "-->usual(city, bad) > 0.3",
            "usual outcomes are those of 'good', not of 'bad'.",
        ),
        (
            "three classes",
            "usual(city) > 0.3",
            "-->usual(city) > 0.3",
            "say which of the usual outcomes you mean, such as usual(city, good).",
        ),
        (
            "two classes",
            "usual(city) = 0.3",
            "usual(city) -->= 0.3",
            "usual outcomes are numbers: compare them by <, <=, > or >=.",
        ),
        (
            "two classes",
            "usual(city)",
            "usual(city)-->",
            "usual outcomes are numbers: compare them by <, <=, > or >=.",
        ),
        ("two classes", "usual(city) > high", "usual(city) > -->high", "expected a number."),
        ("two classes", "usual(city) >", "usual(city) >-->", "expected a number."),
        (
            "two classes",
            "city > 3",
            "city -->> 3",
            "the column 'city' holds categories: compare it by = or !=, or usual(city) by < or "
            ">.",
        ),
    ],
)
def test_errors_mark_the_place(kind, text, marked, what):
    message = f"rule cannot be read at the mark in {marked!r}: {what}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read_rule(text, encoder_of(kind), "rule")
