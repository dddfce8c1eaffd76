"""`neuralrules fit`: from a table to a model file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from neuralrules._cli._column_notes import note_columns
from neuralrules._cli._column_options import named_columns
from neuralrules._cli._console import Console
from neuralrules._cli._errors import InputError, library_errors, say
from neuralrules._cli._fit_files import Roles, fit_files, is_streamed
from neuralrules._cli._fitting import (
    Learned,
    estimator,
    fit_with_progress,
    say_fitted,
    tell_task,
)
from neuralrules._cli._help import option, output_option, speaking
from neuralrules._cli._models import checked_output, note
from neuralrules._cli._parameters import (
    FitCommand,
    given_parameters,
)
from neuralrules._cli._reading import Reading, reading_options
from neuralrules._cli._task import (
    Training,
    found_task,
    read_training,
    target_array,
)

if TYPE_CHECKING:
    pass

SEARCH = "Comparing candidates"


class Depths(click.ParamType):  # type: ignore[type-arg]  # not generic in all of click 8
    """Whole numbers with commas between them."""

    name = "depths"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        try:
            depths = tuple(int(part) for part in value.split(","))
        except ValueError:
            depths = (0,)
        if min(depths) < 1:
            self.fail(
                f"{value!r} is not a list of whole numbers of at least 1, such as 2,4,6.",
                param,
                ctx,
            )
        return depths


@click.command(
    "fit",
    cls=FitCommand,
    arguments={
        "DATA": "The table, with names in its first row; - for standard input. Parquet files "
        "of more than a million rows, and folders of them, may be larger than memory."
    },
    examples=[
        "neuralrules fit iris.csv --target species -o iris.nrules",
        "neuralrules fit iris.csv --target species --cv -o iris.nrules",
        "neuralrules fit houses.parquet --target price --drop id \\",
        "  --max-depth 4 --l2 0.5 -o houses.nrules",
    ],
)
@click.argument("data", type=click.Path(allow_dash=True))
@option(
    "--target",
    "-t",
    metavar="COL",
    multiple=True,
    required=True,
    help="The column to predict; for a regression it may be given several times.",
)
@output_option(
    "The model file to write, by custom with the suffix .nrules.",
    metavar="MODEL",
    required=True,
)
@option(
    "--task",
    type=click.Choice(["classification", "regression"]),
    help="What to learn. By default text and up to 20 different whole numbers are classes.",
)
@option(
    "--drop",
    metavar="COL",
    multiple=True,
    help="A column not to learn from, such as an identifier; may be given several times.",
)
@option("--weight", metavar="COL", help="A column with the weight of each row.")
@option(
    "--dates",
    metavar="COL",
    multiple=True,
    help="A column of text that holds dates such as 2020-12-31, to be counted in days; may be "
    "given several times.",
)
@option(
    "--categories",
    metavar="COL",
    multiple=True,
    help="A column of categories, though they may look like numbers; may be given several "
    "times.",
)
@option(
    "--expert-rules",
    metavar="FILE",
    type=click.Path(),
    help="A text file with rules to begin with, one on a line, such as: late > 2 and region = "
    "north. Lines that start with # are comments.",
)
@option(
    "--checkpoint",
    metavar="FILE",
    type=click.Path(),
    help="For Parquet files, which then are read piece by piece: a file that says how far "
    "training has come. The same command line goes on from it after a kill.",
)
@reading_options
@option(
    "--cv",
    is_flag=True,
    section=SEARCH,
    help="Compare candidates by cross-validation and keep the best; slower, more accurate.",
)
@option(
    "--folds",
    metavar="N",
    type=click.IntRange(2),
    section=SEARCH,
    help="Folds of the cross-validation.  [default: 5]",
)
@option(
    "--max-depths",
    metavar="N,N,…",
    type=Depths(),
    section=SEARCH,
    help="Let the candidates be these depths.  [default: other ones, chosen by benchmarks]",
)
@option(
    "--refit",
    type=click.Choice(["auto", "average", "single"]),
    section=SEARCH,
    help="Keep the mean of the best candidate's models of all folds, or fit one model on all "
    "rows.  [default: auto, the mean unless there is a limit of rules]",
)
@speaking
@click.pass_context
def fit(
    context: click.Context,
    /,
    *,
    data: str,
    target: Sequence[str],
    output: str,
    task: str | None,
    drop: Sequence[str],
    weight: str | None,
    dates: Sequence[str],
    categories: Sequence[str],
    expert_rules: str | None,
    checkpoint: str | None,
    reading: Reading,
    cv: bool,
    folds: int | None,
    max_depths: Sequence[int] | None,
    refit: str | None,
    console: Console,
    **_: Any,
) -> None:
    """Learn neural rules from a table, and write a model file."""
    parameters = given_parameters(context)
    search = search_parameters(cv, folds, max_depths, refit, parameters)
    check_roles(target, drop, weight, task)
    experts = None if expert_rules is None else read_expert_rules(expert_rules)
    path = checked_output(output, "model.nrules", [data, *filter(None, [expert_rules])])
    kinds = told_kinds(dates, categories)
    columns = Roles(target, drop, weight)
    whole = {"--cv": cv, "--dates": dates, "--categories": categories, **reading.told}
    if is_streamed(data, reading, parameters, whole, checkpoint):
        learned = fit_files(data, columns, task, parameters, experts, checkpoint, console)
    else:
        with reading.open(data) as table:
            named = {"--dates": dates, "--categories": categories, **named_columns(parameters)}
            rows = read_training(table, target, drop, weight, named, kinds, console)
        found = found_task(rows, task)
        tell_task(found, task, console)
        noted = note_columns(rows.X, console, reading.marks, kinds)
        y = target_array(rows, found.name)
        check_folds(rows, folds)
        model = estimator(found.name, parameters, search, y)
        model.set_params(expert_rules=experts, missing=reading.markers())
        fit_with_progress(model, rows.X, y, rows.weights, console, noted)
        learned = Learned(model, found, list(target), rows.name, *rows.X.shape)
    note(learned.model, targets=list(target), **reading.notes())
    with library_errors():
        learned.model.save(path)
    say_fitted(learned, str(path), console)
    if learned.model.interrupted_:
        say(f"interrupted: the model as far as it was trained is in {str(path)!r}.")
        context.exit(130)


def told_kinds(dates: Sequence[str], categories: Sequence[str]) -> dict[str, str]:
    """What the user says is in some columns."""
    for name in dates:
        if name in categories:
            raise click.UsageError(
                f"The column {name!r} is given as --dates and --categories. Give it once."
            )
    return dict.fromkeys(dates, "date") | dict.fromkeys(categories, "text")


def read_expert_rules(path: str) -> list[str]:
    """The lines of a file of rules, without blank ones and comments."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            lines = [line.strip() for line in file]
    except UnicodeDecodeError:
        raise InputError(
            f"--expert-rules: {path!r} is not text in UTF-8. Save it as such."
        ) from None
    rules = [line for line in lines if line and not line.startswith("#")]
    if not rules:
        raise InputError(f"--expert-rules: {path!r} holds no rules. Write one on each line.")
    return rules


def search_parameters(
    cv: bool,
    folds: int | None,
    max_depths: Sequence[int] | None,
    refit: str | None,
    parameters: dict[str, Any],
) -> dict[str, Any] | None:
    """What the search is told, None without one; refuses options that do not go together."""
    if max_depths is not None and "max_depth" in parameters:
        raise click.UsageError(
            "--max-depth and --max-depths exclude each other: give the depths to choose from."
        )
    given = {"--folds": folds, "--max-depths": max_depths, "--refit": refit}
    for name, value in given.items():
        if value is not None and not cv:
            raise click.UsageError(f"{name} belongs to the comparison of candidates: add --cv.")
    if not cv:
        return None
    if "n_sample_rows" in parameters:
        raise click.UsageError(
            "--n-sample-rows is for tables that are read piece by piece, and --cv needs the "
            "whole table in memory. Give one of them."
        )
    told: dict[str, Any] = {} if folds is None else {"cv": folds}
    if refit is not None:
        told["refit"] = refit
    if max_depths is not None:
        depths = dict.fromkeys(max_depths)
        told["candidates"] = [{"max_depth": depth} for depth in depths]
    return told


def check_folds(rows: Training, folds: int | None) -> None:
    if folds is not None and folds > len(rows.X):
        raise click.BadParameter(
            f"{rows.name} has {len(rows.X)} rows, fewer than {folds} folds. Give fewer folds.",
            param_hint="'--folds'",
        )


def check_roles(
    target: Sequence[str], drop: Sequence[str], weight: str | None, task: str | None
) -> None:
    """Refuse a column that is asked to be two things."""
    roles: dict[str, str] = {}
    named = [*(("--target", name) for name in target), *(("--drop", name) for name in drop)]
    for role, name in [*named, *([] if weight is None else [("--weight", weight)])]:
        if name in roles and (role, roles[name]) != ("--drop", "--drop"):
            both = f"{roles[name]} and {role}" if roles[name] != role else f"{role} twice"
            raise click.UsageError(f"The column {name!r} is given as {both}. Give it once.")
        roles[name] = role
    if len(target) > 1 and task == "classification":
        raise click.UsageError(
            "--task classification takes one --target. Fit a model for each of them."
        )
