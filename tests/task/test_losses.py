"""Losses and their slopes: every one that is listed, in the reference and in the kernel."""

import importlib.util
import re
from dataclasses import asdict

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.metrics import hinge_loss, log_loss, mean_poisson_deviance

from neuralrules._engine._kernels._losses import CODES, loss_and_slopes, loss_parameters
from neuralrules._task._class_losses import (
    CLASS_LOSSES,
    CrossEntropy,
    Hinge,
    Logistic,
    signs_of_codes,
)
from neuralrules._task._loss import loss_from
from neuralrules._task._number_losses import NUMBER_LOSSES, Huber, Poisson

KINDS = {*CLASS_LOSSES.values(), CrossEntropy, *NUMBER_LOSSES.values()}
EVERY = [
    *((kind(), 1) for kind in CLASS_LOSSES.values()),
    *((kind().for_classes(4), 4) for kind in CLASS_LOSSES.values()),
    *((kind(), n) for kind in NUMBER_LOSSES.values() for n in (1, 2)),
    (Huber(0.4), 1),
]
IDS = [
    f"{'number' if type(loss) in NUMBER_LOSSES.values() else 'class'} {loss.document()} {n}"
    for loss, n in EVERY
]


def random_case(loss, n_outputs, seed=0, n_rows=50):
    rng = np.random.RandomState(seed)
    outputs = 3 * rng.randn(n_rows, n_outputs)
    if type(loss) in NUMBER_LOSSES.values():
        return outputs, np.maximum(rng.randn(n_rows, n_outputs), loss.lowest_target)
    codes = rng.randint(0, max(n_outputs, 2), n_rows).astype(float)
    return outputs, signs_of_codes(codes, n_outputs)


def by_kernel(loss, outputs, targets, weights=None):
    """Weighted sum and slopes of the kernel, for rows in the first axis."""
    n_rows, n_outputs = outputs.shape
    weights = np.ones(n_rows) if weights is None else weights
    slopes = np.empty((n_outputs, n_rows), np.float32)
    total = loss_and_slopes(
        CODES[type(loss)],
        loss_parameters(loss),
        np.ascontiguousarray(outputs.T, np.float32),
        np.ascontiguousarray(targets.T, np.float32),
        weights.astype(np.float32),
        n_rows,
        slopes,
    )
    return total, slopes.T


@pytest.mark.parametrize(("loss", "n_outputs"), EVERY, ids=IDS)
def test_slopes_are_the_derivatives_of_losses(loss, n_outputs):
    outputs, targets = random_case(loss, n_outputs)
    _, slopes = loss.evaluate(outputs, targets)
    for row in range(len(outputs)):

        def one(u, row=row):
            return loss.evaluate(u[None], targets[row : row + 1])[0][0]

        numeric = approx_fprime(outputs[row], one, 1e-7)
        np.testing.assert_allclose(slopes[row], numeric, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("loss", "n_outputs"), EVERY, ids=IDS)
def test_kernel_agrees_with_the_reference(loss, n_outputs):
    outputs, targets = random_case(loss, n_outputs, seed=1)
    weights = np.random.RandomState(2).uniform(0, 2, len(outputs))
    losses, expected = loss.evaluate(outputs, targets)
    total, slopes = by_kernel(loss, outputs, targets, weights)
    assert total == pytest.approx(weights @ losses, rel=1e-5)
    np.testing.assert_allclose(slopes, weights[:, None] * expected, rtol=1e-4, atol=1e-6)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
@pytest.mark.parametrize(("loss", "n_outputs"), EVERY, ids=IDS)
def test_torch_agrees_with_the_reference(loss, n_outputs):
    import torch

    from neuralrules._engine._torch import _losses

    outputs, targets = random_case(loss, n_outputs, seed=1)
    arrays = (torch.tensor(array.T, dtype=torch.float32) for array in (outputs, targets))
    if type(loss) not in _losses.LOSSES:
        pytest.skip("the torch engine refuses this loss")
    losses, slopes = _losses.LOSSES[type(loss)](*arrays, **asdict(loss))
    expected, expected_slopes = loss.evaluate(outputs, targets)
    np.testing.assert_allclose(losses, expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(slopes.T, expected_slopes, rtol=1e-4, atol=1e-6)


def test_engines_know_the_losses_that_are_listed():
    """The numba engine knows all of them, and no engine has one that no test would try."""
    assert {type(loss) for loss, _ in EVERY} == KINDS
    assert set(CODES) == KINDS
    if importlib.util.find_spec("torch") is not None:
        from neuralrules._engine._torch import _losses

        assert set(_losses.LOSSES) <= KINDS
    if importlib.util.find_spec("triton") is not None:
        from neuralrules._engine._triton import _losses

        assert set(_losses.CODES) <= KINDS


@pytest.mark.parametrize(("loss", "n_outputs"), [(Logistic(), 1), (CrossEntropy(), 3)])
def test_kernel_survives_extreme_outputs(loss, n_outputs):
    outputs = np.full((2, n_outputs), 1e4)
    outputs[:, 0] = [-1e4, 1e4]
    targets = np.full((2, n_outputs), -1.0)
    targets[:, 0] = 1
    total, slopes = by_kernel(loss, outputs, targets)
    assert np.isfinite(total)
    assert np.isfinite(slopes).all()


@pytest.mark.parametrize("evaluate", [Hinge().evaluate, None])
def test_slope_at_the_kink_of_the_hinge_is_zero(evaluate):
    targets = np.array([[1.0], [-1.0], [1.0]])
    outputs = np.array([[1.0], [-1.0], [0.5]])
    if evaluate is None:
        _, slopes = by_kernel(Hinge(), outputs, targets)
    else:
        _, slopes = evaluate(outputs, targets)
    assert slopes[:, 0].tolist() == [0, 0, -1]


@pytest.mark.parametrize("limit", [1.35, 0.7])
@pytest.mark.parametrize("by", ["reference", "kernel"])
def test_huber_loss_goes_over_smoothly_from_squares_to_lines(by, limit):
    loss = Huber(limit)
    errors = np.array([0.5, limit, -limit, 3.0, -4.0])[:, None]
    for error in errors:
        pair = error[None], np.zeros((1, 1))
        if by == "kernel":
            total, slopes = by_kernel(loss, *pair)
        else:
            losses, slopes = loss.evaluate(*pair)
            total = losses[0]
        size = abs(error[0])
        square = size <= limit
        expected = size**2 if square else limit * (2 * size - limit)
        assert total == pytest.approx(expected, rel=1e-6)
        assert abs(slopes[0, 0]) == pytest.approx(2 * min(size, limit), rel=1e-6)


def test_losses_are_the_usual_ones():
    rng = np.random.RandomState(0)
    outputs = rng.randn(40, 1)
    codes = rng.randint(0, 2, 40).astype(float)
    signs = signs_of_codes(codes, 1)
    losses, _ = Logistic().evaluate(outputs, signs)
    assert losses.mean() == pytest.approx(log_loss(codes, 1 / (1 + np.exp(-outputs[:, 0]))))
    losses, _ = Hinge().evaluate(outputs, signs)
    assert losses.mean() == pytest.approx(hinge_loss(signs[:, 0], outputs[:, 0]))
    counts = rng.poisson(2, (40, 1)).astype(float)
    losses, _ = Poisson().evaluate(outputs, counts)
    expected = mean_poisson_deviance(counts[:, 0], np.exp(outputs[:, 0]))
    assert losses.mean() == pytest.approx(expected)


def test_a_code_without_a_kernel_is_noticed():
    outputs = np.zeros((3, 1), np.float32)
    ones, none = np.ones(3, np.float32), np.zeros(1)
    total = loss_and_slopes(99, none, outputs.T, outputs.T, ones, 3, outputs.T)
    assert np.isnan(total)


def test_losses_share_a_code_only_if_they_share_an_evaluation():
    functions = {code: kind.evaluate for kind, code in CODES.items()}
    assert all(functions[code] is kind.evaluate for kind, code in CODES.items())
    assert len(functions) == len({kind.evaluate for kind in CODES})


def test_names():
    assert loss_from("logistic", CLASS_LOSSES).for_classes(2) == Logistic()
    assert loss_from("logistic", CLASS_LOSSES).for_classes(3) == CrossEntropy()
    assert loss_from("hinge", CLASS_LOSSES).for_classes(3) == Hinge()
    for registry in (CLASS_LOSSES, NUMBER_LOSSES):
        assert all(kind.name == name for name, kind in registry.items())


@pytest.mark.parametrize(("loss", "n_outputs"), EVERY, ids=IDS)
def test_a_loss_is_written_down_and_read_back_with_its_parameters(loss, n_outputs):
    known = NUMBER_LOSSES if type(loss) in NUMBER_LOSSES.values() else CLASS_LOSSES
    assert loss_from(loss.document(), known).for_classes(n_outputs) == loss
    assert Huber().document() == "huber"
    assert Huber(2.0).document() == {"name": "huber", "limit": 2.0}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("hinge", "the loss must be one of squared, huber, poisson, not 'hinge'"),
        (3, "the loss must be one of squared, huber, poisson, not 3"),
        ({"limit": 2}, "the loss must be one of squared, huber, poisson, not {'limit': 2}"),
        ({"name": "huber", "power": 2}, "the loss huber has no parameter 'power'; its "),
        ({"name": "poisson", "power": 2}, "the loss poisson has no parameter 'power'; it has"),
        ({"name": "huber", "limit": True}, "limit=True of the loss huber must be a number"),
        ({"name": "huber", "limit": np.nan}, "limit=nan of the loss huber must be a number"),
        ({"name": "huber", "limit": 0}, "limit=0 of the loss huber must be above 0"),
    ],
)
def test_a_loss_that_is_written_down_wrongly_is_refused(document, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        loss_from(document, NUMBER_LOSSES)


def test_codes_become_signs():
    assert signs_of_codes(np.array([0.0, 1.0]), 1).tolist() == [[-1], [1]]
    assert signs_of_codes(np.array([2.0]), 3).tolist() == [[-1, -1, 1]]


@pytest.mark.parametrize(("loss", "n_outputs"), EVERY, ids=IDS)
def test_no_other_constant_has_a_lower_loss(loss, n_outputs):
    _, targets = random_case(loss, n_outputs)
    rng = np.random.RandomState(1)
    weights = rng.randint(0, 4, len(targets)).astype(float)

    def mean_loss(constant):
        losses, _ = loss.evaluate(np.broadcast_to(constant, targets.shape), targets)
        return np.average(losses, weights=weights)

    best = loss.constant(targets, weights)
    assert best.shape == (n_outputs,)
    others = best + rng.randn(200, n_outputs) * np.logspace(-3, 0.5, 200)[:, None]
    assert all(mean_loss(other) >= mean_loss(best) - 1e-9 for other in others)


@pytest.mark.parametrize(("loss", "n_outputs"), EVERY, ids=IDS)
def test_the_best_constant_of_equal_targets_is_finite(loss, n_outputs):
    _, targets = random_case(loss, n_outputs)
    constant = loss.constant(np.repeat(targets[:1], 5, axis=0), np.ones(5))
    losses, _ = loss.evaluate(constant[None], targets[:1])
    assert losses == pytest.approx(0, abs=1e-9)
