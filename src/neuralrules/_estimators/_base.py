"""The flow of data from a table to a trained model, and back to predictions."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from neuralrules._data._encoder import Encoder, warn_of_rare
from neuralrules._data._markers import marker_texts
from neuralrules._data._restrictions import Restrictions
from neuralrules._data._rows import Rows
from neuralrules._data._scaling import SCALINGS
from neuralrules._data._table import check_table
from neuralrules._engine import DEVICES, ENGINES, Engine
from neuralrules._estimators._building import EXPERT, ONE_EPOCH, Course, RuleBuilder
from neuralrules._estimators._from_files import fit_from_files
from neuralrules._fitted._activity import measure
from neuralrules._fitted._fitted import Fitted, in_target_units, remembered_rows
from neuralrules._fitted._lineage import GROWN, IN_PARTS, REFITTED, TRAINED, counted
from neuralrules._fitted._performance import perform
from neuralrules._network._columns import LITERAL_COLUMNS
from neuralrules._network._network import STARTS, Network
from neuralrules._network._restricted import restricted
from neuralrules._rules._rules import Rules
from neuralrules._rules._sources import SOURCES
from neuralrules._stream._parquet import is_files
from neuralrules._task._task import Task
from neuralrules._training._gain import Comparison, beside_a_constant, deciding_rows
from neuralrules._training._sparse import within_terms
from neuralrules._training._split import held_out
from neuralrules._training._training import Outcome, State, train

# Constraints of the parameters that the CV estimators do without.
DEPTH_CONSTRAINTS: dict[str, list[Any]] = {
    "max_depth": [Interval(Integral, 1, None, closed="left"), None],
    "warm_start": ["boolean"],
    "n_sample_rows": [Interval(Integral, 100, None, closed="left")],
    "checkpoint": [str, os.PathLike, None],
}


# With early_stopping="auto", tables with fewer rows cannot spare any: a fifth of them says
# less of when to stop than they lose by it.
STOPPING_ROWS = 200
# With fewer rows for each rule, the first call of `partial_fit` grows rules that rather fit
# these rows than the ones to come: the rule of thumb of ten observations for each parameter.
ROWS_PER_RULE = 10


class NeuralRuleModel(RuleBuilder):
    """What the classifier and the regressor share: everything but their targets."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "rule_source": [StrOptions({*SOURCES, EXPERT})],
        "expert_rules": [list, tuple, None],
        "frozen_rules": [StrOptions({EXPERT}), None],
        "n_trees": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "tree_rate": [Interval(Real, 0, None, closed="neither")],
        "max_rules": [Interval(Integral, 1, None, closed="left"), None],
        "max_literals": [Interval(Integral, 1, None, closed="left"), None],
        "max_terms": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "literal_columns": [StrOptions(set(LITERAL_COLUMNS))],
        "monotone": [dict, None],
        "interactions": ["array-like", None],
        "exclude": ["array-like", None],
        "start": [StrOptions(set(STARTS))],
        "fit_intercept": ["boolean"],
        "scaling": [StrOptions(set(SCALINGS))],
        "missing": [Real, str, list, tuple, np.ndarray, None],
        "deep": ["boolean"],
        "l2": [Interval(Real, 0, None, closed="left")],
        "rule_dropout": [Interval(Real, 0, 1, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "schedule": [StrOptions({"constant", "cosine"})],
        "n_epochs": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "batch_size": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto", "paper"}),
        ],
        "early_stopping": ["boolean", StrOptions({"auto"})],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "engine": [StrOptions(set(ENGINES))],
        "device": [StrOptions(set(DEVICES))],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    # Parameters of the estimators that can go on training, and fit on files.
    warm_start = False
    n_sample_rows = 1_000_000
    checkpoint: str | os.PathLike[str] | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow trees on a table, turn their leaves into neural rules and train them.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns), or files
            NumPy array, pandas or polars frame. Columns may hold numbers, booleans, strings
            or categories, with missing values. A Parquet file or a folder of them, by its
            name, or a pyarrow dataset, is read piece by piece: it may exceed memory.
        y : array-like of shape (n_rows,) or, for regression, (n_rows, n_targets)
            Of files the name of a column, or a list of names.
        sample_weight : array-like of shape (n_rows,), optional
            Of files the name of a column.

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from neuralrules import NeuralRuleClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> NeuralRuleClassifier(n_epochs=5, random_state=0).fit(X, y).network_.n_outputs
        3
        """
        with unchanged_on_error(self):
            self._validate_params()
            if is_files(X):
                return fit_from_files(self, X, y, sample_weight, self._course())
            if self.warm_start and hasattr(self, "fitted_"):
                return self._resume(X, y, sample_weight, self._course(), TRAINED)
            return self._fit_from_scratch(X, y, sample_weight, self._course())

    def _validate_params(self) -> None:
        super()._validate_params()
        marker_texts(self.missing)  # refuses what is neither a number nor a text

    def _course(self) -> Course:
        return Course(self.n_epochs, self.schedule, self.early_stopping)

    def _fit_from_scratch(
        self, X: Any, y: Any, sample_weight: Any, course: Course, classes: Any = None
    ) -> Any:
        random_state = check_random_state(self.random_state)
        X = self._check_columns(X, reset=True)
        row_weights = self._check_weights(X, y, sample_weight)
        y = self._check_y(y)
        task = self._learn_task(y, row_weights, classes)
        targets = self._encode_targets(task, y)
        weights = self._training_weights(task, targets, row_weights)
        training, validation = self._split(task, targets, weights, random_state, course)
        own_weights = weights.copy()
        own_weights[validation] = 0

        # 1. Encode the table and the targets, brought to a common scale by the training rows.
        task, targets = self._rescaled(task, targets, y, own_weights)
        encoder = Encoder.fit(
            X,
            own_weights,
            named=hasattr(self, "feature_names_in_"),
            scaling=self.scaling,
            missing=marker_texts(self.missing),
        )
        warn_of_rare(encoder)
        rows = Rows(encoder.transform(X), targets, row_weights, weights, task)
        rules, outcome = self._build(rows, validation, random_state, course, encoder)
        if course is ONE_EPOCH:
            warn_of_few_rows(rules, len(training))
        else:
            self._check_gain(outcome, rows, training, validation)
        return self._learn(encoder, rules, outcome, rows)

    def _check_gain(
        self, outcome: Outcome, rows: Rows, training: np.ndarray, validation: np.ndarray
    ) -> None:
        """Warn of a training that came to less than a constant."""
        if outcome.interrupted or not outcome.n_epochs:
            return  # which is known, or asked for
        network, engine = outcome.state.network, self._engine()
        measured = validation if validation.size else training
        compared = beside_a_constant(network, rows, training, measured, engine)
        if compared.is_worse:
            where = "rows held out to stop on" if validation.size else "training rows"
            self._warn_of_no_gain(compared, f"{len(measured)} {where}")
        else:
            self._warn_of_few_counts(rows)

    def _warn_of_few_counts(self, rows: Rows) -> None:
        """Warn if a few rows with large counts decide what the model learns."""
        n_deciding = deciding_rows(rows)
        if n_deciding is not None:
            warnings.warn(
                f"About {n_deciding:.0f} of {np.count_nonzero(rows.weights)} rows decide the "
                f"loss {self.loss!r}, because their y is far larger than that of the other "
                f"rows. On new rows, this {type(self).__name__} may predict worse than a "
                "constant. Check the largest numbers of y, limit them (np.minimum), or add "
                "rows. Then compare the model with a constant on rows that it has not seen.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _warn_of_no_gain(self, compared: Comparison, where: str) -> None:
        warnings.warn(
            f"This {type(self).__name__} predicts worse than a constant: on the {where} its "
            f"mean loss is {compared.loss:.4g}, that of the best constant "
            f"{compared.constant:.4g}. Check that the columns of X say something about y; if "
            f"they do, train longer (n_epochs={self.n_epochs}), by other steps "
            f"(learning_rate={self.learning_rate}) or with less shrinkage (l2={self.l2}).",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _resume(self, X: Any, y: Any, sample_weight: Any, course: Course, what: str) -> Any:
        """Train the present rules further, with the present encoding.

        `what` is how the model remembers it.
        """
        random_state = check_random_state(self.random_state)
        fitted, task = self.fitted_, self._resumed_task()
        if self.missing is not None and marker_texts(self.missing) != fitted.encoder.missing:
            raise ValueError(
                f"missing={self.missing!r} is not what the model was fitted with, "
                f"{list(fitted.encoder.missing)}, and further training keeps the encoding of "
                "the table. Set missing as it was, or fit anew with warm_start=False."
            )
        rows = self._rows(self._check_columns(X, reset=False), y, sample_weight, task)
        training, validation = self._split(
            task, rows.targets, rows.training_weights, random_state, course
        )
        plan = self._plan(task, len(training), course)
        restrictions = self._restrictions(fitted.encoder, task)
        state = resumed(fitted.state, restrictions, fitted.rules.frozen)
        state = within_terms(state, self.max_terms)
        outcome = train(
            state,
            rows,
            training,
            validation,
            plan,
            self._engine(),
            random_state,
            self._constraints(state.network, fitted.rules, restrictions, trained=True),
        )
        if course is not ONE_EPOCH:
            self._check_gain(outcome, rows, training, validation)
        encoder = fitted.encoder.covering(rows.X)
        return self._learn(encoder, fitted.rules, outcome, rows, fitted, what)

    def _learn(
        self,
        encoder: Encoder,
        rules: Rules,
        outcome: Outcome,
        rows: Rows,
        before: Fitted | None = None,
        what: str = GROWN,
    ) -> Any:
        """Keep what training came to, and how the model does on rows that will be gone.

        With what is to be remembered of the model `before`, and of `what` was done.
        """
        network = in_target_units(outcome.state.network, rows.task)
        shown, engine = remembered_rows(rows, outcome.n_epochs), self._engine()
        learned = Fitted(
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
            notes={} if before is None else before.notes,
            lineage=() if before is None else before.lineage,
        )
        told = f"{learned.size_text}, {self._training_text(outcome)}"
        self.fitted_ = learned.after(what, told, int(np.count_nonzero(rows.weights)))
        if outcome.interrupted:
            warnings.warn(
                f"Training was interrupted after {outcome.n_epochs} whole epochs. "
                f"This {type(self).__name__} is usable: it keeps what it learned so far.",
                stacklevel=4,
            )
        return self

    def _training_text(self, outcome: Outcome) -> str:
        """How long a model was trained, in words; a search adds what it compared."""
        epochs = counted(outcome.n_epochs, "epoch") + outcome.where
        return f"interrupted after {epochs}" if outcome.interrupted else epochs

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
            if self.early_stopping is True:
                raise ValueError(
                    "partial_fit does not support early_stopping=True: it trains one epoch. "
                    'Set early_stopping=False or "auto".'
                )
            if hasattr(self, "fitted_"):
                return self._resume(X, y, sample_weight, ONE_EPOCH, IN_PARTS)
            return self._fit_from_scratch(X, y, sample_weight, ONE_EPOCH, classes)

    def _refit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        check_is_fitted(self)
        with unchanged_on_error(self):
            self._validate_params()
            return self._resume(X, y, sample_weight, self._course(), REFITTED)

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
            with np.errstate(over="ignore"):  # what is too large for float32 is refused
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

    def _rescaled(
        self, task: Task, targets: np.ndarray, y: np.ndarray, weights: np.ndarray
    ) -> tuple[Task, np.ndarray]:
        """A task and its targets, standardised by the rows that have weight."""
        return task, targets

    def _training_weights(
        self, task: Task, targets: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """What each row counts in training, (n_rows,) float32: a class may count more."""
        return weights

    def _class_factors(self, task: Task, n_rows: np.ndarray) -> np.ndarray | None:
        """What a row of each class counts in training, if some count more."""
        return None

    def _weighs_classes(self) -> bool:
        """Whether rows of some classes count more in training."""
        return False

    def _split(
        self,
        task: Task,
        targets: np.ndarray,
        weights: np.ndarray,
        random_state: np.random.RandomState,
        course: Course,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows to train and to stop early on, both int32; rows of weight 0 are in neither."""
        rows = np.flatnonzero(weights).astype(np.int32)
        if not self._stops(course, len(rows)):
            return rows, rows[:0]
        groups = targets[rows, 0] if task.are_classes else np.zeros(len(rows))
        held = held_out(groups, self.validation_fraction, random_state)
        if not held.any() or held.all():
            if course.early_stopping == "auto":
                return rows, rows[:0]
            raise ValueError(
                f"validation_fraction={self.validation_fraction} of {len(rows)} rows leaves "
                f"{held.sum()} to validate and {len(rows) - held.sum()} to train on, since one "
                "row of each class stays in training. "
                "Change validation_fraction, add rows, or set early_stopping=False."
            )
        return rows[~held], rows[held]

    def _stops(self, course: Course, n_rows: int) -> bool:
        """Whether training on a table of so many rows stops early."""
        if course.early_stopping == "auto":
            return n_rows >= STOPPING_ROWS
        return bool(course.early_stopping)

    def _decide(self, X: Any) -> np.ndarray:
        """Outputs of the network, (n_rows, n_outputs) float64."""
        check_is_fitted(self)
        return self.fitted_.decide(self._check_columns(X, reset=False), self._engine())

    def _with(self, fitted: Fitted) -> Any:
        """An estimator like this one that has learned something else."""
        other = copy.copy(self)
        other.fitted_ = fitted
        return other

    def _chosen(self) -> NeuralRuleModel:
        """An estimator with the parameters that the present rules were trained with."""
        return self

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


def table_or_row(model: NeuralRuleModel, X: Any) -> Any:
    """A checked table. A single row may also be a dict, a Series or a list."""
    return checked_table(model, fitted_of(model).encoder.as_table(X))


def encoded_rows(model: NeuralRuleModel, X: Any, y: Any, sample_weight: Any = None) -> Rows:
    """A table with targets and weights as a fitted estimator sees it."""
    return model._rows(checked_table(model, X), y, sample_weight)


def measured_rows(model: NeuralRuleModel, X: Any, y: Any, sample_weight: Any) -> Rows | None:
    """The rows that a user gave to measure on, encoded; None if there are none."""
    check_is_fitted(model)
    if (X is None) != (y is None):
        raise ValueError("X and y belong together: give both to measure on, or neither.")
    if X is None and sample_weight is not None:
        raise ValueError(
            "sample_weight was given without X and y: there are no rows to weight. Give all "
            "three, or no sample_weight."
        )
    return None if X is None else encoded_rows(model, X, y, sample_weight)


def engine_of(model: NeuralRuleModel) -> Engine:
    """What an estimator computes with."""
    return model._engine()


def resumed(
    state: State, restrictions: Restrictions | None, frozen: np.ndarray | None
) -> State:
    """Where training goes on: if restrictions are new to the network, it starts from there."""
    network = restricted(state.network, restrictions, frozen)
    return state if network is state.network else State.start(network)


def warn_of_few_rows(rules: Rules, n_rows: int) -> None:
    """Warn of rules that were grown from the first rows of many, and from too few of them."""
    if n_rows < ROWS_PER_RULE * rules.n_rules:
        warnings.warn(
            f"The first call of partial_fit grew all {rules.n_rules} rules from its {n_rows} "
            "rows; further calls train them but grow none. Begin with more rows, at least "
            f"{ROWS_PER_RULE} for each rule, or fewer rules (n_trees, max_depth, max_rules).",
            stacklevel=5,
        )


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
