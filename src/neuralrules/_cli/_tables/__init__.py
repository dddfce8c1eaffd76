"""Reading and writing of table files: CSV, TSV and Parquet, compressed or not.

`_streams` opens files and standard streams as bytes. `_csv` and `_parquet` split the bytes into
columns. `_cells` turns cells into numbers and text. `_columns` makes frames of the columns.
`_output` writes frames. pandas and pyarrow are not loaded before the first table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from neuralrules._cli._errors import InputError
from neuralrules._cli._tables._streams import (
    DELIMITERS,
    FORMAT_OPTION,
    check_is_file,
    format_and_compression,
    open_sink,
    open_source,
)

if TYPE_CHECKING:
    from neuralrules._cli._tables._cells import Marks
    from neuralrules._cli._tables._columns import Table
    from neuralrules._cli._tables._output import CsvWriter, ParquetWriter

__all__ = ["open_output", "open_table"]


@contextmanager
def open_table(
    path: str,
    *,
    file_format: str | None = None,
    delimiter: str | None = None,
    missing: Sequence[str] = (),
    marks: Marks | None = None,
) -> Iterator[Table]:
    """Open a table file, or standard input if the path is "-", for reading.

    By default the file's name says the format, and standard input is CSV. `delimiter` is the
    character between two cells, by default a comma for CSV and a tab for TSV. In CSV and TSV,
    empty cells and the texts that pandas takes for missing mean missing, besides `missing`.
    In Parquet, its own missing values do. `marks` are by default those of Python.
    """
    import_packages()
    check_is_file(path)
    kind, compression = format_and_compression(path, file_format, FORMAT_OPTION)
    if delimiter is not None:
        check_delimiter(delimiter, kind)
    from neuralrules._cli._tables._cells import PLAIN
    from neuralrules._cli._tables._csv import CsvTable
    from neuralrules._cli._tables._parquet import open_parquet

    with open_source(path, compression) as source:
        if kind == "parquet":
            with open_parquet(source, missing, marks or PLAIN) as table:
                yield table
        else:
            yield CsvTable(source, delimiter or DELIMITERS[kind], missing, marks or PLAIN)


@contextmanager
def open_output(
    path: str, *, file_format: str | None = None, spreadsheet_safe: bool = False
) -> Iterator[CsvWriter | ParquetWriter]:
    """Open a table file, or standard output if the path is "-", for writing.

    The file is written whole or not at all. If it cannot be written, the error comes before
    any work. By default the file's name says the format, and standard output is CSV. With
    `spreadsheet_safe`, texts that a spreadsheet would take for formulas get an apostrophe.
    """
    import_packages()
    kind, compression = format_and_compression(path, file_format)
    if spreadsheet_safe and kind == "parquet":
        raise InputError(
            "--spreadsheet-safe is for CSV and TSV, not for Parquet. Leave it out."
        )
    from neuralrules._cli._tables._output import CsvWriter, ParquetWriter

    with open_sink(path, kind, compression) as stream:
        if kind == "parquet":
            writer: CsvWriter | ParquetWriter = ParquetWriter(stream)
        else:
            writer = CsvWriter(stream, DELIMITERS[kind], spreadsheet_safe=spreadsheet_safe)
        with closing(writer):
            yield writer


def check_delimiter(delimiter: str, kind: str) -> None:
    """Refuse a delimiter that cannot separate cells."""
    if kind == "parquet":
        raise InputError(
            f"--delimiter={delimiter!r} is for CSV and TSV, not for Parquet. Leave it out."
        )
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InputError(
            f"--delimiter={delimiter!r} must be one character that is neither a quote nor the "
            f"end of a line, for example ';'. For a tab, give {FORMAT_OPTION} tsv."
        )


def import_packages() -> None:
    """Load pandas and pyarrow, or raise an error that says how to install them."""
    try:
        import pandas  # noqa: F401
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"Tables are read and written with pandas and pyarrow, and {error.name} is not "
            'installed. Install it with: pip install "neuralrules[cli]"'
        ) from error
