"""Rows that come in the order of files, given out in random order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from neuralrules._data._rows import Rows


class Buffer:
    """Rows that wait; which of them go next is drawn anew each time.

    Parameters
    ----------
    like : Rows
        Rows of the same table, for the shapes.
    capacity : int
        Rows that it can hold.
    """

    def __init__(self, like: Rows, capacity: int) -> None:
        self._task = like.task
        self._arrays = [
            np.empty((capacity, *array.shape[1:]), array.dtype)
            for array in (like.X, like.targets, like.weights, like.training_weights)
        ]
        self.capacity, self.n_rows = capacity, 0

    def put(self, rows: Rows, first: int) -> int:
        """Take in rows from number `first` on, as many as there is room for: that number."""
        n = min(len(rows) - first, self.capacity - self.n_rows)
        own = (rows.X, rows.targets, rows.weights, rows.training_weights)
        for array, values in zip(self._arrays, own, strict=True):
            array[self.n_rows : self.n_rows + n] = values[first : first + n]
        self.n_rows += n
        return n

    def draw(self, n: int, random: np.random.Generator) -> Rows:
        """Give out n random rows, in random order."""
        drawn = random.choice(self.n_rows, n, replace=False)
        X, targets, weights, training_weights = (array[drawn] for array in self._arrays)
        rows = Rows(X, targets, weights, training_weights, self._task)
        # The last rows take the places of those that are gone.
        left = self.n_rows - n
        is_gone = np.zeros(n, bool)
        is_gone[drawn[drawn >= left] - left] = True
        holes, movers = drawn[drawn < left], left + np.flatnonzero(~is_gone)
        for array in self._arrays:
            array[holes] = array[movers]
        self.n_rows = left
        return rows


def shuffled(
    pieces: Iterable[Rows],
    *,
    capacity: int,
    block: int,
    random: np.random.Generator,
) -> Iterator[Rows]:
    """All rows of some pieces in random order, `block` at a time; the last may be fewer.

    A row waits among `capacity` others, so that rows which were neighbours in a file are none
    in what is given out; where all fit in, every order is equally likely.
    """
    buffer: Buffer | None = None
    for rows in pieces:
        if buffer is None:
            buffer = Buffer(rows, max(capacity, block))
        first = 0
        while (first := first + buffer.put(rows, first)) < len(rows):
            yield buffer.draw(block, random)
    while buffer is not None and buffer.n_rows:
        yield buffer.draw(min(block, buffer.n_rows), random)
