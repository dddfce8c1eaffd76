"""The forward pass, tile by tile: the literals, the rules and the sums of the rules.

Training and prediction both use it.
"""

from __future__ import annotations

import numpy as np

from neuralrules._engine._kernels._arrays import (
    SLICE,
    Layer,
    aligned_zeros,
    load_tiles,
    make_scratch,
)
from neuralrules._engine._kernels._compile import TILE, allocating, inlined, kernel
from neuralrules._engine._kernels._intrinsics import (
    evaluate_one,
    evaluate_two,
    first_equal,
    lowest_bit,
)


@inlined
def first_layer(parameters, layout, rule):
    """The first layer of a rule: its literals. The inputs are the rule's own columns."""
    first, last = layout.offsets[rule], layout.offsets[rule + 1]
    return Layer(
        parameters.weights[layout.weight_offsets[rule] : layout.weight_offsets[rule + 1]],
        parameters.biases[first:last],
        layout.places[layout.column_offsets[rule] : layout.column_offsets[rule + 1]],
    )


@inlined
def second_layer(parameters, layout, rule, every):
    """The second layer of a deep rule. The inputs are the rule's literals.

    every : (longest rule,) int64, the numbers 0, 1, 2, ...
    """
    first, last = layout.offsets[rule], layout.offsets[rule + 1]
    return Layer(
        parameters.mixing[layout.mixing_offsets[rule] : layout.mixing_offsets[rule + 1]],
        parameters.shifts[first:last],
        every[: last - first],
    )


@inlined
def evaluate_pair(layer, pair, tile, values, minimum):
    """Evaluate one pair of a layer's literals on a tile.

    Returns the rows that are positive in all literals evaluated so far, as bits.
    """
    first = 2 * pair
    if first + 1 < layer.biases.size:
        return evaluate_two(layer, first, tile, values, minimum)
    return evaluate_one(layer, first, tile, values, minimum)


@inlined
def evaluate_until_dead(layer, tile, values, minimum, start):
    """Evaluate a layer on a tile, pair by pair, until no row can be active.

    Fills values (n_literals, TILE) and minimum (TILE,). The first pair is `start`. Returns the
    rows that are positive in all literals, as bits, and the pair to start with next time. This
    is the pair that ruled out the last row, or `start` if a row is active.
    """
    for r in range(TILE):
        minimum[r] = np.inf
    active = np.uint64(0)
    n_pairs = (layer.biases.size + 1) // 2
    for i in range(n_pairs):
        pair = start + i if start + i < n_pairs else start + i - n_pairs
        active = evaluate_pair(layer, pair, tile, values, minimum)
        if active == 0:
            return active, pair
    return active, start


@inlined
def evaluate_rule(literals, units, deep, tile, scratch, start):
    """Activation of one rule on a tile, before the outer ReLU.

    Returns the active rows, as bits, and the pair to start with next time, as in
    `evaluate_until_dead`. If a row is active, ``scratch.minimum`` is the smallest of
    ``scratch.units[:n_literals]``. These are the literals of a shallow rule, or the units of
    the second layer of a deep rule.
    """
    if not deep:
        return evaluate_until_dead(literals, tile, scratch.units, scratch.minimum, start)
    n = literals.biases.size
    for pair in range((n + 1) // 2):
        evaluate_pair(literals, pair, tile, scratch.literals, scratch.minimum)
    for j in range(n):
        for r in range(TILE):
            scratch.literals[j, r] = max(scratch.literals[j, r], np.float32(0.0))
    return evaluate_until_dead(units, scratch.literals, scratch.units, scratch.minimum, start)


@inlined
def first_block(thread, n_threads, layout):
    """First block of a thread.

    The blocks of a thread are next to each other in memory, so that threads do not share cache
    lines.
    """
    return thread * (layout.blocks.size - 1) // n_threads


@inlined
def own_blocks(team, layout):
    """The first block of a thread, and the block after its last block."""
    return (
        first_block(team.thread, team.n_threads, layout),
        first_block(team.thread + 1, team.n_threads, layout),
    )


@inlined
def record_active(records, end, first_row, n_rows, active, n_literals, scratch):
    """Append a record for every active row of a tile. Returns the place of the next record.

    Rows from `n_rows` on belong to an earlier slice and are skipped. If several literals are
    equally small, the record names the first one.
    """
    while active != 0:
        r = lowest_bit(active)
        if first_row + r >= n_rows:
            break
        active &= active - np.uint64(1)  # clears that bit
        value = scratch.minimum[r]
        records.row[end] = first_row + r
        records.literal[end] = first_equal(scratch.units, n_literals, r, value)
        records.value[end] = value
        end += 1
    return end


@kernel
def activate_blocks(team, parameters, layout, tiles, n_rows, gates, scratch, workspace, sums):
    """Forward pass of a thread's blocks of rules over a slice.

    Fills sums (n_blocks, n_outputs, SLICE) with the outputs of each block: the sum of its
    rules times their gates. Writes a record for each active row. Rules with gate 0 are left
    out. A rule whose minimum is exactly 0 is not active (H(0) = 0 in the paper).
    """
    records, hints = workspace.records, workspace.hints
    n_outputs = parameters.values.shape[1]
    first, last = own_blocks(team, layout)
    for block in range(first, last):
        sums[block] = 0
        for rule in range(layout.blocks[block], layout.blocks[block + 1]):
            begin = end = rule * SLICE
            if gates[rule] == 0:
                records.count[rule] = 0
                continue
            literals = first_layer(parameters, layout, rule)
            units = literals
            if layout.deep:
                units = second_layer(parameters, layout, rule, scratch.every)
            n_literals = literals.biases.size
            for t in range((n_rows + TILE - 1) // TILE):
                active, hints[rule, t] = evaluate_rule(
                    literals, units, layout.deep, tiles[t], scratch, hints[rule, t]
                )
                end = record_active(records, end, t * TILE, n_rows, active, n_literals, scratch)
            records.count[rule] = end - begin
            for k in range(n_outputs):
                c = gates[rule] * parameters.values[rule, k]
                for i in range(begin, end):
                    sums[block, k, records.row[i]] += c * records.value[i]


@inlined
def is_active_on_tile(parameters, layout, rule, tile, scratch, hints):
    """Whether a rule is active on at least one row of a tile.

    Writes the minimum of the rule's units to ``scratch.minimum``.
    """
    literals = first_layer(parameters, layout, rule)
    units = literals
    if layout.deep:
        units = second_layer(parameters, layout, rule, scratch.every)
    active, hints[rule] = evaluate_rule(
        literals, units, layout.deep, tile, scratch, hints[rule]
    )
    return active != 0


@kernel
def decide_tile(parameters, layout, tile, scratch, hints, sums):
    """Sum of values times activations on one tile, in sums (n_outputs, TILE) float64."""
    n_rules, n_outputs = parameters.values.shape
    sums[:] = 0
    for rule in range(n_rules):
        if is_active_on_tile(parameters, layout, rule, tile, scratch, hints):
            for k in range(n_outputs):
                c = np.float64(parameters.values[rule, k])
                for r in range(TILE):
                    sums[k, r] += c * max(scratch.minimum[r], np.float32(0.0))


@allocating
def decide(parameters, layout, X, features, first, last, outputs):
    """Sum of values times activations for rows `first` to `last` of X.

    Fills these rows of outputs (n_rows, n_outputs) float64. The product of two float32 numbers
    is exact in float64, and the products are added in the order of the rules. So the result of
    a row does not depend on other rows, and an explanation of the row can repeat it to the bit.
    """
    n_rules, n_outputs = parameters.values.shape
    scratch = make_scratch(layout)
    tiles = aligned_zeros(features.size * TILE).reshape((1, features.size, TILE))
    sums = np.empty((n_outputs, TILE), np.float64)
    hints = np.zeros(n_rules, np.int64)
    for start in range(first, last, TILE):
        rows = np.arange(start, min(start + TILE, last))
        load_tiles(X, rows, features, tiles)
        decide_tile(parameters, layout, tiles[0], scratch, hints, sums)
        for r in range(rows.size):
            for k in range(n_outputs):
                outputs[start + r, k] = sums[k, r]


@kernel
def activate_tile(parameters, layout, tile, scratch, hints, result):
    """Activations of all rules on one tile.

    Fills result (n_rows, n_rules), which must be zero before.
    """
    for rule in range(parameters.values.shape[0]):
        if is_active_on_tile(parameters, layout, rule, tile, scratch, hints):
            for r in range(result.shape[0]):
                result[r, rule] = max(scratch.minimum[r], np.float32(0.0))


@allocating
def activate(parameters, layout, X, features, first, last, result):
    """Activations of all rules for rows `first` to `last` of X.

    Fills these rows of result (n_rows, n_rules) float64, which must be zero before. The
    activations are exactly the numbers that `decide` uses.
    """
    scratch = make_scratch(layout)
    tiles = aligned_zeros(features.size * TILE).reshape((1, features.size, TILE))
    hints = np.zeros(parameters.values.shape[0], np.int64)
    for start in range(first, last, TILE):
        rows = np.arange(start, min(start + TILE, last))
        load_tiles(X, rows, features, tiles)
        some = result[start : start + rows.size]
        activate_tile(parameters, layout, tiles[0], scratch, hints, some)
