"""Reasons in the report: what speaks for the adverse outcome of a row, in sentences.

Those of rows that are part of the page are written here. Of what a reader types, the page
finds the reasons by the same measure, and says them by the rules' own texts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from neuralrules._engine._protocol import Engine
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._outcomes import adverse_outcome
from neuralrules._reading._reasons import part_of_rule, reasons, usual_text

SHOWN_REASONS = 4


def reasons_section(fitted: Fitted, rare: int | None) -> dict[str, Any] | None:
    """What the page needs to find the reasons of any row; None where there are none.

    Reasons compare a row with those of training and speak of one outcome, so there are none
    of a model that remembers no rows, and of one with several targets.
    """
    task = fitted.task
    if not fitted.activity.n_rows or (not task.are_classes and task.n_outputs > 1):
        return None
    outcome = adverse_outcome(fitted, None if rare is None else task.labels[rare])
    kinds = ("against", "missed", "weak")
    what = outcome.what.removeprefix("the ")
    if outcome.is_odds or outcome.is_logarithm:
        what = f"odds of {outcome.label}" if outcome.is_odds else "prediction"
    return {
        "k": SHOWN_REASONS,
        "about": f"for {outcome.label}" if task.are_classes else "for a high prediction",
        "usual": usual_text(fitted, outcome),
        "rows": fitted.rows_name,
        "effects": outcome.effects(fitted.network.values).tolist(),
        "usualActivations": fitted.activity.activation.astype(np.float64).tolist(),
        "faint": outcome.faint,
        "multiplies": outcome.is_odds or outcome.is_logarithm,
        "what": what,
        "parts": {kind: part_of_rule(outcome, kind) for kind in kinds},
    }


def example_reasons(
    fitted: Fitted, X: Any, examples: list[dict[str, Any]], engine: Engine, rare: int | None
) -> list[dict[str, Any]]:
    """The examples, which are rows of a checked table, with their reasons."""
    adverse = None if rare is None else fitted.task.labels[rare]
    rows = [example["row"] for example in examples]
    told = reasons(fitted, _safe_indexing(X, rows), engine, SHOWN_REASONS, adverse)
    return [
        example | {"reasons": [{"rule": one.rule, "text": one.text} for one in own]}
        for example, own in zip(examples, told.reasons, strict=True)
    ]
