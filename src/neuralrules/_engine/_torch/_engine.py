"""The torch engine. It is fast on a GPU; on a CPU it is mainly useful for tests."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from neuralrules._data._rows import Rows
from neuralrules._engine._adam import Moments, corrected
from neuralrules._engine._protocol import OPERATIONS_ON_A_CPU, Batches
from neuralrules._engine._torch import _prediction as plain
from neuralrules._engine._torch import cpu_threads, device_named
from neuralrules._engine._torch._plain import PlainSteps
from neuralrules._engine._torch._tensors import (
    DeviceTable,
    Padding,
    PerParameter,
    Start,
    Steps,
    to_host,
)
from neuralrules._network._constraints import Constraints
from neuralrules._network._network import Network
from neuralrules._network._parameters import Parameters
from neuralrules._task._loss import Loss

OPERATIONS_ON_A_GPU = 1e12  # multiply-adds of a GPU in a fraction of a second


class TorchSession:
    """Implements `neuralrules._engine._protocol.Session`.

    The table, the parameters and the moments of Adam stay on the device between runs. A run
    sends row numbers, gates and rates to the device, and gets one number back.
    """

    def __init__(
        self,
        engine: TorchEngine,
        network: Network,
        rows: Rows,
        loss: Loss,
        constraints: Constraints | None,
        l2: float,
        moments: Moments | None,
        fit_intercept: bool,
    ) -> None:
        if constraints is not None:
            constraints.check(network.parameters)
        moments = moments or Moments.start(network.parameters)
        self._engine, self._network, self._n_steps = engine, network, moments.n_steps
        self._padding = Padding.of(network.layout, network.n_outputs)
        self._table = DeviceTable.of(rows, network.features, engine.device)
        start = Start.of(
            self._padding,
            network.parameters,
            moments,
            constraints,
            engine.device,
            loss=loss,
            l2=l2,
            fit_intercept=fit_intercept,
        )
        self._steps = engine.steps(start)

    def run(self, batches: Batches) -> float:
        device = self._engine.device
        rows = torch.tensor(batches.rows, device=device)
        gates = torch.tensor(batches.gates, device=device)
        adam = np.stack(corrected(batches.rates, self._n_steps))
        with self._engine.threads():
            total = self._steps.run(self._table, rows, batches.size, gates, adam)
        self._n_steps += len(batches.rates)
        return total

    def network(self) -> Network:
        parameters, _, _ = self._steps.state()
        return self._network.with_parameters(self._flat(parameters))

    def moments(self) -> Moments:
        _, means, squares = self._steps.state()
        return Moments(self._flat(means), self._flat(squares), self._n_steps)

    def _flat(self, tensors: PerParameter) -> Parameters:
        return self._padding.flat(to_host(tensors), self._network.parameters)


class TorchEngine:
    """Implements `neuralrules._engine._protocol.Engine` on a torch device.

    On a CPU it uses `n_threads` threads.
    """

    def __init__(self, n_threads: int = 1, device: str = "auto") -> None:
        self.n_threads = n_threads
        self.device = device_named(device)
        on_gpu = self.device.type == "cuda"
        self.operations_per_call = OPERATIONS_ON_A_GPU if on_gpu else OPERATIONS_ON_A_CPU

    def threads(self) -> AbstractContextManager[None]:
        """A context in which torch uses this engine's number of threads."""
        return cpu_threads(self.n_threads) if self.device.type == "cpu" else nullcontext()

    def steps(self, start: Start) -> Steps:
        """The object that takes the steps of a session.

        It uses the fused kernels on a GPU if they fit the rules, else plain torch.
        """
        if self.fuses(start.padding):
            from neuralrules._engine._triton._steps import FusedSteps

            return FusedSteps(start)
        return PlainSteps(start)

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
    ) -> TorchSession:
        return TorchSession(self, network, rows, loss, constraints, l2, moments, fit_intercept)

    def decide(self, network: Network, X: np.ndarray) -> np.ndarray:
        with self.threads():
            return self._prediction(network).decide(network, X, self.device)

    def activations(self, network: Network, X: np.ndarray) -> np.ndarray:
        with self.threads():
            return self._prediction(network).activations(network, X, self.device)

    def _prediction(self, network: Network) -> Any:
        """The module that predicts: with a fused kernel, or in plain torch.

        Both give the same results to the bit.
        """
        if self.fuses(Padding.of(network.layout, network.n_outputs)):
            from neuralrules._engine._triton import _prediction as fused

            return fused
        return plain

    def fuses(self, padding: Padding) -> bool:
        """Whether there is a GPU, Triton is installed, and its kernels can take the rules."""
        if self.device.type != "cuda" or find_spec("triton") is None:
            return False
        from neuralrules._engine._triton._steps import is_fusible

        return is_fusible(padding)
