"""The rows of a table that is not in memory: read, checked, split and encoded in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from neuralrules._data._encoder import Encoder
from neuralrules._data._rows import Rows
from neuralrules._fitting._settings import Settings
from neuralrules._fitting._targets import check_y, encode_targets
from neuralrules._stream._parquet import Chunk, Columns, NamedTable, ParquetTable
from neuralrules._task._task import Task

# Held-out rows stay in memory; more of them would hardly change when training stops.
MOST_HELD = 100_000
# The purposes of samples of rows. Each purpose has its own sample.
VALIDATION, GROWING, QUANTILES = range(3)
# The constants of splitmix64 by Steele, Lea and Flood.
STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def chosen(first: int, n_rows: int, share: float, seed: int, purpose: int) -> np.ndarray:
    """Which of the rows from position `first` on are in a sample of all rows.

    A hash of the position of a row decides whether the row is in the sample. So the sample is
    the same in every pass over the table and for pieces of any size, and nothing about it has
    to be stored. `share` is the share of all rows that are in the sample. Samples for different
    purposes are drawn independently. Returns (n_rows,) bool.
    """
    if share >= 1:
        return np.ones(n_rows, bool)
    start = mixed(np.array([seed * 4 + purpose], np.uint64))
    positions = np.arange(first, first + n_rows, dtype=np.uint64)
    # The upper 53 bits as a number from 0 to 1.
    return (mixed(start + positions) >> np.uint64(11)) * 2.0**-53 < share


def mixed(numbers: np.ndarray) -> np.ndarray:
    """Numbers (n,) uint64 turned into numbers that look random, by splitmix64."""
    z = (numbers + np.uint64(1)) * np.uint64(STEP)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(FIRST)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND)
    return z ^ (z >> np.uint64(31))


class RawRows(NamedTuple):
    """Some rows before they are encoded: see also `Chunk`.

    Attributes
    ----------
    y : (n_rows,) or (n_rows, n_targets)
    weights : (n_rows,) float32
    held : (n_rows,) bool
        Which rows are held out for early stopping.
    """

    place: str
    first: int
    X: Columns
    y: np.ndarray
    weights: np.ndarray
    held: np.ndarray

    @property
    def scaling_weights(self) -> np.ndarray:
        """Weights for the scale of columns and targets, (n_rows,) float64: 0 if held out."""
        return np.where(self.held, 0.0, self.weights)


@dataclass(frozen=True)
class RowStream:
    """A table, and the roles of its columns: features, targets and weights.

    Attributes
    ----------
    targets : str or list of str
        With one name y has one dimension, with a list of names it has two.
    check_y : callable
        Turns the cells of the targets into y, or refuses them.
    held_share : float
        The share of the rows that is held out for early stopping.
    never_held : (n,) array
        Classes of which no row may be held out, because otherwise all their rows would be.
    missing : tuple of str
        Texts that mean missing in the features, besides empty cells.
    """

    table: NamedTable
    features: list[str]
    targets: str | list[str]
    weight: str | None
    check_y: Callable[[Any], np.ndarray]
    seed: int
    held_share: float = 0.0
    never_held: np.ndarray = field(default_factory=lambda: np.array([]))
    missing: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        table: NamedTable,
        y: Any,
        sample_weight: Any,
        settings: Settings,
        seed: int,
    ) -> RowStream:
        """A table with the names of its target and weight columns; refuses unknown names."""
        targets: str | list[str]
        if isinstance(y, list | tuple):
            targets = [table.check_column(name, "y") for name in y]
        else:
            targets = table.check_column(y, "y")
        weight = None
        if sample_weight is not None:
            weight = table.check_column(sample_weight, "sample_weight")
        taken = {*([targets] if isinstance(targets, str) else targets), weight}
        features = [name for name in table.names if name not in taken]
        if not features:
            raise ValueError(
                f"The table has no column to learn from besides {sorted(filter(None, taken))}."
            )
        held_share = 0.0
        if settings.stops_early(table.n_rows):
            held_share = min(settings.validation_fraction, MOST_HELD / table.n_rows)
        return cls(
            table,
            features,
            targets,
            weight,
            partial(check_y, settings=settings),
            seed,
            held_share,
            missing=settings.missing,
        )

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        targets = [self.targets] if isinstance(self.targets, str) else self.targets
        return [*self.features, *targets, *filter(None, [self.weight])]

    def rows(self, mixed: np.random.RandomState | None = None) -> Iterator[RawRows]:
        """All rows in the order of the table, or mixed as in `ParquetTable.mixed_chunks`."""
        assert isinstance(self.table, ParquetTable)  # tasks read the pieces of a dataset
        if mixed is None:
            return map(self.raw, self.table.chunks(self.columns))
        return map(self.raw, self.table.mixed_chunks(self.columns, mixed))

    def raw(self, chunk: Chunk) -> RawRows:
        """Some rows, with their targets and weights checked."""
        frame, first = chunk.frame, chunk.first
        with naming(chunk.place):
            y = self._checked_y(frame)
            weights = np.ones(len(frame), np.float32)
            if self.weight is not None:
                weights = checked_weights(frame[self.weight], self.weight)
        held = chosen(first, len(frame), self.held_share, self.seed, VALIDATION)
        if len(self.never_held):
            held &= ~np.isin(y, self.never_held)
        return RawRows(chunk.place, first, frame.take(self.features), y, weights, held)

    def _checked_y(self, frame: Columns) -> np.ndarray:
        if not isinstance(self.targets, str):
            return self.check_y(np.stack([frame[name] for name in self.targets], axis=1))
        column = frame[self.targets]
        if str(column.dtype) == "category":  # it holds each label once
            codes = column.cat.codes.to_numpy()
            if (codes >= 0).all():
                return self.check_y(column.cat.categories.to_numpy(object))[codes]
        return self.check_y(column)


@dataclass(frozen=True)
class EncodedStream:
    """A table that is not in memory, and how its rows are encoded.

    `factors` (n_classes,) float64 are the class weights: factors for the weights of rows. None
    means 1.
    """

    stream: RowStream
    encoder: Encoder
    task: Task
    factors: np.ndarray | None

    def encoded(self, raw: RawRows) -> Rows:
        """Encode some rows."""
        with naming(raw.place):
            X = self.encoder.transform(raw.X)
            targets = self._targets(raw.y)
        training = raw.weights
        if self.factors is not None:
            codes = targets[:, 0].astype(int)
            training = (training * self.factors[codes]).astype(np.float32)
        return Rows(X, targets, raw.weights, training, self.task)

    def _targets(self, y: np.ndarray) -> np.ndarray:
        """Encoded targets, (n_rows, n_targets) float32."""
        places = self._places
        if y.dtype == object and places.keys() >= set(y):  # a fast way for text
            return np.array([places[label] for label in y], np.float32)[:, None]
        return encode_targets(self.task, y)

    @cached_property
    def _places(self) -> dict[Any, int]:
        """The code of each class; empty for numbers."""
        return {label: place for place, label in enumerate(self.task.labels)}

    def training_rows(self, mixed: np.random.RandomState | None = None) -> Iterator[Rows]:
        """The rows to train on, in the order of the table or mixed."""
        return (without_held(raw, self.encoded(raw)) for raw in self.stream.rows(mixed))


def without_held(raw: RawRows, rows: Rows) -> Rows:
    """The rows that training uses: those that have weight and are not held out."""
    return rows.take(np.flatnonzero((rows.training_weights > 0) & ~raw.held))


def checked_weights(column: Any, name: str) -> np.ndarray:
    """Check a column of weights; return them, (n_rows,) float32."""
    weights = np.asarray(column, np.float32)
    wrong = weights[~(np.isfinite(weights) & (weights >= 0))]
    if wrong.size:
        raise ValueError(
            f"The weight {wrong[0]} in column {name!r} is not a number of at least 0."
        )
    return weights


def joined(pieces: Sequence[Rows]) -> Rows:
    """The rows of several pieces of one table, one after the other."""
    names = ("X", "targets", "weights", "training_weights")
    arrays: Any = {
        name: np.concatenate([getattr(rows, name) for rows in pieces]) for name in names
    }
    return replace(pieces[0], **arrays)


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Let errors about cells say in which file and row group the cells are."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise type(error)(f"{place}: {error}") from error
