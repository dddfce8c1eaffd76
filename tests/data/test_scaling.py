"""Columns scaled by their quantiles."""

from bisect import bisect_right

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.preprocessing import QuantileTransformer
from strategies import real_numbers, whole_numbers

from neuralrules import NeuralRuleRegressor
from neuralrules._data import _encoder, _scaling
from neuralrules._data._columns import Number
from neuralrules._data._encoder import Encoder
from neuralrules._data._numbers import LARGEST, as_numbers
from neuralrules._data._scaling import Knots, learn_knots


@st.composite
def columns(draw):
    """Numbers (n,) and weights (n,): few values or many, near zero or far from it, tails."""
    n = draw(st.integers(3, 80))
    numbers = draw(st.one_of(whole_numbers(n, 6).map(np.float64), real_numbers(n)))
    numbers[:3] = [0, 1, 2]  # or there may be nothing to bend
    numbers = draw(st.sampled_from([numbers, np.exp(4 * numbers), numbers * 1e-9 + 1e3]))
    weights = draw(st.sampled_from([np.ones(n), np.arange(n) % 3 + 1.0]))
    return numbers, weights


def slowly(knots: Knots, number: float) -> float:
    """What a number is scaled to, one at a time."""
    if number <= knots.x[0]:
        return knots.z[0]
    if number >= knots.x[-1]:
        return knots.z[-1]
    k = bisect_right(knots.x, number) - 1
    share = (number - knots.x[k]) / (knots.x[k + 1] - knots.x[k])
    return knots.z[k] + (knots.z[k + 1] - knots.z[k]) * share


@given(columns(), real_numbers(40, -1, 2))
def test_it_is_the_line_through_the_knots(column, places):
    knots = learn_knots(*column)
    low, high = knots.x[0], knots.x[-1]
    numbers = np.concatenate([low + places * (high - low), knots.x])
    expected = [slowly(knots, number) for number in numbers]
    np.testing.assert_allclose(knots.scaled(numbers), expected, rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(
        knots.scaled(numbers), np.interp(numbers, knots.x, knots.z), rtol=1e-6, atol=1e-7
    )


@given(columns(), real_numbers(60, -1, 2))
def test_it_rises_between_its_ends_and_is_flat_outside(column, places):
    knots = learn_knots(*column)
    low, high = knots.x[0], knots.x[-1]
    numbers = np.sort([*(low + places * (high - low)), *knots.x, *np.nextafter(knots.x, high)])
    scaled = knots.scaled(numbers)
    assert (np.diff(scaled) >= 0).all()
    assert scaled.min() == knots.z[0]
    assert scaled.max() == knots.z[-1]
    assert (np.diff(knots.x) > 0).all()
    assert (np.diff(knots.z) > 0).all()
    np.testing.assert_array_equal(knots.scaled(np.array(knots.x)), knots.z)


@given(columns(), real_numbers(40, 0, 1))
def test_numbers_between_the_ends_are_found_again(column, shares):
    knots = learn_knots(*column)
    z = knots.z[0] + shares * (knots.z[-1] - knots.z[0])
    again = knots.scaled(knots.original(z))
    # A number has sixteen digits: where knots are close, they do not tell all of z apart.
    steepest = np.max(np.diff(knots.z) / np.diff(knots.x))
    size = np.abs(knots.x).max()
    np.testing.assert_allclose(again, z, rtol=0, atol=1e-14 + 4e-16 * steepest * size)
    assert knots.original(np.array(-1e9)) == knots.x[0]
    assert knots.original(np.array(1e9)) == knots.x[-1]


@given(columns(), st.integers(1, 3))
def test_a_row_given_twice_is_a_row_of_weight_two(column, times):
    numbers, weights = column
    weighted = learn_knots(numbers, times * weights)
    repeated = learn_knots(np.repeat(numbers, weights.astype(int)), np.ones(int(weights.sum())))
    assert weighted.x == repeated.x
    np.testing.assert_allclose(weighted.z, repeated.z, rtol=1e-12, atol=1e-12)


@given(columns())
def test_knots_are_numbers_of_the_column_at_their_middle_ranks(column):
    numbers, weights = column
    knots = learn_knots(numbers, weights)
    ranks = [
        (weights[numbers < x].sum() + weights[numbers == x].sum() / 2) / weights.sum()
        for x in knots.x
    ]
    deviates = norm.ppf(ranks)
    # But for mean and deviation.
    factor = (deviates[-1] - deviates[0]) / (knots.z[-1] - knots.z[0])
    np.testing.assert_allclose(
        (np.array(knots.z) - knots.z[0]) * factor + deviates[0], deviates, atol=1e-9
    )
    assert {*knots.x} <= {*numbers}
    assert (knots.x[0], knots.x[-1]) == (numbers.min(), numbers.max())
    scaled = knots.scaled(numbers)
    mean = np.average(scaled, weights=weights)
    np.testing.assert_allclose(mean, 0, atol=1e-9)
    np.testing.assert_allclose(np.average((scaled - mean) ** 2, weights=weights), 1, rtol=1e-9)


@given(columns(), real_numbers(30, -0.5, 1.5))
def test_slopes_are_differences(column, places):
    knots = learn_knots(*column)
    x = np.array(knots.x)
    numbers = x[0] + places * (x[-1] - x[0])
    step = np.diff(x).min() / 100
    apart = np.abs(numbers[:, None] - x).min(axis=1) > 2 * step
    numbers = numbers[apart]
    differences = (knots.scaled(numbers + step) - knots.scaled(numbers - step)) / (2 * step)
    noise = 4e-16 * np.abs(x).max() / step * knots.slopes(x).max() + 1e-14 / step
    np.testing.assert_allclose(knots.slopes(numbers), differences, rtol=1e-6, atol=noise)


def test_rounding_does_not_lead_beyond_a_knot():
    rng = np.random.RandomState(0)
    low, high = np.sort(rng.randn(2, 500), axis=0)
    over = low + (high - low) > high
    under = low + (high - low) < high
    assert over.any()
    assert under.any()
    for z, next_z in zip(low, high, strict=True):
        # From so far away 0.4 and 0.5 are the same.
        knots = Knots((-1e17, 0.5, 2.0), (z, next_z, next_z + 1))
        assert knots.scaled(np.array(0.4)) <= next_z
        assert Knots((0.0, 1.0), (z, next_z)).scaled(np.array(1.0)) == next_z


def test_slopes_at_the_ends_and_of_holes():
    knots = Knots((0.0, 1.0, 3.0), (-1.0, 0.0, 1.0))
    numbers = np.array([-1, 0, 0.5, 1, 2, 3, 4, np.nan])
    np.testing.assert_array_equal(knots.slopes(numbers), [0, 1, 1, 0.5, 0.5, 0, 0, np.nan])
    np.testing.assert_array_equal(knots.scaled(numbers), [-1, -1, -0.5, 0, 0.5, 1, 1, np.nan])


def test_heavy_tails_become_about_as_scikit_learn_has_them():
    numbers = np.random.RandomState(0).standard_cauchy(5000)
    scaled = learn_knots(numbers, np.ones(5000)).scaled(numbers)
    theirs = QuantileTransformer(n_quantiles=1000, output_distribution="normal")
    expected = theirs.fit_transform(numbers[:, None])[:, 0]
    inner = np.abs(expected) < 2.5
    assert np.abs(scaled - expected)[inner].max() < 0.05
    assert np.abs(scaled).max() < 4.5


@pytest.mark.parametrize(
    ("numbers", "weights"),
    [
        ([1, 1, 1], [1, 1, 1]),
        ([0, 1, 1, 0], [1, 1, 1, 1]),
        ([0, 1, 2, 1], [1, 1, 0, 1]),  # a row without weight does not count
        ([0, 1, np.nan, 1], [1, 1, 1, 1]),
        ([], []),
        ([0, 1, 2], [1, 1e-30, 1e-30]),
    ],
)
def test_columns_of_too_few_values_are_not_bent(numbers, weights):
    assert learn_knots(np.array(numbers, float), np.array(weights, float)) is None


def test_numbers_next_to_each_other_and_very_far_apart():
    tight = np.array([0, 5e-324, 1e-323])
    wide = np.array([-LARGEST, 0, LARGEST])
    for numbers in (tight, wide):
        knots = learn_knots(numbers, np.ones(3))
        scaled = knots.scaled(numbers)
        np.testing.assert_array_equal(scaled, knots.z)
        assert not np.isnan(knots.slopes(numbers)).any()


def test_quantiles_of_a_long_table_are_those_of_some_of_its_rows(monkeypatch):
    numbers = np.random.RandomState(0).lognormal(0, 2, 20_000)
    whole = learn_knots(numbers, np.ones(20_000))
    monkeypatch.setattr(_scaling, "MAX_ROWS", 2_000)
    part = learn_knots(numbers, np.ones(20_000))
    assert part == learn_knots(numbers, np.ones(20_000))
    assert (part.x[0], part.x[-1]) == (numbers.min(), numbers.max())
    inner = np.quantile(numbers, [0.05, 0.5, 0.95])
    assert part != whole
    np.testing.assert_allclose(part.scaled(inner), whole.scaled(inner), atol=0.15)


def scaled_encoder(X, weights=None):
    weights = np.ones(X.shape[0], np.float32) if weights is None else weights
    return Encoder.fit(X, weights, scaling="quantile")


def test_tables_are_encoded_the_same_in_every_form_and_in_chunks(mixed_frame, monkeypatch):
    frame, _ = mixed_frame
    encoder = scaled_encoder(frame)
    bent = [encoder.names[c.source] for c in encoder.columns if c.knots is not None]
    assert bent == ["income", "children", "age"]  # not the booleans
    encoded = encoder.transform(frame)
    standard = Encoder.fit(frame, np.ones(len(frame), np.float32)).transform(frame)
    others = [place for place, c in enumerate(encoder.columns) if c.knots is None]
    np.testing.assert_array_equal(encoded[:, others], standard[:, others])
    for place, column in enumerate(encoder.columns):
        if column.knots is not None:
            numbers = as_numbers(frame.iloc[:, column.source], "")
            expected = [0 if np.isnan(x) else slowly(column.knots, x) for x in numbers]
            np.testing.assert_allclose(encoded[:, place], expected, rtol=1e-6)
    numbers = frame[bent]
    np.testing.assert_array_equal(
        scaled_encoder(pl.from_pandas(numbers)).transform(pl.from_pandas(numbers)),
        scaled_encoder(numbers).transform(numbers),
    )
    monkeypatch.setattr(_encoder, "CHUNK_CELLS", 1)
    np.testing.assert_array_equal(encoder.transform(frame), encoded)
    assert scaled_encoder(frame).columns[0].knots == encoder.columns[0].knots


def test_rows_without_weight_do_not_move_the_knots():
    X = np.random.RandomState(0).lognormal(0, 1, (60, 1))
    weights = np.ones(60, np.float32)
    weights[40:] = 0
    assert (
        scaled_encoder(X, weights).columns[0].knots == scaled_encoder(X[:40]).columns[0].knots
    )


def test_a_column_is_inverted_where_it_is_asked_for():
    straight = Number(0, 10.0, 2.0)
    bent = Number(0, 10.0, 2.0, knots=Knots((0.0, 4.0, 100.0), (-1, 1, 2)))
    assert (straight.original(0.5), straight.stand_in) == (11.0, 10.0)
    assert (bent.original(0.5), bent.stand_in, bent.original(9)) == (3.0, 2.0, 100.0)
    assert (bent.in_sums.mean, bent.in_sums.scale) == (0, 1)
    assert straight.in_sums is straight


def test_far_rows_do_not_run_away_and_tails_do_not_hide_the_rest():
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"income": rng.lognormal(0, 3, 400), "age": rng.uniform(0, 1, 400)})
    y = np.sin(3 * np.log(X["income"])) + X["age"]
    standard, scaled = (
        NeuralRuleRegressor(4, n_epochs=30, random_state=0, scaling=one).fit(X, y)
        for one in ("standard", "quantile")
    )
    assert scaled.score(X, y) > standard.score(X, y)
    last = pd.DataFrame({"income": [X["income"].max(), 1e15], "age": [0.5, 0.5]})
    one, other = scaled.predict(last)
    assert one == other
