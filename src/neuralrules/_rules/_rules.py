"""Decision trees taken apart into conjunctive rules.

Each leaf is one rule: the conjunction of the literals on the path to it, each
literal being ``sign * (x[feature] - threshold) > 0`` (equation 4 of the paper).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from neuralrules._rules._trees import Tree
from neuralrules._task._task import Task

# What training must not change in a rule. FREE: training may change everything.
# LITERALS_FROZEN: it must keep the literals, and the second layer if the rule has one.
# ALL_FROZEN: it must also keep the value.
FREE, LITERALS_FROZEN, ALL_FROZEN = range(3)
WRITTEN = -1  # stands for the tree of a rule that a person wrote

# Feature, sign and threshold.
Literal: TypeAlias = tuple[int, int, np.float32]


@dataclass(frozen=True)
class Rules:
    """Conjunctive rules as flat arrays; rule i owns literals offsets[i]:offsets[i + 1].

    Attributes
    ----------
    features : ndarray of shape (n_literals,), int32
        The encoded column that each literal looks at.
    signs : ndarray of shape (n_literals,), int8
        -1 if the path goes left (x at most the split), +1 if it goes right.
    thresholds : ndarray of shape (n_literals,), float32
        In units of the standardised column; see `literal_threshold` for ties.
    offsets : ndarray of shape (n_rules + 1,), int64
    values : ndarray of shape (n_rules, n_outputs), float64
        Value c of each leaf: for two classes (n+ - n-) / n.
    n : ndarray of shape (n_rules,), float64
        Training rows that each rule covers, or the sum of their weights.
    totals : ndarray of shape (n_rules, n_classes or n_targets), float64
        For classes, the covered rows of each class; for a regression, the sums of
        the standardised targets over the covered rows.
    scores : ndarray of shape (n_rules,), float64
        The margin score m^2 (equation 8): (n+ - n-)^2 / n for two classes.
    trees : ndarray of shape (n_rules,), int32
        The tree of the pool that each rule comes from; WRITTEN if a person wrote the rule.
    n_training : float
        All training rows, or the sum of their weights.
    n_classes : int
        Number of classes; 0 for a regression.
    frozen : ndarray of shape (n_rules,), int8, or None
        FREE, LITERALS_FROZEN or ALL_FROZEN; None if all rules are free.
    """

    features: np.ndarray
    signs: np.ndarray
    thresholds: np.ndarray
    offsets: np.ndarray
    values: np.ndarray
    n: np.ndarray
    totals: np.ndarray
    scores: np.ndarray
    trees: np.ndarray
    n_training: float
    n_classes: int
    frozen: np.ndarray | None = None

    @property
    def n_rules(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_literals(self) -> int:
        return len(self.features)

    @property
    def grew(self) -> bool:
        """Whether training rows were counted; a model read from text has no counts."""
        return self.n_training > 0

    @property
    def n_positive(self) -> np.ndarray:
        """n+ of each rule, shape (n_rules,), for two classes."""
        return self._of_two_classes()[:, 1]

    @property
    def n_negative(self) -> np.ndarray:
        """n- of each rule, shape (n_rules,), for two classes."""
        return self._of_two_classes()[:, 0]

    def _of_two_classes(self) -> np.ndarray:
        if self.n_classes != 2:
            raise AttributeError(
                f"n_positive and n_negative need two classes; here are {self.n_classes}. "
                "Look at totals."
            )
        return self.totals

    def covers(self, X: np.ndarray) -> np.ndarray:
        """Which rows satisfy which rules.

        Parameters
        ----------
        X : (n_rows, n_columns) float32
            Encoded rows.

        Returns
        -------
        (n_rows, n_rules) bool
        """
        inside = np.ones((self.n_rules, len(X)), bool)
        columns = np.ascontiguousarray(X.T)
        owner = np.repeat(np.arange(self.n_rules), np.diff(self.offsets))
        for rule, feature, sign, threshold in zip(
            owner, self.features, self.signs, self.thresholds, strict=True
        ):
            x = columns[feature]
            inside[rule] &= x > threshold if sign > 0 else x < threshold
        return inside.T

    def take(self, kept: np.ndarray) -> Rules:
        """The rules with the given indices, in that order."""
        lengths = np.diff(self.offsets)[kept]
        literals = np.concatenate(
            [np.arange(self.offsets[i], self.offsets[i + 1]) for i in kept]
        )
        return replace(
            self,
            features=self.features[literals],
            signs=self.signs[literals],
            thresholds=self.thresholds[literals],
            offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            values=self.values[kept],
            n=self.n[kept],
            totals=self.totals[kept],
            scores=self.scores[kept],
            trees=self.trees[kept],
            frozen=None if self.frozen is None else self.frozen[kept],
        )

    @property
    def frozen_parts(self) -> np.ndarray:
        """The frozen part of each rule, (n_rules,) int8; see `frozen`."""
        return np.zeros(self.n_rules, np.int8) if self.frozen is None else self.frozen

    @property
    def kept_parts(self) -> np.ndarray:
        """The part of each rule that training must keep at its start: frozen or written."""
        written = np.where(self.trees == WRITTEN, LITERALS_FROZEN, FREE)
        return np.maximum(self.frozen_parts, written).astype(np.int8)

    def freezing(self, rules: np.ndarray, part: int) -> Rules:
        """The same rules, with `part` frozen in the rules that have the indices `rules`."""
        frozen = self.frozen_parts.copy()
        frozen[rules] = part
        return replace(self, frozen=frozen if frozen.any() else None)

    @classmethod
    def join(cls, pools: Sequence[Rules]) -> Rules:
        """The rules of several pools that were grown for the same task, one after the other.

        Equal rules are not merged. Trees are numbered through all pools.
        """
        if not pools:
            raise ValueError("pools is empty: give at least one pool of rules to join.")
        first = pools[0]
        kinds = {(pool.n_classes, pool.totals.shape[1], pool.values.shape[1]) for pool in pools}
        if len(kinds) > 1:
            raise ValueError(
                "pools were grown for different tasks (classes, totals, outputs: "
                f"{sorted(kinds)}). Only rules for the same task can be joined."
            )
        ends = np.cumsum([pool.n_literals for pool in pools])
        n_trees = np.cumsum([0, *(pool.trees.max(initial=WRITTEN) + 1 for pool in pools)])
        joined = {
            name: np.concatenate([getattr(pool, name) for pool in pools])
            for name in ("features", "signs", "thresholds", "values", "n", "totals", "scores")
        }
        return cls(
            **joined,
            offsets=np.concatenate(
                [first.offsets]
                + [pool.offsets[1:] + end for pool, end in zip(pools[1:], ends, strict=False)]
            ),
            trees=np.concatenate(
                [
                    np.where(pool.trees == WRITTEN, WRITTEN, pool.trees + before)
                    for pool, before in zip(pools, n_trees, strict=False)
                ]
            ).astype(np.int32),
            n_training=max(pool.n_training for pool in pools),
            n_classes=first.n_classes,
            frozen=(
                None
                if all(pool.frozen is None for pool in pools)
                else np.concatenate([pool.frozen_parts for pool in pools])
            ),
        )

    def __repr__(self) -> str:
        return f"Rules({self.n_rules} rules, {self.n_literals} literals)"


def literal_threshold(split: float, sign: int) -> np.float32:
    """The float32 threshold that makes a strict literal agree with a tree's split.

    The tree sends ``x <= split`` to the left, with x in float32 and the split in
    float64. The paper's literals are strict (H(0) = 0): a literal at exactly its
    threshold is not active. So the right-hand literal takes the largest float32
    not above the split, and the left-hand literal takes the next float32 after it.
    Then every float32 x, even exactly at the split, satisfies exactly one of the
    two literals: the literal on the side that the tree chooses.
    """
    below = np.float32(split)
    if below > split:
        below = np.nextafter(below, np.float32(-np.inf))
    return below if sign > 0 else np.nextafter(below, np.float32(np.inf))


def leaf_paths(tree: Tree) -> Iterator[tuple[int, list[Literal]]]:
    """The leaves of a tree from left to right, each with the literals of its path."""
    stack: list[tuple[int, list[Literal]]] = [(0, [])]
    while stack:
        node, path = stack.pop()
        if tree.left[node] < 0:
            yield node, path
            continue
        feature, split = int(tree.feature[node]), float(tree.threshold[node])
        right = (feature, 1, literal_threshold(split, 1))
        left = (feature, -1, literal_threshold(split, -1))
        stack.append((int(tree.right[node]), [*path, right]))
        stack.append((int(tree.left[node]), [*path, left]))


def margin_scores(
    n: np.ndarray, totals: np.ndarray, *, classes: bool, mean: np.ndarray | float = 0.0
) -> np.ndarray:
    """m^2 of each rule (equation 8 of the paper), shape (n_rules,).

    For two classes, the score is (n+ - n-)^2 / n. For more classes, it is half the
    sum of the scores of each class against the others. With two classes, both
    formulas agree. For a regression, the score is the sum over targets of
    (sum of y)^2 / n, with y minus the mean. This is the formula of two classes
    again, because n+ - n- is the sum of labels -1 and +1.

    Parameters
    ----------
    n : (n_rules,) float64
    totals : (n_rules, n_classes or n_targets) float64
    classes : bool
    mean : (n_targets,) float64 or float
        The mean of the standardised targets of all rows: 0 for the squared loss.
    """
    margins = 2 * totals - n[:, None] if classes else totals - n[:, None] * mean
    scores = (margins**2).sum(axis=1) / n
    return scores / 2 if classes else scores


def decompose(
    trees: Sequence[Tree], *, n_classes: int, mean: np.ndarray | float = 0.0
) -> Rules:
    """Take every leaf of every tree as a rule, then merge equal rules.

    Two rules are equal if they have the same set of literals. The value of the merged rule is
    the sum of their values. Leaves that no training row reaches are left out. `n_classes` is 0
    for a regression, and `mean` is the mean of its standardised targets.
    """
    paths: list[list[Literal]] = []
    values: list[np.ndarray] = []
    n: list[float] = []
    totals: list[np.ndarray] = []
    origins: list[int] = []
    seen: dict[frozenset[Literal], int] = {}
    for number, tree in enumerate(trees):
        for leaf, path in leaf_paths(tree):
            if tree.n[leaf] <= 0:
                continue
            same = seen.setdefault(frozenset(path), len(paths))
            if same < len(paths):
                values[same] = values[same] + tree.values[leaf]
                continue
            paths.append(path)
            values.append(tree.values[leaf])
            n.append(tree.n[leaf])
            totals.append(tree.totals[leaf])
            origins.append(number)
    covered = np.array(n)
    return Rules(
        **literal_arrays(paths),
        values=np.array(values),
        n=covered,
        totals=np.array(totals),
        scores=margin_scores(covered, np.array(totals), classes=n_classes > 0, mean=mean),
        trees=np.array(origins, np.int32),
        n_training=float(trees[0].n.sum()),
        n_classes=n_classes,
    )


def literal_arrays(paths: Sequence[Sequence[Literal]]) -> dict[str, np.ndarray]:
    """The literals of rules as flat arrays, with the names of the attributes of `Rules`."""
    literals = [literal for path in paths for literal in path]
    ends = np.cumsum([len(path) for path in paths])
    return {
        "features": np.array([feature for feature, _, _ in literals], np.int32),
        "signs": np.array([sign for _, sign, _ in literals], np.int8),
        "thresholds": np.array([threshold for _, _, threshold in literals], np.float32),
        "offsets": np.concatenate([[0], ends]).astype(np.int64),
    }


def unmeasured(paths: Sequence[Sequence[Literal]], task: Task) -> Rules:
    """Rules that a person wrote, from their literals; all counts are zero."""
    n_rules = len(paths)
    return Rules(
        **literal_arrays(paths),
        values=np.zeros((n_rules, task.n_outputs)),
        n=np.zeros(n_rules),
        totals=np.zeros((n_rules, task.n_totals)),
        scores=np.zeros(n_rules),
        trees=np.full(n_rules, WRITTEN, np.int32),
        n_training=0.0,
        n_classes=task.n_classes,
    )


def select(rules: Rules, max_rules: int | None) -> Rules:
    """The `max_rules` rules with the highest margin scores, in their original order."""
    if max_rules is None or rules.n_rules <= max_rules:
        return rules
    best = np.argsort(-rules.scores, kind="stable")[:max_rules]
    return rules.take(np.sort(best))
