"""Charts of performance: calibration, errors, and error against size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuralrules._charts._axes import (
    Axis,
    log_axis,
    nice_ticks,
    number_axis,
    share_axis,
    tick_texts,
    tight_axis,
)
from neuralrules._charts._chart import Chart, Line
from neuralrules._charts._texts import CLASS_LENGTH, count, shortened
from neuralrules._charts._thresholds import Scored
from neuralrules._data._rows import Rows
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._performance import (
    DECILES,
    Performance,
    calibration_curve,
    true_values,
)
from neuralrules._reading._numbers import number
from neuralrules._simplify._path import SimplificationPath
from neuralrules._task._task import Task

SMALL = 0.1  # base rates below it are drawn on logarithmic axes
SMALLEST = 1e-5  # lowest end of these axes; smaller rates are drawn on the edge
MANY_ROWS = 1000  # from this number of rows on, the highest tenth is split at TOP_GROUPS
TOP_GROUPS = (0.95, 0.99)  # quantiles of the predictions
DEVIATE = 1.6449  # half the width of a 90 % interval, in standard deviations
SPREAD = (0.1, 0.5, 0.9)  # quantiles of errors
SHOWN_TARGETS = 4  # targets whose errors are drawn


def calibration_charts(
    fitted: Fitted,
    performance: Performance,
    rare: int | None,
    scored: Scored | None,
    *,
    weighted: bool,
) -> list[Chart]:
    """Charts of predictions against outcomes, in groups of rows with similar predictions.

    Parameters
    ----------
    fitted : Fitted
    performance : Performance
    rare : int or None
        Code of the rarest class; None for a regression.
    scored : Scored or None
        The rows with their scores, if the task has two classes and the rows are known.
    weighted : bool
        Whether rows or classes have weights.

    Returns
    -------
    list of Chart
        One chart for each target of a regression, and one chart for a classifier. The list is
        empty for a classifier without probabilities.
    """
    task = fitted.task
    if rare is not None and task.n_classes == 2:
        if not task.gives_probabilities:
            return []
        label = shortened(task.labels[rare], CLASS_LENGTH)
        return [rate_chart(label, groups_of(performance, rare, scored), weighted=weighted)]
    charts = []
    for k, curve in enumerate(performance.calibration):
        line = curve_line(curve)
        title, of = "Calibration of the probability of the predicted class", ""
        x, y = (
            share_axis("probability of the predicted class"),
            share_axis("share that is right"),
        )
        if not task.are_classes:
            of = f" of target {k}" if len(performance.calibration) > 1 else ""
            title = f"Predicted against observed mean{of}"
            ticks = nice_ticks(
                float(min(line.x.min(), line.y.min())), float(max(line.x.max(), line.y.max()))
            )
            ends, texts = (float(ticks[0]), float(ticks[-1])), tick_texts(ticks)
            x, y = (Axis(name, ends, ticks, texts) for name in ("predicted", "observed"))
        charts.append(Chart(title, x, y, [line], diagonal=True))
    return charts


def curve_line(curve: np.ndarray) -> Line:
    """A line with one point for each group of rows: mean outcome against mean prediction."""
    predicted, observed, weight = curve[curve[:, 2] > 0].T
    texts = [
        f"predicted {number(a, 3)}, observed {number(b, 3)}, {count(n)} rows"
        for a, b, n in zip(predicted, observed, weight, strict=True)
    ]
    return Line(predicted, observed, texts)


def rate_chart(
    label: str, groups: tuple[np.ndarray, np.ndarray, np.ndarray], *, weighted: bool
) -> Chart:
    """The chart of a class's observed shares against its predicted probabilities.

    Small rates are drawn on logarithmic axes. If the class never occurred in a group, the
    group's point lies on the lower edge, and its interval says how often the class may occur.
    """
    predicted, observed, weight = groups
    texts = [
        f"predicted {100 * p:.3g} %, observed {100 * o:.3g} % of {count(n)} rows"
        for p, o, n in zip(predicted, observed, weight, strict=True)
    ]
    low = high = None
    if not weighted:  # with weights, the numbers of rows behind the intervals are unknown
        low, high = wilson(observed, weight)
    small = float(weight @ observed) < SMALL * float(weight.sum())
    names = (f"predicted probability of {label}", f"observed share of {label}")
    x, y = (share_axis(name) for name in names)
    if small and predicted.min() > 0:
        x, y = rate_axes(names, predicted, observed, high)
    line = Line(predicted, observed, texts, low, high, joined=not small)
    return Chart(f"Calibration of the probability of {label}", x, y, [line], diagonal=True)


def groups_of(
    performance: Performance, rare: int, scored: Scored | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean prediction, share of the class and weight of each group of rows."""
    # Without rows, take the model's groups of training rows. They are of the second class.
    if scored is None:
        curve = performance.calibration[0]
        p, o, n = curve[curve[:, 2] > 0].T
        return (p, o, n) if rare == 1 else (1 - p[::-1], 1 - o[::-1], n[::-1])
    levels = np.linspace(0, 1, 11)[1:-1]
    if len(scored.scores) >= MANY_ROWS:
        levels = np.append(levels, TOP_GROUPS)
    curve = calibration_curve(
        scored.scores, scored.is_rare.astype(float), scored.weights, levels
    )
    p, o, n = curve[curve[:, 2] > 0].T
    return p, o, n


def rate_axes(
    names: tuple[str, str], predicted: np.ndarray, observed: np.ndarray, high: np.ndarray | None
) -> tuple[Axis, Axis]:
    """Two logarithmic axes with the same ends, so that their diagonal is x = y."""
    seen = [predicted, observed[observed > 0]]
    seen += [] if high is None else [high[observed == 0]]
    every = np.concatenate(seen)
    low = max(float(every.min()) / 1.6, SMALLEST)
    top = min(max(float(every.max()), 10 * low) * 1.6, 1.0)
    x, y = (log_axis(name, low, top, shares=True) for name in names)
    return x, y


def wilson(shares: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper ends of the 90 % Wilson score intervals of shares of `n` rows."""
    squared = DEVIATE**2 / n
    middle = (shares + squared / 2) / (1 + squared)
    half = np.sqrt(squared * (shares * (1 - shares) + squared / 4)) / (1 + squared)
    return np.maximum(middle - half, 0), np.minimum(middle + half, 1)


def error_charts(rows: Rows, outputs: np.ndarray) -> list[Chart]:
    """Charts of a regression's errors, one for each target.

    Each chart shows the median and the middle 80 % of the errors, in groups of rows with
    similar predictions.
    """
    task = rows.task
    predicted, truth = task.loss.link.predictions(outputs), true_values(rows)
    charts = []
    for k in range(min(task.n_outputs, SHOWN_TARGETS)):
        values, errors = predicted[:, k], truth[:, k] - predicted[:, k]
        group = np.searchsorted(np.quantile(values, DECILES), values, side="right")
        groups = [group == g for g in np.unique(group)]
        x = np.array([values[some].mean() for some in groups])
        low, middle, high = np.array([np.quantile(errors[some], SPREAD) for some in groups]).T
        texts = [
            f"predicted {number(p, 3)}: from {number(a, 3)} to {number(b, 3)}, median "
            f"{number(m, 3)}, {count(int(some.sum()))} rows"
            for p, a, b, m, some in zip(x, low, high, middle, groups, strict=True)
        ]
        charts.append(
            Chart(
                f"Errors by prediction{'' if task.n_outputs == 1 else f' of target {k}'}",
                number_axis("predicted", x),
                number_axis("observed minus predicted", np.concatenate([low, high, [0.0]])),
                [Line(x, middle, texts, low, high, joined=False)],
            )
        )
    return charts


def error_name(task: Task) -> str:
    """The name of the error in charts of error against size."""
    return "share of wrong classes" if task.are_classes else "share of unexplained variance"


def rules_kept_chart(sizes: np.ndarray, errors: np.ndarray, what: str) -> Chart | None:
    """Error against the number of rules kept; None if no error is known."""
    known = np.isfinite(errors)
    if not known.any():
        return None
    sizes, errors = sizes[known].astype(np.float64), errors[known]
    texts = [f"{size:g} rules: {number(e, 3)}" for size, e in zip(sizes, errors, strict=True)]
    label = "most important rules kept"
    return Chart(
        "Error against the number of most important rules kept",
        tight_axis(label, float(sizes.min()), float(sizes.max()), whole=True),
        number_axis(what, errors, zero=True),
        [Line(sizes, errors, texts)],
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class SizeErrors:
    """The error and the size of each step of a simplification path.

    `SizeDisplay` documents the fields.
    """

    n_parameters: np.ndarray
    n_rules: np.ndarray
    error: np.ndarray
    error_se: np.ndarray
    knee: int
    chosen: int | None = None
    tolerance: float | None = None
    measure: str = "error"


def size_errors(path: SimplificationPath, tolerance: float | None = None) -> SizeErrors:
    """The errors of the steps of a path, and the step that a tolerance picks."""
    steps = path.steps
    return SizeErrors(
        n_parameters=np.array([step.network.n_parameters for step in steps]),
        n_rules=np.array([step.network.n_rules for step in steps]),
        error=np.array([step.validation.error for step in steps]),
        error_se=np.array([step.validation.error_se for step in steps]),
        knee=path.knee(),
        chosen=None if tolerance is None else path.within(float(tolerance)),
        tolerance=tolerance,
        measure=error_name(path.origin.task),
    )


def size_axis(sizes: SizeErrors) -> Axis:
    """The logarithmic axis of the numbers of parameters."""
    low, high = float(sizes.n_parameters.min()), float(sizes.n_parameters.max())
    return log_axis("parameters other than zero (log scale)", low / 1.15, high * 1.15)


def path_chart(sizes: SizeErrors) -> Chart:
    """The chart of error against number of parameters, with the knee marked."""
    error, spread = sizes.error, sizes.error_se
    texts = [
        f"step {place}, {n:,} parameters, {n_rules} rules: {number(e, 3)} ± {number(se, 2)}"
        for place, (n, n_rules, e, se) in enumerate(
            zip(sizes.n_parameters, sizes.n_rules, error, spread, strict=True)
        )
    ]
    return Chart(
        "Error against parameters other than zero along the simplification",
        size_axis(sizes),
        number_axis(sizes.measure, np.concatenate([error, error + spread]), zero=True),
        [Line(sizes.n_parameters, error, texts, error - spread, error + spread)],
        marked=sizes.knee,
    )
