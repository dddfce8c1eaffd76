"""Charts as SVG elements. Colours come from the style sheet, so that they follow dark mode.

Coordinates are those of a chart's own viewBox. The viewBox is narrow, so that the texts stay
readable when a phone shrinks the chart.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from neuralrules._charts._chart import Axis, Chart, Line, RowBars
from neuralrules._charts._texts import cell_text, minus, plain_text

WIDTH, HEIGHT = 400, 290
TOP, RIGHT, BOTTOM = 30, 16, 44
STRIP, GAP = 34, 8  # height of the bars of rows, and the room above them
MANY = 30  # lines with more dots than this get smaller dots
# Widths of characters at the charts' font size, in the widest of the fonts in use.
LETTER = 7.7
LETTERS = {"−": 10.2, "+": 10.2, "M": 10.5, "G": 9.5, "%": 11.0, ".": 4.0, ",": 4.0}


class Frame:
    """The plotting area of a chart, which leaves room for all labels."""

    def __init__(self, chart: Chart) -> None:
        self.chart, x, y = chart, chart.x, chart.y
        self.left = max(14 + max(map(text_width, y.texts)), 4 + text_width(x.texts[0]) / 2)
        self.right = WIDTH - max(RIGHT, 4 + text_width(x.texts[-1]) / 2)
        self.top = TOP
        # The horizontal axis. The bars of rows stand on it, below the area.
        self.floor = HEIGHT - BOTTOM
        self.bottom = self.floor - (0 if chart.rows is None else STRIP + GAP)

    def across(self, numbers: Any) -> np.ndarray:
        """Horizontal coordinates of numbers."""
        return self.chart.x.places(numbers, self.left, self.right).round(2)

    def up(self, numbers: Any) -> np.ndarray:
        """Vertical coordinates of numbers."""
        return self.chart.y.places(numbers, self.bottom, self.top).round(2)


def svg(chart: Chart, *more: str) -> str:
    """A chart as an SVG element; the elements `more` are drawn on top of it."""
    frame = Frame(chart)
    left, right, floor = frame.left, frame.right, frame.floor
    parts = [element("title", chart.title)]
    for tick in ticks(chart.y, frame.up):
        parts.append(line_between((left, tick.at), (right, tick.at), "grid"))
        parts.append(tick_label(tick, x=left - 7, y=tick.at + 4, text_anchor="end"))
    parts += row_bars(chart.rows, frame)
    for tick in shown_ticks(chart, frame):
        parts.append(line_between((tick.at, floor), (tick.at, floor + 5), "axis"))
        parts.append(tick_label(tick, x=tick.at, y=floor + 18, text_anchor="middle"))
    below: dict[str, Any] = {"x": right, "y": HEIGHT - 6, "text_anchor": "end"}
    parts += [
        line_between((left, floor), (right, floor), "axis"),
        element("text", chart.y.label, class_="label", x=2, y=14),
        element("text", chart.x.label, class_="label", **below),
    ]
    if chart.diagonal:
        parts.append(line_between((left, frame.bottom), (right, frame.top), "diagonal"))
    if chart.guide is not None:
        places = path(frame.across(chart.guide[:, 0]), frame.up(chart.guide[:, 1]))
        parts.append(element("path", class_="guide", d=places))
    for draw in (line_elements, dots):
        for line in chart.lines:
            parts += draw(line, frame)
    return element(
        "svg",
        class_="chart" if chart.rows is None else "chart shape",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=chart.title,
        inside="\n".join([*parts, *more]),
    )


def line_elements(line: Line, frame: Frame) -> list[str]:
    """SVG elements of a line itself and of its band or its intervals."""
    xs, ys, parts = frame.across(line.x), frame.up(line.y), []
    if line.low is not None and line.high is not None:
        low, high = frame.up(line.low), frame.up(line.high)
        if line.banded:
            outline = path(np.append(xs, xs[::-1]), np.append(low, high[::-1]))
            parts.append(element("path", class_="band", d=f"{outline} Z"))
        else:
            ends = zip(xs, low, high, strict=True)
            parts += [line_between((x, a), (x, b), "interval") for x, a, b in ends]
    if line.joined:
        parts.append(element("path", class_=f"line line-{line.number}", d=path(xs, ys)))
    return parts


def dots(line: Line, frame: Frame) -> list[str]:
    """A dot for each point of a line, with a text that appears when a reader points at it."""
    loud = np.ones(len(line.x), bool) if line.loud is None else line.loud
    of_shape = frame.chart.rows is not None
    parts = []
    for i, (x, y) in enumerate(zip(frame.across(line.x), frame.up(line.y), strict=True)):
        marked = i == frame.chart.marked
        radius = 4 if of_shape else 6 if marked or not loud[i] else 3.5
        if radius == 3.5 and len(loud) > MANY:
            radius = 2.5
        parts.append(
            element(
                "circle",
                inside=element("title", line.texts[i]),
                class_=f"dot line-{line.number}{' marked' * marked}{' quiet' * (not loud[i])}",
                cx=x,
                cy=y,
                r=radius,
                data_output=plain_text(line.y[i]) if of_shape else None,
            )
        )
    return parts


def row_bars(rows: RowBars | None, frame: Frame) -> list[str]:
    """Bars that stand on the horizontal axis."""
    if rows is None:
        return []
    starts, ends = frame.across(rows.lefts), frame.across(rows.lefts + rows.widths)
    heights = STRIP * rows.shares / (float(rows.shares.max(initial=0)) or 1.0)
    return [
        element(
            "rect",
            inside=element("title", f"{cell_text(share, 'share')} of the rows"),
            class_="rows",
            x=start,
            y=frame.floor - height,
            width=end - start,
            height=height,
        )
        for start, end, height, share in zip(starts, ends, heights, rows.shares, strict=True)
        if share > 0
    ]


class Tick(NamedTuple):
    at: float  # coordinate
    text: str
    full: str = ""  # the number in full if the label is shortened


def ticks(axis: Axis, coordinates: Any) -> list[Tick]:
    """Ticks of an axis at their coordinates."""
    result = []
    for at, value, text in zip(coordinates(axis.ticks), axis.ticks, axis.texts, strict=True):
        is_short = text[-1] in "kMG" or ("e" in text and text[-1].isdigit())
        result.append(Tick(float(at), text, minus(plain_text(value)) if is_short else ""))
    return result


def shown_ticks(chart: Chart, frame: Frame) -> list[Tick]:
    """The horizontal ticks that leave enough room between their texts."""
    shown = spaced(ticks(chart.x, frame.across))
    if chart.missing is None:
        return shown
    apart = Tick(float(frame.across(chart.missing)), "missing")
    room = apart.at - text_width(apart.text) / 2 - 6
    return [tick for tick in shown if tick.at + text_width(tick.text) / 2 < room] + [apart]


def spaced(every: list[Tick]) -> list[Tick]:
    """All ticks, or every second, third, … tick, so that their labels do not touch.

    A tick at zero is always kept.
    """
    zero = next((i for i, tick in enumerate(every) if not tick.text.strip("0.")), 0)
    for stride in range(1, len(every)):
        shown = every[zero % stride :: stride]
        rooms = (
            b.at - a.at - (text_width(a.text) + text_width(b.text)) / 2
            for a, b in pairwise(shown)
        )
        if all(room > 6 for room in rooms):
            return shown
    return every[zero : zero + 1]


def line_between(start: tuple[float, float], end: tuple[float, float], kind: str) -> str:
    (x1, y1), (x2, y2) = start, end
    return element("line", class_=kind, x1=x1, y1=y1, x2=x2, y2=y2)


def tick_label(tick: Tick, **place: Any) -> str:
    full = element("title", tick.full) if tick.full else ""
    return element("text", tick.text, class_="tick", inside=full, **place)


def text_width(text: str) -> float:
    """The width of a label."""
    return sum(LETTERS.get(letter, LETTER) for letter in text)


def path(xs: Iterable[float], ys: Iterable[float]) -> str:
    """An SVG path of straight lines from point to point."""
    places = zip(xs, ys, strict=True)
    return " ".join(f"{'L' if i else 'M'}{x:g} {y:g}" for i, (x, y) in enumerate(places))


def element(tag: str, text: str = "", *, inside: str = "", **attributes: Any) -> str:
    """An SVG element with escaped text. Attributes that are None are left out."""
    written = "".join(
        f' {name.strip("_").replace("_", "-")}="{attribute_text(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{written}>{inside}{html.escape(text)}</{tag}>"


def attribute_text(value: Any) -> str:
    return html.escape(value) if isinstance(value, str) else f"{round(float(value), 2):g}"
