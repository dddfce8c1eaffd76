"""The backward pass of a batch, and the Adam step, in one kernel."""

from __future__ import annotations

import triton
import triton.language as tl

from neuralrules._engine import _adam
from neuralrules._engine._triton._forward import (
    column_pointers,
    loaded,
    weighted_sum,
    zeros_tuple,
)

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
    batch_size,
    capacity,
    n_rules,
    tiles_each,
    n_tiles,
    l2,
    LITERALS: tl.constexpr,
    COLUMNS: tl.constexpr,
    OUTPUTS: tl.constexpr,
    BITS: tl.constexpr,
    PADDED: tl.constexpr,
    ROWS: tl.constexpr,
):
    """The gradient of a batch, and the Adam step.

    Each program computes the gradient of one rule on one part of the rows. The last program to
    finish a rule adds up the gradients of all parts and takes the Adam step of the rule. So
    only the sums of a few programs are written to memory. The intercept counts as one more
    rule, the last one. `_forward.forward` describes most of the arrays. The others are:

    means, squares, frozen (int8), lower, upper : same shape as parameters
    partial : (n_rules + 1, n_parts, PADDED), arrivals : (n_rules + 1,) int32 zeros
    rates, epsilons : (n_steps,), which include Adam's bias corrections
    """
    PIECES: tl.constexpr = 8 // BITS
    BIASES: tl.constexpr = LITERALS * COLUMNS
    VALUES: tl.constexpr = BIASES + LITERALS
    SIZE: tl.constexpr = VALUES + OUTPUTS
    rule, part = tl.program_id(0), tl.program_id(1)
    n_parts = tl.num_programs(1)
    p = tl.arange(0, PADDED)
    gradient = tl.zeros((PADDED,), tl.float32)  # place SIZE says whether the rule was active
    own = parameters + rule * SIZE
    if rule < n_rules:
        gate = tl.load(gates + step * n_rules + rule)
        lanes = tl.arange(0, ROWS)
        sums = zeros_tuple(VALUES if OUTPUTS == 1 else SIZE, (ROWS,))
        touched = tl.zeros((ROWS,), tl.int32)
        codes = smallest + rule.to(tl.int64) * n_tiles * ROWS + lanes
        pointers = column_pointers(x, places, rule, step * batch_size, capacity, COLUMNS)
        numbers = loaded(own, SIZE)
        first = part * tiles_each
        for tile in range(first, tl.minimum(first + tiles_each, n_tiles)):
            code = tl.load(codes + tile * ROWS).to(tl.int32)
            touched |= code
            for q in tl.static_range(PIECES):
                rows = tile * (PIECES * ROWS) + q * ROWS + lanes
                which = code & (((1 << BITS) - 1) << (q * BITS))
                columns = ()
                for c in tl.static_range(COLUMNS):
                    columns = columns + (tl.load(pointers[c] + rows),)
                slope = tl.load(slopes + rows)
                if OUTPUTS > 1:
                    slope *= numbers[VALUES] * gate
                    for k in tl.static_range(1, OUTPUTS):
                        one = tl.load(slopes + k * (n_tiles * PIECES * ROWS) + rows)
                        slope += one * (numbers[VALUES + k] * gate)
                new = ()
                biases = ()
                for j in tl.static_range(LITERALS):
                    moved = tl.where(which == (j + 1) << (q * BITS), slope, 0.0)
                    for c in tl.static_range(COLUMNS):
                        new = new + (sums[j * COLUMNS + c] + moved * columns[c],)
                    biases = biases + (sums[BIASES + j] + moved,)
                new = new + biases
                if OUTPUTS > 1:
                    active = tl.zeros((ROWS,), tl.float32)
                    for j in tl.static_range(LITERALS):
                        literal = weighted_sum(numbers, columns, j, BIASES)
                        active = tl.where(which == (j + 1) << (q * BITS), literal, active)
                    for k in tl.static_range(OUTPUTS):
                        one = tl.load(slopes + k * (n_tiles * PIECES * ROWS) + rows)
                        new = new + (sums[VALUES + k] + one * (active * gate),)
                sums = new
        if OUTPUTS == 1:
            # The sums are slopes times columns, for each literal. The derivative with respect
            # to the value is the sum of slopes times activations. An activation is a literal,
            # which is linear in the columns. So the derivative follows from the sums.
            value = numbers[VALUES] * gate
            value_slope = 0.0
            for i in tl.static_range(VALUES):
                total = tl.sum(sums[i], axis=0)
                gradient = tl.where(p == i, total * value, gradient)
                value_slope += tl.where(total != 0, numbers[i], 0.0) * total
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
    tl.debug_barrier()  # all threads must store their sums before the program is counted
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
        # Biases are not penalised. The biases of padding are infinite.
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
        # Comparisons keep a NaN, which shows that training diverged.
        moved = tl.where(moved < low, low, tl.where(moved > high, high, moved))
        tl.store(parameters + place, tl.where(held, parameter, moved), there)
        tl.store(means + place, mean, there)
        tl.store(squares + place, square, there)
