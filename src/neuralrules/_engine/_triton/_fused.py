"""Steps of training by the fused kernels: two launches a step, many steps in a CUDA graph."""

from __future__ import annotations

import math
from typing import Any

import torch

from neuralrules._engine._protocol import slopes_of
from neuralrules._engine._torch._padding import Each, Padding
from neuralrules._engine._torch._start import Start
from neuralrules._engine._torch._table import Table
from neuralrules._engine._triton._launches import (
    Arrays,
    Launches,
    Staging,
    Tuning,
    bits_of_codes,
)
from neuralrules._engine._triton._losses import CODES

MOST_PARAMETERS = 127  # of a rule, whose sums a program keeps in registers
MOST_OUTPUTS = 16


def is_fusible(padding: Padding) -> bool:
    """Whether the kernels can take rules of such shapes; deep ones are not for them."""
    _, n_literals, n_columns = padding.shapes.weights
    n_outputs = padding.shapes.values[1]
    n_own = n_literals * n_columns + n_literals + n_outputs
    return not padding.shapes.mixing[0] and (
        n_own <= MOST_PARAMETERS and n_outputs <= MOST_OUTPUTS
    )


def packed(each: Each) -> Any:
    """All parameters of a rule side by side, (n_rules + 1, n): the intercept comes last."""
    rules = torch.cat([each.weights.flatten(1), each.biases, each.values], dim=1)
    last = torch.zeros_like(rules[:1])
    last[0, rules.shape[1] - len(each.intercept) :] = each.intercept
    return torch.cat([rules, last]).contiguous()


def unpacked(whole: Any, like: Each) -> Each:
    """The other way round, with the shapes of `like`."""
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
    """Implements `neuralrules._engine._torch._start.Steps`, as `PlainSteps` does."""

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

    def state(self) -> tuple[Each, Each, Each]:
        parameters, means, squares = (
            unpacked(part, self._start.parameters) for part in self._state
        )
        return parameters, means, squares

    def run(self, table: Table, rows: Any, size: int, gates: Any, adam: Any) -> float:
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

    def _prepare(self, table: Table, size: int) -> Launches:
        n_rules, n_literals, n_columns = self._start.parameters.weights.shape
        n_outputs = self._start.parameters.values.shape[1]
        tuning = self._tuning or Tuning.for_batches(size)
        bits = bits_of_codes(n_literals)
        staging = Staging(table, size, tuning.rows * 8 // bits, bits, n_rules, n_outputs)
        arrays = Arrays(self._places, *self._state, *self._limits)
        shape = (n_rules, n_literals, n_columns, n_outputs)
        return Launches(staging, arrays, shape, self._loss, self._start.l2, tuning)
