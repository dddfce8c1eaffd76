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
from neuralrules._data._columns import Category, Date, EncodedColumn, Number
from neuralrules._data._dates import date_text
from neuralrules._data._encoder import Encoder
from neuralrules._data._numbers import LARGEST
from neuralrules._expression._javascript import Printer
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._formula import Formula
from neuralrules._reading._column_words import words_of
from neuralrules._reading._names import column_label, in_formula
from neuralrules._reading._reach import Reach, cap, rule_reaches

OTHER = "another value"
MISSING = "missing"


def packed(array: np.ndarray) -> str:
    """Little-endian float32 numbers in base64, row by row."""
    return base64.b64encode(np.ascontiguousarray(array, "<f4").tobytes()).decode("ascii")


def page_model(fitted: Fitted) -> dict[str, Any]:
    """The network for the script, and the texts about its columns and outputs."""
    network = fitted.network.without_unused_features()
    classes = fitted.task.classes
    return {
        "task": "numbers" if classes is None else "classes",
        "probabilities": fitted.task.gives_probabilities,
        "link": fitted.task.loss.link.function,
        "classes": [] if classes is None else [str(label) for label in classes.tolist()],
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
        "settled": [
            settled(own)
            for rule in range(network.n_rules)
            for own in rule_reaches(fitted, rule)
        ],
        "caps": [finite(cap(fitted, rule)) for rule in range(network.n_rules)],
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
    classes = fitted.task.classes
    if classes is None:
        n_outputs = fitted.network.n_outputs
        return ["prediction"] if n_outputs == 1 else [f"target {k}" for k in range(n_outputs)]
    return [str(label) for label in (classes[1:] if len(classes) == 2 else classes).tolist()]


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
    encoded = [f"    {printer.number(x.standardised)}," for x in formula.columns]
    linked = printer.number(formula.predictions[0])  # all targets have the same link
    return "\n".join(
        [
            "function encodedColumns(row) {",
            "  return [",
            *encoded,
            "  ];",
            "}",
            "",
            "function linked(output) {",
            f"  return {linked};",
            "}",
        ]
    )


def page_features(encoder: Encoder, features: list[int]) -> list[dict[str, Any]]:
    """How texts name the encoded columns that the network uses, and show them in sums."""
    return [
        {
            "label": words_of(encoder, column).in_sum,
            # For a column with knots, this mean and scale are those of sums, not of encoding.
            "mean": column.in_sums.mean,
            "scale": column.in_sums.scale,
            "spread": max(map(abs, column.span)),
            "knots": page_knots(encoder, column),
            "date": in_formula(encoder.names[column.source])
            if isinstance(column, Date)
            else None,
        }
        for column in (encoder.columns[feature] for feature in features)
    ]


def page_knots(encoder: Encoder, column: EncodedColumn) -> dict[str, Any] | None:
    """The knots of a column, and the name of the original column; None without knots."""
    if column.knots is None:
        return None
    name = in_formula(encoder.names[column.source])
    return {"x": column.knots.x, "z": column.knots.z, "name": name}


def page_columns(fitted: Fitted, X: Any, order: list[str] | None) -> list[dict[str, Any]]:
    """One input for each column that the model uses.

    Parameters
    ----------
    fitted : Fitted
    X : checked table or None
    order : list of str or None
        Labels of the columns, the most important first.

    Returns
    -------
    list of dict
        Each input has a ``name``, a ``source``, a ``kind``, a ``start`` value (a number, None
        for missing, or the place of an option) and a ``hint`` about usual values. Inputs of
        numbers also have ``hint_full``, the hint with all digits, and ``marked``, the numbers
        that mean missing. Inputs of categories also have ``keys`` (None is missing) and
        ``options``, the texts that people read. The last option stands for every value
        without an option of its own.
    """
    encoder = fitted.encoder
    sources = fitted.used_columns
    if order is not None:
        rank = {name: place for place, name in enumerate(order)}
        sources.sort(
            key=lambda source: rank.get(column_label(encoder.names[source]), len(rank))
        )
    return [page_column(encoder, source, X) for source in sources]


def page_column(encoder: Encoder, source: int, X: Any) -> dict[str, Any]:
    own = encoder.columns_of(source)
    result: dict[str, Any] = {"name": column_label(encoder.names[source]), "source": source}
    first = own[0]
    if isinstance(first, Number):
        start, hint, full = usual_number(encoder, first, X)
        holes = any(column.means_missing for column in own)
        result |= {"kind": "number", "start": start, "holes": holes, "input": "number"}
        marked = first.marked(encoder.markers)
        result["marked"] = [number for number in marked if math.isfinite(number)]
        if isinstance(first, Date):
            result |= date_input(start, encoder.numbers(X, source) if X is not None else None)
        return result | {"hint": hint, "hint_full": full}
    known = [column for column in own if isinstance(column, Category)]
    keys = [column.category for column in known]
    options = [MISSING if key is None else key for key in keys] + [OTHER]
    result |= {"kind": "category", "keys": keys, "options": options}
    if X is None:  # the mean of an indicator is its share of the training rows
        shares = [column.mean for column in known]
        start = int(np.argmax(shares)) if shares else 0
    else:
        chosen = option_numbers(encoder, source, keys, X)
        start = int(np.bincount(chosen, minlength=len(options)).argmax())
    return result | {"start": start, "hint": ""}


def date_input(start: float | None, days: np.ndarray | None) -> dict[str, Any]:
    """The input for a column of dates, with a time of day if some cell of the table has one."""
    days = np.empty(0) if days is None else days
    timed = bool((days[~np.isnan(days)] % 1 != 0).any())
    text = "" if start is None else date_text(start if timed else round(start))
    if timed and text:
        text = f"{text} 00:00"[:16].replace(" ", "T")
    return {"input": "datetime-local" if timed else "date", "text": text}


def option_numbers(encoder: Encoder, source: int, keys: list[str | None], X: Any) -> list[int]:
    """The place of each cell's option. The last option stands for all other categories."""
    table = encoder.spellings(source)
    places = {spelling: keys.index(key) for spelling, key in table.items()}
    return [places.get(cell, len(keys)) for cell in encoder.categories(X, source)]


def usual_number(
    encoder: Encoder, column: EncodedColumn, X: Any
) -> tuple[float | None, str, str]:
    """The start value of an input, and a hint about usual values: short, and in all digits."""
    scale = column.scale
    if isinstance(column, Date):
        return usual_date(encoder, column, X)
    if X is None:
        # Round to about a hundredth of the standard deviation, so that a mean that is small
        # in comparison becomes zero.
        mean = round(column.mean, 2 - math.floor(math.log10(scale))) + 0.0
        hint = f"mean {short_resolved(mean, scale, 3)}, deviation {short(scale, 3)}"
        return mean, hint, f"mean {plain_text(mean)}, deviation {plain_text(scale)}"
    numbers = encoder.numbers(X, column.source)
    present = numbers[~np.isnan(numbers)]
    if not present.size:
        return None, "", ""
    # The median is an observed value, so that it is whole for whole numbers.
    median = float(np.quantile(present, 0.5, method="inverted_cdf"))
    ends = (float(present.min()), float(present.max()))
    hint, full = (
        " to ".join(texts)
        for texts in (
            [short_resolved(end, scale, 3) for end in ends],
            [plain_text(end) for end in ends],
        )
    )
    return median, hint, full


def usual_date(
    encoder: Encoder, column: EncodedColumn, X: Any
) -> tuple[float | None, str, str]:
    """The start value and the hints of `usual_number`, for a column of dates."""
    if X is None:
        mean = f"mean {date_text(round(column.mean))}"
        return float(round(column.mean)), mean, mean
    numbers = encoder.numbers(X, column.source)
    present = numbers[~np.isnan(numbers)]
    if not present.size:
        return None, "", ""
    ends = f"{date_text(present.min())} to {date_text(present.max())}"
    return float(np.quantile(present, 0.5, method="inverted_cdf")), ends, ends


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
