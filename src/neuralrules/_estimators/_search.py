"""Estimators that choose the depth of the tree by cross-validation, as the paper does."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import Interval

from neuralrules._estimators._base import NeuralRuleModel, unchanged_on_error
from neuralrules._estimators._classifier import ClassRules, NeuralRuleClassifier
from neuralrules._estimators._docs import documented
from neuralrules._estimators._regressor import NeuralRuleRegressor, NumberRules

if TYPE_CHECKING:
    from neuralrules._files import Told

DEPTHS = (2, 4, 6, 8, 10)  # the paper's


class DepthSearch(NeuralRuleModel):
    """Cross-validate each depth, then fit the base estimator with the best one."""

    _base: ClassVar[type[NeuralRuleModel]]
    _search_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_depths": ["array-like"],
        "cv": ["cv_object"],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Choose the depth by cross-validation and fit with it on all rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,) or, for regression, (n_rows, n_targets)
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._validate_params()
            depths = self._check_depths()
            random_state = check_random_state(self.random_state)
            X = self._check_columns(X, reset=True)
            y, sample_weight = as_array(y), as_array(sample_weight)
            weights = self._check_weights(X, y, sample_weight)
            self._learn_task(self._check_y(y), weights)
            seed = int(random_state.randint(2**31 - 1))
            splits = self._splits(X, y, seed)
            self.cv_scores_, done = self._score_depths(
                X, y, sample_weight, depths, splits, seed
            )
            self.max_depth_ = self._choose_depth(depths, done)
            model = self._model(self.max_depth_, seed, self.n_jobs, verbose=self.verbose)
            model.fit(X, y, sample_weight)
            self.fitted_ = replace(
                model.fitted_,
                estimator=type(self).__name__,
                interrupted=model.interrupted_ or done < self.cv_scores_.size,
            )
        return self

    def _model(
        self, depth: int, seed: int, n_jobs: int | None, verbose: int
    ) -> NeuralRuleModel:
        parameters = self.get_params(deep=False)
        del parameters["max_depths"], parameters["cv"]
        parameters.update(max_depth=depth, random_state=seed, n_jobs=n_jobs, verbose=verbose)
        return self._base(**parameters)

    def _told(self) -> Told:
        told: Told = super()._told()
        return told._replace(max_depth=self.max_depth_, cv_scores=self.cv_scores_)

    def _unfitted_twin(self) -> NeuralRuleModel:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return self._model(self.max_depth_, seed, self.n_jobs, verbose=0)

    def _check_depths(self) -> list[int]:
        depths = list(self.max_depths)
        allowed = Interval(Integral, 1, None, closed="left")
        if not depths or not all(allowed.is_satisfied_by(depth) for depth in depths):
            raise ValueError(
                f"max_depths must hold at least one integer, each at least 1; got "
                f"{self.max_depths!r}. For example max_depths={DEPTHS}."
            )
        return sorted(set(depths))

    def _splits(self, X: Any, y: Any, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
        cv = self.cv
        if isinstance(cv, Integral):
            n_rows = X.shape[0]
            if n_rows < cv:
                raise ValueError(
                    f"cv={cv} folds need at least {cv} rows, but n_samples = {n_rows}. "
                    "Lower cv or add rows."
                )
            _, counts = np.unique(y, return_counts=True)
            if is_classifier(self) and len(counts) == 2 and counts.min() < 2:
                raise ValueError(
                    f"cv={cv} needs at least 2 rows of each of two classes, or one fold has "
                    "only the other class to learn. Add rows, or give the splits as cv."
                )
            folds = StratifiedKFold if is_classifier(self) else KFold
            cv = folds(int(cv), shuffle=True, random_state=seed)
        splitter = check_cv(cv, y, classifier=is_classifier(self))
        return list(splitter.split(np.empty((X.shape[0], 0)), y))

    def _score_depths(
        self, X: Any, y: Any, sample_weight: Any, depths: list[int], splits: Any, seed: int
    ) -> tuple[np.ndarray, int]:
        """Score of each depth on each fold, (n_depths, n_folds), and how many there are."""
        jobs = (
            delayed(fit_and_score)(
                self._model(depth, seed, 1, verbose=0), X, y, sample_weight, train, test
            )
            for depth in depths
            for train, test in splits
        )
        scores = np.full(len(depths) * len(splits), np.nan)
        done = 0
        results = Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs)
        with contextlib.suppress(KeyboardInterrupt):  # what is scored by then is kept
            for number, score in enumerate(results):
                scores[number] = score
                done = number + 1
        if np.isnan(scores[:done]).any():
            raise ValueError(
                f"cv={self.cv!r} makes folds on which R^2 is not defined: it needs two rows. "
                "Use larger folds."
            )
        return scores.reshape(len(depths), len(splits)), done

    def _choose_depth(self, depths: list[int], done: int) -> int:
        """The depth of the highest mean score; of equally good ones the smallest."""
        means = self.cv_scores_.mean(axis=1)
        if done == self.cv_scores_.size:
            return depths[int(np.argmax(means))]
        depth = depths[0] if np.isnan(means).all() else depths[int(np.nanargmax(means))]
        warnings.warn(
            f"The search for max_depth was interrupted after {done} of "
            f"{self.cv_scores_.size} fits. This {type(self).__name__} is fitted with "
            f"max_depth={depth}, the best depth that was fully scored or else the smallest.",
            stacklevel=3,
        )
        return depth


def as_array(data: Any) -> np.ndarray | None:
    """Targets or weights as an array whose rows can be selected."""
    return None if data is None else np.asarray(data)


def fit_and_score(
    model: NeuralRuleModel,
    X: Any,
    y: np.ndarray,
    sample_weight: np.ndarray | None,
    train: np.ndarray,
    test: np.ndarray,
) -> float:
    """Fit on some rows and score on others: accuracy or R^2."""

    def part(rows: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray | None]:
        weights = None if sample_weight is None else sample_weight[rows]
        return _safe_indexing(X, rows), y[rows], weights

    with warnings.catch_warnings():
        # Both are said of the whole search instead.
        warnings.filterwarnings("ignore", message="Training was interrupted")
        warnings.filterwarnings("ignore", message="R.* score is not well-defined")
        model.fit(*part(train))
        if model.interrupted_:
            raise KeyboardInterrupt
        return model.score(*part(test))


@documented
class NeuralRuleClassifierCV(DepthSearch, ClassRules):
    """Neural rule ensemble for classes that chooses its depth by cross-validation.

    {mathematics}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    max_depth_ : int
        The chosen depth.
    cv_scores_ : ndarray of shape (n_depths, n_folds)
        Accuracy of each depth, in ascending order, on each fold.
    {attributes}
    classes_ : ndarray of shape (n_classes,)
        Class labels.

    References
    ----------
    {reference}
    """

    _base = NeuralRuleClassifier
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClassRules._parameter_constraints,
        **DepthSearch._search_constraints,
    }

    def __init__(
        self,
        max_depths: Sequence[int] = DEPTHS,
        *,
        cv: Any = 5,
        rule_source: str = "tree",
        n_trees: int = 10,
        max_rules: int | None = None,
        min_samples_leaf: int = 1,
        scaling: str = "standard",
        deep: bool = False,
        loss: str = "logistic",
        l2: float = 0.15,
        rule_dropout: float = 0.1,
        learning_rate: float = 0.01,
        schedule: str = "cosine",
        n_epochs: int = 200,
        batch_size: int | str = "auto",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 10,
        class_weight: Any = None,
        engine: str = "numba",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_depths = max_depths
        self.cv = cv
        self.rule_source = rule_source
        self.n_trees = n_trees
        self.max_rules = max_rules
        self.min_samples_leaf = min_samples_leaf
        self.scaling = scaling
        self.deep = deep
        self.loss = loss
        self.l2 = l2
        self.rule_dropout = rule_dropout
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.class_weight = class_weight
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


@documented
class NeuralRuleRegressorCV(DepthSearch, NumberRules):
    """Neural rule ensemble for numeric targets that chooses its depth by cross-validation.

    {mathematics}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    max_depth_ : int
        The chosen depth.
    cv_scores_ : ndarray of shape (n_depths, n_folds)
        R^2 of each depth, in ascending order, on each fold.
    {attributes}

    References
    ----------
    {reference}
    """

    _base = NeuralRuleRegressor
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NumberRules._parameter_constraints,
        **DepthSearch._search_constraints,
    }

    def __init__(
        self,
        max_depths: Sequence[int] = DEPTHS,
        *,
        cv: Any = 5,
        rule_source: str = "tree",
        n_trees: int = 10,
        max_rules: int | None = None,
        min_samples_leaf: int = 1,
        scaling: str = "standard",
        deep: bool = False,
        loss: str = "squared",
        l2: float = 0.15,
        rule_dropout: float = 0.1,
        learning_rate: float = 0.01,
        schedule: str = "cosine",
        n_epochs: int = 200,
        batch_size: int | str = "auto",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 10,
        engine: str = "numba",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_depths = max_depths
        self.cv = cv
        self.rule_source = rule_source
        self.n_trees = n_trees
        self.max_rules = max_rules
        self.min_samples_leaf = min_samples_leaf
        self.scaling = scaling
        self.deep = deep
        self.loss = loss
        self.l2 = l2
        self.rule_dropout = rule_dropout
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
