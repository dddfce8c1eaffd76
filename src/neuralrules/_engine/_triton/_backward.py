"""The backward pass of a batch, and the Adam step, in one kernel."""

from __future__ import annotations

import triton
import triton.language as tl

from neuralrules._engine import _adam
from neuralrules._engine._triton._forward import weighted_sum, zeros_tuple

BETA_1: tl.constexpr = tl.constexpr(_adam.BETA_1)
BETA_2: tl.constexpr = tl.constexpr(_adam.BETA_2)


@triton.jit(do_not_specialize=["step", "n_rules", "n_tiles"])
def backward(
    x,
    slopes,
    intercept_slopes,
    smallest,
    gates,
    places,
    parameters,
    means,
    squares,
    frozen,
    lower,
    upper,
    partial,
    arrivals,
    rates,
    epsilons,
    step,
    n_rows,
    batch_size,
    capacity,
    n_rules,
    rows_each,
    n_tiles,
    l2,
    LITERALS: tl.constexpr,
    COLUMNS: tl.constexpr,
    OUTPUTS: tl.constexpr,
    PADDED: tl.constexpr,
    ROWS: tl.constexpr,
):
    """A program takes a rule and some rows; the last one of a rule takes its Adam step.

    No gradient but the sums of these few programs ever leaves one. One more "rule" is the
    intercept. See `_forward.forward` for the arrays; also

    means, squares, frozen (int8), lower, upper : like parameters
    partial : (n_rules + 1, n_parts, PADDED), arrivals : (n_rules + 1,) int32 zeros
    rates, epsilons : (n_steps,), Adam's corrections in them
    """
    BIASES: tl.constexpr = LITERALS * COLUMNS
    VALUES: tl.constexpr = BIASES + LITERALS
    SIZE: tl.constexpr = VALUES + OUTPUTS
    rule, part = tl.program_id(0), tl.program_id(1)
    n_parts = tl.num_programs(1)
    p = tl.arange(0, PADDED)
    gradient = tl.zeros((PADDED,), tl.float32)  # and in the place after it, whether active
    own = parameters + rule * SIZE
    if rule < n_rules:
        gate = tl.load(gates + step * n_rules + rule)
        sums = zeros_tuple(VALUES if OUTPUTS == 1 else SIZE, ROWS)
        touched = tl.zeros((ROWS,), tl.int32)
        first = part * rows_each
        codes = smallest + rule.to(tl.int64) * batch_size
        for start in range(first, tl.minimum(first + rows_each, n_rows), ROWS):
            rows = start + tl.arange(0, ROWS)
            in_batch = rows < n_rows
            which = tl.load(codes + rows, in_batch, 0).to(tl.int32)
            touched = tl.maximum(touched, which)
            columns = ()
            for c in tl.static_range(COLUMNS):
                column = x + tl.load(places + rule * COLUMNS + c) * capacity
                cells = column + step * batch_size + rows
                columns = columns + (tl.load(cells, in_batch, 0.0),)
            slope = tl.load(slopes + rows, in_batch, 0.0)
            if OUTPUTS > 1:
                slope *= tl.load(own + VALUES) * gate
                for k in tl.static_range(1, OUTPUTS):
                    one = tl.load(slopes + k * batch_size + rows, in_batch, 0.0)
                    slope += one * (tl.load(own + VALUES + k) * gate)
            new = ()
            biases = ()
            for j in tl.static_range(LITERALS):
                moved = tl.where(which == j + 1, slope, 0.0)
                for c in tl.static_range(COLUMNS):
                    new = new + (sums[j * COLUMNS + c] + moved * columns[c],)
                biases = biases + (sums[BIASES + j] + moved,)
            new = new + biases
            if OUTPUTS > 1:
                active = tl.zeros((ROWS,), tl.float32)
                for j in tl.static_range(LITERALS):
                    literal = weighted_sum(
                        own + j * COLUMNS, own + BIASES + j, columns, COLUMNS
                    )
                    active = tl.where(which == j + 1, literal, active)
                for k in tl.static_range(OUTPUTS):
                    one = tl.load(slopes + k * batch_size + rows, in_batch, 0.0)
                    new = new + (sums[VALUES + k] + one * (active * gate),)
            sums = new
        if OUTPUTS == 1:
            # Sums of slopes by literals. The slope by the value is the sum of slopes times
            # activations, which are linear in what was summed: no need to have them.
            value = tl.load(own + VALUES) * gate
            value_slope = 0.0
            for i in tl.static_range(VALUES):
                total = tl.sum(sums[i], axis=0)
                gradient = tl.where(p == i, total * value, gradient)
                number = tl.load(own + i)
                value_slope += tl.where(total != 0, number, 0.0) * total
            gradient = tl.where(p == VALUES, value_slope * gate, gradient)
        else:
            for i in tl.static_range(SIZE):
                gradient = tl.where(p == i, tl.sum(sums[i], axis=0), gradient)
        gradient = tl.where(p == SIZE, tl.max(touched, axis=0).to(tl.float32), gradient)
    elif part == 0:
        for tile in range(n_tiles):
            is_value = (p >= VALUES) & (p < SIZE)
            gradient += tl.load(intercept_slopes + tile * OUTPUTS + p - VALUES, is_value, 0.0)
    sent = partial + rule * n_parts * PADDED
    tl.store(sent + part * PADDED + p, gradient)
    tl.debug_barrier()  # all threads' sums before the count
    if tl.atomic_add(arrivals + rule, 1) == n_parts - 1:
        tl.store(arrivals + rule, 0)
        gradient = tl.zeros((PADDED,), tl.float32)
        for one in range(n_parts):
            gradient += tl.load(sent + one * PADDED + p, cache_modifier=".cg")
        touched = tl.sum(tl.where(p == SIZE, gradient, 0.0), axis=0)
        shrinkage = tl.where(touched > 0, 2.0 * l2, 0.0)
        there = p < SIZE
        place = rule * SIZE + p
        parameter = tl.load(parameters + place, there, 0.0)
        held = tl.load(frozen + place, there, 1) != 0
        # Biases are not shrunk; those of literals that are padding are infinite.
        is_shrunk = (p < BIASES) | (p >= VALUES)
        gradient += shrinkage * tl.where(is_shrunk, parameter, 0.0)
        gradient = tl.where(held, 0.0, gradient)
        mean = tl.where(held, 0.0, tl.load(means + place, there, 0.0))
        square = tl.where(held, 0.0, tl.load(squares + place, there, 0.0))
        mean = BETA_1 * mean + (1 - BETA_1) * gradient
        square = BETA_2 * square + (1 - BETA_2) * gradient * gradient
        rate, epsilon = tl.load(rates + step), tl.load(epsilons + step)
        moved = parameter - rate * mean / (tl.sqrt(square) + epsilon)
        low, high = tl.load(lower + place, there, 0.0), tl.load(upper + place, there, 0.0)
        # Comparisons leave a NaN alone, which tells that training diverged.
        moved = tl.where(moved < low, low, tl.where(moved > high, high, moved))
        tl.store(parameters + place, tl.where(held, parameter, moved), there)
        tl.store(means + place, mean, there)
        tl.store(squares + place, square, there)
