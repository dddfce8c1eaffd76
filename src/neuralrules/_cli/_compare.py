"""`neuralrules compare`: what changed between two models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from neuralrules._cli._console import Console
from neuralrules._cli._errors import library_errors
from neuralrules._cli._model_rows import LabelledTable, labelled_table_options
from neuralrules._cli._models import checked_output, load_model
from neuralrules._cli._options import Command, console_options, output_option

if TYPE_CHECKING:
    from neuralrules._compare._comparison import Comparison

FIRST_ROW = 1  # number of the first row, as in `explain --row`


@click.command(
    "compare",
    cls=Command,
    arguments={
        "MODEL": "A model file that `fit` wrote; it is called A.",
        "OTHER": "Another model file, of the same columns and the same target; it is called B.",
        "[DATA]": "Rows to compare the predictions on; - for standard input.",
    },
    examples=[
        "neuralrules compare iris.nrules small.nrules",
        "neuralrules compare iris.nrules small.nrules iris_test.csv -o changes.html",
    ],
)
@click.argument("model", type=click.Path())
@click.argument("other", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True), required=False)
@output_option("A page to write.  [default: print as text]", metavar="OUT.html")
@labelled_table_options
@console_options
def compare(
    *,
    model: str,
    other: str,
    data: str | None,
    output: str | None,
    table: LabelledTable,
    console: Console,
) -> None:
    """Say what changed between two models, by rules and rows.

    Two rules are the same if their numbers are the same, wherever the rules stand in the
    models. With DATA, the command says which rows change class, and which rules make the
    difference. If DATA has the target, it also says how good both models are.
    """
    from neuralrules._compare._comparison import (
        PAGE,
        check_comparable,
        comparison_data,
        comparison_text,
    )
    from neuralrules._estimators._changes import compare as compare_models
    from neuralrules._io._templates import plain_page

    first, second = load_model(model), load_model(other)
    path = None
    if output is not None:
        path = checked_output(output, "changes.html", [model, other, data])
    with library_errors():
        check_comparable(first.fitted_, second.fitted_)  # before a long table is read
    rows = table.read(first, data, console, target_needed=False)
    with library_errors(), console.progress("Comparing"):
        compared = compare_models(first, second, rows.X, rows.y, sample_weight=rows.weights)
    named = f"A is {model}, B is {other}."
    if path is None:
        text = comparison_text(compared, FIRST_ROW)
        console.result(f"{named}\n{text}", comparison_record(compared), prose=True)
        return
    with library_errors():
        plain_page(*PAGE, comparison_data(compared, FIRST_ROW, named), path)
    console.page(path, comparison_record(compared))


def comparison_record(compared: Comparison) -> dict[str, Any]:
    """A comparison as a record for JSON."""
    rows, measured = compared.rows, compared.measured
    record: dict[str, Any] = {
        "same": compared.is_same,
        "start": compared.start,
        "rules": [rule._asdict() for rule in compared.rules],
    }
    if rows is not None:
        for rule, effect in zip(record["rules"], rows.effects.tolist(), strict=True):
            rule["effect"] = effect
        record["n_rows"] = rows.n_rows
        record["differences"] = [
            {**vars(one), "row": one.row + FIRST_ROW} for one in rows.differences
        ]
        record["flips"] = [flip._asdict() for flip in rows.flips]
        record["flipped"] = rows.flipped + FIRST_ROW
        record["rows"] = [
            {
                "row": one.row + FIRST_ROW,
                "before": one.before,
                "after": one.after,
                "about": one.outcome.what,
                "change": one.change,
                "parts": one.parts[:-1],
                "start": one.parts[-1],
            }
            for one in rows.shown
        ]
    if measured is not None:
        record |= {"metrics": measured.metrics, "metrics_of_flipped": measured.of_flipped}
    return record
