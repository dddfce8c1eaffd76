"""Expressions in JavaScript, for pages that compute predictions without a server.

No text of the table becomes code. The code refers to a category by its place in a list of
choices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from neuralrules._expression import _nodes as ops


@dataclass(frozen=True)
class Printer:
    """Expressions as JavaScript.

    Attributes
    ----------
    cells : mapping from int to str
        The code of each cell by its column of the table. The code has the value of a number,
        null for a missing number, or the place of a choice.
    choices : mapping from int to sequence
        For each column of texts, the texts in the order of their places, with None for a
        missing cell. One more place stands for all other texts.
    steps : mapping from str to str
        The code of earlier steps by their names.
    """

    cells: Mapping[int, str] = field(default_factory=dict)
    choices: Mapping[int, Sequence[str | None]] = field(default_factory=dict)
    steps: Mapping[str, str] = field(default_factory=dict)

    def number(self, node: ops.Number) -> str:
        """The code of an expression. The page must define the function ``onLine``."""
        match node:
            case ops.Cell(source):
                return self.cells[source]
            case ops.Named(name):
                return self.steps[name]
            case ops.Filled(value, otherwise):
                return f"({self.number(value)} ?? {otherwise!r})"
            case ops.Standardised(value, mean, scale):
                return f"({self.number(value)} - {mean!r}) / {scale!r}"
            case ops.Bounded(value, low, high):
                return f"Math.max({low!r}, Math.min({high!r}, {self.number(value)}))"
            case ops.Line(value, x, z):
                return f"onLine({list(x)}, {list(z)}, {self.number(value)})"
            case ops.Indicator(condition):
                return f"Number({self.condition(condition)})"
            case ops.Call(function, value):
                return f"Math.{function}({self.number(value)})"
            case ops.Sum(terms, constant):
                parts = [f"{factor!r} * {self.number(value)}" for factor, value in terms]
                return f"({' + '.join([*parts, repr(constant)])})"
            case _:
                raise TypeError(f"Pages have no code for {node!r}.")

    def condition(self, node: ops.Condition) -> str:
        """The code of a condition on a cell."""
        match node:
            case ops.Not(other):
                return f"!{self.condition(other)}"
            case ops.IsMissing(cell) if cell.source not in self.choices:
                return f"({self.number(cell)} === null)"
            case ops.IsMissing(cell) | ops.IsAnyOf(cell):
                choices = self.choices[cell.source]
                places = [
                    i for i, text in enumerate(choices) if ops.holds(node, {cell.source: text})
                ]
                return f"{places}.includes({self.number(cell)})"
