"""From a file to a fitted model: the reading half of the file format."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import numpy as np

from neuralrules._data._encoder import Encoder
from neuralrules._engine import ENGINES, get_engine
from neuralrules._engine._early import EarlyEngine
from neuralrules._engine._protocol import Decider, Engine
from neuralrules._files._container import (
    MAX_HEADER_BYTES,
    Contents,
    ModelFileError,
    parse_json,
    refuse,
    shown,
    unpack,
)
from neuralrules._files._parts import (
    activity_from,
    encoder_from,
    network_from,
    performance_from,
    rules_from,
    state_from,
)
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._lineage import DEEDS, FORMAT, LONGEST, MOST_EVENTS, Event
from neuralrules._task._class_losses import CLASS_LOSSES
from neuralrules._task._loss import LossDocument, loss_from
from neuralrules._task._number_losses import NUMBER_LOSSES
from neuralrules._task._task import Task

T = TypeVar("T")
CLASSIFIERS = ("NeuralRuleClassifier", "NeuralRuleClassifierCV")
REGRESSORS = ("NeuralRuleRegressor", "NeuralRuleRegressorCV")


@dataclass(frozen=True)
class StoredModel:
    """The model of a file that only predicts. It is not an estimator.

    It has the attributes of an estimator that predictions need. They do not need scikit-learn,
    which is slow to load: with a fitted estimator, `neuralrules predict` for a small table
    would take more than three times as long. The parameters of training are not read.

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
    return read_model(path, max_bytes, stored_from)


def stored_from(contents: Contents) -> StoredModel:
    """Check the contents of a file, and make a model of them that predicts."""
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
    fitted = fitted_from(contents, name, classes=name in CLASSIFIERS)
    contents.nothing_left()
    return StoredModel(fitted, engine, n_jobs)


def read_model(
    path: str | os.PathLike[str], max_bytes: int, model_from: Callable[[Contents], T]
) -> T:
    """Read a file, and make a model of its contents, which are not checked yet."""
    whole = read_bytes(os.fspath(path), max_bytes)
    try:
        arrays, text = unpack(whole)
        del whole  # the arrays are copies: a large file need not be held twice
        return model_from(Contents(parse_json(text, "its text"), arrays))
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)!r} cannot be loaded: {error}") from None


def read_bytes(path: str, max_bytes: int) -> bytes:
    """The bytes of a regular file that is not too large."""
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


def fitted_from(contents: Contents, estimator: str, *, classes: bool) -> Fitted:
    """Check the contents of a file, and make a fitted model of them.

    `estimator` is the name of the class that was saved. `classes` says whether this class
    predicts classes.
    """
    encoder = encoder_from(contents)
    has_parameters = isinstance(contents.document.get("loss"), dict)
    loss: LossDocument
    loss = contents.value("loss", dict) if has_parameters else contents.value("loss", str)
    try:
        loss_from(loss, CLASS_LOSSES if classes else NUMBER_LOSSES)
    except ValueError:
        refuse(f"it has the loss {shown(loss)}, which is none that it could have")
    task = task_from(contents, loss, classes=classes)
    network = network_from(contents, len(encoder.columns), task.n_outputs)
    rules = rules_from(contents, network, len(encoder.columns), task)
    state = state_from(contents, network)
    with np.errstate(over="ignore"):
        learned = task.in_units(network.values, network.intercept)
    if not all(np.isfinite(array).all() for array in learned):
        refuse("its values in units of the target are too large")
    n_epochs = contents.count("n_epochs")
    history = {
        name: contents.array(f"history.{name}", np.float64, (n_epochs,), finite=False).tolist()
        for name in ("loss", "validation_loss")
        if f"history.{name}" in contents.arrays
    }
    notes = contents.value("notes", dict)
    note_texts = Contents(dict(notes), {})
    lineage = contents.value("lineage", list)
    if len(lineage) > MOST_EVENTS:
        refuse(f"it tells of {len(lineage):,} changes, more than the {MOST_EVENTS} it may")
    return Fitted(
        estimator=estimator,
        encoder=encoder,
        rules=rules,
        task=task,
        state=state,
        history=history,
        n_epochs=n_epochs,
        interrupted=contents.value("interrupted", bool),
        activity=activity_from(contents, network.n_rules, task),
        performance=performance_from(contents, network.n_rules, task),
        notes={key: note_texts.texts(key) for key in notes},
        lineage=tuple(map(event_from, lineage)),
    )


def task_from(contents: Contents, loss: LossDocument, *, classes: bool) -> Task:
    """The task: what the outputs mean."""
    centre = contents.array("target.mean", np.float64, (None,))
    scale = contents.array("target.scale", np.float64, (len(centre),))
    if not len(centre) or (scale <= 0).any():
        refuse("its targets have no scale")
    labels, flat = contents.optional("labels", dict), contents.optional("flat", bool)
    if classes:
        if flat is not None or centre.tolist() != [0] or scale.tolist() != [1]:
            refuse("it does not say what its classes are")
        return Task.of_classes(classes_from(contents, labels), loss)
    if labels is not None or flat is None or (flat and len(centre) > 1):
        refuse("it does not say what its numbers are")
    return Task.of_scaled_numbers(centre, scale, loss, flat=flat)


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
        # NumPy stores each text of an array in as many bytes as the longest text needs. Such an
        # array could be much larger than the file.
        widest = max((len(label) for label in listed if type(label) is str), default=0)
        too_wide = widest * len(listed) > MAX_HEADER_BYTES
        classes = np.array(listed, object if objects or too_wide else None)
    try:
        ascending = bool((classes[:-1] < classes[1:]).all())
    except TypeError:  # texts and numbers have no order
        ascending = False
    if len(classes) < 2 or not ascending:
        refuse("its class labels do not ascend, or are fewer than two")
    return classes


def event_from(record: Any) -> Event:
    """One event. Each of its texts must be one printable line, because people read them."""
    inner = Contents(record, {})
    names = ("what", "when", "who", "version", "summary")
    texts = {name: inner.value(name, str) for name in names}
    n_rows = inner.count("n_rows")
    inner.nothing_left()
    for name, text in texts.items():
        if len(text) > LONGEST or not text.isprintable():
            refuse(f"{name!r} of a change is {shown(text)}, not one line of {LONGEST} letters")
    if texts["what"] not in DEEDS:
        refuse(f"a change is {shown(texts['what'])}, not one of {', '.join(DEEDS)}")
    try:
        datetime.strptime(texts["when"], FORMAT)
    except ValueError:
        refuse(f"the time of a change is {shown(texts['when'])}, which is none")
    return Event(**texts, n_rows=n_rows)
