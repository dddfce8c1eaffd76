"""What the report says, section by section, as plain dictionaries for its templates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._activity import measure
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._performance import SIZE_ROWS, Performance, perform
from neuralrules._reading._importance import importances
from neuralrules._reading._literals import column_text
from neuralrules._reading._names import column_label
from neuralrules._reading._numbers import number
from neuralrules._reading._rules_table import rules_table
from neuralrules._reading._text import base_text, date_texts, scaled_texts
from neuralrules._report._charts import Chart, Points, bars, chart
from neuralrules._report._page_model import (
    finite,
    page_columns,
    page_examples,
    page_model,
)
from neuralrules._report._rules_section import table_section
from neuralrules._simplify._path import SimplificationPath

IMPORTANCE_ROWS = 2000  # rows that importances are measured on
SHOWN_COLUMNS = 20
SHOWN_RULES = 15
SHADES = 10  # of the confusion matrix


@dataclass(frozen=True)
class Given:
    """What a report is asked to measure on, and how many rows of it it may show.

    Attributes
    ----------
    X : checked table or None
    y : array-like or None
        Its targets, for people to read beside the rows that are shown.
    encoded : (n_rows, n_columns) float32 or None
        The table as the network sees it.
    rows : Rows or None
        The same with its targets. None where there are none: then the training rows count.
    sample_weight : array-like or None
    weighted : bool
        Whether rows count differently, here or in training.
    n_examples : int
    """

    X: Any = None
    y: Any = None
    encoded: np.ndarray | None = None
    rows: Rows | None = None
    sample_weight: Any = None
    weighted: bool = False
    n_examples: int = 0


def report_data(
    fitted: Fitted,
    given: Given,
    engine: Engine,
    title: str,
    simplification: SimplificationPath | None,
) -> dict[str, Any]:
    """Everything that the template of the report needs.

    Returns
    -------
    dict
        ``header``, ``performance``, ``importance``, ``sizes``, ``table``, ``inputs``,
        ``examples``, ``scaled`` and ``dates``, what such columns are, ``lineage``, and
        ``page``, the data of the script.
    """
    performance, activity = fitted.performance, fitted.activity
    if given.rows is not None:
        performance = perform(fitted.network, given.rows, engine)
        activity = measure(fitted.network, fitted.rules, given.rows, engine)
    frame = rules_table(fitted, activity)
    importance = importance_section(fitted, given, engine, frame)
    order = [bar.name for bar in importance["all_columns"]] if given.X is not None else None
    columns = page_columns(fitted, given.X, order)
    examples = []
    if given.n_examples:
        examples = page_examples(fitted, given.X, given.y, columns, given.n_examples)
    where = measured_on(fitted, given, performance.n_rows)
    table = table_section(fitted, activity, frame, where)
    names = column_texts(fitted)
    return {
        "header": header_section(fitted, title),
        "performance": performance_section(fitted, given, performance, where),
        "importance": importance,
        "sizes": size_section(fitted, performance, simplification),
        "table": table,
        "inputs": columns,
        "examples": examples,
        "scaled": scaled_texts(fitted.encoder, names, 4),
        "dates": date_texts(fitted.encoder, names),
        "lineage": fitted.lineage,
        "page": {
            "model": page_model(fitted, columns),
            "base": base_text(fitted),
            "rules": table["rules"],
            "keys": [column["key"] for column in table["columns"]],
            "columns": [
                {key: column.get(key) for key in ("name", "kind", "start", "input")}
                for column in columns
            ],
            "examples": examples,
        },
    }


def column_texts(fitted: Fitted) -> str:
    """The columns that rules may speak of, as their sums name them."""
    used = [fitted.encoder.columns[feature] for feature in fitted.network.features]
    return "\n".join(column_text(fitted.encoder, column) for column in used)


def count(value: float) -> str:
    """A number of rows, which weights may make a fraction."""
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.1f}" if value >= 1 else number(value, 3)


def header_section(fitted: Fitted, title: str) -> dict[str, Any]:
    from neuralrules._version import __version__

    network = fitted.network
    classes = fitted.task.classes
    n_targets = network.n_outputs
    if classes is not None:
        task = f"Classification into {len(classes)} classes"
    else:
        task = f"Regression of {n_targets} targets" if n_targets > 1 else "Regression"
    rows = count(fitted.performance.n_rows) + (" or more" if fitted.remembers_a_sample else "")
    now = datetime.now().astimezone()
    return {
        "title": title,
        "estimator": fitted.estimator,
        "task": task,
        "loss": fitted.task.loss.name,
        "date": now.strftime("%Y-%m-%d %H:%M"),
        "datetime": now.isoformat(timespec="seconds"),
        "version": __version__,
        "facts": [
            ("deep rules" if network.deep else "rules", count(network.n_rules)),
            ("literals in them", count(network.n_literals)),
            ("parameters other than zero", count(network.n_parameters)),
            ("training rows", rows),
            (
                f"columns, {len(fitted.used_columns)} of them used",
                count(len(fitted.encoder.names)),
            ),
        ],
    }


def measured_on(fitted: Fitted, given: Given, n_rows: int) -> str:
    """The rows that something was measured on, in words."""
    if given.y is not None:
        return f"on the {count(n_rows)} rows given"
    sample = "a sample of " if fitted.remembers_a_sample else "the "
    return f"on {sample}{count(n_rows)} training rows"


def performance_section(
    fitted: Fitted, given: Given, performance: Performance, where: str
) -> dict[str, Any]:
    return {
        "where": where,
        "training": given.y is None,
        "only_X": given.X is not None and given.y is None,
        "weighted": given.weighted,
        "metrics": [
            {"name": name[0].upper() + name[1:], "value": finite(value)}
            for name, value in performance.metrics.items()
        ],
        "confusion": None
        if performance.confusion is None
        else confusion_cells(fitted, performance.confusion),
        "calibration": calibration_charts(fitted, performance),
        "loss": fitted.task.loss.name,
        "classes": [str(label) for label in fitted.task.labels],
    }


def confusion_cells(fitted: Fitted, cells: np.ndarray) -> list[dict[str, Any]]:
    """Rows of the confusion matrix: count, share of the row and shade of each cell."""
    totals = cells.sum(axis=1)
    result = []
    for label, line, total, own in zip(
        fitted.task.labels, cells, totals, range(len(cells)), strict=True
    ):
        shares = line / total if total > 0 else np.zeros(len(line))
        result.append(
            {
                "label": str(label),
                "total": count(total),
                "cells": [
                    {
                        "count": count(value),
                        "share": f"{100 * share:.1f}" if total > 0 else None,
                        "shade": int(np.ceil(SHADES * share)),
                        "right": place == own,
                    }
                    for place, (value, share) in enumerate(zip(line, shares, strict=True))
                ],
            }
        )
    return result


def calibration_charts(fitted: Fitted, performance: Performance) -> list[Chart]:
    """Predictions against what happened, one chart a curve."""
    classes = fitted.task.classes
    charts = []
    for k, curve in enumerate(performance.calibration):
        predicted, observed, weight = curve[curve[:, 2] > 0].T
        texts = [
            f"predicted {number(a, 3)}, observed {number(b, 3)}, {count(n)} rows"
            for a, b, n in zip(predicted, observed, weight, strict=True)
        ]
        if classes is None:
            of = "" if len(performance.calibration) == 1 else f" of target {k}"
            title, labels = f"Predicted against observed mean{of}", ("predicted", "observed")
        elif len(classes) == 2:
            title = f"Calibration of the probability of {classes[1]}"
            labels = (f"predicted probability of {shortened(classes[1])}", "observed share")
        else:
            title = "Calibration of the probability of the predicted class"
            labels = ("probability of the predicted class", "share that is right")
        charts.append(
            chart(
                Points(predicted, observed, texts),
                title=title,
                x_label=labels[0],
                y_label=labels[1],
                bounds=None if classes is None else (0.0, 1.0),
                diagonal=True,
            )
        )
    return charts


def shortened(label: Any, length: int = 24) -> str:
    """A name that has to fit into a chart."""
    text = str(label)
    return text if len(text) <= length else text[: length - 1] + "…"


def importance_section(
    fitted: Fitted, given: Given, engine: Engine, frame: Any
) -> dict[str, Any]:
    """Importance of rules and, where there are rows to try them on, of columns."""
    encoded = given.encoded
    n_rows = 0 if encoded is None else len(encoded)
    enough = n_rows > 1
    result: dict[str, Any] = {
        "given": encoded is not None,
        "enough": enough,
        "n_rows": count(min(n_rows, IMPORTANCE_ROWS)) if enough else "",
        "sampled": n_rows > IMPORTANCE_ROWS,
        "all_columns": [],
        "n_idle": 0,
    }
    if encoded is None or not enough:
        names = [str(rule) for rule in frame.index[:SHOWN_RULES]]
        values = frame["importance"].to_numpy()[:SHOWN_RULES]
        return result | {"columns": [], "rules": bars(names, values), "n_rules": len(frame)}
    found = {}
    for kind, singular in (("columns", "column"), ("rules", "rule")):
        measured = importances(
            fitted,
            n_rows,
            encoded.__getitem__,
            engine,
            kind=kind,
            n_resamples=100,
            max_rows=IMPORTANCE_ROWS,
            sample_weight=given.sample_weight,
            random_state=0,
        )
        table = measured.to_frame()
        numbers = (table[key].to_numpy() for key in ("importance", "low", "high"))
        label = column_label if kind == "columns" else str
        found[kind] = bars([label(name) for name in table[singular]], *numbers)
    busy = [bar for bar in found["columns"] if bar.value > 0]
    return result | {
        "all_columns": found["columns"],
        "columns": busy[:SHOWN_COLUMNS],
        "n_columns": len(busy),
        "n_idle": len(found["columns"]) - len(busy),
        "rules": found["rules"][:SHOWN_RULES],
        "n_rules": len(found["rules"]),
    }


def size_section(
    fitted: Fitted, performance: Performance, simplification: SimplificationPath | None
) -> dict[str, Any]:
    """Error against the number of rules kept and, if given, along a simplification."""
    classes = fitted.task.are_classes
    what = "share of wrong classes" if classes else "share of unexplained variance"
    known = np.isfinite(performance.errors)
    sizes, errors = performance.n_rules[known], performance.errors[known]
    texts = [
        f"{size} rules: {number(error, 3)}" for size, error in zip(sizes, errors, strict=True)
    ]
    rules_chart = None
    if known.any():
        rules_chart = chart(
            Points(sizes.astype(np.float64), errors, texts),
            title="Error against the number of most important rules kept",
            x_label="most important rules kept",
            y_label=what,
        )
    return {
        "what": what,
        "chart": rules_chart,
        "sampled": count(SIZE_ROWS) if performance.n_rows > SIZE_ROWS else None,
        "path": None if simplification is None else path_section(simplification, what),
    }


def path_section(simplification: SimplificationPath, what: str) -> dict[str, Any]:
    """Error against parameters along a simplification path."""
    steps = [
        {
            "step": place,
            "n_rules": step.network.n_rules,
            "n_literals": step.network.n_literals,
            "n_parameters": step.network.n_parameters,
            "error": step.validation.error,
            "error_se": step.validation.error_se,
        }
        for place, step in enumerate(simplification.steps)
    ]
    knee = simplification.knee()
    points = Points(
        np.array([step["n_parameters"] for step in steps], np.float64),
        np.array([step["error"] for step in steps]),
        [
            f"step {step['step']}, {step['n_parameters']:,} parameters, "
            f"{step['n_rules']} rules: "
            f"{number(step['error'], 3)} ± {number(step['error_se'], 2)}"
            for step in steps
        ],
        spread=np.array([step["error_se"] for step in steps]),
        marked=frozenset([knee]),
    )
    return {
        "steps": steps,
        "knee": knee,
        "chart": chart(
            points,
            title="Error against parameters other than zero along the simplification",
            x_label="parameters other than zero (log scale)",
            y_label=what,
            log_x=True,
        ),
    }
