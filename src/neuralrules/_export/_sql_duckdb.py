"""The SQL dialect of DuckDB."""

from __future__ import annotations

from neuralrules._export._sql_dialect import DATE, ZONE, Dialect

# DuckDB writes a moment in the time zone of the session, and leaves out the seconds of the
# offsets of old time zones.
MOMENT = "typeof({cell}) = 'TIMESTAMP WITH TIME ZONE'"
TICKS = "epoch_us(CAST({cell} AS TIMESTAMPTZ))"
TEXT = f"""WHEN {MOMENT}
      THEN CAST(make_timestamp({TICKS}) AS TEXT) || '+00:00'
      ELSE CAST({{cell}} AS TEXT) END COLLATE "C\""""
CODE = (
    "CASE WHEN typeof({cell}) IN ('FLOAT', 'DOUBLE') OR typeof({cell}) LIKE 'DECIMAL%'\n"
    "      THEN NULLIF(CAST(TRY_CAST({cell} AS DOUBLE) AS TEXT), 'nan')\n"
    f"      {TEXT}"
)
DAYS = (
    f"CASE WHEN {MOMENT} THEN {TICKS} / 86400000000.0"
    "\n      WHEN {cell} IS NULL OR {text} IN ({missing}) THEN NULL"
    f"\n      WHEN NOT regexp_full_match({{text}}, '{DATE}')"
    "\n      THEN CAST(error({remark} || {text}) AS DOUBLE)"
    f"\n      WHEN regexp_matches({{text}}, '{ZONE}$')"
    "\n      THEN epoch_us(CAST({text} AS TIMESTAMPTZ)) / 86400000000.0"
    "\n      ELSE epoch_us(CAST({text} AS TIMESTAMP)) / 86400000000.0 END"
)
NUMBER = "CAST({cell} AS DOUBLE PRECISION)"
DUCKDB = Dialect(
    title="DuckDB",
    readers={
        "number": NUMBER,
        "flag": NUMBER,
        "date": DAYS,
        "text": f"CASE {TEXT}",
        "code": CODE,
    },
    refused="CAST(error({remark} || CAST({cell} AS TEXT)) AS DOUBLE)",
    holds_text="typeof({cell}) = 'VARCHAR'",
    date_text='(CAST({cell} AS TEXT) COLLATE "C")',
    nul="CHR(0)",
)
