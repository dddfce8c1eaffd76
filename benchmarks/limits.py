"""Work in a process of its own, which is ended when it computes for too long."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any


class OverTime(Exception):  # noqa: N818 - a result like another, not a mistake
    """The work was not done within its seconds."""


def within(seconds: int | None, work: Callable[..., Any], *arguments: Any) -> Any:
    """What the work returns; raises OverTime, or RuntimeError with what the work raised.

    Seconds are those of a core: what else the machine does takes nothing from them. The
    process is a copy of this one, so that it starts at once with all that was imported and
    loaded; and a library's threads, leaks and crashes stay out of here.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(theirs, seconds, work, arguments))
    with warnings.catch_warnings():
        # Of threads in this process: none of them is used there.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    theirs.close()
    try:
        trouble, result = ours.recv()
    except EOFError as error:
        process.join()
        if process.exitcode == -signal.SIGXCPU:
            raise OverTime(f"not done in {seconds} s") from None
        raise RuntimeError(f"its process ended with status {process.exitcode}") from error
    finally:
        process.kill()
        process.join()
        ours.close()
    if trouble:
        raise RuntimeError(trouble)
    return result


def _answer(
    connection: Connection,
    seconds: int | None,
    work: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the other side, which ends us
    if seconds is not None:  # one more until it is not only told but killed
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # and leaves no file behind
    # What libraries chat goes nowhere, and waits for no lock of a thread that is not here.
    with (
        Path(os.devnull).open("w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        try:
            answer = "", work(*arguments)
        except Exception as error:  # whatever it is, the other side is to hear of it
            answer = f"{type(error).__name__}: {error}", None
    connection.send(answer)
    connection.close()
