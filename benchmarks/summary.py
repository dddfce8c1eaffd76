"""All records in one compact table, docs/reproduction.csv: one line each."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.pages import DOCS
from benchmarks.records import write_whole

PATH = DOCS / "reproduction.csv"
SIZES = ("rules", "literals", "nonzero", "trees", "nodes", "weights")
KEY = ["protocol", "data", "method", "fold"]


def line(record: dict[str, Any]) -> dict[str, Any]:
    """A record without nesting."""
    flat = {
        name: value for name, value in record.items() if name not in ("size", "environment")
    }
    found = dict(record["environment"])
    return {
        **flat,
        "tune_wrong": " ".join(map(str, record["tune_wrong"])),
        **{name: record["size"].get(name, "") for name in SIZES},
        "cpu": found.pop("CPU"),
        "commit": found.pop("commit"),
        "versions": " ".join(f"{name}={version}" for name, version in found.items()),
    }


def read() -> pd.DataFrame:
    """The committed records; empty when there are none."""
    if not PATH.exists():
        return pd.DataFrame(columns=KEY)
    return pd.read_csv(PATH)


def merge(records: Iterable[dict[str, Any]]) -> None:
    """Put records into the table, in place of those of the same tasks."""
    new = pd.read_csv(io.StringIO(as_csv([line(record) for record in records])))
    table = pd.concat([read(), new]).drop_duplicates(KEY, keep="last").sort_values(KEY)
    write_whole(PATH, table.to_csv(index=False, lineterminator="\n"))


def as_csv(lines: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, lines[0])
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def seconds_per_task() -> dict[tuple[str, str], float]:
    """Mean seconds that a data set and method took, from the committed records."""
    times = defaultdict(list)
    for row in read().itertuples():
        times[row.data, row.method].append(row.tune_seconds + row.fit_seconds)
    return {key: float(np.mean(seconds)) for key, seconds in times.items()}
