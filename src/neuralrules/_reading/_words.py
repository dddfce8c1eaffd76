"""Literals in words: "income above 35300", one column at a time.

A literal over several columns is a threshold on one of them that the others move. It is told
where other numbers are at their means and no indicator holds, together with how far each
number moves it, and where it lies if an indicator holds. What hardly moves it is left out.
The literals of one column alone that bound it from the same side are one bound. Numbers are
rounded to parts of a column's deviation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from neuralrules._data._columns import EncodedColumn
from neuralrules._data._encoder import Encoder
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._literals import (
    EVERY_ROW,
    NO_ROW,
    Summand,
    in_user_units,
    indicator_text,
    inequality_text,
    most_important,
    original_text,
    telling,
)
from neuralrules._reading._names import category_text, in_formula
from neuralrules._reading._numbers import number, resolved, rounded
from neuralrules._reading._reach import reach

NEXT_TO = 1e-5  # of an activation: float32 may have lost that much of it
LOST = 1e-5  # of a deviation: what float32 and rounding may lose of a threshold
NOTHING = 1e-3  # of a column's deviation: numbers nearer to zero are not told in full
# Of the deviation of the column bounded: a column that moves the threshold by less, for one
# deviation of its own, is taken at its mean. Digits beyond the third show it all the same.
HARDLY = 0.05


@dataclass(frozen=True)
class Bound:
    """A literal as a threshold on one column of numbers.

    Attributes
    ----------
    column : EncodedColumn
        The numbers that are bounded.
    rises : bool
        Whether they must lie above the threshold.
    threshold : float
        In the column's own units; where other numbers are at their means, and no indicator
        holds.
    slope : float
        By how much the literal grows with the column.
    moves : tuple of Summand
        By how much another column moves the threshold, for each unit of its own.
    holds_missing : bool
        Whether a row without the number passes.
    """

    column: EncodedColumn
    rises: bool
    threshold: float
    slope: float
    moves: tuple[Summand, ...] = ()
    holds_missing: bool = False

    def passes(self, move: float = 0.0) -> bool | None:
        """Whether the whole range of training lies beyond the moved threshold, or none of it.

        None where some of it does.
        """
        ends = [
            end - self.threshold - move for end in (self.column.lowest, self.column.highest)
        ]
        low, high = sorted(end if self.rises else -end for end in ends)
        return True if low > 0 else False if high <= 0 else None


@dataclass(frozen=True)
class Choice:
    """A literal as the categories of one column that pass.

    Attributes
    ----------
    named : tuple of EncodedColumn
        Indicators of one column of the table, at least one.
    without : bool
        Whether all categories but those named pass, or only these.
    """

    named: tuple[EncodedColumn, ...]
    without: bool


def condition_words(
    fitted: Fitted, rule: int, precision: int, max_terms: int, level: float = 0.0
) -> list[str]:
    """What holds exactly where the activation of a shallow rule is positive, in words.

    With a `level`, where the activation is at least that. What holds on every row within the
    ranges of training is left out; nothing is left of a rule that concerns every row.
    """
    encoder, reached = fitted.encoder, level > 0
    plain: dict[int, list[Bound]] = {}
    choices: dict[int, list[Choice]] = {}
    others: list[str] = []
    for found in rule_bounds(fitted, rule, precision, max_terms, level):
        if isinstance(found, str):
            others.append(found)
        elif isinstance(found, Choice):
            choices.setdefault(found.named[0].source, []).append(found)
        elif found.moves:
            others.append(bound_words(encoder, found, precision, reached=reached))
        else:
            plain.setdefault(found.column.source, []).append(found)
    merged = [
        interval_words(encoder, bounds, precision, reached=reached) for bounds in plain.values()
    ]
    merged += [choice_words(encoder, own) for own in choices.values()]
    return list(dict.fromkeys([*merged, *others]))


def rule_bounds(
    fitted: Fitted, rule: int, precision: int, max_terms: int, level: float = 0.0
) -> list[Bound | Choice | str]:
    """What the literals of a shallow rule ask for, without what all rows of training pass."""
    network, encoder = fitted.network, fitted.encoder
    level *= 1 - NEXT_TO
    result: list[Bound | Choice | str] = []
    for literal in range(network.offsets[rule], network.offsets[rule + 1]):
        weights = network.weights[literal].astype(np.float64)
        bias = float(network.biases[literal]) - level
        own = reach(encoder, network.features, weights, bias)
        if not (own.always or (level > 0 and own.low >= 0)):
            parts = (encoder, network.features, weights, bias, precision, max_terms)
            # Terms too small to show may be all that a category lacks for the level.
            result.append(bound_of(*parts, slack=10.0**-precision if level > 0 else 0.0))
    return result


def bound_of(
    encoder: Encoder,
    features: np.ndarray,
    weights: np.ndarray,
    bias: float,
    precision: int,
    max_terms: int,
    slack: float = 0.0,
) -> Bound | Choice | str:
    """A literal w . x + a > 0 as a bound, or in words where it bounds no number.

    A category passes, too, that lacks no more than `slack` of the largest factor of any.
    """
    terms, constant = in_user_units(encoder, features, weights, bias)
    terms, constant = telling(terms, constant, precision) if terms else (terms, constant)
    flags = any(term.column.is_boolean for term in terms)
    if not terms or (flags and not any(is_measured(term.column) for term in terms)):
        return inequality_text(encoder, features, weights, bias, precision, max_terms)
    kinds = {(term.column.source, is_measured(term.column)) for term in terms}
    if len(kinds) == 1 and terms[0].column.kind == "missing":
        return indicator_text(encoder, terms[0].column, present=terms[0].factor > 0)
    if len(kinds) == 1 and not is_measured(terms[0].column):
        lacking = slack * max(abs(term.factor) for term in terms)
        return choice_of(terms, constant + lacking)
    shown, rest = most_important(terms, max_terms)
    constant += rest
    numbers = [term for term in shown if is_measured(term.column)]
    bent = any(term.column.knots is not None for term in shown)
    if not numbers or (bent and len(shown) > 1):
        return inequality_text(encoder, features, weights, bias, precision, max_terms)
    bound = threshold_of(encoder, numbers[0], shown, constant)
    least = min(HARDLY, 0.5 * 10.0 ** (2 - precision)) * bound.column.in_sums.scale
    moves = tuple(move for move in bound.moves if abs(move.weight) >= least)
    found = without_number(encoder, replace(bound, moves=moves))
    if found == EVERY_ROW:  # but for some that several indicators decide together
        return inequality_text(encoder, features, weights, bias, precision, max_terms)
    return found or replace(bound, moves=moves)


def is_measured(column: EncodedColumn) -> bool:
    """Whether a column holds numbers: booleans are told as indicators are."""
    return column.kind == "number" and not column.is_boolean


def threshold_of(
    encoder: Encoder, main: Summand, shown: list[Summand], constant: float
) -> Bound:
    """The bound on a column of numbers that a sum of terms and a constant is."""
    column, others = main.column, [term for term in shown if term is not main]
    hole = [term for term in others if term.column.source == column.source]
    others = [term for term in others if term not in hole]
    numbers = [term for term in others if is_measured(term.column)]
    at_means = constant + sum(term.factor * term.column.in_sums.mean for term in numbers)
    threshold = -at_means / main.factor
    if column.knots is not None:
        threshold = column.original(threshold)
    missing = at_means + main.factor * column.in_sums.mean + sum(t.factor for t in hole)
    has_holes = any(own.kind == "missing" for own in encoder.columns_of(column.source))
    return Bound(
        column,
        main.factor > 0,
        threshold,
        main.factor,
        tuple(Summand(term.column, -term.factor / main.factor) for term in others),
        has_holes and missing > 0,
    )


def without_number(encoder: Encoder, bound: Bound) -> Choice | str:
    """A bound where no number decides it, but only indicators; else empty."""
    without = bound.passes()
    passes = {move.column: bound.passes(move.factor) for move in bound.moves}
    if not passes or without is None or None in passes.values():
        return ""
    if any(is_measured(column) for column in passes):
        return ""
    named = [column for column in passes if passes[column] != without]
    if not named and without:
        column = bound.column
        holes = [own for own in encoder.columns_of(column.source) if own.kind == "missing"]
        known = holes and not bound.holds_missing
        return indicator_text(encoder, holes[0], present=False) if known else EVERY_ROW
    if len(named) == 1 and named[0].is_boolean:
        return indicator_text(encoder, named[0], present=not without)
    categorical = {column.kind for column in named} <= {"category", "rare"}
    if len({column.source for column in named}) != 1 or not categorical:
        return ""
    return Choice(tuple(named), without)


def choice_of(terms: list[Summand], constant: float) -> Choice | str:
    """Which categories of one column pass a sum of their indicators and a constant."""
    without = constant > 0  # of all categories that the sum does not speak of
    named = [term.column for term in terms if (constant + term.factor > 0) != without]
    if not named:
        return EVERY_ROW if without else NO_ROW
    return Choice(tuple(named), without)


def choice_words(encoder: Encoder, choices: list[Choice]) -> str:
    """Choices among the categories of one column, all of which must hold, as one."""
    name = in_formula(encoder.names[choices[0].named[0].source])
    only = [choice.named for choice in choices if not choice.without]
    never = [column for choice in choices if choice.without for column in choice.named]
    known = encoder.columns_of(choices[0].named[0].source)
    if not only and len(known) == 2:  # the one is what is not the other
        only = [tuple(known)]
    if not only:
        return f"{name} is not {listed([category_name(c) for c in dict.fromkeys(never)], 'or')}"
    left = [c for c in only[0] if c not in never and all(c in named for named in only)]
    return f"{name} is {listed([category_name(c) for c in left], 'or')}" if left else NO_ROW


def category_name(column: EncodedColumn) -> str:
    """A category as a sentence says it."""
    if column.kind == "rare":
        return "a rare value"
    return "missing" if column.category is None else category_text(column.category)


def listed(texts: list[str], last: str) -> str:
    """Texts as a sentence lists them: "a, b or c"."""
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} {last} {texts[-1]}"


def interval_words(
    encoder: Encoder, bounds: list[Bound], precision: int, *, reached: bool
) -> str:
    """Bounds on one column that nothing else moves, as one: the strictest of each side."""
    lower = [bound for bound in bounds if bound.rises]
    upper = [bound for bound in bounds if not bound.rises]
    strictest = [
        *sorted(lower, key=lambda bound: -bound.threshold)[:1],
        *sorted(upper, key=lambda bound: bound.threshold)[:1],
    ]
    if len(strictest) == 1:
        return bound_words(encoder, strictest[0], precision, reached=reached)
    column = strictest[0].column
    low, high = (
        value_text(column, bound.threshold, precision, bound_sign(bound.rises, reached=reached))
        for bound in strictest
    )
    name = in_formula(encoder.names[column.source])
    missing = " or missing" if all(bound.holds_missing for bound in bounds) else ""
    # The top of a ridge, where both sides meet; it may lie between two days.
    if low == high or (column.is_date and low > high):
        return f"{name} about {low}{missing}"
    if column.is_date:  # of days it matters whether the ends count
        first, last = (side_words(column, rises, reached=reached) for rises in (True, False))
        return f"{name} {first} {low} and {last} {high}{missing}"
    return f"{name} between {low} and {high}{missing}"


def bound_words(encoder: Encoder, bound: Bound, precision: int, *, reached: bool) -> str:
    """A bound in words; `reached` ones hold at the threshold itself too."""
    name = in_formula(encoder.names[bound.column.source])
    numbers = [move for move in bound.moves if is_measured(move.column)]
    notes = [
        f"{state_words(bound, move.factor, precision, reached=reached)} "
        f"where {indicator_text(encoder, move.column)}"
        for move in bound.moves
        if move not in numbers
    ]
    alone = None if numbers or not notes else bound.passes()
    if alone is not None:  # indicators decide whether the number matters at all
        elsewhere = "any" if alone else "none"
        return f"{name} {', '.join(notes)} ({elsewhere} elsewhere)"
    if numbers:
        at = [
            f"{in_formula(encoder.names[move.column.source])} "
            f"{value_text(move.column, move.column.in_sums.mean, precision)}"
            for move in numbers
        ]
        moved = [move_words(encoder, bound.column, move, precision) for move in numbers]
        notes = [f"at {listed(at, 'and')}; {'; '.join(moved)}", *notes]
    text = f"{name} {state_words(bound, 0.0, precision, reached=reached)}"
    text += " or missing" if bound.holds_missing else ""
    return f"{text} ({'; '.join(notes)})" if notes else text


def state_words(bound: Bound, move: float, precision: int, *, reached: bool) -> str:
    """Where the numbers of a bound must lie, once its threshold has moved."""
    measured = any(is_measured(own.column) for own in bound.moves)
    passes = bound.passes(move) if bound.moves and not measured else None
    if passes is not None:
        return "any" if passes else "none"
    side = side_words(bound.column, bound.rises, reached=reached)
    # A threshold that other numbers move lies anywhere, and is told as what is nearest.
    sign = "" if measured else bound_sign(bound.rises, reached=reached)
    return f"{side} {value_text(bound.column, bound.threshold + move, precision, sign)}"


def side_words(column: EncodedColumn, rises: bool, *, reached: bool = False) -> str:
    """On which side of a threshold numbers lie."""
    if column.is_date:
        words = ("from", "up to") if reached else ("after", "before")
    else:
        words = ("at least", "at most") if reached else ("above", "below")
    return words[0 if rises else 1]


def bound_sign(rises: bool, *, reached: bool = False) -> str:
    """The sign of a bound whose side `side_words` tells."""
    return ("≥≤" if reached else "><")[0 if rises else 1]


def days_words(size: str) -> str:
    """A number of days."""
    return f"{size} {'day' if size == '1' else 'days'}"


def move_words(encoder: Encoder, main: EncodedColumn, move: Summand, precision: int) -> str:
    """By how much another column of numbers moves a threshold."""
    step = round_step(move.column.in_sums.scale)
    change = change_words(main, move.factor * step, precision)
    return f"{change} per {step_words(encoder, move.column, rises=True)}"


def step_words(encoder: Encoder, column: EncodedColumn, *, rises: bool) -> str:
    """A step along a column, such as "0.1 more of utilisation"."""
    size = number(round_step(column.in_sums.scale), 1)
    name = in_formula(encoder.names[column.source])
    if column.is_date:
        return f"{days_words(size)} that {name} is {'later' if rises else 'earlier'}"
    return f"{size} {'more' if rises else 'less'} of {name}"


def round_step(scale: float) -> float:
    """A power of ten, about as large as a column's deviation."""
    return float(10.0 ** np.round(np.log10(scale)))


def change_words(column: EncodedColumn, change: float, precision: int) -> str:
    """A change of a threshold."""
    size = rounded(abs(change), min(column.in_sums.scale, abs(change)), max(precision - 1, 1))
    if column.is_date:
        return f"{days_words(size)} {'later' if change > 0 else 'earlier'}"
    return f"{size} {'more' if change > 0 else 'less'}"


def value_text(column: EncodedColumn, value: float, precision: int, sign: str = "") -> str:
    """A number of a column, rounded to parts of its deviation, or a date.

    Behind a `sign` a date is a bound that the same days pass. A number that has no more
    digits than asked for is told as it is: 0.75 in two digits, however wide its column.
    """
    if column.is_date:
        return original_text(column, value, precision, sign)
    unit = column.unit_at(value)
    near, full = rounded(value, round_step(unit), precision), resolved(value, unit, precision)
    if abs(value) < NOTHING * unit:  # 3e-05 late payments are none
        return near
    return next(
        (text for text in (near, full) if abs(float(text) - value) <= LOST * unit), near
    )


def growth_words(
    fitted: Fitted, rule: int, effect: float, precision: int, told: Callable[[float], str]
) -> str:
    """How what a shallow rule adds grows beyond its bounds, `effect` a unit of activation.

    The least of its literals counts. Empty where none of them is about a number. `told` says
    in words what is added.
    """
    parts: dict[str, float] = {}
    for bound in rule_bounds(fitted, rule, precision, max_terms=len(fitted.encoder.columns)):
        if not isinstance(bound, Bound):
            continue
        size = abs(effect * bound.slope) * round_step(bound.column.in_sums.scale)
        what = f"per {step_words(fitted.encoder, bound.column, rises=bound.rises)}"
        parts[what] = min(size, parts.get(what, np.inf))
    texts = [f"{told(size)} {what}" for what, size in parts.items() if size]
    if not texts:
        return ""
    least = ", whichever is least" if len(texts) > 1 else ""
    return f"growing by {listed(texts, 'or')}{least}"
