"""The backward pass: the gradient of the literals that were the minimum."""

from __future__ import annotations

from neuralrules._engine._kernels._arrays import SLICE
from neuralrules._engine._kernels._compile import inlined, kernel
from neuralrules._engine._kernels._forward import own_blocks
from neuralrules._engine._kernels._intrinsics import add_gathered, add_multiple


@inlined
def add_to_weights(gradient, start, places, x, row, slope):
    """Add slope * x[row] to the gradient of the weights from `start` on, a literal's."""
    if places.size == x.shape[1]:  # all columns, which lie side by side
        add_multiple(gradient, start, x, row, slope)
    else:
        add_gathered(gradient, start, x, row, places, slope)


@kernel
def weighted_sum(weights, start, places, x, row, bias):
    """A literal's value on one row, from the weights at `start`."""
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
    """Backward pass of a deep rule on one row of x (SLICE, n_features), through one unit."""
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
    """Backward pass of a thread's blocks: add the records' gradients to the gradient.

    Marks the rules with an active row.
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
                slope = 0.0  # in float64, as are its products with x
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
