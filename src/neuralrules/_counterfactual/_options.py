"""Which columns a search may change, and how: by the user's options and by the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from neuralrules._data._encoder import Encoder
from neuralrules._data._restrictions import NEITHER, Restrictions
from neuralrules._fitted._fitted import Fitted
from neuralrules._network._restricted import of_each_output, violations

DIRECTIONS = ("increase", "decrease", "fixed", "either")


@dataclass(frozen=True)
class Options:
    """The options of `counterfactual`, by the positions of columns.

    `fixed` includes the columns whose direction is "fixed".
    """

    units: dict[int, Any]
    fixed: set[int]
    whole: set[int] | None
    bounds: dict[int, Any]
    directions: dict[int, str]

    def with_default_ways(self, ways: dict[int, str]) -> Options:
        """These options, with the directions `ways` for columns that have no direction yet."""
        return replace(self, directions={**ways, **self.directions})


def read_options(
    encoder: Encoder,
    units: Any,
    fixed: Any,
    whole: Any,
    bounds: Any,
    directions: Any = None,
) -> Options:
    """Check the user's options, and replace the names of columns by positions."""
    names = encoder.names

    def values(option: str, given: Any) -> dict[int, Any]:
        if not isinstance(given, Mapping):
            raise TypeError(
                f"{option} must be a dict from column to value, got {given!r}. "
                f"For example {option}={{{names[0]!r}: ...}}."
            )
        return {encoder.position_of(option, key): given[key] for key in given}

    def positions(option: str, given: Any) -> set[int]:
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise TypeError(
                f"{option} must be a list of columns, got {given!r}. "
                f"For example {option}=[{names[0]!r}]."
            )
        return {encoder.position_of(option, key) for key in given}

    ways = values("directions", {} if directions is None else directions)
    for position, way in ways.items():
        if not isinstance(way, str) or way not in DIRECTIONS:
            raise ValueError(
                f"directions[{names[position]!r}] must be one of {list(DIRECTIONS)}, got "
                f"{way!r}."
            )
    held = {position for position, way in ways.items() if way == "fixed"}
    options = Options(
        units=values("units", {} if units is None else units),
        fixed=positions("fixed", fixed) | held,
        whole=None if whole is None else positions("whole", whole),
        bounds=values("bounds", {} if bounds is None else bounds),
        directions=ways,
    )
    if len(options.fixed) == len(names):
        option = "directions hold" if held else "fixed names"
        raise ValueError(
            f"{option} all of the model's columns, {names}, so that nothing can change. "
            "Leave out those that may."
        )
    for position, unit in options.units.items():
        valid = isinstance(unit, Real) and not isinstance(unit, bool)
        if not valid or not 0 < as_float(unit) < np.inf:
            raise ValueError(
                f"units[{names[position]!r}] must be a positive number, got {unit!r}. To "
                "keep the column as it is, name it in fixed."
            )
    return options


def check_count(option: str, given: Any) -> int:
    """Check a number of columns or answers, which is at least 1."""
    if not isinstance(given, Integral) or isinstance(given, bool) or given < 1:
        raise ValueError(f"{option} must be a whole number of at least 1, got {given!r}.")
    return int(given)


def as_float(number: Any) -> float:
    """A real number as a float, infinite if the number is too large for a float."""
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


def check_pair(option: str, given: Any) -> tuple[float, float]:
    """Check a pair (low, high), and return two floats; None stands for infinity."""
    pair = (np.nan, np.nan)
    if isinstance(given, list | tuple | np.ndarray) and len(given) == 2:
        low, high = given
        if all(end is None or isinstance(end, Real) for end in given):
            pair = (
                -np.inf if low is None else as_float(low),
                np.inf if high is None else as_float(high),
            )
    if not pair[0] <= pair[1]:  # NaN, too
        raise ValueError(
            f"{option} must be a pair (low, high) of numbers with low <= high, None where "
            f"there is no bound; got {given!r}."
        )
    return pair


def with_promised_ways(
    options: Options,
    fitted: Fitted,
    restrictions: Restrictions | None,
    needs: Sequence[np.ndarray],
) -> Options:
    """The options, with directions added for columns in which the model is monotone.

    If the risk never rises with income, nobody should be told to earn less in order to be
    accepted. So a column with a proven direction may only move in the direction that helps,
    unless the user gives another direction. If outputs must rise above or fall below a bound,
    no cheaper answer is lost, because the other direction does not help.

    Parameters
    ----------
    options : Options
    fitted : Fitted
    restrictions : Restrictions or None
    needs : sequence of (n_outputs,) float64
        For each goal, which outputs must rise (1) or fall (-1). It is enough to reach one goal.
    """
    if restrictions is None or not restrictions.directions.any():
        return options
    directions = of_each_output(restrictions.directions, fitted.network.n_outputs)
    broken = violations(fitted.network, directions, relative=restrictions.relative)
    unproven = {column for _, column in broken}
    ways = {}
    for place, column in enumerate(fitted.encoder.columns):
        if place not in unproven and directions[place].any():
            helps = {helpful_way(directions[place], need) for need in needs}
            if helps in ({1}, {-1}):
                ways[column.source] = "increase" if helps == {1} else "decrease"
    return options.with_default_ways(ways)


def helpful_way(direction: np.ndarray, need: np.ndarray) -> int:
    """The direction of a column, 1 or -1, that helps all outputs; 0 if there is none."""
    signs = np.where(direction == NEITHER, 0, direction) * np.sign(need)
    found = set(signs[signs != 0].tolist())
    return int(found.pop()) if len(found) == 1 else 0
