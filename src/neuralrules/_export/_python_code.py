"""Write numbers, texts and lists as Python code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

WIDTH = 88  # characters of a line, the default of formatters
# An expression as text, or as three parts: the text up to the opening bracket, the expressions
# inside the brackets, and the text from the closing bracket on.
Code: TypeAlias = "str | tuple[str, list[Code], str]"


def on_one_line(code: Code) -> str:
    """Code without line breaks."""
    if isinstance(code, str):
        return code
    start, items, end = code
    return f"{start}{', '.join(map(on_one_line, items))}{end}"


def laid_out(head: str, code: Code, tail: str = "") -> list[str]:
    """Lines of code that begin with `head` and end with `tail`.

    If the code does not fit on one line, each expression inside the brackets gets its own line.
    """
    line = f"{head}{on_one_line(code)}{tail}"
    if len(line) <= WIDTH or isinstance(code, str):
        return [line]
    start, items, end = code
    indent = " " * (len(head) - len(head.lstrip()))
    inner = [part for item in items for part in laid_out(f"{indent}    ", item, ",")]
    return [f"{head}{start}", *inner, f"{indent}{end}{tail}"]


def bracketed(head: str, items: Iterable[str], tail: str) -> list[str]:
    """Items between brackets. Each item gets its own line if they do not fit on one line."""
    return laid_out(head, ("", list(items), tail))


def float_code(value: Any) -> str:
    """A number with every digit of float64."""
    return repr(float(value)).replace("e+", "e")  # the style of formatters


def text_code(text: str) -> str:
    """A text as an ASCII literal. It has double quotes unless the text contains them."""
    return ascii(text) if '"' in text else '"' + ascii("'" + text)[2:]
