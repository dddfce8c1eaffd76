"""The SQL dialect of PostgreSQL."""

from __future__ import annotations

from neuralrules._export._sql_dialect import DATE, ZONE, Dialect

# In PostgreSQL the settings DateStyle, TimeZone and extra_float_digits of a session change the
# text of dates, moments and numbers. Its JSON functions write dates in ISO 8601 in every
# session, and recognise domains that are based on dates.
JSON = "(jsonb_build_array({cell}) ->> 0)"
IS_TEXT = "pg_typeof({cell}) IN ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype)"
DIGITS = "CAST(current_setting('extra_float_digits') AS INTEGER)"
# A moment in UTC as text, in the form that Python writes.
UTC = f"(jsonb_build_array(CAST({JSON} AS TIMESTAMPTZ) AT TIME ZONE 'UTC') ->> 0)"
# CONCAT and not a cast, because a cast would remove the blanks at the end of a CHAR(n), which
# every client reads.
TEXT = f"""WHEN {{cell}} IS NULL THEN NULL
      WHEN {IS_TEXT} THEN CONCAT({{cell}})
      WHEN pg_typeof({{cell}}) IN ('interval'::regtype, 'money'::regtype, 'bytea'::regtype)
        OR jsonb_typeof(to_jsonb({{cell}})) IN ('array', 'object')
      THEN CAST(CAST({{no_text}} || CAST(pg_typeof({{cell}}) AS TEXT) AS FLOAT8) AS TEXT)
      WHEN jsonb_typeof(to_jsonb({{cell}})) <> 'string' THEN CONCAT({{cell}})
      WHEN {JSON} ~ '^[0-9]+-[0-9]+-[0-9]+T[0-9:.]+[+-][0-9:]+$'
      THEN REPLACE({UTC}, 'T', ' ') || '+00:00'
      WHEN {JSON} ~ '^[0-9]+-[0-9]+-[0-9]+T[0-9:.]+$'
      THEN REPLACE({JSON}, 'T', ' ')
      ELSE {JSON} END COLLATE "C\""""
# 0 and 1 keep their only digit in sessions with extra_float_digits = 0. Other numbers may lose
# digits there.
FLAG = (
    f"CASE WHEN {DIGITS} < 0"
    " AND pg_typeof({cell}) IN ('float4'::regtype, 'float8'::regtype)"
    "\n      THEN CAST({digits} || CAST({cell} AS TEXT) AS DOUBLE PRECISION)"
    '\n      ELSE CAST(REPLACE(REPLACE(LOWER(CAST({cell} AS TEXT) COLLATE "C"), '
    "'true', '1'), 'false', '0') AS DOUBLE PRECISION) END"
)
CODE = (
    "CASE WHEN pg_typeof({cell}) IN "
    "('float4'::regtype, 'float8'::regtype, 'numeric'::regtype)"
    f"\n      THEN CASE WHEN {DIGITS} < 1"
    "\n        THEN CAST(CAST({digits} || CAST({cell} AS TEXT) AS FLOAT8) AS TEXT)"
    "\n        ELSE NULLIF(CAST(CAST(CAST({cell} AS TEXT) AS FLOAT8) AS TEXT), 'NaN') END"
    f"\n      {TEXT}"
)
# Other texts that PostgreSQL reads as dates, such as "now" or dates in words, are refused.
DAYS = (
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
        "flag": FLAG,
        "date": DAYS,
        "text": f"CASE {TEXT}",
        "code": CODE,
    },
    refused="CAST({remark} || CAST({cell} AS TEXT) AS DOUBLE PRECISION)",
    holds_text=IS_TEXT,
    date_text=f'(RTRIM({JSON}) COLLATE "C")',
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
