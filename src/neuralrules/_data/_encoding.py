"""From a user's table to the standardised float32 columns that rules work on.

A table may be a NumPy array, a pandas or a polars frame. Its columns become

1. numeric and boolean columns, as they are, and dates as days since 1970-01-01;
2. one indicator column for each of those that had missing values in training;
3. one indicator column for each category of the others, missing being a category
   too; beyond ``MAX_CATEGORIES`` the rarest share one;

all standardised on the training rows, or numbers scaled by their quantiles. A missing
number takes the column's mean, which is 0 after standardisation. Encoding goes through
chunks of rows, so that beside the table there is only its encoded float32 copy and, while
categories are learned, one column of strings.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property
from typing import Any

import numpy as np

from neuralrules._data._categories import (
    MAX_CATEGORIES,
    as_categories,
    learn_categories,
    spellings,
)
from neuralrules._data._dates import LAST_MOMENT, as_days, holds_dates
from neuralrules._data._encoded_column import LARGEST, EncodedColumn
from neuralrules._data._markers import Markers
from neuralrules._data._missing import missing_cells
from neuralrules._data._moments import ColumnMoments
from neuralrules._data._scaling import learn_knots

CHUNK_CELLS = 2**21  # cells of a table that are encoded at a time
# Types of times without a date and of spans of time, in pandas, polars and Arrow.
NO_DATES = ("time", "time32", "time64", "duration", "period", "interval")
# Types that float() accepts although they are not numbers.
NO_NUMBERS = (np.ndarray, timedelta, date, np.timedelta64, np.datetime64, np.complexfloating)
# Columns are divided by their deviation, and weights by it once more where they are read in
# the user's units.
SMALLEST_SCALE = 1e-280
MOST_RARE = 0.1  # share of a column's rows whose texts may be rare without a warning


def is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def check_table(X: Any) -> Any:
    """X as a two-dimensional array, or the frame itself; refuses sparse tables and files."""
    if type(X).__name__ == "LazyFrame":  # which has columns but no rows yet
        raise TypeError(
            "X is a LazyFrame, a query that has not been run. Call X.collect() first, and give "
            "the frame that it returns."
        )
    if isinstance(X, str | os.PathLike) or hasattr(X, "get_fragments"):
        raise TypeError(
            "X is the name of a file, or a dataset, which only `fit` of NeuralRuleClassifier "
            "and NeuralRuleRegressor reads. Read it first, for example by pandas.read_parquet, "
            "or score files by the command `neuralrules predict`."
        )
    if is_frame(X):
        if 0 in X.shape:
            raise ValueError(
                f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s) "
                f"(shape={X.shape}) while a minimum of 1 is required."
            )
        check_names(X.columns)
        return X
    if isinstance(X, list | tuple) and np.asarray(X).dtype.kind in "US":
        X = np.array(X, dtype=object)  # or numbers beside strings would become strings
    from sklearn.utils import check_array  # not at the top: a frame's prediction needs none

    # Sparse input is refused by check_array, which says how to make it dense.
    return check_array(X, dtype=None, ensure_all_finite=False, input_name="X")


def check_names(names: Iterable[Any]) -> None:
    """Refuse columns of one name: nobody could tell which of them a rule means."""
    repeated = [repr(name) for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"Several columns of the table have the same name: {', '.join(repeated)}. "
            "Rename or drop the repeated columns."
        )


def _rows(X: Any, start: int, stop: int) -> Any:
    return X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]


def column_of(X: Any, index: int) -> Any:
    if not is_frame(X):
        return X[:, index]
    if hasattr(X, "iloc"):
        return X.iloc[:, index]
    column = X[X.columns[index]]
    # NumPy has no integers of 128 bits, and some versions of polars panic.
    return column.cast(float) if _dtype_name(column) in ("int128", "uint128") else column


def _dtype_name(column: Any) -> str:
    return str(getattr(column, "dtype", "")).lower()


def holds_booleans(column: Any) -> bool:
    """Whether a column is of a type of booleans."""
    return _dtype_name(column).startswith("bool")


def counts_booleans(column: Any, markers: Markers) -> bool:
    """Whether the numbers of a column are its booleans.

    Objects are looked at only if 0 or 1 means missing: then False and True must not.
    """
    if holds_booleans(column) or not {0.0, 1.0} & set(markers.numbers):
        return holds_booleans(column)
    present = np.asarray(column, object)[~missing_cells(column)]
    return {type(cell) for cell in present} in ({bool}, {np.bool_})


def as_numbers(column: Any, name: str) -> np.ndarray | None:
    """The column as float64 with NaN for missing, or None if it holds categories."""
    dtype = _dtype_name(column)
    if dtype.startswith(("category", "categorical", "enum")):
        return None
    if hasattr(column, "isna") and dtype.startswith(("int", "uint", "float", "bool")):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    array = np.asarray(column)
    if array.ndim != 1:
        kind = dtype.split("[")[0].split("(")[0]
        raise TypeError(
            f"argument must be a string or a number: column {name!r} of X holds values of type "
            f"{kind}. Turn it into numbers, strings or missing values."
        )
    if array.dtype.kind in "fiub":
        return array.astype(np.float64, copy=False)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: column {name!r}.")
    if array.dtype.kind == "m" or dtype.split("[")[0].split("(")[0] in NO_DATES:
        raise TypeError(
            f"Column {name!r} holds times without a date, or spans of time, which have no unit "
            "to split on. Turn it into a number first, for example of hours."
        )
    if holds_dates(column):
        return as_days(column)
    return _objects_as_numbers(column, array.astype(object, copy=False), name)


def _objects_as_numbers(column: Any, array: np.ndarray, name: str) -> np.ndarray | None:
    """Python objects as numbers if all of them are numbers or missing."""
    present = ~missing_cells(column)
    kinds = {type(item) for item in array[present]}
    if any(issubclass(kind, str | bytes) for kind in kinds):
        return None
    for kind in kinds:
        if not hasattr(kind, "__float__") or issubclass(kind, NO_NUMBERS):
            raise TypeError(
                f"argument must be a string or a number: column {name!r} of X holds a "
                f"{kind.__name__}. Turn it into numbers, strings or missing values."
            )
    numbers = np.full(len(array), np.nan)
    try:
        numbers[present] = array[present].astype(np.float64)
    except OverflowError:  # of integers, which have no end
        raise overflow_error(name, "a number beyond 1e308") from None
    return numbers


@dataclass(frozen=True)
class Encoder:
    """The encoding of a table, learned from one and applied to others.

    Attributes
    ----------
    names : list of str
        The user's column names, ``x0, x1, ...`` for arrays.
    columns : list of EncodedColumn
        First the numbers, then their missing indicators, then the categories, each in the
        order of the table.
    named : bool
        Whether the table has names of its own, as a frame does.
    missing : tuple of str
        What else means missing, besides empty cells: see `Markers`.
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

        With `scaling` "quantile" numbers are scaled by their quantiles, others standardised.
        """
        markers = Markers.of(missing)
        names = (
            [str(name) for name in X.columns]
            if is_frame(X)
            else [f"x{index}" for index in range(X.shape[1])]
        )
        numbers, holes, categories = [], [], []
        for source, name in enumerate(names):
            cells = markers.without_texts(column_of(X, source))
            column = as_numbers(cells, name)
            if column is None:
                known, rare = learn_categories(cells, markers.texts)
                categories += [EncodedColumn(source, "category", one) for one in known]
                categories += [EncodedColumn(source, "rare")] * rare
                continue
            number = EncodedColumn(source, "number", is_date=holds_dates(cells))
            number = replace(number, is_boolean=counts_booleans(cells, markers))
            numbers.append(number)
            if np.isnan(markers.without_numbers(column, number).min()):
                holes.append(EncodedColumn(source, "missing"))
        unscaled = cls(names, [*numbers, *holes, *categories], missing=missing)
        moments = ColumnMoments(len(unscaled.columns))
        for start, stop, raw in unscaled._raw_chunks(X):
            moments.add(raw, weights[start:stop].astype(np.float64))
        scaled = [
            replace(column, mean=mean, scale=scale, lowest=lowest, highest=highest)
            for column, mean, scale, lowest, highest in zip(
                unscaled.columns,
                moments.mean.tolist(),
                moments.scale.tolist(),
                *(ends.tolist() for ends in moments.ranges),
                strict=True,
            )
        ]
        check_deviations(names, scaled)
        if scaling == "quantile":
            scaled = [
                with_knots(column, unscaled.numbers(X, column.source), weights)
                if column.kind == "number"
                else column
                for column in scaled
            ]
        return cls(names, scaled, named, missing)

    def transform(self, X: Any) -> np.ndarray:
        """Encode a checked table: (n_rows, n_encoded_columns) float32, C-contiguous."""
        encoded = np.empty((X.shape[0], len(self.columns)), np.float32)
        scratch = np.empty((0, 0))
        for start, stop, raw in self._raw_chunks(X):
            scratch = np.empty(raw.shape) if scratch.shape != raw.shape else scratch
            scaled = np.subtract(raw, self._mean, out=scratch)
            with np.errstate(over="ignore"):  # of tiny deviations; clipped below
                scaled /= self._scale
            for place in self._bent_places:
                scaled[:, place] = self.columns[place].encoded(raw[:, place])
            # A missing number takes the mean, 0.
            if np.isnan(scaled.min()):
                np.nan_to_num(scaled, copy=False)
            # Rows far outside the training rows must not overflow.
            encoded[start:stop] = np.clip(scaled, -LARGEST, LARGEST, out=scaled)
        return encoded

    def chunks(self, X: Any) -> Iterator[tuple[int, int, np.ndarray]]:
        """Encode a checked table piece by piece: (first row, last row, encoded rows)."""
        for start, stop in self._row_ranges(X):
            yield start, stop, self.transform(_rows(X, start, stop))

    def covering(self, encoded: np.ndarray) -> Encoder:
        """The same encoding, learned from a table that held some encoded rows as well."""
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
        """What else means missing, by the kind of a column."""
        return Markers.of(self.missing)

    def numbers(self, X: Any, source: int) -> np.ndarray:
        """A column of numbers of a checked table, (n_rows,) float64 with NaN for missing."""
        place = self._number_places[source]
        column, cells = self.columns[place], self.markers.without_texts(column_of(X, source))
        numbers = as_numbers(cells, self.names[source])
        if numbers is None:
            raise self._other_kind(place, "text or categories")
        numbers = self.markers.without_numbers(numbers, column)
        if holds_dates(cells) and not column.is_date:
            raise self._other_kind(place, "dates")
        if column.is_date and (np.abs(numbers) > LAST_MOMENT).any():
            raise self._other_kind(place, "numbers that are no days since 1970-01-01")
        return numbers

    def categories(self, X: Any, source: int) -> np.ndarray:
        """Names of the categories in a column of a table, (n_rows,), None for missing."""
        return as_categories(column_of(X, source), self.markers.texts)[:, 0]

    def spellings(self, source: int) -> dict[str | None, str | None]:
        """From all that a column of categories may hold to those with an indicator."""
        own = (one for one in self.columns_of(source) if one.kind == "category")
        return spellings((one.category for one in own), self.markers.texts)

    @cached_property
    def missing_indicators(self) -> dict[int, int]:
        """For the encoded numbers that had holes in training, where their indicator is."""
        holes = {self.columns[place].source: place for place in self._places("missing")}
        return {
            place: holes[self.columns[place].source]
            for place in self._places("number")
            if self.columns[place].source in holes
        }

    @cached_property
    def _mean(self) -> np.ndarray:
        return np.array([column.mean for column in self.columns])

    @cached_property
    def _scale(self) -> np.ndarray:
        return np.array([column.scale for column in self.columns])

    @cached_property
    def _bent_places(self) -> list[int]:
        """The columns that are scaled by their quantiles."""
        return [place for place, column in enumerate(self.columns) if column.knots is not None]

    @cached_property
    def _number_places(self) -> dict[int, int]:
        """Source of each numeric column and its place among the encoded ones."""
        return {self.columns[place].source: place for place in self._places("number")}

    @cached_property
    def _has_dates(self) -> bool:
        return any(column.is_date for column in self.columns)

    @cached_property
    def _number_names(self) -> list[str]:
        return [self.names[source] for source in self._number_places]

    @cached_property
    def _category_places(self) -> dict[int, tuple[dict[Any, int], int]]:
        """Source of each categorical column, the places of its cells and of all others.

        The place of the rest is -1 where training knew all categories by name.
        """
        others = {self.columns[place].source: place for place in self._places("rare")}
        places: dict[int, tuple[dict[Any, int], int]] = {
            source: ({}, others.get(source, -1))
            for source in range(len(self.names))
            if source not in self._number_places
        }
        for place in self._places("category"):
            column = self.columns[place]
            places[column.source][0][column.category] = place
        for source, (known, _) in places.items():
            table = self.spellings(source)
            known |= {spelling: known[name] for spelling, name in table.items()}
        return places

    def _places(self, kind: str) -> list[int]:
        return [place for place, column in enumerate(self.columns) if column.kind == kind]

    def _row_ranges(self, X: Any) -> Iterator[tuple[int, int]]:
        """Rows encoded at a time: few enough that their one-hot columns stay small too."""
        width = max(len(self.columns), 2 * len(self._number_places), 1)
        size = max(64, CHUNK_CELLS // width)
        for start in range(0, X.shape[0], size):
            yield start, min(start + size, X.shape[0])

    def _raw_chunks(self, X: Any) -> Iterator[tuple[int, int, np.ndarray]]:
        """Columns before standardisation, (rows, n_encoded_columns) float64, in chunks."""
        for start, stop in self._row_ranges(X):
            yield start, stop, self._raw(_rows(X, start, stop))

    def _raw(self, piece: Any) -> np.ndarray:
        """Numbers, missing indicators and one-hot columns of some rows."""
        numbers = self._numbers(piece)
        check_finite(numbers, self._number_names)
        n_numbers = numbers.shape[1]
        if n_numbers == len(self.columns):
            return numbers
        raw = np.zeros((piece.shape[0], len(self.columns)))
        raw[:, :n_numbers] = numbers
        for number, hole in self.missing_indicators.items():
            raw[:, hole] = np.isnan(raw[:, number])
        for source, (places, other) in self._category_places.items():
            cells = self.categories(piece, source)
            codes = np.array([places.get(cell, other) for cell in cells])
            known = np.flatnonzero(codes >= 0)
            raw[known, codes[known]] = 1
        return raw

    def _numbers(self, piece: Any) -> np.ndarray:
        """Numeric columns of some rows, (n_rows, n_numeric) float64: may be a view."""
        plain = isinstance(piece, np.ndarray) and piece.dtype.kind in "fiub"
        if (
            plain
            and not self._category_places
            and not (self._has_dates or self.markers.numbers)
        ):
            return np.ascontiguousarray(piece, np.float64)
        numbers = np.empty((piece.shape[0], len(self._number_places)))
        for source, place in self._number_places.items():
            numbers[:, place] = self.numbers(piece, source)
        return numbers

    def _other_kind(self, place: int, found: str) -> ValueError:
        """The error for a column of numbers or dates that holds something else now."""
        column = self.columns[place]
        was = "dates" if column.is_date else "numbers"
        return ValueError(
            f"Column {self.names[column.source]!r} held {was} when the model was fitted and "
            f"holds {found} now. Convert it to {was}, or fit again."
        )


class RareCategoriesWarning(UserWarning):
    """Many rows of some columns hold rare texts, which all count as one category.

    `shares` are the shares of these rows by the columns' names.
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


def warn_of_rare(encoder: Encoder, stacklevel: int = 4) -> None:
    """Warn of columns with many rows whose texts are too rare to be categories."""
    shares = {
        encoder.names[column.source]: column.mean
        for column in encoder.columns
        if column.kind == "rare" and column.mean > MOST_RARE
    }
    if shares:
        warnings.warn(RareCategoriesWarning(shares), stacklevel=stacklevel)


def check_finite(numbers: np.ndarray, names: list[str]) -> None:
    """Refuse numbers (n_rows, n_columns) that could overflow, of columns with these names."""
    # As almost always, found without a copy; NaN compares as False, and is looked at below.
    if not numbers.size or (numbers.max() <= LARGEST and numbers.min() >= -LARGEST):
        return
    too_large = (np.abs(numbers) > LARGEST).any(axis=0)
    if too_large.any():
        place = int(np.flatnonzero(too_large)[0])
        column = numbers[:, place]
        raise overflow_error(names[place], column[np.abs(column) > LARGEST][0])


def overflow_error(name: str, value: Any) -> ValueError:
    """The error for a number that could overflow."""
    return ValueError(
        "Input X contains infinity or a value too large to multiply in float32: "
        f"column {name!r} holds {value}. "
        "Replace it by a finite number, or by NaN if it is missing."
    )


def check_deviations(names: list[str], columns: list[EncodedColumn]) -> None:
    """Refuse columns that vary by less than can be divided by."""
    for column in columns:
        if column.scale < SMALLEST_SCALE:
            raise ValueError(
                f"Column {names[column.source]!r} of X has a standard deviation of "
                f"{column.scale:.3g}, too small to divide by. Give it in a smaller unit, so "
                f"that its deviation is at least {SMALLEST_SCALE:g}, or leave it out."
            )


def with_knots(
    column: EncodedColumn, numbers: np.ndarray, weights: np.ndarray
) -> EncodedColumn:
    """A column of numbers scaled by its quantiles, if it has enough of them."""
    return replace(column, knots=learn_knots(numbers, weights.astype(np.float64)))
