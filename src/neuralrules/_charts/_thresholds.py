"""Thresholds on the score of the rarer of two classes: the rows that each threshold flags.

Everything is counted on the rows given. A page with these numbers does not contain the rows:
it only says how many rows of each class reach each of about two hundred thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import average_precision_score

from neuralrules._charts._axes import share_axis
from neuralrules._charts._chart import Chart, Line
from neuralrules._data._rows import Rows
from neuralrules._task._task import chosen_classes

MAX_THRESHOLDS = 200
# Least distance between a threshold and the scores on both sides of it, as a share of the gap
# between these two scores.
MARGIN = 0.01


@dataclass(frozen=True, eq=False)
class Scored:
    """Rows of two classes, with scores for one of the classes.

    Attributes
    ----------
    scores : (n_rows,) float64
        The probability of the class or, without probabilities, the decision for the class.
    is_rare : (n_rows,) bool
        Whether a row is of the class.
    flagged : (n_rows,) bool
        Whether the model predicts the class.
    weights : (n_rows,) float64
    probabilities : bool
        Whether the scores are probabilities.
    """

    scores: np.ndarray
    is_rare: np.ndarray
    flagged: np.ndarray
    weights: np.ndarray
    probabilities: bool

    @classmethod
    def of(cls, rows: Rows, outputs: np.ndarray, rare: int) -> Scored:
        """Score rows by the class with the code `rare`; `outputs` is (n_rows, 1)."""
        task = rows.task
        decision = outputs[:, 0] if rare == 1 else -outputs[:, 0]
        return cls(
            scores=(
                task.probabilities(outputs)[:, rare] if task.gives_probabilities else decision
            ),
            is_rare=rows.codes == rare,
            flagged=chosen_classes(outputs) == rare,
            weights=rows.weights.astype(np.float64),
            probabilities=task.gives_probabilities,
        )

    @property
    def base_rate(self) -> float:
        """Share of the class among the rows."""
        return float(np.average(self.is_rare, weights=self.weights))

    @property
    def has_both(self) -> bool:
        """Whether there are rows of both classes."""
        counted = self.is_rare[self.weights > 0]
        return bool(counted.any()) and not bool(counted.all())

    def average_precision(self) -> float:
        return float(
            average_precision_score(self.is_rare, self.scores, sample_weight=self.weights)
        )


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Thresholds in ascending order, and the weight of the rows that reach each threshold.

    Attributes
    ----------
    values : list of float
    caught, alarms : (n_thresholds,) float64
        Weight of the flagged rows of the class, and of the flagged rows of the other class.
    default : int
        Place of the threshold that gives the model's own predictions.
    """

    values: list[float]
    caught: np.ndarray
    alarms: np.ndarray
    default: int


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
    middle = 0.5 if scored.probabilities else 0.0
    values = [
        middle if cut == default else threshold(distinct, cut, scored.probabilities)
        for cut in chosen.tolist()
    ]
    place_of_default = int(np.flatnonzero(chosen == default)[0])
    return Thresholds(values, above[0][chosen], above[1][chosen], place_of_default)


def threshold(scores: np.ndarray, cut: int, probabilities: bool) -> float:
    """A round threshold that only the scores from place `cut` on reach; `scores` ascend."""
    if cut == 0:
        return 0.0 if probabilities else roundest(scores[0] - 1, scores[0])
    if cut == len(scores):
        return 1.0 if probabilities else roundest(scores[-1], scores[-1] + 1)
    return roundest(float(scores[cut - 1]), float(scores[cut]))


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
    return Chart(
        f"Gains: how much of {label} is found by flagging some of the rows",
        share_axis("share of all rows that is flagged"),
        share_axis(f"share of {label} that is found"),
        [Line(shares, recalls, texts, loud=np.zeros(len(texts), bool))],
        diagonal=True,
        guide=np.array([[0, 0], [scored.base_rate, 1], [1, 1]]),
    )
