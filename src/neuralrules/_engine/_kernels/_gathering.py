"""Gathering rows of a table into buffers that the passes can walk through."""

from __future__ import annotations

import numpy as np

from neuralrules._engine._kernels._arrays import SLICE, Scratch, Slice
from neuralrules._engine._kernels._compile import allocating, kernel
from neuralrules._engine._kernels._vectors import TILE


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
