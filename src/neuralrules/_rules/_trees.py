"""Trees that rules are taken from: one tree, a random forest or gradient boosting.

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
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from neuralrules._task._targets import Targets


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


def grow(
    X: np.ndarray,
    targets: Targets,
    weights: np.ndarray,
    *,
    source: str,
    n_trees: int,
    max_depth: int | None,
    min_samples_leaf: int,
    n_jobs: int | None,
    random_state: np.random.RandomState,
) -> tuple[list[Tree], np.ndarray]:
    """Grow the trees of a rule pool.

    Parameters
    ----------
    X : (n_rows, n_columns) float32
        Standardised, encoded table.
    targets : Targets
    weights : (n_rows,) float32
        Rows of weight 0 take no part.
    source : {"tree", "forest", "boosting"}
    n_trees, max_depth, min_samples_leaf, n_jobs, random_state
        As in scikit-learn's ensembles.

    Returns
    -------
    trees : list of Tree
    leaves : (n_rows,) int32
        Leaf of the first tree that each row falls into, numbered from left to
        right: training keeps rows of neighbouring leaves together.
    """
    options = {
        "max_depth": max_depth,
        "min_samples_leaf": min_samples_leaf,
        "random_state": random_state,
    }
    if source == "tree":
        kind = DecisionTreeClassifier if targets.are_classes else DecisionTreeRegressor
        model = kind(**options).fit(X, targets.tree_targets, sample_weight=weights)
        grown = [_Grown(model.tree_)]
    elif source == "forest":
        kind = RandomForestClassifier if targets.are_classes else RandomForestRegressor
        # scikit-learn's classifiers look at sqrt(columns) a split; do so for both.
        model = kind(n_trees, max_features="sqrt", n_jobs=n_jobs, **options)
        model.fit(X, targets.tree_targets, sample_weight=weights)
        grown = [_Grown(tree.tree_, scale=1 / n_trees) for tree in model.estimators_]
    else:
        grown = _boost(X, targets, weights, n_trees, options)
    trees = [_measure(one, X, targets, weights) for one in grown]
    return trees, grown[0].tree.apply(X).astype(np.int32)


@dataclass(frozen=True)
class _Grown:
    """A scikit-learn tree and how its leaf values enter the network's outputs.

    `effect` is None for a tree whose leaves have the value of their rows, times
    `scale`. A boosted tree adds `scale` times its own leaf value times `effect`, of
    shape (n_outputs,).
    """

    tree: Any
    scale: float = 1.0
    effect: np.ndarray | None = None


def _boost(
    X: np.ndarray, targets: Targets, weights: np.ndarray, n_trees: int, options: dict[str, Any]
) -> list[_Grown]:
    """Gradient boosting; of several regression targets each is boosted by itself."""
    effects = np.eye(targets.n_outputs)
    if not targets.are_classes:
        grown = []
        for effect, y in zip(effects, targets.array.T, strict=True):
            model = GradientBoostingRegressor(n_estimators=n_trees, **options)
            model.fit(X, y, sample_weight=weights)
            grown += [
                _Grown(tree.tree_, model.learning_rate, effect) for (tree,) in model.estimators_
            ]
        return grown
    model = GradientBoostingClassifier(n_estimators=n_trees, **options)
    model.fit(X, targets.tree_targets, sample_weight=weights)
    # The first rows of a partial_fit may lack classes that come later.
    present = model.classes_.astype(int)
    if targets.n_classes > 2:
        effects = effects[present]
        if len(present) == 2:  # one tree a round, for the second and against the first
            effects = effects[1:] - effects[:1]
    return [
        _Grown(tree.tree_, model.learning_rate, effect)
        for stage in model.estimators_
        for tree, effect in zip(stage, effects, strict=True)
    ]


def _measure(grown: _Grown, X: np.ndarray, targets: Targets, weights: np.ndarray) -> Tree:
    """Count the training rows in each leaf and set the leaf values."""
    tree = grown.tree
    leaves = tree.apply(X)
    n = np.bincount(leaves, weights, minlength=tree.node_count)
    totals = targets.totals(leaves, weights, tree.node_count)
    if grown.effect is None:
        values = grown.scale * targets.leaf_values(n, totals)
    else:
        values = grown.scale * tree.value[:, 0] * grown.effect
    return Tree(
        feature=tree.feature,
        threshold=tree.threshold,
        left=tree.children_left,
        right=tree.children_right,
        values=values,
        n=n,
        totals=totals,
    )
