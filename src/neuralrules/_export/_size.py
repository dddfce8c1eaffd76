"""The line about the size of the model that every export contains."""

from __future__ import annotations

from neuralrules._fitted._fitted import Fitted


def size_text(fitted: Fitted) -> str:
    """The size of a model in one line without any of the user's own text.

    Names and labels are left out, because the line goes into comments of SQL and Python, and a
    line break in a name would end the comment.
    """
    network = fitted.network
    kind = "deep neural rules" if network.deep else "neural rules"
    return (
        f"{fitted.estimator}: {network.n_rules:,} {kind} with {network.n_literals:,} "
        f"literals and {network.n_parameters:,} parameters, over {len(fitted.used_columns):,} "
        f"of {len(fitted.encoder.names):,} columns"
    )
