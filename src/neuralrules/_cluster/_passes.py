"""The passes of `neuralrules._stream._passes`, with one Ray task for each piece of the table.

The results of the tasks are joined in the order of the pieces. So every sum has the same
rounding errors for any number of machines, even for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neuralrules._cluster._connection import Workers, load_ray, plain_cluster_errors
from neuralrules._cluster._table import Blocks, DatasetTable, Piece
from neuralrules._cluster._training import ClusterTraining
from neuralrules._data._rows import Rows
from neuralrules._data._survey import Survey
from neuralrules._engine._protocol import Engine
from neuralrules._rules._rules import Rules
from neuralrules._stream._checkpoint import Checkpoint
from neuralrules._stream._passes import (
    Gathered,
    TargetSurvey,
    counted_piece,
    gathered_piece,
    joined_pieces,
    survey_piece,
    with_counts,
)
from neuralrules._stream._rows import EncodedStream, RawRows, RowStream, without_held
from neuralrules._training._training import Training


class Cluster:
    """Implements `neuralrules._stream._source.Machines` on a Ray cluster.

    The passes use all cores that are free, and `workers` train. Each of the `trainings` so far
    records its cost.
    """

    def __init__(self, blocks: Blocks, workers: Workers) -> None:
        self._blocks, self._workers = blocks, workers
        self._refs: list[Any] = []  # encoded rows to train on, piece by piece
        self._lengths: list[int] = []
        self.trainings: list[ClusterTraining] = []

    def surveyed(self, stream: RowStream, targets: TargetSurvey, *, keeps: bool) -> Survey:
        ray = load_ray()
        task, shipped = ray.remote(surveyed_task), ray.put((stream, targets))
        found = Survey(stream.features, stream.missing)
        with plain_cluster_errors():
            pieces = self._blocks.pieces(len(stream.columns))
            made = [task.remote(shipped, keeps, piece, *refs) for piece, refs in pieces]
            for survey, seen in results(made):
                found.join(survey)
                targets.join(seen)
        return found

    def gathered(self, rows: EncodedStream, n_sample: int) -> Gathered:
        ray = load_ray()
        task, shipped = ray.remote(num_returns=2)(gathered_task), ray.put(rows)
        pieces = self._blocks.pieces(len(rows.stream.columns))
        made = [task.remote(shipped, n_sample, piece, *refs) for piece, refs in pieces]
        with plain_cluster_errors():
            gathered = results([kept for kept, _ in made])
        self._refs = [training for _, training in made]
        self._lengths = [piece.n_training for piece in gathered]
        self._blocks = Blocks([], [])  # the raw rows are no longer needed
        return joined_pieces(gathered)

    def counted(self, rules: Rules, rows: EncodedStream, kept: Gathered) -> Rules:
        ray = load_ray()
        task, shipped = ray.remote(counted_piece), ray.put(rules)
        with plain_cluster_errors():
            pieces = results([task.remote(shipped, ref) for ref in self._refs])
        return with_counts(rules, pieces, kept)

    def training(
        self, rows: EncodedStream, kept: Gathered, engine: Engine, checkpoint: Checkpoint
    ) -> Training:
        training = ClusterTraining(
            self._refs, self._lengths, kept, rows.stream.seed, self._workers, checkpoint
        )
        self.trainings.append(training)
        return training


def results(refs: Sequence[Any]) -> list[Any]:
    """The results of tasks. If several tasks failed, the error of the first one is raised.

    `ray.get` of all of them at once would raise the error of the task that failed first.
    """
    ray = load_ray()
    return [ray.get(ref) for ref in refs]


def surveyed_task(
    shipped: tuple[RowStream, TargetSurvey], keeps: bool, piece: Piece, *tables: Any
) -> tuple[Survey, TargetSurvey]:
    """Survey the columns and the targets of one piece."""
    stream, targets = shipped  # a copy of the driver's survey, which is empty
    survey = Survey(stream.features, stream.missing)
    survey_piece(stream, raw_rows(stream, piece, tables), survey, targets, keeps=keeps)
    return survey, targets


def gathered_task(
    encoded: EncodedStream, n_sample: int, piece: Piece, *tables: Any
) -> tuple[Gathered, Rows]:
    """What is kept of one piece, and its rows to train on."""
    raw = raw_rows(encoded.stream, piece, tables)
    rows = encoded.encoded(raw)
    return gathered_piece(encoded, raw, rows, n_sample), without_held(raw, rows)


def raw_rows(stream: RowStream, piece: Piece, tables: Sequence[Any]) -> RawRows:
    """A piece of the table, from the blocks that hold it."""
    assert isinstance(stream.table, DatasetTable)
    return stream.raw(stream.table.chunk(piece, stream.columns, tables))
