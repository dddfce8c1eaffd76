"""Training and prediction by torch, on a CPU or a GPU. This module loads without torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def load_torch() -> Any:
    """The module torch, or an error that says how to install it."""
    try:
        import torch
    except ImportError:
        raise ImportError(
            "engine='torch' needs torch, and torch is not installed. Install it with: "
            "pip install \"neuralrules[gpu]\"; or use engine='numba', which trains the same "
            "models and uses those that torch trained."
        ) from None
    return torch


def device_named(name: str) -> Any:
    """The torch device that a `device` parameter names.

    "auto" is the GPU if there is one, else the CPU.
    """
    torch = load_torch()
    has_gpu = torch.cuda.is_available()
    if name == "cuda" and not has_gpu:
        raise ValueError(
            "device='cuda' needs a CUDA GPU, and torch finds none here. Use device='auto', "
            "which takes one only where there is one, or engine='numba', the fastest on a CPU."
        )
    if name == "auto":
        name = "cuda" if has_gpu else "cpu"
    return torch.device(name)


@contextmanager
def cpu_threads(n_threads: int) -> Iterator[None]:
    """Let torch use `n_threads` threads inside the block.

    torch has one number of threads for the whole process.
    """
    torch = load_torch()
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
