"""Make a score card from a model: the unit of a point, and the cost of whole points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._activity import measure
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._performance import true_values
from neuralrules._io._checks import is_whole
from neuralrules._reading._outcomes import adverse_outcome
from neuralrules._reading._scorecard import Band, RoundingCost, ScoreCard
from neuralrules._reading._text import check_counts

MOST_BANDS = 16  # a page has room for a table of this many lines
# In a regression, at least this many points make one deviation, so that half a point is little.
POINTS_PER_DEVIATION = 10


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
