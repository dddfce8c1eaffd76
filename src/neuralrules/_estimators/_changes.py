"""Smaller, rounder and edited models by those who have read them, and what changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from neuralrules._compare._comparison import Comparison, check_comparable, comparison
from neuralrules._data._rows import Rows
from neuralrules._estimators._base import (
    NeuralRuleModel,
    checked_table,
    encoded_rows,
    engine_of,
    fitted_of,
    settings_of,
)
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._lineage import EDITED
from neuralrules._network._restricted import forbidden_columns
from neuralrules._simplify._edit import Edits, edited, edited_text, read_edits
from neuralrules._simplify._path import (
    TOLERANCE,
    SimplificationPath,
    check_tolerance,
    simplification_path,
)
from neuralrules._simplify._rounding import Rounding, rounding


class Changes(NeuralRuleModel):
    """Edited, simplified and rounded models. The model itself stays as it is."""

    def edit(
        self,
        *,
        drop: Iterable[int] = (),
        freeze: Iterable[int] = (),
        unfreeze: Iterable[int] = (),
        replace: Mapping[int, str] | None = None,
        values: Mapping[int, Any] | None = None,
        text: str | None = None,
    ) -> Any:
        """A fitted estimator with some rules changed by hand; this one stays as it is.

        Rules are named by their numbers in this model, which `rules_table` and `rules_text`
        show. `refit` then trains the rules that are not frozen.

        Parameters
        ----------
        drop : list of int, default=()
            Rules to leave out. The rules behind them move up.
        freeze : list of int, default=()
            Rules that further training may not change, neither their literals nor their values.
        unfreeze : list of int, default=()
            Rules that further training may change again.
        replace : dict from int to str, optional
            New conditions of rules, as in `expert_rules`. A new rule keeps the value of the
            rule that it replaces, and is frozen if that rule was.
        values : dict from int to float, optional
            New values of rules, in the units of the outputs; for several outputs a list for
            each rule.
        text : str, optional
            Instead of the other edits: the whole model as `exact_text` wrote it and a person
            changed it. Rules with unchanged literals keep their bits and stay frozen or free,
            wherever they stand in the text.

        Returns
        -------
        fitted estimator
            Of the same class; for a search, of the class whose candidates were compared, with
            the parameters that were chosen. It does not know its performance until it is
            refitted.

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleClassifier
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
        >>> changed = model.edit(replace={0: "x0 > 25"}, freeze=[0])
        >>> changed.rules_table().loc[0, "text"]
        'x0 > 25'
        """
        n_rules = fitted_of(self).network.n_rules
        edits = read_edits(n_rules, drop, freeze, unfreeze, replace, values)
        return edited_model(self, edits, text)

    def simplify(
        self,
        X: Any,
        y: Any,
        *,
        tolerance: float = TOLERANCE,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
    ) -> Self:
        """A smaller fitted estimator that is hardly worse; this one stays as it is.

        First, rules that never fire and literals that never decide are dropped. Then, step by
        step, the rules, literals and weights that matter least are dropped, and the rest is
        trained again after each step. The result is the smallest model that gives up at most
        a share `tolerance` of what this model gains over a constant, both on the rows given
        and on rows that the model has not seen.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            The rows to train the smaller model on, usually those of `fit`.
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
        tolerance : float, default=0.02
            The share of the gain over a constant that may be lost. The gain is the mean loss
            of the best constant prediction minus the mean loss of this model. So the tolerance
            means the same for a rare class, where the whole gain may be a log loss of 0.02, as
            for any other. If there is no gain, a warning says so and nothing may be lost.
        sample_weight : array-like of shape (n_rows,), optional
        X_val, y_val : optional
            Rows that the model has not seen. Without them, a twin of the model is fitted on
            four fifths of the rows and simplified too, and its losses on the last fifth
            count; that takes one more fit. An edited model needs `X_val` and `y_val`.

        Returns
        -------
        fitted estimator
            Of the same class. Frozen rules stay as they were. Further training may make
            weights that were dropped grow again.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from neuralrules import NeuralRuleClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = NeuralRuleClassifier(n_epochs=5, random_state=0).fit(X[:300], y[:300])
        >>> small = model.simplify(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
        >>> small.network_.n_rules < model.network_.n_rules
        True
        """
        check_tolerance(tolerance)
        path = self.simplification_path(
            X, y, sample_weight=sample_weight, X_val=X_val, y_val=y_val
        )
        return path.model(path.within(float(tolerance)))

    def simplification_path(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
    ) -> SimplificationPath:
        """Error against size, to pick a model from; `simplify` says how it is made.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
        sample_weight : array-like of shape (n_rows,), optional
        X_val, y_val : optional

        Returns
        -------
        SimplificationPath
            ``path.to_frame()`` is the table of steps, ``path.model(step)`` the fitted
            estimator of one, and ``path.knee()`` the smallest step whose error is within
            one standard error of the lowest.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from neuralrules import NeuralRuleClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = NeuralRuleClassifier(n_epochs=5, random_state=0).fit(X[:300], y[:300])
        >>> path = model.simplification_path(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
        >>> sizes = path.to_frame()["n_parameters"]
        >>> bool(sizes.iloc[-1] < sizes.iloc[0] / 10)
        True
        >>> path.model(path.knee()).network_.n_rules < model.network_.n_rules
        True
        """
        fitted = fitted_of(self)
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val belong together: give both or neither.")
        if X_val is None and any(event.what == EDITED for event in fitted.lineage):
            raise ValueError(
                "This model was edited by hand, and a twin that is fitted to measure on unseen "
                "rows would not have the edits. Give X_val and y_val, rows that the model has "
                "not seen."
            )
        given = encoded_rows(self, X, y, sample_weight)
        validation = None
        if X_val is not None:
            validation = encoded_rows(self, X_val, y_val)

        def fit_twin(rest: np.ndarray) -> tuple[Fitted, Rows]:
            twin = self._unfitted_twin()
            weights = None if sample_weight is None else given.weights[rest]
            twin.fit(_safe_indexing(X, rest), _safe_indexing(y, rest), weights)
            if twin.interrupted_:
                raise KeyboardInterrupt
            return twin.fitted_, encoded_rows(twin, X, y, sample_weight)

        settings = dataclasses.replace(
            settings_of(self._chosen()),
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=self.verbose,
        )
        return simplification_path(
            fitted,
            given,
            validation,
            fit_twin=fit_twin,
            settings=settings,
            estimator_of=self._with,
        )

    def round_numbers(
        self,
        X: Any,
        y: Any,
        *,
        precision: int | str = 2,
        tolerance: float = TOLERANCE,
        sample_weight: Any = None,
    ) -> Rounding:
        """The model with the numbers that its text shows, and how much accuracy that costs.

        Thresholds, factors and values are rounded to the digits that
        `rules_text(precision=...)` prints, so that the text is what is computed. The intercept
        and frozen rules are not rounded.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            Rows to measure the cost on, if possible rows that the model has not seen. The new
            model measures its rules on these rows, because the counts of the training rows
            are those of the rules before rounding. Its texts and its report say so.
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
        precision : int or "friendly", default=2
            Significant digits. A column far from zero gets more digits, for the same accuracy.
            With "friendly" every threshold goes to the roundest number nearby: a multiple of
            1, 2, 2.5 or 5 times a power of ten, a whole number for columns of whole numbers,
            the first day of a year, quarter or month for dates. Factors and values get few
            digits. The cost decides how near the thresholds stay and how many digits there
            are.
        tolerance : float, default=0.02
            With "friendly": the share of the gain over a constant that may be lost on the
            rows given, as in `simplify`.
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        Rounding
            With the new estimator `model`, its mean `loss`, the `loss_before`, and the
            `precision` with which `rules_text` shows all digits of the new model.

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleRegressor
        >>> X = np.linspace(0, 60_000, 500)[:, None]
        >>> model = NeuralRuleRegressor(max_rules=1, n_epochs=5).fit(X, X[:, 0] > 31_234)
        >>> rounding = model.round_numbers(X, X[:, 0] > 31_234, precision="friendly")
        >>> rounding.precision < 4
        True
        """
        fitted, engine = fitted_of(self), engine_of(self)
        rows = encoded_rows(self, X, y, sample_weight)
        rounded = rounding(fitted, rows, engine, precision, tolerance)
        return rounded._replace(model=self._with(rounded.model))


def edited_model(model: Any, edits: Edits, text: str | None) -> Any:
    """A fitted estimator with some rules changed, as `Changes.edit` says."""
    chosen = model._chosen()
    origin = dataclasses.replace(model.fitted_, estimator=type(chosen).__name__)
    if text is None:
        changed, summary = edited(origin, edits, chosen.start), str(edits)
    elif any(edits):
        raise ValueError("text is the whole model. Give text alone, or other edits.")
    else:
        changed, summary = edited_text(origin, text)
    result = chosen._with(changed.after(EDITED, summary))
    result.set_params(loss=changed.task.loss.name, deep=changed.network.deep)
    if edits.replace or edits.values or text is not None:
        check_promises(result)
    return result


def check_promises(model: Any) -> None:
    """Refuse an edited model with a rule that the parameters of the model forbid.

    Otherwise further training would silently take back what was written.
    """
    asked = settings_of(model).restrictions(model.encoder_, model.fitted_.task)
    if asked is None:
        return
    for rule, place in forbidden_columns(model.network_, asked):
        option = "exclude" if asked.excluded[place] else "interactions"
        beside = "" if option == "exclude" else " beside its other columns"
        raise ValueError(
            f"With these edits, rule {rule} of the new model breaks a promise: it looks at "
            f"{asked.names[place]!r}{beside}, against {option}={getattr(model, option)!r}. "
            "Leave the column out of the rule, or drop the restriction first: "
            f"model.set_params({option}=None)."
        )
    if model.monotone is not None and (broken := model.check_monotone()):
        rule, column = broken[0]
        raise ValueError(
            f"With these edits, rule {rule} of the new model breaks a promise: with its value, "
            f"the rule goes against monotone={model.monotone!r} in {column!r}. Change the sign "
            "of the value with values=, rewrite the rule, or drop the restriction first: "
            "model.set_params(monotone=None)."
        )


def compare(
    model_a: Any, model_b: Any, X: Any = None, y: Any = None, *, sample_weight: Any = None
) -> Comparison:
    """What changed between two models, rule by rule and row by row.

    Rules are the same if their numbers are, wherever they stand. A rule that changed is
    recognised by its conditions, by the leaf it grew from or, of rules about the same columns,
    as the nearest one; the comparison says which.

    Parameters
    ----------
    model_a, model_b : fitted estimators
        A and B, of the same columns and the same target.
    X : array-like or frame of shape (n_rows, n_columns), optional
        Rows to compare on: which change class, by how much, and by which rules.
    y : array-like of shape (n_rows,) or (n_rows, n_targets), optional
        Their targets, to say how good both are.
    sample_weight : array-like of shape (n_rows,), optional
        What each row counts in means; which rows change is told of all.

    Returns
    -------
    Comparison
        Prints as text; ``to_html(path)`` writes it as a page, ``to_frame()`` has all rules.

    Examples
    --------
    >>> import numpy as np
    >>> from neuralrules import NeuralRuleClassifier, compare
    >>> X = np.arange(40.0)[:, None]
    >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
    >>> changed = model.edit(values={0: 0.0})
    >>> [(rule.first, rule.kind) for rule in compare(model, changed).rules]
    [(0, 'changed'), (1, 'same')]
    """
    models = model_a, model_b
    for name, model in zip(("model_a", "model_b"), models, strict=True):
        if not isinstance(model, NeuralRuleModel):
            raise TypeError(
                f"{name} must be a fitted estimator of neuralrules, got "
                f"{type(model).__name__}. Read a file with neuralrules.load."
            )
        check_is_fitted(model)
    if X is None and y is not None:
        raise ValueError("y was given without X. Give both to measure on, or neither.")
    if y is None and sample_weight is not None:
        raise ValueError(
            "sample_weight was given without X and y: there are no rows to weight. Give all "
            "three, or no sample_weight."
        )
    check_comparable(model_a.fitted_, model_b.fitted_)
    encoded: Any = None
    rows: Any = None
    if y is not None:
        rows = tuple(encoded_rows(model, X, y, sample_weight) for model in models)
        encoded = tuple(own.X for own in rows)
    elif X is not None:
        encoded = tuple(
            model.fitted_.encoder.transform(checked_table(model, X)) for model in models
        )
    engines = engine_of(model_a), engine_of(model_b)
    return comparison(model_a.fitted_, model_b.fitted_, engines, encoded, rows)
