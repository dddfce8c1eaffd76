"""Neural rules for classes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from neuralrules._estimators._answers import Answers
from neuralrules._estimators._base import DEPTH_CONSTRAINTS, NeuralRuleModel
from neuralrules._estimators._changes import Changes
from neuralrules._estimators._docs import documented
from neuralrules._estimators._documents import Documents
from neuralrules._estimators._paper import PAPER
from neuralrules._task._losses import CLASS_LOSSES


def _gives_probabilities(estimator: Any) -> bool:
    fitted = vars(estimator).get("fitted_")
    loss = CLASS_LOSSES[estimator.loss] if fitted is None else fitted.task.loss
    if not loss.probabilities:
        raise AttributeError(
            f"predict_proba needs loss='logistic'; this model has loss={loss.name!r}."
        )
    return True


class ClassRules(ClassifierMixin, Answers, Changes, Documents):
    """Class labels as targets; labels and probabilities as predictions."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeuralRuleModel._parameter_constraints,
        "loss": [StrOptions(set(CLASS_LOSSES))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

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


@documented
class NeuralRuleClassifier(ClassRules):
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ClassRules._parameter_constraints,
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
        warm_start: bool = False,
        n_sample_rows: int = 1_000_000,
        checkpoint: str | os.PathLike[str] | None = None,
        class_weight: Any = None,
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
        self.class_weight = class_weight
        self.engine = engine
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(cls, max_depth: int | None = 6, **parameters: Any) -> NeuralRuleClassifier:
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
        >>> from neuralrules import NeuralRuleClassifier
        >>> model = NeuralRuleClassifier.paper(max_depth=4)
        >>> model.rule_source, model.literal_columns
        ('tree', 'tree')
        """
        return cls(max_depth, **{**PAPER, **parameters})

    def refit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the present rules further, but for those that are frozen.

        As `fit` does with ``warm_start=True``: none grow, the columns keep their scale, and
        frozen rules, of `edit` or `frozen_rules`, keep their bits.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,)
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
        return self._refit(X, y, sample_weight)

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Train one epoch on these rows; the first call also grows the rules from them.

        Further calls train these rules and grow none, and the scale of the columns stays
        that of the first rows. So let the first call have many rows, of all kinds: if they are
        fewer than ten for each rule that grows, it warns.

        What the model then says of its training rows is about the rows of this call.

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
