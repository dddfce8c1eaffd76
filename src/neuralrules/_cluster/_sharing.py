"""How workers share a step: each has the gradient of its own rows, all take the same step."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from neuralrules._engine._torch._engine import TorchEngine
from neuralrules._engine._torch._padding import Each
from neuralrules._engine._torch._plain import PlainSteps
from neuralrules._engine._torch._start import Start, Steps


class Sharing:
    """Adds up what the workers have, by one reduction a step.

    One buffer of float32 goes round: every parameter's slope times the weight of the
    worker's rows, for each rule whether it was active, that weight, and the loss.

    Attributes
    ----------
    n_reductions : int
        Steps so far, each of one reduction.
    n_bytes : int
        Of the buffer.
    seconds : float
        Spent on reductions so far, waiting for the slowest worker included; of a GPU's, which
        go on by themselves, only what it takes to begin them.
    """

    def __init__(self) -> None:
        self.n_reductions, self.n_bytes, self.seconds = 0, 0, 0.0

    def __call__(
        self, loss: Any, gradient: Each, active: Any, weight: Any
    ) -> tuple[Any, Each, Any]:
        """Implements `neuralrules._engine._torch._plain.Share`.

        A worker whose rows are used up has an empty batch: zeros, and no weight.
        """
        slopes = torch.cat([array.reshape(-1) for array in gradient]) * weight
        buffer: Any = torch.cat(
            [slopes, active.to(slopes.dtype), torch.stack([weight, loss.to(slopes.dtype)])]
        )
        self._reduce(buffer)
        slopes, active, (weight, loss) = buffer.split([len(slopes), len(active), 2])
        parts = (slopes / weight).split([array.numel() for array in gradient])
        shared = [part.view(array.shape) for part, array in zip(parts, gradient, strict=True)]
        return loss.double(), Each(*shared), active > 0

    def _reduce(self, buffer: Any) -> None:
        begun = time.perf_counter()
        dist.all_reduce(buffer)
        self.seconds += time.perf_counter() - begun
        self.n_reductions += 1
        self.n_bytes = buffer.numel() * buffer.element_size()


def summed(numbers: list[float], device: Any) -> np.ndarray:
    """Numbers added up over the workers, float64."""
    tensor = torch.tensor(numbers, dtype=torch.float64, device=device)
    dist.all_reduce(tensor)
    return tensor.cpu().numpy()


class SharedEngine(TorchEngine):
    """An engine whose steps are taken by all workers together."""

    def __init__(self, sharing: Sharing, n_threads: int, device: str) -> None:
        super().__init__(n_threads, device)
        self._sharing = sharing
        self._steps: Steps | None = None

    def steps(self, start: Start) -> Steps:
        self._steps = PlainSteps(start, self._sharing)
        return self._steps

    def align(self) -> None:
        """Give all workers the numbers of the first.

        The same step on another kind of processor may be rounded in another way; without this
        the workers of a mixed cluster would drift apart.
        """
        assert self._steps is not None  # a session has begun
        tensors = [tensor for each in self._steps.state() for tensor in each]
        buffer: Any = torch.cat([tensor.reshape(-1).double() for tensor in tensors])
        dist.broadcast(buffer, 0)
        parts = buffer.split([tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view(tensor.shape))
