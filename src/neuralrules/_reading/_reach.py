"""The range of a literal, or of a deep rule's unit, within the ranges of the training table.

A literal that is positive on every row within the ranges of the training table says nothing
about a row, so texts leave it out. Thresholds far outside of the table are left out this way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuralrules._data._columns import EncodedColumn, Indicator, Number
from neuralrules._data._encoder import Encoder
from neuralrules._fitted._fitted import Fitted

FLAT = 1e-3  # share of its highest value: a literal that varies by less counts as constant


class Reach(NamedTuple):
    """The lowest and the highest value of a sum."""

    low: float
    high: float

    @property
    def always(self) -> bool:
        """Whether the sum is positive on all rows."""
        return self.low > 0

    @property
    def never(self) -> bool:
        """Whether the sum is positive on no row."""
        return self.high <= 0

    @property
    def flat(self) -> bool:
        """Whether the sum is positive and hardly varies: it then caps a rule's activation."""
        return self.always and self.high - self.low <= FLAT * self.high


def reach(encoder: Encoder, features: np.ndarray, weights: np.ndarray, bias: float) -> Reach:
    """The reach of w . x + a over the encoded columns `features`.

    The columns of the table vary independently. The encoded columns of one table column vary
    together: a cell holds at most one category, and a missing number is encoded as 0.
    """
    used = np.flatnonzero(weights)
    by_source: dict[int, list[tuple[EncodedColumn, float]]] = {}
    for feature, weight in zip(features[used].tolist(), weights[used].tolist(), strict=True):
        column = encoder.columns[feature]
        by_source.setdefault(column.source, []).append((column, weight))
    low = high = float(bias)
    for own in by_source.values():
        # Rows are encoded in float32, and so are the ends of the range here. Otherwise
        # "late > 0" could seem to hold at late = 0 by the last bit.
        ends = [(w, np.float32(end)) for c, w in own if isinstance(c, Number) for end in c.span]
        numbers = [weight * float(end) for weight, end in ends]
        indicators = [(c.span, weight) for c, weight in own if isinstance(c, Indicator)]
        absent = sum(weight * span[0] for span, weight in indicators)
        states = [absent + number for number in numbers or [0.0]]
        states += [absent + weight * (span[1] - span[0]) for span, weight in indicators]
        low, high = low + min(states), high + max(states)
    return Reach(low, high)


def literal_reach(fitted: Fitted, literal: int) -> Reach:
    """The reach of a literal of a fitted model."""
    network = fitted.network
    weights, bias = network.weights[literal], float(network.biases[literal])
    return reach(fitted.encoder, network.features, weights, bias)


def rule_reaches(fitted: Fitted, rule: int) -> list[Reach]:
    """The reaches of a rule's literals; for a deep rule, of the units above the literals."""
    network = fitted.network
    own = range(network.offsets[rule], network.offsets[rule + 1])
    literals = [literal_reach(fitted, literal) for literal in own]
    if not network.deep:
        return literals
    ends = np.maximum(np.array(literals), 0)
    mixing = network.second_layer(rule).astype(np.float64)
    shifts = network.shifts[own.start : own.stop].astype(np.float64)
    extremes = mixing[:, :, None] * ends  # (n_units, n_literals, 2)
    low, high = extremes.min(axis=2).sum(axis=1), extremes.max(axis=2).sum(axis=1)
    return [Reach(*pair) for pair in zip(shifts + low, shifts + high, strict=True)]


def cap(fitted: Fitted, rule: int) -> float:
    """The highest activation that a rule's constant literals (or units) allow.

    Infinite if no literal is constant.
    """
    constant = [own.high for own in rule_reaches(fitted, rule) if own.flat]
    return min(constant, default=np.inf)
