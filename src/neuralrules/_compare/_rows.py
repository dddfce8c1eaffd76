"""What two models predict differently, row by row, and which rules cause the differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from neuralrules._compare._rules import Match
from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._activity import activation_chunks
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._performance import perform
from neuralrules._reading._outcomes import Outcome, outcome_of_class
from neuralrules._task._task import Task, chosen_classes

SHOWN_ROWS = 5  # rows shown one by one: first rows that change class, then largest changes
# A smaller change, in log odds or in standard deviations of a number, is rounding of float32.
NO_CHANGE = 1e-5


class Side(NamedTuple):
    """One of the two models, with the rows as it encodes them and with its engine."""

    fitted: Fitted
    encoded: np.ndarray
    engine: Engine

    def outputs(self) -> np.ndarray:
        network = self.fitted.network
        return self.engine.decide(network, self.encoded) + network.intercept


class Flips(NamedTuple):
    """The number of rows that A puts into the class `before` and B into the class `after`."""

    before: Any
    after: Any
    n_rows: int


@dataclass(frozen=True)
class RowChange:
    """What changes for one row, and which rules change it.

    Attributes
    ----------
    row : int
        The row's place in the table, from 0.
    before, after : object
        What A and B predict.
    outcome : Outcome
        The outcome that changes: the class that gains, or a number.
    change : float
        The outcome by B minus the outcome by A.
    parts : (n_matches + 1,) float64
        What each match of rules contributes to `change`; the last part is the intercept's.
        The parts sum to `change`, up to the rounding of float64.
    chances : (float, float) or None
        The probability of the outcome's class by A and by B. None if the models give no
        probabilities.
    """

    row: int
    before: Any
    after: Any
    outcome: Outcome
    change: float
    parts: np.ndarray
    chances: tuple[float, float] | None


@dataclass(frozen=True)
class Difference:
    """How much a probability, a score or a prediction differs between two models.

    `row` is the row with the largest difference.
    """

    what: str
    mean: float
    largest: float
    row: int


@dataclass(frozen=True)
class RowChanges:
    """What two models predict differently on some rows.

    Attributes
    ----------
    n_rows : int
    differences : tuple of Difference
    flips : tuple of Flips
        The pairs of classes between which rows change, the pair with the most rows first.
        Empty for a regression.
    flipped : (n_flipped,) int64
        The rows that change class.
    effects : (n_matches,) float64
        The mean absolute difference, over all rows, between the contributions of the two rules
        of each match.
    shown : tuple of RowChange
        The rows that change most; rows that change class come first.
    """

    n_rows: int
    differences: tuple[Difference, ...]
    flips: tuple[Flips, ...]
    flipped: np.ndarray
    effects: np.ndarray
    shown: tuple[RowChange, ...]


@dataclass(frozen=True)
class Measured:
    """Each metric of A and of B on the rows, and on only the rows that change class."""

    metrics: dict[str, tuple[float, float]]
    of_flipped: dict[str, tuple[float, float]]


def row_changes(
    first: Side, second: Side, matches: Sequence[Match], weights: np.ndarray | None
) -> RowChanges:
    """Compare two models row by row; mean differences of outputs use the row `weights`."""
    task = first.fitted.task
    outputs = np.stack([first.outputs(), second.outputs()])
    before, after = outputs
    sizes = change_sizes(task, after - before)
    flipped = np.zeros(0, np.int64)
    flips: list[Flips] = []
    if task.are_classes:
        codes = np.stack([chosen_classes(before), chosen_classes(after)])
        flipped = np.flatnonzero(codes[0] != codes[1])
        pairs, counts = np.unique(codes[:, flipped], axis=1, return_counts=True)
        flips = [
            Flips(task.labels[one], task.labels[other], int(count))
            for (one, other), count in zip(pairs.T, counts, strict=True)
        ]
        flips.sort(key=lambda flip: -flip.n_rows)
    order = np.lexsort((-sizes, ~np.isin(np.arange(len(sizes)), flipped)))
    shown = [row for row in order[:SHOWN_ROWS].tolist() if sizes[row] > NO_CHANGE]
    return RowChanges(
        n_rows=len(before),
        differences=tuple(differences(task, before, after, weights)),
        flips=tuple(flips),
        flipped=flipped,
        effects=mean_effects(first, second, matches),
        shown=tuple(changed_rows(first, second, matches, shown, outputs)),
    )


def change_sizes(task: Task, changes: np.ndarray) -> np.ndarray:
    """The largest change of an output in each row, (n_rows,) float64.

    `changes` are the changes of the outputs, (n_rows, n_outputs). The changes of a regression
    are measured in standard deviations of the target.
    """
    comparable = task.comparable(changes)
    if changes.shape[1] == 1 and not task.are_classes:
        comparable = changes / task.loss.link.in_units(task.centre, task.scale)[1]
    return np.abs(comparable).max(axis=1)


def differences(
    task: Task, before: np.ndarray, after: np.ndarray, weights: np.ndarray | None
) -> list[Difference]:
    """How far outputs are apart: predictions, probabilities, and log odds or scores."""
    sizes: dict[str, np.ndarray] = {}
    if not task.are_classes:
        link = task.loss.link
        apart = np.abs(link.predictions(after) - link.predictions(before)).T
        for place, own in enumerate(apart):
            target = f" of target {place}" if len(apart) > 1 else ""
            sizes[f"the prediction{target}"] = own
    else:
        of_two = task.n_classes == 2
        if task.gives_probabilities:
            moved = np.abs(task.probabilities(after) - task.probabilities(before)).max(axis=1)
            sizes[f"the probability of {'either' if of_two else 'a'} class"] = moved
        what = outcome_of_class(task, 1).what if of_two else "the score of a class"
        sizes[what] = change_sizes(task, after - before)
    return [
        Difference(
            what, float(np.average(own, weights=weights)), float(own.max()), int(own.argmax())
        )
        for what, own in sizes.items()
    ]


def outcome_of_row(task: Task, change: np.ndarray, new_class: int | None) -> Outcome:
    """The outcome whose change is shown for a row.

    This is the row's new class. If the class stays the same, `new_class` is None, and the
    outcome is the class that gains most. For a regression it is the target that changes most.
    `change` is (1, n_outputs).
    """
    if not task.are_classes:
        return Outcome(task, int(np.abs(task.comparable(change))[0].argmax()))
    if new_class is not None:
        return outcome_of_class(task, new_class)
    outcomes = [outcome_of_class(task, code) for code in range(task.n_classes)]
    return max(outcomes, key=lambda outcome: outcome.effects(change)[0])


def changed_rows(
    first: Side, second: Side, matches: Sequence[Match], rows: list[int], outputs: np.ndarray
) -> list[RowChange]:
    """What changes for some rows, and which rules change it.

    `outputs` are those of both models for all rows, (2, n_rows, n_outputs).
    """
    if not rows:
        return []
    task = first.fitted.task
    by_rule = np.zeros((len(rows), len(matches) + 1, task.n_outputs))
    for side, place, sign in ((first, 0, -1.0), (second, 1, 1.0)):
        network = side.fitted.network
        active = side.engine.activations(network, side.encoded[rows]).astype(np.float64)
        own = active[:, :, None] * network.values.astype(np.float64)
        for number, match in enumerate(matches):
            rule = match.second if place else match.first
            if rule is not None:
                by_rule[:, number] += sign * own[:, rule]
        by_rule[:, -1] += sign * network.intercept
    found = []
    for row, parts in zip(rows, by_rule, strict=True):
        both = outputs[:, row]
        one, other = task.predictions(both)
        new_class = int(chosen_classes(both)[1]) if task.are_classes and one != other else None
        change = both[[1]] - both[[0]]
        outcome = outcome_of_row(task, change, new_class)
        chances = None
        if task.gives_probabilities:
            chance, new_chance = task.probabilities(both)[:, outcome.place].tolist()
            chances = chance, new_chance
        size = float(outcome.effects(change)[0])
        found.append(RowChange(row, one, other, outcome, size, outcome.effects(parts), chances))
    return found


def mean_effects(first: Side, second: Side, matches: Sequence[Match]) -> np.ndarray:
    """The mean absolute difference of contributions in each match, (n_matches,) float64.

    The two rules of a match are compared on every row; a missing rule contributes 0. Several
    outputs are first made comparable and then averaged.
    """
    task = first.fitted.task
    one, other = (task.comparable(side.fitted.network.values) for side in (first, second))
    lost, new = (np.array([match[k] is not None for match in matches]) for k in (0, 1))
    rules, others = (np.array([match[k] or 0 for match in matches], int) for k in (0, 1))
    sums = np.zeros(len(matches))
    for some, active in activation_chunks(first.fitted.network, first.encoded, first.engine):
        yours = second.engine.activations(second.fitted.network, second.encoded[some])
        mine = active[:, rules] * lost
        theirs = yours[:, others] * new
        for k in range(task.n_outputs):
            moved = theirs * other[others, k] - mine * one[rules, k]
            sums += np.abs(moved).sum(axis=0) / task.n_outputs
    return sums / len(first.encoded)


def measured(
    first: Side, second: Side, rows: tuple[Rows, Rows], flipped: np.ndarray
) -> Measured:
    """How good both models are, on all rows and on the rows that change class."""

    def both(some: np.ndarray | slice) -> dict[str, tuple[float, float]]:
        one, other = (
            perform(side.fitted.network, own.take(some), side.engine).metrics
            for side, own in zip((first, second), rows, strict=True)
        )
        return {name: (one[name], other[name]) for name in one if name in other}

    counting = flipped[rows[0].weights[flipped] > 0]
    return Measured(both(slice(None)), both(counting) if counting.size else {})
