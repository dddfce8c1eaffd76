"""Shapes in the report: what the columns that matter most do, one picture a column.

Numbers and dates are lines over a strip that shows where the rows are; categories, whose names
may be long, are lines of a table. Two classes are drawn as log odds and labelled with
probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from neuralrules._engine._protocol import Engine
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._names import column_label
from neuralrules._reading._outcomes import Outcome, outcome_of_class
from neuralrules._reading._shapes import Shape, edges_around, shapes
from neuralrules._report._axes import (
    Axis,
    Tick,
    date_axis,
    log_ticks,
    number_axis,
    odds_axis,
    placed,
    spaced,
    text_width,
    tick_texts,
    tight_axis,
)
from neuralrules._report._charts import BOTTOM, HEIGHT, RIGHT, TOP, WIDTH, path
from neuralrules._report._numbers import count, short, shortened
from neuralrules._task._losses import LARGEST_OUTPUT

SHOWN_SHAPES = 6
STILL = 1e-6  # of the largest effect: what is less is rounding
SHAPE_ROWS = 1000  # rows that shapes are averaged over
LINES = 5  # of classes or targets in one picture, those that vary most
LEVELS = 12  # categories in one table, the most frequent ones
STRIP = 34  # height of the strip that shows where the rows are
GAP = 8
MISSING_ROOM = 46  # width that the value "missing" takes on the right
FEW = 10  # numbers that are all written on the axis
MARGIN = 0.06  # of the height, left free above and below


@dataclass(frozen=True, eq=False)
class View:
    """How outputs are shown: which of them, with which sign, in which unit.

    Attributes
    ----------
    outcome : Outcome or None
        The one output that is shown; None for several.
    label : str
        What the vertical axis is.
    names : list of str
        What each output is called.
    """

    fitted: Fitted
    outcome: Outcome | None
    label: str
    names: list[str]

    def lines(self, outputs: np.ndarray) -> np.ndarray:
        """Outputs (n_values, n_outputs) as they are drawn, (n_values, n_lines)."""
        if self.outcome is not None:
            return self.outcome.sign * outputs
        return self.fitted.task.comparable(outputs)

    def axis(self, low: float, high: float) -> Axis:
        """The vertical axis."""
        room = MARGIN * ((high - low) or max(abs(high), 1.0))
        low, high = low - room, high + room
        if self.outcome is not None and self.outcome.is_odds:
            return odds_axis(self.label, low, high)
        if self.outcome is not None and self.outcome.is_logarithm:
            ends = np.exp(np.clip([low, high], -LARGEST_OUTPUT, LARGEST_OUTPUT))
            ticks = log_ticks(*ends.tolist())
            return Axis(self.label, (low, high), np.log(ticks), tick_texts(ticks))
        return number_axis(self.label, np.array([low, high]))

    def text(self, line: float) -> str:
        """One number of a line for people."""
        if self.outcome is not None and self.outcome.is_odds:
            return f"{100 * expit(line):.3g}\N{NARROW NO-BREAK SPACE}%"
        if self.outcome is not None and self.outcome.is_logarithm:
            return short(float(np.exp(np.clip(line, -LARGEST_OUTPUT, LARGEST_OUTPUT))), 3)
        return short(float(line), 3)


def view_of(fitted: Fitted, rare: int | None) -> View:
    """How shapes of a model are shown; `rare` is the code of the class that counts."""
    task = fitted.task
    if task.n_outputs > 1:
        names = [str(label) for label in task.labels] or [
            f"target {k}" for k in range(task.n_outputs)
        ]
        label = "score" if task.are_classes else "standard deviations of each target"
        return View(fitted, None, label, names)
    if not task.are_classes:
        logarithm = task.loss.link.function is not None
        label = f"prediction{' (log scale)' if logarithm else ''}"
        return View(fitted, Outcome(task, 0), label, [label])
    assert rare is not None  # of two classes
    outcome = outcome_of_class(task, rare)
    label = f"{'probability of' if outcome.is_odds else 'decision for'} "
    label += shortened(task.labels[rare])
    return View(fitted, outcome, label, [label])


def shapes_section(
    fitted: Fitted,
    X: Any,
    sources: list[int],
    sample_weight: Any,
    engine: Engine,
    rare: int | None,
) -> dict[str, Any]:
    """Pictures of the most important columns, those that move the output most first.

    Parameters
    ----------
    fitted : Fitted
    X : checked table or None
    sources : list of int
        Columns that the model uses, the most important ones first.
    sample_weight : array-like or None
    engine : Engine
    rare : int or None
        Code of the class that counts; None for numbers.

    Returns
    -------
    dict
        ``pictures``, ``key`` (names of several lines), ``n_rows`` that were averaged over,
        ``n_more`` columns that are left out, and ``odds``, whether probabilities are shown.
    """
    if X is None or not sources:
        return {"pictures": []}
    found = shapes(
        fitted,
        X,
        engine,
        [fitted.encoder.names[source] for source in sources[:SHOWN_SHAPES]],
        n_values=40,
        max_rows=SHAPE_ROWS,
        sample_weight=sample_weight,
        random_state=0,
    )
    found.sort(key=lambda shape: -shape.importance)
    moving = [one for one in found if one.importance > STILL * found[0].importance]
    view = view_of(fitted, rare)
    return {
        "pictures": [picture(shape, view) for shape in moving],
        "n_rows": count(min(X.shape[0], SHAPE_ROWS)),
        "sampled": X.shape[0] > SHAPE_ROWS,
        "n_more": len(sources) - len(moving),
        "label": view.label,
        "several": view.outcome is None,
        "odds": view.outcome is not None and view.outcome.is_odds,
    }


def picture(shape: Shape, view: View) -> dict[str, Any]:
    """A line chart or a table of levels."""
    lines = view.lines(shape.outputs)
    several = lines.shape[1] > 1
    chosen = np.arange(lines.shape[1])
    if len(chosen) > LINES:
        spread = np.ptp(lines, axis=0)
        chosen = np.sort(np.argsort(-spread, kind="stable")[:LINES])
    band = None
    if not several:
        band = np.sort([view.lines(shape.low)[:, 0], view.lines(shape.high)[:, 0]], axis=0)
    result: dict[str, Any] = {
        "name": column_label(shape.column),
        "key": [view.names[k] for k in chosen] if several else [],
        "n_rules": len(shape.rules),
        "alone": int(shape.alone.sum()),
    }
    if shape._levels.kind == "category":
        return result | level_table(shape, view, lines[:, chosen], band)
    return result | {"chart": shape_chart(shape, view, lines[:, chosen], band)}


def level_table(
    shape: Shape, view: View, lines: np.ndarray, band: np.ndarray | None
) -> dict[str, Any]:
    """One line for each category, the most frequent ones; places in percent of the width."""
    shown = np.sort(np.argsort(-shape.shares, kind="stable")[:LEVELS])
    reach = lines if band is None else np.vstack([lines[:, 0], band]).T
    low, high = float(reach[shown].min()), float(reach[shown].max())
    width = (high - low) or 1.0

    def percent(number: float) -> float:
        return round(4 + 92 * (float(number) - low) / width, 2)

    levels = []
    for place in shown[np.argsort(-lines[shown, 0], kind="stable")].tolist():
        levels.append(
            {
                "name": shape._levels.text(place),
                "share": float(shape.shares[place]),
                "marks": [percent(line) for line in lines[place]],
                "ends": None if band is None else [percent(end) for end in band[:, place]],
                "text": ", ".join(view.text(line) for line in lines[place]),
                "outputs": lines[place].tolist(),
            }
        )
    return {"levels": levels, "n_more": len(shape.shares) - len(shown)}


def shape_chart(
    shape: Shape, view: View, lines: np.ndarray, band: np.ndarray | None
) -> dict[str, Any]:
    """Where the lines, the band and the rows of a column of numbers or dates lie."""
    own = shape._levels
    low, high = shape.shown_range()
    x, few = value_axis(shape)
    missing = bool(np.isnan(own.numbers[-1]))
    last = len(own.numbers) - missing
    inside = np.flatnonzero((own.numbers[:last] >= low) & (own.numbers[:last] <= high))
    seen = np.append(inside, last) if missing else inside
    reach = lines if band is None else np.column_stack([lines, *band])
    y = view.axis(float(reach[seen].min()), float(reach[seen].max()))
    left = max(14 + max(map(text_width, y.texts)), 4 + text_width(x.texts[0]) / 2)
    right = WIDTH - max(RIGHT, 4 + text_width(x.texts[-1]) / 2)
    end = right - MISSING_ROOM if missing else right
    floor = HEIGHT - BOTTOM
    bottom = floor - STRIP - GAP
    xs = np.append(x.places(own.numbers[:last], left, end), [right - 16] * missing).round(2)
    ys = y.places(lines, bottom, TOP).round(2)
    ends = None if band is None else y.places(band, bottom, TOP).round(2)
    ticks = spaced(placed(x.places(x.ticks, left, end), x.ticks, x.texts))
    if missing:
        ticks = [tick for tick in ticks if tick.place + text_width(tick.text) / 2 < end]
        ticks.append(Tick(right - 16, "missing"))
    dots = [
        {
            "x": float(xs[place]),
            "y": float(ys[place, line]),
            "line": line,
            "value": own.text(place),
            "output": float(lines[place, line]),
            "text": f"{own.text(place)}: {view.text(lines[place, line])}",
            "loud": place == last or bool(np.isin(own.numbers[place], few)),
            "apart": place == last,
            "low": None if ends is None else float(ends[0, place]),
            "high": None if ends is None else float(ends[1, place]),
        }
        for place in seen.tolist()
        for line in range(lines.shape[1])
    ]
    return {
        "title": f"What {column_label(shape.column)} does to the {view.label}",
        "x_label": x.label,
        "y_label": y.label,
        "x_ticks": ticks,
        "y_ticks": placed(y.places(y.ticks, bottom, TOP), y.ticks, y.texts),
        "lines": [
            path(zip(xs[inside], ys[inside, k], strict=True)) for k in range(ys.shape[1])
        ],
        "band": "" if ends is None else band_path(xs[inside], ends[:, inside]),
        "dots": dots,
        "bars": strip(shape, x, left, end, floor, right - 16 if missing else None),
        "left": left,
        "right": right,
        "bottom": bottom,
        "floor": floor,
        "width": WIDTH,
        "height": HEIGHT,
    }


def value_axis(shape: Shape) -> tuple[Axis, np.ndarray]:
    """The horizontal axis and, if they are few, the numbers that occur."""
    own, (low, high) = shape._levels, shape.shown_range()
    label = shortened(column_label(shape.column), 40)
    if own.kind == "date":
        return date_axis(label, low, high), np.empty(0)
    seen = np.unique(own.cells[(own.cells >= low) & (own.cells <= high)])
    if not 0 < len(seen) <= FEW:
        return tight_axis(label, low, high), np.empty(0)
    edges = edges_around(seen)
    return Axis(label, (float(edges[0]), float(edges[-1])), seen, tick_texts(seen)), seen


def band_path(xs: np.ndarray, ends: np.ndarray) -> str:
    """The outline of a band: along one side and back along the other."""
    there = zip(xs, ends[0], strict=True)
    back = zip(xs[::-1], ends[1, ::-1], strict=True)
    return path([*there, *back]) + " Z"


def strip(
    shape: Shape, x: Axis, left: float, end: float, floor: float, missing: float | None
) -> list[dict[str, float]]:
    """Bars that show where the rows are."""
    edges, shares = shape.histogram()
    places = x.places(edges, left, end)
    bars = [(places[i], places[i + 1] - places[i], share) for i, share in enumerate(shares)]
    if missing is not None:
        bars.append((missing - 8, 16, float(shape.shares[-1])))
    largest = max((bar[2] for bar in bars), default=0) or 1.0
    return [
        {
            "x": round(float(start), 2),
            "width": round(float(width), 2),
            "y": round(floor - STRIP * share / largest, 2),
            "height": round(STRIP * share / largest, 2),
            "share": round(float(share), 6),
        }
        for start, width, share in bars
        if share > 0
    ]
