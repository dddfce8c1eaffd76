"""The Adam optimiser: its constants, and its moments from step to step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuralrules._network._parameters import Parameters

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # as published


class Moments(NamedTuple):
    """The moments of Adam: running means of each slope and of its square.

    Attributes
    ----------
    means, squares : Parameters
        Running means of the slopes and of their squares. Both start at zero.
    n_steps : int
        Number of steps so far. Adam needs it to correct the bias of the start at zero.
    """

    means: Parameters
    squares: Parameters
    n_steps: int

    @classmethod
    def start(cls, parameters: Parameters) -> Moments:
        return cls(parameters.zeros(), parameters.zeros(), 0)

    def copy(self) -> Moments:
        return Moments(self.means.copy(), self.squares.copy(), self.n_steps)


def corrected(rates: np.ndarray, n_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Rates and epsilons that include Adam's bias corrections, both (n,) float64.

    `rates` (n,) float64 are the learning rates of the steps that follow the first `n_steps`
    steps.
    """
    numbers = n_steps + 1 + np.arange(len(rates))
    correction = np.sqrt(1 - BETA_2**numbers)
    return rates * correction / (1 - BETA_1**numbers), EPSILON * correction
