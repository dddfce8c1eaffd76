"""Tables larger than memory.

    python -m benchmarks.larger [--rows 20000000] [--epochs 3] [--write]

writes a Parquet file of 20 columns to a temporary folder, one row group after the other. Then
it fits a model on the file in a process of its own, and measures seconds and peak memory. It
does so for a short table first, and then for the long one. The files are removed. --write puts
the results into docs/larger.json and docs/larger.md. `benchmarks.growing` fits such tables in
memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.growing import table
from benchmarks.pages import DOCS, environment, environment_list, write_page

PIECE = 250_000  # rows of a row group
SHORT_ROWS = 1_000_000
LIMIT = 1500  # MiB, for 100 million rows x 20
CHILD = """
import json, sys, time
from neuralrules import NeuralRuleClassifier
from neuralrules._io._progress import RowProgress

starts = [time.perf_counter()]
begin = RowProgress.begin_pass
RowProgress.begin_pass = lambda *told: (starts.append(time.perf_counter()), begin(*told))[1]
model = NeuralRuleClassifier(n_epochs=int(sys.argv[2]), random_state=0, n_jobs=2)
model.fit(sys.argv[1], "y")
starts.append(time.perf_counter())
print(json.dumps({"passes": starts, "losses": model.history_["validation_loss"],
                  "rules": model.network_.n_rules, "counted": model.rules_.n_training}))
"""


def make_file(path: Path, n_rows: int) -> None:
    """Write a table piece by piece, so that it is never in memory as a whole."""
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
    return "\n".join(
        [*lines, "", results["note"], "", environment_list(results["environment"])]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000, help="rows of the long file")
    parser.add_argument("--epochs", type=int, default=3)
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
    print(render(results))
    if options.write:
        (DOCS / "larger.json").write_text(json.dumps(results, indent=1) + "\n")
        write_page("larger.md", render(results))


if __name__ == "__main__":
    main()
