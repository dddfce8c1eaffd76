"""The meaning of a literal to a person: a `Condition` in the user's columns and units.

A literal w . x + a > 0 over standardised, encoded columns is a `LiteralSum` over the columns
of the user's table. Most literals have a simpler meaning: a `Bound` on one column of numbers,
which other columns may move; a `Choice` among the categories of a column; a `State` of a
column, such as "missing"; or `Settled` if the literal holds on every row or on none. Two bounds
on one column make a `Range`. Texts, sentences, score cards and reasons start from these
conditions, and `_wording` puts them into words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from neuralrules._data._columns import (
    Category,
    EncodedColumn,
    Flag,
    Missing,
    Number,
    Rare,
    in_original_units,
)
from neuralrules._data._encoder import Encoder
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._reach import reach

NEXT_TO = 1e-5  # share of an activation that rounding to float32 may have taken away
# A share of the bounded column's deviation. If one deviation of another column moves the
# threshold by less, the other column is taken at its mean. Texts with more than three digits
# have a lower limit.
HARDLY = 0.05


@dataclass(frozen=True)
class Term:
    """One summand of a literal in the user's units.

    Attributes
    ----------
    column : EncodedColumn
        A column of numbers, scaled if it has knots, or an indicator, which is 1 if it holds,
        else 0.
    factor : float
        What the column is multiplied by.
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

    Missing numbers count as the means of their columns.

    Attributes
    ----------
    terms : tuple of Term
        The summands whose factors are not zero.
    constant : float
    """

    terms: tuple[Term, ...]
    constant: float

    def visible(self, precision: int) -> LiteralSum:
        """The sum of the terms that are large enough to be seen in `precision` digits.

        The columns of the other terms are taken at their means.
        """
        if not self.terms:
            return self
        least = 0.5 * 10.0**-precision * max(abs(term.weight) for term in self.terms)
        shown = [
            term
            for term in self.terms
            if abs(term.weight) * max(map(abs, term.column.span)) >= least
        ]
        return self._keeping(shown) if shown else self

    def largest(self, max_terms: int) -> LiteralSum:
        """The sum of the `max_terms` terms of largest weight, with the largest first.

        The columns of the other terms are taken at their means.
        """
        order = sorted(self.terms, key=lambda term: -abs(term.weight))
        return self._keeping(order[:max_terms], order[max_terms:])

    def _keeping(self, kept: Sequence[Term], rest: Iterable[Term] | None = None) -> LiteralSum:
        if rest is None:
            rest = [term for term in self.terms if term not in kept]
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
    """The categories of one column that pass.

    Attributes
    ----------
    named : tuple of EncodedColumn
        Indicators of one column of the table, at least one.
    without : bool
        If true, all categories except the named ones pass. If false, only the named ones pass.
    """

    named: tuple[EncodedColumn, ...]
    without: bool


@dataclass(frozen=True)
class Bound:
    """A threshold on one column of numbers.

    Attributes
    ----------
    column : EncodedColumn
        The numbers that are bounded.
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

    def reaching(self, activation: float) -> float:
        """The number at which the literal reaches `activation`; it is 0 at the threshold."""
        if self.column.knots is None:
            return self.threshold + activation / self.slope
        start = float(self.column.encoded(np.array(self.threshold)))
        return self.column.original(start + activation / self.slope)

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

    Parameters
    ----------
    encoder : Encoder
    features : (n,) int
        Encoded columns.
    weights : (n,) float
    bias : float
    """
    used = np.flatnonzero(weights)
    columns = [encoder.columns[feature] for feature in features[used].tolist()]
    factors, constant = in_original_units(
        weights[used].tolist(), float(bias), [column.in_sums for column in columns]
    )
    return LiteralSum(tuple(map(Term, columns, factors)), constant)


def rule_conditions(
    fitted: Fitted, rule: int, precision: int, max_terms: int, level: float = 0.0
) -> list[Condition]:
    """The conditions that a shallow rule puts on a row, merged by column.

    All of them hold exactly if the activation is positive or, with a `level`, if the activation
    is at least this level. A condition that holds on every row within the ranges of training is
    left out, so a rule that concerns every row has no conditions. `precision` is the number of
    digits that will be shown, `max_terms` the number of columns of one literal.
    """
    return merged(fitted.encoder, literal_conditions(fitted, rule, precision, max_terms, level))


def literal_conditions(
    fitted: Fitted, rule: int, precision: int, max_terms: int, level: float = 0.0
) -> list[Condition]:
    """The condition of each literal, as in `rule_conditions`, but not merged by column."""
    network, encoder = fitted.network, fitted.encoder
    level *= 1 - NEXT_TO
    result = []
    for literal in range(network.offsets[rule], network.offsets[rule + 1]):
        weights = network.weights[literal].astype(np.float64)
        bias = float(network.biases[literal]) - level
        own = reach(encoder, network.features, weights, bias)
        if not (own.always or (level > 0 and own.low >= 0)):
            found = sum_in_units(encoder, network.features, weights, bias)
            # A category may miss the level only by terms that are too small to show.
            slack = 10.0**-precision if level > 0 else 0.0
            result.append(condition_of(encoder, found, precision, max_terms, slack))
    return result


def condition_of(
    encoder: Encoder, literal: LiteralSum, precision: int, max_terms: int, slack: float = 0.0
) -> Condition:
    """The simplest condition with the meaning of a literal, or else the literal itself.

    A category also passes if its sum misses 0 by no more than `slack` times the largest factor.
    """
    visible = literal.visible(precision)
    terms = visible.terms
    flags = any(isinstance(term.column, Flag) for term in terms)
    if not terms or (flags and not any(is_measured(term.column) for term in terms)):
        return literal
    kinds = {(term.column.source, is_measured(term.column)) for term in terms}
    if len(kinds) == 1 and isinstance(terms[0].column, Missing):
        return State(terms[0].column, terms[0].factor > 0)
    if len(kinds) == 1 and not is_measured(terms[0].column):
        lacking = slack * max(abs(term.factor) for term in terms)
        return choice_of(terms, visible.constant + lacking)
    shown = visible.largest(max_terms)
    numbers = [term for term in shown.terms if is_measured(term.column)]
    bent = any(term.column.knots is not None for term in shown.terms)
    if not numbers or (bent and len(shown.terms) > 1):
        return literal
    bound = bound_of(encoder, numbers[0], shown)
    least = min(HARDLY, 0.5 * 10.0 ** (2 - precision)) * bound.column.in_sums.scale
    moves = tuple(move for move in bound.moves if abs(move.weight) >= least)
    bound = replace(bound, moves=moves)
    found = without_number(encoder, bound)
    if found == Settled(True):  # several indicators together may make the literal fail
        return literal
    return found or bound


def is_measured(column: EncodedColumn) -> bool:
    """Whether a column holds numbers, not truth values, which have the words of indicators."""
    return isinstance(column, Number) and not isinstance(column, Flag)


def bound_of(encoder: Encoder, main: Term, literal: LiteralSum) -> Bound:
    """A literal as a bound on the column of `main`, which is one of the literal's terms."""
    column, others = main.column, [term for term in literal.terms if term is not main]
    hole = [term for term in others if term.column.source == column.source]
    others = [term for term in others if term not in hole]
    numbers = [term for term in others if is_measured(term.column)]
    at_means = literal.constant + sum(term.at_mean for term in numbers)
    threshold = -at_means / main.factor
    if column.knots is not None:
        threshold = column.original(threshold)
    missing = at_means + main.at_mean + sum(term.factor for term in hole)
    has_holes = any(isinstance(own, Missing) for own in encoder.columns_of(column.source))
    return Bound(
        column,
        main.factor > 0,
        threshold,
        main.factor,
        tuple(Term(term.column, -term.factor / main.factor) for term in others),
        has_holes and missing > 0,
    )


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
        holes = [
            own for own in encoder.columns_of(bound.column.source) if isinstance(own, Missing)
        ]
        return State(holes[0], False) if holes and not bound.holds_missing else Settled(True)
    if len(named) == 1 and isinstance(named[0], Flag):
        return State(named[0], not without)
    categorical = all(isinstance(column, Category | Rare) for column in named)
    if len({column.source for column in named}) != 1 or not categorical:
        return None
    return Choice(tuple(named), without)


def choice_of(terms: Sequence[Term], constant: float) -> Choice | Settled:
    """The categories of one column whose term plus a constant is above 0."""
    without = constant > 0  # whether categories that have no term pass
    named = [term.column for term in terms if (constant + term.factor > 0) != without]
    return Choice(tuple(named), without) if named else Settled(without)


def truth_of(term: Term, constant: float) -> bool | None:
    """The only truth value that makes a sum positive; None if both do, or neither does."""
    column = term.column
    cells = [0.0, 1.0] if column.knots is None else column.encoded(np.array([0.0, 1.0]))
    false, true = (term.factor * float(cell) + constant > 0 for cell in cells)
    return true if true != false else None


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
    rising = [bound for bound in bounds if bound.rises]
    falling = [bound for bound in bounds if not bound.rises]
    low = max(rising, key=lambda bound: bound.threshold, default=None)
    high = min(falling, key=lambda bound: bound.threshold, default=None)
    if low is not None and high is not None:
        return Range(low, high, all(bound.holds_missing for bound in bounds))
    either = low or high
    assert either is not None  # there is at least one bound
    return either


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
