"""How kernels are compiled, and when compiled code on disk may be used again."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit

from neuralrules._engine import _adam

# Not the full fastmath: infinities and NaN must survive to be noticed.
FASTMATH = {"contract", "reassoc", "nsz", "arcp"}


def source_digest() -> str:
    """SHA-256 of everything that compiled code is made of.

    Kernels are written into each other when they are compiled, but numba looks only at
    the file of the outermost one to see whether its compiled code is still good.
    """
    kernels = sorted(Path(__file__).parent.glob("*.py"))
    constants = Path(_adam.__file__)
    digest = hashlib.sha256()
    for path in [*kernels, constants]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


DIGEST = source_digest()


def kernel(function: Callable[..., Any], **more: Any) -> Any:
    """Compile without the GIL, cached on disk where a cache can be written.

    A kernel may not allocate memory. In return numba does not count references to its
    arrays, which would cost more than many an inner loop.
    """
    return compiled(function, _nrt=False, **more)


def allocating(function: Callable[..., Any]) -> Any:
    """A kernel that may allocate memory: the outermost ones, which call the others."""
    return compiled(function)


def inlined(function: Callable[..., Any]) -> Any:
    """A kernel written out where it is called: passing its arrays costs more than it."""
    return kernel(function, forceinline=True)


def compiled(function: Callable[..., Any], **more: Any) -> Any:
    options = {"nogil": True, "error_model": "numpy", "fastmath": FASTMATH, **more}
    try:
        result = njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no writable place for its cache
        return njit(**options)(function)
    guard_cache(result)
    return result


def guard_cache(result: Any) -> None:
    """Forget code on disk that was made of other sources, or that cannot be read.

    numba itself would not survive the latter: a file may be damaged, or name a class
    that another version of this package had.
    """
    with contextlib.suppress(AttributeError, OSError):  # numba's internals may change
        index = result._cache._cache_file
        index._source_stamp = (index._source_stamp, DIGEST)
        try:
            index._load_index()
        except Exception:  # whatever unpickling may raise
            result._cache.flush()
