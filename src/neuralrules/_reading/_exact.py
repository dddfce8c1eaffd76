"""A model as text that loses nothing, and back.

::

    neuralrules rules 1
    task "classes"
    classes ["malignant", "benign"]
    loss "logistic"
    missing ["-999", "unknown"]
    column "mean radius" number missing 14.127 deviation 3.5
    column "opened" number missing 18262.0 deviation 300.0 dates
    column "income" scaled [[1200.0, -2.9], [31000.0, 0.1], [2e6, 3.1]] mean 4e4 deviation 6e4
    column "city" categories ["Oslo", "Rome"] missing rare
    intercept [0.0]

    rule 0 value [1.25]
      + 0.01 * "mean radius" + 0.5 * scaled("income") - 2.5 * ["city" = "Rome"] + 3.0
      - 1.0 * ["city" is missing] + 0.5

Names and categories are JSON strings, and numbers have every digit of float64. Each indented
line is one literal. A rule's activation is its smallest literal, or 0 if that literal is
negative. A bracket is 1 if its statement holds, else 0. The optional line ``missing`` lists the
texts that mean missing, besides empty cells. In a ``number`` column, a missing cell is replaced
by the number after ``missing``. ``missing`` and ``rare`` after categories say that the column
has these brackets too.

A deep rule has a second part below the line ``through``: its units, one for each literal. A
unit is a sum of A0, A1, …, the positive parts of the rule's literals. The activation of a deep
rule is its smallest unit, or 0 if that unit is negative.

The points [number, scaled number] of a scaled column are joined by straight lines. Outside of
the points the scaled number is constant. A missing number has the scaled number 0.

A regression has ``task "numbers"``. Instead of classes and loss it has ``flat true`` if it
predicts one number for each row. It has ``flat false`` if predictions are a table with one
column for each target. A line ``loss "poisson"`` names the loss if it is not the squared error.
With such a loss, predictions may be a function of the sums. ``scale`` and the deviations of
columns are the units of targets and columns when the rules are trained further. They change no
prediction and may be left out. The mean of a scaled column may be left out too.
"""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from neuralrules._data._columns import (
    NUMBER_TYPES,
    Category,
    EncodedColumn,
    Missing,
    Number,
    Rare,
)
from neuralrules._data._encoder import Encoder
from neuralrules._data._markers import marker_texts
from neuralrules._data._numbers import LARGEST
from neuralrules._data._scaling import Knots
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._conditions import rule_sums
from neuralrules._reading._exact_rules import DeclaredColumn, ExactRules, ParsedRule, Sum, Term
from neuralrules._task._class_losses import CLASS_LOSSES
from neuralrules._task._loss import Loss, LossDocument, loss_from
from neuralrules._task._number_losses import NUMBER_LOSSES, SquaredError
from neuralrules._task._task import Task

FIRST_LINE = "neuralrules rules 1"
# The word at the end of a column's line that says what its numbers are.
HOLDS = {kind: "" if kind is Number else f" {kind.stored_as}s" for kind in NUMBER_TYPES}
STRING = r'"(?:[^"\\]|\\.)*"'
NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?"
SUMMAND = re.compile(
    rf"\s*(?P<sign>[+-])\s*(?P<number>{NUMBER})"
    rf"(?:\s*\*\s*(?:(?P<name>{STRING})|scaled\((?P<scaled>{STRING})\)|A(?P<literal>[0-9]{{1,9}})|"
    rf"\[(?P<column>{STRING})\s+(?:=\s*(?P<category>{STRING})|is\s+(?P<state>missing|rare))\]))?"
)
COLUMN = re.compile(
    rf"column (?P<name>{STRING}) (?:(?:number missing (?P<mean>-?{NUMBER})"
    rf"(?: deviation (?P<deviation>{NUMBER}))?"
    r"|scaled (?P<knots>\[.*\])"
    rf"(?: mean (?P<centre>-?{NUMBER}) deviation (?P<spread>{NUMBER}))?)"
    rf"(?P<holds>{'|'.join(HOLDS.values())})"
    r"|categories (?P<categories>\[.*\])(?P<missing> missing)?(?P<rare> rare)?)"
)
RULE = re.compile(r"rule [0-9]+ value (?P<values>\[.*\])")


def exact_text(fitted: Fitted) -> str:
    """The text of a fitted model; see the top of this module for its form."""
    network, encoder = fitted.network, fitted.encoder
    task, loss = fitted.task, f"loss {json.dumps(fitted.task.loss.document())}"
    if task.classes is not None:
        lines = [FIRST_LINE, 'task "classes"', f"classes {listed(task.classes)}", loss]
    else:
        lines = [FIRST_LINE, 'task "numbers"', f"flat {quoted(task.flat)}"]
        lines += [] if isinstance(task.loss, SquaredError) else [loss]
        lines.append(f"scale {listed(task.scale)}")
    if encoder.named and encoder.names == [f"x{i}" for i in range(len(encoder.names))]:
        lines.append("named true")  # else they would read as names of an array's columns
    if encoder.missing:
        lines.append(f"missing {listed(encoder.missing)}")
    lines += [column_line(encoder, source) for source in range(len(encoder.names))]
    lines.append(f"intercept {listed(network.intercept)}")
    for rule in range(network.n_rules):
        lines += ["", f"rule {rule} value {listed(network.values[rule].astype(np.float64))}"]
        for found in rule_sums(fitted, rule):
            parts = [(term.factor, column_name(encoder, term.column)) for term in found.terms]
            lines.append(sum_line(parts, found.constant))
        if network.deep:
            lines.append("  through")
            shifts = network.shifts[network.layout.literals_of(rule)]
            for weights, shift in zip(network.second_layer(rule), shifts, strict=True):
                parts = [(weight, f"A{j}") for j, weight in enumerate(weights) if weight]
                lines.append(sum_line(parts, shift))
    return "\n".join(lines) + "\n"


def column_line(encoder: Encoder, source: int) -> str:
    """The declaration of a column of the user's table."""
    own = encoder.columns_of(source)
    name = quoted(encoder.names[source])
    if isinstance(own[0], Number):
        moments = f"{own[0].mean!r} deviation {own[0].scale!r}{HOLDS[type(own[0])]}"
        if own[0].knots is None:
            return f"column {name} number missing {moments}"
        points = list(zip(own[0].knots.x, own[0].knots.z, strict=True))
        return f"column {name} scaled {json.dumps(points)} mean {moments}"
    known = [column.category for column in own if isinstance(column, Category)]
    text = f"column {name} categories {listed(one for one in known if one is not None)}"
    text += " missing" if None in known else ""
    return text + (" rare" if any(isinstance(column, Rare) for column in own) else "")


def column_name(encoder: Encoder, column: EncodedColumn) -> str:
    """The name of an encoded column in sums."""
    name = quoted(encoder.names[column.source])
    if isinstance(column, Number):
        return name if column.knots is None else f"scaled({name})"
    if isinstance(column, Category) and column.category is not None:
        return f"[{name} = {quoted(column.category)}]"
    return f"[{name} is {'missing' if column.means_missing else 'rare'}]"


def sum_line(parts: list[tuple[float, str]], constant: float) -> str:
    """An indented sum of factors times names and a constant; repr has every digit."""
    summands = [(factor, f" * {name}") for factor, name in parts] + [(constant, "")]
    texts = [f"{'-' if f < 0 else '+'} {abs(float(f))!r}{times}" for f, times in summands]
    return "  " + " ".join(texts)


def quoted(item: Any) -> str:
    """A name, category, label or number as JSON."""
    plain = item.item() if isinstance(item, np.generic) else item
    if not isinstance(plain, str | int | float):
        raise TypeError(
            f"exact_text cannot write the class {plain!r}: labels must be strings, numbers or "
            "booleans. Fit on y with such labels, for example y.astype(str)."
        )
    return json.dumps(plain)


def listed(items: Any) -> str:
    """A JSON list on one line."""
    return "[" + ", ".join(quoted(item) for item in items) + "]"


def read_exact(text: str) -> ExactRules:
    """Read the text of `exact_text` back into rules that predict; see `read_rules`."""
    if not isinstance(text, str):
        raise TypeError(f"read_rules() takes the text as a str, got {type(text).__name__}.")
    lines = Lines(text)
    if lines.take() != FIRST_LINE:
        lines.fail(f"the first line must be {FIRST_LINE!r}")
    task, scaled = parse_task(lines)
    named = lines.truth("named") if lines.has("named") else None
    missing = parse_missing(lines) if lines.has("missing") else ()
    columns: dict[str, DeclaredColumn] = {}
    while not columns or lines.has("column"):
        column = parse_column(lines, len(columns))
        if column.name in columns:
            lines.fail(f"column {shown(column.name)} is declared twice")
        columns[column.name] = column
    intercept = lines.numbers(lines.json("intercept"))
    found = len(intercept)
    if not task.are_classes and not scaled and not task.flat:
        task = replace(task, centre=np.zeros(found), scale=np.ones(found))
    if found != task.n_outputs:
        lines.fail(f"expected an intercept for {task.n_outputs} outputs, found {found}")
    terms = {term for column in columns.values() for term in column.terms}
    rules: list[ParsedRule] = []
    while not rules or lines.peek():
        rules.append(parse_rule(lines, terms, found))
    return ExactRules(task, list(columns.values()), intercept, rules, named, missing)


class Lines:
    """The lines of a text, one after the other, with errors that name the line."""

    def __init__(self, text: str) -> None:
        # Not splitlines: a name may hold other line breaks.
        lines = [line.rstrip() for line in text.split("\n")]
        filled = [(number, line) for number, line in enumerate(lines, 1) if line]
        self._left = deque([*filled, (len(lines), "")])
        self.number = 1  # number of the line taken last

    def peek(self) -> str:
        """The next line that is not blank, without taking it; at the end, an empty text."""
        return self._left[0][1]

    def has(self, keyword: str) -> bool:
        """Whether the next line starts with a keyword."""
        return self.peek().startswith(f"{keyword} ")

    def take(self) -> str:
        """Take the next line that is not blank; at the end, an empty text."""
        self.number, line = self._left[0]
        if line:
            self._left.popleft()
        return line

    def json(self, keyword: str) -> Any:
        """The value of a line ``keyword value``."""
        found, mark, value = self.take().partition(" ")
        if found != keyword or not mark:
            self.fail(f"expected {keyword!r}, found {shown(found + mark + value)}")
        return self.value(value)

    def value(self, text: str) -> Any:
        """Parse JSON; Python also refuses integers of thousands of digits and deep nesting."""
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            self.fail(f"{shown(text)} is not a JSON value")

    def truth(self, keyword: str) -> bool:
        """The value of a line ``keyword true`` or ``keyword false``."""
        value = self.json(keyword)
        if type(value) is not bool:
            self.fail(f"{keyword} must be true or false, not {shown(value)}")
        return value

    def numbers(self, items: Any) -> np.ndarray:
        """A JSON list of at least one number as float64, all of them finite."""
        if type(items) is not list or not items or {*map(type, items)} - {int, float}:
            self.fail(f"expected a list of numbers, found {shown(items)}")
        return np.array([self.finite(item) for item in items])

    def finite(self, item: float | str) -> float:
        """A number, or the digits of one, as a float that is not infinite or NaN."""
        try:
            number = float(item)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            self.fail(f"{shown(item)} is not a finite number of float64")
        return number

    def fail(self, what: str, line: int | None = None) -> NoReturn:
        """Raise ValueError about a line, by default the line taken last."""
        raise ValueError(
            f"Line {line or self.number} of the rules: {what}. "
            "The text must be as exact_text() wrote it."
        )


def shown(item: Any) -> str:
    """An item as an error message shows it, cut if it is long."""
    return repr(item[:40] if isinstance(item, str) else item)[:60]


def parse_task(lines: Lines) -> tuple[Task, bool]:
    """The task, and whether the text gives the scale of its targets."""
    kind = lines.json("task")
    if kind == "numbers":
        return parse_numbers(lines)
    if kind != "classes":
        lines.fail(f'the task must be "classes" or "numbers", not {shown(kind)}')
    classes = lines.json("classes")
    kinds = {*map(type, classes)} if type(classes) is list else set()
    if kinds not in ({str}, {int}, {float}, {bool}):
        lines.fail("classes must be a list of strings, of numbers or of booleans")
    if kinds == {float}:
        lines.numbers(classes)
    if len(classes) < 2 or len(set(classes)) < len(classes):
        lines.fail("there must be at least two classes, and all of them different")
    labels = np.array(classes, object if kinds == {str} else None)
    return Task.of_classes(labels, parse_loss(lines, CLASS_LOSSES)), False


def parse_numbers(lines: Lines) -> tuple[Task, bool]:
    """The task of a regression, and whether the text gives the scale of its targets."""
    flat = lines.truth("flat")
    loss = parse_loss(lines, NUMBER_LOSSES) if lines.has("loss") else SquaredError.name
    scale, scaled = np.ones(1), lines.has("scale")
    if scaled:
        scale = lines.numbers(lines.json("scale"))
        if (scale <= 0).any():
            lines.fail("scales must be above 0")
        if flat and len(scale) > 1:
            lines.fail(f"flat targets have one scale, not {len(scale)}")
    return Task.of_scaled_numbers(np.zeros(len(scale)), scale, loss, flat=flat), scaled


def parse_loss(lines: Lines, known: Mapping[str, type[Loss]]) -> LossDocument:
    document: LossDocument = lines.json("loss")
    try:
        loss_from(document, known)
    except ValueError as error:
        lines.fail(str(error))
    return document


def parse_missing(lines: Lines) -> tuple[str, ...]:
    """The texts that mean missing, besides empty cells."""
    markers = lines.json("missing")
    if type(markers) is not list or {*map(type, markers)} - {str}:
        lines.fail(f"missing must be a list of strings, not {shown(markers)}")
    try:
        return marker_texts(markers)
    except ValueError as error:
        lines.fail(str(error).partition(".")[0])


def parse_column(lines: Lines, source: int) -> DeclaredColumn:
    """A line that declares the column of the table at the place `source`."""
    line = lines.take()
    match = COLUMN.fullmatch(line)
    if match is None:
        lines.fail(f"{shown(line)} does not declare a column")
    name = lines.value(match["name"])
    terms: dict[Term, EncodedColumn] = {}
    if match["categories"] is None:
        terms[Term(name, "scaled" if match["knots"] else "number")] = parse_number(
            lines, match, source
        )
        terms[Term(name, "missing")] = Missing(source)
        return DeclaredColumn(name, terms)
    categories = lines.value(match["categories"])
    if {*map(type, categories)} - {str} or len(set(categories)) < len(categories):
        lines.fail("categories must be strings, and all of them different")
    for category in categories:
        terms[Term(name, "category", category)] = Category(source, category=category)
    if match["missing"]:
        terms[Term(name, "missing")] = Category(source)
    if match["rare"]:
        terms[Term(name, "rare")] = Rare(source)
    if not terms:
        lines.fail("a column of categories must have one, or be missing or rare")
    return DeclaredColumn(name, terms)


def parse_number(lines: Lines, match: re.Match[str], source: int) -> Number:
    """The encoded column of a declared column of numbers."""
    kind = next(kind for kind, word in HOLDS.items() if word == match["holds"])
    knots = parse_knots(lines, lines.value(match["knots"])) if match["knots"] else None
    mean = lines.finite(match["mean"] or match["centre"] or "1")
    deviation = lines.finite(match["deviation"] or match["spread"] or "1")
    if deviation <= 0:
        lines.fail("a deviation must be above 0")
    if max(abs(mean), deviation) > LARGEST:
        lines.fail(f"a mean and a deviation must not go beyond {LARGEST:.2g}")
    return kind(source, mean + 0.0, deviation, knots=knots)  # never a mean of -0


def parse_knots(lines: Lines, points: Any) -> Knots:
    """The points of a scaled column: numbers and their scaled numbers."""
    if type(points) is not list or len(points) < 2:
        lines.fail("a scaled column needs at least two points")
    pairs = [lines.numbers(point) for point in points]
    if {len(pair) for pair in pairs} != {2}:
        lines.fail("the points of a scaled column must be pairs of numbers")
    x, z = np.transpose(pairs)
    if (np.diff([x, z]) <= 0).any() or not z[0] <= 0 <= z[-1]:
        lines.fail("the points of a scaled column must rise, to scaled numbers around 0")
    if (np.abs([x, z]) > LARGEST).any():
        lines.fail(f"the points of a scaled column must not go beyond {LARGEST:.2g}")
    return Knots(tuple(x.tolist()), tuple(z.tolist()))


def parse_rule(lines: Lines, terms: set[Term], n_outputs: int) -> ParsedRule:
    """Parse a rule: the line with its values, and the sums below this line."""
    line = lines.take()
    match = RULE.fullmatch(line)
    if match is None:
        lines.fail(f"expected a rule, found {shown(line)}")
    values = lines.numbers(lines.value(match["values"]))
    if len(values) != n_outputs:
        lines.fail(f"the rule has {len(values)} values for {n_outputs} outputs")
    literals = list(parse_sums(lines, terms, 0))
    if not literals:
        lines.fail("the rule has no literal")
    if lines.peek().strip() != "through":
        return ParsedRule(values, literals, None)
    lines.take()
    through = lines.number
    units = list(parse_sums(lines, set(), len(literals)))
    if len(units) != len(literals):
        lines.fail(f"{len(units)} units stand above {len(literals)} literals", through)
    return ParsedRule(values, literals, units)


def parse_sums(lines: Lines, terms: set[Term], n_literals: int) -> Iterator[Sum]:
    """Parse indented lines: literals are sums of `terms`, units are sums of A0, A1, …."""
    while lines.peek().startswith("  ") and lines.peek().strip() != "through":
        line, place, summands = lines.take(), 0, []
        while place < len(line):
            match = SUMMAND.match(line, place)
            if match is None:
                lines.fail(f"cannot read {shown(line[place : place + 40])}")
            factor = lines.finite(match["sign"] + match["number"])
            summands.append((factor, parse_term(lines, match, terms, n_literals)))
            place = match.end()
        yield tuple(summands)


def parse_term(
    lines: Lines, match: re.Match[str], terms: set[Term], n_literals: int
) -> Term | int | None:
    """What a factor multiplies: a term, a literal's number, or None for nothing."""
    if match["literal"] is not None:
        literal = int(match["literal"])
        if literal >= n_literals:
            lines.fail(f"there is no literal A{literal} here")
        return literal
    name, category = match["name"] or match["scaled"] or match["column"], match["category"]
    if name is None:
        return None
    number = "number" if match["scaled"] is None else "scaled"
    kind = match["state"] or (number if category is None else "category")
    term = Term(lines.value(name), kind, None if category is None else lines.value(category))
    if term not in terms:
        what = term.kind if term.category is None else f"category {shown(term.category)}"
        lines.fail(f"there is no column {shown(term.column)} with {what} here")
    return term
