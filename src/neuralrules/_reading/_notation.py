"""Names and numbers as texts show them.

A name that is one word stands as it is. A whole number becomes ``column 3``, and any other name
is quoted. Without this, ``0 ≤ 0.5`` and ``a - b > 3`` would read as arithmetic. A number has
only the digits that have a meaning.
"""

from __future__ import annotations

import numpy as np

MAX_PRECISION = 17  # significant digits of a float64


def in_formula(name: str) -> str:
    """A column's name inside an inequality, a sum or a sentence."""
    return column_label(name) if is_number(name) else quoted_unless_word(name)


def column_label(name: str) -> str:
    """A column's name that stands alone, beside a bar, an axis or an input."""
    return f"column {name}" if is_number(name) else name


def category_text(category: str) -> str:
    """A category as text; a number needs no quotes, because the text stands after "="."""
    return category if is_number(category) else quoted_unless_word(category)


def is_number(name: str) -> bool:
    """Whether a name is a whole number, such as a frame gives to columns without names."""
    return name.isascii() and name.isdecimal()


def quoted_unless_word(name: str) -> str:
    """A name in quotes, unless it is one word; "…", for letters cut out, counts as a letter."""
    if name.replace("…", "_").isidentifier():
        return name
    return '"' + printable(name).replace('"', '\\"') + '"'


def printable(name: str) -> str:
    """A name on one line: after a line break, its rest would look like the next rule."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)


def is_utf8(text: str) -> bool:
    """Whether a text has no lone surrogates, which only Python's strings can hold."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


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
