"""Small generated data sets in place of the paper's, for tests of the reproduction.

    python tests/tiny_tables.py FOLDER [options of benchmarks.reproduce]

runs the reproduction on them, in this process. If the environment variable HELD_AFTER is a
number, that many tasks are measured. The next one says so and never ends.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import datasets, protocol, reproduce
from benchmarks.generators import rotated_xor, twonorm

TABLES = {"tiny_xor": (rotated_xor, 0), "tiny_norm": (twonorm, 60)}
N_ROWS = 240
HELD = "HELD_AFTER"


def write(folder: Path) -> None:
    """The tables as a folder of data sets."""
    for name, (generate, _) in TABLES.items():
        X, y = generate(N_ROWS, 0)
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
        (folder / name).mkdir(parents=True)
        frame.assign(target=y).to_csv(folder / name / f"{name}.tsv.gz", sep="\t", index=False)


def install() -> None:
    """Make the benchmarks know these tables, and try fewer and smaller candidates."""
    for name, (generate, test_rows) in TABLES.items():
        X, y = generate(N_ROWS, 0)
        datasets.TABLES[name] = datasets.Table(
            name,
            *X.shape,
            tuple(np.bincount(y).tolist()),
            test_rows,
            0,
            datasets.checksum(X, y),
        )
    for name, method in protocol.MEASURABLE.items():
        fewer = dataclasses.replace(method, candidates=method.candidates[:2])
        protocol.MEASURABLE[name] = fewer


def hold_after(n_tasks: int) -> None:
    """Let the task after so many say that it has begun, and never end."""
    measure, begun = reproduce.measure, itertools.count()

    def held(*arguments: Any, **options: Any) -> dict[str, Any]:
        if next(begun) == n_tasks:
            os.write(1, b"held\n")
            while True:
                time.sleep(0.1)
        return measure(*arguments, **options)

    reproduce.measure = held


if __name__ == "__main__":
    # A shell that put the tests into the background has switched Ctrl-C off for them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    install()
    if HELD in os.environ:
        hold_after(int(os.environ[HELD]))
    sys.exit(reproduce.main(["--data", *sys.argv[1:], "--n-jobs", "1"]))
