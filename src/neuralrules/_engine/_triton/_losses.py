"""Losses and their slopes inside of a kernel; `_torch._losses` has them for whole arrays."""

from __future__ import annotations

import triton
import triton.language as tl

from neuralrules._task import _losses as codes

LOGISTIC: tl.constexpr = tl.constexpr(codes.LOGISTIC)
SOFTMAX: tl.constexpr = tl.constexpr(codes.SOFTMAX)
HINGE: tl.constexpr = tl.constexpr(codes.HINGE)
SQUARED: tl.constexpr = tl.constexpr(codes.SQUARED)
HUBER: tl.constexpr = tl.constexpr(codes.HUBER)
LIMIT: tl.constexpr = tl.constexpr(codes.HUBER_LIMIT)


@triton.jit
def loss_and_slopes(outputs, targets, there, LOSS: tl.constexpr):
    """Losses and their derivatives by the outputs, both (n_outputs, n_rows).

    The losses of a row's outputs are summed by who calls. Only outputs that are `there`,
    (n_outputs, 1), count: others are padding.
    """
    margins = outputs * targets
    errors = outputs - targets
    if LOSS == LOGISTIC:
        tail = tl.exp(-tl.abs(margins))
        losses = tl.log(1.0 + tail) + tl.maximum(-margins, 0.0)
        inside = tl.where(margins > 0, tail, 1.0) / (1.0 + tail)
        slopes = -targets * inside
    elif LOSS == SOFTMAX:
        highest = tl.max(tl.where(there, outputs, float("-inf")), axis=0)
        shifted = outputs - highest[None, :]
        powers = tl.where(there, tl.exp(shifted), 0.0)
        normaliser = tl.sum(powers, axis=0)
        is_class = targets > 0
        losses = tl.where(is_class, tl.log(normaliser)[None, :] - shifted, 0.0)
        slopes = powers / normaliser[None, :] - tl.where(is_class, 1.0, 0.0)
    elif LOSS == HINGE:
        losses = tl.maximum(1.0 - margins, 0.0)
        slopes = tl.where(margins < 1.0, -targets, 0.0)
    elif LOSS == SQUARED:
        losses = errors * errors
        slopes = 2.0 * errors
    elif LOSS == HUBER:
        bounded = tl.minimum(tl.maximum(errors, -LIMIT), LIMIT)
        losses = bounded * (2.0 * errors - bounded)
        slopes = 2.0 * bounded
    else:  # counts
        expected = tl.exp(outputs)
        logarithms = tl.where(targets > 0, tl.log(tl.where(targets > 0, targets, 1.0)), 0.0)
        losses = 2.0 * (targets * logarithms - targets * outputs - targets + expected)
        slopes = 2.0 * (expected - targets)
    return tl.where(there, losses, 0.0), tl.where(there, slopes, 0.0)
