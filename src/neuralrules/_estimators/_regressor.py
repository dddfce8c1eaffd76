"""Neural rules for numbers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import StrOptions

from neuralrules._estimators._answers import Answers
from neuralrules._estimators._base import DEPTH_CONSTRAINTS, NeuralRuleModel
from neuralrules._estimators._changes import Changes
from neuralrules._estimators._docs import documented
from neuralrules._estimators._documents import Documents
from neuralrules._estimators._paper import PAPER
from neuralrules._task._losses import NUMBER_LOSSES


class NumberRules(RegressorMixin, Answers, Changes, Documents):
    """Numbers as targets and predictions."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeuralRuleModel._parameter_constraints,
        "loss": [StrOptions(set(NUMBER_LOSSES))],
    }

    def predict(self, X: Any) -> np.ndarray:
        """The intercept plus the sum of the rules, or with Poisson loss its exponential.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets), like y in `fit`

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleRegressor
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleRegressor.paper(1, n_epochs=0).fit(X, X[:, 0])
        >>> model.predict([[5.0], [35.0]]).round(1)
        array([ 6.9, 32.9])
        """
        outputs = self._decide(X)
        return self.fitted_.task.predictions(outputs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


@documented
class NeuralRuleRegressor(NumberRules):
    """Neural rule ensemble for one or more numeric targets.

    {mathematics}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    References
    ----------
    {reference}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from neuralrules import NeuralRuleRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = NeuralRuleRegressor(max_depth=2, random_state=0).fit(X[:350], y[:350])
    >>> model.score(X[350:], y[350:]) > 0.4
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NumberRules._parameter_constraints,
        **DEPTH_CONSTRAINTS,
    }

    def __init__(
        self,
        max_depth: int | None = 2,
        *,
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
        warm_start: bool = False,
        n_sample_rows: int = 1_000_000,
        checkpoint: str | os.PathLike[str] | None = None,
        engine: str = "numba",
        device: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
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
        self.warm_start = warm_start
        self.n_sample_rows = n_sample_rows
        self.checkpoint = checkpoint
        self.engine = engine
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(cls, max_depth: int | None = 6, **parameters: Any) -> NeuralRuleRegressor:
        """The paper's method: the leaves of one tree, trained on all rows.

        Every literal may lean on every column of the tree, outputs start at zero, and nothing
        stops early.

        Parameters
        ----------
        max_depth : int or None, default=6
        parameters
            Others than the paper's.

        Examples
        --------
        >>> from neuralrules import NeuralRuleRegressor
        >>> model = NeuralRuleRegressor.paper(max_depth=4)
        >>> model.rule_source, model.literal_columns
        ('tree', 'tree')
        """
        return cls(max_depth, **{**PAPER, **parameters})

    def refit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the present rules further, but for those that are frozen.

        As `fit` does with ``warm_start=True``: none grow, the columns and the targets keep
        their scale, and frozen rules, of `edit` or `frozen_rules`, keep their bits.

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
        >>> from neuralrules import NeuralRuleRegressor
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleRegressor(1, n_epochs=5, random_state=0).fit(X, X[:, 0] > 19.5)
        >>> changed = model.edit(replace={0: "x0 > 25"}, freeze=[0]).refit(X, X[:, 0] > 19.5)
        >>> changed.rules_table().loc[0, "text"]
        'x0 > 25'
        """
        return self._refit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train one epoch on these rows; the first call also grows the rules from them.

        Further calls train these rules and grow none, and the scale of the columns and of the
        targets stays that of the first rows. So let the first call have many rows, of all
        kinds: if they are fewer than ten for each rule that grows, it warns.

        What the model then says of its training rows is about the rows of this call.

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
        >>> from sklearn.datasets import load_diabetes
        >>> from neuralrules import NeuralRuleRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = NeuralRuleRegressor(n_trees=4, random_state=0)
        >>> for _ in range(20):
        ...     model = model.partial_fit(X, y)
        >>> model.score(X, y) > 0.4
        True
        """
        return self._partial_fit(X, y, sample_weight)
