"""The dialects of SQL, and checks of names.

Arithmetic, CASE and subqueries are the same in all dialects. Dialects differ in how a query
finds the type of a cell, and in which settings of a session change the text of a cell.

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


# In PostgreSQL the settings DateStyle, TimeZone and extra_float_digits of a session change the
# text of dates, moments and numbers. Its JSON functions write dates in ISO 8601 in every
# session, and recognise domains that are based on dates.
POSTGRES_JSON = "(jsonb_build_array({cell}) ->> 0)"
POSTGRES_IS_TEXT = (
    "pg_typeof({cell}) IN ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype)"
)
POSTGRES_DIGITS = "CAST(current_setting('extra_float_digits') AS INTEGER)"
# A moment in UTC as text, in the form that Python writes.
POSTGRES_UTC = (
    f"(jsonb_build_array(CAST({POSTGRES_JSON} AS TIMESTAMPTZ) AT TIME ZONE 'UTC') ->> 0)"
)
# CONCAT and not a cast, because a cast would remove the blanks at the end of a CHAR(n), which
# every client reads.
POSTGRES_TEXT = f"""WHEN {{cell}} IS NULL THEN NULL
      WHEN {POSTGRES_IS_TEXT} THEN CONCAT({{cell}})
      WHEN pg_typeof({{cell}}) IN ('interval'::regtype, 'money'::regtype, 'bytea'::regtype)
        OR jsonb_typeof(to_jsonb({{cell}})) IN ('array', 'object')
      THEN CAST(CAST({{no_text}} || CAST(pg_typeof({{cell}}) AS TEXT) AS FLOAT8) AS TEXT)
      WHEN jsonb_typeof(to_jsonb({{cell}})) <> 'string' THEN CONCAT({{cell}})
      WHEN {POSTGRES_JSON} ~ '^[0-9]+-[0-9]+-[0-9]+T[0-9:.]+[+-][0-9:]+$'
      THEN REPLACE({POSTGRES_UTC}, 'T', ' ') || '+00:00'
      WHEN {POSTGRES_JSON} ~ '^[0-9]+-[0-9]+-[0-9]+T[0-9:.]+$'
      THEN REPLACE({POSTGRES_JSON}, 'T', ' ')
      ELSE {POSTGRES_JSON} END COLLATE "C\""""
# 0 and 1 keep their only digit in sessions with extra_float_digits = 0. Other numbers may lose
# digits there.
POSTGRES_FLAG = (
    f"CASE WHEN {POSTGRES_DIGITS} < 0"
    " AND pg_typeof({cell}) IN ('float4'::regtype, 'float8'::regtype)"
    "\n      THEN CAST({digits} || CAST({cell} AS TEXT) AS DOUBLE PRECISION)"
    '\n      ELSE CAST(REPLACE(REPLACE(LOWER(CAST({cell} AS TEXT) COLLATE "C"), '
    "'true', '1'), 'false', '0') AS DOUBLE PRECISION) END"
)
POSTGRES_CODE = (
    "CASE WHEN pg_typeof({cell}) IN "
    "('float4'::regtype, 'float8'::regtype, 'numeric'::regtype)"
    f"\n      THEN CASE WHEN {POSTGRES_DIGITS} < 1"
    "\n        THEN CAST(CAST({digits} || CAST({cell} AS TEXT) AS FLOAT8) AS TEXT)"
    "\n        ELSE NULLIF(CAST(CAST(CAST({cell} AS TEXT) AS FLOAT8) AS TEXT), 'NaN') END"
    f"\n      {POSTGRES_TEXT}"
)
# Other texts that PostgreSQL reads as dates, such as "now" or dates in words, are refused.
POSTGRES_DAYS = (
    "CASE WHEN pg_typeof({cell}) IN ('date'::regtype, 'timestamp'::regtype)"
    "\n      THEN EXTRACT(EPOCH FROM CAST({cell} AS TIMESTAMP)) / 86400.0"
    "\n      WHEN pg_typeof({cell}) = 'timestamptz'::regtype"
    "\n      THEN EXTRACT(EPOCH FROM CAST({cell} AS TIMESTAMPTZ)) / 86400.0"
    "\n      WHEN {cell} IS NULL OR {text} IN ({missing}) THEN NULL"
    f"\n      WHEN {{text}} !~ '^{DATE}$'"
    "\n      THEN CAST({remark} || {text} AS DOUBLE PRECISION)"
    f"\n      WHEN {{text}} ~ '{ZONE}$'"
    "\n      THEN EXTRACT(EPOCH FROM CAST({text} AS TIMESTAMPTZ)) / 86400.0"
    "\n      ELSE EXTRACT(EPOCH FROM CAST({text} AS TIMESTAMP)) / 86400.0 END"
)
POSTGRESQL = Dialect(
    title="PostgreSQL",
    readers={
        "number": "CAST({cell} AS DOUBLE PRECISION)",
        "flag": POSTGRES_FLAG,
        "date": POSTGRES_DAYS,
        "text": f"CASE {POSTGRES_TEXT}",
        "code": POSTGRES_CODE,
    },
    refused="CAST({remark} || CAST({cell} AS TEXT) AS DOUBLE PRECISION)",
    holds_text=POSTGRES_IS_TEXT,
    date_text=f'(RTRIM({POSTGRES_JSON}) COLLATE "C")',
    fence="\n  OFFSET 0",
    folds_case=False,
    underflows=True,
    escapes=True,
    # The time that PostgreSQL takes to compile a sum grows with the square of its length.
    advice=(
        "Beyond some ten rules run SET jit = off first",
        "Else PostgreSQL may compile the sums, for longer than it takes to compute them",
    ),
)

# DuckDB writes a moment in the time zone of the session, and leaves out the seconds of the
# offsets of old time zones.
DUCKDB_MOMENT = "typeof({cell}) = 'TIMESTAMP WITH TIME ZONE'"
DUCKDB_TICKS = "epoch_us(CAST({cell} AS TIMESTAMPTZ))"
DUCKDB_TEXT = f"""WHEN {DUCKDB_MOMENT}
      THEN CAST(make_timestamp({DUCKDB_TICKS}) AS TEXT) || '+00:00'
      ELSE CAST({{cell}} AS TEXT) END COLLATE "C\""""
DUCKDB_CODE = (
    "CASE WHEN typeof({cell}) IN ('FLOAT', 'DOUBLE') OR typeof({cell}) LIKE 'DECIMAL%'\n"
    "      THEN NULLIF(CAST(TRY_CAST({cell} AS DOUBLE) AS TEXT), 'nan')\n"
    f"      {DUCKDB_TEXT}"
)
DUCKDB_DAYS = (
    f"CASE WHEN {DUCKDB_MOMENT} THEN {DUCKDB_TICKS} / 86400000000.0"
    "\n      WHEN {cell} IS NULL OR {text} IN ({missing}) THEN NULL"
    f"\n      WHEN NOT regexp_full_match({{text}}, '{DATE}')"
    "\n      THEN CAST(error({remark} || {text}) AS DOUBLE)"
    f"\n      WHEN regexp_matches({{text}}, '{ZONE}$')"
    "\n      THEN epoch_us(CAST({text} AS TIMESTAMPTZ)) / 86400000000.0"
    "\n      ELSE epoch_us(CAST({text} AS TIMESTAMP)) / 86400000000.0 END"
)
DUCKDB_NUMBER = "CAST({cell} AS DOUBLE PRECISION)"
DUCKDB = Dialect(
    title="DuckDB",
    readers={
        "number": DUCKDB_NUMBER,
        "flag": DUCKDB_NUMBER,
        "date": DUCKDB_DAYS,
        "text": f"CASE {DUCKDB_TEXT}",
        "code": DUCKDB_CODE,
    },
    refused="CAST(error({remark} || CAST({cell} AS TEXT)) AS DOUBLE)",
    holds_text="typeof({cell}) = 'VARCHAR'",
    date_text='(CAST({cell} AS TEXT) COLLATE "C")',
    nul="CHR(0)",
)

# A column of SQLite can hold cells of any type, and a cast turns any text into 0. So the query
# reads texts as the command line reads a file. If a text is compared with a REAL, it becomes a
# number if it is the text of one; any other text is larger than all numbers. SQLite has no
# function that raises an error, but the error message of json_extract shows the path it got.
SQLITE_NUMBER = """CASE
      WHEN {cell} < CAST(9e999 AS REAL) THEN CAST({cell} AS REAL)
      WHEN {cell} IS NULL OR {cell} COLLATE BINARY IN ({missing}) THEN NULL
      WHEN LOWER(TRIM({cell})) IN ('true', 'false') THEN LOWER(TRIM({cell})) = 'true'
      ELSE json_extract('{{}}', {remark} || {cell}) END"""
# Dates are texts in SQLite. Without these checks, SQLite would read a number as a Julian day,
# and 30 February as 1 March.
SQLITE_DAYS = """CASE
      WHEN {cell} IS NULL OR {cell} COLLATE BINARY IN ({missing}) THEN NULL
      WHEN date(substr({cell}, 1, 10), '+0 days') = substr({cell}, 1, 10)
        AND julianday({cell}) > 0 AND substr({cell}, 12, 2) < '24'
      THEN julianday({cell}) - 2440587.5
      ELSE json_extract('{{}}', {remark} || {cell}) END"""
SQLITE_TEXT = "CAST({cell} AS TEXT) COLLATE BINARY"
SQLITE = Dialect(
    title="SQLite",
    readers={
        "number": SQLITE_NUMBER,
        "flag": SQLITE_NUMBER,
        "date": SQLITE_DAYS,
        "text": SQLITE_TEXT,
        "code": SQLITE_TEXT,
    },
    refused="json_extract('{{}}', {remark} || {cell})",
    holds_text="typeof({cell}) = 'text'",
    date_text="CAST({cell} AS TEXT)",
    fence="\n  LIMIT -1 OFFSET 0",
    nul="CHAR(0)",
    greatest="MAX",
    least="MIN",
    infinity="{sign}9e999",
)

DIALECTS = {"postgresql": POSTGRESQL, "duckdb": DUCKDB, "sqlite": SQLITE}
