"""Frozen rules, which a smaller model has as they were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from neuralrules._network._network import Network
from neuralrules._rules._rules import FREE, Rules


def free_part(network: Network, rules: Rules) -> np.ndarray:
    """The weights of the rules that are not frozen."""
    free = np.repeat(rules.frozen_parts == FREE, np.diff(network.layout.weight_offsets))
    return network.own_weights[free]


def around_frozen(
    network: Network, rules: Rules, shrink: Callable[[Network], tuple[Network, np.ndarray]]
) -> tuple[Network, np.ndarray]:
    """Make the free rules of a network fewer or smaller; frozen ones stay as they are.

    Parameters
    ----------
    network : Network
    rules : Rules
    shrink : callable
        From a network to a smaller one and the indices of the rules that are left.
    """
    held, free = (np.flatnonzero((rules.frozen_parts == FREE) == one) for one in (False, True))
    if not held.size:
        return shrink(network)
    if not free.size:
        return network, held
    smaller, kept = shrink(network.take(free))
    left = np.concatenate([held, free[kept]])
    order = np.argsort(left)
    joined = Network.join([network.take(held), smaller]).take(order)
    return replace(joined, intercept=smaller.intercept), left[order]
