"""`neuralrules predict`: score a table of any length, some rows at a time."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import click

from neuralrules._cli._console import Console
from neuralrules._cli._errors import InputError, library_errors
from neuralrules._cli._model_rows import find_columns
from neuralrules._cli._models import checked_output, load_stored
from neuralrules._cli._options import (
    FITTED,
    argument,
    columns,
    command,
    flag,
    output_file,
    refuse_mixed_output,
)
from neuralrules._cli._table_format import TableFormat, table_format_options

if TYPE_CHECKING:
    import numpy as np

    from neuralrules._cli._tables._columns import Table
    from neuralrules._files import StoredModel
    from neuralrules._fitted._fitted import Fitted


@command(
    "neuralrules predict iris.nrules new.csv -o scored.csv",
    "neuralrules predict iris.nrules new.csv --id plant --proba -o scored.parquet",
    "cat new.csv | neuralrules predict iris.nrules - > scored.csv",
)
@table_format_options
def predict(
    *,
    model: str = argument(FITTED),
    data: str = argument("The table to score, of any length; - for standard input."),
    output: str | None = output_file(
        "OUT",
        "The table to write. Its name says the format: .csv, .tsv or .parquet, or compressed "
        "as in .csv.gz.  [default: standard output, as CSV]",
    ),
    ids: Sequence[str] = columns(
        "A column of DATA to copy to the output; may be given several times.", "--id"
    ),
    proba: bool = flag("Add the probability of each class."),
    decision: bool = flag(
        "Add the decision function: the intercept plus the sum of the rules."
    ),
    spreadsheet_safe: bool = flag(
        "Put an apostrophe before every text that a spreadsheet would take for a formula: "
        "labels, names and copied cells that are no numbers and begin with =, +, -, @, a tab "
        "or a carriage return."
    ),
    table_format: TableFormat,
    console: Console,
) -> None:
    """Predict the target of every row of a table.

    The table is read and written a number of rows at a time, so that it may be of any
    length. The output holds the columns of --id, then `prediction` (several targets have
    their own names) and, if you ask for them, `probability_LABEL` and `decision`. The
    output file is written whole or not at all.
    """
    import numpy as np

    from neuralrules._cli._tables import open_output

    out = "-" if output is None else output
    refuse_mixed_output(output, "the predictions", console)
    loaded = load_stored(model)
    fitted, engine = loaded.fitted_, loaded.deciding_engine()
    check_columns_asked_for(fitted, proba=proba, decision=decision)
    if out != "-":
        checked_output(out, "predictions.csv", [model, data])
    n_rows = 0
    unseen = UnseenCategories(loaded)
    no_scores = predictions(
        fitted, np.empty((0, fitted.network.n_outputs)), proba=proba, decision=decision
    )
    with table_format.open(data, loaded) as table:
        columns = find_columns(loaded, table, ids)
        check_ids(table, ids, no_scores)
        copied = dict.fromkeys(ids, "as is")
        with (
            open_output(out, spreadsheet_safe=spreadsheet_safe) as writer,
            console.progress(
                f"Scoring {table.name}", lambda: table.done, lambda: f"{n_rows:,} rows"
            ),
        ):
            for batch in table.batches([*(columns.kinds | copied)]):
                rows = columns.of(table.frame(batch, columns.kinds, n_rows))
                unseen.look_at(rows)
                with library_errors():
                    outputs = fitted.decide(rows, engine)
                scores = predictions(fitted, outputs, proba=proba, decision=decision)
                writer.write(table.frame(batch, copied, n_rows).assign(**scores))
                n_rows += len(rows)
            if not n_rows:  # then the output has a header and no rows
                writer.write(table.frame(table.no_rows(ids), copied, 0).assign(**no_scores))
    for text in unseen.texts():
        console.note(text)
    if out == "-":
        sys.stdout.flush()  # the summary says that all rows are written
    console.summary(
        f"Wrote predictions of {n_rows:,} rows to {'standard output' if out == '-' else out}.",
        {"output": out, "n_rows": n_rows},
        output_taken=out == "-",
    )


class UnseenCategories:
    """Counts the cells whose categories did not occur in the fit of a model.

    If rare categories of a column share an indicator, the model does not know their names.
    Cells of such a column are not counted.
    """

    def __init__(self, model: StoredModel) -> None:
        from neuralrules._data._categories import spellings
        from neuralrules._data._cells import MISSING
        from neuralrules._data._columns import Category

        self._names = model.encoder_.names
        self._n_rows = 0
        self._found: dict[int, tuple[int, str]] = {}  # how many cells, and the first of them
        self._known: dict[int, list[Any]] = {}
        for source in range(len(self._names)):
            columns = model.encoder_.columns_of(source)
            categories = [one.category for one in columns if isinstance(one, Category)]
            if len(categories) == len(columns):
                self._known[source] = [*spellings(categories), *MISSING]

    def look_at(self, rows: Any) -> None:
        """Count the cells of some rows. Their columns are in the order of the model."""
        import pandas as pd

        from neuralrules._data._table import column_of

        self._n_rows += len(rows)
        for source, known in self._known.items():
            cells = pd.Series(column_of(rows, source), dtype=object)
            new = cells[cells.notna() & ~cells.isin(known)]
            if len(new):
                count, example = self._found.get(source, (0, new.iloc[0]))
                self._found[source] = count + len(new), example

    def texts(self) -> list[str]:
        return [
            f"{count:,} of {self._n_rows:,} cells of {self._names[source]!r} hold categories "
            f"that the fit did not see, such as {example!r}."
            for source, (count, example) in self._found.items()
        ]


def check_columns_asked_for(fitted: Fitted, *, proba: bool, decision: bool) -> None:
    """Refuse columns of the output that a model cannot give."""
    if not fitted.task.are_classes and (proba or decision):
        raise click.UsageError(
            f"{'--proba' if proba else '--decision'} is for classes, but the model is a "
            "regression. Leave it out."
        )
    if proba and not fitted.task.gives_probabilities:
        raise click.UsageError(
            f"--proba needs a model that was fitted with --loss logistic; this one has "
            f"--loss {fitted.task.loss.name}. Fit it again, or take --decision."
        )


def check_ids(table: Table, ids: Sequence[str], results: Collection[str]) -> None:
    """Refuse `--id` columns that the table lacks, or that the output would have twice."""
    for name in ids:
        table.check_column(name, "--id")
        if name in results:
            raise InputError(
                f"--id {name!r} has the name of a column of predictions. Rename it in "
                f"{table.name}, or leave it out."
            )
    if len(set(ids)) < len(ids):
        raise click.UsageError("--id names a column twice. Give it once.")


def predictions(
    fitted: Fitted, outputs: np.ndarray, *, proba: bool, decision: bool
) -> dict[str, Any]:
    """The columns of predictions for some rows, by their names.

    All columns are computed from `outputs` (n_rows, n_outputs), the outputs of the network.
    """
    task = fitted.task
    predicted = task.predictions(outputs)
    names = ["prediction"]
    values = [predicted] if predicted.ndim == 1 else list(predicted.T)
    if not task.are_classes and task.n_outputs > 1:
        numbered = [f"prediction_{place}" for place in range(task.n_outputs)]
        names = list(fitted.notes.get("targets") or numbered)
    if proba:
        names += [f"probability_{label}" for label in task.labels]
        values += list(task.probabilities(outputs).T)
    if decision:
        several = task.n_outputs > 1
        names += [f"decision_{label}" for label in task.labels] if several else ["decision"]
        values += list(outputs.T)
    return dict(zip(names, values, strict=True))
