"""Adam: its constants, and what it remembers from step to step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuralrules._network._parameters import Parameters

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # as published


class Moments(NamedTuple):
    """What Adam remembers: running means of each slope and of its square.

    Attributes
    ----------
    means, squares : Parameters
        Both begin at zero.
    n_steps : int
        Steps taken so far, by which Adam corrects that beginning.
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
    """Rates and epsilons of the steps after `n_steps`: Adam's corrections moved into them.

    Both (n,) float64, as `rates` are.
    """
    numbers = n_steps + 1 + np.arange(len(rates))
    correction = np.sqrt(1 - BETA_2**numbers)
    return rates * correction / (1 - BETA_1**numbers), EPSILON * correction
