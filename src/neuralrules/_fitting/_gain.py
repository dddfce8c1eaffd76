"""Compare the loss of a network with the loss of a constant, before and after training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitting._settings import Settings
from neuralrules._fitting._table import EncodedTable
from neuralrules._io._warn import warn
from neuralrules._network._network import Network
from neuralrules._training._training import TrainingOutcome, mean_loss_on

# The start of training is judged on at most START_ROWS rows, and the values of its rules are
# halved at most HALVINGS times.
START_ROWS, HALVINGS = 200_000, 10
MOST_ROWS = 100_000  # rows to compare on: more rows would hardly change the mean losses
# The loss of a model may exceed the constant's by this share because of rounding. If the
# constant's own loss is below this number, nearly all weight is on one class: nothing can be
# learned.
ROUNDING = 1e-3
# A difference of up to this many standard errors may be chance.
ERRORS = 2
# If fewer than FEWEST_DECIDING rows decide the loss, and also less than FEWEST_SHARE of the
# rows with a positive count, then chance decides how good a model is. In scikit-learn's own
# test of heavy tails, 8 of 273 rows decide the loss. Fits that differ only in their random
# state reach 0.3 to 1.1 times the deviance of a constant.
FEWEST_DECIDING, FEWEST_SHARE = 20, 0.1


def no_worse_than_constant(
    network: Network, rows: Rows, chosen: np.ndarray, engine: Engine
) -> Network:
    """The network with values halved until it is no worse than its intercept alone.

    Boosting with a high learning rate can give huge values to leaves with few rows. Inside a
    leaf, the values of several trees make up for each other. But the outputs of neural
    rules keep growing far beyond the rows of their leaves, and training takes long to correct
    them there. `chosen` (n,) int32 are the indices of the rows to judge by.
    """
    some = rows.take(chosen[:: -(-len(chosen) // START_ROWS)])
    intercept_alone = replace(network, values=np.zeros_like(network.values))
    mean_loss = mean_loss_on(some, engine)
    highest = mean_loss(intercept_alone)
    for _ in range(HALVINGS):
        if mean_loss(network) <= highest:
            return network
        network = replace(network, values=network.values / np.float32(2))
    return intercept_alone


class ConstantComparison(NamedTuple):
    """The mean losses of a model and of the best constant on the same rows.

    `error` is the standard error of the difference of the losses; 0 for training rows.
    """

    loss: float
    constant: float
    error: float

    @property
    def is_worse(self) -> bool:
        """Whether the model is worse by more than rounding and chance explain."""
        excess = self.loss - self.constant
        worse = excess > max(ROUNDING * self.constant, ERRORS * self.error)
        return worse and self.constant > ROUNDING


def beside_a_constant(
    network: Network, rows: Rows, training: np.ndarray, measured: np.ndarray, engine: Engine
) -> ConstantComparison:
    """Compare a network for standardised targets with a constant.

    Parameters
    ----------
    training : (n,) int
        Indices of the rows that the best constant is computed from.
    measured : (n,) int
        Indices of the rows to compare on: the array `training` itself, or held-out rows.
    """
    constant = rows.take(some_of(training)).best_constant()
    some = rows.take(some_of(measured))
    weights = some.training_weights.astype(np.float64)
    own = some.losses(engine.decide(network, some.X) + network.intercept)
    others = some.losses(constant)
    loss, constant_loss = (float(np.average(one, weights=weights)) for one in (own, others))
    error = 0.0 if measured is training else standard_error(own - others, weights)
    return ConstantComparison(loss, constant_loss, error)


def some_of(numbers: np.ndarray) -> np.ndarray:
    """The row indices (n,) or, if there are more than MOST_ROWS, evenly spread ones."""
    if len(numbers) <= MOST_ROWS:
        return numbers
    return numbers[np.linspace(0, len(numbers) - 1, MOST_ROWS).astype(int)]


def standard_error(values: np.ndarray, weights: np.ndarray) -> float:
    """The standard error of the weighted mean of values (n_rows,)."""
    distances = values - np.average(values, weights=weights)
    return float(np.sqrt((weights**2) @ distances**2) / weights.sum())


def mean_of(comparisons: Sequence[ConstantComparison]) -> ConstantComparison:
    """The mean of comparisons on different parts of a table."""
    loss, constant, _ = np.mean(comparisons, axis=0)
    errors = [comparison.error for comparison in comparisons]
    return ConstantComparison(loss, constant, math.hypot(*errors) / len(errors))


def check_gain(
    outcome: TrainingOutcome, table: EncodedTable, settings: Settings, engine: Engine
) -> None:
    """Warn if the trained network predicts worse than a constant."""
    if outcome.interrupted or not outcome.n_epochs:
        return  # the user ended training, or asked for no training
    held_out = table.validation.size > 0
    chosen = table.validation if held_out else table.training
    compared = beside_a_constant(
        outcome.state.network, table.rows, table.training, chosen, engine
    )
    where = "rows held out to stop on" if held_out else "training rows"
    warn_of_no_gain(compared, f"{len(chosen)} {where}", table.rows, settings)


def warn_of_no_gain(
    compared: ConstantComparison, where: str, rows: Rows, settings: Settings
) -> None:
    """Warn that a model predicts worse than a constant, or that it may on new rows.

    `where` names the rows of the comparison, and `rows` are those that the model learned from.
    """
    n_deciding = deciding_rows(rows)
    if compared.is_worse:
        warn(
            f"This {settings.estimator} predicts worse than a constant: on the {where} its "
            f"mean loss is {compared.loss:.4g}, that of the best constant "
            f"{compared.constant:.4g}. Check that the columns of X say something about y; if "
            f"they do, train longer (n_epochs={settings.n_epochs}), by other steps "
            f"(learning_rate={settings.learning_rate}) or with less shrinkage "
            f"(l2={settings.l2}).",
            ConvergenceWarning,
        )
    elif n_deciding is not None:
        warn(
            f"About {n_deciding:.0f} of {np.count_nonzero(rows.weights)} rows decide the "
            f"loss {settings.loss!r}, because their y is far larger than that of the other "
            f"rows. On new rows, this {settings.estimator} may predict worse than a "
            "constant. Check the largest numbers of y, limit them (np.minimum), or add "
            "rows. Then compare the model with a constant on rows that it has not seen.",
            ConvergenceWarning,
        )


def deciding_rows(rows: Rows) -> float | None:
    """The number of rows that decide the mean loss if it is very small, otherwise None.

    With a loss such as Poisson's, the loss of a row grows with its target. So we count the rows
    by Kish's effective sample size, (sum of y)² / sum of y². Counts that are rare but equal are
    no problem.
    """
    if not rows.task.loss.few_rows_may_decide:
        return None
    counts = rows.training_weights * rows.targets.sum(axis=1, dtype=np.float64)
    n_positive = np.count_nonzero(counts)
    if not n_positive:
        return None
    n_deciding = float(counts.sum() ** 2 / (counts @ counts))
    few = n_deciding < min(FEWEST_DECIDING, FEWEST_SHARE * n_positive)
    return n_deciding if few else None
