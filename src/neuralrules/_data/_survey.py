"""Learn an encoder from a table that is read once, piece by piece.

`Encoder.fit` has the whole table in memory, and computes the moments of all encoded columns in
one matrix. A survey sees each piece of the table only once, before it knows which indicators
there will be. So it joins the moments of numbers, and counts categories and missing cells. The
mean and the deviation of each indicator follow from the counts. The resulting encoder is the
same, except for rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralrules._data._categories import as_categories, frequent_categories
from neuralrules._data._columns import (
    NUMBER_TYPES,
    Category,
    EncodedColumn,
    Missing,
    Number,
    Rare,
    type_of_numbers,
)
from neuralrules._data._encoder import Encoder, check_deviations
from neuralrules._data._markers import Markers
from neuralrules._data._moments import ColumnMoments
from neuralrules._data._numbers import as_numbers, check_finite
from neuralrules._data._table import column_of

# How many different texts of a column are counted. If there are more, the rarest are dropped.
# This only matters if a dropped text is among the most frequent texts of the whole table.
MOST_NAMES = 100_000


class ColumnSurvey:
    """The counts and moments of one column, from the pieces of the table read so far."""

    def __init__(self, name: str, markers: Markers) -> None:
        self._name = name
        self._markers = markers
        self._moments = ColumnMoments(1)
        self._numbers: list[np.ndarray] = []  # for the rows of the sample for quantiles
        self._found: set[type[Number]] = set()  # the kinds of columns that the pieces hold
        self._counts: dict[str | None, Any] = {}  # rows, and their weight in training
        self._missing = np.zeros(2)  # rows and weight of missing cells in pieces without text
        self._has_names = False

    def add(self, column: Any, weights: np.ndarray, kept: np.ndarray) -> None:
        """Read some rows.

        `weights` (n_rows,) are their weights in training. `kept` (n_rows,) bool marks the rows
        of the sample for quantiles.
        """
        column = self._markers.without_texts(column)
        numbers = as_numbers(column, self._name)
        if numbers is None:
            self._has_names = True
            self._count(as_categories(column, self._markers.texts)[:, 0], weights)
            return
        found = type_of_numbers(column, self._markers)
        numbers = found(0).without_markers(numbers, self._markers)
        check_finite(numbers[:, None], [self._name])
        # Rows without weight are few, and only count for the range.
        for own in (weights > 0, weights == 0):
            self._moments.add(numbers[own, None], weights[own])
        self._found.add(found)
        self._numbers.append(numbers[kept])
        holes = np.isnan(numbers)
        self._missing += holes.sum(), weights[holes].sum()

    def _count(self, names: np.ndarray, weights: np.ndarray) -> None:
        places: dict[str | None, int] = {}
        codes = np.array([places.setdefault(name, len(places)) for name in names], int)
        found = np.stack([np.bincount(codes), np.bincount(codes, weights)], axis=1)
        self._add_counts({name: found[place] for name, place in places.items()})

    def join(self, other: ColumnSurvey) -> None:
        """Add what another survey has read of the column."""
        self._moments.join(other._moments)
        self._numbers += other._numbers
        self._found |= other._found
        self._missing += other._missing
        self._has_names |= other._has_names
        self._add_counts(other._counts)

    def _add_counts(self, counts: dict[str | None, Any]) -> None:
        for name, found in counts.items():
            self._counts[name] = self._counts.get(name, 0) + found
        if len(self._counts) > MOST_NAMES:
            by_rows = sorted(self._counts.items(), key=lambda item: -item[1][0])
            self._counts = dict(by_rows[: MOST_NAMES // 2])

    def encoded(
        self, source: int, n_rows: int, weight: float, kept_weights: np.ndarray | None
    ) -> list[EncodedColumn]:
        """The encoded columns of this column.

        The column has the place `source` in a table of `n_rows` rows, whose total weight in
        training is `weight`. If `kept_weights` is given, numbers are scaled by their quantiles;
        `kept_weights` holds the weights of the rows in the sample for quantiles.
        """
        if self._has_names:
            return self._categories(source, n_rows, weight)
        kind = max(self._found, key=NUMBER_TYPES.index)
        (mean,), (scale,) = self._moments.mean.tolist(), self._moments.scale.tolist()
        lowest, highest = (float(end[0]) for end in self._moments.ranges)
        number = kind(source, mean, scale, lowest, highest)
        if kept_weights is not None:
            number = number.with_knots(np.concatenate(self._numbers), kept_weights)
        if not self._missing[0]:
            return [number]
        return [number, Missing(source).with_share(self._missing, n_rows, weight)]

    def _categories(self, source: int, n_rows: int, weight: float) -> list[EncodedColumn]:
        """The indicators of a column of categories."""
        counts = dict(self._counts)
        if self._missing[0]:  # in pieces without any text
            counts[None] = counts.get(None, 0) + self._missing
        known, rare = frequent_categories({name: int(n) for name, (n, _) in counts.items()})
        columns: list[EncodedColumn] = [
            Category(source, category=name).with_share(counts[name], n_rows, weight)
            for name in known
        ]
        if rare:
            others = np.array([n_rows, weight]) - sum(counts[name] for name in known)
            columns.append(Rare(source).with_share(others, n_rows, weight))
        return columns


class Survey:
    """The counts and moments of all columns, from the pieces of the table read so far.

    Parameters
    ----------
    names : list of str
    missing : tuple of str
        Texts and numbers that mean missing, besides empty cells: see `Markers`.
    """

    def __init__(self, names: list[str], missing: tuple[str, ...] = ()) -> None:
        self._names, self._missing = names, missing
        self._columns = [ColumnSurvey(name, Markers.of(missing)) for name in names]
        self._kept_weights: list[np.ndarray] = []
        self.n_rows = 0
        self.weight = 0.0

    def add(self, X: Any, weights: np.ndarray, kept: np.ndarray) -> None:
        """Read some rows of a frame.

        Parameters
        ----------
        X : frame of shape (n_rows, n_columns)
        weights : (n_rows,) float64
            The weights of the rows in training; 0 for rows that are held out.
        kept : (n_rows,) bool
            Whether each row is in the sample for quantiles.
        """
        for source, column in enumerate(self._columns):
            column.add(column_of(X, source), weights, kept)
        self._kept_weights.append(weights[kept])
        self.n_rows += len(weights)
        self.weight += float(weights.sum())

    def join(self, other: Survey) -> None:
        """Add what another survey has read of the same table.

        Its rows must follow the rows of this survey.
        """
        for column, own in zip(self._columns, other._columns, strict=True):
            column.join(own)
        self._kept_weights += other._kept_weights
        self.n_rows += other.n_rows
        self.weight += other.weight

    def encoder(self, *, scaling: str) -> Encoder:
        """The encoder that `Encoder.fit` learns from the whole table, except for rounding."""
        n_rows, weight = self.n_rows, self.weight
        kept = np.concatenate(self._kept_weights) if scaling == "quantile" else None
        columns = [
            encoded
            for source, column in enumerate(self._columns)
            for encoded in column.encoded(source, n_rows, weight, kept)
        ]
        columns.sort(key=lambda column: column.rank)
        check_deviations(self._names, columns)
        return Encoder(self._names, columns, named=True, missing=self._missing)
