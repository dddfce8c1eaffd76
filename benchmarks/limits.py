"""Run some work in a process of its own, and end this process if it computes for too long."""

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


class OverTime(Exception):  # noqa: N818 - this is a result, not a mistake
    """The work took longer than its limit."""


def within(seconds: int | None, work: Callable[..., Any], *arguments: Any) -> Any:
    """The result of the work. Raises OverTime, or RuntimeError with the error of the work.

    The limit counts seconds of computing, so other programs on the machine do not use it up.
    The new process is a copy of this one: it starts at once, with all modules and data that
    this process has loaded. Threads, leaks and crashes of a library do not reach this process.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(theirs, seconds, work, arguments))
    with warnings.catch_warnings():
        # Python warns about threads in this process. The copy uses none of them.
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
    # Ctrl-C is for the parent process, which ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if seconds is not None:  # the signal SIGXCPU comes at the limit, and SIGKILL a second later
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # leave no core dump behind
    # Discard what libraries print. Standard output may also be locked by a thread of the parent
    # that does not exist in this process.
    with (
        Path(os.devnull).open("w") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        try:
            answer = "", work(*arguments)
        except Exception as error:  # any error at all is reported to the parent process
            answer = f"{type(error).__name__}: {error}", None
    connection.send(answer)
    connection.close()
