"""How good the model is, in the report: numbers, matrices and charts of performance."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._performance import DECILES, Performance, true_values
from neuralrules._reading._numbers import number
from neuralrules._report._axes import Axis, nice_ticks, number_axis, share_axis, tick_texts
from neuralrules._report._charts import Chart, Points, chart
from neuralrules._report._classes_section import (
    calibration_of_two,
    capital,
    class_order,
    confusion_cells,
    each_class,
    metric,
    two_class_metrics,
)
from neuralrules._report._numbers import count
from neuralrules._report._threshold import Scored, threshold_section

SPREAD = (0.1, 0.5, 0.9)  # quantiles of errors
SHOWN_TARGETS = 4  # whose errors are drawn


def performance_section(
    fitted: Fitted,
    performance: Performance,
    rows: Rows | None,
    engine: Engine,
    *,
    rare: int | None,
    weighted: bool,
) -> dict[str, Any]:
    """Metrics, matrix, thresholds, calibration and errors.

    Parameters
    ----------
    fitted : Fitted
    performance : Performance
        On `rows` or, where there are none, on those of training.
    rows : Rows or None
        All with some weight.
    engine : Engine
    rare : int or None
        Code of the class that counts; None for numbers.
    weighted : bool
    """
    result: dict[str, Any] = {
        "metrics": [metric(capital(k), v, "metric") for k, v in performance.metrics.items()],
        "loss": fitted.task.loss.name,
        "classes": [],
        "order": [],
        "confusion": None,
        "each": None,
        "threshold": None,
        "errors": [] if rows is None else error_charts(fitted, rows, engine),
    }
    cells = performance.confusion
    if cells is None or rare is None:
        return result | {"calibration": number_charts(performance), "groups": "ten"}
    order = class_order(cells, rare)
    labels = [str(fitted.task.labels[code]) for code in order]
    result |= {"classes": labels, "order": order}
    result["confusion"] = confusion_cells(fitted, cells, order)
    if len(labels) > 2:
        each = each_class(fitted, cells, order)
        return result | {"each": each, "calibration": sure_charts(performance), "groups": "ten"}
    scored = None if rows is None else Scored.of(fitted, rows, engine, rare)
    result["metrics"] = two_class_metrics(fitted, performance, rare, scored)
    if scored is not None and scored.both:
        result["threshold"] = threshold_section(scored, labels)
    charts = []
    if fitted.task.gives_probabilities:
        charts = [calibration_of_two(fitted, performance, rare, scored, weighted)]
    return result | {"calibration": charts, "intervals": not weighted}


def sure_charts(performance: Performance) -> list[Chart]:
    """How often the predicted one of several classes is right; none without probabilities."""
    return [
        chart(
            curve_points(curve),
            share_axis("probability of the predicted class"),
            share_axis("share that is right"),
            title="Calibration of the probability of the predicted class",
            diagonal=True,
        )
        for curve in performance.calibration
    ]


def number_charts(performance: Performance) -> list[Chart]:
    """Predicted against observed means, one chart a target."""
    charts = []
    for k, curve in enumerate(performance.calibration):
        of = "" if len(performance.calibration) == 1 else f" of target {k}"
        points = curve_points(curve)
        both = np.concatenate([points.x, points.y])
        ticks = nice_ticks(float(both.min()), float(both.max()))
        ends, texts = (float(ticks[0]), float(ticks[-1])), tick_texts(ticks)
        x, y = (Axis(name, ends, ticks, texts) for name in ("predicted", "observed"))
        title = f"Predicted against observed mean{of}"
        charts.append(chart(points, x, y, title=title, diagonal=True))
    return charts


def curve_points(curve: np.ndarray) -> Points:
    """Groups of rows: mean prediction against mean outcome."""
    predicted, observed, weight = curve[curve[:, 2] > 0].T
    texts = [
        f"predicted {number(a, 3)}, observed {number(b, 3)}, {count(n)} rows"
        for a, b, n in zip(predicted, observed, weight, strict=True)
    ]
    return Points(predicted, observed, texts)


def error_charts(fitted: Fitted, rows: Rows, engine: Engine) -> list[Chart]:
    """Errors of numbers in groups of similar prediction: median, and the middle 80 %."""
    task = fitted.task
    if task.are_classes:
        return []
    outputs = engine.decide(fitted.network, rows.X) + fitted.network.intercept
    predicted, truth = task.loss.link.predictions(outputs), true_values(rows)
    charts = []
    for k in range(min(task.n_outputs, SHOWN_TARGETS)):
        own, errors = predicted[:, k], truth[:, k] - predicted[:, k]
        group = np.searchsorted(np.quantile(own, DECILES), own, side="right")
        groups = [group == g for g in np.unique(group)]
        x = np.array([own[some].mean() for some in groups])
        low, middle, high = np.array([np.quantile(errors[some], SPREAD) for some in groups]).T
        texts = [
            f"predicted {number(p, 3)}: from {number(a, 3)} to {number(b, 3)}, median "
            f"{number(m, 3)}, {count(int(some.sum()))} rows"
            for p, a, b, m, some in zip(x, low, high, middle, groups, strict=True)
        ]
        of = "" if task.n_outputs == 1 else f" of target {k}"
        charts.append(
            chart(
                Points(x, middle, texts, low, high),
                number_axis("predicted", x),
                number_axis("observed less predicted", np.concatenate([low, high, [0.0]])),
                title=f"Errors by prediction{of}",
                joined=False,
            )
        )
    return charts
