"""Checks of parameters, and of optional packages when they are needed."""

from __future__ import annotations

import importlib
from numbers import Integral
from typing import Any


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number and not a boolean."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_whole(name: str, value: Any, least: int, example: int | None = None) -> int:
    """Check for a whole number of at least `least`; the message may name an `example`."""
    if not is_whole(value) or value < least:
        good = "" if example is None else f", for example {name}={example}"
        raise ValueError(f"{name}={value!r} must be a whole number of at least {least}{good}.")
    return int(value)


def check_position(name: str, value: Any, n: int, things: str) -> int:
    """Check for a whole number from 0 to n - 1: the position of one of `n` things."""
    if not is_whole(value) or not 0 <= value < n:
        raise ValueError(
            f"{name}={value!r} is not one of the {n} {things}. "
            f"Give a whole number from 0 to {n - 1}."
        )
    return int(value)


def import_pandas(what: str) -> Any:
    """pandas, or an error that says how to get it. `what` is what needs it."""
    return import_extra("pandas", "frames", f"{what} needs pandas, which is not installed.")


def import_extra(package: str, extra: str, problem: str) -> Any:
    """An optional package, or an error that states the problem and how to get the package."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f'{problem} Install it with: pip install "neuralrules[{extra}]"'
        ) from error
