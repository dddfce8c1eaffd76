"""What a person asks of a fitted model: methods that call the functions that answer."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from neuralrules._data._one_row import as_table
from neuralrules._estimators._measured import MeasuredModel
from neuralrules._fitted._activity import measure
from neuralrules._reading._exact import exact_text
from neuralrules._reading._explain import Explanation, explain
from neuralrules._reading._reasons import Reasons, reasons
from neuralrules._reading._rules_table import rules_table
from neuralrules._reading._sentences import rules_sentences
from neuralrules._reading._text import rules_text

SHOWN_TERMS = 3  # columns of a literal in texts, unless a model may have more


class ReadableModel(MeasuredModel):
    """Rules, explanations, reasons."""

    max_terms: int | None

    def rules_text(
        self,
        *,
        max_rules: int | None = None,
        precision: int = 3,
        max_terms: int | None = None,
        style: str = "conditions",
    ) -> str:
        """The rules for people to read, in the table's column names and units.

        Parameters
        ----------
        max_rules : int or None, default=None
            How many rules, the most important ones first; in sentences those before them that
            speak for the rarest class.
        precision : int, default=3
            Significant digits.
        max_terms : int or None, default=None
            Columns shown in one literal, those of largest weight; "…" stands for the
            others, which are taken at their means. None means 3, or as many as the
            estimator's own `max_terms` allows.
        style : {"conditions", "sentences"}, default="conditions"
            Inequalities that can be checked on a row, or sentences for those who decide
            whether to use the model: whom a rule concerns, what was seen of them in training,
            what it adds, and how that grows. Sentences round to what the rows can tell, and
            leave out rules that concern no row or add nothing.

        Returns
        -------
        str
            For each rule its value, the tree leaf it started as and the inequalities
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
        check_is_fitted(self)
        if style not in ("conditions", "sentences"):
            raise ValueError(f"style={style!r} must be 'conditions' or 'sentences'.")
        wording: dict[str, Any] = {
            "max_rules": max_rules,
            "precision": precision,
            "max_terms": self._shown_terms(max_terms),
        }
        if style == "sentences":
            return rules_sentences(self.fitted_, **wording)
        return rules_text(self.fitted_, **wording)

    def _shown_terms(self, asked: int | None) -> int:
        """So many columns of a literal as asked for, or as the model may have."""
        return max(SHOWN_TERMS, self.max_terms or 0) if asked is None else asked

    def exact_text(self) -> str:
        """The whole model as text that loses nothing: `read_rules` turns it back.

        In the table's column names and units, with every digit. It holds no code, so a
        text from a stranger can do no harm. What is read back predicts the same to the
        rounding of float32, unless a column lies more than about 1e10 of its deviations
        from zero: there float64 itself runs out of digits.

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
        check_is_fitted(self)
        return exact_text(self.fitted_)

    def rules_table(
        self,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: Any = None,
        precision: int = 3,
        max_terms: int | None = None,
    ) -> Any:
        """All rules as a pandas frame, the most important ones first.

        Parameters
        ----------
        X, y : optional
            Rows to measure the rules on; without them they are the training rows.
        sample_weight : array-like of shape (n_rows,), optional
        precision : int, default=3
            Significant digits of the texts.
        max_terms : int or None, default=None
            Columns shown in one literal.

        Returns
        -------
        DataFrame
            One line a rule: ``text`` and the ``tree_rule`` it grew from; ``value`` (for
            several outputs ``value_<name>``); ``rows`` and ``share`` of the rows that it
            covers; the ``class`` that it speaks for with its ``precision`` and ``lift``
            among them (for a regression their ``mean`` target, and its ``lift`` above
            that of all rows); ``margin_score`` (equation 8); ``importance``, its mean
            absolute contribution; ``n_literals`` and ``n_weights`` other than zero; and
            how far training moved it: the ``angles`` in degrees between each literal and
            its tree split, the largest ``angle``, and the ``overlap`` of the rows that it
            covers with those of its leaf (rows in both over rows in either).

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleClassifier
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
        >>> model.rules_table()["text"].tolist()
        ['x0 < 19.5', 'x0 > 19.5']
        """
        check_is_fitted(self)
        if (X is None) != (y is None):
            raise ValueError(
                "X and y belong together: give both, or neither for the training rows."
            )
        if X is None and sample_weight is not None:
            raise ValueError(
                "sample_weight was given without X and y: there are no rows to weight. Give "
                "all three, or no sample_weight."
            )
        fitted, activity = self.fitted_, self.fitted_.activity
        if X is not None:
            rows = self._rows(self._check_columns(X, reset=False), y, sample_weight)
            activity = measure(fitted.network, fitted.rules, rows, self._engine())
        shown = self._shown_terms(max_terms)
        return rules_table(fitted, activity, precision=precision, max_terms=shown)

    def explain(self, X: Any) -> Explanation:
        """Which rules fire on each row, what they contribute, and what limits them.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            Or one row alone: a dict or Series by column names, or a list of values.

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
        table = self._check_rows(X)
        return explain(self.fitted_, table, self._engine())

    def reasons(self, X: Any, k: int = 4, *, adverse: Any = None) -> Reasons:
        """What speaks for an adverse outcome of each row, in sentences, the strongest first.

        A rule is a reason by how much worse it leaves the row than the average row of
        training. Rules that fire and speak for the adverse outcome, and rules that would speak
        against it but do not fire, with what the row lacks for them.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            Or one row alone: a dict or Series by column names, or a list of values.
        k : int, default=4
            At most so many reasons a row.
        adverse : object, optional
            The class to give reasons for; by default the rarest one in training. For a
            regression "high", the default, or "low".

        Returns
        -------
        Reasons
            Prints as sentences; ``to_frame()`` is the table, and ``explanation`` has all
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
        table = self._check_rows(X)
        return reasons(self.fitted_, table, self._engine(), k, adverse)

    def _check_rows(self, X: Any) -> Any:
        """A checked table; one row alone may also come as a dict, a Series or a list."""
        check_is_fitted(self)
        return self._check_columns(as_table(self.fitted_.encoder, X), reset=False)
