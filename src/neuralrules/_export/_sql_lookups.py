"""Tables inside the statement: the numbers that belong to the texts of a column.

A column with few texts is a CASE, with one case for each number. A database tries these cases
one after the other, in each row. So the texts of a column with more than `MOST_CASES` are the
rows of a subquery that the query joins with the cells. Databases join by a hash table or an
index, so that the time for a row does not grow with the number of texts.

A statement with 100,000 texts has 5 MB. On two busy cores, one row took 0.4 seconds in SQLite,
1.6 in PostgreSQL and 7 in DuckDB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from neuralrules._export._sql_dialects import Dialect
from neuralrules._expression import _nodes as ops
from neuralrules._fitted._formula import Formula, FormulaColumn

MOST_CASES = 50
# Standardised numbers of this size and above do not underflow when they are multiplied by
# float32 weights.
TINY = 1e-100
# Rows of one VALUES. SQLite needs minutes for some ten thousand, but can add up to 500 lists.
MOST_ROWS = 5_000


@dataclass(frozen=True)
class LookupTable:
    """The texts of one column of the table, with one number for each encoded column.

    Attributes
    ----------
    source : int
    columns : list of FormulaColumn
        The encoded columns. All look up the same texts.
    texts : list of str
        The texts as constants.
    numbers : list of list of float
        For each encoded column, the numbers of the texts.
    """

    source: int
    columns: list[FormulaColumn]
    texts: list[str]
    numbers: list[list[float]]

    @property
    def name(self) -> str:
        """The name of the subquery."""
        return f"values_{self.source}"

    @property
    def key(self) -> str:
        """The name of the column with the texts."""
        return f"value_{self.source}"

    def subquery(self, name: str, dialect: Dialect) -> str:
        """The subquery, to stand after WITH."""
        columns = ", ".join([self.key, *map(number_column, self.columns)])
        pieces = "\n  UNION ALL\n".join(
            f"  SELECT * FROM (VALUES\n{rows}\n  ) AS v" for rows in self._rows(dialect)
        )
        return f"{name}({columns}) AS (\n{pieces}\n)"

    def _rows(self, dialect: Dialect) -> Iterator[str]:
        rows = list(zip(self.texts, *self.numbers, strict=True))
        for start in range(0, len(rows), MOST_ROWS):
            first, *others = rows[start : start + MOST_ROWS]
            # The first row says the type. Other constants would be decimals.
            doubles = [dialect.as_double(repr(number)) for number in first[1:]]
            lines = [", ".join([first[0], *doubles])]
            lines += [", ".join([text, *map(repr, numbers)]) for text, *numbers in others]
            yield ",\n".join(f"    ({line})" for line in lines)

    def join(self, name: str, cell: str, dialect: Dialect) -> str:
        """The SQL that joins the subquery `name` with cells."""
        return f"LEFT JOIN {name} ON {dialect.same_text.format(text=self.key, cell=cell)}"


def lookup_tables(formula: Formula, dialect: Dialect) -> dict[int, LookupTable]:
    """The tables of a query, by the columns of the user's table that they belong to."""
    found: dict[int, list[FormulaColumn]] = {}
    for x in formula.columns:
        if isinstance(x.value, ops.Lookup):
            found.setdefault(x.source, []).append(x)
    tables = {}
    for source, columns in found.items():
        listed = [dict(cases(x, dialect)) for x in columns]
        numbers = [list(own.values()) for own in listed]
        tables[source] = LookupTable(source, columns, list(listed[0]), numbers)
    return {source: table for source, table in tables.items() if len(table.texts) > MOST_CASES}


def number_column(x: FormulaColumn) -> str:
    """The column of a lookup table with the numbers of an encoded column."""
    return f"n{x.name[1:]}"


def cases(x: FormulaColumn, dialect: Dialect) -> Iterator[tuple[str, float]]:
    """The texts that a cell of the database can hold, as constants, and their numbers."""
    assert isinstance(x.value, ops.Lookup)
    for text, number in x.value.numbers:
        constant = dialect.string(text)
        if constant is not None:
            yield constant, without_underflow(number, x)


def looked_up(
    x: FormulaColumn, cell: str, dialect: Dialect, tables: Mapping[int, LookupTable]
) -> str:
    """The number that belongs to the text of a cell."""
    assert isinstance(x.value, ops.Lookup)
    missing, otherwise = (
        repr(without_underflow(number, x)) for number in (x.value.missing, x.value.otherwise)
    )
    lines = [f"CASE WHEN {cell} IS NULL THEN {missing}"]
    if x.source in tables:
        lines.append(f"ELSE COALESCE({number_column(x)}, {otherwise}) END")
    else:
        texts_of: dict[float, list[str]] = {}
        for text, number in cases(x, dialect):
            texts_of.setdefault(number, []).append(text)
        lines += [
            f"WHEN {cell} IN ({', '.join(texts)}) THEN {number!r}"
            for number, texts in texts_of.items()
        ]
        lines.append(f"ELSE {otherwise} END")
    return dialect.as_double("\n      ".join(lines))


def without_underflow(number: float, x: FormulaColumn) -> float:
    """A number, or 0 if it is so small that its product with a weight could underflow."""
    return 0.0 if abs(number) < TINY * x.unit.scale else number
