"""What a chart shows, in the units of the data: its lines, and axes with ticks and labels.

The drawing code adds colours and sizes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from neuralrules._charts._texts import (
    NO_BREAK,
    POWERS_FROM,
    SHORT_FROM,
    UNITS,
    minus,
    share_texts,
    short,
)
from neuralrules._data._dates import date_text

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
WHOLE_STEPS = (1.0, 2.0, 5.0, 10.0)
# Probabilities that may label an axis of log odds: the first tuple with enough of them inside
# the axis is taken.
PROBABILITIES = tuple(
    np.unique([*low, *(1 - p for p in low), 0.5])
    for low in (
        [f * 10.0**-power for power in range(1, 13) for f in factors]
        for factors in ((1,), (1, 3), (1, 1.5, 2, 3, 5, 7))
    )
)
# Steps between ticks of dates: calendar unit, number of units, and length of a step in days.
DATE_STEPS = (
    *(("D", n, n) for n in (1, 2, 7, 14)),
    *(("M", n, 30.44 * n) for n in (1, 2, 3, 6)),
    *(("Y", f * 10**power, 365.25 * f * 10**power) for power in range(4) for f in (1, 2, 5)),
)
DATE_TICKS = 5  # most steps between ticks that a range of dates is divided into


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of a chart."""

    label: str
    ends: tuple[float, float]
    ticks: np.ndarray  # (n,) float64
    texts: list[str]  # of the ticks
    is_log: bool = False

    def places(self, numbers: np.ndarray, first: float, last: float) -> np.ndarray:
        """Coordinates of numbers if the axis is drawn from `first` to `last`.

        Numbers beyond an end of the axis get the coordinate of this end.
        """
        values, ends = np.asarray(numbers, np.float64), np.array(self.ends)
        if self.is_log:
            with np.errstate(divide="ignore"):  # zero lies at the end of the axis
                values, ends = np.log10(values), np.log10(ends)
        share = (np.clip(values, *ends) - ends[0]) / (ends[1] - ends[0])
        return first + share * (last - first)


@dataclass(frozen=True, eq=False)
class Line:
    """Points of one kind, usually joined by a line. All arrays have the shape (n,)."""

    x: np.ndarray
    y: np.ndarray
    texts: list[str]  # each appears when a reader points at its point
    low: np.ndarray | None = None  # ends of the intervals of the points
    high: np.ndarray | None = None
    joined: bool = True  # whether a line joins the points
    banded: bool = False  # whether the intervals are one band instead of one line each
    # Points that are always marked, by default all. Other points are marked only while a reader
    # points at them.
    loud: np.ndarray | None = None
    number: int = 0  # of the line's colour


@dataclass(frozen=True, eq=False)
class RowBars:
    """Bars on the horizontal axis that show where the rows of a table are, (n,) float64."""

    lefts: np.ndarray
    widths: np.ndarray
    shares: np.ndarray  # of the rows


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart of lines and points."""

    title: str
    x: Axis
    y: Axis
    lines: list[Line]
    diagonal: bool = False  # whether to draw x = y; both axes then have the same ends
    guide: np.ndarray | None = None  # (n, 2) points of a reference line
    marked: int | None = None  # place of the point of the first line that is highlighted
    rows: RowBars | None = None
    missing: float | None = None  # where missing values are, to the right of all ticks


def number_axis(label: str, numbers: np.ndarray, *, zero: bool = False) -> Axis:
    """An axis from a round number below all numbers, or from zero, to a round number above."""
    low, high = float(np.min(numbers)), float(np.max(numbers))
    ticks = nice_ticks(min(0.0, low) if zero else low, high)
    return Axis(label, (float(ticks[0]), float(ticks[-1])), ticks, tick_texts(ticks))


def tight_axis(label: str, low: float, high: float, *, whole: bool = False) -> Axis:
    """An axis exactly from `low` to `high`, with round ticks between them."""
    ticks = within(low, high, nice_ticks(low, high, 5 if whole else 6, whole=whole))
    return Axis(label, apart(low, high), ticks, tick_texts(ticks))


def log_axis(label: str, low: float, high: float, *, shares: bool = False) -> Axis:
    """A logarithmic axis of numbers, or of shares in percent."""
    ticks = log_ticks(low, high)
    texts = share_texts(ticks) if shares else tick_texts(ticks)
    return Axis(label, (low, high), ticks, texts, is_log=True)


def share_axis(label: str) -> Axis:
    """An axis of shares from zero to one, labelled in percent."""
    ticks = nice_ticks(0.0, 1.0)
    return Axis(label, (0.0, 1.0), ticks, share_texts(ticks))


def odds_axis(label: str, low: float, high: float) -> Axis:
    """An axis of log odds that is labelled with probabilities."""
    for choice in PROBABILITIES:
        shares = choice[(logit(choice) >= low) & (logit(choice) <= high)]
        if len(shares) >= 3:
            shares = shares[:: -(-len(shares) // 6)]
            return Axis(label, (low, high), logit(shares), share_texts(shares))
    # The range is so narrow that it holds at most two of these probabilities.
    shares = nice_ticks(*expit([low, high]).tolist())
    shares = shares[(shares > expit(low)) & (shares < expit(high))]
    if not shares.size:
        shares = expit(np.array([(low + high) / 2]))
    texts = [f"{text}{NO_BREAK}%" for text in tick_texts(100 * shares)]
    return Axis(label, (low, high), logit(shares), texts)


def date_axis(label: str, low: float, high: float) -> Axis:
    """An axis of days since 1970-01-01, with ticks where years, months or days begin.

    The texts are "2016", "2016-04" or "2016-04-01".
    """
    try:
        first, last = np.array([low, high]).round().astype("datetime64[D]")
        needed = (high - low) / DATE_TICKS
        unit, n, _ = next(step for step in DATE_STEPS if step[2] >= needed)
        begun = np.arange(first.astype(f"M8[{unit}]"), last.astype(f"M8[{unit}]") + 1)
        since = 1970 if unit == "Y" else 0  # NumPy counts years from 1970
        begun = begun[(begun.astype(np.int64) + since) % n == 0]
        begun = begun[(begun.astype("M8[D]") >= first) & (begun.astype("M8[D]") <= last)]
    except (StopIteration, OverflowError, ValueError):  # a range of many thousand years
        begun = np.empty(0)
    if len(begun) >= 2:
        ticks, texts = begun.astype("M8[D]").astype(np.int64), [str(tick) for tick in begun]
    else:
        ticks = np.unique(np.round([low, (low + high) / 2, high]))
        texts = [date_text(tick)[:10] for tick in ticks.tolist()]
    return Axis(label, apart(low, high), ticks.astype(np.float64), texts)


def apart(low: float, high: float) -> tuple[float, float]:
    """The ends of an axis; equal ends are moved apart."""
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def within(low: float, high: float, ticks: np.ndarray) -> np.ndarray:
    """The ticks from `low` to `high`, or `low` itself if there is none."""
    inside = ticks[(ticks >= low) & (ticks <= high)]
    return inside if inside.size else np.array([low])


def nice_ticks(low: float, high: float, n: int = 5, *, whole: bool = False) -> np.ndarray:
    """About `n` round numbers from `low` or just below to `high` or just above."""
    # Widen a range that is empty, or too narrow for floats to hold ticks inside it.
    if not high - low > max(1e-12 * max(abs(low), abs(high)), 1e-300):
        margin = abs(low) / 2 or 1.0
        low, high = low - margin, high + margin
    raw = max((high - low) / n, 1.0) if whole else (high - low) / n
    power = 10.0 ** np.floor(np.log10(raw))
    steps = WHOLE_STEPS if whole else STEPS
    step = next(factor for factor in steps if factor * power >= raw * (1 - 1e-9)) * power
    first, last = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    return np.arange(first, last + 1) * step


def log_ticks(low: float, high: float) -> np.ndarray:
    """Round numbers from `low` to `high`: powers of ten and simple multiples of them."""
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for factors in ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0)):
        ticks = np.unique(np.outer(powers, factors))
        ticks = ticks[(ticks >= low * (1 - 1e-9)) & (ticks <= high * (1 + 1e-9))]
        if len(ticks) >= 3:
            return ticks
    return within(low, high, nice_ticks(low, high))


def tick_texts(ticks: np.ndarray) -> list[str]:
    """Labels of ticks, all in the same unit and with the same number of decimals."""
    sizes = np.abs(ticks)
    largest, smallest = float(sizes.max()), float(sizes[sizes > 0].min(initial=np.inf))
    if largest > 100 * smallest:  # a logarithmic axis: no unit suits all of its ticks
        return [short(float(tick), 3) for tick in ticks]
    unit, name = tick_unit(largest)
    scaled = ticks / unit
    gap = float(np.diff(scaled).min()) if len(ticks) > 1 else abs(float(scaled[0])) or 1.0
    decimals = next(
        (n for n in range(15) if np.allclose(scaled, np.round(scaled, n), 0, 1e-3 * gap)), 15
    )
    return [
        "0" if name and tick == 0 else minus(f"{tick + 0.0:,.{decimals}f}{name}")
        for tick in scaled
    ]


def tick_unit(largest: float) -> tuple[float, str]:
    """The unit of an axis and its suffix, such as 1000 and "k", chosen by the largest label."""
    if SHORT_FROM <= largest < POWERS_FROM:
        return next(pair for pair in UNITS if largest >= pair[0])
    if largest == 0 or 1e-3 <= largest < SHORT_FROM:
        return 1.0, ""
    power = int(np.floor(np.log10(largest) + 1e-9))
    return 10.0**power, f"e{power:+03d}"
