"""The rows of a table in files: read, checked, split and encoded piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from neuralrules._data._encoder import Encoder
from neuralrules._data._rows import Rows
from neuralrules._fitting._targets import encode_targets
from neuralrules._stream._parquet import Chunk, Columns, NamedTable, Place
from neuralrules._stream._positions import VALIDATION, chosen
from neuralrules._task._task import Task


class RawRows(NamedTuple):
    """Some rows before they are encoded.

    Attributes
    ----------
    group : Place
        Where they are from.
    first : int
        Position of the first of them in the table.
    X : Columns
    y : (n_rows,) or (n_rows, n_targets)
    weights : (n_rows,) float32
    held : (n_rows,) bool
        Which of them are set aside to stop early on.
    """

    group: Place
    first: int
    X: Any
    y: np.ndarray
    weights: np.ndarray
    held: np.ndarray

    @property
    def own_weights(self) -> np.ndarray:
        """What each row counts in the scale of columns and targets, (n_rows,) float64."""
        return np.where(self.held, 0.0, self.weights)


@dataclass(frozen=True)
class RowStream:
    """A table, and what its columns are.

    Attributes
    ----------
    table : NamedTable
    features : list of str
    targets : str or list of str
        One name gives y one dimension, a list two.
    weight : str or None
    check_y : callable
        From cells of the targets to y, or to an error.
    seed : int
    held_share : float
        Share of the rows that are set aside to stop early on.
    never_held : (n,) array
        Classes so rare that all of their rows are trained on.
    missing : tuple of str
        What else means missing in the features, beside empty cells.
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
        check_y: Callable[[Any], np.ndarray],
        seed: int,
    ) -> RowStream:
        """A table whose targets and weights are named, checked to be there."""
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
                f"The table has no column to learn from beside {sorted(filter(None, taken))}."
            )
        return cls(table, features, targets, weight, check_y, seed)

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        targets = [self.targets] if isinstance(self.targets, str) else self.targets
        return [*self.features, *targets, *filter(None, [self.weight])]

    def rows(self) -> Iterator[RawRows]:
        """All rows in their order."""
        return map(self.raw, self.table.chunks(self.columns))

    def mixed_rows(self, random: np.random.RandomState) -> Iterator[RawRows]:
        """All rows, row groups in random order and several of them in turns."""
        return map(self.raw, self.table.mixed_chunks(self.columns, random))

    def raw(self, chunk: Chunk) -> RawRows:
        """Some rows, with their targets and weights checked."""
        frame, first = chunk.frame, chunk.first
        with at(chunk.group):
            y = self._checked_y(frame)
            weights = np.ones(len(frame), np.float32)
            if self.weight is not None:
                weights = checked_weights(frame[self.weight], self.weight)
        held = chosen(first, len(frame), self.held_share, self.seed, VALIDATION)
        if len(self.never_held):
            held &= ~np.isin(y, self.never_held)
        return RawRows(chunk.group, first, frame.take(self.features), y, weights, held)

    def _checked_y(self, frame: Columns) -> np.ndarray:
        if not isinstance(self.targets, str):
            return self.check_y(np.stack([frame[name] for name in self.targets], axis=1))
        column = frame[self.targets]
        if str(column.dtype) == "category":  # each label once, and where it is
            codes = column.cat.codes.to_numpy()
            if (codes >= 0).all():
                return self.check_y(column.cat.categories.to_numpy(object))[codes]
        return self.check_y(column)


@dataclass(frozen=True)
class EncodedStream:
    """A table in files as rows that rules work on.

    Attributes
    ----------
    stream : RowStream
    encoder : Encoder
    task : Task
    factors : (n_classes,) float64 or None
        What a row of each class counts in training; None means 1.
    """

    stream: RowStream
    encoder: Encoder
    task: Task
    factors: np.ndarray | None

    def encoded(self, raw: RawRows) -> Rows:
        with at(raw.group):
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

    def training_rows(self) -> Iterator[Rows]:
        """The rows to train on in their order."""
        return (without_held(raw, self.encoded(raw)) for raw in self.stream.rows())

    def mixed_training_rows(self, random: np.random.RandomState) -> Iterator[Rows]:
        """The rows to train on, row groups in random order and several of them in turns."""
        return (without_held(raw, self.encoded(raw)) for raw in self.stream.mixed_rows(random))


def without_held(raw: RawRows, rows: Rows) -> Rows:
    """Those of some rows that are trained on."""
    return rows.take(np.flatnonzero((rows.training_weights > 0) & ~raw.held))


def checked_weights(column: Any, name: str) -> np.ndarray:
    """Weights of rows, (n_rows,) float32."""
    weights = np.asarray(column, np.float32)
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        wrong = weights[~(np.isfinite(weights) & (weights >= 0))][0]
        raise ValueError(
            f"The weight {wrong} in column {name!r} is not a number of at least 0."
        )
    return weights


def joined(pieces: Sequence[Rows]) -> Rows:
    """The rows of several pieces of one table, one after the other."""

    def all_of(arrays: Iterable[np.ndarray]) -> np.ndarray:
        return np.concatenate(list(arrays))

    return replace(
        pieces[0],
        X=all_of(rows.X for rows in pieces),
        targets=all_of(rows.targets for rows in pieces),
        weights=all_of(rows.weights for rows in pieces),
        training_weights=all_of(rows.training_weights for rows in pieces),
    )


@contextmanager
def at(group: Place) -> Iterator[None]:
    """Say in which file and row group something is wrong with the cells."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise type(error)(f"{group.name}: {error}") from error
