"""The parts of docstrings that all estimators share, written once.

`estimator` puts them in place of ``{mathematics}``, ``{parameters}``, ``{attributes}``,
``{search_attributes}`` and ``{reference}``. The parameters are those that `_parameters`
declares for the class.
"""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import fields
from typing import Any, TypeVar, dataclass_transform

from neuralrules._estimators._parameters import (
    parameter,
    parameter_texts,
    with_parameters,
)

T = TypeVar("T")

MATHEMATICS = """
Shallow trees are grown on the standardised table, by boosting unless `rule_source`
says otherwise. Every leaf becomes a neural rule (equation 11 of the paper)::

    r(x) = c * min_j ReLU(w_j . x_T + a_j)

where x_T are the columns that the rule looks at: `literal_columns`. The rule starts as the
leaf: w_j is the literal's sign on the literal's own column and 0 elsewhere, a_j is the
threshold with the opposite sign, and c is the leaf's value. The output is an intercept plus
the sum of all rules. Adam trains the weights, biases and values of all rules together.
"""

ATTRIBUTES = """
rules_ : Rules
    The trees' rules: literals, leaf values, counts and margin scores.
network_ : Network
    The trained neural rules as flat arrays: `weights` (n_literals, n_features),
    `biases`, `offsets`, `values`, `features` and `intercept`.
encoder_ : Encoder
    The encoding of the table; `encoder_.columns` says what each encoded column is.
history_ : dict of str to list of float
    Mean "loss" of each epoch and, with early stopping, "validation_loss".
lineage_ : tuple of Event
    What was done to the model since it grew: each event has `what`, `when`, `who`,
    `version`, `summary` and `n_rows`. `lineage_text` has the events as text.
n_iter_ : int
    Epochs that were completed.
interrupted_ : bool
    Whether Ctrl-C ended training.
feature_importances_ : ndarray of shape (n_columns,)
    How much each column matters, summing to 1: the mean absolute contribution of each rule
    on the training rows, shared among its columns in proportion to their weights. It needs
    no rows. `importances` measures on rows, and has standard errors.
n_features_in_ : int
    Number of columns of the table.
feature_names_in_ : ndarray of shape (n_columns,)
    Names of the columns, if the table has names that are strings.
"""

SEARCH_ATTRIBUTES = """
candidates_ : list of dict
    The candidates that were compared.
cv_scores_ : ndarray of shape (n_candidates, n_folds)
    Their scores on each fold, the higher the better: by default the negative mean loss. NaN
    for folds that a candidate did not reach because it was dropped before.
best_index_ : int
    The place of the chosen candidate.
best_params_ : dict
    The chosen candidate.
"""

REFERENCE = """
G. Dawer, Y. Guo, S. Liu and A. Barbu, "Neural Rule Ensembles: Encoding Sparse Feature
Interactions into Neural Networks", arXiv:2002.04319, 2020.
"""


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(parameter,))
def estimator(cls: type[T]) -> type[T]:
    """Class decorator of an estimator: its `__init__`, constraints and docstring."""
    made: Any = with_parameters(cls)
    made._parameter_constraints = {one.name: one.metadata["allowed"] for one in fields(made)}
    parts = {
        "mathematics": MATHEMATICS,
        "parameters": parameters_text(made),
        "attributes": ATTRIBUTES,
        "search_attributes": SEARCH_ATTRIBUTES,
        "reference": REFERENCE,
    }
    doc = inspect.cleandoc(made.__doc__ or "")  # as Python 3.13 and later leave it
    for name, text in parts.items():
        doc = doc.replace("{" + name + "}", text.strip())
    made.__doc__ = doc
    return made


def parameters_text(cls: type) -> str:
    """The numpydoc section of all parameters, in the order of the signature."""
    texts, described = parameter_texts(cls), []
    for name, one in inspect.signature(cls).parameters.items():
        kind, text = texts[name]
        body = textwrap.indent(textwrap.fill(text, 84), "    ")
        described.append(f"{name} : {kind}, default={one.default!r}\n{body}")
    return "\n".join(described)
