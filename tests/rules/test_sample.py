"""Samples of the rows that trees grow from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import class_rows, number_rows, source_options

from neuralrules._rules import _sources
from neuralrules._rules._sources import SOURCES, sample, shares


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6), st.integers(6, 100))
def test_groups_share_evenly_and_small_ones_give_all(present, n_rows):
    present = np.array(present)
    taken = shares(present, n_rows)
    assert taken.sum() == min(n_rows, present.sum())
    assert (taken <= present).all()
    partly = taken < present
    if partly.any():
        assert taken.max() <= taken[partly].min() + 1


def test_a_sample_keeps_the_weight_of_each_class_and_all_rows_of_a_rare_one():
    rng = np.random.RandomState(0)
    codes = np.repeat([0, 1, 3], [600, 300, 20])  # nothing of class 2
    weights = np.ones(920, np.float32)
    weights[::10] = 0
    rows = class_rows(rng.randn(920, 2).astype(np.float32), codes, weights)
    some = sample(rows, 200, rng)
    assert np.bincount(some.codes).tolist() == [91, 91, 0, 18]
    assert some.training_weights.all()
    totals = np.bincount(some.codes, some.training_weights)
    np.testing.assert_allclose(totals, [540, 270, 0, 18], rtol=1e-5)
    in_order = (rows.X[:, None, 0] == some.X[:, 0]).argmax(axis=0)
    assert (np.diff(in_order) > 0).all()
    assert sample(rows, 828, rng) is rows


def test_a_sample_of_numbers():
    X = np.arange(50, dtype=np.float32)[:, None]
    some = sample(number_rows(X, X, np.ones(50, np.float32)), 10, np.random.RandomState(0))
    assert len(some) == len(np.unique(some.X)) == 10
    assert some.training_weights.tolist() == [5] * 10


@pytest.mark.parametrize("source", SOURCES)
def test_trees_from_a_sample_count_all_rows(source, monkeypatch):
    rng = np.random.RandomState(0)
    X = rng.randn(400, 3).astype(np.float32)
    rows = class_rows(X, (X[:, 0] > 0.3).astype(int), np.ones(400, np.float32))
    monkeypatch.setattr(_sources, "MAX_ROWS", 60)
    rules, order = SOURCES[source](rows, source_options(max_depth=2))
    inside = rules.covers(X)
    np.testing.assert_array_equal(rules.n, inside.sum(axis=0))
    np.testing.assert_array_equal(rules.n_positive, inside[X[:, 0] > 0.3].sum(axis=0))
    assert rules.n_training == len(order) == 400
    monkeypatch.setattr(_sources, "MAX_ROWS", 400)
    exact, _ = SOURCES[source](rows, source_options(max_depth=2))
    assert set(exact.thresholds) != set(rules.thresholds)
