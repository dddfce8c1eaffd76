"""A column of a table as numbers, if it holds numbers, booleans or dates."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np

from neuralrules._data._cells import missing_cells
from neuralrules._data._dates import as_days, holds_dates

# Rows enter a network as float32. The products of larger numbers could overflow.
LARGEST = np.sqrt(np.finfo(np.float32).max)
# The names of types that only hold numbers or booleans begin with one of these.
PLAIN_NUMBERS = ("int", "uint", "float", "bool")
# Types of times without a date and of spans of time, in pandas, polars and Arrow.
NO_DATES = ("time", "time32", "time64", "duration", "period", "interval")
# Types that float() accepts although they are not numbers.
NO_NUMBERS = (np.ndarray, timedelta, date, np.timedelta64, np.datetime64, np.complexfloating)


def dtype_name(column: Any) -> str:
    """The name of a column's type in lower case; "" for a list."""
    return str(getattr(column, "dtype", "")).lower()


def holds_plain_numbers(column: Any) -> bool:
    """Whether the type of a column only holds numbers or booleans."""
    return dtype_name(column).startswith(PLAIN_NUMBERS)


def holds_booleans(column: Any) -> bool:
    """Whether the type of a column only holds booleans."""
    return dtype_name(column).startswith("bool")


def as_numbers(column: Any, name: str) -> np.ndarray | None:
    """The column as float64 with NaN for missing, or None if it holds categories."""
    dtype = dtype_name(column)
    if dtype.startswith(("category", "categorical", "enum")):
        return None
    if hasattr(column, "isna") and holds_plain_numbers(column):
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
    return objects_as_numbers(column, array.astype(object, copy=False), name)


def objects_as_numbers(column: Any, array: np.ndarray, name: str) -> np.ndarray | None:
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
    except OverflowError:  # Python's integers may be larger than any float
        raise too_large(name, "a number beyond 1e308") from None
    return numbers


def check_finite(numbers: np.ndarray, names: list[str]) -> None:
    """Refuse numbers (n_rows, n_columns) that could overflow. `names` are the column names."""
    # Nearly all tables pass this check, which needs no copy. NaN fails it, because comparisons
    # with NaN are false. The check below ignores NaN.
    if not numbers.size or (numbers.max() <= LARGEST and numbers.min() >= -LARGEST):
        return
    over = (np.abs(numbers) > LARGEST).any(axis=0)
    if over.any():
        place = int(np.flatnonzero(over)[0])
        column = numbers[:, place]
        raise too_large(names[place], column[np.abs(column) > LARGEST][0])


def too_large(name: str, value: Any) -> ValueError:
    """The error for a number that could overflow."""
    return ValueError(
        "Input X contains infinity or a value too large to multiply in float32: "
        f"column {name!r} holds {value}. "
        "Replace it by a finite number, or by NaN if it is missing."
    )
