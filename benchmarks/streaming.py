"""Scoring a long CSV file by the command line: the speed and the memory.

    python -m benchmarks.streaming [--rows 5000000] [--write]

makes a CSV file of numbers, categories, missing cells and an id column. It fits a small model
on the first rows by `neuralrules fit`, scores a short and a long file by `neuralrules predict`,
and compares the last rows with a direct prediction. Memory is constant if both peaks of memory
are about equal. The files are in a temporary folder, which is removed. --write puts the results
into docs/streaming.md.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.pages import environment, environment_list, write_page
from neuralrules import load

TRAINING_ROWS = 20_000
SHORT_ROWS = 500_000
COMPARED_ROWS = 1_000
PIECE = 50_000  # rows that are made at a time
HEAD = """\
| rows | MiB | seconds | rows per second | peak memory, MiB | largest difference |
|--:|--:|--:|--:|--:|--:|"""
LIMIT = 1.2  # the goal: most peak memory of the long file, divided by that of the short file
NUMBERS = [f"x{index}" for index in range(7)]
COMMAND = [
    sys.executable,
    "-c",
    "import sys; from neuralrules._cli import main; sys.exit(main())",
]


def pieces(n_rows: int):
    """The rows of the table, piece by piece. Tables of any length have equal first rows."""
    rng = np.random.default_rng(0)
    for start in range(0, n_rows, PIECE):
        frame = pd.DataFrame(rng.normal(size=(PIECE, len(NUMBERS))).round(6), columns=NUMBERS)
        city = rng.choice(["Berlin", "Lima", "New York", "Rome, Italy"], PIECE)
        score = frame["x0"] + frame["x1"] * frame["x2"] + (city == "Lima")
        holes = rng.random((PIECE, len(NUMBERS))) < 0.03
        frame = frame.mask(holes)
        frame.insert(0, "id", np.arange(start, start + PIECE))
        frame["city"] = np.where(rng.random(PIECE) < 0.05, None, city)
        frame["bought"] = np.where(score > 0, "yes", "no")
        yield frame[: n_rows - start]


def make_table(path: Path, n_rows: int) -> None:
    """Write the table piece by piece, so that it is never in memory as a whole."""
    for number, frame in enumerate(pieces(n_rows)):
        frame.to_csv(path, mode="a", header=number == 0, index=False)


def run(*arguments: str) -> dict[str, float]:
    """Run a command of the command line; return its seconds and its peak memory in MiB."""
    start = time.perf_counter()
    process = subprocess.Popen([*COMMAND, *arguments, "--quiet"])
    _, status, usage = os.wait4(process.pid, 0)  # of this process alone
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(arguments)} failed with {process.returncode}.")
    return {"seconds": time.perf_counter() - start, "peak": usage.ru_maxrss / 1024}


def last_rows(path: Path, n_rows: int, n_last: int) -> pd.DataFrame:
    """The last `n_last` rows of a CSV file with `n_rows` rows, all as text."""
    with path.open(newline="") as file:
        reader = csv.reader(file)
        header = next(reader)
        rows = list(islice(reader, n_rows - n_last, None))
    if len(rows) != n_last:
        sys.exit(f"{path.name} has {n_rows - n_last + len(rows)} rows, not {n_rows}.")
    return pd.DataFrame(rows, columns=header)


def check(model_path: Path, scored: Path, n_rows: int) -> float:
    """Compare the last rows with a direct prediction, and return the largest difference."""
    found = last_rows(scored, n_rows, COMPARED_ROWS)
    last = pd.concat(deque(pieces(n_rows), maxlen=2))[-COMPARED_ROWS:]
    model = load(model_path)
    X = last[[*NUMBERS, "city"]]
    if found["id"].tolist() != last["id"].astype(str).tolist():
        sys.exit("The ids of the last rows are not those of the table.")
    if found["prediction"].tolist() != model.predict(X).tolist():
        sys.exit("The last predictions are not those of the model.")
    names = [f"probability_{label}" for label in model.classes_]
    return float(np.abs(found[names].astype(float) - model.predict_proba(X)).to_numpy().max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of the long file")
    parser.add_argument("--write", action="store_true", help="update docs/streaming.md")
    options = parser.parse_args()
    where = environment("pandas", "pyarrow")  # of the code that is about to run
    peaks, lines = [], [HEAD]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        training, model = folder / "training.csv", folder / "model.nrules"
        make_table(training, TRAINING_ROWS)
        fit = ["--target", "bought", "--drop", "id", "--n-epochs", "5", "-o", str(model)]
        run("fit", str(training), *fit)
        for n_rows in (SHORT_ROWS, options.rows):
            table, scored = folder / "table.csv", folder / "scored.csv"
            table.unlink(missing_ok=True)
            make_table(table, n_rows)
            size = table.stat().st_size / 2**20
            used = run(
                "predict", str(model), str(table), "-o", str(scored), "--id", "id", "--proba"
            )
            difference = check(model, scored, n_rows)
            lines.append(
                f"| {n_rows:,} | {size:,.0f} | {used['seconds']:.1f} "
                f"| {n_rows / used['seconds']:,.0f} | {used['peak']:,.0f} | {difference:.0e} |"
            )
            peaks.append(used["peak"])
    ratio = peaks[1] / peaks[0]
    lines += [
        "",
        f"The long table takes {ratio:.2f} times the memory of the short one; the bar is "
        f"{LIMIT}.",
        "",
        environment_list(where),
    ]
    print("\n".join(lines))
    if options.write:
        write_page("streaming.md", "\n".join(lines))
    sys.exit(ratio >= LIMIT)


if __name__ == "__main__":
    main()
