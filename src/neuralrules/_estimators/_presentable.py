"""What a fitted model hands to those who decide: score cards, advice and reports."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from neuralrules._counterfactual import Counterfactual, counterfactual
from neuralrules._estimators._readable import ReadableModel
from neuralrules._reading._scorecard import ScoreCard, scorecard
from neuralrules._report import Given, check_given, report
from neuralrules._simplify._path import SimplificationPath


class PresentableModel(ReadableModel):
    """Score-cards, counterfactuals, reports."""

    def scorecard(
        self,
        X: Any = None,
        y: Any = None,
        *,
        points_to_double: float = 20,
        base: int = 600,
        unit: float | None = None,
        levels: int | None = None,
        adverse: Any = None,
        sample_weight: Any = None,
    ) -> ScoreCard:
        """The model as a score card: whole points for each rule, added to a base.

        For two classes and for one number.

        Parameters
        ----------
        X, y : optional
            Rows to measure on what whole points cost, best such as the model has not seen.
            For a model that remembers no rows of training, since it was edited or read from
            text, also how strongly its rules fire.
        points_to_double : float, default=20
            With so many points more, the odds against the adverse class double.
        base : int, default=600
            Points of a row on which no rule fires. Like `points_to_double` for classes only:
            a regression starts where its intercept is.
        unit : float, optional
            What one point is, for a regression; by default a power of ten of which there are
            ten or more to the deviation of the target.
        levels : int, optional
            Cut the activation of each rule into so many levels, for a card on paper. By
            default points are proportional to it, which loses less.
        adverse : object, optional
            The class that takes points; by default the rarest one in training.
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        ScoreCard
            Prints as text; ``to_html(path)`` writes it as a page. ``points(X)`` scores rows,
            and ``probability(points)`` (for a regression ``prediction``) says what points
            stand for.

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleClassifier
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 29.5)
        >>> card = model.scorecard()
        >>> points = card.points([[10.0], [35.0]])
        >>> points
        array([927, 491])
        >>> card.probability(points).round(2)
        array([0.  , 0.94])
        """
        check_is_fitted(self)
        if (X is None) != (y is None):
            raise ValueError("X and y belong together: give both to measure on, or neither.")
        rows = None
        if X is not None:
            rows = self._rows(self._check_columns(X, reset=False), y, sample_weight)
        return scorecard(
            self.fitted_,
            rows,
            self._engine(),
            self._check_rows,
            points_to_double=points_to_double,
            base=base,
            unit=unit,
            levels=levels,
            adverse=adverse,
        )

    def counterfactual(
        self,
        x: Any,
        target: Any = None,
        *,
        probability: Any = None,
        units: Mapping[Any, float] | None = None,
        fixed: Iterable[Any] = (),
        whole: Iterable[Any] | None = None,
        bounds: Mapping[Any, Any] | None = None,
        directions: Mapping[Any, str] | None = None,
        max_changes: int | None = None,
        n_answers: int = 1,
        time_limit: float = 60.0,
    ) -> Counterfactual:
        """Find the smallest change of one row that gives it another prediction.

        The cost of a change is the sum over the columns of abs(change) / unit; a switch to
        another category costs 1 / unit. The cheapest change is found, and proven to be (to
        0.1 % of its cost), by mixed-integer programming. What is returned has been given to
        `predict`.

        Parameters
        ----------
        x : frame of one row, Series, dict, or array-like of shape (n_columns,)
            The row; a Series or dict goes from column names to values.
        target : object, optional
            For a classifier the class wanted; by default the other one of two, or whichever
            costs least of several. For a regressor a pair (low, high) with low < high, either
            of them None for no bound; for several targets a list of such pairs.
        probability : float or pair, optional
            For a classifier of two classes: the probability of `target` must become at least
            this, or lie between the two numbers of a pair, either of them None. The target
            may be the class that is predicted; by default it is the other one.
        units : dict, optional
            What change of a column costs 1, up to 1e6 times as much or as little as by
            default: a number's standard deviation in training, and 1 for categories and
            columns of a boolean dtype, so that a switch costs 1.
        fixed : list of columns, default=()
            Columns that may not change.
        whole : list of columns, optional
            Columns of numbers whose new values must be whole, besides those of an integer
            dtype in `x`, which are anyway (not those of a float array, nor of a Series of
            floats); an empty list frees these too. A value that is not whole may stay as
            it is. Columns of a boolean dtype always stay 0 or 1, those of an integer dtype
            in its range, and dates without a time of day remain so.
        bounds : dict, optional
            For a column of numbers a pair (low, high), either of them None for no bound;
            the row's own value must lie in it. By default numbers and dates stay between
            the least and the greatest of training, or up to the row's own value where that
            lies outside; `bounds={"income": (None, None)}` lifts this. For a column of
            categories a list of those that the cell may switch to; it may also stay what
            it is.
        directions : dict, optional
            Which way a column may go: "increase", "decrease" or "either" for numbers and
            dates, or "fixed". By default a column whose direction the model promises (see
            `monotone`) goes only the way that helps, and all others either.
        max_changes : int, optional
            How many columns may change at most.
        n_answers : int, default=1
            How many answers to look for. The others are in `others`: each is the smallest
            change that leaves as it is at least one column of those that each answer before
            it changes.
        time_limit : float, default=60.0
            Seconds for each answer. Where they do not suffice, the best found so far is
            returned.

        Returns
        -------
        Counterfactual

        Notes
        -----
        A missing number stays missing, and no cell becomes missing. A category may become any
        that had a column of its own in training. Columns that no rule looks at never change.

        The search goes up to the cost at which the dearest number could move 32 standard
        deviations beyond its own distance from the mean, or to the end of `bounds`; numbers
        scaled by quantiles to where these end, beyond which they change nothing. If there is
        no counterfactual up to there, `found` is False, `optimal` is True and `bound` is that
        cost, infinite if nothing lies beyond it.

        Predictions are made in float32, so a counterfactual must lie a little beyond the
        decision boundary: by about 1e-6, in standard deviations and relative to the values
        of the rules, by more if that does not suffice, or by less if a range is too narrow.
        `optimal` and `bound` hold for all rows: they come from a program that asks for less
        than the goal, by as much as float32 could be off. Where the two programs differ by
        more than 0.1 % of the cost, `optimal` is False.

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleClassifier
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
        >>> nearest = model.counterfactual([25.0], units={"x0": 1.0})
        >>> print(*nearest.changes)
        x0 from 25 to 19.5
        >>> nearest.optimal
        True
        """
        table = self._check_rows(x)
        return counterfactual(
            self.fitted_,
            table,
            self._engine(),
            target,
            probability=probability,
            units=units,
            fixed=fixed,
            whole=whole,
            bounds=bounds,
            directions=directions,
            max_changes=max_changes,
            n_answers=n_answers,
            time_limit=time_limit,
            restrictions=self._chosen()._restrictions(self.fitted_.encoder, self.fitted_.task),
        )

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: Any = None,
        title: str | None = None,
        simplification: SimplificationPath | None = None,
        n_examples: int = 0,
    ) -> Path:
        """Write the model as one HTML page, to be read by people.

        Performance (for two classes at any threshold), importance, what single columns do,
        error against size, all rules, and a panel that predicts what one types, with reasons,
        computed in the page by the model itself. The page loads nothing from anywhere else.

        Parameters
        ----------
        path : str or path
            The file to write. An old file stays until the new one is complete.
        X, y : optional
            Rows to measure on, best such as the model has not seen. Without them the
            training rows count; without y, X serves for the importance and the shapes of
            columns and for the panel only. The page says which.
        sample_weight : array-like of shape (n_rows,), optional
        title : str, optional
        simplification : SimplificationPath, optional
            Adds its error against parameters.
        n_examples : int, default=0
            So many rows of X become part of the page, for readers to load into the panel.
            By default none: a page that is passed on should not carry anyone's data.

        Returns
        -------
        pathlib.Path
            The file written.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sklearn.datasets import load_iris
        >>> from neuralrules import NeuralRuleClassifier
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = NeuralRuleClassifier(n_trees=2, n_epochs=5, random_state=0).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = model.report(Path(folder) / "iris.html", X, y, title="Iris")
        ...     print(page.name)
        iris.html
        """
        check_is_fitted(self)
        check_given(X, y, sample_weight, n_examples)
        return report(
            self.fitted_,
            path,
            self._given(X, y, sample_weight, n_examples),
            self._engine(),
            title=title,
            simplification=simplification,
        )

    def _given(self, X: Any, y: Any, sample_weight: Any, n_examples: int) -> Given:
        """The rows of a report, encoded once for all that is measured on them."""
        weighted = sample_weight is not None or self._weighs_classes()
        if X is None:
            if not self.fitted_.performance.n_rows:
                raise ValueError(
                    f"This model was {self.fitted_.why_no_rows} and remembers no rows. Give X "
                    "and y to report on."
                )
            return Given(weighted=weighted)
        table = self._check_columns(X, reset=False)
        if y is None:
            encoded = self.fitted_.encoder.transform(table)
            return Given(table, encoded=encoded, weighted=weighted, n_examples=n_examples)
        rows = self._rows(table, y, sample_weight)
        return Given(table, y, rows.X, rows, sample_weight, weighted, n_examples)
