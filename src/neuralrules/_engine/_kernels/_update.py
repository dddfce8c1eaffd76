"""The Adam step, with the penalty and the constraints."""

from __future__ import annotations

import numpy as np

from neuralrules._engine._adam import BETA_1, BETA_2, EPSILON
from neuralrules._engine._kernels._compile import inlined, kernel
from neuralrules._engine._kernels._forward import own_blocks

# Far below what EPSILON lets through: for means, and for squares.
TINY_MEAN, TINY_SQUARE = np.float32(1e-20), np.float32(1e-30)


@inlined
def adam(parameter, gradient, mean, square, rate, epsilon):
    """One Adam step on flat arrays; clears the gradient for the next batch."""
    for i in range(parameter.size):
        g = np.float32(gradient[i])
        m = np.float32(BETA_1) * mean[i] + np.float32(1 - BETA_1) * g
        v = np.float32(BETA_2) * square[i] + np.float32(1 - BETA_2) * g * g
        # Moments of idle parameters decay towards subnormal numbers, which are slow.
        mean[i] = m if abs(m) > TINY_MEAN else np.float32(0.0)
        square[i] = v if v > TINY_SQUARE else np.float32(0.0)
        parameter[i] -= rate * m / (np.sqrt(v) + epsilon)
        gradient[i] = 0


@inlined
def hold(frozen, gradient, mean, square):
    """Take slopes and momentum from frozen parameters: a step then leaves them alone."""
    for i in range(frozen.size):
        if frozen[i]:
            gradient[i] = 0
            mean[i] = 0
            square[i] = 0


@inlined
def bring_back(parameter, frozen, lower, upper):
    """Put parameters that are not frozen back between their bounds; NaN stays NaN."""
    for i in range(parameter.size):
        if not frozen[i]:
            parameter[i] = np.minimum(np.maximum(parameter[i], lower[i]), upper[i])


@inlined
def add_penalty(parameter, gradient, l2):
    """Add the gradient of l2 times the sum of squares, on flat arrays."""
    for i in range(parameter.size):
        gradient[i] += np.float32(2.0) * l2 * parameter[i]


@kernel
def penalize_rule(parameters, gradient, layout, rule, l2):
    """Add the penalty of one rule; biases are free, see the reference engine."""
    add_penalty(parameters.values[rule], gradient.values[rule], l2)
    i, j = layout.weight_offsets[rule], layout.weight_offsets[rule + 1]
    add_penalty(parameters.weights[i:j], gradient.weights[i:j], l2)
    if layout.deep:
        i, j = layout.mixing_offsets[rule], layout.mixing_offsets[rule + 1]
        add_penalty(parameters.mixing[i:j], gradient.mixing[i:j], l2)


@inlined
def update(arrays, limits, constrained, begin, end, step):
    """Adam step on the elements `begin` to `end` of flat arrays.

    arrays : parameter, gradient, mean, square
    limits : frozen, lower, upper; looked at only if `constrained`
    step : rate, epsilon
    """
    parameter, gradient = arrays[0][begin:end], arrays[1][begin:end]
    mean, square = arrays[2][begin:end], arrays[3][begin:end]
    if constrained:
        hold(limits[0][begin:end], gradient, mean, square)
    adam(parameter, gradient, mean, square, step[0], step[1])
    if constrained:
        frozen, lower, upper = limits
        bring_back(parameter, frozen[begin:end], lower[begin:end], upper[begin:end])


@inlined
def corrected(rate, number):
    """Rate and epsilon of step `number`: the bias corrections moved into them, as published."""
    correction = np.sqrt(1.0 - BETA_2**number)
    return (
        np.float32(rate * correction / (1.0 - BETA_1**number)),
        np.float32(EPSILON * correction),
    )


@kernel
def update_intercept(arrays, limits, rate, number):
    """Adam step `number` (from 1) on the intercept, which no penalty shrinks.

    arrays : intercept, gradient, mean, square
    """
    own = limits.frozen.intercept, limits.lower.intercept, limits.upper.intercept
    update(arrays, own, limits.exist, 0, arrays[0].size, corrected(rate, number))


@kernel
def update_blocks(team, state, layout, limits, workspace, rate, number, l2):
    """Adam step `number` (from 1) on the parameters of a thread's blocks.

    Only rules with an active row in the batch are shrunk. Clears their marks and the
    gradient.
    """
    step = corrected(rate, number)
    p, g, m, v = state.parameters, workspace.gradient, state.means, state.squares
    exist, f, lo, up = limits.exist, limits.frozen, limits.lower, limits.upper
    n = p.values.shape[1]
    values = (
        p.values.reshape(-1),
        g.values.reshape(-1),
        m.values.reshape(-1),
        v.values.reshape(-1),
    )
    value_limits = f.values.reshape(-1), lo.values.reshape(-1), up.values.reshape(-1)
    weights = p.weights, g.weights, m.weights, v.weights
    weight_limits = f.weights, lo.weights, up.weights
    biases = p.biases, g.biases, m.biases, v.biases
    bias_limits = f.biases, lo.biases, up.biases
    shifts = p.shifts, g.shifts, m.shifts, v.shifts
    shift_limits = f.shifts, lo.shifts, up.shifts
    mixing = p.mixing, g.mixing, m.mixing, v.mixing
    mixing_limits = f.mixing, lo.mixing, up.mixing
    first, last = own_blocks(team, layout)
    # The blocks of a thread lie side by side: all their parameters at once.
    a, b = layout.blocks[first], layout.blocks[last]
    for rule in range(a, b):
        if workspace.touched[rule] and l2 > 0:
            penalize_rule(p, g, layout, rule, l2)
        workspace.touched[rule] = False
    update(values, value_limits, exist, a * n, b * n, step)
    i, j = layout.weight_offsets[a], layout.weight_offsets[b]
    update(weights, weight_limits, exist, i, j, step)
    i, j = layout.offsets[a], layout.offsets[b]
    update(biases, bias_limits, exist, i, j, step)
    if layout.deep:
        update(shifts, shift_limits, exist, i, j, step)
        i, j = layout.mixing_offsets[a], layout.mixing_offsets[b]
        update(mixing, mixing_limits, exist, i, j, step)
