"""A score card as text, and as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neuralrules._fitted._activity import rule_importance
from neuralrules._io._templates import plain_page
from neuralrules._reading._numbers import number, rounded
from neuralrules._reading._sentences import AT_MOST, growth, seen_texts, share_text
from neuralrules._reading._text import spoken_rule
from neuralrules._reading._wording import rule_words

if TYPE_CHECKING:
    from neuralrules._reading._scorecard import ScoreCard

WORDING = (3, 3)  # digits, and columns of a literal


def card_rules(card: ScoreCard) -> list[dict[str, Any]]:
    """The rules that have points: those that take some first, the most important ones first.

    Of each its number, what it says, its points where it fires most, how they grow, and for a
    card with levels what is asked for each level and its points.
    """
    fitted, most = card._fitted, card.most_points()
    importance = rule_importance(fitted.task, fitted.network, fitted.activity.activation)
    order = [rule for rule in np.argsort(-importance, kind="stable") if most[rule]]
    told = []
    for rule in sorted(map(int, order), key=lambda rule: most[rule] > 0):
        grows = growth(fitted, rule, abs(float(card.rates[rule])), *WORDING)
        told.append(
            {
                "rule": rule,
                "text": spoken_rule(fitted, rule, *WORDING),
                "points": int(most[rule]),
                "grows": "" if card.levels else grows.removeprefix(AT_MOST).removeprefix(", "),
                "levels": level_texts(card, rule),
                "concerns": concerns(card, rule),
            }
        )
    return told


def concerns(card: ScoreCard, rule: int) -> tuple[str, str]:
    """The share of the training rows that a rule concerns, and what was seen of them."""
    activity = card._fitted.activity
    covered = float(activity.covered[rule])
    if not covered:
        return share_text(0.0, activity.n_rows), ""
    seen = seen_texts(card._fitted, activity.totals[rule], covered)
    return share_text(covered, activity.n_rows), seen[card._outcome.place]


def level_texts(card: ScoreCard, rule: int) -> list[tuple[str, int]]:
    """What a rule asks for each of its levels, and the points for it; the first one first."""
    fitted = card._fitted
    if card.levels is None:
        return []
    assert fitted.activity.highest is not None
    top = float(fitted.activity.highest[rule])
    result = []
    for level, points in enumerate(card.level_points()[rule, 1:].tolist()):
        if fitted.network.deep or not level:
            part = number(top * level / card.levels, 3)
            asked = f"activation above {part}" if level else ""
        else:
            asked = rule_words(fitted, rule, *WORDING, level=top * level / card.levels)
        result.append((asked, points))
    return result


def card_data(card: ScoreCard) -> dict[str, Any]:
    """What stands on a card, in words."""
    rules = card_rules(card)
    return {
        "title": title(card),
        "start": start_sentence(card),
        "rules": rules,
        "which": which_points(card),
        "left_out": card._fitted.network.n_rules - len(rules),
        "heading": heading(card),
        "seen": f"of them {card.adverse}" if card.adverse is not None else "their mean",
        "lines": table_lines(card),
        "cost": cost_sentence(card),
    }


def heading(card: ScoreCard) -> str:
    """What the table says beside points: of rows given, their mean, as what was seen is."""
    what = "probability" if card.adverse is not None else "prediction"
    return f"mean {what}" if card.bands else what


def title(card: ScoreCard) -> str:
    if card.adverse is None:
        return f"Score card: one point is {number(card.unit, 3)}"
    return f"Score card: the more points, the less {card._outcome.label}"


def start_sentence(card: ScoreCard) -> str:
    """Where rows start, and what points mean."""
    if card.adverse is None:
        unit = number(card.unit, 3)
        return (
            f"Every row starts at {card.base} points. A prediction is the points times {unit}."
        )
    start = number(100 * float(card.probability(card.base)), 3)
    label, double = card._outcome.label, number(np.log(2) / card.unit, 6)
    return (
        f"Every row starts at {card.base} points, which stand for {start} % {label}. "
        f"With {double} points more the odds of {label} are half."
    )


def which_points(card: ScoreCard) -> str:
    """What the points beside a rule are."""
    if card.levels:
        return "Points of each rule, on each of its levels"
    return "Points of each rule where it fires most; where it fires less, in proportion"


def table_lines(card: ScoreCard) -> list[tuple[str, ...]]:
    """Points, what they stand for and, of rows given, their share and what was seen of them."""
    if card.cost is None:
        return [(str(points), meaning_text(card, means)) for points, means in card.table()]
    n_rows = card.cost.n_rows
    lines: list[tuple[str, ...]] = []
    for points, share, expected, seen in card.bands:
        rows = share * n_rows
        told = meaning_text(card, expected), share_text(rows, n_rows)
        lines.append((str(points), *told, seen_text(card, seen, rows)))
    return lines


def meaning_text(card: ScoreCard, meaning: float) -> str:
    if card.adverse is None:
        return rounded(meaning, card.unit, 2)
    return f"{rounded(100 * meaning, 100 * min(meaning, 1 - meaning), 2)} %"


def seen_text(card: ScoreCard, rate: float, rows: float) -> str:
    return share_text(rate * rows, rows) if card.adverse is not None else number(rate, 3)


def cost_sentence(card: ScoreCard) -> str:
    """What whole points cost; empty where no rows were given."""
    if card.cost is None:
        return ""
    cost = card.cost
    how = f"{card.levels} levels" if card.levels else "whole points"
    return (
        f"On the {cost.n_rows} rows given the {cost.metric} is {number(cost.before, 4)} by the "
        f"model and {number(cost.after, 4)} by {how}."
    )


def card_text(card: ScoreCard) -> str:
    """A card as text."""
    data = card_data(card)
    lines = [f"{data['which']}:"]
    for line in data["rules"]:
        share, seen = line["concerns"]
        said = f"{data['seen']} {seen}" if card.adverse is None else f"{seen} {data['seen']}"
        notes = [f"rule {line['rule']}", f"{share} of the rows, {said}"]
        notes += [line["grows"]] if line["grows"] else []
        told = f"{line['text']} ({'; '.join(notes)})"
        if not line["levels"]:
            lines.append(f"{line['points']:+5d}  {told}")
            continue
        lines.append(f"       {told}")
        lines += [f"{points:+5d}    {asked or 'at all'}" for asked, points in line["levels"]]
    rows = data["lines"]
    heads = ["points", data["heading"], "rows from there", data["seen"]][
        : len(rows[0]) if rows else 0
    ]
    widths = [max(len(cell) for cell in column) for column in zip(heads, *rows, strict=True)]
    table = [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in [heads, *rows]
    ]
    rules = "\n".join(lines if data["rules"] else [])
    parts = [f"{data['title']}.\n{data['start']}", rules, "\n".join(table)]
    if data["left_out"]:
        parts.insert(2, f"Without a point: {data['left_out']} of the rules.")
    return "\n\n".join(part for part in [*parts, data["cost"]] if part)


def write_page(card: ScoreCard, path: Any) -> Path:
    """A card as one HTML page that needs nothing else."""
    return plain_page(*page_parts(card), path)


def page_parts(card: ScoreCard) -> tuple[str, str, dict[str, Any]]:
    """The package of the page's template, its name, and what it shows."""
    return "neuralrules._reading", "scorecard.html", card_data(card)
