"""The words for each kind of column: for its numbers, thresholds, steps and states.

Every text about a column takes its words from here. So a new kind of column needs words only in
this module: a class and an entry in `COLUMN_WORDS`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from neuralrules._data._columns import (
    Category,
    Date,
    EncodedColumn,
    Flag,
    Indicator,
    Number,
)
from neuralrules._data._dates import date_text
from neuralrules._data._encoder import Encoder
from neuralrules._reading._notation import (
    MAX_PRECISION,
    category_text,
    in_formula,
    number,
    resolved,
    rounded,
)

CELL_DIGITS = 6  # significant digits of a number in a row of the table
ROW_PRECISION = 3  # digits of a threshold for one row, from the deviation's first digit on
DAYS_APART = 3.0  # a date column with a larger deviation, in days, is shown without the time
# The next three are shares of a column's deviation.
WHOLE_DAY = 1e-6  # a date nearer to a whole day differs from it only by rounding of float32
AS_IT_IS = 1e-5  # float32 and rounding may change a threshold by this much
NOTHING = 1e-3  # numbers nearer to zero are always rounded, mostly to zero
ON_A_STEP = 1e-9  # share of a step: a number nearer to a step differs from it only by rounding


@dataclass(frozen=True)
class ColumnWords:
    """An encoded column in words.

    Attributes
    ----------
    column : EncodedColumn
    name : str
        The name of the table's column as inequalities and sentences show it.
    """

    column: EncodedColumn
    name: str

    @property
    def in_sum(self) -> str:
        """The column as a summand: its name, or ``scaled(name)`` if quantiles scale it."""
        return self.name if self.column.knots is None else f"scaled({self.name})"


class NumberWords(ColumnWords):
    """A column of numbers in words."""

    # The words for a side of a threshold, without and with the threshold itself.
    sides: ClassVar = (("above", "below"), ("at least", "at most"))
    directions: ClassVar = ("more", "less")
    of_step: ClassVar = "{size} {direction} of {name}"

    def shown(self, value: float, precision: int, sign: str = "") -> float:
        """The number that `resolved` shows; after a `sign` (<, ≤, > or ≥) it is a bound."""
        return float(self.resolved(value, precision, sign))

    def resolved(self, value: float, precision: int, sign: str = "") -> str:
        """A number with enough digits to tell apart parts of the column's deviation."""
        return resolved(value, self.column.unit_at(value), precision)

    def rounded(self, value: float, precision: int, sign: str = "") -> str:
        """A number rounded to parts of the column's deviation, as sentences show it.

        A number that needs no more than `precision` digits is not rounded: with two digits,
        0.75 stays 0.75 even if the column's deviation is large.
        """
        unit = self.column.unit_at(value)
        near = rounded(value, round_step(unit), precision)
        full = resolved(value, unit, precision)
        if abs(value) < NOTHING * unit:  # show 3e-05 late payments as 0
            return near
        exact = (text for text in (near, full) if abs(float(text) - value) <= AS_IT_IS * unit)
        return next(exact, near)

    def cell(self, value: float) -> str:
        """A number as it stands in a row of the table."""
        return number(value, CELL_DIGITS)

    def side(self, rises: bool, *, reached: bool = False) -> str:
        """The words for a side of a threshold; `reached` includes the threshold itself."""
        return self.sides[reached][0 if rises else 1]

    def threshold(self, value: float, precision: int, *, rises: bool, reached: bool) -> str:
        """A threshold as text, to stand after the words of `side`."""
        signs = ("≥", "≤") if reached else (">", "<")
        return self.rounded(value, precision, signs[0 if rises else 1])

    def between(self, low: str, high: str, *, reached: bool) -> str:
        """The words for numbers between two thresholds: "about 3" if both read the same."""
        return f"about {low}" if low == high else f"between {low} and {high}"

    def size(self, size: str) -> str:
        """The words for the size of a difference of two numbers."""
        return size

    def change(self, change: float, precision: int) -> str:
        """The words for a change of a threshold: "0.2 more"."""
        unit = min(self.column.in_sums.scale, abs(change))
        size = self.size(rounded(abs(change), unit, max(precision - 1, 1)))
        return f"{size} {self.directions[0 if change > 0 else 1]}"

    def step(self, *, rises: bool) -> str:
        """A round step along the column: "0.1 more of utilisation"."""
        size = self.size(number(round_step(self.column.in_sums.scale), 1))
        direction = self.directions[0 if rises else 1]
        return self.of_step.format(size=size, direction=direction, name=self.name)

    def threshold_for_row(self, threshold: float, *, up: bool) -> float:
        """A threshold rounded up or down to a part of the column's deviation."""
        step = 10.0 ** (1 - ROW_PRECISION) * round_step(self.column.unit_at(threshold))
        near = threshold / step
        whole = np.ceil(near - ON_A_STEP) if up else np.floor(near + ON_A_STEP)
        return float(number(step * whole, MAX_PRECISION - 2))  # 0.7000000000000001 is 0.7

    def gap(self, threshold: float, cell: float, *, rises: bool) -> str:
        """How far a row is from the side asked for: "not above 35300 (14300 too low)"."""
        bound = self.threshold_for_row(threshold, up=rises)
        size = number(abs(bound - cell), CELL_DIGITS)
        low = "low" if rises else "high"
        return f"not {self.side(rises)} {self.cell(bound)} ({size} too {low})"


class DateWords(NumberWords):
    """A column of dates in words; its numbers are days."""

    sides: ClassVar = (("after", "before"), ("from", "up to"))
    directions: ClassVar = ("later", "earlier")
    of_step: ClassVar = "{size} that {name} is {direction}"

    @property
    def in_sum(self) -> str:
        return f"days({self.name})" if self.column.knots is None else super().in_sum

    def shown(self, value: float, precision: int, sign: str = "") -> float:
        unit = self.column.unit_at(value)
        if unit <= DAYS_APART:
            return round(value * 86_400) / 86_400
        if abs(value - round(value)) <= WHOLE_DAY * unit:
            return float(round(value))
        # For whole days, below 8.5 means below 9, and above 8.5 means above 8.
        ways = {"<": math.ceil, "≥": math.ceil, ">": math.floor, "≤": math.floor}
        return float(ways.get(sign, round)(value))

    def resolved(self, value: float, precision: int, sign: str = "") -> str:
        return date_text(self.shown(value, precision, sign))

    rounded = resolved

    def cell(self, value: float) -> str:
        return date_text(value)

    def between(self, low: str, high: str, *, reached: bool) -> str:
        """Dates between two thresholds, in words that say whether the ends count."""
        if low >= high:  # both bounds meet at the highest activation, perhaps within a day
            return f"about {low}"
        first, last = (self.side(rises, reached=reached) for rises in (True, False))
        return f"{first} {low} and {last} {high}"

    def size(self, size: str) -> str:
        return f"{size} {'day' if size == '1' else 'days'}"

    def threshold_for_row(self, threshold: float, *, up: bool) -> float:
        if self._in_whole_days(threshold):
            return self.shown(threshold, ROW_PRECISION, "<" if up else ">")
        return super().threshold_for_row(threshold, up=up)

    def gap(self, threshold: float, cell: float, *, rises: bool) -> str:
        whole_days = self._in_whole_days(threshold) and cell == round(cell)
        # For whole days, "after the 8th" means the 9th or later.
        bound = self.threshold_for_row(threshold, up=rises != whole_days)
        size = self.size(number(abs(bound - cell) + whole_days, CELL_DIGITS))
        late = "early" if rises else "late"
        return f"not {self.side(rises)} {self.cell(bound)} ({size} too {late})"

    def _in_whole_days(self, value: float) -> bool:
        return self.column.unit_at(value) > DAYS_APART


class FlagWords(NumberWords):
    """A column of truth values in words; in sums, true is 1 and false is 0."""

    def state(self, present: bool = True) -> str:
        """The statement that a row has one of the two values: "owner is true"."""
        return f"{self.name} is {'true' if present else 'false'}"


class IndicatorWords(ColumnWords):
    """An indicator in words: of a category, of all rare categories, or of missing cells."""

    @property
    def in_sum(self) -> str:
        """The indicator as a summand in brackets, which is 1 if the indicator holds, else 0."""
        return f"[{self.state()}]"

    def state(self, present: bool = True) -> str:
        """The statement that the indicator holds or, if not `present`, that it does not."""
        if self.column.means_missing:
            return f"{self.name} is {'missing' if present else 'known'}"
        return f"{self.name} {'=' if present else '≠'} {category_words(self.column)}"


# A kind of column without an entry has the words of its base class.
COLUMN_WORDS: dict[type, type[ColumnWords]] = {
    Number: NumberWords,
    Date: DateWords,
    Flag: FlagWords,
    Indicator: IndicatorWords,
}


def words_of(encoder: Encoder, column: EncodedColumn) -> ColumnWords:
    """The words of an encoded column, by its kind."""
    words = next(COLUMN_WORDS[kind] for kind in type(column).__mro__ if kind in COLUMN_WORDS)
    return words(column, in_formula(encoder.names[column.source]))


def number_words(encoder: Encoder, column: EncodedColumn) -> NumberWords:
    """The words of a column of numbers."""
    words = words_of(encoder, column)
    assert isinstance(words, NumberWords)
    return words


def state_text(encoder: Encoder, column: EncodedColumn, *, present: bool = True) -> str:
    """The statement that an indicator or a truth value holds or, if not `present`, does not."""
    words = words_of(encoder, column)
    assert isinstance(words, FlagWords | IndicatorWords)  # other columns have no state
    return words.state(present)


def category_words(column: EncodedColumn) -> str:
    """The category of an indicator as a sentence says it."""
    if column.means_missing:
        return "missing"
    if isinstance(column, Category) and column.category is not None:
        return category_text(column.category)
    return "a rare value"


def round_step(scale: float) -> float:
    """The power of ten that is nearest to a column's deviation."""
    return float(10.0 ** np.round(np.log10(scale)))
