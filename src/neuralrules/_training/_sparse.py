"""Training of literals that may look at few columns only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from neuralrules._network._constraints import Constraints
from neuralrules._network._network import Network
from neuralrules._training._training import Outcome, Plan, State

# Of the epochs: for so long literals may look at all columns of their rule, and show which of
# them matter.
FREE_SHARE = 1 / 3


# From a state to what training by a plan, within constraints, makes of it.
Training: TypeAlias = Callable[[State, Plan, Constraints | None], Outcome]


def train_sparse(
    trained: Training,
    state: State,
    plan: Plan,
    constraints: Constraints | None,
    max_terms: int | None,
) -> Outcome:
    """Train by `trained`; in the end no literal has more than `max_terms` weights.

    Literals are first trained freely, for a third as many epochs as are asked for. Then each
    keeps its largest weights, and all that is left is trained for the epochs asked for, from
    which the best epoch is counted.
    """
    if max_terms is None or np.diff(state.network.column_offsets).max() <= max_terms:
        return trained(state, plan, constraints)
    n_free = int(np.ceil(FREE_SHARE * plan.n_epochs))
    free = trained(state, replace(plan, n_epochs=n_free, stop_after=None), constraints)
    network = with_largest_weights(free.state.network, max_terms)
    start = State.start(network)
    if free.interrupted:
        return replace(free, state=start)
    limits = Constraints.keep_columns(network)
    if constraints is not None:
        limits = constraints.also(limits)
    sparse = trained(start, plan, limits)
    return replace(
        sparse,
        history={name: free.history[name] + losses for name, losses in sparse.history.items()},
        n_epochs=free.n_epochs + sparse.n_epochs,
    )


def within_terms(state: State, max_terms: int | None) -> State:
    """The same state, or a new start of a network with fewer terms if it has too many."""
    n_terms = np.count_nonzero(state.network.weights, axis=1)
    if max_terms is None or n_terms.max(initial=0) <= max_terms:
        return state
    return State.start(with_largest_weights(state.network, max_terms))


def with_largest_weights(network: Network, max_terms: int) -> Network:
    """The network with all but the `max_terms` largest weights of each literal zero."""
    weights = network.own_weights.copy()
    for rule in range(network.n_rules):
        own = network.layout.weights_of(weights, rule)  # a view
        order = np.argsort(-np.abs(own), axis=1, kind="stable")
        np.put_along_axis(own, order[:, max_terms:], 0, axis=1)
    return replace(network, own_weights=weights)
