"""The forward pass of a batch, and the slopes of its loss, in one kernel."""

from __future__ import annotations

import triton
import triton.language as tl

from neuralrules._engine._triton._losses import loss_and_slopes


@triton.jit(do_not_specialize=["step"])
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
    OUTPUTS_PADDED: tl.constexpr,
    LOSS: tl.constexpr,
    ROWS: tl.constexpr,
):
    """A program takes some rows and some rules; the last one of some rows takes their slopes.

    That one adds up what each part of the rules gave in the order of the parts, not of their
    arrival, so that results are the same to the bit from run to run.

    x : (n_features + 1, capacity), targets : (n_outputs, capacity), weights, shares :
        (capacity,); a batch begins at step * batch_size. `shares` are weights over their sum.
    gates : (n_steps, n_rules)
    places : (n_rules, COLUMNS) int32
    parameters : (n_rules + 1, n) in the order weights, biases, values; the intercept last
    smallest : (n_rules, batch_size) int8, filled with 1 + the smallest literal of active
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
    k = tl.arange(0, OUTPUTS_PADDED)
    is_output = k < OUTPUTS
    sums = tl.zeros((OUTPUTS_PADDED, ROWS), tl.float32)
    for rule in range(part * rules_each, tl.minimum((part + 1) * rules_each, n_rules)):
        own = parameters + rule * SIZE
        gate = tl.load(gates + step * n_rules + rule)
        columns = ()
        for c in tl.static_range(COLUMNS):
            place = tl.load(places + rule * COLUMNS + c).to(tl.int64)
            columns = columns + (tl.load(x + place * capacity + cells, in_batch, 0.0),)
        least = tl.full((ROWS,), float("inf"), tl.float32)
        which = tl.zeros((ROWS,), tl.int32)
        for j in tl.static_range(LITERALS):
            literal = tl.load(own + BIASES + j) + tl.zeros((ROWS,), tl.float32)
            for c in tl.static_range(COLUMNS):
                literal = tl.fma(
                    tl.load(own + j * COLUMNS + c) + tl.zeros((ROWS,), tl.float32),
                    columns[c],
                    literal,
                )
            which = tl.where(literal < least, j + 1, which)
            least = tl.minimum(literal, least)
        active = tl.maximum(least, 0.0) * gate
        is_active = (active > 0) & in_batch
        tl.store(
            smallest + rule * batch_size + rows,
            tl.where(is_active, which, 0).to(tl.int8),
            in_batch,
        )
        values = tl.load(own + VALUES + k, is_output, 0.0)
        sums += values[:, None] * active[None, :]
    mask = is_output[:, None] & in_batch[None, :]
    where = k[:, None] * batch_size + rows[None, :]
    tl.store(partial + part * OUTPUTS * batch_size + where, sums, mask)
    tl.debug_barrier()  # all threads' parts before the count
    if tl.atomic_add(arrivals + tile, 1) == n_parts - 1:
        tl.store(arrivals + tile, 0)
        outputs = tl.load(parameters + n_rules * SIZE + VALUES + k, is_output, 0.0)[:, None]
        outputs = outputs + tl.zeros((OUTPUTS_PADDED, ROWS), tl.float32)
        for one in range(n_parts):
            outputs += tl.load(
                partial + one * OUTPUTS * batch_size + where, mask, 0.0, cache_modifier=".cg"
            )
        goals = tl.load(targets + k[:, None] * capacity + cells[None, :], mask, 0.0)
        row_losses, row_slopes = loss_and_slopes(outputs, goals, is_output[:, None], LOSS)
        weight = tl.load(weights + cells, in_batch, 0.0)
        total = tl.sum(tl.sum(row_losses, axis=0) * weight, axis=0)
        tl.store(losses + step * n_tiles + tile, total)
        row_slopes *= tl.load(shares + cells, in_batch, 0.0)[None, :]
        tl.store(slopes + where, row_slopes, mask)
        tl.store(intercept_slopes + tile * OUTPUTS + k, tl.sum(row_slopes, axis=1), is_output)
