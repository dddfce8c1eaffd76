"""`neuralrules simplify`: a smaller model that is hardly worse."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from neuralrules._cli._console import Console, bytes_text
from neuralrules._cli._errors import library_errors
from neuralrules._cli._model_rows import LabelledTable, labelled_table_options
from neuralrules._cli._models import checked_output, load_model
from neuralrules._cli._options import Command, console_options, option, output_option

SHOWN = {
    "n_rules": "rules",
    "n_literals": "literals",
    "n_parameters": "parameters",
    "loss": "loss on DATA",
    "validation_loss": "loss on other rows",
    "error": "error on other rows",
}


@click.command(
    "simplify",
    cls=Command,
    arguments={
        "MODEL": "A model file that `fit` wrote.",
        "DATA": "Rows to train the smaller model on, usually the table of the fit; - for "
        "standard input.",
    },
    examples=[
        "neuralrules simplify iris.nrules iris.csv -o small.nrules",
        "neuralrules simplify iris.nrules iris.csv --tolerance 0.05 \\",
        "  --validation iris_test.csv -o small.nrules",
    ],
)
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True))
@output_option("The model file to write.", metavar="OUT", required=True)
@option(
    "--tolerance",
    metavar="X",
    type=click.FloatRange(0),
    default=0.02,
    show_default=True,
    help="The share of the gain that may be lost. The gain is the mean loss of the "
    "best constant prediction minus the mean loss of MODEL.",
)
@option(
    "--validation",
    metavar="DATA2",
    type=click.Path(allow_dash=True),
    help="A table of rows that the model was not fitted on, to measure on. Without "
    "it, a second model is fitted on four fifths of DATA and measured on the "
    "last fifth.",
)
@labelled_table_options
@console_options
def simplify(
    *,
    model: str,
    data: str,
    output: str,
    tolerance: float,
    validation: str | None,
    table: LabelledTable,
    console: Console,
) -> None:
    """Make a model smaller, and hardly worse.

    Step by step, the rules, literals and weights that matter least are dropped, and the
    rest is trained again. The smallest model is kept that loses at most the share
    --tolerance of what MODEL gains over a constant prediction.
    """
    if math.isnan(tolerance):
        raise click.BadParameter("nan is not a number.", param_hint="'--tolerance'")
    if data == validation == "-":
        raise click.UsageError("DATA and --validation cannot both be standard input.")
    loaded = load_model(model)
    path = checked_output(output, "small.nrules", [data, validation])
    rows = table.read(loaded, data, console)
    unseen: dict[str, Any] = {}
    if validation is not None:
        others = replace(table, weight=None).read(loaded, validation, console)
        unseen = {"X_val": others.X, "y_val": others.y}
    with library_errors():
        loaded.set_params(verbose=int(console.shows_progress))
        steps = loaded.simplification_path(rows.X, rows.y, sample_weight=rows.weights, **unseen)
        loaded.set_params(verbose=0)  # so that the model file is the same without a terminal
        chosen = steps.within(tolerance)
        steps.model(chosen).save(path)
    sizes = steps.to_frame()
    before, after = sizes.iloc[0].to_dict(), sizes.iloc[chosen].to_dict()
    n_bytes = Path(path).stat().st_size
    console.summary(
        f"{comparison_text(before, after)}\nSaved in {path}, {bytes_text(n_bytes)}.",
        {"model": str(path), "bytes": n_bytes, "before": before, "after": after},
    )


def comparison_text(before: dict[str, float], after: dict[str, float]) -> str:
    """A table of sizes and losses of two models, side by side."""
    width = max(map(len, SHOWN.values()))
    lines = [f"  {'':<{width}}  {'before':>8}  {'after':>8}"]
    for key, name in SHOWN.items():
        cells = (
            f"{int(value):,}" if key.startswith("n_") else f"{value:.4f}"
            for value in (before[key], after[key])
        )
        lines.append(f"  {name:<{width}}" + "".join(f"  {cell:>8}" for cell in cells))
    return "\n".join(lines)
