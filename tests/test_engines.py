"""Every engine against the reference, and the reference against finite differences."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import networks, random_network

from neuralrules._data._rows import Rows
from neuralrules._engine import Batches, get_engine
from neuralrules._engine._adam import BETA_1
from neuralrules._engine._kernels import _training
from neuralrules._engine._numba import NumbaEngine
from neuralrules._engine._reference import (
    NumpyEngine,
    activations,
    gradient,
    literals_forward,
    units_forward,
)
from neuralrules._network._parameters import Parameters
from neuralrules._task._losses import (
    CLASS_LOSSES,
    MORE_CLASSES,
    NUMBER_LOSSES,
    SQUARED_ERROR,
    TWO_CLASSES,
)
from neuralrules._task._task import Task
from neuralrules._training._training import rule_gates


def rows_off_kinks(network, rng, n_rows):
    """Random rows at which no ReLU and no minimum is within rounding of a kink.

    There, two engines may rightly pass the gradient to different literals.
    """
    X = rng.randn(20 * n_rows + 500, network.features.max() + 1).astype(np.float32)
    parameters, layout = network.parameters, network.layout
    literals = literals_forward(parameters, layout, X[:, network.features])
    units = units_forward(parameters, layout, literals)
    clear = (np.abs(literals) > 1e-5).all(axis=1) & (np.abs(units) > 1e-5).all(axis=1)
    for start, stop in zip(layout.offsets, layout.offsets[1:], strict=False):
        if stop - start > 1:
            smallest = np.partition(units[:, start:stop], 1, axis=1)
            clear &= smallest[:, 1] - smallest[:, 0] > 1e-5
    assert clear.sum() >= n_rows
    return X[clear][:n_rows]


def examples_for(network, loss, seed, n_rows):
    """Random rows with targets that fit a loss."""
    rng = np.random.RandomState(seed)
    X = rows_off_kinks(network, rng, n_rows)
    n_outputs = network.n_outputs
    if loss in NUMBER_LOSSES.values():
        task = Task(loss, None, np.zeros(n_outputs), np.ones(n_outputs), flat=False)
        targets = np.maximum(rng.randn(n_rows, n_outputs), loss.lowest).astype(np.float32)
    else:
        task = Task.of_classes(np.arange(max(n_outputs, 2)), loss.name)
        targets = rng.randint(0, task.n_classes, (n_rows, 1)).astype(np.float32)
    weights = rng.uniform(0.1, 2, n_rows).astype(np.float32)
    return Rows(X, targets, weights, weights, task)


def loss_for(network, choice):
    """One of the losses for as many outputs; no number of classes has two."""
    classes = [MORE_CLASSES if network.n_outputs > 1 else TWO_CLASSES, CLASS_LOSSES["hinge"]]
    losses = [*(classes if network.n_outputs != 2 else []), *NUMBER_LOSSES.values()]
    return losses[choice % len(losses)]


def batches_for(network, examples, *, batch_size, rate=0.01, seed=0, dropout=0.3):
    """All rows once, in random order, with some rules dropped."""
    rows = np.random.RandomState(seed).permutation(len(examples.X)).astype(np.int32)
    n_batches = -(-len(rows) // batch_size)
    gates = rule_gates((n_batches, network.n_rules), dropout, np.random.RandomState(seed))
    return Batches(rows, batch_size, np.full(n_batches, rate), gates)


def run(engine, network, examples, loss, *, constraints=None, l2=0.01, **options):
    """A session after one epoch, and the sum of its losses."""
    session = engine.start(network, examples, loss, constraints, l2=l2)
    return session, session.run(batches_for(network, examples, **options))


def all_arrays(session):
    """Every parameter and moment of a session."""
    moments = session.moments()
    return [*session.network().parameters, *moments.means, *moments.squares]


def parameters_of(session):
    return session.network().parameters


@given(networks(), st.integers(0, 10**6), st.integers(1, 700))
def test_outputs_agree_with_the_reference(network, seed, n_rows):
    X = np.random.RandomState(seed).randn(n_rows, network.features.max() + 1)
    X = X.astype(np.float32)
    expected = NumpyEngine().decide(network, X)
    for n_threads in (1, 2):
        outputs = NumbaEngine(n_threads).decide(network, X)
        np.testing.assert_allclose(outputs, expected, rtol=2e-4, atol=2e-4)


@given(
    networks(), st.sampled_from(range(5)), st.integers(0, 10**6), st.sampled_from([7, 64, 300])
)
def test_gradients_agree_with_the_reference(network, choice, seed, n_rows):
    """After one step from zero, Adam's mean is (1 - beta_1) times the gradient."""
    loss = loss_for(network, choice)
    examples = examples_for(network, loss, seed, n_rows)
    expected, expected_total = run(NumpyEngine(), network, examples, loss, batch_size=n_rows)
    actual, total = run(NumbaEngine(), network, examples, loss, batch_size=n_rows)
    assert total == pytest.approx(expected_total, rel=1e-4)
    for ours, reference in zip(actual.moments().means, expected.moments().means, strict=True):
        tolerance = 1e-4 * max(np.abs(reference).max(initial=0), 1e-3)
        np.testing.assert_allclose(ours, reference, rtol=1e-3, atol=tolerance)


@given(networks(), st.sampled_from(range(5)), st.integers(0, 10**6))
def test_result_is_the_same_to_the_bit_for_any_number_of_threads(network, choice, seed):
    loss = loss_for(network, choice)
    examples = examples_for(network, loss, seed, 600)
    one, one_total = run(NumbaEngine(1), network, examples, loss, batch_size=64)
    for n_threads in (2, 3):
        many, many_total = run(NumbaEngine(n_threads), network, examples, loss, batch_size=64)
        assert one_total == many_total
        for x, y in zip(all_arrays(one), all_arrays(many), strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("batch_size", [100, 256, 257, 1000])
def test_batches_longer_than_a_slice(batch_size):
    network = random_network(0)
    examples = examples_for(network, TWO_CLASSES, 0, 1000)
    expected, _ = run(NumpyEngine(), network, examples, TWO_CLASSES, batch_size=batch_size)
    actual, _ = run(NumbaEngine(2), network, examples, TWO_CLASSES, batch_size=batch_size)
    for ours, reference in zip(parameters_of(actual), parameters_of(expected), strict=True):
        np.testing.assert_allclose(ours, reference, atol=2e-3)


@given(networks(), st.integers(0, 10**6))
def test_reference_gradient_by_finite_differences(network, seed):
    """In float64, of a squared loss, at points that are not near a kink."""
    rng = np.random.RandomState(seed)
    layout = network.layout
    parameters = Parameters(*(a.astype(np.float64) for a in network.parameters))
    x = rng.randn(20, len(network.features))
    y = rng.randn(20, network.n_outputs)

    def loss(p):
        outputs = activations(p, layout, x) @ p.values
        return SQUARED_ERROR.evaluate(outputs, y)[0].sum()

    outputs = activations(parameters, layout, x) @ parameters.values
    slopes = SQUARED_ERROR.evaluate(outputs, y)[1]
    exact = gradient(parameters, layout, x, slopes)
    step = 1e-6
    for number, (array, derivative) in enumerate(zip(parameters, exact, strict=True)):
        for index in rng.permutation(array.size)[:8]:
            values = []
            for sign in (1, -1):
                moved = list(parameters.copy())
                moved[number].flat[index] += sign * step
                values.append(loss(Parameters(*moved)))
            here = loss(parameters)
            forward, backward = (values[0] - here) / step, (here - values[1]) / step
            if abs(forward - backward) < 1e-3 * max(1, abs(forward)):  # no kink in between
                middle = (values[0] - values[1]) / (2 * step)
                assert derivative.flat[index] == pytest.approx(middle, rel=1e-4, abs=1e-4)


@given(networks(), st.integers(0, 10**6))
def test_a_rows_output_does_not_depend_on_its_neighbours(network, seed):
    rng = np.random.RandomState(seed)
    X = rng.randn(300, network.features.max() + 1).astype(np.float32)
    order = rng.permutation(300)
    engine = NumbaEngine()
    np.testing.assert_array_equal(
        engine.decide(network, X)[order], engine.decide(network, X[order])
    )
    np.testing.assert_array_equal(
        engine.decide(network, X)[7:12], engine.decide(network, X[7:12])
    )


def test_a_row_given_twice_equals_weight_two():
    network = random_network(0)
    single = examples_for(network, TWO_CLASSES, 0, 100)
    weights = np.ones(100, np.float32)
    weights[:30] = 3
    weighted = replace(single, training_weights=weights)
    rows = np.repeat(np.arange(100), weights.astype(int))
    repeated = replace(
        single,
        X=single.X[rows],
        targets=single.targets[rows],
        training_weights=np.ones(len(rows), np.float32),
    )
    a, _ = run(NumbaEngine(), network, weighted, TWO_CLASSES, batch_size=100)
    b, _ = run(NumbaEngine(), network, repeated, TWO_CLASSES, batch_size=len(rows))
    for x, y in zip(parameters_of(a), parameters_of(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-7)


def test_penalty_shrinks_active_rules_but_not_their_biases():
    network = random_network(0, deep=True)
    examples = examples_for(network, TWO_CLASSES, 0, 5)
    x = examples.X[:, network.features]
    active = (activations(network.parameters, network.layout, x) > 0).any(axis=0)
    assert 0 < active.sum() < network.n_rules
    owned = {
        "weights": np.repeat(active, np.diff(network.layout.weight_offsets)),
        "values": active[:, None],
        "mixing": np.repeat(active, np.diff(network.layout.mixing_offsets)),
    }
    for engine in (NumpyEngine(), NumbaEngine()):
        options = {"batch_size": 5, "dropout": 0.0}
        plain, _ = run(engine, network, examples, TWO_CLASSES, l2=0.0, **options)
        shrunk, _ = run(engine, network, examples, TWO_CLASSES, l2=10.0, **options)
        for name in network.parameters._fields:
            difference = getattr(shrunk.moments().means, name) - getattr(
                plain.moments().means, name
            )
            expected = (
                (1 - BETA_1) * 20 * getattr(network.parameters, name) * owned.get(name, 0)
            )
            np.testing.assert_allclose(difference, expected, atol=1e-4)


def test_engines_by_name():
    assert isinstance(get_engine("numpy", 1), NumpyEngine)
    assert isinstance(get_engine("numba", 2), NumbaEngine)


def test_a_thread_that_fails_does_not_leave_the_others_waiting(monkeypatch):
    network = random_network(0)
    examples = examples_for(network, TWO_CLASSES, 0, 300)
    original = _training.train

    def fail_in_second_thread(team, *arguments):
        if team.thread == 1:
            raise MemoryError("no room")
        return original(team, *arguments)

    monkeypatch.setattr(_training, "train", fail_in_second_thread)
    with pytest.raises(MemoryError, match="no room"):
        run(NumbaEngine(2), network, examples, TWO_CLASSES, batch_size=64)
