"""Steps of training with the fused kernels.

Each step launches two kernels. Many steps are launched together as one CUDA graph.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
import triton

from neuralrules._engine._protocol import slopes_of
from neuralrules._engine._torch._tensors import DeviceTable, Padding, PerParameter, Start
from neuralrules._engine._triton._backward import backward
from neuralrules._engine._triton._forward import forward, gather_rows
from neuralrules._engine._triton._losses import CODES

MOST_PARAMETERS = 127  # parameters of a rule; a program keeps their gradients in registers
MOST_OUTPUTS = 16
ROWS_AT_ONCE = 2**19  # gathered at a time; they fit into the cache of a large GPU
STEPS_AT_ONCE = 256


SMALL_BATCH, LARGE_BATCH = 512, 32_768  # rows


class Tuning(NamedTuple):
    """How the work of a step is divided among programs.

    The tuning changes results only by rounding.

    Attributes
    ----------
    rows : int
        Rows of a piece, a power of 2. A tile has as many pieces as a byte has codes.
    rules : int
        Rules that a program of the forward kernel evaluates at a time, a power of 2.
    forward_warps, backward_warps : int
        Warps of a program.
    forward_programs, backward_programs : int
        About how many programs are needed to fill the GPU.
    most_parts : int
        The largest number of parts into which the rules (forward) or the rows (backward) are
        divided. One program adds up the results of all parts.
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
        """The tuning for batches of `size` rows.

        It was the fastest one for 480 rules on an H200.
        """
        if size >= LARGE_BATCH:
            return cls(128, 4, 4, 1024, 1, 8192)
        if size <= SMALL_BATCH:
            return cls(32, 8, 8, 256, 1, 4096)
        return cls(64, 4, 4, 256, 1, 2048)


def bits_of_codes(n_literals: int) -> int:
    """How many bits a code needs: 2, 4 or 8.

    A code says which of the literals is the smallest, or that the rule is not active.
    """
    return 2 if n_literals <= 3 else 4 if n_literals <= 15 else 8


class Staging:
    """Buffers for the rows of some batches, and for the results that the kernels pass on.

    The buffers keep their addresses, because a CUDA graph contains the addresses that it was
    recorded with. All runs use the same buffers.
    """

    def __init__(
        self, table: DeviceTable, size: int, tile: int, bits: int, n_rules: int, n_outputs: int
    ) -> None:
        def empty(*shape: int, dtype: Any = torch.float32) -> Any:
            return torch.empty(shape, dtype=dtype, device=table.x.device)

        self.size = size
        self.n_steps = max(1, min(ROWS_AT_ONCE // size, STEPS_AT_ONCE))
        self.n_tiles = triton.cdiv(size, tile)
        # The last tile of the last batch may end after the batch. The capacity is a multiple of
        # 16, so that each column begins at a whole vector.
        n_rows = (self.n_steps - 1) * size + self.n_tiles * tile
        self.capacity = triton.cdiv(n_rows, 16) * 16
        # Kernels read beyond the end of a batch. These cells do not count, but they must be
        # finite, so x starts with zeros.
        self.x = empty(table.x.shape[1], self.capacity).zero_()
        self.targets = empty(n_outputs, self.capacity)
        self.weights, self.shares = empty(self.capacity), empty(self.capacity)
        self.gates = empty(self.n_steps, n_rules)
        self.adam = empty(2, self.n_steps)
        self.smallest = empty(n_rules, self.n_tiles * tile * bits // 8, dtype=torch.uint8)
        self.slopes = empty(n_outputs, self.n_tiles * tile)

    def gather(self, table: DeviceTable, rows: Any) -> None:
        """Copy the rows of some batches into the buffers. The last batch may be shorter."""
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
    """The arrays that the kernels train, and their limits; see `_backward.backward`."""

    places: Any
    parameters: Any
    means: Any
    squares: Any
    frozen: Any
    lower: Any
    upper: Any


class Launches:
    """Launches the kernels for steps on the rows of a `Staging`.

    `shape` is the number of rules, literals, columns and outputs. `loss` is the code and the
    parameter of the loss.
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
        """Choose the number of programs of a step.

        There should be enough programs to fill the GPU, but few partial sums to add up.
        """
        tuning, n_rules = self._tuning, self._n_rules
        n_tiles = self._n_tiles = self.staging.n_tiles
        parts = min(max(1, tuning.forward_programs // n_tiles), tuning.most_parts)
        self._rules_each = triton.cdiv(triton.cdiv(n_rules, tuning.rules), parts) * tuning.rules
        self._rule_parts = triton.cdiv(n_rules, self._rules_each)
        parts = min(max(1, tuning.backward_programs // n_rules), tuning.most_parts)
        self._tiles_each = triton.cdiv(n_tiles, parts)
        self._row_parts = triton.cdiv(n_tiles, self._tiles_each)

    def take(self, n_whole: int, n_left: int) -> Any:
        """Take a step on each of `n_whole` whole batches, then one on a batch of `n_left` rows.

        The last step is left out if `n_left` is 0. Returns the sum of the losses before the
        steps, on the device.
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
        """Take all steps with one CUDA graph.

        The first call launches the steps one by one, and then records the graph. The launches
        compile the kernels, which is not possible while a graph is recorded. Later calls
        replay the graph.
        """
        if self._graph is None:
            for step in range(self.staging.n_steps):
                self._launch(step, self.staging.size)
            torch.cuda.synchronize()
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):  # records the launches without running them
                for step in range(self.staging.n_steps):
                    self._launch(step, self.staging.size)
        else:
            self._graph.replay()

    def _launch(self, step: int, n_rows: int) -> None:
        self.forward(step, n_rows)
        self.backward(step)

    def forward(self, step: int, n_rows: int) -> None:
        """Launch the first half of a step: outputs, losses and slopes."""
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
        """Launch the second half of a step: the gradient and the Adam step."""
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


def is_fusible(padding: Padding) -> bool:
    """Whether the kernels can take rules of these shapes. They cannot take deep rules."""
    _, n_literals, n_columns = padding.shapes.weights
    n_outputs = padding.shapes.values[1]
    n_own = n_literals * n_columns + n_literals + n_outputs
    return not padding.shapes.mixing[0] and (
        n_own <= MOST_PARAMETERS and n_outputs <= MOST_OUTPUTS
    )


def packed(each: PerParameter) -> Any:
    """The parameters of all rules as one array (n_rules + 1, n).

    Each row holds all parameters of one rule. The last row holds the intercept.
    """
    rules = torch.cat([each.weights.flatten(1), each.biases, each.values], dim=1)
    last = torch.zeros_like(rules[:1])
    last[0, rules.shape[1] - len(each.intercept) :] = each.intercept
    return torch.cat([rules, last]).contiguous()


def unpacked(whole: Any, like: PerParameter) -> PerParameter:
    """The parameters from the array that `packed` makes, with the shapes of `like`."""
    n_values = len(like.intercept)
    sizes = [like.weights[0].numel(), like.biases.shape[1], n_values]
    weights, biases, values = whole[:-1].split(sizes, dim=1)
    return like._replace(
        weights=weights.reshape(like.weights.shape),
        biases=biases,
        values=values,
        intercept=whole[-1, -n_values:],
    )


class FusedSteps:
    """Implements `neuralrules._engine._torch._tensors.Steps` with fused kernels.

    `PlainSteps` does the same in plain torch.
    """

    def __init__(self, start: Start, tuning: Tuning | None = None) -> None:
        code = slopes_of(start.loss, CODES, "GPU kernel", "_engine/_triton/_losses.py")
        self._loss = code, (start.loss.numbers or (0.0,))[0]
        self._start, self._tuning = start, tuning
        device = start.parameters.biases.device
        self._places = torch.tensor(start.padding.places, device=device)
        self._state = [packed(each) for each in (start.parameters, start.means, start.squares)]
        like = self._state[0]
        self._limits = [
            torch.zeros_like(like, dtype=torch.int8),
            torch.full_like(like, -math.inf),
            torch.full_like(like, math.inf),
        ]
        if start.limits is not None:
            kinds = (torch.int8, torch.float32, torch.float32)
            self._limits = [
                packed(part).to(kind) for part, kind in zip(start.limits, kinds, strict=True)
            ]
        if not start.fit_intercept:
            self._limits[0][-1] = 1
        self.launches: Launches | None = None

    def state(self) -> tuple[PerParameter, PerParameter, PerParameter]:
        parameters, means, squares = (
            unpacked(part, self._start.parameters) for part in self._state
        )
        return parameters, means, squares

    def run(self, table: DeviceTable, rows: Any, size: int, gates: Any, adam: Any) -> float:
        if self.launches is None or self.launches.staging.size != size:
            self.launches = self._prepare(table, size)
        launches, staging = self.launches, self.launches.staging
        steps = torch.tensor(adam, dtype=torch.float32, device=rows.device)
        total = torch.zeros((), dtype=torch.float64, device=rows.device)
        for first in range(0, len(gates), staging.n_steps):
            some = rows[first * size : (first + staging.n_steps) * size]
            n_whole, n_left = divmod(len(some), size)
            chosen = slice(first, first + n_whole + (n_left > 0))
            staging.gather(table, some)
            staging.gates[: chosen.stop - first] = gates[chosen]
            staging.adam[:, : chosen.stop - first] = steps[:, chosen]
            total += launches.take(n_whole, n_left)
        return float(total)

    def _prepare(self, table: DeviceTable, size: int) -> Launches:
        n_rules, n_literals, n_columns = self._start.parameters.weights.shape
        n_outputs = self._start.parameters.values.shape[1]
        tuning = self._tuning or Tuning.for_batches(size)
        bits = bits_of_codes(n_literals)
        staging = Staging(table, size, tuning.rows * 8 // bits, bits, n_rules, n_outputs)
        arrays = Arrays(self._places, *self._state, *self._limits)
        shape = (n_rules, n_literals, n_columns, n_outputs)
        return Launches(staging, arrays, shape, self._loss, self._start.l2, tuning)
