"""What every export says of the model inside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuralrules._reading._importance import used_columns

if TYPE_CHECKING:
    from neuralrules._estimators._base import NeuralRuleModel


def size_text(model: NeuralRuleModel) -> str:
    """The size of a model in one line without any of the user's own text.

    Names and labels stay out, because the line goes into comments of SQL and Python,
    which a line break in a name would end.
    """
    network = model.network_
    kind = "deep neural rules" if network.deep else "neural rules"
    return (
        f"{type(model).__name__}: {network.n_rules:,} {kind} with {network.n_literals:,} "
        f"literals and {network.n_parameters:,} parameters, over {len(used_columns(model)):,} "
        f"of {len(model.encoder_.names):,} columns"
    )
