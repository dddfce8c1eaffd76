"""Networks that keep to directions and groups of columns, and the proof that they do."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import class_rows, networks, number_rows, random_network, seeds

from neuralrules._data._restrictions import NEITHER, Restrictions
from neuralrules._data._rows import Rows
from neuralrules._engine import Batches, get_engine
from neuralrules._engine._reference import NumpyEngine
from neuralrules._network._constraints import Constraints
from neuralrules._network._network import Network
from neuralrules._network._restricted import allowed_weights, restricted, violations

N_COLUMNS = 9  # more than any drawn network looks at


def restrictions_for(directions, excluded=(), groups=None) -> Restrictions:
    out = np.isin(np.arange(N_COLUMNS), list(excluded))
    rest = np.flatnonzero(~out)
    if groups is not None:
        found = [np.intersect1d(list(group), rest) for group in groups]
        single = np.setdiff1d(rest, np.concatenate([*found, []]))
        groups = tuple(one for one in (*found, *single[:, None].astype(int)) if one.size)
    return Restrictions(np.array(directions, np.int8), out, groups)


@st.composite
def restrictions(draw):
    directions = draw(st.lists(st.sampled_from([1, -1, 0]), min_size=9, max_size=9))
    some = st.sets(st.integers(0, N_COLUMNS - 1), max_size=4)
    groups = draw(st.none() | st.lists(some, max_size=3))
    return restrictions_for(directions, draw(some), groups)


@st.composite
def by_output(draw, n_outputs):
    """Directions of each output by itself, for some columns."""
    some = st.lists(
        st.sampled_from([1, -1, 0, NEITHER]), min_size=n_outputs, max_size=n_outputs
    )
    rows = draw(st.lists(some, min_size=N_COLUMNS, max_size=N_COLUMNS))
    return Restrictions(np.array(rows, np.int8), np.zeros(N_COLUMNS, bool), None)


def assert_each_monotone(network, directions, seed, engine):
    """The same as below for each output by itself; NEITHER is both."""
    for place in range(network.n_outputs):
        one = replace(
            network, values=network.values[:, [place]], intercept=network.intercept[[place]]
        )
        own = directions[:, place]
        for sign in (1, -1):
            wanted = np.where((own == sign) | (own == NEITHER), sign, 0)
            assert_monotone(one, wanted, seed, engine)


@given(st.data(), networks(), seeds)
def test_a_network_restricted_by_output_obeys(data, network, seed):
    limits = data.draw(by_output(network.n_outputs))
    obeying = restricted(network, limits)
    assert violations(obeying, limits.directions) == []
    assert (
        violations(obeying, limits.directions, relative=network.n_outputs > 1) == []
        or ((limits.directions == 0) & limits.directions.any(axis=1)[:, None]).any()
    )  # by differences, one that is free may not move either
    assert_each_monotone(obeying, limits.directions, seed, NumpyEngine())


@pytest.mark.parametrize("name", ["numpy", "numba"])
@given(st.data(), networks(), seeds)
def test_training_keeps_directions_by_output(name, data, network, seed):
    limits = data.draw(by_output(network.n_outputs))
    start, engine = restricted(network, limits), get_engine(name, 1)
    rows = rows_for(start, seed)
    constraints = Constraints.free(start).within(start, limits)
    session = engine.start(start, rows, rows.task.loss, constraints, l2=0.01)
    order = np.random.RandomState(seed).permutation(60).astype(np.int32)
    for _ in range(2):
        session.run(Batches(order, 10, np.full(6, 0.3), np.ones((6, start.n_rules), "f4")))
        assert violations(session.network(), limits.directions) == []
    assert_each_monotone(session.network(), limits.directions, seed, engine)


@given(st.integers(2, 4).flatmap(lambda n: st.tuples(*[st.integers(-3, 3)] * n)), st.booleans())
def test_the_order_of_values_proves_the_probability_of_a_class(values, rises):
    """By differences a proof is found exactly if the class is first, or last, of all."""
    weight = 1.0 if rises else -1.0
    network = one_rule([[weight]], values)
    for place in range(len(values)):
        directions = np.full((1, len(values)), -1, np.int8)
        directions[0, place] = 1
        others = np.delete(values, place)
        best = (values[place] >= others).all() if rises else (values[place] <= others).all()
        assert (violations(network, directions, relative=True) == []) == best
        X = np.linspace(-3, 3, 30, dtype="f4")[:, None]
        outputs = NumpyEngine().decide(network, X)
        chances = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
        if best:
            assert np.diff(chances[:, place]).min() >= -1e-6


def assert_obeys(network, limits):
    assert violations(network, limits.directions) == []
    for rule in range(network.n_rules):
        used = network.rule_columns(rule)[network.rule_weights(rule).any(axis=0)]
        assert not limits.excluded[used].any()
        if limits.groups is not None:
            assert any(np.isin(used, group).all() for group in limits.groups)


def assert_monotone(network, directions, seed, engine):
    """Outputs rise, or fall, along columns from row to row, but for rounding."""
    start = np.random.RandomState(seed).randn(5, N_COLUMNS).astype("f4")
    for column in np.flatnonzero(directions):
        X = np.repeat(start, 40, axis=0)
        X[:, column] = np.tile(np.linspace(-6, 6, 40), 5)
        outputs = engine.decide(network, X).reshape(5, 40, -1)
        sizes = engine.activations(network, X) @ np.abs(network.values)
        steps = np.diff(outputs, axis=1) * directions[column]
        assert steps.min() >= -1e-5 * sizes.max()


@given(networks(), restrictions(), seeds)
def test_a_restricted_network_obeys(network, limits, seed):
    obeying = restricted(network, limits)
    assert_obeys(obeying, limits)
    assert_monotone(obeying, limits.directions, seed, NumpyEngine())
    assert restricted(obeying, limits) is obeying
    assert restricted(network, None) is network


def rows_for(network, seed) -> Rows:
    """Random rows with two classes, or as many numbers as the network has outputs."""
    rng = np.random.RandomState(seed)
    X, weights = rng.randn(60, N_COLUMNS).astype("f4"), np.ones(60, "f4")
    if network.n_outputs == 1:
        return class_rows(X, np.arange(60) % 2, weights)
    return number_rows(X, rng.randn(60, network.n_outputs), weights)


@pytest.mark.parametrize("name", ["numpy", "numba"])
@given(networks(), restrictions(), seeds)
def test_training_keeps_it_so(name, network, limits, seed):
    start, engine = restricted(network, limits), get_engine(name, 1)
    rows = rows_for(start, seed)
    constraints = Constraints.free(start).within(start, limits)
    session = engine.start(start, rows, rows.task.loss, constraints, l2=0.01)
    order = np.random.RandomState(seed).permutation(60).astype(np.int32)
    gates = np.ones((6, start.n_rules), "f4")
    for _ in range(3):  # by steps that go far beyond what is allowed
        session.run(Batches(order, 10, np.full(6, 0.3), gates))
        assert_obeys(session.network(), limits)
    assert_monotone(session.network(), limits.directions, seed, engine)


def one_rule(weights, values=(1.0,), mixing=None) -> Network:
    """One rule on the columns 0, 1, ... with a literal for each row of weights."""
    weights = np.array(weights, "f4")
    n_literals, deep = len(weights), mixing is not None
    return Network.dense(
        weights=weights,
        features=np.arange(weights.shape[1], dtype=np.int32),
        biases=np.full(n_literals, 0.5, "f4"),
        offsets=np.array([0, n_literals]),
        values=np.array([values], "f4"),
        intercept=np.zeros(len(values)),
        mixing=np.ravel(mixing).astype("f4") if deep else np.empty(0, "f4"),
        shifts=np.zeros(n_literals if deep else 0, "f4"),
        origins=np.arange(n_literals),
    )


@pytest.mark.parametrize(
    ("network", "wrong"),
    [
        (one_rule([[1, -1], [2, 0]]), [1]),
        (one_rule([[1, -1], [2, 0]], [-1]), [0]),
        (one_rule([[1, -1], [2, 0]], [0]), []),
        (one_rule([[1, 1], [2, 0]], [1, -1]), [0, 1]),
        (one_rule([[1, 0], [2, 0]], [1, 0]), []),
        (one_rule([[1e-30, 0], [1, -1e-30]], [1e-30]), [1]),
        (one_rule([[1, 0], [2, 1]], [1], [[1, 0], [3, 1]]), []),
        (one_rule([[1, 0], [2, 1]], [1], [[1, -1], [3, 1]]), [0, 1]),
        (one_rule([[1, 0], [0, 1]], [1], [[1, -1], [3, 1]]), [1]),
        (one_rule([[1, 0], [0, -1]], [1], [[1, -1], [3, 0]]), []),
    ],
)
def test_violations_are_found_by_signs(network, wrong):
    assert violations(network, np.array([1, 1])) == [(0, column) for column in wrong]
    assert violations(network, np.array([0, 0])) == []
    reverse = replace(network, values=-network.values)
    assert violations(reverse, np.array([-1, -1])) == violations(network, np.array([1, 1]))


def test_a_literal_that_loses_its_weights_goes_and_the_last_becomes_constant():
    limits = restrictions_for([1, -1, *[0] * 7])
    kept = restricted(one_rule([[-1, 0], [0, -1]]), limits)
    assert (kept.n_literals, kept.weights.tolist()) == (1, [[0, -1]])
    assert (kept.biases.tolist(), kept.origins.tolist()) == ([0.5], [1])
    for mixing in (None, [[2, 0], [0, 3]]):
        constant = restricted(one_rule([[-1, 0], [-2, 1]], mixing=mixing), limits)
        assert (constant.n_literals, constant.weights.tolist()) == (1, [[0, 0]])
        assert (constant.biases.tolist(), constant.origins.tolist()) == ([1], [-1])
        outputs = NumpyEngine().decide(constant, np.ones((1, 2), "f4"))
        assert outputs.tolist() == [[1]]


def test_values_of_other_targets_keep_to_the_sign_of_the_largest():
    limits = restrictions_for([1, *[0] * 8])
    network = restricted(one_rule([[-1, 0], [0, 1]], [1, -3]), limits)
    assert network.values.tolist() == [[0, -3]]
    assert network.weights.tolist() == [[-1, 0], [0, 1]]


def test_a_column_that_only_another_value_is_about_follows_that_value():
    """Output 0 has the largest value, and only output 1 has a direction in column 1."""
    limits = Restrictions(np.zeros((9, 2), np.int8), np.zeros(9, bool), None)
    limits.directions[[0, 1], [0, 1]] = 1
    network = one_rule([[1, -1]], [2, -1])  # both outputs rise
    assert violations(network, limits.directions) == []
    assert restricted(network, limits) is network
    turned = restricted(one_rule([[1, 1]], [2, -1]), limits)
    assert (turned.weights.tolist(), turned.values.tolist()) == ([[1, 0]], [[2, -1]])


def test_of_groups_with_equal_weights_a_rule_keeps_that_with_most_of_its_columns():
    limits = restrictions_for([0] * 9, groups=[[0, 2], [0, 1]])
    assert allowed_weights(one_rule([[1, 0]]), limits).tolist() == [True, True]
    limits = restrictions_for([0] * 9, groups=[[0, 1], [0, 2]])
    assert allowed_weights(one_rule([[1, 0]]), limits).tolist() == [True, True]


def test_a_rule_that_mixes_groups_keeps_that_of_its_largest_weights():
    network = one_rule([[1, 0, 2], [0, 2, -2]])
    kept = restricted(network, restrictions_for([0] * 9, groups=[[0, 1], [2, 1]]))
    assert kept.weights.tolist() == [[0, 0, 2], [0, 2, -2]]
    alone = restricted(network, restrictions_for([0] * 9, excluded=[2], groups=[]))
    assert alone.weights.tolist() == [[0, 2, 0]]  # the other literal has no weight left


@pytest.mark.parametrize("deep", [False, True])
def test_rules_without_limited_columns_stay_free(deep):
    network = random_network(0, deep=deep)
    assert 7 not in network.features
    limits = restrictions_for([*[0] * 7, 1, 0], excluded=[8])
    for ours, free in zip(
        Constraints.free(network).within(network, limits),
        Constraints.free(network),
        strict=True,
    ):
        for one, other in zip(ours, free, strict=True):
            np.testing.assert_array_equal(one, other)
