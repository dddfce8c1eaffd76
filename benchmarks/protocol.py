"""How the paper's errors are measured: the splits, the choice of the parameter, one record.

``paper``
    Five stratified folds. Five more folds inside each training part choose the parameter.
``holdout``
    Repeated stratified hold-outs of 15 % of the rows. The published figures are really such
    hold-outs: each is a whole number of errors over 0.15 N rows.

wilt and madelon come with test rows of their own. Both protocols use these test rows, and
repeat only the fit, with another seed.
"""

from __future__ import annotations

import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit, train_test_split
from threadpoolctl import threadpool_limits

from benchmarks.datasets import TABLES, load
from benchmarks.methods import METHODS, VARIANTS
from benchmarks.pages import environment

MEASURABLE = METHODS | VARIANTS
N_FOLDS = 5
N_INNER_FOLDS = 5
HOLDOUT_SHARE = 0.15
N_HOLDOUTS = 20


@dataclass(frozen=True)
class Protocol:
    """The settings that must be equal for two errors to be comparable.

    Attributes
    ----------
    name : {"paper", "holdout"}
    tune_rows : int
        The most training rows that inner cross-validation uses, as a stratified sample; 0
        means all. The final fit always uses all training rows.
    """

    name: str = "paper"
    tune_rows: int = 5000

    @property
    def label(self) -> str:
        return f"{self.name}-{self.tune_rows or 'all'}"

    @property
    def n_repeats(self) -> int:
        return N_FOLDS if self.name == "paper" else N_HOLDOUTS


@dataclass(frozen=True, order=True)
class Task:
    """The work for one record: a method on one split of a data set."""

    data: str
    method: str
    fold: int

    @property
    def seed(self) -> int:
        """The seed of the tuning sample, the inner folds and every model.

        All methods have the same seed, so that they are compared on the same rows.
        """
        return zlib.crc32(f"{self.data} {self.fold}".encode()) % 2**31

    def __str__(self) -> str:
        return f"{self.data} {self.method} {self.fold}"


def split(protocol: Protocol, task: Task, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows of a task."""
    n_rows, test_rows = len(y), TABLES[task.data].test_rows
    if test_rows:
        return np.arange(n_rows - test_rows), np.arange(n_rows - test_rows, n_rows)
    no_columns = np.empty((n_rows, 0))
    if protocol.name == "paper":
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
        return list(folds.split(no_columns, y))[task.fold]
    holdout = StratifiedShuffleSplit(1, test_size=HOLDOUT_SHARE, random_state=task.fold)
    return next(holdout.split(no_columns, y))


def tuning_errors(
    protocol: Protocol, task: Task, X: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, int]:
    """The number of errors of each candidate over the inner folds, and the number of rows."""
    # A sample must leave a row of each class out, or there is nothing to stratify.
    if 0 < protocol.tune_rows <= len(y) - 2:
        rows, _ = train_test_split(
            np.arange(len(y)),
            train_size=protocol.tune_rows,
            stratify=y,
            random_state=task.seed,
        )
        X, y = X[rows], y[rows]
    method = MEASURABLE[task.method]
    folds = StratifiedKFold(N_INNER_FOLDS, shuffle=True, random_state=task.seed)
    counts = [
        method.errors(task.seed, (X[train], y[train]), (X[test], y[test]))
        for train, test in folds.split(X, y)
    ]
    return np.sum(counts, axis=0), len(y)


def measure(
    protocol: Protocol, task: Task, folder: Path | None = None, commit: str | None = None
) -> dict[str, Any]:
    """The record of a task. `commit` is the commit of the running code, if it is known.

    A task uses one thread, so that parallel tasks hardly disturb each other, and the result
    does not depend on the number of cores.
    """
    X, y = load(task.data, folder)
    train, test = split(protocol, task, y)
    method = MEASURABLE[task.method]
    with threadpool_limits(1):
        start = time.perf_counter()
        counts, n_tuned = tuning_errors(protocol, task, X[train], y[train])
        chosen = method.candidates[int(np.argmin(counts))]
        tuned = time.perf_counter()
        model = method.fit(chosen, task.seed, X[train], y[train])
        fitted = time.perf_counter()
        wrong = int(np.sum(model.predict(X[test]) != y[test]))
        predicted = time.perf_counter()
    return {
        "protocol": protocol.name,
        "data": task.data,
        "method": task.method,
        "fold": task.fold,
        "error": round(100 * wrong / len(test), 4),
        "wrong": wrong,
        "test_rows": len(test),
        "train_rows": len(train),
        "tune_rows": n_tuned,
        "parameter": chosen,
        "tune_wrong": [int(count) for count in counts],
        "tune_seconds": round(tuned - start, 3),
        "fit_seconds": round(fitted - tuned, 3),
        "predict_seconds": round(predicted - fitted, 4),
        "size": method.size(model),
        "seed": task.seed,
        "environment": environment(code=commit),
    }
