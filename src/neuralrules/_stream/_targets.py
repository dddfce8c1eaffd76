"""Surveys of targets: what a task must know about them, from one pass over a table."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np

from neuralrules._data._moments import ColumnMoments
from neuralrules._task._task import Task

MOST_CLASSES = 10_000  # a column with more different labels is not a target of classes


class TargetSurvey(Protocol):
    """What is known about the targets so far."""

    def add(self, y: np.ndarray, weights: np.ndarray, kept: np.ndarray) -> None:
        """Add rows with their training weights; keep the targets of rows marked in `kept`."""

    def join(self, other: Self) -> None:
        """Add the result of another survey, of other rows."""

    def examples(self) -> np.ndarray:
        """A few targets that give the same task as all targets: the classes, or the range."""

    def scaled(self, task: Task) -> Task:
        """The task with the centre and the scale of targets, from all rows with weight."""


class ClassSurvey:
    """The labels, and the number of rows of each label."""

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
        """Add sorted labels with the rows and the weight of each label."""
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
        assert self._labels is not None  # every table has rows
        return self._labels

    def scaled(self, task: Task) -> Task:
        return task

    @property
    def all_held(self) -> np.ndarray:
        """The classes without a single row that has weight in training, (n,)."""
        return self.examples()[self._counts[:, 1] == 0]

    @property
    def n_rows(self) -> np.ndarray:
        """The number of rows of each class, (n_classes,) int64."""
        return self._counts[:, 0].astype(np.int64)


class NumberSurvey:
    """The moments and the ranges of numbers."""

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
        assert self._moments is not None  # every table has rows
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
        if not task.loss.standardises_by_moments:  # by the median of a sample of the rows
            y, weights = (np.concatenate(part) for part in zip(*self._kept, strict=True))
            return task.scaled_by(y, weights)
        # These two numbers have the mean and the standard deviation of all targets.
        mean, scale = self._moments.mean, self._moments.scale
        return task.scaled_by(np.stack([mean - scale, mean + scale]), np.ones(2))
