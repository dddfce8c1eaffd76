"""The picture of the frontier: loss against size, for all methods."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from matplotlib.transforms import Bbox

from benchmarks import frontier_numbers as numbers
from benchmarks.drawing import BLUE, GREY, STYLE, plt, save
from benchmarks.frontier_methods import METHODS
from benchmarks.frontier_numbers import YARDSTICK

PALE = "#9A9A9A"
GRID = "#E6E6E6"
LOSSES = (0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 3, 4, 6, 8, 10, 15, 20)
HALO = [withStroke(linewidth=2.5, foreground="white")]
NOT_DRAWN = ("constant",)
DISTANCES = (7, 12, 18, 26, 36)  # possible distances of a name from its point, in points
SHORT = {"HistGradientBoosting": "HistGB"}
DIRECTIONS = [(1, 0), (-1, 0), (0, 1), (0, -1), *itertools.product((0.7, -0.7), (0.7, -0.7))]


@dataclass(frozen=True)
class Point:
    """A method in the picture: its size, and its loss divided by the loss of the yardstick."""

    method: str
    size: float
    loss: float
    is_whole: bool

    @property
    def is_ours(self) -> bool:
        return METHODS[self.method].is_ours

    @property
    def color(self) -> str:
        return BLUE if self.is_ours else GREY


def points(table: pd.DataFrame, column: str) -> list[Point]:
    """The methods that have a size in this column, with geometric means over their cells."""
    logs, sizes = numbers.log_losses(table), np.log(numbers.cells(table, column))
    n_data = logs.index.get_level_values("data").nunique()
    return [
        Point(
            name,
            float(np.exp(sizes[name].mean())),
            numbers.ratio(logs, name, YARDSTICK),
            numbers.coverage(logs, name) == n_data,
        )
        for name in logs
        if name not in NOT_DRAWN and sizes[name].notna().any()
    ]


def draw(path: Path, table: pd.DataFrame) -> None:
    """Loss against parameters, and against rules for the methods that have them."""
    with mpl.rc_context({**STYLE, "font.size": 9.5, "axes.edgecolor": PALE}):
        figure, panels = plt.subplots(
            1,
            2,
            figsize=(11.5, 6.2),
            sharey=True,
            layout=ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.1),
            width_ratios=(1.2, 1),
        )
        found = {name: points(table, name) for name in ("parameters", "rules")}
        for axes, (column, own) in zip(panels, found.items(), strict=True):
            draw_axes(axes, column, own, max(p.loss for every in found.values() for p in every))
            draw_families(axes, own)
            for point in own:
                draw_point(axes, point)
        panels[0].set_ylabel(f"loss over {YARDSTICK}'s, geometric mean")
        figure.canvas.draw()  # the layout must be known, because labels are placed in pixels
        for axes, own in zip(panels, found.values(), strict=True):
            draw_labels(axes, own)
        save(figure, path)


def draw_axes(axes: Axes, column: str, own: list[Point], highest: float) -> None:
    sizes, lowest = [point.size for point in own], min(point.loss for point in own)
    axes.set(xscale="log", yscale="log", xlabel=f"{column} of a model (geometric mean)")
    axes.set_xlim(min(sizes) / 20, max(sizes) * 5)  # room for names at both sides
    axes.set_ylim(min(0.85, lowest / 1.08), max(1.5, highest * 1.1))
    axes.yaxis.set_major_locator(FixedLocator(LOSSES))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.axhline(1, color=PALE, linewidth=1.2, zorder=1)
    axes.tick_params(length=0, colors=GREY)
    axes.spines["left"].set_visible(False)
    axes.set_title(f"by {column}", loc="left", fontweight="bold")


def families(own: list[Point]) -> Iterator[list[Point]]:
    """Groups of points whose methods differ only in the given number of rules."""
    named: dict[str, list[Point]] = {}
    for point in own:
        if METHODS[point.method].n_rules:
            named.setdefault(METHODS[point.method].family, []).append(point)
    yield from named.values()


def draw_families(axes: Axes, own: list[Point]) -> None:
    for family in families(own):
        ours = family[0].is_ours
        axes.plot(
            [point.size for point in family],
            [point.loss for point in family],
            color=BLUE if ours else PALE,
            linewidth=2.4 if ours else 1.1,
            zorder=3 if ours else 2,
        )


def draw_point(axes: Axes, point: Point) -> None:
    sized = METHODS[point.method].n_rules is not None
    axes.plot(
        point.size,
        point.loss,
        marker="o",
        markersize=(8.5 if point.is_ours else 6.5) - (2 if sized else 0),
        markerfacecolor=point.color if point.is_whole else "white",
        markeredgecolor="white" if point.is_whole else point.color,
        markeredgewidth=1.0 if point.is_whole else 1.4,
        zorder=5 if point.is_ours else 4,
    )


def label_of(point: Point, own: list[Point]) -> str:
    """The label of a point. A peer at several sizes has one label, at its smallest size."""
    method = METHODS[point.method]
    name = SHORT.get(method.family, method.family)
    if method.n_rules is None:
        return name
    if point.is_ours:
        return f"ours, {method.n_rules} rules"
    family = next(family for family in families(own) if point in family)
    if point is not family[0]:
        return ""
    return f"small {name}" if method.family in METHODS else name


def draw_labels(axes: Axes, own: list[Point]) -> None:
    """Write names beside their points, if possible without overlap with anything else."""
    to_pixels = axes.transData.transform
    taken = [around(to_pixels((point.size, point.loss)), 5) for point in own]
    left, right = axes.get_xlim()
    taken.append(Bbox([to_pixels((left, 1)) - 2, to_pixels((right, 1)) + 2]))
    for family in families(own):
        ends = to_pixels([(point.size, point.loss) for point in family])
        for start, end in itertools.pairwise(ends):
            taken += [around(step, 4) for step in np.linspace(start, end, 25)]
    ordered = sorted(own, key=lambda point: (not point.is_ours, point.loss))
    for point in ordered:
        text = label_of(point, own)
        if text:
            taken.append(place(axes, point, text, taken))


def around(pixel: np.ndarray, reach: float) -> Bbox:
    x, y = pixel
    return Bbox([[x - reach, y - reach], [x + reach, y + reach]])


def place(axes: Axes, point: Point, text: str, taken: list[Bbox]) -> Bbox:
    """Write a name where it overlaps least, and rather near its point than far from it."""
    label = axes.annotate(
        text,
        (point.size, point.loss),
        xytext=(0, 0),
        textcoords="offset points",
        ha="center",
        va="center",
        color=point.color,
        fontweight="bold" if point.is_ours else "normal",
        fontsize=9.5 if point.is_ours else 8.5,
        path_effects=HALO,
        zorder=3.5,  # above lines, but below points, so that no halo covers a point
    )
    box, inside = label.get_window_extent(), axes.get_window_extent()
    pixels = axes.figure.dpi / 72

    def cost(place: tuple[float, float, float]) -> float:
        moved = box.translated(*(pixels * offset(*place, box, pixels)))
        return 3 * overlap(moved, taken) + 10 * outside(moved, inside) + 8 * place[2]

    best = min(((dx, dy, far) for far in DISTANCES for dx, dy in DIRECTIONS), key=cost)
    label.set_position(offset(*best, box, pixels))
    return box.translated(*(pixels * offset(*best, box, pixels)))


def offset(dx: float, dy: float, distance: float, box: Bbox, pixels: float) -> np.ndarray:
    """The distance from a point to the middle of its name, (2,) in points (1/72 inch)."""
    half = np.array([box.width, box.height]) / 2 / pixels
    return np.array([dx, dy]) * distance + np.sign([dx, dy]) * half


def overlap(box: Bbox, taken: list[Bbox]) -> float:
    """The area in pixels that a box shares with other boxes."""
    x0, y0, x1, y1 = np.array([other.extents for other in taken]).T
    widths = np.minimum(x1, box.x1) - np.maximum(x0, box.x0)
    heights = np.minimum(y1, box.y1) - np.maximum(y0, box.y0)
    return float(np.sum(np.clip(widths, 0, None) * np.clip(heights, 0, None)))


def outside(box: Bbox, frame: Bbox) -> float:
    """The area in pixels of the part of a box that is outside the frame."""
    return box.width * box.height - overlap(box, [frame])
