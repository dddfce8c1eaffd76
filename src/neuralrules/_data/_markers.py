"""Markers: numbers such as -999, or texts such as "unknown", that mean missing.

Empty cells are always missing. A user names the markers when a model is fitted, and the markers
are part of the model. They are stored as texts, as on a command line. A text cell is missing if
its text is a marker. A number is missing if a marker is a text of this number, and a date is
missing if a marker is a text of this date.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from neuralrules._data._categories import all_spellings, category_name
from neuralrules._data._cells import NUMBER
from neuralrules._data._dates import days_of_text

MOST_MARKERS = 1_000  # a longer list is a mistake or an attack
LONGEST_MARKER = 1_000  # characters


@dataclass(frozen=True)
class Markers:
    """The cells that mean missing in columns of each kind.

    Attributes
    ----------
    texts : frozenset of str
        All spellings of the markers. For example, -999 can also be written as -999.0.
    numbers : tuple of float
        Numbers that mean missing in columns of numbers. They include the markers rounded to
        float32.
    days : tuple of float
        Days since 1970-01-01 that mean missing in columns of dates.
    """

    texts: frozenset[str] = frozenset()
    numbers: tuple[float, ...] = ()
    days: tuple[float, ...] = ()

    @classmethod
    def of(cls, missing: Iterable[str]) -> Markers:
        """The meaning of the markers in columns of texts, numbers and dates."""
        markers = list(missing)
        numbers = {float(text) for text in markers if NUMBER.fullmatch(text)}
        numbers |= {single for number in numbers for single in as_single(number)}
        days = {days_of_text(text) for text in markers}
        return cls(
            frozenset(text for marker in markers for text in all_spellings(marker)),
            tuple(sorted(numbers)),
            tuple(sorted(day for day in days if day is not None)),
        )

    def without_texts(self, column: Any) -> Any:
        """A column of a table in which None replaces the texts that mean missing.

        A column of the pandas type "category" stays as it is, because `as_categories` handles
        its markers.
        """
        if not self.texts or str(getattr(column, "dtype", "")) == "category":
            return column
        array = np.asarray(column)
        if array.dtype.kind not in "OU":
            return column
        holes = [isinstance(cell, str) and cell in self.texts for cell in array]
        if not any(holes):
            return column
        cells = array.astype(object)  # a copy
        cells[holes] = None
        return cells


def as_single(number: float) -> list[float]:
    """A number rounded to float32, as a list; an empty list if it overflows or underflows."""
    with np.errstate(over="ignore", under="ignore"):
        single = float(np.float32(number))
    return [single] if math.isfinite(single) and (single != 0 or number == 0) else []


def marker_texts(missing: Any) -> tuple[str, ...]:
    """The parameter `missing` of the estimators as texts, or an error."""
    if missing is None:
        return ()
    given = [missing] if isinstance(missing, str | Real) else list(missing)
    # NaN always means missing.
    told = [one for one in given if not (isinstance(one, Real) and math.isnan(one))]
    texts = [marker_text(one) for one in told]
    if len(texts) > MOST_MARKERS:
        raise ValueError(
            f"missing holds {len(texts):,} values, but may hold {MOST_MARKERS:,}. Replace such "
            "cells in the table by NaN or None instead."
        )
    return tuple(dict.fromkeys(texts))


def marker_text(one: Any) -> str:
    """One number or text that means missing, as text."""
    if not isinstance(one, str | Real) or isinstance(one, bool | np.bool_):
        raise ValueError(
            f"missing holds {one!r}, but must hold numbers and texts, such as -999 or "
            "'unknown'. Write a date as text, such as '1900-01-01'."
        )
    text = category_name(one)
    if len(text) > LONGEST_MARKER:
        raise ValueError(
            f"missing holds a text of {len(text):,} characters, but a text may have "
            f"{LONGEST_MARKER:,}. Replace such cells in the table by NaN or None instead."
        )
    return text
