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
        row, tile, place = rows[i], i // TILE, i % TILE
        for f in range(features.size):
            tiles[tile, f, place] = X[row, features[f]]


@kernel
def load_slice(table, rows, part):
    """Gather what the backward pass needs of the rows with such numbers into a `Slice`."""
    n_outputs = part.targets.shape[0]
    for i in range(rows.size):
        row = rows[i]
        part.weights[i] = table.weights[row]
        for f in range(table.features.size):
            part.x[i, f] = table.X[row, table.features[f]]
        for k in range(n_outputs):
            if not table.coded:
                part.targets[k, i] = table.targets[row, k]
            elif n_outputs == 1:
                part.targets[k, i] = 2 * table.targets[row, 0] - 1
            else:
                part.targets[k, i] = 1 if table.targets[row, 0] == k else -1
