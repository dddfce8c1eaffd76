"""One line that shows how many rows of a table in files have been read."""

from __future__ import annotations

from neuralrules._io._progress import ProgressLine


class RowProgress(ProgressLine):
    """The line of a fit on files: passes over the table, then epochs of training.

    Parameters
    ----------
    n_rows : int
        Rows of the table.
    n_passes : int
        How often they are read in all.
    shown : bool
    """

    def __init__(self, n_rows: int, n_passes: int, *, shown: bool) -> None:
        super().__init__(shown=shown)
        self._all_rows = n_rows
        self.n_passes = n_passes
        self._pass, self._n_rows = 0, 0
        self._losses = ""

    def begin_pass(self, number: int, n_rows: int | None = None) -> None:
        """Go on with a pass, counted from 0, over so many of the rows."""
        self._pass, self._n_rows = number, 0
        self._all_rows = self._all_rows if n_rows is None else n_rows

    def add(self, n_rows: int, text: str) -> None:
        """Show that so many more rows were read."""
        self._n_rows = min(self._n_rows + n_rows, self._all_rows)
        share = (self._pass + self._n_rows / self._all_rows) / self.n_passes
        self.show(share, f"{text} · {self._n_rows:,} of {self._all_rows:,} rows{self._losses}")

    def update(self, epoch: int, loss: float, validation_loss: float | None) -> None:
        """Remember the losses after an epoch."""
        self._losses = f" · loss {loss:.4f}"
        if validation_loss is not None:
            self._losses += f" · validation {validation_loss:.4f}"
