"""Taking parameters out of a network, those first that matter least.

A part of a network is a rule, a literal or a single weight. The worth of a part is how much
the outputs would change without it: the squared change, summed over the rows. Removing a part
saves parameters, and those parts go first that are worth least for each parameter saved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from neuralrules._engine._reference import literals_forward, rules_forward, units_forward
from neuralrules._network._network import Network

# Values of literals that are held in memory at a time.
CHUNK_CELLS = 2**22
# Two rules count as multiples of each other if the cosine between their activations is at
# least 1 minus this. Activations are float32, so an exact 1 cannot be asked for.
SAME = 1e-10


@dataclass(frozen=True)
class Worth:
    """What each part of a network is worth: the squared change of the outputs without it.

    Attributes
    ----------
    rules : (n_rules,) float64
    literals : (n_literals,) float64
        A deep rule loses the unit of the same number together with the literal. The only
        literal of a rule is worth infinity, since a rule must keep one.
    weights : (n_literals, n_features) float64
    mixing : same shape as ``Network.mixing``, float64
        Approximated: the literal that is the smallest on a row is taken to stay the
        smallest, and the bias takes over the mean of what the weight added.
    weight_means : (n_literals, n_features) float64
        Mean of each feature over the rows where the literal decides.
    mixing_means : same shape as ``Network.mixing``, float64
        Mean of each literal over the rows where the unit is the minimum.
    """

    rules: np.ndarray
    literals: np.ndarray
    weights: np.ndarray
    mixing: np.ndarray
    weight_means: np.ndarray
    mixing_means: np.ndarray


class SpreadSums:
    """Weighted sums of 1, x and x^2 over rows, from which mean and spread follow."""

    def __init__(self, *shape: int) -> None:
        self.count, self.sum, self.squares = (
            np.zeros(shape[:-1]),
            np.zeros(shape),
            np.zeros(shape),
        )

    def add(self, weights: np.ndarray, x: np.ndarray) -> None:
        """Take in rows x (n_rows, n) under several weights (n_rows, n_weights)."""
        self.count += weights.sum(axis=0)
        self.sum += weights.T @ x
        self.squares += weights.T @ x**2

    @property
    def mean(self) -> np.ndarray:
        return self.sum / np.where(self.count > 0, self.count, 1)[:, None]

    @property
    def spread(self) -> np.ndarray:
        """Sum of the weighted squares around the mean."""
        return np.maximum(self.squares - self.sum * self.mean, 0)


def worth(network: Network, X: np.ndarray, weights: np.ndarray) -> Worth:
    """Worth of every part on encoded rows X (n_rows, n_columns) with weights (n_rows,)."""
    sizes = (network.values.astype(np.float64) ** 2).sum(axis=1)
    rules, literals = np.zeros(network.n_rules), np.zeros(network.n_literals)
    features = SpreadSums(network.n_literals, network.features.size)
    lengths = np.diff(network.offsets)
    layers = [SpreadSums(n, n) for n in lengths] if network.deep else []
    for x, weight in chunks(network, X, weights):
        values = literals_forward(network.parameters, network.layout, x)
        units = units_forward(network.parameters, network.layout, values)
        slopes = np.zeros_like(values, np.float64)
        for rule in range(network.n_rules):
            own = slice(network.offsets[rule], network.offsets[rule + 1])
            place = units[:, own].argmin(axis=1)
            active = np.maximum(units[:, own].min(axis=1), 0).astype(np.float64)
            rules[rule] += sizes[rule] * (weight @ active**2)
            without = activations_without_each(network, rule, values[:, own], units[:, own])
            literals[own] += sizes[rule] * (weight @ (without - active[:, None]) ** 2)
            limits = np.zeros_like(slopes[:, own])
            limits[np.arange(len(x)), place] = active > 0
            slopes[:, own] = limits
            if network.deep:
                rectified = np.maximum(values[:, own], 0)
                layers[rule].add(limits * weight[:, None], rectified)
                slopes[:, own] = (limits @ network.second_layer(rule)) * (rectified > 0)
        features.add(slopes**2 * weight[:, None], x)
    owner = np.repeat(np.arange(network.n_rules), lengths)
    squares = network.weights.astype(np.float64) ** 2
    spreads = [sizes[rule] * layer.spread.ravel() for rule, layer in enumerate(layers)]
    means = [layer.mean.ravel() for layer in layers]
    return Worth(
        rules=rules,
        literals=np.where(lengths[owner] == 1, np.inf, literals),
        weights=sizes[owner, None] * squares * features.spread,
        mixing=network.mixing.astype(np.float64) ** 2 * np.concatenate([*spreads, []]),
        weight_means=features.mean,
        mixing_means=np.concatenate([*means, []]),
    )


def chunks(
    network: Network, X: np.ndarray, weights: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The network's features and the weights of some rows at a time."""
    size = max(64, CHUNK_CELLS // network.n_literals)
    for start in range(0, len(X), size):
        rows = slice(start, start + size)
        yield X[rows][:, network.features], weights[rows].astype(np.float64)


def activations_without_each(
    network: Network, rule: int, literals: np.ndarray, units: np.ndarray
) -> np.ndarray:
    """What the activation of a rule would be without its first, second, … literal.

    Returns (n_rows, n_literals). Without its only literal a rule would have no limit; its
    activation is then returned as it is.
    """
    n = units.shape[1]
    if n == 1:
        return np.maximum(units, 0)
    if not network.deep:
        # Without the smallest literal the second smallest is the minimum; without any other
        # literal the minimum stays what it is.
        lowest = np.partition(units, 1, axis=1)[:, :2]
        smallest = np.arange(n) == units.argmin(axis=1)[:, None]
        return np.maximum(np.where(smallest, lowest[:, 1:], lowest[:, :1]), 0)
    mixing, rectified = network.second_layer(rule), np.maximum(literals, 0)
    without = np.empty_like(units)
    for j in range(n):
        others = np.arange(n) != j
        rest = units[:, others] - rectified[:, j, None] * mixing[others, j]
        without[:, j] = np.maximum(rest.min(axis=1), 0)
    return without


def drop_idle(
    network: Network, X: np.ndarray, weights: np.ndarray
) -> tuple[Network, np.ndarray]:
    """Drop rules that are redundant or never fire, and literals that never decide.

    The outputs on the rows X (n_rows, n_columns) stay as they are. Also returns the
    indices of the rules that are left, of which there is at least one.
    """
    kept = np.arange(network.n_rules)
    network = merge_redundant(network, X, weights)
    while True:
        value = worth(network, X, weights)
        live = np.flatnonzero(value.rules > 0)
        live = live if live.size else np.array([0])
        # One literal of a rule at a time: of two that are alike one must stay.
        idle = [i for i in cheapest_literals(network, value) if value.literals[i] == 0]
        literals = np.ones(network.n_literals, bool)
        literals[idle] = False
        if len(live) == network.n_rules and not idle:
            return network, kept
        network, kept = network.take(live, literals), kept[live]


def merge_redundant(network: Network, X: np.ndarray, weights: np.ndarray) -> Network:
    """Merge rules whose activations are multiples of each other on all rows given.

    Such rules are equal, or limited by the same literal everywhere, or constant. The first
    of them takes over the values of the others, which are left with the value 0.
    """
    products = np.zeros((network.n_rules, network.n_rules))
    for x, weight in chunks(network, X, weights):
        active = rules_forward(network.parameters, network.layout, x).astype(np.float64)
        products += (active * weight[:, None]).T @ active
    sizes = np.sqrt(np.diag(products))
    # Two activations are multiples of each other where their cosine is 1.
    same = (products >= (1 - SAME) * np.outer(sizes, sizes)) & (sizes > 0)
    values = network.values.astype(np.float64)
    first = np.where(sizes > 0, same.argmax(axis=1), np.arange(network.n_rules))
    for rule in np.flatnonzero(first != np.arange(network.n_rules)):
        values[first[rule]] += values[rule] * sizes[rule] / sizes[first[rule]]
        values[rule] = 0
    return replace(network, values=values.astype(np.float32))


def cheapest_literals(network: Network, value: Worth) -> list[int]:
    """The literal of each rule that is worth least."""
    return [
        int(first + value.literals[first:last].argmin())
        for first, last in zip(network.offsets[:-1], network.offsets[1:], strict=True)
    ]


def prune(
    network: Network, X: np.ndarray, weights: np.ndarray, share: float
) -> tuple[Network, np.ndarray]:
    """Take out about a share of the parameters, those that are worth least.

    Also returns the indices of the rules that are left. The bias of a literal takes over the
    mean of what its lost weights added. Each rule loses at most one literal.
    """
    value = worth(network, X, weights)
    rule_sizes, literal_sizes = part_sizes(network)
    cheapest = np.array(cheapest_literals(network, value))
    prices_of_rules = value.rules / rule_sizes
    prices_of_rules[value.rules.argmax()] = np.inf  # one must stay
    parts = [  # worth for each parameter saved, what it saves
        (prices_of_rules, rule_sizes),
        (value.literals[cheapest] / literal_sizes[cheapest], literal_sizes[cheapest]),
        *single_weights(network.weights, value.weights),
        *single_weights(network.mixing, value.mixing),
    ]
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
    """Parameters other than zero that go with each rule and with each literal."""
    literals = 1.0 + np.count_nonzero(network.weights, axis=1)
    if network.deep:
        for rule in range(network.n_rules):
            own = slice(network.offsets[rule], network.offsets[rule + 1])
            layer = network.second_layer(rule)
            # With a literal go its column of the second layer and the row of its unit.
            row, column = (np.count_nonzero(layer, axis=axis) for axis in (0, 1))
            literals[own] += row + column
    rules = np.add.reduceat(literals, network.offsets[:-1])
    return rules + network.n_outputs, literals


def single_weights(array: np.ndarray, value: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    present = value[array != 0]
    return [(present, np.ones(present.size))]


def without_weights(network: Network, value: Worth, limit: float) -> Network:
    """Set weights worth at most `limit` to zero.

    The biases take over the mean of what the weights did on the rows where they decide.
    """
    gone = value.weights <= limit
    lost = (network.weights * value.weight_means * gone).sum(axis=1)
    network = replace(
        network.with_weights(np.where(gone, np.float32(0), network.weights)),
        biases=(network.biases + lost).astype(np.float32),
    )
    if not network.deep:
        return network
    gone = value.mixing <= limit
    lengths = np.diff(network.offsets)
    unit = np.repeat(np.arange(network.n_literals), np.repeat(lengths, lengths))
    lost = np.bincount(unit, network.mixing * value.mixing_means * gone, network.n_literals)
    return replace(
        network,
        mixing=np.where(gone, np.float32(0), network.mixing),
        shifts=(network.shifts + lost).astype(np.float32),
    )
