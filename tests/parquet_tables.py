"""Tables in files, for tests of fits on them."""

from __future__ import annotations

import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor


def every_kind(n_rows: int = 3000) -> pa.Table:
    """A column of every kind that a table may have, and a target."""
    rng = np.random.RandomState(0)
    number = rng.randn(n_rows)
    holes = rng.rand(n_rows) < 0.1
    late = np.arange(n_rows) > n_rows // 2  # text that only the second half of the table has
    days = rng.randint(0, 20_000, n_rows)
    words = np.array(["north", "south", "east"], object)[rng.randint(0, 3, n_rows)]
    columns = {
        "number": pa.array(number),
        "single": pa.array(number.astype(np.float32), mask=holes),
        "whole": pa.array(rng.randint(-5, 5, n_rows), mask=holes),
        "small": pa.array(rng.randint(0, 200, n_rows).astype(np.uint8)),
        "huge": pa.array(rng.randn(n_rows) * 1e12 + 1e15),
        "constant": pa.array(np.full(n_rows, 7)),
        "truth": pa.array(rng.rand(n_rows) < 0.5),
        "perhaps": pa.array(rng.rand(n_rows) < 0.5, mask=holes),
        "word": pa.array(words),
        "word or none": pa.array(words, mask=holes),
        "late word": pa.array(words, mask=~late),
        "nothing": pa.array([None] * n_rows, pa.string()),
        "null": pa.nulls(n_rows),
        "many words": pa.array([f"w{i}" for i in rng.geometric(0.02, n_rows)]),
        "sixty-four": pa.array([f"v{i % 64:02}" for i in range(n_rows)]),
        "dictionary": pa.array(words, mask=holes).dictionary_encode(),
        "coded": pa.array(rng.randint(0, 4, n_rows)).dictionary_encode(),
        "day": pa.array(days.astype(np.int32)).cast(pa.date32()),
        "moment": pa.array(days * 86_400_000_000 + 12_345_678, pa.timestamp("us"), mask=holes),
        "zoned": pa.array(days * 86_400, pa.timestamp("s", "Europe/Berlin")),
        "price": pa.array([decimal.Decimal(int(i)) / 4 for i in days], pa.decimal128(9, 2)),
    }
    score = number + (words == "north") + rng.randn(n_rows)
    return pa.table({**columns, "y": np.where(score > 0.3, "yes", "no")})


def plain(n_rows: int = 4000, *, task: str = "two classes", seed: int = 0) -> pd.DataFrame:
    """Few columns that say much about the target of a task."""
    rng = np.random.RandomState(seed)
    frame = pd.DataFrame(rng.randn(n_rows, 5), columns=list("abcde"))
    frame["city"] = np.array(["Oslo", "Rome", "Lima"], object)[rng.randint(0, 3, n_rows)]
    score = frame["a"] + frame["b"] * (frame["c"] > 0) + (frame["city"] == "Rome")
    noise = rng.randn(n_rows)
    if task == "two classes":
        frame["y"] = np.where(score + noise > 0.4, "yes", "no")
    elif task == "three classes":
        frame["y"] = np.digitize(score + noise, [-0.5, 1])
    elif task == "counts":
        frame["y"] = rng.poisson(np.exp(np.clip(score / 2, -3, 2)))
    else:
        frame["y"] = 100 + 20 * (score + noise)
    if task == "two numbers":
        frame["z"] = frame["d"] - score
    return frame


# The estimator of each task, with the target's name as it is given to `fit`.
TASKS = {
    "two classes": (NeuralRuleClassifier, "y", {}),
    "three classes": (NeuralRuleClassifier, "y", {}),
    "number": (NeuralRuleRegressor, "y", {}),
    "huber": (NeuralRuleRegressor, "y", {"loss": "huber"}),
    "counts": (NeuralRuleRegressor, "y", {"loss": "poisson"}),
    "two numbers": (NeuralRuleRegressor, ["y", "z"], {}),
}


def written(table, path, rows_in_group: int = 700):
    """A table as a Parquet file of several row groups."""
    found = table if isinstance(table, pa.Table) else pa.Table.from_pandas(table)
    pq.write_table(found, path, row_group_size=rows_in_group, write_page_checksum=True)
    return path


def written_folder(table: pd.DataFrame, folder, n_files: int = 3):
    """A table as a folder of Parquet files."""
    folder.mkdir()
    ends = np.linspace(0, len(table), n_files + 1).astype(int)
    for number in range(n_files):
        piece = table.iloc[ends[number] : ends[number + 1]]
        written(piece.reset_index(drop=True), folder / f"part-{number}.parquet")
    return folder
