"""What a person asks of a fitted model. Each method calls the function that answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from neuralrules._counterfactual import Counterfactual, counterfactual
from neuralrules._estimators._base import (
    NeuralRuleModel,
    checked_table,
    engine_of,
    fitted_of,
    measured_rows,
    settings_of,
    table_or_row,
)
from neuralrules._fitted._activity import measure
from neuralrules._fitted._lineage import Event, lineage_text
from neuralrules._network._restricted import unproven_directions
from neuralrules._reading._exact import exact_text
from neuralrules._reading._explain import Explanation, explain
from neuralrules._reading._importance import Importances, column_shares, importances
from neuralrules._reading._reasons import Reasons, reasons
from neuralrules._reading._rules_table import rules_table
from neuralrules._reading._sentences import rules_sentences
from neuralrules._reading._shapes import PairShape, Shape, shapes
from neuralrules._reading._text import rules_text

SHOWN_TERMS = 3  # columns of a literal in texts, unless the model may have more
STYLES = {"conditions": rules_text, "sentences": rules_sentences}


class Answers(NeuralRuleModel):
    """Rules, explanations, reasons, counterfactuals, importances, shapes, and proofs."""

    max_terms: int | None

    def rules_text(
        self,
        *,
        max_rules: int | None = None,
        precision: int = 3,
        max_terms: int | None = None,
        style: str = "conditions",
    ) -> str:
        """The rules as text, in the table's column names and units.

        Parameters
        ----------
        max_rules : int or None, default=None
            How many rules to show. The most important rules come first. With
            ``style="sentences"``, rules that speak for the rarest class come before the others.
        precision : int, default=3
            Significant digits.
        max_terms : int or None, default=None
            How many columns of a literal to show, those of the largest weight. "…" stands for
            the other columns, which are taken at their means. None means 3, or the
            `max_terms` of this estimator if that is larger.
        style : {"conditions", "sentences"}, default="conditions"
            "conditions" are inequalities that can be checked on a row. "sentences" are for
            people who decide whether to use the model: each sentence says which rows a rule
            concerns, what was seen of these rows in training, what the rule adds, and how
            that grows. Sentences round numbers to the digits that the rows support, and leave
            out rules that concern no row or add nothing.

        Returns
        -------
        str
            For each rule its value, the tree leaf that it started as, and the inequalities
            that it consists of now; or sentences.

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleClassifier
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
        >>> print(model.rules_text(max_rules=1))
        Rule 0: value -7.17 for False (covers 50 % of the training rows)
          leaf  x0 ≤ 19.5
          now   x0 < 19.5
        """
        fitted, shown = fitted_of(self), self._shown_terms(max_terms)
        if style not in STYLES:
            raise ValueError(f"style={style!r} must be 'conditions' or 'sentences'.")
        return STYLES[style](fitted, max_rules=max_rules, precision=precision, max_terms=shown)

    def _shown_terms(self, asked: int | None) -> int:
        """How many columns of a literal a text shows."""
        return max(SHOWN_TERMS, self.max_terms or 0) if asked is None else asked

    def exact_text(self) -> str:
        """The whole model as text that loses nothing. `read_rules` reads the text back.

        The text uses the table's column names and units, and has every digit. It holds no
        code, so a text from a stranger can do no harm. The model that is read back predicts
        the same, to the rounding of float32. The exception is a column that lies more than
        about 1e10 of its standard deviations from zero: there float64 itself has too few
        digits.

        Returns
        -------
        str

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleClassifier, read_rules
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
        >>> again = read_rules(model.exact_text())
        >>> bool((again.predict(X) == model.predict(X)).all())
        True
        """
        return exact_text(fitted_of(self))

    def rules_table(
        self,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: Any = None,
        precision: int = 3,
        max_terms: int | None = None,
    ) -> Any:
        """All rules as a pandas frame, the most important rules first.

        Parameters
        ----------
        X, y : optional
            Rows to measure the rules on. By default the training rows.
        sample_weight : array-like of shape (n_rows,), optional
        precision : int, default=3
            Significant digits of the texts.
        max_terms : int or None, default=None
            How many columns of a literal to show.

        Returns
        -------
        DataFrame
            One line for each rule:

            - ``text``, and the ``tree_rule`` that the rule grew from;
            - ``value``; for several outputs ``value_<name>``;
            - ``rows`` and ``share`` of the rows that the rule covers;
            - for classes the ``class`` that the rule speaks for, and the ``precision`` and
              ``lift`` of this class among the covered rows; for a regression the ``mean``
              target of the covered rows, and its ``lift`` above the mean of all rows;
            - ``margin_score`` (equation 8), and ``importance``, the mean absolute
              contribution;
            - ``n_literals`` and ``n_weights`` other than zero;
            - how far training moved the rule: the ``angles`` in degrees between each literal
              and its tree split, the largest ``angle``, and the ``overlap`` of the rows that
              the rule covers with the rows of its leaf (rows in both over rows in either).

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleClassifier
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
        >>> model.rules_table()["text"].tolist()
        ['x0 < 19.5', 'x0 > 19.5']
        """
        fitted, rows = fitted_of(self), measured_rows(self, X, y, sample_weight)
        activity = fitted.activity
        if rows is not None:
            activity = measure(fitted.network, fitted.rules, rows, engine_of(self))
        shown = self._shown_terms(max_terms)
        return rules_table(fitted, activity, precision=precision, max_terms=shown)

    def explain(self, X: Any) -> Explanation:
        """Which rules fire on each row, what they contribute, and what limits them.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            Or a single row: a dict or Series by column names, or a list of values.

        Returns
        -------
        Explanation
            Its contributions and the intercept sum to the decision function exactly.
            ``to_frame()`` and ``slopes_frame()`` are tidy tables.

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleClassifier
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
        >>> print(model.explain([25.0]))
        Row 0: True (96.8 %), decision 3.415
           3.415  rule 1, limited by x0 > 19.5; margin 0.48
        """
        return explain(fitted_of(self), table_or_row(self, X), engine_of(self))

    def reasons(self, X: Any, k: int = 4, *, adverse: Any = None) -> Reasons:
        """What speaks for an adverse outcome of each row, in sentences, the strongest first.

        A rule is a reason if it gives the row a worse output than it gives the average
        training row. There are two kinds of reasons: rules that fire and speak for the adverse
        outcome, and rules that speak against the adverse outcome and do not fire. For the
        second kind, the sentence says what the row lacks.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            Or a single row: a dict or Series by column names, or a list of values.
        k : int, default=4
            The largest number of reasons for a row.
        adverse : object, optional
            The class to give reasons for; by default the rarest class in training. For a
            regression "high", the default, or "low".

        Returns
        -------
        Reasons
            Prints as sentences. ``to_frame()`` is the table, and ``explanation`` has all
            rules that fire, whose contributions sum to the decision exactly.

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleClassifier
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 29.5)
        >>> print(model.reasons([35.0], k=1).heading(0))
        True; 94 % for True (25 % of all rows are True)
        """
        return reasons(fitted_of(self), table_or_row(self, X), engine_of(self), k, adverse)

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
        """Find the smallest change of one row that gives the row another prediction.

        The cost of a change is the sum over the columns of abs(change) / unit. A switch to
        another category costs 1 / unit. Mixed-integer programming finds the cheapest change
        and proves that no change is cheaper (to 0.1 % of the cost). The row that is returned
        has been given to `predict`.

        Parameters
        ----------
        x : frame of one row, Series, dict, or array-like of shape (n_columns,)
            The row. A Series or dict goes from column names to values.
        target : object, optional
            For a classifier the class to reach. By default the other one of two classes, or
            the cheapest one of several. For a regressor a pair (low, high) with low < high,
            where None means no bound; for several targets a list of such pairs.
        probability : float or pair, optional
            For a classifier of two classes: the probability that `target` must reach, or a
            pair of bounds that it must lie between, where None means no bound. The target may
            be the class that is predicted now; by default it is the other class.
        units : dict, optional
            The change of a column that costs 1. By default the standard deviation of a number
            in training, and 1 for categories and columns of a boolean dtype, so that a switch
            costs 1. A unit may be up to 1e6 times as large or as small as its default.
        fixed : list of columns, default=()
            Columns that may not change.
        whole : list of columns, optional
            Columns of numbers whose new values must be whole. By default the columns of an
            integer dtype in `x` (not those of a float array, nor of a Series of floats).
            Columns named here are added to them; an empty list lets them take any number. A
            value that is not whole may stay as it is. Columns of a boolean dtype always stay
            0 or 1, columns of an integer dtype stay in its range, and dates without a time of
            day remain so.
        bounds : dict, optional
            For a column of numbers a pair (low, high), where None means no bound; the row's
            own value must lie between them. By default, numbers and dates stay between the
            smallest and the largest value of training, or the row's own value if that lies
            outside; `bounds={"income": (None, None)}` lifts this. For a column of categories a
            list of the categories that the cell may switch to; the cell may also stay as it
            is.
        directions : dict, optional
            Which way a column may go: "increase", "decrease" or "either" for numbers and
            dates, or "fixed". By default, a column whose direction the model promises (see
            `monotone`) only goes the way that helps, and other columns go either way.
        max_changes : int, optional
            The largest number of columns that may change.
        n_answers : int, default=1
            How many answers to look for. The further answers are in `others`. Each further
            answer keeps at least one column unchanged that every earlier answer changed.
        time_limit : float, default=60.0
            Seconds for each answer. If they are too few, the best answer found so far is
            returned.

        Returns
        -------
        Counterfactual

        Notes
        -----
        A missing number stays missing, and no cell becomes missing. A category may become any
        category that had a column of its own in training. Columns that no rule looks at never
        change.

        The search goes up to the cost at which the most expensive number could move 32
        standard deviations beyond its own distance from the mean, or to the end of `bounds`.
        Numbers that are scaled by quantiles go up to the end of their scale, because beyond it
        they change nothing. If there is no counterfactual up to that cost, `found` is False,
        `optimal` is True and `bound` is that cost, which is infinite if nothing lies beyond.

        Predictions are made in float32. So a counterfactual must lie a little beyond the
        decision boundary: by about 1e-6, in standard deviations and relative to the values of
        the rules, by more if that is not enough, or by less if a range is too narrow.
        `optimal` and `bound` hold for all rows: they come from a second program, whose goal is
        easier by as much as float32 could be wrong. If the costs of the two programs differ by
        more than 0.1 %, `optimal` is False.

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
        fitted = fitted_of(self)
        return counterfactual(
            fitted,
            table_or_row(self, x),
            engine_of(self),
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
            restrictions=settings_of(self._chosen()).restrictions(fitted.encoder, fitted.task),
        )

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
        """How much rules, columns or pairs of columns matter, with standard errors.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
        kind : {"rules", "columns", "pairs"}, default="columns"
            The importance of a rule is its mean absolute contribution. The importance of a
            column is how much the decision function changes when the cells of the column are
            replaced by those of other rows, relative to the variance of the decision function.
            The importance of a pair, among the ten most important columns, is what changes
            only if both columns are replaced together. For independent columns these are
            shares of the variance (total Sobol index, superset importance). For dependent
            columns they may exceed 1.
        n_resamples : int, default=100
            How often the rows are drawn with replacement, for the standard errors.
        max_rows : int or None, default=2000
            Of a table with more rows, take a random sample of this size.
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
        fitted, table = fitted_of(self), checked_table(self, X)
        return importances(
            fitted,
            table.shape[0],
            lambda rows: fitted.encoder.transform(_safe_indexing(table, rows)),
            engine_of(self),
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
        """How the output changes with single columns and with pairs of columns.

        The shape of a column is the mean output (log odds, a score for each class, or the
        target's units) over the rows of X while the column moves over its values and all other
        columns stay as they are. This is a partial dependence, and it is exact at the values
        that it is given for. Only rules that use the column move. ``parts`` has what each of
        these rules adds, and the parts sum to the shape.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
        columns : list of columns or pairs of columns, optional
            By default all columns that the model uses, those that move the output most first.
            A pair, for example ``("age", "income")``, gives a `PairShape`.
        n_values : int, default=50
            About how many numbers or dates to take: quantiles of X, equal steps between them,
            and the thresholds of rules that use no other column. If X has fewer values, all
            are taken. Categories are always all taken.
        max_rows : int or None, default=2000
            Of a table with more rows, take a random sample of this size.
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
        return shapes(
            fitted_of(self),
            checked_table(self, X),
            engine_of(self),
            columns,
            n_values=n_values,
            max_rows=max_rows,
            sample_weight=sample_weight,
            random_state=random_state,
        )

    @property
    def feature_importances_(self) -> np.ndarray:
        return column_shares(fitted_of(self))

    def check_monotone(
        self, monotone: Mapping[Any, Any] | None = None
    ) -> list[tuple[int, Any]]:
        """Prove from the rules alone that outputs are monotone in some columns.

        The proof holds for all rows without missing cells in these columns, seen or not. It
        uses signs only: in a rule that goes up with the column, the value, the weights and, if
        the rule is deep, the second layer must have signs that agree. For one of several
        classes the order of the values counts: the probability of a class is proven to rise if
        every rule adds most to this class where the rule goes up, and least where it goes
        down.

        Parameters
        ----------
        monotone : dict, optional
            Directions to prove, in the form of the parameter `monotone`. By default the
            directions that the model was trained with. Any model may be asked.

        Returns
        -------
        list of (rule, column)
            The places where the proof fails: numbers of rules in `network_`, and names of
            columns. Empty if the directions are proven.

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleRegressor
        >>> X = np.linspace(0, 6, 100)[:, None]
        >>> model = NeuralRuleRegressor(monotone={0: 1}, n_epochs=5, random_state=0)
        >>> model = model.fit(X, X[:, 0] + np.sin(X[:, 0]))
        >>> model.check_monotone()
        []
        """
        fitted = fitted_of(self)
        asked = self._chosen().monotone if monotone is None else monotone
        return unproven_directions(fitted.network, fitted.encoder, fitted.task, asked)

    def lineage_text(self) -> str:
        """What was done to the model since it grew: by whom, when, with which release.

        Files keep the lineage. `lineage_` has the same as records.

        Returns
        -------
        str
            One line for each time that the model was trained, simplified, rounded, edited or
            read from text, the first one first. Consecutive calls of `partial_fit` are one
            line.

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleClassifier
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
        >>> changed = model.edit(drop=[0])
        >>> for line in changed.lineage_text().splitlines():
        ...     print(line.partition(" UTC  ")[2].partition(" by ")[0])
        grown and trained
        edited
        """
        return lineage_text(fitted_of(self).lineage)

    @property
    def lineage_(self) -> tuple[Event, ...]:
        return self.fitted_.lineage
