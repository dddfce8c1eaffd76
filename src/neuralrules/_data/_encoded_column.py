"""What one encoded column is, and sums over such columns in the units of the table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from neuralrules._data._scaling import Knots

# Rows enter a network as float32; beyond this their products could overflow.
LARGEST = np.sqrt(np.finfo(np.float32).max)


@dataclass(frozen=True)
class EncodedColumn:
    """Where one encoded column comes from, so that rules can be read in user's units.

    Attributes
    ----------
    source : int
        Column of the user's table.
    kind : {"number", "missing", "category", "rare"}
        The number itself; an indicator that it is missing; of one category; of all
        categories that share one indicator.
    category : object
        The category, None for the other kinds.
    mean, scale : float
        Mean and standard deviation of the original column.
    knots : Knots or None
        encoded = (original - mean) / scale or, with knots, knots.scaled(original).
    is_date : bool
        Whether the original numbers are the days of dates since 1970-01-01.
    is_boolean : bool
        Whether the original numbers are 0 and 1 of a column of booleans.
    lowest, highest : float
        Between which the original column lay in training; where that is not known, the
        numbers that no table may exceed.
    """

    source: int
    kind: str
    category: Any = None
    mean: float = 0.0
    scale: float = 1.0
    knots: Knots | None = None
    is_date: bool = False
    lowest: float = -float(LARGEST)
    highest: float = float(LARGEST)
    is_boolean: bool = False

    def encoded(self, original: np.ndarray) -> np.ndarray:
        """The column encoded, float64 of any shape; NaN stays NaN."""
        if self.knots is not None:
            return self.knots.scaled(original)
        return (original - self.mean) / self.scale

    def original(self, encoded: float) -> float:
        """The number that is encoded as this."""
        if self.knots is not None:
            return float(self.knots.original(np.array(encoded)))
        return encoded * self.scale + self.mean

    def slopes(self, original: np.ndarray) -> np.ndarray | float:
        """By how much the encoded column grows with the original one."""
        return 1 / self.scale if self.knots is None else self.knots.slopes(original)

    def unit_at(self, original: float) -> float:
        """The original difference that makes an encoded one of 1, near some number."""
        return self.scale if self.knots is None else self.knots.unit_at(original)

    @property
    def span(self) -> tuple[float, float]:
        """Between which the encoded column lay in training; an indicator is 0 or 1."""
        if self.knots is not None:
            return self.knots.z[0], self.knots.z[-1]
        ends = (self.lowest, self.highest) if self.kind == "number" else (0.0, 1.0)
        low, high = ((end - self.mean) / self.scale for end in ends)
        return low, high

    @property
    def stand_in(self) -> float:
        """The number that a missing one counts as: the one that is encoded as 0."""
        return self.mean if self.knots is None else self.original(0.0)

    @property
    def in_sums(self) -> Standardised:
        """The mean and the scale of what a sum in the user's units adds up.

        That is the column itself; or with knots the scaled column, since no factor leads
        from the one to the other.
        """
        return AS_IT_IS if self.knots is not None else self


class Standardised(Protocol):
    """A column of which (original - mean) / scale is taken."""

    @property
    def mean(self) -> float: ...

    @property
    def scale(self) -> float: ...


class Unit(NamedTuple):
    """A mean and a scale alone."""

    mean: float
    scale: float


AS_IT_IS = Unit(0.0, 1.0)


def in_original_units(
    weights: Iterable[float], bias: float, columns: Iterable[Standardised]
) -> tuple[list[float], float]:
    """A sum w . x + a over standardised columns as one over the original ones.

    w (x - mean) / scale is the factor w / scale times x, less that factor times the mean.

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
