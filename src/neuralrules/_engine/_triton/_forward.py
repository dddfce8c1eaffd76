"""Two kernels: one gathers the rows of batches, one evaluates a batch and finds its slopes."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from neuralrules._engine._triton._losses import losses_and_slopes

# Rows and columns that one program gathers.
GATHERED_ROWS, GATHERED_COLUMNS = 128, 32


@triton.jit(do_not_specialize=["n_rows"])
def gather(
    table, numbers, x, n_rows, n_columns, capacity, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    """Copy rows of a table into x, transposed.

    table : (n, n_columns)
    numbers : (n_rows,), the numbers of the rows to copy
    x : (n_columns, capacity), whose first n_rows columns are filled
    """
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    number = tl.load(numbers + rows, rows < n_rows, 0).to(tl.int64)
    there = (rows < n_rows)[:, None] & (columns < n_columns)[None, :]
    cells = tl.load(table + number[:, None] * n_columns + columns[None, :], there, 0.0)
    places = columns.to(tl.int64)[None, :] * capacity + rows[:, None]
    tl.store(x + places, cells, there)


def gather_rows(table: Any, numbers: Any, x: Any) -> None:
    """Fill the first columns of x (n_columns, capacity) with rows of table (n, n_columns).

    `numbers` are the numbers of these rows.
    """
    n_columns, capacity = x.shape
    sizes = {"ROWS": GATHERED_ROWS, "COLUMNS": GATHERED_COLUMNS}
    grid = (triton.cdiv(len(numbers), sizes["ROWS"]), triton.cdiv(n_columns, sizes["COLUMNS"]))
    gather[grid](table, numbers, x, len(numbers), n_columns, capacity, **sizes)


@triton.jit
def zeros_tuple(N: tl.constexpr, SHAPE: tl.constexpr, KIND: tl.constexpr = tl.float32):
    """A tuple of N tensors of zeros."""
    result = ()
    for _ in tl.static_range(N):
        result = result + (tl.zeros(SHAPE, KIND),)
    return result


@triton.jit
def loaded(pointers, N: tl.constexpr):
    """N numbers that are next to each other in memory, as a tuple.

    If `pointers` holds one pointer for each of several rules, each item of the tuple holds one
    number for each rule.
    """
    result = ()
    for i in tl.static_range(N):
        result = result + (tl.load(pointers + i),)
    return result


@triton.jit
def column_pointers(x, places, rules, first, capacity, COLUMNS: tl.constexpr):
    """Pointers to the first cell of a batch in each of a rule's columns, as a tuple."""
    result = ()
    for c in tl.static_range(COLUMNS):
        place = tl.load(places + rules * COLUMNS + c)
        result = result + (x + place * capacity + first,)
    return result


@triton.jit
def code_bits(first, n_rows, BITS: tl.constexpr, ROWS: tl.constexpr):
    """The bits of a tile's bytes of codes that belong to rows of the batch.

    The bits of places after the last row of the batch are 0.
    """
    result = tl.zeros((ROWS,), tl.int32)
    for q in tl.static_range(8 // BITS):
        is_row = first + q * ROWS + tl.arange(0, ROWS) < n_rows
        result |= tl.where(is_row, ((1 << BITS) - 1) << (q * BITS), 0)
    return result


@triton.jit
def weighted_sum(numbers, columns, j: tl.constexpr, BIASES: tl.constexpr):
    """Literal j of a rule, w . x + a, on some rows, from the rule's parameters and columns."""
    COLUMNS: tl.constexpr = len(columns)
    result = columns[0] * numbers[j * COLUMNS] + numbers[BIASES + j]
    for c in tl.static_range(1, COLUMNS):
        result = columns[c] * numbers[j * COLUMNS + c] + result
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
    PARAMETER: tl.constexpr,
    BITS: tl.constexpr,
    ROWS: tl.constexpr,
    RULES: tl.constexpr,
):
    """Outputs, losses and slopes of a batch.

    Each program evaluates one part of the rules on one tile of rows. It evaluates RULES rules
    at a time. A tile has 8 / BITS pieces of ROWS rows, and the codes of a row of each piece
    share a byte. The last program to finish a tile adds up the outputs of all parts, and
    computes the losses and slopes of the tile. It adds the parts in their order and not in the
    order of their arrival, so that repeated runs give the same results to the bit.

    x : (n_features + 1, capacity), targets : (n_outputs, capacity), weights, shares :
        (capacity,). The rows of a batch begin at step * batch_size. `shares` are the weights
        divided by their sum over the batch. After the end of a batch, x must hold arbitrary
        finite numbers up to the end of the last tile.
    gates : (n_steps, n_rules)
    places : (n_rules, COLUMNS) int64
    parameters : (n_rules + 1, n), each row in the order weights, biases, values. The last row
        is the intercept.
    smallest : (n_rules, n_tiles, ROWS) uint8, filled with codes of BITS bits. A code is 1 + the
        index of the smallest literal, or 0 if the rule is not active. The code of the first
        piece is in the lowest bits.
    partial : (n_parts, n_outputs, batch_size), arrivals : (n_tiles,) int32 zeros
    slopes : (n_outputs, n_tiles * tile), losses : (n_steps, n_tiles), intercept_slopes :
        (n_tiles, n_outputs), all filled
    """
    PIECES: tl.constexpr = 8 // BITS
    BIASES: tl.constexpr = LITERALS * COLUMNS
    VALUES: tl.constexpr = BIASES + LITERALS
    SIZE: tl.constexpr = VALUES + OUTPUTS
    tile, part = tl.program_id(0), tl.program_id(1)
    n_tiles, n_parts = tl.num_programs(0), tl.num_programs(1)
    lanes = tl.arange(0, ROWS)
    first = tile * (PIECES * ROWS)
    batch = step * batch_size
    in_batch = code_bits(first, n_rows, BITS, ROWS)[None, :]
    sums = zeros_tuple(PIECES * OUTPUTS, (RULES, ROWS))
    end = tl.minimum((part + 1) * rules_each, n_rules)
    rules = part * rules_each + tl.arange(0, RULES)[:, None]
    known = tl.minimum(rules, end - 1)
    numbers = loaded(parameters + known * SIZE, SIZE)
    pointers = column_pointers(x, places, known, batch + first, capacity, COLUMNS)
    for _ in range(part * rules_each, end, RULES):
        # Load the next rules while the current rules are computed.
        known = tl.minimum(rules + RULES, end - 1)
        next_numbers = loaded(parameters + known * SIZE, SIZE)
        next_pointers = column_pointers(x, places, known, batch + first, capacity, COLUMNS)
        is_rule = rules < end
        gate = tl.load(gates + step * n_rules + rules, is_rule, 0.0)
        threshold = tl.where(gate > 0, 0.0, float("inf"))  # a dropped rule is never active
        codes = tl.zeros((RULES, ROWS), tl.int32)
        new = ()
        for q in tl.static_range(PIECES):
            rows = q * ROWS + lanes[None, :]
            columns = ()
            for c in tl.static_range(COLUMNS):
                columns = columns + (tl.load(pointers[c] + rows),)
            least = weighted_sum(numbers, columns, 0, BIASES)
            which = tl.full((RULES, ROWS), 1 << (q * BITS), tl.int32)
            for j in tl.static_range(1, LITERALS):
                literal = weighted_sum(numbers, columns, j, BIASES)
                which = tl.where(literal < least, (j + 1) << (q * BITS), which)
                least = tl.minimum(literal, least)
            codes |= tl.where(least > threshold, which, 0)
            active = tl.maximum(least, 0.0)
            for k in tl.static_range(OUTPUTS):
                value = numbers[VALUES + k] * gate
                new = new + (sums[q * OUTPUTS + k] + value * active,)
        sums = new
        own = smallest + (rules.to(tl.int64) * n_tiles + tile) * ROWS
        tl.store(own + lanes[None, :], (codes & in_batch).to(tl.uint8), is_rule)
        rules += RULES
        numbers = next_numbers
        pointers = next_pointers
    for q in tl.static_range(PIECES):
        rows = first + q * ROWS + lanes
        for k in tl.static_range(OUTPUTS):
            total = tl.sum(sums[q * OUTPUTS + k], axis=0)
            sent = partial + (part * OUTPUTS + k) * batch_size + rows
            tl.store(sent, total, rows < n_rows)
    tl.debug_barrier()  # all threads must store their sums before the program is counted
    if tl.atomic_add(arrivals + tile, 1) == n_parts - 1:
        tl.store(arrivals + tile, 0)
        totals = zeros_tuple(PIECES * OUTPUTS, (RULES, ROWS))
        for one in range(0, n_parts, RULES):  # all pieces in one loop, so that loads overlap
            parts = one + tl.arange(0, RULES)[:, None]
            new = ()
            for q in tl.static_range(PIECES):
                places_there = first + q * ROWS + lanes[None, :]
                is_there = (parts < n_parts) & (places_there < n_rows)
                for k in tl.static_range(OUTPUTS):
                    found = partial + (parts * OUTPUTS + k) * batch_size + places_there
                    more = tl.load(found, is_there, 0.0, cache_modifier=".cg")
                    new = new + (totals[q * OUTPUTS + k] + more,)
            totals = new
        loss_sums = tl.zeros((ROWS,), tl.float32)
        slope_sums = zeros_tuple(OUTPUTS, (ROWS,))
        for q in tl.static_range(PIECES):
            rows = first + q * ROWS + lanes
            is_row = rows < n_rows
            cells = batch + rows
            outputs = ()
            goals = ()
            for k in tl.static_range(OUTPUTS):
                intercept = tl.load(parameters + n_rules * SIZE + VALUES + k)
                total = tl.sum(totals[q * OUTPUTS + k], axis=0)
                outputs = outputs + (total + intercept,)
                goals = goals + (tl.load(targets + k * capacity + cells, is_row, 0.0),)
            row_losses, row_slopes = losses_and_slopes(outputs, goals, OUTPUTS, LOSS, PARAMETER)
            loss_sums += row_losses * tl.load(weights + cells, is_row, 0.0)
            share = tl.load(shares + cells, is_row, 0.0)
            new = ()
            for k in tl.static_range(OUTPUTS):
                slope = tl.where(is_row, row_slopes[k] * share, 0.0)
                tl.store(slopes + k * (n_tiles * PIECES * ROWS) + rows, slope)
                new = new + (slope_sums[k] + slope,)
            slope_sums = new
        tl.store(losses + step * n_tiles + tile, tl.sum(loss_sums, axis=0))
        for k in tl.static_range(OUTPUTS):
            tl.store(intercept_slopes + tile * OUTPUTS + k, tl.sum(slope_sums[k], axis=0))
