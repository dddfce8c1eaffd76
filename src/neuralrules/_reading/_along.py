"""Activations of rules if some columns move and all others stay as they are.

A literal is a sum. The part of the sum that comes from the other columns is computed once for
each row. The part that comes from the moving columns is computed once for each value.
"""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np

from neuralrules._network._network import Network

CELLS = 2**22  # literals in memory at a time, over rows and values
NEAR = 1e-4  # share of the way between the values: a bend is tested this far to both sides
STRAIGHT = 1e-9  # smaller second differences, relative to the activation, are rounding


def rules_that_use(network: Network, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rules that have a weight on any of the encoded columns `features`.

    Returns
    -------
    rules : (n,) int64
        Ascending.
    alone : (n,) bool
        Whether a rule has weights on no other encoded columns.
    """
    used = np.logical_or.reduceat(network.weights != 0, network.offsets[:-1], axis=0)
    asked = np.isin(network.features, features)
    rules = np.flatnonzero(used[:, asked].any(axis=1))
    return rules, np.logical_not(used[rules][:, ~asked].any(axis=1))


def activations_along(
    network: Network, rule: int, encoded: np.ndarray, features: np.ndarray, moved: np.ndarray
) -> np.ndarray:
    """Activations of a rule on each row, with some columns set to each of several values.

    Parameters
    ----------
    network : Network
    rule : int
    encoded : (n_rows, n_encoded) float32
    features : (n_features,) int, ascending
        Encoded columns that move.
    moved : (n_values, n_features) float64
        The encoded values that these columns are set to.

    Returns
    -------
    (n_rows, n_values) float64
    """
    columns = network.rule_columns(rule)
    weights = network.rule_weights(rule).astype(np.float64)
    moves = np.isin(columns, features)
    own = slice(network.offsets[rule], network.offsets[rule + 1])
    stays = encoded[:, columns[~moves]].astype(np.float64) @ weights[:, ~moves].T
    stays += network.biases[own].astype(np.float64)
    place = np.searchsorted(features, columns[moves])
    shifts = moved[:, place] @ weights[:, moves].T
    if network.deep:
        return deep_activations(network, rule, stays, shifts)
    return shallow_activations(stays, shifts, np.any(weights[:, moves] != 0, axis=1))


def shallow_activations(
    stays: np.ndarray, shifts: np.ndarray, moving: np.ndarray
) -> np.ndarray:
    """Activations (n_rows, n_values) of a shallow rule.

    If a literal that does not move is off, the rule is off for every value. Most rows of most
    rules are such rows, so the moving literals are computed only for the other rows.

    Parameters
    ----------
    stays : (n_rows, n_literals) float64
        What the columns that stay add to the literals.
    shifts : (n_values, n_literals) float64
        What the columns that move add to the literals.
    moving : (n_literals,) bool
        The literals that move.
    """
    ceiling = stays[:, ~moving].min(axis=1, initial=np.inf)
    on = np.flatnonzero(ceiling > 0)
    smallest = np.repeat(ceiling[on, None], len(shifts), axis=1)
    for literal in np.flatnonzero(moving):
        np.minimum(smallest, stays[on, literal, None] + shifts[:, literal], out=smallest)
    active = np.zeros((len(stays), len(shifts)))
    active[on] = np.maximum(smallest, 0)
    return active


def deep_activations(
    network: Network, rule: int, stays: np.ndarray, shifts: np.ndarray
) -> np.ndarray:
    """Activations (n_rows, n_values) of a deep rule, computed some rows at a time."""
    own = slice(network.offsets[rule], network.offsets[rule + 1])
    mixing = network.second_layer(rule).astype(np.float64)
    constants = network.shifts[own].astype(np.float64)
    active = np.empty((len(stays), len(shifts)))
    size = max(1, CELLS // shifts.size)
    for start in range(0, len(stays), size):
        literals = np.maximum(stays[start : start + size, None] + shifts, 0)
        units = literals @ mixing.T + constants
        active[start : start + size] = np.maximum(units.min(axis=2), 0)
    return active


def bends(
    network: Network, rule: int, features: np.ndarray, start: np.ndarray, end: np.ndarray
) -> np.ndarray:
    """The bends of a rule's activation on the straight way from one value to another.

    The rule must use no other columns than `features`. Between the zeros of its literals, each
    unit of the rule is a straight line. The minimum of the units can bend at a point where two
    lines cross. The ReLU bends at a point where the minimum crosses zero. The units of a
    shallow rule are its literals, which are straight lines all the way.

    Parameters
    ----------
    network, rule, features
        As in `activations_along`.
    start, end : (n_features,) float64
        Encoded values.

    Returns
    -------
    (n,) float64, ascending
        The places of the bends, as shares of the way between 0 and 1.
    """
    columns, weights = network.rule_columns(rule), network.rule_weights(rule)
    own = np.isin(columns, features)
    place = np.searchsorted(features, columns[own])
    slopes = weights[:, own].astype(np.float64) @ (end - start)[place]
    constants = network.biases[network.offsets[rule] : network.offsets[rule + 1]].astype(float)
    constants += weights[:, own].astype(np.float64) @ start[place]
    nothing = np.zeros((1, int(network.columns.max()) + 1), np.float32)

    def activation(shares: np.ndarray) -> np.ndarray:
        moved = start + shares[:, None] * (end - start)
        return activations_along(network, rule, nothing, features, moved)[0]

    ends = np.array([0.0, 1.0])
    if network.deep:
        ends = np.unique(np.clip([0.0, *zeros_of(slopes, constants), 1.0], 0, 1))
    found = list(ends)
    for low, high in pairwise(ends):
        lines = slopes, constants
        if network.deep:
            lines = units_between(network, rule, slopes, constants, (low + high) / 2)
        found += crossings(*lines)
    shares = np.unique([share for share in found if 0 < share < 1])
    if not shares.size:
        return shares
    middle = activation(shares)
    bend = activation(shares - NEAR) - 2 * middle + activation(shares + NEAR)
    size = np.abs(slopes).max() * NEAR + np.abs(middle)
    return shares[np.abs(bend) > STRAIGHT * size]


def units_between(
    network: Network, rule: int, slopes: np.ndarray, constants: np.ndarray, share: float
) -> tuple[np.ndarray, np.ndarray]:
    """Slopes and constants of a deep rule's units, which are lines near a share of the way."""
    own = slice(network.offsets[rule], network.offsets[rule + 1])
    through = network.second_layer(rule).astype(np.float64)
    through = through * (slopes * share + constants > 0)
    return through @ slopes, through @ constants + network.shifts[own].astype(np.float64)


def zeros_of(slopes: np.ndarray, constants: np.ndarray) -> list[float]:
    """The shares of the way at which straight lines are zero."""
    slanted = slopes != 0
    return (-constants[slanted] / slopes[slanted]).tolist()


def crossings(slopes: np.ndarray, constants: np.ndarray) -> list[float]:
    """The shares of the way at which straight lines cross zero or one another."""
    pairs = np.array(list(combinations(range(len(slopes)), 2)), int).reshape(-1, 2)
    between = slopes[pairs] @ [1, -1], constants[pairs] @ [1, -1]
    return zeros_of(slopes, constants) + zeros_of(*between)
