"""Numbers, texts and lists as the code of a Python module."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

WIDTH = 88  # of a line, as formatters have it unless told otherwise
# An expression, or what opens brackets, the expressions between them, and what closes them.
Code: TypeAlias = "str | tuple[str, list[Code], str]"


def on_one_line(code: Code) -> str:
    """Code without line breaks."""
    if isinstance(code, str):
        return code
    start, items, end = code
    return f"{start}{', '.join(map(on_one_line, items))}{end}"


def laid_out(head: str, code: Code, tail: str = "") -> list[str]:
    """Code behind a head, its outermost brackets open where it does not fit on one line."""
    line = f"{head}{on_one_line(code)}{tail}"
    if len(line) <= WIDTH or isinstance(code, str):
        return [line]
    start, items, end = code
    indent = " " * (len(head) - len(head.lstrip()))
    inner = [part for item in items for part in laid_out(f"{indent}    ", item, ",")]
    return [f"{head}{start}", *inner, f"{indent}{end}{tail}"]


def bracketed(head: str, items: Iterable[str], tail: str) -> list[str]:
    """Items between brackets, one line each if they do not fit on one."""
    return laid_out(head, ("", list(items), tail))


def float_code(value: Any) -> str:
    """A number with every digit of float64."""
    return repr(float(value)).replace("e+", "e")  # as formatters write it


def text_code(text: str) -> str:
    """A text as an ASCII literal, in double quotes unless it holds some."""
    return ascii(text) if '"' in text else '"' + ascii("'" + text)[2:]
