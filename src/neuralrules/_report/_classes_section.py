"""How good a classifier is, in the report: for all classes, and for a rare one first."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._performance import Performance, calibration_curve
from neuralrules._reading._numbers import number
from neuralrules._reading._outcomes import rare_class
from neuralrules._report._axes import Axis, log_axis, share_axis
from neuralrules._report._charts import Chart, Points, chart
from neuralrules._report._numbers import count, finite, shortened
from neuralrules._report._threshold import Scored

SHADES = 10  # of the confusion matrix
RARE = 0.2  # a class with a smaller share of the rows is a rare one
SMALL = 0.1  # base rates below it need a logarithmic scale
SMALLEST = 1e-5  # rate on such a scale; what is less lies on its edge
MANY_ROWS = 1000  # that can also tell the highest twentieth and hundredth apart
TOP_GROUPS = (0.95, 0.99)
DEVIATE = 1.6449  # of intervals that hold nine times out of ten


def rarer_class(fitted: Fitted, codes: np.ndarray | None) -> int:
    """Code of the class with the fewest rows, of the rows given or else in training."""
    if codes is None:
        return rare_class(fitted)
    counts = np.bincount(codes, minlength=fitted.task.n_classes)
    if not counts.all():  # a class of which there is no row tells nothing
        return rare_class(fitted)
    return int(np.flatnonzero(counts == counts.min())[-1])


def class_order(confusion: np.ndarray, rare: int) -> list[int]:
    """Codes of the classes as they are listed: a rare one first, and of two the rarer one."""
    order = list(range(len(confusion)))
    totals = confusion.sum(axis=1)
    if len(order) == 2 or totals[rare] < RARE * totals.sum():
        order.remove(rare)
        order.insert(0, rare)
    return order


def two_class_metrics(
    fitted: Fitted, performance: Performance, rare: int, scored: Scored | None
) -> list[dict[str, Any]]:
    """Numbers about two classes, with what they would be by chance beside them."""
    cells = performance.confusion
    assert cells is not None  # of two classes
    labels = [str(label) for label in fitted.task.labels]
    name, other = shortened(labels[rare]), shortened(labels[1 - rare])
    total, of_rare = float(cells.sum()), float(cells[rare].sum())
    base = of_rare / total
    caught, flagged = float(cells[rare, rare]), float(cells[:, rare].sum())
    known = dict(performance.metrics)
    found = [
        metric(f"Share of {name}", base, "share", f"{count(of_rare)} of {count(total)} rows"),
        metric(
            "Precision",
            ratio(caught, flagged),
            "share",
            f"of those predicted {name} are {name}",
        ),
        metric(
            "Recall", ratio(caught, of_rare), "share", f"of those that are {name} are found"
        ),
        metric("F1", ratio(2 * caught, flagged + of_rare), "metric"),
    ]
    if "ROC AUC" in known:
        found.append(metric("ROC AUC", known.pop("ROC AUC"), "metric", "0.5 by chance"))
    if scored is not None and scored.both:
        chance = f"{number(base, 3)} by chance"
        average = scored.average_precision()
        found.append(metric("Average precision", average, "metric", chance))
    always = other if base < 0.5 else name
    accuracy = known.pop("accuracy")
    sure = f"{number(max(base, 1 - base), 4)} by always {always}"
    found.append(metric("Accuracy", accuracy, "metric", sure))
    return found + [metric(capital(key), value, "metric") for key, value in known.items()]


def metric(name: str, value: float, kind: str, note: str = "") -> dict[str, Any]:
    return {"name": name, "value": finite(value), "kind": kind, "note": note}


def capital(text: str) -> str:
    return text[0].upper() + text[1:]


def ratio(part: float, whole: float) -> float:
    """A share; NaN of nothing."""
    return part / whole if whole > 0 else float("nan")


def each_class(fitted: Fitted, cells: np.ndarray, order: list[int]) -> list[dict[str, Any]]:
    """Precision, recall and F1 of each of several classes."""
    rows = []
    for code in order:
        caught, total, flagged = cells[code, code], cells[code].sum(), cells[:, code].sum()
        rows.append(
            {
                "label": str(fitted.task.labels[code]),
                "total": count(total),
                "precision": finite(ratio(caught, flagged)),
                "recall": finite(ratio(caught, total)),
                "f1": finite(ratio(2 * caught, flagged + total)),
            }
        )
    return rows


def confusion_cells(
    fitted: Fitted, cells: np.ndarray, order: list[int]
) -> list[dict[str, Any]]:
    """Rows of the confusion matrix: count, share of the row and shade of each cell."""
    result = []
    for code in order:
        line, total = cells[code, order], cells[code].sum()
        shares = line / total if total > 0 else np.zeros(len(line))
        result.append(
            {
                "label": str(fitted.task.labels[code]),
                "total": count(total),
                "cells": [
                    {
                        "count": count(value),
                        "share": f"{100 * share:.1f}" if total > 0 else None,
                        "shade": int(np.ceil(SHADES * share)),
                        "right": column == code,
                    }
                    for column, value, share in zip(order, line, shares, strict=True)
                ],
            }
        )
    return result


def calibration_of_two(
    fitted: Fitted, performance: Performance, rare: int, scored: Scored | None, weighted: bool
) -> Chart:
    """Predicted probabilities of the rarer class against how often it happened.

    Small rates are drawn on logarithmic axes; where nothing happened, the point lies on the
    lower edge, and its interval says how often it may happen nevertheless.
    """
    label = shortened(fitted.task.labels[rare])
    predicted, observed, weight = groups_of(performance, rare, scored)
    texts = [
        f"predicted {100 * p:.3g} %, observed {100 * o:.3g} % of {count(n)} rows"
        for p, o, n in zip(predicted, observed, weight, strict=True)
    ]
    low = high = None
    if not weighted:  # weights do not say how many rows there were
        low, high = wilson(observed, weight)
    small = float(weight @ observed) < SMALL * float(weight.sum())
    names = (f"predicted probability of {label}", f"observed share of {label}")
    x, y = (
        small_axes(names, predicted, observed, high)
        if small and predicted.min() > 0
        else tuple(share_axis(name) for name in names)
    )
    return chart(
        Points(predicted, observed, texts, low, high),
        x,
        y,
        title=f"Calibration of the probability of {label}",
        diagonal=True,
        joined=not small,
    )


def groups_of(
    performance: Performance, rare: int, scored: Scored | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean prediction, share of the class and weight of groups of rows."""
    if scored is None:  # the training rows are gone; their groups are of the second class
        curve = performance.calibration[0]
        curve = curve[curve[:, 2] > 0]
        p, o, n = curve.T
        return (p, o, n) if rare == 1 else (1 - p[::-1], 1 - o[::-1], n[::-1])
    levels = np.linspace(0, 1, 11)[1:-1]
    if len(scored.scores) >= MANY_ROWS:
        levels = np.append(levels, TOP_GROUPS)
    curve = calibration_curve(
        scored.scores, scored.is_rare.astype(float), scored.weights, levels
    )
    p, o, n = curve[curve[:, 2] > 0].T
    return p, o, n


def small_axes(
    names: tuple[str, str], predicted: np.ndarray, observed: np.ndarray, high: Any
) -> tuple[Axis, Axis]:
    """Two logarithmic axes over the same numbers, so that their diagonal is x = y."""
    seen = [predicted, observed[observed > 0]]
    seen += [] if high is None else [high[observed == 0]]
    every = np.concatenate(seen)
    low = max(float(every.min()) / 1.6, SMALLEST)
    top = min(max(float(every.max()), 10 * low) * 1.6, 1.0)
    x, y = (log_axis(name, low, top, shares=True) for name in names)
    return x, y


def wilson(shares: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the 90 % intervals of shares of n rows, by Wilson's score."""
    squared = DEVIATE**2 / n
    middle = (shares + squared / 2) / (1 + squared)
    half = np.sqrt(squared * (shares * (1 - shares) + squared / 4)) / (1 + squared)
    return np.maximum(middle - half, 0), np.minimum(middle + half, 1)
