"""The model as data for the report's script, and the inputs of its what-if panel.

The script computes what the encoder and the network compute. So the page holds all of their
numbers: means and scales with every digit, and weights as float32 in base64.
"""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from neuralrules._charts._texts import finite, plain_text, short, short_resolved
from neuralrules._data._columns import Category, Date, Number
from neuralrules._data._dates import date_text
from neuralrules._data._encoder import Encoder
from neuralrules._data._numbers import LARGEST
from neuralrules._expression._javascript import Printer
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._formula import Formula
from neuralrules._reading._column_words import words_of
from neuralrules._reading._conditions import Reach, cap, rule_reaches
from neuralrules._reading._notation import column_label, in_formula

OTHER = "another value"
MISSING = "missing"


def packed(array: np.ndarray) -> str:
    """Little-endian float32 numbers in base64, row by row."""
    return base64.b64encode(np.ascontiguousarray(array, "<f4").tobytes()).decode("ascii")


def page_model(fitted: Fitted) -> dict[str, Any]:
    """The network for the script, and the texts about its columns and outputs."""
    network = fitted.network.without_unused_features()
    classes, rules = fitted.task.labels, range(network.n_rules)
    return {
        "task": "classes" if classes else "numbers",
        "probabilities": fitted.task.gives_probabilities,
        "link": fitted.task.loss.link.function,
        "classes": [str(label) for label in classes],
        "outputs": output_texts(fitted),
        "deep": network.deep,
        "largest": float(LARGEST),
        "features": page_features(fitted.encoder, network.features.tolist()),
        "nFeatures": int(network.features.size),
        "offsets": network.offsets.tolist(),
        "weights": packed(network.weights),
        "biases": packed(network.biases),
        "values": packed(network.values),
        "mixing": packed(network.mixing),
        "shifts": packed(network.shifts),
        "intercept": network.intercept.tolist(),
        "settled": [settled(own) for rule in rules for own in rule_reaches(fitted, rule)],
        "caps": [finite(cap(fitted, rule)) for rule in rules],
    }


def settled(reached: Reach) -> str | None:
    """Whether a literal, or a unit of a deep rule, is positive always or never.

    The ranges of the columns in the training table decide this. The result is "flat" if the
    literal is always positive and hardly varies. It is None if the ranges decide nothing.
    """
    if reached.always:
        return "flat" if reached.flat else "always"
    return "never" if reached.never else None


def output_texts(fitted: Fitted) -> list[str]:
    """Names of the network's outputs for people."""
    task = fitted.task
    if task.are_classes:
        return [str(label) for label in task.labels[1 if task.n_classes == 2 else 0 :]]
    if task.n_outputs == 1:
        return ["prediction"]
    return [f"target {k}" for k in range(task.n_outputs)]


def page_formula(fitted: Fitted, columns: list[dict[str, Any]]) -> str:
    """The part of the script that is printed from the model's formula.

    Its function `encodedColumns` turns a row of inputs into encoded columns, in double
    precision. Its function `linked` turns the output of a regression into a prediction.
    `columns` are the inputs, as `page_columns` returns them.
    """
    formula = Formula(fitted, in_table_units=False)
    cells = {column["source"]: f"row[{place}]" for place, column in enumerate(columns)}
    choices = {c["source"]: c["keys"] for c in columns if c["kind"] == "category"}
    printer = Printer(cells, choices, {"d0": "output"})
    encoded = "".join(f"    {printer.number(x.standardised)},\n" for x in formula.columns)
    linked = printer.number(formula.predictions[0])  # all targets have the same link
    return (
        f"function encodedColumns(row) {{\n  return [\n{encoded}  ];\n}}\n\n"
        f"function linked(output) {{\n  return {linked};\n}}"
    )


def page_features(encoder: Encoder, features: list[int]) -> list[dict[str, Any]]:
    """How texts name the encoded columns that the network uses, and show them in sums."""
    result = []
    for column in (encoder.columns[feature] for feature in features):
        name, knots = in_formula(encoder.names[column.source]), column.knots
        result.append(
            {
                "label": words_of(encoder, column).in_sum,
                # For a column with knots, this mean and scale are those of sums.
                "mean": column.in_sums.mean,
                "scale": column.in_sums.scale,
                "spread": max(map(abs, column.span)),
                "knots": None if knots is None else {"x": knots.x, "z": knots.z, "name": name},
                "date": name if isinstance(column, Date) else None,
            }
        )
    return result


def page_columns(fitted: Fitted, X: Any, order: list[str] | None) -> list[dict[str, Any]]:
    """One input for each column that the model uses, in the order of the labels `order`.

    Each input has a ``name``, a ``source``, a ``kind``, a ``start`` value (a number, None for
    missing, or the place of an option) and a ``hint`` about usual values. Inputs of numbers
    also have ``hint_full``, the hint with all digits, and ``marked``, the numbers that mean
    missing. Inputs of categories also have ``keys`` (None is missing) and ``options``, the
    texts that people read. The last option stands for every value without an option of its
    own. X is a checked table or None.
    """
    encoder = fitted.encoder
    sources = fitted.used_columns
    rank = {name: place for place, name in enumerate(order or [])}
    sources.sort(key=lambda source: rank.get(column_label(encoder.names[source]), len(rank)))
    return [page_column(encoder, source, X) for source in sources]


def page_column(encoder: Encoder, source: int, X: Any) -> dict[str, Any]:
    own = encoder.columns_of(source)
    result: dict[str, Any] = {"name": column_label(encoder.names[source]), "source": source}
    first = own[0]
    if isinstance(first, Number):
        cells = np.empty(0) if X is None else encoder.numbers(X, source)
        numbers = cells[~np.isnan(cells)]
        start, hint, full = usual_number(first, None if X is None else numbers)
        holes = any(column.means_missing for column in own)
        result |= {"kind": "number", "start": start, "holes": holes, "input": "number"}
        marked = first.marked(encoder.markers)
        result["marked"] = [number for number in marked if math.isfinite(number)]
        if isinstance(first, Date):
            result |= date_input(start, timed=bool((numbers % 1 != 0).any()))
        return result | {"hint": hint, "hint_full": full}
    known = [column for column in own if isinstance(column, Category)]
    keys = [column.category for column in known]
    options = [MISSING if key is None else key for key in keys] + [OTHER]
    if X is None:  # the mean of an indicator is its share of the training rows
        shares = [column.mean for column in known]
        start = int(np.argmax(shares)) if shares else 0
    else:
        chosen = option_numbers(encoder, source, keys, X)
        start = int(np.bincount(chosen, minlength=len(options)).argmax())
    result |= {"kind": "category", "keys": keys, "options": options}
    return result | {"start": start, "hint": ""}


def usual_number(column: Number, numbers: np.ndarray | None) -> tuple[float | None, str, str]:
    """The start value of an input, and a hint about usual values: short, and in all digits.

    `numbers` are the numbers of the column without missing ones, or None without a table.
    """
    is_date, scale = isinstance(column, Date), column.scale
    if numbers is None:
        if is_date:
            mean = float(round(column.mean))
            return mean, f"mean {date_text(mean)}", f"mean {date_text(mean)}"
        # Round to about a hundredth of the standard deviation, so that a mean that is small
        # in comparison becomes zero.
        mean = round(column.mean, 2 - math.floor(math.log10(scale))) + 0.0
        hint = f"mean {short_resolved(mean, scale, 3)}, deviation {short(scale, 3)}"
        return mean, hint, f"mean {plain_text(mean)}, deviation {plain_text(scale)}"
    if not numbers.size:
        return None, "", ""
    # The median is an observed value, so that it is whole for whole numbers.
    median = float(np.quantile(numbers, 0.5, method="inverted_cdf"))
    low, high = float(numbers.min()), float(numbers.max())
    full = date_text if is_date else plain_text
    hint = f"{short_resolved(low, scale, 3)} to {short_resolved(high, scale, 3)}"
    in_full = f"{full(low)} to {full(high)}"
    return median, in_full if is_date else hint, in_full


def date_input(start: float | None, *, timed: bool) -> dict[str, Any]:
    """The input for a column of dates, `timed` if some cell of the table has a time of day."""
    text = "" if start is None else date_text(start if timed else round(start))
    if timed and text:
        text = f"{text} 00:00"[:16].replace(" ", "T")
    return {"input": "datetime-local" if timed else "date", "text": text}


def option_numbers(encoder: Encoder, source: int, keys: list[str | None], X: Any) -> list[int]:
    """The place of each cell's option. The last option stands for all other categories."""
    table = encoder.spellings(source)
    places = {spelling: keys.index(key) for spelling, key in table.items()}
    return [places.get(cell, len(keys)) for cell in encoder.categories(X, source)]


def page_examples(
    fitted: Fitted, X: Any, y: Any, columns: list[dict[str, Any]], n_examples: int
) -> list[dict[str, Any]]:
    """Rows at even distances in X, as values of the inputs."""
    n_rows = X.shape[0]
    rows = np.unique(np.linspace(0, n_rows - 1, min(n_examples, n_rows)).astype(int))
    cells: list[list[Any]] = []
    for column in columns:
        source = column["source"]
        if column["kind"] == "number":
            numbers = fitted.encoder.numbers(X, source)
            cells.append([None if np.isnan(value) else float(value) for value in numbers[rows]])
        else:
            chosen = option_numbers(fitted.encoder, source, column["keys"], X)
            cells.append([chosen[row] for row in rows])
    observed = [""] * len(rows) if y is None else observed_texts(fitted, np.asarray(y)[rows])
    return [
        {"row": int(row), "observed": text, "cells": [column[i] for column in cells]}
        for i, (row, text) in enumerate(zip(rows, observed, strict=True))
    ]


def observed_texts(fitted: Fitted, y: np.ndarray) -> list[str]:
    """The targets of some rows as texts for people."""
    if fitted.task.are_classes:
        return [str(label) for label in y.ravel().tolist()]
    return [", ".join(short(value, 4) for value in row) for row in y.reshape(len(y), -1)]
