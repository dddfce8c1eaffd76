"""Friendly numbers: the roundest that cost little, against slow searches."""

import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from models import EVERY_MODEL, credit_table, fitted

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor
from neuralrules._data._columns import Date
from neuralrules._estimators._base import encoded_rows
from neuralrules._simplify._rounding import Seen, roundest, roundest_day

NUMBERS = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-3)


def slow_roundest(low, high):
    """The coarsest step of which a multiple lies between, by exact fractions."""
    low, high = Fraction(low), Fraction(high)
    for power in range(8, -9, -1):
        for multiple in (Fraction(5), Fraction(5, 2), Fraction(2), Fraction(1)):
            step = multiple * Fraction(10) ** power
            if -(-low // step) * step <= high:
                return step
    return None


@given(NUMBERS, st.floats(1e-3, 0.5), st.booleans())
@example(37.4, 0.1, True)
def test_no_coarser_number_lies_within_reach(value, share, whole):
    reach = share * max(abs(value), 1.0)
    low, high = value - reach, value + reach
    found = roundest(value, low, high, whole=whole)
    assert low <= found <= high
    if low <= 0 <= high:
        assert found == 0
    elif not whole:
        step = slow_roundest(low, high)
        off = Fraction(repr(found)) / step
        assert off.denominator == 1
        assert abs(found - value) <= step * (1 + 1e-9)
    elif np.ceil(low) <= np.floor(high):
        assert found == round(found)


@pytest.mark.parametrize(
    ("value", "reach", "whole", "expected"),
    [
        (35_259, 1_000, False, 35_000),
        (35_259, 3_000, False, 35_000),
        (35_259, 7_000, False, 40_000),
        (35_259, 20_000, False, 50_000),
        (0.23, 0.02, False, 0.25),
        (0.2612, 0.005, False, 0.26),
        (22.5, 1, True, 22),
        (2.4, 0.3, True, 2.5),
        (-0.4, 0.5, False, 0),
        (7.0, 0.0, False, 7.0),
    ],
)
def test_numbers_that_a_person_would_choose(value, reach, whole, expected):
    assert roundest(value, value - reach, value + reach, whole=whole) == expected


def test_days_that_a_person_would_choose():
    def day(text):
        return float((np.datetime64(text) - np.datetime64("1970-01-01")).astype(int))

    near = day("2019-11-20")
    for reach, expected in ((400, "2020-01-01"), (50, "2020-01-01"), (15, "2019-12-01")):
        assert roundest_day(near, near - reach, near + reach) == day(expected)
    assert roundest_day(near + 0.3, near - 3, near + 3) == near
    assert roundest_day(5e9, 5e9 - 1, 5e9 + 1) == 5e9  # beyond the last year


@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=9, unique=True),
    st.floats(-25, 25),
    st.booleans(),
)
def test_thresholds_that_tell_the_same_rows_apart(numbers, threshold, rises):
    seen = Seen(np.sort(np.array(numbers, float)), whole=True)
    ends = seen.around(threshold, rises=rises)
    for other in (*ends, sum(ends) / 2):
        one, same = (
            seen.numbers > limit if rises else seen.numbers < limit
            for limit in (threshold, other)
        )
        assert (one == same).all()


def close(one, other):
    for a, b in zip(one.parameters, other.parameters, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_what_is_printed_is_what_is_computed_and_costs_little(kind, deep):
    model, X, y = fitted(kind, deep)
    rounding = model.round_numbers(X, y, precision="friendly")
    rounded = rounding.model
    rows = encoded_rows(model, X, y)
    gain = rows.mean_loss(rows.best_constant()) - rounding.loss_before
    # A float32 may lose a little in summing up.
    assert rounding.loss <= rounding.loss_before + 0.02 * max(gain, 0) + 1e-5
    again = rounded.round_numbers(X, y, precision=rounding.precision).model
    close(rounded.fitted_.state.network, again.fitted_.state.network)
    signs = [np.sign(one.network_.weights) for one in (model, rounded)]
    assert (np.abs(signs[0] - signs[1]) <= 1).all()  # a sign may go, none turns
    assert rounding.precision <= 5 or not gain > 0


def credit_model(**options):
    X, y = credit_table(2500)
    model = NeuralRuleClassifier(
        max_rules=8, literal_columns="own", n_epochs=20, random_state=0, **options
    )
    return model.fit(X, y), X, y


def test_more_tolerance_gives_shorter_numbers():
    model, X, y = fitted("two classes")
    lengths = []
    for tolerance in (0, 0.01, 0.3):
        rounding = model.round_numbers(X, y, precision="friendly", tolerance=tolerance)
        text = rounding.model.rules_text(precision=rounding.precision)
        now = [line for line in text.splitlines() if line.startswith(("  now", "  and"))]
        lengths.append(sum(len(re.sub("[^1-9]", "", line)) for line in now))
    assert lengths[0] > lengths[1] > lengths[2]


def test_dates_and_whole_numbers_are_friendly():
    """Dates begin a month, whole columns have whole thresholds, if enough may be lost."""
    model, X, y = credit_model()
    rounding = model.round_numbers(X, y, precision="friendly", tolerance=5.0)
    assert rounding.precision <= 3  # what float32 loses of a day is no other day
    rounded = rounding.model
    found = 0
    network, encoder = rounded.network_, rounded.encoder_
    for weights, bias in zip(network.weights, network.biases, strict=True):
        (place,) = np.flatnonzero(weights)
        column = encoder.columns[network.features[place]]
        threshold = column.original(-float(bias) / float(weights[place]))
        if encoder.names[column.source] in ("late_payments", "age"):
            assert abs(threshold - round(threshold)) < 1e-3
            found += 1
        if isinstance(column, Date):
            day = np.datetime64("1970-01-01") + np.timedelta64(round(threshold), "D")
            assert str(day).endswith("-01")
            found += 1
    assert found >= 3


def test_sentences_tell_friendly_thresholds_as_they_are():
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"use": rng.uniform(0, 1.4, 900), "paid": rng.uniform(0, 1.4e4, 900)})
    y = (X["use"] > 0.75) & (X["paid"] < 7250) | (X["use"] < 0.35)
    model = NeuralRuleClassifier(2, n_trees=4, n_epochs=30, max_terms=1, random_state=0)
    rounding = model.fit(X, y).round_numbers(X, y, precision="friendly", tolerance=0.002)
    network, columns = rounding.model.network_, rounding.model.encoder_.columns
    thresholds = {"use": [], "paid": []}
    for weights, bias in zip(network.weights, network.biases, strict=True):
        for place in np.flatnonzero(weights):
            column = columns[network.features[place]]
            bound = column.original(-float(bias) / float(weights[place]))
            thresholds[X.columns[column.source]].append(bound)
    text = rounding.model.rules_text(style="sentences", precision=rounding.precision)
    n_short = 0
    for says in re.findall(r"(?m)^Rule \d+: (.*)\.$", text):
        for name, shown in re.findall(
            r"(use|paid) ([^a-z]*[a-z]+ [\d.]+(?: and [\d.]+)?)", says
        ):
            for number in map(float, re.findall(r"\d[\d.]*", shown)):
                nearest = min(abs(number - own) for own in thresholds[name])
                assert nearest < 1e-4 * X[name].std(), (says, thresholds[name])
                n_short += 1
    assert n_short > 5


def test_frozen_rules_and_directions_are_kept():
    monotone = {"late_payments": {"bad": 1}, "income": {"good": 1}}
    model, X, y = credit_model(monotone=monotone)
    edited = model.edit(freeze=[0, 3])
    for precision in (1, "friendly"):
        rounded = edited.round_numbers(X, y, precision=precision).model
        assert rounded.check_monotone() == []
        before, after = (one.fitted_.state.network for one in (edited, rounded))
        for rule in (0, 3):
            close(before.take(np.array([rule])), after.take(np.array([rule])))
        assert not np.allclose(before.values, after.values, rtol=1e-6)


def test_wrong_options():
    X = np.arange(60.0)[:, None]
    model = NeuralRuleRegressor(n_epochs=2, random_state=0).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="precision='nice' must be a number of digits, or 'fr"):
        model.round_numbers(X, X[:, 0], precision="nice")
    with pytest.raises(ValueError, match="tolerance=-1 must be a number of at least 0"):
        model.round_numbers(X, X[:, 0], precision="friendly", tolerance=-1)


def test_rows_on_a_round_threshold_do_not_pass():
    """What is printed, late above 2, is what is computed: a row with 2 is not concerned."""
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"late": rng.poisson(2, 3000), "income": rng.randint(10, 90, 3000) * 1000})
    y = rng.rand(3000) < 1 / (1 + np.exp(4 - 1.2 * X["late"] + X["income"] / 30_000))
    model = NeuralRuleClassifier(2, n_trees=6, literal_columns="own", n_epochs=10).fit(X, y)
    rounding = model.round_numbers(X, y, precision="friendly")
    network, encoder = rounding.model.network_, model.encoder_
    explanation = rounding.model.explain(X)
    met = 0
    for rule in range(network.n_rules):
        fires = np.zeros(len(X), bool)
        fires[explanation.rows[explanation.rules == rule]] = True
        for literal in range(network.offsets[rule], network.offsets[rule + 1]):
            ((place, weight),) = (
                (place, weight)
                for place, weight in enumerate(network.weights[literal])
                if weight
            )
            column = encoder.columns[network.features[place]]
            threshold = column.mean - column.scale * network.biases[literal] / weight
            cells = X[encoder.names[column.source]].to_numpy()
            on = np.abs(cells - threshold) < 1e-3
            assert not fires[on].any()
            met += on.any()
    assert met > 3
