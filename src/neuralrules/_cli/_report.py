"""`neuralrules report`, `scorecard` and `compare`: pages and texts about models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neuralrules._cli._console import Console
from neuralrules._cli._errors import library_errors
from neuralrules._cli._model_rows import LabelledTable, labelled_table_options
from neuralrules._cli._models import checked_output, label_of, load_model
from neuralrules._cli._options import (
    COUNT,
    FITTED,
    argument,
    command,
    output_file,
    refuse,
    value,
)

if TYPE_CHECKING:
    from neuralrules._compare._comparison import Comparison

POSITIVE = click.FloatRange(0, min_open=True)
FIRST_ROW = 1  # number of the first row, as in `explain --row`


@command(
    "neuralrules report iris.nrules -o iris.html",
    "neuralrules report iris.nrules iris_test.csv --title Iris -o iris.html",
)
@labelled_table_options
def report(
    *,
    model: str = argument(FITTED),
    data: str | None = argument(
        "Rows to measure on, if possible rows that the model was not fitted on; - for standard "
        "input. Without DATA the page shows the performance on the training rows.",
        required=False,
    ),
    output: str = output_file("OUT.html", "The page to write.", required=True),
    title: str | None = value("TEXT", "The heading of the page."),
    examples: int = value(
        click.IntRange(0),
        "Number of rows of DATA that become part of the page, for readers to try. None by "
        "default, because a page that is passed on should not carry anyone's data.",
        default=0,
    ),
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
    shown = {"title": title, "n_examples": examples}
    with library_errors(), console.progress("Writing the page"):
        loaded.report(path, rows.X, rows.y, sample_weight=rows.weights, **shown)
    console.page(path, {"n_rows": rows.n_rows})


@command(
    "neuralrules scorecard houses.nrules",
    "neuralrules scorecard houses.nrules houses.parquet --levels 3 -o card.html",
)
@labelled_table_options
def scorecard(
    *,
    model: str = argument("A model file that `fit` wrote, of two classes or of one number."),
    data: str | None = argument(
        "Rows to measure the cost of whole points on, if possible rows that the model was not "
        "fitted on; - for standard input.",
        required=False,
    ),
    output: str | None = output_file("OUT.html", "A page to write.  [default: print as text]"),
    points_to_double: float = value(
        POSITIVE,
        "The number of points that doubles the odds against the adverse class.  [default: 20]",
        default=20,
    ),
    base: int = value(
        click.INT,
        "For classes: the points of a row on which no rule fires.  [default: 600]",
        default=600,
    ),
    unit: float | None = value(
        POSITIVE, "For a number: what one point is worth.  [default: a power of ten]"
    ),
    levels: int | None = value(
        COUNT,
        "Divide the activation of each rule into this many levels, for a card on paper.  "
        "[default: points in proportion, which loses less]",
    ),
    adverse: str | None = value(
        "LABEL",
        "The class that costs points: the more points, the less probable it is.  [default: "
        "the rarest one]",
    ),
    table: LabelledTable,
    console: Console,
) -> None:
    """Print a model as a score card: whole points for each rule.

    A row gets the base points, plus the points of the rules that fire on it. The card says
    what points mean and, with DATA, what it costs to round them to whole points.
    """
    loaded = load_model(model)
    path = None if output is None else checked_output(output, "scorecard.html", [model, data])
    rows = table.read(loaded, data, console)
    if loaded.fitted_.task.are_classes:
        refuse(["unit"], "is for numbers, and MODEL predicts classes.")
    else:
        refuse(["points_to_double", "base"], "is for classes, and MODEL predicts a number.")
    with library_errors(["points_to_double", "base", "unit", "levels", "adverse", "loss"]):
        card = loaded.scorecard(
            rows.X,
            rows.y,
            points_to_double=points_to_double,
            base=base,
            unit=unit,
            levels=levels,
            adverse=label_of(loaded, adverse),
            sample_weight=rows.weights,
        )
    record = {
        "base": card.base,
        "unit": card.unit,
        "adverse": card.adverse,
        "rules": card.to_frame().reset_index().to_dict("records"),
        "table": [{"points": points, "means": means} for points, means in card.table()],
        "cost": None if card.cost is None else vars(card.cost),
    }
    write_or_print(path, card.to_html, str(card), record, console)


@command(
    "neuralrules compare iris.nrules small.nrules",
    "neuralrules compare iris.nrules small.nrules iris_test.csv -o changes.html",
)
@labelled_table_options
def compare(
    *,
    model: str = argument("A model file that `fit` wrote; it is called A."),
    other: str = argument(
        "Another model file, of the same columns and the same target; it is called B."
    ),
    data: str | None = argument(
        "Rows to compare the predictions on; - for standard input.", required=False
    ),
    output: str | None = output_file("OUT.html", "A page to write.  [default: print as text]"),
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
    inputs = [model, other, data]
    path = None if output is None else checked_output(output, "changes.html", inputs)
    with library_errors():
        check_comparable(first.fitted_, second.fitted_)  # before a long table is read
    rows = table.read(first, data, console, target_needed=False)
    with library_errors(), console.progress("Comparing"):
        compared = compare_models(first, second, rows.X, rows.y, sample_weight=rows.weights)
    named = f"A is {model}, B is {other}."
    write_or_print(
        path,
        lambda page: plain_page(*PAGE, comparison_data(compared, FIRST_ROW, named), page),
        f"{named}\n{comparison_text(compared, FIRST_ROW)}",
        comparison_record(compared),
        console,
    )


def write_or_print(
    path: Path | None,
    write: Callable[[Path], Any],
    text: str,
    record: dict[str, Any],
    console: Console,
) -> None:
    """Write a page if the user named one, or else print the text."""
    if path is None:
        console.result(text, record, prose=True)
        return
    with library_errors():
        write(path)
    console.page(path, record)


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
