"""From a user's table to the standardised float32 columns that rules work on.

A table may be a NumPy array, a pandas frame or a polars frame. The encoded columns are

1. one column for each column of numbers, dates or booleans;
2. one indicator of missing cells for each of these columns that had missing cells in training;
3. one indicator for each category of the other columns. Missing is a category too. If there are
   ``MAX_CATEGORIES`` or more, the rarest categories share an indicator.

All encoded columns are standardised on the training rows, but numbers may be scaled by their
quantiles instead. A missing number is encoded as 0, which is the mean of a standardised column.
The table is encoded in chunks of rows. Besides the table, the encoder only needs memory for the
encoded float32 copy and, while it learns categories, for one column of strings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from neuralrules._data._categories import (
    MAX_CATEGORIES,
    as_categories,
    frequent_categories,
    spellings,
)
from neuralrules._data._columns import (
    Categories,
    Category,
    EncodedColumn,
    Missing,
    Number,
    Rare,
    type_of_numbers,
)
from neuralrules._data._markers import Markers
from neuralrules._data._moments import ColumnMoments
from neuralrules._data._numbers import (
    LARGEST,
    as_numbers,
    check_finite,
    holds_plain_numbers,
)
from neuralrules._data._table import column_names, column_of, has_names, is_one_row, rows_of
from neuralrules._io._checks import import_pandas
from neuralrules._io._warn import warn

CHUNK_CELLS = 2**21  # cells of a table that are encoded at a time
# Columns are divided by their deviation. The weights of rules are divided by it again to show
# them in the user's units.
SMALLEST_SCALE = 1e-280
MOST_RARE = 0.1  # if a larger share of a column's rows has rare texts, the user is warned

# The cells of some columns of a table, by the places of these columns in the table.
Cells: TypeAlias = dict[int, np.ndarray | Categories]


@dataclass(frozen=True)
class Encoder:
    """The encoding of a table, which is learned from one table and applied to others.

    Attributes
    ----------
    names : list of str
        The user's column names, ``x0, x1, ...`` for arrays.
    columns : list of EncodedColumn
        First the numbers, then their missing indicators, then the categories, each in the
        order of the table.
    named : bool
        Whether the table has column names, as a frame does.
    missing : tuple of str
        Texts and numbers that mean missing, besides empty cells: see `Markers`.
    """

    names: list[str]
    columns: list[EncodedColumn]
    named: bool = False
    missing: tuple[str, ...] = ()

    @classmethod
    def fit(
        cls,
        X: Any,
        weights: np.ndarray,
        *,
        named: bool = False,
        scaling: str = "standard",
        missing: tuple[str, ...] = (),
    ) -> Encoder:
        """Learn from a checked table X and the weights (n_rows,) of its rows.

        If `scaling` is "quantile", numbers are scaled by their quantiles. All other columns are
        standardised.
        """
        return cls._learn(X, weights, named, scaling, missing)[0]

    @classmethod
    def fit_transform(
        cls,
        X: Any,
        weights: np.ndarray,
        *,
        named: bool = False,
        scaling: str = "standard",
        missing: tuple[str, ...] = (),
    ) -> tuple[Encoder, np.ndarray]:
        """The same as `fit` and then `transform`, but texts are read only once."""
        encoder, cells = cls._learn(X, weights, named, scaling, missing)
        return encoder, encoder._transform(X, cells)

    @classmethod
    def _learn(
        cls,
        X: Any,
        weights: np.ndarray,
        named: bool,
        scaling: str,
        missing: tuple[str, ...],
    ) -> tuple[Encoder, Cells]:
        """The encoder, and the cells of columns that are slow to read again."""
        markers, names = Markers.of(missing), column_names(X)
        unscaled: list[EncodedColumn] = []
        kept: Cells = {}
        for source, name in enumerate(names):
            cells = markers.without_texts(column_of(X, source))
            column = as_numbers(cells, name)
            if column is None:
                texts = as_categories(cells, markers.texts)[:, 0]
                known, rare = frequent_categories(Counter(texts.tolist()))
                unscaled += [Category(source, category=one) for one in known]
                unscaled += [Rare(source)] * rare
                kept[source] = coded(texts, places_of(known, markers))
                continue
            number = type_of_numbers(cells, markers)(source)
            unscaled.append(number)
            column = number.without_markers(column, markers)
            if np.isnan(column.min()):
                unscaled.append(Missing(source))
            if not holds_plain_numbers(cells):  # plain numbers are cheap to read again
                kept[source] = column
        unscaled.sort(key=lambda column: column.rank)
        encoder = cls(names, unscaled, missing=missing)
        moments = ColumnMoments(len(unscaled))
        for start, stop, raw in encoder._raw_chunks(X, kept):
            moments.add(raw, weights[start:stop].astype(np.float64))
        columns = [
            replace(column, mean=mean, scale=scale, lowest=lowest, highest=highest)
            for column, mean, scale, lowest, highest in zip(
                unscaled,
                moments.mean.tolist(),
                moments.scale.tolist(),
                *(ends.tolist() for ends in moments.ranges),
                strict=True,
            )
        ]
        check_deviations(names, columns)
        if scaling == "quantile":
            for place, column in enumerate(columns):
                if isinstance(column, Number):
                    own: Any = kept.get(column.source)
                    own = encoder.numbers(X, column.source) if own is None else own
                    columns[place] = column.with_knots(own, weights)
        return cls(names, columns, named, missing), kept

    def transform(self, X: Any) -> np.ndarray:
        """Encode a checked table: (n_rows, n_encoded_columns) float32, C-contiguous."""
        return self._transform(X, {})

    def _transform(self, X: Any, known: Cells) -> np.ndarray:
        """Encode a checked table. `known` are cells of the table that were read before."""
        encoded = np.empty((X.shape[0], len(self.columns)), np.float32)
        scratch = np.empty((0, 0))
        # The same as `encode` of each column, but for all columns at once.
        for start, stop, raw in self._raw_chunks(X, known):
            scratch = np.empty(raw.shape) if scratch.shape != raw.shape else scratch
            scaled = np.subtract(raw, self._mean, out=scratch)
            with np.errstate(over="ignore"):  # a tiny scale may overflow; clipped below
                scaled /= self._scale
            for place, column in self._numbers:
                if column.knots is not None:
                    scaled[:, place] = column.encoded(raw[:, place])
            if np.isnan(scaled.min()):
                np.nan_to_num(scaled, copy=False)
            encoded[start:stop] = np.clip(scaled, -LARGEST, LARGEST, out=scaled)
        return encoded

    def chunks(self, X: Any) -> Iterator[tuple[int, int, np.ndarray]]:
        """Encode a checked table in chunks.

        Yields the first row of each chunk, the row after its last row, and the encoded rows.
        """
        for start, stop in self._row_ranges(X):
            yield start, stop, self.transform(rows_of(X, start, stop))

    def covering(self, encoded: np.ndarray) -> Encoder:
        """The same encoder, with ranges that also cover some encoded rows.

        encoded : (n_rows, n_encoded_columns) float32
        """
        lowest, highest = (
            [column.original(float(z)) for column, z in zip(self.columns, ends, strict=True)]
            for ends in (encoded.min(axis=0), encoded.max(axis=0))
        )
        columns = [
            replace(column, lowest=min(column.lowest, low), highest=max(column.highest, high))
            for column, low, high in zip(self.columns, lowest, highest, strict=True)
        ]
        return replace(self, columns=columns)

    def columns_of(self, source: int) -> list[EncodedColumn]:
        """The encoded columns that one column of the table became."""
        return [column for column in self.columns if column.source == source]

    @cached_property
    def markers(self) -> Markers:
        """Texts, numbers and dates that mean missing, besides empty cells."""
        return Markers.of(self.missing)

    def numbers(self, X: Any, source: int) -> np.ndarray:
        """A column of numbers of a checked table, (n_rows,) float64 with NaN for missing."""
        column = self._number_of[source]
        return column.read(column_of(X, source), self.names[source], self.markers)

    def categories(self, X: Any, source: int) -> np.ndarray:
        """Names of the categories in a column of a table, (n_rows,), None for missing."""
        return as_categories(column_of(X, source), self.markers.texts)[:, 0]

    def cells(self, X: Any, source: int) -> np.ndarray | Categories:
        """The cells of a column of a checked table, for `EncodedColumn.encode`."""
        if source in self._number_of:
            return self.numbers(X, source)
        return coded(self.categories(X, source), self._places_of_categories[source])

    def spellings(self, source: int) -> dict[str | None, str | None]:
        """A dict from cells to categories, for a column of categories.

        It maps every known spelling of a cell to the category that it means, if this category
        has an indicator. None stands for missing cells.
        """
        return spellings(self._known_categories(source), self.markers.texts)

    @cached_property
    def missing_indicators(self) -> dict[int, int]:
        """The places of indicators of missing cells, by the places of their columns of numbers.

        Both are places among the encoded columns.
        """
        holes = {
            column.source: place
            for place, column in enumerate(self.columns)
            if isinstance(column, Missing)
        }
        return {
            place: holes[column.source]
            for place, column in self._numbers
            if column.source in holes
        }

    def position_of(self, option: str, key: Any) -> int:
        """The place of a column that is given by name or, if the table had no names, by number.

        `option` is the name of the parameter in the error message.
        """
        names = self.names
        if str(key) in names:
            return names.index(str(key))
        if not self.named and isinstance(key, Integral) and int(key) in range(len(names)):
            return int(key)
        also = "" if self.named else f" or the numbers 0 to {len(names) - 1}"
        raise ValueError(
            f"{option} names the column {key!r}, which the model was not fitted on. "
            f"Its columns are {names}{also}."
        )

    def as_table(self, x: Any) -> Any:
        """A single row as a table. A table is returned as it is."""
        if not is_one_row(x):
            return x
        if has_names(x):
            return self._row_of_cells(dict(x.items()))
        return x[None, :] if isinstance(x, np.ndarray) else [list(x)]

    def _row_of_cells(self, cells: dict[Any, Any]) -> Any:
        """Cells by column name as a table: a frame if the model was fitted on a frame."""
        names = self.names
        keys = {self.position_of("x", key): key for key in cells}
        lacking = [name for i, name in enumerate(names) if i not in keys]
        if lacking:
            raise ValueError(
                f"x lacks the columns {lacking}. Give each of {names} a value, NaN if it is "
                "missing."
            )
        ordered = [keys[position] for position in range(len(names))]
        if names == [f"x{position}" for position in range(len(names))] and not self.named:
            return [[cells[key] for key in ordered]]  # fitted on an array
        pd = import_pandas("x as a dict, for a model that was fitted on a frame,")
        frame = pd.DataFrame({key: pd.Series([cells[key]]) for key in ordered})
        return frame.infer_objects()

    @cached_property
    def _mean(self) -> np.ndarray:
        return np.array([column.mean for column in self.columns])

    @cached_property
    def _scale(self) -> np.ndarray:
        return np.array([column.scale for column in self.columns])

    @cached_property
    def _numbers(self) -> list[tuple[int, Number]]:
        """The columns of numbers among the encoded columns, with their places."""
        return [
            (place, column)
            for place, column in enumerate(self.columns)
            if isinstance(column, Number)
        ]

    @cached_property
    def _number_of(self) -> dict[int, Number]:
        """The columns of numbers by their sources."""
        return {column.source: column for _, column in self._numbers}

    @cached_property
    def _is_plain(self) -> bool:
        """Whether a table of numbers, booleans and NaN needs no conversion of its cells."""
        return len(self._numbers) == len(self.names) and not any(
            column.holds == "dates" or column.marked(self.markers)
            for _, column in self._numbers
        )

    @cached_property
    def _places_of_categories(self) -> dict[int, dict[str | None, int]]:
        """The codes of categories, by source.

        For each source, every spelling of a category with an indicator maps to its code.
        """
        return {
            source: places_of(self._known_categories(source), self.markers)
            for source in range(len(self.names))
            if source not in self._number_of
        }

    def _known_categories(self, source: int) -> list[str | None]:
        """The categories of a column of the table that have an indicator."""
        return [
            column.category
            for column in self.columns
            if column.source == source and isinstance(column, Category)
        ]

    def _row_ranges(self, X: Any) -> Iterator[tuple[int, int]]:
        """Ranges of rows to encode at a time, so short that one-hot columns stay small."""
        width = max(len(self.columns), 2 * len(self._numbers), 1)
        size = max(64, CHUNK_CELLS // width)
        for start in range(0, X.shape[0], size):
            yield start, min(start + size, X.shape[0])

    def _raw_chunks(self, X: Any, known: Cells) -> Iterator[tuple[int, int, np.ndarray]]:
        """Columns before they are scaled, in chunks of rows.

        Yields the first row of each chunk, the row after its last row, and the columns,
        (n_rows, n_encoded_columns) float64.
        """
        for start, stop in self._row_ranges(X):
            own = {source: cells[start:stop] for source, cells in known.items()}
            yield start, stop, self._raw(rows_of(X, start, stop), own)

    def _raw(self, piece: Any, known: Cells) -> np.ndarray:
        """The columns of some rows before they are scaled, (n_rows, n_encoded_columns) float64.

        The result may be a view of `piece`.
        """
        n_numbers = len(self._numbers)
        names = [self.names[column.source] for _, column in self._numbers]
        if isinstance(piece, np.ndarray) and piece.dtype.kind in "fiub" and self._is_plain:
            numbers = np.ascontiguousarray(piece, np.float64)
            if n_numbers == len(self.columns):
                check_finite(numbers, names)
                return numbers
            known = dict(enumerate(numbers.T))
        cells: list[Any] = [
            known[source] if source in known else self.cells(piece, source)
            for source in range(len(self.names))
        ]
        raw = np.empty((piece.shape[0], len(self.columns)))
        for place, column in enumerate(self.columns):
            raw[:, place] = column.raw(cells[column.source])
        check_finite(raw[:, :n_numbers], names)
        return raw


def places_of(known: list[str | None], markers: Markers) -> dict[str | None, int]:
    """The codes of some categories, and of all other spellings of them."""
    codes = {name: code for code, name in enumerate(known)}
    table = spellings(known, markers.texts)
    return codes | {cell: codes[name] for cell, name in table.items()}


def coded(names: np.ndarray, places: dict[str | None, int]) -> Categories:
    """Names of categories (n_rows,) as codes, with -1 for names that have no place."""
    # A fit keeps the codes of all rows, in one byte each unless there are very many categories.
    small = max(places.values(), default=0) <= np.iinfo(np.int8).max
    codes = np.array([places.get(name, -1) for name in names], np.int8 if small else np.int64)
    return Categories(codes, places)


class RareCategoriesWarning(UserWarning):
    """Many rows of some columns hold rare texts, which all count as one category.

    `shares` maps the name of each such column to the share of its rows with rare texts.
    """

    def __init__(self, shares: dict[str, float]) -> None:
        told = ", ".join(f"{name!r} ({part:.0%} of its rows)" for name, part in shares.items())
        super().__init__(
            f"Rare texts all count as one category, in column {told}. Only the "
            f"{MAX_CATEGORIES - 1} most frequent texts of a column have a category of their "
            "own. Group the texts first, turn them into numbers, or leave the column out."
        )
        self.shares = shares

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.shares,)


def warn_of_rare(encoder: Encoder) -> None:
    """Warn of columns with many rows whose texts are too rare to be categories."""
    shares = {
        encoder.names[column.source]: column.mean
        for column in encoder.columns
        if isinstance(column, Rare) and column.mean > MOST_RARE
    }
    if shares:
        warn(RareCategoriesWarning(shares))


def check_deviations(names: list[str], columns: list[EncodedColumn]) -> None:
    """Refuse columns whose deviation is too small to divide by."""
    for column in columns:
        if column.scale < SMALLEST_SCALE:
            raise ValueError(
                f"Column {names[column.source]!r} of X has a standard deviation of "
                f"{column.scale:.3g}, too small to divide by. Give it in a smaller unit, so "
                f"that its deviation is at least {SMALLEST_SCALE:g}, or leave it out."
            )
