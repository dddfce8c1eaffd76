"""The losses and their slopes for the numba kernels.

`neuralrules._task` has the same losses in plain NumPy.
"""

from __future__ import annotations

import numpy as np

from neuralrules._engine._kernels._compile import kernel
from neuralrules._task._class_losses import CrossEntropy, Hinge, Logistic, Squared
from neuralrules._task._loss import Loss
from neuralrules._task._number_losses import Huber, Poisson, SquaredError

LOGISTIC, SOFTMAX, HINGE, SQUARED, HUBER, POISSON = range(6)
# The code of each loss for the kernel.
CODES: dict[type[Loss], int] = {
    Logistic: LOGISTIC,
    CrossEntropy: SOFTMAX,
    Hinge: HINGE,
    Squared: SQUARED,
    SquaredError: SQUARED,
    Huber: HUBER,
    Poisson: POISSON,
}


def loss_parameters(loss: Loss) -> np.ndarray:
    """The parameters of a loss for the kernel, (n_parameters,) float64: at least one number."""
    return np.array(loss.numbers or (0.0,), np.float64)


@kernel
def loss_and_slopes(kind, parameters, outputs, targets, weights, n_rows, slopes):
    """Weighted sum of the loss over a slice. Fills slopes (n_outputs, SLICE).

    kind : one of CODES; parameters : see `loss_parameters`
    outputs, targets : (n_outputs, SLICE) float32; classes are coded -1 and +1.
    `slopes` is the derivative of weight * loss with respect to each output.
    """
    n_outputs = outputs.shape[0]
    first = parameters[0]  # read only once, because in the loop it might alias the slopes
    total = 0.0
    for i in range(n_rows):
        loss = 0.0
        if kind == SOFTMAX:
            highest = outputs[0, i]
            for k in range(1, n_outputs):
                highest = max(highest, outputs[k, i])
            normaliser = 0.0
            for k in range(n_outputs):
                normaliser += np.exp(outputs[k, i] - highest)
            for k in range(n_outputs):
                probability = np.exp(outputs[k, i] - highest) / normaliser
                is_class = targets[k, i] > 0
                slopes[k, i] = weights[i] * (probability - is_class)
                if is_class:
                    loss += np.log(normaliser) - (outputs[k, i] - highest)
        else:
            for k in range(n_outputs):
                y = targets[k, i]
                u = outputs[k, i]
                if kind == LOGISTIC:  # log(1 + exp(-uy)), without overflow
                    tail = np.exp(-abs(u * y))
                    loss += np.log1p(tail) + max(-u * y, 0.0)
                    inside = tail / (1.0 + tail) if u * y > 0 else 1.0 / (1.0 + tail)
                    slope = -y * inside
                elif kind == HINGE:  # slope 0 at the kink
                    loss += max(1.0 - u * y, 0.0)
                    slope = -y if u * y < 1.0 else 0.0
                elif kind == SQUARED:
                    loss += (u - y) ** 2
                    slope = 2.0 * (u - y)
                elif kind == HUBER:
                    bounded = min(max(u - y, -first), first)
                    loss += bounded * (2.0 * (u - y) - bounded)
                    slope = 2.0 * bounded
                elif kind == POISSON:
                    expected = np.exp(u)
                    loss += 2.0 * ((y * np.log(y) if y > 0 else 0.0) - y * u - y + expected)
                    slope = 2.0 * (expected - y)
                else:  # an unknown code; the caller notices a loss that is not finite
                    loss = np.nan
                    slope = np.nan
                slopes[k, i] = weights[i] * slope
        total += weights[i] * loss
    return total
