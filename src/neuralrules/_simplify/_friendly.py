"""Numbers that a person would choose, if they cost next to no accuracy.

Every threshold goes to the roundest number nearby, and factors and values to few digits. How
near and how few is tried from the coarsest choice on: first for all rules together, then for
each rule by itself, until the loss on the rows given is within the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from neuralrules._data._columns import Date, EncodedColumn, Number
from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._lineage import ROUNDED, counted
from neuralrules._network._network import Network
from neuralrules._reading._text import check_counts
from neuralrules._simplify._path import check_tolerance
from neuralrules._simplify._round_numbers import Seen, roundest, roundest_day, seen_numbers
from neuralrules._simplify._rounding import (
    Rounding,
    keeping_frozen,
    once_rounded,
    rounded_network,
    shown_precision,
)
from neuralrules._training._training import mean_loss_on


class Grain(NamedTuple):
    """How coarse numbers may be.

    Attributes
    ----------
    reach : float
        How far a threshold may move, in standard deviations of its column.
    digits : int
        Digits of factors and values.
    alike : bool
        See `Thresholds`.
    """

    reach: float
    digits: int
    alike: bool = False


# The coarsest first; the last hardly changes anything.
GRAINS = (
    Grain(0.3, 1, alike=True),
    Grain(0.2, 1, alike=True),
    Grain(0.1, 1, alike=True),
    Grain(0.1, 2, alike=True),
    Grain(0.1, 2),
    Grain(0.05, 2),
    Grain(0.02, 2),
    Grain(0.01, 3),
    Grain(0.003, 3),
    Grain(0.001, 4),
    Grain(0.0, 6),
)


@dataclass(frozen=True)
class Thresholds:
    """Moves thresholds to the roundest number within reach.

    Attributes
    ----------
    seen : dict from EncodedColumn to Seen
    reach : float
        How far a threshold may move, in standard deviations of its column.
    alike : bool
        Whether a threshold may also move to any number that separates the same rows. How
        strongly a rule fires may still change a lot.
    """

    seen: dict[EncodedColumn, Seen]
    reach: float
    alike: bool

    def of_column(self, column: EncodedColumn, threshold: float, *, rises: bool) -> float:
        """The threshold of a literal over one column alone, in the column's own units."""
        low, high = self._near(threshold, column.unit_at(threshold))
        seen = self.seen.get(column)
        inside = column.lowest <= threshold <= column.highest
        if self.alike and seen is not None and inside:
            alike = seen.around(threshold, rises=rises)
            low, high = min(low, alike[0]), max(high, alike[1])
        if isinstance(column, Date):
            return roundest_day(threshold, low, high)
        whole = seen is not None and seen.whole
        return roundest(threshold, low, high, whole=whole)

    def of_sum(self, threshold: float, unit: float) -> float:
        """What a sum over several columns is compared with."""
        return roundest(threshold, *self._near(threshold, unit))

    def _near(self, threshold: float, unit: float) -> tuple[float, float]:
        return threshold - self.reach * unit, threshold + self.reach * unit


def rounding(
    fitted: Fitted, rows: Rows, engine: Engine, precision: Any, tolerance: Any
) -> Rounding:
    """See `Changes.round_numbers`, which makes an estimator of the `model`, a `Fitted`."""
    check_tolerance(tolerance)
    if precision == "friendly":
        network = friendly_network(fitted, rows, engine, float(tolerance))
    elif isinstance(precision, str):
        raise ValueError(f"precision={precision!r} must be a number of digits, or 'friendly'.")
    else:
        check_counts(precision=precision)
        network = rounded_network(fitted, precision)
    mean_loss = mean_loss_on(rows, engine)
    loss, loss_before = mean_loss(network), mean_loss(fitted.state.network)
    rounded = fitted.with_network(network, fitted.rules, rows, engine)
    if precision == "friendly":
        shown, how = shown_precision(rounded), "to friendly numbers"
    else:
        shown, how = precision, f"to {counted(int(precision), 'significant digit')}"
    return Rounding(rounded.after(ROUNDED, how), loss, loss_before, shown)


def friendly_network(fitted: Fitted, rows: Rows, engine: Engine, tolerance: float) -> Network:
    """The network, for standardised targets, with the roundest numbers that cost little.

    Parameters
    ----------
    fitted : Fitted
    rows : Rows
        The rows to measure the loss on.
    engine : Engine
    tolerance : float
        Share of the gain over a constant that may be lost on them.
    """
    network, encoder = fitted.state.network, fitted.encoder
    columns = {feature: encoder.columns[feature] for feature in network.features.tolist()}
    seen: dict[EncodedColumn, Seen] = {
        column: seen_numbers(rows, feature, column)
        for feature, column in columns.items()
        if isinstance(column, Number)
    }
    before = rows.mean_loss(engine.decide(network, rows.X) + network.intercept)
    gain = rows.mean_loss(rows.best_constant()) - before
    highest = before + tolerance * max(gain, 0.0)
    tried: list[Network] = []
    for reach, digits, alike in GRAINS:
        thresholds = Thresholds(seen, reach, alike)
        rounded = once_rounded(network, encoder, fitted.task, digits, thresholds)
        tried.append(keeping_frozen(network, rounded, fitted.rules))
        if rows.mean_loss(engine.decide(tried[-1], rows.X) + network.intercept) <= highest:
            break
    return coarsest_rules(tried, rows, engine, highest)


def coarsest_rules(tried: list[Network], rows: Rows, engine: Engine, highest: float) -> Network:
    """The last of some networks, each rule from the first one that the loss allows.

    Rules are tried in their order; what one of them costs is lost for the others.
    """
    last = tried[-1]
    chosen = np.full(last.n_rules, len(tried) - 1)
    outputs = engine.decide(last, rows.X) + last.intercept
    for rule in range(last.n_rules):
        own = np.array([rule])
        without = outputs - engine.decide(last.take(own), rows.X)
        for place, network in enumerate(tried[:-1]):
            changed = without + engine.decide(network.take(own), rows.X)
            if rows.mean_loss(changed) <= highest:
                chosen[rule], outputs = place, changed
                break
    joined = Network.join(tried).take(chosen * last.n_rules + np.arange(last.n_rules))
    return replace(joined, intercept=last.intercept)  # joined networks add up theirs
