"""From a file to a fitted estimator."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from neuralrules._estimators._classifier import ClassRules, NeuralRuleClassifier
from neuralrules._estimators._regressor import NeuralRuleRegressor
from neuralrules._estimators._search import (
    DepthSearch,
    NeuralRuleClassifierCV,
    NeuralRuleRegressorCV,
)
from neuralrules._files import Contents, ModelFileError, contents_of, fitted_from, read_bytes
from neuralrules._files._checks import refuse, shown

ESTIMATORS: dict[str, type[Any]] = {
    estimator.__name__: estimator
    for estimator in (
        NeuralRuleClassifier,
        NeuralRuleClassifierCV,
        NeuralRuleRegressor,
        NeuralRuleRegressorCV,
    )
}

# What files that were written before there was a parameter have in its place.
LATER_PARAMETERS = {"scaling": "standard"}


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
        contents = contents_of(whole)
        del whole  # the arrays are copies: a large file need not be held twice
        return model_from(contents)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)!r} cannot be loaded: {error}") from None


def model_from(contents: Contents) -> Any:
    """A fitted estimator of contents, which are checked here."""
    model = estimator_from(contents)
    classes = isinstance(model, ClassRules)
    model.fitted_ = fitted_from(contents, type(model).__name__, model.loss, classes=classes)
    search_from(contents, model)
    contents.nothing_left()
    encoder = model.fitted_.encoder
    model.n_features_in_ = len(encoder.names)
    if encoder.named:
        model.feature_names_in_ = np.array(encoder.names, object)
    return model


def estimator_from(contents: Contents) -> Any:
    """The estimator before it is fitted."""
    name = contents.value("estimator", str)
    if name not in ESTIMATORS:
        refuse(f"it holds a {shown(name)}, not one of {', '.join(ESTIMATORS)}")
    parameters = contents.value("parameters", dict)
    parameters = LATER_PARAMETERS | parameters
    if parameters.keys() != ESTIMATORS[name]().get_params(deep=False).keys():
        refuse(f"its parameters are not those of a {name}")
    model = ESTIMATORS[name](**{key: restored(item) for key, item in parameters.items()})
    try:
        model._validate_params()
        model._engine()  # refuses a number of jobs that there cannot be
        if isinstance(model, DepthSearch):
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


def search_from(contents: Contents, model: Any) -> None:
    """Learn what a search found, if there was one."""
    depth = contents.optional("max_depth", int)
    if isinstance(model, DepthSearch):
        model.cv_scores_ = contents.array("cv_scores", np.float64, (None, None), finite=False)
        if depth is None or depth < 1:
            refuse(f"'max_depth' is {shown(depth)}, not the chosen depth")
        model.max_depth_ = depth
    elif depth is not None:
        refuse(f"'max_depth' is {shown(depth)}, but nothing was searched")
