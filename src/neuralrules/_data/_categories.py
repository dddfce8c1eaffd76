"""The names of categories: one rule for cells of tables, files and databases.

The name of a category is its cell as text. A whole number has no ".0", because a column of
integers with missing cells becomes one of floats. Files and databases write the same cell in
other ways: 2 as ``2.0``, True as ``true`` or 1, a missing cell as an empty text. There are only
a few such spellings. The encoder and every export list all of them, so they agree on each cell.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from neuralrules._data._cells import MISSING, missing_cells

MAX_CATEGORIES = 64  # indicators of one column; the rarest categories share one of them
# How databases, files and programs write booleans.
TRUTHS = {
    "True": ("true", "TRUE", "t", "T", "1", "1.0"),
    "False": ("false", "FALSE", "f", "F", "0", "0.0"),
}
MIDNIGHT = " 00:00:00"
DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
# A date with a time and a zone.
MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d(:\d\d)?)", re.ASCII
)
LONGEST_NUMBER = 400  # characters; the largest double has 309
MANY_DIGITS = 1e15  # from here on some programs write whole numbers with an exponent


def as_categories(column: Any, markers: Collection[str] = ()) -> np.ndarray:
    """The column as names of categories, with None for missing, (n_rows, 1) object.

    The `markers` are names that also mean missing.
    """

    def names_of(items: Iterable[Any]) -> list[str | None]:
        names = [category_name(item) for item in items]
        return [None if name in markers else name for name in names] if markers else [*names]

    if str(getattr(column, "dtype", "")) == "category":
        # pandas stores each category once, so there are fewer names than rows.
        known = names_of(column.cat.categories)
        return np.array([*known, None], object)[column.cat.codes.to_numpy()][:, None]
    array = np.asarray(column, dtype=object)
    present = ~missing_cells(column)
    names = np.full((len(array), 1), None, object)
    names[present, 0] = names_of(array[present])
    return names


def category_name(item: Any) -> str:
    """The name of a cell's category."""
    if type(item) is str:
        return item
    if isinstance(item, float | np.floating) and item.is_integer():
        return str(int(item))
    if isinstance(item, Decimal) and item.is_finite():
        return f"{item.normalize():f}"
    if isinstance(item, date):
        return date_name(item)
    return str(item)


def date_name(moment: date) -> str:
    """A date as text, with its time if the time is not midnight."""
    return str(moment).removesuffix(MIDNIGHT) if isinstance(moment, datetime) else str(moment)


def spellings(
    categories: Iterable[str | None], markers: Collection[str] = ()
) -> dict[str | None, str | None]:
    """A dict from cells to categories, with every spelling of the categories of a column.

    None stands for missing cells. If None is a category, texts that mean missing map to None,
    unless they are categories themselves. A spelling that is itself a category maps to this
    category. A spelling of several categories maps to the first of them. A marker always means
    missing. If None is not a category, the dict does not contain the markers.
    """
    names = list(categories)
    table: dict[str | None, str | None] = {name: name for name in names}
    known = [name for name in names if name is not None]
    are_truths, are_codes = set(known) <= TRUTHS.keys(), are_padded(known)
    for name in names:
        if name is None:
            others: Iterable[str] = sorted(MISSING)
        elif are_codes:
            others = number_spellings(str(int(name)))
        else:
            others = TRUTHS[name] if are_truths else other_spellings(name)
        for other in others:
            table.setdefault(other, name)
    for marker in sorted(markers):
        table.pop(marker, None)
        if None in table:
            table[marker] = None
    return table


def utc_spellings(text: str) -> list[str]:
    """The ways in which Python and databases with time zones write a moment in UTC."""
    try:
        moment = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):  # no such day, or outside the years 1 to 9999
        return []
    return [str(moment), str(moment).removesuffix(":00")]


def are_padded(names: list[str]) -> bool:
    """Whether all names consist of digits, have the same length, and some begin with 0.

    Programs that take such codes for numbers drop the zeros: they write "00501" as 501.
    """
    same_length = len({len(name) for name in names}) == 1
    digits = all(name.isascii() and name.isdecimal() for name in names)
    return same_length and digits and any(name[0] == "0" < name for name in names)


def all_spellings(text: str) -> list[str]:
    """A text and other ways in which programs write it."""
    return [text, *(other for other in other_spellings(text) if other != text)]


def other_spellings(text: str) -> list[str]:
    """Other ways in which programs write a text that is a day, a moment or a number."""
    if DAY.fullmatch(text):
        return [f"{text}{MIDNIGHT}", f"{text}T00:00:00"]
    return utc_spellings(text) if MOMENT.fullmatch(text) else number_spellings(text)


def number_spellings(text: str) -> list[str]:
    """The ways in which programs write a number; empty if no program writes it like `text`.

    "7" is also "7.0". But "007" and "1.10" are codes, which only equal themselves.
    """
    try:
        value = float(text) if len(text) <= LONGEST_NUMBER else np.nan
    except ValueError:
        return []
    if not np.isfinite(value):
        return []
    spelled = [repr(value)]
    spelled.append(f"{value:.15g}")  # by SQLite
    if value.is_integer():
        spelled.append(str(int(value)))
    else:
        spelled += single_spellings(value)
    if value == 0:
        spelled += ["-0", "-0.0"]
    if "e" in repr(value) or abs(value) >= MANY_DIGITS:
        spelled.append(np.format_float_scientific(value, trim="-"))
        spelled.append(np.format_float_scientific(value, trim="0"))
    return spelled if text in spelled else []


def single_spellings(value: float) -> list[str]:
    """The spellings of a number that was stored in float32, as in a column of type REAL."""
    with np.errstate(over="ignore", under="ignore"):
        single = np.float32(value)
    if not np.isfinite(single):
        return []
    short = [str(single)] if float(single) == value else []
    return [repr(float(single)), *short]


def frequent_categories(counts: Mapping[str | None, int]) -> tuple[list[str | None], bool]:
    """The categories that get an indicator of their own, and whether the others share one.

    `counts` are the numbers of rows of the categories. None stands for missing cells, and comes
    last in the result.
    """
    names = [*sorted(name for name in counts if name is not None), *[None] * (None in counts)]
    if len(names) < MAX_CATEGORIES:
        return names, False
    # Of equally rare categories, the first ones go to the shared indicator, as in scikit-learn.
    order = np.argsort([counts[name] for name in names], kind="stable")
    kept = np.sort(order[1 - MAX_CATEGORIES :])
    return [names[place] for place in kept], True
