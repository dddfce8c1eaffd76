"""From a table's cells to the encoded columns that rules read, in SQL.

Encoded columns stay in units of the table. A literal w . (x - mean) / scale + a is the sum
of w / scale * x and a constant, which cancel where a mean is many deviations away from
zero: such a column is counted from its mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain, pairwise
from typing import NamedTuple

from neuralrules._data._categories import all_spellings, number_spellings, spellings
from neuralrules._data._encoded_column import EncodedColumn
from neuralrules._data._encoding import Encoder
from neuralrules._data._markers import Markers
from neuralrules._data._missing import MISSING
from neuralrules._data._scaling import Knots
from neuralrules._export._sql_dialects import Dialect, identifier
from neuralrules._network._network import Network

# Doubles have 16 digits: sums with means of fewer deviations keep 9 digits of a deviation.
FAR = 1e6
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
    missing : tuple of str
        Texts that mean missing, beside the usual ones.
    decimal : str
        The mark before the decimals of numbers.
    """

    missing: tuple[str, ...]
    decimal: str

    @classmethod
    def of(cls, encoder: Encoder, notes: dict[str, list[str]]) -> Reading:
        return cls(encoder.missing, (notes.get("decimal") or ["."])[0])


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
            value = form.format(cell=cell)
            spelled = chain(*map(all_spellings, reading.missing))
            for marker in filter(None, map(dialect.string, spelled)):
                value = f"NULLIF({value}, {marker})"
        selected.append(f"{value} AS {cell_name(encoder, source)}")
    return selected


def read_number(
    column: EncodedColumn, name: str, cell: str, dialect: Dialect, reading: Reading
) -> str:
    """A cell of a column of numbers or dates, NULL for NaN."""
    missing = filter(None, map(dialect.string, sorted({*MISSING, *reading.missing})))
    words = {
        "cell": cell,
        "missing": ", ".join(missing),
        "remark": dialect.string(
            f"column {name} holds no {'date' if column.is_date else 'number'} but "
        ),
    }
    if column.is_date:
        value = f"CAST({dialect.days.format(**words)} AS DOUBLE PRECISION)"
        return without(value, Markers.of(reading.missing).of_numbers(column))
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
    numbers = Markers.of(reading.missing).of_numbers(column)
    return f"NULLIF({without(value, numbers)}, 'NaN')"


def without(value: str, holes: Iterable[float]) -> str:
    """A number, NULL where it is one of those that mean missing."""
    for hole in holes:
        value = f"NULLIF({value}, {hole!r})"
    return value


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
        elif column.knots is not None:
            value = scaled(column.knots, cell)
            inputs.append(Input(name, value, column.in_sums.scale, column.in_sums.mean))
        elif abs(column.mean) > FAR * column.scale:
            shifted = f"{cell} {'-' if column.mean > 0 else '+'} {abs(column.mean)!r}"
            value = f"COALESCE({shifted}, 0)"
            inputs.append(Input(name, value, column.scale, 0.0))
        else:
            value = f"COALESCE({cell}, {column.mean!r})"
            inputs.append(Input(name, value, column.scale, column.mean))
    return inputs


def scaled(knots: Knots, cell: str) -> str:
    """A number scaled by its quantiles: a line from knot to knot."""
    ends = list(zip(knots.x, knots.z, strict=True))
    cases = [
        f"WHEN {cell} IS NULL THEN 0.0",
        f"WHEN {cell} < {knots.x[0]!r} THEN {knots.z[0]!r}",
    ]
    for (x, z), (next_x, next_z) in pairwise(ends):
        shifted = f"{cell} {'-' if x >= 0 else '+'} {abs(x)!r}"
        rise = f"{next_z - z!r} * (({shifted}) / {next_x - x!r})"
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
