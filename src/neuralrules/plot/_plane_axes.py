"""The two axes of a plane of columns: numbers, dates or categories along each of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralrules._charts._texts import short_label, short_name
from neuralrules.plot._drawing import literally

MAX_TICKS = 24  # categories that are named along an axis
JITTER = 0.28  # how far points are spread around their category


def label_axis(
    ax: Any, axis: Any, values: np.ndarray, categories: list[str] | None, name: str, dates: bool
) -> None:
    """Name an axis, its ticks and its ends; dates are days since 1970-01-01."""
    vertical = axis is ax.yaxis
    # Of two panels that share the axis only the left one is labelled.
    if not vertical or axis.get_tick_params().get("labelleft", True):
        axis.set_label_text(literally(short_label(name)))
    limits = (values[0], values[-1])
    if categories is not None:
        limits = (-0.5, len(categories) - 0.5)
        step = -(-len(categories) // MAX_TICKS)
        shown = categories[::step]
        labels = [literally(short_name(category, 18)) for category in shown]
        axis.set_ticks(values[::step], labels)
        if not vertical and sum(map(len, labels)) > 40:
            ax.tick_params(axis="x", labelrotation=90)
    elif dates:
        show_dates(axis)
    elif not vertical:
        ax.locator_params(axis="x", nbins=5)
    (ax.set_ylim if vertical else ax.set_xlim)(*limits)


def show_dates(axis: Any) -> None:
    """Ticks at the beginnings of years, months or days.

    Matplotlib counts days from the same day as this library, unless it was told otherwise.
    """
    from matplotlib import dates

    untyped: Any = dates
    locator = untyped.AutoDateLocator(minticks=3, maxticks=6)
    axis.set_major_locator(locator)
    axis.set_major_formatter(untyped.ConciseDateFormatter(locator))


def drawn_line(
    values: np.ndarray, categories: list[str] | None
) -> tuple[np.ndarray, np.ndarray]:
    """Where to draw a grid line's values, and which of them: categories are blocks.

    Returns
    -------
    coordinates : (n,) or (2 n,) float64
    places : (n,) or (2 n,) int
    """
    places = np.arange(len(values))
    if categories is None:
        return values, places
    ends = np.array([-0.4999, 0.4999])
    return (values[:, None] + ends).ravel(), np.repeat(places, 2)


def spread(points: np.ndarray, categories: tuple[Any, Any]) -> np.ndarray:
    """The points, moved at random within their category so that they can be told apart."""
    moved = points.copy()
    moves = np.random.RandomState(0).uniform(-JITTER, JITTER, points.shape)
    for axis, names in enumerate(categories):
        if names is not None:
            moved[:, axis] += moves[:, axis]
    return moved
