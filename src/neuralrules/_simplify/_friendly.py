"""Round a model to numbers that a person would choose, if that costs next to no accuracy.

Every threshold moves to the roundest number nearby. Factors and values keep few digits.
`GRAINS` lists how far thresholds may move and how many digits are kept, the coarsest first.
All rules take the first of these grains whose loss on the rows given is within the tolerance.
Then each rule by itself takes the coarsest grain that the tolerance still allows.

0 is the roundest number. Other round numbers are multiples of a step, and the numbers with the
largest step are the roundest. Steps are 5, 2.5, 2 and 1 times a power of ten. For a column of
whole numbers only whole steps count, if a whole number is near enough. For dates the first day
of a year is the roundest, then the first day of a quarter, then the first day of a month.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np

from neuralrules._data._columns import Date, EncodedColumn, Number
from neuralrules._data._dates import EPOCH
from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._lineage import ROUNDED, counted
from neuralrules._network._network import Network
from neuralrules._reading._text import check_counts
from neuralrules._simplify._path import check_tolerance
from neuralrules._simplify._rounding import (
    Rounding,
    keeping_frozen,
    once_rounded,
    rounded_network,
    shown_precision,
)
from neuralrules._training._training import mean_loss_on

MULTIPLES = (5.0, 2.5, 2.0, 1.0)
MONTHS = (12, 3, 1)  # in a year, in a quarter, in a month
FINEST = 12  # the largest number of digits that is tried
FEW_DAYS = 40  # first days are searched for in at least this many days


class Grain(NamedTuple):
    """How coarse numbers may be.

    Attributes
    ----------
    reach : float
        How far a threshold may move, in standard deviations of its column.
    digits : int
        Digits of factors and values.
    alike : bool
        See `Thresholds`.
    """

    reach: float
    digits: int
    alike: bool = False


# The coarsest grain comes first. The last one hardly changes anything.
GRAINS = (
    Grain(0.3, 1, alike=True),
    Grain(0.2, 1, alike=True),
    Grain(0.1, 1, alike=True),
    Grain(0.1, 2, alike=True),
    Grain(0.1, 2),
    Grain(0.05, 2),
    Grain(0.02, 2),
    Grain(0.01, 3),
    Grain(0.003, 3),
    Grain(0.001, 4),
    Grain(0.0, 6),
)


@dataclass(frozen=True)
class Thresholds:
    """Moves thresholds to the roundest number within reach.

    Attributes
    ----------
    seen : dict from EncodedColumn to Seen
    reach : float
        How far a threshold may move, in standard deviations of its column.
    alike : bool
        Whether a threshold may also move to any number that separates the same rows. Such a
        move may still change a lot how strongly a rule fires.
    """

    seen: dict[EncodedColumn, Seen]
    reach: float
    alike: bool

    def of_column(self, column: EncodedColumn, threshold: float, *, rises: bool) -> float:
        """Round the threshold of a literal over a single column, in the column's own units."""
        low, high = self._near(threshold, column.unit_at(threshold))
        seen = self.seen.get(column)
        inside = column.lowest <= threshold <= column.highest
        if self.alike and seen is not None and inside:
            alike = seen.around(threshold, rises=rises)
            low, high = min(low, alike[0]), max(high, alike[1])
        if isinstance(column, Date):
            return roundest_day(threshold, low, high)
        whole = seen is not None and seen.whole
        return roundest(threshold, low, high, whole=whole)

    def of_sum(self, threshold: float, unit: float) -> float:
        """Round the number that a sum over several columns is compared with."""
        return roundest(threshold, *self._near(threshold, unit))

    def _near(self, threshold: float, unit: float) -> tuple[float, float]:
        return threshold - self.reach * unit, threshold + self.reach * unit


def rounding(
    fitted: Fitted, rows: Rows, engine: Engine, precision: Any, tolerance: Any
) -> Rounding:
    """Round a model; see `Changes.round_numbers`.

    The `model` of the result is a `Fitted`. `Changes.round_numbers` makes an estimator of it.
    """
    check_tolerance(tolerance)
    if precision == "friendly":
        network = friendly_network(fitted, rows, engine, float(tolerance))
    elif isinstance(precision, str):
        raise ValueError(f"precision={precision!r} must be a number of digits, or 'friendly'.")
    else:
        check_counts(precision=precision)
        network = rounded_network(fitted, precision)
    mean_loss = mean_loss_on(rows, engine)
    loss, loss_before = mean_loss(network), mean_loss(fitted.state.network)
    rounded = fitted.with_network(network, fitted.rules, rows, engine)
    if precision == "friendly":
        shown, how = shown_precision(rounded), "to friendly numbers"
    else:
        shown, how = precision, f"to {counted(int(precision), 'significant digit')}"
    return Rounding(rounded.after(ROUNDED, how), loss, loss_before, shown)


def friendly_network(fitted: Fitted, rows: Rows, engine: Engine, tolerance: float) -> Network:
    """The network, for standardised targets, with the roundest numbers that cost little.

    Parameters
    ----------
    fitted : Fitted
    rows : Rows
        The rows to measure the loss on.
    engine : Engine
    tolerance : float
        The share of the model's gain over the best constant that may be lost on these rows.
    """
    network, encoder = fitted.state.network, fitted.encoder
    columns = {feature: encoder.columns[feature] for feature in network.features.tolist()}
    seen: dict[EncodedColumn, Seen] = {
        column: seen_numbers(rows, feature, column)
        for feature, column in columns.items()
        if isinstance(column, Number)
    }
    before = rows.mean_loss(engine.decide(network, rows.X) + network.intercept)
    gain = rows.mean_loss(rows.best_constant()) - before
    highest = before + tolerance * max(gain, 0.0)
    tried: list[Network] = []
    for reach, digits, alike in GRAINS:
        thresholds = Thresholds(seen, reach, alike)
        rounded = once_rounded(network, encoder, fitted.task, digits, thresholds)
        tried.append(keeping_frozen(network, rounded, fitted.rules))
        if rows.mean_loss(engine.decide(tried[-1], rows.X) + network.intercept) <= highest:
            break
    return coarsest_rules(tried, rows, engine, highest)


def coarsest_rules(tried: list[Network], rows: Rows, engine: Engine, highest: float) -> Network:
    """Give each rule of the last network the coarsest version that the loss allows.

    `tried` holds versions of one network, the coarsest first. `highest` is the highest loss
    allowed. Rules are visited in their order. If one rule raises the loss, later rules may
    raise it less.
    """
    last = tried[-1]
    chosen = np.full(last.n_rules, len(tried) - 1)
    outputs = engine.decide(last, rows.X) + last.intercept
    for rule in range(last.n_rules):
        own = np.array([rule])
        without = outputs - engine.decide(last.take(own), rows.X)
        for place, network in enumerate(tried[:-1]):
            changed = without + engine.decide(network.take(own), rows.X)
            if rows.mean_loss(changed) <= highest:
                chosen[rule], outputs = place, changed
                break
    joined = Network.join(tried).take(chosen * last.n_rules + np.arange(last.n_rules))
    return replace(joined, intercept=last.intercept)  # `join` adds up intercepts


@dataclass(frozen=True)
class Seen:
    """The numbers that a column holds on some rows.

    Attributes
    ----------
    numbers : (n,) float64
        In the column's own units, ascending.
    whole : bool
        Whether all numbers are whole.
    """

    numbers: np.ndarray
    whole: bool

    def around(self, threshold: float, *, rises: bool) -> tuple[float, float]:
        """The lowest and the highest threshold that separate the same rows.

        They lie between the number below the threshold and the number above it. If the literal
        rises, rows must lie above the threshold. Then the threshold may equal the number below.
        Otherwise the threshold may equal the number above.
        """
        place = int(np.searchsorted(self.numbers, threshold, "right" if rises else "left"))
        below = self.numbers[place - 1] if place else threshold
        above = self.numbers[place] if place < len(self.numbers) else threshold
        gap = (above - below) / 1024  # the other number would separate other rows
        return (below, above - gap) if rises else (below + gap, above)


def seen_numbers(rows: Rows, feature: int, column: EncodedColumn) -> Seen:
    """The numbers that an encoded column holds on some rows."""
    encoded = np.unique(rows.X[:, feature]).astype(np.float64)
    encoded = encoded[encoded != 0]  # a missing number is encoded as 0
    if column.knots is not None:
        numbers = column.knots.original(encoded)
    else:
        numbers = encoded * column.scale + column.mean
    # Rows are float32, so a whole number may be off by this much.
    near = 1e-6 * (np.abs(numbers).max(initial=0.0) + column.scale)
    whole = bool(len(numbers)) and bool((np.abs(numbers - np.rint(numbers)) <= near).all())
    return Seen(np.rint(numbers) if whole else numbers, whole)


def roundest(value: float, low: float, high: float, *, whole: bool = False) -> float:
    """The roundest number from `low` to `high`. Of equally round numbers, the nearest."""
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
    """The roundest day from `low` to `high`. Days are counted since 1970-01-01."""
    for months in MONTHS:
        firsts = [day for day in firsts_near(days, low, high, months) if low <= day <= high]
        if firsts:
            return min(firsts, key=lambda day: abs(day - days))
    whole = float(round(days))
    return whole if low <= whole <= high else days


def firsts_near(days: float, low: float, high: float, months: int) -> Iterator[float]:
    """The first days of years, quarters or months around a day."""
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
