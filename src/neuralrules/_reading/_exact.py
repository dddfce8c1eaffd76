"""A model as text that loses nothing, and back.

::

    neuralrules rules 1
    task "classes"
    classes ["malignant", "benign"]
    loss "logistic"
    missing ["-999", "unknown"]
    column "mean radius" number missing 14.127 deviation 3.5
    column "opened" number missing 18262.0 deviation 300.0 dates
    column "income" scaled [[1200.0, -2.9], [31000.0, 0.1], [2e6, 3.1]] mean 4e4 deviation 6e4
    column "city" categories ["Oslo", "Rome"] missing rare
    intercept [0.0]

    rule 0 value [1.25]
      + 0.01 * "mean radius" + 0.5 * scaled("income") - 2.5 * ["city" = "Rome"] + 3.0
      - 1.0 * ["city" is missing] + 0.5

Names and categories are JSON strings, numbers have every digit of float64. Each indented
line is one literal; a rule's activation is the smallest of them, or 0. Brackets count 1
where they hold. The line ``missing``, if there is one, lists what else means missing in a
cell, besides an empty one. A missing number is replaced as its column says; ``missing`` and
``rare`` after categories say which brackets the column has beside them. In a deep rule a line
``through`` stands between the literals and as many units above them, which are sums of
the literals' positive parts, A0, A1, ….

A scaled column goes straight through its points [number, scaled number] and stays at the
first and the last outside of them; a missing number counts 0, scaled.

A regression has ``task "numbers"`` and, instead of classes and loss, ``flat true`` if it
was fitted on one target without a dimension of its own, ``flat false`` if predictions are
a table with one column a target. A line ``loss "poisson"`` after it names the loss if
it is not the squared error; predictions may be a function of the sums then. ``scale`` and
the columns' deviations are what targets and columns are measured in when the rules are
trained further; they change no prediction and may be left out, as may the mean of a scaled
column.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from neuralrules._data._columns import EncodedColumn, in_original_units
from neuralrules._data._encoder import Encoder
from neuralrules._fitted._fitted import Fitted
from neuralrules._task._number_losses import SquaredError

FIRST_LINE = "neuralrules rules 1"


def exact_text(fitted: Fitted) -> str:
    """The text of a fitted model; see the top of this module for its form."""
    network, encoder = fitted.network, fitted.encoder
    lines = [FIRST_LINE, *target_lines(fitted)]
    if encoder.named and encoder.names == [f"x{i}" for i in range(len(encoder.names))]:
        lines.append("named true")  # or they would be taken for those of an array
    if encoder.missing:
        lines.append(f"missing {listed(encoder.missing)}")
    lines += [column_line(encoder, source) for source in range(len(encoder.names))]
    lines.append(f"intercept {listed(network.intercept)}")
    for rule in range(network.n_rules):
        lines += ["", f"rule {rule} value {listed(network.values[rule].astype(np.float64))}"]
        own = range(network.offsets[rule], network.offsets[rule + 1])
        lines += [f"  {literal_line(fitted, literal)}" for literal in own]
        if network.deep:
            lines.append("  through")
            layer = network.second_layer(rule).astype(np.float64)
            for weights, literal in zip(layer, own, strict=True):
                parts = [(weight, f"A{j}") for j, weight in enumerate(weights) if weight]
                lines.append(f"  {sum_line(parts, float(network.shifts[literal]))}")
    return "\n".join(lines) + "\n"


def target_lines(fitted: Fitted) -> list[str]:
    """What the model predicts: classes and how they were learned, or numbers."""
    classes, loss = fitted.task.classes, f"loss {json.dumps(fitted.task.loss.document())}"
    if classes is None:
        return [
            'task "numbers"',
            f"flat {quoted(fitted.task.flat)}",
            *([] if isinstance(fitted.task.loss, SquaredError) else [loss]),
            f"scale {listed(fitted.task.scale)}",
        ]
    return ['task "classes"', f"classes {listed(classes)}", loss]


def column_line(encoder: Encoder, source: int) -> str:
    """The declaration of a column of the user's table."""
    own = encoder.columns_of(source)
    name = quoted(encoder.names[source])
    dates = " dates" if own[0].is_date else " booleans" if own[0].is_boolean else ""
    if own[0].knots is not None:
        points = list(zip(own[0].knots.x, own[0].knots.z, strict=True))
        moments = f"mean {own[0].mean!r} deviation {own[0].scale!r}"
        return f"column {name} scaled {json.dumps(points)} {moments}{dates}"
    if own[0].kind == "number":
        moments = f"missing {own[0].mean!r} deviation {own[0].scale!r}"
        return f"column {name} number {moments}{dates}"
    known = [column.category for column in own if column.kind == "category"]
    text = f"column {name} categories {listed([name for name in known if name is not None])}"
    text += " missing" if None in known else ""
    return text + (" rare" if any(column.kind == "rare" for column in own) else "")


def literal_line(fitted: Fitted, literal: int) -> str:
    """A literal in the table's units."""
    network, encoder = fitted.network, fitted.encoder
    weights = network.weights[literal].astype(np.float64)
    used = np.flatnonzero(weights)
    columns = [encoder.columns[feature] for feature in network.features[used]]
    factors, constant = in_original_units(
        weights[used].tolist(),
        float(network.biases[literal]),
        [column.in_sums for column in columns],
    )
    names = [column_name(encoder, column) for column in columns]
    return sum_line(list(zip(factors, names, strict=True)), constant)


def column_name(encoder: Encoder, column: EncodedColumn) -> str:
    """An encoded column as sums name it."""
    name = quoted(encoder.names[column.source])
    if column.kind == "number":
        return name if column.knots is None else f"scaled({name})"
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
