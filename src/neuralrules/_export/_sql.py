"""A model as one SELECT that scores a table inside its database.

::

    WITH cells AS (...),     the table's columns as numbers and text
    encoded AS (...),        missing numbers replaced, categories as 0 and 1
    rules AS (...),          GREATEST(0, LEAST(...)) AS r0, one line for each literal
    outputs AS (...)         intercept plus sum of the rules
    SELECT ...               labels, probabilities or numbers; points, reasons

Each subquery reads the subquery before it. Everything is computed in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from neuralrules._export._extras import NOTHING, Extras, size_text
from neuralrules._export._sql_cells import cell_name, column_name, read_cell
from neuralrules._export._sql_dialect import Dialect, check_different, check_names, is_str
from neuralrules._export._sql_duckdb import DUCKDB
from neuralrules._export._sql_extras import (
    check_reasons,
    points_columns,
    points_sum,
    reason_subqueries,
    sentence_lines,
    shortfalls,
)
from neuralrules._export._sql_postgresql import POSTGRESQL
from neuralrules._export._sql_printer import Printer
from neuralrules._export._sql_results import compared_outputs, result_columns, result_names
from neuralrules._export._sql_sqlite import SQLITE
from neuralrules._expression import _nodes as ops
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._formula import Formula

DIALECTS = {"postgresql": POSTGRESQL, "duckdb": DUCKDB, "sqlite": SQLITE}
# The largest number of columns that go from subquery to subquery, and of columns that a
# subquery adds to them. A subquery can have up to 1664 columns in PostgreSQL, and up to 2000 in
# SQLite.
MAX_CARRIED, MAX_ADDED = 1000, 500
LINE = "\n      "  # between the terms of an output


def to_sql(
    fitted: Fitted,
    table: str | tuple[str, ...],
    *,
    dialect: str = "postgresql",
    keep: Sequence[str] = (),
    extras: Extras = NOTHING,
) -> str:
    """See `Documents.to_sql`, which calls this function."""
    words, kept = checked_dialect(dialect), checked_keep(keep)
    formula = Formula(fitted, in_table_units=True)
    before = f"{checked_table(table, words)} AS t"
    check_columns(fitted, formula, words, kept, extras)
    table_name = (table if isinstance(table, str) else table[-1]).lower()

    def named(subquery: str) -> str:
        """The name of a subquery. It differs from the name of the user's table.

        Otherwise SQLite would confuse the table with the subquery.
        """
        return subquery if subquery != table_name else f"{subquery}_"

    subqueries, sentences = [], named("sentences")
    if extras.n_reasons:
        lines = sentence_lines(extras, words)
        subqueries.append(f"{sentences}(reason, sentence) AS (\n  VALUES\n{lines}\n)")
    for subquery, columns in subquery_columns(fitted, formula, words, kept, extras):
        # A constant model reads no column, but a SELECT must have one.
        select = listed(columns or ["1 AS no_column"], indent=4)
        subqueries.append(
            f"{named(subquery)} AS (\n  SELECT{select}\n  FROM {before}{words.fence}\n)"
        )
        before = named(subquery)
    final = [f"k{place} AS {words.identifier(name)}" for place, name in enumerate(kept)]
    final += result_columns(fitted, formula, words) + extra_columns(extras, words, sentences)
    select = listed(final, indent=2)
    remarks = [size_text(fitted), f"Written by neuralrules for {words.title}", *words.advice]
    comment = "".join(f"-- {remark}.\n" for remark in remarks)
    return comment + "WITH " + ",\n".join(subqueries) + f"\nSELECT{select}\nFROM {before}\n"


def subquery_columns(
    fitted: Fitted, formula: Formula, dialect: Dialect, keep: list[str], extras: Extras
) -> Iterator[tuple[str, list[str]]]:
    """Names and columns of the subqueries from the table to the outputs.

    Each subquery reads the subquery before it.
    """
    readings = formula.readings
    cells = {source: cell_name(reading) for source, reading in readings.items()}
    columns = {
        x.name: column_name(x.name, readings[x.source], x.column) for x in formula.columns
    }
    printer = Printer(dialect, cells, columns)
    kept = [f"k{place}" for place in range(len(keep))]
    yield (
        "cells",
        [f"t.{dialect.identifier(name)} AS k{place}" for place, name in enumerate(keep)]
        + [f"{read_cell(readings[source], dialect)} AS {cells[source]}" for source in cells],
    )
    encoded = [
        f"{printer.column(x, readings[x.source])} AS {columns[x.name]}" for x in formula.columns
    ]
    yield "encoded", kept + encoded

    outputs = [f"d{output}" for output in range(formula.network.n_outputs)]
    outputs += ["points"] if extras.card is not None else []
    blocks = list(blocks_of_rules(formula))
    for number, block in enumerate(blocks):
        suffix = f"_{number}" if len(blocks) > 1 else ""
        carried = kept + ([*columns.values()] if block is not blocks[-1] else [])
        so_far = carried + (outputs if number else [])
        rules = formula.rules[block.start : block.stop]
        if formula.network.deep:
            parts = [part for rule in rules for part in rule.parts]
            added = [f"{printer.number(part.value)} AS {part.name}" for part in parts]
            yield f"literals{suffix}", so_far + added
        added = [f"{printer.number(rule.activation)} AS {rule.name}" for rule in rules]
        yield f"rules{suffix}", so_far + added
        added = [
            f"{printer.number(sum_so_far(formula, output, block), space=LINE)} AS d{output}"
            for output in range(formula.network.n_outputs)
        ]
        if extras.card is not None:
            added.append(f"{points_sum(extras.card, block, dialect)} AS points")
        added += [f"{one.expression} AS {one.name}" for one in shortfalls(extras, dialect)]
        yield f"outputs{suffix}", carried + added

    yield from reason_subqueries(extras, dialect)
    shown = kept + outputs + reason_names(extras)
    for name, added in compared_outputs(fitted, dialect):
        yield name, shown + added
        shown += [column.rpartition(" AS ")[2] for column in added]


def blocks_of_rules(formula: Formula) -> Iterator[range]:
    """Blocks of rules, as few as possible, whose subqueries add at most `MAX_ADDED` columns."""
    start, width = 0, 0
    for place, rule in enumerate(formula.rules):
        length = max(1, len(rule.parts))
        if width and width + length > MAX_ADDED:
            yield range(start, place)
            start, width = place, 0
        width += length
    yield range(start, len(formula.rules))


def sum_so_far(formula: Formula, output: int, block: range) -> ops.Sum:
    """An output after a block of rules.

    The first block adds its rules to the intercept, and each further block to the sum so far.
    """
    added = formula.output(output, block)
    if not block.start:
        return added
    return ops.Sum(((1.0, ops.Named(f"d{output}")), *added.terms))


def extra_columns(extras: Extras, dialect: Dialect, sentences: str) -> list[str]:
    """The columns of points and reasons at the end of the result.

    The subquery `sentences` maps the name of a reason to its sentence.
    """
    found = [] if extras.card is None else points_columns(extras.card, dialect)
    for name in reason_names(extras):
        found.append((f"(SELECT sentence FROM {sentences} WHERE reason = {name})", name))
    return [f"{expression} AS {dialect.identifier(name)}" for expression, name in found]


def reason_names(extras: Extras) -> list[str]:
    return [f"reason_{place}" for place in range(1, extras.n_reasons + 1)]


def check_columns(
    fitted: Fitted, formula: Formula, dialect: Dialect, keep: list[str], extras: Extras
) -> None:
    """Check the columns of the statement.

    Refuses names that the database would misunderstand, and more columns than it can handle.
    """
    n_shortfalls = len(shortfalls(extras, dialect))
    one_subquery = len(list(blocks_of_rules(formula))) == 1 and n_shortfalls <= MAX_ADDED
    check_reasons(extras, one_subquery, MAX_ADDED)
    network = formula.network
    used = [reading.name for reading in formula.readings.values()]
    check_names(used, "The model")
    check_different(dialect, used, "The model's columns")
    points = [] if extras.card is None else points_columns(extras.card, dialect)
    added = [*(name for _, name in points), *reason_names(extras)]
    check_different(
        dialect, [*keep, *result_names(fitted, dialect), *added], "The result's columns"
    )
    # Each of several outputs also needs a column for its exponential.
    n_carried = len(network.features) + len(keep) + 2 * network.n_outputs + 2 * len(added)
    if n_carried > MAX_CARRIED:
        asked = f" and of {len(added):,} points and reasons" if added else ""
        raise ValueError(
            f"The subqueries would carry {n_carried:,} columns, {len(network.features):,} "
            f"encoded ones, {len(keep):,} to keep and two for each of {network.n_outputs:,} "
            f"outputs{asked}, but may carry {MAX_CARRIED:,}. Simplify the model, or keep fewer "
            "columns."
        )


def listed(columns: list[str], indent: int) -> str:
    """The columns of a SELECT, one on each line."""
    space = "\n" + " " * indent
    return space + f",{space}".join(columns)


def checked_dialect(dialect: Any) -> Dialect:
    """The dialect with this name, or an error."""
    if not is_str(dialect) or dialect not in DIALECTS:
        allowed = ", ".join(map(repr, DIALECTS))
        raise ValueError(f"dialect={dialect!r} must be one of {allowed}.")
    return DIALECTS[dialect]


def checked_table(table: Any, dialect: Dialect) -> str:
    """The name of the table, with the names of its schema and database if they are given."""
    names = (table,) if isinstance(table, str) else table
    if not isinstance(names, tuple) or not names or not all(map(is_str, names)):
        raise ValueError(
            f"table={table!r} must be a name, or a tuple of names such as ('schema', 'table')."
        )
    check_names(names, f"table={table!r}")
    return ".".join(map(dialect.identifier, names))


def checked_keep(keep: Any) -> list[str]:
    """Names of the columns to carry into the result."""
    if isinstance(keep, str) or not isinstance(keep, Sequence) or not all(map(is_str, keep)):
        raise ValueError(
            f"keep={keep!r} must be a list of names of columns, for example keep=['id']."
        )
    check_names(keep, f"keep={keep!r}")
    return list(keep)
