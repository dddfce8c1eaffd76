"""A model as a score card: whole points for each rule, added to what a row starts with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy

from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._activity import activation_chunks, measure
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._performance import true_values
from neuralrules._io._frames import import_pandas
from neuralrules._io._templates import framed_page
from neuralrules._reading._outcomes import Outcome, adverse_outcome
from neuralrules._reading._scorecard_text import card_rules, card_text, page_parts, write_page
from neuralrules._reading._text import check_counts

MOST_POINTS = 2.0**40  # of one rule, on a row far outside of the table: sums stay whole
MOST_BANDS = 16  # lines of a table that a page has room for
# Points of a regression: some ten of them to its deviation, so that half a point is little.
POINTS_PER_DEVIATION = 10


@dataclass(frozen=True)
class RoundingCost:
    """What whole points cost on some rows.

    Attributes
    ----------
    metric : str
        "log loss", or "root mean squared error" for numbers.
    before, after : float
        That of the model, and that of the points.
    n_rows : int
    """

    metric: str
    before: float
    after: float
    n_rows: int


class Band(NamedTuple):
    """What a card says of the rows given whose points lie in one step, and what was seen.

    Attributes
    ----------
    points : int
        Where the step begins.
    share : float
        Of the rows given.
    expected : float
        The mean over its rows of the probability, or number, that their points stand for.
    seen : float
        The share of the adverse class among them, or the mean of the number.
    """

    points: int
    share: float
    expected: float
    seen: float


@dataclass(frozen=True, repr=False)
class ScoreCard:
    """Whole points for each rule of a model, and what their sum means.

    The points of a rule are proportional to its activation, and the points of each rule are
    rounded by themselves, so that a row's points are the sum of whole numbers. Rounding moves
    a rule by at most half a point. With `levels` the activation counts in a few steps, as it
    must on paper, which loses more.

    Attributes
    ----------
    base : int
        Points that every row starts with.
    unit : float
        What one point is: log odds of a class, or units of a number.
    rates : (n_rules,) float64
        Points of each rule for one unit of its activation, before rounding.
    levels : int or None
        Into how many steps the activation of a rule is cut; None for points that are
        proportional to it.
    adverse : object
        The class that takes points; None for numbers.
    cost : RoundingCost or None
        Where rows were given to measure it on.
    bands : list of Band
        The steps from the base that hold some of the rows given.
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
        """Points of each row of a table, (n_rows,) int64; one row may come alone."""
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
        """Points of each rule on each level, (n_rules, levels + 1) int64: those of its middle.

        On level 0, where a rule does not fire, they are 0.
        """
        assert self.levels is not None
        middles = np.maximum(np.arange(self.levels + 1) - 0.5, 0) / self.levels
        return np.rint(np.outer(self.rates * self._highest(), middles)).astype(np.int64)

    def most_points(self) -> np.ndarray:
        """Points of each rule where it fired most in training, (n_rules,) int64."""
        if self.levels is not None:
            return self.level_points()[:, -1]
        return np.rint(self.rates * self._highest()).astype(np.int64)

    def _highest(self) -> np.ndarray:
        highest = self._fitted.activity.highest
        assert highest is not None  # or there would be no card
        return highest

    def probability(self, points: Any) -> Any:
        """The probability of the adverse class for points, a number or an array."""
        if not self._fitted.task.are_classes:
            raise ValueError(
                "probability is for classes, but the model is a regression. Take prediction."
            )
        return scipy.special.expit(self._output(points))

    def prediction(self, points: Any) -> Any:
        """The number that points stand for, of a regression."""
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

        The steps that hold rows given; without rows, those where a class has a probability
        from 0.1 to 99.9 %, or a number lies within three deviations of its mean.
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
        """The rules with their points, as a pandas frame, those that take most first."""
        pandas = import_pandas("to_frame")
        names = ["rule", "text", "points", "grows", "levels"]
        return pandas.DataFrame(card_rules(self), columns=names).set_index("rule")

    def to_html(self, path: Any) -> Path:
        """Write the card as one HTML page; an old file stays until the new one is complete."""
        return write_page(self, path)

    def __str__(self) -> str:
        return card_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str | None:
        """The page, for a notebook."""
        return framed_page(*page_parts(self), "Score card")


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
    """See `Documents.scorecard`; `check` checks tables that the card is to score."""
    known = fitted.activity.n_rows and fitted.activity.highest is not None
    if rows is not None and not known:
        seen = measure(fitted.network, fitted.rules, rows, engine)
        fitted = replace(fitted, activity=seen)
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
    """A card with what it costs on some rows, and what it says of them."""
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
        losses = [task.loss.evaluate(each, rows.loss_targets)[0] for each in (before, after)]
        errors = [float(np.average(own, weights=weight)) for own in losses]
    else:
        metric, seen = "root mean squared error", truth[:, 0]
        squares = [(each - truth)[:, 0] ** 2 for each in (before, after)]
        errors = [float(np.sqrt(np.average(own, weights=weight))) for own in squares]
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
    """Refuse models that have no score card, and options that make none."""
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
    if not task.are_classes and task.loss.link.function is not None:
        raise ValueError(
            f"The model was fitted with loss={task.loss.name!r}, whose rules multiply where a "
            "score card adds. Fit it with loss='squared' or 'huber'."
        )
    if fitted.activity.highest is None or not fitted.activity.n_rows:
        old = "read from a file of an earlier version"
        was = old if fitted.activity.n_rows else fitted.why_no_rows
        raise ValueError(
            "The model does not remember how strongly its rules fired in training, since it "
            f"was {was}. Give X and y to measure it on, or refit(X, y) it first."
        )
    for name, value in {"points_to_double": points_to_double, "unit": unit}.items():
        given = isinstance(value, Real) and not isinstance(value, bool)
        if not (given and 0 < value < np.inf) and not (name == "unit" and value is None):
            raise ValueError(f"{name}={value!r} must be a number above 0.")
    if not isinstance(base, Integral) or isinstance(base, bool):
        raise ValueError(f"base={base!r} must be a whole number.")
    if levels is not None:
        check_counts(levels=levels)
    if not task.are_classes and adverse is not None:
        raise ValueError(
            f"adverse={adverse!r} names a class, but the model is a regression, whose points "
            "grow with the number. Leave it out."
        )
