"""The rows of a table in the form that a model needs: its columns, the targets, the weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from neuralrules._cli._errors import InputError, listed
from neuralrules._cli._models import notes_of
from neuralrules._cli._options import Callback, option
from neuralrules._cli._table_format import TableFormat, gathered, table_format_options

if TYPE_CHECKING:
    import pandas as pd

    from neuralrules._cli._console import Console
    from neuralrules._cli._tables._columns import Table
    from neuralrules._data._columns import EncodedColumn
    from neuralrules._estimators._base import NeuralRuleModel
    from neuralrules._files import StoredModel

BOOLEANS = {"true": True, "false": False, "1": True, "0": False}


class ModelRows(NamedTuple):
    """The rows of a whole table, in the form that a model needs."""

    X: Any = None  # frame or array, (n_rows, n_columns)
    y: np.ndarray | None = None  # (n_rows,) or (n_rows, n_targets)
    weights: np.ndarray | None = None  # (n_rows,)
    n_rows: int = 0


@dataclass(frozen=True)
class LabelledTable:
    """How to read a table to measure a model on."""

    table_format: TableFormat
    target: Sequence[str]  # if empty, the model's own note says which columns they are
    weight: str | None  # the column of weights

    def read(
        self,
        model: NeuralRuleModel,
        path: str | None,
        console: Console,
        *,
        target_needed: bool = True,
    ) -> ModelRows:
        """Read a whole table for a model. Without a path, the result has no rows.

        A table without the target is refused if `target_needed` is true or if there is a
        column of weights.
        """
        if path is None:
            for name, given in (("--target", self.target), ("--weight", self.weight)):
                if given:
                    raise click.UsageError(f"{name} needs DATA, the table that it is about.")
            return ModelRows()
        weights = [] if self.weight is None else [self.weight]
        with self.table_format.open(path, model) as table:
            for name in weights:
                table.check_column(name, "--weight")
            targets = list(self.target) or notes_of(model, "targets")
            columns = find_columns(model, table, [*targets, *weights])
            there = bool(targets) and set(targets) <= set(table.names)
            if target_needed or weights or self.target or there:
                check_targets(model, targets, table, columns)
            else:
                targets = []
            kinds = columns.kinds | dict.fromkeys(targets, target_kind(model))
            kinds |= dict.fromkeys(weights, "number")
            with console.progress(f"Reading {table.name}", lambda: table.done):
                frame = table.read(list(kinds), kinds)
            return ModelRows(
                columns.of(frame),
                known_targets(model, frame, targets, table.name) if targets else None,
                checked_weights(frame[self.weight], table.name) if weights else None,
                len(frame),
            )


def labelled_table_options(function: Callback) -> Callback:
    """Add the options about a table with a target; the command gets its `table`."""
    target = option(
        "--target",
        "-t",
        metavar="COL",
        multiple=True,
        help="The target column, if it is not called as in the fit, or if the model notes no "
        "target.",
    )
    weight = option("--weight", metavar="COL", help="A column with the weight of each row.")
    return gathered(function, "table", LabelledTable, [target, weight, table_format_options])


class ModelColumns(NamedTuple):
    """The columns of a table that are the columns of a model."""

    kinds: dict[str, str]  # their names, in the order of the model, each with its kind of cells
    named: bool  # whether the model knows its columns by name, and not only by place
    table: str  # the table's name

    def of(self, frame: pd.DataFrame) -> Any:
        """The model's columns of some rows, as a frame or array that the model takes."""
        columns = frame[list(self.kinds)]
        check_finite(columns, self.table)
        return columns if self.named else columns.to_numpy()


def find_columns(
    model: NeuralRuleModel | StoredModel, table: Table, others: Sequence[str] = ()
) -> ModelColumns:
    """Find a model's columns in a table: by name, or by place if it knows no names.

    The columns `others` are not columns of the model: identifiers, target, weight.
    """
    encoder = model.encoder_
    names = encoder.names
    kinds = [kind_of(encoder.columns_of(source)[0]) for source in range(len(names))]
    lacking = [name for name in names if name not in table.names]
    if lacking and encoder.named:
        what = f"column {lacking[0]!r}"
        if len(lacking) > 1:
            what = f"{len(lacking)} columns {listed(lacking)}"
        # Columns that have another use are not suggested.
        taken = [*names, *notes_of(model, "targets"), *others]
        raise InputError(
            f"{table.name} lacks the {what}, which the model was fitted on. "
            f"{table.similar_column(lacking[0], taken)}"
        )
    if lacking:
        names = [name for name in table.names if name not in others]
    if len(names) != len(kinds):
        raise InputError(
            f"{table.name} has {len(names)} columns to predict from, but the model was fitted "
            f"on {len(kinds)} columns without names. Give exactly these, in their order, or "
            f"name them {encoder.names[0]}{', …' * (len(kinds) > 1)}."
        )
    return ModelColumns(dict(zip(names, kinds, strict=True)), encoder.named, table.name)


def kind_of(column: EncodedColumn) -> str:
    """The kind of cells that a table must have for this column of a model."""
    from neuralrules._data._columns import Date, Number

    if isinstance(column, Date):
        return "date"
    return "number" if isinstance(column, Number) else "category"


def check_targets(
    model: NeuralRuleModel, targets: Sequence[str], table: Table, columns: ModelColumns
) -> None:
    """Refuse target columns that are not there, or that do not fit the model."""
    if not targets:
        raise InputError(
            "The model does not say which column is its target, since it was not made by "
            "`neuralrules fit`. Name it with --target."
        )
    for name in targets:
        table.check_column(name, "--target")
        if name in columns.kinds:
            raise InputError(
                f"The target {name!r} is one of the columns that the model predicts from. "
                "Name another one with --target."
            )
    expected = 1 if model.fitted_.task.are_classes else model.fitted_.task.n_outputs
    if len(targets) != expected:
        raise InputError(
            f"The model has {expected} target(s), but {len(targets)} are named: "
            f"{listed(targets)}. Give --target once for each."
        )


def rows_by_number(
    model: NeuralRuleModel,
    table: Table,
    numbers: Sequence[int],
    console: Console,
    look_at: Callable[[pd.DataFrame], None] | None = None,
) -> Iterator[tuple[int, Any]]:
    """The rows with these numbers, each with its number and as a table of one row.

    The table is read no further than the last of these rows. `look_at` gets all rows that are
    read, with the columns of the model in the model's order.
    """
    columns = find_columns(model, table, notes_of(model, "targets"))
    n_rows = 0
    with console.progress(f"Reading {table.name}", lambda: table.done):
        for batch in table.batches(list(columns.kinds)):
            chunk = table.frame(batch, columns.kinds, n_rows)
            if look_at is not None:
                look_at(chunk)
            for number in set(numbers):
                if n_rows < number <= n_rows + len(chunk):
                    yield number, columns.of(chunk.iloc[[number - n_rows - 1]])
            n_rows += len(chunk)
            if n_rows >= max(numbers):
                return
    if not n_rows:
        raise table.without_rows()
    raise InputError(
        f"--row {max(numbers)}: {table.name} has {n_rows:,} rows. Give a number from 1 to "
        f"{n_rows:,}."
    )


def target_kind(model: NeuralRuleModel) -> str:
    classes = model.fitted_.task.classes
    return "number" if classes is None or classes.dtype.kind in "iuf" else "text"


def known_targets(
    model: NeuralRuleModel, frame: pd.DataFrame, targets: Sequence[str], name: str
) -> np.ndarray:
    """The targets as class labels of the model, or as numbers."""
    from neuralrules._data._categories import category_name

    for target in targets:
        check_complete(frame[target], name, "target")
    classes = model.fitted_.task.classes
    if classes is None:
        numbers = frame[list(targets)].to_numpy(np.float64)
        return numbers[:, 0] if model.fitted_.task.flat else numbers
    cells = frame[targets[0]]
    labels: dict[Any, Any]
    if classes.dtype.kind == "b":
        texts = [cell for cell in cells.unique() if cell.casefold() in BOOLEANS]
        labels = {cell: BOOLEANS[cell.casefold()] for cell in texts}
    elif classes.dtype.kind in "iuf":
        labels = {label: label for label in classes.tolist()}
    else:
        labels = {str(label): label for label in classes.tolist()}
    known = cells.isin(labels)
    if not known.all():
        row = int(np.argmin(known.to_numpy()))
        cell = cells.iloc[row]
        shown = repr(cell) if isinstance(cell, str) else category_name(cell)
        raise InputError(
            f"Row {row + 1} of {name} has the target {shown}, which is none of the "
            f"model's classes {listed(classes.tolist())}. Correct or remove such rows, or fit "
            "a new model."
        )
    return np.array([labels[cell] for cell in cells], classes.dtype)


def check_finite(frame: pd.DataFrame, name: str) -> None:
    """Refuse numbers that are too large. The frame's index counts the table's rows from 0."""
    from neuralrules._data._numbers import LARGEST

    for column in frame.columns[frame.dtypes == np.float64]:
        too_large = frame[column].abs().to_numpy() > LARGEST
        if too_large.any():
            place = int(np.argmax(too_large))
            cell = str(frame[column].iloc[place])
            raise InputError(
                f"{name}, row {frame.index[place] + 1}, column {column!r}: {cell} is infinite "
                f"or too large to compute with. Correct the cell, or give --missing {cell!r} "
                "if it means missing."
            )


def check_complete(column: pd.Series, name: str, what: str) -> None:
    """Refuse a column with missing cells."""
    holes = column.isna().to_numpy()
    if holes.any():
        raise InputError(
            f"The {what} {column.name!r} is missing in {holes.sum()} of {len(holes)} rows of "
            f"{name}, first in row {np.argmax(holes) + 1}. Remove or complete such rows."
        )


def checked_weights(column: pd.Series, name: str) -> np.ndarray:
    """Weights of rows, (n_rows,) float64."""
    check_complete(column, name, "weight")
    if column.dtype.kind not in "iufb":
        raise InputError(
            f"The weight {column.name!r} of {name} holds text such as {column.iloc[0]!r}. "
            "Weights are numbers of at least 0."
        )
    weights = column.to_numpy(np.float64)
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise InputError(
            f"The weight {column.name!r} is {weights[row]} in row {row + 1} of {name}. Weights "
            "are numbers of at least 0."
        )
    return weights
