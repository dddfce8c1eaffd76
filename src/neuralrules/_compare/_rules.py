"""Which rule of one model corresponds to which rule of another, and what differs in words.

The models may come from different tables, so rules are compared in common units: the units of
the first model's columns. Two rules are the same if their numbers are equal up to rounding. The
tolerance is wide enough for a model that was written as text and read back. The order of rules
and of literals does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils import gen_batches

from neuralrules._data._columns import (
    Category,
    EncodedColumn,
    Missing,
    Number,
    Standardised,
)
from neuralrules._fitted._fitted import Fitted
from neuralrules._network._network import Network
from neuralrules._reading._column_words import number_words
from neuralrules._reading._text import (
    base_text,
    condition_statements,
    named_literals,
    value_text,
)
from neuralrules._reading._wording import Statement

ROUNDING = 1e-5  # relative: writing float32 as text and reading it back loses less
# The distance of two literals runs from 0 (equal) to 1 (opposite). Rules that only look at the
# same columns count as one rule that changed if the mean distance of their literals is at most
# this, an angle of about 30 degrees. Otherwise they are different rules.
FARTHEST = 0.25
# A literal is about a column if the column's weight is at least this share of the largest one.
MATTERS = 0.1
FORBIDDEN = 1e6  # the cost of a pair that is not allowed; such a pair is dropped if chosen
CHUNK_CELLS = 2**22  # distances of literals in memory at a time

# What two matched rules that differ have in common; see `Match.how`.
MATCHED_BY = {
    "value": "the same conditions",
    "leaf": "grown from the same leaf",
    "shared": "with some of the same conditions",
    "columns": "the nearest, about the same columns",
}
PRECISION, MAX_TERMS = 3, 3
# Digits and columns to show, tried in this order until two different rules read differently.
FINER = ((PRECISION, MAX_TERMS), (6, 1000), (17, 1000))
STRENGTH = "fires where it did, but more or less strongly"


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


def match_rules(first: Fitted, second: Fitted) -> list[Match]:
    """Match the rules of two models that have the same columns and outputs.

    Each rule is in exactly one match. The rules of the first model come first, in their order,
    then the rules that only the second model has.
    """
    one, other = first.network, second.network
    if one.deep != other.deep:
        one, other = one.deepened(), other.deepened()
    literals, others = literals_in_common_units(first, second)
    values, other_values = (network.values.astype(np.float64) for network in (one, other))
    alike = same_literals(one, other, literals, others)
    larger = np.maximum(np.abs(values[:, None]), np.abs(other_values))
    same_values = (np.abs(values[:, None] - other_values) <= ROUNDING * larger).all(axis=2)
    apart, shared = distances(literals, others, one.offsets, other.offsets)
    leaves, sources = leaves_of(second), sources_of(second)
    same_leaf = [[bool(a) and a == b for b in leaves] for a in leaves_of(first)]
    # Both rules are about at least half of the columns that either is about.
    same_columns = [[2 * len(a & b) >= len(a | b) for b in sources] for a in sources_of(first)]
    not_opposed = values @ other_values.T >= 0
    stages = {
        "same": alike & same_values,
        "value": alike,
        "leaf": np.array(same_leaf, bool),
        "shared": shared >= 0.5,
        "columns": np.array(same_columns, bool) & not_opposed & (apart <= FARTHEST),
    }
    found: dict[int, Match] = {}
    free = np.ones(apart.shape, bool)
    for how, allowed in stages.items():
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


def literals_in_common_units(first: Fitted, second: Fitted) -> list[np.ndarray]:
    """The literals of both models; a column has the units of the first model that has it.

    Each array is (n_literals, n_columns + 1) float64: weights, and the bias in the last column.
    """
    units: dict[Hashable, Standardised] = {}
    for column in [*first.encoder.columns, *second.encoder.columns]:
        units.setdefault(column_key(column), column.in_sums)
    places = {key: place for place, key in enumerate(units)}
    found = []
    for fitted in (first, second):
        network, columns = fitted.network, fitted.encoder.columns
        own = [columns[feature].in_sums for feature in network.features]
        keys = [column_key(columns[feature]) for feature in network.features]
        factors = network.weights.astype(np.float64) / np.array([unit.scale for unit in own])
        shifts = [units[key].mean - unit.mean for key, unit in zip(keys, own, strict=True)]
        literals = np.zeros((network.n_literals, len(units) + 1))
        scales = np.array([units[key].scale for key in keys])
        literals[:, [places[key] for key in keys]] = factors * scales
        literals[:, -1] = network.biases + factors @ np.array(shifts)
        found.append(literals)
    return found


def column_key(column: EncodedColumn) -> Hashable:
    """A key that is equal for the same encoded column of two models."""
    category = column.category if isinstance(column, Category) else None
    return column.source, column.stored_as, category, column.knots


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


def sources_of(fitted: Fitted) -> list[frozenset[int]]:
    """The columns of the table that each rule is about."""
    network, columns = fitted.network, fitted.encoder.columns
    sources = np.array([columns[feature].source for feature in network.features], int)
    weights = np.abs(network.weights)
    large = weights >= MATTERS * weights.max(axis=1, initial=0, keepdims=True)
    large &= weights > 0
    ends = network.offsets.tolist()
    return [frozenset(sources[large[i:j].any(axis=0)].tolist()) for i, j in pairwise(ends)]


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
    size = max(1, CHUNK_CELLS // (len(other) * int(lengths.max())))
    for rules in gen_batches(len(lengths), size):
        own = one[offsets[rules.start] : offsets[rules.stop]]
        starts = offsets[rules] - offsets[rules.start]
        apart = np.sqrt(np.maximum(0.5 - 0.5 * (own @ other.T), 0))
        there = np.minimum.reduceat(apart, other_offsets[:-1], axis=1)
        back = np.minimum.reduceat(apart, starts, axis=0)
        for result, mine, yours in (
            (sums, there, back),
            (counts, there <= ROUNDING, back <= ROUNDING),
        ):
            result[rules] = np.add.reduceat(mine, starts, axis=0, dtype=np.float64)
            result[rules] += np.add.reduceat(
                yours, other_offsets[:-1], axis=1, dtype=np.float64
            )
    n_literals = lengths[:, None] + other_lengths[None]
    return sums / n_literals, counts / n_literals


def directions(literals: np.ndarray) -> np.ndarray:
    """Literals scaled to length 1; a literal of zeros stays zero."""
    lengths = np.linalg.norm(literals, axis=1, keepdims=True)
    return literals / np.where(lengths > 0, lengths, 1)


def same_literals(
    one: Network, other: Network, literals: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """Whether rules have the same literals up to rounding, (n_rules, n_others) bool.

    In shallow rules the order of literals does not matter, because the activation is the
    smallest literal. In deep rules the order matters, because the second layer refers to
    literals by their places.
    """
    result = np.zeros((one.n_rules, other.n_rules), bool)
    # Rules with the same literals have equal sums, so only few pairs need a full comparison.
    mixture = np.cos(np.arange(literals.shape[1]))
    sums = np.add.reduceat(literals @ mixture, one.offsets[:-1])
    other_sums = np.add.reduceat(others @ mixture, other.offsets[:-1])
    sizes = np.add.reduceat(np.abs(literals).max(axis=1), one.offsets[:-1])
    near = np.abs(sums[:, None] - other_sums[None]) <= (
        ROUNDING * (sizes * np.abs(mixture).sum())[:, None]
    )
    near &= np.diff(one.offsets)[:, None] == np.diff(other.offsets)[None]
    for rule, partner in zip(*np.nonzero(near), strict=True):
        own, its = one.layout.literals_of(rule), other.layout.literals_of(partner)
        mine, yours = literals[own], others[its]
        if one.deep:
            result[rule, partner] = (
                all(map(close, mine, yours))
                and close(one.second_layer(rule), other.second_layer(partner))
                and close(one.shifts[own], other.shifts[its])
            )
        else:
            pairs = np.array([[close(a, b) for b in yours] for a in mine])
            result[rule, partner] = pairs.any(axis=1).all() and pairs.any(axis=0).all()
    return result


def close(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether numbers differ by no more than rounding, relative to the largest of them."""
    size = max(np.abs(one).max(initial=0), np.abs(other).max(initial=0))
    return bool((np.abs(one - other) <= ROUNDING * size).all())


class RuleChange(NamedTuple):
    """A pair of matched rules, or a rule without a match, in words.

    `Comparison` documents the fields. A change is what the rule says in A, and what it says in
    B instead; one of the two texts may be empty.
    """

    first: int | None
    second: int | None
    kind: str
    matched_by: str
    changes: tuple[tuple[str, str], ...]
    text: str

    @property
    def name(self) -> str:
        """The name of the rule, made of its numbers in A and in B."""
        if self.second is None:
            return f"rule {self.first} of A"
        if self.first is None:
            return f"rule {self.second} of B"
        if self.first == self.second:
            return f"rule {self.first}"
        return f"rule {self.first} of A, {self.second} of B"


def rule_change(first: Fitted, second: Fitted, match: Match) -> RuleChange:
    """The words for a match of rules."""
    rule, other, how = match
    if other is None:
        assert rule is not None
        return RuleChange(rule, None, "only in A", "", (), whole_text(first, rule))
    text = whole_text(second, other)
    if rule is None:
        return RuleChange(None, other, "only in B", "", (), text)
    if how == "same":
        return RuleChange(rule, other, "same", "", (), text)
    changes = changed_texts(first, rule, second, other)
    return RuleChange(rule, other, "changed", MATCHED_BY[how], changes, text)


def whole_text(fitted: Fitted, rule: int) -> str:
    """The value of a rule and its conditions."""
    conditions = [one.text for one in statements(fitted, rule, PRECISION, MAX_TERMS)]
    return f"{value_text(fitted, rule, PRECISION)}: {' and '.join(conditions)}"


def statements(fitted: Fitted, rule: int, precision: int, max_terms: int) -> list[Statement]:
    """The conditions of a rule as statements; a deep rule's named literals come last."""
    found = condition_statements(fitted, rule, precision, max_terms)
    if fitted.network.deep:
        for text in named_literals(fitted, rule, precision, max_terms):
            name = f"where {text.partition(' = ')[0]}"
            found.append(Statement(f"where {text}", name, None, "where"))
    return found


def changed_texts(
    first: Fitted, rule: int, second: Fitted, other: int
) -> tuple[tuple[str, str], ...]:
    """The texts that differ: the value, then each condition and the one that replaced it."""
    for precision, max_terms in FINER:
        values = value_text(first, rule, precision), value_text(second, other, precision)
        changes = changed_statements(
            statements(first, rule, precision, max_terms),
            statements(second, other, precision, max_terms),
        )
        if values[0] != values[1]:
            changes.insert(0, values)
        if changes:
            return tuple(changes)
    return (("", STRENGTH),)


def changed_statements(
    before: Sequence[Statement], after: Sequence[Statement]
) -> list[tuple[str, str]]:
    """The statements that only one of two rules makes.

    An old and a new statement form a pair if they compare the same sum from the same side or,
    failing that, if the same column matters most in both.
    """
    gone = [one for one in before if one not in after]
    new = [one for one in after if one not in before]
    pairs = []
    for old in gone:
        same = [one for one in new if (one.subject, one.rises) == (old.subject, old.rises)]
        # If other columns joined or left the sum, its main column may still be the same.
        same += [one for one in new if one.main == old.main]
        became = next(iter(same), None)
        new = [one for one in new if one is not became]
        pairs.append((old.text, became.text if became else ""))
    return pairs + [("", one.text) for one in new]


def start_texts(first: Fitted, second: Fitted) -> tuple[str, str]:
    """What every row starts with in each model, with enough digits to show a difference."""
    one, other = told_apart(partial(base_text, first), partial(base_text, second))
    return one or "0", other or "0"


def stand_in_changes(first: Fitted, second: Fitted) -> list[tuple[str, str, str]]:
    """Columns whose missing numbers the models replace differently: name, value in A, in B."""
    changes = []
    for source in sorted({*first.used_columns, *second.used_columns}):
        both = [fitted.encoder.columns_of(source) for fitted in (first, second)]
        holes = any(isinstance(column, Missing) for own in both for column in own)
        if holes and all(isinstance(own[0], Number) for own in both):
            words = [number_words(first.encoder, own[0]) for own in both]
            texts = told_apart(*(partial(own.resolved, own.column.stand_in) for own in words))
            if texts[0] != texts[1]:
                changes.append((words[0].name, *texts))
    return changes


def told_apart(one: Callable[[int], str], other: Callable[[int], str]) -> tuple[str, str]:
    """Texts of A and of B, with more digits if it takes more to tell them apart.

    `one` and `other` make a text with a number of significant digits.
    """
    pairs = [(one(precision), other(precision)) for precision, _ in FINER]
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])
