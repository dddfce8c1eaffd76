"""From a user's table to the standardised float32 columns that rules work on.

A table may be a NumPy array, a pandas or a polars frame. Its columns become

1. numeric and boolean columns, as they are;
2. one indicator column for each of those that had missing values in training;
3. one indicator column for each category of the others, missing being a category
   too; beyond ``MAX_CATEGORIES`` the rarest share one;

all standardised on the training rows. A missing number takes the column's mean,
which is 0 after standardisation. Encoding goes through chunks of rows, so that
beside the table there is only its encoded float32 copy and, while categories are
learned, one column of strings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import check_array

CHUNK_CELLS = 2**21  # cells of a table that are encoded at a time
MAX_CATEGORIES = 64  # of one column; the rarer ones share an indicator
# Rows enter a network as float32; beyond this their products could overflow.
LARGEST = np.sqrt(np.finfo(np.float32).max)


@dataclass(frozen=True)
class EncodedColumn:
    """Where one encoded column comes from, so that rules can be read in user's units.

    Attributes
    ----------
    source : int
        Column of the user's table.
    kind : {"number", "missing", "category", "rare"}
        The number itself; an indicator that it is missing; of one category; of all
        categories that share one indicator.
    category : object
        The category, None for the other kinds.
    mean, scale : float
        encoded = (original - mean) / scale.
    """

    source: int
    kind: str
    category: Any
    mean: float
    scale: float


def is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def check_table(X: Any) -> Any:
    """X as a two-dimensional array, or the frame itself; refuses sparse tables."""
    if is_frame(X):
        if 0 in X.shape:
            raise ValueError(
                f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s) "
                f"(shape={X.shape}) while a minimum of 1 is required."
            )
        return X
    if isinstance(X, list | tuple) and np.asarray(X).dtype.kind in "US":
        X = np.array(X, dtype=object)  # or numbers beside strings would become strings
    # Sparse input is refused by check_array, which says how to make it dense.
    return check_array(X, dtype=None, ensure_all_finite=False, input_name="X")


def _rows(X: Any, start: int, stop: int) -> Any:
    return X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]


def column_of(X: Any, index: int) -> Any:
    if not is_frame(X):
        return X[:, index]
    return X.iloc[:, index] if hasattr(X, "iloc") else X[X.columns[index]]


def _dtype_name(column: Any) -> str:
    return str(getattr(column, "dtype", "")).lower()


def missing_cells(column: Any) -> np.ndarray:
    """Which cells of a column of objects are missing, (n_rows,) bool."""
    if hasattr(column, "isna"):  # pandas knows best what it calls missing
        return np.asarray(column.isna())
    return np.array([_is_missing(item) for item in np.asarray(column, dtype=object)], bool)


def _is_missing(item: Any) -> bool:
    if isinstance(item, float | np.floating):
        return bool(np.isnan(item))
    return item is None or type(item).__name__ == "NAType"  # pandas.NA in a NumPy array


def as_numbers(column: Any, name: str) -> np.ndarray | None:
    """The column as float64 with NaN for missing, or None if it holds categories."""
    dtype = _dtype_name(column)
    if dtype.startswith(("category", "categorical", "enum")):
        return None
    if hasattr(column, "isna") and dtype.startswith(("int", "uint", "float", "bool")):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    array = np.asarray(column)
    if array.dtype.kind in "fiub":
        return array.astype(np.float64, copy=False)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: column {name!r}.")
    if array.dtype.kind in "mM" or dtype.startswith(("datetime", "period", "interval")):
        raise TypeError(
            f"Column {name!r} holds dates or times, which have no unit to split on. Turn it "
            "into a number first, for example days since a date."
        )
    return _objects_as_numbers(column, array.astype(object, copy=False), name)


def _objects_as_numbers(column: Any, array: np.ndarray, name: str) -> np.ndarray | None:
    """Python objects as numbers if all of them are numbers or missing."""
    present = ~missing_cells(column)
    kinds = {type(item) for item in array[present]}
    if any(issubclass(kind, str | bytes) for kind in kinds):
        return None
    for kind in kinds:
        if not hasattr(kind, "__float__") or issubclass(kind, np.ndarray):
            raise TypeError(
                f"argument must be a string or a number: column {name!r} of X holds a "
                f"{kind.__name__}. Turn it into numbers, strings or missing values."
            )
    numbers = np.full(len(array), np.nan)
    numbers[present] = array[present].astype(np.float64)
    return numbers


def as_categories(column: Any) -> np.ndarray:
    """The column as strings, with None for missing, shape (n_rows, 1) object."""
    array = np.asarray(column, dtype=object)
    present = ~missing_cells(column)
    strings = np.full((len(array), 1), None, object)
    strings[present, 0] = [category_name(item) for item in array[present]]
    return strings


def category_name(item: Any) -> str:
    """A category's name; 1 and 1.0 are the same: holes turn integers into floats."""
    if type(item) is str:
        return item
    return str(int(item)) if isinstance(item, float) and item.is_integer() else str(item)


class Moments:
    """Weighted mean and deviation of columns, gathered chunk by chunk; NaN is left out."""

    def __init__(self, n_columns: int) -> None:
        self._weight = np.zeros(n_columns)
        self.mean = np.zeros(n_columns)
        self._squares = np.zeros(n_columns)
        self._lowest = np.full(n_columns, np.inf)
        self._highest = np.full(n_columns, -np.inf)

    def add(self, columns: np.ndarray, weights: np.ndarray) -> None:
        """Take in some rows (n_rows, n_columns) with their weights (n_rows,)."""
        present = ~np.isnan(columns)
        weight = weights @ present
        total = np.where(self._weight + weight > 0, self._weight + weight, 1)
        mean = weights @ np.where(present, columns, 0) / np.where(weight > 0, weight, 1)
        squares = weights @ np.where(present, columns - mean, 0) ** 2
        # Chan, Golub and LeVeque's rule for joining the moments of two samples.
        step = np.where(weight > 0, mean - self.mean, 0)
        self._squares += squares + step**2 * self._weight * weight / total
        self.mean += step * weight / total
        self._weight += weight
        counted = present & (weights > 0)[:, None]
        lowest = np.where(counted, columns, np.inf).min(axis=0)
        highest = np.where(counted, columns, -np.inf).max(axis=0)
        self._lowest = np.minimum(self._lowest, lowest)
        self._highest = np.maximum(self._highest, highest)

    @property
    def scale(self) -> np.ndarray:
        """Standard deviation; 1 where a column is constant, or never present."""
        deviation = np.sqrt(self._squares / np.where(self._weight > 0, self._weight, 1))
        # Rounding may leave a constant column a deviation, and a tiny one none.
        varies = (self._lowest < self._highest) & (deviation > 0)
        return np.where(varies, deviation, 1.0)


class Encoder:
    """Learns the encoding of a table and applies it.

    Attributes
    ----------
    columns : list of EncodedColumn
    names : list of str
        The user's column names, ``x0, x1, ...`` for arrays.
    missing_indicators : dict of int to int
        For the encoded numbers that had holes in training, their indicator's column.
    """

    def fit(self, X: Any, weights: np.ndarray) -> Encoder:
        """Learn from a checked table X and the weights (n_rows,) of its rows."""
        n_columns = X.shape[1]
        self.names = (
            [str(name) for name in X.columns]
            if is_frame(X)
            else [f"x{index}" for index in range(n_columns)]
        )
        self._numeric = [
            i
            for i in range(n_columns)
            if as_numbers(column_of(X, i), self.names[i]) is not None
        ]
        self._categorical = [i for i in range(n_columns) if i not in set(self._numeric)]
        self._one_hots = [
            OneHotEncoder(
                handle_unknown="infrequent_if_exist",
                max_categories=MAX_CATEGORIES,
                sparse_output=False,
                dtype=np.float64,
            ).fit(as_categories(column_of(X, index)))
            for index in self._categorical
        ]
        missing = np.zeros(len(self._numeric), bool)
        for _, _, numbers, _ in self._chunks(X):
            missing |= np.isnan(numbers).any(axis=0)
        self._with_missing = np.flatnonzero(missing)
        moments: Moments | None = None
        for start, stop, numbers, categories in self._chunks(X):
            raw = self._raw(numbers, categories)
            moments = moments or Moments(raw.shape[1])
            moments.add(raw, weights[start:stop].astype(np.float64))
        assert moments is not None  # a checked table has rows
        self._mean, self._scale = moments.mean, moments.scale
        self.columns = self._describe_columns()
        self.missing_indicators = self._find_missing_indicators()
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Encode a checked table: (n_rows, n_encoded_columns) float32, C-contiguous."""
        encoded = np.empty((X.shape[0], len(self.columns)), np.float32)
        for start, stop, numbers, categories in self._chunks(X):
            scaled = (self._raw(numbers, categories) - self._mean) / self._scale
            # A missing number takes the mean, 0. Rows far outside the training rows must
            # not overflow.
            encoded[start:stop] = np.clip(np.nan_to_num(scaled, copy=False), -LARGEST, LARGEST)
        return encoded

    def chunks(self, X: Any) -> Iterator[tuple[int, int, np.ndarray]]:
        """Encode a checked table piece by piece: (first row, last row, encoded rows)."""
        size = self._chunk_rows()
        for start in range(0, X.shape[0], size):
            stop = min(start + size, X.shape[0])
            yield start, stop, self.transform(_rows(X, start, stop))

    def _find_missing_indicators(self) -> dict[int, int]:
        """For the encoded numbers that had holes in training, where their indicator is."""
        holes = {
            column.source: place
            for place, column in enumerate(self.columns)
            if column.kind == "missing"
        }
        return {
            place: holes[column.source]
            for place, column in enumerate(self.columns)
            if column.kind == "number" and column.source in holes
        }

    def _chunk_rows(self) -> int:
        """Rows encoded at a time: few enough that their one-hot columns stay small too."""
        widths = [len(one_hot.get_feature_names_out()) for one_hot in self._one_hots]
        return max(64, CHUNK_CELLS // max(2 * len(self._numeric) + sum(widths), 1))

    def _chunks(self, X: Any) -> Iterator[tuple[int, int, np.ndarray, list[np.ndarray]]]:
        """Numeric columns (rows, n_numeric) float64 and categorical ones, in chunks."""
        size = self._chunk_rows()
        for start in range(0, X.shape[0], size):
            piece = _rows(X, start, start + size)
            numbers = self._numbers(piece)
            self._check_finite(numbers)
            categories = [as_categories(column_of(piece, index)) for index in self._categorical]
            yield start, start + piece.shape[0], numbers, categories

    def _numbers(self, piece: Any) -> np.ndarray:
        """Numeric columns of some rows, (n_rows, n_numeric) float64."""
        if (
            isinstance(piece, np.ndarray)
            and piece.dtype.kind in "fiub"
            and not self._categorical
        ):
            return piece.astype(np.float64)
        numbers = np.empty((piece.shape[0], len(self._numeric)))
        for position, index in enumerate(self._numeric):
            column = as_numbers(column_of(piece, index), self.names[index])
            if column is None:
                raise ValueError(
                    f"Column {self.names[index]!r} held numbers when the model was fitted and "
                    "holds text or categories now. Convert it to numbers, or fit again."
                )
            numbers[:, position] = column
        return numbers

    def _raw(self, numbers: np.ndarray, categories: list[np.ndarray]) -> np.ndarray:
        """Numbers, missing indicators and one-hot columns side by side."""
        indicators = np.isnan(numbers[:, self._with_missing])
        one_hots = [
            one_hot.transform(column)
            for one_hot, column in zip(self._one_hots, categories, strict=True)
        ]
        return np.hstack([numbers, indicators, *one_hots])

    def _check_finite(self, numbers: np.ndarray) -> None:
        too_large = (np.abs(numbers) > LARGEST).any(axis=0)
        if too_large.any():
            position = int(np.flatnonzero(too_large)[0])
            column = numbers[:, position]
            value = column[np.abs(column) > LARGEST][0]
            raise ValueError(
                "Input X contains infinity or a value too large to multiply in float32: "
                f"column {self.names[self._numeric[position]]!r} holds {value}. "
                "Replace it by a finite number, or by NaN if it is missing."
            )

    def _describe_columns(self) -> list[EncodedColumn]:
        origins: list[tuple[int, str, Any]] = [(i, "number", None) for i in self._numeric]
        origins += [(self._numeric[i], "missing", None) for i in self._with_missing]
        for index, one_hot in zip(self._categorical, self._one_hots, strict=True):
            rare = one_hot.infrequent_categories_[0]
            rare_ones = set() if rare is None else set(rare)
            for category in one_hot.categories_[0]:
                if category not in rare_ones:
                    origins.append((index, "category", category))
            if rare is not None:
                origins.append((index, "rare", None))
        return [
            EncodedColumn(source, kind, category, float(mean), float(scale))
            for (source, kind, category), mean, scale in zip(
                origins, self._mean, self._scale, strict=True
            )
        ]
