"""`neuralrules scorecard`: a model as whole points for each rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from neuralrules._cli._console import Console
from neuralrules._cli._errors import library_errors
from neuralrules._cli._model_rows import LabelledTable, labelled_table_options
from neuralrules._cli._models import checked_output, label_of, load_model
from neuralrules._cli._options import Command, console_options, option, output_option

if TYPE_CHECKING:
    from neuralrules._reading._scorecard import ScoreCard


@click.command(
    "scorecard",
    cls=Command,
    arguments={
        "MODEL": "A model file that `fit` wrote, of two classes or of one number.",
        "[DATA]": "Rows to measure the cost of whole points on, if possible rows that the "
        "model was not fitted on; - for standard input.",
    },
    examples=[
        "neuralrules scorecard houses.nrules",
        "neuralrules scorecard houses.nrules houses.parquet --levels 3 -o card.html",
    ],
)
@click.argument("model", type=click.Path())
@click.argument("data", type=click.Path(allow_dash=True), required=False)
@output_option("A page to write.  [default: print as text]", metavar="OUT.html")
@option(
    "--points-to-double",
    metavar="X",
    type=click.FloatRange(0, min_open=True),
    help="The number of points that doubles the odds against the adverse class.  [default: 20]",
)
@option(
    "--base",
    metavar="N",
    type=int,
    help="For classes: the points of a row on which no rule fires.  [default: 600]",
)
@option(
    "--unit",
    metavar="X",
    type=click.FloatRange(0, min_open=True),
    help="For a number: what one point is worth.  [default: a power of ten]",
)
@option(
    "--levels",
    metavar="N",
    type=click.IntRange(1),
    help="Divide the activation of each rule into this many levels, for a card on "
    "paper.  [default: points in proportion, which loses less]",
)
@option(
    "--adverse",
    metavar="LABEL",
    help="The class that costs points: the more points, the less probable it is.  "
    "[default: the rarest one]",
)
@labelled_table_options
@console_options
def scorecard(
    *,
    model: str,
    data: str | None,
    output: str | None,
    points_to_double: float | None,
    base: int | None,
    unit: float | None,
    levels: int | None,
    adverse: str | None,
    table: LabelledTable,
    console: Console,
) -> None:
    """Print a model as a score card: whole points for each rule.

    A row gets the base points, plus the points of the rules that fire on it. The card says
    what points mean and, with DATA, what it costs to round them to whole points.
    """
    loaded = load_model(model)
    path = None
    if output is not None:
        path = checked_output(output, "scorecard.html", [model, data])
    rows = table.read(loaded, data, console)
    classes = loaded.fitted_.task.are_classes
    for name, value in {"--points-to-double": points_to_double, "--base": base}.items():
        if value is not None and not classes:
            raise click.UsageError(f"{name} is for classes, and MODEL predicts a number.")
    if unit is not None and classes:
        raise click.UsageError("--unit is for numbers, and MODEL predicts classes.")
    given = {"points_to_double": points_to_double, "base": base, "unit": unit}
    chosen = {name: value for name, value in given.items() if value is not None}
    with library_errors([*given, "levels", "adverse", "loss"]):
        card = loaded.scorecard(
            rows.X,
            rows.y,
            levels=levels,
            adverse=label_of(loaded, adverse),
            sample_weight=rows.weights,
            **chosen,
        )
    if path is None:
        console.result(str(card), card_record(card), prose=True)
        return
    with library_errors():
        card.to_html(path)
    console.page(path, card_record(card))


def card_record(card: ScoreCard) -> dict[str, Any]:
    """A score card as a record for JSON."""
    return {
        "base": card.base,
        "unit": card.unit,
        "adverse": card.adverse,
        "rules": card.to_frame().reset_index().to_dict("records"),
        "table": [{"points": points, "means": means} for points, means in card.table()],
        "cost": None if card.cost is None else vars(card.cost),
    }
