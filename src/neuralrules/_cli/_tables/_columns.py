"""A table file of any format: its columns have names, and its rows can be read once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from neuralrules._cli._errors import InputError, listed
from neuralrules._cli._tables._cells import (
    OTHER_MARKS,
    PLAIN,
    TEXT,
    Marks,
    UnreadableError,
    dates,
    is_date,
    is_number,
    is_text,
    numbers,
    objects,
    with_holes,
    without_dictionary,
)
from neuralrules._data._categories import all_spellings, category_name
from neuralrules._data._cells import TRUTHS

CHUNK_CELLS = 2**22  # most cells in a batch: batches of a wide table have fewer rows
SHOWN_CHARACTERS = 40  # most characters of a cell that a message shows


class Table(ABC):
    """A table file that is open for reading. It can be read once, from the first row on.

    Its name in messages is the path that the user gave, or "standard input". The texts
    `missing` mean missing because the user says so, and the texts `usual` in every file of this
    format.
    """

    def __init__(
        self,
        name: str,
        names: list[str],
        missing: Iterable[str],
        usual: Iterable[str],
        marks: Marks,
    ) -> None:
        self.name = name
        self.names = names
        # The marker -999 also means -999.0: a missing cell turns a column of integers into
        # floats.
        self._given = frozenset(text for marker in missing for text in all_spellings(marker))
        self._markers = self._given | frozenset(usual)
        self._marks = marks
        self._begun = False
        self._check_names()

    def read(
        self, columns: Sequence[str] | None = None, kinds: Mapping[str, str] | None = None
    ) -> pd.DataFrame:
        """Read all rows of some columns, by default of all columns.

        The type of a column depends on all of its rows. Numbers are int64 if all are whole and
        none is missing, and float64 with NaN otherwise. Text is an object column with None for
        missing. Other types of Parquet stay as they are. Columns whose kind is known are in
        `kinds`, as for `frame`.
        """
        wanted = self.names if columns is None else columns
        self._begin(wanted)
        pieces = list(self._batches(wanted, CHUNK_CELLS))
        n_rows = sum(piece.num_rows for piece in pieces)
        if n_rows == 0:
            raise self.without_rows()
        whole = pa.concat_tables(pieces)
        cells = {name: whole[name] for name in wanted}
        # Columns are typed one after the other, so that the cells that were read from the file
        # can be freed for each column in turn.
        del pieces, whole
        typed = {}
        for name in wanted:
            kind = (kinds or {}).get(name)
            column = cells.pop(name)
            typed[name] = (
                self._converted(column, kind, name, 0) if kind else self._typed(column)
            )
        return pd.DataFrame(typed, index=range(n_rows))

    def batches(self, columns: Sequence[str], *, n_rows: int = 50_000) -> Iterator[Any]:
        """Read some columns, a number of rows at a time, in constant memory.

        A batch is a pyarrow.Table in the types of the file. The last batch and batches of wide
        tables have fewer rows. A table without rows gives no batch.
        """
        self._begin(columns)
        most = max(1, min(n_rows, CHUNK_CELLS // max(1, len(columns))))
        return self._batches(columns, most)

    def no_rows(self, columns: Sequence[str]) -> Any:
        """A batch of some columns, without rows."""
        return pa.schema([(name, self._type_of(name)) for name in columns]).empty_table()

    def frame(self, cells: Any, kinds: Mapping[str, str], first: int) -> pd.DataFrame:
        """Some columns of a batch, whose first row has this place in the table, as a frame.

        `kinds` are the columns in the order of the frame. "number" gives float64 with NaN,
        "date" datetime64 (from text in ISO 8601 or from a type of dates), and "text" objects
        with None. "category" gives objects with None too, but only the user's texts mean
        missing. "as is" gives the cells of the file in an Arrow type of pandas. For CSV, these
        are texts, even if they mean missing. The index counts the table's rows from 0.
        """
        columns = {
            name: self._converted(cells[name], kind, name, first)
            for name, kind in kinds.items()
        }
        frame = pd.DataFrame(columns, index=range(cells.num_rows))
        frame.index = pd.RangeIndex(first, first + cells.num_rows)
        return frame

    @property
    @abstractmethod
    def done(self) -> float | None:
        """The share of the file that has been read, from 0 to 1; None if it is unknown."""

    @abstractmethod
    def _batches(self, columns: Sequence[str], n_rows: int) -> Iterator[Any]:
        """These columns in the types of the file, as pyarrow.Tables of at most `n_rows`."""

    @abstractmethod
    def _type_of(self, column: str) -> Any:
        """The Arrow type of a column's cells in the file."""

    @abstractmethod
    def _typed(self, column: Any) -> Any:
        """Turn a whole column, a pyarrow.ChunkedArray, into a column of pandas."""

    def _converted(self, column: Any, kind: str, name: str, first: int) -> Any:
        """Convert cells of a column, the first of them in row `first`, to their kind."""
        column = without_dictionary(column)
        if kind == "as is":
            return pd.Series(pd.arrays.ArrowExtensionArray(column))
        # Categories keep texts that usually mean missing: the model knows whether such a text
        # is one of its categories.
        column = with_holes(column, self._given if kind == "category" else self._markers)
        if kind in ("text", "category"):
            return objects(as_text(column))
        try:
            if kind == "date":
                return self._dates(column, name)
            return self._numbers(column, name)
        except UnreadableError as error:
            row = first + pc.index(column, pa.scalar(error.text, column.type)).as_py() + 1
            remedy = self._remedy(error.text, kind)
            text = f"{shown(error.text)} is not a {kind}. {remedy}"
            raise self._error(text, row, name) from error

    def _dates(self, column: Any, name: str) -> Any:
        """A column of dates as datetime64."""
        if is_date(column.type):
            return column.cast(pa.timestamp("us"), safe=False).to_numpy()
        if not is_text(column.type) and not pa.types.is_null(column.type):
            raise self._error(f"it holds {column.type}, not dates. Give dates.", column=name)
        return dates(column.cast(TEXT))

    def _numbers(self, column: Any, name: str) -> Any:
        """A column of numbers as float64."""
        if pa.types.is_temporal(column.type):
            raise self._error(
                f"it holds dates or times ({column.type}), and the model needs numbers. Turn "
                "it into numbers first, for example days since a date.",
                column=name,
            )
        if not is_text(column.type):
            return pc.cast(column, pa.float64(), safe=False).to_numpy()
        return numbers(column, TRUTHS, self._marks)

    def _remedy(self, text: str, kind: str) -> str:
        """What a user can do about a text that is not a number or not a date."""
        if kind == "date":
            return (
                "Write it like 2020-12-31 or 2020-12-31T23:59:59, or give --missing if it "
                "means missing."
            )
        for marks in (PLAIN, *OTHER_MARKS):
            if is_number(text, marks):
                return f"Give {marks.options} if numbers are written like that."
        if len(text) > SHOWN_CHARACTERS:
            return "Correct the cell."
        return f"Correct the cell, or give --missing {text!r} if it means missing."

    def _begin(self, columns: Sequence[str]) -> None:
        """Refuse unknown columns, and a table that has been read."""
        if self._begun:
            raise RuntimeError(f"{self.name} has been read already; open it once more.")
        for column in columns:
            self.check_column(column)
        self._begun = True

    def check_column(self, column: str, option: str = "") -> None:
        """Refuse the name of a column that the table lacks. `option` is where it was given."""
        if column not in self.names:
            raise InputError(
                f"{option and f'{option}: '}{self.name} has no column {column!r}. "
                f"{self.similar_column(column)}"
            )

    def similar_column(self, column: str, taken: Sequence[str] = ()) -> str:
        """A hint for a column that the table lacks: a similar name that is not in `taken`."""
        free = {name.casefold(): name for name in self.names if name not in taken}
        similar = get_close_matches(column.casefold(), free, n=1)
        if similar:
            return f"Did you mean {free[similar[0]]!r}?"
        return f"Its columns are {listed(self.names, most=10)}."

    def _check_names(self) -> None:
        first: dict[str, int] = {}
        for place, name in enumerate(self.names, start=1):
            if not name:
                raise self._error(
                    f"column {place} has no name. Give it one, or leave the column out "
                    "(with pandas: index=False).",
                    row=0,
                )
            if name in first:
                raise self._error(
                    f"columns {first[name]} and {place} are both named {shown(name)}. Rename "
                    "one of them.",
                    row=0,
                )
            first[name] = place

    def without_rows(self) -> InputError:
        return InputError(f"{self.name} has columns but no rows. Give a table with rows.")

    def _error(
        self, text: str, row: int | None = None, column: str | None = None
    ) -> InputError:
        """The error for a mistake at some place. Rows count from 1, and row 0 is the header."""
        place = self.name
        if row is not None:
            place += f", row {row}" if row else ", header"
        if column is not None:
            place += f", column {shown(column)}"
        return InputError(f"{place}: {text}")


def as_text(column: Any) -> Any:
    """A column as text, in the form in which the encoder names categories."""
    if is_text(column.type):
        return column
    names = [None if cell is None else category_name(cell) for cell in column.to_pylist()]
    return pa.chunked_array([pa.array(names, TEXT)])


def shown(text: str) -> str:
    """A cell or name in quotes, on one line, and shortened if it is long."""
    if len(text) <= SHOWN_CHARACTERS:
        return repr(text)
    return repr(text[: SHOWN_CHARACTERS - 1] + "…")
