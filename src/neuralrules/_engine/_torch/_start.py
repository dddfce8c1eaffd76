"""What steps of training begin with, on the device, and what they must do."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from neuralrules._engine._adam import Moments
from neuralrules._engine._torch._padding import Each, Padding, to_device
from neuralrules._engine._torch._table import Table
from neuralrules._network._constraints import Constraints
from neuralrules._network._parameters import Parameters
from neuralrules._task._loss import Loss


class Limits(NamedTuple):
    """`Constraints` on the device, padded."""

    frozen: Each
    lower: Each
    upper: Each


class Start(NamedTuple):
    """Everything on the device but the rows.

    Attributes
    ----------
    padding : Padding
    parameters, means, squares : Each
    limits : Limits, optional
    loss : Loss
    l2 : float
    fit_intercept : bool
    """

    padding: Padding
    parameters: Each
    means: Each
    squares: Each
    limits: Limits | None
    loss: Loss
    l2: float
    fit_intercept: bool

    @classmethod
    def of(
        cls,
        padding: Padding,
        parameters: Parameters,
        moments: Moments,
        constraints: Constraints | None,
        device: Any,
        **options: Any,
    ) -> Start:
        def moved(flat: Parameters, fills: Each | None = None) -> Each:
            return to_device(padding.padded(flat, fills), device)

        limits = None
        if constraints is not None:
            fills = [Each(*[fill] * len(parameters)) for fill in (False, -np.inf, np.inf)]
            limits = Limits(*map(moved, constraints, fills))
        return cls(
            padding,
            moved(parameters, padding.fills),
            moved(moments.means),
            moved(moments.squares),
            limits,
            **options,
        )


class Steps(Protocol):
    """What takes steps, and holds parameters and moments meanwhile."""

    def run(self, table: Table, rows: Any, size: int, gates: Any, adam: Any) -> float:
        """One step for each batch; returns the weighted sum of the losses before them.

        Parameters
        ----------
        table : Table
        rows : (n,) int32
            Batch after batch, on the device like the gates.
        size : int
            Rows in each batch; the last one may be shorter.
        gates : (n_batches, n_rules) float32
        adam : (2, n_batches) float64, on the host
            Rate and epsilon of each step, with Adam's corrections.
        """

    def state(self) -> tuple[Each, Each, Each]:
        """Parameters, means and squares, padded, as they are now."""
