"""The parameters of the paper, and the default candidates of the CV estimators."""

from __future__ import annotations

import math
from typing import Any

DEPTHS = (2, 4, 6, 8, 10)  # the paper chooses one of these

# If the paper does not name a value, this is the value that reproduces the paper's errors best;
# see docs/reproduction.md.
PAPER: dict[str, Any] = {
    "rule_source": "tree",
    "min_samples_leaf": 1,
    "literal_columns": "tree",
    "start": "hinge",
    "fit_intercept": False,
    "scaling": "standard",
    "max_terms": None,
    "l2": 0.15,
    "rule_dropout": 0.1,
    "learning_rate": 0.01,
    "schedule": "cosine",
    "n_epochs": 200,
    "batch_size": (128, 256),
    "early_stopping": False,
    # These have no effect unless a user asks for another rule source or for early stopping.
    "n_trees": 10,
    "tree_rate": 0.1,
    "validation_fraction": 0.1,
    "patience": 10,
}

# Four candidates that do well on different tables:
# 1. the estimator's own parameters, which mean few shallow trees;
# 2. more and deeper trees;
# 3. many trees that start at the output of boosting, on columns scaled by their quantiles;
# 4. the single tree of the paper, whose literals may look at every column of the tree.
WHOLE: tuple[dict[str, Any], ...] = (
    {},
    {
        "n_trees": 60,
        "max_depth": 6,
        "tree_rate": 0.1,
        "l2": 0.02,
        "rule_dropout": 0.1,
        "learning_rate": 0.005,
        "n_epochs": 60,
        "patience": 10,
    },
    {
        "n_trees": 100,
        "max_depth": 4,
        "tree_rate": 0.1,
        "start": "leaf",
        "scaling": "quantile",
        "l2": 0.01,
        "rule_dropout": 0.1,
        "learning_rate": 0.002,
        "n_epochs": 60,
        "patience": 10,
    },
    {
        "rule_source": "tree",
        "max_depth": 5,
        "min_samples_leaf": 5,
        "literal_columns": "tree",
        "l2": 0.02,
        "rule_dropout": 0.1,
        "learning_rate": 0.01,
        "n_epochs": 100,
        "patience": 20,
    },
)

DEEPEST_SHORT = 3  # greatest depth of trees in `short_candidates`


def default_candidates(
    max_rules: int | None, n_outputs: int, max_depth: int | None = None
) -> list[dict[str, Any]]:
    """Candidates for a network of any size, or of at most `max_rules` rules.

    No candidate names a depth above `max_depth`.
    """
    if max_rules is None:
        found = [dict(candidate) for candidate in WHOLE]
        for candidate in found:
            if "n_trees" in candidate and n_outputs > 1:  # a round grows a tree per output
                n_trees = candidate["n_trees"]
                candidate["n_trees"] = max(1, min(n_trees, round(2 * n_trees / n_outputs)))
    elif max_depth is not None and 2**max_depth < max_rules:
        found = short_candidates(max_rules, n_outputs, max_depth)
    else:
        found = small_candidates(max_rules, n_outputs)
    for candidate in found:
        if max_depth is not None and "max_depth" in candidate:
            candidate["max_depth"] = min(candidate["max_depth"], max_depth)
    return found


def short_candidates(max_rules: int, n_outputs: int, max_depth: int) -> list[dict[str, Any]]:
    """Candidates if more rules are allowed than one tree of this depth has leaves.

    The candidates are few boosted trees, the best rules of twice as many trees, and the best
    rules of the usual number of trees. A single tree or a forest of this depth has too few
    leaves. Compared with these, 16 rules of two literals had a 7.5 % lower loss over 15 tables.
    """
    depth = min(max_depth, DEEPEST_SHORT)
    n_trees = max(1, max_rules // (2**depth * n_outputs))
    return [
        {"n_trees": n_trees, "max_depth": depth, "tree_rate": rate(5, n_trees)},
        {"n_trees": 2 * n_trees, "max_depth": depth, "tree_rate": rate(3.2, 2 * n_trees)},
        {},
    ]


def rate(whole: float, n_trees: int) -> float:
    """Learning rate per tree: fewer trees get a higher rate."""
    return min(max(whole / n_trees, 0.15), 0.6)


def small_candidates(max_rules: int, n_outputs: int) -> list[dict[str, Any]]:
    """One tree, boosted trees and a forest, each with at most `max_rules` leaves in all."""
    depth = max(1, int(math.log2(max_rules)))
    tree = {"rule_source": "tree", "max_depth": depth, "min_samples_leaf": 5}
    found: list[dict[str, Any]] = [tree, tree | {"literal_columns": "tree"}]
    for depth in (2, 3):
        n_trees = max_rules // (2**depth * n_outputs)
        if n_trees:
            found.append(
                {"n_trees": n_trees, "max_depth": depth, "tree_rate": rate(5, n_trees)}
            )
    if n_outputs > 1 and max_rules >= 8:  # each leaf of a forest has values for all outputs
        forest = {"rule_source": "forest", "max_depth": 3, "min_samples_leaf": 5}
        found.append(forest | {"n_trees": max_rules // 8})
    return found
