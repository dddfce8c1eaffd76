"""Engines evaluate a network and train it: one plain reference engine, and fast engines."""

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

    load_torch()  # raises an error that says how to install torch
    from neuralrules._engine._torch._engine import TorchEngine

    return TorchEngine(n_threads, device)


# An engine is imported only when it is used, because numba and torch are slow to load.
ENGINES: dict[str, Callable[[int, str], Engine]] = {
    "numba": numba_engine,
    "numpy": numpy_engine,
    "torch": torch_engine,
}


def get_engine(name: str, n_threads: int, device: str = "auto") -> Engine:
    """The engine called `name`.

    The numba and torch engines use `n_threads` threads on a CPU. Only the torch engine uses
    `device`.
    """
    return ENGINES[name](n_threads, device)
