"""The reference engine: short, obvious and slow.

It works in float32 and in float64. With float64, tests can check gradients by finite
differences.
"""

from __future__ import annotations

import numpy as np

from neuralrules._data._rows import Rows
from neuralrules._engine._adam import BETA_1, BETA_2, EPSILON, Moments
from neuralrules._engine._protocol import OPERATIONS_ON_A_CPU, Batches
from neuralrules._network._constraints import Constraints
from neuralrules._network._network import Network
from neuralrules._network._parameters import Layout, Parameters
from neuralrules._task._loss import Loss

CHUNK = 1024  # rows whose literals are in memory at the same time


def literals_forward(parameters: Parameters, layout: Layout, x: np.ndarray) -> np.ndarray:
    """w_j . x + a_j for every row and literal, shape (n_rows, n_literals).

    Here and in all functions below, x (n_rows, n_features) holds the columns that the network
    looks at.
    """
    return x @ layout.dense(parameters.weights).T + parameters.biases


def units_forward(parameters: Parameters, layout: Layout, literals: np.ndarray) -> np.ndarray:
    """The units of every rule, (n_rows, n_literals). A rule takes the minimum of its units.

    The units of a shallow rule are its literals. The units of a deep rule are the outputs of
    its second layer.
    """
    if not layout.deep:
        return literals
    units = np.empty_like(literals)
    for rule in range(layout.n_rules):
        own = layout.literals_of(rule)
        mixing = layout.mixing_of(parameters.mixing, rule)
        units[:, own] = np.maximum(literals[:, own], 0) @ mixing.T + parameters.shifts[own]
    return units


def rules_forward(parameters: Parameters, layout: Layout, x: np.ndarray) -> np.ndarray:
    """min_j ReLU(unit_j) of every row and rule, shape (n_rows, n_rules).

    The ReLU is monotone, so it can be applied after the minimum.
    """
    units = units_forward(parameters, layout, literals_forward(parameters, layout, x))
    return np.maximum(np.minimum.reduceat(units, layout.offsets[:-1], axis=1), 0)


def gradient(
    parameters: Parameters, layout: Layout, x: np.ndarray, slopes: np.ndarray
) -> Parameters:
    """Gradient of a loss with respect to the parameters.

    `slopes` (n_rows, n_outputs) are the derivatives of the loss with respect to the outputs.
    For each row, only the smallest unit of each active rule gets a gradient. If several units
    are equally small, the first one gets it. The intercept gets a gradient from every row.
    """
    literals = literals_forward(parameters, layout, x)
    units = units_forward(parameters, layout, literals)
    result = parameters.zeros()
    result.intercept[:] = slopes.sum(axis=0)
    for rule in range(layout.n_rules):
        own = layout.literals_of(rule)
        smallest = units[:, own].argmin(axis=1)
        activation = np.maximum(units[:, own].min(axis=1), 0)
        result.values[rule] = activation @ slopes
        unit_slopes = np.zeros_like(units[:, own])
        rule_slopes = (slopes @ parameters.values[rule]) * (activation > 0)
        unit_slopes[np.arange(len(x)), smallest] = rule_slopes
        if layout.deep:
            rectified = np.maximum(literals[:, own], 0)
            layout.mixing_of(result.mixing, rule)[:] = unit_slopes.T @ rectified
            result.shifts[own] = unit_slopes.sum(axis=0)
            mixing = layout.mixing_of(parameters.mixing, rule)
            unit_slopes = (unit_slopes @ mixing) * (rectified > 0)
        columns = np.take(x, layout.places_of(rule), axis=1)
        layout.weights_of(result.weights, rule)[:] = unit_slopes.T @ columns
        result.biases[own] = unit_slopes.sum(axis=0)
    return result


def penalty_gradient(
    parameters: Parameters, layout: Layout, active: np.ndarray, l2: float
) -> Parameters:
    """Gradient of l2 times the sum of squares, for the rules with an active row.

    `active` is (n_rules,) bool. A rule that is active on no row of the batch is not penalised.
    Adam turns even a tiny constant slope into full steps, so the penalty would destroy a rule
    for rare rows in the batches without such rows. Biases are not penalised, because smaller
    biases would draw thresholds towards the mean of their column.
    """
    weights = np.repeat(active, np.diff(layout.weight_offsets))
    mixing = np.repeat(active, np.diff(layout.mixing_offsets))
    return parameters.zeros()._replace(
        weights=2 * l2 * parameters.weights * weights,
        values=2 * l2 * parameters.values * active[:, None],
        mixing=2 * l2 * parameters.mixing * mixing,
    )


def adam_step(
    parameters: Parameters, moments: Moments, gradient: Parameters, rate: float, step: int
) -> None:
    """Adam step number `step` (from 1), in place."""
    for parameter, slope, mean, square in zip(
        parameters, gradient, moments.means, moments.squares, strict=True
    ):
        mean[:] = BETA_1 * mean + (1 - BETA_1) * slope
        square[:] = BETA_2 * square + (1 - BETA_2) * slope**2
        corrected_mean = mean / (1 - BETA_1**step)
        corrected_square = square / (1 - BETA_2**step)
        parameter[:] -= rate * corrected_mean / (np.sqrt(corrected_square) + EPSILON)


def hold(gradient: Parameters, moments: Moments, frozen: Parameters) -> None:
    """Set the slopes and moments of frozen parameters to 0. A step then cannot change them."""
    for held, *arrays in zip(frozen, gradient, *moments[:2], strict=True):
        for array in arrays:
            array[held] = 0


def bring_back(parameters: Parameters, constraints: Constraints) -> None:
    """Clip the parameters that are not frozen to their bounds."""
    for parameter, held, lower, upper in zip(parameters, *constraints, strict=True):
        within = np.minimum(np.maximum(parameter, lower), upper)
        parameter[:] = np.where(held, parameter, within)


class NumpySession:
    """Implements `neuralrules._engine._protocol.Session`."""

    def __init__(
        self,
        network: Network,
        rows: Rows,
        loss: Loss,
        constraints: Constraints | None,
        l2: float,
        moments: Moments | None,
        fit_intercept: bool,
    ) -> None:
        if constraints is not None:
            constraints.check(network.parameters)
        self._start, self._rows = network, rows
        self._loss, self._constraints, self._l2 = loss, constraints, l2
        self._fit_intercept = fit_intercept
        self._parameters = network.parameters.copy()
        self._moments = moments.copy() if moments else Moments.start(network.parameters)

    def run(self, batches: Batches) -> float:
        total = 0.0
        for number, rate in enumerate(batches.rates):
            rows = batches.rows[number * batches.size : (number + 1) * batches.size]
            total += self._step(rows, batches.gates[number], float(rate))
        return total

    def _step(self, numbers: np.ndarray, gates: np.ndarray, rate: float) -> float:
        parameters, layout = self._parameters, self._start.layout
        rows = self._rows.take(numbers)
        x, weights = rows.X[:, self._start.features], rows.training_weights
        gated = parameters._replace(values=parameters.values * gates[:, None])
        active = rules_forward(gated, layout, x) * gates
        # BLAS may read memory next to a small matrix and warn about numbers there. A real NaN
        # shows in the loss.
        with np.errstate(invalid="ignore"):
            outputs = active @ parameters.values + parameters.intercept
        losses, slopes = self._loss.evaluate(outputs, rows.loss_targets.astype(active.dtype))
        slopes *= weights[:, None] / weights.sum()
        slope = gradient(gated, layout, x, slopes)
        slope = slope._replace(
            values=slope.values * gates[:, None],
            intercept=slope.intercept * self._fit_intercept,
        )
        touched = (active > 0).any(axis=0)
        penalty = penalty_gradient(parameters, layout, touched, self._l2)
        slope = Parameters(*(a + b for a, b in zip(slope, penalty, strict=True)))
        if self._constraints is not None:
            hold(slope, self._moments, self._constraints.frozen)
        self._moments = self._moments._replace(n_steps=self._moments.n_steps + 1)
        adam_step(parameters, self._moments, slope, rate, self._moments.n_steps)
        if self._constraints is not None:
            bring_back(parameters, self._constraints)
        return float(weights @ losses)

    def network(self) -> Network:
        return self._start.with_parameters(self._parameters.copy())

    def moments(self) -> Moments:
        return self._moments.copy()


class NumpyEngine:
    """Implements `neuralrules._engine._protocol.Engine`."""

    operations_per_call = OPERATIONS_ON_A_CPU

    def start(
        self,
        network: Network,
        rows: Rows,
        loss: Loss,
        constraints: Constraints | None = None,
        *,
        l2: float,
        moments: Moments | None = None,
        fit_intercept: bool = True,
    ) -> NumpySession:
        return NumpySession(network, rows, loss, constraints, l2, moments, fit_intercept)

    def decide(self, network: Network, X: np.ndarray) -> np.ndarray:
        outputs = np.zeros((len(X), network.n_outputs))
        for start in range(0, len(X), CHUNK):
            active = self.activations(network, X[start : start + CHUNK])
            for rule, values in enumerate(network.values):
                outputs[start : start + CHUNK] += active[:, rule, None] * values
        return outputs

    def activations(self, network: Network, X: np.ndarray) -> np.ndarray:
        result = np.empty((len(X), network.n_rules))
        for start in range(0, len(X), CHUNK):
            x = X[start : start + CHUNK, network.features]
            result[start : start + CHUNK] = rules_forward(network.parameters, network.layout, x)
        return result
