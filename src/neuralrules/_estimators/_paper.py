"""The parameters of the paper, which the method `paper` of the estimators sets."""

from __future__ import annotations

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
