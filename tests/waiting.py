"""Waiting for what another process or thread does, however slow or busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable

# Seconds after which a test gives up, so that a hang ends. What goes well never takes as long.
HANG = 600


def wait_until(happened: Callable[[], object]) -> None:
    """Return as soon as something has happened."""
    end = time.monotonic() + HANG
    while not happened():
        assert time.monotonic() < end, f"It did not happen within {HANG} seconds."
        time.sleep(0.02)
