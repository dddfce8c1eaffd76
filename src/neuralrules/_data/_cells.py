"""The meaning of single cells and texts: a missing value, a number or a boolean."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

# Texts that mean missing, as in pandas.read_csv.
MISSING = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan"}
    | {"null", "-NaN", "-nan", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"}
)
# Texts of booleans in lower case. A model that was fitted on booleans reads them as 0 and 1.
TRUTHS = {"true": 1.0, "false": 0.0}
# Texts of numbers, as the command line and the SQL of a model read them.
NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf(inity)?", re.ASCII | re.IGNORECASE
)


def missing_cells(column: Any) -> np.ndarray:
    """Which cells of a column of objects are missing, (n_rows,) bool."""
    if hasattr(column, "isna"):  # pandas decides for its own columns
        return np.asarray(column.isna())
    return np.array([is_missing(item) for item in np.asarray(column, dtype=object)], bool)


def is_missing(cell: Any) -> bool:
    """Whether an object is None, NaN, NaT, or the missing value of pandas."""
    if isinstance(cell, float | np.floating):
        return math.isnan(cell)
    if isinstance(cell, np.datetime64):
        return bool(np.isnat(cell))
    return cell is None or type(cell).__name__ in ("NAType", "NaTType")
