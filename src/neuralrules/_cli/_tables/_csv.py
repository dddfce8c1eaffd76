"""Tables of comma- or tab-separated text.

pyarrow splits rows into cells and removes the quotes. This module finds the ends of rows
itself, for three reasons. pyarrow reads a row that never ends until memory is full. It does not
take rows that are longer than its blocks. It does not say in which row a quote is not closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from neuralrules._cli._errors import InputError
from neuralrules._cli._tables._cells import TEXT, Marks, typed, with_holes
from neuralrules._cli._tables._columns import Table, shown
from neuralrules._cli._tables._streams import (
    COMPRESSIONS,
    FORMAT_OPTION,
    STANDARD_INPUT,
    Source,
    reading,
)
from neuralrules._data._cells import MISSING
from neuralrules._reading._notation import is_utf8

# While pyarrow splits cells, it would catch Ctrl-C and SIGTERM itself, and could lose a signal
# that comes at the end. The command answers these signals: see `_signals`.
pa.enable_signal_handlers(False)

BLOCK_BYTES = 2**22  # bytes that pyarrow splits at a time; a block with a longer row is longer
# A small compressed file can hold gigabytes without the end of a row. Such a row is refused
# while it is read. Chunks of long rows hold fewer rows.
LONGEST_ROW = 2**26  # bytes
MOST_COLUMNS = 2**22
CHUNK_BYTES = 2**28  # a chunk of more bytes is full, even if it has only a few rows
ICONV = "Convert the file to UTF-8, for example: iconv -f {} -t UTF-8 OLD > NEW"
TO_UTF8 = ICONV.format("WINDOWS-1252")
UTF8_MARK = b"\xef\xbb\xbf"
DOUBLED = 'A quote inside a quoted cell must be doubled ("").'
USUAL_DELIMITERS = "\t;|,"
# Files that are not plain text: the pattern of their first bytes, what they are, what to do.
OTHERS = [
    (rb"PAR1[\x00-\x08\x0e-\x1f]", "a Parquet file", f"Give {FORMAT_OPTION} parquet."),
    (
        rb"PK\x03\x04",
        "a zip archive or an Excel workbook",
        "Unpack it, or save the sheet as CSV.",
    ),
    (rb"\xff\xfe|\xfe\xff", "UTF-16 text", ICONV.format("UTF-16")),
]


def check_is_text(source: Source) -> None:
    """Refuse a file that is not plain text. Its first bytes show what it is."""
    with reading(source.name):
        start = source.stream.peek(16)
    for suffix, compression in COMPRESSIONS.items():
        if re.match(compression.magic, start):
            remedy = f"Give it a name that ends in .{suffix}."
            if source.name == STANDARD_INPUT:
                remedy = f"Decompress it first, for example: {compression.name} -dc FILE | ..."
            raise InputError(f"{source.name} is compressed by {compression.name}. {remedy}")
    for magic, what, remedy in OTHERS:
        if re.match(magic, start):
            raise InputError(f"{source.name} is {what}. {remedy}")


class RowError(Exception):
    """A row cannot be split into cells. The text says why, and what to do."""


def row_patterns(delimiter: str) -> list[re.Pattern[bytes]]:
    """Patterns of one row, of several rows, and of a row that goes on after a quoted cell."""
    # A quote opens a cell only at its start, and closes it only at its end.
    mark = re.escape(delimiter)
    quoted = rf'(?:(?<={mark})|(?<![^\r\n]))"[^"]*+(?:""[^"]*+)*+"'
    quote_inside = rf'(?<!{mark})(?<=[^\r\n])"'
    other = r'[^"\r\n]*+'
    cells = rf"{other}(?>(?>{quoted}(?={mark}|[\r\n])|{quote_inside}){other})*+"
    row = rf"[\r\n]*+{cells}(?:\r\n?|\n)"
    # The bytes that were read may end in the middle of a delimiter of several bytes.
    after = rf"(?=[\s\S]{{{len(delimiter.encode())}}})"
    broken_row = rf"[\r\n]*+{cells}{quoted}(?!{mark}|[\r\n]){after}"
    return [re.compile(text.encode()) for text in (row, rf"(?>{row})++", broken_row)]


def row_blocks(source: Source, delimiter: str) -> Iterator[bytes]:
    """The first row of a table, then blocks of whole rows, with blank lines before rows.

    A `RowError` is about the first row that was not yielded.
    """
    rows, several_rows, broken_row = row_patterns(delimiter)
    ahead = b""  # bytes that were read but not yielded; they begin with a row
    ended = False

    def read(size: int) -> None:
        """Read until `size` bytes or all bytes are ahead. The last row gets a line end."""
        nonlocal ahead, ended
        most = max(size, min(BLOCK_BYTES, LONGEST_ROW))
        pieces, length = [ahead], len(ahead)
        while length < size and not ended:
            with reading(source.name):
                piece = source.stream.read1(most - length)
            ended = not piece
            pieces.append(piece or b"\n")
            length += len(piece)
        ahead = b"".join(pieces)

    read(len(UTF8_MARK))
    ahead = ahead.removeprefix(UTF8_MARK)
    # A pipe may have no more than the first row for a while, so only one row is awaited.
    size = 1
    while True:
        read(min(size, LONGEST_ROW))
        if found := rows.match(ahead):
            block, ahead = found[0], ahead[found.end() :]
            found = None  # a match keeps the bytes in memory
            yield block
            rows, size = several_rows, BLOCK_BYTES
            continue
        if ended and not ahead.strip(b"\r\n"):
            return
        if broken_row.match(ahead):
            raise RowError(
                f"a quoted cell goes on after its closing quote. {DOUBLED} If the cells "
                f"are not separated by {delimiter!r}, give --delimiter."
            )
        if ended:
            raise RowError(f"a quote that opens here is never closed. Close it. {DOUBLED}")
        if len(ahead) >= LONGEST_ROW:
            raise RowError(
                f"it does not end within {LONGEST_ROW:,} bytes, the most that a row may "
                "have. Write each row on a line of its own, and leave long cells out. If "
                f"a quote opens here and is never closed, close it. {DOUBLED}"
            )
        size = 2 * len(ahead)


class CsvTable(Table):
    """A table of text, whose first row names the columns.

    The columns have Arrow's text type until they are typed. Besides `missing`, the texts that
    pandas takes for missing mean missing.
    """

    def __init__(
        self, source: Source, delimiter: str, missing: Sequence[str], marks: Marks
    ) -> None:
        check_is_text(source)
        self.name = source.name
        self._source = source
        self._delimiter = delimiter
        self._blocks = row_blocks(source, delimiter)
        self._row = 0  # the next row, 0 for the header
        super().__init__(source.name, self._header(), missing, MISSING, marks)

    @property
    def done(self) -> float | None:
        return self._source.done()

    def _type_of(self, column: str) -> Any:
        return TEXT

    def _header(self) -> list[str]:
        block = self._next_block()
        if not block:
            raise InputError(
                f"{self.name} is empty. A table needs a header with the names of its columns."
            )
        try:
            names = split(block, self._delimiter).column_names
        except UnicodeDecodeError as error:
            raise self._error(f"it is not UTF-8 text. {TO_UTF8}", row=0) from error
        if len(names) > MOST_COLUMNS:
            raise self._error(
                f"it has {len(names):,} columns, and a table may have {MOST_COLUMNS:,}. "
                "Leave columns out.",
                row=0,
            )
        self._row = 1
        # pandas gives such names to columns without a name, such as its index.
        return [name or f"Unnamed: {place}" for place, name in enumerate(names)]

    def _next_block(self) -> bytes:
        """The next rows, or b"" at the end."""
        try:
            return next(self._blocks, b"")
        except RowError as error:
            raise self._error(str(error), self._row) from error

    def _batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        # If no column is wanted, the first one is read to count the rows.
        wanted = list(columns) or self.names[:1]
        held = self.no_rows(wanted)
        for table in self._tables(wanted):
            held = pa.concat_tables([held, table])
            while held.num_rows >= n_rows or held.nbytes > CHUNK_BYTES:
                yield held[:n_rows].select(columns)
                held = held[n_rows:]
        if held.num_rows:
            yield held.select(columns)

    def _tables(self, columns: list[str]) -> Iterator[Any]:
        """The cells of some columns, as a pyarrow.Table of `TEXT` for each block of rows."""
        ragged: list[Any] = []

        def note(row: Any) -> str:
            ragged.append(row)
            return "skip"

        while block := self._next_block():
            try:
                table = split(block, self._delimiter, self.names, columns, TEXT, note)
            except pa.ArrowInvalid as error:
                if not ragged:
                    raise self._not_utf8(block, columns) from error
                table = None
            if ragged:
                n_good, n_cells = ragged[0].number - 1, ragged[0].actual_columns
                if table is not None:  # the rows before the mistake can be used
                    yield table[:n_good]
                remedy = self._delimiter_hint() or (
                    f"Mend the row: a cell that contains {self._delimiter!r} must be in quotes."
                )
                raise self._error(
                    f"it has {n_cells} cell{'s' * (n_cells != 1)}, but the header has "
                    f"{len(self.names)}. {remedy}",
                    self._row + n_good,
                )
            self._row += table.num_rows
            yield table

    def _typed(self, column: Any) -> Any:
        return typed(with_holes(column, self._markers), self._marks)

    def similar_column(self, column: str, taken: Sequence[str] = ()) -> str:
        return self._delimiter_hint() or super().similar_column(column, taken)

    def _delimiter_hint(self) -> str:
        """A hint about the delimiter, if the header is one cell that contains another one."""
        for other in USUAL_DELIMITERS:
            if len(self.names) == 1 and other in self.names[0]:
                option = f"{FORMAT_OPTION} tsv" if other == "\t" else f"--delimiter {other!r}"
                return (
                    f"Its header is a single column {shown(self.names[0])}: give {option} if "
                    "that separates the cells."
                )
        return ""

    def _not_utf8(self, block: bytes, columns: list[str]) -> InputError:
        """The error for the first cell that is not UTF-8, in a block that has such a cell."""
        table = split(block, self._delimiter, self.names, columns, pa.large_binary())
        row, column = next(
            (row, name)
            for name in columns
            for row, cell in enumerate(table[name].to_pylist(), start=self._row)
            if not is_utf8(cell.decode(errors="surrogateescape"))
        )
        return self._error(f"the cell is not UTF-8 text. {TO_UTF8}", row, column)


def split(
    block: bytes,
    delimiter: str,
    names: list[str] | None = None,
    columns: Sequence[str] = (),
    kind: Any = None,
    note_ragged: Any = None,
) -> Any:
    """Split whole rows of text into a pyarrow.Table of some columns, or of all columns.

    Without `names`, the first row holds the names of all columns. `kind` is the Arrow type of
    the columns: text or binary. `note_ragged` gets pyarrow's record of each row with too few or
    too many cells, and returns "skip".
    """
    # pyarrow takes only ASCII delimiters. Any other delimiter is replaced by an unused
    # character before the rows are split.
    mark = delimiter
    if not delimiter.isascii():
        unused = (chr(code) for code in range(1, 128) if chr(code) not in '"\r\n')
        mark = next(character for character in unused if character.encode() not in block)
        block = block.replace(delimiter.encode(), mark.encode())
    table = csv.read_csv(
        # pyarrow would remove U+FEFF at the start of the first cell as a byte order mark. The
        # blank line prevents that.
        pa.BufferReader(b"\n" + block),
        csv.ReadOptions(column_names=names, use_threads=False, block_size=len(block) + 2),
        csv.ParseOptions(
            delimiter=mark, newlines_in_values=True, invalid_row_handler=note_ragged
        ),
        csv.ConvertOptions(include_columns=columns, column_types=dict.fromkeys(columns, kind)),
    )
    if mark == delimiter:
        return table
    if not columns:
        return table.rename_columns(
            [name.replace(mark, delimiter) for name in table.column_names]
        )
    cells = [pc.replace_substring(table[name], mark, delimiter) for name in columns]
    return pa.table(cells, names=columns)
