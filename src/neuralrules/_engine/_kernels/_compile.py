"""How kernels are compiled: for which CPU, and when compiled code on disk may be used again.

A tile of ``TILE`` rows is evaluated in several passes. Their number depends on the vector
registers of the CPU. But for each row, a literal is always the same chain of multiply-adds,
one column after the other. So the results are the same to the bit on every CPU that fuses a
product and a sum into one operation (as AVX2, AVX-512 and NEON do).
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

TILE = 64  # rows evaluated together; the bits of a uint64 say which of them are active


class Vectors(NamedTuple):
    """How a pair of literals is evaluated.

    Attributes
    ----------
    lanes : int
        How many float32 numbers one register holds.
    at_once : int
        How many registers of rows one pass evaluates. A pass needs 3 * at_once + 2 registers:
        two sums and the cells for each register of rows, and two weights.
    fused : bool
        Whether the CPU rounds a product and a sum once, together. All CPUs that do so train
        the same shallow networks to the bit. Other CPUs round differently.
    """

    lanes: int
    at_once: int
    fused: bool


def vectors_for(triple: str, features: str) -> Vectors:
    """The vectors for a CPU.

    `triple` is the name of the target in LLVM, and `features` lists the features of the CPU,
    such as "+avx2,-avx512f". Only features that are listed are used, because code for narrower
    registers runs everywhere.
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
    """The vectors for the CPU that numba compiles for. NUMBA_CPU_NAME may change this CPU."""
    triple, _, features = cpu_target.target_context.codegen().magic_tuple()
    return vectors_for(triple, features)


VECTORS = compiled_for()

# The full fastmath would assume that there is no infinity and no NaN. They must be noticed.
FASTMATH = {"contract", "reassoc", "nsz", "arcp"}


def source_digest() -> str:
    """SHA-256 of all sources that the compiled kernels depend on.

    The compiled code of a kernel contains the kernels that it calls. But numba only looks at
    the file of the outermost kernel to decide whether compiled code on disk is still valid.
    """
    kernels = sorted(Path(__file__).parent.glob("*.py"))
    constants = Path(_adam.__file__)
    digest = hashlib.sha256()
    for path in [*kernels, constants]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


DIGEST = source_digest()


def kernel(function: Callable[..., Any], **more: Any) -> Any:
    """Compile a function that releases the GIL and that is cached on disk if possible.

    A kernel must not allocate memory. In return, numba does not count references to the
    kernel's arrays. Counting would take more time than many inner loops.
    """
    return compiled(function, _nrt=False, **more)


def allocating(function: Callable[..., Any]) -> Any:
    """Compile a kernel that may allocate memory.

    Used for the outermost kernels, which call the other kernels.
    """
    return compiled(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a kernel whose code is inserted into its callers.

    For these short kernels, passing the arrays would take longer than the work.
    """
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
    """Delete compiled code on disk if it comes from other sources or cannot be read.

    A file may be damaged, or may refer to a class of another version of this package. numba
    itself would fail on such a file.
    """
    with contextlib.suppress(AttributeError, OSError):  # numba's internals may change
        index = result._cache._cache_file
        index._source_stamp = (index._source_stamp, DIGEST)
        try:
            index._load_index()
        except Exception:  # unpickling may raise any exception
            result._cache.flush()
