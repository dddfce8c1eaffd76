"""Neural rules for classes."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np
from sklearn.utils.metaestimators import available_if

from neuralrules._estimators._answers import Answers
from neuralrules._estimators._base import ClassifierMixin, OneModel
from neuralrules._estimators._changes import Changes
from neuralrules._estimators._docs import estimator
from neuralrules._estimators._documents import Documents
from neuralrules._estimators._parameters import ClassParameters
from neuralrules._estimators._search import RuleSearch
from neuralrules._task._class_losses import CLASS_LOSSES


def _gives_probabilities(estimator: Any) -> bool:
    fitted = vars(estimator).get("fitted_")
    loss = CLASS_LOSSES[estimator.loss] if fitted is None else fitted.task.loss
    if not loss.probabilities:
        raise AttributeError(
            f"predict_proba needs loss='logistic'; this model has loss={loss.name!r}."
        )
    return True


class ClassRules(ClassifierMixin, Answers, Changes, Documents, ClassParameters):
    """Class labels as targets; labels and probabilities as predictions."""

    @property
    def classes_(self) -> np.ndarray:
        return cast(np.ndarray, self.fitted_.task.classes)

    def decision_function(self, X: Any) -> np.ndarray:
        """The sum of the rules.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
            For two classes, positive where the second class is predicted.

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleClassifier
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
        >>> model.decision_function([[5.0], [35.0]]) > 0
        array([False,  True])
        """
        outputs = self._decide(X)
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, for ``loss="logistic"``.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleClassifier
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
        >>> model.predict_proba([[5.0], [35.0]]).round(2)
        array([[1., 0.],
               [0., 1.]])
        """
        outputs = self._decide(X)
        return self.fitted_.task.probabilities(outputs)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleClassifier
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
        >>> model.predict([[5.0], [35.0]])
        array([False,  True])
        """
        outputs = self._decide(X)
        return self.fitted_.task.predictions(outputs)


@estimator
class NeuralRuleClassifier(ClassRules, OneModel):
    """Neural rule ensemble for two or more classes.

    {mathematics}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}
    classes_ : ndarray of shape (n_classes,)
        Class labels.

    References
    ----------
    {reference}

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from neuralrules import NeuralRuleClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = NeuralRuleClassifier(max_depth=3, random_state=0).fit(X[:400], y[:400])
    >>> model.score(X[400:], y[400:]) > 0.95
    True
    """

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Train one epoch on these rows; the first call also grows the rules from them.

        Further calls train these rules and grow no others, and columns keep the scale of the
        first rows. So give the first call many rows, of all kinds. It warns if it has fewer
        than ten rows for each rule that it grows.

        After each call, what the model says about its training rows is about the rows of that
        call.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,)
        classes : array-like of shape (n_classes,), optional
            All classes that will ever be seen; needed in the first call unless all
            of them are in y.
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        self

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.utils import shuffle
        >>> from neuralrules import NeuralRuleClassifier
        >>> X, y = shuffle(*load_iris(return_X_y=True), random_state=0)
        >>> model = NeuralRuleClassifier(n_trees=2, max_rules=12, random_state=0)
        >>> for _ in range(20):
        ...     model = model.partial_fit(X, y, classes=[0, 1, 2])
        >>> model.score(X, y) > 0.9
        True
        """
        return self._partial_fit(X, y, sample_weight, classes)


@estimator
class NeuralRuleClassifierCV(RuleSearch, ClassRules):
    """Neural rule ensemble for classes that chooses among candidates by cross-validation.

    {mathematics}

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {search_attributes}
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
    _paper_scoring = "accuracy"
