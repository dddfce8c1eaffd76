"""What the cells of a row may become, by the user's options and by the model's promises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from neuralrules._counterfactual._program import Goal
from neuralrules._data._categories import category_name, spellings
from neuralrules._data._cells import is_missing
from neuralrules._data._columns import Category, Date, Number
from neuralrules._data._dates import as_days, days_of_text, holds_dates
from neuralrules._data._encoder import Encoder
from neuralrules._data._numbers import LARGEST
from neuralrules._data._restrictions import NEITHER, Restrictions, places
from neuralrules._data._table import is_frame
from neuralrules._fitted._fitted import Fitted
from neuralrules._network._restricted import of_each_output, violations

DIRECTIONS = ("increase", "decrease", "fixed", "either")
UNIT_RANGE = 1e6  # the largest factor between a user's unit of a column and the usual unit


class Options(NamedTuple):
    """The options of `counterfactual`, by the positions of columns.

    `fixed` includes the columns whose direction is "fixed".
    """

    units: dict[int, Any]
    fixed: set[int]
    whole: set[int] | None
    bounds: dict[int, Any]
    directions: dict[int, str]


@dataclass(frozen=True)
class CellChoices:
    """One column of the user's table, and what its cell may become.

    Attributes
    ----------
    name : str
    unit : float
        A change of a number by one unit costs 1. A switch to another category costs 1 / unit.
    categories : tuple of str
        The categories that the cell may switch to; empty for a number.
    number : float or None
        The cell, NaN if it is missing; None for a column of categories.
    low, high : float
        The range of the new number: the column's range in training, unless the user says
        otherwise, and never outside what the column's dtype can hold.
    whole : bool
        Whether a new number must be whole.
    """

    name: str
    unit: float
    categories: tuple[str, ...] = ()
    number: float | None = None
    low: float = 0.0
    high: float = 0.0
    whole: bool = False

    def going(self, way: str) -> CellChoices:
        """These choices, if a number may only go one way, one of `DIRECTIONS`."""
        if self.number is None or way == "either":
            return self
        low = self.low if way == "decrease" else self.number
        high = self.high if way == "increase" else self.number
        return replace(self, low=low, high=high)

    def cost(self, after: Any) -> float:
        """The cost of changing the cell."""
        return (1 if self.number is None else abs(as_number(after) - self.number)) / self.unit


def read_options(
    encoder: Encoder,
    units: Any = None,
    fixed: Any = (),
    whole: Any = None,
    bounds: Any = None,
    directions: Any = None,
) -> Options:
    """Check the user's options, and replace the names of columns by positions."""
    names = encoder.names

    def by_position(option: str, given: Any) -> dict[int, Any]:
        given = {} if given is None else given
        if not isinstance(given, Mapping):
            raise TypeError(
                f"{option} must be a dict from column to value, got {given!r}. "
                f"For example {option}={{{names[0]!r}: ...}}."
            )
        return {encoder.position_of(option, key): given[key] for key in given}

    ways = by_position("directions", directions)
    for position, way in ways.items():
        if not isinstance(way, str) or way not in DIRECTIONS:
            raise ValueError(
                f"directions[{names[position]!r}] must be one of {list(DIRECTIONS)}, got "
                f"{way!r}."
            )
    held = {position for position, way in ways.items() if way == "fixed"}
    stays = places("fixed", encoder, fixed) | held
    if len(stays) == len(names):
        option = "directions hold" if held else "fixed names"
        raise ValueError(
            f"{option} all of the model's columns, {names}, so that nothing can change. "
            "Leave out those that may."
        )
    return Options(
        units=by_position("units", units),
        fixed=stays,
        whole=None if whole is None else places("whole", encoder, whole),
        bounds=by_position("bounds", bounds),
        directions=ways,
    )


def read_choices(encoder: Encoder, table: Any, options: Options) -> list[CellChoices]:
    """What the cell of each column of a table of one row may become."""
    return [
        number_choices(encoder, table, position, options)
        if isinstance(encoder.columns_of(position)[0], Number)
        else category_choices(encoder, table, position, options)
        for position in range(len(encoder.names))
    ]


def number_choices(
    encoder: Encoder, table: Any, position: int, options: Options
) -> CellChoices:
    """What a cell of a column of numbers may become."""
    name, column = encoder.names[position], encoder.columns_of(position)[0]
    kind, lowest, highest = kept_by_dtype(table, position)
    number = float(encoder.numbers(table, position)[0])
    whole = (
        kind == "boolean"  # it can only become 0 or 1
        or (isinstance(column, Date) and not number % 1)  # a date without a time of day
        or (kind == "integer" and options.whole != set())
        or position in (options.whole or ())
    )
    if position in options.bounds:
        given = options.bounds[position]
        is_pair = isinstance(given, list | tuple) and len(given) == 2
        ends = [*map(as_number, given)] if isinstance(column, Date) and is_pair else given
        low, high = check_pair(f"bounds[{name!r}]", ends)
        if not np.isnan(number) and not low <= number <= high:
            raise ValueError(
                f"bounds[{name!r}]={given!r} leave out the row's own value {number:g}. "
                "Widen them, or change x first."
            )
    else:
        # The training range keeps the search from recommending -1 late payments. It is widened
        # to the row's number. A missing number, NaN, has no effect: it has no moves.
        low = min(column.lowest if column.lowest > -LARGEST else -np.inf, number)
        high = max(column.highest if column.highest < LARGEST else np.inf, number)
    unit = unit_of(options, position, name, 1.0 if kind == "boolean" else column.scale)
    low, high = max(lowest, low), min(highest, high)
    choices = CellChoices(name, unit, (), number, low, high, whole)
    fixed = position in options.fixed
    return choices.going("fixed" if fixed else options.directions.get(position, "either"))


def category_choices(
    encoder: Encoder, table: Any, position: int, options: Options
) -> CellChoices:
    """What a cell of a column of categories may become."""
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
    unit = unit_of(options, position, name, 1.0)
    if position in options.fixed:
        return CellChoices(name, unit)
    return CellChoices(name, unit, tuple(category for category in wanted if category != now))


def unit_of(options: Options, position: int, name: str, usual: float) -> float:
    """The change of a column that costs 1: the user's unit or, without one, the usual unit.

    A unit far from the usual unit is refused, because the solver would have to compare numbers
    of very different sizes.
    """
    given = options.units.get(position, usual)
    valid = isinstance(given, Real) and not isinstance(given, bool)
    if not valid or not 0 < as_float(given) < np.inf:
        raise ValueError(
            f"units[{name!r}] must be a positive number, got {given!r}. To keep the column as "
            "it is, name it in fixed."
        )
    unit, low, high = float(given), usual / UNIT_RANGE, usual * UNIT_RANGE
    if not low <= unit <= high:
        raise ValueError(
            f"units[{name!r}] must lie between {low:.3g} and {high:.3g}, a factor of "
            f"{UNIT_RANGE:g} from the usual {usual:.3g}, for the search to weigh it against "
            f"other columns; got {unit!r}. To keep the column as it is, name it in fixed."
        )
    return unit


def promised_ways(
    fitted: Fitted, restrictions: Restrictions | None, goals: Sequence[Goal]
) -> dict[int, str]:
    """The directions that help in columns in which the model is monotone, by position.

    If the risk never rises with income, nobody should be told to earn less in order to be
    accepted. So a column with a proven direction may only move in the direction that helps,
    unless the user gives another direction. If outputs must rise above or fall below a bound,
    no cheaper answer is lost, because the other direction does not help. It is enough to reach
    one of the goals.
    """
    if restrictions is None or not restrictions.directions.any():
        return {}
    directions = of_each_output(restrictions.directions, fitted.network.n_outputs)
    broken = violations(fitted.network, directions, relative=restrictions.relative)
    unproven = {column for _, column in broken}
    ways = {}
    for place, column in enumerate(fitted.encoder.columns):
        if place not in unproven and directions[place].any():
            helps = {helpful_way(directions[place], goal.need) for goal in goals}
            if helps in ({1}, {-1}):
                ways[column.source] = "increase" if helps == {1} else "decrease"
    return ways


def helpful_way(direction: np.ndarray, need: np.ndarray) -> int:
    """The direction of a column, 1 or -1, that helps all outputs; 0 if there is none."""
    signs = np.where(direction == NEITHER, 0, direction) * need
    found = set(signs[signs != 0].tolist())
    return int(found.pop()) if len(found) == 1 else 0


def check_pair(option: str, given: Any) -> tuple[float, float]:
    """Check a pair (low, high), and return two floats; None stands for infinity."""
    low = high = np.nan
    is_pair = isinstance(given, list | tuple | np.ndarray) and len(given) == 2
    if is_pair and all(end is None or isinstance(end, Real) for end in given):
        low = -np.inf if given[0] is None else as_float(given[0])
        high = np.inf if given[1] is None else as_float(given[1])
    if not low <= high:  # NaN, too
        raise ValueError(
            f"{option} must be a pair (low, high) of numbers with low <= high, None where "
            f"there is no bound; got {given!r}."
        )
    return low, high


def as_float(number: Any) -> float:
    """A real number as a float, infinite if the number is too large for a float."""
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


def as_number(cell: Any) -> Any:
    """A cell as a number: dates and texts of dates become days. None and other texts stay."""
    if isinstance(cell, str):
        days = days_of_text(cell)
        return cell if days is None else days
    if cell is None:
        return None
    one = np.array([cell])
    return float(as_days(one)[0]) if holds_dates(one) else float(cell)


def cell_at(table: Any, position: int) -> Any:
    """The cell of a table of one row, as a Python object."""
    cell = table.iloc[0, position] if hasattr(table, "iloc") else table[0, position]
    return cell.item() if isinstance(cell, np.generic) else cell


def kept_by_dtype(table: Any, position: int) -> tuple[str, float, float]:
    """Whether a dtype is "integer", "boolean" or "other", and the floats that it keeps exactly.

    The second and third result are the smallest and the largest of these floats.
    """
    dtype = list(table.dtypes)[position] if is_frame(table) else table.dtype
    name = dtype.name if isinstance(dtype, np.dtype) else str(dtype)  # not ">i4"
    name = name.lower().removesuffix("[pyarrow]")  # pandas' and polars' UInt8 are "uint8", too
    if name.startswith("bool"):
        return "boolean", 0.0, 1.0
    if not name.startswith(("int", "uint")):
        return "other", -np.inf, np.inf
    try:
        limits = np.iinfo(name)
    except TypeError:  # polars' integers of 128 bits, whose range exceeds that of any network
        return "integer", -np.inf, np.inf
    high = float(limits.max)
    # As a float, the largest integer of 64 bits is rounded up to a number that is too large.
    high = high if int(high) <= limits.max else float(np.nextafter(high, 0))
    return "integer", float(limits.min), high
