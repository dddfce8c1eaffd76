"""How good a model is on some rows, in numbers small enough to keep with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from neuralrules._fitted._activity import activations
from neuralrules._fitted._outputs import chosen_classes, class_probabilities, rule_importance
from neuralrules._task._losses import expand_codes, loss_code, losses_and_slopes

if TYPE_CHECKING:
    from neuralrules._estimators._base import NeuralRuleModel
    from neuralrules._task._targets import Targets

BINS = 10  # of the calibration
SIZE_ROWS = 5000  # rows that the error against the number of rules is measured on


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


def performance_on(
    model: NeuralRuleModel, X: Any, y: Any, sample_weight: Any = None
) -> Performance:
    """Measure a fitted model on a user's table."""
    X = model._check_columns(X, reset=False)
    targets, weights = model._check_targets(X, y, sample_weight, known=True)
    return perform(model, model.encoder_.transform(X), targets, weights)


def perform(
    model: NeuralRuleModel, encoded: np.ndarray, targets: Targets, weights: np.ndarray
) -> Performance:
    """Measure a fitted model on encoded rows (n_rows, n_columns) with weights (n_rows,)."""
    if not weights.all():
        counted = np.flatnonzero(weights)
        encoded, targets, weights = encoded[counted], targets.take(counted), weights[counted]
    y, weight = targets.array.astype(np.float64), weights.astype(np.float64)
    network = model.network_
    outputs = model._engine().decide(network, encoded) + network.intercept
    if targets.are_classes:
        codes = y[:, 0].astype(int)
        metrics = class_metrics(model, outputs, codes, weight)
        chosen = chosen_classes(outputs)
        cells = np.bincount(
            codes * targets.n_classes + chosen, weight, targets.n_classes**2
        ).reshape(targets.n_classes, -1)
        curves = class_calibration(model, outputs, codes, weight)
        truth = codes
    else:
        truth = y * targets.scale + targets.mean
        metrics = number_metrics(outputs, truth, weight)
        cells = None
        curves = [
            calibration_curve(outputs[:, k], truth[:, k], weight) for k in range(y.shape[1])
        ]
    some = np.linspace(0, len(weight) - 1, min(SIZE_ROWS, len(weight))).astype(int)
    sizes, errors = errors_by_size(model, encoded[some], truth[some], weight[some])
    return Performance(
        n_rows=len(weight),
        metrics=metrics,
        confusion=cells,
        calibration=np.array(curves).reshape(-1, BINS, 3),
        n_rules=sizes,
        errors=errors,
    )


def class_metrics(
    model: NeuralRuleModel, outputs: np.ndarray, codes: np.ndarray, weight: np.ndarray
) -> dict[str, float]:
    """Accuracies and the mean loss; the area under the ROC curve for two classes."""
    n_classes = len(model.classes_)
    right = chosen_classes(outputs) == codes
    metrics = {"accuracy": float(np.average(right, weights=weight))}
    recalls = [
        np.average(right[codes == k], weights=weight[codes == k]) for k in np.unique(codes)
    ]
    metrics["balanced accuracy"] = float(np.mean(recalls))
    if n_classes == 2 and len(np.unique(codes)) == 2:
        metrics["ROC AUC"] = area_under_roc(outputs[:, 0], codes, weight)
    coded = expand_codes(codes.astype(np.float64), outputs.shape[1])
    losses, _ = losses_and_slopes(
        loss_code(model.loss, multiclass=n_classes > 2), outputs, coded
    )
    name = {"logistic": "log loss", "hinge": "hinge loss", "squared": "squared loss"}
    metrics[name[model.loss]] = float(np.average(losses, weights=weight))
    return metrics


def area_under_roc(decision: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> float:
    """Share of pairs of a row of each class that are in the right order, ties by half.

    scikit-learn's function checks its arguments for longer than a small batch is trained.
    """
    _, place = np.unique(decision, return_inverse=True)
    positive, negative = (np.bincount(place, weight * (codes == k)) for k in (1, 0))
    below = np.cumsum(negative) - negative / 2
    return float(positive @ below / (positive.sum() * negative.sum()))


def number_metrics(
    outputs: np.ndarray, truth: np.ndarray, weight: np.ndarray
) -> dict[str, float]:
    """R^2 and errors in the targets' units, averaged over the targets."""
    squares = np.average((outputs - truth) ** 2, axis=0, weights=weight)
    mean = np.average(truth, axis=0, weights=weight)
    variance = np.average((truth - mean) ** 2, axis=0, weights=weight)
    explained = 1 - squares / np.where(variance > 0, variance, np.nan)
    absolute = np.average(np.abs(outputs - truth), axis=0, weights=weight)
    return {
        "R²": float(explained.mean()),
        "root mean squared error": float(np.sqrt(squares).mean()),
        "mean absolute error": float(absolute.mean()),
    }


def class_calibration(
    model: NeuralRuleModel, outputs: np.ndarray, codes: np.ndarray, weight: np.ndarray
) -> list[np.ndarray]:
    """The one curve of a classifier; none where it has no probabilities."""
    if model.loss != "logistic":
        return []
    probabilities = class_probabilities(outputs)
    if outputs.shape[1] == 1:
        return [calibration_curve(probabilities[:, 1], codes.astype(float), weight)]
    right = (probabilities.argmax(axis=1) == codes).astype(float)
    return [calibration_curve(probabilities.max(axis=1), right, weight)]


def calibration_curve(
    predicted: np.ndarray, observed: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Mean prediction, mean outcome and weight of `BINS` groups of about equal size.

    Groups that ties leave empty hold NaN and weight 0.
    """
    edges = np.quantile(predicted, np.linspace(0, 1, BINS + 1)[1:-1])
    group = np.searchsorted(edges, predicted, side="right")
    total = np.bincount(group, weight, BINS)
    safe = np.where(total > 0, total, np.nan)
    sums = (np.bincount(group, weight * values, BINS) for values in (predicted, observed))
    return np.stack([*(values / safe for values in sums), total], axis=1)


def errors_by_size(
    model: NeuralRuleModel, encoded: np.ndarray, truth: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Error with only the most important rules, for up to 50 numbers of rules."""
    network = model.network_
    active = activations(network, encoded, model._engine())
    mean = weight @ active / weight.sum()
    order = np.argsort(-rule_importance(model, mean), kind="stable")
    sizes = np.unique(np.linspace(0, network.n_rules, 51).astype(int))
    outputs = np.tile(network.intercept, (len(encoded), 1))
    errors, done = [], 0
    for size in sizes:
        some = order[done:size]
        outputs += active[:, some] @ network.values[some].astype(np.float64)
        done = size
        errors.append(error(outputs, truth, weight))
    return sizes, np.array(errors)


def error(outputs: np.ndarray, truth: np.ndarray, weight: np.ndarray) -> float:
    """Share of wrong classes for class codes (n_rows,), else of unexplained variance."""
    if truth.ndim == 1:
        return float(np.average(chosen_classes(outputs) != truth, weights=weight))
    squares = np.average((outputs - truth) ** 2, axis=0, weights=weight)
    variance = np.average(
        (truth - np.average(truth, axis=0, weights=weight)) ** 2, axis=0, weights=weight
    )
    return float(np.mean(squares / np.where(variance > 0, variance, np.nan)))
