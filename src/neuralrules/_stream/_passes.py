"""What each pass over a table learns before training, piece by piece.

The pieces are read on one machine, or by the tasks of a cluster. Each piece uses a single BLAS
thread: its matrix products are so small that several threads would only wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from neuralrules._data._moments import ColumnMoments
from neuralrules._data._rows import Rows
from neuralrules._data._scaling import MAX_ROWS
from neuralrules._data._survey import Survey
from neuralrules._rules._rules import Rules, margin_scores
from neuralrules._rules._sources import target_means
from neuralrules._stream._rows import (
    GROWING,
    QUANTILES,
    EncodedStream,
    RawRows,
    RowStream,
    chosen,
    joined,
    naming,
)
from neuralrules._task._task import Task

MOST_CLASSES = 10_000  # a column with more different labels is not a target of classes


class ClassSurvey:
    """The labels of a target so far, and the number of rows of each label."""

    def __init__(self) -> None:
        self._labels: np.ndarray | None = None
        self._counts: np.ndarray = np.zeros((0, 2))  # rows, and their weight in training

    def add(self, y: np.ndarray, weights: np.ndarray, kept: np.ndarray) -> None:
        """Add rows with their training weights."""
        found, codes = np.unique(y, return_inverse=True)
        counts = np.stack([np.bincount(codes), np.bincount(codes, weights)], axis=1)
        self._add_counts(found, counts)

    def join(self, other: ClassSurvey) -> None:
        """Add the result of another survey, of other rows."""
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
        """The classes: a few targets that give the same task as all targets."""
        assert self._labels is not None  # every table has rows
        return self._labels

    @property
    def all_held(self) -> np.ndarray:
        """The classes without a single row that has weight in training, (n,)."""
        return self.examples()[self._counts[:, 1] == 0]

    @property
    def n_rows(self) -> np.ndarray:
        """The number of rows of each class, (n_classes,) int64."""
        return self._counts[:, 0].astype(np.int64)


class NumberSurvey:
    """The moments and the ranges of targets that are numbers so far."""

    def __init__(self) -> None:
        self._moments: ColumnMoments | None = None
        self._kept: list[tuple[np.ndarray, np.ndarray]] = []
        self._flat, self._n_rows = True, 0

    def add(self, y: np.ndarray, weights: np.ndarray, kept: np.ndarray) -> None:
        """Add rows with their training weights; keep the targets of rows marked in `kept`."""
        columns = y.reshape(len(y), -1)
        if self._moments is None:
            self._moments, self._flat = ColumnMoments(columns.shape[1]), y.ndim == 1
        self._moments.add(columns, weights)
        self._kept.append((columns[kept], weights[kept]))
        self._n_rows += len(y)

    def join(self, other: NumberSurvey) -> None:
        """Add the result of another survey, of other rows."""
        if other._moments is None:
            return
        if self._moments is None:
            self._moments, self._flat = ColumnMoments(len(other._moments.mean)), other._flat
        self._moments.join(other._moments)
        self._kept += other._kept
        self._n_rows += other._n_rows

    def examples(self) -> np.ndarray:
        """The ends of the range: a few targets that give the same task as all targets."""
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
        """The task with the centre and the scale of targets, from all rows with weight."""
        assert self._moments is not None
        if not task.loss.standardises_by_moments:  # by the median of a sample of the rows
            y, weights = (np.concatenate(part) for part in zip(*self._kept, strict=True))
            return task.scaled_by(y, weights)
        # These two numbers have the mean and the standard deviation of all targets.
        mean, scale = self._moments.mean, self._moments.scale
        return task.scaled_by(np.stack([mean - scale, mean + scale]), np.ones(2))


TargetSurvey: TypeAlias = ClassSurvey | NumberSurvey


@threadpool_limits.wrap(limits=1, user_api="blas")
def survey_piece(
    stream: RowStream, raw: RawRows, survey: Survey, targets: TargetSurvey, *, keeps: bool
) -> None:
    """The first pass: add some rows to the surveys of the columns and of the targets.

    With `keeps`, the numbers of a sample of rows are kept, to compute quantiles.
    """
    share = MAX_ROWS / stream.table.n_rows if keeps else 0.0
    kept = chosen(raw.first, len(raw.weights), share, stream.seed, QUANTILES)
    weights = raw.scaling_weights
    kept &= weights > 0
    with naming(raw.place):
        survey.add(raw.X, weights, kept)
        targets.add(raw.y, weights, kept)


class Gathered(NamedTuple):
    """The rows of a table that are kept in memory, and counts of all rows.

    Attributes
    ----------
    sample : Rows
        The rows that trees grow from, and that the fitted model is measured on.
    held : (n_sample,) bool
        Which rows of the sample are held out, so that trees must not grow from them.
    validation : Rows
        The held-out rows that decide when to stop early; may be empty.
    n_training : int
        The number of all rows to train on.
    weight : float
        The sum of the training weights of all rows to train on.
    all_weight : float
        The sum of the weights of all rows of the table.
    """

    sample: Rows
    held: np.ndarray
    validation: Rows
    n_training: int
    weight: float
    all_weight: float


def gathered_piece(encoded: EncodedStream, raw: RawRows, rows: Rows, n_sample: int) -> Gathered:
    """The second pass: what is kept of some rows, given before and after encoding."""
    stream = encoded.stream
    share = n_sample / stream.table.n_rows
    counted = rows.training_weights > 0
    kept = counted & chosen(raw.first, len(rows), share, stream.seed, GROWING)
    training = counted & ~raw.held
    return Gathered(
        rows.take(np.flatnonzero(kept)),
        raw.held[kept],
        rows.take(np.flatnonzero(counted & raw.held)),
        int(np.count_nonzero(training)),
        float(rows.training_weights[training].sum(dtype=np.float64)),
        float(rows.weights.sum(dtype=np.float64)),
    )


def joined_pieces(pieces: Iterable[Gathered]) -> Gathered:
    """Join what is kept of each piece of a table, in the order of the pieces."""
    samples, held, validation, n_training, weights, all_weights = zip(*pieces, strict=True)
    return Gathered(
        joined(samples),
        np.concatenate(held),
        joined(validation),
        sum(n_training),
        sum(weights),
        sum(all_weights),
    )


@threadpool_limits.wrap(limits=1, user_api="blas")
def counted_piece(rules: Rules, rows: Rows) -> tuple[np.ndarray, float]:
    """The third pass: count the rows that each rule covers, among some training rows.

    Returns an array (n_rules, 1 + n_classes or n_targets) float64 and the weight of all rows.
    The array has for each rule the weight of the rows that the rule covers, then the weighted
    sums of the targets of these rows. Classes have one column each.
    """
    weights = rows.training_weights.astype(np.float64)
    sums = weights[:, None] * np.hstack([np.ones((len(rows), 1)), rows.one_column_each()])
    covered = rules.covers(rows.X).T
    inside = np.array([inside.astype(np.float64) @ sums for inside in covered])
    return inside, float(weights.sum())


def with_counts(
    rules: Rules, pieces: Iterable[tuple[np.ndarray, float]], kept: Gathered
) -> Rules:
    """The rules with the counts of all training rows, from the counts of each piece."""
    sums, n_training = np.zeros((rules.n_rules, 1 + rules.totals.shape[1])), 0.0
    for inside, weight in pieces:
        sums, n_training = sums + inside, n_training + weight
    n, totals = sums[:, 0].copy(), sums[:, 1:].copy()
    covering = n > 0
    scores = np.zeros(rules.n_rules)
    scores[covering] = margin_scores(
        n[covering],
        totals[covering],
        classes=rules.n_classes > 0,
        mean=target_means(kept.sample),  # 0, or the mean of the sample
    )
    return replace(rules, n=n, totals=totals, scores=scores, n_training=n_training)
