"""Reasons as fixed sentences, for engines that know the rules but not how to word a row.

What counts as a reason, and which comes first, is as in `reasons`; only the sentence says
what the rule asks, not what the row has.
"""

from __future__ import annotations

from typing import NamedTuple

from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._literals import EVERY_ROW
from neuralrules._reading._outcomes import Outcome
from neuralrules._reading._reasons import part_of_rule
from neuralrules._reading._text import rule_text
from neuralrules._reading._words import condition_words

WORDING = (3, 3)  # digits, and columns of a literal


class FixedReason(NamedTuple):
    """What is said of rows that one rule leaves worse than the average row.

    Attributes
    ----------
    rule : int
    effect : float
        What the rule adds to the adverse outcome for one unit of its activation.
    usual : float
        What it adds on average over the rows of training.
    fires : str
        The sentence where it fires.
    missed : str
        The sentence where it does not; empty if that is no reason.
    """

    rule: int
    effect: float
    usual: float
    fires: str
    missed: str


def fixed_reasons(fitted: Fitted, outcome: Outcome) -> list[FixedReason]:
    """The rules that are a reason on some row, in their order."""
    effects = outcome.effects(fitted.network.values).tolist()
    found = []
    for rule, effect in enumerate(effects):
        usual = float(fitted.activity.activation[rule]) * effect
        # A rule that speaks against the outcome adds at most 0 to it.
        if effect > 0 or -usual > outcome.faint:
            kinds = ("against", None) if effect > 0 else ("weak", "missed")
            texts = [fixed_text(fitted, outcome, rule, kind) if kind else "" for kind in kinds]
            found.append(FixedReason(rule, effect, usual, *texts))
    return found


def fixed_text(fitted: Fitted, outcome: Outcome, rule: int, kind: str) -> str:
    """What a rule asks, and what that does to the adverse outcome."""
    if fitted.network.deep:
        says = rule_text(fitted, rule, *WORDING)
    else:
        says = " and ".join(condition_words(fitted, rule, *WORDING)) or EVERY_ROW
    lead = "not the case: " if kind == "missed" else ""
    return f"{lead}{says} (rule {rule} {part_of_rule(outcome, kind)})"
