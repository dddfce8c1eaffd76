"""Measure many tasks with joblib, here or on a cluster, so that a run can be resumed."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.datasets import VARIABLE, DataError
from benchmarks.pages import environment
from benchmarks.protocol import Task
from benchmarks.records import Records, SettingsError

FOLDER = Path(__file__).resolve().parent / "records"
UNKNOWN_SECONDS = 60.0
CONNECT_SECONDS = 10


class ClusterError(Exception):
    """There is no cluster at the address."""


def expected(task: Task, seconds: dict) -> float:
    """The seconds that a task will probably take, according to the committed records."""
    return seconds.get((task.data, task.method), UNKNOWN_SECONDS)


@dataclass(frozen=True)
class Failure:
    """A task that could not be measured, and why."""

    reason: str


def complete(records: Records, task: Task, measure: Any, wait: bool) -> tuple:
    """A task with its record, with a Failure, or with None if another runner measures it.

    A failure is returned, not raised, because a failed task must not stop the others.
    """
    try:
        return task, records.complete(task, measure, wait)
    except Exception as error:  # other libraries or the disk may raise any error
        return task, Failure(f"{type(error).__name__}: {error}")


def measured(
    records: Records, tasks: list[Task], measure: Any, n_jobs: int
) -> Iterator[tuple[Task, dict[str, Any] | Failure]]:
    """Tasks with their records, in the order in which joblib's backend completes them.

    Tasks that another runner is measuring come last.
    """
    for wait in (False, True):
        done = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)(
            delayed(complete)(records, task, measure, wait) for task in tasks
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
    records: Records,
    tasks: list[Task],
    measure: Callable[[Any, Task], dict[str, Any]],
    n_jobs: int,
    console: Console,
    *,
    seconds: dict,
    describe: Callable[[dict[str, Any]], str],
) -> tuple[dict[Task, dict[str, Any]], dict[Task, Failure]]:
    """Measure the tasks that have no record; return all records and all failures.

    Parameters
    ----------
    records, tasks
    measure : callable (protocol, task) -> record
    n_jobs : int
        Number of tasks at a time. With 1, tasks are measured in the given order.
    console : Console
    seconds : dict
        Expected seconds of each pair of data set and method, for the time left.
    describe : callable (record) -> str
        A short text about the result of a record, for the progress bar.
    """
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
    with progress_bar(console, missing, seconds) as advance:
        for task, result in measured(records, missing, measure, n_jobs):
            if isinstance(result, Failure):
                failed[task] = result
                advance(task, "failed")
            else:
                found[task] = result
                advance(task, describe(result))
    for task, failure in failed.items():
        console.print(f"{task} failed: {failure.reason}", style="red", soft_wrap=True)
    return found, failed


def other_versions(records: Iterable[dict[str, Any]]) -> str:
    """Versions and commits of the records that differ from the present ones, as text."""
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
    """A progress bar with the time left. It yields a function to call for each finished task.

    The bar advances by expected seconds, because tasks differ by a factor of a hundred.
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


def command_parser(
    module: str,
    text: str | None,
    data_sets: Iterable[str],
    methods: Iterable[str],
    *,
    default_methods: Iterable[str] | None = None,
) -> argparse.ArgumentParser:
    """The options that the commands of all comparisons share.

    Parameters
    ----------
    module : str
        Name of the module in this folder. It writes docs/MODULE.csv and docs/MODULE.md, unless
        the command says otherwise.
    text : str
        The text of `--help`.
    data_sets, methods
        Names to choose from.
    default_methods
        The methods that are measured without `--methods`, by default all methods.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{module}",
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    chosen = (("--data-sets", data_sets, None), ("--methods", methods, default_methods))
    for option, names, usual in chosen:
        parser.add_argument(
            option,
            nargs="+",
            choices=list(names),
            default=list(usual or names),
            metavar="NAME",
            help=f"of {', '.join(names)} (default {' '.join(usual) if usual else 'all'})",
        )
    parser.add_argument("--data", help=f"folder of the data sets, instead of ${VARIABLE}")
    parser.add_argument("--records", type=Path, help="folder of the records, to resume from")
    parser.add_argument(
        "--n-jobs",
        type=jobs,
        default=-1,
        help="number of tasks at a time, -1 for one on each core (default)",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="put the records into the CSV file of the page in docs/, and renew the page",
    )
    return parser


Measured = tuple[dict[Task, dict[str, Any]], dict[Task, Failure]]


def exit_code(
    console: Console,
    measure_all: Callable[[], Measured],
    finish: Callable[[list[dict[str, Any]]], None],
) -> int:
    """Measure all tasks, finish with their records, and return the exit code of a command.

    Parameters
    ----------
    console : Console
        For errors.
    measure_all : callable () -> (records, failures)
        As `run` returns them.
    finish : callable (records)
        Prints the records and writes pages.
    """
    try:
        found, failed = measure_all()
    except (DataError, SettingsError, ClusterError, OSError) as error:
        console.print(f"error: {error}", style="red", soft_wrap=True, highlight=False)
        return 2
    except KeyboardInterrupt:
        console.print("Stopped. The same command continues from here.")
        return 130
    finish(list(found.values()))
    return 1 if failed else 0


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
