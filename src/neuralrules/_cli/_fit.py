"""`neuralrules fit`: from a table to a model file."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from neuralrules._cli._console import Console, aligned, metric_pairs
from neuralrules._cli._errors import InputError, in_options, library_errors, listed, say
from neuralrules._cli._fit_data import (
    FitData,
    Roles,
    data_in_files,
    data_in_memory,
    is_streamed,
)
from neuralrules._cli._models import checked_output, note
from neuralrules._cli._options import (
    FILE,
    Parsed,
    argument,
    columns,
    command,
    flag,
    output_file,
    read_text,
    refuse,
    value,
)
from neuralrules._cli._parameters import (
    FitCommand,
    check_values,
    given_parameters,
    named_columns,
    parameter_names,
)
from neuralrules._cli._signals import interrupts_raised
from neuralrules._cli._table_format import TableFormat, table_format_options

if TYPE_CHECKING:
    from neuralrules._estimators._base import NeuralRuleModel

SEARCH = "Comparing candidates"


def read_depths(text: str) -> tuple[int, ...]:
    """Read whole numbers with commas between them."""
    depths = tuple(int(part) for part in text.split(","))
    if min(depths) < 1:
        raise ValueError(text)
    return depths


@command(
    "neuralrules fit iris.csv --target species -o iris.nrules",
    "neuralrules fit iris.csv --target species --cv -o iris.nrules",
    "neuralrules fit houses.parquet --target price --drop id \\",
    "  --max-depth 4 --l2 0.5 -o houses.nrules",
    kind=FitCommand,
)
@table_format_options
def fit(
    *,
    data: str = argument(
        "The table, with the names of the columns in its first row; - for standard input. "
        "Parquet files of more than a million rows, and folders of Parquet files, may be "
        "larger than memory."
    ),
    target: Sequence[str] = columns(
        "The column to predict. For a regression, --target may be given several times.",
        "--target",
        "-t",
        required=True,
    ),
    output: str = output_file(
        "MODEL", "The model file to write, usually with the suffix .nrules.", required=True
    ),
    task: str | None = value(
        click.Choice(["classification", "regression"]),
        "What to learn. By default, text and up to 20 different whole numbers are classes.",
    ),
    drop: Sequence[str] = columns(
        "A column not to learn from, such as an identifier; may be given several times."
    ),
    weight: str | None = value("COL", "A column with the weight of each row."),
    dates: Sequence[str] = columns(
        "A column of text that holds dates such as 2020-12-31, to be counted in days; may be "
        "given several times."
    ),
    categories: Sequence[str] = columns(
        "A column of categories that look like numbers, such as postal codes; may be given "
        "several times."
    ),
    expert_rules: str | None = value(
        FILE,
        "A text file of rules to begin with, one on each line, such as: late > 2 and region = "
        "north. Lines that start with # are comments.",
    ),
    checkpoint: str | None = value(
        FILE,
        "A file that keeps the state of training on Parquet files that are read piece by "
        "piece. If the command was killed, the same command line continues from there.",
    ),
    table_format: TableFormat,
    cv: bool = flag(
        "Compare candidates by cross-validation and keep the best one: slower, but more "
        "accurate.",
        section=SEARCH,
    ),
    folds: int | None = value(
        click.IntRange(2),
        "Number of folds of the cross-validation.  [default: 5]",
        section=SEARCH,
    ),
    max_depths: Sequence[int] | None = value(
        Parsed(read_depths, "a list of whole numbers of at least 1, such as 2,4,6"),
        "Compare these depths.  [default: candidates that benchmarks chose]",
        section=SEARCH,
        metavar="N,N,…",
    ),
    refit: str | None = value(
        click.Choice(["auto", "average", "single"]),
        "Keep the mean of the models of all folds, or fit one model on all rows.  [default: "
        "auto, which means average unless the number of rules is limited]",
        section=SEARCH,
    ),
    console: Console,
    **_: Any,
) -> None:
    """Learn neural rules from a table, and write a model file."""
    context = click.get_current_context()
    parameters = given_parameters(context)
    search = search_parameters(cv, folds, max_depths, refit, parameters)
    roles = Roles(target, drop, weight)
    roles.check()
    if len(target) > 1 and task == "classification":
        raise click.UsageError(
            "--task classification takes one --target. Fit a model for each of them."
        )
    experts = None if expert_rules is None else read_expert_rules(expert_rules)
    path = checked_output(output, "model.nrules", [data, expert_rules])
    kinds = column_kinds(dates, categories)
    by_text = {"--dates": dates, "--categories": categories}
    in_memory = {"--cv": cv, **by_text, **table_format.options_for_text}
    streamed = is_streamed(data, table_format, parameters, in_memory, checkpoint)
    if streamed:
        learned = data_in_files(data, roles, task, console)
    else:
        named = {**by_text, **named_columns(parameters)}
        learned = data_in_memory(data, table_format, roles, task, named, kinds, console)
    if folds is not None and folds > learned.n_rows:
        raise click.BadParameter(
            f"{learned.table} has {learned.n_rows} rows, fewer than {folds} folds. Give fewer "
            "folds.",
            param_hint="'--folds'",
        )
    model = estimator(learned, parameters, search)
    how = {"checkpoint": checkpoint} if streamed else {"missing": table_format.markers()}
    model.set_params(expert_rules=experts, **how)
    fit_with_progress(model, learned, console)
    if streamed:  # the model file must be the same with and without a checkpoint
        model.set_params(checkpoint=None)
    note(model, targets=list(target), **table_format.notes())
    with library_errors():
        model.save(path)
    say_fitted(model, learned, list(target), path, console)
    if model.interrupted_:
        say(f"interrupted: the model as far as it was trained is in {str(path)!r}.")
        context.exit(130)


def column_kinds(dates: Sequence[str], categories: Sequence[str]) -> dict[str, str]:
    """The columns whose kind the user gives, dates or texts, each with its kind."""
    for name in dates:
        if name in categories:
            raise click.UsageError(
                f"The column {name!r} is given as --dates and --categories. Give it once."
            )
    return dict.fromkeys(dates, "date") | dict.fromkeys(categories, "text")


def read_expert_rules(path: str) -> list[str]:
    """The lines of a file of rules, without blank lines and comments."""
    lines = [line.strip() for line in read_text(path).split("\n")]
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
    """The parameters of the search, or None without `--cv`. Refuses options that conflict."""
    if max_depths is not None and "max_depth" in parameters:
        raise click.UsageError(
            "--max-depth and --max-depths exclude each other: give the depths to choose from."
        )
    if not cv:
        refuse(["folds", "max_depths", "refit"], "is for --cv. Give both, or neither.")
        return None
    if "n_sample_rows" in parameters:
        raise click.UsageError(
            "--n-sample-rows is for tables that are read piece by piece, and --cv needs the "
            "whole table in memory. Give one of them."
        )
    candidates = [{"max_depth": depth} for depth in dict.fromkeys(max_depths or ())] or None
    given = {"cv": folds, "refit": refit, "candidates": candidates}
    return {name: value for name, value in given.items() if value is not None}


def estimator(
    data: FitData, parameters: dict[str, Any], search: dict[str, Any] | None
) -> NeuralRuleModel:
    """The estimator to fit. If `search` is given, it is one that compares candidates."""
    import neuralrules

    check_values(data.task.name, parameters)
    if isinstance(parameters.get("class_weight"), dict):
        parameters |= {
            "class_weight": weights_by_label(parameters["class_weight"], data.labels)
        }
    kinds = {
        ("classification", False): neuralrules.NeuralRuleClassifier,
        ("classification", True): neuralrules.NeuralRuleClassifierCV,
        ("regression", False): neuralrules.NeuralRuleRegressor,
        ("regression", True): neuralrules.NeuralRuleRegressorCV,
    }
    kind = kinds[data.task.name, search is not None]
    model: NeuralRuleModel = kind(**parameters, **(search or {}))
    return model


def weights_by_label(weights: dict[str, Any], y: np.ndarray) -> dict[Any, Any]:
    """Weights of classes by label, from weights by text: keys of JSON are always text."""
    labels = {str(label): label for label in np.unique(y).tolist()}
    for name, weight in weights.items():
        problem = None
        is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if name not in labels:
            problem = f"{name!r} is none of the classes {listed(list(labels))}."
        elif not is_number or not 0 <= weight < math.inf:
            problem = f"{weight!r} is not a weight. Give each class a number of at least 0."
        if problem is not None:
            raise click.BadParameter(problem, param_hint="'--class-weight'")
    return {labels[name]: weight for name, weight in weights.items()}


def fit_with_progress(model: NeuralRuleModel, data: FitData, console: Console) -> None:
    """Fit a model, with a progress bar for the epochs or for the steps of the search."""
    names = [*parameter_names(), "expert_rules", "checkpoint", "missing"]
    with library_errors(names), interrupts_raised(), warnings_as_notes(console, data.noted):
        model.set_params(verbose=int(console.shows_progress))
        model.fit(data.X, data.y, data.weights)
        model.set_params(verbose=0)  # so that the model file is the same without a terminal


@contextmanager
def warnings_as_notes(console: Console, noted: Collection[str]) -> Iterator[None]:
    """Turn warnings of the library into notes that name options.

    The columns `noted` already have a note about many different texts, so they get no second
    note.
    """
    from sklearn.exceptions import ConvergenceWarning

    from neuralrules._data._encoder import RareCategoriesWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.simplefilter("always", RareCategoriesWarning)
        yield
    for warning in caught:
        message = warning.message
        if isinstance(message, ConvergenceWarning):
            console.note(in_options(str(message), parameter_names()))
        elif isinstance(message, RareCategoriesWarning):
            rest = {name: share for name, share in message.shares.items() if name not in noted}
            if rest:
                console.note(str(RareCategoriesWarning(rest)))
        else:
            warnings.showwarning(message, warning.category, warning.filename, warning.lineno)


def say_fitted(
    model: NeuralRuleModel, data: FitData, targets: list[str], path: Path, console: Console
) -> None:
    """Print the summary: the size of the model, and its metrics on the training rows."""
    from neuralrules._export._extras import size_text

    metrics = model.fitted_.performance.metrics
    record: dict[str, Any] = {
        "estimator": type(model).__name__,
        "task": data.task.name,
        "targets": targets,
        "n_rows": data.n_rows,
        "n_columns": len(model.encoder_.names),
        "n_rules": model.network_.n_rules,
        "n_literals": model.network_.n_literals,
        "n_parameters": model.network_.n_parameters,
        "n_epochs": model.n_iter_,
        "interrupted": model.interrupted_,
        "training_metrics": metrics,
    }
    lines = [
        f"Fitted {', '.join(targets)} on {data.n_rows:,} rows of {data.table}.",
        size_text(model.fitted_),
    ]
    if hasattr(model, "candidates_"):
        record |= {
            "candidates": model.candidates_,
            "best": model.best_index_,
            "cv_scores": model.cv_scores_.tolist(),
        }
        lines.append(search_text(model))
    lines += ["On the training rows, which flatter a model:", aligned(metric_pairs(metrics))]
    console.saved(path, "\n".join(lines), record)


def search_text(model: Any) -> str:
    """A text that says which candidate was chosen, and its score."""
    words = ", ".join(f"{name}={value}" for name, value in model.best_params_.items())
    kept = f"Kept {words or 'the defaults'}"
    met = np.isfinite(model.cv_scores_)
    if not met.any():
        return f"{kept}: the search was interrupted."
    score = float(model.cv_scores_[model.best_index_][met[model.best_index_]].mean())
    n = len(model.candidates_)
    return f"{kept}: the best of {n} candidates on rows held out (mean score {score:.4g})."
