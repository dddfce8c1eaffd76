"""Names of columns and categories as texts show them.

A name that is one word stands as it is. A whole number becomes ``column 3``, and any other name
is quoted. Without this, ``0 ≤ 0.5`` and ``a - b > 3`` would read as arithmetic.
"""

from __future__ import annotations


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
