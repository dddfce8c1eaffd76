"""Networks that keep to what a user forbids, and the proof that they do.

A rule c * min_j ReLU(w_j . x + a_j) never falls with x_i if c * w_ji >= 0 for all its
literals, since neither the minimum nor the ReLU turns a rise into a fall. A deep rule puts
mixing . ReLU(w x + a) + shifts in between: it never falls with x_i if
c * mixing_kj * w_ji >= 0 for all its units k and literals j. What holds for each rule
holds for their sum.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from neuralrules._data._restrictions import Restrictions
from neuralrules._network._network import Network


def violations(network: Network, directions: np.ndarray) -> list[tuple[int, int]]:
    """Rules and encoded columns for which the signs above do not prove a direction.

    Parameters
    ----------
    network : Network
    directions : (n_columns,) int8
        1, -1 or 0 for each encoded column.

    Returns
    -------
    list of (rule, column)
        Empty if outputs are monotone in all columns that have a direction.
    """
    return [
        (rule, int(column))
        for rule, values in enumerate(network.values)
        for column in unproven_columns(network, rule, values, directions)
    ]


def unproven_columns(
    network: Network, rule: int, values: np.ndarray, directions: np.ndarray
) -> np.ndarray:
    """Columns in which a rule, with the values (n_outputs,), may go the wrong way."""
    columns = network.rule_columns(rule)
    # Signs, not products: these could underflow.
    slopes = np.sign(network.rule_weights(rule))
    if network.deep:
        slopes = np.sign(network.second_layer(rule))[:, :, None] * slopes
    slopes, all_but_columns = slopes * directions[columns], tuple(range(slopes.ndim - 1))
    wrong = (slopes > 0).any(axis=all_but_columns) & (values < 0).any()
    wrong |= (slopes < 0).any(axis=all_but_columns) & (values > 0).any()
    return columns[wrong]


class Sides(NamedTuple):
    """On which side of zero parameters must stay for outputs to be monotone.

    1 where they may not be negative, -1 where they may not be positive, 0 where they are
    free.

    Attributes
    ----------
    weights : same shape as ``Network.own_weights``, int8
    values : (n_rules, 1) int8
    mixing : same shape as ``Network.mixing``, int8
    """

    weights: np.ndarray
    values: np.ndarray
    mixing: np.ndarray

    @classmethod
    def of(cls, network: Network, directions: np.ndarray) -> Sides:
        """The sides on which a network is now; rules keep the sign of their largest value.

        Those of which all values are zero are on the side of their weights.
        """
        layout, n_rules = network.layout, network.n_rules
        owner = np.repeat(np.arange(n_rules), np.diff(layout.weight_offsets))
        along = directions[network.features[layout.cells()[1]]]
        strongest = network.values[np.arange(n_rules), np.abs(network.values).argmax(axis=1)]
        leaning = np.bincount(owner, network.own_weights * along, n_rules)
        side = np.where(strongest != 0, strongest, leaning)
        signs = np.where(side < 0, -1, 1).astype(np.int8)
        # A weight of zero counts too: training may let it grow.
        looks = np.bincount(owner, along != 0, n_rules) > 0
        mixing = np.repeat(looks, np.diff(layout.mixing_offsets)).astype(np.int8)
        return cls(signs[owner] * along, (signs * looks)[:, None], mixing)


def allowed_weights(network: Network, restrictions: Restrictions) -> np.ndarray:
    """Which weights of a network are on columns that their rule may look at, flat bool.

    A rule that mixes groups of columns may keep the group of its largest weights.
    """
    layout, excluded = network.layout, restrictions.excluded
    allowed = ~excluded[network.features[layout.cells()[1]]]
    if restrictions.groups is None:
        return allowed
    members = np.array([np.isin(np.arange(len(excluded)), own) for own in restrictions.groups])
    for rule in range(network.n_rules):
        inside = members[:, network.rule_columns(rule)]
        sizes = np.abs(network.rule_weights(rule)).sum(axis=0)
        # Of groups that hold as much of the weights, the one with most of the columns.
        best = np.lexsort((inside.sum(axis=1), inside @ sizes))[-1]
        layout.weights_of(allowed, rule)[:, ~inside[best]] = False
    return allowed


def restricted(network: Network, restrictions: Restrictions | None) -> Network:
    """The network without what restrictions forbid; itself where it obeys them already.

    Weights that may not be are set to zero, values and parts of second layers on the wrong
    side too. A literal that has lost all its weights goes. The last one of a rule becomes
    constantly 1: the rule is then like one without splits.
    """
    if restrictions is None:
        return network
    sides = Sides.of(network, restrictions.directions)
    allowed = allowed_weights(network, restrictions)
    obeying = replace(
        network,
        own_weights=on_side(network.own_weights, sides.weights) * allowed,
        values=on_side(network.values, sides.values),
        mixing=on_side(network.mixing, sides.mixing),
    )
    before, after = network.parameters, obeying.parameters
    if all((one == other).all() for one, other in zip(before, after, strict=True)):
        return network
    return without_blind_literals(obeying, looking(network) & ~looking(obeying))


def on_side(numbers: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """Numbers, but zero for those on the wrong side of it."""
    return np.where(numbers * sides < 0, np.float32(0), numbers)


def looking(network: Network) -> np.ndarray:
    """Which literals have a weight other than zero, (n_literals,) bool."""
    literal, _ = network.layout.cells()
    return np.bincount(literal, network.own_weights != 0, network.n_literals) > 0


def without_blind_literals(network: Network, blind: np.ndarray) -> Network:
    """Drop literals, (n_literals,) bool, but one of each rule, which becomes constantly 1."""
    starts = network.offsets[:-1]
    lost = np.logical_and.reduceat(blind, starts)
    kept = ~blind
    kept[starts[lost]] = True
    network = network.take(np.arange(network.n_rules), kept)
    constant = network.offsets[:-1][lost]
    biases, origins, shifts = (
        array.copy() for array in (network.biases, network.origins, network.shifts)
    )
    biases[constant], origins[constant] = 1, -1
    mixing = network.mixing
    if network.deep:
        shifts[constant] = 0
        mixing = mixing.copy()
        for rule in np.flatnonzero(lost).tolist():
            network.layout.mixing_of(mixing, rule)[:] = 1
    return replace(network, biases=biases, origins=origins, shifts=shifts, mixing=mixing)
