"""What means that a cell is missing: objects, and texts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

# What pandas.read_csv takes for missing.
MISSING = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan"}
    | {"null", "-NaN", "-nan", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"}
)


def missing_cells(column: Any) -> np.ndarray:
    """Which cells of a column of objects are missing, (n_rows,) bool."""
    if hasattr(column, "isna"):  # pandas knows best what it calls missing
        return np.asarray(column.isna())
    return np.array([is_missing(item) for item in np.asarray(column, dtype=object)], bool)


def is_missing(cell: Any) -> bool:
    """Whether an object is None, NaN, NaT, or what pandas takes for missing."""
    if isinstance(cell, float | np.floating):
        return math.isnan(cell)
    if isinstance(cell, np.datetime64):
        return bool(np.isnat(cell))
    return cell is None or type(cell).__name__ in ("NAType", "NaTType")
