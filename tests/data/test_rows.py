"""Rows: encoded columns, targets and weights in one value."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from strategies import class_rows, number_rows, tables, whole_numbers


@given(tables(n_classes=3))
def test_some_rows_are_those_of_all_parts(table):
    rows = class_rows(*table)
    some = rows.take(np.arange(len(rows))[::2])
    assert len(some) == -(-len(rows) // 2)
    for name in ("X", "targets", "weights", "training_weights"):
        np.testing.assert_array_equal(getattr(some, name), getattr(rows, name)[::2])
    assert some.task is rows.task
    assert len(rows.take(slice(0, 3))) == 3


@given(tables(n_classes=3))
def test_totals_are_weights_of_classes_in_groups(table):
    X, codes, weights = table
    rows = class_rows(X, codes, weights)
    groups = np.arange(len(X)) % 4
    totals = rows.totals(groups, weights, 5)
    assert totals.shape == (5, 3)
    for group in range(5):
        for k in range(3):
            own = weights[(groups == group) & (codes == k)]
            np.testing.assert_allclose(totals[group, k], own.sum(dtype=float), rtol=1e-6)


@given(tables())
def test_totals_of_numbers_are_weighted_sums(table):
    X, codes, weights = table
    y = np.column_stack([codes, 3.0 - codes])
    rows = number_rows(X, y, weights)
    totals = rows.totals(np.zeros(len(X), int), weights, 1)
    expected = weights.astype(float) @ rows.targets.astype(float)
    np.testing.assert_allclose(totals[0], expected, rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(rows.one_column_each(), rows.targets)
    np.testing.assert_array_equal(rows.tree_targets, rows.targets)
    np.testing.assert_array_equal(rows.loss_targets, rows.targets)


def test_classes_as_each_part_wants_them():
    X, ones = np.zeros((3, 1), np.float32), np.ones(3, np.float32)
    three = class_rows(X, np.array([0, 2, 1]), ones)
    assert three.codes.tolist() == [0, 2, 1]
    assert three.tree_targets.tolist() == [0, 2, 1]
    assert three.one_column_each().tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert three.loss_targets.tolist() == [[1, -1, -1], [-1, -1, 1], [-1, 1, -1]]
    two = class_rows(X, np.array([0, 1, 1]), ones)
    assert two.loss_targets.tolist() == [[-1], [1], [1]]
    assert two.loss_targets.dtype == np.float64


@given(tables(n_classes=3), whole_numbers(60, 4))
def test_the_prior_of_rows_counts_a_weight_as_so_many_rows(table, times):
    X, codes, _ = table
    times = times[: len(X)]
    times[:3] = 1  # of each class: a task has all
    weighted = class_rows(X, codes, times.astype(np.float32)).prior()
    every = np.repeat(np.arange(len(X)), times)
    repeated = class_rows(X[every], codes[every], np.ones(len(every), np.float32)).prior()
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12, atol=1e-12)
    expected = np.log(np.bincount(codes[every], minlength=3) + 1.0)
    np.testing.assert_allclose(weighted, expected - expected.mean(), atol=1e-12)


def test_the_prior_goes_by_training_weights_and_is_finite_where_a_class_has_none():
    X, codes = np.zeros((6, 1), np.float32), np.array([0, 0, 0, 0, 1, 1])
    rows = class_rows(X, codes, np.ones(6, np.float32))
    np.testing.assert_allclose(rows.prior(), np.log(3 / 5))
    balanced = np.array([1, 1, 1, 1, 2, 2], np.float32)
    np.testing.assert_allclose(replace(rows, training_weights=balanced).prior(), 0)
    first = np.array([1, 1, 1, 1, 0, 0], np.float32)
    np.testing.assert_allclose(replace(rows, training_weights=first).prior(), np.log(1 / 5))
