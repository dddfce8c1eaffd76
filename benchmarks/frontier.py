"""Measure the frontier: our models and their peers on 36 data sets, resumably.

    python -m benchmarks.frontier [--methods NAME ...] [--quick] [--write]

The record of each data set, method and split is written as soon as it is known. So a run may
be killed and started again, and several runs may share a folder. --write puts the records into
docs/frontier.csv and makes docs/frontier.md from this table.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from functools import partial
from typing import Any

from rich.console import Console

from benchmarks import frontier_summary, runner
from benchmarks.datasets import data_folder
from benchmarks.frontier_methods import METHODS, STAGES
from benchmarks.frontier_numbers import lacking
from benchmarks.frontier_protocol import (
    DATA,
    MEASURED,
    N_SPLITS,
    NOT_TRIED,
    OVER_TIME,
    FrontierProtocol,
    measure,
    n_cells,
    record_of,
    table,
)
from benchmarks.frontier_tables import first_look
from benchmarks.pages import commit
from benchmarks.protocol import Task
from benchmarks.records import Records

FOLDER = runner.FOLDER / "frontier"
QUICK = ("titanic", "sonar", "505_tecator")


def plan(data_sets: Iterable[str], methods: Iterable[str], n_splits: int) -> list[Task]:
    """All tasks, stage by stage. A stage has one split after the other, small tables first."""
    chosen, ordered = set(methods), sorted(data_sets, key=n_cells)
    return [
        Task(data, method.name, fold)
        for stage in STAGES
        for fold in range(n_splits)
        for method in stage
        if method.name in chosen
        for data in ordered
    ]


def too_slow_before(records: Records, task: Task) -> Task | None:
    """A task that took too long: of the same table and family, and with no more rules."""
    method = METHODS[task.method]
    if method.limit is None:
        return None
    for other in METHODS.values():
        if other.family == method.family and (other.n_rules or 0) <= (method.n_rules or 0):
            for fold in range(N_SPLITS):
                earlier = Task(task.data, other.name, fold)
                record = records.read(earlier)
                if record is not None and record["status"] == OVER_TIME:
                    return earlier
    return None


def measure_unless_too_slow(
    protocol: FrontierProtocol, task: Task, records: Records, **options: Any
) -> dict[str, Any]:
    """The record of a task. It is not measured if a task like it took too long before."""
    if too_slow_before(records, task) is None:
        return measure(protocol, task, **options)
    return record_of(protocol, task, NOT_TRIED, {}, **options)


def describe(record: dict[str, Any]) -> str:
    if record["status"] != MEASURED:
        return record["status"]
    return f"loss {record['loss']:.4g} in {record['fit_seconds']:.1f} s"


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = runner.command_parser("frontier", __doc__, DATA, METHODS)
    parser.add_argument("--splits", type=runner.positive, help="number of splits, at most 3")
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"a first look: --data-sets {' '.join(QUICK)} --splits 1",
    )
    options = parser.parse_args(arguments)
    if options.quick:
        options.data_sets, options.splits = list(QUICK), 1
    options.splits = min(options.splits or N_SPLITS, N_SPLITS)
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    console = Console(stderr=True)

    def measure_all() -> runner.Measured:
        folder = data_folder(options.data)
        for name in options.data_sets:
            table(name, folder)  # download and check all tables before hours of measuring
        records = Records((options.records or FOLDER).resolve(), FrontierProtocol())
        return runner.run(
            records,
            plan(options.data_sets, options.methods, options.splits),
            partial(measure_unless_too_slow, records=records, folder=folder, commit=commit()),
            options.n_jobs,
            console,
            seconds={},
            describe=describe,
        )

    def finish(found: list[dict[str, Any]]) -> None:
        if found:
            print(first_look(frontier_summary.frame(found)))
        if options.write and found:
            from benchmarks import frontier_page  # late, because it loads matplotlib

            frontier_summary.merge(found)
            if absent := lacking(frontier_summary.read()):
                console.print(f"{frontier_summary.PATH} is renewed. The page needs {absent}.")
            else:
                frontier_page.write()

    return runner.exit_code(console, measure_all, finish)


if __name__ == "__main__":
    sys.exit(main())
