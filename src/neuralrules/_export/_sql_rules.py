"""Literals, rules and their sums as columns of subqueries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from neuralrules._data._columns import in_original_units
from neuralrules._export._sql_dialects import Dialect
from neuralrules._export._sql_encoding import Input
from neuralrules._network._network import Network

# Columns that a subquery adds to those it carries. One of PostgreSQL has 1664 at most,
# one of SQLite 2000.
MAX_ADDED = 500
# SQLite's functions take 127 arguments, its expressions are 1000 deep.
MAX_GROUP = 100


def blocks_of_rules(network: Network) -> Iterator[range]:
    """Rules, in as few pieces as the columns of their subqueries allow."""
    lengths = np.diff(network.offsets) if network.deep else np.ones(network.n_rules, int)
    start, width = 0, 0
    for rule, length in enumerate(lengths):
        if width and width + length > MAX_ADDED:
            yield range(start, rule)
            start, width = rule, 0
        width += length
    yield range(start, network.n_rules)


def rule_columns(
    network: Network, inputs: list[Input], rules: range, dialect: Dialect
) -> list[str]:
    """Activations: the smallest of a rule's literals, or of a deep rule's units, or 0."""
    columns = []
    for rule in rules:
        sums = units(network, rule) if network.deep else literals(network, inputs, rule)
        columns.append(f"{dialect.greatest}(0, {smallest(sums, dialect)}) AS r{rule}")
    return columns


def literal_columns(
    network: Network, inputs: list[Input], rules: range, dialect: Dialect
) -> list[str]:
    """The positive parts of literals, which the second layers of deep rules add up."""
    return [
        f"{dialect.greatest}(0, {literal}) AS r{rule}_{place}"
        for rule in rules
        for place, literal in enumerate(literals(network, inputs, rule))
    ]


def literals(network: Network, inputs: list[Input], rule: int) -> list[str]:
    """The literals of a rule."""
    sums = []
    for literal in range(network.offsets[rule], network.offsets[rule + 1]):
        factors, constant = in_original_units(
            network.weights[literal].tolist(), float(network.biases[literal]), inputs
        )
        sums.append(weighted_sum(factors, [x.name for x in inputs], constant))
    return sums


def units(network: Network, rule: int) -> list[str]:
    """The second layer of a deep rule."""
    shifts = network.shifts[network.offsets[rule] : network.offsets[rule + 1]].tolist()
    names = [f"r{rule}_{place}" for place in range(len(shifts))]
    layer = network.second_layer(rule).tolist()
    return [
        weighted_sum(weights, names, shift)
        for weights, shift in zip(layer, shifts, strict=True)
    ]


def output_columns(network: Network, rules: range) -> list[str]:
    """Outputs: the intercept, or the sum so far, and what some of the rules add."""
    names = [f"r{rule}" for rule in rules]
    values = network.values[rules.start : rules.stop].T.tolist()
    columns = []
    for output, factors in enumerate(values):
        if rules.start:
            total = weighted_sum([1.0, *factors], [f"d{output}", *names], 0.0, "\n      ")
        else:
            intercept = float(network.intercept[output])
            total = weighted_sum(factors, names, intercept, "\n      ")
        columns.append(f"{total} AS d{output}")
    return columns


def weighted_sum(
    factors: Sequence[float], names: Sequence[str], constant: float, space: str = " "
) -> str:
    """A constant and names times factors, with every digit of a double."""
    terms = [
        f"{'-' if factor < 0 else '+'} {abs(factor)!r} * {name}"
        for factor, name in zip(factors, names, strict=True)
        if factor
    ]
    if not terms:  # without the cast, PostgreSQL and DuckDB would go on in decimals
        return f"CAST({constant!r} AS DOUBLE PRECISION)"
    groups = [
        space.join(terms[start : start + MAX_GROUP])
        for start in range(0, len(terms), MAX_GROUP)
    ]
    if len(groups) > 1:
        groups = [f"+ ({group})" for group in groups]
    return space.join([repr(constant), *groups])


def smallest(items: list[str], dialect: Dialect) -> str:
    """The smallest of some sums, one a line."""
    return extreme(dialect.least, items, "\n      ", "\n    ")


def extreme(function: str, items: list[str], before: str = "", after: str = "") -> str:
    """MIN or MAX of some expressions; of only one, SQLite's would go over the rows."""
    if len(items) > MAX_GROUP:
        groups = [items[start : start + MAX_GROUP] for start in range(0, len(items), MAX_GROUP)]
        return extreme(function, [extreme(function, group) for group in groups], before, after)
    if len(items) == 1:
        return items[0]
    separator = f",{before or ' '}"
    return f"{function}({before}{separator.join(items)}{after})"
