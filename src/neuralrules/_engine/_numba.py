"""The fast engine: allocates buffers and threads; the kernels do the work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuralrules._engine import _kernels
from neuralrules._engine._intrinsics import TILE
from neuralrules._engine._protocol import Batches, Examples, Optimizer
from neuralrules._network._network import Layout, Network, Parameters

# Fewer rows than this are not worth a second thread.
MIN_ROWS_PER_THREAD = 512


@dataclass(frozen=True)
class Workspace:
    """What the training kernel needs beside its arguments.

    Kept from call to call: fresh memory costs a page fault every 4 KiB.

    Attributes
    ----------
    shape : tuple
        What the buffers fit.
    gradient : Parameters
        All zero between calls.
    hints : (n_rules, SLICE // TILE) int64
        The pair of literals that each rule begins with on each tile.
    records : Records
    partial : (2, n_blocks, n_outputs, SLICE) float32
    """

    shape: tuple[Any, ...]
    gradient: Parameters
    hints: np.ndarray
    records: _kernels.Records
    partial: np.ndarray

    @classmethod
    def make(
        cls, parameters: Parameters, layout: Layout, precision: type, shape: tuple[Any, ...]
    ) -> Workspace:
        n_rules, n_outputs = parameters.values.shape
        size = n_rules * _kernels.SLICE
        records = _kernels.Records(
            row=np.empty(size, np.int32),
            literal=np.empty(size, np.int32),
            value=np.empty(size, np.float32),
            count=np.zeros(n_rules, np.int64),
        )
        return cls(
            shape=shape,
            gradient=parameters.zeros(precision),
            hints=np.zeros((n_rules, _kernels.SLICE // TILE), np.int64),
            records=records,
            partial=np.zeros(
                (2, len(layout.blocks) - 1, n_outputs, _kernels.SLICE), np.float32
            ),
        )


class NumbaEngine:
    """Implements `neuralrules._engine._protocol.Engine` on `n_threads` threads.

    The kernels release the GIL and run on ordinary threads rather than on numba's
    own, which cannot be entered by two Python threads at once nor after a fork.
    """

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads
        # Threads start when they are first needed and end with the engine.
        self._threads = ThreadPoolExecutor(n_threads)
        self._workspace: Workspace | None = None

    def decide(self, network: Network, X: np.ndarray) -> np.ndarray:
        outputs = np.empty((len(X), network.n_outputs))
        parameters, layout = network.parameters, network.layout
        n_threads = max(1, min(self.n_threads, len(X) // MIN_ROWS_PER_THREAD))
        ends = np.linspace(0, len(X), n_threads + 1).astype(int)

        def decide_part(part: int) -> None:
            first, last = ends[part], ends[part + 1]
            _kernels.decide(parameters, layout, X, network.features, first, last, outputs)

        self._run(decide_part, n_threads)
        return outputs

    def train(
        self,
        optimizer: Optimizer,
        layout: Layout,
        examples: Examples,
        batches: Batches,
        loss: int,
        l2: float,
    ) -> float:
        parameters = optimizer.parameters
        n_threads = min(self.n_threads, len(layout.blocks) - 1)
        # With mini-batches the noise of sampling dwarfs rounding. A batch of all rows
        # has no such noise: summed in float64, its gradient is the same, once rounded,
        # whatever the order of the rows, and a row given twice equals weight 2.
        whole = batches.size >= np.count_nonzero(examples.weights)
        workspace = self._prepare(parameters, layout, np.float64 if whole else np.float32)
        arrivals = np.zeros(1, np.int64)
        arguments = (
            arrivals,
            parameters,
            workspace.gradient,
            optimizer.means,
            optimizer.squares,
            layout,
            examples,
            batches,
            loss,
            np.float32(l2),
            workspace.hints,
            workspace.records,
            workspace.partial,
        )
        totals = np.zeros(n_threads)

        def train_part(part: int) -> None:
            with open_on_error(arrivals):
                totals[part] = _kernels.train(part, n_threads, *arguments)

        self._workspace = None  # an error would leave a gradient behind
        with open_on_error(arrivals):
            self._run(train_part, n_threads)
        self._workspace = workspace
        return float(totals[0])  # every thread sees all losses

    def _prepare(self, parameters: Parameters, layout: Layout, precision: type) -> Workspace:
        """Buffers for a network of this shape: those of the last call, if they fit."""
        shape = (*(array.shape for array in parameters), len(layout.blocks), precision)
        if self._workspace is None or self._workspace.shape != shape:
            self._workspace = Workspace.make(parameters, layout, precision, shape)
        return self._workspace

    def _run(self, part: Callable[[int], None], n_parts: int) -> None:
        """Run part(0) to part(n_parts - 1) at once: parts of training wait for each other."""
        if n_parts == 1:
            part(0)
        else:
            list(self._threads.map(part, range(n_parts)))


@contextmanager
def open_on_error(arrivals: np.ndarray) -> Iterator[None]:
    """Open the barrier if the block fails: the others must not wait for who never comes."""
    try:
        yield
    except BaseException:
        arrivals[0] = np.iinfo(np.int64).max // 2
        raise
