"""Numbers as the report writes them for people; its script writes them in the same way."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from neuralrules._reading._numbers import number

DIGITS = 3  # significant ones of the numbers that people read
SHORT_FROM = 1e5  # where zeros become hard to count
UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
POWERS_FROM = 1e12


def short(value: float, digits: int) -> str:
    """A number of a few letters: 53.45G, not 53451325253."""
    rounded = float(f"{value:.{digits - 1}e}")  # or 999999.9 would be 1000k
    size = abs(rounded)
    if not size >= SHORT_FROM:
        return minus(number(value, digits))
    if size >= POWERS_FROM:
        return minus(f"{rounded:.{digits}g}")
    unit, letter = next(pair for pair in UNITS if size >= pair[0])
    return minus(number(rounded / unit, digits)) + letter


def short_resolved(value: float, scale: float, digits: int) -> str:
    """A short number that still tells apart parts of a column's deviation `scale`."""
    extra = int(np.ceil(np.log10(abs(value) / scale))) if abs(value) > scale else 0
    return short(value, min(digits + extra, 15))


def minus(text: str) -> str:
    """A number with the sign that is as wide as a digit and never ends a line."""
    return text.replace("-", "−")


def cell_text(value: Any, kind: str = "number") -> str:
    """A cell of a table, or a metric."""
    if value is None:
        return "–"
    if kind == "share":
        return f"{100 * value:.1f}\N{NARROW NO-BREAK SPACE}%"
    if kind == "degrees":
        return f"{value:.1f}°"
    return short(float(value), {"metric": DIGITS + 1, "rough": DIGITS - 1}.get(kind, DIGITS))


def plain_text(value: float) -> str:
    """A number as an input holds it, and a browser writes it: every digit, and no ".0"."""
    value = float(value)
    return repr(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)


def finite(value: Any) -> float | None:
    """A number for JSON, which knows no NaN and no infinity."""
    return float(value) if math.isfinite(value) else None


def count(value: float) -> str:
    """A number of rows, which weights may make a fraction."""
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.1f}" if value >= 1 else number(value, 3)


def shortened(label: Any, length: int = 24) -> str:
    """A name that has to fit into a chart."""
    text = str(label)
    return text if len(text) <= length else text[: length - 1] + "…"
