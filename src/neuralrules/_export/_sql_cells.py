"""SQL that reads the cells of a table as numbers or as text. Missing cells become NULL."""

from __future__ import annotations

import re
from collections.abc import Iterable

from neuralrules._data._cells import MISSING
from neuralrules._data._columns import Category, EncodedColumn, Number
from neuralrules._export._sql_dialect import Dialect
from neuralrules._fitted._formula import CellReading

READABLE_LETTERS = 24


def read_cell(reading: CellReading, dialect: Dialect) -> str:
    """Read a cell of the table ``t``. SQL raises an error if a text is no number or date."""
    cell = f"t.{dialect.identifier(reading.name)}"
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
        # The text 1.861 may mean the number 1861 in such a table, but a cast would read it as
        # a number below 2.
        marks = (dialect.string(f"%{mark}%") for mark in (".", reading.decimal))
        has_mark = " OR ".join(f"CAST({cell} AS TEXT) LIKE {mark}" for mark in marks)
        is_text, refused = (
            form.format(**words) for form in (dialect.holds_text, dialect.refused)
        )
        value = f"CASE WHEN {is_text} AND ({has_mark})\n      THEN {refused} ELSE {value} END"
    return f"NULLIF({without(value, numbers)}, 'NaN')"


def without(value: str, holes: Iterable[str]) -> str:
    """A value, or NULL if the value is one of the constants that mean missing."""
    listed = ", ".join(holes)
    return f"CASE WHEN {value} IN ({listed}) THEN NULL ELSE {value} END" if listed else value


def cell_name(reading: CellReading) -> str:
    """The name of the column of a cell in subqueries."""
    return f"c{reading.source}{slug(reading.name)}"


def column_name(name: str, reading: CellReading, column: EncodedColumn) -> str:
    """The name of an encoded column in subqueries. It contains a number that is unique."""
    name += slug(reading.name)
    match column:
        case Number():
            return name
        case Category(category=str(category)):
            return f"{name}_is{slug(category)}"
        case _ if column.means_missing:
            return f"{name}_is_missing"
        case _:
            return f"{name}_is_{column.stored_as}"


def slug(text: str) -> str:
    """An underscore and the text in lower-case letters, digits and underscores, cut if long.

    These ASCII characters need no quotes in any database. The result is empty if the text has
    no ASCII letter or digit.
    """
    words = re.sub("[^a-z0-9]+", "_", text.lower()).strip("_")
    return f"_{words[:READABLE_LETTERS].rstrip('_')}" if words else ""
