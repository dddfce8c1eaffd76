"""Losses of the paper's section II, written plainly.

The numba engine has its own copy inside its kernel; the tests compare the two.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_softmax, softmax

# Codes that kernels understand. "logistic" means softmax for several classes.
LOGISTIC, SOFTMAX, HINGE, SQUARED = range(4)


def loss_code(loss: str, *, multiclass: bool) -> int:
    """The kernels' code of a loss named by a user."""
    if loss == "logistic":
        return SOFTMAX if multiclass else LOGISTIC
    return {"hinge": HINGE, "squared": SQUARED}[loss]


def losses_and_slopes(
    code: int, outputs: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Loss of each row and its derivative with respect to each output.

    Parameters
    ----------
    code : int
    outputs, targets : (n_rows, n_outputs)
        Classes are coded -1 and +1; with several classes exactly one is +1. Hinge
        and squared loss then treat each class against the others.

    Returns
    -------
    losses : (n_rows,)
    slopes : (n_rows, n_outputs)
        At the kink of the hinge the slope is 0.
    """
    margins = outputs * targets
    if code == SOFTMAX:
        is_class = targets > 0
        return -log_softmax(outputs, axis=1)[is_class], softmax(outputs, axis=1) - is_class
    if code == LOGISTIC:
        losses, slopes = np.logaddexp(0, -margins), -targets * expit(-margins)
    elif code == HINGE:
        losses, slopes = np.maximum(1 - margins, 0), np.where(margins < 1, -targets, 0)
    else:
        losses, slopes = (outputs - targets) ** 2, 2 * (outputs - targets)
    return losses.sum(axis=1), slopes


def expand_codes(codes: np.ndarray, n_outputs: int) -> np.ndarray:
    """Class codes (n_rows,) as -1 and +1, shape (n_rows, n_outputs)."""
    if n_outputs == 1:
        return 2 * codes[:, None] - 1
    return np.where(codes[:, None] == np.arange(n_outputs), 1, -1).astype(codes.dtype)
