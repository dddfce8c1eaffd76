"""Work in a process of its own, which is ended when it takes too long."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any


class OverTime(Exception):  # noqa: N818 - a result like another, not a mistake
    """The work was not done within its seconds."""


def within(seconds: float | None, work: Callable[..., Any], *arguments: Any) -> Any:
    """What the work returns; raises OverTime, or RuntimeError with what the work raised.

    The process is a copy of this one, so that it starts at once with all that has been
    imported and loaded. This also keeps a library's threads, leaks and crashes out of here.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(theirs, work, arguments))
    process.start()
    theirs.close()
    try:
        if not ours.poll(seconds):
            raise OverTime(f"not done in {seconds:g} s")
        trouble, result = ours.recv()
    except EOFError as error:
        process.join()
        raise RuntimeError(f"its process ended with status {process.exitcode}") from error
    finally:
        if process.is_alive():
            process.kill()
        process.join()
        ours.close()
    if trouble:
        raise RuntimeError(trouble)
    return result


def _answer(connection: Connection, work: Callable[..., Any], arguments: tuple) -> None:
    try:
        answer = "", work(*arguments)
    except Exception as error:  # whatever it is, the other side is to hear of it
        answer = f"{type(error).__name__}: {error}", None
    connection.send(answer)
    connection.close()
