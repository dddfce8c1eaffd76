"""All records in one compact table, docs/reproduction.csv: one line per record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock

from benchmarks.files import write_whole
from benchmarks.pages import DOCS
from benchmarks.protocol import Protocol

PATH = DOCS / "reproduction.csv"
KEY = ["protocol", "tune_limit", "data", "method", "fold"]
# Kinds of size. Each method has only some of them.
SIZES = dict.fromkeys(("rules", "literals", "nonzero", "trees", "nodes", "weights"), "Int64")


def line(protocol: Protocol, record: dict[str, Any]) -> dict[str, Any]:
    """A record as a flat line, with the option of the protocol that it was measured with."""
    flat = {"protocol": protocol.name, "tune_limit": protocol.tune_rows, **record}
    size, found = flat.pop("size"), flat.pop("environment")
    flat["tune_wrong"] = " ".join(map(str, record["tune_wrong"]))
    return {**flat, **{name: size.get(name) for name in SIZES}, **where(found)}


def where(environment: dict[str, str]) -> dict[str, str]:
    """The columns that say on which machine and with which code a record was measured."""
    versions = {k: v for k, v in environment.items() if k not in ("CPU", "commit")}
    return {
        "cpu": environment["CPU"],
        "commit": environment["commit"],
        "versions": " ".join(f"{name}={version}" for name, version in versions.items()),
    }


def read() -> pd.DataFrame:
    """The committed records; empty if there are none."""
    if not PATH.exists():
        return pd.DataFrame(columns=[*KEY, "train_rows", "tune_rows"])
    return pd.read_csv(PATH, dtype=SIZES)


def merge(protocol: Protocol, records: Iterable[dict[str, Any]]) -> None:
    """Put records into the table. They replace older records of the same tasks."""
    new = pd.DataFrame([line(protocol, record) for record in records]).astype(SIZES)
    put(PATH, KEY, new, read)


def put(
    path: Path, key: list[str], new: pd.DataFrame, read: Callable[[], pd.DataFrame]
) -> None:
    """Put lines into a table. They replace older lines with the same key."""
    with FileLock(path.with_suffix(".lock")):  # another runner may write at the same time
        old = read()
        table = pd.concat([old, new]) if len(old) else new
        table = table.drop_duplicates(key, keep="last").sort_values(key)
        write_whole(path, table.to_csv(index=False, lineterminator="\n"))


def seconds_per_task(protocol: Protocol) -> dict[tuple[str, str], float]:
    """Mean seconds that a data set and method took, from the committed records."""
    table = read()
    own = table[table["tune_limit"] == protocol.tune_rows]
    if own.empty:
        return {}
    seconds = own["tune_seconds"] + own["fit_seconds"]
    return seconds.groupby([own["data"], own["method"]]).mean().to_dict()
