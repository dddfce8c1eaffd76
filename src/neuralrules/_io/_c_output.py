"""Discarding what a C library prints on standard output."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache


@contextmanager
def discarded_c_output() -> Iterator[None]:
    """Discard what C prints by `printf` and its kin; what Python prints is not touched.

    It exchanges the C library's variable `stdout`. Redirecting the file descriptor instead
    would also swallow what other threads of the program print meanwhile. Several threads may
    be inside at once. Windows and musl have no such variable: nothing is discarded there.
    """
    stdout = _c_stdout()
    if stdout is None:
        yield
        return
    stdout.enter()
    try:
        yield
    finally:
        stdout.leave()


class _CStdout:
    """The C library's `stdout`: a stream that leads nowhere while any thread is inside."""

    def __init__(self, variable: ctypes.c_void_p, null: int) -> None:
        self._variable = variable
        self._null = null
        self._lock = threading.Lock()
        self._n_inside = 0
        self._kept = variable.value

    def enter(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._kept, self._variable.value = self._variable.value, self._null
            self._n_inside += 1

    def leave(self) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._variable.value = self._kept


@cache
def _c_stdout() -> _CStdout | None:
    """The one of this process, if its C library lets it be exchanged."""
    names = {"linux": "stdout", "darwin": "__stdoutp"}
    if sys.platform not in names:
        return None
    library = ctypes.CDLL(None)
    if sys.platform == "linux" and not hasattr(library, "gnu_get_libc_version"):
        return None  # musl: the variable is constant, and to write to it ends the process
    library.fopen.restype = ctypes.c_void_p
    null = library.fopen(os.devnull.encode(), b"w")
    if not null:
        return None
    return _CStdout(ctypes.c_void_p.in_dll(library, names[sys.platform]), null)
