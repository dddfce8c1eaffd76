"""Round the numbers of a model: to the digits that its text shows, or to friendly numbers.

The text shows every literal as an inequality in the user's columns and units, divided by its
first factor. Rounding to digits keeps only the digits of factors, thresholds and values that
the text prints. The rounded model has the same text as the original model. This text describes
the rounded model exactly.

Friendly numbers are those that a person would choose, if that costs next to no accuracy. Every
threshold moves to the roundest number nearby. Factors and values keep few digits. All rules
take the first of the `GRAINS` whose loss on the rows given is within the tolerance. Then each
rule by itself takes the coarsest grain that the tolerance still allows.

0 is the roundest number. Other round numbers are multiples of a step, and the numbers with the
largest step are the roundest. Steps are 5, 2.5, 2 and 1 times a power of ten. For a column of
whole numbers only whole steps count, if a whole number is near enough. For dates the first day
of a year is the roundest, then the first day of a quarter, then the first day of a month.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np

from neuralrules._data._columns import Date, EncodedColumn, Number
from neuralrules._data._dates import EPOCH
from neuralrules._data._encoder import Encoder
from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._lineage import ROUNDED, counted
from neuralrules._network._network import Network
from neuralrules._reading._column_words import number_words
from neuralrules._reading._conditions import LiteralSum, Term, sum_in_units
from neuralrules._reading._notation import number, resolved
from neuralrules._reading._text import check_counts
from neuralrules._reading._wording import lies_between_knots, shown_digits
from neuralrules._rules._rules import ALL_FROZEN, FREE, Rules
from neuralrules._simplify._path import check_tolerance
from neuralrules._training._training import mean_loss_on

ON_THE_THRESHOLD = 5e-7  # share of a bias: a few times the rounding error of float32
MOST_ROUNDS = 8  # one round is nearly always enough
MOST_DIGITS = 7  # float32 holds about this many digits
MULTIPLES = (5.0, 2.5, 2.0, 1.0)
MONTHS = (12, 3, 1)  # in a year, in a quarter, in a month
FINEST = 12  # the largest number of digits that is tried
FEW_DAYS = 40  # first days are searched for in at least this many days
# For friendly numbers, the coarsest first: how far a threshold may move, in standard deviations
# of its column; the digits of factors and values; and whether a threshold may also move to any
# number that separates the same rows. The last grain hardly changes anything.
GRAINS = (
    (0.3, 1, True),
    (0.2, 1, True),
    (0.1, 1, True),
    (0.1, 2, True),
    (0.1, 2, False),
    (0.05, 2, False),
    (0.02, 2, False),
    (0.01, 3, False),
    (0.003, 3, False),
    (0.001, 4, False),
    (0.0, 6, False),
)


class Rounding(NamedTuple):
    """A rounded model, and the mean losses before and after rounding.

    Attributes
    ----------
    model : fitted estimator
    loss, loss_before : float
        Mean loss on the rows given: of the rounded model, and of the model before rounding.
    precision : int
        The number of digits with which `rules_text` shows the exact rounded model.
    """

    model: Any
    loss: float
    loss_before: float
    precision: int

    def __str__(self) -> str:
        change = self.loss / self.loss_before - 1 if self.loss_before else np.inf
        return (
            f"Rounding changes the mean loss from {number(self.loss_before, 4)} to "
            f"{number(self.loss, 4)} ({change:+.2%})."
        )


def rounding(
    fitted: Fitted, rows: Rows, engine: Engine, precision: Any, tolerance: Any
) -> Rounding:
    """Round a model as `Changes.round_numbers` says; the model of the result is a `Fitted`."""
    check_tolerance(tolerance)
    friendly = precision == "friendly"
    if friendly:
        network = friendly_network(fitted, rows, engine, float(tolerance))
    elif isinstance(precision, str):
        raise ValueError(f"precision={precision!r} must be a number of digits, or 'friendly'.")
    else:
        check_counts(precision=precision)
        network = rounded_network(fitted, precision)
    mean_loss = mean_loss_on(rows, engine)
    loss, loss_before = mean_loss(network), mean_loss(fitted.state.network)
    rounded = fitted.with_network(network, fitted.rules, rows, engine)
    shown = shown_precision(rounded) if friendly else precision
    digits = "friendly numbers" if friendly else counted(int(precision), "significant digit")
    return Rounding(rounded.after(ROUNDED, f"to {digits}"), loss, loss_before, shown)


def friendly_network(fitted: Fitted, rows: Rows, engine: Engine, tolerance: float) -> Network:
    """The network, for standardised targets, with the roundest numbers that cost little.

    `tolerance` is the share of the model's gain over the best constant that may be lost on the
    rows.
    """
    network, encoder = fitted.state.network, fitted.encoder
    columns = {feature: encoder.columns[feature] for feature in network.features.tolist()}
    seen: dict[EncodedColumn, Seen] = {
        column: Seen.of(rows, feature, column)
        for feature, column in columns.items()
        if isinstance(column, Number)
    }

    def mean_loss(some: Network) -> float:
        return rows.mean_loss(engine.decide(some, rows.X) + network.intercept)

    before = mean_loss(network)
    gain = rows.mean_loss(rows.best_constant()) - before
    highest = before + tolerance * max(gain, 0.0)
    tried: list[Network] = []
    for reach, digits, alike in GRAINS:
        tried.append(once_rounded(fitted, network, digits, Thresholds(seen, reach, alike)))
        if mean_loss(tried[-1]) <= highest:
            break
    return coarsest_rules(tried, rows, engine, highest)


def coarsest_rules(tried: list[Network], rows: Rows, engine: Engine, highest: float) -> Network:
    """Give each rule of a network the coarsest version that keeps the loss below `highest`.

    `tried` holds versions of the network, the coarsest first. Rules are visited in their order.
    If one rule raises the loss, later rules may raise it less.
    """
    last = tried[-1]
    chosen = np.full(last.n_rules, len(tried) - 1)
    outputs = engine.decide(last, rows.X) + last.intercept
    for rule in range(last.n_rules):
        own = np.array([rule])
        without = outputs - engine.decide(last.take(own), rows.X)
        for place, network in enumerate(tried[:-1]):
            changed = without + engine.decide(network.take(own), rows.X)
            if rows.mean_loss(changed) <= highest:
                chosen[rule], outputs = place, changed
                break
    joined = Network.join(tried).take(chosen * last.n_rules + np.arange(last.n_rules))
    return replace(joined, intercept=last.intercept)  # `join` adds up intercepts


class Seen(NamedTuple):
    """The numbers that a column holds on some rows, and whether all of them are whole.

    The `numbers`, (n,) float64, are in the column's own units, ascending.
    """

    numbers: np.ndarray
    whole: bool

    @classmethod
    def of(cls, rows: Rows, feature: int, column: EncodedColumn) -> Seen:
        """The numbers of an encoded column."""
        encoded = np.unique(rows.X[:, feature]).astype(np.float64)
        encoded = encoded[encoded != 0]  # a missing number is encoded as 0
        if column.knots is not None:
            numbers = column.knots.original(encoded)
        else:
            numbers = encoded * column.scale + column.mean
        # Rows are float32, so a whole number may be off by this much.
        near = 1e-6 * (np.abs(numbers).max(initial=0.0) + column.scale)
        whole = bool(len(numbers)) and bool((np.abs(numbers - np.rint(numbers)) <= near).all())
        return cls(np.rint(numbers) if whole else numbers, whole)

    def around(self, threshold: float, *, rises: bool) -> tuple[float, float]:
        """The lowest and the highest threshold that separate the same rows.

        They lie between the number below the threshold and the number above it. If the literal
        rises, rows must lie above the threshold. Then the threshold may equal the number below.
        Otherwise the threshold may equal the number above.
        """
        place = int(np.searchsorted(self.numbers, threshold, "right" if rises else "left"))
        below = self.numbers[place - 1] if place else threshold
        above = self.numbers[place] if place < len(self.numbers) else threshold
        gap = (above - below) / 1024  # the other number would separate other rows
        return (below, above - gap) if rises else (below + gap, above)


class Thresholds(NamedTuple):
    """Moves thresholds to the roundest number within `reach` standard deviations of a column.

    If `alike`, a threshold may also move to any number that separates the same rows. Such a
    move may still change a lot how strongly a rule fires.
    """

    seen: dict[EncodedColumn, Seen]
    reach: float
    alike: bool

    def of_column(self, column: EncodedColumn, threshold: float, *, rises: bool) -> float:
        """Round the threshold of a literal over a single column, in the column's own units."""
        reach = self.reach * column.unit_at(threshold)
        low, high = threshold - reach, threshold + reach
        seen = self.seen.get(column)
        inside = column.lowest <= threshold <= column.highest
        if self.alike and seen is not None and inside:
            first, last = seen.around(threshold, rises=rises)
            low, high = min(low, first), max(high, last)
        if isinstance(column, Date):
            return roundest_day(threshold, low, high)
        return roundest(threshold, low, high, whole=seen is not None and seen.whole)

    def of_sum(self, threshold: float, unit: float) -> float:
        """Round the number that a sum over several columns is compared with."""
        reach = self.reach * unit
        return roundest(threshold, threshold - reach, threshold + reach)


def roundest(value: float, low: float, high: float, *, whole: bool = False) -> float:
    """The roundest number from `low` to `high`. Of equally round numbers, the nearest."""
    if low <= 0 <= high:
        return 0.0
    if not low < high:
        return value
    whole = whole and math.ceil(low) <= math.floor(high)
    largest = math.floor(math.log10(max(abs(low), abs(high))))
    for digit in range(FINEST):
        for multiple in MULTIPLES:
            step = multiple * 10.0 ** (largest - digit)
            if whole and step % 1:
                continue
            near = round(value / step)
            fits = [k * step for k in (near, near - 1, near + 1) if low <= k * step <= high]
            if fits:
                return float(f"{fits[0]:.{FINEST}g}")
    return value


def roundest_day(days: float, low: float, high: float) -> float:
    """The roundest day from `low` to `high`. Days are counted since 1970-01-01."""
    for months in MONTHS:
        firsts = [day for day in firsts_near(days, low, high, months) if low <= day <= high]
        if firsts:
            return min(firsts, key=lambda day: abs(day - days))
    whole = float(round(days))
    return whole if low <= whole <= high else days


def firsts_near(days: float, low: float, high: float, months: int) -> Iterator[float]:
    """The first days of years, quarters or months around a day."""
    epoch = date.fromisoformat(EPOCH)
    reach = max(high - low, FEW_DAYS) / 28 + months
    try:
        middle = epoch + timedelta(days=round(days))
    except OverflowError:
        return
    number = middle.year * 12 + middle.month - 1
    start = math.floor((number - reach) / months) * months
    for first in range(start, math.ceil(number + reach) + 1, months):
        if 12 <= first < 12 * 10_000:
            yield float((date(first // 12, first % 12 + 1, 1) - epoch).days)


def rounded_network(fitted: Fitted, precision: int) -> Network:
    """The network, for standardised targets, with numbers rounded to digits."""
    network = fitted.state.network
    # Rounding may change the order of terms that are almost equal. Then round again.
    for _ in range(MOST_ROUNDS):
        before = network
        network = once_rounded(fitted, network, precision)
        if all(map(same_numbers, network.parameters, before.parameters)):
            break
    return network


def shown_precision(fitted: Fitted) -> int:
    """The fewest digits that show all numbers of a model as they are."""
    for precision in range(1, MOST_DIGITS):
        shown = rounded_network(fitted, precision)
        if all(map(same_numbers, shown.parameters, fitted.state.network.parameters)):
            return precision
    return MOST_DIGITS


def same_numbers(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays are equal up to the error of writing float32 as text and back."""
    return np.allclose(one, other, rtol=1e-5, atol=1e-7)


def once_rounded(
    fitted: Fitted, network: Network, precision: int, thresholds: Thresholds | None = None
) -> Network:
    """Round every number of a network once, but not the frozen parts of rules.

    Without `thresholds`, these are rounded to digits, like all other numbers.
    """
    encoder = fitted.encoder
    columns = [encoder.columns[feature] for feature in network.features]
    weights = network.weights.astype(np.float64)
    biases = network.biases.astype(np.float64)
    for literal in range(network.n_literals):
        found = sum_in_units(encoder, network.features, weights[literal], biases[literal])
        if not found.terms:
            biases[literal] = float(number(found.constant, precision))
            continue
        found = found.visible(precision)
        if network.deep:
            found = rounded_sum(found, precision)
        else:
            found = rounded_inequality(encoder, found, precision, thresholds)
        weights[literal], biases[literal] = 0, found.constant
        for term in found.terms:
            unit = term.column.in_sums
            weights[literal, columns.index(term.column)] = term.factor * unit.scale
            biases[literal] += term.factor * unit.mean
    in_units, _ = fitted.task.in_units(network.values, network.intercept)
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.where(in_units == 0, 1, each_rounded(in_units, precision) / in_units)
    if not network.deep:
        # A round threshold may equal a round cell. The text says that such a row does not pass,
        # so the rounding of float32 must not let it pass.
        biases -= ON_THE_THRESHOLD * np.abs(biases)
    rounded = replace(
        network.with_weights(weights),
        biases=biases.astype(np.float32),
        values=(network.values * change).astype(np.float32),
        mixing=each_rounded(network.mixing, precision).astype(np.float32),
        shifts=each_rounded(network.shifts, precision).astype(np.float32),
    )
    return keeping_frozen(network, rounded, fitted.rules)


def keeping_frozen(before: Network, after: Network, rules: Rules) -> Network:
    """The rounded network `after`, but with the frozen parts of rules as in `before`."""
    frozen = rules.frozen_parts
    if not frozen.any():
        return after
    order = np.arange(rules.n_rules) + rules.n_rules * (frozen == FREE)
    joined = Network.join([before, after]).take(order)
    held = (frozen == ALL_FROZEN)[:, None]
    values = np.where(held, before.values, after.values)
    return replace(joined, values=values, intercept=after.intercept)


def rounded_inequality(
    encoder: Encoder, literal: LiteralSum, precision: int, thresholds: Thresholds | None
) -> LiteralSum:
    """Round a literal of a shallow rule to the threshold and the factors that its text shows.

    The text does not show the first factor, because it divides the inequality by this factor.
    The first factor is rounded to the same number of digits.
    """
    first, *others = sorted(literal.terms, key=lambda term: -abs(term.weight))
    column, unit = first.column, float(f"{first.factor:.{precision - 1}e}")
    bound = -literal.constant / first.factor
    scaled = not others and lies_between_knots(first, -bound * first.factor)
    if scaled or (not others and column.knots is None and isinstance(column, Number)):
        threshold = column.original(bound) if scaled else bound
        if thresholds is not None:
            bound = thresholds.of_column(column, threshold, rises=first.factor > 0)
        else:
            sign = ">" if first.factor > 0 else "<"
            bound = number_words(encoder, column).shown(threshold, precision, sign)
        bound = float(column.encoded(np.array(bound))) if scaled else bound
    elif thresholds is not None:
        bound = thresholds.of_sum(bound, column.in_sums.scale)
    else:
        bound = float(resolved(bound, column.in_sums.scale, precision))
    kept = [Term(column, unit)]
    for term in others:
        ratio = number(term.factor / first.factor, shown_digits(term, precision))
        kept.append(Term(term.column, unit * float(ratio)))
    return LiteralSum(tuple(kept), -bound * unit)


def rounded_sum(literal: LiteralSum, precision: int) -> LiteralSum:
    """Round a literal of a deep rule to the numbers that its text shows."""
    largest = max(abs(term.weight) for term in literal.terms)
    rounded = tuple(
        Term(term.column, float(number(term.factor, shown_digits(term, precision))))
        for term in literal.terms
    )
    return LiteralSum(rounded, float(resolved(literal.constant, largest, precision)))


def each_rounded(array: np.ndarray, precision: int) -> np.ndarray:
    """Round each number of an array of any shape as a text shows it."""
    rounded = [float(number(value, precision)) for value in array.ravel().tolist()]
    return np.array(rounded, np.float64).reshape(array.shape)
