"""What the outputs of a network stand for, and what its rules say about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, softmax

if TYPE_CHECKING:
    from neuralrules._estimators._base import NeuralRuleModel


def output_names(model: NeuralRuleModel) -> list[Any]:
    """Classes (of two the second), or the numbers of the targets."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return list(range(model.network_.n_outputs))
    return list(classes[1:] if len(classes) == 2 else classes)


def chosen_classes(outputs: np.ndarray) -> np.ndarray:
    """Codes of the classes that outputs (n_rows, n_outputs) speak for, (n_rows,) int64."""
    if outputs.shape[1] == 1:
        return (outputs[:, 0] > 0).astype(np.int64)
    return outputs.argmax(axis=1)


def class_probabilities(outputs: np.ndarray) -> np.ndarray:
    """Probabilities (n_rows, n_classes) from outputs trained by the logistic loss."""
    if outputs.shape[1] == 1:
        positive = expit(outputs[:, 0])
        return np.stack([1 - positive, positive], axis=1)
    return softmax(outputs, axis=1)


def comparable(model: NeuralRuleModel, outputs: np.ndarray) -> np.ndarray:
    """Outputs or values (n, n_outputs) as far as they matter, float64.

    What is added to all of several classes alike changes no probability, so it is taken
    out. Several targets are measured in their own deviations, or the one in the smallest
    unit would drown the others.
    """
    outputs = outputs.astype(np.float64)
    if not hasattr(model, "classes_"):
        return outputs / model._target_scale if outputs.shape[1] > 1 else outputs
    if outputs.shape[1] > 1 and model.loss == "logistic":
        return outputs - outputs.mean(axis=1, keepdims=True)
    return outputs


def rule_importance(model: NeuralRuleModel, activation: np.ndarray) -> np.ndarray:
    """Mean absolute contribution of each rule, averaged over the outputs, (n_rules,).

    `activation` is (n_rules,): the mean activation of each rule over some rows.
    """
    return np.abs(comparable(model, model.network_.values)).mean(axis=1) * activation
