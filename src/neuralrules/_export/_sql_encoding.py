"""From a table's cells to the encoded columns that rules read, in SQL.

Encoded columns stay in units of the table. A literal w . (x - mean) / scale + a is the sum
of w / scale * x and a constant, which cancel where a mean is many deviations away from
zero: such a column is counted from its mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from neuralrules._data._categories import number_spellings, spellings
from neuralrules._data._cells import MISSING
from neuralrules._data._columns import EncodedColumn
from neuralrules._data._dates import LAST_MOMENT
from neuralrules._data._encoder import Encoder
from neuralrules._data._markers import Markers
from neuralrules._data._numbers import LARGEST
from neuralrules._data._scaling import Knots
from neuralrules._export._sql_dialects import Dialect, identifier
from neuralrules._network._network import Network

# Doubles have 16 digits: sums with means of fewer deviations keep 9 digits of a deviation.
FAR = 1e6
# Deviations that no product of float32 weights with a cell brings down to zero.
TINY = 1e-100
READABLE_LETTERS = 24


class Input(NamedTuple):
    """An encoded column in units of the table.

    Attributes
    ----------
    name : str
        What the subqueries call it.
    expression : str
        Its value, by the cell that it comes from.
    scale : float
        What a weight is divided by.
    mean : float
        Its value where the standardised column is 0.
    """

    name: str
    expression: str
    scale: float
    mean: float


class Reading(NamedTuple):
    """How the table was written that a model was fitted on.

    Attributes
    ----------
    markers : Markers
        What means missing, besides the usual texts.
    decimal : str
        The mark before the decimals of numbers.
    """

    markers: Markers
    decimal: str

    @classmethod
    def of(cls, encoder: Encoder, notes: dict[str, list[str]]) -> Reading:
        return cls(encoder.markers, (notes.get("decimal") or ["."])[0])


def read_cells(
    encoder: Encoder, sources: list[int], dialect: Dialect, reading: Reading
) -> list[str]:
    """Columns of the table ``t`` as numbers or as text, NULL where they are missing."""
    selected = []
    for source in sources:
        column = encoder.columns_of(source)[0]
        cell = f"t.{identifier(encoder.names[source])}"
        if column.kind == "number":
            value = read_number(column, encoder.names[source], cell, dialect, reading)
        else:
            form = dialect.code if has_numbers(encoder, source) else dialect.text
            value = form.format(cell=cell, **complaints(encoder.names[source], dialect))
            markers = map(dialect.string, sorted(reading.markers.texts))
            value = without(value, filter(None, markers))
        selected.append(f"{value} AS {cell_name(encoder, source)}")
    return selected


def read_number(
    column: EncodedColumn, name: str, cell: str, dialect: Dialect, reading: Reading
) -> str:
    """A cell of a column of numbers or dates, NULL for NaN."""
    missing = filter(None, map(dialect.string, sorted(MISSING | reading.markers.texts)))
    words = {
        "cell": cell,
        "text": dialect.date_text.format(cell=cell),
        "missing": ", ".join(missing),
        "remark": dialect.string(
            f"column {name} holds no {'date' if column.is_date else 'number'} but "
        ),
        **complaints(name, dialect),
    }
    if column.is_date:
        value = f"CAST({dialect.days.format(**words)} AS DOUBLE PRECISION)"
        return without(value, map(repr, column.marked(reading.markers)))
    form = dialect.flag if is_flag(column) else dialect.number
    value = form.format(**words)
    if reading.decimal != ".":
        # As text, 1.861 may be the number 1861 there, which no cast knows.
        marks = (dialect.string(f"%{mark}%") for mark in (".", reading.decimal))
        has_mark = " OR ".join(f"CAST({cell} AS TEXT) LIKE {mark}" for mark in marks)
        is_text, refused = (
            form.format(**words) for form in (dialect.holds_text, dialect.refused)
        )
        value = f"CASE WHEN {is_text} AND ({has_mark})\n      THEN {refused} ELSE {value} END"
    numbers = map(dialect.number_literal, column.marked(reading.markers))
    return f"NULLIF({without(value, numbers)}, 'NaN')"


def complaints(name: str, dialect: Dialect) -> dict[str, str | None]:
    """What the errors say that a column's type or the session causes."""
    return {
        "no_text": dialect.string(
            f"column {name} must be cast to text or numbers, it is of type "
        ),
        "digits": dialect.string(
            f"run SET extra_float_digits = 1 first, column {name} loses digits: "
        ),
    }


def without(value: str, holes: Iterable[str]) -> str:
    """A value, NULL if it is one of the constants that mean missing."""
    listed = ", ".join(holes)
    return f"CASE WHEN {value} IN ({listed}) THEN NULL ELSE {value} END" if listed else value


def network_inputs(encoder: Encoder, network: Network, dialect: Dialect) -> list[Input]:
    """The encoded columns that a network looks at."""
    inputs = []
    for feature in network.features:
        column = encoder.columns[feature]
        cell = cell_name(encoder, column.source)
        name = f"x{feature}{readable(encoder, column)}"
        if column.kind != "number":
            value = indicator(encoder, column, cell, dialect)
            inputs.append(Input(name, value, column.scale, column.mean))
            continue
        refusal = too_large(column, encoder.names[column.source], cell, dialect)
        if column.knots is not None:
            value = scaled(column.knots, cell, refusal, dialect)
            inputs.append(Input(name, value, column.in_sums.scale, column.in_sums.mean))
        else:
            shift = column.mean if abs(column.mean) > FAR * column.scale else 0.0
            value = filled(column, cell, shift, refusal, dialect)
            inputs.append(Input(name, value, column.scale, column.mean - shift))
    return inputs


def too_large(column: EncodedColumn, name: str, cell: str, dialect: Dialect) -> str:
    """The case of a number or date that the model refuses: an error."""
    what = f"infinity, or a number beyond {LARGEST:.2g}"
    if column.is_date:
        what = "a date beyond the year 9999, in days since 1970"
    remark = dialect.string(f"column {name} holds {what}: ")
    return f"WHEN ABS({cell}) > {largest(column)!r} THEN " + dialect.refused.format(
        cell=cell, remark=remark
    )


def largest(column: EncodedColumn) -> float:
    """The largest number or day that a column may hold."""
    return float(LAST_MOMENT if column.is_date else LARGEST)


def filled(
    column: EncodedColumn, cell: str, shift: float, refusal: str, dialect: Dialect
) -> str:
    """A number minus the shift, the mean if it is missing, within the model's limits."""
    mean = column.mean - shift
    shifted = f"{cell} {'-' if shift > 0 else '+'} {abs(shift)!r}" if shift else cell
    value = f"COALESCE({shifted}, {mean!r})"
    reach = float(LARGEST) * column.scale
    if largest(column) + abs(column.mean) > reach:  # as the encoder clips
        low, high = mean - reach, mean + reach
        value = f"{dialect.least}({high!r}, {dialect.greatest}({low!r}, {value}))"
    cases = [refusal]
    # What is left of a shifted number is never so small, unless it is zero.
    if dialect.underflows and not shift and TINY * column.scale:
        cases.append(f"WHEN ABS({cell}) < {TINY * column.scale!r} THEN 0.0")
    return "\n      ".join(["CASE", *cases, f"ELSE {value} END"])


def scaled(knots: Knots, cell: str, refusal: str, dialect: Dialect) -> str:
    """A number scaled by its quantiles: a line from knot to knot."""
    ends = list(zip(knots.x, knots.z, strict=True))
    cases = [
        f"WHEN {cell} IS NULL THEN 0.0",
        refusal,
        f"WHEN {cell} < {knots.x[0]!r} THEN {knots.z[0]!r}",
    ]
    for (x, z), (next_x, next_z) in pairwise(ends):
        shifted = f"({cell} {'-' if x >= 0 else '+'} {abs(x)!r})"
        width = next_x - x
        if dialect.underflows and TINY * width:
            shifted = f"{dialect.greatest}({TINY * width!r}, {shifted})"
        rise = f"{next_z - z!r} * ({shifted} / {width!r})"
        cases.append(f"WHEN {cell} < {next_x!r} THEN {z!r} + {rise}")
    return "\n      ".join(["CASE", *cases, f"ELSE {knots.z[-1]!r} END"])


def indicator(encoder: Encoder, column: EncodedColumn, cell: str, dialect: Dialect) -> str:
    """1 where a cell is missing, of a category, or of none that has an indicator; else 0."""
    own = encoder.columns_of(column.source)
    table = spellings(other.category for other in own if other.kind == "category")
    if column.kind == "missing":
        table = {None: None}
    if column.kind == "rare":
        case = f"CASE WHEN {is_any(cell, list(table), dialect)} THEN 0 ELSE 1 END"
    else:
        spelled = [cell for cell, category in table.items() if category == column.category]
        case = f"CASE WHEN {is_any(cell, spelled, dialect)} THEN 1 ELSE 0 END"
    # Integers times constants would be decimals in PostgreSQL and DuckDB.
    return f"CAST({case} AS DOUBLE PRECISION)"


def is_any(cell: str, spelled: list[str | None], dialect: Dialect) -> str:
    """The condition that a cell is one of some texts, or a hole for None."""
    texts = [dialect.string(text) for text in spelled if text is not None]
    possible = [text for text in texts if text is not None]
    conditions = [f"{cell} IS NULL"] if None in spelled else []
    if len(possible) == 1:
        conditions.append(f"{cell} = {possible[0]}")
    elif possible:
        conditions.append(f"{cell} IN ({', '.join(possible)})")
    return " OR ".join(conditions) or "FALSE"


def has_numbers(encoder: Encoder, source: int) -> bool:
    """Whether numbers are among a column's categories: it may be of a type of numbers."""
    names = [column.category for column in encoder.columns_of(source)]
    return any(name is not None and number_spellings(name) for name in names)


def is_flag(column: EncodedColumn) -> bool:
    """Whether a column has the deviation of zeros and ones: it may be of type boolean."""
    expected = column.mean * (1 - column.mean)
    return abs(column.scale**2 - expected) < 1e-6 * expected


def cell_name(encoder: Encoder, source: int) -> str:
    return f"c{source}{slug(encoder.names[source])}"


def readable(encoder: Encoder, column: EncodedColumn) -> str:
    """What tells a person which column this is; a number before it makes it unique."""
    name = slug(encoder.names[column.source])
    if column.kind == "number":
        return name
    if column.kind == "rare":
        return f"{name}_is_rare"
    if column.category is None:
        return f"{name}_is_missing"
    return f"{name}_is{slug(column.category)}"


def slug(text: str) -> str:
    """The letters and digits of a text that need no quotes in any database."""
    words = re.sub("[^a-z0-9]+", "_", text.lower()).strip("_")
    return f"_{words[:READABLE_LETTERS].rstrip('_')}" if words else ""
