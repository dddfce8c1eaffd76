"""Limits on the parameters of a network, which training obeys."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuralrules._data._restrictions import NEITHER, Restrictions
from neuralrules._network._network import Network
from neuralrules._network._parameters import Parameters
from neuralrules._network._restricted import Sides, allowed_weights
from neuralrules._rules._rules import ALL_FROZEN, LITERALS_FROZEN


class Constraints(NamedTuple):
    """Limits on every parameter, which each single step of training obeys.

    Attributes
    ----------
    frozen : Parameters of bool
        Which parameters may not move. Such parameters keep their bits: neither the loss nor
        the penalty has a gradient for them.
    lower, upper : Parameters of float32
        The other parameters are brought back into [lower, upper] after each step. Infinite if
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
        """Literals keep to the columns that they look at now. Second layers are free."""
        free = cls.free(network)
        frozen = free.frozen._replace(weights=network.own_weights == 0)
        return free._replace(frozen=frozen)

    @classmethod
    def keep_zeros(cls, network: Network) -> Constraints:
        """Weights that are zero stay zero, in both layers.

        Biases and values are never pruned, so a zero bias or value may change.
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
        """These limits, and the limits that keep a network within restrictions.

        The network must obey the restrictions already; see `restricted`. Weights on columns
        that a rule may not look at stay zero. If a rule looks at a column with a direction, its
        values, its second layer and its weights on this column stay on their side of zero.
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
        """The same limits, but with the parts of rules frozen that `parts` (n_rules,) names.

        `parts` has the form of `Rules.frozen`. The intercept belongs to no rule, so its limits
        do not change.
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
        """Refuse limits for another network, and a lower bound above its upper bound."""
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
