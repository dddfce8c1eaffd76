"""A Ray dataset as a table whose rows have positions and come in pieces of fixed length.

The position of a row decides whether the row is held out and whether it is in a sample. So the
dataset is read once, in order. Its rows stay in the object store of the cluster, in memory and
on disks. A piece names the blocks that hold its rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from neuralrules._cluster._connection import load_ray, plain_cluster_errors
from neuralrules._stream import _parquet
from neuralrules._stream._parquet import Chunk, NamedTable, frame_of


class Part(NamedTuple):
    """Some rows of an object in the object store."""

    ref: Any
    start: int
    stop: int


class DatasetTable(NamedTable):
    """The names, types and length of a dataset, without its rows. Every worker gets a copy."""

    where = "in a dataset"

    def __init__(self, schema: Any, n_rows: int, n_workers: int) -> None:
        self.schema, self.n_rows, self._n_workers = schema, n_rows, n_workers
        self.names = list(schema.names)

    @property
    def identity(self) -> list[list[Any]]:
        # With another number of workers, training would have another order of the rows.
        return [["dataset", self.n_rows, self._n_workers]]

    def chunk(self, piece: Piece, columns: Sequence[str], tables: Sequence[Any]) -> Chunk:
        """The rows of a piece, from the pyarrow tables that hold them."""
        import pyarrow as pa

        parts = [
            table.slice(cut.start, cut.stop - cut.start)
            for table, cut in zip(tables, piece.cuts, strict=True)
        ]
        whole = pa.concat_tables(parts, promote_options="permissive")
        (batch,) = whole.unify_dictionaries().combine_chunks().to_batches()
        place = f"rows {piece.first + 1:,} to {piece.first + len(whole):,} of the dataset"
        return Chunk(place, piece.first, frame_of(batch, columns, self.schema, {}))


@dataclass(frozen=True)
class Piece:
    """Consecutive rows: the position of the first row, and the rows in each of their blocks."""

    first: int
    cuts: list[slice]


@dataclass(frozen=True)
class Blocks:
    """The rows of a dataset, as pyarrow tables of some lengths in the object store."""

    refs: list[Any]
    lengths: list[int]

    def pieces(self, n_columns: int) -> Iterator[tuple[Piece, list[Any]]]:
        """All rows in pieces, each with the references to the blocks that hold it.

        The pieces are as long as the chunks that one machine reads from files.
        """
        # Read from the module, so that tests can give small tables many pieces.
        n_rows = max(1, _parquet.CHUNK_CELLS // max(1, n_columns))
        for first in range(0, sum(self.lengths), n_rows):
            parts = parts_between(self.refs, self.lengths, first, first + n_rows)
            cuts = [slice(part.start, part.stop) for part in parts]
            yield Piece(first, cuts), [part.ref for part in parts]


def parts_between(
    refs: Sequence[Any], lengths: Sequence[int], first: int, last: int
) -> list[Part]:
    """The parts that hold the rows from position `first` to before position `last`.

    All rows are in objects with the references `refs` and the numbers of rows `lengths`.
    """
    parts, begin = [], 0
    for ref, length in zip(refs, lengths, strict=True):
        start, stop = max(first - begin, 0), min(last - begin, length)
        if start < stop:
            parts.append(Part(ref, start, stop))
        begin += length
    return parts


def read(dataset: Any, n_workers: int) -> tuple[DatasetTable, Blocks]:
    """Read a dataset, or Parquet files by their path, into the object store in order."""
    ray = load_ray()
    import pyarrow as pa

    if isinstance(dataset, str | os.PathLike):
        dataset = read_files(os.fspath(dataset))
    if not isinstance(dataset, ray.data.Dataset):
        raise TypeError(
            f"dataset is of type {type(dataset).__name__}, but must be a ray.data.Dataset or "
            "the path of Parquet files. ray.data.from_pandas and others make one."
        )
    with plain_cluster_errors(), in_order(dataset):
        refs = dataset.materialize().to_arrow_refs()
        look = ray.remote(num_cpus=0)(length_and_schema)
        seen = ray.get([look.remote(ref) for ref in refs])
    lengths = [length for length, _ in seen]
    if not sum(lengths):
        raise ValueError("The dataset has no rows. Give one with rows.")
    schemas = [schema for length, schema in seen if length]
    schema = pa.unify_schemas(schemas, promote_options="permissive")
    return DatasetTable(schema, sum(lengths), n_workers), Blocks(refs, lengths)


def read_files(path: str) -> Any:
    ray = load_ray()
    path = os.path.expanduser(path)
    if "://" not in path and not os.path.exists(path):
        raise FileNotFoundError(f"There is no file or folder {path!r} to fit on.")
    with plain_cluster_errors():
        return ray.data.read_parquet(path)


@contextmanager
def in_order(dataset: Any) -> Iterator[None]:
    """Let a dataset be read in the order of its rows, without Ray's own progress bars."""
    context = dataset.context
    before = context.execution_options.preserve_order, context.enable_progress_bars
    context.execution_options.preserve_order, context.enable_progress_bars = True, False
    try:
        yield
    finally:
        context.execution_options.preserve_order, context.enable_progress_bars = before


def length_and_schema(table: Any) -> tuple[int, Any]:
    """The number of rows of a pyarrow table, and the types of its columns."""
    return table.num_rows, table.schema.remove_metadata()
