"""How good a model is on some rows.

The rows themselves are forgotten after a fit, so the numbers about them are few enough to be
kept in the model and in its file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._activity import rule_importance
from neuralrules._network._network import NetworkInUnits
from neuralrules._task._task import Task, chosen_classes

# An exponential link may predict so much that its square, or a sum of squares, overflows.
LARGEST_ERROR = 1e150
# Groups of rows in a calibration curve.
BINS = 10
DECILES = np.linspace(0, 1, BINS + 1)[1:-1]
# At most so many rows are used to measure the error against the number of rules.
SIZE_ROWS = 5000


@dataclass(frozen=True)
class Performance:
    """Numbers about a model on some rows; rows count by their weight.

    Attributes
    ----------
    n_rows : int
    metrics : dict of str to float
        By name, the most important one first.
    confusion : (n_classes, n_classes) float64 or None
        Rows of each class (first axis) that are predicted as each class.
    calibration : (n_curves, n_bins, 3) float64
        Mean prediction, mean outcome and weight of groups of rows of similar prediction.
        For two classes the probability of the second; for more, the probability of
        the predicted class against whether it was right; for a regression one curve a
        target, in its units. No curve without probabilities.
    n_rules : (n_sizes,) int64
        Numbers of rules kept, the most important ones, from 0 to all.
    errors : (n_sizes,) float64
        Share of wrong classes, or of unexplained variance, with only these rules.
    """

    n_rows: int
    metrics: dict[str, float]
    confusion: np.ndarray | None
    calibration: np.ndarray
    n_rules: np.ndarray
    errors: np.ndarray


def perform(
    network: NetworkInUnits, rows: Rows, engine: Engine, outputs: np.ndarray | None = None
) -> Performance:
    """Measure a network, in the units of its targets, on rows.

    `outputs` (n_rows, n_outputs) are those of the network, if they are known already; no
    row then has the weight zero.
    """
    if outputs is None:
        if not rows.weights.all():
            rows = rows.take(np.flatnonzero(rows.weights))
        outputs = engine.decide(network, rows.X) + network.intercept
    task, weight = rows.task, rows.weights.astype(np.float64)
    truth = true_values(rows)
    confusion = None
    if task.are_classes:
        metrics = class_metrics(task, outputs, rows, weight)
        cells = truth * task.n_classes + chosen_classes(outputs)
        confusion = np.bincount(cells, weight, task.n_classes**2).reshape(task.n_classes, -1)
        curves = class_calibration(task, outputs, truth, weight)
    else:
        predicted = task.loss.link.predictions(outputs)
        metrics = number_metrics(predicted, truth, weight)
        if task.loss.metric:
            metrics[task.loss.metric] = loss_in_units(rows, outputs)
        curves = [
            calibration_curve(predicted[:, k], truth[:, k], weight)
            for k in range(truth.shape[1])
        ]
    some = np.linspace(0, len(weight) - 1, min(SIZE_ROWS, len(weight))).astype(int)
    sizes, errors = errors_by_size(network, rows.take(some), engine)
    return Performance(
        n_rows=len(weight),
        metrics=metrics,
        confusion=confusion,
        calibration=np.array(curves).reshape(-1, BINS, 3),
        n_rules=sizes,
        errors=errors,
    )


def true_values(rows: Rows) -> np.ndarray:
    """Class codes (n_rows,) int64, or numbers (n_rows, n_targets) float64 in their units."""
    if rows.task.are_classes:
        return rows.codes
    return rows.targets.astype(np.float64) * rows.task.scale + rows.task.centre


def class_metrics(
    task: Task, outputs: np.ndarray, rows: Rows, weight: np.ndarray
) -> dict[str, float]:
    """Accuracies and the mean loss; the area under the ROC curve for two classes."""
    codes = rows.codes
    right = chosen_classes(outputs) == codes
    metrics = {"accuracy": float(np.average(right, weights=weight))}
    recalls = [
        np.average(right[codes == k], weights=weight[codes == k]) for k in np.unique(codes)
    ]
    metrics["balanced accuracy"] = float(np.mean(recalls))
    if task.n_classes == 2 and len(np.unique(codes)) == 2:
        metrics["ROC AUC"] = area_under_roc(outputs[:, 0], codes, weight)
    metrics[task.loss.metric] = mean_loss(rows, outputs)
    return metrics


def mean_loss(rows: Rows, outputs: np.ndarray) -> float:
    """Mean loss of classes with outputs (n_rows, n_outputs)."""
    losses, _ = rows.task.loss.evaluate(outputs, rows.loss_targets)
    return float(np.average(losses, weights=rows.weights.astype(np.float64)))


def area_under_roc(decision: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> float:
    """The area under the ROC curve.

    It is the share of pairs, one row of each class, in which the row of the second class has
    the higher decision; equal decisions count half. scikit-learn's function would do, but
    checking its arguments takes longer than training on a small batch.
    """
    _, place = np.unique(decision, return_inverse=True)
    positive, negative = (np.bincount(place, weight * (codes == k)) for k in (1, 0))
    below = np.cumsum(negative) - negative / 2
    return float(positive @ below / (positive.sum() * negative.sum()))


def number_metrics(
    predicted: np.ndarray, truth: np.ndarray, weight: np.ndarray
) -> dict[str, float]:
    """R^2 and errors in the targets' units, averaged over the targets."""
    squares = np.average(squared_errors(predicted, truth), axis=0, weights=weight)
    absolute = np.average(np.abs(predicted - truth), axis=0, weights=weight)
    return {
        "R²": 1 - unexplained_share(predicted, truth, weight),
        "root mean squared error": float(np.sqrt(squares).mean()),
        "mean absolute error": float(absolute.mean()),
    }


def loss_in_units(rows: Rows, outputs: np.ndarray) -> float:
    """Mean loss of numbers in their own units, averaged over the targets.

    `outputs` (n_rows, n_targets) are in these units, too.
    """
    task = rows.task
    shift, factor = task.loss.link.in_units(task.centre, task.scale)
    standardised = (outputs - shift) / factor
    means = []
    for k, scale in enumerate(task.scale):
        own = slice(k, k + 1)
        losses, _ = task.loss.evaluate(standardised[:, own], rows.loss_targets[:, own])
        means.append(np.average(losses, weights=rows.weights) * scale**task.loss.degree)
    return float(np.mean(means))


def squared_errors(predicted: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Squares that stay finite where a prediction is far outside the rows of training."""
    return np.clip(predicted - truth, -LARGEST_ERROR, LARGEST_ERROR) ** 2


def unexplained_share(predicted: np.ndarray, truth: np.ndarray, weight: np.ndarray) -> float:
    """Share of the variance of numbers that is left, averaged over the targets."""
    return float(np.average(unexplained_of_each(predicted, truth, weight), weights=weight))


def unexplained_of_each(
    predicted: np.ndarray, truth: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """The share of unexplained variance row by row, (n_rows,) float64; its mean is the share.

    Of a target that does not vary, all is explained where the predictions are exact and
    nothing where they are not, as in scikit-learn's `r2_score`.
    """
    mean = np.average(truth, axis=0, weights=weight)
    variance = np.average((truth - mean) ** 2, axis=0, weights=weight)
    squares = squared_errors(predicted, truth)
    left = np.average(squares, axis=0, weights=weight)
    whole = np.where(variance > 0, variance, left)
    return (squares / np.where(whole > 0, whole, 1)).mean(axis=1)


def class_calibration(
    task: Task, outputs: np.ndarray, codes: np.ndarray, weight: np.ndarray
) -> list[np.ndarray]:
    """The one curve of a classifier; none where it has no probabilities."""
    if not task.gives_probabilities:
        return []
    probabilities = task.probabilities(outputs)
    if outputs.shape[1] == 1:
        return [calibration_curve(probabilities[:, 1], codes.astype(float), weight)]
    right = (probabilities.argmax(axis=1) == codes).astype(float)
    return [calibration_curve(probabilities.max(axis=1), right, weight)]


def calibration_curve(
    predicted: np.ndarray,
    observed: np.ndarray,
    weight: np.ndarray,
    levels: np.ndarray = DECILES,
) -> np.ndarray:
    """Mean prediction, mean outcome and weight of groups between quantiles of predictions.

    Equal predictions stay in one group, so that others may be left empty: these hold NaN and
    weight 0.

    Parameters
    ----------
    predicted, observed, weight : (n_rows,) float64
    levels : (n_groups - 1,) float64
        Shares of the rows at which one group ends and the next begins; by default those of
        `BINS` groups of about equal size.

    Returns
    -------
    (n_groups, 3) float64
    """
    n_groups = len(levels) + 1
    group = np.searchsorted(np.quantile(predicted, levels), predicted, side="right")
    total = np.bincount(group, weight, n_groups)
    safe = np.where(total > 0, total, np.nan)
    sums = (np.bincount(group, weight * values, n_groups) for values in (predicted, observed))
    return np.stack([*(values / safe for values in sums), total], axis=1)


def errors_by_size(
    network: NetworkInUnits, rows: Rows, engine: Engine, *, loss: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Error, or mean loss, with only the most important rules, for up to 50 numbers of rules.

    The loss is that of classes.
    """
    weight, truth = rows.weights.astype(np.float64), true_values(rows)
    active = engine.activations(network, rows.X)
    mean = weight @ active / weight.sum()
    order = np.argsort(-rule_importance(rows.task, network, mean), kind="stable")
    sizes = np.unique(np.linspace(0, network.n_rules, 51).astype(int))
    outputs = np.tile(network.intercept, (len(rows), 1))
    errors, done = [], 0
    for size in sizes:
        some = order[done:size]
        outputs += active[:, some] @ network.values[some].astype(np.float64)
        done = size
        if loss:
            errors.append(mean_loss(rows, outputs))
        else:
            errors.append(error(rows.task, outputs, truth, weight))
    return sizes, np.array(errors)


def error(task: Task, outputs: np.ndarray, truth: np.ndarray, weight: np.ndarray) -> float:
    """Share of wrong classes, or of unexplained variance, given `true_values`."""
    if task.are_classes:
        return float(np.average(chosen_classes(outputs) != truth, weights=weight))
    return unexplained_share(task.loss.link.predictions(outputs), truth, weight)
