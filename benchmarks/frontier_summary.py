"""All records of the frontier in one compact table, docs/frontier.csv: one line per record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd

from benchmarks import summary
from benchmarks.pages import DOCS

PATH = DOCS / "frontier.csv"
KEY = ["data", "method", "split"]
DIGITS = 7  # significant digits; a loss may be 1e-7 or 1e7
NUMBERS = ("loss", "error", "auc", "constant_loss", "variance", "literals")
COUNTS = ("parameters", "rules", "most_literals")
COLUMNS = (
    *KEY,
    "status",
    "loss",
    "error",
    "auc",
    "constant_loss",
    "variance",
    "parameters",
    "rules",
    "literals",
    "most_literals",
    "fit_seconds",
    "predict_seconds",
    "limit",
    "train_rows",
    "test_rows",
    "features",
    "classes",
)


def line(record: dict[str, Any]) -> dict[str, Any]:
    """A record as a flat line of the table. Missing entries are empty."""
    flat = {**record, "split": record["fold"]}
    for name in NUMBERS:
        value = flat.get(name)
        flat[name] = None if value is None else float(f"{value:.{DIGITS}g}")
    kept = {name: flat.get(name) for name in COLUMNS}
    return {**kept, **summary.where(record["environment"])}


def frame(records: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Records as the lines of the table."""
    return typed(pd.DataFrame([line(record) for record in records]))


def typed(table: pd.DataFrame) -> pd.DataFrame:
    """The table with types for whole numbers in which cells may be missing."""
    return table.astype(dict.fromkeys((*COUNTS, "limit"), "Int64"))


def read() -> pd.DataFrame:
    """The committed records; empty if there are none."""
    if not PATH.exists():
        return pd.DataFrame(columns=list(COLUMNS))
    return typed(pd.read_csv(PATH))


def merge(records: Iterable[dict[str, Any]]) -> None:
    """Put records into the table. They replace older records of the same tasks."""
    summary.put(PATH, KEY, frame(records), read)
