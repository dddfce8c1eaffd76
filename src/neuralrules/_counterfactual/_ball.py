"""Balls around one row: how the row may move, and bounds for functions of the moves.

The row moves by amounts that are not negative. A number has one amount for its way up and one
amount for its way down. A category has one amount for each other category. A number scaled by
its quantiles has one amount for each segment that it may pass, the nearest segment first. A
ball holds all rows whose cost is at most its radius.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

SLACK = 1e-9  # added to bounds, which are computed in float64


def round_down(amounts: np.ndarray, whole: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Round down the `whole` amounts of (..., n_moves) to 0, first, first + 1 and so on."""
    steps = np.floor(amounts - first + SLACK)
    return np.where(whole, np.where(steps < 0, 0, first + steps), amounts)


class Together(NamedTuple):
    """Which columns may change together: at most `most`, or any number if it is None.

    At least one column of each of the sets `excluded` must stay as it is.
    """

    most: int | None = None
    excluded: tuple[frozenset[int], ...] = ()

    def allows(self, changed: set[int]) -> bool:
        """Whether these columns may change together. If they may, any subset may, too."""
        few = self.most is None or len(changed) <= self.most
        return few and not any(together <= changed for together in self.excluded)


ANY = Together()


@dataclass(frozen=True)
class Moves:
    """The ways in which a row may change, as amounts that are 0 in the row itself.

    Attributes
    ----------
    effects : ndarray of shape (n_moves, n_features), float64
        What an amount of 1 adds to the features that the network looks at.
    rates : ndarray of shape (n_moves,), float64
        The cost of an amount of 1.
    most : ndarray of shape (n_moves,), float64
        The largest amount; may be infinite.
    whole : ndarray of shape (n_moves,), bool
        Whether the amount must be 0, `first`, `first` + 1, `first` + 2 and so on.
    first : ndarray of shape (n_moves,), float64
        1, unless the new number must be whole and the row's own number is not.
    groups : ndarray of shape (n_moves,), int64
        The column of each move, ascending. Moves of one column have the same rate and exclude
        each other, except for segments of the same way.
    segments : ndarray of shape (n_moves,), int64
        For a segment of a column scaled by quantiles: how many segments the number must pass
        before. These segments stand just before it in all arrays. -1 for other moves.
    together : Together
        Which columns may change together.
    """

    effects: np.ndarray
    rates: np.ndarray
    most: np.ndarray
    whole: np.ndarray
    first: np.ndarray
    groups: np.ndarray
    segments: np.ndarray
    together: Together = ANY

    def within(self, radius: float) -> Moves:
        """The same moves, with the largest amounts that a cost of `radius` pays for."""
        most = np.minimum(self.most, np.maximum(radius - self.lead, 0) / self.rates)
        return replace(self, most=round_down(most, self.whole, self.first))

    @cached_property
    def lead(self) -> np.ndarray:
        """The cost of passing the segments before each move, (n_moves,) float64."""
        return self.passed(self.rates[:, None])[:, 0]

    def passed(self, parts: np.ndarray) -> np.ndarray:
        """The sum of `parts` times largest amounts over the segments before each move.

        Both `parts` and the result are (n_moves, n) float64.
        """
        sums = np.zeros_like(parts)
        for move in np.flatnonzero(self.segments > 0):
            sums[move] = sums[move - 1] + self.most[move - 1] * parts[move - 1]
        return sums

    @property
    def starts(self) -> np.ndarray:
        """The first move of each run, (n_starts,) int64.

        In each run of moves, at most one move gains anything. The ways up and down of a number
        form a run, because they never both gain. Each segment after the first is a run of its
        own.
        """
        return np.flatnonzero((np.diff(self.groups, prepend=-1) != 0) | (self.segments > 0))

    @property
    def total_cost(self) -> float:
        """A cost that no change exceeds: the sum of the most expensive moves of all columns."""
        if not len(self.rates):
            return 0.0
        starts = np.flatnonzero(np.diff(self.groups, prepend=-1))
        return float(np.maximum.reduceat(self.lead + self.rates * self.most, starts).sum())


class Ball(NamedTuple):
    """All rows that `moves` reach at a cost of at most `radius`.

    `row`, (n_features,) float64, holds the features of the row in the middle.
    """

    row: np.ndarray
    moves: Moves
    radius: float


class Affine(NamedTuple):
    """n sums: constants + coefficients @ variables.

    `constants` is (n,) and `coefficients` (n, n_variables), both float64. `variables` holds the
    numbers of the variables in a program.
    """

    coefficients: np.ndarray
    variables: np.ndarray
    constants: np.ndarray


# A function from gains and constants to the largest values of `gains @ inputs + constants` over
# the ball, (n,) float64.
Highest = Callable[[np.ndarray, np.ndarray], np.ndarray]


def highest_in(ball: Ball, gains: np.ndarray, constants: np.ndarray) -> np.ndarray:
    """Largest value of gains @ amounts + constants for amounts inside a ball.

    This is a fractional knapsack problem: the budget `radius` goes to the columns that gain
    most for their cost. The result is exact if no amount must be whole. Otherwise the true
    maximum is smaller. `gains` are (n, n_moves), `constants` and the result (n,), all float64.
    """
    moves = ball.moves
    if not len(moves.rates):
        return constants + SLACK
    starts = moves.starts
    gain = np.maximum(gains * moves.most, 0)
    price = np.where(gain > 0, moves.rates * moves.most, 0)
    values = np.maximum.reduceat(gain, starts, axis=1)
    prices = np.maximum.reduceat(price, starts, axis=1)
    order = np.argsort(-values / np.where(prices > 0, prices, 1), axis=1)
    best_first = np.take_along_axis(values, order, axis=1)
    prices = np.take_along_axis(prices, order, axis=1)
    left = ball.radius - (np.cumsum(prices, axis=1) - prices)
    share = np.clip(left / np.where(prices > 0, prices, 1), 0, 1)
    gained = (best_first * share).sum(axis=1)
    most = moves.together.most
    if most is not None:  # no more than what the best columns gain, whatever they cost
        columns = np.flatnonzero(np.diff(moves.groups[starts], prepend=-1))
        of_columns = np.sort(np.add.reduceat(values, columns, axis=1), axis=1)
        gained = np.minimum(gained, of_columns[:, -most:].sum(axis=1))
    best = constants + gained
    return best + SLACK * (1 + np.abs(best))


def highest_of_rectified(
    ball: Ball, literals: Affine, low: np.ndarray, high: np.ndarray
) -> Highest:
    """A function that gives the better of two bounds for sums over ReLU(literals).

    The first bound lets every literal range over its own interval. The second bound replaces
    every ReLU by a line above it, through (low, 0) and (high, high), or by a line below it.
    Then the sum is affine in the amounts, and opposite effects of a column cancel.
    """
    floor, ceiling = np.maximum(low, 0), np.maximum(high, 0)
    open_sign = (low < 0) & (high > 0)
    above = np.where(open_sign, high / np.where(open_sign, high - low, 1), low >= 0)
    raised = np.where(open_sign, -above * low, 0)
    below = np.where(open_sign, high > -low, low >= 0)

    def highest(gains: np.ndarray, constants: np.ndarray) -> np.ndarray:
        up, down = np.maximum(gains, 0), np.minimum(gains, 0)
        apart = up @ ceiling + down @ floor + constants
        slopes = up * above + down * below
        moved = slopes @ literals.constants + up @ raised + constants
        together = highest_in(ball, slopes @ literals.coefficients, moved)
        return np.minimum(apart + SLACK * (1 + np.abs(apart)), together)

    return highest
