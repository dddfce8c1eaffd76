"""Rules that experts write, in the columns and units of the table.

    late_payments > 2 and utilisation >= 0.9
    region = north and opened < 2019-01-01
    "loan amount" is not missing and city != "New York"

A rule is one condition, or several with "and" between them. Numbers and dates are compared by
<, <=, > and >=, categories by = and !=, booleans by = true or = false. Names and categories
that are not one word stand in quotes. Training keeps the conditions of a rule, unless the rule
begins with "free: ". The value of a rule starts as the value of a leaf with the same rows.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, NoReturn

import numpy as np

from neuralrules._data._categories import spellings
from neuralrules._data._columns import Category, Date, EncodedColumn, Number
from neuralrules._data._encoder import Encoder
from neuralrules._data._numbers import LARGEST
from neuralrules._data._rows import Rows
from neuralrules._io._warn import warn
from neuralrules._rules._rules import (
    LITERALS_FROZEN,
    Literal,
    Rules,
    literal_threshold,
    margin_scores,
    unmeasured,
)
from neuralrules._rules._sources import target_means

TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<operator><=|>=|!=|==|[<>=≤≥≠])|(?P<word>[^\s"'<>=!≤≥≠]+)|(?P<other>\S))"""
)
SAME = {"≤": "<=", "≥": ">=", "≠": "!=", "==": "="}
ORDER, EQUALITY = ("<", "<=", ">", ">="), ("=", "!=")
TRUTHS = {"true": True, "false": False}
FREE_MARK = "free: "  # a rule that begins with this text is trained like a leaf of a tree


def expert_rules(texts: Sequence[str], encoder: Encoder, rows: Rows) -> Rules:
    """Rules that people wrote. Each starts with the value of a leaf with the same rows.

    Training keeps the literals of all rules except those marked as free. The values of all
    rules are trained: an expert knows when a rule applies, but the rows show how much it should
    count.

    Parameters
    ----------
    texts : sequence of str
        The docstring of this module describes their grammar.
    encoder : Encoder
    rows : Rows
        Rows without training weight do not count.
    """
    if isinstance(texts, str):
        raise TypeError(f"expert_rules must be a list of rules, got the text {texts!r}.")
    free = [isinstance(text, str) and text.startswith(FREE_MARK) for text in texts]
    conditions = [
        text.removeprefix(FREE_MARK) if is_free else text
        for text, is_free in zip(texts, free, strict=True)
    ]
    paths = [
        read_rule(text, encoder, f"expert_rules[{place}]")
        for place, text in enumerate(conditions)
    ]
    rules = measured(paths, rows)
    for place, text in enumerate(texts):
        if rules.n[place] > 0:
            continue
        warn(
            f"expert_rules[{place}], {text!r}, holds for none of the training rows: its value "
            "stays 0. Check its numbers and categories, or leave it out."
        )
    return rules.freezing(np.flatnonzero(np.logical_not(free)), LITERALS_FROZEN)


def measured(paths: Sequence[Sequence[Literal]], rows: Rows) -> Rules:
    """Rules with these literals, and with the values and counts of the rows they cover."""
    task, weights = rows.task, rows.training_weights
    rules = unmeasured(paths, task)
    n, totals = np.zeros(rules.n_rules), np.zeros_like(rules.totals)
    for rule in range(rules.n_rules):
        inside = rules.take(np.array([rule])).covers(rows.X)[:, 0].astype(np.int64)
        n[rule] = np.bincount(inside, weights, minlength=2)[1]
        totals[rule] = rows.totals(inside, weights, 2)[1]
    covering = n > 0
    values, scores = np.zeros_like(rules.values), np.zeros(rules.n_rules)
    values[covering] = task.leaf_values(n[covering], totals[covering])
    scores[covering] = margin_scores(
        n[covering], totals[covering], classes=task.are_classes, mean=target_means(rows)
    )
    n_training = float(weights.sum(dtype=np.float64))
    return replace(
        rules, values=values, n=n, totals=totals, scores=scores, n_training=n_training
    )


class Token(NamedTuple):
    """A part of a rule and its position: a name or value, an operator, or the end (no text)."""

    kind: str
    text: str
    place: int


def tokens_of(text: str) -> list[Token]:
    """The words, quoted texts and operators of a rule, and its end."""
    found = []
    for match in TOKEN.finditer(text):
        kind = str(match.lastgroup)
        part = match[kind]
        if kind == "quoted":
            part = re.sub(r"\\(.)", r"\1", part[1:-1])
        found.append(Token(kind, SAME.get(part, part), match.start(kind)))
    return [*found, Token("end", "", len(text.rstrip()))]


def read_rule(text: str, encoder: Encoder, where: str) -> list[Literal]:
    """The literals of a rule that a person wrote.

    Parameters
    ----------
    text : str
    encoder : Encoder
    where : str
        What the rule is called in messages, such as ``expert_rules[0]``.

    Raises
    ------
    ValueError
        If the rule cannot be read. The message is one line, and ``-->`` marks the place.
    """
    if not isinstance(text, str):
        raise TypeError(f"{where} must be a rule as text, got {text!r}.")
    return Reader(text, encoder, where).rule()


class Reader:
    """Reads one rule, token by token."""

    def __init__(self, text: str, encoder: Encoder, where: str) -> None:
        self.text, self.encoder, self.where = text, encoder, where
        self.tokens = tokens_of(text)[::-1]

    def rule(self) -> list[Literal]:
        literals = [self.condition()]
        while self.tokens[-1].kind != "end":
            joint = self.tokens.pop()
            if joint.kind != "word" or joint.text.lower() != "and":
                alternative = joint.kind == "word" and joint.text.lower() == "or"
                self.fail(
                    joint,
                    'a rule has no "or": write two rules'
                    if alternative
                    else 'expected "and" or the end of the rule; names and categories that are '
                    "not one word stand in quotes",
                )
            literals.append(self.condition())
        return literals

    def condition(self) -> Literal:
        source = self.column()
        sign = self.tokens.pop()
        if sign.kind == "word" and sign.text.lower() == "is":
            return self.state(source, sign)
        if sign.kind != "operator":
            self.fail(sign, "expected <, <=, >, >=, =, != or is missing")
        value = self.tokens.pop()
        if value.kind not in ("word", "quoted"):
            self.fail(value, "expected a value to compare with")
        for place, column in self.encoded(source):
            if isinstance(column, Number):
                return self.number(place, column, sign, value)
        return self.category(source, sign, value)

    def encoded(self, source: int) -> list[tuple[int, EncodedColumn]]:
        """The encoded columns of a column of the table, with their places."""
        columns = enumerate(self.encoder.columns)
        return [(place, column) for place, column in columns if column.source == source]

    def column(self) -> int:
        """Read the name of a column; return the position of the column in the table."""
        token, names = self.tokens.pop(), self.encoder.names
        if token.kind not in ("word", "quoted"):
            self.fail(token, "expected the name of a column")
        if token.kind == "word" and token.text == "column" and token.text not in names:
            token = self.tokens.pop()  # "column 3" is how texts show a name that is a number
        if token.text in names:
            return names.index(token.text)
        longer = [name for name in names if name.startswith(f"{token.text} ")]
        close = longer or difflib.get_close_matches(token.text, names, 3)
        shown = ", ".join(f'"{name}"' if " " in name else name for name in close or names[:10])
        known = f"did you mean {shown}?" if close else f"the columns are {shown}"
        self.fail(token, f"there is no column {token.text!r}; {known}")

    def state(self, source: int, start: Token) -> Literal:
        """Read ``missing`` or ``not missing``; the token ``is`` was read before."""
        word, wanted = self.tokens.pop(), True
        if word.kind == "word" and word.text.lower() == "not":
            word, wanted = self.tokens.pop(), False
        if word.kind != "word" or word.text.lower() != "missing":
            self.fail(word, 'expected "missing" or "not missing"')
        for place, column in self.encoded(source):
            if column.means_missing:
                return self.indicator(place, wanted)
        name = self.encoder.names[source]
        self.fail(start, f"the column {name!r} had no missing cells in training")

    def category(self, source: int, sign: Token, value: Token) -> Literal:
        name = self.encoder.names[source]
        if sign.text not in EQUALITY:
            self.fail(sign, f"the column {name!r} holds categories: compare it by = or !=")
        places = {
            column.category: place
            for place, column in self.encoded(source)
            if isinstance(column, Category) and column.category is not None
        }
        category = spellings(places).get(value.text)
        if category is None:
            close = difflib.get_close_matches(value.text, places, 3)
            listed = ", ".join(map(repr, close or [*places][:10]))
            hint = f"did you mean {listed}?" if close else f"it has {listed}"
            self.fail(
                value,
                f"the column {name!r} has no category {value.text!r} with an indicator; {hint}",
            )
        return self.indicator(places[category], sign.text == "=")

    def number(self, place: int, column: Number, sign: Token, value: Token) -> Literal:
        name = self.encoder.names[column.source]
        if sign.text in EQUALITY:
            truth = TRUTHS.get(value.text.lower())
            if truth is None:
                self.fail(
                    sign,
                    f"the column {name!r} holds numbers or dates: compare it by <, <=, > or "
                    ">=, or a truth value by = true or = false",
                )
            return self.indicator(place, truth == (sign.text == "="))
        amount = column.number_in(value.text)
        if amount is None:
            example = 'a date such as 2019-01-01, or "2019-01-01 12:00" in quotes'
            expected = example if isinstance(column, Date) else "one"
            self.fail(value, f"the column {name!r} holds {column.holds}: expected {expected}")
        return threshold(place, column, sign.text, amount)

    def indicator(self, place: int, wanted: bool) -> Literal:
        """A literal that holds if a column of 0 and 1 is 1 or, if not `wanted`, if it is 0."""
        column, sign = self.encoder.columns[place], 1 if wanted else -1
        middle = float(column.encoded(np.array(0.5)))
        return place, sign, literal_threshold(middle, sign)

    def fail(self, token: Token, what: str) -> NoReturn:
        marked = f"{self.text[: token.place]}-->{self.text[token.place :]}"
        end = "" if what.endswith("?") else "."
        raise ValueError(f"{self.where} cannot be read at the mark in {marked!r}: {what}{end}")


def threshold(place: int, column: Number, sign: str, amount: float) -> Literal:
    """The strict literal of a comparison, which also treats rows at exactly the number right.

    The number is encoded just as the rows are, so that equal cells stay equal in float32.
    """
    direction = 1 if sign[0] == ">" else -1
    includes = sign.endswith("=")
    if column.knots is not None and not column.knots.x[0] <= amount <= column.knots.x[-1]:
        # Below the first knot or above the last knot, all numbers are encoded alike. So the
        # literal holds for all of them or for none.
        includes = (amount < column.knots.x[0]) == (direction > 0)
    scaled = np.clip(column.encoded(np.array(amount)), -LARGEST, LARGEST)
    nearest = np.float32(scaled)
    outward = np.float32(-direction * np.inf)
    return place, direction, np.nextafter(nearest, outward) if includes else nearest
