"""Tables larger than memory, and default fits of large tables in memory.

    python -m benchmarks.larger [--rows 20000000] [--epochs 3] [--fits] [--write]

writes a Parquet file of 20 columns in row groups, piece by piece, to a temporary folder, fits
a model on it in a process of its own, and measures seconds and peak memory: on a short table
first, then on the long one. The files are removed. --fits then fits a million rows in memory:
with as many epochs as "auto" takes and with up to 300, and beside LightGBM, XGBoost and
CatBoost where they are installed. --write puts the results into docs/larger.json and
docs/larger.md.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.metrics import log_loss, mean_squared_error

from benchmarks.pages import DOCS, environment, environment_list, write_page
from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor

PIECE = 250_000  # rows of a row group
SHORT_ROWS = 1_000_000
IN_MEMORY_ROWS = 1_000_000
TEST_ROWS = 100_000
LIMIT = 1500  # MiB, for 100 million rows x 20
KINDS = ("two classes", "one in forty", "five classes", "numbers")
OTHERS = {
    "LightGBM": ("lightgbm", "LGBMClassifier", {"n_jobs": 2, "verbose": -1}),
    "XGBoost": ("xgboost", "XGBClassifier", {"n_jobs": 2}),
    "CatBoost": ("catboost", "CatBoostClassifier", {"thread_count": 2, "verbose": 0}),
}
CHILD = """
import json, sys, time
from neuralrules import NeuralRuleClassifier
from neuralrules._stream._progress import RowProgress

starts = [time.perf_counter()]
begin = RowProgress.begin_pass
RowProgress.begin_pass = lambda *told: (starts.append(time.perf_counter()), begin(*told))[1]
model = NeuralRuleClassifier(n_epochs=int(sys.argv[2]), random_state=0, n_jobs=2)
model.fit(sys.argv[1], "y")
starts.append(time.perf_counter())
print(json.dumps({"passes": starts, "losses": model.history_["validation_loss"],
                  "rules": model.network_.n_rules, "counted": model.rules_.n_training}))
"""


def table(kind: str, n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Generated rows of 20 columns, half of them with tails, and their targets."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    X = rng.normal(size=(n_rows, 20)).astype(np.float32)
    X[:, 10:] = np.exp(X[:, 10:])
    if kind == "two classes":
        score = X[:, 0] + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) * (X[:, 4] > 0)
        score += 0.5 * X[:, 6] * X[:, 7] * X[:, 8] - np.sin(2 * X[:, 5])
        return X, (score + rng.logistic(size=n_rows) > 0.5).astype(int)
    if kind == "one in forty":
        score = 2 * np.maximum(X[:, 0], X[:, 1]) + 2 * np.log(X[:, 10]) * (X[:, 2] > 0)
        score += X[:, 3] + np.minimum(X[:, 11], 3)
        return X, (score + 0.3 * rng.logistic(size=n_rows) > 7.5).astype(int)
    if kind == "five classes":
        scores = np.stack(
            [
                X[:, 0] + X[:, 1],
                X[:, 2] * 2 * (X[:, 3] > 0),
                np.sin(2 * X[:, 4]) + X[:, 5],
                np.log(X[:, 10]) * X[:, 6] * 0.8,
                np.zeros(n_rows),
            ],
            axis=1,
        )
        return X, (1.5 * scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    y = 10 * np.sin(X[:, 0] * X[:, 1]) + 5 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3]
    y += 5 * np.log(X[:, 10]) * (X[:, 4] > 0) + 3 * rng.normal(size=n_rows)
    return X, y


def make_file(path: Path, n_rows: int) -> None:
    """Write a table without holding it in memory."""
    names = [f"x{index}" for index in range(20)]
    schema = pa.schema([*((name, pa.float32()) for name in names), ("y", pa.int8())])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for number in range(n_rows // PIECE):
            X, y = table("two classes", PIECE, number)
            writer.write_table(pa.table([*X.T, y.astype(np.int8)], schema=schema))


def streamed(path: Path, n_rows: int, n_epochs: int) -> dict:
    """Fit on a file in a process of its own."""
    command = [sys.executable, "-c", CHILD, str(path), str(n_epochs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)  # of this process alone
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"The fit on {n_rows:,} rows failed with {process.returncode}.")
    found = json.loads(said)
    seconds = np.diff(found.pop("passes"))
    return {
        "rows": n_rows,
        "MiB": path.stat().st_size / 2**20,
        "before_training": float(seconds[: -len(found["losses"])].sum()),
        "epoch": float(np.mean(seconds[-len(found["losses"]) :])),
        "seconds": float(seconds.sum()),
        "peak": usage.ru_maxrss / 1024,
        **found,
    }


def fit_record(kind: str, name: str, model: object) -> dict:
    """Seconds of a fit in memory, and its loss on other rows."""
    X, y = table(kind, IN_MEMORY_ROWS, 0)
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    X, y = table(kind, TEST_ROWS, 1)
    if kind == "numbers":
        loss = mean_squared_error(y, model.predict(X))
    else:
        loss = log_loss(y, model.predict_proba(X))
    epochs = (
        getattr(model, "n_iter_", None) if "neuralrules" in type(model).__module__ else None
    )
    record = {"table": kind, "name": name, "seconds": seconds, "loss": loss, "epochs": epochs}
    print(record, file=sys.stderr, flush=True)
    return record


def fit_records() -> list[dict]:
    """Default fits of a million rows, beside longer ones and other libraries."""
    records = []
    small = table("two classes", 5000, 0)
    NeuralRuleClassifier(n_epochs=1, n_jobs=2).fit(*small)  # compiles the kernels
    for kind in KINDS:
        ours = NeuralRuleRegressor if kind == "numbers" else NeuralRuleClassifier
        for n_epochs in ("auto", 300):
            model = ours(n_epochs=n_epochs, random_state=0, n_jobs=2)
            records.append(fit_record(kind, f"n_epochs={n_epochs!r}", model))
        for name, (package, estimator, parameters) in OTHERS.items():
            try:
                module = importlib.import_module(package)
            except ImportError:
                continue
            kinds = estimator.replace("Classifier", "Regressor")
            made = getattr(module, kinds if kind == "numbers" else estimator)(**parameters)
            records.append(fit_record(kind, name, made))
    return records


def render(results: dict) -> str:
    lines = [
        "### Fits on files",
        "",
        "Two classes, 20 columns of float32, defaults but for the number of epochs, two "
        "threads. Before training the table is read three times.",
        "",
        "| rows | MiB on disk | before training, s | an epoch, s | peak memory, MiB |",
        "|--:|--:|--:|--:|--:|",
    ]
    for one in results["files"]:
        lines.append(
            f"| {one['rows']:,} | {one['MiB']:,.0f} | {one['before_training']:.0f} "
            f"| {one['epoch']:.0f} | {one['peak']:,.0f} |"
        )
    grown = results["files"][-1]["peak"] - results["files"][0]["peak"]
    lines += [
        "",
        f"The long table takes {grown:,.0f} MiB more than the short one; the bar for 100 "
        f"million rows is {LIMIT:,} MiB.",
    ]
    if results["fits"]:
        lines += [
            "",
            "### A million rows in memory",
            "",
            f"{IN_MEMORY_ROWS:,} generated rows x 20, two threads; log loss, or mean squared "
            f"error of numbers, on {TEST_ROWS:,} others.",
            "",
            "| table | model | epochs | seconds | loss |",
            "|---|---|--:|--:|--:|",
        ]
        for one in results["fits"]:
            epochs = "" if one["epochs"] is None else one["epochs"]
            seconds = "" if one["seconds"] is None else f"{one['seconds']:.1f}"
            lines.append(
                f"| {one['table']} | {one['name']} | {epochs} | {seconds} | {one['loss']:.5g} |"
            )
    return "\n".join(
        [*lines, "", results["note"], "", environment_list(results["environment"])]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000, help="rows of the long file")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--fits", action="store_true", help="fit in memory, too")
    parser.add_argument("--note", default="", help="what to say of the machine")
    parser.add_argument("--write", action="store_true", help="update docs/larger.md")
    options = parser.parse_args()
    results: dict = {"environment": environment("pyarrow"), "files": [], "note": options.note}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        for n_rows in (SHORT_ROWS, options.rows):
            make_file(path, n_rows)
            results["files"].append(streamed(path, n_rows, options.epochs))
            print(results["files"][-1], file=sys.stderr, flush=True)
    results["fits"] = fit_records() if options.fits else []
    print(render(results))
    if options.write:
        (DOCS / "larger.json").write_text(json.dumps(results, indent=1) + "\n")
        write_page("larger.md", render(results))


if __name__ == "__main__":
    main()
