"""Texts that stand for numbers, as the command line and the SQL of a model read them."""

from __future__ import annotations

import re

# What pandas.read_csv takes for missing.
MISSING = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan"}
    | {"null", "-NaN", "-nan", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"}
)
# A model that was fitted on booleans counts them as numbers; in small letters.
TRUTHS = {"true": 1.0, "false": 0.0}
NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf(inity)?", re.ASCII | re.IGNORECASE
)
