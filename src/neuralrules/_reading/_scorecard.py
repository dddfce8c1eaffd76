"""A score card: whole points for each rule, added to what a row starts with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy

from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._activity import activation_chunks, measure, rule_importance
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._performance import mean_loss, number_metrics, true_values
from neuralrules._io._checks import import_pandas, is_whole
from neuralrules._io._templates import framed_page, plain_page
from neuralrules._reading._notation import number, rounded
from neuralrules._reading._outcomes import Outcome, adverse_outcome
from neuralrules._reading._sentences import AT_MOST, growth, seen_texts, share_text
from neuralrules._reading._text import check_counts, spoken_rule
from neuralrules._reading._wording import rule_words

MOST_POINTS = 2.0**40  # limit for one rule on a row far outside of the table: sums stay exact
MOST_BANDS = 16  # a page has room for a table of this many lines
# In a regression, at least this many points make one deviation, so that half a point is little.
POINTS_PER_DEVIATION = 10
WORDING = (3, 3)  # digits of numbers, and columns of a literal
PAGE = "neuralrules._reading", "scorecard.html"  # the package of the template, and its name


@dataclass(frozen=True)
class RoundingCost:
    """How much the error on some rows grows if contributions are rounded to whole points.

    The `metric` is "log loss", or "root mean squared error" for numbers. Its value is `before`
    for the model and `after` for the points.
    """

    metric: str
    before: float
    after: float
    n_rows: int


class Band(NamedTuple):
    """A line of the card's table: those of the given rows whose points lie in one step.

    The step begins at `points`, and `share` is the share of the given rows that lie in it.
    `expected` is the mean of the probabilities, or numbers, that the points of these rows stand
    for. `seen` is the share of the adverse class among these rows, or their mean number.
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
        points = np.asarray(points, np.float64)
        if not self._fitted.task.are_classes:
            return points * self.unit
        start = self._outcome.sign * float(self._fitted.network.intercept[0])
        return start - (points - self.base) * self.unit

    def _meaning(self, points: np.ndarray) -> np.ndarray:
        output = self._output(points)
        return scipy.special.expit(output) if self._fitted.task.are_classes else output

    def table(self) -> list[tuple[int, float]]:
        """Points, in steps, and the probability or number that they stand for.

        If rows were given, these are the steps that hold some of them. Otherwise they are the
        steps on which the class has a probability from 0.1 to 99.9 %, or on which the number
        lies within three deviations of its mean.
        """
        task = self._fitted.task
        if self.bands:
            shown = np.array([band.points for band in self.bands])
        else:
            if task.are_classes:
                rest = scipy.special.logit([0.999, 0.001])
                ends = self.base + (self._output(self.base) - rest) / self.unit
            else:
                ends = (task.centre[0] + np.array([-3, 3]) * task.scale[0]) / self.unit
            low, high = ((ends - self.base) // self.step).astype(int)
            shown = self.base + self.step * np.arange(low, high + 1)
        return list(zip(shown.tolist(), self._meaning(shown).tolist(), strict=True))

    def to_frame(self) -> Any:
        """The rules with their points, as a pandas frame; rules that take points come first."""
        pandas = import_pandas("to_frame")
        names = ["rule", "text", "points", "grows", "levels"]
        return pandas.DataFrame(card_rules(self), columns=names).set_index("rule")

    def to_html(self, path: Any) -> Path:
        """Write the card as one HTML page; an old file stays until the page is complete."""
        return plain_page(*PAGE, card_data(self), path)

    def __str__(self) -> str:
        return card_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str | None:
        """The page, for a notebook."""
        return framed_page(*PAGE, card_data(self), "Score card")


def scorecard(
    fitted: Fitted,
    rows: Rows | None,
    engine: Engine,
    check: Callable[[Any], Any],
    *,
    points_to_double: float,
    base: int,
    unit: float | None,
    levels: int | None,
    adverse: Any,
) -> ScoreCard:
    """Make a card: see `Documents.scorecard`. `check` checks tables that the card scores."""
    if rows is not None and not fitted.activity.n_rows:
        activity = measure(fitted.network, fitted.rules, rows, engine)
        fitted = replace(fitted, activity=activity)
    check_options(fitted, points_to_double, base, unit, levels, adverse)
    task, network = fitted.task, fitted.network
    outcome = adverse_outcome(fitted, adverse)
    effects = outcome.effects(network.values)
    if task.are_classes:
        unit = np.log(2) / float(points_to_double)
        rates, step = -effects / unit, max(round(points_to_double), 1)
    else:
        if unit is None:
            digits = np.floor(np.log10(task.scale[0] / POINTS_PER_DEVIATION))
            unit = float(10.0**digits)
        base = round(float(network.intercept[0]) / unit)
        rates, step = effects / unit, round(float(task.scale[0]) / unit / 2) or 1
    card = ScoreCard(
        base=int(base),
        unit=float(unit),
        rates=rates,
        levels=levels,
        adverse=task.labels[outcome.place] if task.are_classes else None,
        cost=None,
        bands=[],
        step=int(step),
        _fitted=fitted,
        _outcome=outcome,
        _engine=engine,
        _check=check,
    )
    return card if rows is None else measured(card, rows)


def measured(card: ScoreCard, rows: Rows) -> ScoreCard:
    """A card with the cost of whole points on some rows, and with its bands of these rows."""
    fitted, outcome = card._fitted, card._outcome
    if not rows.weights.all():
        rows = rows.take(np.flatnonzero(rows.weights))
    weight, task = rows.weights.astype(np.float64), rows.task
    points = card._points_of(rows.X)
    before = card._engine.decide(fitted.network, rows.X) + fitted.network.intercept
    after = outcome.sign * card._output(points)[:, None]
    truth = true_values(rows)
    if task.are_classes:
        metric, seen = "log loss", (truth == outcome.place).astype(np.float64)
        errors = [mean_loss(rows, outputs) for outputs in (before, after)]
    else:
        metric, seen = "root mean squared error", truth[:, 0]
        errors = [number_metrics(outputs, truth, weight)[metric] for outputs in (before, after)]
    step = card.step
    while len(np.unique((points - card.base) // step)) > MOST_BANDS:
        step *= 2
    place, expected = (points - card.base) // step, card._meaning(points)
    bands = []
    for band in np.unique(place).tolist():
        own = place == band
        means = [float(np.average(each[own], weights=weight[own])) for each in (expected, seen)]
        share = float(weight[own].sum() / weight.sum())
        bands.append(Band(card.base + band * step, share, *means))
    cost = RoundingCost(metric, errors[0], errors[1], len(rows))
    return replace(card, cost=cost, bands=bands, step=step)


def check_options(
    fitted: Fitted, points_to_double: Any, base: Any, unit: Any, levels: Any, adverse: Any
) -> None:
    """Raise ValueError for a model that can have no score card, and for invalid options."""
    task = fitted.task
    if task.n_classes > 2:
        raise ValueError(
            f"The model has {task.n_classes} classes, and a score card is one of two. Fit a "
            "model of one class against the others."
        )
    if task.n_outputs > 1:
        raise ValueError(
            f"The model predicts {task.n_outputs} numbers, and a score card is one of one. Fit "
            "a model for each target."
        )
    if task.are_classes and not task.gives_probabilities:
        raise ValueError(
            f"The model was fitted with loss={task.loss.name!r}, which gives no probabilities "
            "for points to stand for. Fit it with loss='logistic'."
        )
    if not task.loss.link.is_identity:
        raise ValueError(
            f"The model was fitted with loss={task.loss.name!r}: what its rules add is the "
            f"{task.loss.link.output_words}, and points must add up to the prediction itself. "
            "Fit it with loss='squared' or 'huber'."
        )
    if not fitted.activity.n_rows:
        raise ValueError(
            "The model does not remember how strongly its rules fired in training, since it "
            f"was {fitted.why_no_rows}. Give X and y to measure it on, or refit(X, y) it first."
        )
    for name, value in {"points_to_double": points_to_double, "unit": unit}.items():
        given = isinstance(value, Real) and not isinstance(value, bool)
        if not (given and 0 < value < np.inf) and not (name == "unit" and value is None):
            raise ValueError(f"{name}={value!r} must be a number above 0.")
    if not is_whole(base):
        raise ValueError(f"base={base!r} must be a whole number.")
    if levels is not None:
        check_counts(levels=levels)
    if not task.are_classes and adverse is not None:
        raise ValueError(
            f"adverse={adverse!r} names a class, but the model is a regression, whose points "
            "grow with the number. Leave it out."
        )


def card_rules(card: ScoreCard) -> list[dict[str, Any]]:
    """The rules that have points: first those that take points away, then those that add some.

    In both groups the most important rules come first. Each line has the rule's number and
    text, its points at its highest activation, how the points grow, the share of the training
    rows that the rule concerns, and what was seen of these rows. On a card with levels, a line
    lists the conditions and points of each level instead of how the points grow.
    """
    fitted, most, activity = card._fitted, card.most_points(), card._fitted.activity
    importance = rule_importance(fitted.task, fitted.network, activity.activation)
    order = [rule for rule in np.argsort(-importance, kind="stable").tolist() if most[rule]]
    lines = []
    for rule in sorted(order, key=lambda rule: most[rule] > 0):
        grows = ""
        if card.levels is None:
            grows = growth(fitted, rule, abs(float(card.rates[rule])), *WORDING)
        covered, seen = float(activity.covered[rule]), ""
        if covered:
            seen = seen_texts(fitted, activity.totals[rule], covered)[card._outcome.place]
        lines.append(
            {
                "rule": rule,
                "text": spoken_rule(fitted, rule, *WORDING),
                "points": int(most[rule]),
                "grows": grows.removeprefix(AT_MOST).removeprefix(", "),
                "levels": level_texts(card, rule),
                "concerns": (share_text(covered, activity.n_rows), seen),
            }
        )
    return lines


def level_texts(card: ScoreCard, rule: int) -> list[tuple[str, int]]:
    """What each level of a rule asks, and the points of the level; the lowest level first."""
    if card.levels is None:
        return []
    fitted, result = card._fitted, []
    for place, points in enumerate(card.level_points()[rule, 1:].tolist()):
        level, asked = float(card._highest()[rule]) * place / card.levels, ""
        if place and fitted.network.deep:
            asked = f"activation above {number(level, 3)}"
        elif place:
            asked = rule_words(fitted, rule, *WORDING, level=level)
        result.append((asked, points))
    return result


def card_data(card: ScoreCard) -> dict[str, Any]:
    """The contents of a card in words, for its text and its page."""
    rules, cost, unit = card_rules(card), card.cost, number(card.unit, 3)
    start = f"Every row starts at {card.base} points"
    if card.adverse is None:
        title, heading, seen = f"one point is {unit}", "prediction", "their mean"
        start += f". A prediction is the points times {unit}."
    else:
        label, double = card._outcome.label, number(np.log(2) / card.unit, 6)
        title, heading = f"the more points, the less {label}", "probability"
        seen = f"of them {card.adverse}"
        chance = number(100 * float(card.probability(card.base)), 3)
        start += f", which stand for {chance} % {label}. "
        start += f"With {double} points more the odds of {label} are half."
    which = "Points of each rule where it fires most; where it fires less, in proportion"
    how, paid = "whole points", ""
    if card.levels:
        which, how = "Points of each rule, on each of its levels", f"{card.levels} levels"
    if cost is not None:
        paid = (
            f"On the {cost.n_rows} rows given the {cost.metric} is {number(cost.before, 4)} by "
            f"the model and {number(cost.after, 4)} by {how}."
        )
    return {
        "title": f"Score card: {title}",
        "start": start,
        "rules": rules,
        "which": which,
        "left_out": card._fitted.network.n_rules - len(rules),
        "heading": f"mean {heading}" if card.bands else heading,
        "seen": seen,
        "lines": table_lines(card),
        "cost": paid,
    }


def table_lines(card: ScoreCard) -> Sequence[tuple[str, ...]]:
    """Lines of points and what they stand for; given rows add their share and what was seen."""
    if card.cost is None:
        return [(str(points), meaning_text(card, means)) for points, means in card.table()]
    n_rows, lines = card.cost.n_rows, []
    for points, share, expected, seen in card.bands:
        rows, classes = share * n_rows, card.adverse is not None
        was_seen = share_text(seen * rows, rows) if classes else number(seen, 3)
        means, part = meaning_text(card, expected), share_text(rows, n_rows)
        lines.append((str(points), means, part, was_seen))
    return lines


def meaning_text(card: ScoreCard, meaning: float) -> str:
    if card.adverse is None:
        return rounded(meaning, card.unit, 2)
    return f"{rounded(100 * meaning, 100 * min(meaning, 1 - meaning), 2)} %"


def card_text(card: ScoreCard) -> str:
    """A card as text."""
    data = card_data(card)
    blocks = [[f"{data['title']}.", data["start"]]]
    if data["rules"]:
        lines = [f"{data['which']}:"]
        for rule in data["rules"]:
            share, seen = rule["concerns"]
            words = [data["seen"], seen] if card.adverse is None else [seen, data["seen"]]
            notes = [f"rule {rule['rule']}", f"{share} of the rows, {' '.join(words)}"]
            notes += [rule["grows"]] if rule["grows"] else []
            points = "" if rule["levels"] else f"{rule['points']:+5d}"
            lines.append(f"{points:5}  {rule['text']} ({'; '.join(notes)})")
            lines += [f"{step:+5d}    {asked or 'at all'}" for asked, step in rule["levels"]]
        blocks.append(lines)
    if data["left_out"]:
        blocks.append([f"Without a point: {data['left_out']} of the rules."])
    heads = ("points", data["heading"], "rows from there", data["seen"])
    table = [heads[: 4 if card.bands else 2], *data["lines"]]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    blocks.append(["  ".join(map(str.rjust, line, widths)) for line in table])
    blocks += [[data["cost"]]] if data["cost"] else []
    return "\n\n".join("\n".join(lines) for lines in blocks)
