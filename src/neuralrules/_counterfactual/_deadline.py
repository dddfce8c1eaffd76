"""How long a search may go on."""

from __future__ import annotations

import time
from collections.abc import Callable


class Deadline:
    """The end of a number of seconds that begin now.

    Nothing else in the search reads a clock, so that a test can decide when time is over.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.perf_counter) -> None:
        self._seconds = seconds
        self._clock = clock
        self._start = clock()

    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._start

    def left(self) -> float:
        """Seconds until the end; 0 or less once time is over."""
        return self._seconds - self.elapsed()
