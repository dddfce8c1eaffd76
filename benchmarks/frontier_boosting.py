"""Boosting with a given total number of leaves, tuned to use them as well as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import train_test_split

LEAVES_PER_TREE = (2, 4, 8)
RATES = (0.1, 0.3, 1.0)
VALIDATION_SHARE = 0.2


class SizedBoosting(BaseEstimator):
    """Boosted trees with a given total number of leaves.

    The number of leaves per tree and the learning rate are chosen by the loss on a fifth of the
    training rows. The model is then fitted to all training rows. With several classes, the
    trees of all classes share the leaves. There is at least one round.

    Parameters
    ----------
    make : callable (n_rounds, n_leaves, rate) -> estimator
    n_leaves : int
        Number of leaves of all trees together.
    n_classes : int
        Number of classes; 0 for a regression.
    """

    def __init__(self, make: Callable[..., Any], n_leaves: int, n_classes: int) -> None:
        self.make = make
        self.n_leaves = n_leaves
        self.n_classes = n_classes

    def shapes(self) -> Iterator[tuple[int, int, float]]:
        """The rounds, the leaves per tree and the learning rate of each candidate."""
        trees_a_round = self.n_classes if self.n_classes > 2 else 1
        for leaves, rate in product(LEAVES_PER_TREE, RATES):
            yield max(1, self.n_leaves // (leaves * trees_a_round)), leaves, rate

    def fit(self, X: np.ndarray, y: np.ndarray) -> SizedBoosting:
        shapes = list(dict.fromkeys(self.shapes()))
        parts = self.validation(X, y)
        losses = [self.loss(shape, *parts) for shape in shapes]
        self.shape_ = shapes[int(np.argmin(losses))]
        self.model_ = self.make(*self.shape_).fit(X, y)
        if self.n_classes:
            self.classes_ = self.model_.classes_
        return self

    def validation(self, X: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
        """The rows in two parts, stratified if every class has at least two rows."""
        enough = self.n_classes and np.bincount(y.astype(int)).min() > 1
        return train_test_split(
            X, y, test_size=VALIDATION_SHARE, random_state=0, stratify=y if enough else None
        )

    def loss(
        self,
        shape: tuple[int, int, float],
        X: np.ndarray,
        X_valid: np.ndarray,
        y: np.ndarray,
        y_valid: np.ndarray,
    ) -> float:
        """The loss of a candidate on one part of the rows, after a fit to the other part."""
        model = self.make(*shape).fit(X, y)
        if not self.n_classes:
            return mean_squared_error(y_valid, model.predict(X_valid))
        known = np.isin(y_valid, model.classes_)
        return log_loss(
            y_valid[known], model.predict_proba(X_valid[known]), labels=model.classes_
        )

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict(X)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict_proba(X)
