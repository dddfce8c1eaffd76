"""The parts of the Python module for points of a score card and reasons of a row."""

from __future__ import annotations

import textwrap

from neuralrules._export._extras import Extras
from neuralrules._export._python_code import WIDTH, bracketed, float_code, text_code
from neuralrules._export._python_templates import (
    CARD,
    CARD_LEVELS,
    LEVELS,
    POINTS,
    POINTS_PREDICTION,
    POINTS_PROBABILITY,
    REASONS,
    REASONS_TABLE,
)
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._scorecard import ScoreCard


def extra_summary(extras: Extras) -> list[str]:
    """Lines of the docstring about the functions for points and reasons."""
    lines = []
    if extras.card is not None:
        lines.append("    points(row)         whole points of the score card")
        name = "points_prediction" if extras.card.adverse is None else "points_probability"
        lines.append(f"    {name}(row), what these points stand for")
    if extras.n_reasons:
        lines.append("    reasons(row)        a list of what speaks for the adverse outcome")
    return lines


def extra_functions(fitted: Fitted, extras: Extras) -> list[list[str]]:
    """The functions for points, for the prediction that points stand for, and for reasons."""
    functions = []
    if extras.card is not None:
        levels = extras.card.levels is not None
        functions.append(
            [CARD_LEVELS if levels else CARD.format(sign=points_sign(extras.card))]
        )
        number = extras.card.adverse is None
        functions.append([POINTS_PREDICTION if number else POINTS_PROBABILITY])
    if extras.n_reasons:
        functions.append(
            [REASONS.format(k=extras.n_reasons, added=adverse_code(fitted, extras))]
        )
    return functions


def points_sign(card: ScoreCard) -> str:
    """The sign that turns the contribution of a rule to the decision into points."""
    takes = card.adverse is not None and card._outcome.sign > 0
    return "-" if takes else ""


def adverse_code(fitted: Fitted, extras: Extras) -> str:
    """The code for the contribution of a rule to the adverse outcome.

    The code computes it from the contributions of the rule to the outputs.
    """
    outcome = extras.outcome
    assert outcome is not None  # or there are no reasons
    if fitted.network.n_outputs == 1:
        return "-parts" if outcome.sign < 0 else "parts"
    if fitted.task.are_classes and fitted.task.loss.compares_outputs:
        return f"parts[{outcome.place}] - sum(parts) / len(parts)"
    return f"parts[{outcome.place}]"


def extra_tables(fitted: Fitted, extras: Extras) -> list[list[str]]:
    """The tables after the rules: numbers of the score card, and sentences of reasons."""
    tables = []
    if extras.card is not None:
        tables.append(card_lines(fitted, extras.card))
    if extras.n_reasons:
        lines = [f"FAINT = {float_code(extras.faint)}  # less is no reason", REASONS_TABLE]
        for rule, _, usual, fires, missed in extras.reasons:
            lines += ["    (", f"        rule_{rule},", f"        {float_code(usual)},"]
            lines += [*text_lines(fires), *text_lines(missed), "    ),"]
        tables.append([*lines, "]"])
    return tables


def text_lines(text: str) -> list[str]:
    """A text as an item of a list, in pieces that fit on a line. An empty text becomes None."""
    if not text:
        return ["        None,"]
    words = textwrap.wrap(text, WIDTH - 20, drop_whitespace=False, break_on_hyphens=False)
    pieces = [f"        {text_code(piece)}" for piece in words]
    return [*pieces[:-1], f"{pieces[-1]},"]


def card_lines(fitted: Fitted, card: ScoreCard) -> list[str]:
    """The constants of a score card: its base, its unit, and the points of its levels."""
    lines = [POINTS, f"BASE = {card.base}", f"UNIT = {float_code(card.unit)}"]
    if card.adverse is not None:
        lines.append(f"START = {float_code(card._output(card.base))}  # log odds at the base")
    if card.levels is None:
        return lines
    lines.append(LEVELS)
    for rule, points in enumerate(card.level_points().tolist()):
        size = float(fitted.network.values[rule, 0] * card._highest()[rule]) / card.levels
        if any(points):
            numbers = f"[{', '.join(map(str, points))}]"
            lines += bracketed("    (", [f"rule_{rule}", float_code(size), numbers], "),")
    return [*lines, "]"]
