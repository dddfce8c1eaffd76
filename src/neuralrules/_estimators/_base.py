"""The flow of data from a table to a trained model, and back to predictions."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from neuralrules._data._encoding import Encoder, check_table
from neuralrules._data._rows import Rows
from neuralrules._data._scaling import SCALINGS
from neuralrules._engine import ENGINES, Engine, get_engine
from neuralrules._fitted._activity import measure
from neuralrules._fitted._fitted import Fitted, in_target_units, remembered_rows
from neuralrules._fitted._performance import perform
from neuralrules._network._network import Network
from neuralrules._rules._rules import Rules, select
from neuralrules._rules._sources import SOURCES, SourceOptions
from neuralrules._task._task import Task
from neuralrules._training._training import Outcome, Plan, State, train

# Constraints of the parameters that the CV estimators do without.
DEPTH_CONSTRAINTS: dict[str, list[Any]] = {
    "max_depth": [Interval(Integral, 1, None, closed="left"), None],
    "warm_start": ["boolean"],
}


class NeuralRuleModel(BaseEstimator):
    """What the classifier and the regressor share: everything but their targets."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "rule_source": [StrOptions(set(SOURCES))],
        "n_trees": [Interval(Integral, 1, None, closed="left")],
        "max_rules": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "scaling": [StrOptions(set(SCALINGS))],
        "deep": ["boolean"],
        "l2": [Interval(Real, 0, None, closed="left")],
        "rule_dropout": [Interval(Real, 0, 1, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "schedule": [StrOptions({"constant", "cosine"})],
        "n_epochs": [Interval(Integral, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "engine": [StrOptions(set(ENGINES))],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    warm_start = False  # a parameter of the estimators that can go on training

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Grow trees on a table, turn their leaves into neural rules and train them.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            NumPy array, pandas or polars frame. Columns may hold numbers, booleans,
            strings or categories, with missing values.
        y : array-like of shape (n_rows,) or, for regression, (n_rows, n_targets)
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._validate_params()
            if self.warm_start and hasattr(self, "fitted_"):
                return self._resume(X, y, sample_weight, self.n_epochs, self.schedule)
            return self._fit_from_scratch(X, y, sample_weight, self.n_epochs, self.schedule)

    def _fit_from_scratch(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        n_epochs: int,
        schedule: str,
        classes: Any = None,
    ) -> Any:
        random_state = check_random_state(self.random_state)
        X = self._check_columns(X, reset=True)
        row_weights = self._check_weights(X, y, sample_weight)
        y = self._check_y(y)
        task = self._learn_task(y, row_weights, classes)
        targets = self._encode_targets(task, y)
        weights = self._training_weights(task, targets, row_weights)
        _, validation = self._split(task, targets, weights, random_state)
        own_weights = weights.copy()
        own_weights[validation] = 0

        # 1. Encode the table, brought to a common scale by the training rows.
        encoder = Encoder.fit(
            X, own_weights, named=hasattr(self, "feature_names_in_"), scaling=self.scaling
        )
        rows = Rows(encoder.transform(X), targets, row_weights, weights, task)
        # 2. Grow trees by the margin criterion, and take every leaf as a rule.
        grow = SOURCES[self.rule_source]
        grown, order = grow(
            replace(rows, training_weights=own_weights), self._source_options(random_state)
        )
        # 3. Keep the best rules.
        rules = select(grown, self.max_rules)
        # 4. Turn every rule into a neural rule that starts as its leaf.
        state = State.start(Network.from_rules(rules, deep=self.deep))
        # 5. Train all rules together.
        plan = self._plan(task, len(order), n_epochs, schedule)
        outcome = train(state, rows, order, validation, plan, self._engine(), random_state)
        return self._learn(encoder, rules, outcome, rows)

    def _resume(self, X: Any, y: Any, sample_weight: Any, n_epochs: int, schedule: str) -> Any:
        """Train the present rules further, with the present encoding."""
        random_state = check_random_state(self.random_state)
        fitted, task = self.fitted_, self._resumed_task()
        rows = self._rows(self._check_columns(X, reset=False), y, sample_weight, task)
        training, validation = self._split(
            task, rows.targets, rows.training_weights, random_state
        )
        plan = self._plan(task, len(training), n_epochs, schedule)
        outcome = train(
            fitted.state, rows, training, validation, plan, self._engine(), random_state
        )
        return self._learn(fitted.encoder, fitted.rules, outcome, rows, fitted.notes)

    def _source_options(self, random_state: np.random.RandomState) -> SourceOptions:
        return SourceOptions(
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            n_trees=self.n_trees,
            n_jobs=self.n_jobs,
            random_state=random_state,
        )

    def _plan(self, task: Task, n_rows: int, n_epochs: int, schedule: str) -> Plan:
        return Plan(
            loss=task.loss,
            l2=float(self.l2),
            rule_dropout=float(self.rule_dropout),
            learning_rate=float(self.learning_rate),
            schedule=schedule,
            n_epochs=n_epochs,
            batch_size=self._rows_per_batch(n_rows),
            patience=self.patience if self.early_stopping else None,
            verbose=bool(self.verbose),
        )

    def _learn(
        self,
        encoder: Encoder,
        rules: Rules,
        outcome: Outcome,
        rows: Rows,
        notes: dict[str, list[str]] | None = None,
    ) -> Any:
        """Keep what training came to, and how the model does on rows that will be gone."""
        network = in_target_units(outcome.state.network, rows.task)
        shown, engine = remembered_rows(rows, outcome.n_epochs), self._engine()
        self.fitted_ = Fitted(
            estimator=type(self).__name__,
            encoder=encoder,
            rules=rules,
            task=rows.task,
            state=outcome.state,
            history=outcome.history,
            n_epochs=outcome.n_epochs,
            interrupted=outcome.interrupted,
            activity=measure(network, rules, shown, engine),
            performance=perform(network, shown, engine),
            notes=notes or {},
        )
        if outcome.interrupted:
            warnings.warn(
                f"Training was interrupted after {outcome.n_epochs} whole epochs. "
                f"This {type(self).__name__} is usable: it keeps what it learned so far.",
                stacklevel=4,
            )
        return self

    @property
    def rules_(self) -> Rules:
        return self.fitted_.rules

    @property
    def network_(self) -> Network:
        return self.fitted_.network

    @property
    def encoder_(self) -> Encoder:
        return self.fitted_.encoder

    @property
    def history_(self) -> dict[str, list[float]]:
        return self.fitted_.history

    @property
    def n_iter_(self) -> int:
        return self.fitted_.n_epochs

    @property
    def interrupted_(self) -> bool:
        return self.fitted_.interrupted

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Any:
        with unchanged_on_error(self):
            self._validate_params()
            if self.early_stopping:
                raise ValueError(
                    "partial_fit does not support early_stopping=True: it trains one epoch. "
                    "Set early_stopping=False."
                )
            if hasattr(self, "fitted_"):
                return self._resume(X, y, sample_weight, 1, "constant")
            return self._fit_from_scratch(X, y, sample_weight, 1, "constant", classes)

    def _check_columns(self, X: Any, *, reset: bool) -> Any:
        """A table whose columns are those of the fit (or, with `reset`, become them)."""
        X = check_table(X)
        validate_data(self, X, skip_check_array=True, reset=reset)
        return X

    def _check_weights(self, X: Any, y: Any, sample_weight: Any) -> np.ndarray:
        """The weight of each row, (n_rows,) float32, once X, y and weights fit together."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        check_consistent_length(X, y)
        weights = np.ones(_num_samples(X), np.float32)
        if sample_weight is not None:
            weights = _check_sample_weight(
                sample_weight, X, dtype=np.float32, ensure_non_negative=True, copy=True
            )
            if not weights.any():
                raise ValueError("sample_weight is zero for every row. Give some rows weight.")
        return weights

    def _resumed_task(self) -> Task:
        """The task of further training, for which `loss` may have been changed."""
        return self.fitted_.task

    def _rows(self, X: Any, y: Any, sample_weight: Any, task: Task | None = None) -> Rows:
        """A checked table with targets and weights, encoded as in the fit."""
        weights = self._check_weights(X, y, sample_weight)
        task = self.fitted_.task if task is None else task
        targets = self._encode_targets(task, self._check_y(y))
        training_weights = self._training_weights(task, targets, weights)
        encoded = self.fitted_.encoder.transform(X)
        return Rows(encoded, targets, weights, training_weights, task)

    def _training_weights(
        self, task: Task, targets: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """What each row counts in training, (n_rows,) float32: a class may count more."""
        return weights

    def _weighs_classes(self) -> bool:
        """Whether rows of some classes count more in training."""
        return False

    def _split(
        self,
        task: Task,
        targets: np.ndarray,
        weights: np.ndarray,
        random_state: np.random.RandomState,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows to train and to stop early on, both int32; rows of weight 0 are in neither."""
        rows = np.flatnonzero(weights).astype(np.int32)
        if not self.early_stopping:
            return rows, rows[:0]
        n_validation = int(np.ceil(self.validation_fraction * len(rows)))
        needed = max(task.n_classes, 1)
        splitter, groups = ShuffleSplit, None
        if task.are_classes:
            splitter, groups = StratifiedShuffleSplit, targets[rows, 0]
            smallest = int(np.unique(groups, return_counts=True)[1].min())
            if smallest < 2:
                raise ValueError(
                    "early_stopping=True needs at least 2 rows of each class, one to train and "
                    f"one to validate on; the smallest class has {smallest}. "
                    "Add rows, or set early_stopping=False."
                )
        if n_validation < needed or len(rows) - n_validation < needed:
            raise ValueError(
                f"validation_fraction={self.validation_fraction} of {len(rows)} rows leaves "
                f"{n_validation} rows to validate and {len(rows) - n_validation} to train on, "
                f"but each part needs at least {needed}. "
                "Change validation_fraction, add rows, or set early_stopping=False."
            )
        split = splitter(1, test_size=n_validation, random_state=random_state)
        training, validation = next(split.split(np.empty((len(rows), 0)), groups))
        return np.sort(rows[training]), np.sort(rows[validation])

    def _rows_per_batch(self, n_rows: int) -> int:
        if self.batch_size == "auto":
            return int(min(np.clip(n_rows // 16, 128, 256), n_rows))
        return int(min(self.batch_size, n_rows))

    def _engine(self) -> Engine:
        n_threads = min(effective_n_jobs(self.n_jobs), os.cpu_count() or 1)
        return get_engine(self.engine, n_threads)

    def _decide(self, X: Any) -> np.ndarray:
        """Outputs of the network, (n_rows, n_outputs) float64."""
        check_is_fitted(self)
        return self.fitted_.decide(self._check_columns(X, reset=False), self._engine())

    def _with(self, fitted: Fitted) -> Any:
        """An estimator like this one that has learned something else."""
        other = copy.copy(self)
        other.fitted_ = fitted
        return other

    def _unfitted_twin(self) -> NeuralRuleModel:
        """An estimator that, fitted on the same rows, would become this one."""
        return clone(self).set_params(warm_start=False, verbose=0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = False
        return tags


def fitted_of(model: NeuralRuleModel) -> Fitted:
    """What an estimator has learned, or an error if it was not fitted."""
    check_is_fitted(model)
    return model.fitted_


def checked_table(model: NeuralRuleModel, X: Any) -> Any:
    """A table whose columns are those that a fitted estimator knows."""
    check_is_fitted(model)
    return model._check_columns(X, reset=False)


def encoded_rows(model: NeuralRuleModel, X: Any, y: Any, sample_weight: Any = None) -> Rows:
    """A table with targets and weights as a fitted estimator sees it."""
    return model._rows(checked_table(model, X), y, sample_weight)


def engine_of(model: NeuralRuleModel) -> Engine:
    """What an estimator computes with."""
    return model._engine()


@contextmanager
def unchanged_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Leave an estimator as it was if the block fails: its learned objects are immutable."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
