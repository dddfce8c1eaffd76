"""The columns of the result: predictions, points of a score card, and reasons of a row.

Each rule that can be a reason has columns that say how much worse it leaves the row than the
average row. The largest of these columns is the first reason, the second largest is the second
reason, and so on. A small table `sentences` contains the sentence of each column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from neuralrules._export._extras import Extras, plain_labels
from neuralrules._export._sql_dialects import Dialect, is_name
from neuralrules._export._sql_printer import (
    ITEM,
    LINE,
    Printer,
    bounded,
    extreme,
    sum_of,
    weighted_sum,
)
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._formula import Formula
from neuralrules._reading._scorecard import ScoreCard
from neuralrules._task._loss import LARGEST_OUTPUT

LARGEST_SUM = "9e15"  # points; doubles and integers represent whole numbers up to here exactly


def prediction_columns(
    fitted: Fitted, formula: Formula, dialect: Dialect
) -> list[tuple[str, str]]:
    """Names and expressions of the predictions, computed from the outputs d0, d1, ...."""
    task, n_outputs = fitted.task, formula.network.n_outputs
    values = [f"d{output}" for output in range(n_outputs)]
    if not task.are_classes:
        names = [f"prediction_{output}" for output in range(n_outputs)]
        printer = Printer(dialect)
        values = [printer.number(prediction) for prediction in formula.predictions]
        return list(zip(names if n_outputs > 1 else ["prediction"], values, strict=True))
    if task.gives_probabilities:
        names = named_by_class("probability", task.labels, dialect)
        values = probabilities(n_outputs, dialect)
    elif n_outputs == 1:
        names = ["decision"]
    else:
        names = named_by_class("decision", task.output_names, dialect)
    label = ("prediction", predicted_label(fitted, dialect))
    return [label, *zip(names, values, strict=True)]


def named_by_class(prefix: str, labels: list[Any], dialect: Dialect) -> list[str]:
    """Names that end in the labels.

    They end in numbers instead if the names with labels are invalid, too long or not different.
    """
    names = [f"{prefix}_{label}" for label in labels]
    fit = all(is_name(name) and len(name.encode()) <= dialect.longest_name for name in names)
    if fit and len({name.casefold() for name in names}) == len(names):
        return names
    return [f"{prefix}_{place}" for place in range(len(labels))]


def comparing_subqueries(fitted: Fitted, dialect: Dialect) -> list[tuple[str, list[str]]]:
    """The names and columns of subqueries that compute the softmax of several classes."""
    n_outputs = fitted.network.n_outputs
    if not fitted.task.are_classes or n_outputs == 1:
        return []
    outputs = [f"d{output}" for output in range(n_outputs)]
    subqueries = [("compared", [f"{extreme(dialect.greatest, outputs)} AS highest"])]
    if fitted.task.gives_probabilities:
        powers = [
            # The differences are at most 0, and the lower bound prevents an underflow. The
            # largest power is 1.
            f"EXP({dialect.greatest}({output} - highest, -{LARGEST_OUTPUT:g})) AS e{place}"
            for place, output in enumerate(outputs)
        ]
        terms = [(1.0, f"e{place}") for place in range(n_outputs)]
        total = weighted_sum(terms, 0.0, dialect)
        subqueries += [("powers", powers), ("total", [f"{total} AS total"])]
    return subqueries


def probabilities(n_outputs: int, dialect: Dialect) -> list[str]:
    """The logistic function of one output, or the softmax of several."""
    if n_outputs > 1:
        return [f"e{output} / total" for output in range(n_outputs)]
    positive = f"1 / (1 + EXP({bounded('-d0', dialect)}))"
    return [f"1 - {positive}", positive]


def predicted_label(fitted: Fitted, dialect: Dialect) -> str:
    """The first label with the highest output.

    The second of two classes is predicted if the only output is positive.
    """
    labels = label_constants(plain_labels(fitted), dialect)
    if len(labels) == 2:
        return f"CASE WHEN d0 > 0 THEN {labels[1]} ELSE {labels[0]} END"
    cases = [f"WHEN d{place} = highest THEN {label}" for place, label in enumerate(labels)]
    return f"CASE {' '.join(cases)} END"


def label_constants(labels: list[Any], dialect: Dialect) -> list[str]:
    """Labels as constants of one type: text, boolean, integer or double precision."""
    kinds = {type(label) for label in labels}
    if kinds in ({bool}, {int}):
        return [str(label).upper() for label in labels]
    if kinds <= {bool, int, float}:
        return [dialect.as_double(repr(float(label))) for label in labels]
    constants = []
    for label in labels:
        text = dialect.string(label) if isinstance(label, str) else None
        if text is None:
            raise ValueError(
                f"to_sql cannot write the class {label!r} for {dialect.title}: labels must be "
                "numbers or booleans, or strings that it can hold. Fit on y with such labels, "
                "for example their numbers."
            )
        constants.append(text)
    return constants


def points_columns(card: ScoreCard, dialect: Dialect) -> list[tuple[str, str]]:
    """Names and expressions of the columns about points, from their sum."""
    low_enough = f"{dialect.least}({LARGEST_SUM}, points)"
    whole = f"CAST({dialect.greatest}(-{LARGEST_SUM}, {low_enough}) AS {dialect.whole})"
    if card.adverse is None:
        return [("points", whole), ("points_prediction", f"points * {card.unit!r}")]
    start = float(card._output(card.base))
    against = f"{-start!r} + {card.unit!r} * (points - {card.base})"
    probability = f"1 / (1 + EXP({bounded(against, dialect)}))"
    return [("points", whole), ("points_probability", probability)]


def points_sum(card: ScoreCard, rules: range, dialect: Dialect) -> str:
    """The sum of the points so far and the points of some rules."""
    start = "points" if rules.start else dialect.as_double(str(card.base))
    terms = [f"+ {term}" for rule in rules if (term := rule_points(card, rule))]
    return sum_of(start, terms, LINE, zero="0 ")


def rule_points(card: ScoreCard, rule: int) -> str:
    """The points of one rule, computed from its activation. Empty if they are always 0."""
    rate = float(card.rates[rule])
    if card.levels is None:
        return f"ROUND({rate!r} * r{rule})" if rate else ""
    points = card.level_points()[rule].tolist()
    if not any(points):
        return ""
    top = float(card._highest()[rule])
    cases = [
        f"WHEN r{rule} > {top * level / card.levels!r} THEN {points[level + 1]}"
        for level in reversed(range(card.levels))
    ]
    return f"CASE {' '.join(cases)} ELSE 0 END"


class Shortfall(NamedTuple):
    """A column that says how much worse a rule leaves a row, and the sentence for it."""

    name: str
    expression: str
    sentence: str


def shortfalls(extras: Extras, dialect: Dialect) -> list[Shortfall]:
    """The columns that the reasons are chosen from. A column that does not apply is 0."""
    found = []
    for rule, effect, usual, fires, missed in extras.reasons:
        sign = "-" if usual > 0 else "+"
        worse = f"{effect!r} * r{rule} {sign} {abs(usual)!r}"
        if not missed:
            found.append(Shortfall(f"s{rule}_against", worse, fires))
            continue
        weak = f"CASE WHEN r{rule} > 0 THEN {worse} ELSE 0 END"
        # Constants alone would be decimals in PostgreSQL and DuckDB.
        gone = dialect.as_double(f"CASE WHEN r{rule} > 0 THEN 0 ELSE {-usual!r} END")
        found.append(Shortfall(f"s{rule}_weak", weak, fires))
        found.append(Shortfall(f"s{rule}_missed", gone, missed))
    return found


def reason_subqueries(
    extras: Extras, names: list[str], dialect: Dialect
) -> list[tuple[str, list[str]]]:
    """Names and columns of the subqueries that find the reasons one after the other.

    `names` are those of the columns that the reasons are chosen from.
    """
    if extras.outcome is None:
        return []
    subqueries: list[tuple[str, list[str]]] = []
    for place in range(1, extras.n_reasons + 1):
        earlier = ", ".join(f"reason_{i}" for i in range(1, place))
        left, cases = [], [f"WHEN most_{place} <= {extras.outcome.faint!r} THEN NULL"]
        for name in names:
            unused = f" AND '{name}' NOT IN ({earlier})" if earlier else ""
            cases.append(f"WHEN {name} = most_{place}{unused} THEN '{name}'")
            taken = f"CASE WHEN '{name}' IN ({earlier}) THEN 0 ELSE {name} END"
            left.append(taken if earlier else name)
        most = extreme(dialect.greatest, left, LINE, ITEM) if left else "0"
        chosen = LINE.join(["CASE", *cases]) + "\n    END"
        subqueries.append((f"shortfall_{place}", ["*", f"{most} AS most_{place}"]))
        subqueries.append((f"reasons_{place}", ["*", f"{chosen} AS reason_{place}"]))
    return subqueries
