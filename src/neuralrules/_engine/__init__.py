"""What evaluates a network and takes Adam steps: a plain reference, and a fast engine."""

from neuralrules._engine._protocol import Batches, Engine, Examples, Session

__all__ = ["Batches", "Engine", "Examples", "Session", "get_engine"]


def get_engine(name: str, n_threads: int) -> Engine:
    """The engine of that name. numba is imported here, not with the package."""
    if name == "numpy":
        from neuralrules._engine._reference import NumpyEngine

        return NumpyEngine()
    from neuralrules._engine._numba import NumbaEngine

    return NumbaEngine(n_threads)
