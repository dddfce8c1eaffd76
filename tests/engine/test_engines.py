"""Every engine against the reference, and the reference against finite differences."""

import importlib.util
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import networks, random_network

from neuralrules._data._rows import Rows
from neuralrules._engine import Batches, get_engine
from neuralrules._engine._adam import BETA_1
from neuralrules._engine._kernels import _train
from neuralrules._engine._numba import NumbaEngine
from neuralrules._engine._reference import (
    NumpyEngine,
    gradient,
    literals_forward,
    rules_forward,
    units_forward,
)
from neuralrules._network._constraints import Constraints
from neuralrules._network._network import Network
from neuralrules._network._parameters import Parameters
from neuralrules._task._class_losses import CLASS_LOSSES, CrossEntropy, Logistic, Squared
from neuralrules._task._number_losses import NUMBER_LOSSES, SquaredError
from neuralrules._task._task import Task
from neuralrules._training._training import rule_gates

TORCH = importlib.util.find_spec("torch") is not None
FAST = [NumbaEngine(1), NumbaEngine(2), *([get_engine("torch", 1, "cpu")] if TORCH else [])]
EVERY = [NumpyEngine(), *FAST]
TWO_CLASSES, MORE_CLASSES, SQUARED_ERROR = Logistic(), CrossEntropy(), SquaredError()
CHOICES = st.sampled_from(range(len(CLASS_LOSSES) + len(NUMBER_LOSSES)))


def name_of(engine):
    return f"{type(engine).__name__}{getattr(engine, 'n_threads', '')}"


def rows_off_kinks(network, rng, n_rows):
    """Random rows at which no ReLU and no minimum is within rounding of a kink.

    There are always enough of them: kinks are thin.

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
    if type(loss) in NUMBER_LOSSES.values():
        task = Task(loss, None, np.zeros(n_outputs), np.ones(n_outputs), flat=False)
        targets = np.maximum(rng.randn(n_rows, n_outputs), loss.lowest_target).astype(
            np.float32
        )
    else:
        task = Task.of_classes(np.arange(max(n_outputs, 2)), loss.name)
        targets = rng.randint(0, task.n_classes, (n_rows, 1)).astype(np.float32)
    weights = rng.uniform(0.1, 2, n_rows).astype(np.float32)
    return Rows(X, targets, weights, weights, task)


def loss_for(network, choice):
    """One of the losses for as many outputs; no number of classes has two."""
    classes = [kind().for_classes(network.n_outputs) for kind in CLASS_LOSSES.values()]
    numbers = [kind() for kind in NUMBER_LOSSES.values()]
    losses = [*(classes if network.n_outputs != 2 else []), *numbers]
    return losses[choice % len(losses)]


def engines_for(loss, among=EVERY):
    """The engines that can train with a loss: torch may lack the slopes of a new one."""
    if not TORCH:
        return among
    from neuralrules._engine._torch._losses import LOSSES

    own = (NumpyEngine, NumbaEngine)
    return [one for one in among if isinstance(one, own) or type(loss) in LOSSES]


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
    for engine in FAST:
        outputs = engine.decide(network, X)
        np.testing.assert_allclose(outputs, expected, rtol=2e-4, atol=2e-4)


@given(networks(), CHOICES, st.integers(0, 10**6), st.sampled_from([7, 64, 300]))
def test_gradients_agree_with_the_reference(network, choice, seed, n_rows):
    """After one step from zero, Adam's mean is (1 - beta_1) times the gradient."""
    loss = loss_for(network, choice)
    examples = examples_for(network, loss, seed, n_rows)
    expected, expected_total = run(NumpyEngine(), network, examples, loss, batch_size=n_rows)
    references = expected.moments().means
    for engine in engines_for(loss, FAST):
        actual, total = run(engine, network, examples, loss, batch_size=n_rows)
        assert total == pytest.approx(expected_total, rel=1e-4)
        for ours, reference in zip(actual.moments().means, references, strict=True):
            tolerance = 1e-4 * max(np.abs(reference).max(initial=0), 1e-3)
            np.testing.assert_allclose(ours, reference, rtol=1e-3, atol=tolerance)


@given(networks(), CHOICES, st.integers(0, 10**6))
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
    for engine in FAST:
        actual, _ = run(engine, network, examples, TWO_CLASSES, batch_size=batch_size)
        for ours, reference in zip(parameters_of(actual), parameters_of(expected), strict=True):
            np.testing.assert_allclose(ours, reference, atol=2e-3)


@given(networks(), st.integers(0, 10**6))
def test_reference_gradient_by_finite_differences(network, seed):
    """In float64, of a squared loss, at rows that are not near a kink: none is left out."""
    rng = np.random.RandomState(seed)
    layout = network.layout
    parameters = Parameters(*(a.astype(np.float64) for a in network.parameters))
    x = rows_off_kinks(network, rng, 20)[:, network.features].astype(np.float64)
    y = rng.randn(20, network.n_outputs)

    def loss(p):
        outputs = rules_forward(p, layout, x) @ p.values + p.intercept
        return SQUARED_ERROR.evaluate(outputs, y)[0].sum()

    outputs = rules_forward(parameters, layout, x) @ parameters.values + parameters.intercept
    slopes = SQUARED_ERROR.evaluate(outputs, y)[1]
    exact = gradient(parameters, layout, x, slopes)
    step = 1e-7  # moves a literal by less than its distance from a kink
    for number, (array, derivative) in enumerate(zip(parameters, exact, strict=True)):
        for index in rng.permutation(array.size)[:8]:
            values = []
            for sign in (1, -1):
                moved = list(parameters.copy())
                moved[number].flat[index] += sign * step
                values.append(loss(Parameters(*moved)))
            middle = (values[0] - values[1]) / (2 * step)
            scale = max(1, abs(values[0]))  # of the rounding in the difference
            assert derivative.flat[index] == pytest.approx(middle, rel=1e-4, abs=1e-6 * scale)


@given(networks(), st.integers(0, 10**6))
def test_a_rows_output_does_not_depend_on_its_neighbours(network, seed):
    rng = np.random.RandomState(seed)
    X = rng.randn(300, network.features.max() + 1).astype(np.float32)
    order = rng.permutation(300)
    for engine in FAST:
        outputs = engine.decide(network, X)
        np.testing.assert_array_equal(outputs[order], engine.decide(network, X[order]))
        np.testing.assert_array_equal(outputs[7:12], engine.decide(network, X[7:12]))


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
    active = (rules_forward(network.parameters, network.layout, x) > 0).any(axis=0)
    assert 0 < active.sum() < network.n_rules
    owned = {
        "weights": np.repeat(active, np.diff(network.layout.weight_offsets)),
        "values": active[:, None],
        "mixing": np.repeat(active, np.diff(network.layout.mixing_offsets)),
    }
    for engine in EVERY:
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
    original = _train.train_part

    def fail_in_second_thread(team, *arguments):
        if team.thread == 1:
            raise MemoryError("no room")
        return original(team, *arguments)

    monkeypatch.setattr(_train, "train_part", fail_in_second_thread)
    with pytest.raises(MemoryError, match="no room"):
        run(NumbaEngine(2), network, examples, TWO_CLASSES, batch_size=64)


@given(networks(), st.integers(0, 10**6), st.integers(1, 700))
def test_activations_are_those_that_are_summed(network, seed, n_rows):
    """Exactly: float32 numbers whose products with the values are the outputs."""
    X = np.random.RandomState(seed).randn(n_rows, network.features.max() + 1)
    X = X.astype(np.float32)
    for engine in EVERY:
        active = engine.activations(network, X)
        assert active.shape == (n_rows, network.n_rules)
        np.testing.assert_array_equal(active, active.astype(np.float32))
        outputs = np.zeros((n_rows, network.n_outputs))
        for rule in range(network.n_rules):
            outputs += active[:, rule, None] * network.values[rule].astype(np.float64)
        np.testing.assert_array_equal(outputs, engine.decide(network, X))
    expected = NumpyEngine().activations(network, X)
    np.testing.assert_allclose(active, expected, rtol=2e-4, atol=2e-4)


@given(networks(own_columns=True), CHOICES, st.integers(0, 10**6))
def test_a_column_that_is_not_owned_is_a_zero_that_is_frozen(network, choice, seed):
    """The same bits, in both engines, for any number of threads."""
    loss = loss_for(network, choice)
    examples = examples_for(network, loss, seed, 200)
    dense = owning_all(network)
    constraints = Constraints.free(dense)
    missing = np.ones(dense.own_weights.size, bool)
    rows, places = network.layout.cells()
    missing.reshape(dense.weights.shape)[rows, places] = False
    frozen = constraints.frozen._replace(weights=missing)
    constraints = constraints._replace(frozen=frozen)
    exact = not network.deep  # else sums over more columns are rounded in another order
    for engine in engines_for(loss):
        own, own_total = run(engine, network, examples, loss, batch_size=64)
        all_columns, total = run(
            engine, dense, examples, loss, batch_size=64, constraints=constraints
        )
        assert own_total == pytest.approx(total, rel=1e-5)
        for name in ("weights", "biases", "values"):
            ours, theirs = (getattr(one.network(), name) for one in (own, all_columns))
            if exact and isinstance(engine, NumbaEngine):
                np.testing.assert_array_equal(ours, theirs)
            else:
                np.testing.assert_allclose(ours, theirs, atol=2e-3)


def owning_all(network):
    """The same function, by rules that own all features."""
    arrays = {
        field.name: getattr(network, field.name)
        for field in fields(network)
        if field.name not in ("own_weights", "columns", "column_offsets")
    }
    return Network.dense(weights=network.weights, features=network.features, **arrays)


@given(networks(), CHOICES, st.integers(0, 10**6), st.floats(0.1, 0.9))
def test_constraints_hold_in_every_engine(network, choice, seed, share):
    loss = loss_for(network, choice)
    examples = examples_for(network, loss, seed, 300)
    rng = np.random.RandomState(seed)
    own = network.parameters
    constraints = Constraints(
        frozen=Parameters(*(rng.rand(*array.shape) < share for array in own)),
        lower=Parameters(
            *((array - 0.02 * rng.rand(*array.shape)).astype("f4") for array in own)
        ),
        upper=Parameters(
            *((array + 0.02 * rng.rand(*array.shape)).astype("f4") for array in own)
        ),
    )
    options = {"batch_size": 64, "rate": 0.05, "constraints": constraints, "l2": 0.1}
    results = [run(engine, network, examples, loss, **options) for engine in engines_for(loss)]
    for session, _ in results:
        for after, before, frozen, lower, upper in zip(
            session.network().parameters, own, *constraints, strict=True
        ):
            np.testing.assert_array_equal(after[frozen], before[frozen])
            assert ((after >= lower) & (after <= upper) | frozen).all()
        for moment, frozen in zip(session.moments().means, constraints.frozen, strict=True):
            assert not moment[frozen].any()
    for one, two in zip(all_arrays(results[1][0]), all_arrays(results[2][0]), strict=True):
        np.testing.assert_array_equal(one, two)
    # What is free moves as it does without limits, where those are never reached.
    expected = parameters_of(results[0][0])
    for session, _ in results[1:]:
        for ours, reference in zip(parameters_of(session), expected, strict=True):
            np.testing.assert_allclose(ours, reference, atol=0.045)


@pytest.mark.parametrize("engine", EVERY, ids=name_of)
def test_bounds_bind_where_the_gradient_leaves_them(engine):
    network = random_network(0)
    examples = examples_for(network, TWO_CLASSES, 0, 300)
    free, _ = run(engine, network, examples, TWO_CLASSES, batch_size=64)
    moved = parameters_of(free).biases - network.biases
    constraints = Constraints.free(network)
    lower = constraints.lower._replace(biases=network.biases.copy())
    bound, _ = run(
        engine,
        network,
        examples,
        TWO_CLASSES,
        batch_size=64,
        constraints=constraints._replace(lower=lower),
    )
    down = moved < -0.02
    assert down.any()
    assert (parameters_of(bound).biases >= network.biases).all()
    assert (parameters_of(bound).biases[down] < network.biases[down] + 0.03).all()


@pytest.mark.parametrize("engine", EVERY, ids=name_of)
def test_what_is_frozen_later_has_no_momentum_left(engine):
    network = random_network(0, deep=True)
    examples = examples_for(network, TWO_CLASSES, 0, 300)
    free, _ = run(engine, network, examples, TWO_CLASSES, batch_size=64)
    middle, moments = free.network(), free.moments()
    assert all(array.any() for array in moments.means)
    constraints = Constraints.free(middle)
    constraints = constraints._replace(frozen=middle.parameters.filled(True, bool))
    session = engine.start(middle, examples, TWO_CLASSES, constraints, l2=0.1, moments=moments)
    session.run(batches_for(network, examples, batch_size=64))
    for after, before in zip(parameters_of(session), middle.parameters, strict=True):
        np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize("engine", EVERY, ids=name_of)
def test_bounds_do_not_hide_that_training_diverged(engine):
    network = random_network(0)
    examples = examples_for(network, TWO_CLASSES, 0, 100)
    constraints = Constraints.free(network)
    bounds = [network.parameters.filled(value, np.float32) for value in (-3, 3)]
    constraints = constraints._replace(lower=bounds[0], upper=bounds[1])
    broken = replace(examples, training_weights=np.full(100, np.nan, np.float32))
    with np.errstate(all="ignore"):
        session, _ = run(
            engine, network, broken, TWO_CLASSES, batch_size=100, constraints=constraints
        )
    assert np.isnan(parameters_of(session).values).any()


@pytest.mark.parametrize("engine", EVERY, ids=name_of)
def test_constraints_of_another_network_are_refused(engine):
    network, other = random_network(0), random_network(1)
    examples = examples_for(network, TWO_CLASSES, 0, 10)
    with pytest.raises(ValueError, match=r"^The constraints of weights are bool of shape"):
        engine.start(network, examples, TWO_CLASSES, Constraints.free(other), l2=0.0)
    crossed = Constraints.free(network)
    crossed = crossed._replace(lower=crossed.upper, upper=crossed.lower)
    with pytest.raises(
        ValueError, match=r"^The constraints of weights have a lower bound above"
    ):
        engine.start(network, examples, TWO_CLASSES, crossed, l2=0.0)


@given(networks(), CHOICES, st.integers(0, 10**6))
def test_a_session_goes_on_where_another_stopped(network, choice, seed):
    """Two runs are one run, in one session or in two."""
    loss = loss_for(network, choice)
    examples = examples_for(network, loss, seed, 300)
    whole = batches_for(network, examples, batch_size=64)
    halves = [
        Batches(whole.rows[:128], 64, whole.rates[:2], whole.gates[:2]),
        Batches(whole.rows[128:], 64, whole.rates[2:], whole.gates[2:]),
    ]
    for engine in engines_for(loss):
        at_once = engine.start(network, examples, loss, l2=0.01)
        at_once.run(whole)
        in_two = engine.start(network, examples, loss, l2=0.01)
        in_two.run(halves[0])
        middle, moments = in_two.network(), in_two.moments()
        resumed = engine.start(middle, examples, loss, l2=0.01, moments=moments)
        in_two.run(halves[1])
        resumed.run(halves[1])
        assert at_once.moments().n_steps == in_two.moments().n_steps == len(whole.rates)
        for a, b, c in zip(*map(all_arrays, (at_once, in_two, resumed)), strict=True):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(a, c)


def test_a_session_leaves_what_it_was_given_and_what_it_gave_alone():
    network = random_network(0)
    before = network.parameters.copy()
    examples = examples_for(network, TWO_CLASSES, 0, 300)
    for engine in EVERY:
        session, _ = run(engine, network, examples, TWO_CLASSES, batch_size=64)
        given_back, moments = session.network(), session.moments()
        copies = [*given_back.parameters.copy(), *moments.means.copy()]
        session.run(batches_for(network, examples, batch_size=64))
        for array, copy in zip([*given_back.parameters, *moments.means], copies, strict=True):
            np.testing.assert_array_equal(array, copy)
        for array, copy in zip(network.parameters, before, strict=True):
            np.testing.assert_array_equal(array, copy)


@given(networks(), CHOICES, st.integers(0, 10**6))
def test_an_intercept_that_is_not_fitted_keeps_its_bits(network, choice, seed):
    """In every engine, while the rules learn; a fitted one moves, and nothing shrinks it."""
    loss = loss_for(network, choice)
    examples = examples_for(network, loss, seed, 200)
    batches = batches_for(network, examples, batch_size=64)
    start = network.parameters.intercept
    fixed = []
    for engine in engines_for(loss):
        session = engine.start(network, examples, loss, None, l2=10.0, fit_intercept=False)
        session.run(batches)
        np.testing.assert_array_equal(session.network().parameters.intercept, start)
        moments = session.moments()
        assert not moments.means.intercept.any()
        assert not moments.squares.intercept.any()
        fixed.append(all_arrays(session))
        moved = engine.start(network, examples, loss, None, l2=10.0)
        moved.run(batches)
        assert (moved.network().parameters.intercept != start).all()
    for one, two in zip(*fixed[1:3], strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("engine", EVERY, ids=name_of)
def test_the_first_step_moves_an_intercept_against_the_sum_of_the_slopes(engine):
    network = random_network(3, n_outputs=3)
    examples = examples_for(network, MORE_CLASSES, 0, 90)
    session, _ = run(
        engine, network, examples, MORE_CLASSES, batch_size=90, l2=0.0, dropout=0.0
    )
    outputs = NumpyEngine().decide(network, examples.X) + network.intercept
    _, slopes = MORE_CLASSES.evaluate(outputs, examples.loss_targets)
    weights = examples.training_weights
    expected = (1 - BETA_1) * (weights @ slopes) / weights.sum()
    np.testing.assert_allclose(session.moments().means.intercept, expected, atol=1e-5)
    step = session.network().intercept - network.intercept
    np.testing.assert_allclose(step, -0.01 * np.sign(expected), rtol=1e-3)


class UnknownLoss(Squared):
    """A loss whose slopes no engine has; the reference takes those of the loss itself."""


@pytest.mark.parametrize("engine", FAST, ids=name_of)
def test_a_loss_that_an_engine_does_not_know_is_refused_before_training(engine):
    network = random_network(0)
    examples = examples_for(network, SQUARED_ERROR, 0, 20)
    message = (
        r"The (numba|torch) engine cannot train with UnknownLoss\(\)\. It has the slopes of "
        r"the losses hinge, huber, logistic, poisson, squared\. Use another engine, or write "
        r"the slopes in _engine/_(kernels|torch)/_losses\.py\."
    )
    with pytest.raises(NotImplementedError, match=f"^{message}$"):
        engine.start(network, examples, UnknownLoss(), l2=0.0)


def test_the_reference_trains_with_a_loss_that_it_has_never_seen():
    network = random_network(0)
    examples = examples_for(network, SQUARED_ERROR, 0, 20)
    losses = (UnknownLoss(), SQUARED_ERROR)
    own, known = (run(NumpyEngine(), network, examples, one, batch_size=7) for one in losses)
    assert own[1] == known[1]
    for one, other in zip(all_arrays(own[0]), all_arrays(known[0]), strict=True):
        np.testing.assert_array_equal(one, other)
