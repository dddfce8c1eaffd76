"""Training: the backward pass, the Adam step, and the loop of a thread over mini-batches."""

from __future__ import annotations

import sys

import numpy as np
from numba import njit, types

from neuralrules._engine._adam import BETA_1, BETA_2, EPSILON
from neuralrules._engine._kernels._arrays import SLICE, load_slice, make_scratch, make_slice
from neuralrules._engine._kernels._compile import allocating, inlined, kernel
from neuralrules._engine._kernels._forward import activate_blocks, own_blocks
from neuralrules._engine._kernels._intrinsics import (
    add_gathered,
    add_multiple,
    atomic_add,
    atomic_load,
)
from neuralrules._engine._kernels._losses import loss_and_slopes

MAX_SPINS = 200_000  # a fraction of a millisecond
PAUSE_MICROSECONDS = 20
# Smaller means and squares become 0. They are too small to matter compared with EPSILON.
TINY_MEAN, TINY_SQUARE = np.float32(1e-20), np.float32(1e-30)


@inlined
def add_to_weights(gradient, start, places, x, row, slope):
    """Add slope * x[row] to the gradient of the weights of one literal.

    The weights of the literal begin at `start`.
    """
    if places.size == x.shape[1]:  # all columns: the numbers of x[row] are contiguous
        add_multiple(gradient, start, x, row, slope)
    else:
        add_gathered(gradient, start, x, row, places, slope)


@kernel
def weighted_sum(weights, start, places, x, row, bias):
    """The value of a literal on one row. The weights of the literal begin at `start`."""
    n = places.size
    z = bias
    if n == x.shape[1]:
        own, cells = weights[start : start + n], x[row]
        for f in range(n):
            z += own[f] * cells[f]
    else:
        for c in range(n):
            z += weights[start + c] * x[row, places[c]]
    return z


@kernel
def differentiate_literals(parameters, gradient, layout, rule, unit, x, row, slope):
    """Backward pass of a deep rule on one row of x (SLICE, n_features).

    Only the unit `unit`, the smallest unit of the rule on this row, passes the slope on.
    """
    first, last = layout.offsets[rule], layout.offsets[rule + 1]
    places = layout.places[layout.column_offsets[rule] : layout.column_offsets[rule + 1]]
    mixed = layout.mixing_offsets[rule] + unit * (last - first)
    gradient.shifts[first + unit] += slope
    for j in range(last - first):
        start = layout.weight_offsets[rule] + j * places.size
        z = weighted_sum(
            parameters.weights, start, places, x, row, parameters.biases[first + j]
        )
        if z > 0:
            inner = slope * parameters.mixing[mixed + j]
            gradient.mixing[mixed + j] += slope * z
            gradient.biases[first + j] += inner
            add_to_weights(gradient.weights, start, places, x, row, inner)


@kernel
def differentiate_blocks(team, parameters, layout, part, gates, workspace):
    """Backward pass of a thread's blocks of rules.

    Adds the slopes of each record to the gradient, and marks the rules with an active row.
    """
    gradient, records = workspace.gradient, workspace.records
    n_outputs = parameters.values.shape[1]
    first, last = own_blocks(team, layout)
    for block in range(first, last):
        for rule in range(layout.blocks[block], layout.blocks[block + 1]):
            begin = rule * SLICE
            if records.count[rule] == 0:
                continue
            workspace.touched[rule] = True
            biases, weights = layout.offsets[rule], layout.weight_offsets[rule]
            places = layout.places[
                layout.column_offsets[rule] : layout.column_offsets[rule + 1]
            ]
            for i in range(begin, begin + records.count[rule]):
                row = records.row[i]
                j = records.literal[i]
                slope = 0.0  # float64, and so are its products with x
                for k in range(n_outputs):
                    output_slope = gates[rule] * part.slopes[k, row]
                    gradient.values[rule, k] += output_slope * records.value[i]
                    slope += output_slope * parameters.values[rule, k]
                if layout.deep:
                    differentiate_literals(
                        parameters, gradient, layout, rule, j, part.x, row, slope
                    )
                else:
                    gradient.biases[biases + j] += slope
                    start = weights + j * places.size
                    add_to_weights(gradient.weights, start, places, part.x, row, slope)


@inlined
def adam(parameter, gradient, mean, square, rate, epsilon):
    """One Adam step on flat arrays. Sets the gradient to 0 for the next batch."""
    for i in range(parameter.size):
        g = np.float32(gradient[i])
        m = np.float32(BETA_1) * mean[i] + np.float32(1 - BETA_1) * g
        v = np.float32(BETA_2) * square[i] + np.float32(1 - BETA_2) * g * g
        # The moments of parameters without slopes decay towards subnormal numbers, which make
        # the CPU slow.
        mean[i] = m if abs(m) > TINY_MEAN else np.float32(0.0)
        square[i] = v if v > TINY_SQUARE else np.float32(0.0)
        parameter[i] -= rate * m / (np.sqrt(v) + epsilon)
        gradient[i] = 0


@inlined
def hold(frozen, gradient, mean, square):
    """Set the slopes and moments of frozen parameters to 0. A step then cannot change them."""
    for i in range(frozen.size):
        if frozen[i]:
            gradient[i] = 0
            mean[i] = 0
            square[i] = 0


@inlined
def bring_back(parameter, frozen, lower, upper):
    """Clip the parameters that are not frozen to their bounds. NaN stays NaN."""
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
    """Add the gradient of the penalty of one rule.

    Biases are not penalised; `neuralrules._engine._reference.penalty_gradient` says why.
    """
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
    limits : frozen, lower, upper; only used if `constrained`
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
    """Rate and epsilon of step `number`, which include Adam's bias corrections.

    The paper on Adam describes this form.
    """
    correction = np.sqrt(1.0 - BETA_2**number)
    return (
        np.float32(rate * correction / (1.0 - BETA_1**number)),
        np.float32(EPSILON * correction),
    )


@kernel
def update_intercept(arrays, limits, rate, number):
    """Adam step `number` (from 1) on the intercept, which is not penalised.

    arrays : intercept, gradient, mean, square
    """
    own = limits.frozen.intercept, limits.lower.intercept, limits.upper.intercept
    update(arrays, own, limits.exist, 0, arrays[0].size, corrected(rate, number))


@kernel
def update_blocks(team, state, layout, limits, workspace, rate, number, l2):
    """Adam step `number` (from 1) on the parameters of a thread's blocks.

    Only rules with an active row in the batch are penalised. Clears the marks of these rules
    and sets the gradient to 0.
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
    # The blocks of a thread are next to each other in memory, so one call updates the
    # parameters of all of them.
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


if sys.platform == "win32":

    @njit
    def pause(microseconds):
        """Do nothing, because Windows has no short sleep: the thread keeps spinning."""
else:
    pause = types.ExternalFunction("usleep", types.int32(types.uint32))


@kernel
def wait_for_all(arrivals, target):
    """Barrier: count the arrival of this thread, then wait until there are `target` arrivals.

    The other threads usually arrive within microseconds. If they do not, another program uses
    their core. This thread then sleeps, so that the system can give its core to them.
    """
    atomic_add(arrivals)
    spins = 0
    while atomic_load(arrivals) < target:
        spins += 1
        if spins > MAX_SPINS:
            pause(PAUSE_MICROSECONDS)


@kernel
def add_blocks(intercept, partial, n_rows, outputs):
    """Outputs of a slice: the intercept plus the outputs of the blocks, in their order.

    partial : (n_blocks, n_outputs, SLICE), the outputs of the blocks
    outputs : (n_outputs, SLICE), filled
    """
    for k in range(intercept.size):
        outputs[k] = intercept[k]
    for block in range(partial.shape[0]):
        for k in range(partial.shape[1]):
            for i in range(n_rows):
                outputs[k, i] += partial[block, k, i]


@kernel
def summed_weight(weights, rows):
    """Sum of the weights of the rows with the numbers `rows`, in float64."""
    total = 0.0
    for i in range(rows.size):
        total += weights[rows[i]]
    return total


@kernel
def divide(slopes, n_rows, weight):
    """Divide slopes (n_outputs, SLICE) by the weight of the batch.

    The slopes of the weighted sum of the losses become the slopes of their weighted mean.
    """
    for k in range(slopes.shape[0]):
        for i in range(n_rows):
            slopes[k, i] /= weight


@kernel
def sum_slopes(slopes, n_rows, gradient):
    """Add the slopes (n_outputs, SLICE) to the gradient (n_outputs,) of the intercept."""
    for k in range(gradient.size):
        for i in range(n_rows):
            gradient[k] += slopes[k, i]


@allocating
def train_part(team, state, layout, limits, table, batches, settings, workspace):
    """Train on a run of mini-batches as one thread of a team.

    Returns the weighted sum of all losses, which is the same in every thread.
    """
    parameters, gradient = state.parameters, workspace.gradient
    n_outputs = parameters.values.shape[1]
    # Every thread knows all slopes. So each thread trains its own copy of the intercept, and
    # all copies are equal. Threads would have to wait for each other to share one intercept.
    intercept = parameters.intercept.copy()
    intercept_means = state.means.intercept.copy()
    intercept_squares = state.squares.intercept.copy()
    intercept_gradient = np.zeros(n_outputs)
    scratch = make_scratch(layout)
    part = make_slice(layout.n_features, n_outputs, gradient.values)
    total = 0.0
    n_slices = 0
    for b in range(batches.rates.size):
        start = b * batches.size
        stop = min(start + batches.size, batches.rows.size)
        gates = batches.gates[b]
        weight = summed_weight(table.weights, batches.rows[start:stop])
        for first in range(start, stop, SLICE):
            rows = batches.rows[first : min(first + SLICE, stop)]
            load_slice(table, rows, part)
            partial = workspace.partial[n_slices % 2]
            activate_blocks(
                team,
                parameters,
                layout,
                part.tiles,
                rows.size,
                gates,
                scratch,
                workspace,
                partial,
            )
            n_slices += 1
            if team.n_threads > 1:
                wait_for_all(team.arrivals, team.n_threads * n_slices)
            add_blocks(intercept, partial, rows.size, part.outputs)
            total += loss_and_slopes(
                settings.loss,
                settings.loss_parameters,
                part.outputs,
                part.targets,
                part.weights,
                rows.size,
                part.slopes,
            )
            divide(part.slopes, rows.size, weight)
            differentiate_blocks(team, parameters, layout, part, gates, workspace)
            if settings.fit_intercept:
                sum_slopes(part.slopes, rows.size, intercept_gradient)
        if settings.moves:
            number = settings.n_steps + b + 1
            update_blocks(
                team, state, layout, limits, workspace, batches.rates[b], number, settings.l2
            )
            arrays = intercept, intercept_gradient, intercept_means, intercept_squares
            update_intercept(arrays, limits, batches.rates[b], number)
    if team.thread == 0 and not settings.moves:
        gradient.intercept[:] = intercept_gradient
    elif team.thread == 0:
        parameters.intercept[:] = intercept
        state.means.intercept[:] = intercept_means
        state.squares.intercept[:] = intercept_squares
    return total
