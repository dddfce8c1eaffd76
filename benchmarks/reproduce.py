"""Measure the paper's table: 19 data sets, four methods, resumably.

    python -m benchmarks.reproduce [--quick] [--protocol holdout] [--write]

The record of each data set, method and fold is written as soon as it is known. So a run may be
killed and started again, and several runs may share a folder. --write puts the records into
docs/reproduction.csv and makes docs/reproduction.md from this table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from benchmarks import runner, summary
from benchmarks.datasets import TABLES, data_folder, load
from benchmarks.methods import METHODS
from benchmarks.pages import commit
from benchmarks.protocol import MEASURABLE, Protocol, Task, measure
from benchmarks.records import Records
from benchmarks.runner import (
    FOLDER,
    Failure,
    Measured,
    command_parser,
    exit_code,
    positive,
    whole_number,
    workers,
)
from benchmarks.tables import mean_errors

QUICK = ("banana", "titanic")


def plan(
    data_sets: Iterable[str], methods: Iterable[str], n_repeats: int, seconds: dict
) -> list[Task]:
    """All tasks; those that took longest last time come first, to end together."""
    tasks = [
        Task(data, method, fold)
        for data in data_sets
        for method in methods
        for fold in range(n_repeats)
    ]
    return sorted(tasks, key=lambda task: (-runner.expected(task, seconds), task))


def run(
    records: Records, tasks: list[Task], folder: Path | None, n_jobs: int, console: Console
) -> tuple[dict[Task, dict[str, Any]], dict[Task, Failure]]:
    """Measure the tasks that have no record; return all records and all failures."""
    return runner.run(
        records,
        tasks,
        partial(measure, folder=folder, commit=commit()),
        n_jobs,
        console,
        seconds=summary.seconds_per_task(records.protocol),
        describe=lambda record: f"{record['error']:.2f} %",
    )


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = command_parser("reproduce", __doc__, TABLES, MEASURABLE, default_methods=METHODS)
    parser.add_argument("--protocol", choices=("paper", "holdout"), default="paper")
    parser.add_argument("--folds", type=positive, help="only so many folds or hold-outs")
    parser.add_argument(
        "--tune-rows",
        type=sample_size,
        default=Protocol.tune_rows,
        help="choose the parameter on a sample of at most so many rows, 0 for all "
        "(default %(default)s)",
    )
    parser.add_argument(
        "--scheduler",
        help="address of a Dask scheduler to run on; its workers must be able to import "
        "benchmarks and to reach the folders of data and records",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"a first look of a few minutes: --data-sets {' '.join(QUICK)} --folds 2",
    )
    options = parser.parse_args(arguments)
    if options.quick:
        options.data_sets, options.folds = list(QUICK), 2
    return options


def sample_size(text: str) -> int:
    return whole_number(
        text, lambda n: n == 0 or n >= 500, "a whole number of at least 500, or 0 for all rows"
    )


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    console = Console(stderr=True)
    protocol = Protocol(options.protocol, options.tune_rows)
    n_repeats = min(options.folds or protocol.n_repeats, protocol.n_repeats)
    tasks = plan(
        options.data_sets, options.methods, n_repeats, summary.seconds_per_task(protocol)
    )

    def measure_all() -> Measured:
        folder = data_folder(options.data)
        for name in options.data_sets:
            load(name, folder)  # downloads and checks, before hours are spent
        records = Records((options.records or FOLDER / protocol.label).resolve(), protocol)
        with workers(options.scheduler):
            return run(records, tasks, folder, options.n_jobs, console)

    def finish(found: list[dict[str, Any]]) -> None:
        print(means_table(found))
        if options.write and found:
            from benchmarks import reproduction_page  # draws, so it loads matplotlib

            summary.merge(protocol, found)
            if lacking := reproduction_page.lacking(summary.read()):
                console.print(
                    f"{summary.PATH} is renewed. The page is not: it needs {lacking}."
                )
            else:
                reproduction_page.write()

    return exit_code(console, measure_all, finish)


def means_table(records: list[dict[str, Any]]) -> str:
    """Mean test errors in per cent, data sets by methods."""
    if not records:
        return "No records."
    means = mean_errors(pd.DataFrame(records), MEASURABLE).dropna(how="all")
    means = means.dropna(axis="columns", how="all").rename_axis(index=None, columns=None)
    table = means.to_string(float_format="{:.2f}".format)
    return f"Mean test errors in per cent\n{table}"


if __name__ == "__main__":
    sys.exit(main())
