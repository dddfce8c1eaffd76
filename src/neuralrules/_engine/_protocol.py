"""What an engine is given and must do; engines are chosen by name.

An engine evaluates a network and trains its parameters on mini-batches. Two do:
`_engine_numpy` is the plain reference, `_engine_numba` is the fast one.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from neuralrules._network._network import Layout, Network, Parameters

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # Adam's published constants


class Examples(NamedTuple):
    """Training rows.

    Attributes
    ----------
    X : (n_rows, n_columns) float32
        Standardised, encoded table.
    features : (n_features,) int32
        Columns of X that the network looks at.
    targets : (n_rows, n_targets) float32
        Targets of a regression; otherwise one column of class codes.
    weights : (n_rows,) float32
    coded : bool
        Whether `targets` holds class codes.
    """

    X: np.ndarray
    features: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    coded: bool


class Batches(NamedTuple):
    """A run of mini-batches.

    Attributes
    ----------
    rows : (n,) int32
        Row numbers, batch after batch.
    size : int
        Rows in each batch; the last one may be shorter.
    rates : (n_batches,) float64
        Learning rate of each step.
    gates : (n_batches, n_rules) float32
        Factor of each rule in each batch: 0 for a rule that is dropped, else 1 or,
        with dropout, more than 1, so that the expected output stays the same.
    first_step : int
        Number of Adam steps taken before the first batch.
    """

    rows: np.ndarray
    size: int
    rates: np.ndarray
    gates: np.ndarray
    first_step: int


class Optimizer(NamedTuple):
    """Adam's state: the parameters, changed in place, and their two moments."""

    parameters: Parameters
    means: Parameters
    squares: Parameters

    @classmethod
    def start(cls, parameters: Parameters) -> Optimizer:
        return cls(parameters.copy(), parameters.zeros(), parameters.zeros())

    def copy(self) -> Optimizer:
        return Optimizer(*(part.copy() for part in self))


class Engine(Protocol):
    def decide(self, network: Network, X: np.ndarray) -> np.ndarray:
        """Sum of the rules, without the intercept, for the encoded rows X.

        Returns (n_rows, n_outputs) float64: the products of float32 values and float32
        activations, which are exact, summed in the order of the rules.
        """

    def train(
        self,
        optimizer: Optimizer,
        layout: Layout,
        examples: Examples,
        batches: Batches,
        loss: int,
        l2: float,
    ) -> float:
        """Take one Adam step a batch, in place; return the weighted sum of losses.

        The gradient of a batch is that of the weighted mean of its losses plus, for
        the rules with an active row in it, l2 times the sum of their squared
        parameters but the biases.
        """


def get_engine(name: str, n_threads: int) -> Engine:
    """The engine of that name. numba is imported here, not with the package."""
    if name == "numpy":
        from neuralrules._engine._reference import NumpyEngine

        return NumpyEngine()
    from neuralrules._engine._numba import NumbaEngine

    return NumbaEngine(n_threads)
