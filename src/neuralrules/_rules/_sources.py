"""Where rules come from: one tree, a random forest, gradient boosting.

A source is a function from rows to rules. `SOURCES` lists all of them.
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
from neuralrules._rules._trees import Splits, Tree, trees_of_rows, trees_with_values

# Trees grow from at most this many rows. If a table is larger, they grow from a sample. We
# measured this on five tables of a million generated rows with 20 columns. 30 boosted trees of
# depth 3 are as good from a sample as from all rows (log loss 0.420 against 0.424 for two
# classes, 1.228 against 1.230 for seven, 0.0261 against 0.0267 if one row in 126 is positive),
# and take 1 s instead of 4 s. Larger trees are slightly worse from a sample: 100 boosted trees
# of depth 6 reach 0.0238 instead of 0.0227 on the last table, and one exact tree of depth 10
# reaches 0.467 instead of 0.460, in 6 s instead of 46 s.
MAX_ROWS = 200_000


@dataclass(frozen=True)
class SourceOptions:
    """The options of a source. They have the names of the estimators' parameters."""

    max_depth: int | None
    min_samples_leaf: int
    n_trees: int
    n_jobs: int | None
    random_state: np.random.RandomState
    tree_rate: float = 0.1
    restrictions: Restrictions | None = None

    def of_each_tree(self, n_outputs: int = 1) -> dict[str, Any]:
        """The parameters of scikit-learn's trees for a number of outputs.

        Only trees for one output are grown monotone. The rules of other trees are made monotone
        afterwards, which harms them more.
        """
        parameters: dict[str, Any] = {
            "max_depth": self.max_depth,
            "min_samples_leaf": self.min_samples_leaf,
            "random_state": self.random_state,
        }
        limits = self.restrictions
        one_way = limits is not None and limits.directions.ndim == 1
        if n_outputs == 1 and limits is not None and one_way and limits.directions.any():
            # Give a list: scikit-learn's classifier flips the signs of an array in place.
            parameters["monotonic_cst"] = limits.directions.tolist()
        return parameters

    @property
    def groups(self) -> tuple[np.ndarray, ...] | None:
        """Groups of columns that may be on one path; None if any columns may."""
        return None if self.restrictions is None else self.restrictions.groups


# A function from rows to rules. It also returns the indices of the rows with training weight,
# (n,) int32, in an order in which rows of neighbouring leaves are next to each other.
Source: TypeAlias = Callable[[Rows, SourceOptions], tuple[Rules, np.ndarray]]
# A function from rows to trees.
Growth: TypeAlias = Callable[[Rows, SourceOptions], list[Tree]]


def one_tree(rows: Rows, options: SourceOptions) -> list[Tree]:
    """One tree, grown by the paper's margin criterion."""
    kind = DecisionTreeClassifier if rows.task.are_classes else DecisionTreeRegressor
    some = sample(rows, MAX_ROWS, options.random_state)
    model = kind(**options.of_each_tree(rows.task.n_outputs))
    model.fit(some.X, some.tree_targets, sample_weight=some.training_weights)
    return trees_of_rows([Splits.of(model.tree_)], rows)


def forest_trees(rows: Rows, options: SourceOptions) -> list[Tree]:
    """The trees of a random forest. Each value is divided by the number of trees."""
    kind = RandomForestClassifier if rows.task.are_classes else RandomForestRegressor
    # Each split looks at sqrt(n_columns) columns, the default of scikit-learn's classifier.
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

    The values of the trees are added to the constant that boosting starts from. For two
    classes, this constant is the log odds. For more classes, there are several constants: the
    centred logarithms of the shares of the classes. For numbers, the constant is their mean,
    the logarithm of their mean or the best constant for Huber's loss. Classes are boosted with
    the log loss, even if the network has another loss, because leaves only have to lie where
    classes differ.
    """
    task = rows.task
    used = sample(rows, MAX_ROWS, options.random_state)
    if not used.training_weights.all():
        used = used.take(np.flatnonzero(used.training_weights))
    effects = np.eye(task.n_outputs)
    if task.are_classes:
        # The first rows of a partial_fit may lack classes of later rows.
        present = np.unique(used.codes)
        if len(present) < 2:  # there is nothing to boost: the tree is a single leaf
            return one_tree(rows, options)
        if task.n_classes > 2:
            effects = effects[present]
            if len(present) == 2:  # one tree per round, for the second class against the first
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
    """For each run of boosting: scikit-learn's loss, targets, and effects on the outputs."""
    if rows.task.are_classes:
        yield "log_loss", rows.codes, effects
        return
    for effect, y in zip(effects, rows.targets.T, strict=True):
        yield rows.task.loss.boosting_loss(y), y, effect[None]


def group_by_group(grow: Growth) -> Growth:
    """Grow separate trees for each group of columns, if there are groups.

    This is for trees that scikit-learn cannot restrict to groups. All paths of a tree share the
    column of the first split. So a tree that may use all columns would hardly use most groups.
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
    """Means of standardised targets; exactly 0 if only rounding makes them differ from 0."""
    task = rows.task
    if task.are_classes or task.loss.centres_at_mean:
        return 0.0
    return np.average(rows.targets, axis=0, weights=rows.training_weights)


def sample(rows: Rows, n_rows: int, random_state: np.random.RandomState) -> Rows:
    """At most `n_rows` of the rows that have weight, in their order.

    Each class gives the same number of rows, or all its rows if it has fewer, so that a rare
    class is not lost. If a class gives only a part of its rows, the weights of these rows are
    raised in proportion.
    """
    counted = np.flatnonzero(rows.training_weights)
    if len(counted) <= n_rows:
        return rows
    codes = rows.codes[counted] if rows.task.are_classes else np.zeros(len(counted), np.int64)
    present = np.bincount(codes)
    taken = shares(present, n_rows)
    chosen = [
        random_state.choice(counted[codes == group], n, replace=False)
        for group, n in enumerate(taken)
    ]
    kept = np.sort(np.concatenate(chosen))
    some = rows.take(kept)
    factors = present / np.maximum(taken, 1)
    heavier = factors[some.codes] if rows.task.are_classes else factors[0]
    weights = (some.training_weights * heavier).astype(np.float32)
    return replace(some, training_weights=weights)


def shares(present: np.ndarray, n_rows: int) -> np.ndarray:
    """How many rows each group gives to a sample: the same number, or all if it has fewer.

    Parameters
    ----------
    present : (n_groups,) int64
        How many rows each group has.
    n_rows : int
        How many rows the sample has.

    Returns
    -------
    (n_groups,) int64
    """
    taken = np.zeros_like(present)
    left = n_rows
    for place, group in enumerate(np.argsort(present, kind="stable")):
        taken[group] = min(present[group], left // (len(present) - place))
        left -= taken[group]
    return taken


SOURCES: dict[str, Source] = {
    "tree": leaves_of(group_by_group(one_tree)),
    "forest": leaves_of(group_by_group(forest_trees)),
    "boosting": leaves_of(boosted_trees),
}
