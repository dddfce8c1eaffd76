"""Fitted models of every kind, for tests of what reads them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor


def mixed_table() -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, categories, rare categories, and holes in all of them; three classes."""
    rng = np.random.RandomState(0)
    n = 400
    frame = pd.DataFrame(
        {
            "income": rng.lognormal(10, 1, n),
            "children": rng.randint(0, 5, n),
            "city": rng.choice(["Oslo", "Rome", "Lima"], n),
            "code": [f"c{i}" for i in np.minimum(rng.geometric(0.02, n), 90)],
            'a "b" [c]': rng.randn(n),
        }
    )
    y = (frame["income"] > 25000).astype(int) + (frame["city"] == "Rome") * 1
    frame.loc[::7, "income"] = np.nan
    frame.loc[::11, "city"] = None
    frame.loc[::13, "code"] = None
    return frame, np.array(["low", "middle", "high"])[y]


KINDS = {
    "two classes": lambda: (NeuralRuleClassifier, load_breast_cancer(return_X_y=True), {}),
    "hinge": lambda: (
        NeuralRuleClassifier,
        load_breast_cancer(return_X_y=True),
        {"loss": "hinge"},
    ),
    "three classes": lambda: (NeuralRuleClassifier, load_iris(return_X_y=True), {}),
    "mixed": lambda: (NeuralRuleClassifier, mixed_table(), {}),
    "numbers": lambda: (NeuralRuleRegressor, load_diabetes(return_X_y=True), {}),
    "two targets": lambda: (
        NeuralRuleRegressor,
        (load_diabetes().data, load_diabetes().data[:, 2:4] * 1000 + 5e4),
        {},
    ),
    "forest": lambda: (
        NeuralRuleClassifier,
        load_breast_cancer(return_X_y=True),
        {"rule_source": "forest", "n_trees": 3},
    ),
    "constant": lambda: (NeuralRuleClassifier, (np.ones((20, 1)), np.arange(20) % 2), {}),
}


@cache
def fitted(kind: str, deep: bool = False, n_epochs: int = 40):
    """A fitted model with the table and the targets it was fitted on."""
    estimator, (X, y), options = KINDS[kind]()
    model = estimator(3, deep=deep, n_epochs=n_epochs, random_state=0, **options)
    return model.fit(X, y), X, y


EVERY_MODEL = [(kind, deep) for kind in KINDS for deep in (False, True)]
