"""What the report says, section by section, as plain dictionaries for its templates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from neuralrules._fitted._performance import SIZE_ROWS, Performance, performance_on
from neuralrules._reading._importance import importances, used_columns
from neuralrules._reading._rules_table import activity_on, rules_table
from neuralrules._reading._text import number
from neuralrules._report._charts import Chart, Points, bars, chart
from neuralrules._report._page_model import (
    page_columns,
    page_examples,
    page_model,
)
from neuralrules._report._rules_section import finite, table_section

if TYPE_CHECKING:
    from neuralrules._estimators._base import NeuralRuleModel
    from neuralrules._simplify._path import SimplificationPath

IMPORTANCE_ROWS = 2000  # rows that importances are measured on
SHOWN_COLUMNS = 20
SHOWN_RULES = 15
SHADES = 10  # of the confusion matrix


@dataclass(frozen=True)
class Given:
    """The rows that a report is asked to measure on, and how many of them it may show."""

    X: Any = None
    y: Any = None
    sample_weight: Any = None
    n_examples: int = 0

    @property
    def measured(self) -> tuple[Any, Any, Any]:
        """What to measure on; nothing, for the training rows, where there is no target."""
        return (None,) * 3 if self.y is None else (self.X, self.y, self.sample_weight)


def report_data(
    model: NeuralRuleModel, given: Given, title: str, simplification: SimplificationPath | None
) -> dict[str, Any]:
    """Everything that the template of the report needs.

    Returns
    -------
    dict
        ``header``, ``performance``, ``importance``, ``sizes``, ``table``, ``inputs``,
        ``examples`` and ``page``, the data of the script.
    """
    X, y, weights = given.measured
    performance = model._performance if y is None else performance_on(model, X, y, weights)
    frame = rules_table(model, X, y, sample_weight=weights)
    importance = importance_section(model, given, frame)
    order = [bar.name for bar in importance["all_columns"]] if given.X is not None else None
    columns = page_columns(model, given.X, order)
    examples = []
    if given.n_examples:
        examples = page_examples(model, given.X, y, columns, given.n_examples)
    where = measured_on(model, given, performance.n_rows)
    table = table_section(model, activity_on(model, X, y, weights), frame, where)
    return {
        "header": header_section(model, title),
        "performance": performance_section(model, given, performance, where),
        "importance": importance,
        "sizes": size_section(model, performance, simplification),
        "table": table,
        "inputs": columns,
        "examples": examples,
        "page": {
            "model": page_model(model, columns),
            "rules": table["rules"],
            "keys": [column["key"] for column in table["columns"]],
            "columns": [
                {key: column[key] for key in ("name", "kind", "start")} for column in columns
            ],
            "examples": examples,
        },
    }


def count(value: float) -> str:
    """A number of rows, which weights may make a fraction."""
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.1f}" if value >= 1 else number(value, 3)


def header_section(model: NeuralRuleModel, title: str) -> dict[str, Any]:
    from neuralrules import __version__

    network = model.network_
    classes = getattr(model, "classes_", None)
    n_targets = network.n_outputs
    if classes is not None:
        task = f"Classification into {len(classes)} classes"
    else:
        task = f"Regression of {n_targets} targets" if n_targets > 1 else "Regression"
    rows = count(model._performance.n_rows) + (" or more" if is_sample(model) else "")
    now = datetime.now().astimezone()
    return {
        "title": title,
        "estimator": type(model).__name__,
        "task": task,
        "loss": model.loss,
        "date": now.strftime("%Y-%m-%d %H:%M"),
        "datetime": now.isoformat(timespec="seconds"),
        "version": __version__,
        "facts": [
            ("deep rules" if network.deep else "rules", count(network.n_rules)),
            ("literals in them", count(network.n_literals)),
            ("parameters other than zero", count(network.n_parameters)),
            ("training rows", rows),
            (
                f"columns, {len(used_columns(model))} of them used",
                count(len(model.encoder_.names)),
            ),
        ],
    }


def is_sample(model: NeuralRuleModel) -> bool:
    """Whether the training rows that a model keeps numbers of may be only some of them."""
    from neuralrules._estimators._base import READ_ROWS_PER_EPOCH

    return model._performance.n_rows == READ_ROWS_PER_EPOCH * max(model.n_iter_, 1)


def measured_on(model: NeuralRuleModel, given: Given, n_rows: int) -> str:
    """The rows that something was measured on, in words."""
    if given.y is not None:
        return f"on the {count(n_rows)} rows given"
    sample = "a sample of " if is_sample(model) else "the "
    return f"on {sample}{count(n_rows)} training rows"


def performance_section(
    model: NeuralRuleModel, given: Given, performance: Performance, where: str
) -> dict[str, Any]:
    weighted = given.sample_weight is not None or getattr(model, "class_weight", None)
    return {
        "where": where,
        "training": given.y is None,
        "only_X": given.X is not None and given.y is None,
        "weighted": bool(weighted),
        "metrics": [
            {"name": name[0].upper() + name[1:], "value": finite(value)}
            for name, value in performance.metrics.items()
        ],
        "confusion": None
        if performance.confusion is None
        else confusion_cells(model, performance.confusion),
        "calibration": calibration_charts(model, performance),
        "loss": model.loss,
        "classes": [str(label) for label in getattr(model, "classes_", ())],
    }


def confusion_cells(model: NeuralRuleModel, cells: np.ndarray) -> list[dict[str, Any]]:
    """Rows of the confusion matrix: count, share of the row and shade of each cell."""
    totals = cells.sum(axis=1)
    result = []
    for label, line, total, own in zip(
        model.classes_.tolist(), cells, totals, range(len(cells)), strict=True
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


def calibration_charts(model: NeuralRuleModel, performance: Performance) -> list[Chart]:
    """Predictions against what happened, one chart a curve."""
    classes = getattr(model, "classes_", None)
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


def importance_section(model: NeuralRuleModel, given: Given, frame: Any) -> dict[str, Any]:
    """Importance of rules and, where there are rows to try them on, of columns."""
    X = given.X
    enough = X is not None and X.shape[0] > 1
    result: dict[str, Any] = {
        "given": X is not None,
        "enough": enough,
        "n_rows": count(min(X.shape[0], IMPORTANCE_ROWS)) if enough else "",
        "sampled": enough and X.shape[0] > IMPORTANCE_ROWS,
        "all_columns": [],
        "n_idle": 0,
    }
    if not enough:
        names = [str(rule) for rule in frame.index[:SHOWN_RULES]]
        values = frame["importance"].to_numpy()[:SHOWN_RULES]
        return result | {"columns": [], "rules": bars(names, values), "n_rules": len(frame)}
    found = {}
    for kind, singular in (("columns", "column"), ("rules", "rule")):
        measured = importances(
            model,
            X,
            kind=kind,
            n_resamples=100,
            max_rows=IMPORTANCE_ROWS,
            sample_weight=given.sample_weight,
            random_state=0,
        )
        table = measured.to_frame()
        numbers = (table[key].to_numpy() for key in ("importance", "low", "high"))
        found[kind] = bars([str(name) for name in table[singular]], *numbers)
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
    model: NeuralRuleModel, performance: Performance, simplification: SimplificationPath | None
) -> dict[str, Any]:
    """Error against the number of rules kept and, if given, along a simplification."""
    classes = hasattr(model, "classes_")
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
