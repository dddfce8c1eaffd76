"""`neuralrules report`: a model as one page of HTML."""

from __future__ import annotations

import click

from neuralrules._cli._console import Console
from neuralrules._cli._errors import library_errors
from neuralrules._cli._model_rows import LabelledTable, labelled_table_options
from neuralrules._cli._models import checked_output, load_model
from neuralrules._cli._options import Command, console_options, option, output_option


@click.command(
    "report",
    cls=Command,
    arguments={
        "MODEL": "A model file that `fit` wrote.",
        "[DATA]": "Rows to measure on, if possible rows that the model was not fitted on; - "
        "for standard input. Without DATA the page shows the performance on the "
        "training rows.",
    },
    examples=[
        "neuralrules report iris.nrules -o iris.html",
        "neuralrules report iris.nrules iris_test.csv --title Iris -o iris.html",
    ],
)
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True), required=False)
@output_option("The page to write.", metavar="OUT.html", required=True)
@option("--title", metavar="TEXT", help="The heading of the page.")
@option(
    "--examples",
    metavar="N",
    type=click.IntRange(0),
    default=0,
    help="Number of rows of DATA that become part of the page, for readers to try. "
    "None by default, because a page that is passed on should not carry anyone's "
    "data.",
)
@labelled_table_options
@console_options
def report(
    *,
    model: str,
    data: str | None,
    output: str,
    title: str | None,
    examples: int,
    table: LabelledTable,
    console: Console,
) -> None:
    """Write a model as one HTML page, to read and to try.

    The page shows the performance, the importance of columns and all rules. A panel
    predicts for values that the reader types. The page loads nothing from anywhere else.
    """
    if data is None and examples:
        raise click.UsageError("--examples needs DATA, the table that it is about.")
    loaded = load_model(model)
    path = checked_output(output, "report.html", [model, data])
    rows = table.read(loaded, data, console, target_needed=False)
    if data is not None and rows.y is None:
        console.note(
            f"no target is known in {data} (--target names it), so the page shows the "
            "performance on the training rows. The rows of DATA are used for the importance "
            "of columns only."
        )
    with library_errors(), console.progress("Writing the page"):
        loaded.report(
            path,
            rows.X,
            rows.y,
            sample_weight=rows.weights,
            title=title,
            n_examples=examples,
        )
    console.page(path, {"n_rows": rows.n_rows})
