"""What each rule does on given rows: on which rows it fires, and how strongly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._network._network import Network
from neuralrules._rules._rules import Rules
from neuralrules._task._task import Task

CHUNK_CELLS = 2**21  # activations held at a time


@dataclass(frozen=True)
class Activity:
    """What the rules of a model did on some rows. Rows count by their weight.

    Attributes
    ----------
    n_rows : float
        Number of all rows.
    all_totals : (n_classes or n_targets,) float64
        Rows of each class, or sums of the standardised targets, over all rows.
    covered : (n_rules,) float64
        Rows inside each rule's support.
    totals : (n_rules, n_classes or n_targets) float64
        The totals of `all_totals`, but only over the rows that each rule covers.
    in_leaf : (n_rules,) float64
        Rows inside the tree rule that each rule grew from.
    in_both : (n_rules,) float64
        Rows inside both the support and the tree rule.
    activation : (n_rules,) float64
        Mean of the activation over all rows.
    highest : (n_rules,) float64
        The highest activation on any row with a positive weight.
    """

    n_rows: float
    all_totals: np.ndarray
    covered: np.ndarray
    totals: np.ndarray
    in_leaf: np.ndarray
    in_both: np.ndarray
    activation: np.ndarray
    highest: np.ndarray


def activation_chunks(
    network: Network, X: np.ndarray, engine: Engine
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the activations of some rows at a time, after the slice of these rows."""
    size = max(64, CHUNK_CELLS // network.n_rules)
    for start in range(0, len(X), size):
        rows = slice(start, start + size)
        yield rows, engine.activations(network, X[rows])


def measure(network: Network, rules: Rules, rows: Rows, engine: Engine) -> Activity:
    """Measure what the rules do on some rows."""
    X, weight = rows.X, rows.weights.astype(np.float64)
    counts = weight > 0
    all_count = bool(counts.all())
    sums = weight[:, None] * np.hstack([np.ones((len(X), 1)), rows.one_column_each()])
    in_leaf, in_both, activation, highest = np.zeros((4, network.n_rules))
    totals = np.zeros((network.n_rules, sums.shape[1]))
    for some, active in activation_chunks(network, X, engine):
        inside = (active > 0).astype(np.float64)
        leaf = rules.covers(X[some]).astype(np.float64, order="C")
        activation += weight[some] @ active
        counted = active if all_count else active[counts[some]]
        highest = np.maximum(highest, counted.max(axis=0, initial=0))
        totals += inside.T @ sums[some]
        in_leaf += weight[some] @ leaf
        in_both += weight[some] @ np.multiply(inside, leaf, out=leaf)
    n_rows, *all_totals = sums.sum(axis=0)
    return Activity(
        n_rows=float(n_rows),
        all_totals=np.array(all_totals),
        covered=totals[:, 0],
        totals=totals[:, 1:],
        in_leaf=in_leaf,
        in_both=in_both,
        activation=activation / n_rows,
        highest=highest,
    )


def rule_importance(task: Task, network: Network, activation: np.ndarray) -> np.ndarray:
    """Mean absolute contribution of each rule, averaged over the outputs, (n_rules,).

    `activation` is (n_rules,): the mean activation of each rule over some rows.
    """
    return np.abs(task.comparable(network.values)).mean(axis=1) * activation
