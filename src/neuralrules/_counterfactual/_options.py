"""The options of a search: positions in the place of column names, and their checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from neuralrules._data._encoding import Encoder
from neuralrules._data._one_row import column_position


@dataclass(frozen=True)
class Options:
    """The options of `counterfactual` by column position; see there."""

    units: dict[int, Any]
    fixed: set[int]
    integer: set[int] | None
    bounds: dict[int, Any]


def read_options(
    encoder: Encoder, units: Any, fixed: Any, integer: Any, bounds: Any
) -> Options:
    """The options with positions in the place of column names."""
    names = encoder.names

    def values(option: str, given: Any) -> dict[int, Any]:
        if not isinstance(given, Mapping):
            raise TypeError(
                f"{option} must be a dict from column to value, got {given!r}. "
                f"For example {option}={{{names[0]!r}: ...}}."
            )
        return {column_position(encoder, option, key): given[key] for key in given}

    def positions(option: str, given: Any) -> set[int]:
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise TypeError(
                f"{option} must be a list of columns, got {given!r}. "
                f"For example {option}=[{names[0]!r}]."
            )
        return {column_position(encoder, option, key) for key in given}

    options = Options(
        units=values("units", {} if units is None else units),
        fixed=positions("fixed", fixed),
        integer=None if integer is None else positions("integer", integer),
        bounds=values("bounds", {} if bounds is None else bounds),
    )
    if len(options.fixed) == len(names):
        raise ValueError(
            f"fixed names all of the model's columns, {names}, so that nothing can change. "
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


def as_float(number: Any) -> float:
    """A real number as a float, infinite if it is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


def check_pair(option: str, given: Any) -> tuple[float, float]:
    """A pair (low, high) of numbers or None as two floats, infinite for None."""
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
