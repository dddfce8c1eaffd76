"""A model as one SELECT that scores a table inside its database.

::

    WITH cells AS (...),     the table's columns as numbers and text
    encoded AS (...),        holes filled, categories as 0 and 1
    rules AS (...),          GREATEST(0, LEAST(...)) AS r0, one line a literal
    outputs AS (...)         intercept and sum of the rules
    SELECT ...               labels, probabilities or numbers; points, reasons

Each subquery reads the one before. Everything is computed in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neuralrules._export._extras import NOTHING, Extras
from neuralrules._export._size import size_text
from neuralrules._export._sql_dialects import (
    Dialect,
    check_different,
    check_names,
    checked_dialect,
    checked_keep,
    checked_table,
    identifier,
)
from neuralrules._export._sql_encoding import Reading, network_inputs, read_cells
from neuralrules._export._sql_extras import (
    check_reasons,
    points_columns,
    points_sum,
    reason_subqueries,
    sentence_lines,
    shortfalls,
)
from neuralrules._export._sql_results import compared_outputs, result_columns, result_names
from neuralrules._export._sql_rules import (
    blocks_of_rules,
    literal_columns,
    output_columns,
    rule_columns,
)
from neuralrules._fitted._fitted import Fitted
from neuralrules._network._network import Network

# Columns that go from subquery to subquery; see MAX_ADDED.
MAX_CARRIED = 1000


def to_sql(
    fitted: Fitted,
    table: str | tuple[str, ...],
    *,
    dialect: str = "postgresql",
    keep: Sequence[str] = (),
    extras: Extras = NOTHING,
) -> str:
    """See `Documents.to_sql`, which calls it."""
    words, source, kept = checked_dialect(dialect), checked_table(table), checked_keep(keep)
    network = fitted.network.without_unused_features()
    check_columns(fitted, network, words, kept, extras)
    before = f"{source} AS t"
    table_name = (table if isinstance(table, str) else table[-1]).lower()

    def named(subquery: str) -> str:
        """SQLite would take a table of the same name for the subquery."""
        return subquery if subquery != table_name else f"{subquery}_"

    subqueries, sentences = [], named("sentences")
    if extras.n_reasons:
        lines = sentence_lines(extras, words)
        subqueries.append(f"{sentences}(reason, sentence) AS (\n  VALUES\n{lines}\n)")
    for subquery, columns in subquery_columns(fitted, network, words, kept, extras):
        # A constant model reads no column, but a SELECT must have one.
        select = listed(columns or ["1 AS no_column"], indent=4)
        subqueries.append(
            f"{named(subquery)} AS (\n  SELECT{select}\n  FROM {before}{words.fence}\n)"
        )
        before = named(subquery)
    final = [f"k{place} AS {identifier(name)}" for place, name in enumerate(kept)]
    final += result_columns(fitted, words) + extra_columns(extras, words, sentences)
    select = listed(final, indent=2)
    remarks = [size_text(fitted), f"Written by neuralrules for {words.title}", *words.advice]
    comment = "".join(f"-- {remark}.\n" for remark in remarks)
    return comment + "WITH " + ",\n".join(subqueries) + f"\nSELECT{select}\nFROM {before}\n"


def subquery_columns(
    fitted: Fitted, network: Network, dialect: Dialect, keep: list[str], extras: Extras
) -> Iterator[tuple[str, list[str]]]:
    """Names and columns of the subqueries from the table to outputs; each reads the last."""
    encoder = fitted.encoder
    inputs = network_inputs(encoder, network, dialect)
    sources = sorted({encoder.columns[feature].source for feature in network.features})
    kept = [f"k{place}" for place in range(len(keep))]
    cells = [f"t.{identifier(name)} AS k{place}" for place, name in enumerate(keep)]
    reading = Reading.of(encoder, fitted.notes)
    yield "cells", cells + read_cells(encoder, sources, dialect, reading)
    yield "encoded", kept + [f"{x.expression} AS {x.name}" for x in inputs]

    outputs = [f"d{output}" for output in range(network.n_outputs)]
    outputs += ["points"] if extras.card is not None else []
    blocks = list(blocks_of_rules(network))
    for number, rules in enumerate(blocks):
        suffix = f"_{number}" if len(blocks) > 1 else ""
        carried = kept + ([x.name for x in inputs] if rules is not blocks[-1] else [])
        so_far = carried + (outputs if number else [])
        if network.deep:
            yield f"literals{suffix}", so_far + literal_columns(network, inputs, rules, dialect)
        yield f"rules{suffix}", so_far + rule_columns(network, inputs, rules, dialect)
        added = output_columns(network, rules)
        if extras.card is not None:
            added.append(f"{points_sum(extras.card, rules)} AS points")
        added += [f"{one.expression} AS {one.name}" for one in shortfalls(extras)]
        yield f"outputs{suffix}", carried + added

    yield from reason_subqueries(extras, dialect)
    carried = kept + outputs + reason_names(extras)
    for name, columns in compared_outputs(fitted, dialect):
        yield name, carried + columns
        carried += [column.rpartition(" AS ")[2] for column in columns]


def extra_columns(extras: Extras, dialect: Dialect, sentences: str) -> list[str]:
    """Points and reasons at the end of the result; `sentences` says what reasons mean."""
    found = [] if extras.card is None else points_columns(extras.card, dialect)
    for name in reason_names(extras):
        found.append((f"(SELECT sentence FROM {sentences} WHERE reason = {name})", name))
    return [f"{expression} AS {identifier(name)}" for expression, name in found]


def reason_names(extras: Extras) -> list[str]:
    return [f"reason_{place}" for place in range(1, extras.n_reasons + 1)]


def check_columns(
    fitted: Fitted, network: Network, dialect: Dialect, keep: list[str], extras: Extras
) -> None:
    """Refuse names that the database would misunderstand, and more than it can carry."""
    check_reasons(extras, len(list(blocks_of_rules(network))))
    encoder = fitted.encoder
    sources = sorted({encoder.columns[feature].source for feature in network.features})
    used = [encoder.names[source] for source in sources]
    check_names(used, "The model")
    check_different(dialect, used, "The model's columns")
    points = [] if extras.card is None else points_columns(extras.card, dialect)
    added = [*(name for _, name in points), *reason_names(extras)]
    check_different(dialect, [*keep, *result_names(fitted), *added], "The result's columns")
    # Beside each of several outputs goes its exponential.
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
    """Columns of a SELECT, one below the other."""
    space = "\n" + " " * indent
    return space + f",{space}".join(columns)
