"""Changes of a model by those who have read it: smaller, rounder, edited, and checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted

from neuralrules._data._restrictions import Restrictions, restrictions_of
from neuralrules._data._rows import Rows
from neuralrules._estimators._presentable import PresentableModel
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._lineage import EDITED, ROUNDED, Event, counted, lineage_text
from neuralrules._network._restricted import forbidden_columns, violations
from neuralrules._reading._text import check_counts
from neuralrules._simplify._edit import edited, edits_text, read_edits
from neuralrules._simplify._edit_text import edited_text
from neuralrules._simplify._friendly import friendly_network
from neuralrules._simplify._path import (
    TOLERANCE,
    SimplificationPath,
    check_tolerance,
    simplification_path,
)
from neuralrules._simplify._rounding import Rounding, rounded_network, shown_precision
from neuralrules._training._training import Plan, mean_loss


class ChangeableModel(PresentableModel):
    """Smaller, rounder and edited models, what was done, and proof of what was promised."""

    @property
    def lineage_(self) -> tuple[Event, ...]:
        return self.fitted_.lineage

    def lineage_text(self) -> str:
        """What was done to the model since it grew: by whom, when, with which release.

        Files keep it. `lineage_` has the same as records.

        Returns
        -------
        str
            One line for each time that it was trained, simplified, rounded, edited or read
            from text, the first one first. Calls of `partial_fit` after each other are one.

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
        check_is_fitted(self)
        return lineage_text(self.fitted_.lineage)

    def check_monotone(
        self, monotone: Mapping[Any, Any] | None = None
    ) -> list[tuple[int, Any]]:
        """Prove from the rules alone that outputs are monotone in some columns.

        The proof is of all rows without missing cells in these columns, seen or not. It looks
        at signs only: a rule that goes up where the column does must have a value, weights
        and, if it is deep, a second layer of signs that agree. For one of several classes it
        is the order of the values that counts: the probability of a class is proven to rise
        by rules that add most to this class where they go up, and least where they go down.

        Parameters
        ----------
        monotone : dict, optional
            Directions to prove, as the parameter of this name; by default those that the model
            was trained with. Any model may be asked.

        Returns
        -------
        list of (rule, column)
            What stands against it: places of rules in `network_`, and names of columns.
            Empty if it is proven.

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleRegressor
        >>> X = np.linspace(0, 6, 100)[:, None]
        >>> model = NeuralRuleRegressor(monotone={0: 1}, n_epochs=5).fit(X, np.sin(X[:, 0]))
        >>> model.check_monotone()
        []
        """
        check_is_fitted(self)
        chosen = self._chosen().monotone if monotone is None else monotone
        if chosen is None:
            raise ValueError(
                "This model was fitted with monotone=None and promises nothing. Say what to "
                f"prove, for example monotone={{{self.encoder_.names[0]!r}: 1}}."
            )
        encoder = self.encoder_
        asked = restrictions_of(
            encoder, self.fitted_.task, monotone=chosen, interactions=None, exclude=None
        )
        assert asked is not None  # since something is asked
        return [
            (rule, encoder.names[encoder.columns[column].source])
            for rule, column in violations(
                self.network_, asked.directions, relative=asked.relative
            )
        ]

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

        Rules are named by their numbers in this model, as `rules_table` and `rules_text` show
        them. `refit` then trains what is not frozen.

        Parameters
        ----------
        drop : list of int, default=()
            Rules to leave out. Those behind them move up.
        freeze : list of int, default=()
            Rules that no training changes any more, neither their literals nor their values.
        unfreeze : list of int, default=()
            Rules that are free again.
        replace : dict from int to str, optional
            Rules to write anew, as in `expert_rules`. They keep the value of the rule that
            they replace, and stay as frozen or free.
        values : dict from int to float, optional
            Values of rules in the units of the outputs; for several outputs a list each.
        text : str, optional
            Instead of all these, the whole model as `exact_text` wrote it and a person changed
            it. Rules whose literals are as they were keep their bits, and stay as frozen or
            free, wherever they stand in the text.

        Returns
        -------
        fitted estimator
            Of the same class; of a search, of the class that it compared, with the
            parameters that it chose. It does not know how good it is before it is refitted.

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
        check_is_fitted(self)
        n_rules = self.fitted_.network.n_rules
        edits = read_edits(n_rules, drop, freeze, unfreeze, replace, values)
        chosen = self._chosen()
        origin = dataclasses.replace(self.fitted_, estimator=type(chosen).__name__)
        if text is None:
            changed, summary = edited(origin, edits, chosen.start), edits_text(edits)
        elif any(edits):
            raise ValueError("text says the whole model. Give it alone, or other edits.")
        else:
            changed, summary = edited_text(origin, text)
        model = chosen._with(changed.after(EDITED, summary))
        model.set_params(loss=changed.task.loss.name, deep=changed.network.deep)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        if edits.replace or edits.values or text is not None:
            check_promises(model)
        return model

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

        Rules that never fire and literals that never decide are dropped, then, step by
        step, the rules, literals and weights that matter least, with the rest trained
        again after each step. The smallest model wins that has given up no more than a share
        `tolerance` of what this one knows, both on the rows given and on rows that the model
        has not seen.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            As a rule the rows of `fit`: the smaller model is trained on them.
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
        tolerance : float, default=0.02
            The share that may be lost of the gain over a constant: of the mean loss of the
            best constant prediction less that of this model. So it means as much for a rare
            class, where the whole gain may be a log loss of 0.02, as for any other. Where
            there is no gain, a warning says so and nothing more may be lost.
        sample_weight : array-like of shape (n_rows,), optional
        X_val, y_val : optional
            Rows that the model has not seen. Without them a twin is fitted on four
            fifths of the rows and simplified too, and what it loses on the last fifth
            counts; that takes one more fit. An edited model needs them.

        Returns
        -------
        fitted estimator
            Of the same class. Training it further lets its zeros grow again. Frozen rules
            are in it as they were.

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
        check_is_fitted(self)
        if (X_val is None) != (y_val is None):
            raise ValueError("X_val and y_val belong together: give both or neither.")
        if X_val is None and any(event.what == EDITED for event in self.fitted_.lineage):
            raise ValueError(
                "This model was edited by hand, and a twin that is fitted to measure on unseen "
                "rows would be without the edits. Give X_val and y_val, rows that the model "
                "has not seen."
            )
        given = self._rows(self._check_columns(X, reset=False), y, sample_weight)
        validation = None
        if X_val is not None:
            validation = self._rows(self._check_columns(X_val, reset=False), y_val, None)

        def fit_twin(rest: np.ndarray) -> tuple[Fitted, Rows]:
            twin = self._unfitted_twin()
            weights = None if sample_weight is None else given.weights[rest]
            twin.fit(_safe_indexing(X, rest), _safe_indexing(y, rest), weights)
            if twin.interrupted_:
                raise KeyboardInterrupt
            table = twin._check_columns(X, reset=False)
            return twin.fitted_, twin._rows(table, y, sample_weight)

        def plan_for(n_rows: int) -> Plan:
            chosen = self._chosen()
            return chosen._plan(given.task, n_rows, chosen._course())

        def restrictions_for(fitted: Fitted) -> Restrictions | None:
            return self._chosen()._restrictions(fitted.encoder, fitted.task)

        return simplification_path(
            self.fitted_,
            given,
            validation,
            fit_twin=fit_twin,
            plan_for=plan_for,
            restrictions_for=restrictions_for,
            engine=self._engine(),
            random_state=check_random_state(self.random_state),
            estimator_of=self._with,
            verbose=bool(self.verbose),
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
        """The model with the numbers that its text shows, and what that costs.

        Thresholds, factors and values get the digits that `rules_text(precision=...)`
        prints, so that what is printed is what is computed. Where every row starts from is
        not rounded, and what is frozen stays as it is.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            Rows to measure the cost on, best such as the model has not seen. Counts of the
            training rows would not be those of the rounded rules, so what the new model
            tells of rows is of these, and its texts and its report say so.
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
        precision : int or "friendly", default=2
            Significant digits; a column far from zero gets more, for the same accuracy.
            With "friendly" every threshold goes to the roundest number nearby: a multiple of
            1, 2, 2.5 or 5 times a power of ten, a whole number for columns of whole numbers,
            the first of a year, quarter or month for dates; factors and values get few
            digits. How near and how few is chosen by the cost.
        tolerance : float, default=0.02
            With "friendly": the share of the gain over a constant that may be lost on the
            rows given, as in `simplify`.
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        Rounding
            With the new estimator `model`, its mean `loss` and the `loss_before`, and the
            `precision` with which `rules_text` shows all of its digits.

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
        check_is_fitted(self)
        check_tolerance(tolerance)
        if not isinstance(precision, str):
            check_counts(precision=precision)
        elif precision != "friendly":
            raise ValueError(
                f"precision={precision!r} must be a number of digits, or 'friendly'."
            )
        rows = self._rows(self._check_columns(X, reset=False), y, sample_weight)
        engine, fitted = self._engine(), self.fitted_
        if isinstance(precision, str):
            network = friendly_network(fitted, rows, engine, float(tolerance))
        else:
            network = rounded_network(fitted, precision)
        loss, before = (
            mean_loss(one, rows, np.arange(len(rows), dtype=np.int32), engine)
            for one in (network, fitted.state.network)
        )
        rounded = fitted.with_network(network, fitted.rules, rows, engine)
        if isinstance(precision, str):
            shown, how = shown_precision(rounded), "to friendly numbers"
        else:
            shown, how = precision, f"to {counted(int(precision), 'significant digit')}"
        return Rounding(self._with(rounded.after(ROUNDED, how)), loss, before, shown)


def check_promises(model: Any) -> None:
    """Refuse an edited model whose rules do what its parameters forbid.

    Training would else take back in silence what was written.
    """
    asked = model._restrictions(model.encoder_, model.fitted_.task)
    if asked is None:
        return
    for rule, place in forbidden_columns(model.network_, asked):
        option = "exclude" if asked.excluded[place] else "interactions"
        beside = "" if option == "exclude" else " beside its other columns"
        raise ValueError(
            f"So changed, rule {rule} of the new model breaks a promise: it looks at "
            f"{asked.names[place]!r}{beside}, against {option}={getattr(model, option)!r}. "
            f"Leave the column out of the rule, or this model first set_params({option}=None)."
        )
    if model.monotone is not None and (broken := model.check_monotone()):
        rule, column = broken[0]
        raise ValueError(
            f"So changed, rule {rule} of the new model breaks a promise: with its value, "
            f"what it says of {column!r} is against monotone={model.monotone!r}. Give it "
            "a value of the other sign by values, other words, or this model first "
            "set_params(monotone=None)."
        )
