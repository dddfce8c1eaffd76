"""The forward pass of a batch, and the slopes of its loss, in one kernel."""

from __future__ import annotations

import triton
import triton.language as tl

from neuralrules._engine._triton._losses import losses_and_slopes


@triton.jit
def zeros_tuple(N: tl.constexpr, SIZE: tl.constexpr, KIND: tl.constexpr = tl.float32):
    """N tensors of zeros."""
    result = ()
    for _ in tl.static_range(N):
        result = result + (tl.zeros((SIZE,), KIND),)
    return result


@triton.jit
def weighted_sum(weights, bias, columns, COLUMNS: tl.constexpr):
    """A literal, w . x + a, of some rows; weights and bias are pointers, columns a tuple."""
    result = columns[0] * tl.load(weights) + tl.load(bias)
    for c in tl.static_range(1, COLUMNS):
        result = columns[c] * tl.load(weights + c) + result
    return result


@triton.jit(do_not_specialize=["step", "n_rules", "rules_each"])
def forward(
    x,
    targets,
    weights,
    shares,
    gates,
    places,
    parameters,
    smallest,
    partial,
    arrivals,
    slopes,
    losses,
    intercept_slopes,
    step,
    n_rows,
    batch_size,
    capacity,
    n_rules,
    rules_each,
    LITERALS: tl.constexpr,
    COLUMNS: tl.constexpr,
    OUTPUTS: tl.constexpr,
    LOSS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """A program takes some rows and some rules; the last one of some rows takes their slopes.

    That one adds up what each part of the rules gave in the order of the parts, not of their
    arrival, so that results are the same to the bit from run to run.

    x : (n_features + 1, capacity), targets : (n_outputs, capacity), weights, shares :
        (capacity,); a batch begins at step * batch_size. `shares` are weights over their sum.
    gates : (n_steps, n_rules)
    places : (n_rules, COLUMNS) int64
    parameters : (n_rules + 1, n) in the order weights, biases, values; the intercept last
    smallest : (n_rules, batch_size) uint8, filled with 1 + the smallest literal of active
        rules, 0 where a rule is not active
    partial : (n_parts, n_outputs, batch_size), arrivals : (n_tiles,) int32 zeros
    slopes : (n_outputs, batch_size), losses : (n_steps, n_tiles), intercept_slopes :
        (n_tiles, n_outputs), all filled
    """
    BIASES: tl.constexpr = LITERALS * COLUMNS
    VALUES: tl.constexpr = BIASES + LITERALS
    SIZE: tl.constexpr = VALUES + OUTPUTS
    tile, part = tl.program_id(0), tl.program_id(1)
    n_tiles, n_parts = tl.num_programs(0), tl.num_programs(1)
    rows = tile * ROWS + tl.arange(0, ROWS)
    in_batch = rows < n_rows
    cells = step * batch_size + rows
    sums = zeros_tuple(OUTPUTS, ROWS)
    codes = smallest + (part * rules_each).to(tl.int64) * batch_size
    for rule in range(part * rules_each, tl.minimum((part + 1) * rules_each, n_rules)):
        own = parameters + rule * SIZE
        columns = ()
        for c in tl.static_range(COLUMNS):
            column = x + tl.load(places + rule * COLUMNS + c) * capacity
            columns = columns + (tl.load(column + cells, in_batch, 0.0),)
        least = weighted_sum(own, own + BIASES, columns, COLUMNS)
        which = tl.full((ROWS,), 1, tl.int32)
        for j in tl.static_range(1, LITERALS):
            literal = weighted_sum(own + j * COLUMNS, own + BIASES + j, columns, COLUMNS)
            which = tl.where(literal < least, j + 1, which)
            least = tl.minimum(literal, least)
        gate = tl.load(gates + step * n_rules + rule)
        threshold = tl.where(gate > 0, 0.0, float("inf"))  # a dropped rule is never active
        which = tl.where(least > threshold, which, 0).to(tl.uint8)
        tl.store(codes + rows, which, in_batch)
        codes += batch_size
        active = tl.maximum(least, 0.0)
        new = ()
        for k in tl.static_range(OUTPUTS):
            new = new + (sums[k] + (tl.load(own + VALUES + k) * gate) * active,)
        sums = new
    for k in tl.static_range(OUTPUTS):
        tl.store(partial + (part * OUTPUTS + k) * batch_size + rows, sums[k], in_batch)
    tl.debug_barrier()  # all threads' parts before the count
    if tl.atomic_add(arrivals + tile, 1) == n_parts - 1:
        tl.store(arrivals + tile, 0)
        outputs = ()
        goals = ()
        for k in tl.static_range(OUTPUTS):
            intercept = tl.load(parameters + n_rules * SIZE + VALUES + k)
            total = tl.zeros((ROWS,), tl.float32) + intercept
            for one in range(n_parts):
                sent = partial + (one * OUTPUTS + k) * batch_size + rows
                total += tl.load(sent, in_batch, 0.0, cache_modifier=".cg")
            outputs = outputs + (total,)
            goals = goals + (tl.load(targets + k * capacity + cells, in_batch, 0.0),)
        row_losses, row_slopes = losses_and_slopes(outputs, goals, OUTPUTS, LOSS)
        weight = tl.load(weights + cells, in_batch, 0.0)
        share = tl.load(shares + cells, in_batch, 0.0)
        tl.store(losses + step * n_tiles + tile, tl.sum(row_losses * weight, axis=0))
        for k in tl.static_range(OUTPUTS):
            slope = row_slopes[k] * share
            tl.store(slopes + k * batch_size + rows, slope, in_batch)
            tl.store(intercept_slopes + tile * OUTPUTS + k, tl.sum(slope, axis=0))
