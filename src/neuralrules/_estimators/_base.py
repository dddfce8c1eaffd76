"""The flow of data from a table to a trained model, and back to predictions."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from neuralrules._data._encoder import Encoder
from neuralrules._data._markers import marker_texts
from neuralrules._data._rows import Rows
from neuralrules._data._table import check_table
from neuralrules._engine import Engine, get_engine
from neuralrules._estimators._candidates import PAPER
from neuralrules._estimators._parameters import (
    OneModelParameters,
    RuleParameters,
    RunParameters,
)
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._lineage import IN_PARTS, REFITTED, TRAINED
from neuralrules._fitting._fit import fit, train_further
from neuralrules._fitting._settings import Settings, check_batch_size, n_threads
from neuralrules._fitting._table import TableSource
from neuralrules._fitting._targets import (
    check_weights,
    check_y,
    further_task,
    rows_with_targets,
)
from neuralrules._network._network import NetworkInUnits
from neuralrules._rules._rules import Rules
from neuralrules._stream._parquet import is_files
from neuralrules._stream._source import fit_files
from neuralrules._task._task import Task

Model = TypeVar("Model", bound="NeuralRuleModel")

if TYPE_CHECKING:
    # scikit-learn has no types. A type checker takes a class with an untyped base for one that
    # may have any parameter, and would not report a misspelled parameter of an estimator.
    class BaseEstimator:
        """See `sklearn.base.BaseEstimator`."""

        _parameter_constraints: ClassVar[dict[str, list[Any]]]
        n_features_in_: int
        feature_names_in_: np.ndarray

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def set_fit_request(self, **requests: Any) -> Self: ...
        def _validate_params(self) -> None: ...
        def __sklearn_tags__(self) -> Any: ...
        def __getattr__(self, name: str) -> Any: ...

    class ClassifierMixin:
        """See `sklearn.base.ClassifierMixin`."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class RegressorMixin(ClassifierMixin):
        """See `sklearn.base.RegressorMixin`."""

else:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

__all__ = ["BaseEstimator", "ClassifierMixin", "NeuralRuleModel", "RegressorMixin"]


class NeuralRuleModel(BaseEstimator, RunParameters, RuleParameters):
    """What the classifier and the regressor share: everything except their targets."""

    fitted_: Fitted

    def _validate_params(self) -> None:
        super()._validate_params()
        marker_texts(self.missing)  # refuses all but numbers and texts
        check_batch_size(self.batch_size)

    def _source(
        self, X: Any, y: Any, sample_weight: Any, settings: Settings, classes: Any = None
    ) -> TableSource:
        """Check a table in memory, and make it a source of rows."""
        X = self._check_columns(X, reset=True)
        weights = check_weights(X, y, sample_weight, settings.estimator)
        y = check_y(y, settings)
        return TableSource(X, y, weights, hasattr(self, "feature_names_in_"), classes)

    @property
    def rules_(self) -> Rules:
        return self.fitted_.rules

    @property
    def network_(self) -> NetworkInUnits:
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

    def _check_columns(self, X: Any, *, reset: bool) -> Any:
        """Check a table. It must have the columns of the fit; with `reset` it defines them."""
        X = check_table(X)
        validate_data(self, X, skip_check_array=True, reset=reset)
        return X

    def _decide(self, X: Any) -> np.ndarray:
        """Outputs of the network, (n_rows, n_outputs) float64."""
        return fitted_of(self).decide(checked_table(self, X), engine_of(self))

    def _with(self, fitted: Fitted) -> Self:
        """A copy of this estimator with another fitted model."""
        return give(copy.copy(self), fitted)

    def _chosen(self) -> NeuralRuleModel:
        """An estimator with the parameters that the present rules were trained with."""
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = False
        return tags


class OneModel(NeuralRuleModel, OneModelParameters):
    """What the estimators share that train one model and do not search."""

    @classmethod
    def paper(cls, max_depth: int | None = 6, **parameters: Any) -> Self:
        """The paper's method: the leaves of one tree, trained on all rows.

        Every literal may lean on every column of the tree, outputs start at zero, and nothing
        stops early.

        Parameters
        ----------
        max_depth : int or None, default=6
        parameters
            Values for parameters that should differ from the paper's.

        Examples
        --------
        >>> from neuralrules import NeuralRuleClassifier
        >>> model = NeuralRuleClassifier.paper(max_depth=4)
        >>> model.rule_source, model.literal_columns
        ('tree', 'tree')
        """
        return cls(**{"max_depth": max_depth, **PAPER, **parameters})

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow trees on a table, turn their leaves into neural rules and train them.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns), or files
            NumPy array, pandas or polars frame. Columns may hold numbers, booleans, strings
            or categories, with missing values. Files are the path of a Parquet file or of a
            folder of Parquet files, or a pyarrow dataset. They are read piece by piece, so
            they may be larger than memory.
        y : array-like of shape (n_rows,) or, for regression, (n_rows, n_targets)
            For files, the name of a column or a list of names.
        sample_weight : array-like of shape (n_rows,), optional
            For files, the name of a column.

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
            settings = settings_of(self)
            if is_files(X):
                check_begins_anew(self)
                give(self, fit_files(X, y, sample_weight, settings))
            elif self.warm_start and hasattr(self, "fitted_"):
                self._train_further(X, y, sample_weight, settings, TRAINED)
            else:
                self.fitted_ = fit(self._source(X, y, sample_weight, settings), settings)
        return self

    def refit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the rules of this model further.

        It does the same as `fit` with ``warm_start=True``. No new rules grow. Columns and
        targets keep their scale. Frozen rules keep every bit.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleClassifier
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleClassifier(1, n_epochs=5, random_state=0).fit(X, X[:, 0] > 19.5)
        >>> changed = model.edit(replace={0: "x0 > 25"}, freeze=[0]).refit(X, X[:, 0] > 19.5)
        >>> changed.rules_table().loc[0, "text"]
        'x0 > 25'
        """
        check_is_fitted(self)
        with unchanged_on_error(self):
            self._validate_params()
            self._train_further(X, y, sample_weight, settings_of(self), REFITTED)
        return self

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Self:
        with unchanged_on_error(self):
            self._validate_params()
            settings = settings_of(self).of_one_part()
            if self.early_stopping is True:
                raise ValueError(
                    "partial_fit does not support early_stopping=True: it trains one epoch. "
                    'Set early_stopping=False or "auto".'
                )
            if hasattr(self, "fitted_"):
                self._train_further(X, y, sample_weight, settings, IN_PARTS)
            else:
                source = self._source(X, y, sample_weight, settings, classes)
                self.fitted_ = fit(source, settings)
        return self

    def _train_further(
        self, X: Any, y: Any, sample_weight: Any, settings: Settings, what: str
    ) -> None:
        """Train the present rules further. `what` names this training in the lineage."""
        task, encoder = further_task(self.fitted_.task, settings), self.fitted_.encoder
        if self.missing is not None and settings.missing != encoder.missing:
            raise ValueError(
                f"missing={self.missing!r} is not what the model was fitted with, "
                f"{list(encoder.missing)}, and further training keeps the encoding of "
                "the table. Set missing as it was, or fit anew with warm_start=False."
            )
        rows = encoded_rows(self, X, y, sample_weight, task)
        self.fitted_ = train_further(self.fitted_, rows, settings, what)

    def _unfitted_twin(self) -> NeuralRuleModel:
        """An estimator that, fitted on the same rows, would become this one."""
        return clone(self).set_params(warm_start=False, verbose=0)


def fitted_of(model: NeuralRuleModel) -> Fitted:
    """The fitted model of an estimator. Raises an error if the estimator is not fitted."""
    check_is_fitted(model)
    return model.fitted_


def checked_table(model: NeuralRuleModel, X: Any) -> Any:
    """A table, after a check that its columns are those of the estimator's fit."""
    check_is_fitted(model)
    return model._check_columns(X, reset=False)


def table_or_row(model: NeuralRuleModel, X: Any) -> Any:
    """A checked table. A single row may also be a dict, a Series or a list."""
    return checked_table(model, fitted_of(model).encoder.as_table(X))


def encoded_rows(
    model: NeuralRuleModel, X: Any, y: Any, sample_weight: Any = None, task: Task | None = None
) -> Rows:
    """A table with targets and weights, encoded as in the estimator's fit.

    Without `task`, the targets are encoded as in the fit, too.
    """
    X, settings = checked_table(model, X), settings_of(model)
    weights = check_weights(X, y, sample_weight, settings.estimator)
    y, task = check_y(y, settings), task or model.fitted_.task
    encoded = model.fitted_.encoder.transform(X)
    return rows_with_targets(encoded, y, weights, task, settings.class_weight)


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
    """The engine that an estimator computes with."""
    return get_engine(model.engine, n_threads(model.n_jobs), model.device)


def settings_of(model: NeuralRuleModel) -> Settings:
    """The settings of a fit, from the parameters of an estimator."""
    return Settings.of(
        type(model).__name__,
        model.get_params(deep=False),
        predicts_classes=isinstance(model, ClassifierMixin),
    )


def give(model: Model, fitted: Fitted) -> Model:
    """Give an estimator a fitted model, and the names of the columns of its table."""
    model.n_features_in_ = len(fitted.encoder.names)
    if fitted.encoder.named:
        model.feature_names_in_ = np.array(fitted.encoder.names, object)
    model.fitted_ = fitted
    return model


def check_begins_anew(model: OneModel) -> None:
    """Refuse to train a fitted model further with a table that is not in memory."""
    if model.warm_start and hasattr(model, "fitted_"):
        raise ValueError(
            "warm_start=True does not go on from files. Fit with warm_start=False, or give "
            "a table in memory."
        )


@contextmanager
def unchanged_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Give an estimator its old attributes back if the block fails.

    This is enough, because the objects that an estimator learns are immutable.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
