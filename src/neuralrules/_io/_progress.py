"""One line that shows the progress of long work: a training, a fit on files or a search."""

from __future__ import annotations

import math
import os
import sys
import time
from typing import Self, TextIO

import numpy as np

WIDTH = 24  # characters of the bar
SECONDS_BETWEEN_UPDATES = 0.1  # on a terminal
SECONDS_BETWEEN_LINES = 10  # in a notebook or a log file


class ProgressLine:
    """A progress bar on standard error, with the present step and the time that is left.

    On a terminal, the line is redrawn in place. Elsewhere (a notebook, a log file), a new line
    is written now and then, and the last state at the end. The line is a context manager that
    may be entered several times; it ends with the last exit.
    """

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._start = self._last = time.monotonic()
        self._line = ""
        self._depth = 0
        self._terminal = shown and sys.stderr.isatty()
        self._pause = SECONDS_BETWEEN_UPDATES if self._terminal else SECONDS_BETWEEN_LINES

    def __enter__(self) -> Self:
        self._depth += 1
        return self

    def begin(self, text: str) -> None:
        """Show on a terminal what has begun, because the first step may take long."""
        if self._terminal:
            self._line = f"{bar_text(0)} {text}"
            self._write("")

    def show(self, share: float, text: str) -> None:
        """Show that a share of the work is done, more than 0 and at most 1."""
        if not self._shown:
            return
        now = time.monotonic()
        elapsed = now - self._start
        times = f"{duration(elapsed)} · {duration(elapsed / share * (1 - share))} left"
        self._line = f"{bar_text(share)} {text} · {times}"
        if now - self._last > self._pause:
            self._last = now
            self._write("")

    def _write(self, end: str) -> None:
        # On a terminal only one line can be redrawn.
        shown = self._line[: terminal_width(sys.stderr)] if self._terminal else self._line
        line = f"\r\x1b[K{shown}{end}" if self._terminal else f"{shown}\n"
        print(line, end="", file=sys.stderr, flush=True)

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if self._line and not self._depth:
            self._write("\n")


class Progress(ProgressLine):
    """The progress line of one training, with epoch and loss."""

    def __init__(self, n_epochs: int, *, shown: bool) -> None:
        super().__init__(shown=shown)
        self._n_epochs = n_epochs

    def update(self, epoch: int, loss: float, validation_loss: float | None) -> None:
        """Show the state after `epoch` epochs."""
        losses = losses_text(loss, validation_loss)
        self.show(epoch / self._n_epochs, f"epoch {epoch}/{self._n_epochs}{losses}")


class RowProgress(ProgressLine):
    """The progress line of a fit on files: passes over the table, then epochs of training."""

    def __init__(self, *, shown: bool) -> None:
        super().__init__(shown=shown)
        self._n_passes, self._n_begun = 1, 0
        self._n_rows, self._all_rows = 0, 1
        self._losses = ""

    def expect(self, n_passes: int) -> None:
        """Say how many passes over the rows are still to come."""
        self._n_passes = self._n_begun + n_passes

    def begin_pass(self, n_rows: int) -> None:
        """Begin another pass over `n_rows` rows."""
        self._n_begun += 1
        self._n_passes = max(self._n_passes, self._n_begun)
        self._n_rows, self._all_rows = 0, n_rows

    def add(self, n_rows: int, text: str) -> None:
        """Show that `n_rows` more rows were read."""
        self._n_rows = min(self._n_rows + n_rows, self._all_rows)
        share = (self._n_begun - 1 + self._n_rows / self._all_rows) / self._n_passes
        rows = f"{self._n_rows:,} of {self._all_rows:,} rows"
        if share > 0:
            self.show(share, f"{text} · {rows}{self._losses}")

    def update(self, epoch: int, loss: float, validation_loss: float | None) -> None:
        """Remember the losses after an epoch."""
        self._losses = losses_text(loss, validation_loss)


class SearchProgress(ProgressLine):
    """The progress line of a search, with fold, candidate and the best score so far.

    If it `may_drop` candidates, the search drops half of them after each fold.
    """

    def __init__(self, n_candidates: int, n_folds: int, *, may_drop: bool, shown: bool) -> None:
        super().__init__(shown=shown)
        self._n_candidates, self._n_folds = n_candidates, n_folds
        self._n_done, self._n_fits, running = 0, 0, n_candidates
        for _ in range(n_folds):
            self._n_fits += running
            running = math.ceil(running / 2) if may_drop else running
        self.begin(f"fold 1/{n_folds} · candidate 1/{n_candidates}")

    def update(self, place: int, fold: int, scores: list[list[float]]) -> None:
        """Show the state after a fold's candidate, with the scores so far of each candidate."""
        self._n_done += 1
        means = [float(np.mean(each)) if each else -math.inf for each in scores]
        best = int(np.argmax(means))
        self.show(
            self._n_done / self._n_fits,
            f"fold {fold + 1}/{self._n_folds} · candidate {place + 1}/{self._n_candidates} · "
            f"best so far candidate {best + 1}, score {means[best]:.4g}",
        )


def bar_text(share: float) -> str:
    """A bar that is filled to a share of its width."""
    filled = round(WIDTH * share)
    return "█" * filled + "░" * (WIDTH - filled)


def losses_text(loss: float, validation_loss: float | None) -> str:
    text = f" · loss {loss:.4f}"
    return text if validation_loss is None else f"{text} · validation {validation_loss:.4f}"


def terminal_width(stream: TextIO) -> int | None:
    """The width in characters of the terminal of a stream; None if it is not known."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError, AttributeError):  # not a terminal, or a closed stream
        return None


def duration(seconds: float) -> str:
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"
