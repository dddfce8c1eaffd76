"""The paper's test errors (its table IV) and their sampling errors."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
from scipy.stats import binomtest

from benchmarks.datasets import TABLES
from benchmarks.protocol import HOLDOUT_SHARE

# Errors in per cent, data sets by methods (GB, RF, ANN, NRE).
ERRORS = pd.read_csv(Path(__file__).with_suffix(".csv"), index_col="dataset")

# The errors of wilt are multiples of 0.2 %, as its own 500 test rows give them. The errors of
# madelon are multiples of 0.1 %, so they cannot come from its own 600 test rows: 1000 rows are
# the smallest number that fits.
TEST_ROWS = {"wilt": 500, "madelon": 1000}


def test_rows(data: str) -> int:
    """The number of rows behind a published error: 15 % of the table, rounded up."""
    return TEST_ROWS.get(data) or math.ceil(HOLDOUT_SHARE * TABLES[data].rows)


def wrong(data: str, method: str) -> int:
    """How many rows the method got wrong."""
    return round(ERRORS.loc[data, method] / 100 * test_rows(data))


def interval(data: str, method: str) -> tuple[float, float]:
    """95 % interval of a published error, in per cent (Wilson's, which holds at 0 too)."""
    found = binomtest(wrong(data, method), test_rows(data)).proportion_ci(method="wilson")
    return 100 * found.low, 100 * found.high


def bar(data: str, method: str) -> float:
    """The published error plus its sampling error, p + 1.96 sqrt(p (1 - p) / n), in per cent.

    This is stricter than the end of the interval: if the published error is 0, the bar is 0.
    """
    p = ERRORS.loc[data, method] / 100
    return 100 * (p + 1.96 * math.sqrt(p * (1 - p) / test_rows(data)))
