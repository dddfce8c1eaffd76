"""Signals that end the process: it prints one line, and leaves no half-written files.

A signal does not raise an exception, because it may arrive at a bad moment: Python drops
exceptions in a finalizer, and an import may take an exception for a missing module. Instead,
the process removes unfinished files and ends at once with an exit code. It does so also during
imports and while it waits for standard input.
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
    """From now on, let each of these signals end the process, unless the signal is ignored."""
    if threading.current_thread() is not threading.main_thread():
        return  # only the main thread may handle signals
    owner = os.getpid()

    def end(number: int, frame: Any) -> None:
        signal.signal(number, signal.SIG_IGN)  # one line is enough
        if os.getpid() == owner:  # a forked process must not remove the files of its parent
            remove_unfinished()
            line = f"neuralrules: {WORDS[signal.Signals(number).name]}\n"
            # Clear a progress bar. The signal may have interrupted print, so os.write is used.
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
