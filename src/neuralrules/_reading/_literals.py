"""One literal in the user's columns and units.

A literal w . x + a > 0 over standardised, encoded columns becomes an inequality over the
columns of the user's table. Indicators stand in brackets and count 1 where they hold. A
missing number counts as its mean; ``[income is missing]`` is what the literal adds to that. A
column scaled by its quantiles is ``scaled(income)`` in a sum with others, a date is
``days(opened)``; alone, its literal is a threshold on the column itself.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from neuralrules._data._columns import EncodedColumn, in_original_units
from neuralrules._data._dates import date_text
from neuralrules._data._encoder import Encoder
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._names import category_text, in_formula
from neuralrules._reading._numbers import number, resolved
from neuralrules._reading._reach import reach

LOST = 1e-6  # of a deviation: what float32 may lose of a threshold
DAYS_APART = 3.0  # dates that lie further apart are told without the time of day
EVERY_ROW, NO_ROW = "every row", "no row"  # what holds, or fails, whatever a row is like


@dataclass(frozen=True)
class Summand:
    """One summand of a literal in the user's units.

    Attributes
    ----------
    column : EncodedColumn
        A number, scaled if it has knots, or an indicator, which counts 1 where it holds.
    factor : float
        What it is multiplied by.
    """

    column: EncodedColumn
    factor: float

    @property
    def weight(self) -> float:
        """The factor for one standard deviation of the column."""
        return self.factor * self.column.in_sums.scale


def slant(inequality: str) -> tuple[str, bool]:
    """What an inequality is about, and whether that must be large or small."""
    match = re.fullmatch(r"(.*) ([<>]) [^<>]*", inequality)  # no bound holds < or >
    assert match is not None
    return match[1], match[2] == ">"


def signed_text(factor: float, name: str, precision: int, before: str) -> str:
    """A factor and a name as the next summand after the text `before`: " - 2·a"."""
    size = number(abs(factor), precision)
    term = name if size == "1" else f"{size}·{name}"
    if not before:
        return f"-{term}" if factor < 0 else term
    return f" - {term}" if factor < 0 else f" + {term}"


def sum_text(encoder: Encoder, terms: list[Summand], divisor: float, precision: int) -> str:
    """Terms, divided by `divisor`, as a sum."""
    text = ""
    for term in terms:
        name = column_text(encoder, term.column)
        digits = shown_digits(term, precision)
        text += signed_text(term.factor / divisor, name, digits, text)
    return text


def shown_digits(term: Summand, precision: int) -> int:
    """Digits of a factor: a column far from zero needs more of them for the same accuracy."""
    unit = term.column.in_sums
    distance = max(abs(unit.mean) / unit.scale, 1)
    return precision + int(np.ceil(np.log10(distance)))


def most_important(terms: list[Summand], max_terms: int) -> tuple[list[Summand], float]:
    """The terms of largest weight, and what the others add where they are at their means."""
    order = sorted(terms, key=lambda term: -abs(term.weight))
    rest = sum(term.factor * term.column.in_sums.mean for term in order[max_terms:])
    return order[:max_terms], rest


def threshold_text(column: EncodedColumn, bound: float, precision: int, sign: str) -> str:
    """A bound on an encoded column in the user's units."""
    return original_text(column, column.original(bound), precision, sign)


def original_text(column: EncodedColumn, value: float, precision: int, sign: str = "") -> str:
    """A number of a column, in digits that tell apart parts of its deviation, or a date.

    Behind a `sign` it is a bound.
    """
    if column.is_date:
        return date_text(original_number(column, value, precision, sign))
    return resolved(value, column.unit_at(value), precision)


def original_number(
    column: EncodedColumn, value: float, precision: int, sign: str = ""
) -> float:
    """The number that `original_text` shows."""
    unit = column.unit_at(value)
    if not column.is_date:
        return float(resolved(value, unit, precision))
    if unit <= DAYS_APART:
        return round(value * 86_400) / 86_400
    if abs(value - round(value)) <= LOST * unit:
        return float(round(value))
    # Whole days that are below 8.5 are below 9, and those above it above 8.
    ways = {"<": math.ceil, "≥": math.ceil, ">": math.floor, "≤": math.floor}
    return float(ways.get(sign, round)(value))


def indicator_text(encoder: Encoder, column: EncodedColumn, *, present: bool = True) -> str:
    """What an indicator column says, or that it does not hold."""
    name = in_formula(encoder.names[column.source])
    if column.is_boolean:
        return f"{name} is {'true' if present else 'false'}"
    if column.kind == "missing" or (column.kind == "category" and column.category is None):
        return f"{name} is missing" if present else f"{name} is known"
    value = "a rare value" if column.kind == "rare" else category_text(column.category)
    return f"{name} {'=' if present else '≠'} {value}"


def column_text(encoder: Encoder, column: EncodedColumn) -> str:
    """A column as it stands in a sum: numbers bare or scaled, indicators in brackets."""
    if column.kind == "number":
        name = in_formula(encoder.names[column.source])
        if column.knots is not None:
            return f"scaled({name})"
        return f"days({name})" if column.is_date else name
    return f"[{indicator_text(encoder, column)}]"


def in_user_units(
    encoder: Encoder, features: np.ndarray, weights: np.ndarray, bias: float
) -> tuple[list[Summand], float]:
    """A sum w . x + a over standardised columns as a sum of terms in the user's units.

    Parameters
    ----------
    encoder : Encoder
    features : (n,) int
        Encoded columns.
    weights : (n,) float
    bias : float

    Returns
    -------
    terms : list of Summand
        Those that are not zero.
    constant : float
        The literal is the sum of factor * column, missing numbers counting as their means,
        plus this.
    """
    used = np.flatnonzero(weights)
    columns = [encoder.columns[feature] for feature in features[used].tolist()]
    factors, constant = in_original_units(
        weights[used].tolist(), float(bias), [column.in_sums for column in columns]
    )
    terms = [Summand(column, factor) for column, factor in zip(columns, factors, strict=True)]
    return terms, constant


def literal_text(fitted: Fitted, literal: int, precision: int, max_terms: int) -> str:
    """A neural literal w . x + a > 0 as an inequality in the user's units."""
    network = fitted.network
    weights, bias = network.weights[literal].astype(float), float(network.biases[literal])
    return inequality_text(
        fitted.encoder, network.features, weights, bias, precision, max_terms
    )


def inequality_text(
    encoder: Encoder,
    features: np.ndarray,
    weights: np.ndarray,
    bias: float,
    precision: int,
    max_terms: int,
) -> str:
    """A literal w . x + a > 0 as an inequality in the user's units.

    It is divided by the largest weight per standard deviation, so that the column
    that matters most stands first, with the factor 1. The columns that are not shown
    are taken at their means.
    """
    terms, constant = in_user_units(encoder, features, weights, bias)
    if not terms:
        return EVERY_ROW if constant > 0 else NO_ROW
    terms, constant = telling(terms, constant, precision)
    if len(terms) == 1 and terms[0].column.is_boolean:
        truth = truth_of(terms[0], constant)
        if truth is not None:
            return indicator_text(encoder, terms[0].column, present=truth)
    if len(terms) == 1 and lies_between_knots(terms[0], constant):
        return scaled_bound_text(encoder, terms[0], constant, precision)
    return sum_bound_text(encoder, terms, constant, precision, max_terms)


def truth_of(term: Summand, constant: float) -> bool | None:
    """Which cell alone of a column of booleans makes a sum positive; None for both or none."""
    column = term.column
    cells = [0.0, 1.0] if column.knots is None else column.encoded(np.array([0.0, 1.0]))
    false, true = (term.factor * float(cell) + constant > 0 for cell in cells)
    return true if true != false else None


def telling(
    terms: list[Summand], constant: float, precision: int
) -> tuple[list[Summand], float]:
    """The terms that digits can show; the others are at their means for all rows."""
    visible = 0.5 * 10.0**-precision * max(abs(term.weight) for term in terms)
    shown = [
        term for term in terms if abs(term.weight) * max(map(abs, term.column.span)) >= visible
    ]
    rest = [term for term in terms if shown and term not in shown]
    constant += sum(term.factor * term.column.in_sums.mean for term in rest)
    return shown or terms, constant


def limit_text(
    encoder: Encoder,
    features: np.ndarray,
    weights: np.ndarray,
    bias: float,
    precision: int,
    max_terms: int,
) -> str:
    """A literal as what limits an activation, which it does even where it always holds."""
    reached = reach(encoder, features, weights, bias)
    if reached.flat:
        return f"its cap, activation at most {number(reached.high, precision)}"
    text = inequality_text(encoder, features, weights, bias, precision, max_terms)
    if not reached.always:
        return text
    what, rises = slant(text)
    return f"how {'large' if rises else 'small'} {what} is"


def sum_bound_text(
    encoder: Encoder, terms: list[Summand], constant: float, precision: int, max_terms: int
) -> str:
    """A sum of terms and a constant that is positive, as an inequality; see above."""
    if len(terms) == 1 and terms[0].column.is_date and terms[0].column.knots is None:
        return date_bound_text(encoder, terms[0], constant, precision)
    shown, rest = most_important(terms, max_terms)
    unit, scale = shown[0].factor, shown[0].column.in_sums.scale
    text = sum_text(encoder, shown, unit, precision)
    text += " + …" if len(shown) < len(terms) else ""
    bound = resolved(-(constant + rest) / unit, scale, precision)
    return f"{text} {'>' if unit > 0 else '<'} {bound}"


def date_bound_text(encoder: Encoder, term: Summand, constant: float, precision: int) -> str:
    """A literal over one column of dates alone."""
    name = in_formula(encoder.names[term.column.source])
    sign = ">" if term.factor > 0 else "<"
    bound = original_text(term.column, -constant / term.factor, precision, sign)
    return f"{name} {sign} {bound}"


def lies_between_knots(term: Summand, constant: float) -> bool:
    """Whether a column is scaled and some of its numbers, but not all, exceed a bound.

    Outside of its knots it is flat, so that all rows may hold, or none.
    """
    low, high = sorted(term.factor * end for end in term.column.span)
    return term.column.knots is not None and low <= -constant < high


def scaled_bound_text(encoder: Encoder, term: Summand, constant: float, precision: int) -> str:
    """A literal over one scaled column alone: a threshold on the column itself."""
    bound, sign = -constant / term.factor, ">" if term.factor > 0 else "<"
    name = in_formula(encoder.names[term.column.source])
    return f"{name} {sign} {threshold_text(term.column, bound, precision, sign)}"
