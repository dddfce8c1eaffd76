"""Reasons for one case: what speaks for an adverse outcome, in sentences.

The strength of a reason is how much worse a rule leaves the row than the average row of
training: its contribution to the adverse outcome minus its mean contribution. A rule that
speaks for the outcome is a reason if it fires more than usual. A rule that speaks against the
outcome is a reason if it does not fire, or fires less than usual. The strength has no jump,
not even where a rule begins to fire, so nearly equal rows have nearly equal reasons.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from neuralrules._data._columns import Number
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._fitted import Fitted
from neuralrules._io._checks import import_pandas
from neuralrules._reading._explain import Explanation, exact_literals, explain, rows_text
from neuralrules._reading._notation import number, printable
from neuralrules._reading._outcomes import Outcome, adverse_outcome
from neuralrules._reading._sentences import mean_words, seen_texts
from neuralrules._reading._text import check_counts, rule_text, spoken_rule
from neuralrules._reading._wording import EVERY_ROW, RowOfTable, row_words

DIGITS = 3  # significant digits of predictions
WORDING = (3, 3)  # digits of numbers, and columns of a literal


@dataclass(frozen=True)
class Reason:
    """One rule that leaves a row worse than the average row.

    Attributes
    ----------
    row, rule : int
    kind : {"against", "missed", "weak"}
        "against" the row: the rule fires and speaks for the adverse outcome. "missed": the
        rule would speak against the outcome, but does not fire. "weak": it speaks against the
        outcome, but less than on the average row.
    contribution : float
        What the rule adds to the adverse outcome: 0 if it does not fire.
    shortfall : float
        The contribution minus its mean over the rows of training.
    text : str
        A sentence.
    """

    row: int
    rule: int
    kind: str
    contribution: float
    shortfall: float
    text: str


@dataclass(frozen=True, repr=False)
class Reasons:
    """Predictions for some rows, and what speaks for the adverse outcome in each.

    Attributes
    ----------
    predictions : (n_rows,) array
        Labels or numbers.
    probabilities : (n_rows,) float64 or None
        Probability of the adverse class. None if the model gives no probabilities.
    adverse : object
        The adverse class; for numbers "high" or "low".
    reasons : list of list of Reason
        The reasons of each row, the strongest first.
    explanation : Explanation
        All rules that fire, with contributions that sum to the decision exactly.
    """

    predictions: np.ndarray
    probabilities: np.ndarray | None
    adverse: Any
    reasons: list[list[Reason]]
    explanation: Explanation
    _base: str

    def to_frame(self) -> Any:
        """One line for each row and reason, as a pandas frame."""
        pandas = import_pandas("to_frame")
        names = list(Reason.__dataclass_fields__)
        lines = map(vars, chain.from_iterable(self.reasons))
        return pandas.DataFrame(lines, columns=names)

    def heading(self, row: int) -> str:
        """What the model predicts for a row, and what is usual."""
        prediction = self.predictions[row]
        if self.probabilities is not None:
            share = number(100 * float(self.probabilities[row]), DIGITS)
            label = printable(str(self.adverse))
            return f"{printable(str(prediction))}; {share} % for {label} ({self._base})"
        if not self.explanation.are_classes:
            prediction = number(float(np.ravel(prediction)[0]), DIGITS + 1)
        return f"{printable(str(prediction))} ({self._base})"

    def row_text(self, row: int) -> str:
        """The heading of a row, and its reasons, one a line."""
        reasons = enumerate(self.reasons[row], 1)
        lines = [f"{place}. {reason.text}" for place, reason in reasons]
        return "\n".join([self.heading(row), *(lines or ["No rule speaks for it."])])

    def __str__(self) -> str:
        return rows_text(len(self.reasons), lambda row: f"Row {row}: {self.row_text(row)}")

    __repr__ = __str__


def reasons(fitted: Fitted, X: Any, engine: Engine, k: int, adverse: Any) -> Reasons:
    """The strongest reasons of each row of a checked table; see `Answers.reasons`."""
    outcome = reasoned_outcome(fitted, k, adverse)
    task, explanation = fitted.task, explain(fitted, X, engine)
    effects = outcome.effects(fitted.network.values)
    active = np.zeros((explanation.n_rows, fitted.network.n_rules))
    active[explanation.rows, explanation.rules] = explanation.activations
    contributions = active * effects
    shortfalls = contributions - fitted.activity.activation * effects
    found: list[list[Reason]] = []
    for row, cells in enumerate(rows_of_table(fitted, X)):
        found.append([])
        for rule in np.argsort(-shortfalls[row], kind="stable")[:k].tolist():
            shortfall = float(shortfalls[row, rule])
            if shortfall <= outcome.faint:
                break
            kind = "against" if effects[rule] > 0 else "weak"
            if kind == "weak" and active[row, rule] == 0:
                kind = "missed"
            contribution = float(contributions[row, rule])
            text = reason_text(fitted, outcome, cells, rule, kind, shortfall)
            found[-1].append(Reason(row, rule, kind, contribution, shortfall, text))
    adverse, probabilities = "low" if outcome.sign < 0 else "high", None
    if task.are_classes:
        adverse = task.labels[outcome.place]
    if task.gives_probabilities:
        probabilities = task.probabilities(explanation.decision)[:, outcome.place]
    return Reasons(
        predictions=task.predictions(explanation.decision),
        probabilities=probabilities,
        adverse=adverse,
        reasons=found,
        explanation=explanation,
        _base=usual_text(fitted, outcome),
    )


def reasoned_outcome(fitted: Fitted, k: Any, adverse: Any) -> Outcome:
    """The outcome to give `k` reasons for; ValueError if the model remembers no rows."""
    check_counts(k=k)
    if not fitted.activity.n_rows:
        raise ValueError(
            "reasons compares a row with those of training, and this model was "
            f"{fitted.why_no_rows} and remembers none. Take explain, or refit(X, y) it first."
        )
    return adverse_outcome(fitted, adverse)


def usual_text(fitted: Fitted, outcome: Outcome) -> str:
    """What is usual among the training rows, in words."""
    activity = fitted.activity
    seen = seen_texts(fitted, activity.all_totals, activity.n_rows)
    if fitted.task.are_classes:
        return f"{seen[outcome.place]} of all rows are {outcome.label}"
    return f"{mean_words(seen)} over all rows"


def rows_of_table(fitted: Fitted, X: Any) -> list[RowOfTable]:
    """The rows of a checked table, in the form that sentences about them need."""
    encoder = fitted.encoder
    encoded = encoder.transform(X).astype(np.float64)
    cells = np.full((len(encoded), len(encoder.names)), np.nan)
    for column in encoder.columns:
        if isinstance(column, Number):
            cells[:, column.source] = encoder.numbers(X, column.source)
    _, literals = exact_literals(fitted.network, encoded)
    return list(map(RowOfTable, literals, encoded, cells))


def reason_text(
    fitted: Fitted, outcome: Outcome, row: RowOfTable, rule: int, kind: str, shortfall: float
) -> str:
    """A reason as a sentence."""
    if fitted.network.deep:
        says = rule_text(fitted, rule, *WORDING)
        facts = f"it is {'not ' if kind == 'missed' else ''}so that {says}"
    else:
        facts = row_words(fitted, rule, row, kind) or EVERY_ROW
    compared = f"{outcome.comparison(shortfall)} compared with the average row"
    return f"{facts}: {compared} (rule {rule} {part_of_rule(outcome, kind)})."


def part_of_rule(outcome: Outcome, kind: str) -> str:
    """What a rule does to the adverse outcome, in words."""
    if outcome.task.are_classes:
        speaks, opposes = f"speaks for {outcome.label}", f"speak against {outcome.label}"
    elif outcome.sign > 0:
        speaks, opposes = "raises the prediction", "lower the prediction"
    else:
        speaks, opposes = "lowers the prediction", "raise the prediction"
    weak = f"does {opposes}, less than usual"
    return {"against": speaks, "missed": f"would {opposes}", "weak": weak}[kind]


class FixedReason(NamedTuple):
    """What an export says about the rows that one rule leaves worse than the average row.

    A database, for example, can compute the rules, but cannot put a row into words. So the
    sentences say what the rule asks, not what the row has: `fires` for rows on which the rule
    fires, `missed` for other rows. `missed` is empty if the rule is no reason on these rows.
    For one unit of its activation the rule adds `effect` to the adverse outcome, and `usual` on
    average over the rows of training. Reasons are chosen and ordered as in `reasons`.
    """

    rule: int
    effect: float
    usual: float
    fires: str
    missed: str = ""


def fixed_reasons(fitted: Fitted, outcome: Outcome) -> list[FixedReason]:
    """The rules that can be a reason on some row, in the order of the model."""
    effects = outcome.effects(fitted.network.values).tolist()
    found = []
    for rule, effect in enumerate(effects):
        usual = float(fitted.activity.activation[rule]) * effect
        # A rule against the outcome adds at most 0, so its strength is at most -usual.
        if effect > 0 or -usual > outcome.faint:
            kinds = ["against"] if effect > 0 else ["weak", "missed"]
            texts = [fixed_text(fitted, outcome, rule, kind) for kind in kinds]
            found.append(FixedReason(rule, effect, usual, *texts))
    return found


def fixed_text(fitted: Fitted, outcome: Outcome, rule: int, kind: str) -> str:
    """The sentence for a kind of reason: what a rule asks, and what it does to the outcome."""
    lead = "not the case: " if kind == "missed" else ""
    says = spoken_rule(fitted, rule, *WORDING)
    return f"{lead}{says} (rule {rule} {part_of_rule(outcome, kind)})"
