"""The estimators that compare candidates by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from neuralrules._estimators._base import DEPTH_CONSTRAINTS
from neuralrules._estimators._classifier import ClassRules, NeuralRuleClassifier
from neuralrules._estimators._docs import documented
from neuralrules._estimators._paper import DEPTHS, PAPER
from neuralrules._estimators._regressor import NeuralRuleRegressor, NumberRules
from neuralrules._estimators._search import RuleSearch


@documented
class NeuralRuleClassifierCV(RuleSearch, ClassRules):
    """Neural rule ensemble for classes that chooses among candidates by cross-validation.

    {mathematics}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    candidates_ : list of dict
        The candidates that were compared.
    cv_scores_ : ndarray of shape (n_candidates, n_folds)
        Their scores on each fold, the higher the better: by default less the mean loss. NaN
        for folds that a candidate did not meet because it was dropped before.
    best_index_ : int
        The chosen candidate's place.
    best_params_ : dict
        The chosen candidate.
    {attributes}
    classes_ : ndarray of shape (n_classes,)
        Class labels.

    References
    ----------
    {reference}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from neuralrules import NeuralRuleClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> depths = {"max_depth": [1, 2]}
    >>> search = NeuralRuleClassifierCV(depths, cv=3, n_epochs=20, random_state=0)
    >>> search.fit(X, y).score(X, y) > 0.9
    True
    """

    _base = NeuralRuleClassifier
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClassRules._parameter_constraints,
        **RuleSearch._search_constraints,
        "max_depth": DEPTH_CONSTRAINTS["max_depth"],
    }

    def __init__(
        self,
        candidates: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]] | None = None,
        *,
        cv: Any = 5,
        scoring: Any = None,
        refit: str = "auto",
        max_depth: int | None = 2,
        rule_source: str = "boosting",
        expert_rules: Sequence[str] | None = None,
        frozen_rules: str | None = None,
        n_trees: int | str = "auto",
        tree_rate: float = 0.2,
        max_rules: int | None = None,
        max_literals: int | None = None,
        max_terms: int | None = None,
        min_samples_leaf: int | str = "auto",
        literal_columns: str = "rule",
        monotone: Mapping[Any, Any] | None = None,
        interactions: Sequence[Sequence[Any]] | None = None,
        exclude: Sequence[Any] | None = None,
        start: str = "hinge",
        fit_intercept: bool = True,
        scaling: str = "standard",
        missing: float | str | Sequence[float | str] | None = None,
        deep: bool = False,
        loss: str = "logistic",
        l2: float = 0.2,
        rule_dropout: float = 0.0,
        learning_rate: float = 0.005,
        schedule: str = "cosine",
        n_epochs: int | str = "auto",
        batch_size: int | str = "auto",
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.2,
        patience: int = 30,
        class_weight: Any = None,
        engine: str = "numba",
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.candidates = candidates
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.max_depth = max_depth
        self.rule_source = rule_source
        self.expert_rules = expert_rules
        self.frozen_rules = frozen_rules
        self.n_trees = n_trees
        self.tree_rate = tree_rate
        self.max_rules = max_rules
        self.max_literals = max_literals
        self.max_terms = max_terms
        self.min_samples_leaf = min_samples_leaf
        self.literal_columns = literal_columns
        self.monotone = monotone
        self.interactions = interactions
        self.exclude = exclude
        self.start = start
        self.fit_intercept = fit_intercept
        self.scaling = scaling
        self.missing = missing
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
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(
        cls, max_depths: Sequence[int] = DEPTHS, **parameters: Any
    ) -> NeuralRuleClassifierCV:
        """The paper's method: one tree, whose depth is chosen by accuracy.

        Parameters
        ----------
        max_depths : sequence of int, default=(2, 4, 6, 8, 10)
            Depths to choose from; of equally good ones the first wins.
        parameters
            Others than the paper's.

        Examples
        --------
        >>> from neuralrules import NeuralRuleClassifierCV
        >>> NeuralRuleClassifierCV.paper(max_depths=[2, 4]).candidates
        [{'max_depth': 2}, {'max_depth': 4}]
        """
        search = {
            "candidates": [{"max_depth": depth} for depth in max_depths],
            "scoring": "accuracy",
            "refit": "single",
        }
        return cls(**{**search, **PAPER, **parameters})


@documented
class NeuralRuleRegressorCV(RuleSearch, NumberRules):
    """Neural rule ensemble for numbers that chooses among candidates by cross-validation.

    {mathematics}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    candidates_ : list of dict
        The candidates that were compared.
    cv_scores_ : ndarray of shape (n_candidates, n_folds)
        Their scores on each fold, the higher the better: by default less the mean loss. NaN
        for folds that a candidate did not meet because it was dropped before.
    best_index_ : int
        The chosen candidate's place.
    best_params_ : dict
        The chosen candidate.
    {attributes}

    References
    ----------
    {reference}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from neuralrules import NeuralRuleRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> depths = {"max_depth": [1, 2]}
    >>> search = NeuralRuleRegressorCV(depths, cv=3, n_epochs=20, random_state=0)
    >>> search.fit(X, y).score(X, y) > 0.4
    True
    """

    _base = NeuralRuleRegressor
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NumberRules._parameter_constraints,
        **RuleSearch._search_constraints,
        "max_depth": DEPTH_CONSTRAINTS["max_depth"],
    }

    def __init__(
        self,
        candidates: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]] | None = None,
        *,
        cv: Any = 5,
        scoring: Any = None,
        refit: str = "auto",
        max_depth: int | None = 2,
        rule_source: str = "boosting",
        expert_rules: Sequence[str] | None = None,
        frozen_rules: str | None = None,
        n_trees: int | str = "auto",
        tree_rate: float = 0.2,
        max_rules: int | None = None,
        max_literals: int | None = None,
        max_terms: int | None = None,
        min_samples_leaf: int | str = "auto",
        literal_columns: str = "rule",
        monotone: Mapping[Any, Any] | None = None,
        interactions: Sequence[Sequence[Any]] | None = None,
        exclude: Sequence[Any] | None = None,
        start: str = "hinge",
        fit_intercept: bool = True,
        scaling: str = "standard",
        missing: float | str | Sequence[float | str] | None = None,
        deep: bool = False,
        loss: str = "squared",
        l2: float = 0.2,
        rule_dropout: float = 0.0,
        learning_rate: float = 0.005,
        schedule: str = "cosine",
        n_epochs: int | str = "auto",
        batch_size: int | str = "auto",
        early_stopping: bool | str = "auto",
        validation_fraction: float = 0.2,
        patience: int = 30,
        engine: str = "numba",
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.candidates = candidates
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.max_depth = max_depth
        self.rule_source = rule_source
        self.expert_rules = expert_rules
        self.frozen_rules = frozen_rules
        self.n_trees = n_trees
        self.tree_rate = tree_rate
        self.max_rules = max_rules
        self.max_literals = max_literals
        self.max_terms = max_terms
        self.min_samples_leaf = min_samples_leaf
        self.literal_columns = literal_columns
        self.monotone = monotone
        self.interactions = interactions
        self.exclude = exclude
        self.start = start
        self.fit_intercept = fit_intercept
        self.scaling = scaling
        self.missing = missing
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
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(
        cls, max_depths: Sequence[int] = DEPTHS, **parameters: Any
    ) -> NeuralRuleRegressorCV:
        """The paper's method: one tree, whose depth is chosen by R^2.

        Parameters
        ----------
        max_depths : sequence of int, default=(2, 4, 6, 8, 10)
            Depths to choose from; of equally good ones the first wins.
        parameters
            Others than the paper's.

        Examples
        --------
        >>> from neuralrules import NeuralRuleRegressorCV
        >>> NeuralRuleRegressorCV.paper(max_depths=[2, 4]).candidates
        [{'max_depth': 2}, {'max_depth': 4}]
        """
        search = {
            "candidates": [{"max_depth": depth} for depth in max_depths],
            "scoring": "r2",
            "refit": "single",
        }
        return cls(**{**search, **PAPER, **parameters})
