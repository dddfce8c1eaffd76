"""Passes over a table in files that come before its training.

Their products of matrices are small: several threads of a BLAS would rather wait for each
other than help, so each pass has one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from neuralrules._data._rows import Rows
from neuralrules._data._scaling import MAX_ROWS
from neuralrules._data._survey import Survey
from neuralrules._rules._rules import Rules, margin_scores
from neuralrules._rules._sources import target_means
from neuralrules._stream._positions import GROWING, QUANTILES, chosen
from neuralrules._stream._progress import RowProgress
from neuralrules._stream._rows import EncodedStream, RowStream, at, joined
from neuralrules._stream._targets import TargetSurvey


@threadpool_limits.wrap(limits=1, user_api="blas")
def surveyed(
    stream: RowStream, targets: TargetSurvey, *, keeps: bool, bar: RowProgress
) -> Survey:
    """The first pass: what is in the columns, and in the targets.

    With `keeps`, numbers of a sample are kept for their quantiles.
    """
    survey = Survey(stream.features)
    bar.begin_pass(stream.table.n_rows)
    share = MAX_ROWS / stream.table.n_rows if keeps else 0.0
    for raw in stream.rows():
        kept = chosen(raw.first, len(raw.weights), share, stream.seed, QUANTILES)
        kept &= raw.own_weights > 0
        with at(raw.group):
            survey.add(raw.X, raw.own_weights, kept)
            targets.add(raw.y, raw.own_weights, kept)
        bar.add(len(raw.weights), "Looking at columns")
    return survey


class Gathered(NamedTuple):
    """Rows that are kept in memory.

    Attributes
    ----------
    sample : Rows
        What trees grow from, and what a model is measured on in the end.
    held : (n_sample,) bool
        Which of them trees must not see.
    validation : Rows
        What training stops early on; may be empty.
    n_training : int
        All rows to train on.
    weight : float
        Their weight in training.
    all_weight : float
        That of all rows outside of it.
    """

    sample: Rows
    held: np.ndarray
    validation: Rows
    n_training: int
    weight: float
    all_weight: float


def gathered(encoded: EncodedStream, n_sample: int, bar: RowProgress) -> Gathered:
    """The second pass: a sample of about `n_sample` rows, and those held out."""
    stream = encoded.stream
    bar.begin_pass(stream.table.n_rows)
    share = n_sample / stream.table.n_rows
    samples, held, validation = [], [], []
    n_training, weight, all_weight = 0, 0.0, 0.0
    for raw in stream.rows():
        rows = encoded.encoded(raw)
        counted = rows.training_weights > 0
        kept = counted & chosen(raw.first, len(rows), share, stream.seed, GROWING)
        samples.append(rows.take(np.flatnonzero(kept)))
        held.append(raw.held[kept])
        validation.append(rows.take(np.flatnonzero(counted & raw.held)))
        own = counted & ~raw.held
        n_training += int(np.count_nonzero(own))
        weight += float(rows.training_weights[own].sum(dtype=np.float64))
        all_weight += float(rows.weights.sum(dtype=np.float64))
        bar.add(len(rows), "Drawing a sample")
    return Gathered(
        joined(samples),
        np.concatenate(held),
        joined(validation),
        n_training,
        weight,
        all_weight,
    )


@threadpool_limits.wrap(limits=1, user_api="blas")
def counted(rules: Rules, encoded: EncodedStream, kept: Gathered, bar: RowProgress) -> Rules:
    """The third pass: the rules with the training rows that each of them covers."""
    bar.begin_pass(kept.n_training)
    n, totals, n_training = np.zeros(rules.n_rules), np.zeros_like(rules.totals), 0.0
    for some in encoded.training_rows():
        weights = some.training_weights.astype(np.float64)
        sums = weights[:, None] * np.hstack([np.ones((len(some), 1)), some.one_column_each()])
        covered = rules.covers(some.X).T
        found = np.array([inside.astype(np.float64) @ sums for inside in covered])
        n, totals = n + found[:, 0], totals + found[:, 1:]
        n_training += float(weights.sum())
        bar.add(len(some), "Counting rows of rules")
    covering = n > 0
    scores = np.zeros(rules.n_rules)
    scores[covering] = margin_scores(
        n[covering],
        totals[covering],
        classes=rules.n_classes > 0,
        mean=target_means(kept.sample),  # 0, or that of some rows
    )
    return replace(rules, n=n, totals=totals, scores=scores, n_training=n_training)
