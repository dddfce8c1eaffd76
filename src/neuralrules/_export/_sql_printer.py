"""Write expressions in one dialect of SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from neuralrules._data._numbers import LARGEST
from neuralrules._export._sql_dialect import Dialect
from neuralrules._expression import _nodes as ops
from neuralrules._fitted._formula import CellReading, FormulaColumn
from neuralrules._task._loss import LARGEST_OUTPUT

# In SQLite, a function takes up to 127 arguments, and expressions are nested up to 1000 deep.
MAX_GROUP = 100
# Standardised numbers of this size and above do not underflow when they are multiplied by
# float32 weights.
TINY = 1e-100


@dataclass(frozen=True)
class Printer:
    """Expressions as SQL.

    Attributes
    ----------
    dialect : Dialect
    cells : mapping from int to str
        The columns of a subquery that hold the cells, by the columns of the table.
    steps : mapping from str to str
        The columns of subqueries that hold the steps of the formula. The column of a step that
        is not listed has the name of the step.
    """

    dialect: Dialect
    cells: Mapping[int, str]
    steps: Mapping[str, str]

    def number(self, node: ops.Number, space: str = " ") -> str:
        """The SQL of an expression. `space` separates the terms of a sum."""
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
        """The number `yes` if a condition holds, else the number `no`."""
        case = f"CASE WHEN {self.condition(condition)} THEN {yes} ELSE {no} END"
        # In PostgreSQL and DuckDB, an integer times a constant would be a decimal.
        return self.dialect.as_double(case)

    def condition(self, node: ops.Condition) -> str:
        """The SQL of a condition on a cell. A missing cell is NULL."""
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
        """The SQL of an encoded column.

        It raises an error if the cell holds a number or date that the model refuses.
        """
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
                # A cell minus a mean other than 0 is never that small, unless it is 0.
                least = TINY * x.unit.scale
                if self.dialect.underflows and least:
                    cases.append(f"WHEN ABS({cell}) < {least!r} THEN 0.0")
                last = self.number(x.value)
            case _:
                last = self.number(x.value)
        return "\n      ".join(["CASE", *cases, f"ELSE {last} END"])

    def _refusal(self, reading: CellReading, cell: str) -> str:
        """The case that raises an error for a number or date that the model refuses."""
        what = f"infinity, or a number beyond {LARGEST:.2g}"
        if reading.is_date:
            what = "a date beyond the year 9999, in days since 1970"
        remark = self.dialect.string(f"column {reading.name} holds {what}: ")
        refused = self.dialect.refused.format(cell=cell, remark=remark)
        return f"WHEN ABS({cell}) > {reading.largest!r} THEN {refused}"

    def _segments(
        self, value: str, ends: tuple[float, ...], heights: tuple[float, ...]
    ) -> list[str]:
        """The cases of a line through points, except the case after the last point."""
        cases = [f"WHEN {value} < {ends[0]!r} THEN {heights[0]!r}"]
        for (x, z), (next_x, next_z) in pairwise(zip(ends, heights, strict=True)):
            shifted, width = f"({value} {minus(x)})", next_x - x
            if self.dialect.underflows and TINY * width:
                shifted = f"{self.dialect.greatest}({TINY * width!r}, {shifted})"
            rise = f"{next_z - z!r} * ({shifted} / {width!r})"
            cases.append(f"WHEN {value} < {next_x!r} THEN {z!r} + {rise}")
        return cases


def minus(number: float) -> str:
    """The SQL that subtracts a number from the expression before it."""
    return f"{'-' if number >= 0 else '+'} {abs(number)!r}"


def bounded(
    value: str, dialect: Dialect, low: float = -LARGEST_OUTPUT, high: float = LARGEST_OUTPUT
) -> str:
    """A value within bounds. The default bounds keep exp() from overflow and underflow."""
    return f"{dialect.least}({high!r}, {dialect.greatest}({low!r}, {value}))"


def weighted_sum(
    factors: Sequence[float],
    values: Sequence[str],
    constant: float,
    dialect: Dialect,
    space: str = " ",
) -> str:
    """A constant plus factors times values, with every digit of a double."""
    terms = [
        f"{'-' if factor < 0 else '+'} {abs(factor)!r} * {value}"
        for factor, value in zip(factors, values, strict=True)
    ]
    if not terms:  # without the cast, PostgreSQL and DuckDB would compute with decimals
        return dialect.as_double(repr(constant))
    groups = [
        space.join(terms[start : start + MAX_GROUP])
        for start in range(0, len(terms), MAX_GROUP)
    ]
    if len(groups) > 1:
        groups = [f"+ ({group})" for group in groups]
    return space.join([repr(constant), *groups])


def extreme(function: str, items: list[str], before: str = "", after: str = "") -> str:
    """The smallest or the largest of some expressions.

    A single expression is returned as it is, because MIN and MAX of one argument are aggregates
    over the rows in SQLite.
    """
    if len(items) > MAX_GROUP:
        groups = [items[start : start + MAX_GROUP] for start in range(0, len(items), MAX_GROUP)]
        return extreme(function, [extreme(function, group) for group in groups], before, after)
    if len(items) == 1:
        return items[0]
    separator = f",{before or ' '}"
    return f"{function}({before}{separator.join(items)}{after})"
