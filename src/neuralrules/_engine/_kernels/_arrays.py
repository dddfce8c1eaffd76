"""The named tuples that kernels pass to each other, and the buffers for rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuralrules._engine._kernels._compile import TILE, allocating, kernel
from neuralrules._network._parameters import Parameters

SLICE = 256  # rows whose activations are in memory at the same time; a multiple of TILE


class Layer(NamedTuple):
    """One layer of a rule: values = weights . inputs + biases.

    Attributes
    ----------
    weights : (n_literals * n_inputs,) float32
    biases : (n_literals,) float32
    inputs : (n_inputs,) int64
        The inputs of the layer, as indices of rows of the tile.
    """

    weights: np.ndarray
    biases: np.ndarray
    inputs: np.ndarray


class Scratch(NamedTuple):
    """Buffers for one rule on one tile.

    Attributes
    ----------
    literals : (longest rule, TILE) float32
        The literals of a deep rule after the ReLU.
    units : (longest rule, TILE) float32
        The numbers that the minimum is taken over: the literals of a shallow rule, or the
        units of the second layer of a deep rule.
    minimum : (TILE,) float32
    every : (longest rule,) int64
        The numbers 0, 1, 2, ...: the inputs of a second layer are all literals of its rule.
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
        The smallest literal, as an index into the rule's literals.
    value : (n_rules * SLICE,) float32
        The value of this literal, which is the activation of the rule.
    count : (n_rules,) int64
        Number of records of each rule. The records of a rule start at rule * SLICE.
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
        The rows for the forward pass: each row is a column of a tile.
    x : (SLICE, n_features) float32
        The same rows for the backward pass.
    targets : (n_outputs, SLICE) float32
        Classes are coded -1 and +1.
    weights : (SLICE,) float32
    outputs : (n_outputs, SLICE) float32
    slopes : (n_outputs, SLICE) float32 or float64
        Derivative of the batch's loss with respect to each output, in the precision of the
        gradient.
    """

    tiles: np.ndarray
    x: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    outputs: np.ndarray
    slopes: np.ndarray


class Workspace(NamedTuple):
    """The arrays that threads share during training, besides the parameters and moments.

    Attributes
    ----------
    gradient : Parameters of float32 or float64
        All zero between batches.
    hints : (n_rules, SLICE // TILE) int64
        The pair of literals that each rule starts with on each tile.
    records : Records
    partial : (2, n_blocks, n_outputs, SLICE) float32
        The outputs of the blocks, for two slices. So one thread may start the next slice while
        another thread still reads the outputs of the last slice.
    touched : (n_rules,) bool
        Rules with an active row in the batch.
    """

    gradient: Parameters
    hints: np.ndarray
    records: Records
    partial: np.ndarray
    touched: np.ndarray


class Training(NamedTuple):
    """The arrays that training changes.

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
    """Constraints for kernels. All arrays are empty if there are no constraints.

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
        Whether the intercept is trained too.
    n_steps : int
        Adam steps taken before the first batch.
    moves : bool
        Whether steps are taken. If not, there is only one batch. Its gradient (without the
        penalty) and the marks of its active rules then stay in the workspace.
    """

    loss: int
    loss_parameters: np.ndarray
    l2: np.float32
    fit_intercept: bool
    n_steps: int
    moves: bool


class Team(NamedTuple):
    """One thread of the team of threads that train a network together.

    Attributes
    ----------
    thread, n_threads : int
    arrivals : (1,) int64
        Counter of the barrier. It is 0 at the start of a run.
    """

    thread: int
    n_threads: int
    arrivals: np.ndarray


@allocating
def aligned_zeros(n):
    """(n,) float32 zeros that begin at the start of a cache line.

    A row of a tile then never begins in the middle of a cache line.
    """
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
    """Buffers for one slice. The slopes have the dtype of the array `precision`."""
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
    """Copy the rows of X with the numbers `rows` to tiles (n_tiles, n_features, TILE)."""
    for i in range(rows.size):
        row, tile, place = np.uintp(rows[i]), i // TILE, i % TILE
        for f in range(features.size):
            tiles[tile, f, place] = X[row, np.uintp(features[f])]


@kernel
def load_slice(table, rows, part):
    """Copy the rows with the numbers `rows` into a `Slice`.

    Fills everything except the outputs and the slopes.
    """
    n_outputs, n_features = part.targets.shape[0], table.features.size
    for i in range(rows.size):
        row = np.uintp(rows[i])  # unsigned, so that numba does not check for negative indices
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
