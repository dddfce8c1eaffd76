"""Limits that training keeps for the parameters of a network."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuralrules._data._restrictions import NEITHER, Restrictions
from neuralrules._network._network import Network
from neuralrules._network._parameters import Parameters
from neuralrules._network._restricted import Sides, allowed_weights
from neuralrules._rules._rules import ALL_FROZEN, LITERALS_FROZEN


class Constraints(NamedTuple):
    """Limits of every parameter, kept by each single step of training.

    Attributes
    ----------
    frozen : Parameters of bool
        Parameters that may not move: they keep their bits, and neither the loss nor the
        penalty has a slope by them.
    lower, upper : Parameters of float32
        The others are brought back into [lower, upper] after each step. Infinite where
        there is no bound.
    """

    frozen: Parameters
    lower: Parameters
    upper: Parameters

    @classmethod
    def free(cls, network: Network) -> Constraints:
        """Constraints without any limit."""
        own = network.parameters
        return cls(own.filled(False, bool), own.filled(-np.inf), own.filled(np.inf))

    @classmethod
    def keep_columns(cls, network: Network) -> Constraints:
        """Literals look at no other columns than now; second layers are free."""
        free = cls.free(network)
        frozen = free.frozen._replace(weights=network.own_weights == 0)
        return free._replace(frozen=frozen)

    @classmethod
    def keep_zeros(cls, network: Network) -> Constraints:
        """Weights that are zero, of either layer, stay zero.

        Biases and values are never pruned: a zero bias or value may change.
        """
        kept = cls.keep_columns(network)
        return kept._replace(frozen=kept.frozen._replace(mixing=network.mixing == 0))

    def also(self, other: Constraints) -> Constraints:
        """The limits of both constraints together."""
        return Constraints(
            Parameters(*map(np.logical_or, self.frozen, other.frozen)),
            Parameters(*map(np.maximum, self.lower, other.lower)),
            Parameters(*map(np.minimum, self.upper, other.upper)),
        )

    def within(self, network: Network, restrictions: Restrictions | None) -> Constraints:
        """These limits, and those that keep a `restricted` network so.

        Weights on columns that their rule may not look at stay as they are, at zero. In rules
        that look at a column with a direction, values, weights on it and second layers stay on
        their side of zero.
        """
        if restrictions is None:
            return self
        frozen = self.frozen.weights | ~allowed_weights(network, restrictions)
        sides = Sides.of(network, restrictions.directions)
        lower, upper = (
            bounds._replace(
                **{
                    name: np.where(
                        (side == way) | (side == NEITHER), np.float32(0), getattr(bounds, name)
                    )
                    for name, side in sides._asdict().items()
                }
            )
            for way, bounds in ((1, self.lower), (-1, self.upper))
        )
        return Constraints(self.frozen._replace(weights=frozen), lower, upper)

    def freezing(self, network: Network, parts: np.ndarray | None) -> Constraints:
        """The same limits, with the rules frozen that `parts` (n_rules,) says, if any.

        See `Rules.frozen`. The intercept belongs to no rule and stays as free as it is.
        """
        if parts is None:
            return self
        lengths = np.diff(network.offsets)
        literals, n_columns = parts >= LITERALS_FROZEN, np.diff(network.column_offsets)
        of_literals = np.repeat(literals, lengths)
        frozen = self.frozen._replace(
            weights=self.frozen.weights | np.repeat(literals, lengths * n_columns),
            biases=self.frozen.biases | of_literals,
            values=self.frozen.values | (parts == ALL_FROZEN)[:, None],
        )
        if network.deep:
            frozen = frozen._replace(
                mixing=frozen.mixing | np.repeat(literals, lengths**2),
                shifts=frozen.shifts | of_literals,
            )
        return self._replace(frozen=frozen)

    def check(self, parameters: Parameters) -> None:
        """Refuse limits of another network, and a lower bound above its upper bound."""
        for name, parameter in parameters._asdict().items():
            frozen, lower, upper = (getattr(part, name) for part in self)
            for array, dtype in ((frozen, bool), (lower, np.float32), (upper, np.float32)):
                if array.shape != parameter.shape or array.dtype != dtype:
                    raise ValueError(
                        f"The constraints of {name} are {array.dtype} of shape {array.shape}, "
                        f"but must be {np.dtype(dtype)} of shape {parameter.shape}: make them "
                        "for the network that is trained."
                    )
            if not (lower <= upper).all():
                raise ValueError(
                    f"The constraints of {name} have a lower bound above the upper one."
                )
