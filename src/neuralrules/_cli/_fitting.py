"""What every fit of the command line does, wherever its table is: estimator, bar, summary."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from neuralrules._cli._console import Console, aligned, bytes_text, metric_pairs
from neuralrules._cli._errors import in_options, library_errors, listed
from neuralrules._cli._parameters import check_values, estimators, parameter_names
from neuralrules._cli._signals import interrupts_raised
from neuralrules._cli._task import FoundTask

if TYPE_CHECKING:
    from neuralrules._estimators._base import NeuralRuleModel


class Learned(NamedTuple):
    """A fitted model, and what it was fitted on."""

    model: NeuralRuleModel
    task: FoundTask
    targets: list[str]
    table: str
    n_rows: int
    n_columns: int


def tell_task(found: FoundTask, asked: str | None, console: Console) -> None:
    if asked is None:
        console.note(f"{found.name}, because {found.reason}; --task overrides this.")


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
    model: NeuralRuleModel,
    X: Any,
    y: Any,
    weights: Any,
    console: Console,
    noted: Collection[str] = (),
) -> None:
    """Fit, with a bar for the epochs or for the steps of the search.

    A note has already said that the columns `noted` have many texts.
    """
    names = [*parameter_names(), "expert_rules", "checkpoint", "missing"]
    with library_errors(names), interrupts_raised():
        model.set_params(verbose=int(console.shows_progress))
        with warnings_as_notes(console, noted):
            model.fit(X, y, weights)
        model.set_params(verbose=0)  # the file is the same wherever it was made


@contextmanager
def warnings_as_notes(console: Console, noted: Collection[str]) -> Iterator[None]:
    """Turn what the library warns of into notes that name options."""
    from sklearn.exceptions import ConvergenceWarning

    from neuralrules._data._encoder import RareCategoriesWarning

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.simplefilter("always", RareCategoriesWarning)
        yield
    for one in told:
        if issubclass(one.category, ConvergenceWarning):
            console.note(in_options(str(one.message), parameter_names()))
        elif isinstance(one.message, RareCategoriesWarning):
            shares = one.message.shares.items()
            rest = {name: share for name, share in shares if name not in noted}
            if rest:
                console.note(str(RareCategoriesWarning(rest)))
        else:
            warnings.showwarning(one.message, one.category, one.filename, one.lineno)


def say_fitted(learned: Learned, path: str, console: Console) -> None:
    """The summary: how large the model is, and how good on its own rows."""
    from pathlib import Path

    from neuralrules._export._size import size_text

    model = learned.model
    n_bytes = Path(path).stat().st_size
    metrics = model.fitted_.performance.metrics
    record: dict[str, Any] = {
        "model": path,
        "bytes": n_bytes,
        "estimator": type(model).__name__,
        "task": learned.task.name,
        "targets": learned.targets,
        "n_rows": learned.n_rows,
        "n_columns": learned.n_columns,
        "n_rules": model.network_.n_rules,
        "n_literals": model.network_.n_literals,
        "n_parameters": model.network_.n_parameters,
        "n_epochs": model.n_iter_,
        "interrupted": model.interrupted_,
        "training_metrics": metrics,
    }
    lines = [
        f"Fitted {', '.join(learned.targets)} on {learned.n_rows:,} rows of {learned.table}.",
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
