"""Make a fitted estimator from a file or from text."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from neuralrules._estimators._base import give
from neuralrules._estimators._classifier import (
    ClassRules,
    NeuralRuleClassifier,
    NeuralRuleClassifierCV,
)
from neuralrules._estimators._regressor import NeuralRuleRegressor, NeuralRuleRegressorCV
from neuralrules._estimators._search import RuleSearch
from neuralrules._files import Contents, fitted_from, read_model
from neuralrules._files._container import refuse, shown
from neuralrules._fitted._lineage import READ
from neuralrules._fitting._settings import n_threads
from neuralrules._reading._exact import read_exact
from neuralrules._reading._exact_rules import fitted_from_text

ESTIMATORS: dict[str, type[Any]] = {
    estimator.__name__: estimator
    for estimator in (
        NeuralRuleClassifier,
        NeuralRuleClassifierCV,
        NeuralRuleRegressor,
        NeuralRuleRegressorCV,
    )
}

# The largest number of candidates of a search in a file. A few lists of values can have more
# combinations than fit into memory.
MAX_CANDIDATES = 10_000
# How deeply lists of a parameter may be nested: a list of candidates, each a dict of lists.
DEEPEST = 4


def load(path: str | os.PathLike[str], *, max_bytes: int = 2**30) -> Any:
    """Read a model that `save` wrote. Its predictions are the same, bit for bit.

    A file holds only numbers and plain text, and `load` checks all of them before it makes a
    model. So a file from a stranger can do no harm.

    Parameters
    ----------
    path : str or path
    max_bytes : int, default=2**30
        Larger files are refused before they are read. Loading takes at most about 200 MB of
        memory for the header, plus two and a half times the size of the rest of the file.

    Returns
    -------
    fitted estimator
        An estimator of the class that was saved. Further training has the same result as it
        would have without saving and loading.

    Raises
    ------
    OSError
        If the file cannot be read.
    ModelFileError
        If the file is not a model file, or is damaged, altered, too large or from a later
        version. This error is a ValueError.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from neuralrules import NeuralRuleClassifier, load
    >>> X = np.arange(40.0)[:, None]
    >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load(model.save(Path(folder) / "model.nrules"))
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    return read_model(path, max_bytes, model_from)


def read_rules(text: str, *, estimator: bool = False) -> Any:
    """Read the text of `exact_text` back into rules that predict.

    Parameters
    ----------
    text : str
        The text that `exact_text` wrote. A person may have edited it.
    estimator : bool, default=False
        Whether to return a fitted estimator, which can be read, exported, saved and trained
        further. It computes in float32, as every estimator does. By default the rules are
        evaluated in float64, one sum after the other, in the way that the text is written.

    Returns
    -------
    ExactRules, or NeuralRuleClassifier or NeuralRuleRegressor
        All of them have ``predict``. All except ``NeuralRuleRegressor`` have
        ``decision_function``. For classes learned with ``loss="logistic"`` they also have
        ``predict_proba``. An estimator has the default parameters except ``loss`` and
        ``deep``. The text says nothing about the rows of the fit, so the estimator does not
        know which rules matter.

    Raises
    ------
    ValueError
        If the text does not have the form that `exact_text` writes. The message names the
        line.

    Examples
    --------
    >>> import numpy as np
    >>> from neuralrules import NeuralRuleClassifier, read_rules
    >>> X = np.arange(40.0)[:, None]
    >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
    >>> again = read_rules(model.exact_text(), estimator=True)
    >>> again.network_.n_rules == model.network_.n_rules
    True
    """
    exact = read_exact(text)
    if not estimator:
        return exact
    kind = NeuralRuleClassifier if exact.task.are_classes else NeuralRuleRegressor
    names = [column.name for column in exact.columns]
    numbered = [f"x{place}" for place in range(len(names))]
    named = names != numbered if exact.named is None else exact.named
    fitted = fitted_from_text(exact, kind.__name__, named=named)
    model = kind(loss=exact.task.loss.name, deep=fitted.network.deep)
    return give(model, fitted.after(READ, fitted.size_text))


def model_from(contents: Contents) -> Any:
    """Check the contents of a file, and make a fitted estimator of them."""
    model = estimator_from(contents)
    classes = isinstance(model, ClassRules)
    give(model, fitted_from(contents, type(model).__name__, classes=classes))
    search_from(contents, model)
    contents.nothing_left()
    return model


def estimator_from(contents: Contents) -> Any:
    """The estimator with its parameters, but not fitted yet."""
    name = contents.value("estimator", str)
    if name not in ESTIMATORS:
        refuse(f"it holds a {shown(name)}, not one of {', '.join(ESTIMATORS)}")
    defaults = ESTIMATORS[name]().get_params(deep=False)
    parameters = contents.value("parameters", dict)
    if parameters.keys() != defaults.keys():
        refuse(f"its parameters are not those of a {name}")
    model = ESTIMATORS[name](**{key: restored(item) for key, item in parameters.items()})
    try:
        model._validate_params()
        n_threads(model.n_jobs)  # refuses an impossible number of jobs
        if isinstance(model, RuleSearch):
            checked_candidates(model, model.candidates)
    except (TypeError, ValueError) as error:
        refuse(f"its parameters are not valid ({shown(str(error))})")
    return model


def restored(item: Any, depth: int = 0) -> Any:
    """The parameter that `_save.plain_value` turned into `item`. Lists become tuples."""
    if depth > DEEPEST:
        refuse("its parameters are no plain data")
    if isinstance(item, list):
        return tuple(restored(one, depth + 1) for one in item)
    if not isinstance(item, dict):
        return item
    pairs = item.get("pairs")
    if (
        item.keys() != {"pairs"}
        or not isinstance(pairs, list)
        or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
        or any(isinstance(key, list | dict) for key, _ in pairs)
    ):
        refuse("its parameters are no plain data")
    return {key: restored(value, depth + 1) for key, value in pairs}


def checked_candidates(model: RuleSearch, candidates: Any) -> list[dict[str, Any]]:
    """All candidates. Raises an error if any is invalid or they exceed `MAX_CANDIDATES`."""
    found = ParameterGrid(candidates) if isinstance(candidates, dict) else candidates
    if found is not None and len(found) > MAX_CANDIDATES:
        raise ValueError(f"{len(found)} candidates")
    valid: list[dict[str, Any]] = clone(model).set_params(candidates=found)._check_candidates(1)
    return valid


def search_from(contents: Contents, model: Any) -> None:
    """Give a search its candidates, scores and choice from the file."""
    search = contents.optional("search", dict)
    if not isinstance(model, RuleSearch):
        if search is not None:
            refuse(f"'search' is {shown(search)}, but nothing was searched")
        return
    if search is None or search.keys() != {"candidates", "best"}:
        refuse(f"'search' is {shown(search)}, not what was compared and chosen")
    candidates, best = restored(search["candidates"]), search["best"]
    try:
        candidates = checked_candidates(model, candidates)
    except (TypeError, ValueError) as error:
        refuse(f"its candidates are not valid ({shown(str(error))})")
    if type(best) is not int or not 0 <= best < len(candidates):
        refuse(f"the chosen candidate is {shown(best)}, none of the {len(candidates)} compared")
    shape = (len(candidates), None)
    model.cv_scores_ = contents.array("cv_scores", np.float64, shape, finite=False)
    model.candidates_, model.best_index_ = candidates, best
