"""One line that shows how far training has come."""

from __future__ import annotations

import sys
import time
from types import TracebackType

WIDTH = 24  # characters of the bar
SECONDS_BETWEEN_UPDATES = 0.1  # on a terminal
SECONDS_BETWEEN_LINES = 10  # in a notebook or a log file


class Progress:
    """Progress bar on standard error with epoch, loss and time left.

    On a terminal the line is redrawn in place; elsewhere (a notebook, a log file) a
    line is written now and then, and the last state at the end.
    """

    def __init__(self, n_epochs: int, *, shown: bool) -> None:
        self._n_epochs = n_epochs
        self._shown = shown
        self._start = self._last = time.monotonic()
        self._line = ""
        self._terminal = shown and sys.stderr.isatty()
        self._pause = SECONDS_BETWEEN_UPDATES if self._terminal else SECONDS_BETWEEN_LINES

    def __enter__(self) -> Progress:
        return self

    def update(self, epoch: int, loss: float, validation_loss: float | None) -> None:
        """Show the state after `epoch` epochs."""
        if not self._shown:
            return
        now = time.monotonic()
        elapsed = now - self._start
        left = elapsed / epoch * (self._n_epochs - epoch)
        filled = round(WIDTH * epoch / self._n_epochs)
        bar = "█" * filled + "░" * (WIDTH - filled)
        losses = f"loss {loss:.4f}"
        if validation_loss is not None:
            losses += f" · validation {validation_loss:.4f}"
        self._line = (
            f"{bar} epoch {epoch}/{self._n_epochs} · {losses} · "
            f"{duration(elapsed)} · {duration(left)} left"
        )
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


def duration(seconds: float) -> str:
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"
