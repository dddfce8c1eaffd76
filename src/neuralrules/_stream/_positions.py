"""Which rows of a table belong to a sample, by a hash of their position.

A row is in a sample or not whatever the size of the pieces that a table is read in, and in
every pass over it, and nothing has to be kept for that.
"""

from __future__ import annotations

import numpy as np

# What a sample is for: rows are drawn anew for each.
VALIDATION, GROWING, QUANTILES = range(3)
# The constants of splitmix64 by Steele, Lea and Flood.
STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def chosen(first: int, n_rows: int, share: float, seed: int, purpose: int) -> np.ndarray:
    """Which of the rows from position `first` on are in a sample of a share of all rows.

    Parameters
    ----------
    first, n_rows : int
    share : float
        From 0, no row, to 1, all of them.
    seed : int
    purpose : int
        Samples for different purposes are drawn independently.

    Returns
    -------
    (n_rows,) bool
    """
    if share >= 1:
        return np.ones(n_rows, bool)
    start = mixed(np.array([seed * 4 + purpose], np.uint64))
    positions = np.arange(first, first + n_rows, dtype=np.uint64)
    # The upper 53 bits as a number from 0 to 1.
    return (mixed(start + positions) >> np.uint64(11)) * 2.0**-53 < share


def mixed(numbers: np.ndarray) -> np.ndarray:
    """Numbers (n,) uint64 as others that look random: splitmix64, which wraps around."""
    z = (numbers + np.uint64(1)) * np.uint64(STEP)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(FIRST)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND)
    return z ^ (z >> np.uint64(31))
