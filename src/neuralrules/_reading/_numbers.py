"""Numbers as text for people, with only the digits that have a meaning."""

from __future__ import annotations

import numpy as np

MAX_PRECISION = 17  # significant digits of a float64


def number(value: float, precision: int) -> str:
    """A number with `precision` significant digits, as 1.2e+20 only if it is huge or tiny."""
    precision = min(precision, MAX_PRECISION)
    # More than six extra digits before the point would be noise that hides the size.
    if value == 0 or not 1e-4 <= abs(value) < min(10.0 ** (precision + 6), 1e15):
        return f"{value:.{precision}g}"
    decimals = max(precision - 1 - int(np.floor(np.log10(abs(value)))), 0)
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def resolved(value: float, scale: float, precision: int) -> str:
    """A number with enough digits to tell apart parts of `scale`, a column's deviation."""
    if abs(value) < 10.0 ** -(precision + 3) * scale:  # a 0 but for rounding of float32
        return "0"
    extra = int(np.ceil(np.log10(abs(value) / scale))) if abs(value) > scale else 0
    return number(value, precision + extra)


def rounded(value: float, unit: float, precision: int) -> str:
    """A number rounded to `precision` digits, counted from the first digit of `unit`.

    Digits before the point are rounded too: if the deviation is 17000, 35259 becomes 35300.
    """
    place = int(np.floor(np.log10(unit))) - min(precision, MAX_PRECISION) + 1
    shown = round(value, -place) + 0.0  # never -0
    if not 1e-4 <= abs(shown) < 1e15:
        return number(shown, precision)
    text = f"{shown:.{min(max(-place, 0), MAX_PRECISION)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
