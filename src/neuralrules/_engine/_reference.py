"""The reference engine: short, obvious and slow.

Works in float64 as well as in float32, so that gradients can be checked by finite
differences.
"""

from __future__ import annotations

import numpy as np

from neuralrules._engine._protocol import BETA_1, BETA_2, EPSILON, Batches, Examples, Optimizer
from neuralrules._network._network import Layout, Network, Parameters
from neuralrules._task._losses import expand_codes, losses_and_slopes  # merged later

CHUNK = 1024  # rows whose literals are held at a time


def literals_forward(parameters: Parameters, x: np.ndarray) -> np.ndarray:
    """w_j . x + a_j for every row and literal, shape (n_rows, n_literals)."""
    return x @ parameters.weights.T + parameters.biases


def rule_mixing(parameters: Parameters, layout: Layout, rule: int) -> np.ndarray:
    """The second layer of a deep rule, shape (n_literals, n_literals)."""
    n = layout.offsets[rule + 1] - layout.offsets[rule]
    start = layout.mixing_offsets[rule]
    return parameters.mixing[start : start + n * n].reshape(n, n)


def units_forward(parameters: Parameters, layout: Layout, literals: np.ndarray) -> np.ndarray:
    """What the minimum is taken over: the literals, or a deep rule's second layer."""
    if not layout.deep:
        return literals
    units = np.empty_like(literals)
    for rule in range(len(layout.offsets) - 1):
        own = slice(layout.offsets[rule], layout.offsets[rule + 1])
        mixing = rule_mixing(parameters, layout, rule)
        units[:, own] = np.maximum(literals[:, own], 0) @ mixing.T + parameters.shifts[own]
    return units


def activations(parameters: Parameters, layout: Layout, x: np.ndarray) -> np.ndarray:
    """min_j ReLU(unit_j) of every row and rule, shape (n_rows, n_rules).

    The ReLU is monotone, so it may come after the minimum.
    """
    units = units_forward(parameters, layout, literals_forward(parameters, x))
    return np.maximum(np.minimum.reduceat(units, layout.offsets[:-1], axis=1), 0)


def gradient(
    parameters: Parameters, layout: Layout, x: np.ndarray, slopes: np.ndarray
) -> Parameters:
    """Gradient of a loss whose derivative by the outputs is slopes (n_rows, n_outputs).

    Only the smallest literal of an active rule is moved; of equal ones the first.
    """
    literals = literals_forward(parameters, x)
    units = units_forward(parameters, layout, literals)
    result = parameters.zeros()
    for rule in range(len(layout.offsets) - 1):
        own = slice(layout.offsets[rule], layout.offsets[rule + 1])
        smallest = units[:, own].argmin(axis=1)
        activation = np.maximum(units[:, own].min(axis=1), 0)
        result.values[rule] = activation @ slopes
        unit_slopes = np.zeros_like(units[:, own])
        rule_slopes = (slopes @ parameters.values[rule]) * (activation > 0)
        unit_slopes[np.arange(len(x)), smallest] = rule_slopes
        if layout.deep:
            rectified = np.maximum(literals[:, own], 0)
            rule_mixing(result, layout, rule)[:] = unit_slopes.T @ rectified
            result.shifts[own] = unit_slopes.sum(axis=0)
            mixing = rule_mixing(parameters, layout, rule)
            unit_slopes = (unit_slopes @ mixing) * (rectified > 0)
        result.weights[own] = unit_slopes.T @ x
        result.biases[own] = unit_slopes.sum(axis=0)
    return result


def penalty_gradient(
    parameters: Parameters, layout: Layout, active: np.ndarray, l2: float
) -> Parameters:
    """Gradient of l2 times the sum of squares, for the rules with an active row.

    `active` is (n_rules,) bool. A rule that no row of the batch touches is left alone:
    Adam turns even the smallest steady slope into full steps, which would wear rules
    for rare rows away between two sightings. Biases are free: shrinking them would
    draw thresholds towards the mean of their column.
    """
    lengths = np.diff(layout.offsets)
    literals = np.repeat(active, lengths)
    mixing = np.repeat(active, lengths**2) if layout.deep else np.empty(0, bool)
    return parameters.zeros()._replace(
        weights=2 * l2 * parameters.weights * literals[:, None],
        values=2 * l2 * parameters.values * active[:, None],
        mixing=2 * l2 * parameters.mixing * mixing,
    )


def adam_step(optimizer: Optimizer, gradient: Parameters, rate: float, step: int) -> None:
    """Adam step number `step` (from 1), in place."""
    for parameter, slope, mean, square in zip(
        optimizer.parameters, gradient, optimizer.means, optimizer.squares, strict=True
    ):
        mean[:] = BETA_1 * mean + (1 - BETA_1) * slope
        square[:] = BETA_2 * square + (1 - BETA_2) * slope**2
        corrected_mean = mean / (1 - BETA_1**step)
        corrected_square = square / (1 - BETA_2**step)
        parameter[:] -= rate * corrected_mean / (np.sqrt(corrected_square) + EPSILON)


class NumpyEngine:
    """Implements `neuralrules._engine._protocol.Engine`."""

    def decide(self, network: Network, X: np.ndarray) -> np.ndarray:
        outputs = np.zeros((len(X), network.n_outputs))
        for start in range(0, len(X), CHUNK):
            x = X[start : start + CHUNK, network.features]
            active = activations(network.parameters, network.layout, x).astype(np.float64)
            for rule, values in enumerate(network.values):
                outputs[start : start + CHUNK] += active[:, rule, None] * values
        return outputs

    def train(
        self,
        optimizer: Optimizer,
        layout: Layout,
        examples: Examples,
        batches: Batches,
        loss: int,
        l2: float,
    ) -> float:
        parameters = optimizer.parameters
        total = 0.0
        for number, rate in enumerate(batches.rates):
            rows = batches.rows[number * batches.size : (number + 1) * batches.size]
            x = examples.X[np.ix_(rows, examples.features)]
            y, weights = examples.targets[rows], examples.weights[rows]
            if examples.coded:
                y = expand_codes(y[:, 0], parameters.values.shape[1])
            gates = batches.gates[number][:, None]
            gated = parameters._replace(values=parameters.values * gates)
            active = activations(gated, layout, x) * gates[:, 0]
            outputs = active @ parameters.values
            losses, slopes = losses_and_slopes(loss, outputs, y)
            total += float(weights @ losses)
            slopes *= weights[:, None] / weights.sum()
            slope = gradient(gated, layout, x, slopes)
            slope = slope._replace(values=slope.values * gates)
            touched = (active > 0).any(axis=0)
            penalty = penalty_gradient(parameters, layout, touched, l2)
            slope = Parameters(*(a + b for a, b in zip(slope, penalty, strict=True)))
            adam_step(optimizer, slope, rate, batches.first_step + number + 1)
        return total
