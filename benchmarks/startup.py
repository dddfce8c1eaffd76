"""The time that `neuralrules predict` takes for a small table. Nearly all of it is start-up.

``python -m benchmarks.startup`` measures the code that is imported. ``--against FOLDER`` also
measures the ``src`` of another checkout, in alternating runs, and gives the ratio.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import neuralrules

ROWS = 5_000
OURS = str(Path(neuralrules.__file__).parents[1])


def write_tables(folder: Path) -> None:
    """Write a table of numbers and categories, and a table of the same columns to score."""
    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.randn(ROWS, 10), columns=[f"x{i}" for i in range(10)])
    X["town"] = rng.choice(["Lima", "Oslo", "Rome"], ROWS)
    X.to_csv(folder / "new.csv", index=False)
    y = X["x0"] * X["x1"] + (X["town"] == "Rome") > 0
    X.assign(y=y.astype(int)).to_csv(folder / "old.csv", index=False)


def seconds(source: str, folder: Path, cache: str | None, *arguments: str) -> float:
    """Wall time of one command line of the code in a folder."""
    environment = {**os.environ, "PYTHONPATH": source}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    command = [sys.executable, "-m", "neuralrules", *arguments, "-q"]
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", help="the `src` folder of another checkout")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    sources = {"ours": OURS} | ({"theirs": options.against} if options.against else {})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder)
        for who, source in sources.items():  # each code reads the model that it wrote
            fit = ("fit", "old.csv", "-t", "y", "--n-epochs", "20", "-o", f"{who}.nrules")
            seconds(source, folder, None, *fit)
        for case in ("warm", "cold cache"):
            times: dict[str, list[float]] = {who: [] for who in sources}
            for run in range(options.runs + 1):
                for who, source in sources.items():
                    predict = ("predict", f"{who}.nrules", "new.csv", "-o", "out.csv")
                    with tempfile.TemporaryDirectory() as empty:
                        cache = empty if case == "cold cache" else None
                        took = seconds(source, folder, cache, *predict)
                    if run:  # the first one fills the caches
                        times[who].append(took)
            medians = {who: statistics.median(own) for who, own in times.items()}
            line = ", ".join(f"{who} {median:.2f} s" for who, median in medians.items())
            if options.against:
                line += f", ratio {medians['ours'] / medians['theirs']:.2f}"
            print(f"{case}: {line} (median of {options.runs})")


if __name__ == "__main__":
    main()
