"""What differs between two rules, in the words of their texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from neuralrules._compare._matching import COLUMNS, LEAF, SAME, SHARED, VALUE, Match
from neuralrules._data._columns import Missing, Number
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._column_words import number_words
from neuralrules._reading._text import (
    base_text,
    condition_statements,
    named_literals,
    value_text,
)
from neuralrules._reading._wording import Statement

PRECISION, MAX_TERMS = 3, 3
# Digits and columns to show, tried in this order until two different rules read differently.
FINER = ((PRECISION, MAX_TERMS), (6, 1000), (17, 1000))
# What two matched rules that differ have in common.
MATCHED_BY = {
    VALUE: "the same conditions",
    LEAF: "grown from the same leaf",
    SHARED: "with some of the same conditions",
    COLUMNS: "the nearest, about the same columns",
}
STRENGTH = "fires where it did, but more or less strongly"


class RuleChange(NamedTuple):
    """A pair of matched rules, one of each model, or a rule that only one model has.

    Attributes
    ----------
    first, second : int or None
        The number of the rule in each model; None in a model without the rule.
    kind : {"same", "changed", "only in A", "only in B"}
    matched_by : str
        What both versions of a changed rule have in common; empty for the other kinds.
    changes : tuple of (str, str)
        The texts that differ: what the rule says in A, and what it says in B instead. A text is
        empty if that model says nothing instead.
    text : str
        The whole rule; a changed rule as it is in B.
    """

    first: int | None
    second: int | None
    kind: str
    matched_by: str
    changes: tuple[tuple[str, str], ...]
    text: str

    @property
    def name(self) -> str:
        """The name of the rule, made of its numbers in A and in B."""
        if self.second is None:
            return f"rule {self.first} of A"
        if self.first is None:
            return f"rule {self.second} of B"
        if self.first == self.second:
            return f"rule {self.first}"
        return f"rule {self.first} of A, {self.second} of B"


def rule_change(first: Fitted, second: Fitted, match: Match) -> RuleChange:
    """The words for a match of rules."""
    if match.second is None:
        assert match.first is not None
        return RuleChange(*match[:2], "only in A", "", (), whole_text(first, match.first))
    text = whole_text(second, match.second)
    if match.first is None:
        return RuleChange(*match[:2], "only in B", "", (), text)
    if match.how == SAME:
        return RuleChange(*match[:2], "same", "", (), text)
    changes = differences(first, match.first, second, match.second)
    return RuleChange(*match[:2], "changed", MATCHED_BY[match.how], changes, text)


def whole_text(fitted: Fitted, rule: int) -> str:
    """The value of a rule and its conditions."""
    conditions = [one.text for one in statements(fitted, rule, PRECISION, MAX_TERMS)]
    return f"{value_text(fitted, rule, PRECISION)}: {' and '.join(conditions)}"


def statements(fitted: Fitted, rule: int, precision: int, max_terms: int) -> list[Statement]:
    """The conditions of a rule as statements; a deep rule's named literals come last."""
    found = condition_statements(fitted, rule, precision, max_terms)
    if fitted.network.deep:
        for text in named_literals(fitted, rule, precision, max_terms):
            name = f"where {text.partition(' = ')[0]}"
            found.append(Statement(f"where {text}", name, None, "where"))
    return found


def differences(
    first: Fitted, rule: int, second: Fitted, other: int
) -> tuple[tuple[str, str], ...]:
    """The texts that differ: the value, then each condition and the one that replaced it."""
    for precision, max_terms in FINER:
        values = value_text(first, rule, precision), value_text(second, other, precision)
        before = statements(first, rule, precision, max_terms)
        after = statements(second, other, precision, max_terms)
        changes = changed_statements(before, after)
        if values[0] != values[1]:
            changes.insert(0, values)
        if changes:
            return tuple(changes)
    return (("", STRENGTH),)


def changed_statements(
    before: Sequence[Statement], after: Sequence[Statement]
) -> list[tuple[str, str]]:
    """The statements that only one of two rules makes.

    An old and a new statement form a pair if they are about the same sum or, failing that,
    about the same main column.
    """
    gone = [one for one in before if one not in after]
    new = [one for one in after if one not in before]
    pairs = []
    for old in gone:
        # If other columns joined or left the sum, its main column may still be the same.
        became = next(
            (one for same in (same_subject, same_main) for one in new if same(old, one)),
            None,
        )
        new = [one for one in new if one is not became]
        pairs.append((old.text, became.text if became else ""))
    return pairs + [("", one.text) for one in new]


def same_subject(one: Statement, other: Statement) -> bool:
    """Whether two statements compare the same sum from the same side."""
    return (one.subject, one.rises) == (other.subject, other.rises)


def same_main(one: Statement, other: Statement) -> bool:
    """Whether the same column matters most in both statements."""
    return one.main == other.main


def start_texts(first: Fitted, second: Fitted) -> tuple[str, str]:
    """What every row starts with in each model, with enough digits to show a difference."""
    equal = bool((first.network.intercept == second.network.intercept).all())
    for precision, _ in FINER:
        texts = base_text(first, precision) or "0", base_text(second, precision) or "0"
        if equal or texts[0] != texts[1]:
            break
    return texts


def stand_in_changes(first: Fitted, second: Fitted) -> list[tuple[str, str, str]]:
    """Columns whose missing numbers the models replace differently: name, value in A, in B."""
    changes = []
    for source in range(len(first.encoder.names)):
        if source not in {*first.used_columns, *second.used_columns}:
            continue
        columns = [fitted.encoder.columns_of(source)[0] for fitted in (first, second)]
        holes = any(
            isinstance(column, Missing)
            for fitted in (first, second)
            for column in fitted.encoder.columns_of(source)
        )
        if holes and all(isinstance(column, Number) for column in columns):
            for precision, _ in FINER:
                words = [number_words(first.encoder, column) for column in columns]
                one, other = (own.resolved(own.column.stand_in, precision) for own in words)
                if one != other:
                    changes.append((words[0].name, one, other))
                    break
    return changes
