"""Prediction: outputs and activations of a network, without any gradient."""

from __future__ import annotations

import numpy as np

from neuralrules._engine._kernels._compile import allocating, inlined, kernel
from neuralrules._engine._kernels._forward import evaluate_rule, first_layer, second_layer
from neuralrules._engine._kernels._gathering import aligned_zeros, load_tiles, make_scratch
from neuralrules._engine._kernels._vectors import TILE


@inlined
def evaluate(parameters, layout, rule, tile, scratch, hints):
    """Minimum of one rule's units on a tile, in the scratch; is any row active?"""
    literals = first_layer(parameters, layout, rule)
    units = literals
    if layout.deep:
        units = second_layer(parameters, layout, rule, scratch.every)
    active, hints[rule] = evaluate_rule(
        literals, units, layout.deep, tile, scratch, hints[rule]
    )
    return active != 0


@kernel
def decide_tile(parameters, layout, tile, scratch, hints, sums):
    """Sum of values times activations on one tile, in sums (n_outputs, TILE) float64."""
    n_rules, n_outputs = parameters.values.shape
    sums[:] = 0
    for rule in range(n_rules):
        if evaluate(parameters, layout, rule, tile, scratch, hints):
            for k in range(n_outputs):
                c = np.float64(parameters.values[rule, k])
                for r in range(TILE):
                    sums[k, r] += c * max(scratch.minimum[r], np.float32(0.0))


@allocating
def decide(parameters, layout, X, features, first, last, outputs):
    """Sum of values times activations for rows `first` to `last` of X.

    Fills outputs (n_rows, n_outputs) float64 at those rows. The product of two
    float32 is exact in float64, and the sums are taken in the order of the rules: a
    row's result does not depend on its neighbours, and its explanation can repeat it
    bit for bit.
    """
    n_rules, n_outputs = parameters.values.shape
    scratch = make_scratch(layout)
    tiles = aligned_zeros(features.size * TILE).reshape((1, features.size, TILE))
    sums = np.empty((n_outputs, TILE), np.float64)
    hints = np.zeros(n_rules, np.int64)
    for start in range(first, last, TILE):
        rows = np.arange(start, min(start + TILE, last))
        load_tiles(X, rows, features, tiles)
        decide_tile(parameters, layout, tiles[0], scratch, hints, sums)
        for r in range(rows.size):
            for k in range(n_outputs):
                outputs[start + r, k] = sums[k, r]


@kernel
def activate_tile(parameters, layout, tile, scratch, hints, result):
    """Activations of all rules on one tile, in result (n_rows, n_rules), zero before."""
    for rule in range(parameters.values.shape[0]):
        if evaluate(parameters, layout, rule, tile, scratch, hints):
            for r in range(result.shape[0]):
                result[r, rule] = max(scratch.minimum[r], np.float32(0.0))


@allocating
def activate(parameters, layout, X, features, first, last, result):
    """Activations of all rules for rows `first` to `last` of X.

    Fills result (n_rows, n_rules) float64 at those rows, zero at the call, with the very
    numbers that `decide` sums.
    """
    scratch = make_scratch(layout)
    tiles = aligned_zeros(features.size * TILE).reshape((1, features.size, TILE))
    hints = np.zeros(parameters.values.shape[0], np.int64)
    for start in range(first, last, TILE):
        rows = np.arange(start, min(start + TILE, last))
        load_tiles(X, rows, features, tiles)
        some = result[start : start + rows.size]
        activate_tile(parameters, layout, tiles[0], scratch, hints, some)
