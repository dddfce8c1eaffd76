"""Expressions in SQL, in the words of one dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from neuralrules._data._numbers import LARGEST
from neuralrules._export._sql_dialect import Dialect
from neuralrules._expression import _nodes as ops
from neuralrules._fitted._formula import CellReading, FormulaColumn
from neuralrules._task._loss import LARGEST_OUTPUT

# SQLite's functions take 127 arguments, its expressions are 1000 deep.
MAX_GROUP = 100
# Deviations that no product of float32 weights with a cell brings down to zero.
TINY = 1e-100


@dataclass(frozen=True)
class Printer:
    """Expressions as SQL.

    Attributes
    ----------
    dialect : Dialect
    cells : mapping from int to str
        Columns of a subquery that hold cells, by the column of the table.
    steps : mapping from str to str
        The columns of subqueries that hold steps of the formula. A step that is not listed
        has a column of its own name.
    """

    dialect: Dialect
    cells: Mapping[int, str]
    steps: Mapping[str, str]

    def number(self, node: ops.Number, space: str = " ") -> str:
        """An expression; `space` stands between the terms of a sum."""
        match node:
            case ops.Cell(source):
                return self.cells[source]
            case ops.Named(name):
                return self.steps.get(name, name)
            case ops.Sum(terms, constant):
                factors = [factor for factor, _ in terms]
                values = [self.number(value) for _, value in terms]
                return weighted_sum(factors, values, constant, self.dialect, space)
            case ops.Filled(value, otherwise):
                return f"COALESCE({self.number(value)}, {otherwise!r})"
            case ops.Standardised(value, mean, 1.0):
                return f"{self.number(value)} {minus(mean)}"
            case ops.Bounded(value, low, high):
                return bounded(self.number(value), self.dialect, low, high)
            case ops.Indicator(ops.Not(condition)):
                return self.indicator(condition, 0, 1)
            case ops.Indicator(condition):
                return self.indicator(condition, 1, 0)
            case ops.Smallest(values):
                items = [self.number(value) for value in values]
                return extreme(self.dialect.least, items, "\n      ", "\n    ")
            case ops.Positive(value):
                return f"{self.dialect.greatest}(0, {self.number(value)})"
            case ops.Call(function, value):
                return f"{function.upper()}({self.number(value)})"
            case _:
                raise TypeError(f"SQL has no words for {node!r}.")

    def indicator(self, condition: ops.Condition, yes: int, no: int) -> str:
        """A number if a condition holds, and another if not."""
        case = f"CASE WHEN {self.condition(condition)} THEN {yes} ELSE {no} END"
        # Integers times constants would be decimals in PostgreSQL and DuckDB.
        return self.dialect.as_double(case)

    def condition(self, node: ops.Condition) -> str:
        """A condition on a cell, which is NULL if it is missing."""
        match node:
            case ops.IsMissing(cell):
                return f"{self.number(cell)} IS NULL"
            case ops.IsAnyOf(cell, texts, missing):
                name = self.number(cell)
                conditions = [f"{name} IS NULL"] if missing else []
                possible = list(filter(None, map(self.dialect.string, texts)))
                if len(possible) == 1:
                    conditions.append(f"{name} = {possible[0]}")
                elif possible:
                    conditions.append(f"{name} IN ({', '.join(possible)})")
                return " OR ".join(conditions) or "FALSE"
            case ops.Not(other):
                return f"NOT ({self.condition(other)})"

    def column(self, x: FormulaColumn, reading: CellReading) -> str:
        """An encoded column; an error if its cell holds what the model refuses."""
        if isinstance(x.value, ops.Indicator):
            return self.number(x.value)
        cell = self.cells[x.source]
        cases = [self._refusal(reading, cell)]
        match x.value:
            case ops.Filled(ops.Line(value, ends, heights), otherwise):
                cases.append(f"WHEN {cell} IS NULL THEN {otherwise!r}")
                cases += self._segments(self.number(value), ends, heights)
                last = repr(heights[-1])
            case ops.Filled(ops.Cell()) | ops.Bounded(ops.Filled(ops.Cell())):
                # What is left of a cell minus its mean is never so small, unless it is zero.
                least = TINY * x.unit.scale
                if self.dialect.underflows and least:
                    cases.append(f"WHEN ABS({cell}) < {least!r} THEN 0.0")
                last = self.number(x.value)
            case _:
                last = self.number(x.value)
        return "\n      ".join(["CASE", *cases, f"ELSE {last} END"])

    def _refusal(self, reading: CellReading, cell: str) -> str:
        """The case of a number or date that the model refuses: an error."""
        what = f"infinity, or a number beyond {LARGEST:.2g}"
        if reading.is_date:
            what = "a date beyond the year 9999, in days since 1970"
        remark = self.dialect.string(f"column {reading.name} holds {what}: ")
        refused = self.dialect.refused.format(cell=cell, remark=remark)
        return f"WHEN ABS({cell}) > {reading.largest!r} THEN {refused}"

    def _segments(
        self, value: str, ends: tuple[float, ...], heights: tuple[float, ...]
    ) -> list[str]:
        """The cases of a line from point to point, but for the last."""
        cases = [f"WHEN {value} < {ends[0]!r} THEN {heights[0]!r}"]
        for (x, z), (next_x, next_z) in pairwise(zip(ends, heights, strict=True)):
            shifted, width = f"({value} {minus(x)})", next_x - x
            if self.dialect.underflows and TINY * width:
                shifted = f"{self.dialect.greatest}({TINY * width!r}, {shifted})"
            rise = f"{next_z - z!r} * ({shifted} / {width!r})"
            cases.append(f"WHEN {value} < {next_x!r} THEN {z!r} + {rise}")
        return cases


def minus(number: float) -> str:
    """A number to subtract, as SQL writes it behind another."""
    return f"{'-' if number >= 0 else '+'} {abs(number)!r}"


def bounded(
    value: str, dialect: Dialect, low: float = -LARGEST_OUTPUT, high: float = LARGEST_OUTPUT
) -> str:
    """A value within bounds: unless told otherwise, those where exp() keeps to doubles."""
    return f"{dialect.least}({high!r}, {dialect.greatest}({low!r}, {value}))"


def weighted_sum(
    factors: Sequence[float],
    values: Sequence[str],
    constant: float,
    dialect: Dialect,
    space: str = " ",
) -> str:
    """A constant and values times factors, with every digit of a double."""
    terms = [
        f"{'-' if factor < 0 else '+'} {abs(factor)!r} * {value}"
        for factor, value in zip(factors, values, strict=True)
    ]
    if not terms:  # without the cast, PostgreSQL and DuckDB would go on in decimals
        return dialect.as_double(repr(constant))
    groups = [
        space.join(terms[start : start + MAX_GROUP])
        for start in range(0, len(terms), MAX_GROUP)
    ]
    if len(groups) > 1:
        groups = [f"+ ({group})" for group in groups]
    return space.join([repr(constant), *groups])


def extreme(function: str, items: list[str], before: str = "", after: str = "") -> str:
    """MIN or MAX of some expressions; of only one, SQLite's would go over the rows."""
    if len(items) > MAX_GROUP:
        groups = [items[start : start + MAX_GROUP] for start in range(0, len(items), MAX_GROUP)]
        return extreme(function, [extreme(function, group) for group in groups], before, after)
    if len(items) == 1:
        return items[0]
    separator = f",{before or ' '}"
    return f"{function}({before}{separator.join(items)}{after})"
