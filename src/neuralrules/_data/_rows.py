"""Encoded rows: the columns, targets and weights that all code after the encoder uses."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from neuralrules._task._class_losses import signs_of_codes
from neuralrules._task._task import Task


@dataclass(frozen=True, eq=False)
class Rows:
    """Encoded rows and their targets.

    Attributes
    ----------
    X : (n_rows, n_columns) float32
        Encoded, standardised columns.
    targets : (n_rows, 1) or (n_rows, n_targets) float32
        Class codes 0, 1, ... or standardised numbers.
    weights : (n_rows,) float32
        The weight of each row.
    training_weights : (n_rows,) float32
        The weight of each row in training and in the loss. It includes class weights.
    task : Task
    """

    X: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    training_weights: np.ndarray
    task: Task

    def __len__(self) -> int:
        return len(self.targets)

    def take(self, rows: np.ndarray | slice) -> Rows:
        return replace(
            self,
            X=self.X[rows],
            targets=self.targets[rows],
            weights=self.weights[rows],
            training_weights=self.training_weights[rows],
        )

    @property
    def codes(self) -> np.ndarray:
        """Class codes (n_rows,) int64."""
        return self.targets[:, 0].astype(np.int64)

    @property
    def loss_targets(self) -> np.ndarray:
        """Targets for a loss, (n_rows, n_outputs) float64, with classes coded -1 and +1."""
        targets = self.targets.astype(np.float64)
        if self.task.are_classes:
            return signs_of_codes(targets[:, 0], self.task.n_outputs)
        return targets

    @property
    def tree_targets(self) -> np.ndarray:
        """Targets for scikit-learn's trees, (n_rows,) or (n_rows, n_targets)."""
        return self.targets[:, 0] if self.targets.shape[1] == 1 else self.targets

    def one_column_each(self) -> np.ndarray:
        """Indicators of classes, or the targets, (n_rows, n_classes or n_targets) float32."""
        if not self.task.are_classes:
            return self.targets
        return (self.targets == np.arange(self.task.n_classes)).astype(np.float32)

    def prior(self) -> np.ndarray:
        """The outputs before a model has seen any column, (n_outputs,) float64.

        Rows count by their training weights.
        """
        weights = self.training_weights
        one_group = np.zeros(len(self), np.int64)
        n = np.array([weights.sum(dtype=np.float64)])
        return self.task.prior(n, self.totals(one_group, weights, 1))

    def best_constant(self) -> np.ndarray:
        """The constant outputs with the smallest mean loss, (n_outputs,) float64."""
        return self.task.loss.constant(self.loss_targets, self.training_weights)

    def mean_loss(self, outputs: np.ndarray) -> float:
        """The mean loss of outputs (n_rows, n_outputs), or of constant outputs (n_outputs,)."""
        return float(np.average(self.losses(outputs), weights=self.training_weights))

    def losses(self, outputs: np.ndarray) -> np.ndarray:
        """The loss of each row, (n_rows,) float64, for the same outputs as in `mean_loss`."""
        targets = self.loss_targets
        return self.task.loss.evaluate(np.broadcast_to(outputs, targets.shape), targets)[0]

    def totals(self, groups: np.ndarray, weights: np.ndarray, n_groups: int) -> np.ndarray:
        """The weight of each class, or the weighted sum of each target, in groups of rows.

        Parameters
        ----------
        groups : (n_rows,) int
        weights : (n_rows,) float32
        n_groups : int

        Returns
        -------
        (n_groups, n_classes or n_targets) float64
        """
        n_classes = self.task.n_classes
        if n_classes:
            cells = groups * n_classes + self.targets[:, 0].astype(groups.dtype)
            counts = np.bincount(cells, weights, minlength=n_groups * n_classes)
            return counts.reshape(n_groups, n_classes)
        sums = [np.bincount(groups, weights * y, minlength=n_groups) for y in self.targets.T]
        return np.stack(sums, axis=1)
