"""Losses: what training makes small, and the links from outputs to predictions.

A loss is one object, listed in `CLASS_LOSSES` or `NUMBER_LOSSES`. To add one, write it
here, and write its slopes again in the `_losses` of each engine: `_kernels` (numba), `_torch`
and `_triton`; the tests compare them. Everything else (predictions, reports, files, exports)
goes by the fields of the object.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy  # its parts load when they are used

# Standardised errors beyond it count in the first degree: 1.35, as in scikit-learn's
# HuberRegressor, keeps 95 % of the efficiency of the squared error on normal numbers.
HUBER_LIMIT = 1.35
NORMAL_SPREAD = 1.4826  # deviation of normal numbers over their median distance to the median
# An exponential of it, and of its negative, is a float64 that is neither infinite nor 0.
LARGEST_OUTPUT = 700.0
# Codes that kernels understand.
LOGISTIC, SOFTMAX, HINGE, SQUARED, HUBER, POISSON = range(6)

# From outputs and targets, both (n_rows, n_outputs), to the loss of each row, (n_rows,), and
# its derivative by each output, (n_rows, n_outputs).
Evaluation: TypeAlias = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
# From targets (n_rows, n_targets) and weights (n_rows,) to a centre and a scale of each.
Standardisation: TypeAlias = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
# From targets as a loss takes them, (n_rows, n_outputs), and weights (n_rows,) to the outputs
# (n_outputs,) that, alike for all rows, make the mean loss least.
Constant: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, repr=False)
class Link:
    """How the output of a network for numbers becomes a prediction.

    Attributes
    ----------
    function : str or None
        The function from output to prediction, by the name that NumPy, Python's `math`,
        SQL, ONNX and JavaScript's `Math` all have for it; None where the output is the
        prediction. Outputs beyond `LARGEST_OUTPUT` count as that: the function must not
        overflow.
    inverse : callable
        From predictions to outputs; the ends of the range of predictions go to infinities.
    leaf_output : callable
        From the weight n (n_groups, 1) of groups of rows and the sums of their standardised
        targets (n_groups, n_targets) to the outputs that predict their means.
    in_units : callable
        From the centre and the scale of the targets to a shift and a factor of the outputs,
        with which they predict in the targets' own units.
    """

    function: str | None
    inverse: Callable[[np.ndarray], np.ndarray]
    leaf_output: Callable[[np.ndarray, np.ndarray], np.ndarray]
    in_units: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]

    def __repr__(self) -> str:
        return f"Link({self.function})"

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        """Predictions of outputs, of any shape."""
        if self.function is None:
            return outputs
        bounded = np.clip(outputs, -LARGEST_OUTPUT, LARGEST_OUTPUT)
        return np.asarray(getattr(np, self.function)(bounded))


def same(predictions: np.ndarray) -> np.ndarray:
    return predictions


def means(n: np.ndarray, totals: np.ndarray) -> np.ndarray:
    return totals / np.where(n > 0, n, 1)


def shift_and_stretch(centre: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return centre, scale


IDENTITY = Link(None, same, means, shift_and_stretch)


def mean_and_deviation(y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation of columns; a deviation of 0 becomes 1."""
    mean = np.average(y, axis=0, weights=weights)
    deviation = np.sqrt(np.average((y - mean) ** 2, axis=0, weights=weights))
    return mean, np.where(deviation > 0, deviation, 1.0)


def log_of_predictions(predictions: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(predictions, 0))


def log_of_means(n: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Logarithms of means, with one more row at the mean of all, 1, so that none is 0."""
    return np.log((totals + 1) / (n + 1))


def shift_by_logarithm(centre: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.log(scale), np.ones_like(scale)


LOGARITHM = Link("exp", log_of_predictions, log_of_means, shift_by_logarithm)


def zero_and_mean(y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts are measured in their mean; a mean of 0 becomes 1."""
    mean = np.average(y, axis=0, weights=weights)
    return np.zeros_like(mean), np.where(mean > 0, mean, 1.0)


def median_and_spread(y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted median, and the deviation that normal numbers with these quartiles have.

    Few numbers far away change neither. Where half of them are equal, the standard
    deviation takes the place of the spread.
    """
    median = np.array([weighted_median(column, weights) for column in y.T])
    distances = np.abs(y - median)
    spread = np.array([weighted_median(column, weights) for column in distances.T])
    _, deviation = mean_and_deviation(y, weights)
    return median, np.where(spread > 0, NORMAL_SPREAD * spread, deviation)


def weighted_median(y: np.ndarray, weights: np.ndarray) -> float:
    """The smallest number that half of the weight does not exceed."""
    order = np.argsort(y, kind="stable")
    total = np.cumsum(weights[order], dtype=np.float64)
    return float(y[order[np.searchsorted(total, total[-1] / 2)]])


@dataclass(frozen=True, repr=False)
class Loss:
    """What training makes small.

    Attributes
    ----------
    name : str
        What a user calls it.
    metric : str
        What its mean over rows is called; empty where other metrics say the same.
    code : int
        What the kernels call it.
    evaluate : callable
        Losses and slopes from outputs and targets. Classes are coded -1 and +1; of several
        exactly one is +1. Numbers are standardised.
    constant : callable
        The best that can be done without looking at a row.
    probabilities : bool
        For classes: whether outputs are log odds, so that there are probabilities.
    compares_outputs : bool
        Whether only differences between the outputs of several classes matter.
    link : Link
        For numbers.
    standardise : callable
        For numbers: centre and scale of the targets, which training removes.
    centres_at_mean : bool
        For numbers: whether the centre that is removed is their mean.
    lowest : float
        For numbers: no target may be below it.
    power : int
        For numbers: in the targets' own units the loss is larger by so many factors of their
        scale.
    """

    name: str
    metric: str
    code: int
    evaluate: Evaluation
    constant: Constant
    probabilities: bool = False
    compares_outputs: bool = False
    link: Link = IDENTITY
    standardise: Standardisation = mean_and_deviation
    centres_at_mean: bool = False
    lowest: float = -np.inf
    power: int = 2

    def __repr__(self) -> str:
        return f"Loss({self.name!r})"


def logistic(outputs: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    margins = outputs * targets
    return np.logaddexp(0, -margins).sum(axis=1), -targets * scipy.special.expit(-margins)


def cross_entropy(outputs: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    is_class = targets > 0
    slopes = scipy.special.softmax(outputs, axis=1) - is_class
    return -scipy.special.log_softmax(outputs, axis=1)[is_class], slopes


def hinge(outputs: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each class against the others; at the kink the slope is 0."""
    margins = outputs * targets
    slopes = np.where(margins < 1, -targets, 0)
    return np.maximum(1 - margins, 0).sum(axis=1), slopes


def squared(outputs: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return ((outputs - targets) ** 2).sum(axis=1), 2 * (outputs - targets)


def huber(outputs: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The squared error, but of the first degree where it exceeds `HUBER_LIMIT`."""
    errors = outputs - targets
    bounded = np.clip(errors, -HUBER_LIMIT, HUBER_LIMIT)
    return (bounded * (2 * errors - bounded)).sum(axis=1), 2 * bounded


def poisson(outputs: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The deviance of counts from their expectation, of which the output is the logarithm."""
    outputs = np.clip(outputs, -LARGEST_OUTPUT, LARGEST_OUTPUT)
    expected = np.exp(outputs)
    losses = 2 * (
        scipy.special.xlogy(targets, targets) - targets * outputs - targets + expected
    )
    return losses.sum(axis=1), 2 * (expected - targets)


def constant_mean(targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.asarray(np.average(targets, axis=0, weights=weights), np.float64)


def constant_majority(targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """With hinge loss the end of the margin that most of the weight is at."""
    return np.where(constant_mean(targets, weights) > 0, 1.0, -1.0)


def constant_log_odds(targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    shares = constant_mean(targets > 0, weights)
    return log_of_share(shares) - log_of_share(1 - shares)


def constant_logarithms(targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Of the shares of several classes, or of the mean of counts."""
    return log_of_share(constant_mean(np.maximum(targets, 0), weights))


def log_of_share(shares: np.ndarray) -> np.ndarray:
    """Logarithms that stay finite where a share is 0."""
    return np.log(np.maximum(shares, np.exp(-LARGEST_OUTPUT)))


def constant_huber(targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Where the slopes of all rows add up to nothing, between the least and the greatest."""

    def slope(output: float, column: np.ndarray) -> float:
        return float(weights @ np.clip(output - column, -HUBER_LIMIT, HUBER_LIMIT))

    counted = targets[weights > 0]
    ends = zip(counted.min(axis=0), counted.max(axis=0), targets.T, strict=True)
    return np.array(
        [
            low if low == high else scipy.optimize.brentq(slope, low, high, (y,))
            for low, high, y in ends
        ]
    )


TWO_CLASSES = Loss(
    "logistic", "log loss", LOGISTIC, logistic, constant_log_odds, probabilities=True
)
MORE_CLASSES = Loss(
    "logistic",
    "log loss",
    SOFTMAX,
    cross_entropy,
    constant_logarithms,
    probabilities=True,
    compares_outputs=True,
)
CLASS_LOSSES = {
    loss.name: loss
    for loss in (
        TWO_CLASSES,
        Loss("hinge", "hinge loss", HINGE, hinge, constant_majority),
        Loss("squared", "squared loss", SQUARED, squared, constant_mean),
    )
}
SQUARED_ERROR = Loss("squared", "", SQUARED, squared, constant_mean, centres_at_mean=True)
NUMBER_LOSSES = {
    loss.name: loss
    for loss in (
        SQUARED_ERROR,
        Loss(
            "huber", "Huber loss", HUBER, huber, constant_huber, standardise=median_and_spread
        ),
        Loss(
            "poisson",
            "Poisson deviance",
            POISSON,
            poisson,
            constant_logarithms,
            link=LOGARITHM,
            standardise=zero_and_mean,
            lowest=0.0,
            power=1,
        ),
    )
}


# All of them; an engine trains no other, and the tests try each in every engine.
LOSSES = (*CLASS_LOSSES.values(), MORE_CLASSES, *NUMBER_LOSSES.values())


def class_loss(name: str, n_classes: int) -> Loss:
    """The loss of that name for a number of classes; "logistic" of several is softmax."""
    loss = CLASS_LOSSES[name]
    return MORE_CLASSES if loss is TWO_CLASSES and n_classes > 2 else loss


def expand_codes(codes: np.ndarray, n_outputs: int) -> np.ndarray:
    """Class codes (n_rows,) as -1 and +1, shape (n_rows, n_outputs)."""
    if n_outputs == 1:
        return 2 * codes[:, None] - 1
    return np.where(codes[:, None] == np.arange(n_outputs), 1, -1).astype(codes.dtype)
