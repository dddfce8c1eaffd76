"""The named tuples that kernels hand each other, and the buffers that rows are loaded into."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuralrules._engine._kernels._compile import TILE, allocating, kernel
from neuralrules._network._parameters import Parameters

SLICE = 256  # rows whose activations are held at a time; a whole number of tiles


class Layer(NamedTuple):
    """One layer of a rule: values = weights . inputs + biases.

    Attributes
    ----------
    weights : (n_literals * n_inputs,) float32
    biases : (n_literals,) float32
    inputs : (n_inputs,) int64
        Rows of the tile that are the inputs.
    """

    weights: np.ndarray
    biases: np.ndarray
    inputs: np.ndarray


class Scratch(NamedTuple):
    """Buffers for one rule on one tile.

    Attributes
    ----------
    literals, units : (longest rule, TILE) float32
        A deep rule's literals after the ReLU, and what the minimum is taken over.
    minimum : (TILE,) float32
    every : (longest rule,) int64
        0, 1, 2 ...: a deep rule's second layer looks at all its literals.
    """

    literals: np.ndarray
    units: np.ndarray
    minimum: np.ndarray
    every: np.ndarray


class Records(NamedTuple):
    """Active (row, rule) pairs of a slice, rule by rule.

    Attributes
    ----------
    row : (n_rules * SLICE,) int32
        Row of the slice.
    literal : (n_rules * SLICE,) int32
        The literal that is the minimum, as an index into the rule's literals.
    value : (n_rules * SLICE,) float32
        Its value, which is the rule's activation.
    count : (n_rules,) int64
        Number of records of each rule; a rule's records start at rule * SLICE.
    """

    row: np.ndarray
    literal: np.ndarray
    value: np.ndarray
    count: np.ndarray


class TrainingRows(NamedTuple):
    """Training rows, and the columns that the network looks at.

    Attributes
    ----------
    X : (n_rows, n_columns) float32
    features : (n_features,) int32
    targets : (n_rows, n_targets) float32
    weights : (n_rows,) float32
    coded : bool
        Whether `targets` holds class codes.
    """

    X: np.ndarray
    features: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    coded: bool


class Slice(NamedTuple):
    """Some rows of a batch, gathered.

    Attributes
    ----------
    tiles : (SLICE // TILE, n_features, TILE) float32
        The rows as the forward pass wants them: one column of a tile each.
    x : (SLICE, n_features) float32
        The rows as the backward pass wants them.
    targets : (n_outputs, SLICE) float32
        Classes are coded -1 and +1.
    weights : (SLICE,) float32
    outputs : (n_outputs, SLICE) float32
    slopes : (n_outputs, SLICE) float32 or float64
        Derivative of the batch's loss by each output, of the gradient's precision.
    """

    tiles: np.ndarray
    x: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    outputs: np.ndarray
    slopes: np.ndarray


class Workspace(NamedTuple):
    """What threads share during training, beside the parameters and moments.

    Attributes
    ----------
    gradient : Parameters of float32 or float64
        All zero between batches.
    hints : (n_rules, SLICE // TILE) int64
        The pair of literals that each rule begins with on each tile.
    records : Records
    partial : (2, n_blocks, n_outputs, SLICE) float32
        The blocks' outputs: two of them, so that a thread may start on the next slice
        while another still reads the last.
    touched : (n_rules,) bool
        Rules with an active row in the batch.
    """

    gradient: Parameters
    hints: np.ndarray
    records: Records
    partial: np.ndarray
    touched: np.ndarray


class Training(NamedTuple):
    """What training changes.

    Attributes
    ----------
    parameters : Parameters
    means, squares : Parameters
        Adam's moments.
    """

    parameters: Parameters
    means: Parameters
    squares: Parameters


class Limits(NamedTuple):
    """Constraints for kernels; without any, arrays of no elements.

    Attributes
    ----------
    exist : bool
    frozen : Parameters of bool
    lower, upper : Parameters of float32
    """

    exist: bool
    frozen: Parameters
    lower: Parameters
    upper: Parameters


class Options(NamedTuple):
    """Numbers that stay the same in a run of batches.

    Attributes
    ----------
    loss : int
        Code of the loss.
    loss_parameters : (n_parameters,) float64
        At least one number, which is 0 if the loss has no parameters.
    l2 : float32
    fit_intercept : bool
        Whether the intercept moves too.
    n_steps : int
        Adam steps taken before the first batch.
    moves : bool
        Whether steps are taken. Else there is one batch, whose gradient, without the penalty,
        and the marks of its active rules are left in the workspace.
    """

    loss: int
    loss_parameters: np.ndarray
    l2: np.float32
    fit_intercept: bool
    n_steps: int
    moves: bool


class Team(NamedTuple):
    """A thread among those that train together.

    Attributes
    ----------
    thread, n_threads : int
    arrivals : (1,) int64
        Counter of the barrier, zero when a run begins.
    """

    thread: int
    n_threads: int
    arrivals: np.ndarray


@allocating
def aligned_zeros(n):
    """(n,) float32 zeros that begin on a cache line: tiles then never straddle two."""
    padded = np.zeros(n + 16, np.float32)
    start = (-padded.ctypes.data % 64) // 4
    return padded[start : start + n]


@allocating
def make_scratch(layout):
    """Buffers for one rule on one tile."""
    longest = 1
    for rule in range(layout.offsets.size - 1):
        longest = max(longest, layout.offsets[rule + 1] - layout.offsets[rule])
    return Scratch(
        aligned_zeros(longest * TILE).reshape((longest, TILE)),
        aligned_zeros(longest * TILE).reshape((longest, TILE)),
        aligned_zeros(TILE),
        np.arange(longest),
    )


@allocating
def make_slice(n_features, n_outputs, precision):
    """Buffers for one slice; slopes have the type of the array `precision`."""
    return Slice(
        aligned_zeros(SLICE * n_features).reshape((SLICE // TILE, n_features, TILE)),
        aligned_zeros(SLICE * n_features).reshape((SLICE, n_features)),
        np.empty((n_outputs, SLICE), np.float32),
        np.empty(SLICE, np.float32),
        np.empty((n_outputs, SLICE), np.float32),
        np.empty((n_outputs, SLICE), precision.dtype),
    )


@kernel
def load_tiles(X, rows, features, tiles):
    """Put the rows of X with such numbers into tiles (n_tiles, n_features, TILE)."""
    for i in range(rows.size):
        row, tile, place = np.uintp(rows[i]), i // TILE, i % TILE
        for f in range(features.size):
            tiles[tile, f, place] = X[row, np.uintp(features[f])]


@kernel
def load_slice(table, rows, part):
    """Gather the rows with such numbers into a `Slice`, all but its outputs and slopes."""
    n_outputs, n_features = part.targets.shape[0], table.features.size
    for i in range(rows.size):
        row = np.uintp(rows[i])  # unsigned: numba need not ask whether it counts from the end
        tile, place = i // TILE, i % TILE
        part.weights[i] = table.weights[row]
        for f in range(n_features):
            part.x[i, f] = table.X[row, np.uintp(table.features[f])]
        for f in range(n_features):
            part.tiles[tile, f, place] = part.x[i, f]
        for k in range(n_outputs):
            if not table.coded:
                part.targets[k, i] = table.targets[row, k]
            elif n_outputs == 1:
                part.targets[k, i] = 2 * table.targets[row, 0] - 1
            else:
                part.targets[k, i] = 1 if table.targets[row, 0] == k else -1
