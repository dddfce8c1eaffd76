"""The numba engine's kernels: one fused pass over a mini-batch.

How a batch is worked through, and why it is fast:

- Rows lie in the lanes of vector registers, in tiles of ``TILE`` rows. A rule's
  literals are evaluated two at a time, all their sums in registers.
- Rows of neighbouring leaves share a tile (the caller orders each batch), so most
  rules are found dead on a whole tile after a pair or two of literals and the
  others are never computed. A rule begins with the pair that settled it last time.
- An active rule leaves one short record a row: which literal was the minimum,
  and its value. Only that literal receives a gradient (the paper's "restricted
  gradients"), so the backward pass walks these records and nothing else.
- Threads share the *rules*, not the rows: each owns some blocks of rules with
  their gradients and moments, so no gradient is ever reduced between threads.
  The only thing they exchange is each block's contribution to the outputs,
  added up in the order of the blocks. The result is therefore the same, to the
  bit, for any number of threads.

Nothing of size rows x literals exists; a slice holds at most ``SLICE`` rows.

numba notices changes of this file when it looks up its cache on disk, but not
changes of `_intrinsics.py`: run ``make clean`` after editing that one.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit, types

from neuralrules._engine._intrinsics import (
    TILE,
    atomic_add,
    atomic_load,
    evaluate_one,
    evaluate_two,
    lowest_bit,
)
from neuralrules._engine._protocol import BETA_1, BETA_2, EPSILON
from neuralrules._task._losses import (
    HINGE,
    HUBER,
    HUBER_LIMIT,
    LOGISTIC,
    POISSON,
    SOFTMAX,
    SQUARED,
)

MAX_SPINS = 200_000  # a fraction of a millisecond
PAUSE_MICROSECONDS = 20
SLICE = 256  # rows whose activations are held at a time; a whole number of tiles
# Far below what EPSILON lets through: for means, and for squares.
TINY_MEAN, TINY_SQUARE = np.float32(1e-20), np.float32(1e-30)


if sys.platform == "win32":

    @njit
    def pause(microseconds):
        """There is no short sleep to be had: keep spinning."""
else:
    pause = types.ExternalFunction("usleep", types.int32(types.uint32))


def kernel(function: Callable[..., Any], **more: Any) -> Any:
    """Compile without the GIL, cached on disk where a cache can be written."""
    # Not the full fastmath: infinities and NaN must survive to be noticed.
    options = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": {"contract", "reassoc", "nsz", "arcp"},
        **more,
    }
    try:
        compiled = njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no writable place for its cache
        return njit(**options)(function)
    discard_broken_cache(compiled)
    return compiled


def discard_broken_cache(compiled: Any) -> None:
    """Forget cached code that cannot be read, which numba itself would not survive.

    A file may be damaged, or name a class that another version of this package had.
    """
    with contextlib.suppress(AttributeError, OSError):  # numba's internals may change
        index = compiled._cache._cache_file
        try:
            index._load_index()
        except Exception:  # whatever unpickling may raise
            compiled._cache.flush()


def inlined(function: Callable[..., Any]) -> Any:
    """A kernel written out where it is called: passing six arrays costs more than it."""
    return kernel(function, forceinline=True)


class Records(NamedTuple):
    """Active (row, rule) pairs of a slice, rule by rule.

    Attributes
    ----------
    row : (n_rules * SLICE,) int32
        Row of the slice.
    literal : (n_rules * SLICE,) int32
        The literal that is the minimum, as an index into all literals.
    value : (n_rules * SLICE,) float32
        Its value, which is the rule's activation.
    count : (n_rules,) int64
        Number of records of each rule; a rule's records start at rule * SLICE.
    """

    row: np.ndarray
    literal: np.ndarray
    value: np.ndarray
    count: np.ndarray


@inlined
def evaluate_pair(weights, biases, first, last, pair, tile, literals, minimum):
    """Evaluate one pair of the literals `first` to `last`; is any row still positive?"""
    j = first + 2 * pair
    if j + 1 < last:
        return evaluate_two(weights, biases, j, tile, literals[2 * pair :], minimum)
    return evaluate_one(weights, biases, j, tile, literals[2 * pair :], minimum)


@inlined
def evaluate_until_dead(weights, biases, first, last, tile, literals, minimum, start):
    """Evaluate literals on a tile, pair by pair, until no row can be active.

    Fills literals (last - first, TILE) and minimum (TILE,), beginning with pair
    `start`. Returns the rows that are positive in all literals, as bits, and the
    pair to begin with next time: the one that ruled out the last row, if any.
    """
    for r in range(TILE):
        minimum[r] = np.inf
    active = np.uint64(0)
    n_pairs = (last - first + 1) // 2
    for i in range(n_pairs):
        pair = start + i if start + i < n_pairs else start + i - n_pairs
        active = evaluate_pair(weights, biases, first, last, pair, tile, literals, minimum)
        if active == 0:
            return active, pair
    return active, start


@inlined
def evaluate_rule(parameters, layout, rule, tile, literals, units, minimum, start):
    """Activation of one rule on a tile, before the outer ReLU.

    Returns as `evaluate_until_dead` does. If the rule is alive, ``minimum`` is
    the smallest of ``units[:n_literals]``, which are the literals of a shallow
    rule and the second layer's units of a deep one.
    """
    first, last = layout.offsets[rule], layout.offsets[rule + 1]
    if not layout.deep:
        return evaluate_until_dead(
            parameters.weights, parameters.biases, first, last, tile, units, minimum, start
        )
    n = last - first
    for pair in range((n + 1) // 2):
        evaluate_pair(
            parameters.weights, parameters.biases, first, last, pair, tile, literals, minimum
        )
    for j in range(n):
        for r in range(TILE):
            literals[j, r] = max(literals[j, r], np.float32(0.0))
    begin = layout.mixing_offsets[rule]
    mixing = parameters.mixing[begin : begin + n * n].reshape((n, n))
    shifts = parameters.shifts[first:last]
    return evaluate_until_dead(mixing, shifts, 0, n, literals, units, minimum, start)


@kernel
def load_row(X, row, features, tiles, i):
    """Put row `row` of X into column i of tiles (n_tiles, n_features, TILE)."""
    for f in range(features.size):
        tiles[i // TILE, f, i % TILE] = X[row, features[f]]


@inlined
def first_block(thread, n_threads, layout):
    """First block of a thread. Its blocks lie side by side: cache lines are not shared."""
    return thread * (layout.blocks.size - 1) // n_threads


@kernel
def activate_blocks(
    thread,
    n_threads,
    parameters,
    layout,
    tiles,
    n_rows,
    gates,
    scratch,
    hints,
    records,
    partial,
):
    """Forward pass of a thread's blocks of rules over a slice.

    Sums the rules of each block, times their gates, in partial (n_blocks, n_outputs,
    SLICE) and lists the active rows in `records`; a rule with gate 0 is left out. Of literals
    that tie for the minimum the first counts; a rule at exactly zero is not active
    (the paper's H(0) = 0).
    """
    literals, units, minimum = scratch
    n_outputs = parameters.values.shape[1]
    own = first_block(thread, n_threads, layout), first_block(thread + 1, n_threads, layout)
    for block in range(own[0], own[1]):
        partial[block] = 0
        for rule in range(layout.blocks[block], layout.blocks[block + 1]):
            first = layout.offsets[rule]
            n_literals = layout.offsets[rule + 1] - first
            begin = end = rule * SLICE
            if gates[rule] == 0:
                records.count[rule] = 0
                continue
            for t in range((n_rows + TILE - 1) // TILE):
                active, hints[rule, t] = evaluate_rule(
                    parameters, layout, rule, tiles[t], literals, units, minimum, hints[rule, t]
                )
                while active != 0:
                    r = lowest_bit(active)
                    if t * TILE + r >= n_rows:
                        break
                    active &= active - np.uint64(1)  # clears that bit
                    value = minimum[r]
                    j = 0
                    for i in range(n_literals - 1, -1, -1):  # without a branch to mispredict
                        j = i if units[i, r] == value else j
                    records.row[end] = t * TILE + r
                    records.literal[end] = first + j
                    records.value[end] = value
                    end += 1
            records.count[rule] = end - begin
            for k in range(n_outputs):
                c = gates[rule] * parameters.values[rule, k]
                for i in range(begin, end):
                    partial[block, k, records.row[i]] += c * records.value[i]


@kernel
def loss_and_slopes(kind, outputs, targets, weights, n_rows, slopes):
    """Weighted sum of the loss over a slice; fills slopes (n_outputs, SLICE).

    outputs, targets : (n_outputs, SLICE) float32; classes are coded -1 and +1.
    `slopes` is the derivative of weight * loss with respect to each output.
    """
    n_outputs = outputs.shape[0]
    total = 0.0
    for i in range(n_rows):
        loss = 0.0
        if kind == SOFTMAX:
            highest = outputs[0, i]
            for k in range(1, n_outputs):
                highest = max(highest, outputs[k, i])
            normaliser = 0.0
            for k in range(n_outputs):
                normaliser += np.exp(outputs[k, i] - highest)
            for k in range(n_outputs):
                probability = np.exp(outputs[k, i] - highest) / normaliser
                is_class = targets[k, i] > 0
                slopes[k, i] = weights[i] * (probability - is_class)
                if is_class:
                    loss += np.log(normaliser) - (outputs[k, i] - highest)
        else:
            for k in range(n_outputs):
                y = targets[k, i]
                u = outputs[k, i]
                if kind == LOGISTIC:  # log(1 + exp(-uy)), without overflow
                    tail = np.exp(-abs(u * y))
                    loss += np.log1p(tail) + max(-u * y, 0.0)
                    inside = tail / (1.0 + tail) if u * y > 0 else 1.0 / (1.0 + tail)
                    slope = -y * inside
                elif kind == HINGE:  # slope 0 at the kink
                    loss += max(1.0 - u * y, 0.0)
                    slope = -y if u * y < 1.0 else 0.0
                elif kind == SQUARED:
                    loss += (u - y) ** 2
                    slope = 2.0 * (u - y)
                elif kind == HUBER:
                    bounded = min(max(u - y, -HUBER_LIMIT), HUBER_LIMIT)
                    loss += bounded * (2.0 * (u - y) - bounded)
                    slope = 2.0 * bounded
                elif kind == POISSON:
                    expected = np.exp(u)
                    loss += 2.0 * ((y * np.log(y) if y > 0 else 0.0) - y * u - y + expected)
                    slope = 2.0 * (expected - y)
                else:  # noticed as a loss that is not finite
                    loss = np.nan
                    slope = np.nan
                slopes[k, i] = weights[i] * slope
        total += weights[i] * loss
    return total


@kernel
def differentiate_literals(parameters, gradient, layout, rule, unit, x, slope):
    """Backward pass of a deep rule on one row x (n_features,), through unit `unit`."""
    first, last = layout.offsets[rule], layout.offsets[rule + 1]
    row = layout.mixing_offsets[rule] + (unit - first) * (last - first)
    gradient.shifts[unit] += slope
    for j in range(first, last):
        z = parameters.biases[j]
        for f in range(x.size):
            z += parameters.weights[j, f] * x[f]
        if z > 0:
            inner = slope * parameters.mixing[row + j - first]
            gradient.mixing[row + j - first] += slope * z
            gradient.biases[j] += inner
            for f in range(x.size):
                gradient.weights[j, f] += inner * x[f]


@kernel
def differentiate_blocks(
    thread, n_threads, parameters, gradient, layout, x, gates, records, slopes, touched
):
    """Backward pass of a thread's blocks: add the records' gradients to `gradient`.

    x is (SLICE, n_features), slopes is (n_outputs, SLICE); rules with an active row are
    marked in touched (n_rules,).
    """
    n_outputs = parameters.values.shape[1]
    own = first_block(thread, n_threads, layout), first_block(thread + 1, n_threads, layout)
    for block in range(own[0], own[1]):
        for rule in range(layout.blocks[block], layout.blocks[block + 1]):
            begin = rule * SLICE
            touched[rule] |= records.count[rule] > 0
            for i in range(begin, begin + records.count[rule]):
                row = records.row[i]
                j = records.literal[i]
                slope = slopes[0, row] * 0  # of the gradient's precision
                for k in range(n_outputs):
                    output_slope = gates[rule] * slopes[k, row]
                    gradient.values[rule, k] += output_slope * records.value[i]
                    slope += output_slope * parameters.values[rule, k]
                if layout.deep:
                    differentiate_literals(parameters, gradient, layout, rule, j, x[row], slope)
                else:
                    gradient.biases[j] += slope
                    for f in range(x.shape[1]):
                        gradient.weights[j, f] += slope * x[row, f]


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
def add_penalty(parameter, gradient, l2):
    """Add the gradient of l2 times the sum of squares, on flat arrays."""
    for i in range(parameter.size):
        gradient[i] += np.float32(2.0) * l2 * parameter[i]


@kernel
def penalize_rule(parameters, gradient, layout, rule, l2):
    """Add the penalty of one rule; biases are free, see the reference engine."""
    add_penalty(parameters.values[rule], gradient.values[rule], l2)
    i, j = layout.offsets[rule], layout.offsets[rule + 1]
    add_penalty(parameters.weights[i:j].reshape(-1), gradient.weights[i:j].reshape(-1), l2)
    if layout.deep:
        i, j = layout.mixing_offsets[rule], layout.mixing_offsets[rule + 1]
        add_penalty(parameters.mixing[i:j], gradient.mixing[i:j], l2)


@kernel
def update_blocks(
    thread, n_threads, parameters, gradient, means, squares, layout, rate, step, l2, touched
):
    """Adam step `step` (from 1) on the parameters of a thread's blocks.

    Only rules with an active row in the batch, marked in touched (n_rules,), are
    shrunk. Clears the marks and the gradient.
    """
    # The bias corrections, moved into the rate and epsilon as in the Adam paper.
    correction = np.sqrt(1.0 - BETA_2**step)
    rate = np.float32(rate * correction / (1.0 - BETA_1**step))
    epsilon = np.float32(EPSILON * correction)
    p, g, m, v = parameters, gradient, means, squares
    own = first_block(thread, n_threads, layout), first_block(thread + 1, n_threads, layout)
    for block in range(own[0], own[1]):
        a, b = layout.blocks[block], layout.blocks[block + 1]
        for rule in range(a, b):
            if touched[rule] and l2 > 0:
                penalize_rule(parameters, gradient, layout, rule, l2)
            touched[rule] = False
        adam(
            p.values[a:b].reshape(-1),
            g.values[a:b].reshape(-1),
            m.values[a:b].reshape(-1),
            v.values[a:b].reshape(-1),
            rate,
            epsilon,
        )
        i, j = layout.offsets[a], layout.offsets[b]
        adam(
            p.weights[i:j].reshape(-1),
            g.weights[i:j].reshape(-1),
            m.weights[i:j].reshape(-1),
            v.weights[i:j].reshape(-1),
            rate,
            epsilon,
        )
        adam(p.biases[i:j], g.biases[i:j], m.biases[i:j], v.biases[i:j], rate, epsilon)
        if layout.deep:
            adam(p.shifts[i:j], g.shifts[i:j], m.shifts[i:j], v.shifts[i:j], rate, epsilon)
            i, j = layout.mixing_offsets[a], layout.mixing_offsets[b]
            adam(p.mixing[i:j], g.mixing[i:j], m.mixing[i:j], v.mixing[i:j], rate, epsilon)


@kernel
def wait_for_all(arrivals, target):
    """Barrier: announce this thread, then wait for `target` arrivals in all.

    The others are mostly microseconds away. If they are not, another program has
    their core: sleep, so that the system can give them this one.
    """
    atomic_add(arrivals)
    spins = 0
    while atomic_load(arrivals) < target:
        spins += 1
        if spins > MAX_SPINS:
            pause(PAUSE_MICROSECONDS)


@kernel
def aligned_zeros(n):
    """(n,) float32 zeros that begin on a cache line: tiles then never straddle two."""
    padded = np.zeros(n + 16, np.float32)
    start = (-padded.ctypes.data % 64) // 4
    return padded[start : start + n]


@kernel
def make_scratch(layout):
    """Buffers for one rule on one tile: literals, units and minimum."""
    longest = 1
    for rule in range(layout.offsets.size - 1):
        longest = max(longest, layout.offsets[rule + 1] - layout.offsets[rule])
    return (
        aligned_zeros(longest * TILE).reshape((longest, TILE)),
        aligned_zeros(longest * TILE).reshape((longest, TILE)),
        aligned_zeros(TILE),
    )


@kernel
def load_slice(examples, rows, first, n_rows, x, targets, weights):
    """Gather rows `first` to `first + n_rows` of `rows`.

    Fills x (SLICE, n_features), targets (n_outputs, SLICE) with classes coded -1
    and +1, and weights (SLICE,).
    """
    n_outputs = targets.shape[0]
    for i in range(n_rows):
        row = rows[first + i]
        weights[i] = examples.weights[row]
        for f in range(examples.features.size):
            x[i, f] = examples.X[row, examples.features[f]]
        for k in range(n_outputs):
            if not examples.coded:
                targets[k, i] = examples.targets[row, k]
            elif n_outputs == 1:
                targets[k, i] = 2 * examples.targets[row, 0] - 1
            else:
                targets[k, i] = 1 if examples.targets[row, 0] == k else -1


@kernel
def train(
    thread,
    n_threads,
    arrivals,
    parameters,
    gradient,
    means,
    squares,
    layout,
    examples,
    batches,
    kind,
    l2,
    hints,
    records,
    partial,
):
    """Train on a run of mini-batches as thread `thread` of `n_threads`.

    `arrivals` is the barrier's counter, zero at the call. `partial`, of shape
    (2, n_blocks, n_outputs, SLICE), carries the blocks' outputs from thread to
    thread: two of them, so that a thread may start on the next slice while
    another still reads the last. Slopes and sums have the precision of
    `gradient`. Returns the weighted sum of the losses.
    """
    n_features = examples.features.size
    n_outputs = parameters.values.shape[1]
    n_blocks = layout.blocks.size - 1
    scratch = make_scratch(layout)
    tiles = aligned_zeros(SLICE * n_features).reshape((SLICE // TILE, n_features, TILE))
    x = np.empty((SLICE, n_features), np.float32)
    outputs = np.empty((n_outputs, SLICE), np.float32)
    targets = np.empty((n_outputs, SLICE), np.float32)
    slopes = np.empty((n_outputs, SLICE), gradient.values.dtype)
    weights = np.empty(SLICE, np.float32)
    touched = np.zeros(parameters.values.shape[0], np.bool_)
    total = 0.0
    n_slices = 0
    for b in range(batches.rates.size):
        start = b * batches.size
        stop = min(start + batches.size, batches.rows.size)
        gates = batches.gates[b]
        weight = 0.0
        for i in range(start, stop):
            weight += examples.weights[batches.rows[i]]
        for first in range(start, stop, SLICE):
            n_rows = min(SLICE, stop - first)
            for i in range(n_rows):
                load_row(examples.X, batches.rows[first + i], examples.features, tiles, i)
            current = partial[n_slices % 2]
            activate_blocks(
                thread,
                n_threads,
                parameters,
                layout,
                tiles,
                n_rows,
                gates,
                scratch,
                hints,
                records,
                current,
            )
            n_slices += 1
            if n_threads > 1:
                wait_for_all(arrivals, n_threads * n_slices)
            outputs[:] = 0
            for block in range(n_blocks):
                for k in range(n_outputs):
                    for i in range(n_rows):
                        outputs[k, i] += current[block, k, i]
            load_slice(examples, batches.rows, first, n_rows, x, targets, weights)
            total += loss_and_slopes(kind, outputs, targets, weights, n_rows, slopes)
            for k in range(n_outputs):
                for i in range(n_rows):
                    slopes[k, i] /= weight
            differentiate_blocks(
                thread,
                n_threads,
                parameters,
                gradient,
                layout,
                x,
                gates,
                records,
                slopes,
                touched,
            )
        update_blocks(
            thread,
            n_threads,
            parameters,
            gradient,
            means,
            squares,
            layout,
            batches.rates[b],
            batches.first_step + b + 1,
            l2,
            touched,
        )
    return total


@kernel
def decide(parameters, layout, X, features, first, last, outputs):
    """Sum of values times activations for rows `first` to `last` of X.

    Fills outputs (n_rows, n_outputs) float64 at those rows. The product of two
    float32 is exact in float64, and the sums are taken in the order of the rules: a
    row's result does not depend on its neighbours, and its explanation can repeat it
    bit for bit.
    """
    n_outputs = parameters.values.shape[1]
    literals, units, minimum = make_scratch(layout)
    tiles = aligned_zeros(features.size * TILE).reshape((1, features.size, TILE))
    sums = np.empty((n_outputs, TILE), np.float64)
    hints = np.zeros(parameters.values.shape[0], np.int64)
    for start in range(first, last, TILE):
        n_rows = min(TILE, last - start)
        for i in range(n_rows):
            load_row(X, start + i, features, tiles, i)
        sums[:] = 0
        for rule in range(parameters.values.shape[0]):
            active, hints[rule] = evaluate_rule(
                parameters, layout, rule, tiles[0], literals, units, minimum, hints[rule]
            )
            if active != 0:
                for k in range(n_outputs):
                    c = np.float64(parameters.values[rule, k])
                    for r in range(TILE):
                        sums[k, r] += c * max(minimum[r], np.float32(0.0))
        for r in range(n_rows):
            for k in range(n_outputs):
                outputs[start + r, k] = sums[k, r]
