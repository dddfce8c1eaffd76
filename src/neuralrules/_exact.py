"""A model as text that loses nothing, and back.

::

    neuralrules rules 1
    task "classes"
    outputs ["benign"]
    classes ["malignant", "benign"]
    column "mean radius" number missing 14.127
    column "city" categories ["Oslo", "Rome"] missing rare
    intercept [0.0]

    rule 0 value [1.25]
      0.01 * "mean radius" - 2.5 * ["city" = "Rome"] + 3.0
      -1.0 * ["city" is missing] + 0.5

Names and categories are JSON strings, numbers have every digit of float64. Each indented
line is one literal; a rule's activation is the smallest of them, or 0. Brackets count 1
where they hold. A missing number is replaced as its column says. In a deep rule a line
``through`` stands between the literals and the units above them, which are sums of the
literals' positive parts, A0, A1, ….
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from neuralrules._encoding import (
    EncodedColumn,
    Encoder,
    as_categories,
    as_numbers,
    check_table,
    column_of,
    is_frame,
)
from neuralrules._explain import output_names

if TYPE_CHECKING:
    from neuralrules._model import NeuralRuleModel

FIRST_LINE = "neuralrules rules 1"
STRING = r'"(?:[^"\\]|\\.)*"'
NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
TERM = re.compile(
    rf"\s*(?P<sign>[+-])\s*(?P<number>{NUMBER})(?:\s*\*\s*(?:(?P<name>{STRING})|A(?P<unit>\d+)|"
    rf"\[(?P<column>{STRING})\s+(?:=\s*(?P<category>{STRING})|is\s+(?P<state>missing|rare))\]))?"
)
COLUMN = re.compile(
    rf"column (?P<name>{STRING}) (?:number missing (?P<mean>-?{NUMBER})"
    r"|categories (?P<categories>\[.*\])(?P<missing> missing)?(?P<rare> rare)?)$"
)


def exact_text(model: NeuralRuleModel) -> str:
    """The text of a fitted model; see the top of this module for its form."""
    network, encoder = model.network_, model.encoder_
    classes = getattr(model, "classes_", None)
    lines = [FIRST_LINE, f"task {quoted('numbers' if classes is None else 'classes')}"]
    lines.append(f"outputs {listed(output_names(model))}")
    if classes is not None:
        lines.append(f"classes {listed(classes)}")
        lines.append(f"loss {quoted(model.loss)}")
    lines += [column_line(encoder, source) for source in range(len(encoder.names))]
    lines.append(f"intercept {listed(network.intercept)}")
    for rule in range(network.n_rules):
        lines += ["", f"rule {rule} value {listed(network.values[rule].astype(np.float64))}"]
        own = range(network.offsets[rule], network.offsets[rule + 1])
        lines += [f"  {literal_line(model, literal)}" for literal in own]
        if network.deep:
            lines.append("  through")
            layer = network.second_layer(rule).astype(np.float64)
            for weights, literal in zip(layer, own, strict=True):
                parts = [(weight, f"A{j}") for j, weight in enumerate(weights) if weight]
                lines.append(f"  {sum_line(parts, float(network.shifts[literal]))}")
    return "\n".join(lines) + "\n"


def column_line(encoder: Encoder, source: int) -> str:
    own = [column for column in encoder.columns if column.source == source]
    name = quoted(encoder.names[source])
    if own[0].kind == "number":
        return f"column {name} number missing {own[0].mean!r}"
    known = [column.category for column in own if column.kind == "category"]
    text = f"column {name} categories {listed([name for name in known if name is not None])}"
    text += " missing" if None in known else ""
    return text + (" rare" if any(column.kind == "rare" for column in own) else "")


def literal_line(model: NeuralRuleModel, literal: int) -> str:
    network, encoder = model.network_, model.encoder_
    constant = float(network.biases[literal])
    parts = []
    weights = network.weights[literal].astype(np.float64)
    for feature, weight in zip(network.features, weights, strict=True):
        if weight:
            column = encoder.columns[feature]
            parts.append((weight / column.scale, column_name(encoder, column)))
            constant -= weight / column.scale * column.mean
    return sum_line(parts, constant)


def column_name(encoder: Encoder, column: EncodedColumn) -> str:
    name = quoted(encoder.names[column.source])
    if column.kind == "number":
        return name
    if column.kind == "rare":
        return f"[{name} is rare]"
    if column.kind == "missing" or column.category is None:
        return f"[{name} is missing]"
    return f"[{name} = {quoted(column.category)}]"


def sum_line(parts: list[tuple[float, str]], constant: float) -> str:
    text = "".join(
        f"{'-' if factor < 0 else '+'} {abs(float(factor))!r} * {name} "
        for factor, name in parts
    )
    return text + f"{'-' if constant < 0 else '+'} {abs(float(constant))!r}"


def quoted(item: Any) -> str:
    return json.dumps(item.item() if isinstance(item, np.generic) else item)


def listed(items: Any) -> str:
    return "[" + ", ".join(quoted(item) for item in items) + "]"


class Summand(NamedTuple):
    """factor * what, where `what` is a column, an indicator or a literal's number."""

    factor: float
    column: str | None
    category: str | None
    state: str | None
    literal: int | None


@dataclass(frozen=True)
class Column:
    """How the text declares a column: a number and its stand-in, or categories."""

    name: str
    stand_in: float | None
    categories: tuple[str, ...] = ()
    knows_missing: bool = False


@dataclass(frozen=True)
class ParsedRule:
    """Sums of a rule: its literals and, for a deep rule, the units above them."""

    values: np.ndarray
    literals: tuple[tuple[Summand, ...], ...]
    units: tuple[tuple[Summand, ...], ...] | None


@dataclass(frozen=True)
class ExactRules:
    """Rules read back from text; they predict what the model predicts.

    Evaluated in float64, one sum after the other: a plain reading of the text, which
    agrees with the model to the rounding of its float32.
    """

    task: str
    loss: str | None
    outputs: tuple[Any, ...]
    classes: tuple[Any, ...]
    columns: tuple[Column, ...]
    intercept: np.ndarray
    rules: tuple[ParsedRule, ...]

    def decision_function(self, X: Any) -> np.ndarray:
        """Intercept and sum of the rules.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,) for one output, else (n_rows, n_outputs)
        """
        X = check_table(X)
        if X.shape[1] != len(self.columns):
            raise ValueError(
                f"X has {X.shape[1]} columns, but the rules were written for "
                f"{len(self.columns)}: {', '.join(column.name for column in self.columns)}."
            )
        terms = Terms(X, self.columns)
        outputs = np.zeros((X.shape[0], len(self.intercept)))
        for rule in self.rules:
            values = [terms.sum(literal) for literal in rule.literals]
            if rule.units is not None:
                positive = [np.maximum(value, 0) for value in values]
                values = [terms.sum(unit, positive) for unit in rule.units]
            outputs += np.outer(np.maximum(np.min(values, axis=0), 0), rule.values)
        outputs += self.intercept
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def predict(self, X: Any) -> np.ndarray:
        """Classes or numbers, like the model's own."""
        decision = self.decision_function(X)
        if self.task == "numbers":
            return decision
        chosen = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return np.array(self.classes)[chosen]


class Terms:
    """Values of the columns and indicators of some rows."""

    def __init__(self, X: Any, columns: tuple[Column, ...]) -> None:
        self._n_rows = X.shape[0]
        names = [str(name) for name in X.columns] if is_frame(X) else []
        self._columns = {column.name: column for column in columns}
        self._numbers: dict[str, np.ndarray] = {}
        self._holes: dict[str, np.ndarray] = {}
        self._cells: dict[str, np.ndarray] = {}
        for place, column in enumerate(columns):
            if names and column.name not in names:
                raise ValueError(f"X has no column {column.name!r}, which the rules name.")
            data = column_of(X, names.index(column.name) if names else place)
            if column.stand_in is None:
                self._cells[column.name] = as_categories(data)[:, 0]
                continue
            numbers = as_numbers(data, column.name)
            if numbers is None:
                raise ValueError(f"Column {column.name!r} must hold numbers.")
            self._holes[column.name] = np.isnan(numbers)
            self._numbers[column.name] = np.where(np.isnan(numbers), column.stand_in, numbers)

    def sum(
        self, summands: tuple[Summand, ...], literals: list[np.ndarray] | None = None
    ) -> np.ndarray:
        total = np.zeros(self._n_rows)
        for summand in summands:
            if summand.literal is not None:
                assert literals is not None
                total += summand.factor * literals[summand.literal]
            elif summand.column is None:
                total += summand.factor
            else:
                total += summand.factor * self._value(summand)
        return total

    def _value(self, summand: Summand) -> np.ndarray:
        name = str(summand.column)
        if summand.category is None and summand.state is None:
            return self._numbers[name]
        if name in self._holes:
            return self._holes[name]
        cells = self._cells[name]
        missing = np.array([cell is None for cell in cells])
        if summand.state == "missing":
            return missing
        column = self._columns[name]
        if summand.state == "rare":  # also what was not there in training, holes included
            return ~np.isin(cells, column.categories) & ~(missing & column.knows_missing)
        return cells == summand.category


def read_rules(text: str) -> ExactRules:
    """Read the text of `exact_text` back into rules that predict.

    Parameters
    ----------
    text : str

    Returns
    -------
    ExactRules
        With ``decision_function`` and ``predict``.
    """
    lines = Lines(text)
    if lines.take() != FIRST_LINE:
        lines.fail(f"the first line must be {FIRST_LINE!r}")
    task = lines.json("task")
    outputs = lines.json("outputs")
    classes = lines.json("classes") if task == "classes" else []
    loss = lines.json("loss") if task == "classes" else None
    columns = []
    while lines.peek().startswith("column "):
        columns.append(parse_column(lines))
    intercept = np.array(lines.json("intercept"), np.float64)
    known = {column.name for column in columns}
    rules = []
    while not lines.at_end():
        rules.append(parse_rule(lines, known, len(intercept)))
    if not rules:
        lines.fail("there is no rule")
    return ExactRules(
        task, loss, tuple(outputs), tuple(classes), tuple(columns), intercept, tuple(rules)
    )


class Lines:
    """The lines of a text, one after the other, with errors that name the line."""

    def __init__(self, text: str) -> None:
        # Not splitlines: a name may hold other line breaks.
        self._lines = [line.rstrip("\r") for line in text.split("\n")]
        self._next = 0

    def peek(self) -> str:
        while self._next < len(self._lines) and not self._lines[self._next].strip():
            self._next += 1
        return self._lines[self._next] if self._next < len(self._lines) else ""

    def take(self) -> str:
        line = self.peek()
        self._next += 1
        return line

    def at_end(self) -> bool:
        return not self.peek()

    def json(self, keyword: str) -> Any:
        """The value of a line ``keyword value``."""
        line = self.take()
        if not line.startswith(f"{keyword} "):
            self.fail(f"expected {keyword!r}, found {line[:40]!r}")
        return self.value(line[len(keyword) + 1 :])

    def value(self, text: str) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            self.fail(f"{text[:40]!r} is not a JSON value")

    def fail(self, what: str) -> NoReturn:
        raise ValueError(
            f"Line {self._next} of the rules: {what}. "
            "The text must be as exact_text() wrote it."
        )


def parse_column(lines: Lines) -> Column:
    line = lines.take()
    match = COLUMN.match(line)
    if match is None:
        lines.fail(f"{line[:40]!r} does not declare a column")
    name = lines.value(match["name"])
    if match["mean"] is not None:
        return Column(name, float(match["mean"]))
    categories = tuple(lines.value(match["categories"]))
    return Column(name, None, categories, match["missing"] is not None)


def parse_rule(lines: Lines, known: set[str], n_outputs: int) -> ParsedRule:
    line = lines.take()
    match = re.match(r"rule \d+ value (\[.*\])$", line)
    if match is None:
        lines.fail(f"expected a rule, found {line[:40]!r}")
    values = np.array(lines.value(match[1]), np.float64)
    if values.shape != (n_outputs,):
        lines.fail(f"the rule has {values.size} values for {n_outputs} outputs")
    literals = tuple(parse_sums(lines, known, 0))
    units = None
    if lines.peek().strip() == "through":
        lines.take()
        units = tuple(parse_sums(lines, known, len(literals)))
    if not literals or units == ():
        lines.fail("the rule has no literal")
    return ParsedRule(values, literals, units)


def parse_sums(lines: Lines, known: set[str], n_literals: int) -> Iterator[tuple[Summand, ...]]:
    while lines.peek().startswith("  ") and lines.peek().strip() != "through":
        line, place, summands = lines.take(), 0, []
        while place < len(line.rstrip()):
            match = TERM.match(line, place)
            if match is None:
                lines.fail(f"cannot read {line[place : place + 40]!r}")
            name = match["name"] or match["column"]
            column = None if name is None else lines.value(name)
            literal = None if match["unit"] is None else int(match["unit"])
            if column is not None and column not in known:
                lines.fail(f"there is no column {column!r}")
            if literal is not None and literal >= n_literals:
                lines.fail(f"there is no literal A{literal}")
            category = None if match["category"] is None else lines.value(match["category"])
            factor = float(match["number"]) * (-1 if match["sign"] == "-" else 1)
            summands.append(Summand(factor, column, category, match["state"], literal))
            place = match.end()
        yield tuple(summands)
