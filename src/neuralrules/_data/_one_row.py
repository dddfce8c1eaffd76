"""One row alone, in whatever form a user has it, as a table of one row."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

from neuralrules._data._encoding import Encoder
from neuralrules._io._frames import import_pandas


def is_one_row(X: Any) -> bool:
    """Whether X is one row alone: a dict, a Series, or something of one dimension."""
    if has_names(X):
        return True
    if isinstance(X, list | tuple):
        return not any(isinstance(cell, list | tuple | np.ndarray) for cell in X)
    return getattr(X, "ndim", 2) == 1


def has_names(x: Any) -> bool:
    """Whether x is a dict or a Series: cells by name."""
    return isinstance(x, Mapping) or (hasattr(x, "index") and hasattr(x, "to_frame"))


def as_table(encoder: Encoder, x: Any) -> Any:
    """One row as a table; what is no row alone stays as it is."""
    if not is_one_row(x):
        return x
    if has_names(x):
        return from_names(encoder, dict(x.items()))
    return x[None, :] if isinstance(x, np.ndarray) else [list(x)]


def from_names(encoder: Encoder, cells: dict[Any, Any]) -> Any:
    """Cells by column name as a table: a pandas frame if the model was fitted on a frame."""
    names = encoder.names
    by_position = {column_position(encoder, "x", key): cells[key] for key in cells}
    lacking = [name for i, name in enumerate(names) if i not in by_position]
    if lacking:
        raise ValueError(
            f"x lacks the columns {lacking}. Give each of {names} a value, NaN if it is "
            "missing."
        )
    ordered = [by_position[position] for position in range(len(names))]
    numbered = [f"x{position}" for position in range(len(names))]
    if names == numbered and not encoder.named:
        return [ordered]  # fitted on an array
    pd = import_pandas("x as a dict, for a model that was fitted on a frame,")
    keys = {column_position(encoder, "x", key): key for key in cells}
    frame = pd.DataFrame({keys[i]: pd.Series([cell]) for i, cell in enumerate(ordered)})
    return frame.infer_objects()


def column_position(encoder: Encoder, option: str, key: Any) -> int:
    """The place of a column given by name or, if the fit had no names, by number."""
    names = encoder.names
    if str(key) in names:
        return names.index(str(key))
    if not encoder.named and isinstance(key, Integral) and int(key) in range(len(names)):
        return int(key)
    also = "" if encoder.named else f" or the numbers 0 to {len(names) - 1}"
    raise ValueError(
        f"{option} names the column {key!r}, which the model was not fitted on. "
        f"Its columns are {names}{also}."
    )
