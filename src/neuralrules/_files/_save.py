"""From a fitted model to arrays and a text: the writing half of the file format."""

from __future__ import annotations

import json
import math
import os
import warnings
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from neuralrules._files._container import CODES, pack
from neuralrules._io._writing import checked_path, whole_file

if TYPE_CHECKING:
    from neuralrules._data._encoding import Encoder
    from neuralrules._estimators._base import NeuralRuleModel


def save(model: NeuralRuleModel, path: str | os.PathLike[str]) -> Path:
    """See `PortableModel.save`, which calls it."""
    from neuralrules import __version__

    check_is_fitted(model)
    target = checked_path(path, "model.nrules")
    arrays = model_arrays(model)
    check_finite(arrays)
    text = json.dumps(model_document(model), allow_nan=False, separators=(",", ":"))
    whole = pack(arrays, text, __version__)
    with whole_file(target) as file:
        file.write(whole)
    return target


def model_arrays(model: NeuralRuleModel) -> dict[str, np.ndarray]:
    """Everything learned that is an array; names as in `docs/files.md`."""
    state = model._state
    arrays = {
        "encoder.mean": np.array([column.mean for column in model.encoder_.columns]),
        "encoder.scale": np.array([column.scale for column in model.encoder_.columns]),
        "target.mean": model._target_mean,
        "target.scale": model._target_scale,
        **{f"history.{name}": np.array(losses) for name, losses in model.history_.items()},
        **array_fields("network", state.network),
        **array_fields("rules", model.rules_),
        **array_fields("activity", model._activity),
        **array_fields("performance", model._performance),
    }
    # A model that was not trained since its network was made has no moments yet.
    moments = {"means": state.moments.means, "squares": state.moments.squares}
    if any(array.any() for moment in moments.values() for array in moment):
        for name, moment in moments.items():
            arrays |= {f"{name}.{part}": array for part, array in moment._asdict().items()}
    if hasattr(model, "cv_scores_"):
        arrays["cv_scores"] = model.cv_scores_
    if hasattr(model, "classes_") and has_code(model.classes_):
        arrays["classes"] = model.classes_
    return arrays


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
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    return {
        f"{prefix}.{name}": value
        for name, value in values.items()
        if isinstance(value, np.ndarray)
    }


def model_document(model: NeuralRuleModel) -> dict[str, Any]:
    """Everything else; the keys are described in `docs/files.md`."""
    performance = model._performance
    return {
        "estimator": type(model).__name__,
        "parameters": plain_parameters(model),
        "names": model.encoder_.names,
        "named": hasattr(model, "feature_names_in_"),
        "columns": column_records(model.encoder_),
        "labels": plain_labels(model),
        "flat": getattr(model, "_flat_y", None),
        "max_depth": getattr(model, "max_depth_", None),
        "n_epochs": model.n_iter_,
        "n_steps": model._state.moments.n_steps,
        "interrupted": model.interrupted_,
        "n_training": model.rules_.n_training,
        "activity_rows": model._activity.n_rows,
        "performance_rows": performance.n_rows,
        # As text, because a metric may be NaN.
        "metrics": {name: repr(value) for name, value in performance.metrics.items()},
        "notes": getattr(model, "_notes", {}),
    }


def column_records(encoder: Encoder) -> list[list[Any]]:
    """Source, kind and category of the encoded columns."""
    return [[column.source, column.kind, column.category] for column in encoder.columns]


def plain_labels(model: NeuralRuleModel) -> dict[str, Any] | None:
    """Class labels that are not an array of numbers: strings, or Python's objects."""
    if not hasattr(model, "classes_") or has_code(model.classes_):
        return None
    labels = model.classes_.tolist()
    for label in labels:
        if not isinstance(label, str | int | float):
            raise TypeError(
                f"save cannot write the class {label!r}: labels must be strings, numbers or "
                "booleans. Fit on y with such labels, for example y.astype(str)."
            )
    return {"objects": model.classes_.dtype == object, "labels": labels}


def plain_parameters(model: NeuralRuleModel) -> dict[str, Any]:
    """The estimator's parameters; what is no plain data falls back to its default."""
    defaults = type(model)().get_params(deep=False)
    result = {}
    for name, value in model.get_params(deep=False).items():
        try:
            result[name] = plain_value(value)
        except TypeError:
            warnings.warn(
                f"{name}={value!r} is not plain data and is not saved: the loaded model will "
                f"have {name}={defaults[name]!r}, its default. Predictions are the same.",
                stacklevel=5,
            )
            result[name] = plain_value(defaults[name])
    return result


def plain_value(value: Any) -> Any:
    """A parameter as JSON has it; TypeError if it is no plain data.

    A list of plain items stays one, a dict of them becomes its pairs.
    """
    if isinstance(value, dict):
        pairs = [[plain_item(key), plain_item(item)] for key, item in value.items()]
        return {"pairs": pairs}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain_item(item) for item in value]
    return plain_item(value)


def plain_item(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    infinite = isinstance(value, float) and not math.isfinite(value)
    if infinite or not isinstance(value, str | int | float | None):
        raise TypeError(value)
    return value
