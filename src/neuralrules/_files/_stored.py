"""A model in a file as what it learned, without the estimator that learned it.

A prediction needs no more than that, and no scikit-learn, which is slow to load. With a
fitted estimator instead, `neuralrules predict` of a small table takes more than three times as
long. The parameters of training are not read.
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
    """The model of a file, with the attributes of an estimator.

    Attributes
    ----------
    fitted_ : Fitted
    engine : str
        The name of the engine that the model computes with.
    n_jobs : int or None
        The number of threads, as the parameter `n_jobs`.
    """

    fitted_: Fitted
    engine: str
    n_jobs: int | None

    @property
    def encoder_(self) -> Encoder:
        return self.fitted_.encoder

    def deciding_engine(self) -> Decider:
        """An engine for predictions, which loads numba only for many rows.

        A model that torch trained, perhaps on a GPU, predicts without torch and without a GPU.
        """
        if self.engine == "numpy":
            return get_engine(self.engine, 1)
        return EarlyEngine(self._numba)

    def _numba(self) -> Engine:
        from joblib import effective_n_jobs

        n_threads = min(effective_n_jobs(self.n_jobs), os.cpu_count() or 1)
        return get_engine("numba", n_threads)


def stored_model(path: str | os.PathLike[str], *, max_bytes: int = 2**30) -> StoredModel:
    """Read a model that `save` wrote, for predictions. Raises the errors of `load`."""
    whole = read_bytes(os.fspath(path), max_bytes)
    try:
        contents = contents_of(whole)
        del whole
        return model_from(contents)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)!r} cannot be loaded: {error}") from None


def model_from(contents: Contents) -> StoredModel:
    """A model of contents, which are checked here."""
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
