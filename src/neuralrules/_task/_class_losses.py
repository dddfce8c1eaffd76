"""The losses of classifiers. Classes are coded as -1 and +1 in the targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # scipy loads its submodules when they are used

from neuralrules._task._loss import Loss, logarithms_of_shares, weighted_means


@dataclass(frozen=True)
class Logistic(Loss):
    """The logistic loss of two classes, log(1 + exp(-output * target))."""

    name = "logistic"
    metric = "log loss"
    probabilities = True

    def evaluate(
        self, outputs: np.ndarray, targets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        margins = outputs * targets
        return np.logaddexp(0, -margins).sum(axis=1), -targets * scipy.special.expit(-margins)

    def constant(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The log odds of the second class."""
        shares = weighted_means(targets > 0, weights)
        return logarithms_of_shares(shares) - logarithms_of_shares(1 - shares)

    def for_classes(self, n_classes: int) -> Loss:
        return CrossEntropy() if n_classes > 2 else self


@dataclass(frozen=True)
class CrossEntropy(Loss):
    """The logistic loss of several classes: the negative logarithm of the softmax."""

    name = "logistic"
    metric = "log loss"
    probabilities = True
    compares_outputs = True

    def evaluate(
        self, outputs: np.ndarray, targets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        is_class = targets > 0
        slopes = scipy.special.softmax(outputs, axis=1) - is_class
        return -scipy.special.log_softmax(outputs, axis=1)[is_class], slopes

    def constant(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The logarithm of the share of each class."""
        return logarithms_of_shares(weighted_means(np.maximum(targets, 0), weights))


@dataclass(frozen=True)
class Hinge(Loss):
    """The hinge loss of each class against the others; at the kink its slope is 0."""

    name = "hinge"
    metric = "hinge loss"

    def evaluate(
        self, outputs: np.ndarray, targets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        margins = outputs * targets
        slopes = np.where(margins < 1, -targets, 0)
        return np.maximum(1 - margins, 0).sum(axis=1), slopes

    def constant(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """1 for each output if most of the weight has the target +1, else -1."""
        return np.where(weighted_means(targets, weights) > 0, 1.0, -1.0)


@dataclass(frozen=True)
class Squared(Loss):
    """The squared distance between outputs and targets."""

    name = "squared"
    metric = "squared loss"

    def evaluate(
        self, outputs: np.ndarray, targets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        return ((outputs - targets) ** 2).sum(axis=1), 2 * (outputs - targets)

    def constant(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return weighted_means(targets, weights)


CLASS_LOSSES: dict[str, type[Loss]] = {kind.name: kind for kind in (Logistic, Hinge, Squared)}


def signs_of_codes(codes: np.ndarray, n_outputs: int) -> np.ndarray:
    """Class codes (n_rows,) as -1 and +1, shape (n_rows, n_outputs)."""
    if n_outputs == 1:
        return 2 * codes[:, None] - 1
    return np.where(codes[:, None] == np.arange(n_outputs), 1, -1).astype(codes.dtype)
