"""Where rules come from: one tree, a random forest, gradient boosting.

A source is a function from rows to rules, listed in `SOURCES`; one more is one more function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from neuralrules._data._restrictions import Restrictions
from neuralrules._data._rows import Rows
from neuralrules._rules._histograms import Bins, boost
from neuralrules._rules._rules import Rules, decompose
from neuralrules._rules._sample import sample
from neuralrules._rules._trees import Splits, Tree, trees_of_rows, trees_with_values

# Rows that trees grow from; larger tables give a sample of so many. Against growing from all
# of a million generated rows x 20, 30 boosted trees of depth 3 lose nothing beyond noise on
# five tables (log loss 0.420 against 0.424 of two classes, 1.228 against 1.230 of seven,
# 0.0261 against 0.0267 where one row in 126 is positive) and take 1 s instead of 4. Larger
# trees do lose some: 100 boosted trees of depth 6 come to 0.0238 instead of 0.0227 on the last
# table, and one exact tree of depth 10 to 0.467 instead of 0.460, in 6 s instead of 46.
MAX_ROWS = 200_000


@dataclass(frozen=True)
class SourceOptions:
    """What a source may go by; the names are the estimators' parameters."""

    max_depth: int | None
    min_samples_leaf: int
    n_trees: int
    n_jobs: int | None
    random_state: np.random.RandomState
    tree_rate: float = 0.1
    restrictions: Restrictions | None = None

    def of_each_tree(self, n_outputs: int = 1) -> dict[str, Any]:
        """Parameters of scikit-learn's trees for so many outputs.

        Only those for one can be grown monotone: of others, rules lose more when they are
        made so.
        """
        parameters: dict[str, Any] = {
            "max_depth": self.max_depth,
            "min_samples_leaf": self.min_samples_leaf,
            "random_state": self.random_state,
        }
        limits = self.restrictions
        one_way = limits is not None and limits.directions.ndim == 1
        if n_outputs == 1 and limits is not None and one_way and limits.directions.any():
            # A list: scikit-learn's classifier turns the signs of an array in place.
            parameters["monotonic_cst"] = limits.directions.tolist()
        return parameters

    @property
    def groups(self) -> tuple[np.ndarray, ...] | None:
        """Columns that may be on one path; None if any may."""
        return None if self.restrictions is None else self.restrictions.groups


# From rows to rules, and to the rows that take part, (n,) int32, so ordered that rows of
# neighbouring leaves are neighbours. Rows without training weight take no part.
Source: TypeAlias = Callable[[Rows, SourceOptions], tuple[Rules, np.ndarray]]
# From rows to trees.
Growth: TypeAlias = Callable[[Rows, SourceOptions], list[Tree]]


def one_tree(rows: Rows, options: SourceOptions) -> list[Tree]:
    """One tree, by the paper's margin criterion."""
    kind = DecisionTreeClassifier if rows.task.are_classes else DecisionTreeRegressor
    some = sample(rows, MAX_ROWS, options.random_state)
    model = kind(**options.of_each_tree(rows.task.n_outputs))
    model.fit(some.X, some.tree_targets, sample_weight=some.training_weights)
    return trees_of_rows([Splits.of(model.tree_)], rows)


def forest_trees(rows: Rows, options: SourceOptions) -> list[Tree]:
    """The trees of a random forest; their values are averaged."""
    kind = RandomForestClassifier if rows.task.are_classes else RandomForestRegressor
    # scikit-learn's classifiers look at sqrt(columns) a split; do so for both.
    model = kind(
        options.n_trees,
        max_features="sqrt",
        n_jobs=options.n_jobs,
        **options.of_each_tree(rows.task.n_outputs),
    )
    some = sample(rows, MAX_ROWS, options.random_state)
    model.fit(some.X, some.tree_targets, sample_weight=some.training_weights)
    return trees_of_rows([Splits.of(one.tree_) for one in model.estimators_], rows)


def boosted_trees(rows: Rows, options: SourceOptions) -> list[Tree]:
    """The trees of gradient boosting by histograms; several targets are boosted one by one.

    Their values add to the prior that boosting starts from: the log odds of two classes,
    the centred logarithms of the shares of more, the mean of numbers, or its logarithm, or
    what takes its place by Huber's loss. Classes are boosted by their log loss, whatever
    that of the network: leaves only have to lie where classes differ.
    """
    task = rows.task
    used = sample(rows, MAX_ROWS, options.random_state)
    if not used.training_weights.all():
        used = used.take(np.flatnonzero(used.training_weights))
    effects = np.eye(task.n_outputs)
    if task.are_classes:
        # The first rows of a partial_fit may lack classes that come later.
        present = np.unique(used.codes)
        if len(present) < 2:  # nothing to boost: one leaf
            return one_tree(rows, options)
        if task.n_classes > 2:
            effects = effects[present]
            if len(present) == 2:  # one tree a round, for the second and against the first
                effects = effects[1:] - effects[:1]
    groups = None if options.groups is None else [own.tolist() for own in options.groups]
    bins = Bins.fit(used.X)
    binned = bins.transform(used.X)
    grown, values = [], []
    for loss, y, outputs in boosted_targets(used, effects):
        model = boost(
            binned,
            y,
            used.training_weights,
            loss=loss,
            max_iter=options.n_trees,
            learning_rate=options.tree_rate,
            interaction_cst=groups,
            **options.of_each_tree(),
        )
        for stage in model._predictors:
            for predictor, effect in zip(stage, outputs, strict=True):
                splits, own = bins.splits(predictor)
                grown.append(splits)
                values.append(own[:, None] * effect)
    return trees_with_values(grown, values, rows)


def boosted_targets(
    rows: Rows, effects: np.ndarray
) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
    """What is boosted by itself: a loss of scikit-learn's, targets, and effects on outputs."""
    if rows.task.are_classes:
        yield "log_loss", rows.codes, effects
        return
    for effect, y in zip(effects, rows.targets.T, strict=True):
        yield rows.task.loss.boosting_loss(y), y, effect[None]


def group_by_group(grow: Growth) -> Growth:
    """Trees of the columns of each group alone, where there are groups.

    For trees that scikit-learn cannot keep to groups. In one tree all paths share the column
    of its first split, so that one of all columns would see little of most groups.
    """

    def grow_each(rows: Rows, options: SourceOptions) -> list[Tree]:
        if options.groups is None:
            return grow(rows, options)
        share = 1 / len(options.groups)
        fewer = replace(options, n_trees=max(1, round(share * options.n_trees)))
        trees = []
        for group in options.groups:
            X = np.zeros_like(rows.X)
            X[:, group] = rows.X[:, group]
            trees += grow(replace(rows, X=X), fewer)
        return [replace(tree, values=share * tree.values) for tree in trees]

    return grow_each


def leaves_of(grow: Growth) -> Source:
    """The source whose rules are the leaves of grown trees."""

    def rules_and_order(rows: Rows, options: SourceOptions) -> tuple[Rules, np.ndarray]:
        if options.restrictions is not None:
            rows = replace(rows, X=options.restrictions.visible(rows.X))
        trees = grow(rows, options)
        counted = np.flatnonzero(rows.training_weights).astype(np.int32)
        leaves = trees[0].apply(rows.X)[counted]
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
    "tree": leaves_of(group_by_group(one_tree)),
    "forest": leaves_of(group_by_group(forest_trees)),
    "boosting": leaves_of(boosted_trees),
}
