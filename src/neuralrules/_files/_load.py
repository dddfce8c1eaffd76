"""From a file to a fitted model: the reading half of the file format."""

from __future__ import annotations

import os
import stat
from datetime import datetime
from typing import Any

import numpy as np

from neuralrules._files._checks import Contents, refuse, shown
from neuralrules._files._container import (
    MAX_HEADER_BYTES,
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
)
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._lineage import DEEDS, FORMAT, LONGEST, MOST_EVENTS, Event
from neuralrules._task._class_losses import CLASS_LOSSES
from neuralrules._task._loss import LossDocument, loss_from
from neuralrules._task._number_losses import NUMBER_LOSSES
from neuralrules._task._task import Task


def contents_of(whole: bytes) -> Contents:
    """The contents of a file, before they are checked."""
    arrays, text = unpack(whole)
    return Contents(parse_json(text, "its text"), arrays)


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

    Parameters
    ----------
    contents : Contents
    estimator : str
        Name of the class that was saved.
    classes : bool
        Whether this class predicts classes.
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
    n_columns, n_targets = len(encoder.columns), len(task.centre)
    network = network_from(contents, n_columns, task.n_outputs)
    rules = rules_from(contents, network, n_columns, task.n_classes, n_targets)
    state = state_from(contents, network)
    with np.errstate(over="ignore"):
        learned = task.in_units(network.values, network.intercept)
    if not all(np.isfinite(array).all() for array in learned):
        refuse("its values in units of the target are too large")
    n_epochs, interrupted = contents.count("n_epochs"), contents.value("interrupted", bool)
    return Fitted(
        estimator=estimator,
        encoder=encoder,
        rules=rules,
        task=task,
        state=state,
        history=history_from(contents, n_epochs),
        n_epochs=n_epochs,
        interrupted=interrupted,
        activity=activity_from(contents, network.n_rules, task.n_totals, classes=classes),
        performance=performance_from(contents, network.n_rules, task.n_classes, n_targets),
        notes=notes_from(contents),
        lineage=lineage_from(contents),
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


def history_from(contents: Contents, n_epochs: int) -> dict[str, list[float]]:
    """Losses of each epoch."""
    return {
        name: contents.array(f"history.{name}", np.float64, (n_epochs,), finite=False).tolist()
        for name in ("loss", "validation_loss")
        if f"history.{name}" in contents.arrays
    }


def notes_from(contents: Contents) -> dict[str, list[str]]:
    """Notes about the model's table, from the program that fitted the model."""
    notes = contents.value("notes", dict)
    inner = Contents(dict(notes), {})
    return {key: inner.texts(key) for key in notes}


def lineage_from(contents: Contents) -> tuple[Event, ...]:
    """The events of the model: what was done to it since it grew."""
    records = contents.value("lineage", list)
    if len(records) > MOST_EVENTS:
        refuse(f"it tells of {len(records):,} changes, more than the {MOST_EVENTS} it may")
    return tuple(map(event_from, records))


def event_from(record: Any) -> Event:
    """One event. Each of its texts must be one printable line, because people read them."""
    inner = Contents(record, {})
    texts = {name: inner.value(name, str) for name in ("what", "when", "who", "version")}
    texts["summary"] = inner.value("summary", str)
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
