"""Signals that end the process: one line, an exit code, and no half-written files.

A signal does not raise an exception, which could come at a bad moment: Python loses exceptions
that are raised in a finalizer, and an import may take them for a missing module. Instead, the
process removes the parts of unfinished files and ends at once, also during imports and while it
waits for standard input.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from neuralrules._io._writing import remove_unfinished

WORDS = {  # by names, because Windows does not have all of these signals
    "SIGINT": "interrupted",
    "SIGTERM": "terminated",
    "SIGHUP": "hung up",
    "SIGQUIT": "quit",
}


def answer_signals() -> None:
    """End the process on each of these signals from now on, unless a signal is ignored."""
    if threading.current_thread() is not threading.main_thread():
        return  # which alone may handle signals
    owner = os.getpid()

    def end(number: int, frame: Any) -> None:
        if os.getpid() == owner:  # a copy of this process has no files of its own
            remove_unfinished()
            line = f"neuralrules: {WORDS[signal.Signals(number).name]}\n"
            # A bar may be on the terminal; and print may be what was interrupted.
            start = "\r\x1b[K" if os.isatty(2) else ""
            with suppress(OSError):  # the terminal may be gone
                os.write(2, (start + line).encode())
        os._exit(128 + number)

    for name in WORDS:
        number = getattr(signal, name, None)
        # A shell's background job ignores Ctrl-C, and nohup lets a job ignore SIGHUP.
        if number and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, end)


@contextmanager
def interrupts_raised() -> Iterator[None]:
    """Let Ctrl-C raise a KeyboardInterrupt, for work that handles it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.getsignal(signal.SIGINT)
    if previous != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous or signal.SIG_DFL)
