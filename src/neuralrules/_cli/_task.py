"""What is to be learned from a table: its rows, its targets, and which task they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, time, timedelta
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from neuralrules._cli._errors import InputError, listed
from neuralrules._cli._inputs import check_complete, check_finite, checked_weights, no_column

if TYPE_CHECKING:
    import pandas as pd

    from neuralrules._cli._console import Console
    from neuralrules._cli._tables._columns import Table

MOST_CLASSES = 20  # more different whole numbers are taken for a quantity
TIMES = (date, time, timedelta)
LARGEST_LABEL = 2.0**53  # float64 does not tell whole numbers beyond it apart


class FoundTask(NamedTuple):
    """What is to be learned, and how that was found out."""

    name: str
    reason: str


class Training(NamedTuple):
    """Rows to fit on.

    Attributes
    ----------
    X : DataFrame of shape (n_rows, n_columns)
    targets : DataFrame of shape (n_rows, n_targets)
    weights : ndarray of shape (n_rows,) or None
    name : str
        Of the table.
    """

    X: pd.DataFrame
    targets: pd.DataFrame
    weights: np.ndarray | None
    name: str


def read_training(
    table: Table,
    target: Sequence[str],
    drop: Sequence[str],
    weight: str | None,
    named: Mapping[str, Sequence[str]],
    kinds: Mapping[str, str],
    console: Console,
) -> Training:
    """Read the columns that are wanted, and split them into features, targets, weights.

    `named` are options with the features that they name; --dates makes some of them dates.
    """
    weights = [] if weight is None else [weight]
    for role, names in (("--target", target), ("--drop", drop), ("--weight", weights)):
        for name in names:
            if name not in table.names:
                raise no_column(table, name, role)
    for option, names in named.items():
        for name in names:
            if name in (*target, *drop, *weights):
                raise InputError(f"{option} {name!r} is no column to learn from. Leave it out.")
            if name not in table.names:
                raise no_column(table, name, option)
    features = [name for name in table.names if name not in {*target, *drop, *weights}]
    if not features:
        raise InputError(
            f"{table.name} has no column to learn from beside {listed([*target, *drop])}."
        )
    with console.progress(f"Reading {table.name}", lambda: table.done):
        frame = table.read([*features, *target, *weights], kinds)
    check_finite(frame, table.name)
    for name in target:
        check_complete(frame[name], table.name, "target")
    return Training(
        frame[features],
        frame[list(target)],
        None if weight is None else checked_weights(frame[weight], table.name),
        table.name,
    )


def found_task(rows: Training, asked: str | None) -> FoundTask:
    """What to learn: what is asked for, or what the targets look like."""
    names = list(rows.targets)
    for name in names:
        column = rows.targets[name]
        if column.dtype.kind in "mM" or isinstance(column.iloc[0], TIMES):
            raise InputError(
                f"The target {name!r} of {rows.name} holds dates or times. Turn it into "
                "numbers first, for example days since a date."
            )
    if len(names) > 1:
        check_numbers(rows, "several targets must be numbers. Give one --target.")
        return FoundTask("regression", "there are several targets")
    if asked == "regression":
        check_numbers(rows, "regression needs numbers. Give numbers, or --task classification.")
        return FoundTask("regression", "")
    if asked == "classification":
        check_classes(rows)
        return FoundTask("classification", "")
    return likely_task(rows.targets[names[0]])


def likely_task(target: pd.Series) -> FoundTask:
    """What a target looks like."""
    what, kind = f"the target {target.name!r} holds", target.dtype.kind
    if kind == "f" and (target % 1 != 0).any():
        return FoundTask("regression", f"{what} numbers that are not whole")
    if kind not in "iuf":
        return FoundTask(
            "classification", f"{what} {'true and false' if kind == 'b' else 'text'}"
        )
    n_values = target.nunique()
    name = "classification" if n_values <= MOST_CLASSES else "regression"
    return FoundTask(name, f"{what} {n_values:,} different whole numbers")


def check_numbers(rows: Training, remedy: str) -> None:
    """Refuse targets that a regression cannot learn."""
    for name in rows.targets:
        column = rows.targets[name]
        if column.dtype.kind not in "iufb":
            raise InputError(
                f"The target {name!r} of {rows.name} holds text such as {column.iloc[0]!r}, "
                f"but {remedy}"
            )


def check_classes(rows: Training) -> None:
    """Refuse a target that is measured, not counted."""
    column = rows.targets.iloc[:, 0]
    if column.dtype.kind != "f":
        return
    no_label = (column % 1 != 0) | (column.abs() > LARGEST_LABEL)
    if no_label.any():
        example = column[no_label].iloc[0]
        raise InputError(
            f"The target {column.name!r} of {rows.name} holds numbers such as {example}, "
            "which are no classes. Give whole numbers or text, or --task regression."
        )


def target_array(rows: Training, task: str) -> np.ndarray:
    """The targets as an estimator takes them."""
    from neuralrules._data._categories import category_name

    targets = rows.targets
    if task == "regression":
        numbers = targets.to_numpy(np.float64)
        for name, column in zip(targets.columns, numbers.T, strict=True):
            if (column == column[0]).all():
                raise constant_target(name, rows.name, category_name(column.tolist()[0]))
        return numbers[:, 0] if numbers.shape[1] == 1 else numbers
    column = targets.iloc[:, 0]
    if column.dtype.kind == "f":
        column = column.astype(np.int64)
    labels = column.to_numpy() if column.dtype.kind in "iub" else column.to_numpy(object)
    n_classes = len(np.unique(labels))
    if n_classes == 1:
        raise constant_target(column.name, rows.name, repr(labels.tolist()[0]))
    if n_classes > MOST_CLASSES and 2 * n_classes > len(labels):
        raise InputError(
            f"The target {column.name!r} of {rows.name} has {n_classes:,} different classes in "
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
