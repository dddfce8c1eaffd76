"""Axes: round ticks, and the texts at them."""

import numpy as np
import pytest

from neuralrules._charts._chart import (
    date_axis,
    log_ticks,
    nice_ticks,
    odds_axis,
    tick_texts,
)
from neuralrules._charts._texts import share_texts


@pytest.mark.parametrize(
    ("ticks", "texts"),
    [
        ([-5e10, 0, 5e10, 1e11], ["−50G", "0", "50G", "100G"]),
        ([-5e-11, 0, 5e-11, 1e-10], ["−0.5e−10", "0", "0.5e−10", "1.0e−10"]),
        ([0, 2.5e13], ["0", "2.5e+13"]),
        ([-500, 0, 500], ["−500", "0", "500"]),
        ([1e5, 1.5e5], ["100k", "150k"]),
        ([10, 1e3, 1e5, 1e7], ["10", "1000", "100k", "10M"]),
        ([1e9, 1e9 + 2], ["1.000000000G", "1.000000002G"]),
    ],
)
def test_ticks_share_a_unit(ticks, texts):
    assert tick_texts(np.array(ticks, float)) == texts


@pytest.mark.parametrize(
    ("low", "high"),
    [
        *[(0, 1), (-3, 7.2), (1e-9, 2e-9), (12345, 12346), (5, 5), (0, 0), (1e9, 1e9 + 1)],
        (0, 5e-324),
    ],
)
def test_ticks_are_round_and_span_the_data(low, high):
    ticks = nice_ticks(low, high)
    assert 2 <= len(ticks) <= 8
    tiny = 1e-9 * (ticks[-1] - ticks[0])
    assert ticks[0] <= low + tiny
    assert ticks[-1] >= high - tiny
    assert len(set(tick_texts(ticks))) == len(ticks)


def test_log_ticks_lie_inside():
    assert log_ticks(8, 500).tolist() == [10, 30, 100, 300]
    assert log_ticks(9, 20_000).tolist() == [10, 100, 1000, 10_000]
    assert tick_texts(log_ticks(4, 4.5)) == ["4.0", "4.1", "4.2", "4.3", "4.4", "4.5"]


@pytest.mark.parametrize(("low", "high"), [(-9, -3), (-0.2, 0.3), (2, 2.001), (-30, 30)])
def test_odds_are_labelled_with_probabilities(low, high):
    axis = odds_axis("p", low, high)
    assert 1 <= len(axis.ticks) <= 8
    assert all(low <= tick <= high for tick in axis.ticks)
    assert len(set(axis.texts)) == len(axis.texts)
    written = np.array([float(text.rstrip("\u202f%")) / 100 for text in axis.texts])
    np.testing.assert_allclose(written, 1 / (1 + np.exp(-axis.ticks)), rtol=6e-3)
    assert share_texts(np.array([0.03, 0.999, 0.5])) == ["3\u202f%", "99.9\u202f%", "50\u202f%"]


@pytest.mark.parametrize(
    ("first", "last", "texts"),
    [
        ("2015-01-01", "2022-05-15", ["2016", "2018", "2020", "2022"]),
        ("2019-02-03", "2020-03-01", ["2019-04", "2019-07", "2019-10", "2020-01"]),
        ("2020-02-27", "2020-03-02", None),
        ("2020-02-27", "2020-02-27", ["2020-02-27"]),
        ("0001-01-01", "9999-12-31", ["2000", "4000", "6000", "8000"]),
    ],
)
def test_ticks_of_dates_stand_where_years_months_or_days_begin(first, last, texts):
    low, high = (
        float((np.datetime64(day) - np.datetime64("1970-01-01")).astype(int))
        for day in (first, last)
    )
    axis = date_axis("opened", low, high)
    assert all(low <= tick <= high for tick in axis.ticks)
    for tick, text in zip(axis.ticks, axis.texts, strict=True):
        assert tick == (np.datetime64(text, "D") - np.datetime64("1970-01-01")).astype(int)
    if texts is None:
        texts = ["2020-02-27", "2020-02-28", "2020-02-29", "2020-03-01", "2020-03-02"]
    assert axis.texts == texts
    assert axis.ends[0] < axis.ends[1]
