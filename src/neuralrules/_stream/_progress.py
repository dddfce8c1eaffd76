"""One line that shows how many rows of a table in files have been read."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from neuralrules._io._progress import ProgressLine


class RowProgress(ProgressLine):
    """The line of a fit on files: passes over the table, then epochs of training.

    Parameters
    ----------
    shown : bool
    """

    def __init__(self, *, shown: bool) -> None:
        super().__init__(shown=shown)
        self._n_passes, self._n_begun = 1, 0
        self._n_rows, self._all_rows = 0, 1
        self._losses = ""
        self._depth = 0

    def __enter__(self) -> Self:
        self._depth += 1  # each stage of training enters, too: the line is one
        return self

    def expect(self, n_passes: int) -> None:
        """Say how many passes over the rows are still to come."""
        self._n_passes = self._n_begun + n_passes

    def begin_pass(self, n_rows: int) -> None:
        """Begin to read so many rows once more."""
        self._n_begun += 1
        self._n_passes = max(self._n_passes, self._n_begun)
        self._n_rows, self._all_rows = 0, n_rows

    def add(self, n_rows: int, text: str) -> None:
        """Show that so many more rows were read."""
        self._n_rows = min(self._n_rows + n_rows, self._all_rows)
        share = (self._n_begun - 1 + self._n_rows / self._all_rows) / self._n_passes
        rows = f"{self._n_rows:,} of {self._all_rows:,} rows"
        if share > 0:
            self.show(share, f"{text} · {rows}{self._losses}")

    def update(self, epoch: int, loss: float, validation_loss: float | None) -> None:
        """Remember the losses after an epoch."""
        self._losses = f" · loss {loss:.4f}"
        if validation_loss is not None:
            self._losses += f" · validation {validation_loss:.4f}"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._depth -= 1
        if not self._depth:
            super().__exit__(kind, error, traceback)
