"""What columns and rules matter on given rows, and what columns do there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from neuralrules._estimators._base import NeuralRuleModel
from neuralrules._reading._importance import Importances, column_shares, importances
from neuralrules._reading._shapes import PairShape, Shape, shapes


class MeasuredModel(NeuralRuleModel):
    """Importances and shapes."""

    def importances(
        self,
        X: Any,
        *,
        kind: str = "columns",
        n_resamples: int = 100,
        max_rows: int | None = 2000,
        sample_weight: Any = None,
        random_state: Any = None,
    ) -> Importances:
        """Which rules, columns or pairs of columns matter on these rows, and how surely.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
        kind : {"rules", "columns", "pairs"}, default="columns"
            Rules by their mean absolute contribution. Columns by how much the decision
            function changes when their cells are borrowed from other rows, relative to
            its variance; pairs, among the ten most important columns, by what only both
            together change. For independent columns these are shares of the variance
            (total Sobol index, superset importance); for dependent ones they may
            exceed 1.
        n_resamples : int, default=100
            How often the rows are drawn with replacement, for the standard errors.
        max_rows : int or None, default=2000
            Take a random sample of larger tables.
        sample_weight : array-like of shape (n_rows,), optional
        random_state : int, RandomState instance or None, default=None

        Returns
        -------
        Importances
            ``to_frame()`` is the table, the most important first.

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleClassifier
        >>> X = np.random.RandomState(0).uniform(size=(200, 3))
        >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 1] > 0.5)
        >>> found = model.importances(X, random_state=0).to_frame()
        >>> found["column"].iloc[0]
        'x1'
        """
        check_is_fitted(self)
        table = self._check_columns(X, reset=False)
        return importances(
            self.fitted_,
            table.shape[0],
            lambda rows: self.fitted_.encoder.transform(_safe_indexing(table, rows)),
            self._engine(),
            kind=kind,
            n_resamples=n_resamples,
            max_rows=max_rows,
            sample_weight=sample_weight,
            random_state=random_state,
        )

    def shapes(
        self,
        X: Any,
        columns: Iterable[Any] | None = None,
        *,
        n_values: int = 50,
        max_rows: int | None = 2000,
        sample_weight: Any = None,
        random_state: Any = None,
    ) -> list[Shape | PairShape]:
        """What single columns, and pairs of them, do to the output, by the sum of rules.

        The shape of a column is the mean output (log odds, a score for each class, or the
        target's units) over the rows of X as the column moves over its values and all others
        stay as they are: a partial dependence, exact at the values that it is given for. Only
        rules that use the column move; what each adds is in ``parts``, and they sum to the
        shape.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
        columns : list of columns or pairs of columns, optional
            By default all columns that the model uses, those that move the output most first.
            A pair, for example ``("age", "income")``, gives a `PairShape`.
        n_values : int, default=50
            About so many numbers or dates: quantiles of X, equal steps between them, and
            those at which rules bend that use no other column. All of few; categories always
            all.
        max_rows : int or None, default=2000
            Take a random sample of larger tables.
        sample_weight : array-like of shape (n_rows,), optional
        random_state : int, RandomState instance or None, default=None

        Returns
        -------
        list of Shape or PairShape
            With ``values``, ``outputs`` and their spread over the rows, ``low`` to ``high``.

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleRegressor
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleRegressor.paper(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
        >>> (shape,) = model.shapes(X)
        >>> bool(np.allclose(shape.outputs[:, 0], model.predict(shape.values[:, None])))
        True
        """
        check_is_fitted(self)
        return shapes(
            self.fitted_,
            self._check_columns(X, reset=False),
            self._engine(),
            columns,
            n_values=n_values,
            max_rows=max_rows,
            sample_weight=sample_weight,
            random_state=random_state,
        )

    @property
    def feature_importances_(self) -> np.ndarray:
        check_is_fitted(self)
        return column_shares(self.fitted_)
