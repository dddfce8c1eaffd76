"""Boosted trees grown by scikit-learn's histograms, on columns that we bin ourselves.

A column of many values is cut into at most `MAX_BINS` bins with about equally many rows each,
and trees only split between bins. So trees grow quickly even on many rows. We compute the bins
ourselves, and give scikit-learn the numbers of the bins as columns. Its own weighted quantiles
would take longer than all trees, and they differ between its versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import ThreadpoolController

from neuralrules._rules._trees import Splits, float32_below

MAX_BINS = 255  # per column: the most that scikit-learn's histograms can have


@dataclass(frozen=True)
class Bins:
    """The cuts of columns into bins: a number belongs to bin k if k cuts are below it.

    Attributes
    ----------
    cuts : list of (n_cuts,) float64
        The cuts of each column, ascending, each half way between two neighbouring numbers.
    """

    cuts: list[np.ndarray]

    @classmethod
    def fit(cls, X: np.ndarray) -> Bins:
        """Learn from encoded rows (n_rows, n_columns) float32."""
        return cls([cuts_between(np.sort(column)) for column in X.T])

    def transform(self, X: np.ndarray) -> np.ndarray:
        """The bins of encoded rows, (n_rows, n_columns) uint8."""
        bins = np.empty(X.shape, np.uint8, order="F")
        for place, cuts in enumerate(self.cuts):
            # A float32 number is <= a cut if and only if it is <= the float32 below the cut.
            bins[:, place] = np.searchsorted(float32_below(cuts), X[:, place])
        return bins

    def splits(self, predictor: Any) -> tuple[Splits, np.ndarray]:
        """The splits and the node values of a tree that scikit-learn grew on bins.

        The splits have the cuts of the columns as thresholds. The values of the nodes,
        (n_nodes,) float64, include the learning rate.
        """
        nodes = predictor.nodes
        inner = nodes["is_leaf"] == 0
        # scikit-learn splits half way between two bins. The lower bin is the threshold's floor.
        bins = np.where(inner, nodes["num_threshold"], 0).astype(np.intp)
        feature = np.where(inner, nodes["feature_idx"], 0)
        threshold = np.zeros(len(nodes))
        threshold[inner] = [
            self.cuts[column][cut]
            for column, cut in zip(feature[inner], bins[inner], strict=True)
        ]
        left, right = (
            np.where(inner, nodes[side].astype(np.intp), -1) for side in ("left", "right")
        )
        return Splits(feature, threshold, left, right), nodes["value"]


def cuts_between(numbers: np.ndarray) -> np.ndarray:
    """At most `MAX_BINS` - 1 cuts, each half way between neighbours among sorted numbers."""
    last = np.flatnonzero(numbers[:-1] < numbers[1:])  # the last row of each number
    if len(last) >= MAX_BINS:
        # Bins have about equally many rows. A number that many rows share has a bin of its own.
        ends = len(numbers) * np.arange(1, MAX_BINS) // MAX_BINS - 1
        last = last[np.unique(np.searchsorted(last, ends).clip(max=len(last) - 1))]
    return (numbers[last].astype(np.float64) + numbers[last + 1]) / 2


@cache
def thread_pools() -> ThreadpoolController:
    """The thread pools of this process, cached because finding them takes milliseconds."""
    return ThreadpoolController()


def boost(
    bins: np.ndarray, y: np.ndarray, weights: np.ndarray, *, loss: Any, **parameters: Any
) -> Any:
    """Boost trees on the bins (n_rows, n_columns) of rows, all with a positive weight.

    Parameters
    ----------
    y : (n_rows,)
        Class codes if `loss` is "log_loss", else numbers.
    weights : (n_rows,) float32
    loss : str or one of scikit-learn's losses
    parameters
        Other parameters of scikit-learn's estimator.
    """
    kind = (
        HistGradientBoostingClassifier if loss == "log_loss" else HistGradientBoostingRegressor
    )
    model = kind(loss=loss, early_stopping=False, max_leaf_nodes=None, **parameters)
    equal = weights.min() == weights.max()
    # scikit-learn would use all cores, and its threads wait for each other at every node. If
    # other programs run, the threads wait longer than they work: 30 trees on 20,000 rows took
    # 7 s instead of 0.2 s. One thread is quick enough for the rows that our trees grow from.
    with thread_pools().limit(limits=1, user_api="openmp"):
        return model.fit(bins, y, sample_weight=None if equal else weights)
