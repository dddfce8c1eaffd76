"""Write new numbers and categories into a row, in the types of its cells."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np

from neuralrules._data._categories import category_name
from neuralrules._data._dates import DAY, holds_dates
from neuralrules._data._table import is_frame


def write_cells(table: Any, cells: dict[int, Any]) -> Any:
    """A copy of a table of one row with some cells changed; keeps the dtypes if possible."""
    if hasattr(table, "iloc"):
        table = table.copy()
        for position, cell in cells.items():
            table.isetitem(position, _pandas_column(table.iloc[:, position], cell))
        return table
    if is_frame(table):
        return table.with_columns(
            [_polars_column(table[table.columns[i]], cell) for i, cell in cells.items()]
        )
    new = list(cells.values())
    if table.dtype.kind in "US" or any(isinstance(cell, str) for cell in new):
        # An array of texts would cut a longer category, and an array of floats holds no texts.
        table = table.astype(object)
    elif table.dtype.kind in "iub" and not all(cell.is_integer() for cell in new):
        table = table.astype(np.float64)
    table = table.copy()
    for position, cell in cells.items():
        before = table[0, position]
        if holds_dates(np.array([before])):
            table[0, position] = _date_like(before, cell)
        else:
            table[0, position] = _like(before, cell) if isinstance(cell, str) else cell
    return table


def _date_like(before: Any, days: float) -> Any:
    """The date that is `days` after 1970-01-01, as an object of the type of `before`."""
    moment = np.datetime64(round(days * DAY), "us")
    if isinstance(before, np.datetime64):
        return moment
    return moment.item() if isinstance(before, datetime) else moment.item().date()


def _like(before: Any, category: str) -> Any:
    """A category as an object of the type of `before`, or as text if this is not possible."""
    try:
        cell = type(before)(category)
    except (TypeError, ValueError):
        return category
    return cell if category_name(cell) == category else category


def _pandas_column(column: Any, cell: Any) -> Any:
    """A pandas column of one cell with a new content."""
    series, dtype, name = type(column), column.dtype, str(column.dtype)
    if name == "category":
        named = {category_name(item): item for item in dtype.categories}
        if cell not in named:
            dtype = type(dtype)([*dtype.categories, cell], dtype.ordered)
        return series([named.get(cell, cell)], column.index, dtype)
    if isinstance(cell, str):
        new = _like(column.iloc[0], cell)
        keeps = isinstance(new, type(column.iloc[0])) or dtype.kind == "O"
        return series([new], column.index, dtype if keeps else None)
    if holds_dates(column):
        return _pandas_dates(column, cell)
    if name.lower().startswith(("int", "uint")) and not cell.is_integer():
        return series([cell], column.index, "Float64" if name[0] in "IU" else float)
    return series([cell], column.index, float).astype(dtype)


def _pandas_dates(column: Any, days: float) -> Any:
    """A pandas column of one date, which is `days` after 1970-01-01."""
    if column.dtype == object:
        return type(column)([_date_like(column.iloc[0], days)], column.index, object)
    moment = type(column)([np.datetime64(round(days * DAY), "us")], column.index)
    arrow = getattr(column.dtype, "pyarrow_dtype", None)
    zone = getattr(column.dtype, "tz", None) or getattr(arrow, "tz", None)
    if zone is not None:
        return moment.dt.tz_localize("UTC").dt.tz_convert(zone).astype(column.dtype)
    return moment.astype(column.dtype)


def _polars_column(column: Any, cell: Any) -> Any:
    """A polars column of one cell with a new content."""
    series, dtype = type(column), column.dtype
    if isinstance(cell, str):
        new = series(column.name, [_like(column[0], cell)])
        if str(dtype).startswith(("Categorical", "Enum")):
            typed = new.cast(dtype, strict=False)
            return new if typed[0] is None else typed  # an Enum may lack the category
        return new
    if dtype.is_temporal():
        moment = series(column.name, [np.datetime64(round(cell * DAY), "us").item()])
        zone = getattr(dtype, "time_zone", None)
        if zone is not None:
            moment = moment.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        return moment.cast(dtype)
    keeps = cell.is_integer() or dtype.is_float()
    new = series(column.name, [cell])
    return new.cast(dtype) if keeps else new
