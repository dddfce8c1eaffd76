"""Grown trees as flat arrays.

The paper grows its tree by the margin criterion

    I = s_l^2 / n_l + s_r^2 / n_r - s_p^2 / n_p,    s = n+ - n-.

With labels y = -1 and +1, s^2 / n = n * mean(y)^2 and n * (1 - mean(y)^2) is twice
the weighted Gini impurity, so that I is exactly twice the Gini decrease of a split
(and the variance reduction of y). scikit-learn's Gini tree is therefore the paper's
tree, and its squared-error tree is the paper's tree for a regression. The tests compare
both with a brute-force search by the formula above.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuralrules._data._rows import Rows
from neuralrules._task._task import Task

# Rows whose leaves are looked up at a time, so that their columns stay in the cache.
CHUNK_ROWS = 2**16
# For trees of at most this many nodes, masks of all rows find leaves faster than lists of the
# rows of each node: ten times as fast at depth 3, twice as fast at depth 7. The numbers of
# these nodes fit into uint8.
SMALL_TREE = 256
# Leaves of several small trees are counted together: each row has a single number for its
# leaves in all these trees. There are at most MOST_TOGETHER combinations of leaves, so that the
# numbers fit into uint8.
MOST_TOGETHER = 256


@dataclass(frozen=True)
class Splits:
    """The shape of a tree as flat arrays over its nodes.

    Attributes
    ----------
    feature, left, right : (n_nodes,) int
        Split feature and children; the children of a leaf are negative.
    threshold : (n_nodes,) float64
        A row goes left if its feature is at most the threshold.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray

    @classmethod
    def of(cls, tree: Any) -> Splits:
        """The splits of a scikit-learn tree."""
        return cls(tree.feature, tree.threshold, tree.children_left, tree.children_right)

    @property
    def n_nodes(self) -> int:
        return len(self.feature)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """The leaf of each encoded row, (n_rows,) int64."""
        return self.leaves(X.T)

    def leaves(self, columns: np.ndarray) -> np.ndarray:
        """The leaf of each row, (n_rows,) int64; `columns` is (n_columns, n_rows) float32."""
        if self.n_nodes <= SMALL_TREE:
            return self.leaf_numbers(columns, np.arange(self.n_nodes)).astype(np.int64)
        thresholds = float32_below(self.threshold)
        found = np.empty(columns.shape[1], np.int64)
        waiting = [(0, np.arange(columns.shape[1], dtype=np.int32))]
        while waiting:
            node, rows = waiting.pop()
            if self.left[node] < 0:
                found[rows] = node
                continue
            goes_left = columns[self.feature[node]][rows] <= thresholds[node]
            waiting.append((self.right[node], rows[~goes_left]))
            waiting.append((self.left[node], rows[goes_left]))
        return found

    def leaf_numbers(self, columns: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """The number of each row's leaf, (n_rows,) uint8; `numbers` has one for each node.

        Each node has a mask of all rows.
        """
        numbers = numbers.astype(np.uint8)
        thresholds = float32_below(self.threshold)
        found = np.zeros(columns.shape[1], np.uint8)
        waiting = [(0, np.ones(columns.shape[1], bool))]
        while waiting:
            node, inside = waiting.pop()
            if self.left[node] < 0:
                found += inside.view(np.uint8) * numbers[node]
                continue
            goes_left = columns[self.feature[node]] <= thresholds[node]
            waiting.append((self.right[node], inside > goes_left))  # inside, and not left
            waiting.append((self.left[node], inside & goes_left))
        return found


@dataclass(frozen=True)
class Tree(Splits):
    """One grown tree as flat arrays over its nodes.

    Attributes
    ----------
    values : (n_nodes, n_outputs) float64
        Value c of each leaf, in the units of the outputs of the network.
    n : (n_nodes,) float64
        Weight of the training rows in each leaf.
    totals : (n_nodes, n_classes or n_targets) float64
        The weight of these rows by class, or weighted sums of their standardised targets.
    """

    values: np.ndarray
    n: np.ndarray
    totals: np.ndarray

    @classmethod
    def grown(
        cls, splits: Splits, values: np.ndarray, n: np.ndarray, totals: np.ndarray
    ) -> Tree:
        return cls(
            splits.feature, splits.threshold, splits.left, splits.right, values, n, totals
        )


def trees_of_rows(grown: Sequence[Splits], rows: Rows) -> list[Tree]:
    """Trees whose leaf values come from the rows, divided by the number of trees."""
    share = 1 / len(grown)
    return [
        Tree.grown(splits, share * rows.task.leaf_values(n, totals), n, totals)
        for splits, (n, totals) in zip(grown, leaf_sums(grown, rows), strict=True)
    ]


def trees_with_values(
    grown: Sequence[Splits], values: Sequence[np.ndarray], rows: Rows
) -> list[Tree]:
    """Trees whose nodes have the given values, each (n_nodes, n_outputs)."""
    return [
        Tree.grown(splits, own, n, totals)
        for splits, own, (n, totals) in zip(grown, values, leaf_sums(grown, rows), strict=True)
    ]


def leaf_sums(grown: Sequence[Splits], rows: Rows) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each tree, the weight of the rows in each leaf, and the totals of their targets.

    All rows count, even if the trees grew from a sample of them.
    """
    together = [LeafTable(some, rows.task) for some in in_groups(grown)]
    for start in range(0, len(rows), CHUNK_ROWS):
        some = rows.take(slice(start, start + CHUNK_ROWS))
        columns = np.ascontiguousarray(some.X.T)
        for table in together:
            table.add(some, columns)
    return [sums for table in together for sums in table.sums()]


def in_groups(grown: Sequence[Splits]) -> Iterator[list[Splits]]:
    """Groups of neighbouring trees with few enough combinations of leaves."""
    group: list[Splits] = []
    n_together = 1
    for splits in grown:
        n_leaves = max(2, int(np.count_nonzero(splits.left < 0)))  # a lone root counts as two
        if group and n_together * n_leaves > MOST_TOGETHER:
            yield group
            group, n_together = [], 1
        group.append(splits)
        n_together *= n_leaves
    if group:
        yield group


class LeafTable:
    """Sums over rows, for each combination of the leaves of some trees."""

    def __init__(self, grown: list[Splits], task: Task) -> None:
        self._grown, self._has_classes = grown, bool(task.n_classes)
        self._leaves = [np.flatnonzero(splits.left < 0) for splits in grown]
        self._shape = [len(leaves) for leaves in self._leaves]
        self._n = np.zeros(np.prod(self._shape))
        self._totals = np.zeros((len(self._n), task.n_totals))

    def add(self, rows: Rows, columns: np.ndarray) -> None:
        """Add some rows, whose encoded columns are (n_columns, n_rows)."""
        groups, weights = self._combinations(columns), rows.training_weights
        totals = rows.totals(groups, weights, len(self._n))
        self._totals += totals
        if self._has_classes:  # each row belongs to one class
            self._n += totals.sum(axis=1)
        else:
            self._n += np.bincount(groups, weights, minlength=len(self._n))

    def _combinations(self, columns: np.ndarray) -> np.ndarray:
        """The number of each row's combination of leaves, (n_rows,) int64."""
        if len(self._grown) == 1:
            return np.searchsorted(self._leaves[0], self._grown[0].leaves(columns))
        found = np.zeros(columns.shape[1], np.uint8)
        times = len(self._n)
        for splits, leaves in zip(self._grown, self._leaves, strict=True):
            times //= len(leaves)
            numbers = np.zeros(splits.n_nodes, int)
            numbers[leaves] = times * np.arange(len(leaves))
            found += splits.leaf_numbers(columns, numbers)
        return found.astype(np.int64)

    def sums(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """For each tree, the weight of the rows in each node, and totals of their targets."""
        counts = self._n.reshape(self._shape)
        totals = self._totals.reshape(*self._shape, -1)
        for place, (splits, leaves) in enumerate(zip(self._grown, self._leaves, strict=True)):
            others = tuple(axis for axis in range(len(self._shape)) if axis != place)
            n, own = np.zeros(splits.n_nodes), np.zeros((splits.n_nodes, totals.shape[-1]))
            n[leaves], own[leaves] = counts.sum(axis=others), totals.sum(axis=others)
            yield n, own


def float32_below(numbers: np.ndarray) -> np.ndarray:
    """For each float64 number, the largest float32 that is not above the number."""
    nearest = numbers.astype(np.float32)
    return np.where(nearest > numbers, np.nextafter(nearest, np.float32(-np.inf)), nearest)
