"""Write expressions, numbers and texts as Python code, on lines that are not too long."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from neuralrules._expression import _nodes as ops

WIDTH = 88  # characters of a line, the default of formatters
# Python's compiler makes one nested call for each "+", and fails after some thousand calls.
MAX_SUMMANDS = 200
# An expression as text, or as three parts: the text up to the opening bracket, the expressions
# inside the brackets, and the text from the closing bracket on.
Code: TypeAlias = "str | tuple[str, list[Code], str]"


def code_of(node: ops.Number, names: Mapping[str, str]) -> Code:
    """The code of an expression. `names` holds the code of its steps by their names."""
    match node:
        case ops.Cell():
            return "cell"
        case ops.Named(name):
            return names[name]
        case ops.Bounded(ops.Standardised() as inner):  # `standard` applies these bounds
            return code_of(inner, names)
        case ops.Standardised(ops.Filled(value, otherwise), mean, scale) if otherwise == mean:
            # `standard` treats a missing number like the mean.
            return code_of(ops.Standardised(value, mean, scale), names)
        case ops.Standardised(value, mean, scale):
            items = [code_of(value, names), float_code(mean), float_code(scale)]
            return ("standard(", items, ")")
        case ops.Bounded(value, low, high):
            return f"max({low}, min({high}, {line_of(value, names)}))"
        case ops.Filled(value, otherwise):
            return ("filled(", [code_of(value, names), float_code(otherwise)], ")")
        case ops.Line(value, x, z):
            points: list[Code] = [("[", list(map(float_code, ends)), "]") for ends in (x, z)]
            return ("on_line(", [code_of(value, names), *points], ")")
        case ops.Indicator(ops.Not(ops.IsAnyOf() as condition)):
            return ("is_none(", condition_items(condition), ")")
        case ops.Indicator(ops.IsMissing() | ops.IsAnyOf() as condition):
            return ("is_any(", condition_items(condition), ")")
        case ops.Call(function, value):
            return f"math.{function}({line_of(value, names)})"
        case ops.Sum(terms, constant):
            parts = [
                f"{float_code(factor)} * {line_of(value, names)}" for factor, value in terms
            ]
            return f"({' + '.join([*parts, float_code(constant)])})"
        case _:
            raise TypeError(f"Python modules have no code for {node!r}.")


def line_of(node: ops.Number, names: Mapping[str, str]) -> str:
    """The code of an expression without line breaks."""
    return on_one_line(code_of(node, names))


def condition_items(condition: ops.IsMissing | ops.IsAnyOf) -> list[Code]:
    """The variable `cell`, and all contents of the cell for which the condition holds."""
    if isinstance(condition, ops.IsMissing):
        return ["cell", "MISSING"]
    return ["cell", *["MISSING"] * condition.missing, *map(text_code, condition.texts)]


def activation_lines(
    head: str, activation: ops.Positive, names: Mapping[str, str]
) -> list[str]:
    """A call of `activation` after the code `head`, with one literal after the other."""
    inside = activation.value
    lines = [f"{head}activation("]
    for literal in inside.values if isinstance(inside, ops.Smallest) else (inside,):
        if isinstance(literal, ops.Sum):
            lines += sum_lines(literal, names)
        else:
            lines += laid_out("        ", code_of(literal, names), ",")
    return [*lines, "    )"]


def sum_lines(total: ops.Sum, names: Mapping[str, str]) -> list[str]:
    """A sum as an argument of a call, with the largest factors first.

    It is on one line if it fits.
    """
    ordered = sorted(total.terms, key=lambda term: -abs(term[0]))
    parts = [product_code(factor, line_of(value, names)) for factor, value in ordered]
    if total.constant or not parts:
        parts.append(float_code(total.constant))
    if len(parts) > MAX_SUMMANDS:
        listed = [f"                {part}," for part in parts]
        return ["        sum(", "            [", *listed, "            ]", "        ),"]
    signed = [f"- {part[1:]}" if part[0] == "-" else f"+ {part}" for part in parts[1:]]
    line = f"        {' '.join([parts[0], *signed])},"
    if len(line) <= WIDTH:
        return [line]
    *lines, last = [f"        {part}" for part in (parts[0], *signed)]
    return [*lines, f"{last},"]


def product_code(factor: float, term: str) -> str:
    """The code of a factor times a term. A factor of 1 is left out."""
    if abs(factor) == 1:
        return f"-{term}" if factor < 0 else term
    return f"{float_code(factor)} * {term}"


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
