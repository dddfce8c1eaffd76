"""Which rows are held out to stop early on."""

from __future__ import annotations

import numpy as np


def held_out(
    groups: np.ndarray, fraction: float, random_state: np.random.RandomState
) -> np.ndarray:
    """Which rows to hold out: a random share of each group, but never all of a group.

    A class that training never saw could only be guessed at.

    Parameters
    ----------
    groups : (n_rows,)
        The class of each row.
    fraction : float
    random_state : RandomState

    Returns
    -------
    (n_rows,) bool
    """
    held = np.zeros(len(groups), bool)
    owed = 0.0  # fractions of rows that earlier groups did not give
    for group in np.unique(groups):
        own = np.flatnonzero(groups == group)
        owed += fraction * len(own)
        n_held = min(round(owed), len(own) - 1)
        held[random_state.permutation(own)[:n_held]] = True
        owed -= n_held
    return held
