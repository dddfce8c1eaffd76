"""What evaluates a network and takes Adam steps: a plain reference, and fast engines."""

from __future__ import annotations

from collections.abc import Callable

from neuralrules._engine._protocol import Batches, Engine, Session

__all__ = ["DEVICES", "ENGINES", "Batches", "Engine", "Session", "get_engine"]


DEVICES = ("auto", "cpu", "cuda")


def numba_engine(n_threads: int, device: str) -> Engine:
    from neuralrules._engine._numba import NumbaEngine

    return NumbaEngine(n_threads)


def numpy_engine(n_threads: int, device: str) -> Engine:
    from neuralrules._engine._reference import NumpyEngine

    return NumpyEngine()


def torch_engine(n_threads: int, device: str) -> Engine:
    from neuralrules._engine._torch import load_torch

    load_torch()  # or say how to get it
    from neuralrules._engine._torch._engine import TorchEngine

    return TorchEngine(n_threads, device)


# Each imports what it needs when it is asked for: numba and torch take their time to load.
ENGINES: dict[str, Callable[[int, str], Engine]] = {
    "numba": numba_engine,
    "numpy": numpy_engine,
    "torch": torch_engine,
}


def get_engine(name: str, n_threads: int, device: str = "auto") -> Engine:
    """The engine of that name, to run on some threads, or where else it can, on a device."""
    return ENGINES[name](n_threads, device)
