"""Which rule of one model corresponds to which rule of another.

The models may come from different tables, so rules are compared in common units: the units of
the first model's columns. Two rules are the same if their numbers are equal up to rounding. The
tolerance is wide enough for a model that was written as text and read back. The order of rules
and of literals does not matter.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from neuralrules._data._columns import Category, EncodedColumn, Standardised
from neuralrules._data._encoder import Encoder
from neuralrules._fitted._fitted import Fitted
from neuralrules._network._network import Network

ROUNDING = 1e-5  # relative: writing float32 as text and reading it back loses less
# The distance of two literals runs from 0 (equal) to 1 (opposite). Rules that only look at the
# same columns count as one rule that changed if the mean distance of their literals is at most
# this, an angle of about 30 degrees. Otherwise they are different rules.
FARTHEST = 0.25
# A literal is about a column if the column's weight is at least this share of the largest one.
MATTERS = 0.1
FORBIDDEN = 1e6  # the cost of a pair that is not allowed; such a pair is dropped if chosen
CHUNK_CELLS = 2**22  # distances of literals in memory at a time

SAME, VALUE, LEAF, SHARED, COLUMNS = "same", "value", "leaf", "shared", "columns"


class Match(NamedTuple):
    """A rule of the first model and a rule of the second; None if there is no such rule.

    `how` says what the two rules have in common:

    - "same": the literals and the value;
    - "value": the literals, but not the value;
    - "leaf": the leaf that they grew from;
    - "shared": at least half of their literals;
    - "columns": at least half of their columns, and their literals are near to each other.

    `how` is empty for a rule that is in one model only.
    """

    first: int | None
    second: int | None
    how: str = ""


class Forms(NamedTuple):
    """The rules of a model in common units.

    Attributes
    ----------
    literals : (n_literals, n_columns + 1) float64
        Weights, and the bias in the last column.
    offsets : (n_rules + 1,) int64
    values : (n_rules, n_outputs) float64
    network : Network
        The network, which holds the second layers of deep rules.
    leaves : list of frozenset
        The leaf that each rule grew from; empty if it is not known.
    sources : list of frozenset
        The columns of the table that each rule is about.
    """

    literals: np.ndarray
    offsets: np.ndarray
    values: np.ndarray
    network: Network
    leaves: list[frozenset[Any]]
    sources: list[frozenset[int]]


def match_rules(first: Fitted, second: Fitted) -> list[Match]:
    """Match the rules of two models that have the same columns and outputs.

    Each rule is in exactly one match. The rules of the first model come first, in their order,
    then the rules that only the second model has.
    """
    one, other = forms(first, second)
    alike = same_literals(one, other)
    valued = np.abs(one.values[:, None] - other.values[None]) <= ROUNDING * np.maximum(
        np.abs(one.values[:, None]), np.abs(other.values[None])
    )
    apart, shared = distances(one.literals, other.literals, one.offsets, other.offsets)
    grown = np.array([[bool(a) and a == b for b in other.leaves] for a in one.leaves], bool)
    stages = (
        (SAME, alike & valued.all(axis=2)),
        (VALUE, alike),
        (LEAF, grown.reshape(apart.shape)),
        (SHARED, shared >= 0.5),
        (COLUMNS, about_the_same(one, other) & (apart <= FARTHEST)),
    )
    found: dict[int, Match] = {}
    free = np.ones(apart.shape, bool)
    for how, allowed in stages:
        for rule, partner in nearest_pairs(apart, allowed & free):
            found[rule] = Match(rule, partner, how)
            free[rule], free[:, partner] = False, False
    taken = {match.second for match in found.values()}
    lost = [found.get(rule, Match(rule, None)) for rule in range(len(apart))]
    return lost + [Match(None, rule) for rule in range(apart.shape[1]) if rule not in taken]


def nearest_pairs(apart: np.ndarray, allowed: np.ndarray) -> list[tuple[int, int]]:
    """As many allowed pairs of rules as possible, with the smallest sum of distances."""
    rules, partners = (np.flatnonzero(allowed.any(axis=axis)) for axis in (1, 0))
    if not rules.size:
        return []
    some = np.ix_(rules, partners)
    # A tiny extra cost decides between equally near rules: it prefers close rule numbers.
    places = 1e-9 * np.abs(rules[:, None] - partners[None])
    costs = np.where(allowed[some], apart[some] + places, FORBIDDEN)
    chosen = zip(*linear_sum_assignment(costs), strict=True)
    return [(int(rules[i]), int(partners[j])) for i, j in chosen if costs[i, j] < FORBIDDEN]


def forms(first: Fitted, second: Fitted) -> tuple[Forms, Forms]:
    """The rules of both models; a column has the units of the first model that has it."""
    places: dict[Hashable, int] = {}
    units: list[Standardised] = []
    for encoder in (first.encoder, second.encoder):
        for column in encoder.columns:
            if column_key(column) not in places:
                places[column_key(column)] = len(units)
                units.append(column.in_sums)
    one, other = (form_of(fitted, places, units) for fitted in (first, second))
    if one.network.deep != other.network.deep:
        one, other = (form._replace(network=form.network.deepened()) for form in (one, other))
    return one, other


def column_key(column: EncodedColumn) -> Hashable:
    """A key that is equal for the same encoded column of two models."""
    category = column.category if isinstance(column, Category) else None
    return column.source, column.stored_as, category, column.knots


def form_of(fitted: Fitted, places: dict[Hashable, int], units: list[Standardised]) -> Forms:
    network, columns = fitted.network, fitted.encoder.columns
    own = [columns[feature] for feature in network.features]
    where = [places[column_key(column)] for column in own]
    scales, common_scales = (
        np.array([unit.scale for unit in both])
        for both in ([column.in_sums for column in own], [units[place] for place in where])
    )
    shifts = np.array(
        [units[i].mean - column.in_sums.mean for i, column in zip(where, own, strict=True)]
    )
    factors = network.weights.astype(np.float64) / scales
    literals = np.zeros((network.n_literals, len(units) + 1))
    literals[:, where] = factors * common_scales
    literals[:, -1] = network.biases + factors @ shifts
    return Forms(
        literals,
        network.offsets,
        network.values.astype(np.float64),
        network,
        leaves_of(fitted),
        sources_of(network, fitted.encoder),
    )


def leaves_of(fitted: Fitted) -> list[frozenset[Any]]:
    """The splits of the leaf that each rule grew from, in the units of the table."""
    rules, columns = fitted.rules, fitted.encoder.columns
    splits = [
        (column_key(columns[feature]), int(sign), f"{columns[feature].original(at):.5g}")
        for feature, sign, at in zip(
            rules.features.tolist(), rules.signs, rules.thresholds.tolist(), strict=True
        )
    ]
    ends = rules.offsets.tolist()
    return [frozenset(splits[i:j]) for i, j in pairwise(ends)]


def sources_of(network: Network, encoder: Encoder) -> list[frozenset[int]]:
    """The columns of the table that each rule is about."""
    sources = np.array([encoder.columns[feature].source for feature in network.features], int)
    weights = np.abs(network.weights)
    large = weights >= MATTERS * weights.max(axis=1, initial=0, keepdims=True)
    large &= weights > 0
    ends = network.offsets.tolist()
    return [frozenset(sources[large[i:j].any(axis=0)].tolist()) for i, j in pairwise(ends)]


def about_the_same(one: Forms, other: Forms) -> np.ndarray:
    """Whether two rules share columns and do not speak for opposite outcomes.

    Two rules share columns if both are about at least half of the columns that either is about.
    The result is (n_rules, n_others) bool.
    """
    shared = [[2 * len(a & b) >= len(a | b) for b in other.sources] for a in one.sources]
    return np.array(shared, bool) & (one.values @ other.values.T >= 0)


def distances(
    literals: np.ndarray, others: np.ndarray, offsets: np.ndarray, other_offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The distances between rules, and the shares of literals that they have in common.

    Returns
    -------
    apart : (n_rules, n_others) float64
        The mean distance, over the literals of both rules, to the nearest literal of the other
        rule. The distance of two literals is from 0 to 1: half the distance between their
        directions, so the steepness of a literal does not count.
    shared : (n_rules, n_others) float64
        The share of the literals of both rules that the other rule also has.
    """
    lengths, other_lengths = np.diff(offsets), np.diff(other_offsets)
    sums, counts = np.empty((2, len(lengths), len(other_lengths)))
    one, other = directions(literals), directions(others)
    size = max(1, CHUNK_CELLS // max(len(other), 1))
    for start, stop in rule_chunks(offsets, size):
        own = one[offsets[start] : offsets[stop]]
        apart = np.sqrt(np.maximum(0.5 - 0.5 * (own @ other.T), 0))
        starts = offsets[start:stop] - offsets[start]
        there = np.minimum.reduceat(apart, other_offsets[:-1], axis=1)
        back = np.minimum.reduceat(apart, starts, axis=0)
        for result, mine, yours in (
            (sums, there, back),
            (counts, there <= ROUNDING, back <= ROUNDING),
        ):
            result[start:stop] = np.add.reduceat(mine, starts, axis=0, dtype=np.float64)
            result[start:stop] += np.add.reduceat(
                yours, other_offsets[:-1], axis=1, dtype=np.float64
            )
    n_literals = lengths[:, None] + other_lengths[None]
    return sums / n_literals, counts / n_literals


def rule_chunks(offsets: np.ndarray, size: int) -> list[tuple[int, int]]:
    """Ranges (start, stop) of rules with at most `size` literals, or of one longer rule."""
    n_rules, start, chunks = len(offsets) - 1, 0, []
    while start < n_rules:
        stop = int(np.searchsorted(offsets, offsets[start] + size, side="right")) - 1
        chunks.append((start, max(stop, start + 1)))
        start = chunks[-1][1]
    return chunks


def directions(literals: np.ndarray) -> np.ndarray:
    """Literals scaled to length 1; a literal of zeros stays zero."""
    lengths = np.linalg.norm(literals, axis=1, keepdims=True)
    return literals / np.where(lengths > 0, lengths, 1)


def same_literals(one: Forms, other: Forms) -> np.ndarray:
    """Whether rules have the same literals up to rounding, (n_rules, n_others) bool.

    In shallow rules the order of literals does not matter, because the activation is the
    smallest literal. In deep rules the order matters, because the second layer refers to
    literals by their places.
    """
    result = np.zeros((len(one.values), len(other.values)), bool)
    # Rules with the same literals have equal sums, so only few pairs need a full comparison.
    mixture = np.cos(np.arange(one.literals.shape[1]))
    sums, other_sums = (
        np.add.reduceat(form.literals @ mixture, form.offsets[:-1]) for form in (one, other)
    )
    sizes = np.add.reduceat(np.abs(one.literals).max(axis=1), one.offsets[:-1])
    near = np.abs(sums[:, None] - other_sums[None]) <= (
        ROUNDING * (sizes * np.abs(mixture).sum())[:, None]
    )
    near &= np.diff(one.offsets)[:, None] == np.diff(other.offsets)[None]
    for rule, partner in zip(*np.nonzero(near), strict=True):
        mine = one.literals[one.offsets[rule] : one.offsets[rule + 1]]
        yours = other.literals[other.offsets[partner] : other.offsets[partner + 1]]
        if one.network.deep:
            result[rule, partner] = all(
                close(a, b)
                for a, b in (
                    *zip(mine, yours, strict=True),
                    (one.network.second_layer(rule), other.network.second_layer(partner)),
                    (shifts_of(one.network, rule), shifts_of(other.network, partner)),
                )
            )
            continue
        pairs = np.array([[close(a, b) for b in yours] for a in mine])
        result[rule, partner] = pairs.any(axis=1).all() and pairs.any(axis=0).all()
    return result


def shifts_of(network: Network, rule: int) -> np.ndarray:
    return network.shifts[network.offsets[rule] : network.offsets[rule + 1]]


def close(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether numbers differ by no more than rounding, relative to the largest of them."""
    size = max(np.abs(one).max(initial=0), np.abs(other).max(initial=0))
    return bool((np.abs(one - other) <= ROUNDING * size).all())
