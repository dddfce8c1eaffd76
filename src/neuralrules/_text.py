"""Rules written in the user's column names and units. Text is made last, from arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from neuralrules._encoding import EncodedColumn, Encoder

if TYPE_CHECKING:
    from neuralrules._model import NeuralRuleModel


def rules_text(
    model: NeuralRuleModel, *, max_rules: int | None, precision: int, max_terms: int
) -> str:
    """Rules of a fitted model, those with the largest value times rows first.

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
    rules, network = model.rules_, model.network_
    weight = np.abs(network.values).max(axis=1) * rules.n
    blocks = []
    for rule in np.argsort(-weight, kind="stable")[:max_rules]:
        share = number(100 * rules.n[rule] / rules.n_training, 2)
        values = ", ".join(number(value, precision) for value in network.values[rule])
        lines = [
            f"Rule {rule}: value {values} (its leaf held {share} % of the training rows)",
            f"  leaf  {tree_rule_text(model, rule, precision)}",
        ]
        literals = [
            literal_text(model, literal, precision, max_terms)
            for literal in range(network.offsets[rule], network.offsets[rule + 1])
        ]
        lines += [f"  {'now' if i == 0 else 'and'}   {text}" for i, text in enumerate(literals)]
        if network.deep:
            lines.append("        as seen through its second layer, which is not shown")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


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
        split_text(model.encoder_, feature, lower.get(feature), upper.get(feature), precision)
        for feature in dict.fromkeys([*lower, *upper])
    ]
    return " and ".join(parts) or "every row"


def split_text(
    encoder: Encoder, feature: int, lower: float | None, upper: float | None, precision: int
) -> str:
    """Bounds on one encoded column in the user's words."""
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


def literal_text(model: NeuralRuleModel, literal: int, precision: int, max_terms: int) -> str:
    """A neural literal w . x + a > 0 as an inequality in the user's units.

    It is divided by the largest weight per standard deviation, so that the column
    that matters most stands first, with the factor 1.
    """
    network, encoder = model.network_, model.encoder_
    weights = network.weights[literal].astype(float)
    if not weights.any():
        return "every row" if network.biases[literal] > 0 else "no row"
    columns = [encoder.columns[feature] for feature in network.features]
    factors = weights / np.array([column.scale for column in columns])
    bound = np.dot(factors, [column.mean for column in columns]) - network.biases[literal]
    order = np.argsort(-np.abs(weights), kind="stable")
    unit = factors[order[0]]
    text = ""
    for place in order[:max_terms]:
        factor = factors[place] / unit
        if factor == 0:
            break
        column = columns[place]
        name = encoder.names[column.source]
        term = name if column.kind == "number" else f"[{indicator_text(encoder, column)}]"
        # A column far from zero needs more digits for the same accuracy.
        distance = max(abs(column.mean) / column.scale, 1)
        size = number(abs(factor), precision + int(np.ceil(np.log10(distance))))
        term = term if size == "1" else f"{size}·{term}"
        text += f" {'-' if factor < 0 else '+'} {term}" if text else term
    if np.count_nonzero(weights) > max_terms:
        text += " + …"
    scale = columns[order[0]].scale
    return f"{text} {'>' if unit > 0 else '<'} {resolved(bound / unit, scale, precision)}"


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
