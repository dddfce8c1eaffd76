"""Tables in Parquet files. Their columns have types."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from neuralrules._cli._errors import InputError
from neuralrules._cli._tables._cells import (
    Marks,
    is_text,
    objects,
    with_holes,
    without_dictionary,
)
from neuralrules._cli._tables._columns import Table
from neuralrules._cli._tables._streams import FORMAT_OPTION, Source, reading

MAGIC = b"PAR1"  # the first and the last bytes of every Parquet file
KNOWN_TYPES = (
    is_text,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_decimal,
    pa.types.is_temporal,
    pa.types.is_null,
)
# pyarrow raises many errors for damaged files. A UnicodeDecodeError is about names of columns.
reading_parquet = partial(
    reading,
    damage="it is no good Parquet file",
    errors=(OSError, pa.ArrowException, UnicodeDecodeError),
)


@contextmanager
def open_parquet(
    source: Source, missing: Sequence[str], marks: Marks
) -> Iterator[ParquetTable]:
    """The table in a Parquet file."""
    name, file = source.name, source.stream
    with reading(name):
        start = file.read(len(MAGIC))
    if not start:
        raise InputError(f"{name} is empty. Give a Parquet file.")
    if start != MAGIC:
        raise InputError(
            f"{name} is not a Parquet file. If it is text, give {FORMAT_OPTION} csv or tsv."
        )
    with ExitStack() as stack:
        if not source.in_place:
            # The metadata of a Parquet file is at its end, so a stream is copied into a file.
            file = stack.enter_context(tempfile.TemporaryFile())
            with reading(name):
                file.write(start)
                shutil.copyfileobj(source.stream, file)
        with reading(name):
            file.seek(-len(MAGIC), os.SEEK_END)
            end = file.read()
        if end != MAGIC:
            raise InputError(
                f"{name} is cut off: the end of the Parquet file is not there. Copy or "
                "download it again."
            )
        yield ParquetTable(name, file, missing, marks)


class ParquetTable(Table):
    """A table in a Parquet file."""

    def __init__(self, name: str, file: BinaryIO, missing: Sequence[str], marks: Marks) -> None:
        with reading_parquet(name):
            self._file = pq.ParquetFile(file)
            self._schema = self._file.schema_arrow
            names = self._schema.names
        self._n_rows = 0
        super().__init__(name, names, missing, (), marks)

    @property
    def done(self) -> float | None:
        return self._n_rows / max(1, self._file.metadata.num_rows)

    def _type_of(self, column: str) -> Any:
        return self._schema.field(column).type

    def _batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        for name in columns:
            self._check_type(name)
        batches = self._file.iter_batches(n_rows, columns=list(columns))
        while True:
            with reading_parquet(self.name):
                batch = next(batches, None)
            if batch is None:
                return
            self._n_rows += batch.num_rows
            for name in columns:
                # pyarrow reads any bytes as text, and fails only later.
                try:
                    batch.column(name).validate(full=True)
                except pa.ArrowInvalid as error:
                    raise self._error(
                        "it is damaged, or holds text that is not UTF-8. Write the file again.",
                        column=name,
                    ) from error
            yield pa.Table.from_batches([batch]).select(columns)

    def _check_type(self, column: str) -> None:
        kind = self._type_of(column)
        values = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not any(is_known(values) for is_known in KNOWN_TYPES):
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
        column = with_holes(without_dictionary(column), self._markers)
        if is_text(column.type):
            return objects(column)
        if pa.types.is_decimal(column.type) or pa.types.is_null(column.type):
            return pc.cast(column, pa.float64()).to_numpy()
        return column.to_pandas()
