"""Loading model files, the notes in models, and checks of the files to write."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from neuralrules._cli._errors import InputError, library_errors
from neuralrules._cli._tables._streams import COMPRESSIONS, FORMATS

if TYPE_CHECKING:
    from neuralrules._estimators._base import NeuralRuleModel
    from neuralrules._files import StoredModel

Model = TypeVar("Model")


def load_model(path: str) -> NeuralRuleModel:
    """Load a model file as a fitted estimator."""
    from neuralrules._estimators._load import load

    return opened(path, load)


def load_stored(path: str) -> StoredModel:
    """Load a model file only to predict, in a fraction of the time that an estimator takes."""
    from neuralrules._files import stored_model

    return opened(path, stored_model)


def opened(path: str, load: Callable[[str], Model]) -> Model:
    """The result of `load` for a model file. If the file is a table, the error says so."""
    if os.path.isdir(path):
        raise InputError(f"MODEL {path!r} is a folder. Give a file that `fit` wrote.")
    try:
        with library_errors():
            return load(path)
    except FileNotFoundError:
        raise InputError(
            f"MODEL {path!r}: there is no such file. Give a file that `fit` wrote."
        ) from None
    except InputError as error:
        if path.lower().rpartition(".")[2] not in (*FORMATS, *COMPRESSIONS):
            raise
        raise InputError(
            f"MODEL {path!r} is a table by its name, not a model. The model comes first: "
            "MODEL DATA."
        ) from error


def notes_of(model: NeuralRuleModel | StoredModel | None, key: str) -> list[str]:
    """A note that `fit` left in a model; empty for a model that a program saved."""
    return [] if model is None else model.fitted_.notes.get(key, [])


def note(model: NeuralRuleModel, **notes: list[str]) -> None:
    """Note in a model what other commands need to know about the table of its fit."""
    model.fitted_ = replace(model.fitted_, notes=notes)


def label_of(model: NeuralRuleModel, text: str | None) -> Any:
    """The class label with this text, or the text itself if the model has no such class."""
    labels = {str(label): label for label in model.fitted_.task.labels}
    return labels.get(text, text) if text is not None else None


def checked_output(path: str, example: str, inputs: Sequence[str | None]) -> Path:
    """The path of a file to write, checked before any work. It must not be an input."""
    from neuralrules._io._writing import checked_path

    with library_errors():
        target = checked_path(path, example)
    for given in inputs:
        both_there = given is not None and os.path.exists(given) and os.path.exists(target)
        if both_there and os.path.samefile(str(given), target):
            raise click.UsageError(
                f"--output {path!r} is the input {given!r} itself. Give another name."
            )
    return target
