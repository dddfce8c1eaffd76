"""A user's table: a NumPy array, a pandas or a polars frame, or one row alone."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from neuralrules._data._numbers import dtype_name


def is_frame(X: Any) -> bool:
    """Whether X is a table with names of columns, of pandas, polars or another library."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def check_table(X: Any) -> Any:
    """X as a two-dimensional array, or the frame itself. Refuses sparse tables and files."""
    if type(X).__name__ == "LazyFrame":  # it has columns, but no rows yet
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
        X = np.array(X, dtype=object)  # otherwise numbers in the list would become strings
    from sklearn.utils import check_array  # not at the top, because frames do not need it

    # Sparse input is refused by check_array, which says how to make it dense.
    return check_array(X, dtype=None, ensure_all_finite=False, input_name="X")


def check_names(names: Iterable[Any]) -> None:
    """Refuse columns with equal names, because a rule could not tell them apart."""
    repeated = [repr(name) for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"Several columns of the table have the same name: {', '.join(repeated)}. "
            "Rename or drop the repeated columns."
        )


def column_names(X: Any) -> list[str]:
    """The names of a checked table's columns; ``x0, x1, ...`` for an array."""
    if is_frame(X):
        return [str(name) for name in X.columns]
    return [f"x{index}" for index in range(X.shape[1])]


def rows_of(X: Any, start: int, stop: int) -> Any:
    """The rows of a checked table from `start` to before `stop`."""
    return X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]


def column_of(X: Any, index: int) -> Any:
    """A column of a checked table by its place."""
    if not is_frame(X):
        return X[:, index]
    if hasattr(X, "iloc"):
        return X.iloc[:, index]
    column = X[X.columns[index]]
    # NumPy has no integers of 128 bits, and some versions of polars panic.
    return column.cast(float) if dtype_name(column) in ("int128", "uint128") else column


def is_one_row(X: Any) -> bool:
    """Whether X is a single row: a dict, a Series, or a one-dimensional list or array."""
    if has_names(X):
        return True
    if isinstance(X, list | tuple):
        return not any(isinstance(cell, list | tuple | np.ndarray) for cell in X)
    return getattr(X, "ndim", 2) == 1


def has_names(x: Any) -> bool:
    """Whether x holds cells by name: a dict or a Series."""
    return isinstance(x, Mapping) or (hasattr(x, "index") and hasattr(x, "to_frame"))
