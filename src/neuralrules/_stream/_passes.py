"""The passes over a table before training.

Each pass uses a single BLAS thread. Its matrix products are so small that several threads
would only wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from neuralrules._data._rows import Rows
from neuralrules._data._scaling import MAX_ROWS
from neuralrules._data._survey import Survey
from neuralrules._io._progress import RowProgress
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
from neuralrules._stream._targets import TargetSurvey


def surveyed(
    stream: RowStream, targets: TargetSurvey, *, keeps: bool, bar: RowProgress
) -> Survey:
    """The first pass: learn what the columns and the targets hold.

    With `keeps`, the numbers of a sample of rows are kept, to compute quantiles.
    """
    survey = Survey(stream.features, stream.missing)
    bar.begin_pass(stream.table.n_rows)
    for raw in stream.rows():
        survey_piece(stream, raw, survey, targets, keeps=keeps)
        bar.add(len(raw.weights), "Looking at columns")
    return survey


@threadpool_limits.wrap(limits=1, user_api="blas")
def survey_piece(
    stream: RowStream, raw: RawRows, survey: Survey, targets: TargetSurvey, *, keeps: bool
) -> None:
    """Add some rows to the surveys of the columns and of the targets."""
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


def gathered(encoded: EncodedStream, n_sample: int, bar: RowProgress) -> Gathered:
    """The second pass: keep a sample of about `n_sample` rows, and the rows held out."""
    bar.begin_pass(encoded.stream.table.n_rows)
    pieces = []
    for raw in encoded.stream.rows():
        pieces.append(gathered_piece(encoded, raw, encoded.encoded(raw), n_sample))
        bar.add(len(raw.weights), "Drawing a sample")
    return joined_pieces(pieces)


def gathered_piece(encoded: EncodedStream, raw: RawRows, rows: Rows, n_sample: int) -> Gathered:
    """What is kept of some rows, given both before encoding (`raw`) and encoded (`rows`)."""
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


class Counts(NamedTuple):
    """Sums over some training rows.

    Attributes
    ----------
    inside : (n_rules, 1 + n_classes or n_targets) float64
        For each rule: the weight of the rows that the rule covers, then the weighted sums of
        the targets of these rows. Classes have one column each.
    all : float
        The weight of all rows, whether a rule covers them or not.
    """

    inside: np.ndarray
    all: float


def counted(rules: Rules, encoded: EncodedStream, kept: Gathered, bar: RowProgress) -> Rules:
    """The third pass: count the training rows that each rule covers."""
    bar.begin_pass(kept.n_training)

    def pieces() -> Iterator[Counts]:
        for rows in encoded.training_rows():
            yield counted_piece(rules, rows)
            bar.add(len(rows), "Counting rows of rules")

    return with_counts(rules, pieces(), kept)


@threadpool_limits.wrap(limits=1, user_api="blas")
def counted_piece(rules: Rules, rows: Rows) -> Counts:
    """Count the rows that each rule covers, among some training rows."""
    weights = rows.training_weights.astype(np.float64)
    sums = weights[:, None] * np.hstack([np.ones((len(rows), 1)), rows.one_column_each()])
    covered = rules.covers(rows.X).T
    inside = np.array([inside.astype(np.float64) @ sums for inside in covered])
    return Counts(inside, float(weights.sum()))


def with_counts(rules: Rules, pieces: Iterable[Counts], kept: Gathered) -> Rules:
    """The rules with the counts of all training rows, from the counts of each piece."""
    sums, n_training = np.zeros((rules.n_rules, 1 + rules.totals.shape[1])), 0.0
    for piece in pieces:
        sums, n_training = sums + piece.inside, n_training + piece.all
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
