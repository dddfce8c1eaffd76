"""The cells of a table in SQL: as numbers or as text, NULL if they are missing."""

from __future__ import annotations

import re
from collections.abc import Iterable

from neuralrules._data._cells import MISSING
from neuralrules._data._columns import Category, EncodedColumn, Number
from neuralrules._export._sql_dialect import Dialect
from neuralrules._fitted._formula import CellReading

READABLE_LETTERS = 24


def read_cell(reading: CellReading, dialect: Dialect) -> str:
    """A cell of the table ``t``, or an error if a text says no number or date."""
    cell = f"t.{dialect.identifier(reading.name)}"
    # A column of text has its usual texts for missing cells among its categories.
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
        # As text, 1.861 may be the number 1861 there, which no cast knows.
        marks = (dialect.string(f"%{mark}%") for mark in (".", reading.decimal))
        has_mark = " OR ".join(f"CAST({cell} AS TEXT) LIKE {mark}" for mark in marks)
        is_text, refused = (
            form.format(**words) for form in (dialect.holds_text, dialect.refused)
        )
        value = f"CASE WHEN {is_text} AND ({has_mark})\n      THEN {refused} ELSE {value} END"
    return f"NULLIF({without(value, numbers)}, 'NaN')"


def without(value: str, holes: Iterable[str]) -> str:
    """A value, NULL if it is one of the constants that mean missing."""
    listed = ", ".join(holes)
    return f"CASE WHEN {value} IN ({listed}) THEN NULL ELSE {value} END" if listed else value


def cell_name(reading: CellReading) -> str:
    """What the subqueries call a cell."""
    return f"c{reading.source}{slug(reading.name)}"


def column_name(name: str, reading: CellReading, column: EncodedColumn) -> str:
    """What the subqueries call an encoded column; a number in it makes it unique."""
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
    """The letters and digits of a text that need no quotes in any database."""
    words = re.sub("[^a-z0-9]+", "_", text.lower()).strip("_")
    return f"_{words[:READABLE_LETTERS].rstrip('_')}" if words else ""
