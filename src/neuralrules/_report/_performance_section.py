"""The report's section on performance: metrics, confusion matrix, thresholds and charts."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralrules._charts._performance import (
    Scored,
    calibration_charts,
    error_charts,
    error_name,
    gains_chart,
    path_chart,
    rules_kept_chart,
    size_errors,
    thresholds_of,
)
from neuralrules._charts._texts import CLASS_LENGTH, count, finite, shortened
from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._performance import SIZE_ROWS, Performance, errors_by_size
from neuralrules._reading._notation import number
from neuralrules._reading._outcomes import rare_class
from neuralrules._report._svg import Frame, element, svg
from neuralrules._simplify._path import SimplificationPath

SHADES = 10  # of the cells of the confusion matrix
RARE = 0.2  # a class with a smaller share of the rows is a rare class


def performance_section(
    fitted: Fitted,
    performance: Performance,
    rows: Rows | None,
    outputs: np.ndarray | None,
    *,
    rare: int | None,
    weighted: bool,
) -> dict[str, Any]:
    """Metrics, matrix, thresholds, calibration and errors.

    The performance was measured on `rows`, for which the model has the outputs `outputs`
    (n_rows, n_outputs), or on the training rows if both are None. `rare` is the code of the
    rarest class, or None for a regression. `weighted` says whether rows or classes have
    weights.
    """
    task, cells = fitted.task, performance.confusion
    two, scored, errors = task.n_classes == 2, None, []
    if rows is not None and outputs is not None:
        if rare is None:
            errors = error_charts(rows, outputs)
        elif two:
            scored = Scored.of(rows, outputs, rare)
    calibration = calibration_charts(task, performance, rare, scored, weighted=weighted)
    result: dict[str, Any] = {
        "metrics": [metric(capital(k), v) for k, v in performance.metrics.items()],
        "order": [],
        "confusion": None,
        "threshold": None,
        "calibration": [
            {"title": chart.title, "svg": svg(chart), "joined": chart.lines[0].joined}
            for chart in calibration
        ],
        "intervals": two and not weighted,
        "errors": [{"title": chart.title, "svg": svg(chart)} for chart in errors],
    }
    if cells is None or rare is None:
        return result
    order = class_order(cells, rare)
    labels = [str(task.labels[code]) for code in order]
    result |= {"order": order, "confusion": class_lines(fitted, cells, order)}
    if not two:
        return result
    if scored is not None and not scored.has_both:
        scored = None
    result["metrics"] = two_class_metrics(labels, cells, rare, performance.metrics, scored)
    return result | {"threshold": scored and threshold_section(scored, labels)}


def rarer_class(fitted: Fitted, codes: np.ndarray | None) -> int:
    """Code of the class with the fewest rows, among the rows given or the training rows.

    The training rows count if no rows are given, or if a class has none of the rows given.
    """
    if codes is not None:
        counts = np.bincount(codes, minlength=fitted.task.n_classes)
        if counts.all():
            return int(np.flatnonzero(counts == counts.min())[-1])
    return rare_class(fitted)


def has_rare_class(performance: Performance) -> bool:
    """Whether some class has only a small share of the rows."""
    if performance.confusion is None:
        return False
    totals = performance.confusion.sum(axis=1)
    return bool(totals.min() < RARE * totals.sum())


def class_order(confusion: np.ndarray, rare: int) -> list[int]:
    """Codes of the classes in the order of the page. A rare class comes first.

    Of two classes, the rarer one always comes first.
    """
    order, totals = list(range(len(confusion))), confusion.sum(axis=1)
    if len(order) == 2 or totals[rare] < RARE * totals.sum():
        order.sort(key=lambda code: code != rare)
    return order


def two_class_metrics(
    labels: list[str],
    cells: np.ndarray,
    rare: int,
    known: dict[str, float],
    scored: Scored | None,
) -> list[dict[str, Any]]:
    """Metrics of two classes, each with a note, such as its value by chance.

    In `labels` the rarer class comes first, and `rare` is its code. The confusion matrix
    `cells` (2, 2) is in the order of the codes. `known` are metrics that were measured before.
    `scored` are rows of both classes, if they are known.
    """
    name, other = (shortened(label, CLASS_LENGTH) for label in labels)
    total, of_rare = float(cells.sum()), float(cells[rare].sum())
    base = of_rare / total
    precision, recall, f1 = precision_recall_f1(cells, rare)
    found = [
        metric(f"Share of {name}", base, f"{count(of_rare)} of {count(total)} rows", "share"),
        metric("Precision", precision, f"of the rows predicted {name} are {name}", "share"),
        metric("Recall", recall, f"of the rows of {name} are found", "share"),
        metric("F1", f1),
    ]
    known = known.copy()
    if "ROC AUC" in known:
        found.append(metric("ROC AUC", known.pop("ROC AUC"), "0.5 by chance"))
    if scored is not None:
        chance = f"{number(base, 3)} by chance"
        found.append(metric("Average precision", scored.average_precision(), chance))
    always = other if base < 0.5 else name
    sure = f"{number(max(base, 1 - base), 4)} by always predicting {always}"
    found.append(metric("Accuracy", known.pop("accuracy"), sure))
    return found + [metric(capital(key), value) for key, value in known.items()]


def metric(name: str, value: float, note: str = "", kind: str = "metric") -> dict[str, Any]:
    return {"name": name, "value": finite(value), "kind": kind, "note": note}


def capital(text: str) -> str:
    return text[0].upper() + text[1:]


def ratio(part: float, whole: float) -> float:
    """`part` divided by `whole`, or NaN if `whole` is zero."""
    return part / whole if whole > 0 else float("nan")


def precision_recall_f1(cells: np.ndarray, code: int) -> tuple[float, float, float]:
    """The scores of a class in a confusion matrix; NaN if they are not known."""
    caught, total, flagged = cells[code, code], cells[code].sum(), cells[:, code].sum()
    return ratio(caught, flagged), ratio(caught, total), ratio(2 * caught, flagged + total)


def class_lines(fitted: Fitted, cells: np.ndarray, order: list[int]) -> list[dict[str, Any]]:
    """Lines of the confusion matrix: count, share and shade of each cell, and the scores."""
    result = []
    for code in order:
        line, total = cells[code, order], cells[code].sum()
        shares = line / total if total > 0 else np.zeros(len(line))
        shown = [
            {
                "count": count(value),
                "share": f"{100 * share:.1f}" if total > 0 else None,
                "shade": int(np.ceil(SHADES * share)),
                "right": column == code,
            }
            for column, value, share in zip(order, line, shares, strict=True)
        ]
        scores = map(finite, precision_recall_f1(cells, code))
        scored = dict(zip(("precision", "recall", "f1"), scores, strict=True))
        label = str(fitted.task.labels[code])
        result.append({"label": label, "total": count(total), "cells": shown, **scored})
    return result


def threshold_section(scored: Scored, labels: list[str]) -> dict[str, Any]:
    """The data for the page's slider of thresholds, and the gains chart.

    `labels` are the class that is scored, and the other class.
    """
    found = thresholds_of(scored)
    chart = gains_chart(scored, found, labels[0])
    line, frame, own = chart.lines[0], Frame(chart), found.default
    x, y = frame.across(line.x).tolist(), frame.up(line.y).tolist()
    ring, dot = (
        element("circle", id=name, class_=kind, cx=x[own], cy=y[own], r=6)
        for name, kind in (("gains-own", "ring"), ("gains-now", "dot marked"))
    )
    totals = [float(scored.weights[some].sum()) for some in (scored.is_rare, ~scored.is_rare)]
    return {
        "labels": labels,
        "gains": svg(chart, ring, dot),
        "data": {
            "cuts": found.values,
            "caught": found.caught.tolist(),
            "alarms": found.alarms.tolist(),
            "totals": totals,
            "own": own,
            "probabilities": scored.probabilities,
            "x": x,
            "y": y,
        },
    }


def size_section(
    fitted: Fitted,
    performance: Performance,
    rows: Rows | None,
    engine: Engine,
    simplification: SimplificationPath | None,
) -> dict[str, Any]:
    """Error against the number of rules kept and, if given, along a simplification.

    If a class is rare, hardly any row changes its predicted class when rules are removed, so
    the chart shows the mean loss instead of the error. Computing the loss needs the rows. For
    the training rows, the chart shows the error, because the model remembers only errors.
    """
    what, sizes, errors = error_name(fitted.task), performance.n_rules, performance.errors
    if rows is not None and has_rare_class(performance):
        some = np.linspace(0, len(rows) - 1, min(SIZE_ROWS, len(rows))).astype(int)
        sizes, errors = errors_by_size(fitted.network, rows.take(some), engine, loss=True)
        what = fitted.task.loss.metric
    chart, along = rules_kept_chart(sizes, errors, what), None
    if simplification is not None:
        path = size_errors(simplification)
        steps = simplification.to_frame().to_dict("records")
        along = {
            "what": path.measure,
            "svg": svg(path_chart(path)),
            "knee": path.knee,
            "steps": steps,
        }
    return {
        "what": what,
        "svg": chart and svg(chart),
        "sampled": count(SIZE_ROWS) if performance.n_rows > SIZE_ROWS else None,
        "path": along,
    }
