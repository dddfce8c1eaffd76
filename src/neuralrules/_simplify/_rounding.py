"""Round the numbers of a model to the digits that its text shows.

The text shows every literal as an inequality in the user's columns and units, divided by its
first factor. Rounding keeps only the digits of factors, thresholds and values that the text
prints. The rounded model has the same text as the original model. This text describes the
rounded model exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from neuralrules._data._columns import EncodedColumn, Number
from neuralrules._data._encoder import Encoder
from neuralrules._fitted._fitted import Fitted
from neuralrules._network._network import Network
from neuralrules._reading._column_words import number_words
from neuralrules._reading._conditions import LiteralSum, Term, sum_in_units
from neuralrules._reading._numbers import number, resolved
from neuralrules._reading._wording import lies_between_knots, shown_digits
from neuralrules._rules._rules import ALL_FROZEN, FREE, Rules
from neuralrules._task._task import Task

ON_THE_THRESHOLD = 5e-7  # share of a bias: a few times the rounding error of float32
MOST_ROUNDS = 8  # one round is nearly always enough
MOST_DIGITS = 7  # float32 holds about this many digits


class Thresholds(Protocol):
    """Moves thresholds in another way than rounding them to a number of digits."""

    def of_column(self, column: EncodedColumn, threshold: float, *, rises: bool) -> float: ...

    def of_sum(self, threshold: float, unit: float) -> float: ...


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


def rounded_network(fitted: Fitted, precision: int) -> Network:
    """The network, for standardised targets, with rounded numbers.

    Rounding may change the order of terms that are almost equal. Then all numbers are rounded
    again.
    """
    network = fitted.state.network
    for _ in range(MOST_ROUNDS):
        before = network
        network = once_rounded(network, fitted.encoder, fitted.task, precision)
        network = keeping_frozen(before, network, fitted.rules)
        if all(map(same_numbers, network.parameters, before.parameters)):
            break
    return network


def keeping_frozen(before: Network, after: Network, rules: Rules) -> Network:
    """The rounded network `after`, but with the frozen parts of rules as in `before`."""
    frozen = rules.frozen_parts
    if not frozen.any():
        return after
    order = np.arange(rules.n_rules) + rules.n_rules * (frozen == FREE)
    joined = Network.join([before, after]).take(order)
    held = (frozen == ALL_FROZEN)[:, None]
    return replace(
        joined,
        values=np.where(held, before.values, after.values),
        intercept=after.intercept,
    )


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
    network: Network,
    encoder: Encoder,
    task: Task,
    precision: int,
    thresholds: Thresholds | None = None,
) -> Network:
    """Round every number of a network once.

    `thresholds` moves the thresholds. With None they are rounded to digits, like the rest.
    """
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
        weights[literal], biases[literal] = standardised(columns, found)
    in_units, _ = task.in_units(network.values, network.intercept)
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.where(in_units == 0, 1, each_rounded(in_units, precision) / in_units)
    if not network.deep:
        # A round threshold may equal a round cell. The text says that such a row does not pass,
        # so the rounding of float32 must not let it pass.
        biases -= ON_THE_THRESHOLD * np.abs(biases)
    return replace(
        network.with_weights(weights),
        biases=biases.astype(np.float32),
        values=(network.values * change).astype(np.float32),
        mixing=each_rounded(network.mixing, precision).astype(np.float32),
        shifts=each_rounded(network.shifts, precision).astype(np.float32),
    )


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
    bound = shown_bound(encoder, first, bound, not others, precision, thresholds)
    ratios = [
        float(number(term.factor / first.factor, shown_digits(term, precision)))
        for term in others
    ]
    kept = [Term(term.column, unit * ratio) for term, ratio in zip(others, ratios, strict=True)]
    return LiteralSum((Term(column, unit), *kept), -bound * unit)


def shown_bound(
    encoder: Encoder,
    term: Term,
    bound: float,
    alone: bool,
    precision: int,
    thresholds: Thresholds | None,
) -> float:
    """The number that an inequality compares its sum with, as the text shows it.

    The inequality is divided by the factor of its first term, `term`. `alone` says whether it
    has no other term.
    """
    column, sign = term.column, ">" if term.factor > 0 else "<"
    scaled = alone and lies_between_knots(term, -bound * term.factor)
    if alone and (scaled or (column.knots is None and isinstance(column, Number))):
        threshold = column.original(bound) if scaled else bound
        if thresholds is not None:
            shown = thresholds.of_column(column, threshold, rises=term.factor > 0)
        else:
            shown = number_words(encoder, column).shown(threshold, precision, sign)
        return float(column.encoded(np.array(shown))) if scaled else shown
    if thresholds is not None:
        return thresholds.of_sum(bound, column.in_sums.scale)
    return float(resolved(bound, column.in_sums.scale, precision))


def rounded_sum(literal: LiteralSum, precision: int) -> LiteralSum:
    """Round a literal of a deep rule to the numbers that its text shows."""
    largest = max(abs(term.weight) for term in literal.terms)
    rounded = tuple(
        Term(term.column, float(number(term.factor, shown_digits(term, precision))))
        for term in literal.terms
    )
    return LiteralSum(rounded, float(resolved(literal.constant, largest, precision)))


def standardised(
    columns: Sequence[EncodedColumn], literal: LiteralSum
) -> tuple[np.ndarray, float]:
    """Convert a sum in the user's units to weights and a bias for standardised columns.

    The weights have the shape (n_columns,).
    """
    weights, constant = np.zeros(len(columns)), literal.constant
    for term in literal.terms:
        unit = term.column.in_sums
        weights[columns.index(term.column)] = term.factor * unit.scale
        constant += term.factor * unit.mean
    return weights, constant


def each_rounded(array: np.ndarray, precision: int) -> np.ndarray:
    """Round each number of an array of any shape as a text shows it."""
    rounded = [float(number(value, precision)) for value in array.ravel().tolist()]
    return np.array(rounded, np.float64).reshape(array.shape)
