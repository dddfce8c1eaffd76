"""The cost of readable models: ours under contracts, and readable peers, resumably.

    python -m benchmarks.readability [--methods NAME ...] [--write]

The record of each data set, method and split is written as soon as it is known. --write puts
the records into docs/readability.csv and makes docs/readability.md from this table.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from threadpoolctl import threadpool_limits

from benchmarks import readability_page, runner
from benchmarks.datasets import data_folder
from benchmarks.frontier_protocol import FrontierProtocol, constant_loss, split, table
from benchmarks.limits import OverTime, within
from benchmarks.pages import commit, environment
from benchmarks.protocol import Task
from benchmarks.readability_methods import METHODS
from benchmarks.records import Records

FOLDER = runner.FOLDER / "readability"
# These data sets were chosen before any measurement: real tables of people, signals and
# machines, two of them with a rare class.
TWO_CLASSES = ("adult", "churn", "coil2000", "hypothyroid", "magic", "spambase")
NUMBERS = ("1193_BNG_lowbwt", "197_cpu_act", "201_pol")
DATA = (*TWO_CLASSES, *NUMBERS)
N_SPLITS = 3
LIMIT = 300  # most seconds of computing for a task


@dataclass(frozen=True)
class ReadabilityProtocol(FrontierProtocol):
    """The frontier's splits, under another name."""

    name: str = "readability"


def measure(
    protocol: ReadabilityProtocol, task: Task, folder: Path | None, code: str
) -> dict[str, Any]:
    """The record of a task. It has no loss if the task took too long."""
    rows = split(protocol, *table(task.data, folder), task.fold)
    method = METHODS[task.method]

    def work() -> dict[str, Any]:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about convergence, and of other libraries
            return method.read(rows).record()

    try:
        found = within(LIMIT, work)
    except OverTime:
        found = {}
    return {
        "protocol": protocol.name,
        "data": task.data,
        "method": task.method,
        "fold": task.fold,
        **found,
        "constant_loss": constant_loss(rows),
        "train_rows": len(rows.y),
        "environment": environment(*method.packages, code=code),
    }


def describe(record: dict[str, Any]) -> str:
    return f"loss {record['loss']:.4g}" if "loss" in record else f"over {LIMIT} s"


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = runner.command_parser("readability", __doc__, DATA, METHODS)
    parser.add_argument("--splits", type=runner.positive, default=N_SPLITS)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    console = Console(stderr=True)
    tasks = [
        Task(data, method, fold)
        for fold in range(options.splits)
        for method in options.methods
        for data in options.data_sets
    ]

    def measure_all() -> runner.Measured:
        folder, code = data_folder(options.data), commit()
        return runner.run(
            Records((options.records or FOLDER).resolve(), ReadabilityProtocol()),
            tasks,
            lambda protocol, task: measure(protocol, task, folder, code),
            options.n_jobs,
            console,
            seconds={},
            describe=describe,
        )

    def finish(found: list[dict[str, Any]]) -> None:
        if options.write and found:
            readability_page.merge(found)
            readability_page.write()

    return runner.exit_code(console, measure_all, finish)


if __name__ == "__main__":
    sys.exit(main())
