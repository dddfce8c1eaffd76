"""The paper's margin criterion is Gini: proved against a search of its formula."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification, make_regression
from sklearn.tree import DecisionTreeRegressor
from strategies import (
    class_rows,
    grow_tree,
    number_rows,
    real_numbers,
    source_options,
    tables,
)
from threadpoolctl import threadpool_limits

from neuralrules._rules import _trees
from neuralrules._rules._sources import boosted_trees, one_tree
from neuralrules._rules._trees import Splits, leaf_sums
from neuralrules._task._task import Task


def margin_gain(labels, weights, left):
    """Equation 13 of the paper for one split, with weighted counts."""

    def score(rows):
        return (labels[rows] @ weights[rows]) ** 2 / weights[rows].sum()

    return score(left) + score(~left) - score(np.ones(len(left), bool))


def best_margin_gain(X, labels, weights):
    gains = [
        margin_gain(labels, weights, X[:, feature] <= value)
        for feature in range(X.shape[1])
        for value in np.unique(X[:, feature])[:-1]
    ]
    return max(gains, default=0.0)


def rows_of_nodes(tree, X):
    """For each node the rows that reach it."""
    reached = {0: np.ones(len(X), bool)}
    for node in range(len(tree.feature)):
        if tree.left[node] >= 0:
            goes_left = X[:, tree.feature[node]] <= tree.threshold[node]
            reached[tree.left[node]] = reached[node] & goes_left
            reached[tree.right[node]] = reached[node] & ~goes_left
    return reached


@given(tables())
def test_every_split_maximises_the_margin_criterion(table):
    X, codes, weights = table
    (tree,), _, _ = grow_tree(X, codes, weights, max_depth=3)
    labels = 2.0 * codes - 1
    for node, rows in rows_of_nodes(tree, X).items():
        if tree.left[node] < 0:
            continue
        left = X[rows, tree.feature[node]] <= tree.threshold[node]
        gain = margin_gain(labels[rows], weights[rows].astype(float), left)
        best = best_margin_gain(X[rows], labels[rows], weights[rows].astype(float))
        assert gain == pytest.approx(best, rel=1e-6, abs=1e-9)


@given(tables())
def test_a_node_is_left_whole_only_if_pure_or_deep_or_unsplittable(table):
    X, codes, weights = table
    (tree,), _, _ = grow_tree(X, codes, weights, max_depth=3)
    depth = {0: 0}
    for node, rows in rows_of_nodes(tree, X).items():
        if tree.left[node] >= 0:
            depth[tree.left[node]] = depth[tree.right[node]] = depth[node] + 1
        else:
            pure = len(set(codes[rows])) == 1
            assert pure or depth[node] == 3 or len(np.unique(X[rows], axis=0)) == 1


@given(tables(), real_numbers((60, 1)))
def test_regression_trees_maximise_the_same_formula(table, numbers):
    X, _, weights = table
    grown = number_rows(X, numbers[: len(X)], weights)
    (tree,) = one_tree(grown, source_options(max_depth=2))
    y = grown.targets[:, 0].astype(float)
    for node, rows in rows_of_nodes(tree, X).items():
        if tree.left[node] >= 0:
            left = X[rows, tree.feature[node]] <= tree.threshold[node]
            gain = margin_gain(y[rows], weights[rows].astype(float), left)
            best = best_margin_gain(X[rows], y[rows], weights[rows].astype(float))
            assert gain == pytest.approx(best, rel=1e-5, abs=1e-6)


def test_rows_of_weight_zero_take_no_part():
    X, y = make_classification(200, random_state=0)
    X = X.astype(np.float32)
    weights = np.ones(200, np.float32)
    weights[100:] = 0
    (some,), _, _ = grow_tree(X, y, weights)
    (alone,), _, _ = grow_tree(X[:100], y[:100], weights[:100])
    np.testing.assert_array_equal(some.threshold, alone.threshold)
    np.testing.assert_array_equal(some.totals, alone.totals)


@pytest.mark.parametrize(("source", "expected"), [("tree", 1), ("forest", 5), ("boosting", 15)])
def test_number_of_trees(source, expected):
    X, y = make_classification(200, n_informative=5, n_classes=3, random_state=0)
    trees, _, _ = grow_tree(
        X.astype(np.float32), y, np.ones(200, np.float32), source=source, n_trees=5
    )
    assert len(trees) == expected  # boosting grows one tree a class and round


def test_boosted_leaf_values_add_up_to_the_boosted_model():
    from sklearn.ensemble import HistGradientBoostingRegressor

    # So few rows that scikit-learn's own bins are ours: one a number.
    X, y = make_regression(200, 5, random_state=0)
    X = X.astype(np.float32)
    grown = number_rows(X, y[:, None], np.ones(200, np.float32))
    trees = boosted_trees(grown, source_options(n_trees=10, max_depth=3, tree_rate=0.2))
    total = sum(tree.values[tree.apply(X), 0] for tree in trees)
    model = HistGradientBoostingRegressor(
        max_iter=10, max_depth=3, min_samples_leaf=1, max_leaf_nodes=None, learning_rate=0.2
    )
    with threadpool_limits(1, user_api="openmp"):
        model.fit(X, grown.tree_targets)
    np.testing.assert_allclose(total, model.predict(X), atol=1e-6)


@pytest.mark.parametrize("present", [(1, 2), (0, 1, 3)])
def test_boosted_values_go_to_their_own_class_when_classes_are_absent(present):
    rng = np.random.RandomState(0)
    codes = np.array(present)[np.arange(300) % len(present)]
    X = (codes[:, None] + 0.01 * rng.randn(300, 1)).astype(np.float32)
    grown = class_rows(X, codes, np.ones(300, np.float32))
    grown = replace(grown, task=Task.of_classes(np.arange(4), "logistic"))
    trees = boosted_trees(grown, source_options(n_trees=20, max_depth=2))
    outputs = sum(tree.values[tree.apply(X)] for tree in trees)
    np.testing.assert_array_equal(outputs.argmax(axis=1), codes)
    absent = sorted(set(range(4)) - set(present))
    assert not outputs[:, absent].any()


def test_one_class_alone_is_one_leaf():
    X = np.random.RandomState(0).randn(20, 2).astype(np.float32)
    grown = class_rows(X, np.ones(20, int), np.ones(20, np.float32))
    (tree,) = boosted_trees(grown, source_options())
    assert tree.values.tolist() == [[1.0]]


@given(
    tables(n_classes=3),
    st.sampled_from([3, 200]),
    st.sampled_from([0, 256]),
    st.sampled_from([1, 20, 256]),
)
def test_each_row_has_the_leaf_that_a_walk_from_the_root_ends_in(table, chunk, small, many):
    X, codes, weights = table
    with (
        mock.patch.object(_trees, "CHUNK_ROWS", chunk),
        mock.patch.object(_trees, "SMALL_TREE", small),
        mock.patch.object(_trees, "MOST_TOGETHER", many),
    ):
        trees, _, _ = grow_tree(X, codes, weights, source="boosting")
    for tree in trees:
        reached = rows_of_nodes(tree, X)
        with mock.patch.object(_trees, "SMALL_TREE", small):
            leaves = tree.apply(X)
        for node in np.flatnonzero(tree.left < 0):
            np.testing.assert_array_equal(leaves == node, reached[node])
            assert tree.n[node] == pytest.approx(weights[reached[node]].sum(), rel=1e-5)
            for one in range(3):
                total = weights[reached[node] & (codes == one)].sum()
                assert tree.totals[node, one] == pytest.approx(total, rel=1e-5)


def test_leaves_of_many_trees_that_did_not_grow_are_counted():
    root = Splits(np.array([-2]), np.array([-2.0]), np.array([-1]), np.array([-1]))
    rows = class_rows(np.zeros((5, 1), np.float32), np.array([0, 1, 1, 1, 1]), np.ones(5, "f4"))
    for n, totals in leaf_sums([root] * 100, rows):
        assert n.tolist() == [5]
        assert totals.tolist() == [[1, 4]]


def test_large_trees_find_the_leaves_that_scikit_learn_finds():
    X = np.random.RandomState(0).randn(2000, 3).astype(np.float32)
    model = DecisionTreeRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1])
    assert model.tree_.node_count > _trees.SMALL_TREE
    splits = Splits.of(model.tree_)
    np.testing.assert_array_equal(splits.apply(X), model.tree_.apply(X))
    rows = number_rows(X, X[:, :1], np.ones(2000, np.float32))
    ((n, _),) = leaf_sums([splits], rows)
    is_leaf = model.tree_.children_left < 0
    np.testing.assert_array_equal(n, is_leaf * model.tree_.n_node_samples)
