"""Two fitted estimators beside each other."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from neuralrules._compare._comparison import Comparison, check_comparable, comparison
from neuralrules._estimators._base import (
    NeuralRuleModel,
    checked_table,
    encoded_rows,
    engine_of,
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
    encoded = rows = None
    if y is not None:
        rows = (
            encoded_rows(model_a, X, y, sample_weight),
            encoded_rows(model_b, X, y, sample_weight),
        )
        encoded = rows[0].X, rows[1].X
    elif X is not None:
        encoded = tuple(
            model.fitted_.encoder.transform(checked_table(model, X)) for model in models
        )
    engines = engine_of(model_a), engine_of(model_b)
    return comparison(model_a.fitted_, model_b.fitted_, engines, encoded, rows)
