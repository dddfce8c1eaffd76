"""The flow of data from a table to a trained model, and back to predictions."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
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
from neuralrules._engine import Engine, Examples, get_engine
from neuralrules._fitted._activity import measure
from neuralrules._fitted._performance import perform
from neuralrules._network._network import Network
from neuralrules._rules._rules import decompose, select
from neuralrules._rules._trees import grow
from neuralrules._task._losses import loss_code
from neuralrules._task._targets import Targets
from neuralrules._training._training import Outcome, Plan, State, train

# Measuring a model on all its rows costs as much as some epochs.
READ_ROWS_PER_EPOCH = 2_000
# Constraints of the parameters that the CV estimators do without.
DEPTH_CONSTRAINTS: dict[str, list[Any]] = {
    "max_depth": [Interval(Integral, 1, None, closed="left"), None],
    "warm_start": ["boolean"],
}


class NeuralRuleModel(BaseEstimator):
    """What the classifier and the regressor share: everything but their targets."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "rule_source": [StrOptions({"tree", "forest", "boosting"})],
        "n_trees": [Interval(Integral, 1, None, closed="left")],
        "max_rules": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
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
        "engine": [StrOptions({"numba", "numpy"})],
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
            if self.warm_start and hasattr(self, "network_"):
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
        targets, row_weights = self._check_targets(X, y, sample_weight, classes)
        weights = self._training_weights(targets, row_weights)
        training, validation = self._split(targets, weights, random_state)

        own_weights = weights.copy()
        own_weights[validation] = 0

        # 1. Encode the table, standardised on the training rows.
        encoder = Encoder.fit(X, own_weights)
        encoded = encoder.transform(X)
        # 2. Grow trees by the margin criterion.
        trees, leaves = grow(
            encoded,
            targets,
            own_weights,
            source=self.rule_source,
            n_trees=self.n_trees,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            n_jobs=self.n_jobs,
            random_state=random_state,
        )
        # 3. Take every leaf as a rule.
        rules = select(decompose(trees, n_classes=targets.n_classes), self.max_rules)
        # 4. Turn every rule into a neural rule that starts as its leaf.
        state = State.start(Network.from_rules(rules, deep=self.deep))
        # 5. Train all rules together.
        order = training[np.argsort(leaves[training], kind="stable")]
        examples = Examples(encoded, targets.array, weights, targets.are_classes)
        plan = self._plan(targets, len(order), n_epochs, schedule)
        outcome = train(state, examples, order, validation, plan, self._engine(), random_state)

        self.encoder_ = encoder
        self.rules_ = rules
        return self._learn(outcome, encoded, targets, row_weights)

    def _resume(self, X: Any, y: Any, sample_weight: Any, n_epochs: int, schedule: str) -> Any:
        """Train the present rules further, with the present encoding."""
        random_state = check_random_state(self.random_state)
        X = self._check_columns(X, reset=False)
        targets, row_weights = self._check_targets(X, y, sample_weight, known=True)
        weights = self._training_weights(targets, row_weights)
        training, validation = self._split(targets, weights, random_state)
        encoded = self.encoder_.transform(X)
        examples = Examples(encoded, targets.array, weights, targets.are_classes)
        plan = self._plan(targets, len(training), n_epochs, schedule)
        outcome = train(
            self._state, examples, training, validation, plan, self._engine(), random_state
        )
        return self._learn(outcome, encoded, targets, row_weights)

    def _plan(self, targets: Targets, n_rows: int, n_epochs: int, schedule: str) -> Plan:
        return Plan(
            loss=loss_code(self.loss, multiclass=targets.n_classes > 2),
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
        self, outcome: Outcome, encoded: np.ndarray, targets: Targets, weights: np.ndarray
    ) -> Any:
        self._state = outcome.state
        self._target_mean, self._target_scale = targets.mean, targets.scale
        self.network_ = outcome.state.network.in_target_units(targets.mean, targets.scale)
        self.history_ = outcome.history
        self.n_iter_ = outcome.n_epochs
        self.interrupted_ = outcome.interrupted
        rows, weights = read_rows(weights, outcome.n_epochs)
        self._remember(encoded[rows], targets.take(rows), weights)
        if outcome.interrupted:
            warnings.warn(
                f"Training was interrupted after {outcome.n_epochs} whole epochs. "
                f"This {type(self).__name__} is usable: it keeps what it learned so far.",
                stacklevel=4,
            )
        return self

    def _remember(self, encoded: np.ndarray, targets: Targets, weights: np.ndarray) -> None:
        """Measure the model on rows that will be gone when people ask about them."""
        self._activity = measure(
            self.network_, self.rules_, encoded, targets, weights, self._engine()
        )
        self._performance = perform(self, encoded, targets, weights)

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Any:
        with unchanged_on_error(self):
            self._validate_params()
            if self.early_stopping:
                raise ValueError(
                    "partial_fit does not support early_stopping=True: it trains one epoch. "
                    "Set early_stopping=False."
                )
            if hasattr(self, "network_"):
                return self._resume(X, y, sample_weight, 1, "constant")
            return self._fit_from_scratch(X, y, sample_weight, 1, "constant", classes)

    def _check_columns(self, X: Any, *, reset: bool) -> Any:
        """A table whose columns are those of the fit (or, with `reset`, become them)."""
        X = check_table(X)
        validate_data(self, X, skip_check_array=True, reset=reset)
        return X

    def _check_targets(
        self, X: Any, y: Any, sample_weight: Any, classes: Any = None, *, known: bool = False
    ) -> tuple[Targets, np.ndarray]:
        """Encoded targets and the weight of each row, (n_rows,) float32."""
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
        return self._encode_targets(y, weights, classes, known=known), weights

    def _training_weights(self, targets: Targets, weights: np.ndarray) -> np.ndarray:
        """What each row counts in training, (n_rows,) float32: a class may count more."""
        return weights

    def _split(
        self, targets: Targets, weights: np.ndarray, random_state: np.random.RandomState
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows to train and to stop early on, both int32; rows of weight 0 are in neither."""
        rows = np.flatnonzero(weights).astype(np.int32)
        if not self.early_stopping:
            return rows, rows[:0]
        n_validation = int(np.ceil(self.validation_fraction * len(rows)))
        needed = max(targets.n_classes, 1)
        splitter, groups = ShuffleSplit, None
        if targets.are_classes:
            splitter, groups = StratifiedShuffleSplit, targets.array[rows, 0]
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
        X = self._check_columns(X, reset=False)
        engine = self._engine()
        outputs = np.empty((X.shape[0], self.network_.n_outputs))
        for start, stop, encoded in self.encoder_.chunks(X):
            outputs[start:stop] = engine.decide(self.network_, encoded)
        return outputs + self.network_.intercept

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


def read_rows(weights: np.ndarray, n_epochs: int) -> tuple[np.ndarray | slice, np.ndarray]:
    """Training rows to measure a new model on, and their weights (n_rows,) float32.

    All of them, unless that would take long compared with the training; then an even
    sample, weighted to stand for all.
    """
    counted = np.flatnonzero(weights)
    n_rows = min(len(counted), READ_ROWS_PER_EPOCH * max(n_epochs, 1))
    if n_rows == len(weights):
        return slice(None), weights
    rows = counted[np.linspace(0, len(counted) - 1, n_rows).astype(int)]
    share = weights[rows].sum(dtype=np.float64) / weights.sum(dtype=np.float64)
    return rows, (weights[rows] / share).astype(np.float32)


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
