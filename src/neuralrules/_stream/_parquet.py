"""Tables in Parquet files, read a number of rows at a time.

pyarrow is loaded when such a table is opened, not before.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from typing import Any, ClassVar, NamedTuple

import numpy as np

from neuralrules._data._table import check_names

CHUNK_CELLS = 2**20  # cells that are read at a time: 8 MiB of float64
# This many row groups are read in turns, so that the rows of a sorted table are mixed. Each row
# group keeps a page of every column in memory, one or two MiB.
OPEN_GROUPS = 4
SHOWN_NAMES = 10  # columns that a message lists
# How many bytes of a column are read ahead.
BUFFER_BYTES = 2**18


class Group(NamedTuple):
    """One row group of a file.

    `fragment` is the file, a pyarrow.dataset.ParquetFileFragment. `number` is the number of the
    group in it. `first` is the position of the group's first row in the table.
    """

    fragment: Any
    number: int
    first: int
    n_rows: int


class Columns:
    """A minimal frame of some rows for an encoder. A pandas frame takes much longer to make.

    Columns are arrays of numbers, dates or objects; texts are categoricals of pandas.
    """

    def __init__(self, cells: dict[str, Any]) -> None:
        self._cells = cells
        self.columns = list(cells)
        self.dtypes = [column.dtype for column in cells.values()]
        self.shape = (len(next(iter(cells.values()))), len(cells))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: str | slice) -> Any:
        if isinstance(key, str):
            return self._cells[key]
        return Columns({name: column[key] for name, column in self._cells.items()})

    def take(self, names: Sequence[str]) -> Columns:
        return Columns({name: self._cells[name] for name in names})


class Chunk(NamedTuple):
    """Some rows, the place they come from in words, and the position of the first row."""

    place: str
    first: int
    frame: Columns


def is_files(table: Any) -> bool:
    """Whether a table is given by the name of a file or folder, or as a pyarrow dataset."""
    if isinstance(table, str | os.PathLike | ParquetTable):
        return True
    return type(table).__module__.startswith("pyarrow") and hasattr(table, "get_fragments")


class NamedTable(ABC):
    """A table that is not in memory: the names of its columns, and its number of rows.

    `where` says where its rows are, in words for messages.
    """

    where: ClassVar[str]
    names: list[str]
    n_rows: int

    @property
    @abstractmethod
    def identity(self) -> list[list[Any]]:
        """What distinguishes this table from others."""

    def check_column(self, name: Any, role: str) -> str:
        """The name of a column, or an error if the table has no such column."""
        if isinstance(name, str) and name in self.names:
            return name
        if not isinstance(name, str):
            raise TypeError(
                f"{role} is of type {type(name).__name__}, but must be the name of a column, "
                f"since the table is {self.where}."
            )
        raise ValueError(f"{role}={name!r} is none of the table's columns. {self.like(name)}")

    def like(self, name: str) -> str:
        """A hint for an unknown column name: a similar name, or the names of the table."""
        folded = {own.casefold(): own for own in self.names}
        similar = get_close_matches(name.casefold(), folded, n=1)
        if similar:
            return f"Did you mean {folded[similar[0]]!r}?"
        listed = ", ".join(repr(own) for own in self.names[:SHOWN_NAMES])
        more = len(self.names) - SHOWN_NAMES
        return f"They are {listed}{f' and {more} more' if more > 0 else ''}."


class ParquetTable(NamedTable):
    """A Parquet file, a folder of Parquet files or a pyarrow dataset."""

    where = "in files"

    def __init__(self, table: Any) -> None:
        dataset = opened(table)
        self._schema = dataset.schema
        self.names = list(dataset.schema.names)
        self.groups: list[Group] = []
        self._stamps: dict[str, tuple[Any, Any]] = {}
        first = 0
        for fragment in sorted(dataset.get_fragments(), key=lambda one: str(one.path)):
            self._stamps[fragment.path] = stamp(fragment)
            with reading(fragment.path):
                sizes = [group.num_rows for group in fragment.row_groups]
            for number, n_rows in enumerate(sizes):
                if n_rows:
                    self.groups.append(Group(fragment, number, first, n_rows))
                    first += n_rows
        self.n_rows = first
        if not first:
            raise ValueError(f"{shown(table)} has no rows. Give Parquet files with rows.")

    @property
    def identity(self) -> list[list[Any]]:
        """What distinguishes this table: names, sizes and times of its files."""
        return [[os.path.basename(path), *map(str, own)] for path, own in self._stamps.items()]

    def chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        """All rows from the first to the last, as frames of these columns."""
        for group in self.groups:
            yield from self._chunks(group, columns)

    def mixed_chunks(
        self, columns: Sequence[str], random: np.random.RandomState
    ) -> Iterator[Chunk]:
        """All rows, mixed: row groups come in random order, and several are read in turns."""
        waiting = [self.groups[place] for place in random.permutation(len(self.groups))]
        open_ones: list[Iterator[Chunk]] = []
        while waiting or open_ones:
            while waiting and len(open_ones) < OPEN_GROUPS:
                open_ones.append(self._chunks(waiting.pop(), columns))
            place = random.randint(len(open_ones))
            chunk = next(open_ones[place], None)
            if chunk is None:
                del open_ones[place]
            else:
                yield chunk

    def _chunks(self, group: Group, columns: Sequence[str]) -> Iterator[Chunk]:
        """One row group, a number of rows at a time."""
        import pyarrow.dataset as ds
        import pyarrow.parquet as pq

        fragment, first = group.fragment, group.first
        place = f"{fragment.path}, row group {group.number}"
        n_rows = max(1, CHUNK_CELLS // max(1, len(columns)))
        fixed = ds.get_partition_keys(fragment.partition_expression)
        with reading(place):
            if stamp(fragment) != self._stamps[fragment.path]:
                raise OSError("the file has changed since the fit began")
            with fragment.filesystem.open_input_file(fragment.path) as stream:
                file = pq.ParquetFile(
                    stream,
                    metadata=fragment.metadata,
                    buffer_size=BUFFER_BYTES,
                    pre_buffer=False,  # else a whole row group would be read at once
                    page_checksum_verification=True,
                )
                here = [name for name in columns if name in file.schema_arrow.names]
                batches = file.iter_batches(
                    n_rows, row_groups=[group.number], columns=here, use_threads=False
                )
                for batch in batches:
                    yield Chunk(place, first, frame_of(batch, columns, self._schema, fixed))
                    first += batch.num_rows
            if first != group.first + group.n_rows:
                raise OSError(
                    f"it has {first - group.first} rows, not {group.n_rows} as it says"
                )


def frame_of(
    batch: Any, columns: Sequence[str], schema: Any, fixed: Mapping[str, Any]
) -> Columns:
    """Some columns of a pyarrow batch. Each column has its type in `schema` in all batches.

    `fixed` holds columns with the same cell in all rows. If a column is neither in `fixed` nor
    in the batch, its cells are missing.
    """
    import pyarrow as pa

    def column(name: str) -> Any:
        kind = schema.field(name).type
        if name in batch.schema.names:
            found = batch.column(name)
            return found if found.type == kind else found.cast(kind)
        # The folder's name gives its cells, or this file lacks it.
        return pa.repeat(pa.scalar(fixed.get(name), kind), batch.num_rows)

    return Columns({name: cells(column(name)) for name in columns})


def cells(column: Any) -> Any:
    """A pyarrow array as a column of `Columns`."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return column.to_pandas()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        # A dictionary holds each text once. A column whose cells are all missing stays as it
        # is, because its kind is not known yet.
        all_missing = column.null_count == len(column)
        return (column if all_missing else column.dictionary_encode()).to_pandas()
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us"), safe=False)  # in UTC, without a zone
    elif pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    return column.to_numpy(zero_copy_only=False)


def opened(table: Any) -> Any:
    """A table as a pyarrow dataset, or an error that says why it is not one."""
    try:
        import pandas  # noqa: F401
        import pyarrow as pa
        import pyarrow.dataset as ds
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(
            "Fitting on Parquet files needs pyarrow and pandas, which are not installed. "
            'Install them with: pip install "neuralrules[cli]"'
        ) from error
    if isinstance(table, ds.Dataset):
        files = isinstance(table, ds.FileSystemDataset)
        if not files or table.format.default_extname != "parquet":
            raise TypeError(
                f"The dataset {type(table).__name__} is not one of Parquet files. Write it as "
                "such by pyarrow.dataset.write_dataset, and give the folder."
            )
        if getattr(table, "_scan_options", {}).get("filter") is not None:
            raise ValueError(
                "The dataset is filtered. Write the rows that you want by "
                "pyarrow.dataset.write_dataset, and give the folder."
            )
        return table
    path = os.path.expanduser(os.fspath(table))
    if not os.path.exists(path):
        raise FileNotFoundError(f"There is no file or folder {path!r} to fit on.")
    if os.path.isfile(path):  # check names before pyarrow does, for our own messages
        with suppress(OSError, pa.ArrowException):
            check_names(pq.read_schema(path).names)
    with reading(path):
        found = ds.dataset(path, format="parquet", partitioning="hive")
        if not found.files:
            raise OSError("the folder has no files")
    check_names(found.schema.names)
    return found


def stamp(fragment: Any) -> tuple[Any, Any]:
    """The size and the time of a file."""
    with suppress(OSError):
        found = fragment.filesystem.get_file_info(fragment.path)
        return found.size, found.mtime_ns
    return None, None


def shown(table: Any) -> str:
    return repr(os.fspath(table)) if isinstance(table, str | os.PathLike) else "The dataset"


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn the various errors of pyarrow into an OSError that names the file or row group."""
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise OSError(
            f"{name}: cannot be read as Parquet ({reason}). Copy or write the file again."
        ) from error
