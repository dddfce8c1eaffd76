"""What takes a fitted model elsewhere: files, and exports to other engines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from neuralrules._estimators._changeable import ChangeableModel
from neuralrules._reading._scorecard import ScoreCard

if TYPE_CHECKING:
    import onnx

    from neuralrules._export._extras import Extras
    from neuralrules._files import Told


class PortableModel(ChangeableModel):
    """Saved models; ONNX, SQL and Python."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the model into a file that `neuralrules.load` reads.

        The file is a safetensors file: arrays and plain text, nothing that could run. It
        holds all that was learned, so a loaded model predicts the same bit for bit, can be
        read and simplified, and can be trained further. Parameters that are no plain data
        (a RandomState, a splitter as `cv`) are left out with a warning.

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

        check_is_fitted(self)
        return save(self.fitted_, self._told(), path)

    def _told(self) -> Told:
        """What this estimator was told; a search adds what it found."""
        from neuralrules._files import Told

        defaults = type(self)().get_params(deep=False)
        return Told(self.get_params(deep=False), defaults)

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
        A model of an array of numbers has one input, ``X`` of shape (N, n_columns). One
        that was fitted on named columns or on categories has an input of shape (N, 1) for
        each column of the table, under its name: float64 for numbers, with NaN for missing
        ones, strings for categories. Dates are float64, too: days since 1970-01-01. There may
        be any number of rows but none.

        The outputs are what the model's own methods return. A classifier has ``label``,
        then ``probabilities`` (float32), or ``decision`` (float64) if its loss has no
        probabilities; a regressor has ``prediction`` (float64). A column that is named as
        another one, and an output that is named as a column, get an underscore after their
        name.

        The graph refuses what the model refuses: a number that is infinite or beyond 1.8e19,
        and a date that is given in another unit than days, such as seconds. ONNX has no
        operator for errors. So the graph asks for a row that does not exist (``Gather``), and
        the runtime stops with an error that says what was refused. Columns that no rule uses
        are not looked at.

        Examples
        --------
        >>> import numpy as np
        >>> from neuralrules import NeuralRuleClassifier
        >>> X = np.arange(40.0)[:, None]
        >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
        >>> [output.name for output in model.to_onnx().graph.output]
        ['label', 'probabilities']
        """
        from neuralrules._export import to_onnx

        check_is_fitted(self)
        return to_onnx(self.fitted_, missing_text=missing_text)

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
            The table's name as it is, without quotes, or a tuple of names such as
            ``("schema", "table")``. The table, or view, has the columns that the model
            uses, by their names in training (``x0``, ``x1``, ... for arrays).
        dialect : {"postgresql", "duckdb", "sqlite"}, default="postgresql"
        keep : sequence of str, default=()
            Columns of the table that the result shows before the predictions.
        reasons : int, optional
            At most so many reasons of each row, as `reasons` finds them, in the columns
            ``reason_1``, ``reason_2``, ...: sentences of what a rule asks; NULL for none.
        adverse : object, optional
            What the reasons are for, as in `reasons`.
        scorecard : ScoreCard or bool, default=False
            Count the points of a card of this model, or with True of `scorecard()`: the columns
            ``points`` and ``points_probability``, or ``points_prediction`` of a regression.

        Returns
        -------
        str
            One statement without a semicolon: a file of it runs as it is, and behind
            ``CREATE VIEW name AS`` it is a view.

        Notes
        -----
        A classifier's result has the column ``prediction`` and, for ``loss="logistic"``, for
        each class ``probability_<label>``; else ``decision``, or ``decision_<label>`` for more
        than two classes. Where labels make no names of at most 63 bytes that differ in more
        than case, the places of the classes stand for them. A regressor's has ``prediction``,
        or ``prediction_0``, ``prediction_1``, ... for several targets.

        NULL, and NaN in a column of numbers, is a missing value. Numbers may be of any numeric
        type or booleans. Categories are compared as text, byte by byte, with the blanks that
        pad PostgreSQL's ``CHAR(n)``; numbers among them also as databases write them, 1.0 for
        1, and booleans where the model knows ``True`` and ``False``. A column of numbers or
        dates may be text, too: what is no number or date stops the query, and in SQLite, whose
        columns hold anything, the usual texts for missing are missing. Numbers that the
        model refuses, infinite or beyond 1.8e19, are not refused.

        A filter on the result does not save scoring the other rows; name a view of the rows to
        score instead. PostgreSQL compiles long sums for minutes unless ``SET jit = off``.
        SQLite prepares a statement in time that grows with the square of the number of
        parameters, two seconds for 20,000, and needs its mathematical functions for
        probabilities, as most builds since 3.35 have them.

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
        from neuralrules._export import to_sql

        check_is_fitted(self)
        extras = self._extras(reasons, adverse, scorecard)
        return to_sql(self.fitted_, table, dialect=dialect, keep=keep, extras=extras)

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
            Add a function ``reasons(row)``: at most so many sentences, of the rules that
            `reasons` finds.
        adverse : object, optional
            What the reasons are for, as in `reasons`.
        scorecard : ScoreCard or bool, default=False
            Add ``points(row)`` by a card of this model, or with True by `scorecard()`; and
            ``points_probability(row)``, or ``points_prediction(row)`` of a regression.

        Returns
        -------
        str
            A module for Python 3.9 or later that imports nothing but ``math`` and, for dates,
            ``datetime`` and ``re``; write it as UTF-8. It has ``predict(row)``,
            ``decision(row)`` and, for a classifier of ``loss="logistic"``,
            ``predict_proba(row)``; a row is a dict from column names to values, None for
            missing ones. It computes in float64 with all digits of the model, and refuses
            cells that the model refuses.

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
        from neuralrules._export import to_python

        check_is_fitted(self)
        return to_python(self.fitted_, self._extras(reasons, adverse, scorecard))

    def _extras(self, reasons: Any, adverse: Any, scorecard: Any) -> Extras:
        """What an export is to answer beside predictions."""
        from neuralrules._export._extras import checked_extras

        if not isinstance(scorecard, bool | ScoreCard):
            raise TypeError(
                f"scorecard={scorecard!r} must be True, False, or what scorecard() returns."
            )
        card = self.scorecard() if scorecard is True else scorecard or None
        return checked_extras(self.fitted_, card, reasons, adverse)
