"""The lines of a model's exact text, and names and values in them as JSON."""

from __future__ import annotations

import json
import math
from collections import deque
from typing import Any, NoReturn

import numpy as np

STRING = r'"(?:[^"\\]|\\.)*"'


def quoted(item: Any) -> str:
    """A name, category, label or number as JSON."""
    plain = item.item() if isinstance(item, np.generic) else item
    if not isinstance(plain, str | int | float):
        raise TypeError(
            f"exact_text cannot write the class {plain!r}: labels must be strings, numbers or "
            "booleans. Fit on y with such labels, for example y.astype(str)."
        )
    return json.dumps(plain)


def listed(items: Any) -> str:
    """A JSON list on one line."""
    return "[" + ", ".join(quoted(item) for item in items) + "]"


class Lines:
    """The lines of a text, one after the other, with errors that name the line."""

    def __init__(self, text: str) -> None:
        # Not splitlines: a name may hold other line breaks.
        lines = [line.rstrip() for line in text.split("\n")]
        filled = [(number, line) for number, line in enumerate(lines, 1) if line]
        self._left = deque([*filled, (len(lines), "")])
        self.number = 1  # number of the line taken last

    def peek(self) -> str:
        """The next line that is not blank, without taking it; at the end, an empty text."""
        return self._left[0][1]

    def has(self, keyword: str) -> bool:
        """Whether the next line starts with a keyword."""
        return self.peek().startswith(f"{keyword} ")

    def take(self) -> str:
        """Take the next line that is not blank; at the end, an empty text."""
        self.number, line = self._left[0]
        if line:
            self._left.popleft()
        return line

    def json(self, keyword: str) -> Any:
        """The value of a line ``keyword value``."""
        found, mark, value = self.take().partition(" ")
        if found != keyword or not mark:
            self.fail(f"expected {keyword!r}, found {shown(found + mark + value)}")
        return self.value(value)

    def value(self, text: str) -> Any:
        """Parse JSON; Python also refuses integers of thousands of digits and deep nesting."""
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            self.fail(f"{shown(text)} is not a JSON value")

    def truth(self, keyword: str) -> bool:
        """The value of a line ``keyword true`` or ``keyword false``."""
        value = self.json(keyword)
        if type(value) is not bool:
            self.fail(f"{keyword} must be true or false, not {shown(value)}")
        return value

    def numbers(self, items: Any) -> np.ndarray:
        """A JSON list of at least one number as float64, all of them finite."""
        if type(items) is not list or not items or {*map(type, items)} - {int, float}:
            self.fail(f"expected a list of numbers, found {shown(items)}")
        return np.array([self.finite(item) for item in items])

    def finite(self, item: float | str) -> float:
        """A number, or the digits of one, as a float that is not infinite or NaN."""
        try:
            number = float(item)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            self.fail(f"{shown(item)} is not a finite number of float64")
        return number

    def fail(self, what: str, line: int | None = None) -> NoReturn:
        """Raise ValueError about a line, by default the line taken last."""
        raise ValueError(
            f"Line {line or self.number} of the rules: {what}. "
            "The text must be as exact_text() wrote it."
        )


def shown(item: Any) -> str:
    """An item as an error message shows it, cut if it is long."""
    return repr(item[:40] if isinstance(item, str) else item)[:60]
