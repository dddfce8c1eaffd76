"""Numbers, texts and lists as the code of a Python module."""

from __future__ import annotations

from typing import Any

WIDTH = 88  # of a line, as formatters have it unless told otherwise


def bracketed(head: str, items: list[str], tail: str) -> list[str]:
    """Items between brackets, one line each if they do not fit on one."""
    line = f"{head}{', '.join(items)}{tail}"
    if len(line) <= WIDTH:
        return [line]
    indent = " " * (len(head) - len(head.lstrip()))
    return [head, *(f"{indent}    {item}," for item in items), f"{indent}{tail}"]


def float_code(value: Any) -> str:
    """A number with every digit of float64."""
    return repr(float(value)).replace("e+", "e")  # as formatters write it


def text_code(text: str) -> str:
    """A text as an ASCII literal, in double quotes unless it holds some."""
    return ascii(text) if '"' in text else '"' + ascii("'" + text)[2:]
