"""Neural rules for numbers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from neuralrules._estimators._answers import Answers
from neuralrules._estimators._base import OneModel, RegressorMixin
from neuralrules._estimators._changes import Changes
from neuralrules._estimators._docs import estimator
from neuralrules._estimators._documents import Documents
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
class NeuralRuleRegressor(NumberRules, OneModel):
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

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train one epoch on these rows; the first call also grows the rules from them.

        Further calls train these rules and grow no others, and columns and targets keep the
        scale of the first rows. So give the first call many rows, of all kinds. It warns if it
        has fewer than ten rows for each rule that it grows.

        After each call, what the model says about its training rows is about the rows of that
        call.

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
    _paper_scoring = "r2"
