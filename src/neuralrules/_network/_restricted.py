"""Networks that obey the restrictions of a user, and the proof that they do.

A rule c * min_j ReLU(w_j . x + a_j) never falls with x_i if c * w_ji >= 0 for all its
literals j, since neither the minimum nor the ReLU turns a rise into a fall. A deep rule puts
mixing . ReLU(w x + a) + shifts in between. It never falls with x_i if
c * mixing_kj * w_ji >= 0 for all its units k and literals j. If no rule falls with x_i, their
sum does not fall either.

With several classes, the probability of a class never falls if no difference between the
output of this class and another output falls. It is enough that rules whose activation rises
add nothing negative to the output of the class and nothing positive to the other outputs. This
condition excludes no model that is monotone rule by rule: a number that a rule adds to all
outputs alike changes no probability. So one can subtract from the values of a rule any number
between its value for the class and the largest of its other values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from neuralrules._data._encoder import Encoder
from neuralrules._data._restrictions import NEITHER, Restrictions, restrictions_of
from neuralrules._network._network import Network
from neuralrules._rules._rules import ALL_FROZEN, FREE, LITERALS_FROZEN
from neuralrules._task._task import Task


def unproven_directions(
    network: Network, encoder: Encoder, task: Task, monotone: Mapping[Any, Any] | None
) -> list[tuple[int, Any]]:
    """Rules and column names for which the signs of the parameters do not prove a direction.

    The proof is described at the top of this module.

    Parameters
    ----------
    network : Network
    encoder : Encoder
    task : Task
    monotone : mapping or None
        Directions to prove, in the form of the estimators' parameter.
    """
    if monotone is None:
        raise ValueError(
            "This model was fitted with monotone=None and promises nothing. Say what to "
            f"prove, for example monotone={{{encoder.names[0]!r}: 1}}."
        )
    asked = restrictions_of(encoder, task, monotone=monotone, interactions=None, exclude=None)
    assert asked is not None  # because `monotone` is given
    return [
        (rule, encoder.names[encoder.columns[column].source])
        for rule, column in violations(network, asked.directions, relative=asked.relative)
    ]


def violations(
    network: Network, directions: np.ndarray, *, relative: bool = False
) -> list[tuple[int, int]]:
    """Rules and encoded columns for which the signs of the parameters prove no direction.

    The proof is described at the top of this module.

    Parameters
    ----------
    network : Network
    directions : (n_columns,) or (n_columns, n_outputs) int8
        See `Restrictions`.
    relative : bool
        Whether only differences between outputs count, as for several classes.

    Returns
    -------
    list of (rule, column)
        Empty if outputs are monotone in all columns that have a direction.
    """
    return [
        (rule, int(column))
        for rule, values in enumerate(network.values)
        for column in unproven_columns(network, rule, values, directions, relative=relative)
    ]


def of_each_output(directions: np.ndarray, n_outputs: int) -> np.ndarray:
    """Directions as (n_columns, n_outputs), even if they are (n_columns,) for all outputs."""
    if directions.ndim == 2:
        return directions
    return np.repeat(directions[:, None], n_outputs, axis=1)


def unproven_columns(
    network: Network,
    rule: int,
    values: np.ndarray,
    directions: np.ndarray,
    *,
    relative: bool = False,
) -> np.ndarray:
    """Columns in which a rule that has the `values` (n_outputs,) may go the wrong way."""
    columns = network.rule_columns(rule)
    # Signs are multiplied, because products of weights could underflow to zero.
    slopes = np.sign(network.rule_weights(rule))
    if network.deep:
        slopes = np.sign(network.second_layer(rule))[:, :, None] * slopes
    all_but_columns = tuple(range(slopes.ndim - 1))
    wanted = of_each_output(directions, len(values))[columns]
    falls, rises = wrong_ways(values, wanted, relative=relative)
    wrong = (slopes > 0).any(axis=all_but_columns) & falls
    wrong |= (slopes < 0).any(axis=all_but_columns) & rises
    return columns[wrong]


def wrong_ways(
    values: np.ndarray, wanted: np.ndarray, *, relative: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Whether a rule's values are wrong if its activation rises with a column, or if it falls.

    `values` are (n_outputs,) and the directions `wanted` are (n_columns, n_outputs). The first
    result is for activations that rise, the second for those that fall. Both are (n_columns,)
    bool.
    """
    if relative and len(values) > 1:
        ranks = np.where(wanted == NEITHER, 0, wanted)
        above = ranks[:, :, None] > ranks[:, None, :]  # their difference may not fall
        gaps = values[:, None] - values[None, :]
        return (above & (gaps < 0)).any(axis=(1, 2)), (above & (gaps > 0)).any(axis=(1, 2))
    along = np.where(wanted == NEITHER, 0, wanted) * np.sign(values)
    moves = ((wanted == NEITHER) & (values != 0)).any(axis=1)
    return (along < 0).any(axis=1) | moves, (along > 0).any(axis=1) | moves


class Sides(NamedTuple):
    """On which side of zero parameters must stay for outputs to be monotone.

    1 means that a parameter may not be negative, -1 that it may not be positive, 0 that it is
    free, and NEITHER that it must be zero.

    Attributes
    ----------
    weights : same shape as ``Network.own_weights``, int8
    values : (n_rules, n_outputs) int8
    mixing : same shape as ``Network.mixing``, int8
    """

    weights: np.ndarray
    values: np.ndarray
    mixing: np.ndarray

    @classmethod
    def of(cls, network: Network, directions: np.ndarray) -> Sides:
        """The sides that fit the present parameters of a network.

        A rule keeps the sign of its largest value. Only values that a direction is about count.
        If all of these are zero, the signs of the rule's weights decide.
        """
        layout = network.layout
        wanted = of_each_output(directions, network.n_outputs)
        weights = np.zeros(len(network.own_weights), np.int8)
        values = np.zeros((network.n_rules, network.n_outputs), np.int8)
        looks = np.zeros(network.n_rules, np.int8)
        for rule in np.flatnonzero(rules_with_directions(network, wanted)).tolist():
            # A weight of zero counts too: training may let it grow.
            own = wanted[network.rule_columns(rule)]
            ways = ways_of_columns(network.values[rule], network.rule_weights(rule), own)
            layout.weights_of(weights, rule)[:] = ways
            values[rule] = sides_of_values(ways, own)
            looks[rule] = 1
        return cls(weights, values, np.repeat(looks, np.diff(layout.mixing_offsets)))


def rules_with_directions(network: Network, wanted: np.ndarray) -> np.ndarray:
    """Which rules own a column with a direction, (n_rules,) bool."""
    owner = np.repeat(np.arange(network.n_rules), np.diff(network.column_offsets))
    with_one = wanted[network.columns].any(axis=1)
    return np.bincount(owner, with_one, network.n_rules) > 0


def ways_of_columns(values: np.ndarray, weights: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The side of a rule's weights on each of its columns, (n_columns,) int8; 0 for free.

    The sign of one value, the leader, decides for all columns. Otherwise two columns could ask
    for opposite signs of the same value.
    """
    signs = np.where(wanted == NEITHER, 0, wanted)
    sizes = np.abs(values) * signs.any(axis=0) * (wanted != NEITHER).all(axis=0)
    leader = int(sizes.argmax())
    along = signs[:, leader] * np.sign(values[leader])
    if not sizes[leader]:
        asked = signs[np.arange(len(signs)), np.abs(signs).argmax(axis=1)]
        leaning = weights.sum(axis=0) @ asked
        along = asked * (-1 if leaning < 0 else 1)
    # If a column has no direction for the leader, its largest value with a direction decides.
    for column in np.flatnonzero((along == 0) & signs.any(axis=1)):
        own = np.abs(values) * np.abs(signs[column])
        best = int(own.argmax()) if own.any() else int(np.abs(signs[column]).argmax())
        along[column] = signs[column, best] * (-1 if values[best] < 0 else 1)
    return along.astype(np.int8)


def sides_of_values(ways: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The side of each value of a rule, (n_outputs,) int8, if its weights are on `ways`.

    `ways` (n_columns,) are the sides that `ways_of_columns` returns.
    """
    asked = np.where(wanted == NEITHER, 0, wanted) * ways[:, None]
    up, down = (asked > 0).any(axis=0), (asked < 0).any(axis=0)
    stuck = (wanted == NEITHER).any(axis=0) | (up & down)
    return np.where(stuck, NEITHER, up.astype(np.int8) - down.astype(np.int8)).astype(np.int8)


def allowed_weights(network: Network, restrictions: Restrictions) -> np.ndarray:
    """Which weights of a network are on columns that their rule may look at, flat bool.

    A rule that mixes groups of columns may only keep the group of its largest weights.
    """
    layout, excluded = network.layout, restrictions.excluded
    allowed = ~excluded[network.features[layout.cells()[1]]]
    if restrictions.groups is None:
        return allowed
    members = np.array([np.isin(np.arange(len(excluded)), own) for own in restrictions.groups])
    for rule in range(network.n_rules):
        inside = members[:, network.rule_columns(rule)]
        sizes = np.abs(network.rule_weights(rule)).sum(axis=0)
        # Among groups with equal sums of weights, take the one with most of the columns.
        best = np.lexsort((inside.sum(axis=1), inside @ sizes))[-1]
        layout.weights_of(allowed, rule)[:, ~inside[best]] = False
    return allowed


def forbidden_columns(network: Network, restrictions: Restrictions) -> list[tuple[int, int]]:
    """Pairs of a rule and an encoded column that the rule looks at, although it may not."""
    forbidden = (network.own_weights != 0) & ~allowed_weights(network, restrictions)
    return [
        (rule, int(column))
        for rule in range(network.n_rules)
        for column in network.rule_columns(rule)[
            network.layout.weights_of(forbidden, rule).any(axis=0)
        ]
    ]


def restricted(
    network: Network, restrictions: Restrictions | None, frozen: np.ndarray | None = None
) -> Network:
    """The network without what the restrictions forbid.

    Forbidden weights are set to zero. So are weights, values and parts of second layers on the
    wrong side of zero. A literal that loses all its weights is dropped. If a rule would lose
    its last literal, this literal becomes constantly 1, as in a rule without splits. A network
    that obeys already is returned as it is.

    `frozen` has the form of `Rules.frozen`. Frozen parts do not change. If they break a
    restriction, a ValueError says so.
    """
    if restrictions is None:
        return network
    if frozen is not None and frozen.any():
        network = with_frozen(network, restrictions, frozen)
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


def with_frozen(network: Network, restrictions: Restrictions, frozen: np.ndarray) -> Network:
    """The network, with free values that suit the frozen literals of their rule.

    A value on the wrong side of zero becomes 0. Training can then find a value on the other
    side. If a frozen part breaks a restriction, a ValueError says so.
    """
    values = network.values.copy()
    wanted = of_each_output(restrictions.directions, network.n_outputs)
    allowed = allowed_weights(network, restrictions)
    for rule in np.flatnonzero(frozen != FREE).tolist():
        columns, weights = network.rule_columns(rule), network.rule_weights(rule)
        forbidden = (weights != 0) & ~network.layout.weights_of(allowed, rule)
        if forbidden.any():
            column = int(columns[forbidden.any(axis=0)][0])
            raise ValueError(frozen_text(restrictions, rule, column, "interactions or exclude"))
        tried = values[rule]
        if frozen[rule] == LITERALS_FROZEN:
            ways = np.sign(weights.sum(axis=0)).astype(np.int8)
            sides = sides_of_values(ways, wanted[columns])
            values[rule] = on_side(values[rule], sides)
            # All values on the same side of zero prove the same, so 1 and -1 stand for them.
            tried = np.where(sides == NEITHER, 0, np.where(sides < 0, -1, 1))
        wrong = unproven_columns(network, rule, tried, restrictions.directions)
        directed = columns[(wanted[columns].any(axis=1)) & weights.any(axis=0)]
        if wrong.size or (directed.size and frozen[rule] != ALL_FROZEN and not tried.any()):
            column = int(wrong[0] if wrong.size else directed[0])
            raise ValueError(frozen_text(restrictions, rule, column, "monotone"))
    return network if (values == network.values).all() else replace(network, values=values)


def frozen_text(restrictions: Restrictions, rule: int, column: int, option: str) -> str:
    """The error message for a frozen rule that breaks a restriction."""
    name = restrictions.names[column] if restrictions.names else column
    return (
        f"Rule {rule} is frozen or written by hand, and what it does with the column {name!r} "
        f"is against {option}. Rewrite or unfreeze it (the first rules are those of "
        f"expert_rules), or leave the column out of {option}."
    )


def on_side(numbers: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """The numbers, with zeros in place of numbers on the wrong side of zero."""
    wrong = (numbers * sides < 0) | (sides == NEITHER)
    return np.where(wrong, np.float32(0), numbers)


def looking(network: Network) -> np.ndarray:
    """Which literals have a weight other than zero, (n_literals,) bool."""
    literal, _ = network.layout.cells()
    return np.bincount(literal, network.own_weights != 0, network.n_literals) > 0


def without_blind_literals(network: Network, blind: np.ndarray) -> Network:
    """Drop the literals that `blind`, (n_literals,) bool, marks.

    If all literals of a rule are marked, its first literal stays and becomes constantly 1.
    """
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
