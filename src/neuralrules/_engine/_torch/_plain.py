"""A step of training in plain torch.

The fused kernels must agree with it except for rounding, and must be faster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import torch

from neuralrules._engine._adam import BETA_1, BETA_2
from neuralrules._engine._protocol import slopes_of
from neuralrules._engine._torch._losses import LOSSES
from neuralrules._engine._torch._tensors import DeviceTable, Limits, PerParameter, Start


class Batch(NamedTuple):
    """The rows of one step, stored column after column.

    Attributes
    ----------
    x : (n_features + 1, n_rows) float32
        The columns that the network looks at, and a column of zeros.
    targets : (n_outputs, n_rows) float32
    weights : (n_rows,) float32
    gates : (n_rules,) float32
    """

    x: Any
    targets: Any
    weights: Any
    gates: Any


def own_columns(x: Any, places: Any) -> Any:
    """The columns that each rule looks at, (n_rules, n_columns, n_rows).

    Without `places`, all rules look at all columns. The result is then (n_columns, n_rows), and
    all rules share it.
    """
    return x[:-1] if places is None else x[places]


def literals_forward(parameters: PerParameter, columns: Any) -> Any:
    """w_j . x + a_j, (n_rules, n_literals, n_rows)."""
    return torch.matmul(parameters.weights, columns) + parameters.biases[:, :, None]


def units_forward(parameters: PerParameter, literals: Any) -> Any:
    """The units of every rule, (n_rules, n_literals, n_rows). A rule takes their minimum.

    The units of a shallow rule are its literals. The units of a deep rule are the outputs of
    its second layer.
    """
    if not len(parameters.mixing):
        return literals
    rectified = literals.clamp_min(0)
    return torch.bmm(parameters.mixing, rectified) + parameters.shifts[:, :, None]


def loss_and_gradient(
    parameters: PerParameter, places: Any, batch: Batch, evaluate: Any
) -> tuple[Any, PerParameter, Any]:
    """Weighted sum of the losses, the gradient of their mean, and which rules were active.

    As in the reference engine, only the smallest unit of an active rule gets a gradient. If
    several units are equally small, the first one gets it.
    """
    values, gates = parameters.values, batch.gates[:, None]
    columns = own_columns(batch.x, places)
    literals = literals_forward(parameters, columns)
    smallest, which = units_forward(parameters, literals).min(dim=1)
    active = smallest.clamp_min(0) * gates
    outputs = values.T @ active + parameters.intercept[:, None]
    losses, slopes = evaluate(outputs, batch.targets)
    slopes = slopes * (batch.weights / batch.weights.sum())
    rule_slopes = (values @ slopes) * gates * (active > 0)
    unit_slopes = torch.zeros_like(literals)
    unit_slopes.scatter_(1, which[:, None], rule_slopes[:, None])
    mixing, shifts = parameters.mixing, parameters.shifts
    if len(mixing):
        rectified = literals.clamp_min(0)
        back = torch.bmm(mixing.mT, unit_slopes) * (rectified > 0)
        mixing, shifts = torch.bmm(unit_slopes, rectified.mT), unit_slopes.sum(2)
        unit_slopes = back
    gradient = PerParameter(
        weights=torch.matmul(unit_slopes, columns.mT),
        biases=unit_slopes.sum(2),
        values=active @ slopes.T,
        mixing=mixing,
        shifts=shifts,
        intercept=slopes.sum(1),
    )
    total = (losses * batch.weights).sum(dtype=torch.float64)
    return total, gradient, (active > 0).any(dim=1)


def add_penalty(
    gradient: PerParameter, parameters: PerParameter, active: Any, l2: float
) -> None:
    """Add the gradient of the penalty to the gradient, in place.

    The penalty is l2 times the squared parameters of the rules with an active row. Biases and
    the intercept are not penalised; see `neuralrules._engine._reference.penalty_gradient`.
    """
    for slopes, numbers in (
        (gradient.weights, parameters.weights),
        (gradient.values, parameters.values),
        (gradient.mixing, parameters.mixing),
    ):
        shrinking = active[: len(numbers)].view(-1, *[1] * (numbers.dim() - 1))
        slopes.add_(numbers * shrinking, alpha=2 * l2)


def adam_step(
    parameters: PerParameter,
    gradient: PerParameter,
    moments: tuple[PerParameter, PerParameter],
    limits: Limits | None,
    step: tuple[float, float],
) -> None:
    """One Adam step in place, within the limits if there are any.

    `step` holds the rate and the epsilon.
    """
    rate, epsilon = step
    for place, (parameter, slope, mean, square) in enumerate(
        zip(parameters, gradient, *moments, strict=True)
    ):
        if limits is not None:  # a step cannot change parameters without slope and moments
            for array in (slope, mean, square):
                array.masked_fill_(limits.frozen[place], 0)
        mean.mul_(BETA_1).add_(slope, alpha=1 - BETA_1)
        square.mul_(BETA_2).addcmul_(slope, slope, value=1 - BETA_2)
        parameter.addcdiv_(mean, square.sqrt().add_(epsilon), value=-rate)
        if limits is not None:
            lower, upper = limits.lower[place], limits.upper[place]
            within = torch.minimum(torch.maximum(parameter, lower), upper)
            parameter.copy_(torch.where(limits.frozen[place], parameter, within))


# A function that joins this batch with the batches that other workers train on at the same
# time. It takes the loss, the gradient, the active rules and the weight of this batch. It
# returns the loss, the gradient and the active rules of all batches together.
Share: TypeAlias = Callable[[Any, PerParameter, Any, Any], tuple[Any, PerParameter, Any]]


class PlainSteps:
    """Implements `neuralrules._engine._torch._tensors.Steps`.

    With `share`, each step is taken together with other workers, which have their own batches.
    """

    def __init__(self, start: Start, share: Share | None = None) -> None:
        evaluate = slopes_of(start.loss, LOSSES, "torch engine", "_engine/_torch/_losses.py")
        self._evaluate = partial(evaluate, **asdict(start.loss))
        self._start, self._share = start, share
        padding, device = start.padding, start.parameters.biases.device
        self._places = None if padding.dense else torch.tensor(padding.places, device=device)

    def run(self, table: DeviceTable, rows: Any, size: int, gates: Any, adam: Any) -> float:
        total = torch.zeros((), dtype=torch.float64, device=rows.device)
        for number, (rate, epsilon) in enumerate(adam.T.tolist()):
            some = rows[number * size : (number + 1) * size]
            batch = Batch(*table.batch(some), gates[number])
            total += self._step(batch, rate, epsilon)
        return float(total)

    def _step(self, batch: Batch, rate: float, epsilon: float) -> Any:
        """Take one step. Returns the sum of the losses before it, on the device."""
        start, parameters = self._start, self._start.parameters
        loss, gradient, active = loss_and_gradient(
            parameters, self._places, batch, self._evaluate
        )
        if self._share is not None:
            loss, gradient, active = self._share(loss, gradient, active, batch.weights.sum())
        add_penalty(gradient, parameters, active, start.l2)
        if not start.fit_intercept:
            gradient.intercept.zero_()
        moments = start.means, start.squares
        adam_step(parameters, gradient, moments, start.limits, (rate, epsilon))
        return loss

    def state(self) -> tuple[PerParameter, PerParameter, PerParameter]:
        return self._start.parameters, self._start.means, self._start.squares
