"""A model from a file that only predicts. It is not an estimator.

Predictions need only what the model learned. They do not need scikit-learn, which is slow to
load: with a fitted estimator, `neuralrules predict` for a small table would take more than
three times as long. The parameters of training are not read.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from neuralrules._data._encoder import Encoder
from neuralrules._engine import ENGINES, get_engine
from neuralrules._engine._early import EarlyEngine
from neuralrules._engine._protocol import Decider, Engine
from neuralrules._files._checks import Contents, refuse, shown
from neuralrules._files._container import ModelFileError
from neuralrules._files._load import contents_of, fitted_from, read_bytes
from neuralrules._fitted._fitted import Fitted

CLASSIFIERS = ("NeuralRuleClassifier", "NeuralRuleClassifierCV")
REGRESSORS = ("NeuralRuleRegressor", "NeuralRuleRegressorCV")


@dataclass(frozen=True)
class StoredModel:
    """The model of a file, with the attributes of an estimator that predictions need.

    Attributes
    ----------
    fitted_ : Fitted
    engine : str
        The name of the engine that the model computes with.
    n_jobs : int or None
        The parameter `n_jobs` of the estimator: the number of threads.
    """

    fitted_: Fitted
    engine: str
    n_jobs: int | None

    @property
    def encoder_(self) -> Encoder:
        return self.fitted_.encoder

    def deciding_engine(self) -> Decider:
        """An engine for predictions, which loads numba only for many rows.

        Even a model that was trained with torch or on a GPU predicts without torch and GPU.
        """
        if self.engine == "numpy":
            return get_engine(self.engine, 1)
        return EarlyEngine(self._numba)

    def _numba(self) -> Engine:
        from joblib import effective_n_jobs

        n_threads = min(effective_n_jobs(self.n_jobs), os.cpu_count() or 1)
        return get_engine("numba", n_threads)


def stored_model(path: str | os.PathLike[str], *, max_bytes: int = 2**30) -> StoredModel:
    """Read a model that `save` wrote, for predictions. Raises the same errors as `load`."""
    whole = read_bytes(os.fspath(path), max_bytes)
    try:
        contents = contents_of(whole)
        del whole
        return model_from(contents)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)!r} cannot be loaded: {error}") from None


def model_from(contents: Contents) -> StoredModel:
    """Check the contents of a file, and make a model of them."""
    name, parameters = contents.value("estimator", str), contents.value("parameters", dict)
    if name not in (*CLASSIFIERS, *REGRESSORS):
        refuse(f"it holds a {shown(name)}, not one of {', '.join((*CLASSIFIERS, *REGRESSORS))}")
    engine, n_jobs = parameters.get("engine"), parameters.get("n_jobs")
    if not isinstance(engine, str) or engine not in ENGINES:
        refuse(f"its engine is {shown(engine)}, not one of {', '.join(ENGINES)}")
    if not (n_jobs is None or (type(n_jobs) is int and n_jobs != 0)):
        refuse("its parameters are not valid")
    contents.document.pop("search", None)
    contents.arrays.pop("cv_scores", None)
    classes = name in CLASSIFIERS
    fitted = fitted_from(contents, name, classes=classes)
    contents.nothing_left()
    return StoredModel(fitted, engine, n_jobs)
