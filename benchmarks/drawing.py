"""Pictures of two-dimensional tables, rules and rankings, for colour-blind readers too.

The classes differ in marker and in colour. The colours also differ in lightness, so that a
greyscale print shows the classes too.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from benchmarks.files import write_whole

if TYPE_CHECKING:
    from benchmarks.simulations import Support

# From the palette of Okabe and Ito.
BLUE, ORANGE, SKY, GREY = "#0072B2", "#D55E00", "#56B4E9", "#666666"
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": 150,
}
EXTENT = 1.5
N_GRID = 201


def grid_points() -> np.ndarray:
    """Grid points of a square around rotated XOR, (N_GRID ** 2, 2) float64."""
    axis = np.linspace(-EXTENT, EXTENT, N_GRID)
    return np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)


def draw_classes(axes: Axes, X: np.ndarray, y: np.ndarray, size: float = 9) -> None:
    axes.scatter(*X[y == 0].T, s=size, c=ORANGE, marker="x", linewidths=0.7, zorder=3)
    axes.scatter(*X[y == 1].T, s=size, c=BLUE, marker="o", linewidths=0, zorder=3)
    axes.set_xlabel("$x_1$")
    axes.set_aspect("equal")


def class_handles() -> list[Line2D]:
    looks: dict[str, Any] = {"linestyle": "", "markersize": 6}
    return [
        Line2D([], [], color=BLUE, marker="o", label="positive", **looks),
        Line2D([], [], color=ORANGE, marker="x", label="negative", **looks),
    ]


def draw_support(axes: Axes, support: Support) -> None:
    axis = np.linspace(-EXTENT, EXTENT, N_GRID)
    inside = support.on_grid.astype(float)
    axes.contourf(axis, axis, inside, levels=[0.5, 1.5], colors=[SKY], alpha=0.35)
    axes.contour(axis, axis, inside, levels=[0.5], colors=["black"], linewidths=1.4, zorder=4)
    ticks = [-1, 0, 1]
    limits = (-EXTENT, EXTENT)
    axes.set(xlim=limits, ylim=limits, xticks=ticks, yticks=ticks)
    axes.set_title(
        f"{stage_name(support.iteration)}\ninside: {100 * support.positives:.1f} % of "
        f"positives,\n{100 * support.negatives:.1f} % of negatives"
    )


def stage_name(iteration: int) -> str:
    return "At the start" if iteration == 0 else f"After {iteration} iterations"


def support_handle() -> Patch:
    return Patch(facecolor=SKY, edgecolor="black", alpha=0.6, label="support of the rule")


def draw_stages(path: Path, X: np.ndarray, y: np.ndarray, supports: list[Support]) -> None:
    """The support of a rule at each stage, side by side."""
    with mpl.rc_context(STYLE):
        figure, panels = plt.subplots(
            1, len(supports), figsize=(10.5, 4.9), sharey=True, layout="constrained"
        )
        for axes, support in zip(panels, supports, strict=True):
            draw_classes(axes, X, y)
            draw_support(axes, support)
        panels[0].set_ylabel("$x_2$")
        legend_below(figure, [*class_handles(), support_handle()])
        save(figure, path)


def animate(path: Path, X: np.ndarray, y: np.ndarray, supports: list[Support]) -> None:
    """Draw the support of a rule at each stage as a film. The last frame stays for a while."""
    with mpl.rc_context({**STYLE, "figure.dpi": 90}):
        figure, axes = plt.subplots(figsize=(4.4, 5.5), layout="constrained")
        legend_below(figure, [*class_handles(), support_handle()])

        def draw(number: int) -> list:
            axes.clear()
            draw_classes(axes, X, y)
            draw_support(axes, supports[min(number, len(supports) - 1)])
            axes.set_ylabel("$x_2$")
            return []

        film = FuncAnimation(figure, draw, frames=len(supports) + 12)
        with tempfile.TemporaryDirectory() as folder:
            film.save(Path(folder) / path.name, PillowWriter(fps=8))
            write_whole(path, (Path(folder) / path.name).read_bytes())
        plt.close(figure)


def draw_boundaries(
    path: Path, X: np.ndarray, y: np.ndarray, models: dict[str, Any], errors: dict[str, float]
) -> None:
    """Draw a table in the unit square, and the predictions of each model."""
    axis = np.linspace(0, 1, 401)
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    with mpl.rc_context(STYLE):
        figure, panels = plt.subplots(
            1, 1 + len(models), figsize=(12.5, 3.9), sharey=True, layout="constrained"
        )
        panels[0].set_title("Separable by a line at 45°")
        for axes, (name, model) in zip(panels[1:], models.items(), strict=True):
            predicted = model.predict(points).reshape(len(axis), len(axis))
            axes.contourf(axis, axis, predicted, levels=[0.5, 1.5], colors=[SKY], alpha=0.35)
            axes.contour(axis, axis, predicted, levels=[0.5], colors=["black"], linewidths=1.4)
            axes.set_title(f"{name}: {errors[name]:.1f} % wrong")
        for axes in panels:
            draw_classes(axes, X, y)
            axes.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1)
            axes.set(xlim=(0, 1), ylim=(0, 1))
        panels[0].set_ylabel("$x_2$")
        handles = [
            *class_handles(),
            Line2D([], [], color=GREY, linestyle="--", label="true boundary"),
            Patch(facecolor=SKY, edgecolor="black", alpha=0.6, label="predicted positive"),
        ]
        legend_below(figure, handles)
        save(figure, path)


def draw_ranks(path: Path, sources: dict[str, dict[str, float]], difference: float) -> None:
    """Draw a critical-difference diagram (Demsar 2006) for each source of mean ranks."""
    n_methods = len(next(iter(sources.values())))
    runs = {
        source: indistinct(sorted(ranks.values()), difference)
        for source, ranks in sources.items()
    }
    # Below the axis are the bars of methods without a significant difference, then the names.
    top, first_name = 1.2, -0.75 - 0.13 * max(0, max(map(len, runs.values())) - 3)
    bottom = first_name - 0.35 * ((n_methods + 1) // 2 - 1) - 0.2
    with mpl.rc_context(STYLE):
        figure, panels = plt.subplots(
            1,
            len(sources),
            figsize=(10.5, 1.04 * (top - bottom)),
            layout="constrained",
            squeeze=False,
        )
        for axes, (source, ranks) in zip(panels[0], sources.items(), strict=True):
            axes.hlines(0, 1, n_methods, color="black")
            for rank in range(1, n_methods + 1):
                axes.vlines(rank, 0, 0.12, color="black")
                axes.text(rank, 0.18, str(rank), ha="center", va="bottom")
            ordered = sorted(ranks, key=lambda name: ranks[name])
            for place, name in enumerate(ordered):
                label_rank(axes, name, ranks[name], place, len(ordered), first_name)
            for level, (first, last) in enumerate(runs[source]):
                y = -0.16 - 0.13 * level
                axes.plot([first - 0.04, last + 0.04], [y, y], color=BLUE, linewidth=4)
            axes.plot([1, 1 + difference], [0.75, 0.75], color=GREY, linewidth=2, marker="|")
            axes.text(
                1 + difference / 2, 0.88, f"critical difference {difference:.2f}", ha="center"
            )
            axes.set(xlim=(0.2, n_methods + 0.8), ylim=(bottom, top), title=source)
            axes.axis("off")
        save(figure, path)


def label_rank(
    axes: Axes, name: str, rank: float, place: int, n: int, first_name: float
) -> None:
    """Write a method's name beside the axis, the better half left, with a line to its rank."""
    left = place < n / 2
    depth = place if left else n - 1 - place
    y, x = first_name - 0.35 * depth, 0.75 if left else n + 0.25
    axes.plot([rank, rank, x], [0, y, y], color="black", linewidth=1)
    text = f"{name} {rank:.2f}"
    axes.text(
        x, y, f"{text} " if left else f" {text}", ha="right" if left else "left", va="center"
    )


def indistinct(ranks: list[float], difference: float) -> list[tuple[float, float]]:
    """The longest runs of sorted ranks that differ by less than the critical difference."""
    runs: list[tuple[float, float]] = []
    for i, first in enumerate(ranks):
        last = max(rank for rank in ranks[i:] if rank - first < difference)
        if last > first and not any(last <= end for _, end in runs):
            runs.append((first, last))
    return runs


def legend_below(figure: Figure, handles: list) -> None:
    figure.legend(
        handles=handles, loc="outside lower center", ncols=len(handles), frameon=False
    )


def save(figure: Figure, path: Path) -> None:
    """Write a picture without date and version, so that equal pictures give equal files."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", metadata={"Software": None}, facecolor="white")
    write_whole(path, picture.getvalue())
    plt.close(figure)
