"""What a dialect of SQL consists of, and which names a database can keep.

Each dialect is one module with one `Dialect`; `_sql.py` lists them. Dialects share arithmetic,
CASE and subqueries. They differ in how a query tells the type of a cell, and in which settings
of a session change the text of a cell.

We tried sqlglot, which translates between dialects, and do not use it. It keeps every digit,
but it passes on what it does not know (``pg_typeof``, ``regexp_full_match``, ``EXPM1``) without
an error, writes SQLite's MIN and MAX ten times as long, and takes longer to translate a model
than we take to write it. The readers of cells would have to be written by hand all the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuralrules._reading._names import is_utf8

# Dates of ISO 8601 as `days_of_text` reads them; braces are doubled for `str.format`.
ZONE = ":[0-9]{{2}}[.0-9]* ?(Z|UTC|[+-][0-9]{{2}}(:?[0-9]{{2}})?)"
HOUR = "([01][0-9]|2[0-3])"
DATE = (
    f"[0-9]{{{{4}}}}-[0-9]{{{{2}}}}-[0-9]{{{{2}}}}"
    f"([T ]{HOUR}:[0-5][0-9](:[0-5][0-9]([.][0-9]{{{{1,9}}}})?)?"
    f" ?(Z|UTC|[+-]{HOUR}(:?[0-9]{{{{2}}}})?)?)?"
)


@dataclass(frozen=True)
class Dialect:
    """Words of one database.

    In texts, ``{cell}`` stands for a cell, and ``{remark}``, ``{no_text}`` and ``{digits}`` for
    constants that say what is wrong with a cell, with its type, or with the session.

    Attributes
    ----------
    title : str
        The database's name for people.
    readers : mapping from str to str
        How to read a cell, by `CellReading.kind`:

        - ``number``: as a double, or an error if it holds text that says no number;
        - ``flag``: the same of a column of zeros and ones, which may be of type boolean;
        - ``date``: a date, with or without a time, as days since 1970-01-01, in UTC if it has
          a zone; ``{text}`` stands for `date_text`, ``{missing}`` for texts that mean missing;
        - ``text``: as text that is compared byte by byte and that no setting of a session
          changes;
        - ``code``: the same of a column with numbers among its categories, which may be of any
          type of numbers: these are written as doubles are.
    refused : str
        A cell as an error.
    holds_text : str
        Whether a cell is text.
    date_text : str
        A cell of a column of dates as text: of ISO 8601 if it is of a type of dates.
    fence : str
        What ends a subquery so that it is computed once for each row, and streams. Without it
        PostgreSQL and SQLite copy a column's expression to wherever its name is used, and that
        in subquery after subquery.
    folds_case : bool
        Whether names that differ only in ASCII case are the same.
    longest_name : int
        How many bytes of UTF-8 of a name count.
    nul : str
        The character NUL, empty if no text can hold it.
    underflows : bool
        Whether a product that is too small to write ends the query.
    escapes : bool
        Whether settings can give backslashes in plain quotes a meaning, and other meanings to
        the bytes of letters beyond ASCII.
    greatest, least : str
        Functions of several numbers.
    double, whole : str
        Types of numbers.
    infinity : str
        The infinite number; ``{sign}`` stands for its sign.
    quotes : tuple of str
        What stands before and after a name. The second is doubled within names.
    advice : tuple of str
        What the head of the statement says before it is run.
    """

    title: str
    readers: Mapping[str, str]
    refused: str
    holds_text: str
    date_text: str
    fence: str = ""
    folds_case: bool = True
    longest_name: int = 63
    nul: str = ""
    underflows: bool = False
    escapes: bool = False
    greatest: str = "GREATEST"
    least: str = "LEAST"
    double: str = "DOUBLE PRECISION"
    whole: str = "BIGINT"
    infinity: str = "CAST('{sign}Infinity' AS DOUBLE PRECISION)"
    quotes: tuple[str, str] = ('"', '"')
    advice: tuple[str, ...] = ()

    def as_double(self, value: str) -> str:
        return f"CAST({value} AS {self.double})"

    def number_literal(self, number: float) -> str:
        """A number as SQL writes it."""
        if math.isfinite(number):
            return repr(number)
        return self.infinity.format(sign="-" if number < 0 else "")

    def identifier(self, name: str) -> str:
        """A name, whatever characters it has, as SQL's quotes keep it."""
        start, end = self.quotes
        return start + name.replace(end, end + end) + end

    def same_name(self, name: str) -> str:
        """What the names have in common that mean the same column."""
        if self.folds_case:
            return "".join(letter.lower() if letter.isascii() else letter for letter in name)
        return name.encode()[: self.longest_name].decode(errors="ignore")

    def string(self, text: str) -> str | None:
        """A text as a constant; None if no text in this database can be equal to it."""
        if not is_utf8(text) or ("\0" in text and not self.nul):
            return None
        if "\0" in text:
            pieces = [f"'{piece}'" for piece in text.replace("'", "''").split("\0")]
            return "(" + f" || {self.nul} || ".join(pieces) + ")"
        quoted = text.replace("'", "''")
        if self.escapes and ("\\" in text or not text.isascii()):
            return "E'" + "".join(map(escaped, quoted)) + "'"
        return f"'{quoted}'"


def escaped(letter: str) -> str:
    """A letter as PostgreSQL's escapes write it, in ASCII alone."""
    if letter.isascii():
        return letter.replace("\\", "\\\\")
    return f"\\u{ord(letter):04X}" if ord(letter) < 2**16 else f"\\U{ord(letter):08X}"


def is_name(name: str) -> bool:
    """Whether a database can take this for the name of something."""
    return bool(name) and "\0" not in name and is_utf8(name)


def is_str(item: Any) -> bool:
    return isinstance(item, str)


def check_names(names: Sequence[str], where: str) -> None:
    """Refuse what no database takes for a name."""
    for name in names:
        if not is_name(name):
            raise ValueError(
                f"{where} holds the name {name!r}, but names in SQL have at least one "
                "character, and neither NUL nor lone surrogates. Rename it, and fit again if "
                "it is a column of the model."
            )


def check_different(dialect: Dialect, names: Sequence[str], where: str) -> None:
    """Refuse names that this database takes for the same."""
    reason = (
        "names that differ only in case"
        if dialect.folds_case
        else f"names with the same first {dialect.longest_name} bytes"
    )
    first: dict[str, str] = {}
    for name in names:
        same = dialect.same_name(name)
        if same in first:
            raise ValueError(
                f"{where} {first[same]!r} and {name!r} would be one: {dialect.title} takes "
                f"{reason} for the same. Rename one of them."
            )
        first[same] = name
