"""What a chart shows, in the units of the data. The drawing code adds colours and sizes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from neuralrules._charts._axes import Axis


@dataclass(frozen=True, eq=False)
class Line:
    """Points of one kind, usually joined by a line.

    Attributes
    ----------
    x, y : (n,) float64
    texts : list of str
        The text that appears when a reader points at each point.
    low, high : (n,) float64 or None
        The ends of the interval of each point.
    joined : bool
        Whether a line joins the points.
    banded : bool
        Whether the intervals are drawn as one band instead of one by one.
    loud : (n,) bool or None
        The points that are always marked; None means all points. Any other point is marked
        only while a reader points at it.
    number : int
        Number of the line's colour.
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
        Left edge and width of each bar, on the horizontal axis.
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
        Whether to draw the line x = y. Both axes then have the same ends.
    guide : (n, 2) float64 or None
        Points of a reference line.
    marked : int or None
        Place of the point of the first line that is highlighted.
    rows : RowBars or None
    missing : float or None
        Position of missing values on the horizontal axis, to the right of all ticks; None if
        no values are missing.
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
