"""How PostgreSQL, DuckDB and SQLite differ where a model is concerned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neuralrules._reading._names import is_utf8

# PostgreSQL cuts longer names, in bytes of UTF-8.
LONGEST_NAME = 63
CAST = "CAST({cell} AS DOUBLE PRECISION)"
# Dates of ISO 8601 as `days_of_text` reads them; braces are doubled for `str.format`.
ZONE = ":[0-9]{{2}}[.0-9]* ?(Z|UTC|[+-][0-9]{{2}}(:?[0-9]{{2}})?)"
HOUR = "([01][0-9]|2[0-3])"
DATE = (
    f"[0-9]{{{{4}}}}-[0-9]{{{{2}}}}-[0-9]{{{{2}}}}"
    f"([T ]{HOUR}:[0-5][0-9](:[0-5][0-9]([.][0-9]{{{{1,9}}}})?)?"
    f" ?(Z|UTC|[+-]{HOUR}(:?[0-9]{{{{2}}}})?)?)?"
)
# Its columns hold anything, and a cast makes 0 of any text. Text is read as the command line
# reads a file. Compared with a REAL, a text that says a number becomes one, and all others
# are larger. No function raises an error, but json_extract shows the path it was given.
SQLITE_NUMBER = """CASE
      WHEN {cell} < CAST(9e999 AS REAL) THEN CAST({cell} AS REAL)
      WHEN {cell} IS NULL OR {cell} COLLATE BINARY IN ({missing}) THEN NULL
      WHEN LOWER(TRIM({cell})) IN ('true', 'false') THEN LOWER(TRIM({cell})) = 'true'
      ELSE json_extract('{{}}', {remark} || {cell}) END"""
# Its dates are texts; a number would be taken for a Julian day, and 30 February for 1 March.
SQLITE_DAYS = """CASE
      WHEN {cell} IS NULL OR {cell} COLLATE BINARY IN ({missing}) THEN NULL
      WHEN date(substr({cell}, 1, 10), '+0 days') = substr({cell}, 1, 10)
        AND julianday({cell}) > 0 AND substr({cell}, 12, 2) < '24'
      THEN julianday({cell}) - 2440587.5
      ELSE json_extract('{{}}', {remark} || {cell}) END"""

# A session of PostgreSQL writes dates, moments and digits as DateStyle, TimeZone and
# extra_float_digits say. Its JSON has dates of ISO 8601 in every session, and knows which
# domains are dates.
POSTGRESQL_JSON = "(jsonb_build_array({cell}) ->> 0)"
POSTGRESQL_IS_TEXT = (
    "pg_typeof({cell}) IN ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype)"
)
POSTGRESQL_DIGITS = "CAST(current_setting('extra_float_digits') AS INTEGER)"
# The text that says a moment in UTC; Python writes it in the same way.
POSTGRESQL_UTC = (
    f"(jsonb_build_array(CAST({POSTGRESQL_JSON} AS TIMESTAMPTZ) AT TIME ZONE 'UTC') ->> 0)"
)
# A cast would strip the blanks that pad CHAR(n), and that every client reads.
POSTGRESQL_TEXT = f"""WHEN {{cell}} IS NULL THEN NULL
      WHEN {POSTGRESQL_IS_TEXT} THEN CONCAT({{cell}})
      WHEN pg_typeof({{cell}}) IN ('interval'::regtype, 'money'::regtype, 'bytea'::regtype)
        OR jsonb_typeof(to_jsonb({{cell}})) IN ('array', 'object')
      THEN CAST(CAST({{no_text}} || CAST(pg_typeof({{cell}}) AS TEXT) AS FLOAT8) AS TEXT)
      WHEN jsonb_typeof(to_jsonb({{cell}})) <> 'string' THEN CONCAT({{cell}})
      WHEN {POSTGRESQL_JSON} ~ '^[0-9]+-[0-9]+-[0-9]+T[0-9:.]+[+-][0-9:]+$'
      THEN REPLACE({POSTGRESQL_UTC}, 'T', ' ') || '+00:00'
      WHEN {POSTGRESQL_JSON} ~ '^[0-9]+-[0-9]+-[0-9]+T[0-9:.]+$'
      THEN REPLACE({POSTGRESQL_JSON}, 'T', ' ')
      ELSE {POSTGRESQL_JSON} END COLLATE "C\""""

# DuckDB writes a moment in the session's zone, and leaves out the seconds of old zones.
DUCKDB_MOMENT = "typeof({cell}) = 'TIMESTAMP WITH TIME ZONE'"
DUCKDB_TICKS = "epoch_us(CAST({cell} AS TIMESTAMPTZ))"
DUCKDB_TEXT = f"""WHEN {DUCKDB_MOMENT}
      THEN CAST(make_timestamp({DUCKDB_TICKS}) AS TEXT) || '+00:00'
      ELSE CAST({{cell}} AS TEXT) END COLLATE "C\""""


@dataclass(frozen=True)
class Dialect:
    """Words of one database.

    Attributes
    ----------
    title : str
        The database's name for people.
    greatest, least : str
        Functions of several numbers.
    text : str
        A cell as text that is compared byte by byte and that no setting of a session changes;
        ``{cell}`` stands for the cell, ``{no_text}`` says what is wrong with its type, and
        ``{digits}`` what is wrong with the session.
    code : str
        The same of a column with numbers among its categories, which may be of any type of
        numbers: these are written as doubles are.
    number : str
        A cell as a double, or an error where it holds text that says no number.
    flag : str
        The same of a column of zeros and ones, which may be of type boolean.
    refused : str
        A cell of text as an error; ``{remark}`` says why.
    holds_text : str
        Whether a cell is text.
    date_text : str
        A cell of a column of dates as text: of ISO 8601 if it is of a type of dates.
    days : str
        A date, with or without a time, as days since 1970-01-01; in UTC if it has a zone.
        ``{text}`` stands for `date_text`.
    advice : tuple of str
        What the head of the statement says before it is run.
    fence : str
        What ends a subquery so that it is computed once for each row, and streams.
        Without it PostgreSQL and SQLite copy a column's expression to wherever its name
        is used, and that in subquery after subquery.
    underflows : bool
        Whether a product that is too small to write ends the query.
    nul : str
        The character NUL, empty if no text can hold it.
    escapes : bool
        Whether settings can give backslashes in plain quotes a meaning, and other meanings to
        the bytes of letters beyond ASCII.
    folds_case : bool
        Whether names that differ only in ASCII case are the same.
    infinity : str
        The infinite number; ``{sign}`` stands for its sign.
    """

    title: str
    greatest: str
    least: str
    text: str
    code: str
    number: str
    flag: str
    refused: str
    holds_text: str
    date_text: str
    days: str
    advice: tuple[str, ...]
    fence: str
    underflows: bool
    nul: str
    escapes: bool
    folds_case: bool
    infinity: str = "CAST('{sign}Infinity' AS DOUBLE PRECISION)"

    def number_literal(self, number: float) -> str:
        """A number as SQL writes it."""
        if math.isfinite(number):
            return repr(number)
        return self.infinity.format(sign="-" if number < 0 else "")

    def same_name(self, name: str) -> str:
        """What the names have in common that mean the same column."""
        if self.folds_case:
            return "".join(letter.lower() if letter.isascii() else letter for letter in name)
        return name.encode()[:LONGEST_NAME].decode(errors="ignore")

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


POSTGRESQL = Dialect(
    title="PostgreSQL",
    greatest="GREATEST",
    least="LEAST",
    text=f"CASE {POSTGRESQL_TEXT}",
    code="CASE WHEN pg_typeof({cell}) IN "
    "('float4'::regtype, 'float8'::regtype, 'numeric'::regtype)"
    f"\n      THEN CASE WHEN {POSTGRESQL_DIGITS} < 1"
    "\n        THEN CAST(CAST({digits} || CAST({cell} AS TEXT) AS FLOAT8) AS TEXT)"
    "\n        ELSE NULLIF(CAST(CAST(CAST({cell} AS TEXT) AS FLOAT8) AS TEXT), 'NaN') END"
    f"\n      {POSTGRESQL_TEXT}",
    number=CAST,
    # Zeros and ones have one digit, other numbers may lose some.
    flag=f"CASE WHEN {POSTGRESQL_DIGITS} < 0"
    " AND pg_typeof({cell}) IN ('float4'::regtype, 'float8'::regtype)"
    "\n      THEN CAST({digits} || CAST({cell} AS TEXT) AS DOUBLE PRECISION)"
    '\n      ELSE CAST(REPLACE(REPLACE(LOWER(CAST({cell} AS TEXT) COLLATE "C"), '
    "'true', '1'), 'false', '0') AS DOUBLE PRECISION) END",
    refused="CAST({remark} || CAST({cell} AS TEXT) AS DOUBLE PRECISION)",
    holds_text=POSTGRESQL_IS_TEXT,
    date_text=f'(RTRIM({POSTGRESQL_JSON}) COLLATE "C")',
    # Other texts, such as now, or dates in words, are none in a table.
    days="CASE WHEN pg_typeof({cell}) IN ('date'::regtype, 'timestamp'::regtype)"
    "\n      THEN EXTRACT(EPOCH FROM CAST({cell} AS TIMESTAMP)) / 86400.0"
    "\n      WHEN pg_typeof({cell}) = 'timestamptz'::regtype"
    "\n      THEN EXTRACT(EPOCH FROM CAST({cell} AS TIMESTAMPTZ)) / 86400.0"
    "\n      WHEN {cell} IS NULL OR {text} IN ({missing}) THEN NULL"
    f"\n      WHEN {{text}} !~ '^{DATE}$'"
    "\n      THEN CAST({remark} || {text} AS DOUBLE PRECISION)"
    f"\n      WHEN {{text}} ~ '{ZONE}$'"
    "\n      THEN EXTRACT(EPOCH FROM CAST({text} AS TIMESTAMPTZ)) / 86400.0"
    "\n      ELSE EXTRACT(EPOCH FROM CAST({text} AS TIMESTAMP)) / 86400.0 END",
    # Its costs of compiling a sum grow with the square of the sum's length.
    advice=(
        "Beyond some ten rules run SET jit = off first",
        "Else PostgreSQL may compile the sums, for longer than it takes to compute them",
    ),
    fence="\n  OFFSET 0",
    underflows=True,
    nul="",
    escapes=True,
    folds_case=False,
)
DUCKDB = Dialect(
    title="DuckDB",
    greatest="GREATEST",
    least="LEAST",
    text=f"CASE {DUCKDB_TEXT}",
    code="CASE WHEN typeof({cell}) IN ('FLOAT', 'DOUBLE') OR typeof({cell}) LIKE 'DECIMAL%'\n"
    "      THEN NULLIF(CAST(TRY_CAST({cell} AS DOUBLE) AS TEXT), 'nan')\n"
    f"      {DUCKDB_TEXT}",
    number=CAST,
    flag=CAST,
    refused="CAST(error({remark} || CAST({cell} AS TEXT)) AS DOUBLE)",
    holds_text="typeof({cell}) = 'VARCHAR'",
    date_text='(CAST({cell} AS TEXT) COLLATE "C")',
    days=f"CASE WHEN {DUCKDB_MOMENT} THEN {DUCKDB_TICKS} / 86400000000.0"
    "\n      WHEN {cell} IS NULL OR {text} IN ({missing}) THEN NULL"
    f"\n      WHEN NOT regexp_full_match({{text}}, '{DATE}')"
    "\n      THEN CAST(error({remark} || {text}) AS DOUBLE)"
    f"\n      WHEN regexp_matches({{text}}, '{ZONE}$')"
    "\n      THEN epoch_us(CAST({text} AS TIMESTAMPTZ)) / 86400000000.0"
    "\n      ELSE epoch_us(CAST({text} AS TIMESTAMP)) / 86400000000.0 END",
    advice=(),
    fence="",
    underflows=False,
    nul="CHR(0)",
    escapes=False,
    folds_case=True,
)
SQLITE = Dialect(
    title="SQLite",
    greatest="MAX",
    least="MIN",
    text="CAST({cell} AS TEXT) COLLATE BINARY",
    code="CAST({cell} AS TEXT) COLLATE BINARY",
    number=SQLITE_NUMBER,
    flag=SQLITE_NUMBER,
    refused="json_extract('{{}}', {remark} || {cell})",
    holds_text="typeof({cell}) = 'text'",
    date_text="CAST({cell} AS TEXT)",
    days=SQLITE_DAYS,
    advice=(),
    fence="\n  LIMIT -1 OFFSET 0",
    underflows=False,
    nul="CHAR(0)",
    escapes=False,
    folds_case=True,
    infinity="{sign}9e999",
)
DIALECTS = {"postgresql": POSTGRESQL, "duckdb": DUCKDB, "sqlite": SQLITE}


def escaped(letter: str) -> str:
    """A letter as PostgreSQL's escapes write it, in ASCII alone."""
    if letter.isascii():
        return letter.replace("\\", "\\\\")
    return f"\\u{ord(letter):04X}" if ord(letter) < 2**16 else f"\\U{ord(letter):08X}"


def is_name(name: str) -> bool:
    """Whether a database can take this for the name of something."""
    return bool(name) and "\0" not in name and is_utf8(name)


def identifier(name: str) -> str:
    """A name, whatever characters it has, as SQL's quotes keep it."""
    return '"' + name.replace('"', '""') + '"'


def checked_dialect(dialect: Any) -> Dialect:
    """The words of a database."""
    if not is_str(dialect) or dialect not in DIALECTS:
        allowed = ", ".join(map(repr, DIALECTS))
        raise ValueError(f"dialect={dialect!r} must be one of {allowed}.")
    return DIALECTS[dialect]


def checked_table(table: Any) -> str:
    """The table's name, qualified by those of its schema and database if they are given."""
    names = (table,) if isinstance(table, str) else table
    if not isinstance(names, tuple) or not names or not all(map(is_str, names)):
        raise ValueError(
            f"table={table!r} must be a name, or a tuple of names such as ('schema', 'table')."
        )
    check_names(names, f"table={table!r}")
    return ".".join(map(identifier, names))


def checked_keep(keep: Any) -> list[str]:
    """Names of the columns to carry into the result."""
    if isinstance(keep, str) or not isinstance(keep, Sequence) or not all(map(is_str, keep)):
        raise ValueError(
            f"keep={keep!r} must be a list of names of columns, for example keep=['id']."
        )
    check_names(keep, f"keep={keep!r}")
    return list(keep)


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
        else f"names with the same first {LONGEST_NAME} bytes"
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
