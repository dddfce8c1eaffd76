"""Which columns each neural rule may look at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neuralrules._rules._rules import Rules

# Values of `literal_columns`. With "own" and "rule", a rule has the columns of its own splits.
# With "own", each literal also keeps to the column of its own split: training leaves its
# weights on the other columns at zero. For "tree" see `starting_columns`.
LITERAL_COLUMNS = ("own", "rule", "tree")


def starting_columns(
    rules: Rules, literal_columns: str, groups: Sequence[np.ndarray] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Columns that each neural rule starts with: always the columns of its own splits.

    With "tree", the paper's choice, a rule also gets all columns that any rule of the pool
    splits on, so that every literal may turn towards any of these columns. If there are
    `groups`, a rule with "tree" only gets the columns of one group in addition to its own. This
    is the first of the groups that hold most of the rule's own columns.

    Returns
    -------
    columns : (sum of n_columns over the rules,) int32
        Columns of the encoded table, ascending within each rule, rule after rule.
    column_offsets : (n_rules + 1,) int64
        Start of each rule's columns, and the length of `columns`.
    """
    if literal_columns == "tree":
        used = np.unique(rules.features).astype(np.int32)
        if groups is not None:
            return companions(rules, used, groups)
        columns = np.tile(used, rules.n_rules)
        return columns, np.arange(rules.n_rules + 1, dtype=np.int64) * used.size
    owner = np.repeat(np.arange(rules.n_rules), np.diff(rules.offsets))
    pairs = np.unique(np.stack([owner, rules.features]), axis=1)
    column_offsets = np.searchsorted(pairs[0], np.arange(rules.n_rules + 1))
    return pairs[1].astype(np.int32), column_offsets.astype(np.int64)


def companions(
    rules: Rules, used: np.ndarray, groups: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The columns of each rule's splits, and all columns in `used` of the rule's group.

    The group of a rule is the first of the `groups` that hold most of its own columns.
    """
    each = []
    for first, last in zip(rules.offsets[:-1], rules.offsets[1:], strict=True):
        own = rules.features[first:last]
        group = max(groups, key=lambda group: np.isin(own, group).sum())
        each.append(np.union1d(own, used[np.isin(used, group)]))
    ends = np.cumsum([0, *map(len, each)])
    return np.concatenate(each).astype(np.int32), ends.astype(np.int64)
