"""Decomposition of trees into rules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import grow_tree, rules_of, tables

from neuralrules._rules._rules import (
    decompose,
    leaf_paths,
    literal_threshold,
    margin_scores,
    select,
)


@given(tables(n_classes=3))
def test_the_rules_of_a_tree_partition_the_table_as_the_tree_does(table):
    X, codes, weights = table
    (tree,), leaves, _ = grow_tree(X, codes, weights)
    rules = decompose([tree], n_classes=2)
    inside = rules.covers(X)
    assert (inside.sum(axis=1) == 1).all()
    nodes = [node for node, _ in leaf_paths(tree)]
    np.testing.assert_array_equal(np.array(nodes)[inside.argmax(axis=1)], leaves)


@given(tables())
def test_counts_values_and_scores_by_their_definitions(table):
    X, codes, weights = table
    rules = rules_of(X, codes, weights)
    inside = rules.covers(X)
    for rule in range(rules.n_rules):
        rows = inside[:, rule]
        n = weights[rows].sum()
        positive = weights[rows & (codes == 1)].sum()
        negative = weights[rows & (codes == 0)].sum()
        assert rules.n[rule] == pytest.approx(n, rel=1e-5)
        assert rules.n_positive[rule] == pytest.approx(positive, rel=1e-5)
        assert rules.n_negative[rule] == pytest.approx(negative, rel=1e-5)
        assert rules.values[rule, 0] == pytest.approx((positive - negative) / n, abs=1e-5)
        assert rules.scores[rule] == pytest.approx((positive - negative) ** 2 / n, abs=1e-3)


def test_score_of_several_classes_agrees_with_two():
    n, totals = np.array([10.0]), np.array([[7.0, 3.0]])
    assert margin_scores(n, totals, classes=True) == [(7 - 3) ** 2 / 10]
    labels = np.array([-1.0] * 7 + [1.0] * 3)
    assert margin_scores(n, np.array([[labels.sum()]]), classes=False) == [(7 - 3) ** 2 / 10]


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6, width=32))
def test_exactly_one_of_the_two_literals_of_a_split_holds(split, x):
    for value in (np.float32(x), np.float32(split)):
        right = value - literal_threshold(split, 1) > 0
        left = literal_threshold(split, -1) - value > 0
        assert right != left
        assert left == (value <= split)


def test_a_row_exactly_on_the_split_goes_left_as_in_scikit_learn():
    X = np.array([[0], [1], [2], [3]], np.float32)
    rules = rules_of(X, np.array([0, 0, 1, 1]), np.ones(4, np.float32))
    on_split = np.array([[1.5]], np.float32)
    assert rules.covers(on_split).tolist() == [[True, False]]


def test_rules_come_with_one_literal_a_decision_node():
    X = np.array([[0], [1], [2], [3]], np.float32)
    rules = rules_of(X, np.array([0, 1, 0, 1]), np.ones(4, np.float32))
    assert rules.n_rules == 4
    assert rules.signs[0] == -1
    assert rules.n_literals == np.diff(rules.offsets).sum()


def test_equal_rules_are_merged_and_their_values_added():
    rng = np.random.RandomState(0)
    X = rng.randint(0, 2, (200, 2)).astype(np.float32)
    codes = (X[:, 0] > 0).astype(int)
    trees, _, _ = grow_tree(
        X, codes, np.ones(200, np.float32), source="forest", n_trees=20, max_depth=1
    )
    rules = decompose(trees, n_classes=2)
    literals = set(zip(rules.features, rules.signs, rules.thresholds, strict=True))
    assert rules.n_rules == len(literals) < 40
    inside = rules.covers(X)
    separate = sum(
        decompose([t], n_classes=2).covers(X) @ t.values[[n for n, _ in leaf_paths(t)]]
        for t in trees
    )
    np.testing.assert_allclose(inside @ rules.values, separate)


@given(tables(), st.integers(1, 6))
def test_select_keeps_the_best_by_margin_score(table, n):
    rules = rules_of(*table)
    kept = select(rules, n)
    assert kept.n_rules == min(n, rules.n_rules)
    np.testing.assert_array_equal(
        np.sort(kept.scores), np.sort(rules.scores)[rules.n_rules - kept.n_rules :]
    )
    assert kept.offsets[-1] == kept.n_literals


def test_repr():
    rules = rules_of(
        *(np.array([[0], [1]], np.float32), np.array([0, 1]), np.ones(2, np.float32))
    )
    assert repr(rules) == "Rules(2 rules, 2 literals)"


def test_positive_and_negative_counts_need_two_classes():
    X = np.arange(6, dtype=np.float32)[:, None]
    rules = rules_of(X, np.array([0, 1, 2, 0, 1, 2]), np.ones(6, np.float32))
    message = "n_positive and n_negative need two classes; here are 3. Look at totals."
    with pytest.raises(AttributeError, match=message):
        rules.n_positive  # noqa: B018, the access is what is tested
    assert rules.n_training == 6
