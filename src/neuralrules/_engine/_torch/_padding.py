"""Parameters of rules of all lengths as few tensors of one shape.

Rules are padded to the most literals and the most columns that any of them has. What is
padded never matters: a column too many is one of zeros, and a literal too many is infinite,
so that it is never the smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from neuralrules._network._parameters import Layout, Parameters


class Each(NamedTuple):
    """Something for each of the `Parameters`: a padded array, its tensor or its shape."""

    weights: Any
    biases: Any
    values: Any
    mixing: Any
    shifts: Any
    intercept: Any


@dataclass(frozen=True, eq=False)
class Padding:
    """Where the flat parameters of a layout lie among the padded ones.

    Attributes
    ----------
    shapes : Each of tuple
        weights (n_rules, n_literals, n_columns), biases (n_rules, n_literals), values
        (n_rules, n_outputs), mixing (n_rules, n_literals, n_literals), shifts like biases,
        intercept (n_outputs,); without rules for what shallow rules have not.
    positions : Each of int64
        Place of each flat parameter in its padded array, as if that were flat too.
    places : (n_rules, n_columns) int64
        Which features the columns of each rule are; `n_features` where there is none.
    dense : bool
        Whether every rule looks at all features.
    fills : Each of float
        What stands in the padding of the parameters themselves.
    """

    shapes: Each
    positions: Each
    places: np.ndarray
    dense: bool
    fills: Each

    @classmethod
    def of(cls, layout: Layout, n_outputs: int) -> Padding:
        lengths, widths = np.diff(layout.offsets), np.diff(layout.column_offsets)
        n_rules, longest, widest = layout.n_rules, int(lengths.max()), int(widths.max())
        deep_rules = n_rules * layout.deep
        shapes = Each(
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
            Each(
                weights=np.flatnonzero(in_rule[:, :, None] & in_columns[:, None, :]),
                biases=literals,
                values=np.arange(n_rules * n_outputs),
                mixing=np.flatnonzero(mixing),
                shifts=literals if layout.deep else literals[:0],
                intercept=np.arange(n_outputs),
            ),
            places,
            dense=bool((widths == layout.n_features).all()),
            # Of deep rules the second layer decides which unit is the smallest.
            fills=Each(0, 0 if layout.deep else np.inf, 0, 0, np.inf, 0),
        )

    def padded(self, flat: Parameters, fills: Each | None = None) -> Each:
        """Arrays of `shapes` that hold flat ones; zero, or `fills`, where there is nothing."""
        fills = Each(*[0] * len(flat)) if fills is None else fills
        result = []
        for array, shape, own, fill in zip(
            flat, self.shapes, self.positions, fills, strict=True
        ):
            whole = np.full(int(np.prod(shape)), fill, array.dtype)
            whole[own] = array.ravel()
            result.append(whole.reshape(shape))
        return Each(*result)

    def flat(self, padded: Each, like: Parameters) -> Parameters:
        """The other way round: arrays with the shapes of `like`."""
        return Parameters(
            *(
                array.ravel()[own].reshape(one.shape)
                for array, own, one in zip(padded, self.positions, like, strict=True)
            )
        )


def to_device(arrays: Each, device: Any) -> Each:
    """The same numbers as tensors."""
    import torch

    return Each(*(torch.tensor(array, device=device) for array in arrays))


def to_host(tensors: Each) -> Each:
    """The same numbers as arrays, which later steps leave alone."""
    return Each(*(tensor.cpu().numpy().copy() for tensor in tensors))
