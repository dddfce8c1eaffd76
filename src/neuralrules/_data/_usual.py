"""The usual outcome of each value of a text column: what the rows of this value were like.

A text column with many values has few rows for most of them, so that most values have no
indicator of their own. Such a column also becomes a column of numbers: each value stands for
its usual outcome, which is the mean outcome of its rows, drawn towards the mean of all rows:

    usual = (sum of outcomes + shrinkage * mean of all outcomes) / (rows + shrinkage)

Rows count by their weights, divided by the mean weight. The outcome of a row is 1 or 0 for each
class but the first, or each target in the user's units. See `shrinkage` for the shrinkage.

A value with a single training row tells as little as one that never occurred: nobody has seen
its usual outcome again. So all such values, and missing cells if there was only one, share the
usual outcome of their rows. It is also that of every value that training did not see.

A training row must not see its own target. So a hash of its position divides the rows into
N_PARTS parts. For a training row, the usual outcome is computed from the other parts. For all
other rows, it is computed from all training rows.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from neuralrules._task._task import Task

LEAST_SHRINKAGE, MOST_SHRINKAGE = 0.3, 1e3
# The variance within values is not known if few values have several rows. So the variance of
# all outcomes counts as this many rows more.
PRIOR_ROWS = 10
N_PARTS = 5
FEWEST_ROWS = 2  # values with fewer training rows share one usual outcome
FEWEST_VALUES = 12  # a column with fewer values that came twice has only indicators
MOST_OUTCOMES = 10  # with more classes or targets, columns have only indicators
# The constants of splitmix64 by Steele, Lea and Flood.
STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def mixed(numbers: np.ndarray) -> np.ndarray:
    """Numbers (n,) uint64 turned into numbers that look random, by splitmix64."""
    z = (numbers + np.uint64(1)) * np.uint64(STEP)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(FIRST)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND)
    return z ^ (z >> np.uint64(31))


def parts_of(first: int, n_rows: int) -> np.ndarray:
    """The parts of the rows from position `first` of a table on, (n_rows,) int64."""
    positions = np.arange(first, first + n_rows, dtype=np.uint64)
    return (mixed(positions) % np.uint64(N_PARTS)).astype(np.int64)


def own_parts(first: int, weights: np.ndarray) -> np.ndarray:
    """The same, but N_PARTS for rows without weight, which are in no part."""
    return np.where(weights > 0, parts_of(first, len(weights)), N_PARTS)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The outcomes of some rows of a table.

    Attributes
    ----------
    values : (n_rows, n_outcomes) float64
    weights : (n_rows,) float64
        0 for rows that are held out.
    first : int
        The position of the first row in the table.
    """

    values: np.ndarray
    weights: np.ndarray
    first: int = 0

    @property
    def parts(self) -> np.ndarray:
        """The part of each row, (n_rows,) int64; N_PARTS for rows without weight."""
        return own_parts(self.first, self.weights)


@dataclass(frozen=True, eq=False)
class OutcomeSums:
    """Sums of outcomes for each value of a column, separately for each part of the rows.

    Attributes
    ----------
    sums : (N_PARTS, n_values + 1, 2 + 2 * n_outcomes) float64
        Rows, weight, and the weighted sums of each outcome, then of each squared outcome. The
        last value stands for all values that have no place of their own.
    centre : (n_outcomes,) float64
        It was subtracted from the outcomes, so that squares of large numbers keep their digits.
    """

    sums: np.ndarray
    centre: np.ndarray

    @classmethod
    def of(cls, codes: np.ndarray, n_values: int, outcomes: Outcomes) -> OutcomeSums:
        """Add up some rows; `codes` (n_rows,) are the places of their values, or -1."""
        n_places = n_values + 1
        counted = outcomes.weights > 0
        parts, weights = outcomes.parts[counted], outcomes.weights[counted]
        values = outcomes.values[counted]
        centre = values.mean(axis=0) if len(values) else np.zeros(values.shape[1])
        values = (values - centre).T
        cells = parts * n_places + np.where(codes < 0, n_values, codes)[counted]
        summed = [np.ones(len(weights)), weights, *(weights * values), *(weights * values**2)]
        sums = [np.bincount(cells, own, N_PARTS * n_places) for own in summed]
        return cls(np.stack(sums, axis=-1).reshape(N_PARTS, n_places, -1), centre)

    @property
    def n_rows(self) -> np.ndarray:
        """The number of rows of each value, (n_values + 1,) int64."""
        return self.sums[:, :, 0].sum(axis=0).astype(np.int64)

    def usual(self) -> np.ndarray:
        """The usual outcomes of all values, (n_values + 1, n_outcomes)."""
        return self._tables[-1]

    @cached_property
    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and deviations of what training rows see, (n_outcomes,) each.

        The deviation is 1 if all rows see the same.
        """
        seen, weights = self._tables[:-1] - self.centre, self.sums[:, :, 1, None]
        total = max(weights.sum(), np.finfo(float).tiny)
        mean = (weights * seen).sum(axis=(0, 1)) / total
        deviation = np.sqrt((weights * (seen - mean) ** 2).sum(axis=(0, 1)) / total)
        return self.centre + mean, np.where(deviation > 0, deviation, 1.0)

    def without_own_part(self, codes: np.ndarray, parts: np.ndarray) -> np.ndarray:
        """The usual outcomes for some rows, (n_rows, n_outcomes), each without its own part.

        `parts` (n_rows,) are N_PARTS for rows that are in no part.
        """
        return self._tables[parts, codes]  # the code -1 means the last place

    @cached_property
    def _tables(self) -> np.ndarray:
        """Usual outcomes without each part, then of all rows.

        (N_PARTS + 1, n_values + 1, n_outcomes) float64
        """
        shared = self.n_rows < FEWEST_ROWS
        shared[-1] = True
        sums = np.where(shared[:, None], 0.0, self.sums)
        sums[:, -1] = self.sums[:, shared].sum(axis=1)
        # The other parts are added up. Rounding errors of a difference would know the own part.
        others = [np.delete(sums, part, axis=0).sum(axis=0) for part in range(N_PARTS)]
        tables = np.stack([shrunk(own) for own in (*others, sums.sum(axis=0))])
        tables[:, shared] = tables[:, -1:]
        return self.centre + tables


@dataclass(frozen=True)
class OutcomeNames:
    """What texts call the outcomes of usual outcomes.

    Attributes
    ----------
    names : tuple of str
        The classes but the first, or the numbers of the targets.
    are_rates : bool
        Whether they are classes. The usual outcome of a class is a rate, from 0 to 1.
    """

    names: tuple[str, ...] = ()
    are_rates: bool = False

    @classmethod
    def of(cls, task: Task) -> OutcomeNames:
        """The names of the outcomes of a task."""
        names = task.labels[1:] if task.are_classes else range(task.n_outputs)
        return cls(tuple(map(str, names)), task.are_classes)


NO_OUTCOMES = OutcomeNames()


# What is added up over the rows of a value: ROWS, WEIGHT, or the outcomes of a class or target
# as (class or target, SUM) and (class or target, SQUARES).
SUM, SQUARES = "sum", "squares"
Quantity: TypeAlias = tuple[Any, str]
ROWS, WEIGHT = (None, "rows"), (None, "weight")


class NameSums:
    """Sums of outcomes for names, from a table that is read piece by piece.

    A piece may hold names and classes that no piece before it held.
    """

    def __init__(self) -> None:
        self._places: dict[str | None, int] = {}
        self._quantities: dict[Quantity, int] = {}
        self._table = np.zeros((0, 0, N_PARTS))  # with room for more names

    def add(
        self, names: Sequence[str | None], quantities: Sequence[Quantity], sums: np.ndarray
    ) -> None:
        """Add sums (n_names, n_quantities, N_PARTS) of different names and quantities."""
        places, at = self._places, self._quantities
        rows = [places.setdefault(name, len(places)) for name in names]
        columns = [at.setdefault(quantity, len(at)) for quantity in quantities]
        room, width, _ = self._table.shape
        if len(places) > room or len(at) > width:
            room = max(len(places), 2 * room) if len(places) > room else room
            small, self._table = self._table, np.zeros((room, len(at), N_PARTS))
            self._table[: len(small), :width] = small
        self._table[np.ix_(rows, columns)] += sums

    def join(self, other: NameSums) -> None:
        """Add the sums of other rows."""
        self.add(list(other._places), list(other._quantities), other._used)

    def moved(self, by: Mapping[Any, float]) -> NameSums:
        """The sums after numbers were added to the outcomes of some targets."""
        result = NameSums()
        result.join(self)
        at, table = result._quantities, result._table
        for target, more in by.items():
            if (target, SUM) in at:
                weight, total = table[:, at[WEIGHT]], table[:, at[target, SUM]].copy()
                table[:, at[target, SUM]] += more * weight
                table[:, at[target, SQUARES]] += more * (2 * total + more * weight)
        return result

    def only(self, names: Container[str | None]) -> NameSums:
        """The sums of some of the names."""
        kept = [name for name in self._places if name in names]
        result = NameSums()
        result.add(kept, list(self._quantities), self._used[[self._places[n] for n in kept]])
        return result

    @property
    def n_rows(self) -> dict[str | None, int]:
        """The number of rows of each name."""
        if ROWS not in self._quantities:
            return {}
        counts = self._used[:, self._quantities[ROWS]].sum(axis=1)
        return dict(zip(self._places, counts.astype(int).tolist(), strict=True))

    @property
    def quantities(self) -> Collection[Quantity]:
        return self._quantities.keys()

    def of(self, names: Sequence[str | None], quantities: Sequence[Quantity]) -> np.ndarray:
        """The sums of some names, (n_names, n_quantities, N_PARTS); 0 if there are none."""
        result = np.zeros((len(names), len(quantities), N_PARTS))
        rows = np.array([self._places.get(name, -1) for name in names], int)
        columns = np.array([self._quantities.get(one, -1) for one in quantities], int)
        found = np.ix_(np.flatnonzero(rows >= 0), np.flatnonzero(columns >= 0))
        result[found] = self._table[np.ix_(rows[rows >= 0], columns[columns >= 0])]
        return result

    @property
    def _used(self) -> np.ndarray:
        return self._table[: len(self._places)]


@dataclass(frozen=True, eq=False)
class PieceOfOutcomes:
    """What some rows of a table, which is read piece by piece, add to sums of outcomes.

    Attributes
    ----------
    parts : (n_rows,) int64
        The parts of the rows.
    quantities : dict from Quantity to (n_rows,) float64
    """

    parts: np.ndarray
    quantities: dict[Quantity, np.ndarray]

    @classmethod
    def of(
        cls, outcomes: Mapping[Any, np.ndarray], weights: np.ndarray, first: int
    ) -> PieceOfOutcomes:
        """The rows from position `first` on; `outcomes` are (n_rows,) for each class or target.

        Those of a class are bool, and are their own squares. Rows without weight, which are
        held out, add nothing.
        """
        quantities = {ROWS: (weights > 0).astype(np.float64), WEIGHT: weights}
        for label, values in outcomes.items():
            quantities[label, SUM] = weights * values
            if values.dtype != bool:
                quantities[label, SQUARES] = weights * values**2
        return cls(parts_of(first, len(weights)), quantities)

    def add_to(self, sums: NameSums, names: Sequence[str | None], codes: np.ndarray) -> None:
        """Add the rows to sums; `codes` (n_rows,) are the places of the rows' names.

        The code of rows whose names are not given is len(names).
        """
        if not names:
            return
        cells, n_cells = codes * N_PARTS + self.parts, N_PARTS * (len(names) + 1)
        tables = [
            np.bincount(cells, numbers, n_cells).reshape(-1, N_PARTS)[:-1]
            for numbers in self.quantities.values()
        ]
        sums.add(names, list(self.quantities), np.stack(tables, axis=1))


def sums_of(
    names: Sequence[str | None],
    outcomes: Sequence[Any],
    sums: NameSums,
    totals: NameSums,
    centre: Mapping[Any, float],
) -> OutcomeSums:
    """The sums of some names. `totals`, of the name None, are those of all rows.

    `centre` is what was subtracted from targets.
    """
    squares = [
        (one, SQUARES if (one, SQUARES) in totals.quantities else SUM) for one in outcomes
    ]
    quantities = [ROWS, WEIGHT, *((one, SUM) for one in outcomes), *squares]
    known = sums.of(names, quantities)
    (others,) = totals.of([None], quantities) - known.sum(axis=0)
    others[:, others[0] < 1] = 0.0  # parts without other rows: what is left is rounding
    found = np.concatenate([known, [others]]).transpose(2, 0, 1)
    return OutcomeSums(found, np.array([centre.get(one, 0.0) for one in outcomes]))


def has_usual(n_rows: Iterable[int], n_outcomes: int) -> bool:
    """Whether a text column has usual outcomes, from the numbers of rows of its values.

    A column of identifiers has none, because no value comes twice.
    """
    n_values = sum(n >= FEWEST_ROWS for n in n_rows)
    return n_values >= FEWEST_VALUES and 0 < n_outcomes <= MOST_OUTCOMES


def shrunk(sums: np.ndarray) -> np.ndarray:
    """Means of outcomes, drawn towards the mean of all rows, (n_places, n_outcomes).

    `sums` (n_places, 2 + 2 * n_outcomes) are as in `OutcomeSums`. Without rows, all are 0.
    """
    n_rows, weight = sums[:, 0].sum(), sums[:, 1].sum()
    if not weight:
        return np.zeros((len(sums), (sums.shape[1] - 2) // 2))
    # Weights become numbers of rows, so that their unit does not matter.
    sums = sums * np.r_[1.0, np.full(sums.shape[1] - 1, n_rows / weight)]
    rows, (totals, squares) = sums[:, 1, None], np.split(sums[:, 2:], 2, axis=1)
    factor = shrinkage(rows, totals, squares)
    return (totals + factor * totals.sum(axis=0) / n_rows) / (rows + factor)


def shrinkage(rows: np.ndarray, totals: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """How many rows of a value count as much as the mean of all rows, (n_outcomes,).

    It is the variance of outcomes within values, divided by the variance between values, as in
    an analysis of variance with random effects. So a value needs few rows if rows of one value
    are alike.
    """
    n_rows, n_values = rows.sum(), np.count_nonzero(rows)
    means, mean = totals / np.where(rows > 0, rows, 1), totals.sum(axis=0) / n_rows
    inside = np.maximum(squares - means * totals, 0).sum(axis=0)
    overall = np.maximum(squares.sum(axis=0) / n_rows - mean**2, 0)
    within = (inside + PRIOR_ROWS * overall) / (max(n_rows - n_values, 0) + PRIOR_ROWS)
    between = (rows * (means - mean) ** 2).sum(axis=0) - (n_values - 1) * within
    between = between / max(n_rows - (rows**2).sum() / n_rows, 1.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = within / between
    return np.where(
        between > 0, np.clip(found, LEAST_SHRINKAGE, MOST_SHRINKAGE), MOST_SHRINKAGE
    )
