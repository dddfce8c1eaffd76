"""What a task has to know of the targets, gathered while a table passes by once."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np

from neuralrules._data._moments import ColumnMoments
from neuralrules._task._task import Task

MOST_CLASSES = 10_000  # more different labels are none


class TargetSurvey(Protocol):
    """The targets as far as they have been seen."""

    def add(self, y: np.ndarray, weights: np.ndarray, kept: np.ndarray) -> None:
        """Take in some rows, with their weights in training; those of `kept` stay."""

    def join(self, other: Self) -> None:
        """Take in what was seen of the targets elsewhere."""

    def examples(self) -> np.ndarray:
        """Few targets of which the same is learned as of all: classes, or the range."""

    def scaled(self, task: Task) -> Task:
        """A task with the centre and the scale of the rows that have weight."""


class ClassSurvey:
    """Labels, with the rows of each of them."""

    def __init__(self) -> None:
        self._labels: np.ndarray | None = None
        self._counts: np.ndarray = np.zeros((0, 2))  # rows, and their weight in training

    def add(self, y: np.ndarray, weights: np.ndarray, kept: np.ndarray) -> None:
        found, codes = np.unique(y, return_inverse=True)
        counts = np.stack([np.bincount(codes), np.bincount(codes, weights)], axis=1)
        self._add_counts(found, counts)

    def join(self, other: ClassSurvey) -> None:
        if other._labels is not None:
            self._add_counts(other._labels, other._counts)

    def _add_counts(self, found: np.ndarray, counts: np.ndarray) -> None:
        """Add labels, in their order, with rows and weight of each."""
        if self._labels is None:
            self._labels, self._counts = found, counts
            return
        labels = np.unique(np.concatenate([self._labels, found]))
        joined = np.zeros((len(labels), 2))
        joined[np.searchsorted(labels, self._labels)] += self._counts
        joined[np.searchsorted(labels, found)] += counts
        self._labels, self._counts = labels, joined
        if len(labels) > MOST_CLASSES:
            raise ValueError(
                f"y has more than {MOST_CLASSES:,} different labels, such as {labels[0]!r}. "
                "Check that it is the target."
            )

    def examples(self) -> np.ndarray:
        assert self._labels is not None  # no table is without rows
        return self._labels

    def scaled(self, task: Task) -> Task:
        return task

    @property
    def all_held(self) -> np.ndarray:
        """Classes of which no row has weight in training, (n,)."""
        return self.examples()[self._counts[:, 1] == 0]

    @property
    def n_rows(self) -> np.ndarray:
        """Rows of each class, (n_classes,) int64."""
        return self._counts[:, 0].astype(np.int64)


class NumberSurvey:
    """Moments and ranges of numbers."""

    def __init__(self) -> None:
        self._moments: ColumnMoments | None = None
        self._kept: list[tuple[np.ndarray, np.ndarray]] = []
        self._flat, self._n_rows = True, 0

    def add(self, y: np.ndarray, weights: np.ndarray, kept: np.ndarray) -> None:
        columns = y.reshape(len(y), -1)
        if self._moments is None:
            self._moments, self._flat = ColumnMoments(columns.shape[1]), y.ndim == 1
        self._moments.add(columns, weights)
        self._kept.append((columns[kept], weights[kept]))
        self._n_rows += len(y)

    def join(self, other: NumberSurvey) -> None:
        if other._moments is None:
            return
        if self._moments is None:
            self._moments, self._flat = ColumnMoments(len(other._moments.mean)), other._flat
        self._moments.join(other._moments)
        self._kept += other._kept
        self._n_rows += other._n_rows

    def examples(self) -> np.ndarray:
        assert self._moments is not None  # no table is without rows
        lowest, highest = self._moments.ranges
        constant = np.flatnonzero(lowest == highest)
        if len(constant):
            raise ValueError(
                f"Target {constant[0]} of y has a single value, {lowest[constant[0]]}, in all "
                f"{self._n_rows:,} rows: there is nothing to learn. Check that y is the target "
                "and not filtered."
            )
        ends = np.stack([lowest, highest])
        return ends[:, 0] if self._flat else ends

    def scaled(self, task: Task) -> Task:
        assert self._moments is not None
        if not task.loss.standardises_by_moments:  # a median of a sample of the rows
            y, weights = (np.concatenate(part) for part in zip(*self._kept, strict=True))
            return task.scaled_by(y, weights)
        # Two numbers with the mean and the deviation of all.
        mean, scale = self._moments.mean, self._moments.scale
        return task.scaled_by(np.stack([mean - scale, mean + scale]), np.ones(2))
