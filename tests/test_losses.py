"""Losses and their slopes, in the reference and in the kernel."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from neuralrules._engine._kernels._losses import loss_and_slopes
from neuralrules._task._losses import (
    HINGE,
    LOGISTIC,
    SOFTMAX,
    SQUARED,
    expand_codes,
    loss_code,
    losses_and_slopes,
)

CASES = [(LOGISTIC, 1), (SOFTMAX, 4), (HINGE, 1), (HINGE, 3), (SQUARED, 1), (SQUARED, 2)]


def random_case(n_outputs, seed=0, n_rows=50):
    rng = np.random.RandomState(seed)
    outputs = 3 * rng.randn(n_rows, n_outputs)
    codes = rng.randint(0, max(n_outputs, 2), n_rows).astype(float)
    return outputs, expand_codes(codes, n_outputs)


@pytest.mark.parametrize(("code", "n_outputs"), CASES)
def test_slopes_are_the_derivatives_of_losses(code, n_outputs):
    outputs, targets = random_case(n_outputs)
    _, slopes = losses_and_slopes(code, outputs, targets)
    for row in range(len(outputs)):

        def loss(u, row=row):
            return losses_and_slopes(code, u[None], targets[row : row + 1])[0][0]

        numeric = approx_fprime(outputs[row], loss, 1e-7)
        np.testing.assert_allclose(slopes[row], numeric, atol=1e-5)


@pytest.mark.parametrize(("code", "n_outputs"), CASES)
def test_kernel_agrees_with_the_reference(code, n_outputs):
    outputs, targets = random_case(n_outputs, seed=1)
    weights = np.random.RandomState(2).uniform(0, 2, len(outputs))
    losses, expected = losses_and_slopes(code, outputs, targets)
    slopes = np.empty((n_outputs, len(outputs)), np.float32)
    total = loss_and_slopes(
        code,
        np.ascontiguousarray(outputs.T, np.float32),
        np.ascontiguousarray(targets.T, np.float32),
        weights.astype(np.float32),
        len(outputs),
        slopes,
    )
    assert total == pytest.approx(weights @ losses, rel=1e-5)
    np.testing.assert_allclose(slopes.T, weights[:, None] * expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("code", "n_outputs"), [(LOGISTIC, 1), (SOFTMAX, 3)])
def test_kernel_survives_extreme_outputs(code, n_outputs):
    outputs = np.full((n_outputs, 2), 1e4, np.float32)
    outputs[0] = [-1e4, 1e4]
    targets = np.full((n_outputs, 2), -1, np.float32)
    targets[0] = 1
    slopes = np.empty_like(outputs)
    total = loss_and_slopes(code, outputs, targets, np.ones(2, np.float32), 2, slopes)
    assert np.isfinite(total)
    assert np.isfinite(slopes).all()


@pytest.mark.parametrize("sign", [-1, 1])
def test_slope_at_the_kink_of_the_hinge_is_zero(sign):
    at_kink = np.full((1, 1), sign, np.float32)
    assert losses_and_slopes(HINGE, at_kink, at_kink)[1] == 0
    slopes = np.full((1, 1), np.nan, np.float32)
    one = np.ones(1, np.float32)
    assert loss_and_slopes(HINGE, at_kink, at_kink, one, 1, slopes) == 0
    assert slopes == 0
    within = np.nextafter(at_kink, np.float32(0))
    loss_and_slopes(HINGE, within, at_kink, one, 1, slopes)
    assert slopes == -sign


def test_names():
    assert loss_code("logistic", multiclass=False) == LOGISTIC
    assert loss_code("logistic", multiclass=True) == SOFTMAX
    assert loss_code("hinge", multiclass=True) == HINGE
    assert loss_code("squared", multiclass=False) == SQUARED


def test_codes_become_signs():
    assert expand_codes(np.array([0.0, 1.0]), 1).tolist() == [[-1], [1]]
    assert expand_codes(np.array([2.0]), 3).tolist() == [[-1, -1, 1]]
