"""A table in memory as a source of rows: encoded, and split for early stopping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from neuralrules._data._encoder import Encoder, warn_of_rare
from neuralrules._data._rows import Rows
from neuralrules._engine import Engine
from neuralrules._fitting._settings import Settings
from neuralrules._fitting._targets import (
    encode_targets,
    learn_task,
    scaled_by_rows,
    weigh_classes,
)
from neuralrules._network._constraints import Constraints
from neuralrules._network._network import Network
from neuralrules._rules._rules import Rules
from neuralrules._task._task import Task
from neuralrules._training._training import Plan, State, Training, TrainingOutcome, train


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """Rows in memory, ready to grow rules from and to train on.

    Attributes
    ----------
    encoder : Encoder
    rows : Rows
        All rows.
    training, validation : (n,) int32
        Indices of the rows to train on, and of the rows that decide when to stop early.
    random_state : RandomState
    """

    encoder: Encoder
    rows: Rows
    training: np.ndarray
    validation: np.ndarray
    random_state: np.random.RandomState

    @property
    def measured_rows(self) -> Rows:
        """The rows that the fitted model is measured on."""
        return self.rows

    def counted(self, rules: Rules, network: Network) -> Rules:
        """The same rules: when they grew, they counted all rows already."""
        return rules

    def n_training(self, order: np.ndarray) -> int:
        """The number of rows to train on."""
        return len(order)

    def trainer(self, order: np.ndarray, engine: Engine) -> Training:
        """A function that trains networks on the rows with the indices `order`."""

        def trained(
            state: State, plan: Plan, constraints: Constraints | None
        ) -> TrainingOutcome:
            return train(
                state,
                self.rows,
                order,
                self.validation,
                plan,
                engine,
                self.random_state,
                constraints,
            )

        return trained


@dataclass(frozen=True, eq=False)
class TableSource:
    """A table in memory with its targets and weights, all of them checked.

    Attributes
    ----------
    X : array or frame of shape (n_rows, n_columns)
    y : (n_rows,) or (n_rows, n_targets)
    weights : (n_rows,) float32
    named : bool
        Whether the columns have names of their own.
    classes : array-like or None
        All classes that will ever occur; None if y has all of them.
    """

    X: Any
    y: np.ndarray
    weights: np.ndarray
    named: bool
    classes: Any = None

    def encoded(self, settings: Settings) -> EncodedTable:
        """Encode the rows for a fit. The training rows set the scale of columns and targets."""
        random_state = check_random_state(settings.random_state)
        task = learn_task(self.y, self.weights, settings, self.classes)
        targets = encode_targets(task, self.y)
        training_weights = weigh_classes(task, targets, self.weights, settings.class_weight)
        training, validation = split(task, targets, training_weights, random_state, settings)
        scaling_weights = training_weights.copy()
        scaling_weights[validation] = 0
        if not task.are_classes:
            task = scaled_by_rows(task, self.y, scaling_weights)
            targets = encode_targets(task, self.y)
        encoder, X = Encoder.fit_transform(
            self.X,
            scaling_weights,
            named=self.named,
            scaling=settings.scaling,
            missing=settings.missing,
        )
        warn_of_rare(encoder)
        rows = Rows(X, targets, self.weights, training_weights, task)
        return EncodedTable(encoder, rows, training, validation, random_state)


def split(
    task: Task,
    targets: np.ndarray,
    weights: np.ndarray,
    random_state: np.random.RandomState,
    settings: Settings,
) -> tuple[np.ndarray, np.ndarray]:
    """Split the rows that have weight into training and validation rows, int32 indices."""
    rows = np.flatnonzero(weights).astype(np.int32)
    if not settings.stops_early(len(rows)):
        return rows, rows[:0]
    groups = targets[rows, 0] if task.are_classes else np.zeros(len(rows))
    held = held_out(groups, settings.validation_fraction, random_state)
    if held.any() and not held.all():
        return rows[~held], rows[held]
    if settings.early_stopping == "auto":
        return rows, rows[:0]
    raise ValueError(
        f"validation_fraction={settings.validation_fraction} of {len(rows)} rows leaves "
        f"{held.sum()} to validate and {len(rows) - held.sum()} to train on, since one "
        "row of each class stays in training. "
        "Change validation_fraction, add rows, or set early_stopping=False."
    )


def held_out(
    groups: np.ndarray, fraction: float, random_state: np.random.RandomState
) -> np.ndarray:
    """Which rows to hold out: a random share of each group, but never a whole group.

    A model could not learn a class without training rows.

    Parameters
    ----------
    groups : (n_rows,)
        The class of each row.
    fraction : float
    random_state : RandomState

    Returns
    -------
    (n_rows,) bool
    """
    held = np.zeros(len(groups), bool)
    owed = 0.0  # rows that rounding left over from earlier groups, or took too many
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        owed += fraction * len(members)
        n_held = min(round(owed), len(members) - 1)
        held[random_state.permutation(members)[:n_held]] = True
        owed -= n_held
    return held
