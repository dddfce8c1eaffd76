"""Geometry of the report's charts: plain numbers that a template turns into SVG.

Coordinates are those of a chart's own viewBox. It is kept narrow, so that the texts
stay readable when a phone shrinks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from neuralrules._report._axes import Axis, Tick, placed, spaced, text_width

WIDTH, HEIGHT = 400, 290
TOP, RIGHT, BOTTOM = 30, 16, 44
MANY = 30  # dots, which are drawn smaller


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
        Path through the dots; empty for none.
    diagonal : (4,) floats or None
        Ends of the line on which both axes are equal: x1, y1, x2, y2.
    guide : str
        Path of a line to compare with; empty for none.
    quiet : bool
        Whether dots show only where one points at them.
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
    guide: str = ""
    quiet: bool = False
    top: float = TOP
    bottom: float = HEIGHT - BOTTOM
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def radius(self) -> float:
        return 2.5 if len(self.dots) > MANY else 3.5


@dataclass(frozen=True)
class Points:
    """What a chart shows, in the units of the data.

    `low` and `high` are the ends of each point's interval.
    """

    x: np.ndarray
    y: np.ndarray
    texts: Sequence[str]
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    marked: frozenset[int] = field(default_factory=frozenset)


def chart(
    points: Points,
    x: Axis,
    y: Axis,
    *,
    title: str,
    diagonal: bool = False,
    joined: bool = True,
    guide: np.ndarray | None = None,
    quiet: bool = False,
) -> Chart:
    """Points, as a rule with a line through them.

    Parameters
    ----------
    points : Points
    x, y : Axis
    title : str
    diagonal : bool
        Draw the line from corner to corner; both axes then run over the same numbers.
    joined : bool
        Draw the line through the points.
    guide : (n, 2) float64, optional
        Points of a line to compare with.
    quiet : bool
        Show dots only where one points at them.
    """
    left, right = frame(x, y)
    bottom = HEIGHT - BOTTOM
    xs, ys = x.places(points.x, left, right).round(2), y.places(points.y, bottom, TOP).round(2)
    ends: list[tuple[float | None, float | None]] = [(None, None)] * len(xs)
    if points.low is not None and points.high is not None:
        lows, highs = (y.places(part, bottom, TOP) for part in (points.low, points.high))
        ends = list(zip(lows.round(2).tolist(), highs.round(2).tolist(), strict=True))
    dots = [
        Dot(float(xs[i]), float(ys[i]), text, *ends[i], marked=i in points.marked)
        for i, text in enumerate(points.texts)
    ]
    compared = ""
    if guide is not None:
        at = x.places(guide[:, 0], left, right), y.places(guide[:, 1], bottom, TOP)
        compared = path(zip(*(part.round(2).tolist() for part in at), strict=True))
    return Chart(
        title=title,
        x_label=x.label,
        y_label=y.label,
        x_ticks=spaced(placed(x.places(x.ticks, left, right), x.ticks, x.texts)),
        y_ticks=placed(y.places(y.ticks, bottom, TOP), y.ticks, y.texts),
        dots=dots,
        line=path((dot.x, dot.y) for dot in dots) if joined else "",
        diagonal=(left, bottom, right, TOP) if diagonal else None,
        guide=compared,
        quiet=quiet,
        left=left,
        right=right,
    )


def frame(x: Axis, y: Axis) -> tuple[float, float]:
    """Left and right edge of the plotting area, which leave room for all labels."""
    left = max(14 + max(map(text_width, y.texts)), 4 + text_width(x.texts[0]) / 2)
    return left, WIDTH - max(RIGHT, 4 + text_width(x.texts[-1]) / 2)


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
