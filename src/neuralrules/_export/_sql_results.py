"""The columns of predictions: labels, probabilities, decisions and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralrules._export._sql_dialect import Dialect, is_name
from neuralrules._export._sql_printer import Printer, bounded, extreme, weighted_sum
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._formula import Formula
from neuralrules._task._loss import LARGEST_OUTPUT


def result_names(fitted: Fitted, dialect: Dialect) -> list[str]:
    """Names of the columns that hold predictions."""
    if not fitted.task.are_classes:
        n_targets = fitted.network.n_outputs
        if n_targets == 1:
            return ["prediction"]
        return [f"prediction_{target}" for target in range(n_targets)]
    if fitted.task.gives_probabilities:
        labels = fitted.task.labels
        return ["prediction", *named_by_class("probability", labels, dialect)]
    if fitted.task.n_classes == 2:
        return ["prediction", "decision"]
    return ["prediction", *named_by_class("decision", fitted.task.output_names, dialect)]


def named_by_class(prefix: str, labels: list[Any], dialect: Dialect) -> list[str]:
    """Names that end in the labels.

    They end in numbers instead if the names with labels are invalid, too long or not different.
    """
    names = [f"{prefix}_{label}" for label in labels]
    fit = all(is_name(name) and len(name.encode()) <= dialect.longest_name for name in names)
    if fit and len({name.casefold() for name in names}) == len(names):
        return names
    return [f"{prefix}_{place}" for place in range(len(labels))]


def compared_outputs(fitted: Fitted, dialect: Dialect) -> list[tuple[str, list[str]]]:
    """The names and columns of subqueries that compute the softmax of several classes."""
    n_outputs = fitted.network.n_outputs
    if not fitted.task.are_classes or n_outputs == 1:
        return []
    outputs = [f"d{output}" for output in range(n_outputs)]
    subqueries = [("compared", [f"{extreme(dialect.greatest, outputs)} AS highest"])]
    if fitted.task.gives_probabilities:
        powers = [
            # The differences are at most 0, and the lower bound prevents an underflow. The
            # largest power is 1.
            f"EXP({dialect.greatest}({output} - highest, -{LARGEST_OUTPUT:g})) AS e{place}"
            for place, output in enumerate(outputs)
        ]
        names = [f"e{place}" for place in range(n_outputs)]
        total = weighted_sum([1.0] * n_outputs, names, 0.0, dialect)
        subqueries += [("powers", powers), ("total", [f"{total} AS total"])]
    return subqueries


def result_columns(fitted: Fitted, formula: Formula, dialect: Dialect) -> list[str]:
    """The columns of predictions, computed from the outputs d0, d1, ...."""
    n_outputs = fitted.network.n_outputs
    values = [f"d{output}" for output in range(n_outputs)]
    if not fitted.task.are_classes:
        printer = Printer(dialect, {}, {})
        values = [printer.number(prediction) for prediction in formula.predictions]
    else:
        if fitted.task.gives_probabilities:
            values = probabilities(n_outputs, dialect)
        values = [prediction(fitted, dialect), *values]
    names = map(dialect.identifier, result_names(fitted, dialect))
    return [f"{value} AS {name}" for value, name in zip(values, names, strict=True)]


def probabilities(n_outputs: int, dialect: Dialect) -> list[str]:
    """The logistic function of one output, or the softmax of several."""
    if n_outputs > 1:
        return [f"e{output} / total" for output in range(n_outputs)]
    positive = f"1 / (1 + EXP({bounded('-d0', dialect)}))"
    return [f"1 - {positive}", positive]


def prediction(fitted: Fitted, dialect: Dialect) -> str:
    """The predicted label.

    It is the first label with the highest output. The second of two classes is predicted if the
    only output is positive.
    """
    labels = label_constants(fitted.task.labels, dialect)
    if len(labels) == 2:
        return f"CASE WHEN d0 > 0 THEN {labels[1]} ELSE {labels[0]} END"
    cases = [f"WHEN d{place} = highest THEN {label}" for place, label in enumerate(labels)]
    return f"CASE {' '.join(cases)} END"


def label_constants(labels: list[Any], dialect: Dialect) -> list[str]:
    """Labels as constants of one type: text, boolean, integer or double precision."""
    plain = [label.item() if isinstance(label, np.generic) else label for label in labels]
    kinds = {type(label) for label in plain}
    if kinds == {bool}:
        return [str(label).upper() for label in plain]
    if kinds == {int}:
        return [str(label) for label in plain]
    if kinds <= {bool, int, float}:
        return [dialect.as_double(repr(float(label))) for label in plain]
    texts = [dialect.string(label) if isinstance(label, str) else None for label in plain]
    for label, text in zip(plain, texts, strict=True):
        if text is None:
            raise ValueError(
                f"to_sql cannot write the class {label!r} for {dialect.title}: labels must be "
                "numbers or booleans, or strings that it can hold. Fit on y with such labels, "
                "for example their numbers."
            )
    return [text for text in texts if text is not None]
