"""What differs between two rules, in the words that rules are told in."""

from __future__ import annotations

import re
from typing import NamedTuple

from neuralrules._compare._matching import COLUMNS, LEAF, SAME, SHARED, VALUE, Match
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._literals import original_text
from neuralrules._reading._names import in_formula
from neuralrules._reading._text import base_text, condition_texts, named_literals, value_text

PRECISION, MAX_TERMS = 3, 3
# Tried one after the other until two rules that differ read differently: digits and columns.
FINER = ((PRECISION, MAX_TERMS), (6, 1000), (17, 1000))
# How rules that differ were taken for the same one.
MATCHED_BY = {
    VALUE: "the same conditions",
    LEAF: "grown from the same leaf",
    SHARED: "with some of the same conditions",
    COLUMNS: "the nearest, about the same columns",
}
INEQUALITY = re.compile(r"(.*) ([<>]) [^<>]*")
STRENGTH = "fires where it did, but more or less strongly"


class RuleChange(NamedTuple):
    """One rule of either model, or one of each that belong together.

    Attributes
    ----------
    first, second : int or None
        Its number in each model; None in a model that does not have it.
    kind : {"same", "changed", "only in A", "only in B"}
    matched_by : str
        How the two of a changed rule were recognised; else empty.
    changes : tuple of (str, str)
        What it says in A and in B, where that differs; empty for what only one of them says.
    text : str
        The whole rule; of a changed one as it is in B.
    """

    first: int | None
    second: int | None
    kind: str
    matched_by: str
    changes: tuple[tuple[str, str], ...]
    text: str

    @property
    def name(self) -> str:
        """The rule by its numbers, as they are in A and in B."""
        if self.second is None:
            return f"rule {self.first} of A"
        if self.first is None:
            return f"rule {self.second} of B"
        if self.first == self.second:
            return f"rule {self.first}"
        return f"rule {self.first} of A, {self.second} of B"


def rule_change(first: Fitted, second: Fitted, match: Match) -> RuleChange:
    """A match in words."""
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
    """What a rule is worth, and where."""
    value, *conditions = statements(fitted, rule, PRECISION, MAX_TERMS)
    return f"{value}: {' and '.join(conditions)}"


def statements(fitted: Fitted, rule: int, precision: int, max_terms: int) -> list[str]:
    """What a rule is worth, then what must hold for it, one statement after the other."""
    texts = [value_text(fitted, rule, precision)]
    texts += condition_texts(fitted, rule, precision, max_terms)
    if fitted.network.deep:
        texts += [f"where {one}" for one in named_literals(fitted, rule, precision, max_terms)]
    return texts


def differences(
    first: Fitted, rule: int, second: Fitted, other: int
) -> tuple[tuple[str, str], ...]:
    """What two rules say differently: the value, then conditions beside those they became."""
    for digits in FINER:
        before, after = statements(first, rule, *digits), statements(second, other, *digits)
        if before != after:
            break
    value = [] if before[0] == after[0] else [(before[0], after[0])]
    gone = [text for text in before[1:] if text not in after[1:]]
    new = [text for text in after[1:] if text not in before[1:]]
    pairs = []
    for text in gone:
        subject = subject_of(text)
        became = next((one for one in new if subject_of(one) == subject), None)
        if became is None:  # moved by other columns now, but about the same one still
            main = main_column(text)
            became = next((one for one in new if main_column(one) == main), "")
        new = [one for one in new if one is not became]
        pairs.append((text, became))
    pairs += [("", text) for text in new]
    return (*value, *pairs) or (("", STRENGTH),)


def subject_of(text: str) -> tuple[str, bool] | str:
    """What an inequality bounds, and from which side; of another statement its beginning."""
    match = INEQUALITY.fullmatch(text)
    if match is not None:
        return match[1], match[2] == ">"
    return text.partition(" = ")[0]


def main_column(text: str) -> str:
    """The column that matters most in a statement: it stands first."""
    return text.partition(" ")[0].removeprefix("-").rpartition("·")[2]


def start_texts(first: Fitted, second: Fitted) -> tuple[str, str]:
    """Where every row starts, in each model, in digits that tell them apart."""
    equal = bool((first.network.intercept == second.network.intercept).all())
    for precision, _ in FINER:
        texts = base_text(first, precision) or "0", base_text(second, precision) or "0"
        if equal or texts[0] != texts[1]:
            break
    return texts


def stand_in_changes(first: Fitted, second: Fitted) -> list[tuple[str, str, str]]:
    """Columns whose missing numbers count otherwise, with what they count as in each."""
    changes = []
    for source, name in enumerate(first.encoder.names):
        if source not in {*first.used_columns, *second.used_columns}:
            continue
        columns = [fitted.encoder.columns_of(source)[0] for fitted in (first, second)]
        holes = any(
            column.kind == "missing"
            for fitted in (first, second)
            for column in fitted.encoder.columns_of(source)
        )
        if holes and all(column.kind == "number" for column in columns):
            for precision, _ in FINER:
                one, other = (original_text(c, c.stand_in, precision) for c in columns)
                if one != other:
                    changes.append((in_formula(name), one, other))
                    break
    return changes
