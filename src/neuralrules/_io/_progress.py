"""One line that shows how far long work has come."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

WIDTH = 24  # characters of the bar
SECONDS_BETWEEN_UPDATES = 0.1  # on a terminal
SECONDS_BETWEEN_LINES = 10  # in a notebook or a log file


class ProgressLine:
    """A bar on standard error with what is being done, and the time that is left.

    On a terminal the line is redrawn in place; elsewhere (a notebook, a log file) a
    line is written now and then, and the last state at the end.
    """

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._start = self._last = time.monotonic()
        self._line = ""
        self._terminal = shown and sys.stderr.isatty()
        self._pause = SECONDS_BETWEEN_UPDATES if self._terminal else SECONDS_BETWEEN_LINES

    def __enter__(self) -> Self:
        return self

    def begin(self, text: str) -> None:
        """Say on a terminal what has begun: the first step may take long."""
        if self._terminal:
            self._line = f"{'░' * WIDTH} {text}"
            self._write("")

    def show(self, share: float, text: str) -> None:
        """Show the state after a share of the work, more than 0 and at most 1."""
        if not self._shown:
            return
        now = time.monotonic()
        elapsed = now - self._start
        left = elapsed / share * (1 - share)
        filled = round(WIDTH * share)
        bar = "█" * filled + "░" * (WIDTH - filled)
        self._line = f"{bar} {text} · {duration(elapsed)} · {duration(left)} left"
        if now - self._last > self._pause:
            self._last = now
            self._write("")

    def _write(self, end: str) -> None:
        line = f"\r\x1b[K{self._line}{end}" if self._terminal else f"{self._line}\n"
        print(line, end="", file=sys.stderr, flush=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._line:
            self._write("\n")


class Progress(ProgressLine):
    """The line of one training, with epoch and loss."""

    def __init__(self, n_epochs: int, *, shown: bool) -> None:
        super().__init__(shown=shown)
        self._n_epochs = n_epochs

    def update(self, epoch: int, loss: float, validation_loss: float | None) -> None:
        """Show the state after `epoch` epochs."""
        text = f"epoch {epoch}/{self._n_epochs} · loss {loss:.4f}"
        if validation_loss is not None:
            text += f" · validation {validation_loss:.4f}"
        self.show(epoch / self._n_epochs, text)


def duration(seconds: float) -> str:
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"
