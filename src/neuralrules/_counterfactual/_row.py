"""One row of a user's table: how its cells may change, and the row after a change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from neuralrules._counterfactual._ball import Moves
from neuralrules._counterfactual._options import Options, check_pair
from neuralrules._data._categories import category_name, spellings
from neuralrules._data._cells import is_missing
from neuralrules._data._columns import Category, Date, EncodedColumn, Number
from neuralrules._data._dates import as_days, days_of_text, holds_dates
from neuralrules._data._encoder import Encoder
from neuralrules._data._numbers import LARGEST
from neuralrules._data._scaling import Knots
from neuralrules._data._table import is_frame
from neuralrules._reading._numbers import number as number_text

TINY = 1e-9  # smaller changes, in units of the column, are rounding errors of the solver
UNIT_RANGE = 1e6  # the largest factor between a user's unit of a column and the usual unit


@dataclass(frozen=True)
class CellChoices:
    """One column of the user's table, and what its cell may become.

    Attributes
    ----------
    name : str
    number : float or None
        The cell, NaN if it is missing; None for a column of categories.
    unit : float
        A change of a number by one unit costs 1. A switch to another category costs 1 / unit.
    low, high : float
        The range of the new number: the column's range in training, unless the user says
        otherwise, and never outside what the column's dtype can hold.
    whole : bool
        Whether a new number must be whole.
    categories : tuple of str
        The categories that the cell may switch to; empty for a number.
    """

    name: str
    number: float | None
    unit: float
    low: float
    high: float
    whole: bool
    categories: tuple[str, ...]

    def cost(self, before: Any, after: Any) -> float:
        """The cost of changing a cell of this column."""
        if self.number is None:
            return 1 / self.unit
        return abs(_as_number(after) - _as_number(before)) / self.unit


class Move(NamedTuple):
    """One way to change a cell. The program chooses by which amount each move is made.

    Attributes
    ----------
    position : int
        The column.
    step : float
        What an amount of 1 adds to a number; 0 for a category.
    category : str or None
        The category that an amount of 1 switches the cell to; None for a number.
    """

    position: int
    step: float
    category: str | None


class Limit(NamedTuple):
    """The cost of a move and how far it goes: one row of the arrays of `Moves`."""

    rate: float
    most: float
    whole: bool
    first: float
    segment: int = -1


def read_columns(encoder: Encoder, table: Any, options: Options) -> list[CellChoices]:
    """How the cell of each column may change."""
    columns = []
    for position in range(len(encoder.names)):
        encoded = encoder.columns_of(position)[0]
        columns.append(
            _number_column(encoder, encoded, table, options)
            if isinstance(encoded, Number)
            else _category_column(encoder, table, position, options)
        )
    return columns


def _number_column(
    encoder: Encoder, encoded: Number, table: Any, options: Options
) -> CellChoices:
    position = encoded.source
    name, kind = encoder.names[position], _kind(table, position)
    cell = cell_at(table, position)
    marked = bool(encoder.missing) and np.isnan(encoder.numbers(table, position)[0])
    number = np.nan if is_missing(cell) or marked else _as_number(cell)
    low, high = _dtype_range(table, position)
    whole = (
        kind == "boolean"  # it can only become 0 or 1
        or (isinstance(encoded, Date) and not number % 1)  # a date without a time of day
        or (kind == "integer" and options.whole != set())
        or position in (options.whole or ())
    )
    if position in options.bounds:
        given = options.bounds[position]
        are_dates = isinstance(encoded, Date) and is_pair(given)
        ends = [*map(_as_number, given)] if are_dates else given
        pair = check_pair(f"bounds[{name!r}]", ends)
        if not np.isnan(number) and not pair[0] <= number <= pair[1]:
            raise ValueError(
                f"bounds[{name!r}]={given!r} leave out the row's own value {number:g}. "
                "Widen them, or change x first."
            )
    else:
        # The training range keeps the search from recommending -1 late payments.
        pair = _usual_range(encoded, number)
    low, high = max(low, pair[0]), min(high, pair[1])
    # A missing number has no moves, so that its range, which may be NaN, is not used.
    way = options.directions.get(position)
    if position in options.fixed or way == "increase":
        low = number
    if position in options.fixed or way == "decrease":
        high = number
    usual = 1.0 if kind == "boolean" else encoded.scale
    unit = _unit(options, position, name, usual)
    return CellChoices(name, number, unit, low, high, whole, ())


def _usual_range(column: Number, number: float) -> tuple[float, float]:
    """The column's range in training, widened to the row's number; infinite if unknown."""
    low = column.lowest if column.lowest > -LARGEST else -np.inf
    high = column.highest if column.highest < LARGEST else np.inf
    return min(low, number), max(high, number)  # a missing number, NaN, has no effect


def is_pair(given: Any) -> bool:
    return isinstance(given, list | tuple) and len(given) == 2


def _as_number(cell: Any) -> Any:
    """A cell as a number: dates and texts of dates become days. None and other texts stay."""
    if isinstance(cell, str):
        days = days_of_text(cell)
        return cell if days is None else days
    if cell is None:
        return None
    one = np.array([cell])
    return float(as_days(one)[0]) if holds_dates(one) else float(cell)


def _unit(options: Options, position: int, name: str, usual: float) -> float:
    """The change of a column that costs 1: the user's unit or, without one, the usual unit.

    A unit far from the usual unit is refused, because the solver would have to compare numbers
    of very different sizes.
    """
    unit = float(options.units.get(position, usual))
    low, high = usual / UNIT_RANGE, usual * UNIT_RANGE
    if not low <= unit <= high:
        raise ValueError(
            f"units[{name!r}] must lie between {low:.3g} and {high:.3g}, a factor of "
            f"{UNIT_RANGE:g} from the usual {usual:.3g}, for the search to weigh it against "
            f"other columns; got {unit!r}. To keep the column as it is, name it in fixed."
        )
    return unit


def _category_column(
    encoder: Encoder, table: Any, position: int, options: Options
) -> CellChoices:
    name = encoder.names[position]
    if position in (options.whole or ()):
        raise ValueError(
            f"whole names the column {name!r}, which holds categories. Name columns of "
            "numbers only."
        )
    if options.directions.get(position, "fixed") not in ("fixed", "either"):
        raise ValueError(
            f"directions[{name!r}] must be 'fixed' or left out, because the column holds "
            f"categories; got {options.directions[position]!r}. Name in bounds those that the "
            "cell may switch to."
        )
    known = [
        column.category
        for column in encoder.columns_of(position)
        if isinstance(column, Category) and column.category is not None
    ]
    wanted, known_as = known, spellings(known, encoder.markers.texts)
    if position in options.bounds:
        given = options.bounds[position]
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise ValueError(
                f"bounds[{name!r}] must be a list of categories, got {given!r}. The model "
                f"knows {known}."
            )
        wanted = []
        for category in map(category_name, given):
            if category not in known_as:
                raise ValueError(
                    f"bounds[{name!r}] allows {category!r}, which is none of the categories "
                    f"that the model knows: {known}."
                )
            wanted.append(str(known_as[category]))
    cell = cell_at(table, position)
    now = None if is_missing(cell) else known_as.get(category_name(cell))
    others = tuple(category for category in wanted if category != now)
    unit = _unit(options, position, name, 1.0)
    categories = () if position in options.fixed else others
    return CellChoices(name, None, unit, 0.0, 0.0, False, categories)


def _dtype_name(table: Any, position: int) -> str:
    """The dtype of a column in small letters; pandas' and polars' UInt8 are "uint8", too."""
    dtype = list(table.dtypes)[position] if is_frame(table) else table.dtype
    name = dtype.name if isinstance(dtype, np.dtype) else str(dtype)  # not ">i4"
    return name.lower().removesuffix("[pyarrow]")


def _kind(table: Any, position: int) -> str:
    """Whether a column is "integer", "boolean" or "other", by its dtype."""
    name = _dtype_name(table, position)
    if name.startswith("bool"):
        return "boolean"
    return "integer" if name.startswith(("int", "uint")) else "other"


def _dtype_range(table: Any, position: int) -> tuple[float, float]:
    """The smallest and the largest float that a column's dtype can hold exactly."""
    kind = _kind(table, position)
    if kind != "integer":
        return (0.0, 1.0) if kind == "boolean" else (-np.inf, np.inf)
    try:
        limits = np.iinfo(_dtype_name(table, position))
    except TypeError:  # polars' integers of 128 bits, whose range exceeds that of any network
        return -np.inf, np.inf
    high = float(limits.max)
    # As a float, the largest integer of 64 bits is rounded up to a number that is too large.
    return float(limits.min), high if int(high) <= limits.max else float(np.nextafter(high, 0))


def moves_of(
    encoder: Encoder, features: np.ndarray, row: np.ndarray, columns: list[CellChoices]
) -> tuple[Moves, list[Move]]:
    """All moves of a row that can change an output of the network.

    Parameters
    ----------
    encoder : Encoder
    features : ndarray of shape (n_features,), int32
        The encoded columns that the network looks at.
    row : ndarray of shape (n_features,), float64
        The values of these columns.
    columns : list of CellChoices

    Returns
    -------
    Moves
        The moves as the program takes them.
    list of Move
        What each move does to the user's table.
    """
    seen = [encoder.columns[feature] for feature in features]
    meanings: list[Move] = []
    effects: list[np.ndarray] = []
    limits: list[Limit] = []
    for position, column in enumerate(columns):
        own = np.array([encoded.source == position for encoded in seen], bool)
        for category in column.categories:
            after = [
                (is_category(encoded, category) - encoded.mean) / encoded.scale
                for encoded in seen
            ]
            meanings.append(Move(position, 0.0, category))
            effects.append(np.where(own, np.array(after) - row, 0))
            limits.append(Limit(1 / column.unit, 1.0, True, 1.0))
        if column.number is None or np.isnan(column.number) or not own.any():
            continue
        own &= np.array([isinstance(encoded, Number) for encoded in seen])
        encoded = seen[own.argmax()]
        bent = own.any() and encoded.knots is not None
        for step, effect, limit in (bent_moves if bent else straight_moves)(column, encoded):
            meanings.append(Move(position, step, None))
            effects.append(np.where(own, effect, 0))
            limits.append(limit)
    kept = [
        i
        for i, limit in enumerate(limits)
        # Keep segments that change nothing: other segments can only be reached through them.
        if limit.segment >= 0 or (effects[i].any() and limit.most > 0)
    ]
    rates, most, whole, firsts, segments = np.array([limits[i] for i in kept]).reshape(-1, 5).T
    moves = Moves(
        effects=np.array([effects[i] for i in kept]).reshape(len(kept), len(row)),
        rates=rates,
        most=most,
        whole=whole.astype(bool),
        first=firsts,
        groups=np.array([meanings[i].position for i in kept], np.int64),
        segments=segments.astype(np.int64),
    )
    return moves, [meanings[i] for i in kept]


def is_category(column: EncodedColumn, category: str) -> bool:
    """Whether an encoded column is the indicator of a category."""
    return isinstance(column, Category) and column.category == category


def straight_moves(
    column: CellChoices, encoded: EncodedColumn
) -> Iterator[tuple[float, float, Limit]]:
    """Steps, effects and limits of the moves up and down of a standardised number."""
    assert column.number is not None
    step = 1.0 if column.whole else encoded.scale
    for sign in (1, -1):
        room = column.high - column.number if sign > 0 else column.number - column.low
        first = 1 - (sign * column.number) % 1 if column.whole else 1.0
        limit = Limit(step / column.unit, room / step, column.whole, first)
        yield sign * step, sign * step / encoded.scale, limit


def bent_moves(
    column: CellChoices, encoded: EncodedColumn
) -> Iterator[tuple[float, float, Limit]]:
    """Steps, effects and limits of a number scaled by quantiles: one move per segment."""
    assert column.number is not None
    assert encoded.knots is not None
    for sign in (1, -1):
        points = way(column, encoded.knots, sign)
        heights = encoded.knots.scaled(np.array(points))
        if heights[0] == heights[-1]:
            continue
        for segment, (start, stop) in enumerate(pairwise(points)):
            length, rise = abs(stop - start), float(heights[segment + 1] - heights[segment])
            most = length if column.whole else 1.0
            first = 1 - (sign * start) % 1 if column.whole else 1.0
            limit = Limit(length / most / column.unit, most, column.whole, first, segment)
            yield (stop - start) / most, rise / most, limit


def way(column: CellChoices, knots: Knots, sign: int) -> list[float]:
    """The points where the slope of a scaled number may change, on its way up (1) or down (-1).

    The first point is the number itself. The last point is the end of its range or, if this
    comes earlier, the last knot, because nothing changes beyond it. If the number must be
    whole, the points are the whole numbers on both sides of each knot: between two such points,
    the scaled whole numbers lie on a line.
    """
    assert column.number is not None
    bends = np.array(knots.x)
    if column.whole:
        bends = np.unique([np.floor(bends), np.ceil(bends)])
    end = min(column.high, bends[-1]) if sign > 0 else max(column.low, bends[0])
    passed = (sign * bends > sign * column.number) & (sign * bends < sign * end)
    ends = [float(end)] if sign * end > sign * column.number else []
    return [column.number, *bends[passed][::sign].tolist(), *ends]


def cell_at(table: Any, position: int) -> Any:
    """The cell of a table of one row, as a Python object."""
    cell = table.iloc[0, position] if hasattr(table, "iloc") else table[0, position]
    return cell.item() if isinstance(cell, np.generic) else cell


def cell_text(cell: Any, precision: int = 6) -> str:
    """A cell or a prediction for people to read."""
    if isinstance(cell, Real) and not isinstance(cell, bool | np.bool_ | Integral):
        return "missing" if np.isnan(float(cell)) else number_text(float(cell), precision)
    return "missing" if is_missing(cell) else str(cell).removesuffix(" 00:00:00")


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
