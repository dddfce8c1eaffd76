"""The passes of `neuralrules._stream._passes`, with one Ray task for each piece of the table.

The results of the tasks are joined in the order of the pieces. So every sum has the same
rounding errors for any number of machines, even for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neuralrules._cluster._connection import Workers, load_ray, plain_cluster_errors
from neuralrules._cluster._table import Blocks, DatasetTable, Part, Piece
from neuralrules._cluster._training import ClusterTraining
from neuralrules._data._rows import Rows
from neuralrules._data._survey import Survey
from neuralrules._engine._protocol import Engine
from neuralrules._rules._rules import Rules
from neuralrules._stream._checkpoint import Checkpoint
from neuralrules._stream._passes import (
    Counts,
    Gathered,
    counted_piece,
    gathered_piece,
    joined_pieces,
    survey_piece,
    with_counts,
)
from neuralrules._stream._rows import EncodedStream, RawRows, RowStream, without_held
from neuralrules._stream._targets import TargetSurvey
from neuralrules._training._training import Training


class Cluster:
    """Implements `neuralrules._stream._source.Machines` on a Ray cluster.

    Parameters
    ----------
    blocks : Blocks
        The table's rows.
    workers : Workers
        The processes that train. The passes use all cores that are free.

    Attributes
    ----------
    trainings : list of ClusterTraining
        The trainings so far. Each of them records its cost.
    """

    def __init__(self, blocks: Blocks, workers: Workers) -> None:
        self._blocks, self._workers = blocks, workers
        self._refs: list[Any] = []  # encoded rows to train on, piece by piece
        self._lengths: list[int] = []
        self.trainings: list[ClusterTraining] = []

    def surveyed(self, stream: RowStream, targets: TargetSurvey, *, keeps: bool) -> Survey:
        found = Survey(stream.features, stream.missing)
        with plain_cluster_errors():
            for survey, seen in self._of_pieces(surveyed_task, stream, targets, keeps):
                found.join(survey)
                targets.join(seen)
        return found

    def gathered(self, rows: EncodedStream, n_sample: int) -> Gathered:
        ray = load_ray()
        task = ray.remote(num_returns=2)(gathered_task)
        shipped = ray.put(rows)
        made = [
            task.remote(shipped, n_sample, piece, cuts(parts), *(part.ref for part in parts))
            for piece, parts in self._blocks.pieces(len(rows.stream.columns))
        ]
        with plain_cluster_errors():
            pieces = results([kept for kept, _ in made])
        self._refs = [training for _, training in made]
        self._lengths = [piece.n_training for piece in pieces]
        self._blocks = Blocks([], [])  # the raw rows are no longer needed
        return joined_pieces(pieces)

    def counted(self, rules: Rules, rows: EncodedStream, kept: Gathered) -> Rules:
        ray = load_ray()
        task, shipped = ray.remote(counted_task), ray.put(rules)
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

    def _of_pieces(
        self, function: Any, stream: RowStream, targets: TargetSurvey, keeps: bool
    ) -> list[Any]:
        ray = load_ray()
        task, shipped = ray.remote(function), ray.put((stream, targets))
        return results(
            [
                task.remote(shipped, keeps, piece, cuts(parts), *(part.ref for part in parts))
                for piece, parts in self._blocks.pieces(len(stream.columns))
            ]
        )


def results(refs: Sequence[Any]) -> list[Any]:
    """The results of tasks. If several tasks failed, the error of the first one is raised.

    `ray.get` of all of them at once would raise the error of the task that failed first.
    """
    ray = load_ray()
    return [ray.get(ref) for ref in refs]


def cuts(parts: Sequence[Part]) -> list[slice]:
    """The rows of a piece in each of its blocks, as slices."""
    return [slice(part.start, part.stop) for part in parts]


def raw_rows(
    stream: RowStream, piece: Piece, cut: Sequence[slice], tables: Sequence[Any]
) -> RawRows:
    """A piece of the table, from the blocks that hold it."""
    parts = [
        table.slice(one.start, one.stop - one.start)
        for table, one in zip(tables, cut, strict=True)
    ]
    assert isinstance(stream.table, DatasetTable)
    return stream.raw(stream.table.chunk(piece, stream.columns, parts))


def surveyed_task(
    shipped: tuple[RowStream, TargetSurvey],
    keeps: bool,
    piece: Piece,
    cut: Sequence[slice],
    *tables: Any,
) -> tuple[Survey, TargetSurvey]:
    """Survey the columns and the targets of one piece."""
    stream, targets = shipped  # a copy of the driver's survey, which is empty
    survey = Survey(stream.features, stream.missing)
    survey_piece(stream, raw_rows(stream, piece, cut, tables), survey, targets, keeps=keeps)
    return survey, targets


def gathered_task(
    encoded: EncodedStream, n_sample: int, piece: Piece, cut: Sequence[slice], *tables: Any
) -> tuple[Gathered, Rows]:
    """What is kept of one piece, and its rows to train on."""
    raw = raw_rows(encoded.stream, piece, cut, tables)
    rows = encoded.encoded(raw)
    return gathered_piece(encoded, raw, rows, n_sample), without_held(raw, rows)


def counted_task(rules: Rules, rows: Rows) -> Counts:
    return counted_piece(rules, rows)
