"""`neuralrules report`: a model as one page of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from neuralrules._cli._console import Console, bytes_text
from neuralrules._cli._errors import library_errors
from neuralrules._cli._evaluate import target_option, weight_option
from neuralrules._cli._help import Command, option, output_option, speaking
from neuralrules._cli._inputs import GivenTable, read_table
from neuralrules._cli._models import checked_output, load_model
from neuralrules._cli._reading import Reading, reading_options


@click.command(
    "report",
    cls=Command,
    arguments={
        "MODEL": "A model file that `fit` wrote.",
        "[DATA]": "Rows to measure on, best such as the model has not seen; without them the "
        "page tells of the training rows. - for standard input.",
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
    help="So many rows of DATA become part of the page, for readers to try. None by default: "
    "a page that is passed on should not carry anyone's data.",
)
@target_option
@weight_option
@reading_options
@speaking
def report(
    *,
    model: str,
    data: str | None,
    output: str,
    title: str | None,
    examples: int,
    target: Sequence[str],
    weight: str | None,
    reading: Reading,
    console: Console,
) -> None:
    """Write a model as one HTML page, to read and to try.

    Performance, importance of columns, all rules, and a panel that predicts what one
    types. The page loads nothing from anywhere else.
    """
    if data is None:
        given = {"--examples": examples, "--target": target, "--weight": weight}
        for name, value in given.items():
            if value:
                raise click.UsageError(f"{name} needs DATA, the table that it is about.")
    loaded = load_model(model)
    path = checked_output(output, "report.html", [model, data])
    rows = GivenTable(None, None, None, 0)
    if data is not None:
        rows = read_table(
            loaded,
            data,
            reading,
            console,
            target=target,
            weight=weight,
            target_needed=weight is not None,
        )
        if rows.y is None:
            console.note(
                f"no target is known in {data} (--target names it), so the page tells of the "
                "training rows; these serve for the importance of columns only."
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
    n_bytes = Path(path).stat().st_size
    console.summary(
        f"Wrote {path}, {bytes_text(n_bytes)}. Open it in a browser.",
        {"output": str(path), "bytes": n_bytes, "n_rows": rows.n_rows},
    )
