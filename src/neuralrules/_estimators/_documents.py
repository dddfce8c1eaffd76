"""What a fitted model hands out: score cards, reports, files, and exports to other engines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralrules._estimators._base import (
    NeuralRuleModel,
    checked_table,
    encoded_rows,
    engine_of,
    fitted_of,
    measured_rows,
    table_or_row,
)
from neuralrules._reading._scorecard import ScoreCard, scorecard
from neuralrules._report import ReportRows, check_given, report
from neuralrules._simplify._path import SimplificationPath

if TYPE_CHECKING:
    import onnx

    from neuralrules._export._extras import Extras
    from neuralrules._files import Configuration


class Documents(NeuralRuleModel):
    """Score cards, HTML reports, model files, and exports to ONNX, SQL and Python."""

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

        A score card needs a model of two classes, or of one number.

        Parameters
        ----------
        X, y : optional
            Rows to measure how much accuracy whole points cost, if possible rows that the
            model has not seen. If the model was edited or read from text, it remembers no
            training rows, and these rows also say how strongly its rules fire.
        points_to_double : float, default=20
            How many points double the odds against the adverse class. For classes only.
        base : int, default=600
            Points of a row on which no rule fires. For classes only: a regression starts at
            its intercept.
        unit : float, optional
            The value of one point, for a regression. By default the largest power of ten that
            is at most a tenth of the standard deviation of the target.
        levels : int, optional
            The number of levels that the activation of each rule is cut into, for a card on
            paper. By default, points are proportional to the activation, which costs less
            accuracy.
        adverse : object, optional
            The class that takes points away; by default the rarest class in training.
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        ScoreCard
            Prints as text. ``to_html(path)`` writes it as a page. ``points(X)`` scores rows,
            and ``probability(points)`` (for a regression ``prediction``) turns points into a
            prediction.

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
        return scorecard(
            fitted_of(self),
            measured_rows(self, X, y, sample_weight),
            engine_of(self),
            lambda table: table_or_row(self, table),
            points_to_double=points_to_double,
            base=base,
            unit=unit,
            levels=levels,
            adverse=adverse,
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

        The page shows the performance (for two classes at any threshold), the importance and
        the shapes of columns, the error against the size, and all rules. A panel predicts for
        cells that the reader types, and gives reasons; the model itself is in the page and
        computes them. The page loads nothing from anywhere else.

        Parameters
        ----------
        path : str or path
            The file to write. An old file stays until the new one is complete.
        X, y : optional
            Rows to measure on, if possible rows that the model has not seen. By default the
            training rows. X without y serves only the importance and the shapes of columns,
            and the panel. The page says which rows it used.
        sample_weight : array-like of shape (n_rows,), optional
        title : str, optional
        simplification : SimplificationPath, optional
            Adds a chart of the error against the number of parameters.
        n_examples : int, default=0
            How many rows of X become part of the page, for readers to load into the panel.
            By default none, because a page that is passed on should not contain personal data.

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
        return report(
            fitted_of(self),
            path,
            self._given(X, y, sample_weight, n_examples),
            engine_of(self),
            title=title,
            simplification=simplification,
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the model into a file that `neuralrules.load` reads.

        The file is a safetensors file: arrays and plain text, but no code. It holds all that
        was learned. So a loaded model predicts the same, bit for bit, and can be read,
        simplified and trained further. Parameters that are not plain data (a RandomState, a
        splitter as `cv`) are left out with a warning.

        Parameters
        ----------
        path : str or path
            The file to write, by convention ``*.nrules``. An old file stays until the new
            one is complete.

        Returns
        -------
        pathlib.Path
            The file written.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleClassifier, load
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     again = load(model.save(Path(folder) / "model.nrules"))
        >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
        True
        """
        from neuralrules._files import save

        return save(fitted_of(self), configuration_of(self), path)

    def to_onnx(self, *, missing_text: str = "") -> onnx.ModelProto:
        """The whole model, from raw columns to predictions, as an ONNX graph.

        Encoding and imputation are part of it; all operators are standard ones.

        Parameters
        ----------
        missing_text : str, default=""
            The text of a cell that is missing, because ONNX has no missing strings.

        Returns
        -------
        onnx.ModelProto
            ``onnx.save`` writes it, its ``SerializeToString()`` is what onnxruntime loads.
            Its ``doc_string`` states the size.

        Notes
        -----
        A model of an array of numbers has one input, ``X`` of shape (N, n_columns). A model
        that was fitted on named columns or on categories has an input of shape (N, 1) for
        each column of the table, under the column's name: float64 for numbers, with NaN for
        missing ones, and strings for categories. Dates are float64 too: days since
        1970-01-01. There must be at least one row.

        The outputs are what the model's own methods return. A classifier has ``label``,
        then ``probabilities`` (float32), or ``decision`` (float64) if its loss has no
        probabilities. A regressor has ``prediction`` (float64). If two columns, or a column
        and an output, have the same name, the second one gets an underscore after its name.

        The graph refuses what the model refuses: a number that is infinite or beyond 1.8e19,
        and a date in another unit than days, such as seconds. ONNX has no operator for
        errors. So the graph asks for a row that does not exist (``Gather``), and the runtime
        stops with an error that says what was refused. Columns that no rule uses are not
        checked.

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleClassifier
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
        >>> [output.name for output in model.to_onnx().graph.output]
        ['label', 'probabilities']
        """
        from neuralrules._export._onnx import to_onnx

        return to_onnx(fitted_of(self), missing_text=missing_text)

    def to_sql(
        self,
        table: str | tuple[str, ...],
        *,
        dialect: str = "postgresql",
        keep: Sequence[str] = (),
        reasons: int | None = None,
        adverse: Any = None,
        scorecard: ScoreCard | bool = False,
    ) -> str:
        """One SELECT that scores every row of a table in a database.

        Parameters
        ----------
        table : str or tuple of str
            The table's name without quotes, or a tuple of names such as
            ``("schema", "table")``. The table, or view, has the columns that the model
            uses, by their names in training (``x0``, ``x1``, ... for arrays).
        dialect : {"postgresql", "duckdb", "sqlite"}, default="postgresql"
        keep : sequence of str, default=()
            Columns of the table that the result shows before the predictions.
        reasons : int, optional
            The largest number of reasons of a row, as the method `reasons` finds them, in the
            columns ``reason_1``, ``reason_2``, ...: sentences that say what a rule asks, or
            NULL.
        adverse : object, optional
            The class to give reasons for, as in the method `reasons`.
        scorecard : ScoreCard or bool, default=False
            A score card of this model, or True for `scorecard()`: adds the columns ``points``
            and ``points_probability``, or ``points_prediction`` for a regression.

        Returns
        -------
        str
            One statement without a semicolon. A file with this text runs as it is, and after
            ``CREATE VIEW name AS`` it makes a view.

        Notes
        -----
        A classifier's result has the column ``prediction``. With ``loss="logistic"`` it also
        has ``probability_<label>`` for each class; with other losses ``decision``, or
        ``decision_<label>`` for more than two classes. If the labels do not make names of at
        most 63 bytes that differ in more than case, the numbers of the classes stand in their
        place. A regressor's result has ``prediction``, or ``prediction_0``,
        ``prediction_1``, ... for several targets.

        NULL is a missing value, and so is NaN in a column of numbers. Numbers may be of any
        numeric type, or booleans. Categories are compared as text, byte by byte, with the
        blanks that pad PostgreSQL's ``CHAR(n)``. Numbers among categories are also recognised
        as databases write them, 1.0 for 1, and booleans if the model knows ``True`` and
        ``False``. A column of numbers or dates may also be text: a text that is not a number
        or date stops the query. In SQLite, whose columns hold anything, the usual texts for
        missing values are missing. Numbers that the model refuses, infinite or beyond 1.8e19,
        are not refused.

        A filter on the result does not avoid scoring the other rows. To score fewer rows, name
        a view of them. PostgreSQL compiles long sums for minutes unless ``SET jit = off``.
        SQLite prepares a statement in time that grows with the square of the number of
        parameters, two seconds for 20,000. For probabilities, SQLite needs its mathematical
        functions, which most builds since 3.35 have.

        Examples
        --------
        >>> import sqlite3
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleRegressor
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleRegressor(1, n_trees=1, n_epochs=0).fit(X, X[:, 0])
        >>> database = sqlite3.connect(":memory:")
        >>> _ = database.execute("CREATE TABLE new_rows AS SELECT 5.0 AS x0")
        >>> ((prediction,),) = database.execute(model.to_sql("new_rows", dialect="sqlite"))
        >>> bool(np.isclose(prediction, model.predict([[5.0]])[0]))
        True
        >>> database.close()
        """
        from neuralrules._export._sql import to_sql

        fitted, extras = fitted_of(self), self._extras(reasons, adverse, scorecard)
        return to_sql(fitted, table, dialect=dialect, keep=keep, extras=extras)

    def to_python(
        self,
        *,
        reasons: int | None = None,
        adverse: Any = None,
        scorecard: ScoreCard | bool = False,
    ) -> str:
        """One Python module that predicts and needs no package at all.

        Parameters
        ----------
        reasons : int, optional
            The largest number of reasons of a row: adds a function ``reasons(row)`` that
            returns sentences about the rules that the method `reasons` finds.
        adverse : object, optional
            The class to give reasons for, as in the method `reasons`.
        scorecard : ScoreCard or bool, default=False
            A score card of this model, or True for `scorecard()`: adds ``points(row)`` and
            ``points_probability(row)``, or ``points_prediction(row)`` for a regression.

        Returns
        -------
        str
            A module for Python 3.9 or later that imports only ``math`` and, for dates,
            ``datetime`` and ``re``. Write it as UTF-8. It has ``predict(row)``,
            ``decision(row)`` and, for a classifier with ``loss="logistic"``,
            ``predict_proba(row)``. A row is a dict from column names to values, with None for
            missing values. The module computes in float64 with all digits of the model, and
            refuses the cells that the model refuses.

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleClassifier
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
        >>> module = {}
        >>> exec(model.to_python(), module)
        >>> module["predict"]({"x0": 25.0})
        True
        """
        from neuralrules._export._python import to_python

        return to_python(fitted_of(self), self._extras(reasons, adverse, scorecard))

    def _extras(self, reasons: Any, adverse: Any, scorecard: Any) -> Extras:
        """The answers of an export beside its predictions."""
        from neuralrules._export._extras import checked_extras

        if not isinstance(scorecard, bool | ScoreCard):
            raise TypeError(
                f"scorecard={scorecard!r} must be True, False, or what scorecard() returns."
            )
        card = self.scorecard() if scorecard is True else scorecard or None
        return checked_extras(fitted_of(self), card, reasons, adverse)

    def _given(self, X: Any, y: Any, sample_weight: Any, n_examples: int) -> ReportRows:
        """The rows of a report, encoded once for everything that is measured on them."""
        fitted = fitted_of(self)
        check_given(X, y, sample_weight, n_examples)
        weighted = sample_weight is not None or getattr(self, "class_weight", None) is not None
        if X is None:
            if not fitted.performance.n_rows:
                raise ValueError(
                    f"This model was {fitted.why_no_rows} and remembers no rows. Give X and y "
                    "to report on."
                )
            return ReportRows(weighted=weighted)
        table = checked_table(self, X)
        if y is None:
            encoded = fitted.encoder.transform(table)
            return ReportRows(table, encoded=encoded, weighted=weighted, n_examples=n_examples)
        rows = encoded_rows(self, table, y, sample_weight)
        return ReportRows(table, y, rows.X, rows, sample_weight, weighted, n_examples)


def configuration_of(model: NeuralRuleModel) -> Configuration:
    """What a file says of an estimator beside what the estimator has learned."""
    from neuralrules._files import Configuration

    defaults = type(model)().get_params(deep=False)
    searched = ("candidates_", "best_index_", "cv_scores_")
    found = (getattr(model, name, None) for name in searched)
    return Configuration(model.get_params(deep=False), defaults, *found)
