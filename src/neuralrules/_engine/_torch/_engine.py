"""The torch engine: on a CPU to be tested, on a GPU to be fast."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch

from neuralrules._data._rows import Rows
from neuralrules._engine._adam import Moments, corrected
from neuralrules._engine._protocol import Batches
from neuralrules._engine._torch import _plain
from neuralrules._engine._torch._device import cpu_threads, device_named
from neuralrules._engine._torch._losses import LOSSES
from neuralrules._engine._torch._padding import Each, Padding, to_device, to_host
from neuralrules._engine._torch._prediction import activations, chunks
from neuralrules._engine._torch._table import Table
from neuralrules._network._constraints import Constraints
from neuralrules._network._network import Network
from neuralrules._task._losses import Loss


class TorchSession:
    """Implements `neuralrules._engine._protocol.Session`.

    The table, the parameters and what Adam remembers stay on the device from run to run; a
    run sends row numbers, gates and rates, and brings one number back.
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
        if loss.code not in LOSSES:
            raise NotImplementedError(
                f"The torch engine has no {loss!r}: write it in _torch/_losses.py."
            )
        if constraints is not None:
            constraints.check(network.parameters)
        start, device = network.parameters, engine.device
        self._engine, self._network = engine, network
        moments = moments or Moments.start(start)
        self._padding = pads = Padding.of(network.layout, network.n_outputs)
        self._evaluate, self._l2 = LOSSES[loss.code], l2
        self._fit_intercept, self._n_steps = fit_intercept, moments.n_steps
        self._table = Table(rows, network.features, device)
        self._places = None if pads.dense else torch.tensor(pads.places, device=device)
        self._parameters = to_device(pads.padded(start, pads.fills), device)
        self._moments = [to_device(pads.padded(part), device) for part in moments[:2]]
        self._limits = None
        if constraints is not None:
            self._limits = _plain.Limits(
                *(
                    to_device(pads.padded(part, Each(*[fill] * len(part))), device)
                    for part, fill in zip(constraints, (False, -np.inf, np.inf), strict=True)
                )
            )

    def run(self, batches: Batches) -> float:
        with self._engine.threads():
            total = self._run(batches)
        self._n_steps += len(batches.rates)
        return total

    def _run(self, batches: Batches) -> float:
        device = self._engine.device
        rows = torch.tensor(batches.rows, device=device)
        gates = torch.tensor(batches.gates, device=device)
        total = torch.zeros((), dtype=torch.float64, device=device)
        steps = corrected(batches.rates, self._n_steps)
        for number, step in enumerate(zip(*(part.tolist() for part in steps), strict=True)):
            some = rows[number * batches.size : (number + 1) * batches.size]
            batch = _plain.Batch(*self._table.batch(some), gates[number])
            total += self._step(batch, step)
        return float(total)

    def _step(self, batch: _plain.Batch, step: tuple[float, float]) -> Any:
        """One Adam step; returns the sum of the losses before it, which stays on the device."""
        parameters = self._parameters
        loss, gradient, active = _plain.loss_and_gradient(
            parameters, self._places, batch, self._evaluate
        )
        _plain.add_penalty(gradient, parameters, active, self._l2)
        if not self._fit_intercept:
            gradient.intercept.zero_()
        _plain.adam_step(parameters, gradient, self._moments, self._limits, step)
        return loss

    def network(self) -> Network:
        return self._network.with_parameters(self._flat(self._parameters))

    def moments(self) -> Moments:
        means, squares = map(self._flat, self._moments)
        return Moments(means, squares, self._n_steps)

    def _flat(self, tensors: Any) -> Any:
        return self._padding.flat(to_host(tensors), self._network.parameters)


class TorchEngine:
    """Implements `neuralrules._engine._protocol.Engine` on a device of torch.

    On a CPU it takes `n_threads` threads.
    """

    def __init__(self, n_threads: int = 1, device: str = "auto") -> None:
        self.n_threads = n_threads
        self.device = device_named(device)

    def threads(self) -> AbstractContextManager[None]:
        """Where torch's own number of threads is this engine's."""
        return cpu_threads(self.n_threads) if self.device.type == "cpu" else nullcontext()

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
        outputs = np.empty((len(X), network.n_outputs))
        values = network.values.astype(np.float64)
        with self.threads():
            for some, inputs in chunks(network, X, self.device):
                total = inputs.new_zeros((network.n_outputs, inputs.shape[1]))
                for rule, active in enumerate(activations(network, inputs)):
                    for k, value in enumerate(values[rule].tolist()):
                        total[k] += value * active
                outputs[some] = total.T.cpu().numpy()
        return outputs

    def activations(self, network: Network, X: np.ndarray) -> np.ndarray:
        result = np.empty((len(X), network.n_rules))
        with self.threads():
            for some, inputs in chunks(network, X, self.device):
                for rule, active in enumerate(activations(network, inputs)):
                    result[some, rule] = active.cpu().numpy()
        return result
