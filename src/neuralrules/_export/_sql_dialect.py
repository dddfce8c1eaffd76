"""The parts of a dialect of SQL, and checks of names.

Each dialect is one module with one `Dialect`, and `_sql.py` lists all dialects. Arithmetic,
CASE and subqueries are the same in all dialects. Dialects differ in how a query finds the type
of a cell, and in which settings of a session change the text of a cell.

We tried sqlglot, which translates between dialects, but do not use it. It keeps every digit.
But it copies functions that it does not know (``pg_typeof``, ``regexp_full_match``, ``EXPM1``)
without an error. Its MIN and MAX for SQLite are ten times as long as ours. It needs more time
to translate a model than we need to write it. And we would still have to write the readers of
cells by hand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuralrules._reading._notation import is_utf8

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
    """The SQL of one database.

    In templates, ``{cell}`` stands for a cell. ``{remark}``, ``{no_text}`` and ``{digits}``
    stand for constants that say what is wrong with a cell, with its type, or with the session.

    `readers` maps a `CellReading.kind` to the template that reads a cell:

    - ``number``: the cell as a double, or an error if it is a text that is no number;
    - ``flag``: the same for a column of zeros and ones, which may be of type boolean;
    - ``date``: a date, with or without a time, as days since 1970-01-01, in UTC if it has
      a time zone; ``{text}`` stands for `date_text`, ``{missing}`` for texts that mean
      missing;
    - ``text``: the cell as text. The text is compared byte by byte, and no setting of a
      session changes it;
    - ``code``: the same for a column with numbers among its categories. The column may
      have any numeric type, and its numbers are written like doubles.
    """

    title: str  # the name of the database in texts for people
    readers: Mapping[str, str]
    refused: str  # the template that raises an error for a cell
    holds_text: str  # the template of the condition that a cell is text
    # The template of a cell of a column of dates as text: ISO 8601 if it has a date type.
    date_text: str
    # The end of a subquery that makes the database compute the subquery once for each row, and
    # stream it. Otherwise PostgreSQL and SQLite would copy the expression of a column to each
    # place where its name is used, through all subqueries.
    fence: str = ""
    folds_case: bool = True  # names that differ only in ASCII case mean the same column
    longest_name: int = 63  # bytes of a name in UTF-8 that the database looks at
    nul: str = ""  # the expression for the character NUL; empty if no text can contain it
    underflows: bool = False  # the query fails if a product is too small for a double
    # Settings can change the meaning of backslashes in plain quotes, and of the bytes of
    # letters that are not ASCII.
    escapes: bool = False
    greatest: str = "GREATEST"  # the largest of several numbers
    least: str = "LEAST"
    double: str = "DOUBLE PRECISION"
    whole: str = "BIGINT"  # the type of integers
    infinity: str = "CAST('{sign}Infinity' AS DOUBLE PRECISION)"
    quotes: tuple[str, str] = ('"', '"')  # the second one is doubled inside names
    advice: tuple[str, ...] = ()  # remarks at the head of the statement, for users who run it

    def as_double(self, value: str) -> str:
        return f"CAST({value} AS {self.double})"

    def number_literal(self, number: float) -> str:
        """A number as SQL writes it."""
        if math.isfinite(number):
            return repr(number)
        return self.infinity.format(sign="-" if number < 0 else "")

    def identifier(self, name: str) -> str:
        """A name in quotes, which may contain any character."""
        start, end = self.quotes
        return start + name.replace(end, end + end) + end

    def same_name(self, name: str) -> str:
        """A key that is equal for names that mean the same column."""
        if self.folds_case:
            return "".join(letter.lower() if letter.isascii() else letter for letter in name)
        return name.encode()[: self.longest_name].decode(errors="ignore")

    def string(self, text: str) -> str | None:
        """A text as a constant. None if no text in this database can be equal to it."""
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
    """A character as PostgreSQL's escapes write it, in ASCII only."""
    if letter.isascii():
        return letter.replace("\\", "\\\\")
    return f"\\u{ord(letter):04X}" if ord(letter) < 2**16 else f"\\U{ord(letter):08X}"


def is_name(name: str) -> bool:
    """Whether a database can use this text as a name."""
    return bool(name) and "\0" not in name and is_utf8(name)


def check_names(names: Sequence[str], where: str) -> None:
    """Refuse names that no database can use."""
    for name in names:
        if not is_name(name):
            raise ValueError(
                f"{where} holds the name {name!r}, but names in SQL have at least one "
                "character, and neither NUL nor lone surrogates. Rename it, and fit again if "
                "it is a column of the model."
            )


def check_different(dialect: Dialect, names: Sequence[str], where: str) -> None:
    """Refuse names that this database treats as equal."""
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
