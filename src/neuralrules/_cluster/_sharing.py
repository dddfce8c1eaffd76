"""How workers share a step of training.

Each worker computes the gradient of its own rows. The gradients are added up, and all workers
take the same step. The numba engine computes gradients on a CPU, and plain torch on a GPU.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from neuralrules._data._rows import Rows
from neuralrules._engine._adam import Moments
from neuralrules._engine._numba import NumbaEngine, NumbaSession
from neuralrules._engine._protocol import Batches
from neuralrules._engine._reference import adam_step, bring_back, hold, penalty_gradient
from neuralrules._engine._torch._engine import TorchEngine
from neuralrules._engine._torch._plain import PlainSteps
from neuralrules._engine._torch._tensors import PerParameter, Start, Steps
from neuralrules._network._constraints import Constraints
from neuralrules._network._network import Network
from neuralrules._network._parameters import Parameters
from neuralrules._task._loss import Loss


class Sharing:
    """Adds up the gradients of the workers, with one reduction for each step.

    Each worker fills one float32 buffer, and the buffers of all workers are added up. A buffer
    holds the slope of every parameter times the weight of the worker's rows, a number for each
    rule that is positive if the rule was active, the weight of the rows, and their loss.

    `n_bytes` is the size of the buffer. `seconds` is the time spent on reductions so far,
    including the wait for the slowest worker. On a GPU, it is only the time to start the
    reductions, because they run in the background.
    """

    def __init__(self) -> None:
        self.n_reductions, self.n_bytes, self.seconds = 0, 0, 0.0

    def __call__(
        self, loss: Any, gradient: PerParameter, active: Any, weight: Any
    ) -> tuple[Any, PerParameter, Any]:
        """Implements `neuralrules._engine._torch._plain.Share`.

        A worker that has no rows left has an empty batch: its slopes and its weight are 0.
        """
        slopes = torch.cat([array.reshape(-1) for array in gradient]) * weight
        buffer: Any = torch.cat(
            [slopes, active.to(slopes.dtype), torch.stack([weight, loss.to(slopes.dtype)])]
        )
        self._reduce(buffer)
        slopes, active, (weight, loss) = buffer.split([len(slopes), len(active), 2])
        parts = (slopes / weight).split([array.numel() for array in gradient])
        shared = [part.view(array.shape) for part, array in zip(parts, gradient, strict=True)]
        return loss.double(), PerParameter(*shared), active > 0

    def of_arrays(
        self, loss: float, gradient: Parameters, active: np.ndarray, weight: float
    ) -> tuple[float, Parameters, np.ndarray]:
        """The same addition for a gradient of NumPy arrays."""
        slopes = np.concatenate([array.ravel() for array in gradient]) * weight
        buffer = np.concatenate([slopes, active, [weight, loss]]).astype(np.float32)
        self._reduce(torch.from_numpy(buffer))
        weight, loss = buffer[-2:].tolist()
        flat = buffer[: len(slopes)] / np.float32(weight)
        parts = np.split(flat, np.cumsum([array.size for array in gradient])[:-1])
        shared = [
            part.reshape(array.shape) for part, array in zip(parts, gradient, strict=True)
        ]
        return loss, Parameters(*shared), buffer[len(slopes) : -2] > 0

    def _reduce(self, buffer: Any) -> None:
        begun = time.perf_counter()
        dist.all_reduce(buffer)
        self.seconds += time.perf_counter() - begun
        self.n_reductions += 1
        self.n_bytes = buffer.numel() * buffer.element_size()


def summed(numbers: list[float], device: Any) -> np.ndarray:
    """Numbers added up over all workers, float64."""
    tensor = torch.tensor(numbers, dtype=torch.float64, device=device)
    dist.all_reduce(tensor)
    return tensor.cpu().numpy()


def align(tensors: Sequence[Any]) -> None:
    """Give all workers the numbers of the first worker.

    Different kinds of processors may round the same step differently. Without this, the
    workers of a mixed cluster would drift apart.
    """
    buffer: Any = torch.cat([tensor.reshape(-1) for tensor in tensors])
    dist.broadcast(buffer, 0)
    parts = buffer.split([tensor.numel() for tensor in tensors])
    for tensor, part in zip(tensors, parts, strict=True):
        tensor.copy_(part.view(tensor.shape))


class SharedSession(NumbaSession):
    """A session of the numba engine, but all workers take its steps together."""

    def __init__(self, sharing: Sharing, constraints: Constraints | None, *rest: Any) -> None:
        super().__init__(*rest)
        self._sharing, self._constraints = sharing, constraints
        self._settings = self._settings._replace(moves=False)

    def run(self, batches: Batches) -> float:
        total = 0.0
        for number, rate in enumerate(batches.rates.tolist()):
            one = slice(number, number + 1)
            rows = batches.rows[number * batches.size : (number + 1) * batches.size]
            own = Batches(rows, batches.size, batches.rates[one], batches.gates[one])
            total += self._step(own, rate)
        return total

    def _step(self, batch: Batches, rate: float) -> float:
        """Take one step on a batch of each worker; return the sum of the losses before it."""
        parameters, means, squares = self._state
        loss, workspace = self._run(batch), self._workspace(batch)
        weight = float(self._rows.training_weights[batch.rows].sum(dtype=np.float64))
        loss, slope, active = self._sharing.of_arrays(
            loss, workspace.gradient, workspace.touched, weight
        )
        for array in (*workspace.gradient, workspace.touched):
            array[...] = 0
        layout, l2 = self._start.layout, float(self._settings.l2)
        penalty = penalty_gradient(parameters, layout, active, l2)
        slope = Parameters(*(a + b for a, b in zip(slope, penalty, strict=True)))
        n_steps = self._settings.n_steps + 1
        moments = Moments(means, squares, n_steps)
        if self._constraints is not None:
            hold(slope, moments, self._constraints.frozen)
        adam_step(parameters, moments, slope, rate, n_steps)
        if self._constraints is not None:
            bring_back(parameters, self._constraints)
        self._settings = self._settings._replace(n_steps=n_steps)
        return loss

    def align(self) -> None:
        align([torch.from_numpy(array) for each in self._state for array in each])


class SharedNumba(NumbaEngine):
    """The numba engine, but all workers take its steps together."""

    def __init__(self, sharing: Sharing, n_threads: int) -> None:
        super().__init__(n_threads)
        self._sharing = sharing
        self.device = torch.device("cpu")

    def start(
        self,
        network: Network,
        rows: Rows,
        loss: Loss,
        constraints: Constraints | None = None,
        *,
        l2: float,
        moments: Moments | None = None,
        fit_intercept: bool = True,
    ) -> SharedSession:
        rest = (self, network, rows, loss, constraints, l2, moments, fit_intercept)
        self._session = SharedSession(self._sharing, constraints, *rest)
        return self._session

    def align(self) -> None:
        self._session.align()


class SharedTorch(TorchEngine):
    """The torch engine with plain steps, but all workers take the steps together."""

    def __init__(self, sharing: Sharing, n_threads: int, device: str) -> None:
        super().__init__(n_threads, device)
        self._sharing = sharing

    def steps(self, start: Start) -> Steps:
        self._steps = PlainSteps(start, self._sharing)
        return self._steps

    def align(self) -> None:
        align([tensor for each in self._steps.state() for tensor in each])


def shared_engine(sharing: Sharing, n_threads: int, device: str) -> SharedNumba | SharedTorch:
    """The engine of a worker, on a CPU or on a GPU."""
    if device == "cpu":
        return SharedNumba(sharing, n_threads)
    return SharedTorch(sharing, n_threads, device)
