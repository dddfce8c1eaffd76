"""The words of SQLite."""

from __future__ import annotations

from neuralrules._export._sql_dialect import Dialect

# Its columns hold anything, and a cast makes 0 of any text. Text is read as the command line
# reads a file. Compared with a REAL, a text that says a number becomes one, and all others
# are larger. No function raises an error, but json_extract shows the path it was given.
NUMBER = """CASE
      WHEN {cell} < CAST(9e999 AS REAL) THEN CAST({cell} AS REAL)
      WHEN {cell} IS NULL OR {cell} COLLATE BINARY IN ({missing}) THEN NULL
      WHEN LOWER(TRIM({cell})) IN ('true', 'false') THEN LOWER(TRIM({cell})) = 'true'
      ELSE json_extract('{{}}', {remark} || {cell}) END"""
# Its dates are texts; a number would be taken for a Julian day, and 30 February for 1 March.
DAYS = """CASE
      WHEN {cell} IS NULL OR {cell} COLLATE BINARY IN ({missing}) THEN NULL
      WHEN date(substr({cell}, 1, 10), '+0 days') = substr({cell}, 1, 10)
        AND julianday({cell}) > 0 AND substr({cell}, 12, 2) < '24'
      THEN julianday({cell}) - 2440587.5
      ELSE json_extract('{{}}', {remark} || {cell}) END"""
TEXT = "CAST({cell} AS TEXT) COLLATE BINARY"
SQLITE = Dialect(
    title="SQLite",
    readers={"number": NUMBER, "flag": NUMBER, "date": DAYS, "text": TEXT, "code": TEXT},
    refused="json_extract('{{}}', {remark} || {cell})",
    holds_text="typeof({cell}) = 'text'",
    date_text="CAST({cell} AS TEXT)",
    fence="\n  LIMIT -1 OFFSET 0",
    nul="CHAR(0)",
    greatest="MAX",
    least="MIN",
    infinity="{sign}9e999",
)
