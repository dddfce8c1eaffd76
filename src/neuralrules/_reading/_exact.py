"""A model as text that loses nothing, and back.

::

    neuralrules rules 1
    task "classes"
    classes ["malignant", "benign"]
    loss "logistic"
    column "mean radius" number missing 14.127
    column "city" categories ["Oslo", "Rome"] missing rare
    intercept [0.0]

    rule 0 value [1.25]
      + 0.01 * "mean radius" - 2.5 * ["city" = "Rome"] + 3.0
      - 1.0 * ["city" is missing] + 0.5

Names and categories are JSON strings, numbers have every digit of float64. Each indented
line is one literal; a rule's activation is the smallest of them, or 0. Brackets count 1
where they hold. A missing number is replaced as its column says; ``missing`` and ``rare``
after categories say which brackets the column has beside them. In a deep rule a line
``through`` stands between the literals and as many units above them, which are sums of
the literals' positive parts, A0, A1, ….

A regression has ``task "numbers"`` and, instead of classes and loss, ``flat true`` if it
was fitted on one target without a dimension of its own, ``flat false`` if predictions are
a table with one column a target.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from neuralrules._data._encoding import (
    EncodedColumn,
    Encoder,
)

if TYPE_CHECKING:
    from neuralrules._estimators._base import NeuralRuleModel

FIRST_LINE = "neuralrules rules 1"


def exact_text(model: NeuralRuleModel) -> str:
    """The text of a fitted model; see the top of this module for its form."""
    network, encoder = model.network_, model.encoder_
    lines = [FIRST_LINE, *target_lines(model)]
    lines += [column_line(encoder, source) for source in range(len(encoder.names))]
    lines.append(f"intercept {listed(network.intercept)}")
    for rule in range(network.n_rules):
        lines += ["", f"rule {rule} value {listed(network.values[rule].astype(np.float64))}"]
        own = range(network.offsets[rule], network.offsets[rule + 1])
        lines += [f"  {literal_line(model, literal)}" for literal in own]
        if network.deep:
            lines.append("  through")
            layer = network.second_layer(rule).astype(np.float64)
            for weights, literal in zip(layer, own, strict=True):
                parts = [(weight, f"A{j}") for j, weight in enumerate(weights) if weight]
                lines.append(f"  {sum_line(parts, float(network.shifts[literal]))}")
    return "\n".join(lines) + "\n"


def target_lines(model: Any) -> list[str]:
    """What the model predicts: classes and how they were learned, or numbers."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return ['task "numbers"', f"flat {quoted(model._flat_y)}"]
    return ['task "classes"', f"classes {listed(classes)}", f"loss {quoted(model.loss)}"]


def column_line(encoder: Encoder, source: int) -> str:
    """The declaration of a column of the user's table."""
    own = encoder.columns_of(source)
    name = quoted(encoder.names[source])
    if own[0].kind == "number":
        return f"column {name} number missing {own[0].mean!r}"
    known = [column.category for column in own if column.kind == "category"]
    text = f"column {name} categories {listed([name for name in known if name is not None])}"
    text += " missing" if None in known else ""
    return text + (" rare" if any(column.kind == "rare" for column in own) else "")


def literal_line(model: NeuralRuleModel, literal: int) -> str:
    """A literal in the table's units: w (x - mean) / scale is w / scale x - w / scale mean."""
    network, encoder = model.network_, model.encoder_
    constant = float(network.biases[literal])
    parts = []
    weights = network.weights[literal].astype(np.float64)
    for feature, weight in zip(network.features, weights, strict=True):
        if weight:
            column = encoder.columns[feature]
            parts.append((weight / column.scale, column_name(encoder, column)))
            constant -= weight / column.scale * column.mean
    return sum_line(parts, constant)


def column_name(encoder: Encoder, column: EncodedColumn) -> str:
    """An encoded column as sums name it."""
    name = quoted(encoder.names[column.source])
    if column.kind == "number":
        return name
    if column.kind == "rare":
        return f"[{name} is rare]"
    if column.kind == "missing" or column.category is None:
        return f"[{name} is missing]"
    return f"[{name} = {quoted(column.category)}]"


def sum_line(parts: list[tuple[float, str]], constant: float) -> str:
    """A sum of factors times names and a constant; repr has every digit of a float."""
    text = "".join(
        f"{'-' if factor < 0 else '+'} {abs(float(factor))!r} * {name} "
        for factor, name in parts
    )
    return text + f"{'-' if constant < 0 else '+'} {abs(float(constant))!r}"


def quoted(item: Any) -> str:
    """A name, category, label or number as JSON."""
    plain = item.item() if isinstance(item, np.generic) else item
    if not isinstance(plain, str | int | float):
        raise TypeError(
            f"exact_text cannot write the class {plain!r}: labels must be strings, numbers or "
            "booleans. Fit on y with such labels, for example y.astype(str)."
        )
    return json.dumps(plain)


def listed(items: Any) -> str:
    """A JSON list on one line."""
    return "[" + ", ".join(quoted(item) for item in items) + "]"
