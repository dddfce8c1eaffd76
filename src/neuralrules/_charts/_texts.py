"""Names and numbers as charts and pages write them for people."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from neuralrules._data._columns import Category
from neuralrules._data._encoder import Encoder
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._notation import column_label, number

DIGITS = 3  # significant digits of numbers that people read
SHORT_FROM = 1e5  # from this number on, digits are hard to count and numbers get a unit
UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
POWERS_FROM = 1e12
NAME_LENGTH = 40  # characters of a name in a chart
CLASS_LENGTH = 24  # characters of a class in a chart
LABEL_LENGTH = 52  # characters of a sentence beside a bar
NO_BREAK = "\N{NARROW NO-BREAK SPACE}"


def short(value: float, digits: int) -> str:
    """A number in a few characters, such as 53.45G for 53451325253."""
    rounded = float(f"{value:.{digits - 1}e}")  # without this, 999999.9 would be 1000k
    size = abs(rounded)
    if not size >= SHORT_FROM:
        return minus(number(value, digits))
    if size >= POWERS_FROM:
        return minus(f"{rounded:.{digits}g}")
    unit, letter = next(pair for pair in UNITS if size >= pair[0])
    return minus(number(rounded / unit, digits)) + letter


def short_resolved(value: float, scale: float, digits: int) -> str:
    """A short number with enough digits to show fractions of `scale`, a standard deviation."""
    extra = int(np.ceil(np.log10(abs(value) / scale))) if abs(value) > scale else 0
    return short(value, min(digits + extra, 15))


def minus(text: str) -> str:
    """A number with the real minus sign: as wide as a digit, and never at the end of a line."""
    return text.replace("-", "−")


def signed(value: float, precision: int = DIGITS, *, plus: str = "+") -> str:
    """A number with its sign; `plus` is the sign of numbers that are not negative."""
    return ("−" if value < 0 else plus) + number(abs(float(value)), precision)


def cell_text(value: Any, kind: str = "number") -> str:
    """A cell of a table, or a metric."""
    if value is None:
        return "–"
    if kind == "share":
        return f"{100 * value:.1f}{NO_BREAK}%"
    if kind == "degrees":
        return f"{value:.1f}°"
    return short(float(value), {"metric": DIGITS + 1, "rough": DIGITS - 1}.get(kind, DIGITS))


def plain_text(value: float) -> str:
    """A number with all digits but without ".0" at its end, as browsers write it in inputs."""
    value = float(value)
    return repr(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)


def finite(value: Any) -> float | None:
    """A number for JSON: None for NaN and infinity, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


def count(value: float) -> str:
    """The text of a number of rows. With weights, this number may be a fraction."""
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.1f}" if value >= 1 else number(value, DIGITS)


def share_texts(shares: np.ndarray) -> list[str]:
    """Shares in percent, with enough digits to tell a share near one from 100 %."""
    texts = []
    for share in shares.tolist():
        digits = max(3, 2 + int(np.ceil(-np.log10(max(1 - share, 1e-12)))))
        texts.append(f"{float(f'{100 * share:.{digits}g}'):.12g}{NO_BREAK}%")
    return texts


def one_line(text: Any) -> str:
    """A text with spaces in place of line breaks and unprintable characters."""
    printable = "".join(letter if letter.isprintable() else " " for letter in str(text))
    return " ".join(printable.split())


def shortened(text: Any, length: int = NAME_LENGTH) -> str:
    """A text on one line; if it is longer than `length`, its end is cut off with …"""
    line = one_line(text)
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def short_name(name: Any, length: int = NAME_LENGTH) -> str:
    """A name cut in the middle: long names often differ only at one of their ends."""
    line = one_line(name)
    if len(line) <= length:
        return line
    tail = (length - 1) // 3
    return line[: length - 1 - tail].rstrip() + "…" + line[-tail:].lstrip()


def short_label(column: str, length: int = NAME_LENGTH) -> str:
    """The name of a column that stands alone, cut in the middle."""
    return short_name(column_label(column), length)


def with_short_names(fitted: Fitted, length: int = 20) -> Fitted:
    """A copy of a fitted model whose texts have short names of columns and categories."""
    encoder = fitted.encoder
    columns = [
        replace(column, category=short_name(column.category, length))
        if isinstance(column, Category) and column.category is not None
        else column
        for column in encoder.columns
    ]
    names = [short_name(name, length) for name in encoder.names]
    return replace(fitted, encoder=Encoder(names=names, columns=columns))


def plain_value(value: Any) -> Any:
    """The Python object for a NumPy scalar; any other value stays as it is."""
    return value.item() if isinstance(value, np.generic) else value


def class_name(label: Any) -> str:
    """The name of a class in a legend, a title or on an axis."""
    return f"class {short_name(plain_value(label), CLASS_LENGTH)}"


def output_name(fitted: Fitted, place: int) -> str:
    """The name of an output, such as "class malignant", "prediction" or "target 1".

    If the loss has a link, the text says how predictions are computed from the output x:
    "x, where prediction = exp(x)".
    """
    classes = fitted.task.classes
    if classes is not None:
        return class_name(classes[1] if len(classes) == 2 else classes[place])
    link, single = fitted.task.loss.link, fitted.network.n_outputs == 1
    if link.is_identity:
        return "prediction" if single else f"target {place}"
    of = "" if single else f" of target {place}"
    return f"x, where prediction{of} = {link.function}(x)"
