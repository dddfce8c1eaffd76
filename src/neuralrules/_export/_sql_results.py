"""What a SELECT shows of a model's outputs: labels, probabilities, decisions, numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralrules._export._sql_dialects import (
    LONGEST_NAME,
    Dialect,
    identifier,
    is_name,
)
from neuralrules._export._sql_rules import extreme, weighted_sum
from neuralrules._fitted._fitted import Fitted
from neuralrules._task._losses import LARGEST_OUTPUT, Link


def result_names(fitted: Fitted) -> list[str]:
    """Names of the columns that hold predictions."""
    if not fitted.task.are_classes:
        n_targets = fitted.network.n_outputs
        if n_targets == 1:
            return ["prediction"]
        return [f"prediction_{target}" for target in range(n_targets)]
    if fitted.task.gives_probabilities:
        return ["prediction", *named_by_class("probability", fitted.task.labels)]
    if fitted.task.n_classes == 2:
        return ["prediction", "decision"]
    return ["prediction", *named_by_class("decision", fitted.task.output_names)]


def named_by_class(prefix: str, labels: list[Any]) -> list[str]:
    """Names by label, or by number where labels do not make different, whole names."""
    names = [f"{prefix}_{label}" for label in labels]
    fit = all(is_name(name) and len(name.encode()) <= LONGEST_NAME for name in names)
    if fit and len({name.casefold() for name in names}) == len(names):
        return names
    return [f"{prefix}_{place}" for place in range(len(labels))]


def compared_outputs(fitted: Fitted, dialect: Dialect) -> list[tuple[str, list[str]]]:
    """Subqueries, by name, that lead from outputs of several classes to their softmax."""
    n_outputs = fitted.network.n_outputs
    if not fitted.task.are_classes or n_outputs == 1:
        return []
    outputs = [f"d{output}" for output in range(n_outputs)]
    subqueries = [("compared", [f"{extreme(dialect.greatest, outputs)} AS highest"])]
    if fitted.task.gives_probabilities:
        powers = [
            # Differences are at most 0: the largest power is 1, and none underflows.
            f"EXP({dialect.greatest}({output} - highest, -{LARGEST_OUTPUT:g})) AS e{place}"
            for place, output in enumerate(outputs)
        ]
        names = [f"e{place}" for place in range(n_outputs)]
        total = weighted_sum([1.0] * n_outputs, names, 0.0)
        subqueries += [("powers", powers), ("total", [f"{total} AS total"])]
    return subqueries


def result_columns(fitted: Fitted, dialect: Dialect) -> list[str]:
    """Columns that hold predictions, by the outputs d0, d1, ...."""
    n_outputs = fitted.network.n_outputs
    values = [f"d{output}" for output in range(n_outputs)]
    if not fitted.task.are_classes:
        values = [linked(fitted.task.loss.link, value, dialect) for value in values]
    else:
        if fitted.task.gives_probabilities:
            values = probabilities(n_outputs, dialect)
        values = [prediction(fitted, dialect), *values]
    names = result_names(fitted)
    return [f"{value} AS {identifier(name)}" for value, name in zip(values, names, strict=True)]


def probabilities(n_outputs: int, dialect: Dialect) -> list[str]:
    """The logistic function of one output, or the softmax of several."""
    if n_outputs > 1:
        return [f"e{output} / total" for output in range(n_outputs)]
    positive = f"1 / (1 + EXP({bounded('-d0', dialect)}))"
    return [f"1 - {positive}", positive]


def linked(link: Link, output: str, dialect: Dialect) -> str:
    """A prediction of a number by an output."""
    if link.function is None:
        return output
    return f"{link.function.upper()}({bounded(output, dialect)})"


def bounded(output: str, dialect: Dialect) -> str:
    """PostgreSQL raises an error where exp() overflows, and where it underflows."""
    largest = f"{LARGEST_OUTPUT:g}"
    return f"{dialect.greatest}(-{largest}, {dialect.least}({largest}, {output}))"


def prediction(fitted: Fitted, dialect: Dialect) -> str:
    """The label of the first class with the highest output, or of a positive one."""
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
        return [f"CAST({float(label)!r} AS DOUBLE PRECISION)" for label in plain]
    texts = [dialect.string(label) if isinstance(label, str) else None for label in plain]
    for label, text in zip(plain, texts, strict=True):
        if text is None:
            raise ValueError(
                f"to_sql cannot write the class {label!r} for {dialect.title}: labels must be "
                "numbers or booleans, or strings that it can hold. Fit on y with such labels, "
                "for example their numbers."
            )
    return [text for text in texts if text is not None]
