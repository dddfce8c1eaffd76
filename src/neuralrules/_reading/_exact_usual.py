"""The usual outcomes of a column in a model's exact text: see `neuralrules._reading._exact`."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from neuralrules._data._columns import Category, EncodedColumn, Usual, Values
from neuralrules._data._encoder import Encoder
from neuralrules._data._numbers import LARGEST
from neuralrules._reading._exact_lines import STRING, Lines, listed, quoted, shown
from neuralrules._reading._exact_rules import DeclaredColumn, Term
from neuralrules._task._task import Task

USUAL = re.compile(
    rf"usual (?P<name>{STRING}) mean (?P<mean>\[[^]]*\]) deviation (?P<deviation>\[[^]]*\])"
    r" otherwise (?P<otherwise>\[[^]]*\])"
)
VALUE = re.compile(
    rf"  (?:(?P<name>{STRING})|missing) (?P<rows>[0-9]{{1,15}}) (?P<usual>\[.*\])"
)


def usual_lines(encoder: Encoder, source: int) -> list[str]:
    """The usual outcomes of a column's values; empty for a column without usual outcomes."""
    own = [column for column in encoder.columns_of(source) if isinstance(column, Usual)]
    if not own:
        return []
    means, scales, otherwise = (
        listed(getattr(column, name) for column in own)
        for name in ("mean", "scale", "otherwise")
    )
    name, values = quoted(encoder.names[source]), own[0].values
    lines = [f"usual {name} mean {means} deviation {scales} otherwise {otherwise}"]
    usual = zip(*(column.usual for column in own), strict=True)
    for value, rows, outcomes in zip(values.names, values.rows, usual, strict=True):
        text = "missing" if value is None else quoted(value)
        lines.append(f"  {text} {rows} {listed(outcomes)}")
    return lines


def outcome_key(task: Task, outcome: int) -> str | None:
    """How sums name an outcome: a class, or the number of a target; None if there is one."""
    if task.are_classes:
        return None if task.n_classes == 2 else quoted(task.labels[1 + outcome])
    return None if task.n_outputs == 1 else str(outcome)


def with_usual(lines: Lines, declared: DeclaredColumn, task: Task) -> DeclaredColumn:
    """A declared column with the usual outcomes of the next lines."""
    match = USUAL.fullmatch(lines.take())
    if match is None:
        lines.fail("a line of usual outcomes must have their mean, deviation and otherwise")
    if lines.value(match["name"]) != declared.name:
        lines.fail(f"usual outcomes of column {shown(declared.name)} must stand here")
    if declared.number is not None:
        lines.fail(f"column {shown(declared.name)} holds numbers, which have no usual outcomes")
    ends = [
        lines.numbers(lines.value(match[name])).tolist()
        for name in ("mean", "deviation", "otherwise")
    ]
    n_outcomes = len(ends[0])
    expected = task.n_classes - 1 if task.are_classes else n_outcomes
    if {len(own) for own in ends} != {expected}:
        lines.fail(f"expected {expected} usual outcomes")
    if min(ends[1]) <= 0:
        lines.fail("a deviation must be above 0")
    if max(abs(end) for own in ends for end in own) > LARGEST:
        lines.fail(f"usual outcomes must not go beyond {LARGEST:.2g}")
    values, usual = parse_values(lines, declared, n_outcomes)
    source = next(iter(declared.terms.values())).source
    terms: dict[Term, EncodedColumn] = dict(declared.terms)
    for place, (mean, scale, otherwise) in enumerate(zip(*ends, strict=True)):
        own = tuple(usual[:, place].tolist())
        low, high = min(*own, otherwise), max(*own, otherwise)
        column = Usual(source, mean, scale, low, high, place, values, own, otherwise)
        several = n_outcomes > 1
        key = outcome_key(task, place) if task.are_classes or not several else str(place)
        terms[Term(declared.name, "usual", key)] = column
    return declared._replace(terms=terms)


def parse_values(
    lines: Lines, declared: DeclaredColumn, n_outcomes: int
) -> tuple[Values, np.ndarray]:
    """The values of a column and their usual outcomes, (n_values, n_outcomes) float64.

    Values that have an indicator come first, as in `Values`.
    """
    found: dict[str | None, tuple[int, list[float]]] = {}
    while lines.peek().startswith("  "):
        line = lines.take()
        match = VALUE.fullmatch(line)
        if match is None:
            lines.fail(f"{shown(line)} is not a value, its rows and its usual outcomes")
        name = None if match["name"] is None else lines.value(match["name"])
        if name in found:
            lines.fail(f"the value {shown(name)} stands here twice")
        outcomes = lines.numbers(lines.value(match["usual"])).tolist()
        if len(outcomes) != n_outcomes:
            lines.fail(f"expected {n_outcomes} usual outcomes, found {len(outcomes)}")
        found[name] = int(match["rows"]), outcomes
    known = [one.category for one in declared.terms.values() if isinstance(one, Category)]
    for category in known:
        if category not in found:
            what = "missing cells" if category is None else f"the category {shown(category)}"
            lines.fail(f"{what} of column {shown(declared.name)} must have usual outcomes")
    names = [*known, *(name for name in found if name not in set(known))]
    values = Values(tuple(names), tuple(found[name][0] for name in names))
    return values, np.array([found[name][1] for name in names])


def check_outcomes(
    lines: Lines, columns: Iterable[DeclaredColumn], task: Task, n_outputs: int
) -> None:
    """Refuse usual outcomes of another number of targets than the text predicts."""
    for declared in columns:
        found = sum(term.kind == "usual" for term in declared.terms)
        if found and not task.are_classes and found != n_outputs:
            lines.fail(
                f"column {shown(declared.name)} has {found} usual outcomes for {n_outputs} "
                "targets"
            )
