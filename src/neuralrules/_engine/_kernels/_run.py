"""Training: one thread's way through a run of mini-batches."""

from __future__ import annotations

import numpy as np

from neuralrules._engine._kernels._arrays import SLICE
from neuralrules._engine._kernels._backward import differentiate_blocks
from neuralrules._engine._kernels._barrier import wait_for_all
from neuralrules._engine._kernels._compile import allocating, kernel
from neuralrules._engine._kernels._forward import activate_blocks
from neuralrules._engine._kernels._gathering import load_slice, make_scratch, make_slice
from neuralrules._engine._kernels._losses import loss_and_slopes
from neuralrules._engine._kernels._update import update_blocks, update_intercept


@kernel
def add_blocks(intercept, partial, n_rows, outputs):
    """Add the blocks' outputs (n_blocks, n_outputs, SLICE) up, in the order of the blocks."""
    for k in range(intercept.size):
        outputs[k] = intercept[k]
    for block in range(partial.shape[0]):
        for k in range(partial.shape[1]):
            for i in range(n_rows):
                outputs[k, i] += partial[block, k, i]


@kernel
def summed_weight(weights, rows):
    """Sum of the weights of the rows with such numbers, in float64."""
    total = 0.0
    for i in range(rows.size):
        total += weights[rows[i]]
    return total


@kernel
def divide(slopes, n_rows, weight):
    """Slopes (n_outputs, SLICE) of a mean from those of a sum."""
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

    Returns the weighted sum of all losses, which every thread sees.
    """
    parameters, gradient = state.parameters, workspace.gradient
    n_outputs = parameters.values.shape[1]
    # Every thread sees all slopes, so each moves an intercept of its own, all alike: a shared
    # one would have to be waited for.
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
