"""What a model needs from a table: its columns, the target, the weights."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from neuralrules._cli._errors import InputError, library_errors, listed
from neuralrules._cli._help import Callback, option
from neuralrules._cli._tables._streams import COMPRESSIONS, FORMAT_OPTION, FORMATS

if TYPE_CHECKING:
    import pandas as pd

    from neuralrules._cli._console import Console
    from neuralrules._cli._tables._cells import Marks
    from neuralrules._cli._tables._columns import Table
    from neuralrules._data._encoded_column import EncodedColumn
    from neuralrules._estimators._base import NeuralRuleModel
    from neuralrules._files import StoredModel

BOOLEANS = {"true": True, "false": False, "1": True, "0": False}


@dataclass(frozen=True)
class Reading:
    """How a table file is written."""

    file_format: str | None
    delimiter: str | None
    missing: tuple[str, ...]
    decimal: str | None = None
    thousands: str | None = None

    def open(self, path: str, model: Any = None) -> AbstractContextManager[Table]:
        """Open a table as it is written; what is not told is as it was in a model's fit."""
        from neuralrules._cli._tables import open_table

        told = self._with_marks_of(model)
        if told.thousands == (told.decimal or "."):
            raise click.UsageError(
                f"--thousands {told.thousands!r} is the decimal mark as well. Give another "
                f"one with --decimal, for example --decimal {other_mark(told.thousands)!r}."
            )
        return open_table(
            path,
            file_format=self.file_format,
            delimiter=self.delimiter,
            missing=[*notes_of(model, "missing"), *self.missing],
            decimal=told.decimal or ".",
            thousands=told.thousands,
        )

    def _with_marks_of(self, model: Any) -> Reading:
        """The same with the marks of a model's fit, where none are told."""
        marks = {"decimal": self.decimal, "thousands": self.thousands}
        for name, told in marks.items():
            noted = next(iter(notes_of(model, name)), None)
            if noted is not None and not is_mark(noted):
                raise InputError(
                    f"The model notes {noted!r} as its {name} mark, which is none."
                )
            marks[name] = noted if told is None else told
        if self.decimal is not None and self.thousands is None:
            marks["thousands"] = None  # it may be what is now the decimal mark
        return replace(self, decimal=marks["decimal"], thousands=marks["thousands"])

    @property
    def marks(self) -> Marks:
        """How numbers are written, as far as it is told."""
        from neuralrules._cli._tables._cells import Marks

        return Marks(self.decimal or ".", self.thousands)

    @property
    def told(self) -> dict[str, Any]:
        """What was said about cells of text, by its options."""
        return {
            "--missing": self.missing,
            "--decimal": self.decimal,
            "--thousands": self.thousands,
        }

    def notes(self) -> dict[str, list[str]]:
        """What a model remembers of the table that it was fitted on."""
        marks = {"decimal": self.decimal, "thousands": self.thousands}
        return {"missing": list(self.missing)} | {
            name: [mark] for name, mark in marks.items() if mark is not None
        }


def reading_options(function: Callback) -> Callback:
    """Add the options about a table file; the command gets its `reading`."""

    @functools.wraps(function)
    def command(
        *args: Any,
        file_format: str | None,
        delimiter: str | None,
        missing: tuple[str, ...],
        decimal: str | None,
        thousands: str | None,
        **options: Any,
    ) -> Any:
        reading = Reading(file_format, delimiter, missing, decimal, thousands)
        return function(*args, reading=reading, **options)

    section = "Reading the table"
    decorated: Callback = command
    for one in (
        option(
            "--thousands",
            metavar="CHAR",
            callback=number_mark,
            section=section,
            help="What stands between the thousands of numbers, for example ',' in 1,861.50.",
        ),
        option(
            "--decimal",
            metavar="CHAR",
            callback=number_mark,
            section=section,
            help="What stands before the decimals of numbers, for example ',' in 1861,50. A "
            "model remembers both marks of its fit.  [default: .]",
        ),
        option(
            "--missing",
            metavar="TEXT",
            multiple=True,
            section=section,
            help="A text that means a missing value, beside the usual ones; may be given "
            "several times. A model remembers those of its fit.",
        ),
        option(
            "--delimiter",
            metavar="CHAR",
            callback=one_character,
            section=section,
            help=r"What stands between two cells, for example ';' or '\t'.",
        ),
        option(
            FORMAT_OPTION,
            "file_format",
            type=click.Choice(FORMATS),
            section=section,
            help="What the table is, if its name does not say so.  [default for -: csv]",
        ),
    ):
        decorated = one(decorated)
    return decorated


def one_character(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    """A delimiter; a tab may be written as a backslash and a t."""
    if value is None or len(value) == 1:
        return value
    if value == r"\t":
        return "\t"
    raise click.BadParameter(
        f"{value!r} is not one character. Give one, for example ';' or '\\t'."
    )


def number_mark(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    """A mark between the digits of numbers."""
    if value is None or (len(value) == 1 and not value.isalnum() and value not in '+-"\r\n'):
        return value
    raise click.BadParameter(
        f"{value!r} is not one character between digits. Give one, for example ',' or '.'."
    )


def is_mark(text: str) -> bool:
    """Whether a text may stand between the digits of numbers."""
    return len(text) == 1 and not text.isalnum() and text not in '+-"\r\n'


def other_mark(mark: str) -> str:
    return "," if mark == "." else "."


class GivenTable(NamedTuple):
    """A whole table as a model needs it.

    Attributes
    ----------
    X : frame or array of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,) or (n_rows, n_targets), or None
    weights : ndarray of shape (n_rows,) or None
    n_rows : int
    """

    X: Any
    y: np.ndarray | None
    weights: np.ndarray | None
    n_rows: int


class ModelColumns(NamedTuple):
    """Where a table has the columns of a model.

    Attributes
    ----------
    kinds : dict of str to str
        The table's names in the order of the model, and what is in them.
    named : bool
        Whether the model knows names, and not only the order.
    table : str
        The table's name.
    """

    kinds: dict[str, str]
    named: bool
    table: str

    def of(self, frame: pd.DataFrame) -> Any:
        """The model's columns of some rows, as it takes them."""
        own = frame[list(self.kinds)]
        check_finite(own, self.table)
        return own if self.named else own.to_numpy()


def load_model(path: str) -> NeuralRuleModel:
    """A model file as a fitted estimator."""
    from neuralrules._estimators._load import load

    model: NeuralRuleModel = opened(path, load)
    return model


def load_stored(path: str) -> StoredModel:
    """A model file to predict with, which takes a fraction of the time to load."""
    from neuralrules._files import stored_model

    model: StoredModel = opened(path, stored_model)
    return model


def opened(path: str, load: Callable[[str], Any]) -> Any:
    """A model file, or an error that says whether a table was given instead."""
    if os.path.isdir(path):
        raise InputError(f"MODEL {path!r} is a folder. Give a file that `fit` wrote.")
    try:
        with library_errors():
            return load(path)
    except FileNotFoundError:
        raise InputError(
            f"MODEL {path!r}: there is no such file. Give a file that `fit` wrote."
        ) from None
    except InputError as error:
        if path.lower().rpartition(".")[2] not in (*FORMATS, *COMPRESSIONS):
            raise
        raise InputError(
            f"MODEL {path!r} is a table by its name, not a model. The model comes first: "
            "MODEL DATA."
        ) from error


def no_column(table: Table, name: str, option: str) -> InputError:
    """The error for an option that names a column that is not there."""
    return InputError(
        f"{option}: {table.name} has no column {name!r}. {table.similar_column(name)}"
    )


def notes_of(model: NeuralRuleModel | StoredModel | None, key: str) -> list[str]:
    """What `fit` noted beside the model; nothing for one that a program saved."""
    return [] if model is None else model.fitted_.notes.get(key, [])


def note(model: NeuralRuleModel, **notes: list[str]) -> None:
    """Keep with a model what the commands want to know of the table it came from."""
    model.fitted_ = replace(model.fitted_, notes=notes)


def checked_output(path: str, example: str, inputs: Sequence[str | None]) -> Path:
    """A file to write, refused before any work, and if it is one that is read."""
    from neuralrules._io._writing import checked_path

    with library_errors():
        target = checked_path(path, example)
    for given in inputs:
        both_there = given is not None and os.path.exists(given) and os.path.exists(target)
        if both_there and os.path.samefile(str(given), target):
            raise click.UsageError(
                f"--output {path!r} is the input {given!r} itself. Give another name."
            )
    return target


def find_columns(
    model: NeuralRuleModel | StoredModel, table: Table, others: Sequence[str] = ()
) -> ModelColumns:
    """Find a model's columns in a table: by name, or by place if it knows no names.

    Parameters
    ----------
    model : fitted estimator
    table : Table
    others : sequence of str
        The table's columns that are not the model's: identifiers, target, weight.
    """
    encoder = model.encoder_
    kinds = [kind_of(encoder.columns_of(source)[0]) for source in range(len(encoder.names))]
    named = encoder.named
    lacking = [name for name in encoder.names if name not in table.names]
    if not lacking:
        return ModelColumns(dict(zip(encoder.names, kinds, strict=True)), named, table.name)
    if named:
        taken = [*encoder.names, *notes_of(model, "targets"), *others]
        raise lacking_columns(table, lacking, taken)
    places = [name for name in table.names if name not in others]
    if len(places) != len(kinds):
        raise InputError(
            f"{table.name} has {len(places)} columns to predict from, but the model was fitted "
            f"on {len(kinds)} columns without names. Give exactly these, in their order, or "
            f"name them {encoder.names[0]}{', …' * (len(kinds) > 1)}."
        )
    return ModelColumns(dict(zip(places, kinds, strict=True)), named, table.name)


def kind_of(column: EncodedColumn) -> str:
    """What a table must hold where a model has this column."""
    if column.kind != "number":
        return "category"
    return "date" if column.is_date else "number"


def lacking_columns(
    table: Table, lacking: Sequence[str], taken: Sequence[str] = ()
) -> InputError:
    """The error for columns that a model needs and a table does not have.

    None of those `taken` can be what was meant: targets, and other columns of the model.
    """
    what = f"column {lacking[0]!r}"
    if len(lacking) > 1:
        what = f"{len(lacking)} columns {listed(lacking)}"
    return InputError(
        f"{table.name} lacks the {what}, which the model was fitted on. "
        f"{table.similar_column(lacking[0], taken)}"
    )


def target_names(
    model: NeuralRuleModel, given: Sequence[str], table: Table, columns: Sequence[str]
) -> list[str]:
    """The target columns: those given, or those that `fit` noted."""
    targets = list(given) or notes_of(model, "targets")
    if not targets:
        raise InputError(
            "The model does not say which column is its target, since it was not made by "
            "`neuralrules fit`. Name it with --target."
        )
    for name in targets:
        if name not in table.names:
            raise no_column(table, name, "--target")
        if name in columns:
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
    return targets


def read_table(
    model: NeuralRuleModel,
    path: str,
    reading: Reading,
    console: Console,
    *,
    target: Sequence[str] = (),
    weight: str | None = None,
    target_needed: bool = True,
) -> GivenTable:
    """Read a whole table for a model, with its target and its weights."""
    import pandas as pd

    with reading.open(path, model) as table:
        if weight is not None and weight not in table.names:
            raise no_column(table, weight, "--weight")
        noted = list(target) or notes_of(model, "targets")
        others = [*noted, *([] if weight is None else [weight])]
        columns = find_columns(model, table, others)
        kinds = dict(columns.kinds)
        targets: list[str] = []
        if target_needed or target or (noted and set(noted) <= set(table.names)):
            targets = target_names(model, target, table, list(columns.kinds))
            kinds |= dict.fromkeys(targets, target_kind(model))
        if weight is not None:
            kinds[weight] = "number"
        with console.progress(f"Reading {table.name}", lambda: table.done):
            pieces = list(table.chunks(kinds))
        if not sum(map(len, pieces)):
            raise InputError(f"{table.name} has no rows. Give a table with at least one.")
        frame = pd.concat(pieces, ignore_index=True)
        return GivenTable(
            columns.of(frame),
            known_targets(model, frame, targets, table.name) if targets else None,
            None if weight is None else checked_weights(frame[weight], table.name),
            len(frame),
        )


def target_kind(model: NeuralRuleModel) -> str:
    classes = model.fitted_.task.classes
    return "number" if classes is None or classes.dtype.kind in "iuf" else "text"


def known_targets(
    model: NeuralRuleModel, frame: pd.DataFrame, targets: Sequence[str], name: str
) -> np.ndarray:
    """The targets as the model knows them: its class labels, or numbers."""
    from neuralrules._data._categories import category_name

    for target in targets:
        check_complete(frame[target], name, "target")
    classes = model.fitted_.task.classes
    if classes is None:
        numbers = frame[list(targets)].to_numpy(np.float64)
        return numbers[:, 0] if model.fitted_.task.flat else numbers
    cells = frame[targets[0]]
    if classes.dtype.kind == "b":
        labels: dict[Any, Any] = {
            cell: BOOLEANS.get(cell.casefold()) for cell in cells.unique()
        }
    elif classes.dtype.kind in "iuf":
        labels = {label: label for label in classes.tolist()}
    else:
        labels = {str(label): label for label in classes.tolist()}
    known = cells.isin([cell for cell, label in labels.items() if label is not None])
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
    """Refuse numbers that cannot be computed with; the frame's index counts rows from 0."""
    from neuralrules._data._encoded_column import LARGEST

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
    """Refuse a column with holes."""
    holes = column.isna().to_numpy()
    if holes.any():
        count = int(holes.sum())
        raise InputError(
            f"The {what} {column.name!r} is missing in {count} of {len(holes)} rows of {name}, "
            f"first in row {int(np.argmax(holes)) + 1}. Remove or complete such rows."
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
