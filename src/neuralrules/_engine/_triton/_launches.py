"""Launches of the fused kernels: what they are given, and many of them in a CUDA graph."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton

from neuralrules._engine._torch._table import Table
from neuralrules._engine._triton._backward import backward
from neuralrules._engine._triton._forward import forward
from neuralrules._engine._triton._gather import gather_rows

ROWS_AT_ONCE = 2**19  # that are gathered at a time: what a large GPU's cache holds
STEPS_AT_ONCE = 256


SMALL_BATCH, LARGE_BATCH = 512, 32_768  # rows


class Tuning(NamedTuple):
    """How a step is shared out among programs; whatever it is, results agree but for rounding.

    Attributes
    ----------
    rows : int
        Of a piece; a tile has as many pieces as codes of a byte's bits. A power of 2.
    rules : int
        That a program of the first half takes at a time, a power of 2.
    forward_warps, backward_warps : int
    forward_programs, backward_programs : int
        About how many there should be to fill the GPU.
    most_parts : int
        Into how many parts rules, or rows, are shared out at most; one program adds them up.
    """

    rows: int = 128
    rules: int = 4
    forward_warps: int = 4
    forward_programs: int = 512
    backward_warps: int = 1
    backward_programs: int = 4096
    most_parts: int = 64

    @classmethod
    def for_batches(cls, size: int) -> Tuning:
        """What was fastest for batches of such a size, of 480 rules on an H200."""
        if size >= LARGE_BATCH:
            return cls(128, 4, 4, 1024, 1, 8192)
        if size <= SMALL_BATCH:
            return cls(32, 8, 8, 256, 1, 4096)
        return cls(64, 4, 4, 256, 1, 2048)


def bits_of_codes(n_literals: int) -> int:
    """Of a byte's bits, those that tell which literal is the smallest, or that none is."""
    return 2 if n_literals <= 3 else 4 if n_literals <= 15 else 8


class Staging:
    """The rows of some batches, gathered, and what the kernels pass on: all at fixed places.

    A CUDA graph remembers addresses, so that the same memory serves from run to run.
    """

    def __init__(
        self, table: Table, size: int, tile: int, bits: int, n_rules: int, n_outputs: int
    ) -> None:
        def empty(*shape: int, dtype: Any = torch.float32) -> Any:
            return torch.empty(shape, dtype=dtype, device=table.x.device)

        self.size = size
        self.n_steps = max(1, min(ROWS_AT_ONCE // size, STEPS_AT_ONCE))
        self.n_tiles = triton.cdiv(size, tile)
        # The last tile of the last batch may end after it; columns begin at whole vectors.
        n_rows = (self.n_steps - 1) * size + self.n_tiles * tile
        self.capacity = triton.cdiv(n_rows, 16) * 16
        # What is read after a batch does not count if it is a number.
        self.x = empty(table.x.shape[1], self.capacity).zero_()
        self.targets = empty(n_outputs, self.capacity)
        self.weights, self.shares = empty(self.capacity), empty(self.capacity)
        self.gates = empty(self.n_steps, n_rules)
        self.adam = empty(2, self.n_steps)
        self.smallest = empty(n_rules, self.n_tiles * tile * bits // 8, dtype=torch.uint8)
        self.slopes = empty(n_outputs, self.n_tiles * tile)

    def gather(self, table: Table, rows: Any) -> None:
        """Fill it with the rows of some batches, of which the last may be shorter."""
        n_rows = len(rows)
        targets, weights = table.batch_targets(rows)
        gather_rows(table.x, rows, self.x)
        self.targets[:, :n_rows] = targets
        self.weights[:n_rows] = weights
        whole = n_rows // self.size * self.size
        for own, shape in ((slice(whole), (-1, self.size)), (slice(whole, n_rows), (1, -1))):
            if len(weights[own]):
                batches = weights[own].view(shape)
                self.shares[own] = (batches / batches.sum(1, keepdim=True)).flatten()


class Arrays(NamedTuple):
    """What the kernels train, and within which limits; see `_backward.backward`."""

    places: Any
    parameters: Any
    means: Any
    squares: Any
    frozen: Any
    lower: Any
    upper: Any


class Launches:
    """Steps on the rows of a `Staging`.

    `shape` is rules, literals, columns and outputs; `loss` is the loss's code and parameter.
    """

    def __init__(
        self,
        staging: Staging,
        arrays: Arrays,
        shape: tuple[int, int, int, int],
        loss: tuple[int, float],
        l2: float,
        tuning: Tuning,
    ) -> None:
        self.staging, self._arrays, self._tuning = staging, arrays, tuning
        self._n_rules, n_literals, n_columns, n_outputs = shape
        self._sizes = {
            "LITERALS": n_literals,
            "COLUMNS": n_columns,
            "OUTPUTS": n_outputs,
            "BITS": bits_of_codes(n_literals),
            "ROWS": tuning.rows,
        }
        self._loss, self._l2 = {"LOSS": loss[0], "PARAMETER": loss[1]}, l2
        n_own = n_literals * (n_columns + 1) + n_outputs
        self._padded = triton.next_power_of_2(n_own + 1)
        self._share_out()
        device = staging.x.device

        def zeros(*shape: int, dtype: Any = torch.float32) -> Any:
            return torch.zeros(shape, dtype=dtype, device=device)

        self._outputs = zeros(self._rule_parts, n_outputs, staging.size)
        self._sums = zeros(self._n_rules + 1, self._row_parts, self._padded)
        self._tile_arrivals = zeros(self._n_tiles, dtype=torch.int32)
        self._rule_arrivals = zeros(self._n_rules + 1, dtype=torch.int32)
        self._losses = zeros(staging.n_steps, self._n_tiles)
        self._intercept_slopes = zeros(self._n_tiles, n_outputs)
        self._graph: Any = None

    def _share_out(self) -> None:
        """Into how many programs a step goes: enough to fill the GPU, few sums to add up."""
        tuning, n_rules = self._tuning, self._n_rules
        n_tiles = self._n_tiles = self.staging.n_tiles
        parts = min(max(1, tuning.forward_programs // n_tiles), tuning.most_parts)
        self._rules_each = triton.cdiv(triton.cdiv(n_rules, tuning.rules), parts) * tuning.rules
        self._rule_parts = triton.cdiv(n_rules, self._rules_each)
        parts = min(max(1, tuning.backward_programs // n_rules), tuning.most_parts)
        self._tiles_each = triton.cdiv(n_tiles, parts)
        self._row_parts = triton.cdiv(n_tiles, self._tiles_each)

    def take(self, n_whole: int, n_left: int) -> Any:
        """Steps on so many whole batches, and on one of `n_left` rows if there are any.

        Returns the sum of the losses before them, on the device.
        """
        if n_whole == self.staging.n_steps and self.staging.x.is_cuda:
            self._replay()
        else:
            for step in range(n_whole):
                self._launch(step, self.staging.size)
        if n_left:
            self._launch(n_whole, n_left)
        return self._losses[: n_whole + (n_left > 0)].sum(dtype=torch.float64)

    def _replay(self) -> None:
        """All steps as one graph, which is recorded on its second use.

        The first use compiles the kernels, which must not happen while recording.
        """
        if self._graph is None:
            for step in range(self.staging.n_steps):
                self._launch(step, self.staging.size)
            torch.cuda.synchronize()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):  # records, and takes no step
                for step in range(self.staging.n_steps):
                    self._launch(step, self.staging.size)
        else:
            self._graph.replay()

    def _launch(self, step: int, n_rows: int) -> None:
        self.forward(step, n_rows)
        self.backward(step)

    def forward(self, step: int, n_rows: int) -> None:
        """The first half of a step: outputs, losses and slopes."""
        staging, arrays, tuning = self.staging, self._arrays, self._tuning
        forward[(self._n_tiles, self._rule_parts)](
            staging.x,
            staging.targets,
            staging.weights,
            staging.shares,
            staging.gates,
            arrays.places,
            arrays.parameters,
            staging.smallest,
            self._outputs,
            self._tile_arrivals,
            staging.slopes,
            self._losses,
            self._intercept_slopes,
            step,
            n_rows,
            staging.size,
            staging.capacity,
            self._n_rules,
            self._rules_each,
            **self._sizes,
            **self._loss,
            RULES=tuning.rules,
            num_warps=tuning.forward_warps,
        )

    def backward(self, step: int) -> None:
        """The second half: sums of slopes, and the step itself."""
        staging, arrays, tuning = self.staging, self._arrays, self._tuning
        backward[(self._n_rules + 1, self._row_parts)](
            staging.x,
            staging.slopes,
            self._intercept_slopes,
            staging.smallest,
            staging.gates,
            arrays.places,
            arrays.parameters,
            arrays.means,
            arrays.squares,
            arrays.frozen,
            arrays.lower,
            arrays.upper,
            self._sums,
            self._rule_arrivals,
            staging.adam[0],
            staging.adam[1],
            step,
            staging.size,
            staging.capacity,
            self._n_rules,
            self._tiles_each,
            self._n_tiles,
            self._l2,
            **self._sizes,
            PADDED=self._padded,
            num_warps=tuning.backward_warps,
        )
