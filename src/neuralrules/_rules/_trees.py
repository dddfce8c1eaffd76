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

from dataclasses import dataclass
from typing import Any

import numpy as np

from neuralrules._data._rows import Rows


@dataclass(frozen=True)
class Tree:
    """One grown tree as flat arrays over its nodes.

    Attributes
    ----------
    feature, left, right : (n_nodes,) int
        Split feature and children; the children of a leaf are negative.
    threshold : (n_nodes,) float64
        A row goes left if its feature is at most this.
    values : (n_nodes, n_outputs) float64
        Value c of each leaf, in the units of the network's outputs.
    n : (n_nodes,) float64
        Weight of the training rows in each leaf.
    totals : (n_nodes, n_classes or n_targets) float64
        Their weight per class, or weighted sums of standardised targets.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    values: np.ndarray
    n: np.ndarray
    totals: np.ndarray


def tree_of_rows(tree: Any, rows: Rows, scale: float = 1.0) -> Tree:
    """A scikit-learn tree whose leaves have the value of their rows, times `scale`."""
    n, totals = leaf_sums(tree, rows)
    return flat_tree(tree, scale * rows.task.leaf_values(n, totals), n, totals)


def boosted_tree(tree: Any, rows: Rows, rate: float, effect: np.ndarray) -> Tree:
    """A scikit-learn tree that adds its own leaf values, times `rate`, to the outputs.

    `effect` is (n_outputs,): how much of them goes to each output.
    """
    n, totals = leaf_sums(tree, rows)
    return flat_tree(tree, rate * tree.value[:, 0] * effect, n, totals)


def leaf_sums(tree: Any, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Weight of the rows in each node that is a leaf, and their classes or targets."""
    leaves, weights = tree.apply(rows.X), rows.training_weights
    n = np.bincount(leaves, weights, minlength=tree.node_count)
    return n, rows.totals(leaves, weights, tree.node_count)


def flat_tree(tree: Any, values: np.ndarray, n: np.ndarray, totals: np.ndarray) -> Tree:
    return Tree(
        feature=tree.feature,
        threshold=tree.threshold,
        left=tree.children_left,
        right=tree.children_right,
        values=values,
        n=n,
        totals=totals,
    )
