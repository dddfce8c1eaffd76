"""Prediction by torch, with the same operations as `neuralrules._engine._early`.

The product of two float32 numbers is exact in float64, and each sum is rounded to float32 once.
So the output of a row depends neither on other rows nor on the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from neuralrules._network._network import Network

ROWS_AT_ONCE = {"cpu": 2**12, "cuda": 2**20}  # these fit into a cache; these fill a GPU


def chunks(network: Network, X: np.ndarray, device: Any) -> Iterator[tuple[slice, Any]]:
    """Split a table into chunks of n rows.

    Yields the rows of each chunk as a slice, and the columns of these rows that the network
    looks at, (n_features, n) float64 on the device.
    """
    n_rows = ROWS_AT_ONCE[device.type]
    for start in range(0, len(X), n_rows):
        some = slice(start, start + n_rows)
        x = np.take(X[some], network.features, axis=1)
        yield some, torch.tensor(x, device=device).T.double().contiguous()


def decide(network: Network, X: np.ndarray, device: Any) -> np.ndarray:
    """See `neuralrules._engine._protocol.Decider.decide`."""
    outputs = np.empty((len(X), network.n_outputs))
    values = network.values.astype(np.float64)
    for some, inputs in chunks(network, X, device):
        total = inputs.new_zeros((network.n_outputs, inputs.shape[1]))
        for rule, active in enumerate(each_activation(network, inputs)):
            for k, value in enumerate(values[rule].tolist()):
                total[k] += value * active
        outputs[some] = total.T.cpu().numpy()
    return outputs


def activations(network: Network, X: np.ndarray, device: Any) -> np.ndarray:
    """See `neuralrules._engine._protocol.Engine.activations`."""
    result = np.empty((len(X), network.n_rules))
    for some, inputs in chunks(network, X, device):
        for rule, active in enumerate(each_activation(network, inputs)):
            result[some, rule] = active.cpu().numpy()
    return result


def each_activation(network: Network, inputs: Any) -> Iterator[Any]:
    """min_j ReLU(unit_j) of each rule, (n_rows,) float64; inputs (n_features, n_rows)."""
    parameters, layout = network.parameters, network.layout
    for rule in range(network.n_rules):
        own = layout.literals_of(rule)
        weights = layout.weights_of(parameters.weights, rule)
        columns = [inputs[place] for place in layout.places_of(rule).tolist()]
        units = weighted_sums(weights, parameters.biases[own], columns, inputs)
        if layout.deep:
            mixing = layout.mixing_of(parameters.mixing, rule)
            rectified = [unit.clamp_min(0).double() for unit in units]
            units = weighted_sums(mixing, parameters.shifts[own], rectified, inputs)
        yield torch.stack(units).amin(dim=0).clamp_min(0).double()


def weighted_sums(
    weights: np.ndarray, biases: np.ndarray, columns: list[Any], inputs: Any
) -> list[Any]:
    """a_l + sum_i w_li x_i for each literal l, (n_rows,) float32."""
    sums = []
    for own, bias in zip(weights.tolist(), biases.tolist(), strict=True):
        total = inputs.new_full((inputs.shape[1],), bias, dtype=torch.float32)
        for weight, column in zip(own, columns, strict=True):
            total = (total + weight * column).float()
        sums.append(total)
    return sums
