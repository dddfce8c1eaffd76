"""From a fitted model to arrays and a text: the writing half of the file format."""

from __future__ import annotations

import json
import math
import os
import warnings
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from neuralrules._data._encoder import Encoder
from neuralrules._files._container import CODES, pack
from neuralrules._fitted._fitted import Fitted
from neuralrules._io._writing import checked_path, whole_file


class Configuration(NamedTuple):
    """The parameters of an estimator. A search also has its candidates and its choice.

    If a file cannot hold a parameter, its default is saved in its place. `best` is the index of
    the candidate that the search chose. `cv_scores` is (n_candidates, n_folds) float64.
    """

    parameters: dict[str, Any]
    defaults: dict[str, Any]
    candidates: list[dict[str, Any]] | None = None
    best: int | None = None
    cv_scores: np.ndarray | None = None


def save(fitted: Fitted, configuration: Configuration, path: str | os.PathLike[str]) -> Path:
    """Save a model in a file; see `Documents.save`."""
    from neuralrules._version import __version__

    target = checked_path(path, "model.nrules")
    arrays = model_arrays(fitted)
    if configuration.cv_scores is not None:
        arrays["cv_scores"] = configuration.cv_scores
    check_finite(arrays)
    document = model_document(fitted, configuration)
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    whole = pack(arrays, text, __version__)
    with whole_file(target) as file:
        file.write(whole)
    return target


def model_arrays(fitted: Fitted) -> dict[str, np.ndarray]:
    """All arrays that a model learned, under the names in `docs/files.md`."""
    state = fitted.state
    arrays = {
        f"encoder.{name}": np.array([getattr(one, name) for one in fitted.encoder.columns])
        for name in ("mean", "scale", "lowest", "highest")
    }
    arrays |= {
        **knot_arrays(fitted.encoder),
        "target.mean": fitted.task.centre,
        "target.scale": fitted.task.scale,
        **{f"history.{name}": np.array(losses) for name, losses in fitted.history.items()},
        **array_fields("network", state.network),
        **array_fields("rules", fitted.rules),
        **array_fields("activity", fitted.activity),
        **array_fields("performance", fitted.performance),
    }
    # A model that was not trained since its network was made has no moments yet.
    moments = {"means": state.moments.means, "squares": state.moments.squares}
    if any(array.any() for moment in moments.values() for array in moment):
        for name, moment in moments.items():
            arrays |= {f"{name}.{part}": array for part, array in moment._asdict().items()}
    if fitted.task.classes is not None and has_code(fitted.task.classes):
        arrays["classes"] = fitted.task.classes
    return arrays


def knot_arrays(encoder: Encoder) -> dict[str, np.ndarray]:
    """The knots of all encoded columns, one after the other. Empty if no column has knots."""
    knots = [column.knots for column in encoder.columns]
    lengths = [0 if own is None else len(own.x) for own in knots]
    if not any(lengths):
        return {}
    return {
        "encoder.knot_offsets": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        "encoder.knots_x": np.array([x for own in knots if own is not None for x in own.x]),
        "encoder.knots_z": np.array([z for own in knots if own is not None for z in own.z]),
    }


def has_code(array: np.ndarray) -> bool:
    """Whether a file can hold the array as numbers."""
    return array.dtype.newbyteorder("<") in CODES


def check_finite(arrays: dict[str, np.ndarray]) -> None:
    """Refuse a model that `load` would refuse."""
    for name, array in arrays.items():
        part = name.partition(".")[0]
        if part in ("network", "target", "encoder") and not np.isfinite(array).all():
            raise ValueError(
                f"The model cannot be saved: its {name} hold NaN or infinity, because training "
                "did not converge. Fit it again, for example with a smaller learning_rate."
            )


def array_fields(prefix: str, record: Any) -> dict[str, np.ndarray]:
    """The arrays of a dataclass."""
    return {
        f"{prefix}.{field.name}": value
        for field in fields(record)
        if isinstance(value := getattr(record, field.name), np.ndarray)
    }


def model_document(fitted: Fitted, configuration: Configuration) -> dict[str, Any]:
    """All of a model except its arrays, under the keys in `docs/files.md`."""
    performance, search = fitted.performance, None
    if configuration.candidates is not None:
        candidates = plain_value(configuration.candidates)
        search = {"candidates": candidates, "best": configuration.best}
    return {
        "estimator": fitted.estimator,
        "parameters": plain_parameters(configuration),
        "names": fitted.encoder.names,
        "named": fitted.encoder.named,
        "columns": [column.record for column in fitted.encoder.columns],
        "missing": list(fitted.encoder.missing),
        "loss": fitted.task.loss.document(),
        "labels": plain_labels(fitted),
        "flat": None if fitted.task.are_classes else fitted.task.flat,
        "search": search,
        "n_epochs": fitted.n_epochs,
        "n_steps": fitted.state.moments.n_steps,
        "interrupted": fitted.interrupted,
        "n_training": fitted.rules.n_training,
        "activity_rows": fitted.activity.n_rows,
        "performance_rows": performance.n_rows,
        # As text, because a metric may be NaN.
        "metrics": {name: repr(value) for name, value in performance.metrics.items()},
        "notes": fitted.notes,
        "lineage": [asdict(one) for one in fitted.lineage],
    }


def plain_labels(fitted: Fitted) -> dict[str, Any] | None:
    """Class labels that no array of numbers can hold, or None for labels that are numbers."""
    classes = fitted.task.classes
    if classes is None or has_code(classes):
        return None
    labels = classes.tolist()
    for label in labels:
        if not isinstance(label, str | int | float):
            raise TypeError(
                f"save cannot write the class {label!r}: labels must be strings, numbers or "
                "booleans. Fit on y with such labels, for example y.astype(str)."
            )
    return {"objects": classes.dtype == object, "labels": labels}


def plain_parameters(configuration: Configuration) -> dict[str, Any]:
    """The estimator's parameters. If a parameter is not plain data, its default is saved."""
    result = {}
    for name, value in configuration.parameters.items():
        try:
            result[name] = plain_value(value)
        except TypeError:
            default = configuration.defaults[name]
            warnings.warn(
                f"{name}={value!r} is not plain data and is not saved: the loaded model will "
                f"have {name}={default!r}, its default. Predictions are the same.",
                stacklevel=5,
            )
            result[name] = plain_value(default)
    return result


def plain_value(value: Any) -> Any:
    """A parameter as JSON can hold it. If it is not plain data, a TypeError is raised.

    A list stays a list. A dict becomes a list of pairs. Lists and dicts may be nested.
    """
    if isinstance(value, dict):
        return {"pairs": [[plain_item(key), plain_value(item)] for key, item in value.items()]}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain_value(item) for item in value]
    return plain_item(value)


def plain_item(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    infinite = isinstance(value, float) and not math.isfinite(value)
    if infinite or not isinstance(value, str | int | float | None):
        raise TypeError(value)
    return value
