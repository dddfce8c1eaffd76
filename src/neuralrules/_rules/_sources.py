"""Where rules come from: one tree, a random forest, gradient boosting.

A source is a function from rows to rules, listed in `SOURCES`; one more is one more function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from neuralrules._data._rows import Rows
from neuralrules._rules._rules import Rules, decompose
from neuralrules._rules._trees import Tree, boosted_tree, tree_of_rows


@dataclass(frozen=True)
class SourceOptions:
    """What a source may go by; the names are the estimators' parameters."""

    max_depth: int | None
    min_samples_leaf: int
    n_trees: int
    n_jobs: int | None
    random_state: np.random.RandomState

    @property
    def of_each_tree(self) -> dict[str, Any]:
        """Parameters of scikit-learn's trees."""
        return {
            "max_depth": self.max_depth,
            "min_samples_leaf": self.min_samples_leaf,
            "random_state": self.random_state,
        }


# From rows to rules, and to the rows that take part, (n,) int32, so ordered that rows of
# neighbouring leaves are neighbours. Rows without training weight take no part.
Source: TypeAlias = Callable[[Rows, SourceOptions], tuple[Rules, np.ndarray]]
# From rows to trees, and to the first of them as scikit-learn's own.
Growth: TypeAlias = Callable[[Rows, SourceOptions], tuple[list[Tree], Any]]


def one_tree(rows: Rows, options: SourceOptions) -> tuple[list[Tree], Any]:
    """One tree, by the paper's margin criterion."""
    kind = DecisionTreeClassifier if rows.task.are_classes else DecisionTreeRegressor
    model = kind(**options.of_each_tree)
    model.fit(rows.X, rows.tree_targets, sample_weight=rows.training_weights)
    return [tree_of_rows(model.tree_, rows)], model.tree_


def forest_trees(rows: Rows, options: SourceOptions) -> tuple[list[Tree], Any]:
    """The trees of a random forest; their values are averaged."""
    kind = RandomForestClassifier if rows.task.are_classes else RandomForestRegressor
    # scikit-learn's classifiers look at sqrt(columns) a split; do so for both.
    model = kind(
        options.n_trees, max_features="sqrt", n_jobs=options.n_jobs, **options.of_each_tree
    )
    model.fit(rows.X, rows.tree_targets, sample_weight=rows.training_weights)
    grown = [one.tree_ for one in model.estimators_]
    return [tree_of_rows(one, rows, 1 / len(grown)) for one in grown], grown[0]


def boosted_trees(rows: Rows, options: SourceOptions) -> tuple[list[Tree], Any]:
    """The trees of gradient boosting; of several targets each is boosted by itself."""
    task = rows.task
    effects = np.eye(task.n_outputs)
    boosted: list[tuple[Any, float, np.ndarray]] = []
    if task.are_classes:
        model = GradientBoostingClassifier(n_estimators=options.n_trees, **options.of_each_tree)
        model.fit(rows.X, rows.tree_targets, sample_weight=rows.training_weights)
        # The first rows of a partial_fit may lack classes that come later.
        present = model.classes_.astype(int)
        if task.n_classes > 2:
            effects = effects[present]
            if len(present) == 2:  # one tree a round, for the second and against the first
                effects = effects[1:] - effects[:1]
        boosted = [
            (one.tree_, model.learning_rate, effect)
            for stage in model.estimators_
            for one, effect in zip(stage, effects, strict=True)
        ]
    else:
        for effect, y in zip(effects, rows.targets.T, strict=True):
            # The network starts at the centre of the targets, so boosting must do so too.
            init = None if task.loss.centres_at_mean or task.loss.link.function else "zero"
            model = GradientBoostingRegressor(
                n_estimators=options.n_trees, init=init, **options.of_each_tree
            )
            model.fit(rows.X, y, sample_weight=rows.training_weights)
            boosted += [
                (one.tree_, model.learning_rate, effect) for (one,) in model.estimators_
            ]
    trees = [boosted_tree(tree, rows, rate, effect) for tree, rate, effect in boosted]
    return trees, boosted[0][0]


def leaves_of(grow: Growth) -> Source:
    """The source whose rules are the leaves of grown trees."""

    def rules_and_order(rows: Rows, options: SourceOptions) -> tuple[Rules, np.ndarray]:
        trees, first = grow(rows, options)
        counted = np.flatnonzero(rows.training_weights).astype(np.int32)
        leaves = first.apply(rows.X)[counted]
        order = counted[np.argsort(leaves, kind="stable")]
        mean = target_means(rows)
        return decompose(trees, n_classes=rows.task.n_classes, mean=mean), order

    return rules_and_order


def target_means(rows: Rows) -> np.ndarray | float:
    """Means of standardised targets; 0, as it should be, where rounding alone says other."""
    task = rows.task
    if task.are_classes or task.loss.centres_at_mean:
        return 0.0
    return np.average(rows.targets, axis=0, weights=rows.training_weights)


SOURCES: dict[str, Source] = {
    "tree": leaves_of(one_tree),
    "forest": leaves_of(forest_trees),
    "boosting": leaves_of(boosted_trees),
}
