"""`neuralrules fit`: from a table to a model file."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from neuralrules._cli._column_notes import note_columns
from neuralrules._cli._column_options import named_columns
from neuralrules._cli._console import Console, aligned, bytes_text, metric_pairs
from neuralrules._cli._errors import InputError, in_options, library_errors, listed, say
from neuralrules._cli._help import option, output_option, speaking
from neuralrules._cli._models import checked_output, note
from neuralrules._cli._parameters import (
    FitCommand,
    check_values,
    estimators,
    given_parameters,
    parameter_names,
)
from neuralrules._cli._reading import Reading, reading_options
from neuralrules._cli._signals import interrupts_raised
from neuralrules._cli._task import (
    FoundTask,
    Training,
    found_task,
    read_training,
    target_array,
)

if TYPE_CHECKING:
    from neuralrules._estimators._base import NeuralRuleModel

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
    arguments={"DATA": "The table, with names in its first row; - for standard input."},
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
    with reading.open(data) as table:
        named = {"--dates": dates, "--categories": categories, **named_columns(parameters)}
        rows = read_training(table, target, drop, weight, named, kinds, console)
    found = found_task(rows, task)
    if task is None:
        console.note(f"{found.name}, because {found.reason}; --task overrides this.")
    note_columns(rows.X, console, reading.marks, kinds)
    y = target_array(rows, found.name)
    check_folds(rows, folds)
    model = estimator(found.name, parameters, search, y)
    model.set_params(expert_rules=experts)
    fit_with_progress(model, rows, y, console)
    note(model, targets=list(target), **reading.notes())
    with library_errors():
        model.save(path)
    say_fitted(model, found, rows, str(path), console)
    if model.interrupted_:
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


def estimator(
    task: str, parameters: dict[str, Any], search: dict[str, Any] | None, y: np.ndarray
) -> NeuralRuleModel:
    """The estimator to fit: with a search, the one that compares candidates."""
    from neuralrules import NeuralRuleClassifierCV, NeuralRuleRegressorCV

    searching = {
        "classification": NeuralRuleClassifierCV,
        "regression": NeuralRuleRegressorCV,
    }
    check_values(task, parameters, estimators()[task]._parameter_constraints)
    if isinstance(parameters.get("class_weight"), dict):
        parameters |= {"class_weight": weights_by_label(parameters["class_weight"], y)}
    kind = estimators()[task] if search is None else searching[task]
    model: NeuralRuleModel = kind(**parameters, **(search or {}))
    return model


def weights_by_label(weights: dict[str, Any], y: np.ndarray) -> dict[Any, Any]:
    """Weights of classes, whose labels JSON has as text only."""
    labels = {str(label): label for label in np.unique(y).tolist()}
    for name, weight in weights.items():
        if name not in labels:
            raise click.BadParameter(
                f"{name!r} is none of the classes {listed(list(labels))}.",
                param_hint="'--class-weight'",
            )
        is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not is_number or not 0 <= weight < math.inf:
            raise click.BadParameter(
                f"{weight!r} is not a weight. Give each class a number of at least 0.",
                param_hint="'--class-weight'",
            )
    return {labels[name]: weight for name, weight in weights.items()}


def fit_with_progress(
    model: NeuralRuleModel, rows: Training, y: np.ndarray, console: Console
) -> None:
    """Fit, with a bar for the epochs or for the steps of the search."""
    with library_errors([*parameter_names(), "expert_rules"]), interrupts_raised():
        model.set_params(verbose=int(console.shows_progress))
        with notes_of_convergence(console):
            model.fit(rows.X, y, rows.weights)
        model.set_params(verbose=0)  # the file is the same wherever it was made


@contextmanager
def notes_of_convergence(console: Console) -> Iterator[None]:
    """Turn what the library warns of after a training into notes that name options."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConvergenceWarning)
        yield
    for one in told:
        if issubclass(one.category, ConvergenceWarning):
            console.note(in_options(str(one.message), parameter_names()))
        else:
            warnings.showwarning(one.message, one.category, one.filename, one.lineno)


def say_fitted(
    model: NeuralRuleModel, task: FoundTask, rows: Training, path: str, console: Console
) -> None:
    """The summary: how large the model is, and how good on its own rows."""
    from pathlib import Path

    from neuralrules._export._size import size_text

    n_bytes = Path(path).stat().st_size
    metrics = model.fitted_.performance.metrics
    record: dict[str, Any] = {
        "model": path,
        "bytes": n_bytes,
        "estimator": type(model).__name__,
        "task": task.name,
        "targets": list(rows.targets),
        "n_rows": len(rows.X),
        "n_columns": rows.X.shape[1],
        "n_rules": model.network_.n_rules,
        "n_literals": model.network_.n_literals,
        "n_parameters": model.network_.n_parameters,
        "n_epochs": model.n_iter_,
        "interrupted": model.interrupted_,
        "training_metrics": metrics,
    }
    lines = [
        f"Fitted {', '.join(rows.targets)} on {len(rows.X):,} rows of {rows.name}.",
        size_text(model.fitted_),
    ]
    if hasattr(model, "candidates_"):
        record |= {
            "candidates": model.candidates_,
            "best": model.best_index_,
            "cv_scores": model.cv_scores_.tolist(),
        }
        lines.append(search_text(model))
    lines += [
        "On the training rows, which flatter a model:",
        aligned(metric_pairs(metrics)),
        f"Saved in {path}, {bytes_text(n_bytes)}.",
    ]
    console.summary("\n".join(lines), record)


def search_text(model: Any) -> str:
    """Which candidate was chosen, and by how much it is better than the next."""
    words = ", ".join(f"{name}={value}" for name, value in model.best_params_.items())
    n = len(model.candidates_)
    met = np.isfinite(model.cv_scores_)
    if not met.any():
        return f"Kept {words or 'the defaults'}: the search was interrupted."
    score = float(model.cv_scores_[model.best_index_][met[model.best_index_]].mean())
    return (
        f"Kept {words or 'the defaults'}: the best of {n} candidates on rows held out "
        f"(mean score {score:.4g})."
    )
