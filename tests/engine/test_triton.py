"""The fused kernels against plain torch, by Triton's interpreter: no GPU is needed."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from strategies import random_network
from test_engines import UnknownLoss, all_arrays, batches_for, examples_for

from neuralrules._network._constraints import Constraints
from neuralrules._network._parameters import Parameters
from neuralrules._task._class_losses import CrossEntropy, Logistic
from neuralrules._task._number_losses import SquaredError

pytest.importorskip("triton")
from triton.runtime.errors import InterpreterError

from neuralrules._engine import _early
from neuralrules._engine._torch import _plain
from neuralrules._engine._torch._engine import TorchEngine
from neuralrules._engine._torch._tensors import Padding
from neuralrules._engine._triton import _prediction, _steps
from neuralrules._engine._triton._steps import FusedSteps, Tuning, is_fusible

pytestmark = pytest.mark.slow  # the interpreter is, and Triton is large
ROOT = Path(__file__).resolve().parents[2]
SMALL = Tuning(rows=16, rules=2, forward_programs=6, backward_programs=8, most_parts=3)


class FusedEngine(TorchEngine):
    """Takes steps by the kernels, shared out as a test likes."""

    tuning = SMALL

    def steps(self, start):
        assert is_fusible(start.padding)
        return FusedSteps(start, self.tuning)


TWO_CLASSES, SQUARED_ERROR = Logistic(), SquaredError()
LOSSES = [kind() for kind in _steps.CODES]
PLAIN, FUSED = TorchEngine(1, "cpu"), FusedEngine(1, "cpu")


def uneven_network(seed, n_outputs=1):
    """Rules of one to seven literals, each on other columns."""
    network = random_network(seed, n_rules=4, n_features=4, n_outputs=n_outputs)
    weights = network.own_weights.copy()
    for rule in range(network.n_rules):
        network.layout.weights_of(weights, rule)[:, : rule % 3] = 0
    return replace(network, own_weights=weights).without_unused_features()


def trained(engine, network, loss, *, batch_size, constraints=None, **options):
    """A session after an epoch with dropped rules and weighted rows, and its losses."""
    examples = examples_for(network, loss, 0, 40)
    batches = batches_for(network, examples, batch_size=batch_size)
    session = engine.start(network, examples, loss, constraints, l2=0.1, **options)
    return session, session.run(batches)


def assert_alike(ours, reference, tolerance):
    for one, other in zip(all_arrays(ours), all_arrays(reference), strict=True):
        np.testing.assert_allclose(
            one, other, rtol=tolerance, atol=tolerance * np.abs(other).max(initial=1e-6)
        )


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_step_is_that_of_plain_torch(loss, n_outputs):
    if loss in (TWO_CLASSES, CrossEntropy()):
        loss = TWO_CLASSES.for_classes(n_outputs)
    network = uneven_network(n_outputs, n_outputs)
    results = [trained(engine, network, loss, batch_size=40) for engine in (FUSED, PLAIN)]
    assert results[0][1] == pytest.approx(results[1][1], rel=1e-5)
    assert_alike(results[0][0], results[1][0], 1e-4)


def test_a_loss_that_the_kernels_do_not_know_is_refused_before_training(monkeypatch):
    """Also where plain torch has it: of the losses of a GPU, counts were what was left."""
    network, loss = random_network(0), UnknownLoss()
    monkeypatch.setitem(_plain.LOSSES, UnknownLoss, _plain.LOSSES[SquaredError])
    options = {"batch_size": 40}
    examples = examples_for(network, SQUARED_ERROR, 0, 40)
    PLAIN.start(network, examples, loss, l2=0.1).run(batches_for(network, examples, **options))
    message = r"^The GPU kernel cannot train with UnknownLoss\(\)\. It has the slopes of "
    with pytest.raises(NotImplementedError, match=message):
        FUSED.start(network, examples, loss, l2=0.1)
    monkeypatch.setitem(_steps.CODES, UnknownLoss, 99)  # a code that the kernel has not
    session = FUSED.start(network, examples, loss, l2=0.1)
    with pytest.raises(InterpreterError) as refusal:
        session.run(batches_for(network, examples, **options))
    assert "a loss that the kernel does not know" in str(refusal.value.__cause__)


@pytest.mark.parametrize("longest", [1, 3, 30])
def test_codes_of_two_and_of_eight_bits_tell_the_smallest_literal(longest):
    """Several pieces of rows share bytes, and the last tile is not full."""
    network = random_network(longest, n_rules=3, n_features=2, longest=longest)
    sessions = [
        trained(engine, network, TWO_CLASSES, batch_size=37)[0] for engine in (FUSED, PLAIN)
    ]
    assert_alike(*sessions, 1e-4)


def limits_of(network):
    """Some parameters frozen, whatever their bounds are; the others between close ones."""
    rng, own = np.random.RandomState(0), network.parameters
    frozen = Parameters(*(rng.rand(*array.shape) < 0.3 for array in own))
    middle = [array + held for array, held in zip(own, frozen, strict=True)]
    return Constraints(
        frozen,
        Parameters(*((array - 0.02 * rng.rand(*array.shape)).astype("f4") for array in middle)),
        Parameters(*((array + 0.02 * rng.rand(*array.shape)).astype("f4") for array in middle)),
    )


def test_some_steps_within_limits_are_those_of_plain_torch(monkeypatch):
    """The last batch is shorter, and not all fit into the memory for gathered rows."""
    monkeypatch.setattr(_steps, "ROWS_AT_ONCE", 32)
    network = uneven_network(3)
    limits = limits_of(network)
    options = {"batch_size": 16, "constraints": limits, "fit_intercept": False}
    fused, total = trained(FUSED, network, TWO_CLASSES, **options)
    plain, expected = trained(PLAIN, network, TWO_CLASSES, **options)
    assert total == pytest.approx(expected, rel=1e-5)
    assert_alike(fused, plain, 1e-3)
    for after, before, frozen, lower, upper in zip(
        fused.network().parameters, network.parameters, *limits, strict=True
    ):
        np.testing.assert_array_equal(after[frozen], before[frozen])
        assert ((after >= lower) & (after <= upper) | frozen).all()


def test_how_a_step_is_shared_out_only_rounds_otherwise():
    network = uneven_network(5)
    whole = FusedEngine(1, "cpu")
    whole.tuning = Tuning(rows=64, rules=1, forward_programs=1, backward_programs=1)
    sessions = [
        trained(engine, network, TWO_CLASSES, batch_size=40)[0]
        for engine in (FUSED, FUSED, whole)
    ]
    for one, other in zip(*map(all_arrays, sessions[:2]), strict=True):
        np.testing.assert_array_equal(one, other)
    assert_alike(sessions[2], sessions[0], 1e-4)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_kernel_decides_to_the_bit_as_numpy_does_for_few_rows(n_outputs, monkeypatch):
    monkeypatch.setattr(_prediction, "CELLS_AT_ONCE", 200)  # rows of several calls
    network = uneven_network(2, n_outputs)
    X = np.random.RandomState(0).randn(70, network.features.max() + 1).astype(np.float32)
    outputs = _prediction.decide(network, X, PLAIN.device)
    np.testing.assert_array_equal(outputs, _early.decide(network, X))
    active = _prediction.activations(network, X, PLAIN.device)
    np.testing.assert_array_equal(active, PLAIN.activations(network, X))


def test_which_rules_the_kernels_take():
    def is_taken(network):
        return is_fusible(Padding.of(network.layout, network.n_outputs))

    assert is_taken(random_network(0))
    assert not is_taken(random_network(0, deep=True))
    assert not is_taken(random_network(0, n_features=20))
    assert not is_taken(random_network(0, n_outputs=17))


COMPILE = """
from benchmarks.gpu_code import compiled, instructions
from neuralrules._engine._triton._backward import backward
from neuralrules._engine._triton._forward import forward, gather
from neuralrules._engine._triton._prediction import predict

for kernel, sizes in (
    (forward, {"LOSS": 1, "ROWS": 256, "RULES": 4, "BITS": 4}),
    (backward, {"PADDED": 32, "ROWS": 128, "BITS": 4}),
    (gather, {"COLUMNS": 32, "ROWS": 128}),
    (predict, {"SUM": True, "ROWS": 128}),
    (predict, {"SUM": False, "ROWS": 128}),
):
    made = compiled(kernel, {"LITERALS": 4, "COLUMNS": 3, "OUTPUTS": 3, **sizes})
    print(len(made.asm["ptx"]))
print(*instructions(3, 3).values())
"""


def test_the_kernels_can_be_compiled_for_a_gpu():
    """The interpreter takes much that the compiler does not."""
    environment = {**os.environ, "TRITON_INTERPRET": "0"}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE],
        env=environment,
        cwd=ROOT,  # of the benchmarks
        check=True,
        stdout=subprocess.PIPE,
    )
    *lengths, forward, backward = map(float, done.stdout.split())
    assert len(lengths) == 5
    # Of a row and a rule: at least the nine products of its literals, or of their slopes.
    assert 12 < forward < 60
    assert 12 < backward < 60
