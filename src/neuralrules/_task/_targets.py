"""What the network is trained to predict: classes or numbers, as flat arrays.

A classifier and a regressor differ only here and in their loss.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Targets:
    """Encoded targets of the training rows.

    Attributes
    ----------
    array : (n_rows, 1) or (n_rows, n_targets) float32
        Class codes 0, 1, ... or standardised regression targets.
    n_classes : int
        Number of classes; 0 for a regression.
    mean, scale : (n_targets,) float64
        Undo the standardisation of a regression: mean + scale * array.
    """

    array: np.ndarray
    n_classes: int
    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def from_classes(cls, codes: np.ndarray, n_classes: int) -> Targets:
        array = codes.astype(np.float32)[:, None]
        return cls(array, n_classes, mean=np.zeros(1), scale=np.ones(1))

    @classmethod
    def from_numbers(cls, y: np.ndarray, weights: np.ndarray) -> Targets:
        """Standardise y (n_rows, n_targets) by its weighted mean and deviation."""
        mean = np.average(y, axis=0, weights=weights)
        deviation = np.sqrt(np.average((y - mean) ** 2, axis=0, weights=weights))
        return cls.standardised(y, mean, np.where(deviation > 0, deviation, 1.0))

    @classmethod
    def standardised(cls, y: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> Targets:
        return cls(((y - mean) / scale).astype(np.float32), 0, mean=mean, scale=scale)

    def take(self, rows: np.ndarray | slice) -> Targets:
        return replace(self, array=self.array[rows])

    @property
    def are_classes(self) -> bool:
        return self.n_classes > 0

    @property
    def n_outputs(self) -> int:
        """Outputs of the network: one for two classes, else one a class or target."""
        if self.are_classes:
            return 1 if self.n_classes == 2 else self.n_classes
        return self.array.shape[1]

    @property
    def tree_targets(self) -> np.ndarray:
        """The targets as scikit-learn's trees take them."""
        return self.array[:, 0] if self.array.shape[1] == 1 else self.array

    def one_column_each(self) -> np.ndarray:
        """0 and 1 for each class, or the targets: (n_rows, n_classes or n_targets)."""
        if not self.are_classes:
            return self.array
        return (self.array == np.arange(self.n_classes)).astype(np.float32)

    def totals(self, groups: np.ndarray, weights: np.ndarray, n_groups: int) -> np.ndarray:
        """Weight of each class, or weighted sum of each target, in groups of rows.

        Parameters
        ----------
        groups : (n_rows,) int
        weights : (n_rows,) float32
        n_groups : int

        Returns
        -------
        (n_groups, n_classes or n_targets) float64
        """
        if self.are_classes:
            cells = groups * self.n_classes + self.array[:, 0].astype(groups.dtype)
            counts = np.bincount(cells, weights, minlength=n_groups * self.n_classes)
            return counts.reshape(n_groups, self.n_classes)
        sums = [np.bincount(groups, weights * y, minlength=n_groups) for y in self.array.T]
        return np.stack(sums, axis=1)

    def leaf_values(self, n: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """Value c of groups of rows: the mean target, with classes coded -1 and +1.

        For two classes c = (n+ - n-) / n, one output; for more, the same for each
        class against the others.

        Parameters
        ----------
        n : (n_groups,) float64
        totals : (n_groups, n_classes or n_targets) float64

        Returns
        -------
        (n_groups, n_outputs) float64
        """
        means = totals / np.where(n > 0, n, 1)[:, None]
        if not self.are_classes:
            return means
        return 2 * means[:, 1:] - 1 if self.n_classes == 2 else 2 * means - 1
