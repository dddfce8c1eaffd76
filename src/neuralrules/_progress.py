"""One line that shows how far training has come."""

from __future__ import annotations

import sys
import time
from types import TracebackType

WIDTH = 24  # characters of the bar
SECONDS_BETWEEN_UPDATES = 0.1


class Progress:
    """Progress bar on standard error with epoch, loss and time left.

    On a terminal the line is redrawn in place; elsewhere (a log file) only the
    last state is written.
    """

    def __init__(self, n_epochs: int, *, shown: bool) -> None:
        self._n_epochs = n_epochs
        self._shown = shown
        self._start = self._last = time.monotonic()
        self._line = ""

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
            f"{_duration(elapsed)} · {_duration(left)} left"
        )
        if sys.stderr.isatty() and (
            now - self._last > SECONDS_BETWEEN_UPDATES or epoch == self._n_epochs
        ):
            self._last = now
            print(f"\r\x1b[K{self._line}", end="", file=sys.stderr, flush=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._line:
            start = "\r\x1b[K" if sys.stderr.isatty() else ""
            print(start + self._line, file=sys.stderr, flush=True)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    if minutes < 1:
        return f"{rest:.1f} s"
    return f"{minutes:.0f} min {rest:.0f} s"
