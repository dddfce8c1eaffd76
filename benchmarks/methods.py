"""The paper's four methods: the tuned parameter, the estimators, and the sizes of models."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from neuralrules import NeuralRuleClassifier

Rows = tuple[np.ndarray, np.ndarray]  # features and class codes


@dataclass(frozen=True)
class Method:
    """A method of the paper.

    Attributes
    ----------
    name : str
        Name of the method in the paper's tables.
    parameter : str
        The parameter that inner cross-validation chooses.
    candidates : tuple of int
        Values of the parameter to choose from. The first of several best ones is chosen.
    make : callable (candidate, seed) -> estimator
    size : callable (fitted estimator) -> dict of counts
    """

    name: str
    parameter: str
    candidates: tuple[int, ...]
    make: Callable[[int, int], Any]
    size: Callable[[Any], dict[str, int]]

    def fit(self, candidate: int, seed: int, X: np.ndarray, y: np.ndarray) -> Any:
        """The fitted estimator."""
        with warnings.catch_warnings():
            # scikit-learn's network stops after its default of 200 epochs, and warns if it has
            # not converged.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = self.make(candidate, seed).fit(X, y)
        if getattr(model, "interrupted_", False):
            # After Ctrl-C, our training ends early with a usable model, but it is no record.
            raise KeyboardInterrupt
        return model

    def errors(self, seed: int, train: Rows, test: Rows) -> np.ndarray:
        """The number of wrong test rows of each candidate, (n_candidates,) int64."""
        X, y = test
        models = (self.fit(candidate, seed, *train) for candidate in self.candidates)
        return np.array([np.sum(model.predict(X) != y) for model in models])


class Forest(Method):
    """A random forest. Its largest candidate is fitted once, and contains all smaller forests.

    The random states of the trees are drawn in order, so the first 32 trees of a forest of 512
    are the forest of 32.
    """

    def errors(self, seed: int, train: Rows, test: Rows) -> np.ndarray:
        X, y = test
        forest = self.fit(max(self.candidates), seed, *train)
        votes = np.cumsum([tree.predict_proba(X) for tree in forest.estimators_], axis=0)
        return np.array(
            [np.sum(forest.classes_[votes[n - 1].argmax(axis=1)] != y) for n in self.candidates]
        )


def forest(n_trees: int, seed: int) -> RandomForestClassifier:
    return RandomForestClassifier(n_trees, random_state=seed)


def boosting(depth: int, seed: int) -> GradientBoostingClassifier:
    return GradientBoostingClassifier(n_estimators=100, max_depth=depth, random_state=seed)


def network(n_units: int, seed: int) -> Any:
    return make_pipeline(
        StandardScaler(), MLPClassifier((n_units,), activation="relu", random_state=seed)
    )


def rule_ensemble(depth: int, seed: int, **changed: Any) -> NeuralRuleClassifier:
    return NeuralRuleClassifier.paper(max_depth=depth, random_state=seed, **changed)


def trees_size(model: Any) -> dict[str, int]:
    trees = np.ravel(model.estimators_)
    return {"trees": len(trees), "nodes": sum(tree.tree_.node_count for tree in trees)}


def network_size(model: Any) -> dict[str, int]:
    layers = model[-1]
    return {"weights": sum(array.size for array in (*layers.coefs_, *layers.intercepts_))}


def rules_size(model: NeuralRuleClassifier) -> dict[str, int]:
    rules = model.network_
    return {
        "rules": rules.n_rules,
        "literals": rules.n_literals,
        "nonzero": rules.n_parameters,
    }


DEPTHS = (2, 4, 6, 8, 10)
METHODS = {
    method.name: method
    for method in (
        Method("GB", "max_depth", DEPTHS, boosting, trees_size),
        Forest("RF", "n_estimators", (32, 64, 128, 256, 512), forest, trees_size),
        Method("ANN", "hidden units", (64, 128, 256, 512, 1024), network, network_size),
        Method("NRE", "max_depth", DEPTHS, rule_ensemble, rules_size),
    )
}

# Ways to train a neural rule ensemble that differ from the library's defaults.
CHANGES: dict[str, dict[str, Any]] = {
    "NRE-start": {"n_epochs": 0},
    "NRE-plain": {"l2": 0, "rule_dropout": 0, "schedule": "constant"},
    "NRE-long": {"n_epochs": 1000},
    "NRE-deep": {"deep": True},
    "NRE-boosting": {"rule_source": "boosting"},
}
VARIANTS = {
    name: Method(name, "max_depth", DEPTHS, partial(rule_ensemble, **changed), rules_size)
    for name, changed in CHANGES.items()
}
