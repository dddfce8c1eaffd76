"""Writing of frames, one after the other, into a table file.

The first frame sets the columns, and may have no rows. A writer leaves its stream open.
"""

from __future__ import annotations

import csv
import io
from types import SimpleNamespace
from typing import Any, BinaryIO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from neuralrules._data._cells import NUMBER

# A spreadsheet takes a text that begins with one of these for a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class CsvWriter:
    """Writes text, with all digits of numbers and with quotes only around cells that need them.

    With `spreadsheet_safe`, texts that look like formulas get an apostrophe in front.
    """

    def __init__(self, stream: BinaryIO, delimiter: str, *, spreadsheet_safe: bool) -> None:
        self._lines = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        # Some versions of Python quote a cell that contains a carriage return only if rows end
        # with one. So the csv writer ends rows with \r\n, which is replaced by \n.
        unix: Any = SimpleNamespace(write=lambda row: self._lines.write(row[:-2] + "\n"))
        self._writer = csv.writer(unix, delimiter=delimiter, lineterminator="\r\n")
        self._started = False
        self._safe = spreadsheet_safe

    def write(self, frame: pd.DataFrame) -> None:
        names = list(frame.columns)
        columns = [cells(column) for _, column in frame.items()]
        if self._safe:
            names = [without_formula(name) for name in names]
            columns = [[without_formula(cell) for cell in column] for column in columns]
        if not self._started:
            self._writer.writerow(names)
            self._started = True
        self._writer.writerows(zip(*columns, strict=True))

    def close(self) -> None:
        self._lines.detach()  # this also flushes


def cells(column: pd.Series) -> list[Any]:
    """A column's cells as Python's own objects, None for missing."""
    holes = column.isna().to_numpy()
    if not holes.any():
        return column.tolist()
    return [None if hole else cell for hole, cell in zip(holes, column.tolist(), strict=True)]


def without_formula(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula. Numbers stay, even if they are text."""
    if not isinstance(cell, str) or not cell.startswith(FORMULA_STARTS):
        return cell
    return cell if NUMBER.fullmatch(cell) else f"'{cell}"


class ParquetWriter:
    """Writes Parquet. The types of the first frame's columns are the types of the file."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._writer: Any = None

    def write(self, frame: pd.DataFrame) -> None:
        table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata()
        if self._writer is None:
            # A column of objects has no type if all of its cells are missing.
            fields = [
                field.with_type(pa.string()) if pa.types.is_null(field.type) else field
                for field in table.schema
            ]
            self._writer = pq.ParquetWriter(self._stream, pa.schema(fields))
        self._writer.write_table(table.cast(self._writer.schema))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
