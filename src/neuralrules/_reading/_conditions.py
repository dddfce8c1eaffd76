"""The meaning of a literal to a person: a `Condition` in the user's columns and units.

A literal w . x + a > 0 over standardised, encoded columns is a `LiteralSum` over the columns
of the user's table. Most literals have a simpler meaning: a `Bound` on one column of numbers,
which other columns may move; a `Choice` among the categories of a column; a `State` of a
column, such as "missing"; or `Settled` if the literal holds on every row or on none. Two bounds
on one column make a `Range`. Texts, sentences, score cards and reasons start from these
conditions, and `_wording` puts them into words.

A literal that is positive on every row within the ranges of the training table says nothing
about a row, so texts leave it out. Thresholds far outside of the table are left out this way.
The `Reach` of a literal, or of a deep rule's unit, says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from neuralrules._data._columns import (
    Category,
    EncodedColumn,
    Flag,
    Indicator,
    Missing,
    Number,
    Rare,
    in_original_units,
)
from neuralrules._data._encoder import Encoder
from neuralrules._fitted._fitted import Fitted

NEXT_TO = 1e-5  # share of an activation that rounding to float32 may have taken away
# A share of the bounded column's deviation. If one deviation of another column moves the
# threshold by less, the other column is taken at its mean. Texts with more than three digits
# have a lower limit.
HARDLY = 0.05
FLAT = 1e-3  # share of its highest value: a literal that varies by less counts as constant


class Reach(NamedTuple):
    """The lowest and the highest value of a sum."""

    low: float
    high: float

    @property
    def always(self) -> bool:
        """Whether the sum is positive on all rows."""
        return self.low > 0

    @property
    def never(self) -> bool:
        """Whether the sum is positive on no row."""
        return self.high <= 0

    @property
    def flat(self) -> bool:
        """Whether the sum is positive and hardly varies: it then caps a rule's activation."""
        return self.always and self.high - self.low <= FLAT * self.high


@dataclass(frozen=True)
class Term:
    """One summand of a literal in the user's units: a factor times a column.

    A column of numbers with knots is scaled first. An indicator is 1 if it holds, else 0.
    """

    column: EncodedColumn
    factor: float

    @property
    def weight(self) -> float:
        """The factor for one standard deviation of the column."""
        return self.factor * self.column.in_sums.scale

    @property
    def at_mean(self) -> float:
        """What the term adds if the column is at its mean."""
        return self.factor * self.column.in_sums.mean


@dataclass(frozen=True)
class LiteralSum:
    """A literal as a sum in the user's units: it holds if the sum is above 0.

    No factor of a term is zero. Missing numbers count as the means of their columns.
    """

    terms: tuple[Term, ...]
    constant: float

    def visible(self, precision: int) -> LiteralSum:
        """The sum of the terms that are large enough to be seen in `precision` digits.

        The columns of the other terms are taken at their means.
        """
        least = (
            0.5 * 10.0**-precision * max((abs(term.weight) for term in self.terms), default=0)
        )
        shown = [
            term
            for term in self.terms
            if abs(term.weight) * max(map(abs, term.column.span)) >= least
        ]
        rest = [term for term in self.terms if term not in shown]
        return self._keeping(shown, rest) if shown else self

    def largest(self, max_terms: int) -> LiteralSum:
        """The sum of the `max_terms` terms of largest weight, with the largest first.

        The columns of the other terms are taken at their means.
        """
        order = sorted(self.terms, key=lambda term: -abs(term.weight))
        return self._keeping(order[:max_terms], order[max_terms:])

    def _keeping(self, kept: Sequence[Term], rest: Sequence[Term]) -> LiteralSum:
        return LiteralSum(tuple(kept), self.constant + sum(term.at_mean for term in rest))


@dataclass(frozen=True)
class Settled:
    """A literal that holds on every row, or on none."""

    holds: bool


@dataclass(frozen=True)
class State:
    """An indicator or a truth value that must hold, or must not hold: "income is known"."""

    column: EncodedColumn
    present: bool


@dataclass(frozen=True)
class Choice:
    """The categories of one column that pass: the named ones, or all `without` the named ones.

    `named` are indicators of one column of the table, at least one.
    """

    named: tuple[EncodedColumn, ...]
    without: bool


@dataclass(frozen=True)
class Bound:
    """A threshold on one column of numbers.

    Attributes
    ----------
    column : EncodedColumn
    rises : bool
        Whether the numbers must lie above the threshold; otherwise they must lie below it.
    threshold : float
        The number, in the column's own units, at which the literal begins to hold if the
        other columns of numbers are at their means and no indicator holds.
    slope : float
        How much the literal grows for one unit of the column, or of the scaled column if the
        column has knots.
    moves : tuple of Term
        The other columns that move the threshold. The factor of a term is the move of the
        threshold for one unit of the other column.
    holds_missing : bool
        Whether a row in which the number is missing passes.
    """

    column: EncodedColumn
    rises: bool
    threshold: float
    slope: float
    moves: tuple[Term, ...] = ()
    holds_missing: bool = False

    def passes(self, move: float = 0.0) -> bool | None:
        """Whether every number in the training range passes the threshold, moved by `move`.

        False if no number passes; None if only a part of the range passes.
        """
        ends = [
            end - self.threshold - move for end in (self.column.lowest, self.column.highest)
        ]
        low, high = sorted(end if self.rises else -end for end in ends)
        return True if low > 0 else False if high <= 0 else None


@dataclass(frozen=True)
class Range:
    """Numbers of one column between two thresholds that no other column moves."""

    low: Bound
    high: Bound
    holds_missing: bool


Condition: TypeAlias = Settled | State | Choice | Bound | Range | LiteralSum


def sum_in_units(
    encoder: Encoder, features: np.ndarray, weights: np.ndarray, bias: float
) -> LiteralSum:
    """A literal w . x + a over standardised columns as a sum in the user's units.

    `features` (n,) are the places of the columns in the encoder, and `weights` (n,) float64.
    """
    used = np.flatnonzero(weights)
    columns = [encoder.columns[feature] for feature in features[used].tolist()]
    factors, constant = in_original_units(
        weights[used].tolist(), float(bias), [column.in_sums for column in columns]
    )
    return LiteralSum(tuple(map(Term, columns, factors)), constant)


def rule_sums(fitted: Fitted, rule: int) -> list[LiteralSum]:
    """The literals of a rule as sums in the user's units."""
    network, own = fitted.network, fitted.network.layout.literals_of(rule)
    pairs = zip(network.weights[own].astype(np.float64), network.biases[own], strict=True)
    return [sum_in_units(fitted.encoder, network.features, *pair) for pair in pairs]


def literal_conditions(
    fitted: Fitted, rule: int, precision: int, max_terms: int, level: float = 0.0
) -> list[Condition]:
    """The conditions that the literals of a shallow rule put on a row.

    All of them hold exactly if the activation is positive or, with a `level`, if the activation
    is at least this level. A condition that holds on every row within the ranges of training is
    left out, so a rule that concerns every row has no conditions. `precision` is the number of
    digits that will be shown, `max_terms` the number of columns of one literal.
    """
    network, encoder = fitted.network, fitted.encoder
    own, level = network.layout.literals_of(rule), level * (1 - NEXT_TO)
    # A category may miss the level only by terms that are too small to show.
    slack = 10.0**-precision if level > 0 else 0.0
    result = []
    biases = network.biases[own].astype(np.float64) - level
    for weights, bias in zip(network.weights[own].astype(np.float64), biases, strict=True):
        found = reach(encoder, network.features, weights, bias)
        if not (found.always or (level > 0 and found.low >= 0)):
            literal = sum_in_units(encoder, network.features, weights, bias)
            result.append(condition_of(encoder, literal, precision, max_terms, slack))
    return result


def condition_of(
    encoder: Encoder, literal: LiteralSum, precision: int, max_terms: int, slack: float = 0.0
) -> Condition:
    """The simplest condition with the meaning of a literal, or else the literal itself.

    A category also passes if its sum misses 0 by no more than `slack` times the largest factor.
    """
    visible = literal.visible(precision)
    terms = visible.terms
    if not any(is_measured(term.column) for term in terms):
        flags = any(isinstance(term.column, Flag) for term in terms)
        if flags or len({term.column.source for term in terms}) != 1:
            return literal
        if isinstance(terms[0].column, Missing):
            return State(terms[0].column, terms[0].factor > 0)
        constant = visible.constant + slack * max(abs(term.factor) for term in terms)
        without = constant > 0  # whether categories that have no term pass
        named = [term.column for term in terms if (constant + term.factor > 0) != without]
        return Choice(tuple(named), without) if named else Settled(without)
    shown = visible.largest(max_terms)
    main = next((term for term in shown.terms if is_measured(term.column)), None)
    bent = any(term.column.knots is not None for term in shown.terms)
    if main is None or (bent and len(shown.terms) > 1):
        return literal
    bound = bound_of(encoder, main, shown, precision)
    found = without_number(encoder, bound)
    if found == Settled(True):  # several indicators together may make the literal fail
        return literal
    return found or bound


def is_measured(column: EncodedColumn) -> bool:
    """Whether a column holds numbers, not truth values, which have the words of indicators."""
    return isinstance(column, Number) and not isinstance(column, Flag)


def bound_of(encoder: Encoder, main: Term, literal: LiteralSum, precision: int) -> Bound:
    """A literal as a bound on the column of `main`, which is one of the literal's terms."""
    column, source = main.column, main.column.source
    others = [term for term in literal.terms if term.column.source != source]
    holes = [term for term in literal.terms if isinstance(term.column, Missing)]
    numbers = [term for term in others if is_measured(term.column)]
    at_means = literal.constant + sum(term.at_mean for term in numbers)
    threshold = -at_means / main.factor
    missing = at_means + main.at_mean
    missing += sum(term.factor for term in holes if term.column.source == source)
    moves = [Term(term.column, -term.factor / main.factor) for term in others]
    least = min(HARDLY, 0.5 * 10.0 ** (2 - precision)) * column.in_sums.scale
    return Bound(
        column,
        main.factor > 0,
        threshold if column.knots is None else column.original(threshold),
        main.factor,
        tuple(move for move in moves if abs(move.weight) >= least),
        hole_of(encoder, column) is not None and missing > 0,
    )


def hole_of(encoder: Encoder, column: EncodedColumn) -> EncodedColumn | None:
    """The indicator of missing cells in the column of the table that a column comes from."""
    own = encoder.columns_of(column.source)
    return next((other for other in own if isinstance(other, Missing)), None)


def without_number(encoder: Encoder, bound: Bound) -> Condition | None:
    """The condition that a bound means if indicators alone decide it; else None."""
    without = bound.passes()
    passes = {move.column: bound.passes(move.factor) for move in bound.moves}
    if not passes or without is None or None in passes.values():
        return None
    if any(is_measured(column) for column in passes):
        return None
    named = [column for column in passes if passes[column] != without]
    if not named and without:
        hole = hole_of(encoder, bound.column)
        return Settled(True) if hole is None or bound.holds_missing else State(hole, False)
    if len(named) == 1 and isinstance(named[0], Flag):
        return State(named[0], not without)
    categorical = all(isinstance(column, Category | Rare) for column in named)
    if len({column.source for column in named}) != 1 or not categorical:
        return None
    return Choice(tuple(named), without)


def merged(encoder: Encoder, conditions: Iterable[Condition]) -> list[Condition]:
    """Merge conditions that must all hold, so that each column has one condition.

    Bounds that no other column moves come first, then choices. Conditions that cannot be merged
    come last, as they are.
    """
    bounds: dict[int, list[Bound]] = {}
    choices: dict[int, list[Choice]] = {}
    others: list[Condition] = []
    for condition in conditions:
        match condition:
            case Bound(moves=()):
                bounds.setdefault(condition.column.source, []).append(condition)
            case Choice():
                choices.setdefault(condition.named[0].source, []).append(condition)
            case _:
                others.append(condition)
    ranges = [strictest(own) for own in bounds.values()]
    chosen = [chosen_by_all(encoder, own) for own in choices.values()]
    return list(dict.fromkeys([*ranges, *chosen, *others]))


def strictest(bounds: Sequence[Bound]) -> Bound | Range:
    """Merge bounds on one column that no other column moves: the strictest of each side."""
    rising = sorted((b for b in bounds if b.rises), key=lambda bound: -bound.threshold)
    falling = sorted((b for b in bounds if not b.rises), key=lambda bound: bound.threshold)
    if rising and falling:
        return Range(rising[0], falling[0], all(bound.holds_missing for bound in bounds))
    return (rising or falling)[0]


def chosen_by_all(encoder: Encoder, choices: Sequence[Choice]) -> Choice | Settled:
    """Merge choices among the categories of one column that must all hold."""
    only = [choice.named for choice in choices if not choice.without]
    never = [column for choice in choices if choice.without for column in choice.named]
    known = encoder.columns_of(choices[0].named[0].source)
    if not only and len(known) == 2:  # of two categories, "not a" is "b"
        only = [tuple(known)]
    if not only:
        return Choice(tuple(dict.fromkeys(never)), True)
    left = [c for c in only[0] if c not in never and all(c in named for named in only)]
    return Choice(tuple(left), False) if left else Settled(False)


def reach(encoder: Encoder, features: np.ndarray, weights: np.ndarray, bias: float) -> Reach:
    """The reach of w . x + a over the encoded columns `features`.

    The columns of the table vary independently. The encoded columns of one table column vary
    together: a cell holds at most one category, and a missing number is encoded as 0.
    """
    used = np.flatnonzero(weights)
    by_source: dict[int, list[tuple[EncodedColumn, float]]] = {}
    for feature, weight in zip(features[used].tolist(), weights[used].tolist(), strict=True):
        column = encoder.columns[feature]
        by_source.setdefault(column.source, []).append((column, weight))
    low = high = float(bias)
    for own in by_source.values():
        # Rows are encoded in float32, and so are the ends of the range here. Otherwise
        # "late > 0" could seem to hold at late = 0 by the last bit.
        ends = [(w, np.float32(end)) for c, w in own if isinstance(c, Number) for end in c.span]
        numbers = [weight * float(end) for weight, end in ends]
        indicators = [(c.span, weight) for c, weight in own if isinstance(c, Indicator)]
        absent = sum(weight * span[0] for span, weight in indicators)
        states = [absent + number for number in numbers or [0.0]]
        states += [absent + weight * (span[1] - span[0]) for span, weight in indicators]
        low, high = low + min(states), high + max(states)
    return Reach(low, high)


def rule_reaches(fitted: Fitted, rule: int) -> list[Reach]:
    """The reaches of a rule's literals; for a deep rule, of the units above the literals."""
    network, own = fitted.network, fitted.network.layout.literals_of(rule)
    biases = network.biases[own].tolist()
    literals = [
        reach(fitted.encoder, network.features, weights, bias)
        for weights, bias in zip(network.weights[own], biases, strict=True)
    ]
    if not network.deep:
        return literals
    ends = np.maximum(np.array(literals), 0)
    mixing = network.second_layer(rule).astype(np.float64)
    shifts = network.shifts[own].astype(np.float64)
    extremes = mixing[:, :, None] * ends  # (n_units, n_literals, 2)
    low, high = extremes.min(axis=2).sum(axis=1), extremes.max(axis=2).sum(axis=1)
    return [Reach(*pair) for pair in zip(shifts + low, shifts + high, strict=True)]


def cap(fitted: Fitted, rule: int) -> float:
    """The highest activation that a rule's constant literals (or units) allow.

    Infinite if no literal is constant.
    """
    constant = [own.high for own in rule_reaches(fitted, rule) if own.flat]
    return min(constant, default=np.inf)
