"""Conditions in words: as a short inequality, in the words of a sentence, or about one row.

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

In one row, all columns but one can be held at their values. Each literal is then a plain
threshold on the one column: "income is 21000, not above 35300 (14300 too low)". A threshold
that the row fails is rounded away from the row, so that a number beyond the shown threshold
always passes. A threshold that the row passes is rounded towards the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from neuralrules._data._columns import Flag, Indicator, Missing
from neuralrules._data._encoder import Encoder
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._column_words import (
    NumberWords,
    category_words,
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
    merged,
    reach,
    rule_reaches,
    sum_in_units,
)
from neuralrules._reading._notation import in_formula, number, resolved

EVERY_ROW, NO_ROW = "every row", "no row"  # for conditions that always, or never, hold
RULED_OUT = "which is ruled out"  # said if a row would pass without its category


class Statement(NamedTuple):
    """A condition as a short statement, mostly an inequality.

    An inequality compares its `subject` with a bound; the subject of another statement is its
    text. `rises` says whether the subject must be large or small, and is None for other
    statements. `main` is the name of the column that matters most, as texts show it.
    """

    text: str
    subject: str
    rises: bool | None
    main: str


@dataclass(frozen=True)
class Wording:
    """How conditions on the columns of an encoder are put into words.

    Numbers have `precision` digits, and a literal shows up to `max_terms` columns. If
    `reached`, thresholds themselves pass.
    """

    encoder: Encoder
    precision: int
    max_terms: int
    reached: bool = False

    def statement(self, literal: LiteralSum) -> Statement:
        """A literal as an inequality in the user's units.

        Columns that are not shown are taken at their means.
        """
        literal = literal.visible(self.precision)
        if not literal.terms:
            return plain_statement(EVERY_ROW if literal.constant > 0 else NO_ROW)
        alone = self._of_single(literal) if len(literal.terms) == 1 else None
        if alone is not None:
            return alone
        shown = literal.largest(self.max_terms)
        main, scale = shown.terms[0], shown.terms[0].column.in_sums.scale
        subject = self.sum(literal, main.factor)
        bound = resolved(-shown.constant / main.factor, scale, self.precision)
        return compared(
            subject, main.factor > 0, bound, words_of(self.encoder, main.column).name
        )

    def _of_single(self, literal: LiteralSum) -> Statement | None:
        """A literal over one column as a truth value, or as a threshold in the column's units.

        None for an indicator, and if all numbers of a scaled column pass, or none does.
        """
        (term,), column = literal.terms, literal.terms[0].column
        words = words_of(self.encoder, column)
        if isinstance(column, Flag):
            cells = np.array([0.0, 1.0])
            cells = cells if column.knots is None else column.encoded(cells)
            false, true = (term.factor * cell + literal.constant > 0 for cell in cells.tolist())
            if false != true:
                return plain_statement(
                    state_text(self.encoder, column, present=true), words.name
                )
        scaled = lies_between_knots(term, literal.constant)
        if not isinstance(words, NumberWords) or (column.knots is not None and not scaled):
            return None
        bound, rises = -literal.constant / term.factor, term.factor > 0
        bound = column.original(bound) if scaled else bound
        text = words.resolved(bound, self.precision, ">" if rises else "<")
        return compared(words.name, rises, text, words.name)

    def sum(self, literal: LiteralSum, divisor: float = 1.0) -> str:
        """The largest terms of a literal, divided by `divisor`, as a sum."""
        parts = [
            (
                term.factor / divisor,
                words_of(self.encoder, term.column).in_sum,
                shown_digits(term, self.precision),
            )
            for term in literal.largest(self.max_terms).terms
        ]
        return sum_text(parts, cut=len(parts) < len(literal.terms))

    def condition(self, condition: Condition) -> str:
        """A condition in the words of a sentence."""
        match condition:
            case Settled():
                return EVERY_ROW if condition.holds else NO_ROW
            case State():
                return state_text(self.encoder, condition.column, present=condition.present)
            case Choice():
                name = words_of(self.encoder, condition.named[0]).name
                categories = listed([*map(category_words, condition.named)], "or")
                return f"{name} is {'not ' if condition.without else ''}{categories}"
            case Bound():
                return self._bound(condition)
            case Range():
                return self._range(condition)
        return self.statement(condition).text

    def _range(self, both: Range) -> str:
        """The condition that numbers lie between two thresholds."""
        words = number_words(self.encoder, both.low.column)
        low, high = (self._threshold(bound, bound.threshold) for bound in (both.low, both.high))
        missing = " or missing" if both.holds_missing else ""
        return f"{words.name} {words.between(low, high, reached=self.reached)}{missing}"

    def _bound(self, bound: Bound) -> str:
        """A bound; the columns that move its threshold stand in brackets."""
        words = number_words(self.encoder, bound.column)
        numbers = [move for move in bound.moves if is_measured(move.column)]
        notes = [
            f"{self._side(bound, move.factor)} where {state_text(self.encoder, move.column)}"
            for move in bound.moves
            if move not in numbers
        ]
        alone = None if numbers or not notes else bound.passes()
        if alone is not None:  # indicators decide whether the number matters at all
            return f"{words.name} {', '.join(notes)} ({'any' if alone else 'none'} elsewhere)"
        if numbers:
            notes = [self._moves(words, numbers), *notes]
        text = f"{words.name} {self._side(bound, 0.0)}"
        text += " or missing" if bound.holds_missing else ""
        return f"{text} ({'; '.join(notes)})" if notes else text

    def _moves(self, words: NumberWords, numbers: Sequence[Term]) -> str:
        """The means of columns that move a threshold, and how far a step of each moves it."""
        means, moved = [], []
        for move in numbers:
            own, unit = number_words(self.encoder, move.column), move.column.in_sums
            means.append(f"{own.name} {own.rounded(unit.mean, self.precision)}")
            change = words.change(move.factor * round_step(unit.scale), self.precision)
            moved.append(f"{change} per {own.step(rises=True)}")
        return f"at {listed(means, 'and')}; {'; '.join(moved)}"

    def _side(self, bound: Bound, move: float) -> str:
        """Where the numbers of a bound must lie if its threshold is moved by `move`."""
        words, threshold = number_words(self.encoder, bound.column), bound.threshold + move
        side = words.side(bound.rises, reached=self.reached)
        if any(is_measured(own.column) for own in bound.moves):
            # Other numbers move this threshold, so no side is a safe one to round it to.
            return f"{side} {words.rounded(threshold, self.precision)}"
        passes = bound.passes(move) if bound.moves else None
        if passes is not None:
            return "any" if passes else "none"
        return f"{side} {self._threshold(bound, threshold)}"

    def _threshold(self, bound: Bound, threshold: float) -> str:
        words = number_words(self.encoder, bound.column)
        return words.threshold(
            threshold, self.precision, rises=bound.rises, reached=self.reached
        )


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


def sum_text(parts: Iterable[tuple[float, str, int]], *, cut: bool) -> str:
    """Factors times names as a sum: "a - 2·b". Each part has the digits of its factor.

    "…" stands for parts that were cut.
    """
    text = ""
    for factor, name, digits in parts:
        size = number(abs(factor), digits)
        term, sign = name if size == "1" else f"{size}·{name}", "-" if factor < 0 else "+"
        text = f"{text} {sign} {term}" if text else f"{sign}{term}".removeprefix("+")
    return f"{text} + …" if cut else text


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
    statement = Wording(encoder, precision, max_terms).statement(literal)
    if not reached.always:
        return statement.text
    return f"how {'large' if statement.rises else 'small'} {statement.subject} is"


def rule_words(
    fitted: Fitted, rule: int, precision: int, max_terms: int, level: float = 0.0
) -> str:
    """The conditions of a shallow rule in the words of a sentence, merged by column.

    They hold exactly if the activation is positive or, with a `level`, if the activation is at
    least this level.
    """
    found = literal_conditions(fitted, rule, precision, max_terms, level)
    wording = Wording(fitted.encoder, precision, max_terms, reached=level > 0)
    texts = map(wording.condition, merged(fitted.encoder, found))
    return " and ".join(dict.fromkeys(texts)) or EVERY_ROW


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


def listed(texts: Sequence[str], last: str) -> str:
    """Join texts as a sentence does: "a, b or c"."""
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}"


class RowOfTable(NamedTuple):
    """One row: its literals, its encoded columns, and its numbers in the table.

    Each array has one axis. Missing numbers, and cells with categories, are NaN.
    """

    literals: np.ndarray
    encoded: np.ndarray
    cells: np.ndarray


class CellFact(NamedTuple):
    """What a row has in a column, and what a literal asks for instead.

    For example "region is north" and "not south or east". `asked` is empty if there is nothing
    to ask for.
    """

    has: str
    asked: str = ""


def row_words(fitted: Fitted, rule: int, row: RowOfTable, kind: str) -> str:
    """Which literals of a shallow rule a row passes or fails, in words.

    `kind` is the kind of reason that the rule is. For a "missed" rule the text names the
    literals that the row fails. For a "weak" rule the text names the smallest literal, because
    it keeps the rule from firing more. For a rule "against" the row the text names all
    literals. It names literals that every row of training passes only if there are no others.
    """
    network, missed = fitted.network, kind == "missed"
    literals = range(network.offsets[rule], network.offsets[rule + 1])
    if kind != "against":
        # If a row fails a rule only by rounding of float32, its smallest literal is named.
        least = max(min(row.literals[literal] for literal in literals), 0.0)
        chosen = [literal for literal in literals if row.literals[literal] <= least]
    else:
        reaches = dict(zip(literals, rule_reaches(fitted, rule), strict=True))
        chosen = [literal for literal in literals if not reaches[literal].always]
        chosen = chosen or [literal for literal in literals if not reaches[literal].flat]
    bounds: dict[int, dict[bool, Bound]] = {}
    facts: dict[str, CellFact] = {}
    for literal in chosen:
        found = condition_for_row(fitted, literal, row)
        if isinstance(found, CellFact):
            if found.has not in facts or facts[found.has].asked == RULED_OUT:
                facts[found.has] = found  # "not south" says more than "which is ruled out"
            continue
        sides = bounds.setdefault(found.column.source, {})
        held = sides.get(found.rises, found)
        further = found.threshold > held.threshold
        sides[found.rises] = found if further == found.rises else held
    texts = [
        row_bounds_words(fitted, [*own.values()], row, missed=missed) for own in bounds.values()
    ]
    texts += [f"{has}, {asked}" if asked else has for has, asked in facts.values()]
    return listed(texts, "and")


def condition_for_row(fitted: Fitted, literal: int, row: RowOfTable) -> Bound | CellFact:
    """What a literal asks of one column, if the other columns stay as they are in the row.

    The column chosen is the one of largest weight. Columns that alone can decide whether the
    literal holds, within their range in training, come before the others.
    """
    weights = fitted.network.weights[literal].astype(np.float64)
    largest: Bound | CellFact | None = None
    for place in np.argsort(-np.abs(weights), kind="stable").tolist():
        if weights[place]:
            settles, found = asked_of_column(fitted, literal, place, row)
            if settles and found is not None:
                return found
            largest = largest or found
    return largest or CellFact(EVERY_ROW)


def asked_of_column(
    fitted: Fitted, literal: int, place: int, row: RowOfTable
) -> tuple[bool, Bound | CellFact | None]:
    """Whether one column alone can decide that a literal holds, and what is asked of it.

    `place` is the column's place among the network's features. Nothing is asked of categories
    if the row fails the literal with each of them.
    """
    encoder, feature = fitted.encoder, int(fitted.network.features[place])
    column, weight = encoder.columns[feature], float(fitted.network.weights[literal, place])
    cell, value = row.cells[column.source], float(row.literals[literal])
    if isinstance(column, Missing):
        return False, CellFact(state_text(encoder, column, present=bool(np.isnan(cell))))
    if isinstance(column, Indicator):
        return True, category_fact(fitted, literal, column.source, row)
    if np.isnan(cell):
        return False, CellFact(f"{in_formula(encoder.names[column.source])} is missing")
    if isinstance(column, Flag):
        other = float(column.encoded(np.array(float(not cell))))
        turned = value + weight * (other - row.encoded[feature])
        asked = f"not {'false' if cell else 'true'}" if value <= 0 < turned else ""
        has = state_text(encoder, column, present=bool(cell))
        return (value > 0) != (turned > 0), CellFact(has, asked)
    encoded = row.encoded[feature] - value / weight
    low, high = column.span
    slope = weight / column.in_sums.scale
    bound = Bound(column, weight > 0, column.original(encoded), slope)
    return bool(low <= encoded <= high), bound


def category_fact(
    fitted: Fitted, literal: int, source: int, row: RowOfTable
) -> CellFact | None:
    """The category of a row and, if the row fails a literal, the categories that would pass.

    None if the row fails the literal with every category.
    """
    network, encoder = fitted.network, fitted.encoder
    weights = dict(zip(network.features.tolist(), network.weights[literal], strict=True))
    without = value = float(row.literals[literal])
    held, steps = "another value", []
    for feature, column in enumerate(encoder.columns):
        if column.source != source:
            continue
        low, high = column.span
        step = float(weights.get(feature, 0.0)) * (high - low)
        steps.append((category_words(column), step))
        if row.encoded[feature] > (low + high) / 2:
            held = category_words(column)
            without -= step
    has = f"{in_formula(encoder.names[source])} is {held}"
    if value > 0:
        return CellFact(has)
    if without > 0:
        return CellFact(has, RULED_OUT)
    passing = [category for category, step in steps if without + step > 0]
    return CellFact(has, f"not {listed(passing, 'or')}") if passing else None


def row_bounds_words(
    fitted: Fitted, bounds: list[Bound], row: RowOfTable, *, missed: bool
) -> str:
    """A number of a row and the bounds on it, in words: from below, from above or both."""
    column = bounds[0].column
    words, cell = number_words(fitted.encoder, column), float(row.cells[column.source])
    shown = f"{words.name} is {words.cell(cell)}"
    if missed:
        asked = [words.gap(bound.threshold, cell, rises=bound.rises) for bound in bounds]
    else:
        asked = [
            f"{words.side(bound.rises)} "
            f"{words.cell(words.threshold_for_row(bound.threshold, up=not bound.rises))}"
            for bound in bounds
            if column.lowest <= bound.threshold <= column.highest
        ]
    return f"{shown}, {' and '.join(asked)}" if asked else shown
