"""How good a model is on some rows.

A model does not keep the rows of its fit. It keeps numbers about them, which are few enough to
be stored in the model and in its file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._activity import rule_importance
from neuralrules._network._network import NetworkInUnits
from neuralrules._task._task import Task, chosen_classes

# With an exponential link, predictions may be so large that their squares, or sums of squares,
# overflow. So errors are clipped to this size.
LARGEST_ERROR = 1e150
# Number of groups of rows in a calibration curve.
BINS = 10
DECILES = np.linspace(0, 1, BINS + 1)[1:-1]
# At most this many rows are used to measure the error against the number of rules.
SIZE_ROWS = 5000


@dataclass(frozen=True)
class Performance:
    """Numbers about a model on some rows. Rows count by their weight.

    Attributes
    ----------
    metrics : dict of str to float
        Metrics by their names, the most important one first.
    confusion : (n_classes, n_classes) float64 or None
        Rows of each class (first axis) that are predicted as each class.
    calibration : (n_curves, n_bins, 3) float64
        Mean prediction, mean outcome and weight of groups of rows with similar predictions.
        For two classes, the prediction is the probability of the second class. For more
        classes, it is the probability of the predicted class, and the outcome is whether this
        class is right. A regression has one curve for each target, in the target's units. A
        classifier without probabilities has no curve.
    n_rules : (n_sizes,) int64
        Numbers of rules, from 0 to all. The most important rules are counted first.
    errors : (n_sizes,) float64
        Share of wrong classes, or of unexplained variance, with only that many rules.
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

    `outputs` (n_rows, n_outputs) are the outputs of the network, if they are known already. In
    this case no row may have the weight zero.
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
    calibration = np.array(curves).reshape(-1, BINS, 3)
    by_size = errors_by_size(network, rows.take(some), engine)
    return Performance(len(weight), metrics, confusion, calibration, *by_size)


def true_values(rows: Rows) -> np.ndarray:
    """Class codes (n_rows,) int64, or numbers (n_rows, n_targets) float64 in their units."""
    if rows.task.are_classes:
        return rows.codes
    return rows.targets.astype(np.float64) * rows.task.scale + rows.task.centre


def class_metrics(
    task: Task, outputs: np.ndarray, rows: Rows, weight: np.ndarray
) -> dict[str, float]:
    """Accuracies and the mean loss. For two classes also the area under the ROC curve."""
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
    """Mean loss of a classifier that has the outputs (n_rows, n_outputs)."""
    return float(np.average(rows.losses(outputs), weights=rows.weights.astype(np.float64)))


def area_under_roc(decision: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> float:
    """The area under the ROC curve.

    It is the share of pairs of rows, one row from each class, in which the row of the second
    class has the higher decision. Equal decisions count half. scikit-learn's function is not
    used, because checking its arguments takes longer than training on a small batch.
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
    """Mean loss of a regression in the units of its targets, averaged over the targets.

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
    """Squared errors, which stay finite even if a prediction is extremely large."""
    return np.clip(predicted - truth, -LARGEST_ERROR, LARGEST_ERROR) ** 2


def unexplained_share(predicted: np.ndarray, truth: np.ndarray, weight: np.ndarray) -> float:
    """Share of the variance that predictions leave unexplained, averaged over the targets."""
    return float(np.average(unexplained_of_each(predicted, truth, weight), weights=weight))


def unexplained_of_each(
    predicted: np.ndarray, truth: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """What each row adds to the share of unexplained variance, (n_rows,) float64.

    The weighted mean over the rows is the whole share. If a target does not vary, exact
    predictions explain all of it and other predictions explain nothing, as in scikit-learn's
    `r2_score`.
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
    """The only curve of a classifier. The list is empty if it has no probabilities."""
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
    """Mean prediction, mean outcome and weight of groups of rows, (n_groups, 3) float64.

    The groups lie between quantiles of the predictions. `levels` (n_groups - 1,) are the shares
    of the rows at which one group ends and the next begins. The default makes `BINS` groups of
    about equal size. Equal predictions stay in one group, so other groups may be empty. An
    empty group has NaN as means and the weight 0. All other arrays are (n_rows,) float64.
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
    """Error of a network with only its most important rules, for up to 51 numbers of rules.

    The error is the share of wrong classes, or of unexplained variance. With `loss`, it is the
    mean loss of a classifier. Returns the numbers of rules and the errors.
    """
    task, weight, truth = rows.task, rows.weights.astype(np.float64), true_values(rows)
    active = engine.activations(network, rows.X)
    mean = weight @ active / weight.sum()
    order = np.argsort(-rule_importance(task, network, mean), kind="stable")
    sizes = np.unique(np.linspace(0, network.n_rules, 51).astype(int))
    outputs = np.tile(network.intercept, (len(rows), 1))
    errors = []
    for done, size in zip([0, *sizes], sizes, strict=False):
        some = order[done:size]
        outputs += active[:, some] @ network.values[some].astype(np.float64)
        if loss:
            errors.append(mean_loss(rows, outputs))
        elif task.are_classes:
            errors.append(np.average(chosen_classes(outputs) != truth, weights=weight))
        else:
            predicted = task.loss.link.predictions(outputs)
            errors.append(unexplained_share(predicted, truth, weight))
    return sizes, np.array(errors)
