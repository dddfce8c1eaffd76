"""Charts of shapes: which outputs they show, along which values, and where the rows are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from neuralrules._charts._chart import (
    Axis,
    Chart,
    Line,
    RowBars,
    date_axis,
    log_ticks,
    number_axis,
    odds_axis,
    tick_texts,
    tight_axis,
)
from neuralrules._charts._texts import (
    CLASS_LENGTH,
    NO_BREAK,
    short,
    short_label,
    short_name,
    shortened,
)
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._levels import Levels
from neuralrules._reading._notation import column_label
from neuralrules._reading._outcomes import outcome_of_class
from neuralrules._reading._shapes import Shape
from neuralrules._task._loss import LARGEST_OUTPUT
from neuralrules._task._task import Task

TAILS = (0.01, 0.99)  # quantiles between which columns with long tails are shown
BARS = 30  # most bars that show where the rows are
LINES = 5  # most lines of classes or targets in one chart: those that vary most are shown
FEW = 10  # up to this many different numbers, each gets a tick of its own
MARGIN = 0.06  # share of the height that is left free above and below
# Missing values stand to the right of all values. Their distance from the values and the width
# of their bar are shares of the range of the values.
MISSING_PLACE, MISSING_WIDTH = 0.1, 0.05


@dataclass(frozen=True, eq=False)
class View:
    """How the outputs of a model are shown."""

    label: str  # of the vertical axis
    names: list[str]  # of the outputs
    place: int | None = 0  # of the one output that is shown; None shows all outputs
    sign: float = 1.0  # factor of the output: -1 shows the first of two classes
    # "odds": log odds, labelled with probabilities; "logarithm": labelled with the numbers
    # themselves; or "number"
    unit: str = "number"
    task: Task | None = None  # makes several outputs comparable; needed to show all outputs

    def lines(self, outputs: np.ndarray) -> np.ndarray:
        """The lines to draw, (n_values, n_lines), from outputs (n_values, n_outputs)."""
        if self.place is not None:
            return self.sign * outputs[:, [self.place]]
        assert self.task is not None
        return self.task.comparable(outputs)

    def band(self, shape: Shape) -> np.ndarray | None:
        """Lower and upper ends of the band, (n_values, 2); None if there are several lines."""
        ends = np.hstack([self.lines(shape.low), self.lines(shape.high)])
        return np.sort(ends, axis=1) if ends.shape[1] == 2 else None

    def axis(self, low: float, high: float) -> Axis:
        """The vertical axis, with some room below `low` and above `high`."""
        room = MARGIN * ((high - low) or max(abs(high), 1.0))
        low, high = low - room, high + room
        if self.unit == "odds":
            return odds_axis(self.label, low, high)
        if self.unit == "logarithm":
            ticks = log_ticks(from_logarithm(low), from_logarithm(high))
            return Axis(self.label, (low, high), np.log(ticks), tick_texts(ticks))
        return number_axis(self.label, np.array([low, high]))

    def text(self, output: float) -> str:
        """The text of one number of a line."""
        if self.unit == "odds":
            return f"{100 * expit(output):.3g}{NO_BREAK}%"
        return short(from_logarithm(output) if self.unit == "logarithm" else float(output), 3)


def from_logarithm(value: float) -> float:
    return float(np.exp(np.clip(value, -LARGEST_OUTPUT, LARGEST_OUTPUT)))


def view_of(fitted: Fitted, rare: int | None) -> View:
    """How the shapes of a model are shown by default.

    Of two classes, `rare` is the code of the one that is shown. It is None for a regression.
    """
    task = fitted.task
    if task.n_outputs > 1:
        names = [str(label) for label in task.labels] or [
            f"target {k}" for k in range(task.n_outputs)
        ]
        label = "score" if task.are_classes else "standard deviations of each target"
        return View(label, names, place=None, task=task)
    if not task.are_classes:
        if not task.loss.link.multiplied:
            return View(task.loss.link.output_words, ["prediction"])
        return View("prediction (log scale)", ["prediction"], unit="logarithm")
    assert rare is not None  # of two classes
    outcome = outcome_of_class(task, rare)
    kind = "probability of" if outcome.is_odds else "decision for"
    label = f"{kind} {shortened(task.labels[rare], CLASS_LENGTH)}"
    return View(label, [label], sign=outcome.sign, unit="odds" if outcome.is_odds else "number")


def shape_chart(shape: Shape, view: View) -> Chart:
    """The chart of a column's shape: lines, band and rows. Categories stand at 0, 1, 2, …"""
    levels, lines, band = shape._levels, view.lines(shape.outputs), view.band(shape)
    chosen = most_varied(lines)
    start, end = shown_range(levels)
    x, labelled = value_axis(shape.column, levels)
    places, missing = levels.numbers.copy(), None
    inside = np.flatnonzero((places >= start) & (places <= end))
    groups = [inside]
    if np.isnan(places[-1]):
        width = x.ends[1] - x.ends[0]
        places[-1] = missing = x.ends[1] + MISSING_PLACE * width
        x = replace(x, ends=(x.ends[0], missing + MISSING_WIDTH * width))
        groups.append(np.array([len(places) - 1]))
    drawn = [
        Line(
            places[some],
            lines[some, k],
            [f"{levels.text(i)}: {view.text(lines[i, k])}" for i in some.tolist()],
            None if band is None else band[some, 0],
            None if band is None else band[some, 1],
            joined=some is inside and levels.names is None,
            banded=some is inside and levels.names is None,
            loud=np.isin(places[some], labelled) | (some is not inside),
            number=number,
        )
        for number, k in enumerate(chosen.tolist())
        for some in groups
    ]
    reach = lines[:, chosen] if band is None else np.hstack([lines, band])
    reach = reach[np.concatenate(groups)]
    return Chart(
        f"What {column_label(shape.column)} does to the {view.label}",
        x,
        view.axis(float(reach.min()), float(reach.max())),
        drawn,
        rows=row_bars(shape, missing),
        missing=missing,
    )


def most_varied(lines: np.ndarray) -> np.ndarray:
    """Places of the few lines that vary most, ascending; `lines` is (n_values, n_lines)."""
    spread = np.ptp(lines, axis=0)
    return np.sort(np.argsort(-spread, kind="stable")[:LINES])


def value_axis(column: str, levels: Levels) -> tuple[Axis, np.ndarray]:
    """The axis of a column's values, and the values that are marked by dots."""
    label, (low, high) = short_label(column), shown_range(levels)
    if levels.names is not None:
        return category_axis(label, levels), levels.numbers
    if levels.kind == "date":
        return date_axis(label, low, high), np.empty(0)
    seen = np.unique(levels.cells[(levels.cells >= low) & (levels.cells <= high)])
    if not 0 < len(seen) <= FEW:
        return tight_axis(label, low, high), np.empty(0)
    edges = edges_around(seen)
    return Axis(label, (float(edges[0]), float(edges[-1])), seen, tick_texts(seen)), seen


def category_axis(label: str, levels: Levels) -> Axis:
    """An axis with categories at 0, 1, 2, …"""
    texts = [short_name(levels.text(place), 18) for place in range(len(levels))]
    return Axis(label, (-0.5, len(texts) - 0.5), levels.numbers, texts)


def cell_axis(column: str, levels: Levels, edges: np.ndarray) -> Axis:
    """The axis of a column beside a map whose cells have these edges."""
    label, (low, high) = short_label(column), (float(edges[0]), float(edges[-1]))
    if levels.names is not None:
        return category_axis(label, levels)
    return (date_axis if levels.kind == "date" else tight_axis)(label, low, high)


def shown_range(levels: Levels) -> tuple[float, float]:
    """The range of numbers, or of days, that a chart shows. Long tails are left out."""
    cells = levels.cells[~np.isnan(levels.cells)]
    if not cells.size:
        return float(levels.numbers[0]), float(levels.numbers[0])
    low, start, end, high = np.quantile(cells, [0, *TAILS, 1]).tolist()
    return (low, high) if end - start > (high - low) / 2 else (start, end)


def row_bars(shape: Shape, missing: float | None) -> RowBars:
    """The bars of rows: one for each category or number, or equal steps for many numbers."""
    levels = shape._levels
    if levels.names is not None:
        return RowBars(levels.numbers - 0.3, np.full(len(levels), 0.6), shape.shares)
    low, high = shown_range(levels)
    known = (levels.cells >= low) & (levels.cells <= high)
    seen = np.unique(levels.cells[known])
    edges = np.linspace(low, high, BARS + 1)
    lefts, widths = edges[:-1], np.diff(edges)
    if len(seen) <= BARS:
        seen = seen if seen.size else np.zeros(1)
        edges = edges_around(seen)
        width = 0.6 * float(np.diff(edges).min())
        lefts, widths = seen - width / 2, np.full(len(seen), width)
    counts, _ = np.histogram(levels.cells[known], edges, weights=shape._weights[known])
    shares = counts / shape._weights.sum()
    if missing is not None:
        half = MISSING_WIDTH / 2 * (edges[-1] - edges[0])
        lefts, widths = np.append(lefts, missing - half), np.append(widths, 2 * half)
        shares = np.append(shares, shape.shares[-1])
    return RowBars(lefts, widths, shares)


def edges_around(numbers: np.ndarray) -> np.ndarray:
    """Edges of cells around n ascending numbers, halfway between them, (n + 1,) float64."""
    if len(numbers) == 1:
        return numbers[0] + np.array([-0.5, 0.5])
    middle = (numbers[1:] + numbers[:-1]) / 2
    return np.array([2 * numbers[0] - middle[0], *middle, 2 * numbers[-1] - middle[-1]])
