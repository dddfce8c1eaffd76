"""Rule sources: from rows to rules and an order of the rows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from sklearn.utils._param_validation import StrOptions
from strategies import class_rows, number_rows, rules_of, source_options, tables

from neuralrules import NeuralRuleClassifier
from neuralrules._data._restrictions import Restrictions
from neuralrules._rules import _sources
from neuralrules._rules._rules import Rules, decompose
from neuralrules._rules._sources import SOURCES
from neuralrules._task._number_losses import NUMBER_LOSSES


@pytest.mark.parametrize("source", SOURCES)
@given(table=tables(n_classes=3))
def test_rows_with_weight_come_once_and_those_of_a_leaf_together(source, table):
    X, codes, weights = table
    weights = np.where(np.arange(len(X)) % 4 == 1, 0, weights).astype(np.float32)
    rows = class_rows(X, codes, weights)
    rules, order = SOURCES[source](rows, source_options())
    assert order.dtype == np.int32
    assert sorted(order) == np.flatnonzero(weights).tolist()
    assert rules.n_classes == 3
    if source == "tree":
        leaves = rules.covers(X[order]).argmax(axis=1)
        assert (np.diff(leaves) >= 0).all()


@pytest.mark.parametrize("source", SOURCES)
def test_numbers_have_rules_too(source):
    rng = np.random.RandomState(0)
    X = rng.randn(80, 3).astype(np.float32)
    rows = number_rows(X, X[:, :2] * [1, 50.0], np.ones(80, np.float32))
    rules, _ = SOURCES[source](rows, source_options(max_depth=2))
    assert rules.n_classes == 0
    assert rules.values.shape == (rules.n_rules, 2)
    assert rules.n_rules > 3


@pytest.mark.parametrize("loss", NUMBER_LOSSES)
def test_boosting_makes_the_loss_of_numbers_small(loss):
    rng = np.random.RandomState(0)
    X = rng.randn(400, 2).astype(np.float32)
    y = np.stack([rng.poisson(np.exp(X[:, 0])), 9 * rng.poisson(np.exp(X[:, 1]))], axis=1)
    far = np.arange(400) % 40 == 0
    y[far] += 500 * (loss == "huber")
    rows = number_rows(X, y.astype(float), np.ones(400, np.float32), loss)
    rules, _ = SOURCES["boosting"](rows, source_options(max_depth=2, n_trees=40))
    outputs = rules.covers(X) @ rules.values
    assert ((rules.values != 0).sum(axis=1) <= 1).all()  # each target has trees of its own
    evaluate, targets = rows.task.loss.evaluate, rows.loss_targets
    before = evaluate(np.zeros_like(targets), targets)[0][~far].mean()
    assert evaluate(outputs, targets)[0][~far].mean() < 0.75 * before


def test_counts_that_are_all_zero_have_one_leaf():
    X = np.random.RandomState(0).randn(30, 2).astype(np.float32)
    rows = number_rows(X, np.zeros((30, 1)), np.ones(30, np.float32), "poisson")
    rules, _ = SOURCES["boosting"](rows, source_options())
    assert rules.n_rules == 1
    assert rules.values.tolist() == [[0.0]]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_trees_keep_to_groups_and_leave_columns_out(source, n_outputs):
    rng = np.random.RandomState(0)
    X, groups = rng.randn(300, 6).astype(np.float32), ([0, 1], [1, 2], [4], [5])
    y = np.stack([X[:, :5].prod(axis=1) + X.sum(axis=1), X[:, 0] * X[:, 2]], axis=1)
    rows = number_rows(X, y[:, :n_outputs], np.ones(300, np.float32))
    options = source_options(n_trees=30)
    mixed, _ = SOURCES[source](rows, options)
    limits = Restrictions(
        directions=np.zeros(6, np.int8),
        excluded=np.arange(6) == 3,
        groups=tuple(map(np.array, groups)),
    )
    kept, _ = SOURCES[source](rows, replace(options, restrictions=limits))

    def paths(rules):
        ends = zip(rules.offsets[:-1], rules.offsets[1:], strict=True)
        return [set(rules.features[first:last].tolist()) for first, last in ends]

    assert any(3 in path for path in paths(mixed))
    assert not all(any(path <= set(group) for group in groups) for path in paths(mixed))
    assert all(any(path <= set(group) for group in groups) for path in paths(kept))
    assert set().union(*paths(kept)) >= {0, 1, 2, 4}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("classes", [False, True])
def test_trees_grow_along_directions(source, classes):
    rng = np.random.RandomState(0)
    X, weights = rng.randn(300, 2).astype(np.float32), np.ones(300, np.float32)
    y = np.sin(3 * X[:, 0]) + np.cos(2 * X[:, 1]) + 0.3 * rng.randn(300)
    rows = number_rows(X, y[:, None], weights)
    if classes:
        rows = class_rows(X, (y > 0.3).astype(int), weights)
    line = np.zeros((100, 2), np.float32)
    line[:, 0] = np.linspace(-3, 3, 100)

    def falls(direction):
        """How far the trees' output falls along the first column, in all its steps."""
        directions = np.array([direction, 0], np.int8)
        limits = Restrictions(directions, np.zeros(2, bool), None)
        rules, _ = SOURCES[source](rows, source_options(restrictions=limits))
        assert directions.tolist() == [direction, 0]
        steps = np.diff((rules.covers(line) @ rules.values)[:, 0])
        return -steps[steps < 0].sum()

    # Leaves of a forest have the values of all rows, though trees grow on some.
    assert falls(1) <= (0.1 * falls(0) if source == "forest" else 0)
    assert falls(0) > 0.3


def test_a_new_source_is_one_function(monkeypatch):
    """What CONTRIBUTING.md promises: here the stumps of every column."""

    def stumps(rows, options):
        order = np.flatnonzero(rows.training_weights).astype(np.int32)
        pools = []
        for column in range(rows.X.shape[1]):
            alone = np.zeros_like(rows.X)
            alone[:, column] = rows.X[:, column]
            grown = _sources.one_tree(replace(rows, X=alone), replace(options, max_depth=1))
            pools.append(decompose(grown, n_classes=rows.task.n_classes))
        return Rules.join(pools), order

    monkeypatch.setitem(SOURCES, "stumps", stumps)
    monkeypatch.setitem(
        NeuralRuleClassifier._parameter_constraints, "rule_source", [StrOptions(set(SOURCES))]
    )
    rng = np.random.RandomState(0)
    X = rng.randn(300, 3)
    y = (X.sum(axis=1) > 0).astype(int)
    model = NeuralRuleClassifier(rule_source="stumps", random_state=0).fit(X, y)
    assert model.network_.n_rules == 6
    assert (np.diff(model.rules_.offsets) == 1).all()
    assert model.score(X, y) > 0.9


@given(tables(n_classes=3), tables(n_classes=3))
def test_joined_rules_are_those_of_the_pools_one_after_the_other(one, other):
    pools = [rules_of(*one, source="forest"), rules_of(*other), rules_of(*one)]
    joined = Rules.join(pools)
    X = np.random.RandomState(0).randint(0, 50, (40, 4)).astype(np.float32)
    covers = np.hstack([pool.covers(X) for pool in pools])
    np.testing.assert_array_equal(joined.covers(X), covers)
    for name in ("values", "n", "totals", "scores"):
        expected = np.concatenate([getattr(pool, name) for pool in pools])
        np.testing.assert_array_equal(getattr(joined, name), expected)
    assert joined.n_training == max(pool.n_training for pool in pools)
    trees = [joined.trees[: pools[0].n_rules], joined.trees[-pools[2].n_rules :]]
    assert set(trees[0].tolist()).isdisjoint(trees[1].tolist())
    assert joined.trees.dtype == np.int32
    first = joined.take(np.arange(pools[0].n_rules))
    np.testing.assert_array_equal(first.thresholds, pools[0].thresholds)


def test_pools_that_cannot_be_joined_are_refused():
    X, ones = np.arange(6, dtype=np.float32)[:, None], np.ones(6, np.float32)
    two = rules_of(X, np.array([0, 0, 0, 1, 1, 1]), ones)
    three = rules_of(X, np.array([0, 0, 1, 1, 2, 2]), ones)
    with pytest.raises(ValueError, match=r"^pools is empty: give at least one pool of rules"):
        Rules.join([])
    with pytest.raises(ValueError, match=r"^pools were grown for different tasks \(classes"):
        Rules.join([two, three])
