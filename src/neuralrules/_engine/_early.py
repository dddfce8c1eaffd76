"""Predictions by NumPy, for tables that are too small to load numba for.

Loading numba takes longer than scoring a few thousand rows. So NumPy scores the first rows,
with the same operations in the same order as the numba kernels. After that, the kernels take
over.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from neuralrules._engine._protocol import Engine
from neuralrules._network._network import Network

# NumPy computes this many products of weights and cells in about half a second. Loading numba
# takes as long if its kernels are already compiled.
WORTH_LOADING = 2**26
CHUNK = 2048  # rows at a time; few enough that their numbers stay in the cache


class EarlyEngine:
    """Implements `neuralrules._engine._protocol.Decider`, first by NumPy, later by an engine.

    `load` returns the engine. It is called as soon as there is enough work.
    """

    def __init__(self, load: Callable[[], Engine]) -> None:
        self._load = load
        self._loaded: Engine | None = None
        self._n_products = 0

    def decide(self, network: Network, X: np.ndarray) -> np.ndarray:
        """See `neuralrules._engine._protocol.Engine.decide`."""
        self._n_products += len(X) * (network.own_weights.size + network.mixing.size)
        if self._loaded is None and self._n_products > WORTH_LOADING:
            self._loaded = self._load()
        if self._loaded is not None:
            return self._loaded.decide(network, X)
        return decide(network, X)


def decide(network: Network, X: np.ndarray) -> np.ndarray:
    """Sum of the rules for the encoded rows X, (n_rows, n_outputs) float64."""
    outputs = np.zeros((len(X), network.n_outputs))
    values = network.values.astype(np.float64)
    for start in range(0, len(X), CHUNK):
        inputs = np.ascontiguousarray(X[start : start + CHUNK, network.features].T, np.float64)
        for rule in range(network.n_rules):
            active = activation(network, rule, inputs)
            outputs[start : start + CHUNK] += active[:, None] * values[rule]
    return outputs


def activation(network: Network, rule: int, inputs: np.ndarray) -> np.ndarray:
    """min_j ReLU(unit_j) of one rule; inputs (n_features, n_rows) float64."""
    parameters, layout = network.parameters, network.layout
    own = layout.literals_of(rule)
    weights = layout.weights_of(parameters.weights, rule)
    units = weighted_sums(weights, parameters.biases[own], inputs[layout.places_of(rule)])
    if layout.deep:
        mixing = layout.mixing_of(parameters.mixing, rule)
        units = weighted_sums(mixing, parameters.shifts[own], np.maximum(units, 0))
    return np.maximum(units.min(axis=0), 0).astype(np.float64)


def weighted_sums(weights: np.ndarray, biases: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """a_l + sum_i w_li x_ir, (n_literals, n_rows) float32.

    As in the kernels, each number is one chain of multiply-adds in the order of the inputs. The
    product of two float32 numbers is exact in float64, and each sum is rounded to float32 once.
    """
    sums = np.repeat(biases[:, None], inputs.shape[1], axis=1)
    for column, cells in zip(weights.T.astype(np.float64), inputs, strict=True):
        sums = (sums + column[:, None] * cells).astype(np.float32)
    return sums
