"""What it costs to be readable: ours under contracts, beside readable peers, resumably.

    python -m benchmarks.readability [--methods NAME ...] [--write]

One record is written for each data set, method and split the moment it is known. --write
puts what has been measured into docs/readability.csv and makes docs/readability.md from it.
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
from benchmarks.datasets import DataError, data_folder
from benchmarks.frontier_protocol import FrontierProtocol, constant_loss, split, table
from benchmarks.limits import OverTime, within
from benchmarks.pages import commit, environment
from benchmarks.protocol import Task
from benchmarks.readability_methods import METHODS
from benchmarks.records import Records, SettingsError

FOLDER = runner.FOLDER / "readability"
# Chosen before anything was measured: real tables of people, signals and machines, two of
# them with a rare class.
TWO_CLASSES = ("adult", "churn", "coil2000", "hypothyroid", "magic", "spambase")
NUMBERS = ("1193_BNG_lowbwt", "197_cpu_act", "201_pol")
DATA = (*TWO_CLASSES, *NUMBERS)
N_SPLITS = 3
LIMIT = 300  # seconds of computing


@dataclass(frozen=True)
class ReadabilityProtocol(FrontierProtocol):
    """The frontier's splits, under another name."""

    name: str = "readability"


def measure(
    protocol: ReadabilityProtocol, task: Task, folder: Path | None, code: str
) -> dict[str, Any]:
    """The record of a task; without a loss where it took too long."""
    rows = split(protocol, *table(task.data, folder), task.fold)
    method = METHODS[task.method]

    def work() -> dict[str, Any]:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of not converging, and of other libraries
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
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.readability",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for option, names in (("--data-sets", DATA), ("--methods", tuple(METHODS))):
        parser.add_argument(
            option,
            nargs="+",
            choices=names,
            default=list(names),
            metavar="NAME",
            help=f"of {', '.join(names)} (default all)",
        )
    parser.add_argument("--splits", type=runner.positive, default=N_SPLITS)
    parser.add_argument("--data", help="folder of the data sets")
    parser.add_argument("--records", type=Path, default=FOLDER, help="to resume from")
    parser.add_argument("--n-jobs", type=runner.jobs, default=-1, help="tasks at a time")
    parser.add_argument("--write", action="store_true", help="renew docs/readability.md")
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
    try:
        folder, code = data_folder(options.data), commit()
        records = Records(options.records.resolve(), ReadabilityProtocol())
        found, failed = runner.run(
            records,
            tasks,
            lambda protocol, task: measure(protocol, task, folder, code),
            options.n_jobs,
            console,
            seconds={},
            describe=describe,
        )
    except (DataError, SettingsError, OSError) as error:
        console.print(f"error: {error}", style="red", soft_wrap=True, highlight=False)
        return 2
    except KeyboardInterrupt:
        console.print("Stopped. The same command goes on from here.")
        return 130
    if options.write and found:
        readability_page.merge(found.values())
        readability_page.write()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
