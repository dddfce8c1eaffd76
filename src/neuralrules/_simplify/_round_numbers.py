"""The roundest number near another one, as a person would choose it.

Multiples of 1, 2, 2.5 and 5 times a power of ten, the coarsest first; whole numbers for
columns of whole numbers; the first of a year, of a quarter or of a month for dates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from neuralrules._data._columns import EncodedColumn
from neuralrules._data._dates import EPOCH
from neuralrules._data._rows import Rows

MULTIPLES = (5.0, 2.5, 2.0, 1.0)
MONTHS = (12, 3, 1)  # of a year, of a quarter, of a month
FINEST = 12  # digits that are tried
FEW_DAYS = 40  # less than it cannot hold the first of two months


@dataclass(frozen=True)
class Seen:
    """The numbers that a column had on some rows.

    Attributes
    ----------
    numbers : (n,) float64
        In the column's own units, ascending.
    whole : bool
        Whether all of them are whole.
    """

    numbers: np.ndarray
    whole: bool

    def around(self, threshold: float, *, rises: bool) -> tuple[float, float]:
        """The thresholds that tell the same rows apart: from the number below to that above.

        Where rows must lie above it, a threshold may be the number below it.
        """
        place = int(np.searchsorted(self.numbers, threshold, "right" if rises else "left"))
        below = self.numbers[place - 1] if place else threshold
        above = self.numbers[place] if place < len(self.numbers) else threshold
        gap = (above - below) / 1024  # the other end itself would tell other rows apart
        return (below, above - gap) if rises else (below + gap, above)


def seen_numbers(rows: Rows, feature: int, column: EncodedColumn) -> Seen:
    """What rows have in an encoded column of numbers."""
    encoded = np.unique(rows.X[:, feature]).astype(np.float64)
    encoded = encoded[encoded != 0]  # a hole is encoded as 0
    if column.knots is not None:
        numbers = column.knots.original(encoded)
    else:
        numbers = encoded * column.scale + column.mean
    # Rows are float32: that is how far a whole number may be off.
    near = 1e-6 * (np.abs(numbers).max(initial=0.0) + column.scale)
    whole = bool(len(numbers)) and bool((np.abs(numbers - np.rint(numbers)) <= near).all())
    return Seen(np.rint(numbers) if whole else numbers, whole)


def roundest(value: float, low: float, high: float, *, whole: bool = False) -> float:
    """The roundest number from `low` to `high`, of equally round ones that next to `value`."""
    if low <= 0 <= high:
        return 0.0
    if not low < high:
        return value
    whole = whole and math.ceil(low) <= math.floor(high)
    largest = math.floor(math.log10(max(abs(low), abs(high))))
    for digit in range(FINEST):
        for multiple in MULTIPLES:
            step = multiple * 10.0 ** (largest - digit)
            if whole and step % 1:
                continue
            near = round(value / step)
            fits = [k * step for k in (near, near - 1, near + 1) if low <= k * step <= high]
            if fits:
                return float(f"{fits[0]:.{FINEST}g}")
    return value


def roundest_day(days: float, low: float, high: float) -> float:
    """The roundest of the days since 1970-01-01 from `low` to `high`."""
    for months in MONTHS:
        firsts = [day for day in firsts_near(days, low, high, months) if low <= day <= high]
        if firsts:
            return min(firsts, key=lambda day: abs(day - days))
    whole = float(round(days))
    return whole if low <= whole <= high else days


def firsts_near(days: float, low: float, high: float, months: int) -> Iterator[float]:
    """The first days of years, quarters or months about some day."""
    epoch = date.fromisoformat(EPOCH)
    reach = max(high - low, FEW_DAYS) / 28 + months
    try:
        middle = epoch + timedelta(days=round(days))
    except OverflowError:
        return
    number = middle.year * 12 + middle.month - 1
    start = math.floor((number - reach) / months) * months
    for first in range(start, math.ceil(number + reach) + 1, months):
        if 12 <= first < 12 * 10_000:
            yield float((date(first // 12, first % 12 + 1, 1) - epoch).days)
