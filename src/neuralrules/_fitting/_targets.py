"""Turn a user's y and sample_weight into a task, encoded targets and row weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array, column_or_1d, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    assert_all_finite,
    check_consistent_length,
)

from neuralrules._data._cells import missing_cells
from neuralrules._data._restrictions import warn_of_unnamed_class
from neuralrules._data._rows import Rows
from neuralrules._fitting._settings import Settings
from neuralrules._task._task import Task

# The values of rules are float32 in units of the target. So larger targets, or targets that
# differ by less, are refused.
LARGEST_TARGET, SMALLEST_SPREAD = 1e37, 1e-30


def check_weights(X: Any, y: Any, sample_weight: Any, estimator: str) -> np.ndarray:
    """Check that X, y and weights fit together; return the weights, (n_rows,) float32."""
    if y is None:
        raise ValueError(f"{estimator} requires y to be passed, but the target y is None.")
    check_consistent_length(X, y)
    if sample_weight is None:
        return np.ones(_num_samples(X), np.float32)
    with np.errstate(over="ignore"):  # weights that are too large for float32 are refused
        weights: np.ndarray = _check_sample_weight(
            sample_weight, X, dtype=np.float32, ensure_non_negative=True, copy=True
        )
    if not weights.any():
        raise ValueError("sample_weight is zero for every row. Give some rows weight.")
    return weights


def check_y(y: Any, settings: Settings) -> np.ndarray:
    """Check y; return labels (n_rows,), or float64 numbers (n_rows,) or (n_rows, n_targets)."""
    check = check_labels if settings.predicts_classes else check_numbers
    return check(y, settings.estimator)


def check_labels(y: Any, estimator: str) -> np.ndarray:
    """Check the labels of classes; return them, (n_rows,)."""
    if isinstance(y, list | tuple) and np.asarray(y).dtype.kind in "US":
        y = np.array(y, dtype=object)  # or NumPy would turn numbers beside text into text
    labels: np.ndarray = column_or_1d(y, warn=True)
    if labels.dtype == object:
        missing = missing_cells(labels)
        if missing.any():
            row = int(np.argmax(missing))
            raise ValueError(
                f"Input y contains missing values: row {row} is {labels[row]!r}. "
                "Remove such rows, or give them a class of their own."
            )
        check_one_kind(labels)
    assert_all_finite(labels, input_name="y", estimator_name=estimator)
    check_classification_targets(labels)
    return labels


def check_one_kind(labels: np.ndarray) -> None:
    """Refuse a mix of text labels and other labels, because such labels have no order."""
    is_text = np.array([isinstance(label, str) for label in labels])
    if is_text.any() and not is_text.all():
        text, other = int(np.argmax(is_text)), int(np.argmin(is_text))
        raise ValueError(
            f"y mixes text with other labels: row {text} is {labels[text]!r}, row {other} is "
            f"{labels[other]!r}. Make all of them text, for example by "
            "[str(label) for label in y], or all of them numbers."
        )


def check_numbers(y: Any, estimator: str) -> np.ndarray:
    """Check numbers to predict; return them as float64, (n_rows,) or (n_rows, n_targets)."""
    try:
        numbers: np.ndarray = check_array(
            y, ensure_2d=False, dtype=np.float64, input_name="y", estimator=estimator
        )
    except ValueError:
        for cell, item in enumerate(np.asarray(y, dtype=object).ravel()):
            try:
                float(item if isinstance(item, str) else 0)
            except ValueError:
                raise ValueError(
                    f"y holds the text {str(item)!r} (cell {cell}), but {estimator} predicts "
                    "numbers. Convert y to numbers, or use "
                    f"{estimator.replace('Regressor', 'Classifier')} to predict classes."
                ) from None
        raise
    return numbers


def learn_task(
    y: np.ndarray, weights: np.ndarray, settings: Settings, classes: Any = None
) -> Task:
    """The task that a checked y (n_rows,) or (n_rows, n_targets) defines.

    `weights` (n_rows,) float32 are for the centre and the scale of numbers. `classes` are all
    classes that will ever occur, which the first call of `partial_fit` may name.
    """
    if settings.predicts_classes:
        return class_task(y, settings, classes)
    return number_task(y, weights, settings)


def class_task(y: np.ndarray, settings: Settings, classes: Any) -> Task:
    present = np.unique(y)
    learned = present if classes is None else np.unique(classes)
    if classes is not None and len(present) < 2:
        raise ValueError(
            "The first call of partial_fit grows the rules and needs rows of at least "
            f"2 classes, got 1 class: {y[0]}. Shuffle the rows before splitting them."
        )
    task = Task.of_classes(learned, settings.loss)
    check_known(present, task)
    if len(learned) < 2:
        raise ValueError(
            f"{settings.estimator} needs at least 2 classes in y, got 1 class: "
            f"{learned[0]}. Check that y is the target and not filtered."
        )
    warn_of_unnamed_class(task, settings.monotone)
    return task


def number_task(y: np.ndarray, weights: np.ndarray, settings: Settings) -> Task:
    columns = y.reshape(len(y), -1)
    constant = np.flatnonzero((columns == columns[0]).all(axis=0))
    if len(constant):
        raise ValueError(
            f"Target {constant[0]} of y has a single value, {columns[0, constant[0]]}, in "
            f"all {len(y)} samples (n_samples = {len(y)}): there is nothing to learn. "
            "Check that y is the target and not filtered."
        )
    spread = np.ptp(columns, axis=0).min()
    if spread < SMALLEST_SPREAD:
        raise ValueError(
            f"The numbers of y differ by {spread:.3g} at most, too little for float32. "
            "Give the target in a smaller unit, so that they differ by "
            f"{SMALLEST_SPREAD:g} or more."
        )
    largest = np.abs(columns).max()
    if largest > LARGEST_TARGET:
        raise ValueError(
            f"y holds {largest:.3g}, too large for float32. Give the target in a larger "
            f"unit, so that no number exceeds {LARGEST_TARGET:g}."
        )
    task = Task.of_numbers(columns, weights, settings.loss, flat=y.ndim == 1)
    check_lowest(columns, task)
    return task


def further_task(task: Task, settings: Settings) -> Task:
    """The task for training a model further; its `loss` may be a new one."""
    if task.classes is not None:
        return Task.of_classes(task.classes, settings.loss)
    if task.loss.name != settings.loss:
        raise ValueError(
            f"loss={settings.loss!r} cannot take over from loss={task.loss.name!r}, which "
            "measures the targets in another way. "
            f"Set loss={task.loss.name!r}, or fit anew with warm_start=False."
        )
    return task


def encode_targets(task: Task, y: np.ndarray) -> np.ndarray:
    """Encode y as float32: class codes (n_rows, 1) or scaled numbers (n_rows, n_targets)."""
    if task.classes is not None:
        check_known(np.unique(y), task)
        return np.searchsorted(task.classes, y).astype(np.float32)[:, None]
    columns = y.reshape(len(y), -1)
    if columns.shape[1] != task.n_outputs:
        raise ValueError(
            f"y has {columns.shape[1]} targets, but this model was fitted on "
            f"{task.n_outputs}. Fit a new model to change the targets."
        )
    check_lowest(columns, task)
    return task.standardised(columns)


def check_known(labels: np.ndarray, task: Task) -> None:
    """Refuse labels that are not among the classes of the task."""
    assert task.classes is not None
    unseen = np.setdiff1d(labels, task.classes)
    if len(unseen):
        raise ValueError(
            f"y holds {unseen[0]}, which is not one of the classes "
            f"{task.labels}. Fit a new model to add classes."
        )


def check_lowest(columns: np.ndarray, task: Task) -> None:
    """Refuse numbers (n_rows, n_targets) below the lowest target that the loss allows."""
    if columns.min() < task.loss.lowest_target:
        raise ValueError(
            f"y holds {columns.min():g}, but loss={task.loss.name!r} takes no number below "
            f"{task.loss.lowest_target:g}. Give such a y, or another loss."
        )


def rows_with_targets(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray, task: Task, class_weight: Any
) -> Rows:
    """Rows of encoded columns X, a checked y, and weights, which are checked too."""
    targets = encode_targets(task, y)
    training_weights = weigh_classes(task, targets, weights, class_weight)
    return Rows(X, targets, weights, training_weights, task)


def weigh_classes(
    task: Task, targets: np.ndarray, weights: np.ndarray, class_weight: Any
) -> np.ndarray:
    """The training weight of each row, (n_rows,) float32: its weight times its class weight."""
    if class_weight is None or not task.are_classes:
        return weights
    codes = targets[:, 0].astype(int)
    n_rows = np.bincount(codes, minlength=task.n_classes)
    factors = class_factors(task, n_rows, class_weight)
    with np.errstate(over="ignore"):  # infinite weights are refused below
        weights = (weights * factors[codes]).astype(np.float32)
    if not (weights.any() and np.isfinite(weights).all()):
        raise no_class_weight(class_weight)
    return weights


def class_factors(task: Task, n_rows: np.ndarray, class_weight: Any) -> np.ndarray:
    """The class weights: factors for the weights of rows, (n_classes,) float64.

    `n_rows` (n_classes,) is the number of rows of each class.
    """
    assert task.classes is not None
    present = n_rows > 0
    factors = np.ones(task.n_classes)
    if class_weight == "balanced":
        factors[present] = n_rows.sum() / (np.count_nonzero(present) * n_rows[present])
    elif class_weight is not None:
        classes = task.classes[present]
        factors[present] = compute_class_weight(class_weight, classes=classes, y=classes)
    are_valid = (factors >= 0) & (factors <= np.finfo(np.float32).max)  # false for NaN
    if not are_valid.all() or not factors[present].any():
        raise no_class_weight(class_weight)
    return factors


def no_class_weight(class_weight: Any) -> ValueError:
    return ValueError(
        f"class_weight={class_weight!r} must give every class a weight from 0 to "
        "3.4e38, and at least one class of y a weight above 0."
    )
