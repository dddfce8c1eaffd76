"""The numba engine. It allocates buffers and starts threads; the kernels do the work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from neuralrules._data._rows import Rows
from neuralrules._engine._adam import Moments
from neuralrules._engine._kernels import _forward, _train
from neuralrules._engine._kernels._arrays import (
    SLICE,
    Limits,
    Options,
    Records,
    Team,
    Training,
    TrainingRows,
    Workspace,
)
from neuralrules._engine._kernels._compile import TILE
from neuralrules._engine._kernels._losses import CODES, loss_parameters
from neuralrules._engine._protocol import OPERATIONS_ON_A_CPU, Batches, slopes_of
from neuralrules._network._constraints import Constraints
from neuralrules._network._network import Network
from neuralrules._network._parameters import Layout, Parameters
from neuralrules._task._loss import Loss

# A thread with fewer rows would cost more time than it saves.
MIN_ROWS_PER_THREAD = 512


def writable(arrays: Any) -> Any:
    """An array, or a named tuple of arrays, in which copies replace the read-only arrays.

    The arrays of a model that is mapped from a file are read-only. Kernels do not write into
    them, but numba compiles the kernels only for writable arrays.
    """
    if isinstance(arrays, tuple):
        return type(arrays)(*map(writable, arrays))
    is_locked = isinstance(arrays, np.ndarray) and not arrays.flags.writeable
    return arrays.copy() if is_locked else arrays


def make_workspace(parameters: Parameters, layout: Layout, precision: type) -> Workspace:
    """Buffers for training a network. `precision` is the type of the gradient."""
    n_rules, n_outputs = parameters.values.shape
    size = n_rules * SLICE
    records = Records(
        row=np.empty(size, np.int32),
        literal=np.empty(size, np.int32),
        value=np.empty(size, np.float32),
        count=np.zeros(n_rules, np.int64),
    )
    return Workspace(
        gradient=parameters.zeros(precision),
        hints=np.zeros((n_rules, SLICE // TILE), np.int64),
        records=records,
        partial=np.zeros((2, len(layout.blocks) - 1, n_outputs, SLICE), np.float32),
        touched=np.zeros(n_rules, np.bool_),
    )


def make_limits(constraints: Constraints | None, parameters: Parameters) -> Limits:
    """Check constraints and convert them for the kernels. None becomes empty arrays."""
    if constraints is not None:
        constraints.check(parameters)
        return Limits(True, *map(writable, constraints))
    none = Parameters(*(np.empty((0,) * array.ndim, np.float32) for array in parameters))
    return Limits(False, none.zeros(bool), none, none)


class NumbaSession:
    """Implements `neuralrules._engine._protocol.Session`."""

    def __init__(
        self,
        engine: NumbaEngine,
        network: Network,
        rows: Rows,
        loss: Loss,
        constraints: Constraints | None,
        l2: float,
        moments: Moments | None,
        fit_intercept: bool,
    ) -> None:
        code = slopes_of(loss, CODES, "numba engine", "_engine/_kernels/_losses.py")
        self._engine, self._start, self._rows = engine, network, rows
        moments = moments.copy() if moments else Moments.start(network.parameters)
        self._state = Training(network.parameters.copy(), moments.means, moments.squares)
        self._limits = make_limits(constraints, network.parameters)
        self._settings = Options(
            code,
            loss_parameters(loss),
            np.float32(l2),
            fit_intercept,
            moments.n_steps,
            moves=True,
        )
        self._layout = writable(network.layout)
        self._table = writable(
            TrainingRows(
                rows.X,
                network.features,
                rows.targets,
                rows.training_weights,
                rows.task.are_classes,
            )
        )
        # Runs share their buffers, because new memory costs a page fault every 4 KiB.
        self._workspaces: dict[type, Workspace] = {}

    def run(self, batches: Batches) -> float:
        total = self._run(batches)
        self._settings = self._settings._replace(
            n_steps=self._settings.n_steps + len(batches.rates)
        )
        return total

    def _run(self, batches: Batches) -> float:
        layout = self._layout
        n_threads = min(self._engine.n_threads, len(layout.blocks) - 1)
        workspace = self._workspace(batches)
        arrivals = np.zeros(1, np.int64)
        totals = np.zeros(n_threads)

        def train_part(part: int) -> None:
            team = Team(part, n_threads, arrivals)
            with open_on_error(arrivals):
                totals[part] = _train.train_part(
                    team,
                    self._state,
                    layout,
                    self._limits,
                    self._table,
                    batches,
                    self._settings,
                    workspace,
                )

        try:
            with open_on_error(arrivals):
                self._engine.run_parts(train_part, n_threads)
        except BaseException:
            self._workspaces.clear()  # they may hold an unfinished gradient
            raise
        return float(totals[0])  # every thread sees all losses

    def network(self) -> Network:
        return self._start.with_parameters(self._state.parameters.copy())

    def moments(self) -> Moments:
        return Moments(
            self._state.means.copy(), self._state.squares.copy(), self._settings.n_steps
        )

    def _workspace(self, batches: Batches) -> Workspace:
        """Buffers whose gradient has the precision that these batches need.

        With mini-batches, rounding is negligible compared with the noise of sampling. A batch
        of all rows has no such noise. Its gradient is summed in float64 and then rounded, so
        the order of the rows does not matter, and a row given twice equals weight 2.
        """
        whole = batches.size >= np.count_nonzero(self._rows.training_weights)
        precision = np.float64 if whole else np.float32
        if precision not in self._workspaces:
            self._workspaces[precision] = make_workspace(
                self._state.parameters, self._start.layout, precision
            )
        return self._workspaces[precision]


class NumbaEngine:
    """Implements `neuralrules._engine._protocol.Engine` on `n_threads` threads.

    The kernels release the GIL and run on ordinary threads. They do not run on numba's own
    threads, because two Python threads cannot use these at the same time, and a forked process
    cannot use them at all.
    """

    operations_per_call = OPERATIONS_ON_A_CPU

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads
        # The pool starts its threads when they are first needed.
        self._threads = ThreadPoolExecutor(n_threads)

    def __reduce__(self) -> tuple[type[NumbaEngine], tuple[int]]:
        return NumbaEngine, (self.n_threads,)  # threads cannot be pickled

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
    ) -> NumbaSession:
        return NumbaSession(self, network, rows, loss, constraints, l2, moments, fit_intercept)

    def decide(self, network: Network, X: np.ndarray) -> np.ndarray:
        outputs = np.empty((len(X), network.n_outputs))
        self._predict(_forward.decide, network, X, outputs)
        return outputs

    def activations(self, network: Network, X: np.ndarray) -> np.ndarray:
        result = np.zeros((len(X), network.n_rules))
        self._predict(_forward.activate, network, X, result)
        return result

    def _predict(
        self, kernel: Any, network: Network, X: np.ndarray, result: np.ndarray
    ) -> None:
        """Fill `result`, which has one row for each row of X. The threads share the rows."""
        parameters, layout = writable(network.parameters), writable(network.layout)
        X, features = writable(X), writable(network.features)
        n_threads = max(1, min(self.n_threads, len(X) // MIN_ROWS_PER_THREAD))
        ends = np.linspace(0, len(X), n_threads + 1).astype(int)

        def predict_part(part: int) -> None:
            first, last = ends[part], ends[part + 1]
            kernel(parameters, layout, X, features, first, last, result)

        self.run_parts(predict_part, n_threads)

    def run_parts(self, part: Callable[[int], None], n_parts: int) -> None:
        """Run part(0) to part(n_parts - 1) at the same time.

        Each part needs its own thread, because the parts of training wait for each other.
        """
        if n_parts == 1:
            part(0)
        else:
            list(self._threads.map(part, range(n_parts)))


@contextmanager
def open_on_error(arrivals: np.ndarray) -> Iterator[None]:
    """Open the barrier if the block fails.

    Otherwise the other threads would wait forever for the thread that failed.
    """
    try:
        yield
    except BaseException:
        arrivals[0] = np.iinfo(np.int64).max // 2
        raise
