"""The operations that lead from a row's cells to a model's prediction.

An expression is a tree of these nodes. `evaluate` computes its value. Printers write
expressions in other languages, with one branch for each operation. Every kind of column or
literal is an expression, so a new kind needs no code of its own in `evaluate` and the printers.

A cell may be missing. `Filled` replaces a missing number. Before that, only `Standardised` and
`Line` may be applied to a cell, in every formula. They leave a missing number missing.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeAlias, assert_never


@dataclass(frozen=True)
class Cell:
    """The cell in a column of the table after reading: a number, a text, or missing."""

    source: int


@dataclass(frozen=True)
class Named:
    """The value of an earlier step of the formula, by its name."""

    name: str


@dataclass(frozen=True)
class Sum:
    """A constant, plus values times their factors."""

    terms: tuple[tuple[float, Number], ...]
    constant: float = 0.0


@dataclass(frozen=True)
class Filled:
    """A number, or the number `otherwise` if it is missing."""

    value: Number
    otherwise: float


@dataclass(frozen=True)
class Standardised:
    """(value - mean) / scale."""

    value: Number
    mean: float
    scale: float = 1.0


@dataclass(frozen=True)
class Bounded:
    """A number, but at least `low` and at most `high`."""

    value: Number
    low: float
    high: float


@dataclass(frozen=True)
class Line:
    """A function that is linear between given points, and constant outside of them.

    There are at least two points, and their coordinates x and z both increase strictly. In the
    segment that begins at point k, the function is z_k + (z_k+1 - z_k) ((value - x_k) /
    (x_k+1 - x_k)), or z_k+1 if rounding gives a larger number.
    """

    value: Number
    x: tuple[float, ...]
    z: tuple[float, ...]


@dataclass(frozen=True)
class Indicator:
    """1 if a condition holds, else 0."""

    condition: Condition


@dataclass(frozen=True)
class Smallest:
    """The smallest of some numbers, at least one."""

    values: tuple[Number, ...]


@dataclass(frozen=True)
class Positive:
    """A number, or 0 if it is negative."""

    value: Number


@dataclass(frozen=True)
class Call:
    """A function that `math`, ONNX and JavaScript's `Math` know by this name, such as "exp".

    A function with another name in SQL is in `OTHER_NAMES` of the printer of SQL.
    """

    function: str
    value: Number


@dataclass(frozen=True)
class IsMissing:
    """Whether a cell is missing."""

    cell: Cell


@dataclass(frozen=True)
class IsAnyOf:
    """Whether a cell holds one of some texts or, with `missing`, whether it is missing."""

    cell: Cell
    texts: tuple[str, ...]
    missing: bool = False


@dataclass(frozen=True)
class Not:
    """Whether a condition does not hold."""

    condition: Condition


Number: TypeAlias = (
    Cell
    | Named
    | Sum
    | Filled
    | Standardised
    | Bounded
    | Line
    | Indicator
    | Smallest
    | Positive
    | Call
)
Condition: TypeAlias = IsMissing | IsAnyOf | Not
Cells: TypeAlias = Mapping[int, float | str | None]


def operations(node: Any) -> Iterator[Any]:
    """All nodes of an expression: first its root, then the nodes of its parts."""
    yield node
    for field in fields(node):
        inner = getattr(node, field.name)
        for part in inner if isinstance(inner, tuple) else (inner,):
            child = part[1] if isinstance(part, tuple) else part  # a sum pairs it with a factor
            if is_dataclass(child):
                yield from operations(child)


def evaluate(node: Number, cells: Cells, steps: Mapping[str, float]) -> float:
    """The value of an expression in double precision. Slow and obvious, a reference for tests.

    `cells` holds the row's cells by their columns of the table. A missing cell is None or NaN.
    `steps` holds the values of earlier steps by their names.
    """

    def value_of(child: Number) -> float:
        return evaluate(child, cells, steps)

    match node:
        case Cell(source):
            cell = cells[source]
            if isinstance(cell, str):
                raise TypeError(f"Column {source} holds the text {cell!r}, not a number.")
            return math.nan if cell is None else cell
        case Named(name):
            return steps[name]
        case Sum(terms, constant):
            return constant + sum(factor * value_of(child) for factor, child in terms)
        case Filled(child, otherwise):
            value = value_of(child)
            return otherwise if math.isnan(value) else value
        case Standardised(child, mean, scale):
            return (value_of(child) - mean) / scale
        case Bounded(child, low, high):
            value = value_of(child)
            return value if math.isnan(value) else max(low, min(high, value))
        case Line(child, x, z):
            return on_line(value_of(child), x, z)
        case Indicator(condition):
            return float(holds(condition, cells))
        case Smallest(children):
            return min(map(value_of, children))
        case Positive(child):
            return max(0.0, value_of(child))
        case Call(function, child):
            return float(getattr(math, function)(value_of(child)))
        case _:
            assert_never(node)


def holds(condition: Condition, cells: Cells) -> bool:
    """Whether a condition holds for a row."""
    match condition:
        case IsMissing(cell):
            return is_missing(cells[cell.source])
        case IsAnyOf(cell, texts, missing):
            content = cells[cell.source]
            return missing if is_missing(content) else content in texts
        case Not(other):
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
