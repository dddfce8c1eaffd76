"""The settings of a fit: the parameters of an estimator, and the meaning of "auto"."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs

from neuralrules._data._encoder import Encoder
from neuralrules._data._markers import marker_texts
from neuralrules._data._restrictions import Restrictions, restrictions_of
from neuralrules._data._rows import Rows
from neuralrules._engine import Engine, get_engine
from neuralrules._network._constraints import Constraints
from neuralrules._network._network import Network
from neuralrules._rules._rules import Rules
from neuralrules._rules._sources import SourceOptions
from neuralrules._task._task import Task
from neuralrules._training._training import Plan

EXPERT = "expert"  # rules that people write
# With n_trees="auto", boosting grows TREES trees for a single output, or TREES_EACH trees for
# each of several outputs. A larger table supports more rules: above ROWS_OF_FEWEST_TREES rows,
# the number of trees grows in proportion to the rows, up to MOST_TIMES_TREES times as many.
# docs/speed.md has measurements of time and loss for large tables.
TREES, TREES_EACH = 32, 16
ROWS_OF_FEWEST_TREES, MOST_TIMES_TREES = 25_000, 4
# With min_samples_leaf="auto" a leaf has at least a fiftieth of the rows, within these bounds.
FEWEST_IN_LEAF, MOST_IN_LEAF = 5, 20
# With n_epochs="auto", all epochs together visit about ROW_VISITS rows, within these bounds.
# Tables of up to 100,000 rows, a fifth of them held out, get MOST_EPOCHS. On a million
# generated rows with 20 columns, 30 epochs reach the same loss as up to 300 epochs, or a lower
# one. Early stopping used 94 or more of the 300 epochs. docs/speed.md has the numbers.
ROW_VISITS = 24_000_000
FEWEST_EPOCHS, MOST_EPOCHS = 3, 300
# With batch_size="auto" a batch has a sixteenth of the rows, within these bounds.
BATCH_BOUNDS = (32, 256)
# With early_stopping="auto", a table with fewer rows holds no rows out: training without a
# fifth of the rows would lose more than early stopping gains.
STOPPING_ROWS = 200


@dataclass(frozen=True, eq=False)
class Settings:
    """How to fit. Attributes not listed here are the estimators' parameters of the same name.

    Attributes
    ----------
    estimator : str
        The name of the class that is fitted, for messages and files.
    predicts_classes : bool
    stop_after : int or None
        Training ends after this many epochs, although the schedule is made for `n_epochs`.
    in_parts : bool
        Whether this is a call of `partial_fit`, so that more rows may follow.
    """

    estimator: str
    predicts_classes: bool
    loss: str
    rule_source: str
    expert_rules: Any
    n_trees: int | str
    tree_rate: float
    max_depth: int | None
    max_rules: int | None
    max_terms: int | None
    min_samples_leaf: int | str
    literal_columns: str
    monotone: Any
    interactions: Any
    exclude: Any
    start: str
    fit_intercept: bool
    scaling: str
    missing: tuple[str, ...]
    deep: bool
    l2: float
    rule_dropout: float
    learning_rate: float
    schedule: str
    n_epochs: int | str
    batch_size: int | tuple[int, int] | str
    early_stopping: bool | str
    validation_fraction: float
    patience: int
    engine: str
    device: str
    n_jobs: int | None
    random_state: Any
    verbose: int
    class_weight: Any = None
    n_sample_rows: int = 1_000_000
    checkpoint: str | os.PathLike[str] | None = None
    stop_after: int | None = None
    in_parts: bool = False

    @classmethod
    def of(
        cls, estimator: str, parameters: Mapping[str, Any], *, predicts_classes: bool
    ) -> Self:
        """The settings that the parameters of an estimator give."""
        known = {field.name for field in fields(cls)} & parameters.keys()
        told = {name: parameters[name] for name in known}
        told["missing"] = marker_texts(told["missing"])
        return cls(estimator=estimator, predicts_classes=predicts_classes, **told)

    def of_one_part(self) -> Self:
        """The settings of one call of `partial_fit`: a single epoch at a constant rate."""
        return replace(
            self, n_epochs=1, schedule="constant", early_stopping=False, in_parts=True
        )

    def stops_early(self, n_rows: int) -> bool:
        """Whether training on a table of this many rows stops early."""
        if self.early_stopping == "auto":
            return n_rows >= STOPPING_ROWS
        return bool(self.early_stopping)

    def source_options(
        self,
        rows: Rows,
        random_state: np.random.RandomState,
        restrictions: Restrictions | None,
    ) -> SourceOptions:
        """The options for growing rules; rows without training weight are not counted."""
        n_rows = int(np.count_nonzero(rows.training_weights))
        n_trees, in_leaf = self.n_trees, self.min_samples_leaf
        if isinstance(n_trees, str):
            n_trees = trees(n_rows, rows.task.n_outputs)
        if isinstance(in_leaf, str):
            in_leaf = int(np.clip(n_rows // 50, FEWEST_IN_LEAF, MOST_IN_LEAF))
        return SourceOptions(
            max_depth=self.max_depth,
            min_samples_leaf=in_leaf,
            n_trees=n_trees,
            tree_rate=float(self.tree_rate),
            n_jobs=self.n_jobs,
            random_state=random_state,
            restrictions=restrictions,
        )

    def restrictions(self, encoder: Encoder, task: Task) -> Restrictions | None:
        """The restrictions of rules on some columns; None if there are no restrictions."""
        asked = {name: getattr(self, name) for name in ("monotone", "interactions", "exclude")}
        return restrictions_of(encoder, task, **asked)

    def constraints(
        self,
        network: Network,
        rules: Rules,
        restrictions: Restrictions | None,
        *,
        trained: bool = False,
    ) -> Constraints | None:
        """What training may not change: frozen rules, and the columns of literals.

        The literals of a network that was `trained` within `max_terms` keep their columns.
        """
        keep_columns = self.literal_columns == "own" or (trained and self.max_terms is not None)
        if not keep_columns and rules.frozen is None and restrictions is None:
            return None
        limits = Constraints.keep_columns if keep_columns else Constraints.free
        return limits(network).within(network, restrictions).freezing(network, rules.frozen)

    def plan(self, task: Task, n_rows: int) -> Plan:
        """The plan for training on this many rows."""
        n_epochs = epochs(self.n_epochs, n_rows)
        return Plan(
            loss=task.loss,
            fit_intercept=self.fit_intercept,
            l2=float(self.l2),
            rule_dropout=float(self.rule_dropout),
            learning_rate=float(self.learning_rate),
            schedule=self.schedule,
            n_epochs=n_epochs,
            stop_after=None if self.stop_after is None else min(self.stop_after, n_epochs),
            batch_size=rows_per_batch(self.batch_size, n_rows),
            patience=self.patience,
            verbose=bool(self.verbose),
        )

    def new_engine(self) -> Engine:
        """The engine that computes outputs of networks and steps of training."""
        return get_engine(self.engine, n_threads(self.n_jobs), self.device)


def trees(n_rows: int, n_outputs: int) -> int:
    """The number of trees for n_trees="auto"; for several outputs, the number for each."""
    times = np.clip(n_rows / ROWS_OF_FEWEST_TREES, 1, MOST_TIMES_TREES)
    return int(times * (TREES if n_outputs == 1 else TREES_EACH))


def epochs(n_epochs: int | str, n_rows: int) -> int:
    """The number of epochs on this many rows. With "auto", large tables get fewer epochs."""
    if isinstance(n_epochs, str):
        return int(np.clip(ROW_VISITS // max(n_rows, 1), FEWEST_EPOCHS, MOST_EPOCHS))
    return n_epochs


def rows_per_batch(batch_size: int | tuple[int, int] | str, n_rows: int) -> int:
    """The number of rows in a mini-batch of a table of this many rows."""
    if isinstance(batch_size, str):
        batch_size = BATCH_BOUNDS
    if not isinstance(batch_size, tuple | list):
        return int(min(batch_size, n_rows))
    low, high = batch_size
    return int(min(np.clip(n_rows // 16, low, high), n_rows))


def check_batch_size(batch_size: Any) -> None:
    """Refuse a pair (low, high) unless both are whole numbers with 1 <= low <= high."""
    if not isinstance(batch_size, tuple | list):
        return
    whole = [isinstance(one, Integral) and not isinstance(one, bool) for one in batch_size]
    if not all(whole) or len(whole) != 2 or not 1 <= batch_size[0] <= batch_size[1]:
        raise ValueError(
            f"batch_size={batch_size!r} must be a whole number of at least 1, a pair (low, "
            'high) of such numbers with low <= high, or "auto". For example (32, 256).'
        )


def n_threads(n_jobs: int | None) -> int:
    """The number of threads that `n_jobs` asks for; a number below -1 leaves some cores out."""
    return min(effective_n_jobs(n_jobs), os.cpu_count() or 1)
