"""Charts of bars: importances, and how the rules add up for one row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neuralrules._charts._texts import (
    LABEL_LENGTH,
    longest_fitting,
    output_name,
    with_short_names,
)
from neuralrules._reading._explain import Explanation
from neuralrules._reading._importance import Importances


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ImportanceBars:
    """Importances with the ends of their 90 % intervals, the most important first.

    `ImportanceDisplay` documents the fields.
    """

    kind: str
    names: list[Any]
    labels: list[str]
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray


def importance_bars(measured: Importances, label: Callable[[Any], str]) -> ImportanceBars:
    """The importances in descending order; `label` turns a name into the text of its bar."""
    order = np.argsort(-measured.values, kind="stable")
    names = [measured.names[place] for place in order]
    low, high = np.quantile(measured.resamples, [0.05, 0.95], axis=0)
    return ImportanceBars(
        kind=measured.kind,
        names=names,
        labels=[label(name) for name in names],
        values=measured.values[order],
        low=low[order],
        high=high[order],
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Waterfall:
    """How the rules add up to the decision about one row.

    `WaterfallDisplay` documents the fields.
    """

    row: int
    output: str
    intercept: float
    decision: float
    rules: np.ndarray
    contributions: np.ndarray
    limits: list[str]


def waterfall(explanation: Explanation, place: int, row: int, output: int | None) -> Waterfall:
    """The waterfall of one row of an explanation.

    Parameters
    ----------
    explanation : Explanation
    place : int
        Place of the row in the explanation.
    row : int
        The number of this row in the user's table.
    output : int or None
        Place of the output, by default that of the predicted class or of the first target.
    """
    fitted = explanation._fitted
    decision = explanation.decision[place]
    if output is None:
        output = int(decision.argmax()) if fitted.task.are_classes else 0
    fired = np.flatnonzero(explanation.rows == place)
    sizes = np.abs(explanation.contributions[fired, output])
    fired = fired[np.argsort(-sizes, kind="stable")]
    with_short = replace(explanation, _fitted=with_short_names(fitted))
    return Waterfall(
        row=row,
        output=output_name(fitted, output),
        intercept=float(explanation.intercept[output]),
        decision=float(decision[output]),
        rules=explanation.rules[fired],
        contributions=explanation.contributions[fired, output],
        limits=[limit_text(with_short, contribution) for contribution in fired.tolist()],
    )


def waterfall_steps(drawn: Waterfall, max_rules: int) -> tuple[np.ndarray, list[str]]:
    """Lengths and labels of the bars. Rules after the first `max_rules` share the last bar."""
    steps = drawn.contributions[:max_rules]
    labels = [
        f"rule {rule}: {limit}"
        for rule, limit in zip(drawn.rules[:max_rules], drawn.limits, strict=False)
    ]
    n_others = len(drawn.rules) - len(labels)
    if n_others:
        steps = np.append(steps, drawn.contributions[max_rules:].sum())
        labels.append(f"{n_others} other rule{'s' if n_others > 1 else ''}")
    return steps, labels


def waterfall_label(drawn: Waterfall) -> str:
    """The label of the axis, which says what the bars add up to."""
    if drawn.output.startswith("class "):
        return f"decision function\n(higher values favour {drawn.output})"
    return drawn.output if "prediction" in drawn.output else f"prediction of {drawn.output}"


def limit_text(explanation: Explanation, contribution: int) -> str:
    """The text of the inequality that limits a rule, short enough to stand beside a bar."""
    return longest_fitting(
        lambda terms: explanation.limit_text(contribution, 3, terms), LABEL_LENGTH - 8
    )
