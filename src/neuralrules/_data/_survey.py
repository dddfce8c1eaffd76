"""Learn an encoder from a table that is read once, piece by piece.

`Encoder.fit` has the whole table in memory, and computes the moments of all encoded columns in
one matrix. A survey sees each piece of the table only once, before it knows which indicators
there will be. So it joins the moments of numbers, and counts categories and missing cells. The
mean and the deviation of each indicator follow from the counts. The resulting encoder is the
same, except for rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    Usual,
    Values,
    type_of_numbers,
)
from neuralrules._data._encoder import Encoder, all_values, check_deviations
from neuralrules._data._markers import Markers
from neuralrules._data._moments import ColumnMoments
from neuralrules._data._numbers import as_numbers, check_finite
from neuralrules._data._table import column_of
from neuralrules._data._usual import (
    NameSums,
    OutcomeSums,
    PieceOfOutcomes,
    has_usual,
    sums_of,
)

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
        self._sums = NameSums()

    def add(
        self, column: Any, weights: np.ndarray, kept: np.ndarray, outcomes: PieceOfOutcomes
    ) -> None:
        """Read some rows.

        `weights` (n_rows,) are their weights in training. `kept` (n_rows,) bool marks the rows
        of the sample for quantiles.
        """
        column = self._markers.without_texts(column)
        numbers = as_numbers(column, self._name)
        if numbers is None:
            self._has_names = True
            names = as_categories(column, self._markers.texts)[:, 0]
            self._count(names, weights, outcomes)
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
        if holes.any():  # the column may turn out to hold text
            outcomes.add_to(self._sums, [None], np.where(holes, 0, 1))

    def _count(self, names: np.ndarray, weights: np.ndarray, outcomes: PieceOfOutcomes) -> None:
        places: dict[str | None, int] = {}
        codes = np.array([places.setdefault(name, len(places)) for name in names], int)
        found = np.stack([np.bincount(codes), np.bincount(codes, weights)], axis=1)
        self._add_counts({name: found[place] for name, place in places.items()})
        outcomes.add_to(self._sums, list(places), codes)
        self._forget_rare()

    def join(self, other: ColumnSurvey, moved: Mapping[Any, float]) -> None:
        """Add what another survey has read of the column.

        `moved` are numbers to add to its targets.
        """
        self._moments.join(other._moments)
        self._numbers += other._numbers
        self._found |= other._found
        self._missing += other._missing
        self._has_names |= other._has_names
        self._add_counts(other._counts)
        self._sums.join(other._sums.moved(moved))
        self._forget_rare()

    def _add_counts(self, counts: dict[str | None, Any]) -> None:
        for name, found in counts.items():
            self._counts[name] = self._counts.get(name, 0) + found

    def _forget_rare(self) -> None:
        if len(self._counts) > MOST_NAMES:
            by_rows = sorted(self._counts.items(), key=lambda item: -item[1][0])
            self._counts = dict(by_rows[: MOST_NAMES // 2])
            self._sums = self._sums.only(self._counts)

    def usual(
        self,
        source: int,
        outcomes: Sequence[Any],
        totals: NameSums,
        centre: Mapping[Any, float],
    ) -> tuple[list[Usual], OutcomeSums] | None:
        """The usual outcomes of the column and their sums; None if it has none.

        See `sums_of`.
        """
        counts = self._sums.n_rows
        if not self._has_names or not has_usual(counts.values(), len(outcomes)):
            return None
        every = {name: int(n) for name, (n, _) in self._counts_of_names().items()}
        known, _ = frequent_categories(every)
        names = all_values(known, counts)
        sums = sums_of(names, outcomes, self._sums, totals, centre)
        values = Values(names, tuple(sums.n_rows[:-1].tolist()))
        return Usual.of(source, values, sums), sums

    def encoded(
        self, source: int, n_rows: int, weight: float, kept_weights: np.ndarray | None
    ) -> list[EncodedColumn]:
        """The encoded columns of this column, but without usual outcomes.

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
        counts = self._counts_of_names()
        known, rare = frequent_categories({name: int(n) for name, (n, _) in counts.items()})
        columns: list[EncodedColumn] = [
            Category(source, category=name).with_share(counts[name], n_rows, weight)
            for name in known
        ]
        if rare:
            others = np.array([n_rows, weight]) - sum(counts[name] for name in known)
            columns.append(Rare(source).with_share(others, n_rows, weight))
        return columns

    def _counts_of_names(self) -> dict[str | None, Any]:
        """Rows and weight of each name, also in pieces without any text."""
        counts = dict(self._counts)
        if self._missing[0]:
            counts[None] = counts.get(None, 0) + self._missing
        return counts


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
        self._totals = NameSums()
        self._centre: dict[Any, float] = {}  # what is subtracted from targets
        self.n_rows = 0
        self.weight = 0.0

    def add(
        self,
        X: Any,
        weights: np.ndarray,
        kept: np.ndarray,
        outcomes: Mapping[Any, np.ndarray] | None = None,
        first: int = 0,
    ) -> None:
        """Read some rows of a frame.

        Parameters
        ----------
        X : frame of shape (n_rows, n_columns)
        weights : (n_rows,) float64
            The weights of the rows in training; 0 for rows that are held out.
        kept : (n_rows,) bool
            Whether each row is in the sample for quantiles.
        outcomes : mapping to (n_rows,) bool or float64, optional
            Whether the rows are of each class, or their targets. Without them, no column has
            usual outcomes.
        first : int
            The position of the first row in the table.
        """
        piece = PieceOfOutcomes.of(self._centred(outcomes or {}), weights, first)
        piece.add_to(self._totals, [None], np.zeros(len(weights), int))
        for source, column in enumerate(self._columns):
            column.add(column_of(X, source), weights, kept, piece)
        self._kept_weights.append(weights[kept])
        self.n_rows += len(weights)
        self.weight += float(weights.sum())

    def _centred(self, outcomes: Mapping[Any, np.ndarray]) -> dict[Any, np.ndarray]:
        """Outcomes of which targets lie around 0, as `OutcomeSums.centre` tells."""
        return {
            label: values
            if values.dtype == bool
            else values - self._centre.setdefault(label, float(values.mean()))
            for label, values in outcomes.items()
        }

    def join(self, other: Survey) -> None:
        """Add what another survey has read of the same table.

        Its rows must follow the rows of this survey.
        """
        moved = {
            target: centre - self._centre.setdefault(target, centre)
            for target, centre in other._centre.items()
        }
        for column, own in zip(self._columns, other._columns, strict=True):
            column.join(own, moved)
        self._totals.join(other._totals.moved(moved))
        self._kept_weights += other._kept_weights
        self.n_rows += other.n_rows
        self.weight += other.weight

    def encoder(
        self, *, scaling: str, outcomes: Sequence[Any] = ()
    ) -> tuple[Encoder, dict[int, OutcomeSums]]:
        """The encoder that `Encoder.fit` learns from the whole table, except for rounding.

        `outcomes` are the classes or targets whose usual outcomes text columns have. Their sums
        are returned too, by the places of these columns.
        """
        n_rows, weight = self.n_rows, self.weight
        kept = np.concatenate(self._kept_weights) if scaling == "quantile" else None
        columns: list[EncodedColumn] = []
        sums = {}
        for source, column in enumerate(self._columns):
            columns += column.encoded(source, n_rows, weight, kept)
            if found := column.usual(source, outcomes, self._totals, self._centre):
                usual, sums[source] = found
                columns += usual
        columns.sort(key=lambda column: column.rank)
        check_deviations(self._names, columns)
        return Encoder(self._names, columns, named=True, missing=self._missing), sums
