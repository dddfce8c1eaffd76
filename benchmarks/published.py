"""The paper's test errors (its table IV), with the sampling error that belongs to them."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
from scipy.stats import binomtest

from benchmarks.datasets import TABLES
from benchmarks.protocol import HOLDOUT_SHARE

# Per cent, data sets by methods (GB, RF, ANN, NRE).
ERRORS = pd.read_csv(Path(__file__).with_suffix(".csv"), index_col="dataset")

# The figures of wilt are fifths of a per cent, of its own 500 test rows. Those of madelon
# are tenths, so that they cannot come from its own 600: 1000 is the least that fits.
TEST_ROWS = {"wilt": 500, "madelon": 1000}


def test_rows(data: str) -> int:
    """How many rows a published figure was measured on: 15 %, rounded up."""
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

    Stricter than the interval's end: at an error of 0 it allows no error at all.
    """
    p = ERRORS.loc[data, method] / 100
    return 100 * (p + 1.96 * math.sqrt(p * (1 - p) / test_rows(data)))
