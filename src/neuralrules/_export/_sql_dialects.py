"""How PostgreSQL, DuckDB and SQLite differ where a model is concerned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neuralrules._reading._names import is_utf8

# PostgreSQL cuts longer names, in bytes of UTF-8.
LONGEST_NAME = 63
CAST = "CAST({cell} AS DOUBLE PRECISION)"
# Dates of ISO 8601 as `days_of_text` reads them; braces are doubled for `str.format`.
ZONE = ":[0-9]{{2}}[.0-9]* ?(Z|UTC|[+-][0-9]{{2}}(:?[0-9]{{2}})?)"
DATE = (
    "[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([T ][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]{{1,9}})?)?"
    " ?(Z|UTC|[+-][0-9]{{2}}(:?[0-9]{{2}})?)?)?"
)
# Its columns hold anything, and a cast makes 0 of any text. Text is read as the command line
# reads a file. Compared with a REAL, a text that says a number becomes one, and all others
# are larger. No function raises an error, but json_extract shows the path it was given.
SQLITE_NUMBER = """CASE
      WHEN {cell} < CAST(9e999 AS REAL) THEN CAST({cell} AS REAL)
      WHEN {cell} IS NULL OR {cell} IN ({missing}) THEN NULL
      WHEN LOWER(TRIM({cell})) IN ('true', 'false') THEN LOWER(TRIM({cell})) = 'true'
      ELSE json_extract('{{}}', {remark} || {cell}) END"""
# Its dates are texts; a number would be taken for a Julian day, and 30 February for 1 March.
SQLITE_DAYS = """CASE
      WHEN {cell} IS NULL OR {cell} IN ({missing}) THEN NULL
      WHEN date(substr({cell}, 1, 10), '+0 days') = substr({cell}, 1, 10)
        AND julianday({cell}) > 0
      THEN julianday({cell}) - 2440587.5
      ELSE json_extract('{{}}', {remark} || {cell}) END"""


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
        A cell as text that is compared byte by byte; ``{cell}`` stands for the cell.
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
    days : str
        A date, with or without a time, as days since 1970-01-01; in UTC if it has a zone.
    advice : tuple of str
        What the head of the statement says before it is run.
    fence : str
        What ends a subquery so that it is computed once for each row, and streams.
        Without it PostgreSQL and SQLite copy a column's expression to wherever its name
        is used, and that in subquery after subquery.
    nul : str
        The character NUL, empty if no text can hold it.
    escapes : bool
        Whether a setting of the server can give backslashes in plain quotes a meaning.
    folds_case : bool
        Whether names that differ only in ASCII case are the same.
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
    days: str
    advice: tuple[str, ...]
    fence: str
    nul: str
    escapes: bool
    folds_case: bool

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
        if self.escapes and "\\" in text:
            return "E'" + quoted.replace("\\", "\\\\") + "'"
        return f"'{quoted}'"


POSTGRESQL = Dialect(
    title="PostgreSQL",
    greatest="GREATEST",
    least="LEAST",
    # A cast would strip the blanks that pad CHAR(n), and that every client reads.
    text='CASE WHEN {cell} IS NOT NULL THEN CONCAT({cell}) END COLLATE "C"',
    code="CASE WHEN pg_typeof({cell}) IN "
    "('float4'::regtype, 'float8'::regtype, 'numeric'::regtype)"
    "\n      THEN NULLIF(CAST(CAST(CAST({cell} AS TEXT) AS FLOAT8) AS TEXT), 'NaN')"
    '\n      WHEN {cell} IS NOT NULL THEN CONCAT({cell}) END COLLATE "C"',
    number=CAST,
    flag="CAST(REPLACE(REPLACE(LOWER(CAST({cell} AS TEXT)), 'true', '1'), 'false', '0') "
    "AS DOUBLE PRECISION)",
    refused="CAST({remark} || CAST({cell} AS TEXT) AS DOUBLE PRECISION)",
    holds_text="pg_typeof({cell}) IN ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype)",
    # Other texts, such as now, or dates in words, are none in a table.
    days="CASE WHEN pg_typeof({cell}) IN ('date'::regtype, 'timestamp'::regtype)"
    "\n      THEN EXTRACT(EPOCH FROM CAST({cell} AS TIMESTAMP)) / 86400.0"
    "\n      WHEN pg_typeof({cell}) = 'timestamptz'::regtype"
    "\n      THEN EXTRACT(EPOCH FROM CAST({cell} AS TIMESTAMPTZ)) / 86400.0"
    "\n      WHEN {cell} IS NULL OR CAST({cell} AS TEXT) IN ({missing}) THEN NULL"
    f"\n      WHEN CAST({{cell}} AS TEXT) !~ '^{DATE}$'"
    "\n      THEN CAST({remark} || CAST({cell} AS TEXT) AS DOUBLE PRECISION)"
    f"\n      WHEN CAST({{cell}} AS TEXT) ~ '{ZONE}$'"
    "\n      THEN EXTRACT(EPOCH FROM CAST(CAST({cell} AS TEXT) AS TIMESTAMPTZ)) / 86400.0"
    "\n      ELSE EXTRACT(EPOCH FROM CAST(CAST({cell} AS TEXT) AS TIMESTAMP)) / 86400.0 END",
    # Its costs of compiling a sum grow with the square of the sum's length.
    advice=(
        "Beyond some ten rules run SET jit = off first",
        "Else PostgreSQL may compile the sums, for longer than it takes to compute them",
    ),
    fence="\n  OFFSET 0",
    nul="",
    escapes=True,
    folds_case=False,
)
DUCKDB = Dialect(
    title="DuckDB",
    greatest="GREATEST",
    least="LEAST",
    text='CAST({cell} AS TEXT) COLLATE "C"',
    code="CASE WHEN typeof({cell}) IN ('FLOAT', 'DOUBLE') OR typeof({cell}) LIKE 'DECIMAL%'\n"
    "      THEN NULLIF(CAST(TRY_CAST({cell} AS DOUBLE) AS TEXT), 'nan')\n"
    '      ELSE CAST({cell} AS TEXT) END COLLATE "C"',
    number=CAST,
    flag=CAST,
    refused="CAST(error({remark} || CAST({cell} AS TEXT)) AS DOUBLE)",
    holds_text="typeof({cell}) = 'VARCHAR'",
    days="CASE WHEN {cell} IS NULL OR CAST({cell} AS TEXT) IN ({missing}) THEN NULL"
    f"\n      WHEN NOT regexp_full_match(CAST({{cell}} AS TEXT), '{DATE}')"
    "\n      THEN CAST(error({remark} || CAST({cell} AS TEXT)) AS DOUBLE)"
    f"\n      WHEN regexp_matches(CAST({{cell}} AS TEXT), '{ZONE}$')"
    "\n      THEN epoch_us(CAST(CAST({cell} AS TEXT) AS TIMESTAMPTZ)) / 86400000000.0"
    "\n      ELSE epoch_us(CAST(CAST({cell} AS TEXT) AS TIMESTAMP)) / 86400000000.0 END",
    advice=(),
    fence="",
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
    days=SQLITE_DAYS,
    advice=(),
    fence="\n  LIMIT -1 OFFSET 0",
    nul="CHAR(0)",
    escapes=False,
    folds_case=True,
)
DIALECTS = {"postgresql": POSTGRESQL, "duckdb": DUCKDB, "sqlite": SQLITE}


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
