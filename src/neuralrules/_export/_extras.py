"""What an export can contain besides predictions: points of a score card, and reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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

    @property
    def faint(self) -> float:
        """A rule is a reason only if it leaves a row worse by more than this."""
        assert self.outcome is not None  # or there are no reasons
        return self.outcome.faint


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
