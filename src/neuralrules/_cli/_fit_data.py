"""The data that `fit` learns from: rows in memory or in Parquet files, targets and task."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import date, time, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from neuralrules._cli._column_notes import note_columns
from neuralrules._cli._errors import InputError, library_errors, listed
from neuralrules._cli._model_rows import check_complete, check_finite, checked_weights
from neuralrules._cli._table_format import TableFormat

if TYPE_CHECKING:
    import pandas as pd

    from neuralrules._cli._console import Console
    from neuralrules._stream._parquet import ParquetTable

MOST_CLASSES = 20  # a target with more different whole numbers than this is a quantity
SAMPLE_ROWS = 1_000_000  # the default of n_sample_rows
TIMES = (date, time, timedelta)
LARGEST_LABEL = 2.0**53  # above this, float64 cannot represent every whole number


class Roles(NamedTuple):
    """The columns of a table that are not features."""

    target: Sequence[str]
    drop: Sequence[str]
    weight: str | None

    @property
    def options(self) -> dict[str, Sequence[str]]:
        """The columns that each option of the command line names."""
        weights = [] if self.weight is None else [self.weight]
        return {"--target": self.target, "--drop": self.drop, "--weight": weights}

    def check(self) -> None:
        """Refuse a column with two roles, or with one role twice; `--drop` may repeat it."""
        roles: dict[str, str] = {}
        for role, names in self.options.items():
            for name in names:
                earlier, roles[name] = roles.get(name), role
                if earlier and (earlier, role) != ("--drop", "--drop"):
                    both = f"{earlier} and {role}" if earlier != role else f"{role} twice"
                    raise click.UsageError(
                        f"The column {name!r} is given as {both}. Give it once."
                    )


class FoundTask(NamedTuple):
    """The task to learn, and the reason why it was chosen."""

    name: str
    reason: str


class FitData(NamedTuple):
    """The data of a fit, in the form that the method `fit` of an estimator takes."""

    X: Any  # DataFrame or ParquetTable, (n_rows, n_columns)
    y: Any  # (n_rows,) or (n_rows, n_targets); for files, names of columns of X
    weights: Any  # (n_rows,) or None; for files, the name of a column of X
    labels: np.ndarray  # the targets of all rows; for files, the different targets that occur
    task: FoundTask
    table: str  # the table's name
    n_rows: int
    noted: set[str]  # the columns that have a note about many different texts


def data_in_memory(
    path: str,
    table_format: TableFormat,
    roles: Roles,
    asked: str | None,
    named: Mapping[str, Sequence[str]],
    kinds: Mapping[str, str],
    console: Console,
) -> FitData:
    """Read a whole table, and find the task to learn, unless the user asked for one.

    `named` are options, each with the features that it names. `kinds` are the columns whose
    type the user gives: "date" or "text".
    """
    with table_format.open(path) as table:
        others = {name for names in roles.options.values() for name in names}
        for option, names in {**roles.options, **named}.items():
            for name in names:
                if option in named and name in others:
                    raise InputError(
                        f"{option} {name!r} is no column to learn from. Leave it out."
                    )
                table.check_column(name, option)
        features = [name for name in table.names if name not in others]
        if not features:
            raise InputError(
                f"{table.name} has no column to learn from besides "
                f"{listed([*roles.target, *roles.drop])}."
            )
        with console.progress(f"Reading {table.name}", lambda: table.done):
            frame = table.read([*features, *roles.target, *roles.options["--weight"]], kinds)
        name = table.name
    check_finite(frame, name)
    for target in roles.target:
        check_complete(frame[target], name, "target")
    weights = None if roles.weight is None else checked_weights(frame[roles.weight], name)
    targets = frame[list(roles.target)]
    task = task_of_targets(targets, name, asked)
    note_task(task, asked, console)
    noted = note_columns(frame[features], console, table_format.marks(), kinds)
    y = target_array(targets, name, task.name)
    return FitData(frame[features], y, weights, y, task, name, len(frame), noted)


def data_in_files(path: str, roles: Roles, asked: str | None, console: Console) -> FitData:
    """Open Parquet files that are read piece by piece, and find the task to learn."""
    from neuralrules._stream._parquet import ParquetTable

    with library_errors():
        table = ParquetTable(path)
    for option, names in roles.options.items():
        for name in names:
            if name not in table.names:
                raise InputError(f"{option}: {path} has no column {name!r}. {table.like(name)}")
    table.names = [name for name in table.names if name not in roles.drop]
    targets: Any = roles.target[0] if len(roles.target) == 1 else list(roles.target)
    labels = np.array([]) if isinstance(targets, list) else different_cells(table, targets)
    task = task_of_labels(targets, labels, asked)
    note_task(task, asked, console)
    console.note(f"{path} is read piece by piece in every epoch: it has {table.n_rows:,} rows.")
    return FitData(table, targets, roles.weight, labels, task, path, table.n_rows, set())


def is_streamed(
    path: str,
    table_format: TableFormat,
    parameters: Mapping[str, Any],
    in_memory: Mapping[str, Any],
    checkpoint: str | None,
) -> bool:
    """Whether a table is read piece by piece, as are folders and Parquet files of many rows.

    A file with more rows than the parameter `n_sample_rows` is not read into memory. With a
    checkpoint, a Parquet file is always read piece by piece. `in_memory` are the options that
    need the whole table in memory, each with the value that was given.
    """
    whole = next((option for option, given in in_memory.items() if given), None)
    if os.path.isdir(path):
        if whole:
            raise click.UsageError(
                f"{whole} needs the whole table in memory, and {path!r} is a folder, which is "
                "read piece by piece. Leave it out, or give one file."
            )
        return True
    suffix = os.path.splitext(path)[1].lstrip(".").lower()
    is_parquet = os.path.isfile(path) and (table_format.file_format or suffix) == "parquet"
    if checkpoint is None:
        most = parameters.get("n_sample_rows", SAMPLE_ROWS)
        return is_parquet and not whole and parquet_rows(path) > most
    if whole or not is_parquet:
        reason = f", and {whole} needs the whole table in memory" if whole else ""
        raise click.UsageError(
            f"--checkpoint is for Parquet files that are read piece by piece{reason}."
        )
    return True


def parquet_rows(path: str) -> int:
    """The number of rows of a Parquet file; 0 for a damaged file, which is refused later."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException):
        return 0


def different_cells(table: ParquetTable, column: str) -> np.ndarray:
    """The different cells of a column; only some of them if it holds many different numbers."""
    labels = np.array([])
    for number, chunk in enumerate(table.chunks([column])):
        cells = chunk.frame[column]
        found = np.asarray(cells.cat.categories if hasattr(cells, "cat") else cells)
        if found.dtype.kind == "O":
            found = np.array([cell for cell in found if cell is not None], object)
        labels = np.unique(found if not number else np.concatenate([labels, found]))
        if labels.dtype.kind in "iuf" and len(labels) > MOST_CLASSES:
            break  # a quantity
    return labels


def note_task(task: FoundTask, asked: str | None, console: Console) -> None:
    if asked is None:
        console.note(f"{task.name}, because {task.reason}; --task overrides this.")


def task_of_labels(target: str | list[str], labels: np.ndarray, asked: str | None) -> FoundTask:
    """The task that the user asks for, or that fits the different targets of files."""
    import pandas as pd

    if not isinstance(target, str):
        return FoundTask("regression", "there are several targets")
    if asked is not None:
        return FoundTask(asked, "")
    if labels.dtype.kind == "M":
        raise no_number(f"The target {target!r}")
    if labels.dtype.kind in "iu" and len(labels) > MOST_CLASSES:
        reason = f"the target {target!r} holds more than {MOST_CLASSES} different whole numbers"
        return FoundTask("regression", reason)
    return likely_task(pd.Series(labels, name=target))


def task_of_targets(targets: pd.DataFrame, table: str, asked: str | None) -> FoundTask:
    """The task that the user asks for, or that fits the targets of all rows."""
    for name, column in targets.items():
        if column.dtype.kind in "mM" or isinstance(column.iloc[0], TIMES):
            raise no_number(f"The target {name!r} of {table}")
    if len(targets.columns) > 1:
        check_numbers(targets, table, "several targets must be numbers. Give one --target.")
        return FoundTask("regression", "there are several targets")
    if asked == "regression":
        remedy = "regression needs numbers. Give numbers, or --task classification."
        check_numbers(targets, table, remedy)
    elif asked == "classification":
        check_classes(targets.iloc[:, 0], table)
    return FoundTask(asked, "") if asked else likely_task(targets.iloc[:, 0])


def no_number(target: str) -> InputError:
    return InputError(
        f"{target} holds dates or times. Turn it into numbers first, for example days since a "
        "date."
    )


def likely_task(target: pd.Series) -> FoundTask:
    """The task that fits the values of a target."""
    kind = target.dtype.kind
    name = "classification"
    if kind not in "iuf":
        cells = "true and false" if kind == "b" else "text"
    elif kind == "f" and (target % 1 != 0).any():
        name, cells = "regression", "numbers that are not whole"
    else:
        n_values = target.nunique()
        name = "classification" if n_values <= MOST_CLASSES else "regression"
        cells = f"{n_values:,} different whole numbers"
    return FoundTask(name, f"the target {target.name!r} holds {cells}")


def check_numbers(targets: pd.DataFrame, table: str, remedy: str) -> None:
    """Refuse targets that a regression cannot learn."""
    for name, column in targets.items():
        if column.dtype.kind not in "iufb":
            raise InputError(
                f"The target {name!r} of {table} holds text such as {column.iloc[0]!r}, "
                f"but {remedy}"
            )


def check_classes(column: pd.Series, table: str) -> None:
    """Refuse a target whose numbers are not all whole, or are too large for labels."""
    if column.dtype.kind != "f":
        return
    no_label = (column % 1 != 0) | (column.abs() > LARGEST_LABEL)
    if no_label.any():
        example = column[no_label].iloc[0]
        raise InputError(
            f"The target {column.name!r} of {table} holds numbers such as {example}, "
            "which are no classes. Give whole numbers or text, or --task regression."
        )


def target_array(targets: pd.DataFrame, table: str, task: str) -> np.ndarray:
    """The targets as an estimator takes them, (n_rows,) or (n_rows, n_targets)."""
    from neuralrules._data._categories import category_name

    if task == "regression":
        numbers = targets.to_numpy(np.float64)
        for name, column in zip(targets.columns, numbers.T, strict=True):
            if (column == column[0]).all():
                raise constant_target(name, table, category_name(column.tolist()[0]))
        return numbers[:, 0] if numbers.shape[1] == 1 else numbers
    column = targets.iloc[:, 0]
    if column.dtype.kind == "f":
        column = column.astype(np.int64)
    labels = column.to_numpy() if column.dtype.kind in "iub" else column.to_numpy(object)
    n_classes = len(np.unique(labels))
    if n_classes == 1:
        raise constant_target(column.name, table, repr(labels.tolist()[0]))
    if n_classes > MOST_CLASSES and 2 * n_classes > len(labels):
        raise InputError(
            f"The target {column.name!r} of {table} has {n_classes:,} different classes in "
            f"{len(labels):,} rows, such as {labels.tolist()[0]!r}: too many to learn. Check "
            "that it is the target; numbers with other marks than a decimal point need "
            "--decimal or --thousands."
        )
    return np.asarray(labels)


def constant_target(target: str, table: str, value: str) -> InputError:
    return InputError(
        f"The target {target!r} of {table} is {value} in every row: there is nothing to learn. "
        "Check that it is the target, and that no rows are left out."
    )
