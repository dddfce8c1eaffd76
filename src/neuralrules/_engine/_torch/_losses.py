"""The losses and their slopes in torch.

`neuralrules._task` has the same losses in plain NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from neuralrules._task._class_losses import CrossEntropy, Hinge, Logistic, Squared
from neuralrules._task._loss import Loss
from neuralrules._task._number_losses import Huber, Poisson, SquaredError

# A function that takes outputs and targets, both (n_outputs, n_rows) float32 with classes coded
# as -1 and +1, and the parameters of the loss as keywords. It returns the loss of each row,
# (n_rows,), and its derivative with respect to each output, (n_outputs, n_rows).
Evaluation = Callable[..., tuple[Any, Any]]


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


def huber(outputs: Any, targets: Any, *, limit: float) -> tuple[Any, Any]:
    errors = outputs - targets
    bounded = errors.clamp(-limit, limit)
    return (bounded * (2 * errors - bounded)).sum(0), 2 * bounded


def poisson(outputs: Any, targets: Any) -> tuple[Any, Any]:
    expected = outputs.exp()
    losses = torch.special.xlogy(targets, targets) - targets * outputs - targets + expected
    return 2 * losses.sum(0), 2 * (expected - targets)


LOSSES: dict[type[Loss], Evaluation] = {
    Logistic: logistic,
    CrossEntropy: cross_entropy,
    Hinge: hinge,
    Squared: squared,
    SquaredError: squared,
    Huber: huber,
    Poisson: poisson,
}
