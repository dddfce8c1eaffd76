"""Which columns each neural rule may look at."""

from __future__ import annotations

import numpy as np

from neuralrules._rules._rules import Rules


def starting_columns(rules: Rules) -> tuple[np.ndarray, np.ndarray]:
    """Columns that each neural rule starts with: here, all that any of the rules uses.

    This is the paper's choice, the features of the tree, so that every literal may turn
    towards any of them. Whatever is chosen must hold the columns of the rule's own splits.

    Returns
    -------
    columns : (sum of n_columns over the rules,) int32
        Indices of the encoded table, ascending within each rule, rule after rule.
    column_offsets : (n_rules + 1,) int64
        Start of each rule's columns, and their number in all.
    """
    used = np.unique(rules.features).astype(np.int32)
    columns = np.tile(used, rules.n_rules)
    return columns, np.arange(rules.n_rules + 1, dtype=np.int64) * used.size
