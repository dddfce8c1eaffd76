"""Neural rules for numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from neuralrules._estimators._answers import Answers
from neuralrules._estimators._base import RegressorMixin
from neuralrules._estimators._changes import Changes
from neuralrules._estimators._docs import estimator
from neuralrules._estimators._documents import Documents
from neuralrules._estimators._paper import DEPTHS, PAPER
from neuralrules._estimators._parameters import OneModelParameters
from neuralrules._estimators._search import RuleSearch


class NumberRules(RegressorMixin, Answers, Changes, Documents):
    """Numbers as targets and predictions."""

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


@estimator
class NeuralRuleRegressor(NumberRules, OneModelParameters):
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
        their scale, and frozen rules keep their bits.

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


@estimator
class NeuralRuleRegressorCV(RuleSearch, NumberRules):
    """Neural rule ensemble for numbers that chooses among candidates by cross-validation.

    {mathematics}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {search_attributes}
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
