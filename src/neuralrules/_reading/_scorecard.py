"""A score card: whole points for each rule, added to what a row starts with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy

from neuralrules._engine._protocol import Engine
from neuralrules._fitted._activity import activation_chunks, rule_importance
from neuralrules._fitted._fitted import Fitted
from neuralrules._io._frames import import_pandas
from neuralrules._io._templates import framed_page, plain_page
from neuralrules._reading._numbers import number, rounded
from neuralrules._reading._outcomes import Outcome
from neuralrules._reading._sentences import AT_MOST, growth, seen_texts, share_text
from neuralrules._reading._text import spoken_rule
from neuralrules._reading._wording import rule_words

MOST_POINTS = 2.0**40  # limit for one rule on a row far outside of the table: sums stay exact
WORDING = (3, 3)  # digits of numbers, and columns of a literal


@dataclass(frozen=True)
class RoundingCost:
    """How much the error on some rows grows if contributions are rounded to whole points.

    Attributes
    ----------
    metric : str
        "log loss", or "root mean squared error" for numbers.
    before, after : float
        The metric of the model, and of the points.
    n_rows : int
    """

    metric: str
    before: float
    after: float
    n_rows: int


class Band(NamedTuple):
    """A line of the card's table: those of the given rows whose points lie in one step.

    Attributes
    ----------
    points : int
        The number of points at which the step begins.
    share : float
        The share of the given rows whose points lie in the step.
    expected : float
        The mean of the probabilities, or numbers, that the points of these rows stand for.
    seen : float
        The share of the adverse class among these rows, or the mean of their numbers.
    """

    points: int
    share: float
    expected: float
    seen: float


@dataclass(frozen=True, repr=False)
class ScoreCard:
    """Whole points for each rule of a model, and what their sum means.

    The points of a rule are proportional to its activation and rounded to a whole number, so
    that a row's points are a sum of whole numbers. Rounding changes the points of a rule by at
    most half a point. With `levels`, a rule's activation is cut into a few steps, so that the
    card can be used on paper. This is less exact.

    Attributes
    ----------
    base : int
        Points that every row starts with.
    unit : float
        The size of one point, in log odds of the class or in units of the predicted number.
    rates : (n_rules,) float64
        Points of each rule for one unit of its activation, before rounding.
    levels : int or None
        The number of steps into which the activation of a rule is cut; None for points that
        are proportional to the activation.
    adverse : object
        The class whose rules take points away; None for numbers.
    cost : RoundingCost or None
        What whole points cost on the given rows. None if no rows were given.
    bands : list of Band
        The steps, counted from the base, that hold some of the given rows.
    step : int
        Points from one line of the table to the next.
    """

    base: int
    unit: float
    rates: np.ndarray
    levels: int | None
    adverse: Any
    cost: RoundingCost | None
    bands: list[Band]
    step: int
    _fitted: Fitted
    _outcome: Outcome
    _engine: Engine
    _check: Callable[[Any], Any]

    def points(self, X: Any) -> np.ndarray:
        """Points of each row of a table, (n_rows,) int64; `X` may be a single row."""
        table, fitted = self._check(X), self._fitted
        found = [self._points_of(encoded) for _, _, encoded in fitted.encoder.chunks(table)]
        return np.concatenate(found)

    def _points_of(self, encoded: np.ndarray) -> np.ndarray:
        chunks = activation_chunks(self._fitted.network, encoded, self._engine)
        return np.concatenate(
            [self.base + self.rule_points(active).sum(axis=1) for _, active in chunks]
        )

    def rule_points(self, activations: np.ndarray) -> np.ndarray:
        """Points of each rule for activations (n_rows, n_rules), int64."""
        if self.levels is None:
            exact = np.clip(activations * self.rates, -MOST_POINTS, MOST_POINTS)
            return np.rint(exact).astype(np.int64)
        highest = self._highest()
        share = activations / np.where(highest > 0, highest, np.inf)
        steps = np.clip(np.ceil(share * self.levels), 0, self.levels).astype(np.int64)
        return self.level_points()[np.arange(len(self.rates)), steps]

    def level_points(self) -> np.ndarray:
        """Points of each rule in the middle of each level, (n_rules, levels + 1) int64.

        On level 0 a rule does not fire and has no points.
        """
        assert self.levels is not None
        middles = np.maximum(np.arange(self.levels + 1) - 0.5, 0) / self.levels
        return np.rint(np.outer(self.rates * self._highest(), middles)).astype(np.int64)

    def most_points(self) -> np.ndarray:
        """Points of each rule at its highest activation in training, (n_rules,) int64."""
        if self.levels is not None:
            return self.level_points()[:, -1]
        return np.rint(self.rates * self._highest()).astype(np.int64)

    def _highest(self) -> np.ndarray:
        return self._fitted.activity.highest

    def probability(self, points: Any) -> Any:
        """The probability of the adverse class for points, a number or an array."""
        if not self._fitted.task.are_classes:
            raise ValueError(
                "probability is for classes, but the model is a regression. Take prediction."
            )
        return scipy.special.expit(self._output(points))

    def prediction(self, points: Any) -> Any:
        """The prediction of a regression that points stand for, a number or an array."""
        if self._fitted.task.are_classes:
            raise ValueError(
                "prediction is for numbers, but the model is one of classes. Take probability."
            )
        return self._output(points)

    def _output(self, points: Any) -> Any:
        """Log odds of the adverse class, or the number, that points stand for."""
        above = np.asarray(points, np.float64) - self.base
        if not self._fitted.task.are_classes:
            return (self.base + above) * self.unit
        start = self._outcome.sign * float(self._fitted.network.intercept[0])
        return start - above * self.unit

    def table(self) -> list[tuple[int, float]]:
        """Points, in steps, and the probability or number that they stand for.

        If rows were given, these are the steps that hold some of them. Otherwise they are the
        steps on which the class has a probability from 0.1 to 99.9 %, or on which the number
        lies within three deviations of its mean.
        """
        if self.bands:
            shown = np.array([band.points for band in self.bands])
        else:
            low, high = ((end - self.base) // self.step for end in self._usual_points())
            shown = self.base + self.step * np.arange(int(low), int(high) + 1)
        return list(zip(shown.tolist(), self._meaning(shown).tolist(), strict=True))

    def _usual_points(self) -> tuple[float, float]:
        task = self._fitted.task
        if task.are_classes:
            start = self._outcome.sign * float(self._fitted.network.intercept[0])
            rest = scipy.special.logit([0.999, 0.001])
            low, high = self.base + (start - rest) / self.unit
            return low, high
        mean, scale = float(task.centre[0]), float(task.scale[0])
        return (mean - 3 * scale) / self.unit, (mean + 3 * scale) / self.unit

    def _meaning(self, points: np.ndarray) -> np.ndarray:
        output = self._output(points)
        return scipy.special.expit(output) if self._fitted.task.are_classes else output

    def to_frame(self) -> Any:
        """The rules with their points, as a pandas frame; rules that take points come first."""
        pandas = import_pandas("to_frame")
        names = ["rule", "text", "points", "grows", "levels"]
        return pandas.DataFrame(card_rules(self), columns=names).set_index("rule")

    def to_html(self, path: Any) -> Path:
        """Write the card as one HTML page; an old file stays until the page is complete."""
        return write_page(self, path)

    def __str__(self) -> str:
        return card_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str | None:
        """The page, for a notebook."""
        return framed_page(*page_parts(self), "Score card")


def card_rules(card: ScoreCard) -> list[dict[str, Any]]:
    """The rules that have points: first those that take points away, then those that add some.

    In both groups the most important rules come first. Each line has the rule's number and
    text, its points at its highest activation, and how the points grow. On a card with levels,
    a line lists the conditions and points of each level instead of how the points grow.
    """
    fitted, most = card._fitted, card.most_points()
    importance = rule_importance(fitted.task, fitted.network, fitted.activity.activation)
    order = [rule for rule in np.argsort(-importance, kind="stable") if most[rule]]
    lines = []
    for rule in sorted(map(int, order), key=lambda rule: most[rule] > 0):
        grows = growth(fitted, rule, abs(float(card.rates[rule])), *WORDING)
        lines.append(
            {
                "rule": rule,
                "text": spoken_rule(fitted, rule, *WORDING),
                "points": int(most[rule]),
                "grows": "" if card.levels else grows.removeprefix(AT_MOST).removeprefix(", "),
                "levels": level_texts(card, rule),
                "concerns": concerns(card, rule),
            }
        )
    return lines


def concerns(card: ScoreCard, rule: int) -> tuple[str, str]:
    """The share of the training rows that a rule concerns, and what was seen of these rows."""
    activity = card._fitted.activity
    covered = float(activity.covered[rule])
    if not covered:
        return share_text(0.0, activity.n_rows), ""
    seen = seen_texts(card._fitted, activity.totals[rule], covered)
    return share_text(covered, activity.n_rows), seen[card._outcome.place]


def level_texts(card: ScoreCard, rule: int) -> list[tuple[str, int]]:
    """What each level of a rule asks, and the points of the level; the lowest level first."""
    fitted = card._fitted
    if card.levels is None:
        return []
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
    """The contents of a card in words, for its text and its page."""
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
    """The heading of the column for what points stand for; a mean if rows were given."""
    what = "probability" if card.adverse is not None else "prediction"
    return f"mean {what}" if card.bands else what


def title(card: ScoreCard) -> str:
    if card.adverse is None:
        return f"Score card: one point is {number(card.unit, 3)}"
    return f"Score card: the more points, the less {card._outcome.label}"


def start_sentence(card: ScoreCard) -> str:
    """The points that every row starts with, and what points mean."""
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
    """The heading above the rules and their points."""
    if card.levels:
        return "Points of each rule, on each of its levels"
    return "Points of each rule where it fires most; where it fires less, in proportion"


def table_lines(card: ScoreCard) -> list[tuple[str, ...]]:
    """Lines of points and what they stand for; given rows add their share and what was seen."""
    if card.cost is None:
        return [(str(points), meaning_text(card, means)) for points, means in card.table()]
    n_rows = card.cost.n_rows
    lines: list[tuple[str, ...]] = []
    for points, share, expected, seen in card.bands:
        rows = share * n_rows
        means, part = meaning_text(card, expected), share_text(rows, n_rows)
        lines.append((str(points), means, part, seen_text(card, seen, rows)))
    return lines


def meaning_text(card: ScoreCard, meaning: float) -> str:
    if card.adverse is None:
        return rounded(meaning, card.unit, 2)
    return f"{rounded(100 * meaning, 100 * min(meaning, 1 - meaning), 2)} %"


def seen_text(card: ScoreCard, rate: float, rows: float) -> str:
    return share_text(rate * rows, rows) if card.adverse is not None else number(rate, 3)


def cost_sentence(card: ScoreCard) -> str:
    """What whole points cost; empty if no rows were given."""
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
        text = f"{line['text']} ({'; '.join(notes)})"
        if not line["levels"]:
            lines.append(f"{line['points']:+5d}  {text}")
            continue
        lines.append(f"       {text}")
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
    """Write a card as a self-contained HTML page."""
    return plain_page(*page_parts(card), path)


def page_parts(card: ScoreCard) -> tuple[str, str, dict[str, Any]]:
    """The package of the page's template, the template's name, and the page's data."""
    return "neuralrules._reading", "scorecard.html", card_data(card)
