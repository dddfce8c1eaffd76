"""A model as one SELECT that scores a table inside its database.

::

    WITH cells AS (...),     the table's columns as numbers and text
    encoded AS (...),        holes filled, categories as 0 and 1
    rules AS (...),          GREATEST(0, LEAST(...)) AS r0, one line a literal
    outputs AS (...)         intercept and sum of the rules
    SELECT ...               labels, probabilities or numbers

Each subquery reads the one before. Everything is computed in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
) -> str:
    """See `PortableModel.to_sql`, which calls it."""
    words, source, kept = checked_dialect(dialect), checked_table(table), checked_keep(keep)
    network = fitted.network.without_unused_features()
    check_columns(fitted, network, words, kept)
    before = f"{source} AS t"
    subqueries = []
    table_name = (table if isinstance(table, str) else table[-1]).lower()
    for subquery, columns in subquery_columns(fitted, network, words, kept):
        # SQLite would take a table of the same name for the subquery.
        name = subquery if subquery != table_name else f"{subquery}_"
        # A constant model reads no column, but a SELECT must have one.
        select = listed(columns or ["1 AS no_column"], indent=4)
        subqueries.append(f"{name} AS (\n  SELECT{select}\n  FROM {before}{words.fence}\n)")
        before = name
    final = [f"k{place} AS {identifier(name)}" for place, name in enumerate(kept)]
    select = listed(final + result_columns(fitted, words), indent=2)
    remarks = [size_text(fitted), f"Written by neuralrules for {words.title}", *words.advice]
    comment = "".join(f"-- {remark}.\n" for remark in remarks)
    return comment + "WITH " + ",\n".join(subqueries) + f"\nSELECT{select}\nFROM {before}\n"


def subquery_columns(
    fitted: Fitted, network: Network, dialect: Dialect, keep: list[str]
) -> Iterator[tuple[str, list[str]]]:
    """Names and columns of the subqueries from the table to outputs; each reads the last."""
    encoder = fitted.encoder
    inputs = network_inputs(encoder, network, dialect)
    sources = sorted({encoder.columns[feature].source for feature in network.features})
    kept = [f"k{place}" for place in range(len(keep))]
    cells = [f"t.{identifier(name)} AS k{place}" for place, name in enumerate(keep)]
    reading = Reading.of(fitted.notes)
    yield "cells", cells + read_cells(encoder, sources, dialect, reading)
    yield "encoded", kept + [f"{x.expression} AS {x.name}" for x in inputs]

    outputs = [f"d{output}" for output in range(network.n_outputs)]
    blocks = list(blocks_of_rules(network))
    for number, rules in enumerate(blocks):
        suffix = f"_{number}" if len(blocks) > 1 else ""
        carried = kept + ([x.name for x in inputs] if rules is not blocks[-1] else [])
        so_far = carried + (outputs if number else [])
        if network.deep:
            yield f"literals{suffix}", so_far + literal_columns(network, inputs, rules, dialect)
        yield f"rules{suffix}", so_far + rule_columns(network, inputs, rules, dialect)
        yield f"outputs{suffix}", carried + output_columns(network, rules)

    carried = kept + outputs
    for name, columns in compared_outputs(fitted, dialect):
        yield name, carried + columns
        carried += [column.rpartition(" AS ")[2] for column in columns]


def check_columns(fitted: Fitted, network: Network, dialect: Dialect, keep: list[str]) -> None:
    """Refuse names that the database would misunderstand, and more than it can carry."""
    encoder = fitted.encoder
    sources = sorted({encoder.columns[feature].source for feature in network.features})
    used = [encoder.names[source] for source in sources]
    check_names(used, "The model")
    check_different(dialect, used, "The model's columns")
    check_different(dialect, [*keep, *result_names(fitted)], "The result's columns")
    # Beside each of several outputs goes its exponential.
    n_carried = len(network.features) + len(keep) + 2 * network.n_outputs
    if n_carried > MAX_CARRIED:
        raise ValueError(
            f"The subqueries would carry {n_carried:,} columns, {len(network.features):,} "
            f"encoded ones, {len(keep):,} to keep and two for each of {network.n_outputs:,} "
            f"outputs, but may carry {MAX_CARRIED:,}. Simplify the model, or keep fewer "
            "columns."
        )


def listed(columns: list[str], indent: int) -> str:
    """Columns of a SELECT, one below the other."""
    space = "\n" + " " * indent
    return space + f",{space}".join(columns)
