"""Geometry of the report's charts: plain numbers that a template turns into SVG.

Coordinates are those of a chart's own viewBox. It is kept narrow, so that the texts
stay readable when a phone shrinks it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from neuralrules._report._numbers import (
    POWERS_FROM,
    SHORT_FROM,
    UNITS,
    minus,
    plain_text,
    short,
)

WIDTH, HEIGHT = 400, 290
TOP, RIGHT, BOTTOM = 30, 16, 44
# Widths of letters at the charts' size of text, in the widest of the fonts in use.
LETTER = 7.7
LETTERS = {"−": 10.2, "+": 10.2, "M": 10.5, "G": 9.5, ".": 4.0, ",": 4.0}
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
WHOLE_STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Tick:
    """A place on an axis, what is written there, and all its digits if that is shortened."""

    place: float
    text: str
    full: str = ""


@dataclass(frozen=True)
class Dot:
    """A point, what a reader sees on pointing at it, and where its interval ends."""

    x: float
    y: float
    text: str
    low: float | None = None
    high: float | None = None
    marked: bool = False


@dataclass(frozen=True)
class Chart:
    """A chart ready to be drawn.

    Attributes
    ----------
    title : str
        For people who do not see it.
    x_label, y_label : str
    x_ticks, y_ticks : list of Tick
    dots : list of Dot
    line : str
        Path through the dots.
    diagonal : (4,) floats or None
        Ends of the line on which both axes are equal: x1, y1, x2, y2.
    left, right, top, bottom : float
        Edges of the plotting area.
    """

    title: str
    x_label: str
    y_label: str
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    dots: list[Dot]
    line: str
    diagonal: tuple[float, float, float, float] | None
    left: float
    right: float
    top: float = TOP
    bottom: float = HEIGHT - BOTTOM
    width: int = WIDTH
    height: int = HEIGHT


@dataclass(frozen=True)
class Points:
    """What a chart shows, in the units of the data."""

    x: np.ndarray
    y: np.ndarray
    texts: Sequence[str]
    spread: np.ndarray | None = None  # half the length of each point's interval
    marked: frozenset[int] = field(default_factory=frozenset)


def nice_ticks(low: float, high: float, n: int = 5, *, whole: bool = False) -> np.ndarray:
    """About `n` round numbers from `low` or just below to `high` or just above."""
    if not high - low > 1e-12 * max(abs(low), abs(high)):  # numbers that floats tell apart
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
    ticks = nice_ticks(low, high)
    return ticks[(ticks >= low) & (ticks <= high)]


def tick_texts(ticks: np.ndarray) -> list[str]:
    """Labels that are all written in the same unit and to the same decimal place."""
    sizes = np.abs(ticks)
    largest, smallest = float(sizes.max()), float(sizes[sizes > 0].min(initial=np.inf))
    if largest > 100 * smallest:  # of a logarithmic axis, where no unit suits all
        return [short(float(tick), 3) for tick in ticks]
    unit, name = tick_unit(largest)
    scaled = ticks / unit
    gap = float(np.diff(scaled).min()) if len(ticks) > 1 else abs(float(scaled[0])) or 1.0
    decimals = next(
        (n for n in range(15) if np.allclose(scaled, np.round(scaled, n), 0, 1e-3 * gap)), 15
    )
    texts = [f"{tick + 0.0:,.{decimals}f}{name}" for tick in scaled]
    return [
        minus("0" if name and tick == 0 else text)
        for tick, text in zip(ticks, texts, strict=True)
    ]


def tick_unit(largest: float) -> tuple[float, str]:
    """What the labels of an axis count in, by the largest of them: 1, thousands, 1e-12."""
    if SHORT_FROM <= largest < POWERS_FROM:
        return next(pair for pair in UNITS if largest >= pair[0])
    if largest == 0 or 1e-3 <= largest < SHORT_FROM:
        return 1.0, ""
    power = int(np.floor(np.log10(largest) + 1e-9))
    return 10.0**power, f"e{power:+03d}"


def text_width(text: str) -> float:
    """Room that a label takes."""
    return sum(LETTERS.get(letter, LETTER) for letter in text)


def chart(
    points: Points,
    *,
    title: str,
    x_label: str,
    y_label: str,
    bounds: tuple[float, float] | None = None,
    diagonal: bool = False,
    log_x: bool = False,
) -> Chart:
    """A line through some points.

    Parameters
    ----------
    points : Points
    title, x_label, y_label : str
    bounds : (low, high), optional
        What both axes run over; by default what the points need.
    diagonal : bool
        Draw the line x = y; both axes then run over the same numbers.
    log_x : bool
        Logarithmic horizontal axis.
    """
    x_ticks, y_ticks, x_range, y_range = axes(points, bounds, same=diagonal, log_x=log_x)
    x_texts, y_texts = tick_texts(x_ticks), tick_texts(y_ticks)
    left = max(14 + max(map(text_width, y_texts)), 4 + text_width(x_texts[0]) / 2)
    right = WIDTH - max(RIGHT, 4 + text_width(x_texts[-1]) / 2)
    warp = np.log10 if log_x else np.asarray
    x_scale = scale(warp(np.array(x_range)), left, right)
    y_scale = scale(np.array(y_range), HEIGHT - BOTTOM, TOP)
    xs, ys = x_scale(warp(points.x)), y_scale(points.y)
    spread = points.spread
    dots = []
    for i, text in enumerate(points.texts):
        ends: tuple[float | None, float | None] = (None, None)
        if spread is not None:
            low, high = y_scale(np.clip(points.y[i] + [-spread[i], spread[i]], *y_range))
            ends = (round(float(low), 2), round(float(high), 2))
        place = (round(float(xs[i]), 2), round(float(ys[i]), 2))
        dots.append(Dot(*place, text, *ends, marked=i in points.marked))
    corners = None
    if diagonal:
        ends_x, ends_y = x_scale(np.array(x_range)), y_scale(np.array(y_range))
        corners = (float(ends_x[0]), float(ends_y[0]), float(ends_x[1]), float(ends_y[1]))
    return Chart(
        title=title,
        x_label=x_label,
        y_label=y_label,
        x_ticks=spaced(placed(x_scale(warp(x_ticks)), x_ticks, x_texts)),
        y_ticks=placed(y_scale(y_ticks), y_ticks, y_texts),
        dots=dots,
        line=path((dot.x, dot.y) for dot in dots),
        diagonal=corners,
        left=left,
        right=right,
    )


def axes(
    points: Points, bounds: tuple[float, float] | None, *, same: bool, log_x: bool
) -> tuple[np.ndarray, np.ndarray, tuple[float, float], tuple[float, float]]:
    """Ticks of both axes and the numbers that the axes run over."""
    reach = (
        points.y
        if points.spread is None
        else np.concatenate([points.y, points.y + points.spread])
    )
    if same:
        both = np.concatenate([points.x, points.y])
        low, high = bounds or (float(both.min()), float(both.max()))
        ticks = nice_ticks(low, high)
        ends = (float(ticks[0]), float(ticks[-1]))
        return ticks, ticks, ends, ends
    y_ticks = nice_ticks(min(0.0, float(reach.min())), float(reach.max()))
    y_ends = (float(y_ticks[0]), float(y_ticks[-1]))
    low, high = float(points.x.min()), float(points.x.max())
    if log_x:
        low, high = low / 1.15, high * 1.15
        return log_ticks(low, high), y_ticks, (low, high), y_ends
    x_ticks = nice_ticks(low, high, whole=True)  # numbers of rules
    inside = x_ticks[(x_ticks >= low) & (x_ticks <= high)]
    return inside, y_ticks, (low, high), y_ends


def scale(ends: np.ndarray, first: float, last: float) -> Callable[[np.ndarray], np.ndarray]:
    """The linear map that takes both `ends` to `first` and `last`."""
    low, high = float(ends[0]), float(ends[1])

    def apply(values: np.ndarray) -> np.ndarray:
        return first + (np.asarray(values, np.float64) - low) / (high - low) * (last - first)

    return apply


def placed(places: np.ndarray, ticks: np.ndarray, texts: list[str]) -> list[Tick]:
    """Labels at their places on an axis."""
    result = []
    for place, tick, text in zip(places.tolist(), ticks.tolist(), texts, strict=True):
        full = plain_text(tick) if text[-1] in "kMG" or "e" in text else ""
        result.append(Tick(place, text, minus(full)))
    return result


def spaced(ticks: list[Tick]) -> list[Tick]:
    """All ticks, or every second, third, …, of them, so that their texts do not touch.

    A tick at zero stays.
    """
    zero = next((i for i, tick in enumerate(ticks) if not tick.text.strip("0.")), 0)
    for stride in range(1, len(ticks)):
        shown = ticks[zero % stride :: stride]
        rooms = (
            b.place - a.place - (text_width(a.text) + text_width(b.text)) / 2
            for a, b in pairwise(shown)
        )
        if all(room > 6 for room in rooms):
            return shown
    return ticks[zero : zero + 1]


def path(places: Iterable[tuple[float, float]]) -> str:
    """Straight lines from place to place, as an SVG path."""
    return " ".join(f"{'L' if i else 'M'}{x:g} {y:g}" for i, (x, y) in enumerate(places))


@dataclass(frozen=True)
class Bar:
    """A bar of a list of bars, with lengths in percent of the longest.

    Attributes
    ----------
    name : str
    value, low, high : float
        In the units of the data; low and high are the ends of an interval or None.
    length, start, end : float
        The same in percent.
    """

    name: str
    value: float
    low: float | None
    high: float | None
    length: float
    start: float | None
    end: float | None


def bars(
    names: Sequence[str],
    values: np.ndarray,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
) -> list[Bar]:
    """Bars of numbers that are not negative, with intervals if there are any."""
    ends = values if high is None else np.maximum(values, high)
    longest = float(ends.max(initial=0)) or 1.0

    def percent(number: float) -> float:
        return round(100 * number / longest, 2)

    result = []
    for i, name in enumerate(names):
        lower = None if low is None else float(low[i])
        upper = None if high is None else float(high[i])
        result.append(
            Bar(
                name,
                float(values[i]),
                lower,
                upper,
                percent(float(values[i])),
                None if lower is None else percent(max(lower, 0.0)),
                None if upper is None else percent(upper),
            )
        )
    return result
