"""One column is moved over its values, and all others stay as they are.

The values of numbers and dates are values seen in the rows, equal steps over their range, and
values at which the effect of the column bends. The values of categories are all categories that
the model knows. A missing cell is one more value, and so is a category unknown to the model.

A literal is a sum. The part of the sum that comes from the other columns is computed once for
each row. The part that comes from the moving columns is computed once for each value.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from neuralrules._data._columns import Category, Date, EncodedColumn, Indicator, Rare
from neuralrules._data._dates import date_text
from neuralrules._data._encoder import Encoder
from neuralrules._data._numbers import LARGEST
from neuralrules._network._network import Network
from neuralrules._reading._notation import number as number_text

OTHER = "another value"  # a category unknown to the model, or a rare one
MISSING = "missing"
DIGITS = 4  # significant digits of numbers
CELLS = 2**22  # literals in memory at a time, over rows and values
NEAR = 1e-4  # share of the way between the values: a bend is tested this far to both sides
STRAIGHT = 1e-9  # smaller second differences, relative to the activation, are rounding


@dataclass(frozen=True, eq=False)
class Levels:
    """Values of one column, and where the rows of a table lie among them.

    Attributes
    ----------
    kind : {"number", "date", "category"}
    numbers : (n_values,) float64
        Ascending numbers, days since 1970-01-01 for dates, or 0, 1, … for categories. A missing
        number is NaN and comes last.
    names : list of (str or None), or None
        The names of the categories, with None for a missing cell; None for numbers and dates.
    features : (n_features,) int
        The encoded columns that come from this column.
    encoded : (n_values, n_features) float64
    below : (n_rows,) int64
        The place of each row's value, or of the largest value below it.
    beyond : (n_rows,) float64
        How far each row lies beyond the value at its place in `below`, as a share of the way to
        the next value.
    cells : (n_rows,) float64
        The numbers of the rows, or the places of their categories.
    """

    kind: str
    numbers: np.ndarray
    names: list[str | None] | None
    features: np.ndarray
    encoded: np.ndarray
    below: np.ndarray
    beyond: np.ndarray
    cells: np.ndarray

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def values(self) -> np.ndarray:
        """The values in the user's units: float64, datetime64[s], or texts.

        A missing cell is NaN, NaT or None.
        """
        if self.names is not None:
            return np.array(self.names, object)
        if self.kind == "number":
            return self.numbers
        seconds = np.round(self.numbers * 86_400)
        known = np.isfinite(seconds)
        dates = np.full(len(seconds), "NaT", "datetime64[s]")
        dates[known] = seconds[known].astype(np.int64).astype("datetime64[s]")
        return dates

    def text(self, place: int) -> str:
        """The value at a place for people to read."""
        number = float(self.numbers[place])
        if self.names is not None:
            name = self.names[place]
            return MISSING if name is None else name
        if np.isnan(number):
            return MISSING
        return date_text(number) if self.kind == "date" else number_text(number, DIGITS)

    def shares(self, weights: np.ndarray) -> np.ndarray:
        """Shares of the rows that lie at each value, (n_values,) float64.

        A row between two values counts for both, and more for the nearer value. A function that
        is a straight line between values then has the same mean over the rows as over the
        values, weighted by these shares.
        """
        n = len(self)
        upper = np.minimum(self.below + 1, n - 1)
        counts = np.bincount(self.below, weights * (1 - self.beyond), n)
        counts += np.bincount(upper, weights * self.beyond, n)
        return counts / weights.sum()


def levels(
    encoder: Encoder, network: Network, X: Any, source: int, n_values: int, *, bent: bool
) -> Levels:
    """The values over which a column of a checked table is moved.

    `n_values` is the approximate number of values of a column of numbers or dates. If `bent`,
    the values at which the rules that use only this column bend are added.
    """
    features = np.flatnonzero([column.source == source for column in encoder.columns])
    own = encoder.columns_of(source)
    if isinstance(own[0], Indicator):
        return category_levels(encoder, features, X, source)
    cells = encoder.numbers(X, source)
    numbers = seen_numbers(cells, own[0], n_values)
    if bent and len(numbers) > 1:
        numbers = np.union1d(numbers, bends_of(network, own, features, numbers))
    holes = np.isnan(cells)
    last = len(numbers) - 1
    if holes.any() or len(own) > 1:
        numbers = np.append(numbers, np.nan)
    below = np.searchsorted(numbers[: last + 1], cells, side="right") - 1
    below = np.where(holes, len(numbers) - 1, np.clip(below, 0, last))
    above = np.where(holes, below, np.minimum(below + 1, last))
    gap = numbers[above] - numbers[below]
    beyond = np.where(gap > 0, (cells - numbers[below]) / np.where(gap > 0, gap, 1), 0.0)
    return Levels(
        kind="date" if isinstance(own[0], Date) else "number",
        numbers=numbers,
        names=None,
        features=features,
        encoded=encoded_values(own, raw_numbers(own, numbers)),
        below=below,
        beyond=beyond,
        cells=cells,
    )


def seen_numbers(cells: np.ndarray, column: EncodedColumn, n_values: int) -> np.ndarray:
    """The numbers over which a column is moved.

    These are all numbers that occur or, if there are more than `n_values`, some quantiles of
    the distinct numbers, equal steps, and the knots of a scaled column. Quantiles are dense
    where numbers are dense, and equal steps leave no gaps elsewhere. If the table has no number
    in the column, the column stays at its training mean.
    """
    seen = np.unique(cells[~np.isnan(cells)])
    if not seen.size:
        return np.array([column.mean])
    if len(seen) <= n_values:
        return seen
    half = n_values // 2 + 1
    places = np.linspace(0, len(seen) - 1, half).astype(int)
    steps = np.linspace(seen[0], seen[-1], n_values - half + 2)
    numbers = np.union1d(seen[places], steps)
    if column.knots is not None:
        knots = np.array(column.knots.x)
        numbers = np.union1d(numbers, knots[(knots > seen[0]) & (knots < seen[-1])])
    return numbers


def bends_of(
    network: Network, own: list[EncodedColumn], features: np.ndarray, numbers: np.ndarray
) -> np.ndarray:
    """The numbers at which the rules that use only this column bend."""
    start, end = encoded_values(own, raw_numbers(own, numbers[[0, -1]]))
    rules, alone = rules_that_use(network, features)
    found = [
        start[0] + share * (end[0] - start[0])
        for rule in rules[alone].tolist()
        for share in bends(network, rule, features, start, end)
    ]
    originals = np.array([own[0].original(z) for z in found])
    return originals[(originals > numbers[0]) & (originals < numbers[-1])]


def raw_numbers(own: list[EncodedColumn], numbers: np.ndarray) -> np.ndarray:
    """Numbers and, if `own` has an indicator, whether they are missing: (n_values, 1 or 2)."""
    raw = [numbers, np.isnan(numbers).astype(np.float64)]
    return np.stack(raw[: len(own)], axis=1)


def encoded_values(own: list[EncodedColumn], raw: np.ndarray) -> np.ndarray:
    """Raw columns (n_values, n_features) as the encoder gives them to a network, float64."""
    scaled = np.stack([one.encoded(raw[:, i]) for i, one in enumerate(own)], axis=1)
    clipped = np.clip(np.nan_to_num(scaled), -LARGEST, LARGEST)
    return clipped.astype(np.float32).astype(np.float64)


def category_levels(encoder: Encoder, features: np.ndarray, X: Any, source: int) -> Levels:
    """All categories that the model knows, and one value for rare or unknown ones if needed."""
    own = encoder.columns_of(source)
    names = [column.category for column in own if isinstance(column, Category)]
    codes = {name: code for code, name in enumerate(names)}
    places = {spelling: codes[name] for spelling, name in encoder.spellings(source).items()}
    cells = np.array([places.get(cell, -1) for cell in encoder.categories(X, source)], np.int64)
    raw = np.eye(len(own))[: len(names)]
    if isinstance(own[-1], Rare) or (cells < 0).any():
        # All rare categories share one indicator. If there is none, all indicators are 0.
        rare = np.zeros(len(own))
        rare[-1] = isinstance(own[-1], Rare)
        at = len(names) - (None in names)  # before missing cells, which come last
        raw = np.insert(raw, at, rare, axis=0)
        names.insert(at, OTHER)
        cells = np.where(cells < 0, at, cells + (cells >= at))
    return Levels(
        kind="category",
        numbers=np.arange(float(len(names))),
        names=names,
        features=features,
        encoded=encoded_values(own, raw),
        below=cells,
        beyond=np.zeros(len(cells)),
        cells=cells.astype(np.float64),
    )


def rules_that_use(network: Network, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rules, ascending, that have a weight on any of the encoded columns `features`.

    The second array says which of these rules have weights on no other encoded columns.
    """
    used = np.logical_or.reduceat(network.weights != 0, network.offsets[:-1], axis=0)
    asked = np.isin(network.features, features)
    rules = np.flatnonzero(used[:, asked].any(axis=1))
    return rules, np.logical_not(used[rules][:, ~asked].any(axis=1))


def activations_along(
    network: Network, rule: int, encoded: np.ndarray, features: np.ndarray, moved: np.ndarray
) -> np.ndarray:
    """Activations of a rule on each row, with some columns set to each of several values.

    The columns `features` (n_features,), places among the encoded ones in ascending order, are
    set to the encoded values `moved` (n_values, n_features) float64. The result is
    (n_rows, n_values) float64.
    """
    columns, own = network.rule_columns(rule), network.layout.literals_of(rule)
    weights = network.rule_weights(rule).astype(np.float64)
    moves = np.isin(columns, features)
    stays = encoded[:, columns[~moves]].astype(np.float64) @ weights[:, ~moves].T
    stays += network.biases[own].astype(np.float64)
    shifts = moved[:, np.searchsorted(features, columns[moves])] @ weights[:, moves].T
    active = np.zeros((len(stays), len(shifts)))
    if network.deep:
        mixing = network.second_layer(rule).astype(np.float64)
        constants = network.shifts[own].astype(np.float64)
        size = max(1, CELLS // shifts.size)
        for start in range(0, len(stays), size):
            literals = np.maximum(stays[start : start + size, None] + shifts, 0)
            units = literals @ mixing.T + constants
            active[start : start + size] = np.maximum(units.min(axis=2), 0)
        return active
    # If a literal that does not move is off, the rule is off for every value. Most rows of most
    # rules are such rows, so the moving literals are computed only for the other rows.
    moving = np.any(weights[:, moves] != 0, axis=1)
    ceiling = stays[:, ~moving].min(axis=1, initial=np.inf)
    on = np.flatnonzero(ceiling > 0)
    smallest = np.repeat(ceiling[on, None], len(shifts), axis=1)
    for literal in np.flatnonzero(moving):
        np.minimum(smallest, stays[on, literal, None] + shifts[:, literal], out=smallest)
    active[on] = np.maximum(smallest, 0)
    return active


def bends(
    network: Network, rule: int, features: np.ndarray, start: np.ndarray, end: np.ndarray
) -> np.ndarray:
    """The bends of a rule's activation on the straight way from one value to another.

    The places of the bends are shares of the way between 0 and 1, (n,) float64, ascending.
    `start` and `end` are encoded values of the columns `features`, (n_features,) float64. The
    rule must use no other columns.

    Between the zeros of its literals, each unit of the rule is a straight line. The minimum of
    the units can bend at a point where two lines cross. The ReLU bends at a point where the
    minimum crosses zero. The units of a shallow rule are its literals, which are straight lines
    all the way.
    """
    columns, literals = network.rule_columns(rule), network.layout.literals_of(rule)
    own = np.isin(columns, features)
    weights = network.rule_weights(rule)[:, own].astype(np.float64)
    place = np.searchsorted(features, columns[own])
    slopes = weights @ (end - start)[place]
    constants = network.biases[literals].astype(float) + weights @ start[place]
    nothing = np.zeros((1, int(network.columns.max()) + 1), np.float32)

    def activation(shares: np.ndarray) -> np.ndarray:
        moved = start + shares[:, None] * (end - start)
        return activations_along(network, rule, nothing, features, moved)[0]

    if network.deep:
        ends = np.unique(np.clip([0.0, *zeros_of(slopes, constants), 1.0], 0, 1))
        mixing = network.second_layer(rule).astype(np.float64)
        shifts = network.shifts[literals].astype(np.float64)
        found = list(ends)
        for low, high in pairwise(ends):
            through = mixing * (slopes * ((low + high) / 2) + constants > 0)
            found += crossings(through @ slopes, through @ constants + shifts)
    else:
        found = crossings(slopes, constants)
    shares = np.unique([share for share in found if 0 < share < 1])
    if not shares.size:
        return shares
    middle = activation(shares)
    bend = activation(shares - NEAR) - 2 * middle + activation(shares + NEAR)
    size = np.abs(slopes).max() * NEAR + np.abs(middle)
    return shares[np.abs(bend) > STRAIGHT * size]


def zeros_of(slopes: np.ndarray, constants: np.ndarray) -> list[float]:
    """The shares of the way at which straight lines are zero."""
    slanted = slopes != 0
    return (-constants[slanted] / slopes[slanted]).tolist()


def crossings(slopes: np.ndarray, constants: np.ndarray) -> list[float]:
    """The shares of the way at which straight lines cross zero or one another."""
    pairs = np.array(list(combinations(range(len(slopes)), 2)), int).reshape(-1, 2)
    between = slopes[pairs] @ [1, -1], constants[pairs] @ [1, -1]
    return zeros_of(slopes, constants) + zeros_of(*between)
