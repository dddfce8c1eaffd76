"""What evaluates a network and takes Adam steps: a plain reference, and a fast engine."""

from __future__ import annotations

from collections.abc import Callable

from neuralrules._engine._protocol import Batches, Engine, Session

__all__ = ["ENGINES", "Batches", "Engine", "Session", "get_engine"]


def numba_engine(n_threads: int) -> Engine:
    from neuralrules._engine._numba import NumbaEngine

    return NumbaEngine(n_threads)


def numpy_engine(n_threads: int) -> Engine:
    from neuralrules._engine._reference import NumpyEngine

    return NumpyEngine()


# Each imports what it needs when it is asked for: numba takes its time to load.
ENGINES: dict[str, Callable[[int], Engine]] = {"numba": numba_engine, "numpy": numpy_engine}


def get_engine(name: str, n_threads: int) -> Engine:
    """The engine of that name, to run on some threads."""
    return ENGINES[name](n_threads)
