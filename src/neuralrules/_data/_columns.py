"""The kinds of encoded columns, one class each.

An encoded column is one float32 column that rules work on. It comes from one column of the
table, its source. A source of numbers becomes a `Number`, a `Date` or a `Flag` and, if it had
missing cells in training, a `Missing` indicator too. A source of categories becomes one
`Category` indicator for each category and, if there are too many, a `Rare` indicator for the
others.

A class says how its cells are read and turned into numbers, how the numbers are scaled and
bounded, and what they mean. All other code uses these methods. So a new kind of column needs
one class in this module, and its wording in `_reading`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from neuralrules._data._cells import missing_cells
from neuralrules._data._dates import LAST_MOMENT, days_of_text, holds_dates
from neuralrules._data._markers import Markers
from neuralrules._data._numbers import LARGEST, as_numbers, holds_booleans
from neuralrules._data._scaling import Knots, learn_knots
from neuralrules._expression import _nodes as ops


@dataclass(frozen=True)
class EncodedColumn(ABC):
    """One encoded column: where it comes from, and how it is scaled.

    Attributes
    ----------
    source : int
        The place of the column of the table that it comes from.
    mean, scale : float
        Mean and standard deviation of the original column. The method `raw` computes the
        original column from the cells.
    lowest, highest : float
        The range of the original column in training. If the range is not known, this is the
        range of all numbers that a table may hold.
    """

    source: int
    mean: float = 0.0
    scale: float = 1.0
    lowest: float = -float(LARGEST)
    highest: float = float(LARGEST)

    stored_as: ClassVar[str]  # the name of the class in files
    rank: ClassVar[int]  # encoded columns are ordered by rank, then by source

    @abstractmethod
    def raw(self, cells: Any) -> np.ndarray:
        """The original column, (n_rows,) float64 or bool, before it is scaled.

        `cells` are the cells of the source: numbers, (n_rows,) float64 with NaN for missing
        cells, or `Categories`.
        """

    @abstractmethod
    def expression(self, spellings: Mapping[str | None, str | None]) -> ops.Number:
        """The original column as an expression for formulas and exports.

        For a column with knots, this is the scaled column. A missing number becomes the
        `stand_in`. `spellings` maps every text that may stand in a cell of the source to its
        category, if this category has an indicator. None stands for missing cells.
        """

    def encode(self, cells: Any) -> np.ndarray:
        """The encoded column, which rules work on, (n_rows,) float32.

        A missing number is encoded as 0. Numbers far outside the training rows are bounded, so
        that they cannot overflow.
        """
        with np.errstate(over="ignore"):  # a tiny scale may overflow; clipped below
            encoded = np.nan_to_num(self.encoded(self.raw(cells)))
        return np.clip(encoded, -LARGEST, LARGEST).astype(np.float32)

    def encoded(self, original: np.ndarray) -> np.ndarray:
        """Scale numbers of the original column, float64 of any shape. NaN stays NaN."""
        return (original - self.mean) / self.scale

    def original(self, encoded: float) -> float:
        """The original number that is encoded as `encoded`."""
        return encoded * self.scale + self.mean

    def slopes(self, original: np.ndarray) -> np.ndarray | float:
        """Derivatives of the encoded column with respect to the original, at these numbers."""
        return 1 / self.scale

    def unit_at(self, original: float) -> float:
        """The difference of the original column that becomes 1 when encoded, near a number."""
        return self.scale

    @property
    @abstractmethod
    def span(self) -> tuple[float, float]:
        """The lowest and the highest encoded number in training."""

    @property
    def stand_in(self) -> float:
        """The original number that replaces a missing number.

        It is the number that is encoded as 0.
        """
        return self.mean

    @property
    def knots(self) -> Knots | None:
        """The knots by which the column is scaled; None if its mean and deviation scale it."""
        return None

    def marked(self, markers: Markers) -> tuple[float, ...]:
        """The numbers in the cells of this column that mean missing."""
        return ()

    @property
    def in_sums(self) -> Standardised:
        """The mean and the scale of the quantity that sums in the user's units add up.

        This quantity is the original column. For a column with knots it is the encoded
        column, because no factor leads from one to the other.
        """
        return self

    @property
    def means_missing(self) -> bool:
        """Whether the column is an indicator of missing cells."""
        return False

    @property
    def record(self) -> list[Any]:
        """What a file stores of the column besides its numbers: source, kind and category."""
        return [self.source, self.stored_as, None]


@dataclass(frozen=True)
class Number(EncodedColumn):
    """The numbers of a column, standardised or scaled by their quantiles.

    Attributes
    ----------
    knots : Knots or None
        encoded = (original - mean) / scale or, with knots, knots.scaled(original).
    """

    knots: Knots | None = None

    stored_as: ClassVar[str] = "number"
    rank: ClassVar[int] = 0
    holds: ClassVar[str] = "numbers"  # in messages
    furthest: ClassVar[float] = float(LARGEST)  # the largest absolute value of a cell

    def read(self, cells: Any, name: str, markers: Markers) -> np.ndarray:
        """The cells of the column `name` as numbers, (n_rows,) float64, NaN for missing cells.

        Cells of another kind than in training are refused.
        """
        cells = markers.without_texts(cells)
        numbers = as_numbers(cells, name)
        if numbers is None:
            raise self.other_cells(name, "text or categories")
        if self.holds != "dates" and holds_dates(cells):
            raise self.other_cells(name, "dates")
        return self.without_markers(numbers, markers)

    def other_cells(self, name: str, found: str) -> ValueError:
        """The error for a column `name` that holds cells of another kind than in training."""
        return ValueError(
            f"Column {name!r} held {self.holds} when the model was fitted and holds {found} "
            f"now. Convert it to {self.holds}, or fit again."
        )

    def marked(self, markers: Markers) -> tuple[float, ...]:
        return markers.numbers

    def without_markers(self, numbers: np.ndarray, markers: Markers) -> np.ndarray:
        """Numbers (n_rows,) in which NaN replaces the numbers that mean missing."""
        known = self.marked(markers)
        return np.where(np.isin(numbers, known), np.nan, numbers) if known else numbers

    def number_in(self, text: str) -> float | None:
        """The number that a text means in this column; None if the text is no number."""
        try:
            number = float(text)
        except ValueError:
            return None
        return number if math.isfinite(number) else None

    def raw(self, cells: np.ndarray) -> np.ndarray:
        return cells

    def expression(self, spellings: Mapping[str | None, str | None]) -> ops.Number:
        cell = ops.Cell(self.source)
        if self.knots is not None:
            return ops.Filled(ops.Line(cell, self.knots.x, self.knots.z), 0.0)
        return ops.Filled(cell, self.mean)

    def with_knots(self, numbers: np.ndarray, weights: np.ndarray) -> Number:
        """The column scaled by the quantiles of numbers (n_rows,), if it has enough of them."""
        return replace(self, knots=learn_knots(numbers, weights.astype(np.float64)))

    def encoded(self, original: np.ndarray) -> np.ndarray:
        return super().encoded(original) if self.knots is None else self.knots.scaled(original)

    def original(self, encoded: float) -> float:
        if self.knots is None:
            return super().original(encoded)
        return float(self.knots.original(np.array(encoded)))

    def slopes(self, original: np.ndarray) -> np.ndarray | float:
        return super().slopes(original) if self.knots is None else self.knots.slopes(original)

    def unit_at(self, original: float) -> float:
        return self.scale if self.knots is None else self.knots.unit_at(original)

    @property
    def span(self) -> tuple[float, float]:
        if self.knots is not None:
            return self.knots.z[0], self.knots.z[-1]
        low, high = ((end - self.mean) / self.scale for end in (self.lowest, self.highest))
        return low, high

    @property
    def stand_in(self) -> float:
        return self.mean if self.knots is None else self.original(0.0)

    @property
    def in_sums(self) -> Standardised:
        return self if self.knots is None else AS_IT_IS


@dataclass(frozen=True)
class Date(Number):
    """Dates, as numbers of days since 1970-01-01."""

    stored_as: ClassVar[str] = "date"
    holds: ClassVar[str] = "dates"
    furthest: ClassVar[float] = float(LAST_MOMENT)

    def read(self, cells: Any, name: str, markers: Markers) -> np.ndarray:
        numbers = super().read(cells, name, markers)
        if (np.abs(numbers) > LAST_MOMENT).any():
            raise self.other_cells(name, "numbers that are no days since 1970-01-01")
        return numbers

    def marked(self, markers: Markers) -> tuple[float, ...]:
        return markers.days

    def number_in(self, text: str) -> float | None:
        return days_of_text(text)


@dataclass(frozen=True)
class Flag(Number):
    """Booleans, as the numbers 0 and 1."""

    stored_as: ClassVar[str] = "boolean"

    def marked(self, markers: Markers) -> tuple[float, ...]:
        return ()  # 0 is False here, even if 0 means missing in other columns


@dataclass(frozen=True)
class Indicator(EncodedColumn, ABC):
    """A column that is 1 in some rows and 0 in the others, standardised."""

    @property
    def span(self) -> tuple[float, float]:
        low, high = ((end - self.mean) / self.scale for end in (0.0, 1.0))
        return low, high

    def with_share(self, counted: np.ndarray, n_rows: int, weight: float) -> Indicator:
        """The column with the mean, scale and range that follow from counts.

        `counted` is the number of rows in which the indicator is 1, and their weight in
        training. The table has `n_rows` rows with a total weight of `weight`.
        """
        share = float(counted[1] / weight)
        varies = 0 < counted[1] < weight
        return replace(
            self,
            mean=share,
            scale=float(np.sqrt(share * (1 - share))) if varies else 1.0,
            lowest=float(counted[0] == n_rows),
            highest=float(counted[0] > 0),
        )


@dataclass(frozen=True)
class Missing(Indicator):
    """1 if a number, a date or a boolean is missing, else 0."""

    stored_as: ClassVar[str] = "missing"
    rank: ClassVar[int] = 1

    def raw(self, cells: np.ndarray) -> np.ndarray:
        return np.isnan(cells)

    def expression(self, spellings: Mapping[str | None, str | None]) -> ops.Number:
        return ops.Indicator(ops.IsMissing(ops.Cell(self.source)))

    @property
    def means_missing(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class Categories:
    """The cells of a column of categories.

    Attributes
    ----------
    codes : (n_rows,) int8 or int64
        The place of the category of each cell; -1 for a category without a place.
    places : mapping from str or None to int
        The places of the categories. None stands for missing cells.
    """

    codes: np.ndarray
    places: Mapping[str | None, int]

    def __getitem__(self, rows: slice) -> Categories:
        return replace(self, codes=self.codes[rows])


@dataclass(frozen=True)
class Category(Indicator):
    """1 if a cell holds a certain category, else 0. Missing cells are a category, too.

    Attributes
    ----------
    category : str or None
        None for missing cells.
    """

    category: str | None = None

    stored_as: ClassVar[str] = "category"
    rank: ClassVar[int] = 2

    def raw(self, cells: Categories) -> np.ndarray:
        return cells.codes == cells.places[self.category]

    def expression(self, spellings: Mapping[str | None, str | None]) -> ops.Number:
        own = [text for text, category in spellings.items() if category == self.category]
        return ops.Indicator(is_any_of(self.source, own))

    @property
    def means_missing(self) -> bool:
        return self.category is None

    @property
    def record(self) -> list[Any]:
        return [self.source, self.stored_as, self.category]


@dataclass(frozen=True)
class Rare(Indicator):
    """1 if the category of a cell has no indicator of its own, else 0."""

    stored_as: ClassVar[str] = "rare"
    rank: ClassVar[int] = 2

    def raw(self, cells: Categories) -> np.ndarray:
        return cells.codes < 0

    def expression(self, spellings: Mapping[str | None, str | None]) -> ops.Number:
        return ops.Indicator(ops.Not(is_any_of(self.source, spellings)))


def is_any_of(source: int, texts: Iterable[str | None]) -> ops.IsAnyOf:
    """Whether a cell holds one of some texts, or is missing if None is one of them."""
    listed = list(texts)
    known = tuple(text for text in listed if text is not None)
    return ops.IsAnyOf(ops.Cell(source), known, None in listed)


# The kinds of columns of numbers. A later kind wins if pieces of a column differ: a piece that
# holds only missing cells looks like numbers, even in a column of dates or booleans.
NUMBER_TYPES: tuple[type[Number], ...] = (Number, Flag, Date)
COLUMN_TYPES: tuple[type[EncodedColumn], ...] = (*NUMBER_TYPES, Missing, Category, Rare)


def type_of_numbers(cells: Any, markers: Markers) -> type[Number]:
    """The kind of column that numbers, dates or booleans become."""
    if holds_dates(cells):
        return Date
    return Flag if counts_booleans(cells, markers) else Number


def counts_booleans(cells: Any, markers: Markers) -> bool:
    """Whether a column holds booleans.

    A column of objects is only checked if 0 or 1 means missing, because False and True must not
    mean missing then.
    """
    if holds_booleans(cells) or not {0.0, 1.0} & set(markers.numbers):
        return holds_booleans(cells)
    present = np.asarray(cells, object)[~missing_cells(cells)]
    return {type(cell) for cell in present} in ({bool}, {np.bool_})


class Standardised(Protocol):
    """A quantity that is standardised as (original - mean) / scale."""

    @property
    def mean(self) -> float: ...

    @property
    def scale(self) -> float: ...


class Unit(NamedTuple):
    """A mean and a scale."""

    mean: float
    scale: float


AS_IT_IS = Unit(0.0, 1.0)


def in_original_units(
    weights: Iterable[float], bias: float, columns: Iterable[Standardised]
) -> tuple[list[float], float]:
    """Convert a sum w . z + a over standardised columns z to a sum over the original columns x.

    w (x - mean) / scale equals (w / scale) x minus (w / scale) mean. So each factor is
    w / scale, and the constant is a minus the sum of factors times means.

    Returns
    -------
    factors : list of float
    constant : float
    """
    columns = list(columns)
    factors = [weight / column.scale for weight, column in zip(weights, columns, strict=True)]
    for factor, column in zip(factors, columns, strict=True):
        bias -= factor * column.mean
    return factors, bias
