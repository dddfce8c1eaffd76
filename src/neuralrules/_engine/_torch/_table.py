"""The rows of a session on the device, and batches of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from neuralrules._data._rows import Rows

CHUNK = 2**20  # rows that are copied at a time


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of some rows that a network looks at, with targets and weights.

    Rows lie one after the other, so that those of a batch, which are anywhere, are few long
    pieces of memory.

    Attributes
    ----------
    x : (n_rows, n_features + 1) float32
        The last column is of zeros, for rules with fewer columns than others.
    targets : (n_rows, 1) or (n_rows, n_targets) float32
        As in `Rows`.
    weights : (n_rows,) float32
    classes : (n_outputs, 1), optional
        The class that is +1 in each output, where targets are codes of classes.
    """

    x: Any
    targets: Any
    weights: Any
    classes: Any

    @classmethod
    def of(cls, rows: Rows, features: np.ndarray, device: Any) -> Table:
        x = torch.zeros((len(rows), len(features) + 1), device=device)
        for start in range(0, len(rows), CHUNK):
            some = np.take(rows.X[start : start + CHUNK], features, axis=1)
            x[start : start + CHUNK, : len(features)] = torch.from_numpy(some).to(device)
        classes = None
        if rows.task.are_classes:
            n_outputs = rows.task.n_outputs
            first = 1 if n_outputs == 1 else 0  # of two classes, the second
            classes = torch.arange(first, first + n_outputs, device=device)[:, None]
        targets, weights = (
            torch.tensor(array, device=device)
            for array in (rows.targets, rows.training_weights)
        )
        return cls(x, targets, weights, classes)

    def batch(self, numbers: Any) -> tuple[Any, Any, Any]:
        """Columns, targets as a loss takes them, and weights of the rows of such numbers."""
        return self.x[numbers].T.contiguous(), *self.batch_targets(numbers)

    def batch_targets(self, numbers: Any) -> tuple[Any, Any]:
        """The same without the columns."""
        targets = self.targets[numbers].T
        if self.classes is not None:
            targets = torch.where(targets == self.classes, 1.0, -1.0)
        return targets, self.weights[numbers]
