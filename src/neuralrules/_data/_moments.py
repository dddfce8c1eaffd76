"""Means, deviations and ranges of columns, computed from pieces of a table."""

from __future__ import annotations

import numpy as np

# Squares of numbers below SMALL underflow. A column without larger numbers is multiplied by the
# power of two ENLARGED before it is squared. This changes no digit.
SMALL, ENLARGED = 2.0**-400, 2.0**600


class ColumnMoments:
    """Weighted means and deviations of columns, computed chunk by chunk. NaN is ignored."""

    def __init__(self, n_columns: int) -> None:
        self._weight = np.zeros(n_columns)
        self.mean = np.zeros(n_columns)
        # Sums of squared distances to the mean, multiplied by the square of the factor.
        self._squares = np.zeros(n_columns)
        self._factor = np.full(n_columns, ENLARGED)
        self._lowest = np.full(n_columns, np.inf)
        self._highest = np.full(n_columns, -np.inf)
        # The range of all rows, including rows without weight, which training does not use.
        self._ends = np.stack([self._lowest, self._highest])

    def add(self, columns: np.ndarray, weights: np.ndarray) -> None:
        """Add some rows (n_rows, n_columns) with their weights (n_rows,)."""
        present = ~np.isnan(columns)
        if present.all():  # this case needs no copy
            weight = np.full(columns.shape[1], weights.sum())
            mean = weights @ columns / np.where(weight > 0, weight, 1)
            distances = columns - mean
        else:
            weight = weights @ present
            mean = weights @ np.where(present, columns, 0) / np.where(weight > 0, weight, 1)
            distances = np.where(present, columns - mean, 0)
        counted = True if weights.all() else (weights > 0)[:, None]
        lowest = np.fmin.reduce(columns, where=counted, initial=np.inf)
        highest = np.fmax.reduce(columns, where=counted, initial=-np.inf)
        self._enlarge_only_small(np.stack([lowest, highest]))
        if counted is not True:
            distances[weights == 0] = 0  # they could overflow when multiplied by the factor
        if (self._factor > 1).any():
            distances *= self._factor
        squares = weights @ np.square(distances, out=distances)
        self._join(weight, mean, squares)
        self._lowest = np.minimum(self._lowest, lowest)
        self._highest = np.maximum(self._highest, highest)
        if counted is not True:
            lowest = np.fmin.reduce(columns, initial=np.inf)
            highest = np.fmax.reduce(columns, initial=-np.inf)
        self._ends[0] = np.minimum(self._ends[0], lowest)
        self._ends[1] = np.maximum(self._ends[1], highest)

    def join(self, other: ColumnMoments) -> None:
        """Add the rows that `other` has seen.

        If `other` has seen one chunk, the result equals that of `add` to the last bit.
        """
        self._enlarge_only_small(np.stack([other._lowest, other._highest]))
        enlarged = other._factor / self._factor
        squares = other._squares / enlarged / enlarged
        self._join(other._weight, other.mean, squares)
        self._lowest = np.minimum(self._lowest, other._lowest)
        self._highest = np.maximum(self._highest, other._highest)
        self._ends[0] = np.minimum(self._ends[0], other._ends[0])
        self._ends[1] = np.maximum(self._ends[1], other._ends[1])

    def _join(self, weight: np.ndarray, mean: np.ndarray, squares: np.ndarray) -> None:
        """Join the moments of two samples by the rule of Chan, Golub and LeVeque."""
        total = np.where(self._weight + weight > 0, self._weight + weight, 1)
        step = np.where(weight > 0, mean - self.mean, 0)
        self._squares += squares + (self._factor * step) ** 2 * self._weight * weight / total
        # The mean of the first sample keeps its bits: it is a quotient, and a quotient that is
        # multiplied by its divisor and divided by it again is the same number.
        self.mean += step * weight / total
        self._weight += weight

    @property
    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and the highest number of each column.

        For a column without any number, both are its mean.
        """
        lowest, highest = np.where(self._ends[0] <= self._ends[1], self._ends, self.mean)
        return lowest, highest

    def _enlarge_only_small(self, ends: np.ndarray) -> None:
        """Stop multiplying a column by ENLARGED as soon as it has a number that is not small.

        `ends` (2, n_columns) are the ranges of the new rows, infinite for columns without any
        number.
        """
        largest = np.where(np.isfinite(ends), np.abs(ends), 0).max(axis=0)
        grown = (self._factor > 1) & (largest > SMALL)
        self._squares[grown] = self._squares[grown] / ENLARGED / ENLARGED
        self._factor[grown] = 1.0

    @property
    def scale(self) -> np.ndarray:
        """Standard deviations; 1 for columns that are constant or have no numbers."""
        deviation = np.sqrt(self._squares / np.where(self._weight > 0, self._weight, 1))
        deviation /= self._factor
        # Because of rounding, a constant column may have a deviation, and a column with a tiny
        # range may have none.
        varies = (self._lowest < self._highest) & (deviation > 0)
        return np.where(varies, deviation, 1.0)
