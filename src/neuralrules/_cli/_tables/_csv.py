"""Tables of comma- or tab-separated text.

Rows are split by Python's own csv module: it alone says in which row a quote stays open,
and takes a row of any length (pyarrow's reader ends such a file as if nothing were wrong,
and refuses rows that are longer than its blocks). What comes after it works on columns.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa

from neuralrules._cli._tables._cells import PLAIN, TEXT, Marks, typed, with_holes
from neuralrules._cli._tables._columns import Batch, Table, shown
from neuralrules._cli._tables._streams import (
    COMPRESSIONS,
    FORMAT_OPTION,
    STANDARD_INPUT,
    Source,
    TableError,
    reading,
)
from neuralrules._data._missing import MISSING
from neuralrules._reading._names import is_utf8

BLOCK_ROWS = 400  # split at a time: the garbage collector would look at 700 new lists
# A small compressed file can hold gigabytes without the end of a row. So these are refused
# while they are read, and long rows come in fewer at a time.
LONGEST_CELL = 2**24  # characters
LONGEST_ROW = 2**26  # bytes
MOST_COLUMNS = 2**22
BLOCK_BYTES = 2**24  # after which no further row is split before these become columns
CHUNK_BYTES = 2**28  # after which a chunk is full, however few rows it has
ICONV = "Convert the file to UTF-8, for example: iconv -f {} -t UTF-8 OLD > NEW"
# Characters that often separate cells, and how to say so.
DELIMITERS = {
    "\t": f"{FORMAT_OPTION} tsv",
    ";": "--delimiter ';'",
    "|": "--delimiter '|'",
    ",": "--delimiter ','",
}
# Other files than text, by their first bytes: what they are, and what to do.
OTHERS = [
    (rb"PAR1[\x00-\x08\x0e-\x1f]", "a Parquet file", f"Give {FORMAT_OPTION} parquet."),
    (
        rb"PK\x03\x04",
        "a zip archive or an Excel workbook",
        "Unpack it, or save the sheet as CSV.",
    ),
    (rb"\xff\xfe|\xfe\xff", "UTF-16 text", ICONV.format("UTF-16")),
]


@contextmanager
def open_csv(
    source: Source, delimiter: str, missing: Sequence[str], marks: Marks = PLAIN
) -> Iterator[CsvTable]:
    """The table in a stream of text whose first row names the columns.

    Parameters
    ----------
    source : Source
    delimiter : str
        One character between cells.
    missing : sequence of str
        Texts that mean missing, beside those of pandas.
    marks : Marks
        How numbers are written.
    """
    check_is_text(source)
    longest = csv.field_size_limit(LONGEST_CELL)
    try:
        yield CsvTable(source, delimiter, missing, marks)
    finally:
        csv.field_size_limit(longest)


def check_is_text(source: Source) -> None:
    """Refuse other files that were given as CSV, by their first bytes."""
    with reading(source.name):
        start = source.stream.peek(16)
    for suffix, compression in COMPRESSIONS.items():
        if compression.magic.match(start):
            remedy = f"Give it a name that ends in .{suffix}."
            if source.name == STANDARD_INPUT:
                remedy = f"Decompress it first, for example: {compression.name} -dc FILE | ..."
            raise TableError(f"{source.name} is compressed by {compression.name}. {remedy}")
    for magic, what, remedy in OTHERS:
        if re.match(magic, start):
            raise TableError(f"{source.name} is {what}. {remedy}")


class LongRowError(csv.Error):
    """A row that does not end within `LONGEST_ROW` bytes."""


class RowBytes(io.BufferedIOBase):
    """The bytes of a table on their way to the reader: they stop when a row does not end.

    Closing it does not close the stream.

    Attributes
    ----------
    taken : int
        How many bytes have been read.
    row_start : int
        What `taken` was when the last row ended.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream: Any = stream
        self.taken = 0
        self.row_start = 0

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1, /) -> bytes:
        # The reader asks for more only if the current row has not ended.
        if self.taken - self.row_start > LONGEST_ROW:
            raise LongRowError
        piece: bytes = self._stream.read1(size)
        self.taken += len(piece)
        return piece


class CsvTable(Table):
    """A table of text; its columns are all of Arrow's text type until they are typed."""

    def __init__(
        self, source: Source, delimiter: str, missing: Sequence[str], marks: Marks
    ) -> None:
        self.name = source.name
        self._source = source
        self._delimiter = delimiter
        self._bytes = RowBytes(source.stream)
        stream: Any = self._bytes
        # Bytes that are no UTF-8 come through as surrogates, so that their row can be told.
        lines = io.TextIOWrapper(
            stream, encoding="utf-8-sig", errors="surrogateescape", newline=""
        )
        # Blank lines are no rows.
        self._reader = filter(None, csv.reader(lines, delimiter=delimiter, strict=True))
        self._row = 0  # the last row that was read; 0 is the header
        super().__init__(source.name, self._header(), missing, MISSING, marks)

    @property
    def done(self) -> float | None:
        return self._source.done()

    def _header(self) -> list[str]:
        rows, broken = self._next_rows(1)
        if broken is not None:
            raise self._malformed(broken, row=0)
        if not rows:
            raise TableError(
                f"{self.name} is empty. A table needs a header with the names of its columns."
            )
        if len(rows[0]) > MOST_COLUMNS:
            raise self._error(
                f"it has {len(rows[0]):,} columns, and a table may have {MOST_COLUMNS:,}. "
                "Leave columns out.",
                row=0,
            )
        for name in rows[0]:
            if not is_utf8(name):
                raise self._error(
                    f"it is not UTF-8 text. {ICONV.format('WINDOWS-1252')}", row=0
                )
        # pandas writes and reads the names of nameless columns, such as its index, like this.
        return [name or f"Unnamed: {place}" for place, name in enumerate(rows[0])]

    def _batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Batch]:
        places = {name: self.names.index(name) for name in columns}
        full = True
        while full:
            pieces: dict[str, list[Any]] = {name: [] for name in columns}
            length, start, full = 0, self._bytes.taken, False
            while not full and (rows := self._rows(min(BLOCK_ROWS, n_rows - length))):
                cells = list(zip(*rows, strict=True))
                for name, place in places.items():
                    pieces[name].append(self._texts(cells[place], name))
                self._row += len(rows)
                length += len(rows)
                full = length == n_rows or self._bytes.taken - start > CHUNK_BYTES
            if length:
                yield Batch(
                    length, {name: pa.chunked_array(own, TEXT) for name, own in pieces.items()}
                )

    def _rows(self, limit: int) -> list[list[str]]:
        """At most `limit` next rows, each as long as the header; none at the end."""
        rows, broken = self._next_rows(limit)
        if set(map(len, rows)) - {len(self.names)}:
            raise self._ragged(rows)
        if broken is not None:
            raise self._malformed(broken, self._row + len(rows) + 1)
        return rows

    def _next_rows(self, limit: int) -> tuple[list[list[str]], csv.Error | None]:
        """The next rows, and what is wrong with the one after them, if anything is."""
        rows: list[list[str]] = []
        own = self._bytes
        full = own.taken + BLOCK_BYTES
        try:
            with reading(self.name):
                for row in islice(self._reader, limit):
                    rows.append(row)
                    own.row_start = own.taken
                    if own.taken > full:
                        break
        except csv.Error as error:
            return rows, error
        return rows, None

    def _texts(self, cells: Sequence[str], column: str) -> Any:
        """Cells of one column as Arrow's text, which is UTF-8."""
        try:
            return pa.array(cells, TEXT)
        except UnicodeEncodeError as error:
            place = next(place for place, cell in enumerate(cells) if not is_utf8(cell))
            raise self._error(
                f"the cell is not UTF-8 text. {ICONV.format('WINDOWS-1252')}",
                self._row + place + 1,
                column,
            ) from error

    def _typed(self, column: Any) -> Any:
        return typed(with_holes(column, self._markers), self._marks)

    def similar_column(self, column: str, taken: Sequence[str] = ()) -> str:
        return self._delimiter_hint() or super().similar_column(column, taken)

    def _delimiter_hint(self) -> str:
        """The delimiter that is probably meant where the header has not been split."""
        if len(self.names) > 1:
            return ""
        for other, option in DELIMITERS.items():
            if other in self.names[0]:
                return (
                    f"Its header is a single column {shown(self.names[0])}: give {option} if "
                    "that separates the cells."
                )
        return ""

    def _ragged(self, rows: list[list[str]]) -> TableError:
        expected = len(self.names)
        place, found = next(
            (place, len(row)) for place, row in enumerate(rows) if len(row) != expected
        )
        remedy = self._delimiter_hint() or (
            f"Mend the row: a cell that contains {self._delimiter!r} must be in quotes."
        )
        return self._error(
            f"it has {cell_count(found)}, but the header has {expected}. {remedy}",
            self._row + place + 1,
        )

    def _malformed(self, error: csv.Error, row: int) -> TableError:
        """The error for a row that cannot be split into cells."""
        remedy = 'A quote inside a quoted cell must be doubled ("").'
        if isinstance(error, LongRowError):
            text = (
                f"it does not end within {LONGEST_ROW:,} bytes, the most that a row may have. "
                "Write each row on a line of its own, and leave long cells out. If a quote "
                f"opens here and is never closed, close it. {remedy}"
            )
        elif "unexpected end" in str(error):
            text = f"a quote that opens here is never closed. Close it. {remedy}"
        elif "field larger" in str(error):
            text = (
                f"a cell has more than {LONGEST_CELL:,} characters; probably a quote that "
                f"opens here is never closed. {remedy}"
            )
        else:
            text = (
                f"a quoted cell goes on after its closing quote. {remedy} If the cells are not "
                f"separated by {self._delimiter!r}, give --delimiter."
            )
        return self._error(text, row)


def cell_count(n_cells: int) -> str:
    return "1 cell" if n_cells == 1 else f"{n_cells} cells"
