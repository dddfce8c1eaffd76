"""Conversion of cells from text to numbers and dates, and of columns from Arrow to pandas.

Columns of cells are pyarrow.ChunkedArrays.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from neuralrules._data._cells import NUMBER
from neuralrules._data._dates import DAY, days_of_text

TEXT = pa.large_string()  # a column may hold more than 2 GiB of text


class Marks(NamedTuple):
    """The marks in numbers: 1.861,50 has the decimal mark "," and the thousands mark "."."""

    decimal: str = "."
    thousands: str | None = None

    def plain(self, text: str) -> str:
        """A number in Python's spelling. For any other text, the result is no number either."""
        if self == PLAIN:
            return text
        thousands = re.escape(self.thousands or "")
        grouped = rf"\d{{1,3}}(?:{thousands}\d{{3}})+|" if thousands else ""
        match = re.fullmatch(
            rf"([+-]?)({grouped}\d*)(?:{re.escape(self.decimal)}(\d*))?(e[+-]?\d+)?",
            text,
            re.ASCII | re.IGNORECASE,
        )
        if match is None:
            # A text such as 1.5 is no number if "." is not the decimal mark.
            return "" if NUMBER.fullmatch(text) else text
        sign, whole, fraction, exponent = (part or "" for part in match.groups())
        digits = whole.replace(self.thousands, "") if self.thousands else whole
        return f"{sign}{digits}{'.' if fraction else ''}{fraction}{exponent}"

    @property
    def options(self) -> str:
        """The options of the command line that give these marks."""
        given = [f"--thousands {self.thousands!r}"] if self.thousands else []
        if self.decimal != "." or not given:
            given.append(f"--decimal {self.decimal!r}")
        return " ".join(given)


PLAIN = Marks()
# Hints name the first marks that fit, so "," for thousands comes before "," for decimals: the
# text 1,861 rather means 1861 than a number with three decimals.
OTHER_MARKS = (
    Marks(".", ","),
    Marks(",", None),
    Marks(",", "."),
    Marks(".", " "),
    Marks(".", "'"),
    Marks(",", " "),
    Marks(".", "\u202f"),
    Marks(".", "\xa0"),
)


class UnreadableError(ValueError):
    """A column holds a cell of the wrong kind. `text` is the first such cell."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def number(text: str, names: Mapping[str, float], marks: Marks = PLAIN) -> float:
    """The number in the text of a cell. `names` maps lowercase names to their numbers."""
    bare = marks.plain(text.strip(string.whitespace))
    if NUMBER.fullmatch(bare):
        return float(bare)
    if bare.lower() in names:
        return names[bare.lower()]
    raise UnreadableError(text)


def is_number(text: str, marks: Marks) -> bool:
    """Whether a text is a number that is written with these marks."""
    return NUMBER.fullmatch(marks.plain(text.strip(string.whitespace))) is not None


def with_holes(column: Any, markers: Iterable[str]) -> Any:
    """A column with nulls in place of the cells that mean missing.

    The `markers` are texts that mean missing. A number or a date is missing if it equals the
    number or the date that one of these texts stands for. Columns of other types stay.
    """
    if is_text(column.type):
        known, cells = pa.array(sorted(markers), column.type), column
    elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        numbers_missing = [float(text) for text in markers if NUMBER.fullmatch(text)]
        known = pa.array(numbers_missing, pa.float64())
        cells = pc.cast(column, pa.float64(), safe=False)
    elif is_date(column.type):
        days = [day for day in map(days_of_text, markers) if day is not None]
        known = pa.array([round(day * DAY) for day in days], pa.int64())
        cells = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    else:
        return column
    if not len(known):
        return column
    return pc.if_else(pc.is_in(cells, known), pa.scalar(None, column.type), column)


def numbers(texts: Any, names: Mapping[str, float], marks: Marks = PLAIN) -> np.ndarray:
    """The numbers in texts, (n_rows,) float64 with NaN for null.

    Each lowercase name in `names`, such as those in `TRUTHS`, stands for a number. An
    `UnreadableError` names the first text that is no number.
    """
    if marks == PLAIN:
        with suppress(pa.ArrowInvalid):
            values = pc.cast(pc.ascii_trim_whitespace(texts), pa.float64())
            # Arrow takes any spelling of NaN for a number. pandas and this module do not.
            if not pc.any(pc.is_nan(values)).as_py():
                return values.to_numpy()
    return by_text(texts, lambda text: number(text, names, marks))


def by_text(texts: Any, read: Callable[[str], float]) -> np.ndarray:
    """The value that `read` gives for each text, NaN for null. Equal texts are read once."""
    encoded = texts.combine_chunks().dictionary_encode()
    # The dictionary has the order of the rows, so an error is about the first wrong cell.
    values = [read(text) for text in encoded.dictionary.to_pylist()]
    places = encoded.indices.fill_null(len(values)).to_numpy()
    return np.array([*values, np.nan])[places]


def dates(texts: Any) -> np.ndarray:
    """The dates in texts, (n_rows,) datetime64 with NaT for null.

    An `UnreadableError` names the first text that is no date.
    """

    def read(text: str) -> float:
        days = days_of_text(text)
        if days is None:
            raise UnreadableError(text)
        return days

    days = by_text(texts, read)
    ticks = np.round(np.nan_to_num(days) * DAY).astype("datetime64[us]")
    ticks[np.isnan(days)] = "NaT"
    return ticks


def typed(texts: Any, marks: Marks = PLAIN) -> Any:
    """A column of text in the type that pandas would give it: int64, float64 or object.

    Unlike in pandas, whole numbers beyond int64 become float64. True and False stay text, and
    so do codes with leading zeros. Missing text is None.
    """
    if pc.any(pc.match_substring_regex(texts, r"^\s*[+-]?0[0-9]+\s*$")).as_py():
        return objects(texts)
    try:
        values = numbers(texts, {}, marks)
    except UnreadableError:
        return objects(texts)
    if marks != PLAIN:
        whole = bool(len(values)) and bool((values % 1 == 0).all())  # false if there is NaN
        return values.astype(np.int64) if whole and np.abs(values).max() < 2**53 else values
    bare = pc.ascii_trim_whitespace(texts)
    if texts.null_count or not pc.all(pc.match_substring_regex(bare, r"^[+-]?[0-9]+$")).as_py():
        return values
    try:
        return pc.cast(pc.ascii_ltrim(bare, "+"), pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        return values


def objects(texts: Any) -> pd.Series:
    """Text as objects with None for null. Without a dtype, pandas 3 would not take object."""
    return pd.Series(texts.to_numpy(), dtype=object)


def without_dictionary(column: Any) -> Any:
    """A column without a dictionary. Its type is `TEXT` if it is any type of text."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(TEXT) if is_text(column.type) else column


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of the text types."""
    return kind in (TEXT, pa.string(), pa.string_view())


def is_date(kind: Any) -> bool:
    """Whether an Arrow type is one of dates, with or without a time."""
    return pa.types.is_date(kind) or pa.types.is_timestamp(kind)
