"""Measure the paper's table: 19 data sets, four methods, resumably.

    python -m benchmarks.reproduce [--quick] [--protocol holdout] [--write]

One record is written for each data set, method and fold the moment it is known, so that
a run may be killed and started again, and several may share a folder. --write puts what
has been measured into docs/reproduction.csv and makes docs/reproduction.md from it.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import Parallel, delayed, parallel_config
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks import summary
from benchmarks.datasets import TABLES, VARIABLE, DataError, data_folder, load
from benchmarks.methods import METHODS
from benchmarks.pages import commit, environment
from benchmarks.protocol import MEASURABLE, Protocol, Task, measure
from benchmarks.records import Records, SettingsError
from benchmarks.tables import mean_errors

FOLDER = Path(__file__).resolve().parent / "records"
UNKNOWN_SECONDS = 60.0
CONNECT_SECONDS = 10
QUICK = ("banana", "titanic")


class ClusterError(Exception):
    """There is no cluster at the address."""


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
    return sorted(tasks, key=lambda task: (-expected(task, seconds), task))


def expected(task: Task, seconds: dict) -> float:
    """Seconds a task is likely to take, from the committed records."""
    return seconds.get((task.data, task.method), UNKNOWN_SECONDS)


@dataclass(frozen=True)
class Failure:
    """A task that could not be measured, and why."""

    reason: str


def complete(records: Records, task: Task, measure_here: Any, wait: bool) -> tuple:
    """A task with its record, a Failure, or None while another runner is at it.

    A failure is returned, not raised: one task that fails must not stop the others.
    """
    try:
        return task, records.complete(task, measure_here, wait)
    except Exception as error:  # whatever four methods and a disk may raise
        return task, Failure(f"{type(error).__name__}: {error}")


def measured(
    records: Records, tasks: list[Task], folder: Path | None, n_jobs: int
) -> Iterator[tuple[Task, dict[str, Any] | Failure]]:
    """Tasks with their records as they come, by whatever backend joblib is set to.

    Tasks that another runner is at come last.
    """
    measure_here = partial(measure, folder=folder, commit=commit())
    for wait in (False, True):
        done = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)(
            delayed(complete)(records, task, measure_here, wait) for task in tasks
        )
        busy = []
        for task, result in done:
            if result is None:
                busy.append(task)
            else:
                yield task, result
        tasks = sorted(busy)
        if not tasks:
            return


def run(
    records: Records, tasks: list[Task], folder: Path | None, n_jobs: int, console: Console
) -> tuple[dict[Task, dict[str, Any]], dict[Task, Failure]]:
    """Records of the tasks, measuring those that are missing, and what failed."""
    found, damage = records.survey(tasks)
    for trouble in damage:
        console.print(f"Damaged, so measured again: {trouble}", style="yellow", soft_wrap=True)
    missing = [task for task in tasks if task not in found]
    console.print(f"{len(found)} records are there, {len(missing)} are to be measured.")
    if others := other_versions(found.values()):
        console.print(
            f"Records that are there come from {others}. To measure them anew, give another "
            "folder with --records.",
            style="yellow",
            soft_wrap=True,
        )
    failed: dict[Task, Failure] = {}
    with progress_bar(console, missing, summary.seconds_per_task(records.protocol)) as advance:
        for task, result in measured(records, missing, folder, n_jobs):
            if isinstance(result, Failure):
                failed[task] = result
                advance(task, "failed")
            else:
                found[task] = result
                advance(task, f"{result['error']:.2f} %")
    for task, failure in failed.items():
        console.print(f"{task} failed: {failure.reason}", style="red", soft_wrap=True)
    return found, failed


def other_versions(records: Iterable[dict[str, Any]]) -> str:
    """Versions and commits behind the records that are not those of now."""
    now = environment()
    there = {
        f"{name} {record['environment'][name]}"
        for record in records
        for name in now
        if name != "CPU" and record["environment"].get(name) != now[name]
    }
    return ", ".join(sorted(there))


@contextlib.contextmanager
def progress_bar(
    console: Console, tasks: list[Task], seconds: dict
) -> Iterator[Callable[[Task, str], None]]:
    """A bar with the time left; call what it yields with each task that is done.

    It moves by expected seconds, because tasks differ by a factor of a hundred.
    """
    with Progress(
        TextColumn("{task.fields[n_done]} of {task.fields[n_tasks]}"),
        BarColumn(),
        TimeRemainingColumn(),
        TextColumn("left   {task.description}"),
        console=console,
        speed_estimate_period=3600,
    ) as progress:
        total = sum(expected(task, seconds) for task in tasks)
        bar = progress.add_task("", total=total, n_done=0, n_tasks=len(tasks))

        def advance(task: Task, result: str) -> None:
            progress.update(
                bar,
                advance=expected(task, seconds),
                n_done=progress.tasks[0].fields["n_done"] + 1,
                description=f"{task}: {result}",
            )

        yield advance


@contextlib.contextmanager
def workers(scheduler: str | None) -> Iterator[None]:
    """Let joblib use processes here, or a Dask cluster whose workers can import this."""
    if scheduler is None:
        yield
        return
    from distributed import Client

    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"--scheduler {scheduler} does not answer ({error}). Give the address that "
            "`dask scheduler` printed, for example tcp://127.0.0.1:8786."
        ) from error
    with client, parallel_config("dask"):
        yield


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reproduce",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--protocol", choices=("paper", "holdout"), default="paper")
    parser.add_argument(
        "--data-sets",
        nargs="+",
        choices=list(TABLES),
        default=list(TABLES),
        metavar="NAME",
        help=f"of {', '.join(TABLES)} (default all)",
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=list(MEASURABLE),
        default=list(METHODS),
        metavar="NAME",
        help=f"of {', '.join(MEASURABLE)} (default {' '.join(METHODS)})",
    )
    parser.add_argument("--folds", type=positive, help="only so many folds or hold-outs")
    parser.add_argument(
        "--tune-rows",
        type=sample_size,
        default=Protocol.tune_rows,
        help="choose the parameter on a sample of at most so many rows, 0 for all "
        "(default %(default)s)",
    )
    parser.add_argument("--data", help=f"folder of the data sets, instead of ${VARIABLE}")
    parser.add_argument("--records", type=Path, help="folder of the records, to resume from")
    parser.add_argument(
        "--n-jobs", type=jobs, default=-1, help="tasks at a time, -1 for one a core (default)"
    )
    parser.add_argument(
        "--scheduler",
        help="address of a Dask scheduler to run on; its workers must be able to import "
        "benchmarks and to reach the folders of data and records",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="put the records into docs/reproduction.csv and renew docs/reproduction.md",
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


def whole_number(text: str, allowed: Callable[[int], bool], wanted: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = None
    if number is None or not allowed(number):
        raise argparse.ArgumentTypeError(f"must be {wanted}, not {text!r}")
    return number


def positive(text: str) -> int:
    return whole_number(text, lambda n: n >= 1, "a whole number of at least 1")


def jobs(text: str) -> int:
    return whole_number(
        text, lambda n: n >= 1 or n == -1, "a whole number of at least 1, or -1"
    )


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
    try:
        folder = data_folder(options.data)
        for name in options.data_sets:
            load(name, folder)  # downloads and checks, before hours are spent
        records = Records((options.records or FOLDER / protocol.label).resolve(), protocol)
        with workers(options.scheduler):
            found, failed = run(records, tasks, folder, options.n_jobs, console)
    except (DataError, SettingsError, ClusterError, OSError) as error:
        console.print(f"error: {error}", style="red", soft_wrap=True, highlight=False)
        return 2
    except KeyboardInterrupt:
        console.print("Stopped. The same command goes on from here.")
        return 130
    print(means_table(list(found.values())))
    if options.write and found:
        from benchmarks import reproduction_page  # draws, so it loads matplotlib

        summary.merge(protocol, found.values())
        if lacking := reproduction_page.lacking(summary.read()):
            console.print(f"{summary.PATH} is renewed. The page is not: it needs {lacking}.")
        else:
            reproduction_page.write()
    return 1 if failed else 0


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
