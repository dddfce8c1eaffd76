"""Tables in Parquet files. Their columns have types."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neuralrules._cli._tables._cells import PLAIN, Marks, is_text, objects, plain, with_holes
from neuralrules._cli._tables._columns import Batch, Table
from neuralrules._cli._tables._streams import FORMAT_OPTION, Source, TableError, reading

MAGIC = b"PAR1"  # the first and the last bytes of every Parquet file


@contextmanager
def open_parquet(
    source: Source, missing: Sequence[str], marks: Marks = PLAIN
) -> Iterator[ParquetTable]:
    """The table in a Parquet file.

    Parameters
    ----------
    source : Source
    missing : sequence of str
        Texts that mean missing, besides Parquet's own missing values.
    """
    if source.in_place:
        yield ParquetTable(source.name, source.stream, missing, marks)
        return
    # The metadata of a Parquet file is at its end, so a stream is first copied into a file.
    with tempfile.TemporaryFile() as file:
        with reading(source.name):
            start = source.stream.read(len(MAGIC))
        check_start(source.name, start)  # refuse other streams before they fill the disk
        with reading(source.name):
            file.write(start)
            shutil.copyfileobj(source.stream, file)
        yield ParquetTable(source.name, file, missing, marks)


class ParquetTable(Table):
    """A table in a Parquet file."""

    def __init__(self, name: str, file: BinaryIO, missing: Sequence[str], marks: Marks) -> None:
        self._file = opened(name, file)
        self._n_rows = 0
        with reading_parquet(name):
            names = self._file.schema_arrow.names
        super().__init__(name, names, missing, marks=marks)

    @property
    def done(self) -> float | None:
        return self._n_rows / max(1, self._file.metadata.num_rows)

    def _batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Batch]:
        for name in columns:
            self._check_type(name)
        batches = self._file.iter_batches(n_rows, columns=list(columns))
        while (batch := self._next(batches)) is not None:
            self._n_rows += batch.num_rows
            checked = {name: self._checked(batch.column(name), name) for name in columns}
            yield Batch(batch.num_rows, checked)

    def _type_of(self, column: str) -> Any:
        return self._file.schema_arrow.field(column).type

    def _next(self, batches: Iterator[Any]) -> Any:
        with reading_parquet(self.name):
            return next(batches, None)

    def _checked(self, column: Any, name: str) -> Any:
        """The column, checked to be UTF-8: pyarrow reads any bytes, and fails only later."""
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            raise self._error(
                "it is damaged, or holds text that is not UTF-8. Write the file again.",
                column=name,
            ) from error
        return pa.chunked_array([column])

    def _check_type(self, column: str) -> None:
        kind = self._file.schema_arrow.field(column).type
        values = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (is_text(values) or any(known(values) for known in KNOWN_TYPES)):
            raise self._error(
                f"it holds {kind}, which no rule can use. Leave the column out, or turn it "
                "into numbers or text.",
                column=column,
            )

    def _typed(self, column: Any) -> Any:
        if pa.types.is_dictionary(column.type):
            categories = column.to_pandas()
            return categories.cat.remove_categories(
                [known for known in categories.cat.categories if known in self._markers]
            )
        column = with_holes(plain(column), self._markers)
        if is_text(column.type):
            return objects(column)
        if pa.types.is_decimal(column.type) or pa.types.is_null(column.type):
            return pc.cast(column, pa.float64()).to_numpy()
        return column.to_pandas()


KNOWN_TYPES = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_decimal,
    pa.types.is_temporal,
    pa.types.is_null,
)


def opened(name: str, file: BinaryIO) -> Any:
    """Open a pyarrow.parquet.ParquetFile. If the file is none, an error says so."""
    with reading(name):
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        start = file.read(len(MAGIC))
        file.seek(max(0, size - len(MAGIC)))
        end = file.read(len(MAGIC))
        file.seek(0)
    check_start(name, start)
    if end != MAGIC:
        raise TableError(
            f"{name} is cut off: the end of the Parquet file is not there. Copy or download it "
            "again."
        )
    with reading_parquet(name):
        return pq.ParquetFile(file)


def check_start(name: str, start: bytes) -> None:
    """Refuse a file that does not begin like a Parquet file."""
    if not start:
        raise TableError(f"{name} is empty. Give a Parquet file.")
    if start != MAGIC:
        raise TableError(
            f"{name} is not a Parquet file. If it is text, give {FORMAT_OPTION} csv or tsv."
        )


@contextmanager
def reading_parquet(name: str) -> Iterator[None]:
    """Turn the many errors that pyarrow raises for damaged files into one line for the user."""
    with reading(name, "it is no good Parquet file"):
        try:
            yield
        # A UnicodeDecodeError comes from the names of columns.
        except (pa.ArrowException, UnicodeDecodeError) as error:
            raise OSError(str(error)) from error
