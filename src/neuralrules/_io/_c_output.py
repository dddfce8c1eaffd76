"""Discard what a C library prints on standard output."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache


@contextmanager
def discarded_c_output() -> Iterator[None]:
    """Discard what C code prints with `printf` and similar functions, but not Python's output.

    The context manager replaces the C library's variable `stdout`. Redirecting the file
    descriptor instead would also discard what other threads of the program print meanwhile.
    Several threads may be inside at once. On Windows and with the C library musl, the variable
    cannot be replaced, so nothing is discarded.
    """
    stdout = _c_stdout()
    with nullcontext() if stdout is None else stdout.replaced():
        yield


class _CStdout:
    """The C library's variable `stdout`, replaced by a null stream while a thread is inside."""

    def __init__(self, variable: ctypes.c_void_p, null: int) -> None:
        self._variable, self._null, self._kept = variable, null, variable.value
        self._lock = threading.Lock()
        self._n_inside = 0

    @contextmanager
    def replaced(self) -> Iterator[None]:
        with self._lock:
            if self._n_inside == 0:
                self._kept, self._variable.value = self._variable.value, self._null
            self._n_inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_inside -= 1
                if self._n_inside == 0:
                    self._variable.value = self._kept


@cache
def _c_stdout() -> _CStdout | None:
    """The variable `stdout` of this process; None if it cannot be replaced."""
    names = {"linux": "stdout", "darwin": "__stdoutp"}
    if sys.platform not in names:
        return None
    library = ctypes.CDLL(None)
    if sys.platform == "linux" and not hasattr(library, "gnu_get_libc_version"):
        return None  # musl: the variable is constant, and writing to it ends the process
    library.fopen.restype = ctypes.c_void_p
    null = library.fopen(os.devnull.encode(), b"w")
    if not null:
        return None
    return _CStdout(ctypes.c_void_p.in_dll(library, names[sys.platform]), null)
