"""Rules written in the user's column names and units. Text is made last, from arrays.

A literal w . x + a > 0 over standardised, encoded columns becomes an inequality over
the columns of the user's table. Indicators stand in brackets and count 1 where they
hold. A missing number counts nothing: where a column had holes in training, the bracket
``[income is missing]`` says what the literal adds for them instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from neuralrules._encoding import EncodedColumn, Encoder

if TYPE_CHECKING:
    from neuralrules._model import NeuralRuleModel


@dataclass(frozen=True)
class Term:
    """One summand of a literal in the user's units.

    Attributes
    ----------
    column : EncodedColumn
        A number, or an indicator, which counts 1 where it holds.
    factor : float
        What it is multiplied by.
    """

    column: EncodedColumn
    factor: float

    @property
    def weight(self) -> float:
        """The factor for one standard deviation of the column."""
        return self.factor * self.column.scale


def rules_text(
    model: NeuralRuleModel, *, max_rules: int | None, precision: int, max_terms: int
) -> str:
    """Rules of a fitted model, the most important ones first.

    Parameters
    ----------
    model : fitted estimator
    max_rules : int or None
        How many rules; None means all.
    precision : int
        Significant digits.
    max_terms : int
        Columns shown in one literal; "…" stands for those of smaller weight.
    """
    check_counts(
        max_rules=1 if max_rules is None else max_rules,
        precision=precision,
        max_terms=max_terms,
    )
    network, activity = model.network_, model._activity
    weight = np.abs(network.values).max(axis=1) * activity.activation
    blocks = []
    for rule in np.argsort(-weight, kind="stable")[:max_rules]:
        share = number(100 * activity.covered[rule] / activity.n_rows, 2)
        values = ", ".join(number(value, precision) for value in network.values[rule])
        lines = [
            f"Rule {rule}: value {values} (covers {share} % of the training rows)",
            f"  leaf  {tree_rule_text(model, rule, precision)}",
        ]
        texts = condition_texts(model, rule, precision, max_terms)
        lines += [f"  {'now' if i == 0 else 'and'}   {text}" for i, text in enumerate(texts)]
        named = named_literals(model, rule, precision, max_terms) if network.deep else []
        lines += [f"  where {text}" for text in named]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def check_counts(**counts: int) -> None:
    """Refuse what is not a whole number of at least 1."""
    for name, value in counts.items():
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name}={value!r} must be a whole number of at least 1.")


def rule_text(model: NeuralRuleModel, rule: int, precision: int, max_terms: int) -> str:
    """A neural rule in one line."""
    text = " and ".join(condition_texts(model, rule, precision, max_terms))
    if model.network_.deep:
        text += ", where " + ", ".join(named_literals(model, rule, precision, max_terms))
    return text


def condition_texts(
    model: NeuralRuleModel, rule: int, precision: int, max_terms: int
) -> list[str]:
    """What must hold for a rule to fire, one inequality after the other.

    For a deep rule they are those of its second layer, over the positive parts of its
    literals, which have names: A⁺, B⁺, ….
    """
    network = model.network_
    if network.deep:
        return unit_texts(model, rule, precision, max_terms)
    own = range(network.offsets[rule], network.offsets[rule + 1])
    texts = [literal_text(model, literal, precision, max_terms) for literal in own]
    # A literal that always holds says nothing beside others.
    return [text for text in texts if text != "every row"] or texts[:1]


def named_literals(
    model: NeuralRuleModel, rule: int, precision: int, max_terms: int
) -> list[str]:
    """The literals of a deep rule, not scaled: what its second layer adds up."""
    network, encoder = model.network_, model.encoder_
    texts = []
    for place, literal in enumerate(range(network.offsets[rule], network.offsets[rule + 1])):
        weights, bias = network.weights[literal].astype(float), float(network.biases[literal])
        terms, constant = in_user_units(encoder, network.features, weights, bias)
        terms.sort(key=lambda term: (term.column.kind == "missing", -abs(term.weight)))
        parts = [(term.factor, column_text(encoder, term.column)) for term in terms]
        text = sum_text(parts[:max_terms], precision) + (" + …" if parts[max_terms:] else "")
        sign = "-" if constant < 0 else "+"
        text += f" {sign} {number(abs(constant), precision)}" if text else number(constant, 3)
        texts.append(f"{letter(place)} = {text}")
    return texts


def letter(place: int) -> str:
    """A, B, …, Z, A1, B1, …: the name of a literal inside a deep rule."""
    return chr(ord("A") + place % 26) + (str(place // 26) if place >= 26 else "")


def unit_texts(model: NeuralRuleModel, rule: int, precision: int, max_terms: int) -> list[str]:
    """The second layer of a deep rule: sums of the positive parts of its literals."""
    network = model.network_
    texts = []
    own = slice(network.offsets[rule], network.offsets[rule + 1])
    for weights, shift in zip(network.second_layer(rule), network.shifts[own], strict=True):
        order = np.argsort(-np.abs(weights), kind="stable")
        shown = [place for place in order[:max_terms] if weights[place] != 0]
        parts = [(float(weights[place]), f"{letter(int(place))}⁺") for place in shown]
        text = sum_text(parts, precision) or "0"
        if np.count_nonzero(weights) > max_terms:
            text += " + …"
        texts.append(f"{text} > {number(0.0 - float(shift), precision)}")
    return texts


def sum_text(parts: list[tuple[float, str]], precision: int) -> str:
    """Factors and names as a sum: 2·a - b."""
    text = ""
    for factor, name in parts:
        size = number(abs(factor), precision)
        term = name if size == "1" else f"{size}·{name}"
        sign = "-" if factor < 0 else "+"
        text += f" {sign} {term}" if text else (f"-{term}" if factor < 0 else term)
    return text


def tree_rule_text(model: NeuralRuleModel, rule: int, precision: int) -> str:
    """The tree rule behind a neural rule, without redundancy."""
    rules = model.rules_
    lower: dict[int, float] = {}
    upper: dict[int, float] = {}
    for literal in range(rules.offsets[rule], rules.offsets[rule + 1]):
        feature = int(rules.features[literal])
        threshold = float(rules.thresholds[literal])
        if rules.signs[literal] > 0:
            lower[feature] = max(threshold, lower.get(feature, -np.inf))
        else:
            upper[feature] = min(threshold, upper.get(feature, np.inf))
    parts = [
        text
        for feature in dict.fromkeys([*lower, *upper])
        if (text := bounds_text(model.encoder_, feature, lower, upper, precision))
    ]
    return " and ".join(parts) or "every row"


def bounds_text(
    encoder: Encoder,
    feature: int,
    lower: dict[int, float],
    upper: dict[int, float],
    precision: int,
) -> str:
    """Bounds of a tree rule on one encoded column in the user's words.

    Empty where another column's bounds say as much: "city = Rome" settles every other
    city, "income is missing" all incomes, and bounds on an income that it is known. A
    missing number counts as the mean, 0 here, so bounds around it include the holes.
    """
    column = encoder.columns[feature]
    beside = [
        other
        for other in {*lower, *upper}
        if other != feature and encoder.columns[other].source == column.source
    ]
    if any(other in lower and encoder.columns[other].kind != "number" for other in beside):
        return ""
    if column.kind == "missing" and feature not in lower and beside:
        return ""
    low, high = lower.get(feature), upper.get(feature)
    text = split_text(encoder, feature, low, high, precision)
    hole = encoder.missing_indicators.get(feature)
    mean_is_inside = (low is None or low < 0) and (high is None or high > 0)
    if hole is not None and hole not in upper and mean_is_inside:
        return f"({text} or missing)"
    return text


def split_text(
    encoder: Encoder, feature: int, lower: float | None, upper: float | None, precision: int
) -> str:
    """Bounds on one encoded column, lower < x <= upper."""
    column = encoder.columns[feature]
    if column.kind != "number":
        return indicator_text(encoder, column, present=lower is not None)
    name = encoder.names[column.source]
    low, high = (
        None
        if bound is None
        else resolved(bound * column.scale + column.mean, column.scale, precision)
        for bound in (lower, upper)
    )
    if low is None:
        return f"{name} ≤ {high}"
    return f"{name} > {low}" if high is None else f"{low} < {name} ≤ {high}"


def indicator_text(encoder: Encoder, column: EncodedColumn, *, present: bool = True) -> str:
    """What an indicator column says, or that it does not hold."""
    name = encoder.names[column.source]
    if column.kind == "missing" or (column.kind == "category" and column.category is None):
        return f"{name} is missing" if present else f"{name} is known"
    value = "a rare value" if column.kind == "rare" else column.category
    return f"{name} {'=' if present else '≠'} {value}"


def column_text(encoder: Encoder, column: EncodedColumn) -> str:
    """A column as it stands in a literal: numbers bare, indicators in brackets."""
    if column.kind == "number":
        return encoder.names[column.source]
    return f"[{indicator_text(encoder, column)}]"


def in_user_units(
    encoder: Encoder, features: np.ndarray, weights: np.ndarray, bias: float
) -> tuple[list[Term], float]:
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
    terms : list of Term
        Those that are not zero.
    constant : float
        The literal is the sum of factor * column, missing numbers counting nothing,
        plus this.
    """
    factors: dict[int, float] = {}
    constant = float(bias)
    for feature, weight in zip(features.tolist(), weights.tolist(), strict=True):
        if weight:
            column = encoder.columns[feature]
            factors[feature] = factors.get(feature, 0.0) + weight / column.scale
            constant -= weight / column.scale * column.mean
            hole = encoder.missing_indicators.get(feature)
            if hole is not None:  # the mean stands in for a missing number
                stand_in = weight / column.scale * column.mean
                factors[hole] = factors.get(hole, 0.0) + stand_in
    terms = [Term(encoder.columns[feature], factor) for feature, factor in factors.items()]
    return [term for term in terms if term.factor], constant


def literal_text(model: NeuralRuleModel, literal: int, precision: int, max_terms: int) -> str:
    """A neural literal w . x + a > 0 as an inequality in the user's units."""
    network = model.network_
    weights, bias = network.weights[literal].astype(float), float(network.biases[literal])
    return inequality_text(
        model.encoder_, network.features, weights, bias, precision, max_terms
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
    that matters most stands first, with the factor 1.
    """
    terms, constant = in_user_units(encoder, features, weights, bias)
    if not terms:
        return "every row" if constant > 0 else "no row"
    # The holes' brackets come last: their factors also hold the column's mean.
    terms.sort(key=lambda term: (term.column.kind == "missing", -abs(term.weight)))
    unit = terms[0].factor
    text = ""
    for term in terms[:max_terms]:
        factor = term.factor / unit
        name = column_text(encoder, term.column)
        # A column far from zero needs more digits for the same accuracy.
        distance = max(abs(term.column.mean) / term.column.scale, 1)
        size = number(abs(factor), precision + int(np.ceil(np.log10(distance))))
        name = name if size == "1" else f"{size}·{name}"
        text += f" {'-' if factor < 0 else '+'} {name}" if text else name
    if len(terms) > max_terms:
        text += " + …"
    scale = terms[0].column.scale
    return f"{text} {'>' if unit > 0 else '<'} {resolved(-constant / unit, scale, precision)}"


def number(value: float, precision: int) -> str:
    """A number with some significant digits, in powers of ten only where it must be."""
    if value == 0 or not 1e-4 <= abs(value) < 1e15:
        return f"{value:.{precision}g}"
    decimals = max(precision - 1 - int(np.floor(np.log10(abs(value)))), 0)
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def resolved(value: float, scale: float, precision: int) -> str:
    """A number with as many digits as tell apart parts of a column's deviation `scale`."""
    if value == 0:
        return "0"
    extra = int(np.ceil(np.log10(abs(value) / scale))) if abs(value) > scale else 0
    return number(value, precision + extra)
