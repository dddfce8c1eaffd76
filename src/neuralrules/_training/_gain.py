"""Whether training came to anything: a model beside the best constant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._network._network import Network

MOST_ROWS = 100_000  # that are measured; more would hardly change the means
# A loss that exceeds the constant's by less than this share of it is rounding, and where the
# constant's own loss is below this, nearly all weight is on one class: nothing can be learned.
ROUNDING = 1e-3
# And one within so many standard errors may be chance.
ERRORS = 2
# If so few rows, and so small a share of those with any count, decide the loss, chance decides
# how good a model is. In scikit-learn's own test of heavy tails 8 of 273 rows do: fits that
# differ by their random state alone come to 0.3 to 1.1 times the deviance of a constant.
FEWEST_DECIDING, FEWEST_SHARE = 20, 0.1


class Comparison(NamedTuple):
    """Mean losses, on the same rows, of a model and of the best constant on its own rows.

    With the standard error of their difference on rows that neither has seen, which may
    happen to favour either.
    """

    loss: float
    constant: float
    error: float

    @property
    def is_worse(self) -> bool:
        """Whether the model is worse, by more than rounding and chance."""
        excess = self.loss - self.constant
        worse = excess > max(ROUNDING * self.constant, ERRORS * self.error)
        return worse and self.constant > ROUNDING


def beside_a_constant(
    network: Network, rows: Rows, training: np.ndarray, measured: np.ndarray, engine: Engine
) -> Comparison:
    """Compare a network for standardised targets with a constant.

    Parameters
    ----------
    network : Network
    rows : Rows
    training : (n,) int
        Numbers of the rows that the constant is the best one of.
    measured : (n,) int
        Numbers of the rows to compare on; the same array, or rows that were not trained on.
    engine : Engine
    """
    constant = rows.take(some_of(training)).best_constant()
    some = rows.take(some_of(measured))
    weights = some.training_weights.astype(np.float64)
    own = some.losses(engine.decide(network, some.X) + network.intercept)
    others = some.losses(constant)
    loss, constant_loss = (float(np.average(one, weights=weights)) for one in (own, others))
    error = 0.0 if measured is training else standard_error(own - others, weights)
    return Comparison(loss, constant_loss, error)


def deciding_rows(rows: Rows) -> float | None:
    """The number of rows that decide a Poisson loss, if it is very small; else None.

    The loss of a row grows with its count, so the effective number of rows is Kish's:
    (sum of y)² / sum of y². Counts that are rare but equal are no problem: None.
    """
    if rows.task.loss.link.function is None:
        return None
    counts = rows.training_weights * rows.targets.sum(axis=1, dtype=np.float64)
    n_positive = np.count_nonzero(counts)
    if not n_positive:
        return None
    n_deciding = float(counts.sum() ** 2 / (counts @ counts))
    few = n_deciding < min(FEWEST_DECIDING, FEWEST_SHARE * n_positive)
    return n_deciding if few else None


def standard_error(values: np.ndarray, weights: np.ndarray) -> float:
    """Of the weighted mean of values (n_rows,)."""
    distances = values - np.average(values, weights=weights)
    return float(np.sqrt((weights**2) @ distances**2) / weights.sum())


def mean_of(comparisons: Sequence[Comparison]) -> Comparison:
    """The mean over parts of a table that were measured apart."""
    loss, constant, _ = np.mean(comparisons, axis=0)
    errors = [comparison.error for comparison in comparisons]
    return Comparison(loss, constant, math.hypot(*errors) / len(errors))


def some_of(numbers: np.ndarray) -> np.ndarray:
    """All of some numbers of rows or, of very many, evenly spread ones."""
    if len(numbers) <= MOST_ROWS:
        return numbers
    return numbers[np.linspace(0, len(numbers) - 1, MOST_ROWS).astype(int)]
