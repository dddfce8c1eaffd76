"""Scale numbers by their quantiles, along a line with bends.

In a column with heavy tails, a few rows lie a hundred deviations from the mean, and all others
lie within one deviation. Standardised numbers hardly tell the other rows apart, but quantiles
do. The scaled number is a function of the number that is linear between knots. The function
rises between the first and the last knot, and is constant outside of them. So a threshold on
the scaled column is also a threshold on the column itself, numbers between the first and the
last knot can be computed back, and rows far outside the training rows get no extreme values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

SCALINGS = ("standard", "quantile")
# The line may bend at its ends, and at the quantiles that belong to these normal deviates. They
# go from the 0.13 % quantile to the 99.87 % quantile, and are closest where most rows are.
LEVELS = np.linspace(-3, 3, 31)
MAX_ROWS = 200_000  # the size of the sample for quantiles; more rows would hardly change them
FEWEST_VALUES = 3  # a column with fewer different numbers is standardised instead
SMALLEST_SHARE = 1e-9  # of the rows; a smaller share could give an infinite normal deviate
SMALLEST_DEVIATION = 1e-6  # of the scaled numbers, which are divided by their deviation


@dataclass(frozen=True)
class Knots:
    """A continuous function that rises linearly between its knots and is constant outside.

    Attributes
    ----------
    x, z : tuple of float
        At least two numbers, and the scaled numbers that belong to them. Both are strictly
        increasing. The range of z includes 0, because a missing number is scaled to 0.
    """

    x: tuple[float, ...]
    z: tuple[float, ...]

    def scaled(self, numbers: np.ndarray) -> np.ndarray:
        """Scale numbers, float64 of any shape; NaN stays NaN.

        In the segment that begins at knot k the scaled number is z_k + dz ((x - x_k) / dx),
        or z_k+1 if rounding gives a larger number. Exports and pages compute the same formula
        in the same order.
        """
        return through(self._x, self._z, numbers)

    def original(self, scaled: np.ndarray) -> np.ndarray:
        """The numbers that are scaled to `scaled`. Outside the range of z, the nearest end."""
        return through(self._z, self._x, scaled)

    def slopes(self, numbers: np.ndarray) -> np.ndarray:
        """The slope of the function at each number. At a knot, the slope just above it.

        NaN for a number that is NaN, and 0 outside the knots.
        """
        place = segments(self._x, numbers)
        with np.errstate(over="ignore"):  # two numbers may be almost equal
            slopes = np.diff(self._z)[place] / np.diff(self._x)[place]
        inside = (numbers >= self._x[0]) & (numbers < self._x[-1])
        return np.where(inside, slopes, np.where(np.isnan(numbers), np.nan, 0.0))

    def unit_at(self, number: float) -> float:
        """The difference of numbers that is 1 when scaled, in the segment of `number`."""
        place = int(segments(self._x, np.array(number)))
        return (self.x[place + 1] - self.x[place]) / (self.z[place + 1] - self.z[place])

    @cached_property
    def _x(self) -> np.ndarray:
        return np.array(self.x)

    @cached_property
    def _z(self) -> np.ndarray:
        return np.array(self.z)


def segments(starts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The segment of each value. Values outside belong to the first or the last segment."""
    return np.searchsorted(starts[1:-1], values, side="right")


def through(x: np.ndarray, z: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The line through the points (x, z) at some values. It is constant outside the points."""
    place = segments(x, values)
    # The formula uses the share of the segment, because the slope may be infinite if two x are
    # almost equal.
    share = (np.clip(values, x[0], x[-1]) - x[place]) / (x[place + 1] - x[place])
    line = np.minimum(z[place] + (z[place + 1] - z[place]) * share, z[place + 1])
    return np.where(values >= x[-1], z[-1], line)  # rounding could miss the last z


def learn_knots(numbers: np.ndarray, weights: np.ndarray) -> Knots | None:
    """Knots at the quantiles of a column; None if it has too few different numbers.

    Each knot is a number of the column, scaled to the normal deviate of its middle rank. Then
    the scaled column is standardised.

    Parameters
    ----------
    numbers : (n_rows,) float64
        NaN is left out.
    weights : (n_rows,) float64
        Rows without weight are left out.
    """
    counted = np.flatnonzero(~np.isnan(numbers) & (weights > 0))
    counted = counted[sampled(numbers[counted])]
    values, place = np.unique(numbers[counted], return_inverse=True)
    if len(values) < FEWEST_VALUES:
        return None
    weight = np.bincount(place, weights[counted])
    upto = np.cumsum(weight)
    total = upto[-1]
    chosen = np.searchsorted(upto, scipy.special.ndtr(LEVELS) * total)
    chosen = np.unique([0, *np.minimum(chosen, len(values) - 1), len(values) - 1])
    ranks = (upto - weight / 2)[chosen] / total
    z = scipy.special.ndtri(np.clip(ranks, SMALLEST_SHARE, 1 - SMALLEST_SHARE))
    scaled = through(values[chosen], z, values)
    mean = weight @ scaled / total
    deviation = np.sqrt(weight @ (scaled - mean) ** 2 / total)
    if deviation < SMALLEST_DEVIATION:  # nearly all weight is on one value
        return None
    z = (z - mean) / deviation
    # Tiny weights may make two z equal.
    rises = np.diff(np.maximum.accumulate(z), prepend=-np.inf) > 0
    x, z = values[chosen][rises], z[rises]
    return Knots(tuple(x.tolist()), tuple(z.tolist())) if len(x) > 1 else None


def sampled(numbers: np.ndarray) -> np.ndarray:
    """Places of all numbers if there are few, else of a sample.

    The sample includes the smallest and the largest number.
    """
    n_rows = len(numbers)
    if n_rows <= MAX_ROWS:
        return np.arange(n_rows)
    # Always the same rows, so that fits can be repeated.
    chosen = np.random.RandomState(0).choice(n_rows, MAX_ROWS - 2, replace=False)
    return np.unique([*chosen, numbers.argmin(), numbers.argmax()])
