"""Two classes by the score of the rarer one: what each threshold flags, and what it is worth.

Everything is counted on the rows given. A page that is passed on holds no row of them, only
how many rows of each class lie above some two hundred thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._fitted import Fitted
from neuralrules._report._axes import share_axis
from neuralrules._report._charts import Chart, Points, chart
from neuralrules._task._task import chosen_classes

MAX_CUTS = 200
MARGIN = 0.01  # of the gap between two scores, that a threshold keeps from both


@dataclass(frozen=True, eq=False)
class Scored:
    """Rows of two classes and the scores of one of them.

    Attributes
    ----------
    scores : (n_rows,) float64
        The probability of the class or, without probabilities, the decision for it.
    is_rare : (n_rows,) bool
        Whether a row is of that class.
    flagged : (n_rows,) bool
        Whether the model predicts the class.
    weights : (n_rows,) float64
    probabilities : bool
    """

    scores: np.ndarray
    is_rare: np.ndarray
    flagged: np.ndarray
    weights: np.ndarray
    probabilities: bool

    @classmethod
    def of(cls, fitted: Fitted, rows: Rows, engine: Engine, rare: int) -> Scored:
        """Score rows by the class with the code `rare`."""
        outputs = engine.decide(fitted.network, rows.X) + fitted.network.intercept
        sure = fitted.task.gives_probabilities
        decision = outputs[:, 0] if rare == 1 else -outputs[:, 0]
        return cls(
            scores=fitted.task.probabilities(outputs)[:, rare] if sure else decision,
            is_rare=rows.codes == rare,
            flagged=chosen_classes(outputs) == rare,
            weights=rows.weights.astype(np.float64),
            probabilities=sure,
        )

    @property
    def base_rate(self) -> float:
        """Share of the class among the rows."""
        return float(np.average(self.is_rare, weights=self.weights))

    @property
    def both(self) -> bool:
        """Whether there are rows of both classes."""
        counted = self.is_rare[self.weights > 0]
        return bool(counted.any()) and not bool(counted.all())

    def average_precision(self) -> float:
        return float(
            average_precision_score(self.is_rare, self.scores, sample_weight=self.weights)
        )


@dataclass(frozen=True, eq=False)
class Cuts:
    """Thresholds in ascending order, and what lies at or above each.

    Attributes
    ----------
    cuts : list of float
    caught, alarms : (n_cuts,) float64
        Weight of the rows of the class, and of the other, that are flagged.
    own : int
        Which of them gives the model's own predictions.
    """

    cuts: list[float]
    caught: np.ndarray
    alarms: np.ndarray
    own: int


def cuts_of(scored: Scored) -> Cuts:
    """Thresholds between the scores of rows, some of them where there are many scores."""
    distinct, place = np.unique(scored.scores, return_inverse=True)
    n = len(distinct)
    above = []
    for some in (scored.is_rare, ~scored.is_rare):
        counts = np.bincount(place, scored.weights * some, n)
        above.append(np.append(np.cumsum(counts[::-1])[::-1], 0.0))
    own = int(place[~scored.flagged].max(initial=-1)) + 1  # the first that is flagged
    chosen = np.arange(n + 1)
    if n + 1 > MAX_CUTS:
        # Close to each other where few rows are flagged: that is where a rare class is found.
        few = n - np.round(np.geomspace(1, n, MAX_CUTS // 2)).astype(int)
        even = np.round(np.linspace(0, n, MAX_CUTS // 2 - 1)).astype(int)
        chosen = np.unique([own, *few, *even])
    middle = 0.5 if scored.probabilities else 0.0
    cuts = [
        middle if cut == own else threshold(distinct, cut, scored.probabilities)
        for cut in chosen.tolist()
    ]
    return Cuts(cuts, above[0][chosen], above[1][chosen], int(np.flatnonzero(chosen == own)[0]))


def threshold(scores: np.ndarray, cut: int, probabilities: bool) -> float:
    """A round number that exactly the ascending scores from `cut` on reach."""
    if cut == 0:
        return 0.0 if probabilities else roundest(scores[0] - 1, scores[0])
    if cut == len(scores):
        return 1.0 if probabilities else roundest(scores[-1], scores[-1] + 1)
    return roundest(float(scores[cut - 1]), float(scores[cut]))


def roundest(low: float, high: float) -> float:
    """The number with the fewest decimals between two others, and not next to either.

    Of two that hardly differ the higher one, which is reached by itself and not by the lower.
    """
    margin = MARGIN * (high - low)
    for decimals in range(17):
        number = round(
            float(np.floor((high - margin) * 10.0**decimals) / 10.0**decimals), decimals
        )
        if low + margin < number < high:
            return number
    return high


def threshold_section(scored: Scored, labels: list[str]) -> dict[str, Any]:
    """What the page's slider needs, and the curve of gains.

    Parameters
    ----------
    scored : Scored
    labels : list of two str
        The class that is scored, and the other.
    """
    found = cuts_of(scored)
    gains = gains_chart(scored, found, labels[0])
    totals = [float(scored.weights[own].sum()) for own in (scored.is_rare, ~scored.is_rare)]
    return {
        "labels": labels,
        "gains": gains,
        "own": found.own,
        "data": {
            "cuts": found.cuts,
            "caught": found.caught.tolist(),
            "alarms": found.alarms.tolist(),
            "totals": totals,
            "own": found.own,
            "probabilities": scored.probabilities,
            "x": [dot.x for dot in gains.dots],
            "y": [dot.y for dot in gains.dots],
        },
    }


def gains_chart(scored: Scored, found: Cuts, label: str) -> Chart:
    """Share of a class that is found, against the share of all rows that is flagged."""
    total = scored.weights.sum()
    shares = (found.caught + found.alarms) / total
    recalls = found.caught / (found.caught[0] or 1.0)
    texts = [
        f"threshold {cut:.4g}: {100 * share:.3g} % of the rows hold {100 * recall:.3g} % of it"
        for cut, share, recall in zip(found.cuts, shares, recalls, strict=True)
    ]
    best = np.array([[0, 0], [scored.base_rate, 1], [1, 1]])
    return chart(
        Points(shares, recalls, texts),
        share_axis("share of all rows that is flagged"),
        share_axis(f"share of {label} that is found"),
        title=f"Gains: how much of {label} is found by flagging some of the rows",
        diagonal=True,
        guide=best,
        quiet=True,
    )
