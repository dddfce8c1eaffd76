"""A table in memory as a source of rows: encoded, and split for early stopping."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from neuralrules._data._encoder import Encoder, warn_of_rare
from neuralrules._data._rows import Rows
from neuralrules._engine import Engine
from neuralrules._fitting._settings import Settings
from neuralrules._fitting._targets import encode_targets, learn_task, rows_with_targets
from neuralrules._network._network import Network
from neuralrules._rules._rules import Rules
from neuralrules._training._training import Training, train


@dataclass(frozen=True, eq=False)
class EncodedTable:
    """Encoded rows, ready to grow rules from and to train on.

    Attributes
    ----------
    rows : Rows
        The rows in memory. If the table is not in memory, they are a sample of its rows.
    training, validation : (n,) int32
        Indices into `rows`: the rows to train on, and the rows that decide when to stop early.
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
        """The rules with counts of all training rows; `network` is not trained yet."""
        return rules  # when the rules grew, they counted all rows in memory

    def n_training(self, order: np.ndarray) -> int:
        """The number of rows to train on, including rows that are not in memory."""
        return len(order)

    def trainer(self, order: np.ndarray, engine: Engine) -> Training:
        """A function that trains networks on all training rows.

        `order` holds the indices of the training rows in memory, in the order of training.
        """
        return lambda state, plan, constraints: train(
            state,
            self.rows,
            order,
            self.validation,
            plan,
            engine,
            self.random_state,
            constraints,
        )


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
        rows = self.without_columns(settings)
        training, validation = split(rows, random_state, settings)
        scaling_weights = rows.training_weights.copy()
        scaling_weights[validation] = 0
        rows = self.with_scaled_targets(rows, scaling_weights)
        encoder, rows = self.with_columns(rows, scaling_weights, settings)
        warn_of_rare(encoder)
        return EncodedTable(encoder, rows, training, validation, random_state)

    def without_columns(self, settings: Settings) -> Rows:
        """The targets and the weights of the rows."""
        task = learn_task(self.y, self.weights, settings, self.classes)
        no_columns = np.empty((len(self.y), 0), np.float32)
        return rows_with_targets(no_columns, self.y, self.weights, task, settings.class_weight)

    def with_scaled_targets(self, rows: Rows, weights: np.ndarray) -> Rows:
        """The rows with numbers to predict standardised under `weights` (n_rows,)."""
        if rows.task.are_classes:
            return rows
        task = rows.task.scaled_by(self.y.reshape(len(self.y), -1), weights)
        return replace(rows, task=task, targets=encode_targets(task, self.y))

    def with_columns(
        self, rows: Rows, weights: np.ndarray, settings: Settings
    ) -> tuple[Encoder, Rows]:
        """Encode the columns, scaled under `weights` (n_rows,), and add them to the rows."""
        encoder, X = Encoder.fit_transform(
            self.X,
            weights,
            named=self.named,
            scaling=settings.scaling,
            missing=settings.missing,
        )
        return encoder, replace(rows, X=X)


def split(
    rows: Rows, random_state: np.random.RandomState, settings: Settings
) -> tuple[np.ndarray, np.ndarray]:
    """Split the rows that have weight into training and validation rows, int32 indices."""
    weighted = np.flatnonzero(rows.training_weights).astype(np.int32)
    n_rows, nothing = len(weighted), weighted[:0]
    if not settings.stops_early(n_rows):
        return weighted, nothing
    groups = rows.targets[weighted, 0] if rows.task.are_classes else np.zeros(n_rows)
    held = held_out(groups, settings.validation_fraction, random_state)
    if held.any() and not held.all():
        return weighted[~held], weighted[held]
    if settings.early_stopping == "auto":
        return weighted, nothing
    raise ValueError(
        f"validation_fraction={settings.validation_fraction} of {n_rows} rows leaves "
        f"{held.sum()} to validate and {n_rows - held.sum()} to train on, since one "
        "row of each class stays in training. "
        "Change validation_fraction, add rows, or set early_stopping=False."
    )


def held_out(
    groups: np.ndarray, fraction: float, random_state: np.random.RandomState
) -> np.ndarray:
    """Which rows to hold out, (n_rows,) bool: a random share of each group, never all of it.

    `groups` (n_rows,) are the classes of the rows. A model could not learn a class without
    training rows.
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
