"""Write cells, encoded columns and expressions in one dialect of SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from neuralrules._data._cells import MISSING
from neuralrules._data._columns import Category, Number
from neuralrules._data._numbers import LARGEST
from neuralrules._export._sql_dialects import Dialect
from neuralrules._expression import _nodes as ops
from neuralrules._fitted._formula import CellReading, Formula, FormulaColumn
from neuralrules._task._loss import LARGEST_OUTPUT

# In SQLite, a function takes up to 127 arguments, and expressions are nested up to 1000 deep.
MAX_GROUP = 100
# Standardised numbers of this size and above do not underflow when they are multiplied by
# float32 weights.
TINY = 1e-100
READABLE_LETTERS = 24  # of a name of the table within the name of a column
OTHER_NAMES = {"log": "LN"}  # functions with another name in SQL, where LOG has base 10
LINE, ITEM = "\n      ", "\n    "  # before a part of an expression, and after the last part


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
    cells: Mapping[int, str] = field(default_factory=dict)
    steps: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, formula: Formula, dialect: Dialect) -> Printer:
        """A printer that names the cells and the encoded columns of a formula."""
        cells = {
            source: f"c{source}{slug(reading.name)}"
            for source, reading in formula.readings.items()
        }
        columns = {x.name: column_name(x, formula.readings) for x in formula.columns}
        return cls(dialect, cells, columns)

    def cell(self, reading: CellReading) -> str:
        """The SQL that reads a cell of the table ``t`` as a number or as text.

        A missing cell becomes NULL. A text that is no number or date is an error.
        """
        dialect, cell = self.dialect, f"t.{self.dialect.identifier(reading.name)}"
        # In a column of text, the usual texts for missing cells are spellings of a category.
        holes = set(reading.missing_texts) | (set() if reading.is_text else MISSING)
        missing = list(filter(None, map(dialect.string, sorted(holes))))
        what = "date" if reading.is_date else "number"
        words = {
            "cell": cell,
            "text": dialect.date_text.format(cell=cell),
            "missing": ", ".join(missing),
            "remark": dialect.string(f"column {reading.name} holds no {what} but "),
            "no_text": dialect.string(
                f"column {reading.name} must be cast to text or numbers, it is of type "
            ),
            "digits": dialect.string(
                f"run SET extra_float_digits = 1 first, column {reading.name} loses digits: "
            ),
        }
        value = dialect.readers[reading.kind].format(**words)
        numbers = list(map(dialect.number_literal, reading.missing_numbers))
        if reading.is_text:
            return without(value, missing)
        if reading.is_date:
            return without(dialect.as_double(value), numbers)
        if reading.decimal != ".":
            # The text 1.861 may mean the number 1861 in such a table, but a cast would read it
            # as a number below 2.
            marks = (dialect.string(f"%{mark}%") for mark in (".", reading.decimal))
            has_mark = " OR ".join(f"CAST({cell} AS TEXT) LIKE {mark}" for mark in marks)
            is_text = dialect.holds_text.format(**words)
            refused = dialect.refused.format(**words)
            value = f"CASE WHEN {is_text} AND ({has_mark}){LINE}THEN {refused} ELSE {value} END"
        return f"NULLIF({without(value, numbers)}, 'NaN')"

    def column(self, x: FormulaColumn, reading: CellReading) -> str:
        """The SQL of an encoded column.

        It raises an error if the cell holds a number or date that the model refuses.
        """
        if isinstance(x.value, ops.Indicator):
            return self.number(x.value)
        cell, dialect = self.cells[x.source], self.dialect
        what = f"infinity, or a number beyond {LARGEST:.2g}"
        if reading.is_date:
            what = "a date beyond the year 9999, in days since 1970"
        remark = dialect.string(f"column {reading.name} holds {what}: ")
        refused = dialect.refused.format(cell=cell, remark=remark)
        cases = [f"WHEN ABS({cell}) > {reading.largest!r} THEN {refused}"]
        match x.value:
            case ops.Filled(ops.Line(value, ends, heights), otherwise):
                cases.append(f"WHEN {cell} IS NULL THEN {otherwise!r}")
                cases += self._segments(self.number(value), ends, heights)
                last = repr(heights[-1])
            case _:
                if reads_cell(x.value) and dialect.underflows and TINY * x.unit.scale:
                    # A cell minus a mean other than 0 is never that small, unless it is 0.
                    cases.append(f"WHEN ABS({cell}) < {TINY * x.unit.scale!r} THEN 0.0")
                last = self.number(x.value)
        return LINE.join(["CASE", *cases, f"ELSE {last} END"])

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

    def number(self, node: ops.Number, space: str = " ") -> str:
        """The SQL of an expression. `space` separates the terms of a sum."""
        match node:
            case ops.Cell(source):
                return self.cells[source]
            case ops.Named(name):
                return self.steps.get(name, name)
            case ops.Sum(terms, constant):
                printed = [(factor, self.number(value)) for factor, value in terms]
                return weighted_sum(printed, constant, self.dialect, space)
            case ops.Filled(value, otherwise):
                return f"COALESCE({self.number(value)}, {otherwise!r})"
            case ops.Standardised(value, mean, 1.0):
                return f"{self.number(value)} {minus(mean)}"
            case ops.Bounded(value, low, high):
                return bounded(self.number(value), self.dialect, low, high)
            case ops.Indicator(ops.Not(condition)):
                return self._indicator(condition, 0, 1)
            case ops.Indicator(condition):
                return self._indicator(condition, 1, 0)
            case ops.Smallest(values):
                return extreme(self.dialect.least, list(map(self.number, values)), LINE, ITEM)
            case ops.Positive(value):
                return f"{self.dialect.greatest}(0, {self.number(value)})"
            case ops.Call(function, value):
                return f"{OTHER_NAMES.get(function, function.upper())}({self.number(value)})"
            case _:
                raise TypeError(f"SQL has no words for {node!r}.")

    def _indicator(self, condition: ops.Condition, yes: int, no: int) -> str:
        """The number `yes` if a condition holds, else the number `no`."""
        case = f"CASE WHEN {self._condition(condition)} THEN {yes} ELSE {no} END"
        # In PostgreSQL and DuckDB, an integer times a constant would be a decimal.
        return self.dialect.as_double(case)

    def _condition(self, node: ops.Condition) -> str:
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
                return f"NOT ({self._condition(other)})"


def reads_cell(node: ops.Number) -> bool:
    """Whether an expression is the number of a cell, filled and perhaps bounded."""
    match node:
        case ops.Filled(ops.Cell()) | ops.Bounded(ops.Filled(ops.Cell())):
            return True
    return False


def column_name(x: FormulaColumn, readings: Mapping[int, CellReading]) -> str:
    """The name of an encoded column in subqueries. It contains a number that is unique."""
    name = x.name + slug(readings[x.source].name)
    match x.column:
        case Number():
            return name
        case Category(category=str(category)):
            return f"{name}_is{slug(category)}"
        case _:
            what = "missing" if x.column.means_missing else x.column.stored_as
            return f"{name}_is_{what}"


def slug(text: str) -> str:
    """An underscore and the text in lower-case letters, digits and underscores, cut if long.

    These ASCII characters need no quotes in any database. The result is empty if the text has
    no ASCII letter or digit.
    """
    words = re.sub("[^a-z0-9]+", "_", text.lower()).strip("_")
    return f"_{words[:READABLE_LETTERS].rstrip('_')}" if words else ""


def without(value: str, holes: Iterable[str]) -> str:
    """A value, or NULL if the value is one of the constants that mean missing."""
    listed = ", ".join(holes)
    return f"CASE WHEN {value} IN ({listed}) THEN NULL ELSE {value} END" if listed else value


def minus(number: float) -> str:
    """The SQL that subtracts a number from the expression before it."""
    return f"{'-' if number >= 0 else '+'} {abs(number)!r}"


def bounded(
    value: str, dialect: Dialect, low: float = -LARGEST_OUTPUT, high: float = LARGEST_OUTPUT
) -> str:
    """A value within bounds. The default bounds keep exp() from overflow and underflow."""
    return f"{dialect.least}({high!r}, {dialect.greatest}({low!r}, {value}))"


def weighted_sum(
    terms: Sequence[tuple[float, str]], constant: float, dialect: Dialect, space: str = " "
) -> str:
    """A constant plus factors times values, with every digit of a double."""
    if not terms:  # without the cast, PostgreSQL and DuckDB would compute with decimals
        return dialect.as_double(repr(constant))
    added = [
        f"{'-' if factor < 0 else '+'} {abs(factor)!r} * {value}" for factor, value in terms
    ]
    return sum_of(repr(constant), added, space)


def sum_of(start: str, terms: list[str], space: str, zero: str = "") -> str:
    """A sum of `start` and of terms that begin with their signs.

    If there are many terms, they are added in groups that begin with `zero`.
    """
    groups = [space.join(group) for group in grouped(terms)]
    if len(groups) > 1:
        groups = [f"+ ({zero}{group})" for group in groups]
    return space.join([start, *groups])


def extreme(function: str, items: list[str], before: str = "", after: str = "") -> str:
    """The smallest or the largest of some expressions.

    A single expression is returned as it is, because MIN and MAX of one argument are aggregates
    over the rows in SQLite.
    """
    if len(items) > MAX_GROUP:
        groups = [extreme(function, group) for group in grouped(items)]
        return extreme(function, groups, before, after)
    if len(items) == 1:
        return items[0]
    separator = f",{before or ' '}"
    return f"{function}({before}{separator.join(items)}{after})"


def grouped(items: list[str]) -> list[list[str]]:
    """The items in groups of at most `MAX_GROUP`."""
    return [items[start : start + MAX_GROUP] for start in range(0, len(items), MAX_GROUP)]
