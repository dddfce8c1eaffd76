"""The losses and their slopes for the Triton kernels.

`_torch._losses` has the same losses for whole arrays.
"""

from __future__ import annotations

import triton
import triton.language as tl

from neuralrules._task._class_losses import CrossEntropy, Hinge, Logistic, Squared
from neuralrules._task._loss import Loss
from neuralrules._task._number_losses import Huber, Poisson, SquaredError

LOGISTIC: tl.constexpr = tl.constexpr(0)
SOFTMAX: tl.constexpr = tl.constexpr(1)
HINGE: tl.constexpr = tl.constexpr(2)
SQUARED: tl.constexpr = tl.constexpr(3)
HUBER: tl.constexpr = tl.constexpr(4)
POISSON: tl.constexpr = tl.constexpr(5)

# The code of each loss for the kernels.
CODES: dict[type[Loss], int] = {
    Logistic: LOGISTIC.value,
    CrossEntropy: SOFTMAX.value,
    Hinge: HINGE.value,
    Squared: SQUARED.value,
    SquaredError: SQUARED.value,
    Huber: HUBER.value,
    Poisson: POISSON.value,
}


@triton.jit
def loss_and_slope(output, target, LOSS: tl.constexpr, PARAMETER: tl.constexpr):
    """The loss of each row in one output, and its derivative, for all losses except softmax.

    PARAMETER : the first parameter of the loss, or 0 if it has none
    """
    margin = output * target
    error = output - target
    if LOSS == LOGISTIC:
        tail = tl.exp(-tl.abs(margin))
        loss = tl.log(1.0 + tail) + tl.maximum(-margin, 0.0)
        slope = -target * tl.where(margin > 0, tail, 1.0) / (1.0 + tail)
    elif LOSS == HINGE:
        loss = tl.maximum(1.0 - margin, 0.0)
        slope = tl.where(margin < 1.0, -target, 0.0)
    elif LOSS == SQUARED:
        loss = error * error
        slope = 2.0 * error
    elif LOSS == HUBER:
        bounded = tl.minimum(tl.maximum(error, -PARAMETER), PARAMETER)
        loss = bounded * (2.0 * error - bounded)
        slope = 2.0 * bounded
    else:
        tl.static_assert(LOSS == POISSON, "a loss that the kernel does not know")
        expected = tl.exp(output)
        logarithm = tl.log(tl.where(target > 0, target, 1.0))
        loss = 2.0 * (target * logarithm - margin - target + expected)
        slope = 2.0 * (expected - target)
    return loss, slope


@triton.jit
def losses_and_slopes(
    outputs, targets, OUTPUTS: tl.constexpr, LOSS: tl.constexpr, PARAMETER: tl.constexpr
):
    """The loss of each row, (n_rows,), and its derivatives with respect to the outputs.

    The derivatives are a tuple with one (n_rows,) tensor for each output.
    """
    slopes = ()
    if LOSS == SOFTMAX:
        highest = outputs[0]
        for k in tl.static_range(1, OUTPUTS):
            highest = tl.maximum(highest, outputs[k])
        normaliser = tl.exp(outputs[0] - highest)
        for k in tl.static_range(1, OUTPUTS):
            normaliser += tl.exp(outputs[k] - highest)
        losses = tl.log(normaliser)
        for k in tl.static_range(OUTPUTS):
            shifted = outputs[k] - highest
            is_class = targets[k] > 0
            losses -= tl.where(is_class, shifted, 0.0)
            probability = tl.exp(shifted) / normaliser
            slopes = slopes + (tl.where(is_class, probability - 1.0, probability),)
    else:
        losses, slope = loss_and_slope(outputs[0], targets[0], LOSS, PARAMETER)
        slopes = slopes + (slope,)
        for k in tl.static_range(1, OUTPUTS):
            loss, slope = loss_and_slope(outputs[k], targets[k], LOSS, PARAMETER)
            losses += loss
            slopes = slopes + (slope,)
    return losses, slopes
