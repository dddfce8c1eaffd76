"""The value of an expression for one row. Slow and obvious, as a reference for tests."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from typing import assert_never

from neuralrules._expression import _nodes as ops

Cells = Mapping[int, float | str | None]


def evaluate(node: ops.Number, cells: Cells, steps: Mapping[str, float]) -> float:
    """The value of an expression in double precision.

    Parameters
    ----------
    node : Number
    cells : mapping from int to float, str or None
        The row's cells by their columns. A missing cell is None or NaN.
    steps : mapping from str to float
        The values of earlier steps by their names.
    """

    def value_of(child: ops.Number) -> float:
        return evaluate(child, cells, steps)

    match node:
        case ops.Cell(source):
            cell = cells[source]
            if isinstance(cell, str):
                raise TypeError(f"Column {source} holds the text {cell!r}, not a number.")
            return math.nan if cell is None else cell
        case ops.Named(name):
            return steps[name]
        case ops.Sum(terms, constant):
            return constant + sum(factor * value_of(child) for factor, child in terms)
        case ops.Filled(child, otherwise):
            value = value_of(child)
            return otherwise if math.isnan(value) else value
        case ops.Standardised(child, mean, scale):
            return (value_of(child) - mean) / scale
        case ops.Bounded(child, low, high):
            value = value_of(child)
            return value if math.isnan(value) else max(low, min(high, value))
        case ops.Line(child, x, z):
            return on_line(value_of(child), x, z)
        case ops.Indicator(condition):
            return float(holds(condition, cells))
        case ops.Smallest(children):
            return min(map(value_of, children))
        case ops.Positive(child):
            return max(0.0, value_of(child))
        case ops.Call(function, child):
            return float(getattr(math, function)(value_of(child)))
        case _:
            assert_never(node)


def holds(condition: ops.Condition, cells: Cells) -> bool:
    """Whether a condition holds for a row."""
    match condition:
        case ops.IsMissing(cell):
            return is_missing(cells[cell.source])
        case ops.IsAnyOf(cell, texts, missing):
            content = cells[cell.source]
            return missing if is_missing(content) else content in texts
        case ops.Not(other):
            return not holds(other, cells)
        case _:
            assert_never(condition)


def is_missing(cell: float | str | None) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def on_line(value: float, x: tuple[float, ...], z: tuple[float, ...]) -> float:
    """The height of the line through the points (x, z) at a number. NaN stays NaN."""
    if math.isnan(value):
        return value
    if value >= x[-1]:
        return z[-1]
    value = max(x[0], value)
    k = bisect_right(x[1:-1], value)
    return min(z[k] + (z[k + 1] - z[k]) * ((value - x[k]) / (x[k + 1] - x[k])), z[k + 1])
