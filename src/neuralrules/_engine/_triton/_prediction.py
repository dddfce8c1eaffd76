"""Prediction by one kernel, with the same operations as `neuralrules._engine._early`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from neuralrules._engine._torch._tensors import Padding, to_device
from neuralrules._engine._triton._forward import zeros_tuple
from neuralrules._engine._triton._steps import packed
from neuralrules._network._network import Network

ROWS = 256  # rows of one program
CELLS_AT_ONCE = 2**28  # cells that go to the GPU, or come back from it, at a time


@triton.jit
def wide_sum(weights, bias, columns, COLUMNS: tl.constexpr, ROWS: tl.constexpr):
    """A literal on some rows.

    Each product is exact, and each sum is rounded to float32 once.
    """
    result = tl.zeros((ROWS,), tl.float32) + tl.load(bias)
    for c in tl.static_range(COLUMNS):
        product = columns[c] * tl.load(weights + c).to(tl.float64)
        result = (result.to(tl.float64) + product).to(tl.float32)
    return result


@triton.jit(do_not_specialize=["n_rows", "n_rules"])
def predict(
    x,
    places,
    parameters,
    outputs,
    activations,
    n_rows,
    n_rules,
    LITERALS: tl.constexpr,
    COLUMNS: tl.constexpr,
    OUTPUTS: tl.constexpr,
    ROWS: tl.constexpr,
    SUM: tl.constexpr,
):
    """Outputs of some rows, or the activations of all rules on them.

    Each program evaluates all rules on its rows, in the order of the rules.

    x : (n_features + 1, n_rows); places and parameters are as in `_forward.forward`
    outputs : (n_outputs, n_rows) float64, filled if SUM is true
    activations : (n_rules, n_rows), filled if SUM is false
    """
    BIASES: tl.constexpr = LITERALS * COLUMNS
    VALUES: tl.constexpr = BIASES + LITERALS
    SIZE: tl.constexpr = VALUES + OUTPUTS
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    there = rows < n_rows
    sums = zeros_tuple(OUTPUTS, (ROWS,), tl.float64)
    for rule in range(n_rules):
        own = parameters + rule * SIZE
        columns = ()
        for c in tl.static_range(COLUMNS):
            column = x + tl.load(places + rule * COLUMNS + c) * n_rows
            columns = columns + (tl.load(column + rows, there, 0.0).to(tl.float64),)
        least = wide_sum(own, own + BIASES, columns, COLUMNS, ROWS)
        for j in tl.static_range(1, LITERALS):
            literal = wide_sum(own + j * COLUMNS, own + BIASES + j, columns, COLUMNS, ROWS)
            least = tl.minimum(least, literal)
        active = tl.maximum(least, 0.0)
        if SUM:
            new = ()
            for k in tl.static_range(OUTPUTS):
                value = tl.load(own + VALUES + k).to(tl.float64)
                new = new + (sums[k] + value * active.to(tl.float64),)
            sums = new
        else:
            tl.store(activations + rows, active, there)
            activations += n_rows
    if SUM:
        for k in tl.static_range(OUTPUTS):
            tl.store(outputs + k * n_rows.to(tl.int64) + rows, sums[k], there)


def predicted(
    network: Network, X: np.ndarray, device: Any, *, summed: bool
) -> Iterator[tuple[slice, Any]]:
    """Split a table into chunks of n rows, and predict each chunk.

    Yields the rows of the chunk as a slice, and a tensor: outputs (n, n_outputs) float64 if
    `summed`, else the activations (n, n_rules) float32.
    """
    padding = Padding.of(network.layout, network.n_outputs)
    parameters = packed(to_device(padding.padded(network.parameters, padding.fills), device))
    places = torch.tensor(padding.places, device=device)
    n_outputs, n_rules = network.n_outputs, network.n_rules
    _, n_literals, n_columns = padding.shapes.weights
    n_back = n_outputs if summed else n_rules
    n_at_once = max(1, CELLS_AT_ONCE // max(n_back, len(network.features)))
    for start in range(0, len(X), n_at_once):
        some = slice(start, min(start + n_at_once, len(X)))
        n_rows = some.stop - start
        x = torch.zeros((len(network.features) + 1, n_rows), device=device)
        x[:-1] = torch.tensor(np.take(X[some], network.features, axis=1), device=device).T
        kind = torch.float64 if summed else torch.float32
        result = torch.empty((n_back, n_rows), dtype=kind, device=device)
        predict[(triton.cdiv(n_rows, ROWS),)](
            x,
            places,
            parameters,
            result if summed else None,
            None if summed else result,
            n_rows,
            n_rules,
            LITERALS=n_literals,
            COLUMNS=n_columns,
            OUTPUTS=n_outputs,
            ROWS=ROWS,
            SUM=summed,
        )
        yield some, result.T


def decide(network: Network, X: np.ndarray, device: Any) -> np.ndarray:
    """See `neuralrules._engine._protocol.Decider.decide`."""
    outputs = np.empty((len(X), network.n_outputs))
    for some, found in predicted(network, X, device, summed=True):
        outputs[some] = found.cpu().numpy()
    return outputs


def activations(network: Network, X: np.ndarray, device: Any) -> np.ndarray:
    """See `neuralrules._engine._protocol.Engine.activations`."""
    result = np.empty((len(X), network.n_rules))
    for some, found in predicted(network, X, device, summed=False):
        result[some] = found.cpu().numpy()
    return result
