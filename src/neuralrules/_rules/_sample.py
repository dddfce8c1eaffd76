"""Rows that trees grow from, where a table has more than they gain by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from neuralrules._data._rows import Rows


def sample(rows: Rows, n_rows: int, random_state: np.random.RandomState) -> Rows:
    """At most so many of the rows that have weight, in their order; all where there are fewer.

    Each class gives as many rows as any other, or all it has, so that a rare one is not lost
    among the rest; the rows of the others weigh more instead.
    """
    counted = np.flatnonzero(rows.training_weights)
    if len(counted) <= n_rows:
        return rows
    codes = rows.codes[counted] if rows.task.are_classes else np.zeros(len(counted), np.int64)
    present = np.bincount(codes)
    taken = shares(present, n_rows)
    chosen = [
        random_state.choice(counted[codes == group], n, replace=False)
        for group, n in enumerate(taken)
    ]
    kept = np.sort(np.concatenate(chosen))
    some = rows.take(kept)
    factors = present / np.maximum(taken, 1)
    heavier = factors[some.codes] if rows.task.are_classes else factors[0]
    weights = (some.training_weights * heavier).astype(np.float32)
    return replace(some, training_weights=weights)


def shares(present: np.ndarray, n_rows: int) -> np.ndarray:
    """How many rows each group gives to so many in all: as many as any, or all it has.

    Parameters
    ----------
    present : (n_groups,) int64
    n_rows : int

    Returns
    -------
    (n_groups,) int64
    """
    taken = np.zeros_like(present)
    left = n_rows
    for place, group in enumerate(np.argsort(present, kind="stable")):
        taken[group] = min(present[group], left // (len(present) - place))
        left -= taken[group]
    return taken
