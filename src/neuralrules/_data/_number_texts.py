"""Texts that stand for numbers, as the command line and the SQL of a model read them."""

from __future__ import annotations

import re

# A model that was fitted on booleans counts them as numbers; in small letters.
TRUTHS = {"true": 1.0, "false": 0.0}
NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf(inity)?", re.ASCII | re.IGNORECASE
)
