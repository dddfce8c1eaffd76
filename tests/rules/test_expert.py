"""Rules that people write: what they hold for, and what is said of those that will not do."""

import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralrules._data._encoder import Encoder
from neuralrules._data._rows import Rows
from neuralrules._rules._expert import expert_rules, read_rule
from neuralrules._rules._rules import LITERALS_FROZEN, unmeasured
from neuralrules._task._task import Task

FRAME = pd.DataFrame(
    {
        "late": [0, 1, 2, 3, 4, 5],
        "loan amount": [1e3, np.nan, 5e3, 2e3, 9e3, np.nan],
        "region": ["north", "south", None, "New York", "north", "007"],
        "opened": pd.to_datetime(["2018-06-01", "2019-01-01", "2020-02-29"] * 2),
        "member": [True, False] * 3,
        'odd "name"': np.arange(6.0) / 8,
        "7": [1.5, 2.5, 3.5, 1.5, 2.5, 3.5],
    }
)
TASK = Task.of_classes(np.array(["bad", "good"]), "logistic")


@cache
def encoded(scaling="standard"):
    encoder = Encoder.fit(FRAME, np.ones(6), named=True, scaling=scaling)
    return encoder, encoder.transform(FRAME)


def held(text, scaling="standard"):
    """The rows that a rule holds for."""
    encoder, X = encoded(scaling)
    rules = unmeasured([read_rule(text, encoder, "rule")], TASK)
    return np.flatnonzero(rules.covers(X)[:, 0]).tolist()


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("late > 2", [3, 4, 5]),
        ("late >= 2", [2, 3, 4, 5]),
        ("late<2", [0, 1]),
        ("late ≤ 2 AND late ≥ 1", [1, 2]),
        ("late < 100", [0, 1, 2, 3, 4, 5]),
        ("late <= -1", []),
        ("late >= 5.5", []),
        ("late > -3e0", [0, 1, 2, 3, 4, 5]),
        ("region = north", [0, 4]),
        ("region == 'New York'", [3]),
        ("region != north and late > 1", [2, 3, 5]),
        ("region = 007", [5]),
        ("region is missing", [2]),
        ("region is not missing and late < 4", [0, 1, 3]),
        ('"loan amount" is missing', [1, 5]),
        ('"loan amount" is not missing and "loan amount" <= 5000', [0, 2, 3]),
        ("opened < 2019-01-01", [0, 3]),
        ("opened <= 2019-01-01", [0, 1, 3, 4]),
        ('opened > "2019-01-01 12:00"', [2, 5]),
        ("member = true", [0, 2, 4]),
        ("member != true and late > 1", [3, 5]),
        ('"odd \\"name\\"" > 0.25', [3, 4, 5]),
        ("7 > 2 and column 7 < 3", [1, 4]),
    ],
)
def test_rules_hold_where_they_say(text, rows, scaling):
    assert held(text, scaling) == rows


@given(
    st.lists(st.integers(-20, 20), min_size=3, max_size=12, unique=True),
    st.sampled_from(["<", "<=", ">", ">="]),
    st.integers(-25, 25),
    st.sampled_from(["standard", "quantile"]),
    st.sampled_from([1, 0.1, 1e6]),
)
def test_comparisons_agree_with_python(numbers, sign, bound, scaling, unit):
    x = np.array(numbers) * unit
    encoder = Encoder.fit(x[:, None], np.ones(len(x)), scaling=scaling)
    limit = bound * unit
    rules = unmeasured([read_rule(f"x0 {sign} {limit!r}", encoder, "rule")], TASK)
    expected = {"<": x < limit, "<=": x <= limit, ">": x > limit, ">=": x >= limit}[sign]
    assert rules.covers(encoder.transform(x[:, None]))[:, 0].tolist() == expected.tolist()


def test_values_are_those_of_the_rows_covered():
    encoder, X = encoded()
    weights = np.array([1, 1, 1, 1, 2, 0], np.float32)
    targets = np.array([0, 0, 1, 1, 0, 1], np.float32)[:, None]
    rows = Rows(X, targets, weights, weights, TASK)
    texts = ["late >= 2 and late < 5", "late = true", "late > 2 and region != north"]
    rules = expert_rules([texts[0], texts[2]], encoder, rows)
    assert rules.n.tolist() == [4, 1]
    assert rules.totals.tolist() == [[2, 2], [0, 1]]
    assert rules.values[:, 0].tolist() == [0, 1]
    assert rules.scores.tolist() == [0, 1]
    assert rules.frozen.tolist() == [LITERALS_FROZEN] * 2
    assert expert_rules([f"free: {texts[0]}"], encoder, rows).frozen is None
    message = (
        "expert_rules[0], 'late > 9', holds for none of the training rows: its value stays 0."
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(message)}"):
        empty = expert_rules(["late > 9"], encoder, rows)
    assert empty.values.tolist() == [[0]]
    assert empty.scores.tolist() == [0]


def test_scores_of_numbers_are_measured_from_their_mean():
    """The Huber loss centres numbers at their median, so their mean is not 0."""
    encoder, X = encoded()
    numbers = np.array([[0], [0], [1], [1], [2], [30.0]])
    weights = np.array([1, 1, 1, 1, 2, 1], np.float32)
    task = Task.of_numbers(numbers, weights, "huber", flat=True)
    rows = Rows(X, task.standardised(numbers), weights, weights, task)
    rules = expert_rules(["late >= 2 and late < 5", "late >= 0"], encoder, rows)
    distances = rows.targets[:, 0] - np.average(rows.targets[:, 0], weights=weights)
    assert np.average(rows.targets, weights=weights[:, None]) > 0.5
    expected = (weights[2:5] @ distances[2:5]) ** 2 / 4
    np.testing.assert_allclose(rules.scores, [expected, 0], rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize(
    ("text", "marked", "what"),
    [
        ("lat > 2", "-->lat > 2", "there is no column 'lat'; did you mean late?"),
        (
            "loan amount > 2",
            "-->loan amount > 2",
            "there is no column 'loan'; did you mean \"loan amount\"?",
        ),
        (
            "late > 2 or late < 1",
            "late > 2 -->or late < 1",
            'a rule has no "or": write two rules.',
        ),
        (
            "region = New York",
            "region = -->New York",
            "the column 'region' has no category 'New' with an indicator; it has '007', 'New "
            "York', 'north', 'south'.",
        ),
        (
            "region = nort",
            "region = -->nort",
            "the column 'region' has no category 'nort' with an indicator; did you mean "
            "'north'?",
        ),
        (
            "region < 3",
            "region -->< 3",
            "the column 'region' holds categories: compare it by = or !=.",
        ),
        (
            "late = 3",
            "late -->= 3",
            "the column 'late' holds numbers or dates: compare it by <, <=, > or >=, or a "
            "truth value by = true or = false.",
        ),
        (
            "opened < 5",
            "opened < -->5",
            "the column 'opened' holds dates: expected a date such as 2019-01-01, or "
            '"2019-01-01 12:00" in quotes.',
        ),
        ("late > many", "late > -->many", "the column 'late' holds numbers: expected one."),
        ("late > inf", "late > -->inf", "the column 'late' holds numbers: expected one."),
        (
            "late is missing",
            "late -->is missing",
            "the column 'late' had no missing cells in training.",
        ),
        ("late is gone", "late is -->gone", 'expected "missing" or "not missing".'),
        ("late >", "late >-->", "expected a value to compare with."),
        ("late", "late-->", "expected <, <=, >, >=, =, != or is missing."),
        ("late > 2 and", "late > 2 and-->", "expected the name of a column."),
        ("", "-->", "expected the name of a column."),
        ('late > 2 and "loan', 'late > 2 and -->"loan', "expected the name of a column."),
        (
            "late > 2 3",
            "late > 2 -->3",
            'expected "and" or the end of the rule; names and categories that are not one word '
            "stand in quotes.",
        ),
    ],
)
def test_errors_mark_the_place_and_say_what_is_expected(text, marked, what):
    message = f"expert_rules[1] cannot be read at the mark in {marked!r}: {what}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read_rule(text, encoded()[0], "expert_rules[1]")


@given(st.text(max_size=30))
def test_any_text_is_a_rule_or_an_error_of_one_line(text):
    message = ""
    try:
        assert read_rule(text, encoded()[0], "rule")
    except ValueError as error:
        message = str(error)
    assert not message or "-->" in message
    assert "\n" not in message
