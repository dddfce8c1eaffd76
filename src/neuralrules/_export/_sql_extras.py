"""Points of a score card, and the strongest reasons of a row, as columns of subqueries.

Each rule that can be a reason has columns that say how much worse it leaves the row than the
average row. The largest of these columns is the first reason, the second largest is the second
reason, and so on. A small table `sentences` contains the sentence of each column.
"""

from __future__ import annotations

from typing import NamedTuple

from neuralrules._export._extras import Extras
from neuralrules._export._sql_dialect import Dialect
from neuralrules._export._sql_printer import MAX_GROUP, bounded, extreme
from neuralrules._reading._scorecard import ScoreCard

LARGEST_SUM = "9e15"  # points; doubles and integers represent whole numbers up to here exactly


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
        gone = f"CASE WHEN r{rule} > 0 THEN 0 ELSE {-usual!r} END"
        # Constants alone would be decimals in PostgreSQL and DuckDB.
        gone = dialect.as_double(gone)
        found += [Shortfall(f"s{rule}_weak", weak, fires)]
        found += [Shortfall(f"s{rule}_missed", gone, missed)]
    return found


def check_reasons(extras: Extras, one_subquery: bool, most: int) -> None:
    """Refuse reasons if the rules of the model do not fit into one subquery."""
    if extras.n_reasons and not one_subquery:
        raise ValueError(
            "reasons are for models whose rules one subquery can hold, and this one would need "
            f"more than {most} columns. Simplify the model, or take to_python."
        )


def reason_subqueries(extras: Extras, dialect: Dialect) -> list[tuple[str, list[str]]]:
    """Names and columns of the subqueries that find the reasons one after the other."""
    if extras.outcome is None:
        return []
    names = [one.name for one in shortfalls(extras, dialect)]
    subqueries: list[tuple[str, list[str]]] = []
    for place in range(1, extras.n_reasons + 1):
        earlier = ", ".join(f"reason_{i}" for i in range(1, place))
        left = [
            f"CASE WHEN '{name}' IN ({earlier}) THEN 0 ELSE {name} END" if earlier else name
            for name in names
        ]
        most = extreme(dialect.greatest, left, "\n      ", "\n    ") if left else "0"
        cases = [f"WHEN most_{place} <= {extras.outcome.faint!r} THEN NULL"]
        for name in names:
            unused = f" AND '{name}' NOT IN ({earlier})" if earlier else ""
            cases.append(f"WHEN {name} = most_{place}{unused} THEN '{name}'")
        chosen = "\n      ".join(["CASE", *cases]) + "\n    END"
        subqueries.append((f"shortfall_{place}", ["*", f"{most} AS most_{place}"]))
        subqueries.append((f"reasons_{place}", ["*", f"{chosen} AS reason_{place}"]))
    return subqueries


def sentence_lines(extras: Extras, dialect: Dialect) -> str:
    """The rows of the table `sentences`: names of columns and their sentences."""
    lines = []
    for name, _, sentence in shortfalls(extras, dialect):
        text = dialect.string(sentence)
        assert text is not None  # because the texts of rules are printable
        lines.append(f"    ('{name}', {text})")
    return ",\n".join(lines or ["    ('', '')"])


def points_sum(card: ScoreCard, rules: range, dialect: Dialect) -> str:
    """The sum of the points so far and the points of some rules."""
    start = "points" if rules.start else dialect.as_double(str(card.base))
    terms = [rule_points(card, rule) for rule in rules]
    terms = [f"+ {term}" for term in terms if term]
    groups = [terms[start : start + MAX_GROUP] for start in range(0, len(terms), MAX_GROUP)]
    space = "\n      "
    sums = [space.join(group) for group in groups]
    if len(sums) > 1:
        sums = [f"+ (0 {one})" for one in sums]
    return space.join([start, *sums])


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


def points_columns(card: ScoreCard, dialect: Dialect) -> list[tuple[str, str]]:
    """The expressions and names of the columns of the result that are about points."""
    low_enough = f"{dialect.least}({LARGEST_SUM}, points)"
    whole = f"CAST({dialect.greatest}(-{LARGEST_SUM}, {low_enough}) AS {dialect.whole})"
    if card.adverse is None:
        return [(whole, "points"), (f"points * {card.unit!r}", "points_prediction")]
    start = float(card._output(card.base))
    against = f"{-start!r} + {card.unit!r} * (points - {card.base})"
    probability = f"1 / (1 + EXP({bounded(against, dialect)}))"
    return [(whole, "points"), (probability, "points_probability")]
