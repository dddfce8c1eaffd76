"""The SQL dialect of SQLite."""

from __future__ import annotations

from neuralrules._export._sql_dialect import Dialect

# A column of SQLite can hold cells of any type, and a cast turns any text into 0. So the query
# reads texts as the command line reads a file. If a text is compared with a REAL, it becomes a
# number if it is the text of one; any other text is larger than all numbers. SQLite has no
# function that raises an error, but the error message of json_extract shows the path it got.
NUMBER = """CASE
      WHEN {cell} < CAST(9e999 AS REAL) THEN CAST({cell} AS REAL)
      WHEN {cell} IS NULL OR {cell} COLLATE BINARY IN ({missing}) THEN NULL
      WHEN LOWER(TRIM({cell})) IN ('true', 'false') THEN LOWER(TRIM({cell})) = 'true'
      ELSE json_extract('{{}}', {remark} || {cell}) END"""
# Dates are texts in SQLite. Without these checks, SQLite would read a number as a Julian day,
# and 30 February as 1 March.
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
