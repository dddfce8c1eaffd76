"""What a chart shows, in the units of the data. Whoever draws it adds colours and sizes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from neuralrules._charts._axes import Axis


@dataclass(frozen=True, eq=False)
class Line:
    """Points of one kind, as a rule joined by a line.

    Attributes
    ----------
    x, y : (n,) float64
    texts : list of str
        What a reader sees on pointing at each point.
    low, high : (n,) float64 or None
        The interval of each point.
    joined : bool
        Whether a line joins the points.
    banded : bool
        Whether the intervals make a band, and are not drawn one by one.
    loud : (n,) bool or None
        The points that are always marked, by default all. The others are marked while a
        reader points at them.
    number : int
        Number of the colour.
    """

    x: np.ndarray
    y: np.ndarray
    texts: list[str]
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    joined: bool = True
    banded: bool = False
    loud: np.ndarray | None = None
    number: int = 0


@dataclass(frozen=True, eq=False)
class RowBars:
    """Bars that show where the rows of a table are.

    Attributes
    ----------
    lefts, widths : (n,) float64
        Along the horizontal axis.
    shares : (n,) float64
        Share of the rows in each bar.
    """

    lefts: np.ndarray
    widths: np.ndarray
    shares: np.ndarray


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart of lines and points.

    Attributes
    ----------
    title : str
    x, y : Axis
    lines : list of Line
    diagonal : bool
        Whether a line marks where both axes are equal. They then have the same ends.
    guide : (n, 2) float64 or None
        Points of a line to compare with.
    marked : int or None
        Place of the one point of the first line that stands out.
    rows : RowBars or None
    missing : float or None
        Where missing values stand, to the right of all ticks; None if there are none.
    """

    title: str
    x: Axis
    y: Axis
    lines: list[Line] = field(default_factory=list)
    diagonal: bool = False
    guide: np.ndarray | None = None
    marked: int | None = None
    rows: RowBars | None = None
    missing: float | None = None
