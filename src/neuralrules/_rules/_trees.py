"""Grown trees as flat arrays.

The paper grows its tree by the margin criterion

    I = s_l^2 / n_l + s_r^2 / n_r - s_p^2 / n_p,    s = n+ - n-.

With labels y = -1 and +1, s^2 / n = n * mean(y)^2 and n * (1 - mean(y)^2) is twice
the weighted Gini impurity, so that I is exactly twice the Gini decrease of a split
(and the variance reduction of y). scikit-learn's Gini tree is therefore the paper's
tree, and its squared-error tree is the same thing for a regression; the tests
compare both with a brute-force search of the formula above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuralrules._data._rows import Rows

# Rows whose leaves are looked up at a time, so that their columns stay in the cache.
CHUNK_ROWS = 2**16
# Nodes of a tree up to which masks of all rows find leaves faster than lists of the rows of
# each node do: ten times as fast at depth 3, twice at depth 7. Their numbers must be uint8.
SMALL_TREE = 256


@dataclass(frozen=True)
class Splits:
    """The shape of a tree as flat arrays over its nodes.

    Attributes
    ----------
    feature, left, right : (n_nodes,) int
        Split feature and children; the children of a leaf are negative.
    threshold : (n_nodes,) float64
        A row goes left if its feature is at most this.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray

    @classmethod
    def of(cls, tree: Any) -> Splits:
        """Those of a scikit-learn tree."""
        return cls(tree.feature, tree.threshold, tree.children_left, tree.children_right)

    @property
    def n_nodes(self) -> int:
        return len(self.feature)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """The leaf of each encoded row, (n_rows,) int64."""
        return self.leaves(X.T)

    def leaves(self, columns: np.ndarray) -> np.ndarray:
        """The leaf of each row of encoded columns (n_columns, n_rows) float32, int64."""
        if self.n_nodes <= SMALL_TREE:
            return self._leaves_by_masks(columns)
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

    def _leaves_by_masks(self, columns: np.ndarray) -> np.ndarray:
        """The same by looking at all rows in each node, several at a time."""
        thresholds = float32_below(self.threshold)
        found = np.zeros(columns.shape[1], np.uint8)
        waiting = [(0, np.ones(columns.shape[1], bool))]
        while waiting:
            node, inside = waiting.pop()
            if self.left[node] < 0:
                found += inside.view(np.uint8) * np.uint8(node)
                continue
            goes_left = columns[self.feature[node]] <= thresholds[node]
            waiting.append((self.right[node], inside > goes_left))  # inside, and not left
            waiting.append((self.left[node], inside & goes_left))
        return found.astype(np.int64)


@dataclass(frozen=True)
class Tree(Splits):
    """One grown tree as flat arrays over its nodes.

    Attributes
    ----------
    values : (n_nodes, n_outputs) float64
        Value c of each leaf, in the units of the network's outputs.
    n : (n_nodes,) float64
        Weight of the training rows in each leaf.
    totals : (n_nodes, n_classes or n_targets) float64
        Their weight per class, or weighted sums of standardised targets.
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
    """Trees whose leaves have the value of their rows; of several it is averaged."""
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
    """Of each tree the weight of the rows in each leaf, and their classes or targets.

    Of all rows, also where trees grew on some of them only.
    """
    sums = [
        (np.zeros(splits.n_nodes), np.zeros((splits.n_nodes, rows.task.n_totals)))
        for splits in grown
    ]
    for start in range(0, len(rows), CHUNK_ROWS):
        some = rows.take(slice(start, start + CHUNK_ROWS))
        columns, weights = np.ascontiguousarray(some.X.T), some.training_weights
        for splits, summed in zip(grown, sums, strict=True):
            leaves = splits.leaves(columns)
            summed[0][:] += np.bincount(leaves, weights, minlength=splits.n_nodes)
            summed[1][:] += some.totals(leaves, weights, splits.n_nodes)
    return sums


def float32_below(numbers: np.ndarray) -> np.ndarray:
    """The largest float32 that are not above float64 numbers."""
    nearest = numbers.astype(np.float32)
    return np.where(nearest > numbers, np.nextafter(nearest, np.float32(-np.inf)), nearest)
