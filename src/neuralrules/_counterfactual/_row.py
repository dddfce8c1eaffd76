"""How one row may move, and the row after a move, in the types of its cells."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from neuralrules._counterfactual._ball import Moves
from neuralrules._counterfactual._choices import CellChoices
from neuralrules._data._categories import category_name
from neuralrules._data._cells import is_missing
from neuralrules._data._columns import Category, EncodedColumn, Number
from neuralrules._data._dates import DAY, holds_dates
from neuralrules._data._encoder import Encoder
from neuralrules._data._scaling import Knots
from neuralrules._data._table import is_frame
from neuralrules._reading._notation import number as number_text

TINY = 1e-9  # smaller changes, in units of the column, are rounding errors of the solver


class Move(NamedTuple):
    """One way to change a cell. The program chooses by which amount each move is made.

    Attributes
    ----------
    position : int
        The column.
    category : str or None
        The category that an amount of 1 switches the cell to; None for a number.
    step : float
        What an amount of 1 adds to a number; 0 for a category.
    effect : ndarray of shape (n_features,), float64
        See `Moves` for this and the rest.
    """

    position: int
    category: str | None
    step: float
    effect: np.ndarray
    rate: float
    most: float
    whole: bool
    first: float
    segment: int = -1


def moves_of(
    encoder: Encoder, features: np.ndarray, row: np.ndarray, columns: list[CellChoices]
) -> tuple[Moves, list[Move]]:
    """All moves of a row that can change an output of the network, as arrays and one by one.

    `features` (n_features,) are the encoded columns that the network looks at, and `row`
    (n_features,) float64 holds their values.
    """
    seen = [encoder.columns[feature] for feature in features]
    found = [
        move
        for position, column in enumerate(columns)
        for move in moves_of_column(position, column, seen, row)
        # Keep segments that change nothing: other segments can only be reached through them.
        if move.segment >= 0 or (move.effect.any() and move.most > 0)
    ]
    limits = np.array([move[4:] for move in found], float).reshape(-1, 5)
    rates, most, whole, first, segments = limits.T
    moves = Moves(
        effects=np.array([move.effect for move in found]).reshape(len(found), len(row)),
        rates=rates,
        most=most,
        whole=whole.astype(bool),
        first=first,
        groups=np.array([move.position for move in found], np.int64),
        segments=segments.astype(np.int64),
    )
    return moves, found


def moves_of_column(
    position: int, column: CellChoices, seen: list[EncodedColumn], row: np.ndarray
) -> Iterator[Move]:
    """The moves of one cell, if the network sees the encoded columns `seen`."""
    own = np.array([encoded.source == position for encoded in seen], bool)
    for category in column.categories:
        held = [isinstance(one, Category) and one.category == category for one in seen]
        after = [(on - one.mean) / one.scale for on, one in zip(held, seen, strict=True)]
        effect = np.where(own, np.array(after) - row, 0)
        yield Move(position, category, 0.0, effect, 1 / column.unit, 1.0, True, 1.0)
    own &= np.array([isinstance(encoded, Number) for encoded in seen], bool)
    if column.number is not None and not np.isnan(column.number) and own.any():
        encoded = seen[own.argmax()]
        ways = straight_moves if encoded.knots is None else bent_moves
        for step, effect, *limits in ways(column, column.number, encoded):
            yield Move(position, None, step, np.where(own, effect, 0), *limits)


def straight_moves(
    column: CellChoices, number: float, encoded: EncodedColumn
) -> Iterator[tuple[Any, ...]]:
    """The ways up and down of a standardised number: `Move` from its step on."""
    step = 1.0 if column.whole else encoded.scale
    for sign in (1, -1):
        room = column.high - number if sign > 0 else number - column.low
        first = 1 - (sign * number) % 1 if column.whole else 1.0
        effect = sign * step / encoded.scale
        yield sign * step, effect, step / column.unit, room / step, column.whole, first


def bent_moves(
    column: CellChoices, number: float, encoded: EncodedColumn
) -> Iterator[tuple[Any, ...]]:
    """The segments of a number scaled by quantiles, up and down: `Move` from its step on."""
    assert encoded.knots is not None
    for sign in (1, -1):
        points = way(column, number, encoded.knots, sign)
        heights = encoded.knots.scaled(np.array(points))
        if heights[0] == heights[-1]:
            continue
        for segment, (start, stop) in enumerate(pairwise(points)):
            length, rise = abs(stop - start), float(heights[segment + 1] - heights[segment])
            most = length if column.whole else 1.0
            first = 1 - (sign * start) % 1 if column.whole else 1.0
            rate = length / most / column.unit
            yield (stop - start) / most, rise / most, rate, most, column.whole, first, segment


def way(column: CellChoices, number: float, knots: Knots, sign: int) -> list[float]:
    """The points where the slope of a scaled number may change, on its way up (1) or down (-1).

    The first point is the number itself. The last point is the end of its range or, if this
    comes earlier, the last knot, because nothing changes beyond it. If the number must be
    whole, the points are the whole numbers on both sides of each knot: between two such points,
    the scaled whole numbers lie on a line.
    """
    bends = np.array(knots.x)
    if column.whole:
        bends = np.unique([np.floor(bends), np.ceil(bends)])
    end = min(column.high, bends[-1]) if sign > 0 else max(column.low, bends[0])
    passed = (sign * bends > sign * number) & (sign * bends < sign * end)
    ends = [float(end)] if sign * end > sign * number else []
    return [number, *bends[passed][::sign].tolist(), *ends]


def changed_cells(
    columns: list[CellChoices], moves: list[Move], amounts: np.ndarray
) -> dict[int, Any]:
    """New numbers and categories by column position, without changes smaller than TINY."""
    cells: dict[int, Any] = {}
    shifts: dict[int, float] = {}
    for move, amount in zip(moves, amounts, strict=True):
        if move.category is None:
            shifts[move.position] = shifts.get(move.position, 0.0) + move.step * amount
        elif amount > 0.5:
            cells[move.position] = move.category
    for position, shift in shifts.items():
        column = columns[position]
        if abs(shift) < TINY * column.unit or column.number is None:
            continue
        number = column.number + shift
        number = float(np.round(number)) if column.whole else number
        cells[position] = float(np.clip(number, column.low, column.high))
    return {
        position: cell for position, cell in cells.items() if cell != columns[position].number
    }


def cell_text(cell: Any, precision: int = 6) -> str:
    """A cell or a prediction for people to read."""
    if isinstance(cell, Real) and not isinstance(cell, bool | np.bool_ | Integral):
        return "missing" if np.isnan(float(cell)) else number_text(float(cell), precision)
    return "missing" if is_missing(cell) else str(cell).removesuffix(" 00:00:00")


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
