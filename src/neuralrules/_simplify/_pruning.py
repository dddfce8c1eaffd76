"""Remove the parameters of a network that matter least.

A part of a network is a rule, a literal or a single weight. The worth of a part is how much
the outputs would change without it: the squared change, summed over the rows. Removing a part
saves parameters. The parts with the least worth per parameter saved are removed first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree

from neuralrules._network._network import Network
from neuralrules._network._restricted import unproven_columns
from neuralrules._rules._rules import FREE, Rules

# Number of values of literals and columns that are held in memory at a time.
CHUNK_CELLS = 2**18
# Two rules count as multiples of each other if the cosine between their activations is at
# least 1 - SAME. Activations are float32, so even multiples rarely have a cosine of exactly 1.
SAME = 1e-10
# Number of directions on which activations are projected, to find rules that may be multiples.
N_PROBES = 8


@dataclass(frozen=True)
class Worth:
    """What each part of a network is worth: the squared change of the outputs without it.

    Attributes
    ----------
    rules : (n_rules,) float64
    literals : (n_literals,) float64
        With a literal, a deep rule also loses the unit of the same number. The only literal
        of a rule is worth infinity, since a rule must keep one literal.
    weights, mixing : same shapes as ``Network.own_weights`` and ``Network.mixing``, float64
        Approximations. They assume that the smallest literal or unit of each row stays the
        smallest, and that the bias takes over the mean of what the weight added.
    weight_means, mixing_means : same shapes, float64
        Means over the rows on which the literal or the unit decides the activation: of each
        column, and of the positive part of each literal.
    """

    rules: np.ndarray
    literals: np.ndarray
    weights: np.ndarray
    mixing: np.ndarray
    weight_means: np.ndarray
    mixing_means: np.ndarray


@dataclass(frozen=True)
class Block:
    """Rules that have the same number of literals and of columns, evaluated on all rows.

    Attributes
    ----------
    rules : (n_rules,) int64
    literals : (n_rules, n_literals) int64
        Numbers of the literals in the network.
    weights : (n_rules, n_literals, n_columns) int64
        Places in ``Network.own_weights``.
    mixing : (n_rules, n_literals, n_literals) int64
        Places in ``Network.mixing``; without meaning for shallow rules.
    x : (n_rules, n_columns, n_rows) float32
        The columns that the rules look at.
    values : (n_rules, n_literals, n_rows) float32
        The sums w . x + a of the literals.
    units : (n_rules, n_literals, n_rows) float32
        The numbers whose minimum is taken: `values`, or the second layer of deep rules.
    """

    rules: np.ndarray
    literals: np.ndarray
    weights: np.ndarray
    mixing: np.ndarray
    x: np.ndarray
    values: np.ndarray
    units: np.ndarray

    @property
    def active(self) -> np.ndarray:
        """Activations (n_rules, n_rows) float64."""
        return np.maximum(self.units.min(axis=1), 0).astype(np.float64)


def blocks(network: Network, X: np.ndarray) -> Iterator[Block]:
    """All rules on encoded rows X (n_rows, n_columns), in blocks of rules of equal size."""
    layout, by_column = network.layout, np.ascontiguousarray(X.T)
    lengths, widths = np.diff(layout.offsets), np.diff(layout.column_offsets)
    for length, width in np.unique(np.stack([lengths, widths]), axis=1).T.tolist():
        alike = np.flatnonzero((lengths == length) & (widths == width))
        size = max(1, CHUNK_CELLS // (max(len(X), 1) * (length + width)))
        for start in range(0, len(alike), size):
            rules = alike[start : start + size]
            literals = places(layout.offsets[rules], length)
            weights = places(layout.weight_offsets[rules], length, width)
            mixing = places(layout.mixing_offsets[rules], length, length)
            x = by_column[network.columns[places(layout.column_offsets[rules], width)]]
            values = network.own_weights[weights] @ x + network.biases[literals][:, :, None]
            units = values
            if network.deep:
                shifts = network.shifts[literals][:, :, None]
                units = network.mixing[mixing] @ np.maximum(values, 0) + shifts
            yield Block(rules, literals, weights, mixing, x, values, units)


def places(first: np.ndarray, *shape: int) -> np.ndarray:
    """The places of arrays of one shape in a flat array, from their first places (n,)."""
    cells = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    return first.reshape(-1, *(1 for _ in shape)) + cells


def worth(network: Network, X: np.ndarray, weights: np.ndarray) -> Worth:
    """Worth of every part on encoded rows X (n_rows, n_columns) with weights (n_rows,)."""
    n_weights, n_mixing = network.own_weights.size, network.mixing.size
    counts = (network.n_rules, network.n_literals, n_weights, n_mixing, n_weights, n_mixing)
    result, row_weights = Worth(*map(np.zeros, counts)), weights.astype(np.float64)
    sizes = (network.values.astype(np.float64) ** 2).sum(axis=1)
    for own in blocks(network, X):
        size, active = sizes[own.rules], own.active
        result.rules[own.rules] = size * (active**2 @ row_weights)
        change = activations_without_each(network, own) - active[:, None]
        result.literals[own.literals] = size[:, None] * (change**2 @ row_weights)
        decides = np.arange(own.units.shape[1])[:, None] == own.units.argmin(axis=1)[:, None]
        slopes = (decides & (active > 0)[:, None]).astype(np.float64)
        if network.deep:
            rectified = np.maximum(own.values, 0).astype(np.float64)
            mean, spread = moments(slopes * row_weights, rectified)
            result.mixing_means[own.mixing] = mean
            result.mixing[own.mixing] = size[:, None, None] * spread
            mixing = network.mixing[own.mixing].astype(np.float64)
            slopes = (mixing.transpose(0, 2, 1) @ slopes) * (rectified > 0)
        mean, spread = moments(slopes**2 * row_weights, own.x.astype(np.float64))
        result.weight_means[own.weights] = mean
        result.weights[own.weights] = size[:, None, None] * spread
    result.weights[:] *= network.own_weights.astype(np.float64) ** 2
    result.mixing[:] *= network.mixing.astype(np.float64) ** 2
    lengths = np.diff(network.offsets)
    result.literals[np.repeat(lengths == 1, lengths)] = np.inf
    return result


def moments(weights: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted means of x over the rows, and weighted sums of squared deviations from them.

    `x` has the shape (n_rules, n, n_rows) and `weights` has the shape (n_rules, n_weights,
    n_rows). Both results have the shape (n_rules, n_weights, n).
    """
    count = weights.sum(axis=2)[:, :, None]
    sums = weights @ x.transpose(0, 2, 1)
    means = sums / np.where(count > 0, count, 1)
    squares = weights @ (x**2).transpose(0, 2, 1)
    return means, np.maximum(squares - sums * means, 0)


def activations_without_each(network: Network, own: Block) -> np.ndarray:
    """Activations of rules without their first literal, without their second, and so on.

    Returns (n_rules, n_literals, n_rows). A rule without its only literal would have no limit,
    so the activation of such a rule is returned unchanged.
    """
    n = own.units.shape[1]
    if n == 1:
        return np.maximum(own.units, 0)
    without = np.empty_like(own.units)
    if not network.deep:
        # Without the smallest literal the second smallest is the minimum; without any other
        # literal the minimum stays what it is.
        place = own.units.argmin(axis=1)[:, None]
        without[:] = own.units.min(axis=1)[:, None]
        others = own.units.copy()
        np.put_along_axis(others, place, np.inf, axis=1)
        np.put_along_axis(without, place, others.min(axis=1)[:, None], axis=1)
        return np.maximum(without, 0)
    mixing, rectified = network.mixing[own.mixing], np.maximum(own.values, 0)
    for j in range(n):
        others = np.arange(n) != j
        lost = mixing[:, others, j, None] * rectified[:, None, j]
        without[:, j] = np.maximum((own.units[:, others] - lost).min(axis=1), 0)
    return without


def drop_idle(
    network: Network,
    X: np.ndarray,
    weights: np.ndarray,
    directions: np.ndarray | None = None,
) -> tuple[Network, np.ndarray]:
    """Drop rules that are redundant or never fire, and literals that never decide.

    The outputs on the rows X (n_rows, n_columns) do not change. Rules that obey the
    `directions` (n_columns,) of columns still do. At least one rule remains. Also returns the
    indices of the remaining rules.
    """
    network = merge_redundant(constants_to_intercept(network), X, weights, directions)
    lengths, literals = np.diff(network.offsets), np.ones(network.n_literals, bool)
    rules, worth_of_rules = np.arange(network.n_rules), np.zeros(network.n_rules)
    while rules.size:
        some = network.take(rules, literals)
        value = worth(some, X, weights)
        worth_of_rules[rules] = value.rules
        # Drop one literal of a rule at a time: if two are alike, one of them must stay.
        cheapest = cheapest_literals(some, value)
        idle = value.literals[cheapest] == 0
        looked_at = np.isin(np.arange(network.n_rules), rules)
        numbers = np.flatnonzero(literals & np.repeat(looked_at, lengths))
        literals[numbers[cheapest[idle]]] = False
        rules = rules[idle]
    kept = np.flatnonzero(worth_of_rules > 0)
    if not kept.size:
        kept = np.array([0])
    return network.take(kept, literals), kept


def constants_to_intercept(network: Network) -> Network:
    """Add the constant outputs of rules without any weight to the intercept.

    These rules then have the value 0. In a network without an intercept, as in the paper, they
    keep their values.
    """
    constant = np.array([not network.rule_weights(i).any() for i in range(network.n_rules)])
    if not network.intercept.any() or not constant.any():
        return network
    any_row = np.zeros((1, int(network.features.max(initial=0)) + 1), np.float32)
    added = activations(network, any_row)[constant].T @ network.values[constant]
    return replace(
        network,
        intercept=network.intercept + added[0],
        values=np.where(constant[:, None], np.float32(0), network.values),
    )


def merge_redundant(
    network: Network, X: np.ndarray, weights: np.ndarray, directions: np.ndarray | None
) -> Network:
    """Merge rules whose activations are multiples of each other on all rows given.

    Such rules are equal, or the same literal decides them everywhere, or they are constant. The
    first rule takes over the values of the others, which then have the value 0. Rules are not
    merged if the merged rule could go against the direction of a column on other rows.
    """
    sizes, pairs = multiples(network, X, weights)
    values = network.values.astype(np.float64)
    for first, rule in pairs.tolist():
        merged = values[first] + values[rule] * sizes[rule] / sizes[first]
        if directions is not None and unproven_columns(network, first, merged, directions).size:
            continue
        values[first], values[rule] = merged, 0
    return replace(network, values=values.astype(np.float32))


def multiples(
    network: Network, X: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Norms (n_rules,) of the weighted activations, and pairs (n, 2) of rules.

    In each pair the activation of the second rule is a multiple of that of the first. Each rule
    is the second one of at most one pair. Pairs ascend by their second rule.
    """
    roots = np.sqrt(weights.astype(np.float64))
    directions, _ = np.linalg.qr(np.random.RandomState(0).randn(len(X), N_PROBES))
    sizes, probes = np.zeros(network.n_rules), np.zeros((network.n_rules, directions.shape[1]))
    for own in blocks(network, X):
        active = own.active * roots
        sizes[own.rules] = np.sqrt((active**2).sum(axis=1))
        probes[own.rules] = active @ directions
    fires = np.flatnonzero(sizes > 0)
    # The projections of two activations lie no farther apart than the activations. If these
    # have length 1 and the cosine 1 - SAME, their distance is sqrt(2 * SAME).
    tree = cKDTree(probes[fires] / sizes[fires, None])
    near = tree.query_pairs(np.sqrt(2 * SAME), output_type="ndarray")
    pairs = np.sort(fires[near], axis=1)
    pairs = pairs[np.lexsort(pairs.T)]
    pairs = pairs[np.unique(pairs[:, 1], return_index=True)[1]]
    cosines = np.zeros(len(pairs))
    size = max(1, CHUNK_CELLS // max(len(X), 1))
    for start in range(0, len(pairs), size):
        part = slice(start, start + size)
        first, second = (activations(network.take(side), X) * roots for side in pairs[part].T)
        cosines[part] = (first * second).sum(axis=1) / sizes[pairs[part]].prod(axis=1)
    return sizes, pairs[cosines >= 1 - SAME]


def activations(network: Network, X: np.ndarray) -> np.ndarray:
    """Activations (n_rules, n_rows) float64 on encoded rows X (n_rows, n_columns)."""
    result = np.empty((network.n_rules, len(X)))
    for own in blocks(network, X):
        result[own.rules] = own.active
    return result


def cheapest_literals(network: Network, value: Worth) -> np.ndarray:
    """The literal of each rule that is worth least, (n_rules,) int64."""
    own = map(network.layout.literals_of, range(network.n_rules))
    return np.array([part.start + value.literals[part].argmin() for part in own])


def prune(
    network: Network, X: np.ndarray, weights: np.ndarray, share: float
) -> tuple[Network, np.ndarray]:
    """Remove about a share of the parameters, those that are worth least.

    The bias of a literal takes over the mean of what its lost weights added. Each rule loses at
    most one literal. Also returns the indices of the remaining rules.
    """
    value = worth(network, X, weights)
    rule_sizes, literal_sizes = part_sizes(network)
    cheapest = cheapest_literals(network, value)
    prices_of_rules = value.rules / rule_sizes
    prices_of_rules[value.rules.argmax()] = np.inf  # one rule must stay
    parts = [  # worth per parameter saved, number of parameters saved
        (prices_of_rules, rule_sizes),
        (value.literals[cheapest] / literal_sizes[cheapest], literal_sizes[cheapest]),
    ]
    for array, prices in ((network.own_weights, value.weights), (network.mixing, value.mixing)):
        parts.append((prices[array != 0], np.ones(np.count_nonzero(array))))
    prices, savings = (np.concatenate(side) for side in zip(*parts, strict=True))
    order = np.argsort(prices, kind="stable")[: np.isfinite(prices).sum()]
    if not order.size:
        return network, np.arange(network.n_rules)
    saved = np.cumsum(savings[order])
    n_parts = 1 + int(np.searchsorted(saved, share * network.n_parameters))
    limit = float(prices[order[min(n_parts, len(order)) - 1]])
    live = np.flatnonzero(prices_of_rules > limit)
    literals = np.ones(network.n_literals, bool)
    literals[cheapest[value.literals[cheapest] / literal_sizes[cheapest] <= limit]] = False
    return without_weights(network, value, limit).take(live, literals), live


def part_sizes(network: Network) -> tuple[np.ndarray, np.ndarray]:
    """How many nonzero parameters are removed with each rule and with each literal."""
    present = (network.own_weights != 0).astype(np.float64)
    literals = 1.0 + np.bincount(network.layout.cells()[0], present, network.n_literals)
    if network.deep:
        for rule in range(network.n_rules):
            # A literal takes its column of the second layer and the row of its unit with it.
            present = network.second_layer(rule) != 0
            own = network.layout.literals_of(rule)
            literals[own] += present.sum(axis=0) + present.sum(axis=1)
    rules = np.add.reduceat(literals, network.offsets[:-1])
    return rules + network.n_outputs, literals


def without_weights(network: Network, value: Worth, limit: float) -> Network:
    """Set weights worth at most `limit` to zero.

    The biases take over the mean of what these weights added on the rows where they decide.
    """
    gone = value.weights <= limit
    literal, _ = network.layout.cells()
    lost = np.bincount(
        literal, network.own_weights * value.weight_means * gone, network.n_literals
    )
    weights = np.where(gone, np.float32(0), network.own_weights)
    biases = (network.biases + lost).astype(np.float32)
    network = replace(network, own_weights=weights, biases=biases)
    if not network.deep:
        return network
    gone = value.mixing <= limit
    lengths = np.diff(network.offsets)
    unit = np.repeat(np.arange(network.n_literals), np.repeat(lengths, lengths))
    lost = np.bincount(unit, network.mixing * value.mixing_means * gone, network.n_literals)
    mixing = np.where(gone, np.float32(0), network.mixing)
    return replace(network, mixing=mixing, shifts=(network.shifts + lost).astype(np.float32))


def free_part(network: Network, rules: Rules) -> np.ndarray:
    """The weights of the rules that are not frozen."""
    free = np.repeat(rules.frozen_parts == FREE, np.diff(network.layout.weight_offsets))
    return network.own_weights[free]


def around_frozen(
    network: Network, rules: Rules, shrink: Callable[[Network], tuple[Network, np.ndarray]]
) -> tuple[Network, np.ndarray]:
    """Shrink the free rules of a network. Frozen rules stay as they are.

    `shrink` takes a network and returns a smaller one with the indices of the remaining rules.
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
