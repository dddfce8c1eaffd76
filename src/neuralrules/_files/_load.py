"""From a file to a fitted model: the reading half of the file format."""

from __future__ import annotations

import os
import stat
from typing import Any

import numpy as np

from neuralrules._estimators._base import NeuralRuleModel
from neuralrules._estimators._classifier import NeuralRuleClassifier
from neuralrules._estimators._regressor import NeuralRuleRegressor
from neuralrules._estimators._search import NeuralRuleClassifierCV, NeuralRuleRegressorCV
from neuralrules._files._checks import Contents, refuse, shown
from neuralrules._files._container import (
    MAX_HEADER_BYTES,
    VERSION,
    ModelFileError,
    parse_json,
    unpack,
)
from neuralrules._files._parts import (
    activity_from,
    encoder_from,
    network_from,
    performance_from,
    rules_from,
    state_from,
    upgrade_network,
)

ESTIMATORS: dict[str, type[Any]] = {
    estimator.__name__: estimator
    for estimator in (
        NeuralRuleClassifier,
        NeuralRuleClassifierCV,
        NeuralRuleRegressor,
        NeuralRuleRegressorCV,
    )
}


def load(path: str | os.PathLike[str], *, max_bytes: int = 2**30) -> Any:
    """Read a model that `save` wrote; its predictions are the same, bit for bit.

    A file holds numbers and plain text only, and all of it is checked before a model is
    made of it, so that a file from a stranger can do no harm.

    Parameters
    ----------
    path : str or path
    max_bytes : int, default=2**30
        Larger files are refused before they are read. Loading takes at most about 200 MB
        for the header and two and a half times as much as the rest of the file.

    Returns
    -------
    fitted estimator
        Of the class that was saved; it can also be trained further as if it had never
        been away.

    Raises
    ------
    OSError
        If the file cannot be read.
    ModelFileError
        A ValueError: if it is no model file, or damaged, altered, too large or from a
        later version.
    """
    whole = read_bytes(os.fspath(path), max_bytes)
    try:
        arrays, text, version = unpack(whole)
        del whole
        return model_from(Contents(parse_json(text, "its text"), arrays), version)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)!r} cannot be loaded: {error}") from None


def read_bytes(path: str, max_bytes: int) -> bytes:
    """The whole file, if it is one and not too large."""
    if stat.S_ISFIFO(os.stat(path).st_mode):  # opening it would wait for a writer
        raise ModelFileError(f"{path!r} is not a regular file. Give a file to load.")
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ModelFileError(f"{path!r} is not a regular file. Give a file to load.")
        if status.st_size > max_bytes:
            raise ModelFileError(
                f"{path!r} has {status.st_size:,} bytes, more than max_bytes={max_bytes:,}. "
                "Give a larger max_bytes if you trust the file."
            )
        return file.read(status.st_size)


def model_from(contents: Contents, version: int = VERSION) -> NeuralRuleModel:
    """A fitted estimator of checked contents, which are those of a file of that version."""
    model = estimator_from(contents)
    encoder = encoder_from(contents)
    model.encoder_ = encoder
    model.n_features_in_ = len(encoder.names)
    if contents.value("named", bool):
        model.feature_names_in_ = np.array(encoder.names, object)
    n_classes, n_targets = targets_from(contents, model)
    n_columns = len(encoder.columns)
    n_outputs = n_targets if n_classes in (0, 2) else n_classes
    if version == 1:
        upgrade_network(contents, n_columns)
    network = network_from(contents, n_columns, n_outputs)
    model.rules_ = rules_from(contents, network, n_columns, n_classes, n_targets)
    model._state = state_from(contents, network)
    with np.errstate(over="ignore"):
        model.network_ = network.in_target_units(model._target_mean, model._target_scale)
    learned = (model.network_.values, model.network_.intercept)
    if not all(np.isfinite(array).all() for array in learned):
        refuse("its values in units of the target are too large")
    training_from(contents, model)
    model._activity = activity_from(contents, network.n_rules, n_classes or n_targets)
    model._performance = performance_from(contents, network.n_rules, n_classes, n_targets)
    notes_from(contents, model)
    contents.nothing_left()
    return model


def estimator_from(contents: Contents) -> Any:
    """The estimator before it is fitted."""
    name = contents.value("estimator", str)
    if name not in ESTIMATORS:
        refuse(f"it holds a {shown(name)}, not one of {', '.join(ESTIMATORS)}")
    parameters = contents.value("parameters", dict)
    if parameters.keys() != ESTIMATORS[name]().get_params(deep=False).keys():
        refuse(f"its parameters are not those of a {name}")
    model = ESTIMATORS[name](**{key: restored(item) for key, item in parameters.items()})
    try:
        model._validate_params()
        model._engine()  # refuses a number of jobs that there cannot be
        if hasattr(model, "_check_depths"):
            model._check_depths()
    except (TypeError, ValueError) as error:
        refuse(f"its parameters are not valid ({shown(str(error))})")
    return model


def restored(item: Any) -> Any:
    """A parameter that was written as `_save.plain_value` says."""
    if isinstance(item, list) and are_plain(item):
        return tuple(item)
    if isinstance(item, dict):
        pairs = item.get("pairs")
        if isinstance(pairs, list) and all(
            isinstance(pair, list) and len(pair) == 2 and are_plain(pair) for pair in pairs
        ):
            return dict(pairs)
    elif not isinstance(item, list):
        return item
    refuse("its parameters are no plain data")


def are_plain(items: list[Any]) -> bool:
    return not any(isinstance(item, list | dict) for item in items)


def targets_from(contents: Contents, model: Any) -> tuple[int, int]:
    """Learn the targets; how many classes (0 for a regression) and targets there are."""
    is_classifier = isinstance(model, NeuralRuleClassifier | NeuralRuleClassifierCV)
    mean = contents.array("target.mean", np.float64, (None,))
    scale = contents.array("target.scale", np.float64, (len(mean),))
    if not len(mean) or (scale <= 0).any():
        refuse("its targets have no scale")
    model._target_mean, model._target_scale = mean, scale
    labels, flat = contents.optional("labels", dict), contents.optional("flat", bool)
    if not is_classifier:
        if labels is not None or flat is None or (flat and len(mean) > 1):
            refuse("it does not say what its numbers are")
        model._flat_y = flat
        return 0, len(mean)
    if flat is not None or mean.tolist() != [0] or scale.tolist() != [1]:
        refuse("it does not say what its classes are")
    model.classes_ = classes_from(contents, labels)
    return len(model.classes_), 1


def classes_from(contents: Contents, labels: dict[str, Any] | None) -> np.ndarray:
    """Class labels in ascending order: an array of numbers, strings or objects."""
    if labels is None:
        if "classes" not in contents.arrays:
            refuse("the array 'classes' is missing")
        classes = contents.array("classes", contents.arrays["classes"].dtype.type, (None,))
    else:
        inner = Contents(labels, {})
        objects, listed = inner.value("objects", bool), inner.value("labels", list)
        if {*map(type, listed)} - {str, int, float, bool}:
            refuse("its class labels are not texts, numbers or booleans")
        inner.nothing_left()
        # An array of texts is as wide as the longest: it could be larger than any file.
        widest = max((len(label) for label in listed if type(label) is str), default=0)
        too_wide = widest * len(listed) > MAX_HEADER_BYTES
        classes = np.array(listed, object if objects or too_wide else None)
    try:
        ascending = bool((classes[:-1] < classes[1:]).all())
    except TypeError:  # texts among numbers
        ascending = False
    if len(classes) < 2 or not ascending:
        refuse("its class labels do not ascend, or are fewer than two")
    return classes


def training_from(contents: Contents, model: Any) -> None:
    """Learn what is known about the training."""
    model.n_iter_ = contents.count("n_epochs")
    model.interrupted_ = contents.value("interrupted", bool)
    names = [
        name for name in ("loss", "validation_loss") if f"history.{name}" in contents.arrays
    ]
    model.history_ = {
        name: contents.array(
            f"history.{name}", np.float64, (model.n_iter_,), finite=False
        ).tolist()
        for name in names
    }
    depth = contents.optional("max_depth", int)
    if isinstance(model, NeuralRuleClassifierCV | NeuralRuleRegressorCV):
        model.cv_scores_ = contents.array("cv_scores", np.float64, (None, None), finite=False)
        if depth is None or depth < 1:
            refuse(f"'max_depth' is {shown(depth)}, not the chosen depth")
        model.max_depth_ = depth
    elif depth is not None:
        refuse(f"'max_depth' is {shown(depth)}, but nothing was searched")


def notes_from(contents: Contents, model: Any) -> None:
    """What a program keeps with the model about the table it came from."""
    notes = contents.value("notes", dict)
    inner = Contents(dict(notes), {})
    for key in notes:
        inner.texts(key)
    if notes:
        model._notes = notes
