"""Counterfactual answers beside all rows that there are."""

from __future__ import annotations

import numpy as np


def check_smallest(answer, costs, wanted, gaps, *, ties=True) -> bool:
    """An answer costs as little as any wanted row, and says so, but for rows near the boundary.

    Parameters
    ----------
    answer : Counterfactual
    costs : (n_rows,) float64
        What it costs to become each of the rows that there are.
    wanted : (n_rows,) bool
        Rows whose prediction is wanted.
    gaps : (n_rows,) float64
        How far their outputs are from those of another prediction. The program's margins
        matter only where a gap is small. It is not small where it is exactly 0, since no
        active rule makes a difference there; but without `ties` it is: an untrained deep rule
        is never clearly inactive, its units are 0 then.

    Returns
    -------
    bool
        Whether the answer could be proven to be the smallest.
    """
    near = gaps <= 1e-3
    clear = ~near | ((gaps == 0) & ties)
    lowest, lowest_clear = (
        min(costs[rows], default=np.inf) for rows in (wanted, wanted & clear)
    )
    assert lowest <= answer.cost + 1e-6
    assert answer.cost <= lowest_clear + 1e-6
    assert answer.bound <= lowest + 1e-6
    # No proof excludes a cheaper row that lies on the boundary, though it is not wanted.
    cheaper_tie = (near & ~wanted & (costs < answer.cost)).any()
    provable = lowest == lowest_clear and not cheaper_tie
    assert answer.optimal or not provable
    return bool(provable)
