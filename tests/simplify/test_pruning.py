"""What parts of a network are worth, and networks without them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import networks, random_network, seeds

from neuralrules._engine._reference import NumpyEngine
from neuralrules._network._network import Network
from neuralrules._network._restricted import violations
from neuralrules._simplify._pruning import drop_idle, prune, without_weights, worth

ENGINE = NumpyEngine()


def rows_for(network, seed, n_rows=80):
    return np.random.RandomState(seed).randn(n_rows, network.features.max() + 1).astype("f4")


def outputs(network, X):
    return ENGINE.decide(network, X)


@given(networks(), seeds)
def test_worth_of_rules_is_what_the_outputs_lose_without_them(network, seed):
    X = rows_for(network, seed)
    weights = np.random.RandomState(seed).rand(len(X)).astype("f4")
    value = worth(network, X, weights)
    for rule in range(network.n_rules):
        others = np.flatnonzero(np.arange(network.n_rules) != rule)
        rest = outputs(network.take(others), X) if others.size else 0
        change = ((outputs(network, X) - rest) ** 2).sum(axis=1)
        assert value.rules[rule] == pytest.approx(weights @ change, rel=1e-3, abs=1e-4)


@given(networks(), seeds)
def test_worth_of_literals_is_what_the_outputs_lose_without_them(network, seed):
    X = rows_for(network, seed)
    value = worth(network, X, np.ones(len(X), "f4"))
    every_rule = np.arange(network.n_rules)
    for rule in every_rule:
        own = range(network.offsets[rule], network.offsets[rule + 1])
        for literal in own:
            if len(own) == 1:
                assert value.literals[literal] == np.inf
                continue
            kept = np.arange(network.n_literals) != literal
            change = outputs(network, X) - outputs(network.take(every_rule, kept), X)
            expected = (change**2).sum()
            assert value.literals[literal] == pytest.approx(expected, rel=1e-3, abs=1e-4)


@given(networks(deep=False), seeds)
def test_worth_of_a_weight_is_the_change_where_its_literal_decides(network, seed):
    X = rows_for(network, seed)
    value = worth(network, X, np.ones(len(X), "f4"))
    worths, means = map(network.layout.dense, (value.weights, value.weight_means))
    owned = network.layout.dense(np.ones(network.own_weights.size)) > 0
    x = X[:, network.features].astype(float)
    units = x @ network.weights.T.astype(float) + network.biases
    owner = np.repeat(np.arange(network.n_rules), np.diff(network.offsets))
    for literal in range(network.n_literals):
        own = slice(network.offsets[owner[literal]], network.offsets[owner[literal] + 1])
        place = literal - own.start
        decides = (units[:, own].argmin(axis=1) == place) & (units[:, own].min(axis=1) > 0)
        size = (network.values[owner[literal]].astype(float) ** 2).sum()
        for feature in range(x.shape[1]):
            cells = x[decides, feature]
            term = (
                network.weights[literal, feature] * (cells - cells.mean()) if len(cells) else 0
            )
            expected = size * np.sum(np.square(term))
            assert worths[literal, feature] == pytest.approx(expected, rel=1e-3, abs=1e-3)
            if len(cells) and owned[literal, feature]:
                assert means[literal, feature] == pytest.approx(cells.mean(), abs=1e-4)


@given(networks(), seeds)
def test_idle_parts_go_without_changing_any_output(network, seed):
    X = rows_for(network, seed)
    smaller, kept = drop_idle(network, X, np.ones(len(X), "f4"))
    np.testing.assert_allclose(outputs(smaller, X), outputs(network, X), rtol=1e-5, atol=1e-5)
    active = ENGINE.activations(network, X)
    matters = np.flatnonzero((active > 0).any(axis=0) & (network.values != 0).any(axis=1))
    # Rules that matter stay, unless another that is a multiple of them speaks for them.
    for rule in np.setdiff1d(matters, kept):
        cosines = [
            active[:, rule]
            @ active[:, other]
            / np.linalg.norm(active[:, rule])
            / np.linalg.norm(active[:, other])
            for other in matters
            if other < rule
        ]
        assert max(cosines) > 1 - 1e-9
    assert set(kept) <= set(matters) or len(kept) == 1
    again, _ = drop_idle(smaller, X, np.ones(len(X), "f4"))
    assert again.n_literals == smaller.n_literals


@given(networks(), seeds, st.sampled_from([0.05, 0.2, 0.5, 0.99]))
def test_pruning_takes_out_about_its_share_and_keeps_a_whole_network(network, seed, share):
    X = rows_for(network, seed)
    smaller, kept = prune(network, X, np.ones(len(X), "f4"), share)
    assert smaller.n_rules == len(kept) >= 1
    assert (np.diff(smaller.offsets) >= 1).all()
    assert smaller.n_parameters < network.n_parameters or network.n_parameters == 1
    assert np.isfinite(outputs(smaller, X)).all()
    # Zeros stay zero and nothing new appears but in the biases.
    assert smaller.weights.size <= network.weights.size
    assert np.isin(smaller.weights, np.append(network.weights, 0)).all()
    assert np.isin(smaller.mixing, np.append(network.mixing, 0)).all()


def test_the_cheapest_parts_go_first():
    """Of two rules the one that adds little loses its parameters."""
    network = random_network(0, n_rules=2)
    X = rows_for(network, 1, n_rows=800)
    weights = np.ones(len(X), "f4")
    uneven, _ = drop_idle(replace(network, values=np.array([[5.0], [1e-6]], "f4")), X, weights)
    assert uneven.n_rules == 2
    smaller, kept = prune(uneven, X, weights, 0.1)
    assert kept[0] == 0
    own = slice(0, uneven.offsets[1])
    np.testing.assert_array_equal(smaller.weights[own], uneven.weights[own])
    assert np.count_nonzero(smaller.weights) < np.count_nonzero(uneven.weights)


def test_the_bias_makes_up_for_the_mean_of_a_weight_that_goes():
    """A feature that never varies where the literal decides costs nothing to drop."""
    network = random_network(3, n_rules=1, n_features=2)
    network = network.take(np.array([0]), np.arange(network.n_literals) == 0)
    network = replace(network, biases=np.array([3.0], "f4"))
    X = rows_for(network, 0)
    X[:, network.features[1]] = 1.5
    value = worth(network, X, np.ones(len(X), "f4"))
    assert value.weights[1] == pytest.approx(0, abs=1e-3)
    assert value.weights[0] > 0.1
    smaller, _ = prune(network, X, np.ones(len(X), "f4"), 0.01)
    assert smaller.weights[0, 1] == 0
    np.testing.assert_allclose(outputs(smaller, X), outputs(network, X), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("deep", [False, True])
def test_equal_rules_become_one(deep):
    network = random_network(7, n_rules=5, n_outputs=2, deep=deep)
    twice = network.take(np.array([0, 1, 2, 3, 4, 3, 1]))
    X = rows_for(network, 0)
    smaller, _ = drop_idle(twice, X, np.ones(len(X), "f4"))
    alone, _ = drop_idle(network, X, np.ones(len(X), "f4"))
    assert smaller.n_rules == alone.n_rules
    np.testing.assert_allclose(outputs(smaller, X), outputs(twice, X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("value", [-3, 3])
def test_rules_are_not_merged_into_one_that_would_turn_against_a_direction(value):
    """Alike where two columns are; elsewhere the first would fall with its own column."""
    network = Network.dense(
        weights=np.eye(2, dtype="f4"),
        features=np.arange(2, dtype=np.int32),
        biases=np.zeros(2, "f4"),
        offsets=np.arange(3),
        values=np.array([[1], [value]], "f4"),
        intercept=np.zeros(1),
        mixing=np.empty(0, "f4"),
        shifts=np.empty(0, "f4"),
        origins=np.zeros(2, int),
    )
    X = np.repeat(rows_for(network, 0)[:, :1], 2, axis=1)
    weights, directions = np.ones(len(X), "f4"), np.array([1, 0])
    smaller, kept = drop_idle(network, X, weights, directions)
    np.testing.assert_allclose(outputs(smaller, X), outputs(network, X), rtol=1e-5)
    assert violations(smaller, directions) == []
    assert kept.tolist() == ([0] if value > 0 else [0, 1])
    freely, _ = drop_idle(network, X, weights)
    assert freely.values.tolist() == [[1 + value]]


@pytest.mark.parametrize("deep", [False, True])
def test_constant_rules_become_one_or_go_to_the_intercept(deep):
    network = random_network(5, n_rules=6, n_outputs=2, deep=deep)
    weights = network.weights.copy()
    for rule in (1, 3, 4):
        weights[network.offsets[rule] : network.offsets[rule + 1]] = 0
    network = replace(network.with_weights(weights), biases=np.abs(network.biases) + 1)
    if deep:  # units that are positive
        network = replace(network, mixing=np.abs(network.mixing), shifts=np.abs(network.shifts))
    X = rows_for(network, 0)
    bare = replace(network, intercept=np.zeros(2))  # as the paper has it
    smaller, kept = drop_idle(bare, X, np.ones(len(X), "f4"))
    np.testing.assert_allclose(outputs(smaller, X), outputs(bare, X), rtol=1e-5, atol=1e-5)
    assert 1 in kept
    assert 3 not in kept
    assert 4 not in kept
    smaller, kept = drop_idle(network, X, np.ones(len(X), "f4"))
    assert not {1, 3, 4} & set(kept)
    np.testing.assert_allclose(
        outputs(smaller, X) + smaller.intercept,
        outputs(network, X) + network.intercept,
        rtol=1e-5,
        atol=1e-5,
    )


def test_the_shift_makes_up_for_the_mean_of_a_mixed_literal_that_goes():
    """A literal that never varies costs nothing to take out of a unit."""
    network = random_network(3, n_rules=1, n_features=2, deep=True)
    first_two = np.arange(network.n_literals) < 2
    network = network.take(np.array([0]), first_two)
    network = replace(
        network.with_weights([[1, 0.5], [0, 0]]),  # the second literal is 2 everywhere
        biases=np.array([5, 2], "f4"),
        mixing=np.array([1, 0.75, 1, 3], "f4"),
        shifts=np.array([0, 50], "f4"),  # the first unit is the minimum
    )
    X = rows_for(network, 0)
    value = worth(network, X, np.ones(len(X), "f4"))
    assert value.mixing[1] == pytest.approx(0, abs=1e-6)
    assert value.mixing_means[1] == pytest.approx(2)
    assert value.mixing[0] > 0.1
    without = without_weights(network, value, limit=1e-6)
    assert without.mixing.tolist() == [1, 0, 0, 0]
    assert without.shifts[0] == pytest.approx(1.5)
    np.testing.assert_allclose(outputs(without, X), outputs(network, X), rtol=1e-5)
