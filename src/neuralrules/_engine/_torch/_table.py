"""The rows of a session on the device, and batches of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from neuralrules._data._rows import Rows

CHUNK = 2**20  # rows that are copied at a time


class Table:
    """The columns of some rows that a network looks at, with targets and weights.

    Rows lie one after the other, so that those of a batch, which are anywhere, are few long
    pieces of memory. A last column of zeros is for rules with fewer columns than others.
    """

    def __init__(self, rows: Rows, features: np.ndarray, device: Any) -> None:
        n_rows, n_features = len(rows), len(features)
        self.x = torch.zeros((n_rows, n_features + 1), device=device)
        for start in range(0, n_rows, CHUNK):
            some = np.take(rows.X[start : start + CHUNK], features, axis=1)
            self.x[start : start + CHUNK, :n_features] = torch.from_numpy(some).to(device)
        self.targets = torch.tensor(rows.targets, device=device)
        self.weights = torch.tensor(rows.training_weights, device=device)
        self._classes = None
        if rows.task.are_classes:
            # Which code is +1: of two classes, one output, the second.
            n_outputs = rows.task.n_outputs
            first = 1 if n_outputs == 1 else 0
            self._classes = torch.arange(first, first + n_outputs, device=device)

    def batch(self, numbers: Any) -> tuple[Any, Any, Any]:
        """Columns, targets as a loss takes them, and weights of the rows of such numbers."""
        targets = self.targets[numbers].T
        if self._classes is not None:
            targets = torch.where(targets == self._classes[:, None], 1.0, -1.0)
        return self.x[numbers].T.contiguous(), targets, self.weights[numbers]
