"""Conditions in words: as a short inequality, or in the words of a sentence.

An inequality shows the sum of a literal. The column that matters most, which has the largest
weight for one standard deviation, stands first. The sum is divided by the factor of this
column, so that this column has the factor 1: "income - 2·debt > 3". Indicators stand in
brackets, which are 1 if they hold and else 0. A column that is scaled by its quantiles is
``scaled(income)``. A date in a sum is ``days(opened)``.

A sentence names one column at a time: "income above 35300". If other columns move the
threshold, the sentence first gives the threshold for a row in which the other numbers are at
their means and no indicator holds. Then it says how far each number moves the threshold, and
where the threshold lies if an indicator holds. Numbers are rounded to parts of a column's
deviation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from neuralrules._data._columns import Flag, Number
from neuralrules._data._encoder import Encoder
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._column_words import (
    indicator_words,
    number_words,
    round_step,
    state_text,
    words_of,
)
from neuralrules._reading._conditions import (
    Bound,
    Choice,
    Condition,
    LiteralSum,
    Range,
    Settled,
    State,
    Term,
    is_measured,
    literal_conditions,
    rule_conditions,
    sum_in_units,
    truth_of,
)
from neuralrules._reading._numbers import number, resolved
from neuralrules._reading._reach import reach

EVERY_ROW, NO_ROW = "every row", "no row"  # for conditions that always, or never, hold


class Statement(NamedTuple):
    """A condition as a short statement, mostly an inequality.

    Attributes
    ----------
    text : str
    subject : str
        The sum that an inequality compares with a bound; for other statements, the text.
    rises : bool or None
        Whether the subject must be large or small; None if the statement is no inequality.
    main : str
        The name of the column that matters most in the statement, as texts show it.
    """

    text: str
    subject: str
    rises: bool | None
    main: str


def inequality(
    encoder: Encoder, literal: LiteralSum, precision: int, max_terms: int
) -> Statement:
    """A literal as an inequality in the user's units.

    Columns that are not shown are taken at their means.
    """
    literal = literal.visible(precision)
    if not literal.terms:
        return plain_statement(EVERY_ROW if literal.constant > 0 else NO_ROW)
    main = literal.terms[0]
    if len(literal.terms) == 1 and isinstance(main.column, Flag):
        truth = truth_of(main, literal.constant)
        if truth is not None:
            name = words_of(encoder, main.column).name
            return plain_statement(state_text(encoder, main.column, present=truth), name)
    unscaled = isinstance(main.column, Number) and main.column.knots is None
    if len(literal.terms) == 1 and (unscaled or lies_between_knots(main, literal.constant)):
        return threshold_statement(encoder, main, literal.constant, precision)
    shown = literal.largest(max_terms)
    main = shown.terms[0]
    subject = sum_text(encoder, shown.terms, main.factor, precision)
    subject += " + …" if len(shown.terms) < len(literal.terms) else ""
    bound = resolved(-shown.constant / main.factor, main.column.in_sums.scale, precision)
    name = words_of(encoder, main.column).name
    return compared(subject, main.factor > 0, bound, name)


def compared(subject: str, rises: bool, bound: str, main: str) -> Statement:
    """The statement that a subject is above a bound if it `rises`, else below the bound."""
    return Statement(f"{subject} {'>' if rises else '<'} {bound}", subject, rises, main)


def plain_statement(text: str, main: str = "") -> Statement:
    """A statement that is no inequality."""
    return Statement(text, text, None, main or text)


def lies_between_knots(term: Term, constant: float) -> bool:
    """Whether the column of a term is scaled, and some of its numbers, but not all, pass.

    A number passes if the term plus the constant is above 0. Outside of its knots a scaled
    column is flat, so there either all numbers pass or none does.
    """
    low, high = sorted(term.factor * end for end in term.column.span)
    return term.column.knots is not None and low <= -constant < high


def threshold_statement(
    encoder: Encoder, term: Term, constant: float, precision: int
) -> Statement:
    """A literal over a single column as a threshold on this column, in its own units."""
    words, rises = number_words(encoder, term.column), term.factor > 0
    bound = -constant / term.factor
    if term.column.knots is not None:
        bound = term.column.original(bound)
    text = words.resolved(bound, precision, ">" if rises else "<")
    return compared(words.name, rises, text, words.name)


def sum_text(encoder: Encoder, terms: Sequence[Term], divisor: float, precision: int) -> str:
    """Terms, divided by `divisor`, as a sum."""
    text = ""
    for term in terms:
        name, digits = words_of(encoder, term.column).in_sum, shown_digits(term, precision)
        text += signed_text(term.factor / divisor, name, digits, text)
    return text


def signed_text(factor: float, name: str, precision: int, before: str) -> str:
    """A factor and a name as the next summand after the text `before`: " - 2·a"."""
    size = number(abs(factor), precision)
    term = name if size == "1" else f"{size}·{name}"
    if not before:
        return f"-{term}" if factor < 0 else term
    return f" - {term}" if factor < 0 else f" + {term}"


def shown_digits(term: Term, precision: int) -> int:
    """The digits of a factor: a column far from zero needs more for the same accuracy."""
    unit = term.column.in_sums
    distance = max(abs(unit.mean) / unit.scale, 1)
    return precision + int(np.ceil(np.log10(distance)))


def limit_text(
    encoder: Encoder,
    features: np.ndarray,
    weights: np.ndarray,
    bias: float,
    precision: int,
    max_terms: int,
) -> str:
    """A literal w . x + a as the limit of an activation, even if it holds on every row."""
    reached = reach(encoder, features, weights, bias)
    if reached.flat:
        return f"its cap, activation at most {number(reached.high, precision)}"
    literal = sum_in_units(encoder, features, weights, bias)
    statement = inequality(encoder, literal, precision, max_terms)
    if not reached.always:
        return statement.text
    return f"how {'large' if statement.rises else 'small'} {statement.subject} is"


def rule_words(
    fitted: Fitted, rule: int, precision: int, max_terms: int, level: float = 0.0
) -> str:
    """The conditions of a shallow rule in the words of a sentence.

    They hold exactly if the activation is positive or, with a `level`, if the activation is at
    least this level.
    """
    encoder, reached = fitted.encoder, level > 0
    texts = [
        condition_words(encoder, condition, precision, max_terms, reached=reached)
        for condition in rule_conditions(fitted, rule, precision, max_terms, level)
    ]
    return " and ".join(dict.fromkeys(texts)) or EVERY_ROW


def condition_words(
    encoder: Encoder, condition: Condition, precision: int, max_terms: int, *, reached: bool
) -> str:
    """A condition in the words of a sentence; `reached` includes thresholds themselves."""
    match condition:
        case Settled():
            return EVERY_ROW if condition.holds else NO_ROW
        case State():
            return state_text(encoder, condition.column, present=condition.present)
        case Choice():
            words = [indicator_words(encoder, column) for column in condition.named]
            names = listed([own.category for own in words], "or")
            return f"{words[0].name} is {'not ' if condition.without else ''}{names}"
        case Bound():
            return bound_words(encoder, condition, precision, reached=reached)
        case Range():
            return range_words(encoder, condition, precision, reached=reached)
    return inequality(encoder, condition, precision, max_terms).text


def listed(texts: Sequence[str], last: str) -> str:
    """Join texts as a sentence does: "a, b or c"."""
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}"


def range_words(encoder: Encoder, both: Range, precision: int, *, reached: bool) -> str:
    """The condition that numbers lie between two thresholds, in words."""
    words = number_words(encoder, both.low.column)
    low, high = (
        words.threshold(bound.threshold, precision, rises=bound.rises, reached=reached)
        for bound in (both.low, both.high)
    )
    missing = " or missing" if both.holds_missing else ""
    return f"{words.name} {words.between(low, high, reached=reached)}{missing}"


def bound_words(encoder: Encoder, bound: Bound, precision: int, *, reached: bool) -> str:
    """A bound in words; the columns that move its threshold stand in brackets."""
    words = number_words(encoder, bound.column)
    numbers = [move for move in bound.moves if is_measured(move.column)]
    notes = [
        f"{side_words(encoder, bound, move.factor, precision, reached=reached)} "
        f"where {state_text(encoder, move.column)}"
        for move in bound.moves
        if move not in numbers
    ]
    alone = None if numbers or not notes else bound.passes()
    if alone is not None:  # indicators decide whether the number matters at all
        return f"{words.name} {', '.join(notes)} ({'any' if alone else 'none'} elsewhere)"
    if numbers:
        moving = [number_words(encoder, move.column) for move in numbers]
        at = [f"{own.name} {own.rounded(own.column.in_sums.mean, precision)}" for own in moving]
        moved = [
            f"{words.change(move.factor * round_step(own.column.in_sums.scale), precision)} "
            f"per {own.step(rises=True)}"
            for own, move in zip(moving, numbers, strict=True)
        ]
        notes = [f"at {listed(at, 'and')}; {'; '.join(moved)}", *notes]
    text = f"{words.name} {side_words(encoder, bound, 0.0, precision, reached=reached)}"
    text += " or missing" if bound.holds_missing else ""
    return f"{text} ({'; '.join(notes)})" if notes else text


def side_words(
    encoder: Encoder, bound: Bound, move: float, precision: int, *, reached: bool
) -> str:
    """Where the numbers of a bound must lie if its threshold is moved by `move`."""
    words, threshold = number_words(encoder, bound.column), bound.threshold + move
    side = words.side(bound.rises, reached=reached)
    if any(is_measured(own.column) for own in bound.moves):
        # Other numbers move this threshold, so no side is a safe one to round it to.
        return f"{side} {words.rounded(threshold, precision)}"
    passes = bound.passes(move) if bound.moves else None
    if passes is not None:
        return "any" if passes else "none"
    shown = words.threshold(threshold, precision, rises=bound.rises, reached=reached)
    return f"{side} {shown}"


def growth_words(
    fitted: Fitted, rule: int, effect: float, precision: int, size_words: Callable[[float], str]
) -> str:
    """How the amount that a shallow rule adds grows with each column that it bounds.

    One unit of activation adds `effect`; `size_words` puts amounts into words. The activation
    is the smallest literal, so the smallest growth counts. Empty if no literal bounds a number.
    """
    parts: dict[str, float] = {}
    every = len(fitted.encoder.columns)
    for bound in literal_conditions(fitted, rule, precision, max_terms=every):
        if not isinstance(bound, Bound):
            continue
        size = abs(effect * bound.slope) * round_step(bound.column.in_sums.scale)
        step = number_words(fitted.encoder, bound.column).step(rises=bound.rises)
        parts[step] = min(size, parts.get(step, np.inf))
    texts = [f"{size_words(size)} per {step}" for step, size in parts.items() if size]
    if not texts:
        return ""
    least = ", whichever is least" if len(texts) > 1 else ""
    return f"growing by {listed(texts, 'or')}{least}"
