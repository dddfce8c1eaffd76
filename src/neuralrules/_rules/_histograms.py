"""Boosted trees grown by histograms: scikit-learn's, on columns that we bin ourselves.

A column of many values is cut into at most `MAX_BINS` bins that hold about as many rows
each, and splits are looked for between bins only, which makes a tree as quick to grow on
many rows as on few values. We bin, and give scikit-learn the bins' numbers as its columns:
scikit-learn's own weighted quantiles would take longer than all trees, and its bins are not
the same in all its versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import ThreadpoolController

from neuralrules._rules._trees import Splits, float32_below

MAX_BINS = 255  # of a column: the most that scikit-learn's histograms hold


@dataclass(frozen=True)
class Bins:
    """Where columns are cut: a number belongs to bin k if k cuts are below it.

    Attributes
    ----------
    cuts : list of (n_cuts,) float64
        Of each column, ascending, each half way between two neighbouring numbers.
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
            # A float32 is at most a cut exactly if it is at most the next float32 below it.
            bins[:, place] = np.searchsorted(float32_below(cuts), X[:, place])
        return bins

    def splits(self, predictor: Any) -> tuple[Splits, np.ndarray]:
        """A tree that scikit-learn grew on bins, as one on columns, and its nodes' values.

        Its values already hold the learning rate.
        """
        nodes = predictor.nodes
        inner = nodes["is_leaf"] == 0
        # scikit-learn splits half way between two bins: the whole part is the lower one.
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
    """Half way between neighbours among sorted numbers, at most `MAX_BINS` - 1 times."""
    last = np.flatnonzero(numbers[:-1] < numbers[1:])  # of each number but the largest
    if len(last) >= MAX_BINS:
        # Of as many rows each; numbers that many rows share fill a bin of their own.
        ends = len(numbers) * np.arange(1, MAX_BINS) // MAX_BINS - 1
        last = last[np.unique(np.searchsorted(last, ends).clip(max=len(last) - 1))]
    return (numbers[last].astype(np.float64) + numbers[last + 1]) / 2


@cache
def thread_pools() -> ThreadpoolController:
    """The thread pools of this process, which take milliseconds to find."""
    return ThreadpoolController()


def boost(
    bins: np.ndarray, y: np.ndarray, weights: np.ndarray, *, loss: Any, **parameters: Any
) -> Any:
    """Boost trees on bins (n_rows, n_columns) of rows that all have weight.

    Parameters
    ----------
    y : (n_rows,)
        Class codes if `loss` is "log_loss", else numbers.
    weights : (n_rows,) float32
    loss : str or one of scikit-learn's losses
    parameters
        scikit-learn's other parameters.
    """
    kind = (
        HistGradientBoostingClassifier if loss == "log_loss" else HistGradientBoostingRegressor
    )
    model = kind(loss=loss, early_stopping=False, max_leaf_nodes=None, **parameters)
    equal = weights.min() == weights.max()
    # scikit-learn would take all cores, and its threads wait for each other at every node:
    # where anything else runs they wait longer than they work (30 trees on 20,000 rows took
    # 7 s instead of 0.2 s). One is quick enough on as many rows as we grow trees from.
    with thread_pools().limit(limits=1, user_api="openmp"):
        return model.fit(bins, y, sample_weight=None if equal else weights)
