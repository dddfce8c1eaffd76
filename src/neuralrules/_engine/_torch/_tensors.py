"""The data of a session on its device: padded parameters, limits, and rows.

All rules are padded to the largest number of literals and the largest number of columns of any
rule. Padding never changes a result: an added column holds only zeros, and an added literal is
infinite, so it is never the smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from neuralrules._data._rows import Rows
from neuralrules._engine._adam import Moments
from neuralrules._network._constraints import Constraints
from neuralrules._network._parameters import Layout, Parameters
from neuralrules._task._loss import Loss

CHUNK = 2**20  # rows that are copied at the same time


class PerParameter(NamedTuple):
    """One object for each array of `Parameters`.

    The object may be the padded array, its tensor, its shape, or a number.
    """

    weights: Any
    biases: Any
    values: Any
    mixing: Any
    shifts: Any
    intercept: Any


@dataclass(frozen=True, eq=False)
class Padding:
    """Where the flat parameters of a layout are in the padded arrays.

    Attributes
    ----------
    shapes : PerParameter of tuple
        weights (n_rules, n_literals, n_columns), biases (n_rules, n_literals), values
        (n_rules, n_outputs), mixing (n_rules, n_literals, n_literals), shifts like biases,
        intercept (n_outputs,). If the rules are shallow, mixing and shifts have the length 0.
    positions : PerParameter of int64
        Place of each flat parameter in its flattened padded array.
    places : (n_rules, n_columns) int64
        The features that the columns of each rule hold. `n_features` stands for padding.
    dense : bool
        Whether every rule looks at all features.
    fills : PerParameter of float
        The number that fills the padding of each padded array of parameters.
    """

    shapes: PerParameter
    positions: PerParameter
    places: np.ndarray
    dense: bool
    fills: PerParameter

    @classmethod
    def of(cls, layout: Layout, n_outputs: int) -> Padding:
        lengths, widths = np.diff(layout.offsets), np.diff(layout.column_offsets)
        n_rules, longest, widest = layout.n_rules, int(lengths.max()), int(widths.max())
        deep_rules = n_rules * layout.deep
        shapes = PerParameter(
            weights=(n_rules, longest, widest),
            biases=(n_rules, longest),
            values=(n_rules, n_outputs),
            mixing=(deep_rules, longest, longest),
            shifts=(deep_rules, longest),
            intercept=(n_outputs,),
        )
        in_rule = np.arange(longest) < lengths[:, None]
        in_columns = np.arange(widest) < widths[:, None]
        places = np.full((n_rules, widest), layout.n_features)
        places[in_columns] = layout.places
        literals = np.flatnonzero(in_rule)
        mixing = in_rule[:deep_rules, :, None] & in_rule[:deep_rules, None, :]
        return cls(
            shapes,
            PerParameter(
                weights=np.flatnonzero(in_rule[:, :, None] & in_columns[:, None, :]),
                biases=literals,
                values=np.arange(n_rules * n_outputs),
                mixing=np.flatnonzero(mixing),
                shifts=literals if layout.deep else literals[:0],
                intercept=np.arange(n_outputs),
            ),
            places,
            dense=bool((widths == layout.n_features).all()),
            # The padding must be infinite where the minimum is taken: in the biases of shallow
            # rules, but in the shifts of deep rules.
            fills=PerParameter(0, 0 if layout.deep else np.inf, 0, 0, np.inf, 0),
        )

    def padded(self, flat: Parameters, fills: PerParameter | None = None) -> PerParameter:
        """Padded arrays from flat arrays.

        The padding is filled with `fills`, or with zeros.
        """
        fills = PerParameter(*[0] * len(flat)) if fills is None else fills
        result = []
        for array, shape, own, fill in zip(
            flat, self.shapes, self.positions, fills, strict=True
        ):
            whole = np.full(int(np.prod(shape)), fill, array.dtype)
            whole[own] = array.ravel()
            result.append(whole.reshape(shape))
        return PerParameter(*result)

    def flat(self, padded: PerParameter, like: Parameters) -> Parameters:
        """Flat arrays from padded arrays. They have the shapes of `like`."""
        return Parameters(
            *(
                array.ravel()[own].reshape(one.shape)
                for array, own, one in zip(padded, self.positions, like, strict=True)
            )
        )


def to_device(arrays: PerParameter, device: Any) -> PerParameter:
    """Copy arrays to tensors on the device."""
    return PerParameter(*(torch.tensor(array, device=device) for array in arrays))


def to_host(tensors: PerParameter) -> PerParameter:
    """Copy tensors to arrays, which later steps do not change."""
    return PerParameter(*(tensor.cpu().numpy().copy() for tensor in tensors))


@dataclass(frozen=True, eq=False)
class DeviceTable:
    """The rows on the device: the columns that a network looks at, the targets and the weights.

    Each row is contiguous. The rows of a batch come from all over the table, so a batch then
    reads few long pieces of memory.

    Attributes
    ----------
    x : (n_rows, n_features + 1) float32
        The last column holds only zeros. It is the padding of rules with fewer columns.
    targets : (n_rows, 1) or (n_rows, n_targets) float32
        Class codes or standardised numbers, as in `Rows`.
    weights : (n_rows,) float32
    classes : (n_outputs, 1), optional
        The class that is coded +1 in each output. None if the targets are numbers.
    """

    x: Any
    targets: Any
    weights: Any
    classes: Any

    @classmethod
    def of(cls, rows: Rows, features: np.ndarray, device: Any) -> DeviceTable:
        x = torch.zeros((len(rows), len(features) + 1), device=device)
        for start in range(0, len(rows), CHUNK):
            some = np.take(rows.X[start : start + CHUNK], features, axis=1)
            x[start : start + CHUNK, : len(features)] = torch.from_numpy(some).to(device)
        classes = None
        if rows.task.are_classes:
            n_outputs = rows.task.n_outputs
            first = 1 if n_outputs == 1 else 0  # the only output is about the second class
            classes = torch.arange(first, first + n_outputs, device=device)[:, None]
        targets, weights = (
            torch.tensor(array, device=device)
            for array in (rows.targets, rows.training_weights)
        )
        return cls(x, targets, weights, classes)

    def batch(self, numbers: Any) -> tuple[Any, Any, Any]:
        """Columns, targets for a loss, and weights of the rows with the given numbers."""
        return self.x[numbers].T.contiguous(), *self.batch_targets(numbers)

    def batch_targets(self, numbers: Any) -> tuple[Any, Any]:
        """Targets for a loss, and weights, of the rows with the given numbers."""
        targets = self.targets[numbers].T
        if self.classes is not None:
            targets = torch.where(targets == self.classes, 1.0, -1.0)
        return targets, self.weights[numbers]


class Limits(NamedTuple):
    """`Constraints` as padded tensors on the device."""

    frozen: PerParameter
    lower: PerParameter
    upper: PerParameter


class Start(NamedTuple):
    """Everything that a session starts with, except the rows.

    Attributes
    ----------
    padding : Padding
    parameters, means, squares : PerParameter
    limits : Limits, optional
    loss : Loss
    l2 : float
    fit_intercept : bool
    """

    padding: Padding
    parameters: PerParameter
    means: PerParameter
    squares: PerParameter
    limits: Limits | None
    loss: Loss
    l2: float
    fit_intercept: bool

    @classmethod
    def of(
        cls,
        padding: Padding,
        parameters: Parameters,
        moments: Moments,
        constraints: Constraints | None,
        device: Any,
        **options: Any,
    ) -> Start:
        def moved(flat: Parameters, fills: PerParameter | None = None) -> PerParameter:
            return to_device(padding.padded(flat, fills), device)

        limits = None
        if constraints is not None:
            fills = [
                PerParameter(*[fill] * len(parameters)) for fill in (False, -np.inf, np.inf)
            ]
            limits = Limits(*map(moved, constraints, fills))
        return cls(
            padding,
            moved(parameters, padding.fills),
            moved(moments.means),
            moved(moments.squares),
            limits,
            **options,
        )


class Steps(Protocol):
    """An object that takes steps of training, and holds the parameters and the moments."""

    def run(self, table: DeviceTable, rows: Any, size: int, gates: Any, adam: Any) -> float:
        """Take one step for each batch. Returns the weighted sum of the losses before them.

        Parameters
        ----------
        table : DeviceTable
        rows : (n,) int32
            Row numbers, batch after batch, on the device.
        size : int
            Rows in each batch; the last one may be shorter.
        gates : (n_batches, n_rules) float32
            On the device.
        adam : (2, n_batches) float64
            Rate and epsilon of each step, which include Adam's bias corrections. On the host.
        """

    def state(self) -> tuple[PerParameter, PerParameter, PerParameter]:
        """The padded parameters, means and squares at this moment."""
