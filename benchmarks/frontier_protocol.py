"""How one method is measured on one split for the frontier: tables, splits, losses, record."""

from __future__ import annotations

import functools
import importlib
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from benchmarks import datasets
from benchmarks import frontier_counting as counting
from benchmarks.datasets import FRONTIER
from benchmarks.frontier_methods import METHODS, Method
from benchmarks.limits import OverTime, within
from benchmarks.pages import environment
from benchmarks.protocol import Task

# The paper's tables, without copies of other tables and without tables that are solved.
FROM_THE_PAPER = (
    "adult",
    "banana",
    "churn",
    "coil2000",
    "dis",
    "hypothyroid",
    "kr_vs_kp",
    "madelon",
    "magic",
    "phoneme",
    "ring",
    "spambase",
    "titanic",
    "twonorm",
    "wilt",
)
DATA = (*FROM_THE_PAPER, *FRONTIER)
N_SPLITS = 3
TINY = 1e-7  # the smallest probability; its logarithm limits the loss of a row
MEASURED, OVER_TIME = "measured", "over time"
NOT_TRIED = "over time on another split or size"
LEFT_OUT = "left out for its size"


@dataclass(frozen=True)
class FrontierProtocol:
    """The settings that must be equal for two losses to be comparable.

    Attributes
    ----------
    name : str
    test_share : float
    train_rows, test_rows : int
        The most training rows and the most test rows. Further rows are not used.
    """

    name: str = "frontier"
    test_share: float = 0.25
    train_rows: int = 20_000
    test_rows: int = 20_000


@dataclass(frozen=True)
class Split:
    """Training and test rows of a data set.

    Attributes
    ----------
    X, y : ndarray of shapes (n_train, n_features) float64 and (n_train,)
    X_test, y_test : ndarray of shapes (n_test, n_features) float64 and (n_test,)
    n_classes : int
        Number of classes in the whole table; 0 for a regression. The training rows may lack
        some of the classes.
    """

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    n_classes: int


@functools.cache
def table(name: str, folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """A data set, which is read and checked only once."""
    return datasets.load(name, folder)


def n_cells(name: str) -> int:
    """Rows times columns times outputs of a whole table. The cost of a fit grows with this."""
    known = datasets.TABLES.get(name) or FRONTIER[name]
    return known.rows * known.features * counting.n_outputs(len(known.counts))


def split(protocol: FrontierProtocol, X: np.ndarray, y: np.ndarray, seed: int) -> Split:
    """A random split, with at most the protocol's numbers of training and test rows.

    The split is stratified if every class has at least two rows.
    """
    is_classes = y.dtype.kind == "i"
    train, test = parts(np.arange(len(y)), y, seed, is_classes, test_size=protocol.test_share)
    train = cut(train, y, seed, is_classes, protocol.train_rows)
    test = cut(test, y, seed, is_classes, protocol.test_rows)
    n_classes = int(y.max()) + 1 if is_classes else 0
    return Split(X[train], y[train], X[test], y[test], n_classes)


def cut(rows: np.ndarray, y: np.ndarray, seed: int, is_classes: bool, most: int) -> np.ndarray:
    """A sample of `most` rows, or all rows if there are no more."""
    if len(rows) <= most:
        return rows
    return parts(rows, y, seed, is_classes, train_size=most)[0]


def parts(
    rows: np.ndarray, y: np.ndarray, seed: int, is_classes: bool, **sizes: Any
) -> list[np.ndarray]:
    """Rows in two random parts, stratified by class unless a class has only one row."""
    labels = y[rows]
    by_class = is_classes and np.unique(labels, return_counts=True)[1].min() > 1
    return train_test_split(
        rows, random_state=seed, stratify=labels if by_class else None, **sizes
    )


def shares(given: np.ndarray) -> np.ndarray:
    """Probabilities of at least about TINY, with sum 1."""
    clipped = np.clip(np.nan_to_num(given, nan=0.0), TINY, 1 - TINY)
    return clipped / clipped.sum(axis=1, keepdims=True)


def log_loss(y: np.ndarray, probabilities: np.ndarray) -> float:
    return float(-np.log(probabilities[np.arange(len(y)), y]).mean())


def constant_loss(rows: Split) -> float:
    """The test loss of a constant: the training rows' shares of classes, or their mean."""
    if not rows.n_classes:
        return float(np.mean((rows.y_test - rows.y.mean()) ** 2))
    counts = np.bincount(rows.y, minlength=rows.n_classes) / len(rows.y)
    return log_loss(rows.y_test, shares(np.tile(counts, (len(rows.y_test), 1))))


def scores(method: Method, model: Any, rows: Split, present: np.ndarray) -> dict[str, Any]:
    """Loss, error and AUC on the test rows. `present` holds the classes of the model."""
    if not rows.n_classes:
        squared = np.mean((model.predict(rows.X_test) - rows.y_test) ** 2)
        return {"loss": float(squared), "error": None, "auc": None}
    found = []
    for given in method.probabilities(model, rows.X_test):
        every = np.zeros((len(rows.y_test), rows.n_classes))
        every[:, present] = given
        found.append(shares(every))
    best = min(found, key=lambda probabilities: log_loss(rows.y_test, probabilities))
    two = rows.n_classes == 2
    return {
        "loss": log_loss(rows.y_test, best),
        "error": float(100 * np.mean(best.argmax(axis=1) != rows.y_test)),
        "auc": float(roc_auc_score(rows.y_test, best[:, 1])) if two else None,
    }


def plain(count: Any) -> float:
    """A number as a Python object, because a record cannot hold NumPy scalars."""
    return count.item() if isinstance(count, np.generic) else count


def fit(method: Method, rows: Split) -> dict[str, Any]:
    """Fit a method and score it, on one thread.

    The seconds are those in which the process computes, so they do not depend on other programs
    that run on the machine.
    """
    y, present = rows.y, np.empty(0, int)
    if rows.n_classes:  # some libraries need class codes without gaps
        present, y = np.unique(rows.y, return_inverse=True)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about convergence and about future versions
        method.warm_up(len(present))
        model = method.make(len(present))
        start = time.process_time()
        model.fit(rows.X, y)
        fitted = time.process_time()
        found = scores(method, model, rows, present)
        scored = time.process_time()
        size = {name: plain(count) for name, count in method.size(model).items()}
    return {
        **found,
        **size,
        "fit_seconds": round(fitted - start, 4),
        "predict_seconds": round(scored - fitted, 4),
    }


def measure(protocol: FrontierProtocol, task: Task, **options: Any) -> dict[str, Any]:
    """Measure a task, and return its record; `record_of` explains the options."""
    method = METHODS[task.method]
    rows = rows_of(protocol, task, options.get("folder"))
    importlib.import_module(method.module)  # the copied process need not import it again
    if method.most_rows is not None and len(rows.y) > method.most_rows:
        return record_of(protocol, task, LEFT_OUT, {}, **options)
    try:
        found = within(method.limit, fit, method, rows)
    except OverTime:
        return record_of(protocol, task, OVER_TIME, {}, **options)
    return record_of(protocol, task, MEASURED, found, **options)


def rows_of(protocol: FrontierProtocol, task: Task, folder: Path | None) -> Split:
    return split(protocol, *table(task.data, folder), task.fold)


def record_of(
    protocol: FrontierProtocol,
    task: Task,
    status: str,
    found: dict[str, Any],
    folder: Path | None = None,
    commit: str | None = None,
) -> dict[str, Any]:
    """The record of a task. `commit` is the commit of the running code, if it is known."""
    method, rows = METHODS[task.method], rows_of(protocol, task, folder)
    return {
        "protocol": protocol.name,
        "data": task.data,
        "method": task.method,
        "fold": task.fold,
        "status": status,
        **found,
        "constant_loss": constant_loss(rows),
        "variance": None if rows.n_classes else float(np.var(rows.y_test)),
        "train_rows": len(rows.y),
        "test_rows": len(rows.y_test),
        "features": rows.X.shape[1],
        "classes": rows.n_classes,
        "limit": method.limit,
        "environment": environment(*method.packages, code=commit),
    }
