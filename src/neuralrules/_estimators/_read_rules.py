"""Rules read from text: a plain reading of it, or a fitted estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralrules._estimators._classifier import NeuralRuleClassifier
from neuralrules._estimators._regressor import NeuralRuleRegressor
from neuralrules._fitted._lineage import READ
from neuralrules._reading._exact import read_exact
from neuralrules._reading._from_text import fitted_from_text


def read_rules(text: str, *, estimator: bool = False) -> Any:
    """Read the text of `exact_text` back into rules that predict.

    Parameters
    ----------
    text : str
        As `exact_text` wrote it, or as a person changed it since.
    estimator : bool, default=False
        Return a fitted estimator that can be read, exported, saved and trained further. It
        computes in float32, as every estimator does. Without it the rules are evaluated in
        float64, one sum after the other: a plain reading of the text.

    Returns
    -------
    ExactRules, or NeuralRuleClassifier or NeuralRuleRegressor
        With ``decision_function`` (of a regression ``ExactRules`` alone has it), ``predict``
        and, for classes learned with ``loss="logistic"``, ``predict_proba``. An estimator
        has the default parameters but for ``loss`` and ``deep``. It knows nothing of the rows
        it was once fitted on, and so not which rules matter; the text does not say.

    Raises
    ------
    ValueError
        If the text is not as `exact_text` writes it; the message names the line.

    Examples
    --------
    >>> import numpy as np
    >>> from neuralrules import NeuralRuleClassifier, read_rules
    >>> X = np.arange(40.0)[:, None]
    >>> model = NeuralRuleClassifier(1, n_epochs=0).fit(X, X[:, 0] > 19.5)
    >>> again = read_rules(model.exact_text(), estimator=True)
    >>> again.network_.n_rules == model.network_.n_rules
    True
    """
    exact = read_exact(text)
    if not estimator:
        return exact
    kind = NeuralRuleClassifier if exact.task.are_classes else NeuralRuleRegressor
    names = [column.name for column in exact.columns]
    numbered = [f"x{place}" for place in range(len(names))]
    named = names != numbered if exact.named is None else exact.named
    fitted = fitted_from_text(exact, kind.__name__, named=named)
    model = kind(loss=exact.task.loss.name, deep=fitted.network.deep)
    model.fitted_ = fitted.after(READ, fitted.size_text)
    model.n_features_in_ = len(names)
    if fitted.encoder.named:
        model.feature_names_in_ = np.array(names, object)
    return model
