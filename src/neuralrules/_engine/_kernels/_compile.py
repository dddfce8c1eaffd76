"""How kernels are compiled: for which CPU, and when compiled code on disk may be used again.

A tile of ``TILE`` rows is evaluated in several passes, as many as the vector registers of the
CPU require. Each row of each literal is a chain of multiply-adds, one column after the other,
however wide the registers are. So the results are the same to the bit on every CPU that fuses
a product and a sum (AVX2, AVX-512 and NEON do).
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from numba import njit
from numba.core.registry import cpu_target

from neuralrules._engine import _adam

TILE = 64  # rows evaluated together; as many as there are bits to tell which are active


class Vectors(NamedTuple):
    """How a pair of literals is evaluated.

    Attributes
    ----------
    lanes : int
        float32 numbers of one register.
    at_once : int
        Registers of rows in one pass. A pass keeps two sums for each, the rows
        themselves and two weights: 3 * at_once + 2 registers.
    fused : bool
        Whether a product and a sum are rounded once, together. All CPUs on which they are
        train the same shallow networks, to the bit; others round differently.
    """

    lanes: int
    at_once: int
    fused: bool


def vectors_for(triple: str, features: str) -> Vectors:
    """The shape for a target, given as LLVM names it and its features ("+avx2,-avx512f").

    What is not known to be there is not used: code for narrower registers runs anywhere.
    """
    if triple.startswith(("aarch64", "arm64")):
        return Vectors(lanes=4, at_once=8, fused=True)  # NEON: 32 registers of 128 bits
    present = features.split(",")
    fused = "+fma" in present
    if "+avx512f" in present:
        return Vectors(lanes=16, at_once=4, fused=True)  # 32 registers of 512 bits
    if "+avx" in present or "+avx2" in present:
        return Vectors(lanes=8, at_once=4, fused=fused)  # 16 registers of 256 bits
    return Vectors(lanes=4, at_once=4, fused=fused)  # SSE: 16 registers of 128 bits


def compiled_for() -> Vectors:
    """The shape for the CPU that numba compiles for, which NUMBA_CPU_NAME may change."""
    triple, _, features = cpu_target.target_context.codegen().magic_tuple()
    return vectors_for(triple, features)


VECTORS = compiled_for()

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
