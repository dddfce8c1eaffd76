"""The losses of regressors, and their links from outputs to predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # scipy loads its submodules when they are used

from neuralrules._expression._nodes import Bounded, Call, Number
from neuralrules._task._class_losses import Squared
from neuralrules._task._loss import (
    LARGEST_OUTPUT,
    Link,
    Loss,
    logarithms_of_shares,
    mean_and_deviation,
    weighted_means,
)

# For normally distributed numbers, the standard deviation divided by the median distance to the
# median.
NORMAL_SPREAD = 1.4826


@dataclass(frozen=True)
class SquaredError(Squared):
    """The squared error, which the root mean squared error and R² already report."""

    metric = ""
    centres_at_mean = True


@dataclass(frozen=True)
class Huber(Loss):
    """A loss that is squared for errors up to `limit` standardised units, and linear beyond.

    Attributes
    ----------
    limit : float
        The default 1.35 is the default of scikit-learn's HuberRegressor. If the errors are
        normally distributed, it has 95 % of the efficiency of the squared error.
    """

    limit: float = 1.35

    name = "huber"
    metric = "Huber loss"
    standardises_by_moments = False

    def __post_init__(self) -> None:
        if self.limit <= 0:
            raise ValueError(f"limit={self.limit!r} of the loss huber must be above 0")

    def evaluate(
        self, outputs: np.ndarray, targets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        errors = outputs - targets
        bounded = np.clip(errors, -self.limit, self.limit)
        return (bounded * (2 * errors - bounded)).sum(axis=1), 2 * bounded

    def constant(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The outputs at which the slopes of all rows add up to 0."""

        def slope(output: float, column: np.ndarray) -> float:
            return float(weights @ np.clip(output - column, -self.limit, self.limit))

        counted = targets[weights > 0]
        ends = zip(counted.min(axis=0), counted.max(axis=0), targets.T, strict=True)
        return np.array(
            [
                low if low == high else scipy.optimize.brentq(slope, low, high, (y,))
                for low, high, y in ends
            ]
        )

    def standardise(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weighted median, and a scale from the weighted median distance to the median.

        A few numbers far away change neither of them. For normally distributed numbers, the
        scale is the standard deviation. If half of the numbers are equal, the median distance
        is 0, and the scale is the standard deviation of the numbers.
        """
        median = np.array([weighted_median(column, weights) for column in y.T])
        distances = np.abs(y - median)
        spread = np.array([weighted_median(column, weights) for column in distances.T])
        _, deviation = mean_and_deviation(y, weights)
        return median, np.where(spread > 0, NORMAL_SPREAD * spread, deviation)

    def prior(self, n: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """0, which is the median. The mean would change with a few numbers far away."""
        return np.zeros(totals.shape[1])

    def boosting_loss(self, y: np.ndarray) -> Any:
        """Huber's loss.

        With the squared error, a few numbers far away would get leaves of their own.
        """
        from sklearn._loss.loss import HuberLoss

        return HuberLoss(delta=self.limit)


class Logarithm(Link):
    """The output is the logarithm of the prediction."""

    function = "exp"
    multiplied = "prediction"
    output_words = "logarithm of the prediction"
    range_words = "above 0"

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(np.clip(outputs, -LARGEST_OUTPUT, LARGEST_OUTPUT)))

    def expression(self, output: Number) -> Number:
        return Call("exp", Bounded(output, -LARGEST_OUTPUT, LARGEST_OUTPUT))

    def inverse(self, predictions: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(predictions, 0))

    def leaf_outputs(self, n: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """Logarithms of the mean targets.

        Each group gets one more row with the mean of all targets, which is 1. So the logarithms
        stay finite.
        """
        return np.log((totals + 1) / (n + 1))

    def in_units(self, centre: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.log(scale), np.ones_like(scale)


@dataclass(frozen=True)
class Poisson(Loss):
    """The deviance of counts from their expectation, whose logarithm is the output."""

    name = "poisson"
    metric = "Poisson deviance"
    link = Logarithm()
    lowest_target = 0.0
    degree = 1
    few_rows_may_decide = True

    def evaluate(
        self, outputs: np.ndarray, targets: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        outputs = np.clip(outputs, -LARGEST_OUTPUT, LARGEST_OUTPUT)
        expected = np.exp(outputs)
        losses = 2 * (
            scipy.special.xlogy(targets, targets) - targets * outputs - targets + expected
        )
        return losses.sum(axis=1), 2 * (expected - targets)

    def constant(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The logarithm of the mean."""
        return logarithms_of_shares(weighted_means(np.maximum(targets, 0), weights))

    def standardise(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The centre 0, and the mean count as the scale. A mean of 0 becomes 1."""
        mean = np.average(y, axis=0, weights=weights)
        return np.zeros_like(mean), np.where(mean > 0, mean, 1.0)

    def boosting_loss(self, y: np.ndarray) -> Any:
        """scikit-learn's Poisson loss, or the squared error if all counts are 0."""
        return "poisson" if y.any() else "squared_error"


def weighted_median(y: np.ndarray, weights: np.ndarray) -> float:
    """The smallest number for which the numbers up to it have at least half of the weight."""
    order = np.argsort(y, kind="stable")
    total = np.cumsum(weights[order], dtype=np.float64)
    return float(y[order[np.searchsorted(total, total[-1] / 2)]])


NUMBER_LOSSES: dict[str, type[Loss]] = {
    kind.name: kind for kind in (SquaredError, Huber, Poisson)
}
