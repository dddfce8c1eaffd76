"""The values over which one column is moved, in the user's units and as rules see them.

For numbers and dates these are values seen in the rows, equal steps over their range, and
values at which the effect of the column bends. For categories these are all categories that the
model knows. A missing cell is one more value, and so is a category unknown to the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neuralrules._data._columns import Category, Date, EncodedColumn, Indicator, Rare
from neuralrules._data._dates import date_text
from neuralrules._data._encoder import Encoder
from neuralrules._data._numbers import LARGEST
from neuralrules._network._network import Network
from neuralrules._reading._along import bends, rules_that_use
from neuralrules._reading._numbers import number as number_text

OTHER = "another value"  # a category unknown to the model, or a rare one
MISSING = "missing"
DIGITS = 4  # significant digits of numbers


@dataclass(frozen=True, eq=False)
class Levels:
    """Values of one column, and where the rows of a table lie among them.

    Attributes
    ----------
    source : int
        Column of the user's table.
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

    source: int
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

    Parameters
    ----------
    encoder : Encoder
    network : Network
    X : checked table
    source : int
    n_values : int
        The approximate number of values of a column of numbers or dates.
    bent : bool
        Whether to add the values at which the rules that use only this column bend.
    """
    features = np.flatnonzero([column.source == source for column in encoder.columns])
    own = [encoder.columns[feature] for feature in features]
    if isinstance(own[0], Indicator):
        return category_levels(encoder, features, X, source)
    cells = encoder.numbers(X, source)
    numbers = seen_numbers(cells, own[0], n_values)
    if bent and len(numbers) > 1:
        numbers = np.union1d(numbers, bends_of(network, own, features, numbers))
    holes = np.isnan(cells)
    if holes.any() or len(own) > 1:
        numbers = np.append(numbers, np.nan)
    last = int(np.count_nonzero(~np.isnan(numbers))) - 1
    below = np.searchsorted(numbers[: last + 1], cells, side="right") - 1
    below = np.where(holes, len(numbers) - 1, np.clip(below, 0, last))
    above = np.where(holes, below, np.minimum(below + 1, last))
    gap = numbers[above] - numbers[below]
    beyond = np.where(gap > 0, (cells - numbers[below]) / np.where(gap > 0, gap, 1), 0.0)
    return Levels(
        source=source,
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
    keys = [column.category for column in own if isinstance(column, Category)]
    order = sorted(range(len(keys)), key=lambda place: keys[place] is None)  # missing last
    keys = [keys[place] for place in order]
    table = encoder.spellings(source)
    places = {spelling: keys.index(key) for spelling, key in table.items()}
    cells = [places.get(cell, len(keys)) for cell in encoder.categories(X, source)]
    raw, names = np.eye(len(own))[order], keys
    if isinstance(own[-1], Rare) or len(keys) in cells:
        # All rare categories share one indicator. If there is none, all indicators are 0.
        rare = np.zeros((1, len(own)))
        rare[0, -1] = isinstance(own[-1], Rare)
        at = len(keys) - (None in keys)
        raw, names = np.insert(raw, at, rare, axis=0), [*names[:at], OTHER, *names[at:]]
        cells = [at if c == len(keys) else c + (c >= at) for c in cells]
    return Levels(
        source=source,
        kind="category",
        numbers=np.arange(float(len(names))),
        names=names,
        features=features,
        encoded=encoded_values(own, raw),
        below=np.array(cells, np.int64),
        beyond=np.zeros(len(cells)),
        cells=np.array(cells, np.float64),
    )
