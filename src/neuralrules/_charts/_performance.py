"""Charts of performance: calibration, errors, thresholds, and error against size.

Thresholds are those on the score of the rarer of two classes, counted on the rows given. A page
with these numbers does not contain the rows: it only says how many rows of each class reach
each of about two hundred thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import average_precision_score

from neuralrules._charts._chart import (
    Axis,
    Chart,
    Line,
    log_axis,
    number_axis,
    share_axis,
    tight_axis,
)
from neuralrules._charts._texts import CLASS_LENGTH, count, shortened
from neuralrules._data._rows import Rows
from neuralrules._fitted._performance import (
    DECILES,
    Performance,
    calibration_curve,
    true_values,
)
from neuralrules._reading._notation import number
from neuralrules._simplify._path import SimplificationPath
from neuralrules._task._task import Task, chosen_classes

SMALL = 0.1  # base rates below it are drawn on logarithmic axes
SMALLEST = 1e-5  # lowest end of these axes; smaller rates are drawn on the edge
MANY_ROWS = 1000  # from this number of rows on, the highest tenth is split at TOP_GROUPS
TOP_GROUPS = (0.95, 0.99)  # quantiles of the predictions
DEVIATE = 1.6449  # half the width of a 90 % interval, in standard deviations
SPREAD = (0.1, 0.5, 0.9)  # quantiles of errors
SHOWN_TARGETS = 4  # targets whose errors are drawn
MAX_THRESHOLDS = 200
# Least distance between a threshold and the scores on both sides of it, as a share of the gap
# between these two scores.
MARGIN = 0.01


@dataclass(frozen=True, eq=False)
class Scored:
    """Rows of two classes, with scores for one of the classes. Arrays are (n_rows,)."""

    scores: np.ndarray  # probability of the class or, without probabilities, the decision
    is_rare: np.ndarray  # whether a row is of the class
    flagged: np.ndarray  # whether the model predicts the class
    weights: np.ndarray
    probabilities: bool

    @classmethod
    def of(cls, rows: Rows, outputs: np.ndarray, rare: int) -> Scored:
        """Score rows by the class with the code `rare`; `outputs` is (n_rows, 1)."""
        task = rows.task
        if task.gives_probabilities:
            scores = task.probabilities(outputs)[:, rare]
        else:
            scores = outputs[:, 0] if rare == 1 else -outputs[:, 0]
        return cls(
            scores=scores,
            is_rare=rows.codes == rare,
            flagged=chosen_classes(outputs) == rare,
            weights=rows.weights.astype(np.float64),
            probabilities=task.gives_probabilities,
        )

    @property
    def has_both(self) -> bool:
        """Whether there are rows of both classes."""
        counted = self.is_rare[self.weights > 0]
        return bool(counted.any()) and not bool(counted.all())

    def average_precision(self) -> float:
        return float(
            average_precision_score(self.is_rare, self.scores, sample_weight=self.weights)
        )


def calibration_charts(
    task: Task,
    performance: Performance,
    rare: int | None,
    scored: Scored | None,
    *,
    weighted: bool,
) -> list[Chart]:
    """Charts of predictions against outcomes, in groups of rows with similar predictions.

    There is one chart for each target of a regression, and one chart for a classifier with
    probabilities. `rare` is the code of the rarest class, or None for a regression. `scored`
    are the rows, if there are two classes and the rows are known. `weighted` says whether rows
    or classes have weights.
    """
    if rare is not None and task.n_classes == 2:
        if not task.gives_probabilities:
            return []
        label = shortened(task.labels[rare], CLASS_LENGTH)
        return [rate_chart(label, groups_of(performance, rare, scored), weighted=weighted)]
    charts = []
    for k, curve in enumerate(performance.calibration):
        predicted, observed, weight = present_groups(curve)
        texts = [
            f"predicted {number(a, 3)}, observed {number(b, 3)}, {count(n)} rows"
            for a, b, n in zip(predicted, observed, weight, strict=True)
        ]
        if task.are_classes:
            title = "Calibration of the probability of the predicted class"
            x = share_axis("probability of the predicted class")
            y = share_axis("share that is right")
        else:
            of = f" of target {k}" if len(performance.calibration) > 1 else ""
            title, ends = f"Predicted against observed mean{of}", np.append(predicted, observed)
            x, y = number_axis("predicted", ends), number_axis("observed", ends)
        charts.append(Chart(title, x, y, [Line(predicted, observed, texts)], diagonal=True))
    return charts


def present_groups(curve: np.ndarray) -> np.ndarray:
    """Mean prediction, mean outcome and weight of the groups that have rows, (3, n_groups)."""
    return curve[curve[:, 2] > 0].T


def groups_of(performance: Performance, rare: int, scored: Scored | None) -> np.ndarray:
    """Mean prediction, share of the class and weight of each group of rows, (3, n_groups)."""
    # Without rows, take the model's groups of training rows. They are of the second class.
    if scored is None:
        p, o, n = groups = present_groups(performance.calibration[0])
        return groups if rare == 1 else np.array([1 - p[::-1], 1 - o[::-1], n[::-1]])
    levels = DECILES
    if len(scored.scores) >= MANY_ROWS:
        levels = np.append(levels, TOP_GROUPS)
    outcomes = scored.is_rare.astype(float)
    return present_groups(calibration_curve(scored.scores, outcomes, scored.weights, levels))


def rate_chart(label: str, groups: np.ndarray, *, weighted: bool) -> Chart:
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
        # Both axes have the same ends, so that their diagonal is x = y.
        highest = np.empty(0) if high is None else high[observed == 0]
        seen = np.concatenate([predicted, observed[observed > 0], highest])
        start = max(float(seen.min()) / 1.6, SMALLEST)
        end = min(max(float(seen.max()), 10 * start) * 1.6, 1.0)
        x, y = (log_axis(name, start, end, shares=True) for name in names)
    line = Line(predicted, observed, texts, low, high, joined=not small)
    return Chart(f"Calibration of the probability of {label}", x, y, [line], diagonal=True)


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


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Thresholds in ascending order, and the weight of the rows that reach each threshold."""

    values: list[float]
    caught: np.ndarray  # (n_thresholds,) weight of the flagged rows of the class
    alarms: np.ndarray  # (n_thresholds,) weight of the flagged rows of the other class
    default: int  # place of the threshold that gives the model's own predictions


def thresholds_of(scored: Scored) -> Thresholds:
    """Thresholds between neighbouring scores of rows. Of too many, only some are kept."""
    distinct, place = np.unique(scored.scores, return_inverse=True)
    n = len(distinct)
    above = []
    for some in (scored.is_rare, ~scored.is_rare):
        counts = np.bincount(place, scored.weights * some, n)
        above.append(np.append(np.cumsum(counts[::-1])[::-1], 0.0))
    # The model itself flags the scores from this place on.
    default = int(place[~scored.flagged].max(initial=-1)) + 1
    chosen = np.arange(n + 1)
    if n + 1 > MAX_THRESHOLDS:
        # Half of the thresholds lie close together where few rows are flagged, because a rare
        # class is found there. The other half are spread evenly.
        few = n - np.round(np.geomspace(1, n, MAX_THRESHOLDS // 2)).astype(int)
        even = np.round(np.linspace(0, n, MAX_THRESHOLDS // 2 - 1)).astype(int)
        chosen = np.unique([default, *few, *even])
    own = int(np.flatnonzero(chosen == default)[0])
    ends = [distinct[0] - 1, *distinct, distinct[-1] + 1]
    values = [roundest(float(ends[cut]), float(ends[cut + 1])) for cut in chosen]
    if scored.probabilities:
        values[0], values[-1] = 0.0, 1.0
    values[own] = 0.5 if scored.probabilities else 0.0
    return Thresholds(values, above[0][chosen], above[1][chosen], own)


def roundest(low: float, high: float) -> float:
    """The number with the fewest decimals between `low` and `high`, at a distance from both.

    If `low` and `high` hardly differ, the result is `high` itself: as a threshold, `high` is
    reached by the score `high` and not by the score `low`.
    """
    margin = MARGIN * (high - low)
    for decimals in range(17):
        number = round(
            float(np.floor((high - margin) * 10.0**decimals) / 10.0**decimals), decimals
        )
        if low + margin < number < high:
            return number
    return high


def gains_chart(scored: Scored, found: Thresholds, label: str) -> Chart:
    """The chart of the share of a class that is found against the share of rows flagged."""
    shares = (found.caught + found.alarms) / scored.weights.sum()
    recalls = found.caught / (found.caught[0] or 1.0)
    texts = [
        f"threshold {value:.4g}: {100 * share:.3g} % of the rows hold {100 * recall:.3g} % "
        "of the class"
        for value, share, recall in zip(found.values, shares, recalls, strict=True)
    ]
    base_rate = np.average(scored.is_rare, weights=scored.weights)
    return Chart(
        f"Gains: how much of {label} is found by flagging some of the rows",
        share_axis("share of all rows that is flagged"),
        share_axis(f"share of {label} that is found"),
        [Line(shares, recalls, texts, loud=np.zeros(len(texts), bool))],
        diagonal=True,
        guide=np.array([[0, 0], [base_rate, 1], [1, 1]]),
    )


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
        f"Error against the number of {label}",
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
    steps = zip(sizes.n_parameters, sizes.n_rules, error, spread, strict=True)
    texts = [
        f"step {place}, {n:,} parameters, {n_rules} rules: {number(e, 3)} ± {number(se, 2)}"
        for place, (n, n_rules, e, se) in enumerate(steps)
    ]
    return Chart(
        "Error against parameters other than zero along the simplification",
        size_axis(sizes),
        number_axis(sizes.measure, np.concatenate([error, error + spread]), zero=True),
        [Line(sizes.n_parameters, error, texts, error - spread, error + spread)],
        marked=sizes.knee,
    )
