"""Measure the paper's table: 19 data sets, four methods, resumably.

    python -m benchmarks.reproduce [--protocol holdout] [--data-sets NAME ...] [--write]

One record is written for each data set, method and fold the moment it is known, so that
a run may be killed and started again, and several may share a folder. --write puts what
has been measured into docs/reproduction.csv and makes docs/reproduction.md from it.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterable, Iterator
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
from benchmarks.protocol import MEASURABLE, Protocol, Task, measure
from benchmarks.records import Records, SettingsError

FOLDER = Path(__file__).resolve().parent / "records"
UNKNOWN_SECONDS = 60.0
CONNECT_SECONDS = 10


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


def measured(
    records: Records, tasks: list[Task], folder: Path, n_jobs: int
) -> Iterator[tuple[Task, dict[str, Any] | None]]:
    """Tasks with their records as they come, by whatever backend joblib is set to.

    Tasks that another runner is at come last.
    """
    measure_here = partial(measure, folder=folder)
    for wait in (False, True):
        done = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)(
            delayed(complete)(records, task, measure_here, wait) for task in tasks
        )
        busy = []
        for task, record in done:
            if record is None:
                busy.append(task)
            else:
                yield task, record
        tasks = sorted(busy)
        if not tasks:
            return


def complete(records: Records, task: Task, measure_here: Any, wait: bool) -> tuple:
    return task, records.complete(task, measure_here, wait)


def run(
    records: Records, tasks: list[Task], folder: Path, n_jobs: int, console: Console
) -> dict[Task, dict[str, Any]]:
    """All records of the tasks, measuring those that are missing, with a progress bar."""
    found, damage = records.survey(tasks)
    for trouble in damage:
        console.print(f"Damaged, so measured again: {trouble}", style="yellow", soft_wrap=True)
    missing = [task for task in tasks if task not in found]
    console.print(f"{len(found)} records are there, {len(missing)} are to be measured.")
    seconds = summary.seconds_per_task(records.protocol)
    with Progress(
        TextColumn("{task.fields[n_done]} of {task.fields[n_tasks]}"),
        BarColumn(),
        TimeRemainingColumn(),
        TextColumn("left   {task.description}"),
        console=console,
        speed_estimate_period=3600,
    ) as progress:
        # The bar moves by expected seconds: tasks differ by a factor of a hundred.
        bar = progress.add_task(
            "",
            total=sum(expected(task, seconds) for task in missing),
            n_done=0,
            n_tasks=len(missing),
        )
        for n_done, (task, record) in enumerate(
            measured(records, missing, folder, n_jobs), start=1
        ):
            found[task] = record
            progress.update(
                bar,
                advance=expected(task, seconds),
                n_done=n_done,
                description=f"{task}: {record['error']:.2f} %",
            )
    return found


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
        type=not_negative,
        default=Protocol.tune_rows,
        help="choose the parameter on a sample of at most so many rows, 0 for all "
        "(default %(default)s)",
    )
    parser.add_argument("--data", help=f"folder of the data sets, instead of ${VARIABLE}")
    parser.add_argument("--records", type=Path, help="folder of the records, to resume from")
    parser.add_argument("--n-jobs", type=int, default=-1, help="tasks at a time")
    parser.add_argument("--scheduler", help="address of a Dask scheduler to run on")
    parser.add_argument(
        "--write",
        action="store_true",
        help="put the records into docs/reproduction.csv and renew docs/reproduction.md",
    )
    return parser.parse_args(arguments)


def positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)


def not_negative(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 0, not {text!r}")
    return int(text)


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
        records = Records(options.records or FOLDER / protocol.label, protocol)
        for name in options.data_sets:
            load(name, folder)  # downloads and checks, before hours are spent
        with workers(options.scheduler):
            found = run(records, tasks, folder, options.n_jobs, console)
    except (DataError, SettingsError, ClusterError) as error:
        console.print(f"error: {error}", style="red", soft_wrap=True, highlight=False)
        return 2
    except KeyboardInterrupt:
        console.print("Stopped. The same command goes on from here.")
        return 130
    print(errors_table(list(found.values())))
    if options.write:
        from benchmarks import reproduction_page  # draws, so it loads matplotlib

        summary.merge(protocol, found.values())
        if lacking := reproduction_page.lacking(summary.read()):
            console.print(f"{summary.PATH} is renewed. The page is not: it needs {lacking}.")
        else:
            reproduction_page.write()
    return 0


def errors_table(records: list[dict[str, Any]]) -> str:
    """Mean test errors in per cent, data sets by methods."""
    frame = pd.DataFrame(records)
    means = frame.pivot_table(index="data", columns="method", values="error", sort=False)
    order = [name for name in MEASURABLE if name in means]
    means = means.loc[[name for name in TABLES if name in means.index], order]
    table = means.rename_axis(index=None, columns=None).to_string(float_format="{:.2f}".format)
    return f"Mean test errors in per cent\n{table}"


if __name__ == "__main__":
    sys.exit(main())
