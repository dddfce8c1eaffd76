"""The neural rules' start, and the paper's propositions about them."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import grow_tree, networks, random_network, rules_of, seeds, tables

from neuralrules._engine._numba import NumbaEngine
from neuralrules._engine._reference import NumpyEngine, gradient, rules_forward
from neuralrules._network._columns import LITERAL_COLUMNS, starting_columns
from neuralrules._network._constraints import Constraints
from neuralrules._network._network import STARTS, STEEPNESS, Network
from neuralrules._rules._rules import decompose


def start_activations(rules, X, *, deep):
    network = Network.from_rules(rules, deep=deep)
    return rules_forward(network.parameters, network.layout, X[:, network.features])


@given(tables(n_classes=3), st.booleans(), st.integers(0, 10**6))
def test_an_untrained_rule_is_positive_exactly_inside_its_leaf(table, deep, seed):
    rules = rules_of(*table)
    X = table[0]
    rng = np.random.RandomState(seed)
    elsewhere = (X[rng.randint(len(X), size=50)] + rng.randn(50, X.shape[1])).astype(np.float32)
    on_splits = X[:1].repeat(max(rules.n_literals, 1), axis=0)
    on_splits[np.arange(rules.n_literals), rules.features] = rules.thresholds
    everywhere = np.vstack([X, elsewhere, on_splits])
    positive = start_activations(rules, everywhere, deep=deep) > 0
    np.testing.assert_array_equal(positive, rules.covers(everywhere))


@given(tables(), st.booleans())
def test_activations_of_different_rules_are_orthogonal_at_the_start(table, deep):
    active = start_activations(rules_of(*table), table[0], deep=deep)
    products = active.T @ active
    assert (products == np.diag(np.diag(products))).all()


@given(tables(), st.booleans())
def test_start_is_the_papers(table, deep):
    rules = rules_of(*table)
    network = Network.from_rules(rules, deep=deep)
    for literal in range(rules.n_literals):
        row = np.zeros(len(network.features), np.float32)
        row[network.features == rules.features[literal]] = rules.signs[literal]
        np.testing.assert_array_equal(network.weights[literal], row)
        assert network.biases[literal] == -rules.signs[literal] * rules.thresholds[literal]
    np.testing.assert_array_equal(network.values, rules.values.astype(np.float32))
    for rule, length in enumerate(np.diff(network.offsets)):
        if deep:
            start = network.layout.mixing_offsets[rule]
            block = network.mixing[start : start + length**2].reshape(length, length)
            np.testing.assert_array_equal(block, np.eye(length))
    assert not network.shifts.any()


def test_a_tree_without_a_split_becomes_one_rule_that_is_always_one():
    X = np.ones((4, 2), np.float32)
    rules = rules_of(X, np.array([0, 1, 1, 1]), np.ones(4, np.float32))
    assert (rules.n_rules, rules.n_literals) == (1, 0)
    network = Network.from_rules(rules, deep=False)
    for engine in (NumpyEngine(), NumbaEngine()):
        np.testing.assert_array_equal(engine.decide(network, X), np.full((4, 1), 0.5))


@given(networks(deep=False), st.integers(0, 10**6), st.floats(0, 1))
def test_the_support_of_a_neural_rule_is_convex(network, seed, theta):
    """Proposition 1 of the paper, in float64 where the sum of positives is positive."""
    rng = np.random.RandomState(seed)
    parameters = type(network.parameters)(*(a.astype(float) for a in network.parameters))
    x = rng.randn(400, len(network.features)) * 2
    inside = rules_forward(parameters, network.layout, x) > 1e-9
    for rule in range(network.n_rules):
        points = x[inside[:, rule]]
        middle = theta * points + (1 - theta) * points[::-1]
        assert (rules_forward(parameters, network.layout, middle)[:, rule] > 0).all()


@given(networks(), st.integers(0, 10**6))
def test_rows_outside_a_rule_do_not_move_it(network, seed):
    """The paper's restricted gradients."""
    rng = np.random.RandomState(seed)
    x = rng.randn(30, len(network.features)).astype(np.float32)
    slopes = rng.randn(30, network.n_outputs).astype(np.float32)
    active = rules_forward(network.parameters, network.layout, x) > 0
    moved = gradient(network.parameters, network.layout, x, slopes)
    for rule in range(network.n_rules):
        own = slice(network.offsets[rule], network.offsets[rule + 1])
        if not active[:, rule].any():
            assert not network.layout.weights_of(moved.weights, rule).any()
            assert not moved.biases[own].any()
            assert not moved.values[rule].any()


def test_a_deep_rule_can_have_a_support_that_is_not_convex():
    network = Network.dense(
        weights=np.array([[1], [-1]], np.float32),
        biases=np.zeros(2, np.float32),
        offsets=np.array([0, 2]),
        values=np.ones((1, 1), np.float32),
        features=np.array([0], np.int32),
        intercept=np.zeros(1, np.float32),
        mixing=np.ones(4, np.float32),  # both units are |x| - 1/2
        shifts=np.full(2, -0.5, np.float32),
        origins=np.arange(2),
    )
    x = np.array([[-1], [0], [1]], np.float32)
    for engine in (NumpyEngine(), NumbaEngine()):
        np.testing.assert_array_equal(engine.decide(network, x), [[0.5], [0], [0.5]])


@given(networks(), seeds)
def test_order_of_rules_and_columns_does_not_matter(network, seed):
    rng = np.random.RandomState(seed)
    n_columns = int(network.features.max()) + 3
    X = rng.randn(80, n_columns).astype(np.float32)
    place = rng.permutation(n_columns)  # column c of the table moves to place[c]
    moved = np.empty_like(X)
    moved[:, place] = X
    permuted = with_columns_at(network, place).take(rng.permutation(network.n_rules))
    for engine in (NumpyEngine(), NumbaEngine()):
        np.testing.assert_allclose(
            engine.decide(network, X), engine.decide(permuted, moved), rtol=1e-4, atol=1e-4
        )


def with_columns_at(network, place):
    """The same rules for a table whose column c has moved to place[c]."""
    columns, weights = [], []
    for rule in range(network.n_rules):
        new = place[network.rule_columns(rule)]
        order = np.argsort(new)
        columns.append(new[order].astype(np.int32))
        weights.append(network.rule_weights(rule)[:, order].ravel())
    return replace(
        network, columns=np.concatenate(columns), own_weights=np.concatenate(weights)
    )


def test_a_network_says_what_it_is():
    X = np.arange(4, dtype=np.float32)[:, None]
    rules = rules_of(X, np.array([0, 0, 1, 1]), np.ones(4, np.float32))
    shown = repr(Network.from_rules(rules, deep=False))
    assert shown.startswith("Network(2 neural rules, 2 literals, 1 features, 1 outputs)")


@given(networks(), seeds)
def test_some_rules_with_some_literals(network, seed):
    """Taken rules are the rules themselves; literals go with their units."""
    rng = np.random.RandomState(seed)
    X = rng.randn(30, network.features.max() + 1).astype(np.float32)
    chosen = rng.permutation(network.n_rules)[: rng.randint(1, network.n_rules + 1)]
    kept = rng.rand(network.n_literals) < 0.7
    kept[network.offsets[:-1]] = True
    smaller = network.take(chosen, kept)
    expected = np.zeros((30, network.n_outputs))
    x = X[:, network.features]
    literals = x @ network.weights.T + network.biases
    for rule in chosen:
        own = np.arange(network.offsets[rule], network.offsets[rule + 1])
        mine = own[kept[own]]
        units = literals[:, mine]
        if network.deep:
            layer = network.second_layer(rule)[np.ix_(kept[own], kept[own])]
            units = np.maximum(units, 0) @ layer.T + network.shifts[mine]
        expected += np.outer(np.maximum(units.min(axis=1), 0), network.values[rule])
    np.testing.assert_allclose(NumpyEngine().decide(smaller, X), expected, rtol=1e-4, atol=1e-4)


@given(networks(), seeds)
def test_columns_without_weights_can_go(network, seed):
    rng = np.random.RandomState(seed)
    X = rng.randn(30, network.features.max() + 1).astype(np.float32)
    weights = network.weights * (rng.rand(*network.weights.shape) < 0.3)
    weights[:, 0] = 0
    sparse = network.with_weights(weights)
    narrow = sparse.without_unused_features()
    assert network.features[0] not in narrow.features
    for rule in range(network.n_rules):
        assert narrow.rule_weights(rule).any(axis=0).all()
    assert narrow.n_parameters == sparse.n_parameters
    assert sparse.n_parameters == sum(np.count_nonzero(array) for array in sparse.parameters)
    np.testing.assert_allclose(
        NumpyEngine().decide(narrow, X), NumpyEngine().decide(sparse, X), rtol=1e-5, atol=1e-5
    )


@given(tables())
def test_literals_know_the_split_they_grew_from(table):
    rules = rules_of(*table)
    network = Network.from_rules(rules, deep=False)
    for rule in range(rules.n_rules):
        splits = slice(rules.offsets[rule], rules.offsets[rule + 1])
        for literal in range(network.offsets[rule], network.offsets[rule + 1]):
            if network.origins[literal] < 0:
                assert not rules.features[splits].size
                continue
            split = rules.offsets[rule] + network.origins[literal]
            place = np.flatnonzero(network.weights[literal])
            assert network.features[place] == rules.features[split]
            assert network.weights[literal, place] == rules.signs[split]


@given(tables(), st.booleans(), st.sampled_from(LITERAL_COLUMNS), st.sampled_from(STARTS))
def test_rules_start_with_the_columns_of_their_splits_or_of_all(table, deep, kind, start):
    rules = rules_of(*table, source="boosting")
    columns, offsets = starting_columns(rules, kind)
    network = Network.from_rules(rules, deep=deep, literal_columns=kind, start=start)
    for rule in range(rules.n_rules):
        own = columns[offsets[rule] : offsets[rule + 1]]
        splits = rules.features[rules.offsets[rule] : rules.offsets[rule + 1]]
        expected = rules.features if kind == "tree" else splits
        np.testing.assert_array_equal(own, np.unique(expected))
        np.testing.assert_array_equal(own, network.rule_columns(rule))
    assert offsets[-1] == columns.size
    assert (columns.dtype, offsets.dtype) == (np.int32, np.int64)


@given(tables(), st.booleans(), st.sampled_from(STARTS))
def test_the_columns_that_rules_own_do_not_change_how_they_start(table, deep, start):
    rules = rules_of(*table, source="boosting")
    whole, *narrow = (
        Network.from_rules(rules, deep=deep, literal_columns=kind, start=start)
        for kind in ("tree", "rule", "own")
    )
    for network in narrow:
        np.testing.assert_array_equal(network.features, whole.features)
        np.testing.assert_array_equal(network.weights, whole.weights)
        np.testing.assert_array_equal(network.biases, whole.biases)


def away_from_thresholds(X, rules):
    """Rows whose columns are no closer to a threshold than half a literal's ramp."""
    near = [
        np.abs(X[:, feature] - threshold) < 0.51 / STEEPNESS
        for feature, threshold in zip(rules.features, rules.thresholds, strict=True)
    ]
    return X[~np.any(near, axis=0)] if near else X


@pytest.mark.parametrize("source", ["tree", "forest", "boosting"])
@pytest.mark.parametrize("deep", [False, True])
@given(table=tables(n_classes=3))
def test_a_network_that_starts_as_its_leaves_says_what_the_trees_say(source, deep, table):
    X, _, _ = table
    trees, _, rows = grow_tree(*table, source=source)
    rules = decompose(trees, n_classes=3)
    prior = rows.prior()
    network = Network.from_rules(rules, deep=deep, start="leaf", intercept=prior)
    np.testing.assert_array_equal(network.intercept, prior)
    far = away_from_thresholds(X, rules)
    expected = np.sum([tree.values[tree.apply(far)] for tree in trees], axis=0)
    for engine in (NumpyEngine(), NumbaEngine()):
        outputs = engine.decide(network, far)
        np.testing.assert_allclose(outputs, expected, rtol=1e-5, atol=1e-5)


@given(tables(), st.booleans())
def test_one_more_literal_caps_a_rule_that_starts_as_its_leaf(table, deep):
    rules = rules_of(*table)
    network = Network.from_rules(rules, deep=deep, start="leaf")
    np.testing.assert_array_equal(np.diff(network.offsets), np.diff(rules.offsets) + 1)
    caps = network.offsets[1:] - 1
    assert (network.origins[caps] == -1).all()
    assert not network.weights[caps].any()
    assert (network.biases[caps] == 1).all()
    others = np.setdiff1d(np.arange(network.n_literals), caps)
    steep = rules.signs * np.float32(STEEPNESS)
    np.testing.assert_array_equal(network.weights[others].sum(axis=1), steep)
    active = rules_forward(network.parameters, network.layout, table[0][:, network.features])
    assert active.max() <= 1
    # Half of it is reached on the threshold itself.
    if rules.n_literals:
        on = np.zeros((1, len(network.features)), np.float32)
        on[0, network.features == rules.features[0]] = rules.thresholds[0]
        literal = on @ network.weights[others[0]] + network.biases[others[0]]
        np.testing.assert_allclose(literal, 0.5, atol=1e-4)


@given(networks())
def test_the_dense_view_shows_each_rules_own_weights(network):
    assert network.weights.shape == (network.n_literals, network.features.size)
    assert not network.weights.flags.writeable
    shown = np.zeros_like(network.weights)
    for rule in range(network.n_rules):
        own = slice(network.offsets[rule], network.offsets[rule + 1])
        for column, weights in zip(
            network.rule_columns(rule), network.rule_weights(rule).T, strict=True
        ):
            shown[own, np.flatnonzero(network.features == column)[0]] = weights
    np.testing.assert_array_equal(network.weights, shown)
    again = network.with_weights(network.weights)
    np.testing.assert_array_equal(again.own_weights, network.own_weights)


def test_a_weight_on_a_column_that_is_not_owned_is_refused():
    network = random_network(0, n_rules=2)
    weights = network.weights.copy()
    weights[: network.offsets[1], 0] = 0
    narrow = network.with_weights(weights).without_unused_features()
    assert narrow.rule_columns(0).size == 4
    with pytest.raises(ValueError, match=r"^weights has a number on a column that its rule"):
        narrow.with_weights(network.weights)


@given(st.lists(networks(), min_size=1, max_size=3), st.booleans(), seeds)
def test_a_sum_or_mean_of_networks_is_a_network(parts, mean, seed):
    """Shallow and deep ones, rules that own all columns and rules that do not."""
    parts = [one for one in parts if one.n_outputs == parts[0].n_outputs]
    joined = Network.join(parts, mean=mean)
    n_columns = max(int(one.features.max()) for one in parts) + 1
    X = np.random.RandomState(seed).randn(70, n_columns).astype(np.float32)
    share = len(parts) if mean else 1
    for engine in (NumpyEngine(), NumbaEngine()):
        expected = sum(engine.decide(one, X) for one in parts) / share
        np.testing.assert_allclose(engine.decide(joined, X), expected, rtol=1e-5, atol=1e-5)
    active = [NumbaEngine().activations(one, X) for one in parts]
    np.testing.assert_array_equal(NumbaEngine().activations(joined, X), np.hstack(active))
    intercepts = sum(one.intercept for one in parts) / share
    np.testing.assert_allclose(joined.intercept, intercepts)
    assert joined.n_rules == sum(one.n_rules for one in parts)
    assert joined.deep == any(one.deep for one in parts)
    assert joined.own_weights.dtype == joined.values.dtype == np.float32


def test_networks_that_cannot_be_joined():
    with pytest.raises(ValueError, match=r"^networks is empty: give at least one"):
        Network.join([])
    with pytest.raises(ValueError, match=r"^networks have \[1, 2\] outputs: only networks"):
        Network.join([random_network(0), random_network(0, n_outputs=2)])


def test_what_can_be_computed_again_is_not_pickled():
    network = random_network(0)
    size = len(pickle.dumps(network))
    assert network.weights.size
    assert len(pickle.dumps(network)) == size
    again = pickle.loads(pickle.dumps(network))
    np.testing.assert_array_equal(again.weights, network.weights)


@given(networks(), seeds)
def test_what_keeps_its_columns_and_what_keeps_all_zeros(network, seed):
    rng = np.random.RandomState(seed)
    sparse = replace(
        network,
        own_weights=network.own_weights * (rng.rand(network.own_weights.size) < 0.5),
        mixing=network.mixing * (rng.rand(network.mixing.size) < 0.5),
    )
    columns, zeros = Constraints.keep_columns(sparse), Constraints.keep_zeros(sparse)
    for constraints in (columns, zeros):
        constraints.check(sparse.parameters)
        np.testing.assert_array_equal(constraints.frozen.weights, sparse.own_weights == 0)
        for name in ("biases", "values", "shifts", "intercept"):
            assert not getattr(constraints.frozen, name).any()
    assert not columns.frozen.mixing.any()
    np.testing.assert_array_equal(zeros.frozen.mixing, sparse.mixing == 0)
