"""How each kind of column is worded: its numbers, its sides, its steps and its states.

Every text about a column takes its words from here, so that a new kind of column gets its
words in this one module: a class and, for numbers, an entry in `NUMBER_WORDS`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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
from neuralrules._reading._names import category_text, in_formula
from neuralrules._reading._numbers import MAX_PRECISION, number, resolved, rounded

CELL_DIGITS = 6  # of a number as it stands in a row
ROW_PRECISION = 3  # digits of a column's deviation that a threshold for one row has
DAYS_APART = 3.0  # dates that lie further apart are shown without the time of day
WHOLE_DAY = 1e-6  # of a deviation: dates as near to a whole day differ from it by float32
AS_IT_IS = 1e-5  # of a deviation: what float32 and rounding may lose of a threshold
NOTHING = 1e-3  # of a deviation: numbers nearer to zero are rounded to zero
ON_A_STEP = 1e-9  # of a step: what rounding may add to a number that lies on a step


@dataclass(frozen=True)
class NumberWords:
    """A column of numbers in words.

    Attributes
    ----------
    column : EncodedColumn
    name : str
        As it stands in inequalities and sentences.
    """

    column: EncodedColumn
    name: str

    @property
    def in_sum(self) -> str:
        """The column as a summand: bare, or, if it is scaled by its quantiles, as scaled."""
        return self.name if self.column.knots is None else f"scaled({self.name})"

    def shown(self, value: float, precision: int, sign: str = "") -> float:
        """The number that `resolved` shows; behind a `sign` (<, ≤, > or ≥) it is a bound."""
        return float(self.resolved(value, precision, sign))

    def resolved(self, value: float, precision: int, sign: str = "") -> str:
        """A number in the digits that tell apart parts of the column's deviation."""
        return resolved(value, self.column.unit_at(value), precision)

    def rounded(self, value: float, precision: int, sign: str = "") -> str:
        """A number rounded to parts of the column's deviation, as sentences show it.

        A number that has no more digits than asked for is shown as it is: 0.75 in two digits,
        however wide its column.
        """
        unit = self.column.unit_at(value)
        near = rounded(value, round_step(unit), precision)
        full = resolved(value, unit, precision)
        if abs(value) < NOTHING * unit:  # 3e-05 late payments are none
            return near
        exact = (text for text in (near, full) if abs(float(text) - value) <= AS_IT_IS * unit)
        return next(exact, near)

    def cell(self, value: float) -> str:
        """A number as it stands in a row of the table."""
        return number(value, CELL_DIGITS)

    def side(self, rises: bool, *, reached: bool = False) -> str:
        """On which side of a threshold numbers lie; `reached` thresholds count themselves."""
        words = ("at least", "at most") if reached else ("above", "below")
        return words[0 if rises else 1]

    def threshold(self, value: float, precision: int, *, rises: bool, reached: bool) -> str:
        """A threshold, which stands after the words of `side`."""
        signs = ("≥", "≤") if reached else (">", "<")
        return self.rounded(value, precision, signs[0 if rises else 1])

    def between(self, low: str, high: str, *, reached: bool) -> str:
        """Numbers between two thresholds; about one of them where both are shown alike."""
        return f"about {low}" if low == high else f"between {low} and {high}"

    def size(self, size: str) -> str:
        """A difference of two numbers."""
        return size

    def change(self, change: float, precision: int) -> str:
        """A change of a threshold: "0.2 more"."""
        return f"{self._change_size(change, precision)} {'more' if change > 0 else 'less'}"

    def _change_size(self, change: float, precision: int) -> str:
        unit = min(self.column.in_sums.scale, abs(change))
        return self.size(rounded(abs(change), unit, max(precision - 1, 1)))

    def step(self, *, rises: bool) -> str:
        """A round step along the column: "0.1 more of utilisation"."""
        return f"{self._step_size()} {'more' if rises else 'less'} of {self.name}"

    def _step_size(self) -> str:
        return self.size(number(round_step(self.column.in_sums.scale), 1))

    def threshold_for_row(self, threshold: float, *, up: bool) -> float:
        """A threshold rounded up or down to a part of the column's deviation."""
        step = 10.0 ** (1 - ROW_PRECISION) * round_step(self.column.unit_at(threshold))
        near = threshold / step
        whole = np.ceil(near - ON_A_STEP) if up else np.floor(near + ON_A_STEP)
        return float(number(step * whole, MAX_PRECISION - 2))  # 0.7000000000000001 is 0.7

    def gap(self, threshold: float, cell: float, *, rises: bool) -> str:
        """How far the number in a row is from its side: "not above 35300 (14300 too low)"."""
        bound = self.threshold_for_row(threshold, up=rises)
        size = number(abs(bound - cell), CELL_DIGITS)
        low = "low" if rises else "high"
        return f"not {self.side(rises)} {self.cell(bound)} ({size} too {low})"


class DateWords(NumberWords):
    """A column of dates in words; its numbers are days."""

    @property
    def in_sum(self) -> str:
        return f"days({self.name})" if self.column.knots is None else super().in_sum

    def shown(self, value: float, precision: int, sign: str = "") -> float:
        unit = self.column.unit_at(value)
        if unit <= DAYS_APART:
            return round(value * 86_400) / 86_400
        if abs(value - round(value)) <= WHOLE_DAY * unit:
            return float(round(value))
        # Whole days that are below 8.5 are below 9, and those above it above 8.
        ways = {"<": math.ceil, "≥": math.ceil, ">": math.floor, "≤": math.floor}
        return float(ways.get(sign, round)(value))

    def resolved(self, value: float, precision: int, sign: str = "") -> str:
        return date_text(self.shown(value, precision, sign))

    rounded = resolved

    def cell(self, value: float) -> str:
        return date_text(value)

    def side(self, rises: bool, *, reached: bool = False) -> str:
        words = ("from", "up to") if reached else ("after", "before")
        return words[0 if rises else 1]

    def between(self, low: str, high: str, *, reached: bool) -> str:
        """Dates between two thresholds, in words that say whether the ends count."""
        if low >= high:  # both sides meet at the top of a ridge, which may lie between two days
            return f"about {low}"
        first, last = (self.side(rises, reached=reached) for rises in (True, False))
        return f"{first} {low} and {last} {high}"

    def size(self, size: str) -> str:
        return f"{size} {'day' if size == '1' else 'days'}"

    def change(self, change: float, precision: int) -> str:
        return f"{self._change_size(change, precision)} {'later' if change > 0 else 'earlier'}"

    def step(self, *, rises: bool) -> str:
        return f"{self._step_size()} that {self.name} is {'later' if rises else 'earlier'}"

    def threshold_for_row(self, threshold: float, *, up: bool) -> float:
        if self._in_whole_days(threshold):
            return self.shown(threshold, ROW_PRECISION, "<" if up else ">")
        return super().threshold_for_row(threshold, up=up)

    def gap(self, threshold: float, cell: float, *, rises: bool) -> str:
        whole_days = self._in_whole_days(threshold) and cell == round(cell)
        # "After the 8th" asks whole days for the 9th.
        bound = self.threshold_for_row(threshold, up=rises != whole_days)
        size = self.size(number(abs(bound - cell) + whole_days, CELL_DIGITS))
        late = "early" if rises else "late"
        return f"not {self.side(rises)} {self.cell(bound)} ({size} too {late})"

    def _in_whole_days(self, value: float) -> bool:
        return self.column.unit_at(value) > DAYS_APART


class FlagWords(NumberWords):
    """A column of true and false in words; in sums they are the numbers 1 and 0."""

    def state(self, present: bool = True) -> str:
        """Which of the two values a row has."""
        return f"{self.name} is {'true' if present else 'false'}"


@dataclass(frozen=True)
class IndicatorWords:
    """A category, all rare categories, or what is missing, in words.

    Attributes
    ----------
    column : EncodedColumn
    name : str
        Of the table's column, as it stands in inequalities and sentences.
    """

    column: EncodedColumn
    name: str

    @property
    def in_sum(self) -> str:
        """The indicator as a summand, which counts 1 where it holds."""
        return f"[{self.state()}]"

    @property
    def category(self) -> str:
        """The category as a sentence says it."""
        if self.column.means_missing:
            return "missing"
        if isinstance(self.column, Category) and self.column.category is not None:
            return category_text(self.column.category)
        return "a rare value"

    def state(self, present: bool = True) -> str:
        """What the indicator says, or that it does not hold."""
        if self.column.means_missing:
            return f"{self.name} is {'missing' if present else 'known'}"
        return f"{self.name} {'=' if present else '≠'} {self.category}"


NUMBER_WORDS: dict[type[EncodedColumn], type[NumberWords]] = {
    Number: NumberWords,
    Date: DateWords,
    Flag: FlagWords,
}


def words_of(encoder: Encoder, column: EncodedColumn) -> NumberWords | IndicatorWords:
    """The words of an encoded column, by its kind."""
    if isinstance(column, Indicator):
        return indicator_words(encoder, column)
    return number_words(encoder, column)


def number_words(encoder: Encoder, column: EncodedColumn) -> NumberWords:
    """The words of a column of numbers; without its own words a kind has those of its base."""
    words = next(NUMBER_WORDS[kind] for kind in type(column).__mro__ if kind in NUMBER_WORDS)
    return words(column, in_formula(encoder.names[column.source]))


def indicator_words(encoder: Encoder, column: EncodedColumn) -> IndicatorWords:
    """The words of a category, of all rare categories, or of what is missing."""
    return IndicatorWords(column, in_formula(encoder.names[column.source]))


def state_text(encoder: Encoder, column: EncodedColumn, *, present: bool = True) -> str:
    """What an indicator or a truth value says, or that it does not hold."""
    words = words_of(encoder, column)
    assert isinstance(words, FlagWords | IndicatorWords)  # a number is no state
    return words.state(present)


def round_step(scale: float) -> float:
    """A power of ten, about as large as a column's deviation."""
    return float(10.0 ** np.round(np.log10(scale)))
