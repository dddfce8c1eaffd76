"""What an export says besides predictions: the size of the model, its points, and reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._outcomes import Outcome
from neuralrules._reading._reasons import FixedReason, fixed_reasons, reasoned_outcome
from neuralrules._reading._scorecard import ScoreCard
from neuralrules._reading._text import check_counts


@dataclass(frozen=True)
class Extras:
    """The points and reasons that the user asked for.

    Attributes
    ----------
    card : ScoreCard or None
        The score card that gives the points. None for no points.
    n_reasons : int
        The largest number of reasons for a row. 0 for no reasons.
    outcome : Outcome or None
        The outcome that the reasons explain. None for no reasons.
    reasons : tuple of FixedReason
        The reasons of the rules that can be a reason.
    """

    card: ScoreCard | None = None
    n_reasons: int = 0
    outcome: Outcome | None = None
    reasons: tuple[FixedReason, ...] = ()


NOTHING = Extras()


def checked_extras(
    fitted: Fitted, card: ScoreCard | None, n_reasons: Any, adverse: Any
) -> Extras:
    """The `Extras` for the parameters of an export, after checks."""
    # A card may hold a copy of the model, made to measure its rules. A copy has the same state.
    if card is not None and card._fitted.state is not fitted.state:
        raise ValueError(
            "scorecard is the card of another model. Make it anew by this model's scorecard()."
        )
    if n_reasons is None:
        if adverse is not None:
            raise ValueError(
                f"adverse={adverse!r} says what reasons are for, and none are asked for. Give "
                "for example reasons=4."
            )
        return Extras(card)
    check_counts(reasons=n_reasons)
    outcome = reasoned_outcome(fitted, n_reasons, adverse)
    return Extras(card, int(n_reasons), outcome, tuple(fixed_reasons(fitted, outcome)))


def plain_labels(fitted: Fitted) -> list[Any]:
    """Class labels as plain Python objects. An array of objects may hold NumPy's numbers."""
    labels = fitted.task.labels
    return [label.item() if isinstance(label, np.generic) else label for label in labels]


def size_text(fitted: Fitted) -> str:
    """The size of a model in one line, which every export contains.

    The line has none of the user's own text, because it goes into comments of SQL and Python,
    and a line break in a name would end the comment.
    """
    network = fitted.network
    kind = "deep neural rules" if network.deep else "neural rules"
    return (
        f"{fitted.estimator}: {network.n_rules:,} {kind} with {network.n_literals:,} "
        f"literals and {network.n_parameters:,} parameters, over {len(fitted.used_columns):,} "
        f"of {len(fitted.encoder.names):,} columns"
    )
