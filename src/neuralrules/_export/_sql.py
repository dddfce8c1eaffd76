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
from neuralrules._export._sql_dialects import DIALECTS, Dialect, check_different, check_names
from neuralrules._export._sql_printer import LINE, Printer
from neuralrules._export._sql_results import (
    Shortfall,
    comparing_subqueries,
    points_columns,
    points_sum,
    prediction_columns,
    reason_subqueries,
    shortfalls,
)
from neuralrules._expression import _nodes as ops
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._formula import Formula

# The largest number of columns that go from subquery to subquery, and of columns that a
# subquery adds to them. A subquery can have up to 1664 columns in PostgreSQL, and up to 2000 in
# SQLite.
MAX_CARRIED, MAX_ADDED = 1000, 500


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
    names = checked_table(table)
    formula = Formula(fitted, in_table_units=True)
    reasons = shortfalls(extras, words)

    def named(subquery: str) -> str:
        """The name of a subquery. It differs from the name of the user's table.

        Otherwise SQLite would confuse the table with the subquery.
        """
        return subquery if subquery != names[-1].lower() else f"{subquery}_"

    sentences = named("sentences")
    results = [(name, f"k{place}") for place, name in enumerate(kept)]
    results += prediction_columns(fitted, formula, words)
    n_predictions = len(results)
    results += points_columns(extras.card, words) if extras.card is not None else []
    results += [
        (name, f"(SELECT sentence FROM {sentences} WHERE reason = {name})")
        for name in reason_names(extras)
    ]
    n_extras = len(results) - n_predictions
    check_reasons(formula, extras, reasons)
    check_columns(formula, words, [name for name, _ in results], len(kept), n_extras)

    subqueries = []
    if extras.n_reasons:
        rows = [f"    ('{name}', {words.string(text)})" for name, _, text in reasons]
        lines = ",\n".join(rows or ["    ('', '')"])
        subqueries.append(f"{sentences}(reason, sentence) AS (\n  VALUES\n{lines}\n)")
    before = f"{'.'.join(map(words.identifier, names))} AS t"
    for subquery, columns in subquery_columns(fitted, formula, words, kept, extras, reasons):
        # A constant model reads no column, but a SELECT must have one.
        select = listed(columns or ["1 AS no_column"], indent=4)
        subqueries.append(
            f"{named(subquery)} AS (\n  SELECT{select}\n  FROM {before}{words.fence}\n)"
        )
        before = named(subquery)
    select = listed([f"{value} AS {words.identifier(name)}" for name, value in results], 2)
    remarks = [size_text(fitted), f"Written by neuralrules for {words.title}", *words.advice]
    comment = "".join(f"-- {remark}.\n" for remark in remarks)
    return comment + "WITH " + ",\n".join(subqueries) + f"\nSELECT{select}\nFROM {before}\n"


def listed(columns: list[str], indent: int) -> str:
    """The columns of a SELECT, one on each line."""
    space = "\n" + " " * indent
    return space + f",{space}".join(columns)


def subquery_columns(
    fitted: Fitted,
    formula: Formula,
    dialect: Dialect,
    keep: list[str],
    extras: Extras,
    reasons: list[Shortfall],
) -> Iterator[tuple[str, list[str]]]:
    """Names and columns of the subqueries from the table to the outputs."""
    printer, readings = Printer.of(formula, dialect), formula.readings
    kept = [f"k{place}" for place in range(len(keep))]
    cells = [f"t.{dialect.identifier(name)} AS k{place}" for place, name in enumerate(keep)]
    for source, reading in readings.items():
        cells.append(f"{printer.cell(reading)} AS {printer.cells[source]}")
    yield "cells", cells
    encoded = [
        f"{printer.column(x, readings[x.source])} AS {printer.steps[x.name]}"
        for x in formula.columns
    ]
    yield "encoded", kept + encoded

    outputs = [f"d{output}" for output in range(formula.network.n_outputs)]
    outputs += ["points"] if extras.card is not None else []
    blocks = blocks_of_rules(formula)
    for number, block in enumerate(blocks):
        suffix = f"_{number}" if len(blocks) > 1 else ""
        carried = kept + ([*printer.steps.values()] if block is not blocks[-1] else [])
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
        added += [f"{reason.expression} AS {reason.name}" for reason in reasons]
        yield f"outputs{suffix}", carried + added

    yield from reason_subqueries(extras, [reason.name for reason in reasons], dialect)
    shown = kept + outputs + reason_names(extras)
    for name, added in comparing_subqueries(fitted, dialect):
        yield name, shown + added
        shown += [column.rpartition(" AS ")[2] for column in added]


def blocks_of_rules(formula: Formula) -> list[range]:
    """Blocks of rules, as few as possible, whose subqueries add at most `MAX_ADDED` columns."""
    blocks, start, width = [], 0, 0
    for place, rule in enumerate(formula.rules):
        length = max(1, len(rule.parts))
        if width and width + length > MAX_ADDED:
            blocks.append(range(start, place))
            start, width = place, 0
        width += length
    return [*blocks, range(start, len(formula.rules))]


def sum_so_far(formula: Formula, output: int, block: range) -> ops.Sum:
    """An output after a block of rules.

    The first block adds its rules to the intercept, and each further block to the sum so far.
    """
    added = formula.output(output, block)
    if not block.start:
        return added
    return ops.Sum(((1.0, ops.Named(f"d{output}")), *added.terms))


def reason_names(extras: Extras) -> list[str]:
    return [f"reason_{place}" for place in range(1, extras.n_reasons + 1)]


def check_columns(
    formula: Formula, dialect: Dialect, results: list[str], n_kept: int, n_extras: int
) -> None:
    """Refuse names that the database would misunderstand, and too many columns.

    `results` are the names of all columns of the result. `n_extras` of them are for points and
    reasons.
    """
    used = [reading.name for reading in formula.readings.values()]
    check_names(used, "The model")
    check_different(dialect, used, "The model's columns")
    check_different(dialect, results, "The result's columns")
    n_features, n_outputs = len(formula.network.features), formula.network.n_outputs
    # Each of several outputs also needs a column for its exponential.
    n_carried = n_features + n_kept + 2 * n_outputs + 2 * n_extras
    if n_carried > MAX_CARRIED:
        asked = f" and of {n_extras:,} points and reasons" if n_extras else ""
        raise ValueError(
            f"The subqueries would carry {n_carried:,} columns, {n_features:,} encoded ones, "
            f"{n_kept:,} to keep and two for each of {n_outputs:,} outputs{asked}, but may "
            f"carry {MAX_CARRIED:,}. Simplify the model, or keep fewer columns."
        )


def check_reasons(formula: Formula, extras: Extras, reasons: list[Shortfall]) -> None:
    """Refuse reasons if the rules of the model do not fit into one subquery."""
    fit = len(blocks_of_rules(formula)) == 1 and len(reasons) <= MAX_ADDED
    if extras.n_reasons and not fit:
        raise ValueError(
            "reasons are for models whose rules one subquery can hold, and this one would need "
            f"more than {MAX_ADDED} columns. Simplify the model, or take to_python."
        )


def checked_dialect(dialect: Any) -> Dialect:
    """The dialect with this name, or an error."""
    if not isinstance(dialect, str) or dialect not in DIALECTS:
        allowed = ", ".join(map(repr, DIALECTS))
        raise ValueError(f"dialect={dialect!r} must be one of {allowed}.")
    return DIALECTS[dialect]


def checked_table(table: Any) -> tuple[str, ...]:
    """The name of the table, after the names of its database and schema if they are given."""
    names = (table,) if isinstance(table, str) else table
    if not isinstance(names, tuple) or not names or not all_texts(names):
        raise ValueError(
            f"table={table!r} must be a name, or a tuple of names such as ('schema', 'table')."
        )
    check_names(names, f"table={table!r}")
    return names


def checked_keep(keep: Any) -> list[str]:
    """Names of the columns to carry into the result."""
    if isinstance(keep, str) or not isinstance(keep, Sequence) or not all_texts(keep):
        raise ValueError(
            f"keep={keep!r} must be a list of names of columns, for example keep=['id']."
        )
    check_names(keep, f"keep={keep!r}")
    return list(keep)


def all_texts(names: Sequence[Any]) -> bool:
    return all(isinstance(name, str) for name in names)
