"""Losses and their slopes; `neuralrules._task._losses` has them written plainly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from neuralrules._task._losses import (
    HINGE,
    HUBER,
    HUBER_LIMIT,
    LOGISTIC,
    POISSON,
    SOFTMAX,
    SQUARED,
)

# Both take outputs and targets, (n_outputs, n_rows) float32, classes coded as -1 and +1, and
# return the loss of each row, (n_rows,), and its derivative by each output.
Evaluation = Callable[[Any, Any], tuple[Any, Any]]


def logistic(outputs: Any, targets: Any) -> tuple[Any, Any]:
    margins = outputs * targets
    return torch.nn.functional.softplus(-margins).sum(0), -targets * torch.sigmoid(-margins)


def cross_entropy(outputs: Any, targets: Any) -> tuple[Any, Any]:
    is_class = (targets > 0).to(outputs.dtype)
    logarithms = torch.log_softmax(outputs, 0)
    return -(logarithms * is_class).sum(0), logarithms.exp() - is_class


def hinge(outputs: Any, targets: Any) -> tuple[Any, Any]:
    margins = outputs * targets
    return (1 - margins).clamp_min(0).sum(0), -targets * (margins < 1)


def squared(outputs: Any, targets: Any) -> tuple[Any, Any]:
    errors = outputs - targets
    return (errors**2).sum(0), 2 * errors


def huber(outputs: Any, targets: Any) -> tuple[Any, Any]:
    errors = outputs - targets
    bounded = errors.clamp(-HUBER_LIMIT, HUBER_LIMIT)
    return (bounded * (2 * errors - bounded)).sum(0), 2 * bounded


def poisson(outputs: Any, targets: Any) -> tuple[Any, Any]:
    expected = outputs.exp()
    losses = torch.special.xlogy(targets, targets) - targets * outputs - targets + expected
    return 2 * losses.sum(0), 2 * (expected - targets)


LOSSES: dict[int, Evaluation] = {
    LOGISTIC: logistic,
    SOFTMAX: cross_entropy,
    HINGE: hinge,
    SQUARED: squared,
    HUBER: huber,
    POISSON: poisson,
}
