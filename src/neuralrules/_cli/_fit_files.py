"""`neuralrules fit` on Parquet files that are read piece by piece."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from neuralrules._cli._errors import InputError, library_errors
from neuralrules._cli._fitting import Learned, estimator, fit_with_progress, tell_task
from neuralrules._cli._reading import Reading
from neuralrules._cli._task import MOST_CLASSES, FoundTask, likely_task

if TYPE_CHECKING:
    from neuralrules._cli._console import Console
    from neuralrules._stream._parquet import ParquetTable

SAMPLE_ROWS = 1_000_000  # the default of n_sample_rows


class Roles(NamedTuple):
    """What columns are, beside those to learn from."""

    target: Sequence[str]
    drop: Sequence[str]
    weight: str | None


def is_streamed(
    data: str,
    reading: Reading,
    parameters: Mapping[str, Any],
    told: Mapping[str, Any],
    checkpoint: str | None,
) -> bool:
    """Whether a table is read piece by piece: a folder is, and a Parquet file of many rows.

    Parameters
    ----------
    data : str
        What is to be read.
    reading : Reading
    parameters : mapping of str to object
        Of the estimator: a file with more rows than its sample does not go into memory.
    told : mapping of str to object
        Options that need the whole table, and what they were given.
    checkpoint : str or None
        With one, a file is always read piece by piece.
    """
    whole = [option for option, given in told.items() if given]
    if os.path.isdir(data):
        if whole:
            raise click.UsageError(
                f"{whole[0]} needs the whole table in memory, and {data!r} is a folder, which "
                "is read piece by piece. Leave it out, or give one file."
            )
        return True
    named = (reading.file_format or os.path.splitext(data)[1].lstrip(".").lower()) == "parquet"
    if checkpoint is not None and not (named and os.path.isfile(data) and not whole):
        raise click.UsageError(
            "--checkpoint is for Parquet files that are read piece by piece"
            + (f", and {whole[0]} needs the whole table in memory." if whole else ".")
        )
    if not named or whole or not os.path.isfile(data):
        return False
    most = parameters.get("n_sample_rows", SAMPLE_ROWS)
    return checkpoint is not None or parquet_rows(data) > most


def parquet_rows(path: str) -> int:
    """Rows of a Parquet file; 0 if it is none, about which reading it says more."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException):
        return 0


def fit_files(
    data: str,
    columns: Roles,
    asked: str | None,
    parameters: dict[str, Any],
    experts: list[str] | None,
    checkpoint: str | None,
    console: Console,
) -> Learned:
    """Fit on files that are read piece by piece."""
    from neuralrules._stream._parquet import ParquetTable

    with library_errors():
        table = ParquetTable(data)
    for role, names in zip(("--target", "--drop", "--weight"), columns, strict=True):
        for name in [names] if isinstance(names, str) else names or ():
            if name not in table.names:
                raise InputError(f"{role}: {data} has no column {name!r}. {table.like(name)}")
    table.names = [name for name in table.names if name not in columns.drop]
    targets: Any = columns.target[0] if len(columns.target) == 1 else list(columns.target)
    labels = different(table, targets) if isinstance(targets, str) else np.array([])
    found = found_task(targets, labels, asked)
    tell_task(found, asked, console)
    console.note(f"{data} is read piece by piece in every epoch: it has {table.n_rows:,} rows.")
    model = estimator(found.name, parameters, None, labels)
    model.set_params(expert_rules=experts, checkpoint=checkpoint)
    fit_with_progress(model, table, targets, columns.weight, console)
    model.set_params(checkpoint=None)  # the model file is the same with and without one
    n_columns = len(model.encoder_.names)
    return Learned(model, found, list(columns.target), data, table.n_rows, n_columns)


def different(table: ParquetTable, column: str) -> np.ndarray:
    """The different cells of a column; of many numbers, some."""
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


def found_task(target: str | list[str], labels: np.ndarray, asked: str | None) -> FoundTask:
    """What to learn: what is asked for, or what the targets look like."""
    import pandas as pd

    if not isinstance(target, str):
        return FoundTask("regression", "there are several targets")
    if asked is not None:
        return FoundTask(asked, "")
    if labels.dtype.kind == "M":
        raise InputError(
            f"The target {target!r} holds dates or times. Turn it into numbers first, for "
            "example days since a date."
        )
    if labels.dtype.kind in "iu" and len(labels) > MOST_CLASSES:
        reason = f"the target {target!r} holds more than {MOST_CLASSES} different whole numbers"
        return FoundTask("regression", reason)
    return likely_task(pd.Series(labels, name=target))
