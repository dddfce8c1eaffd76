"""The operations that lead from a row's cells to a model's prediction.

An expression is a tree of these nodes. `evaluate` computes an expression slowly. Printers write
expressions in other languages, with one branch for each operation. Every kind of column or
literal is an expression, so a new kind needs no code of its own in `evaluate` and the printers.

A cell may be missing. `Filled` replaces a missing number. Before that, only `Standardised` and
`Line` may be applied to a cell, in every formula. They leave a missing number missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Cell:
    """A cell of the row after reading: a number, a text, or missing.

    Attributes
    ----------
    source : int
        The cell's column in the user's table.
    """

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

    In the segment that begins at point k it is z_k + (z_k+1 - z_k) ((value - x_k) /
    (x_k+1 - x_k)), or z_k+1 if rounding gives a larger number.

    Attributes
    ----------
    value : Number
    x, z : tuple of float
        The coordinates of at least two points. Both are strictly increasing.
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
    """A function of a number.

    Attributes
    ----------
    function : str
        A name that NumPy, Python's `math`, SQL, ONNX and JavaScript's `Math` all know.
    value : Number
    """

    function: str
    value: Number


@dataclass(frozen=True)
class IsMissing:
    """Whether a cell is missing."""

    cell: Cell


@dataclass(frozen=True)
class IsAnyOf:
    """Whether a cell holds one of some texts.

    Attributes
    ----------
    cell : Cell
    texts : tuple of str
    missing : bool
        Whether the condition also holds for a missing cell.
    """

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


def operations(node: Any) -> Iterator[Any]:
    """All nodes of an expression: first its root, then the nodes of its parts."""
    yield node
    for field in fields(node):
        inner = getattr(node, field.name)
        for part in inner if isinstance(inner, tuple) else (inner,):
            child = part[1] if isinstance(part, tuple) else part  # a sum pairs it with a factor
            if is_dataclass(child):
                yield from operations(child)
