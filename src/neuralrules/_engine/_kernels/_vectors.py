"""Which vector registers the CPU has, and the shape of computation made for them.

A tile of ``TILE`` rows is evaluated in as many passes as its registers ask for. Each row
of each literal is a chain of multiply-adds, one column after the other, whatever the
width, so that the results are the same to the bit on every CPU that fuses a product and
a sum (AVX2, AVX-512 and NEON do).
"""

from __future__ import annotations

from typing import NamedTuple

from numba.core.registry import cpu_target

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
