"""What an engine is given and must do.

An engine evaluates networks, and trains one in a session: started with a network and
rows, it runs batches for as long as it is asked to and gives the network back. Where it
keeps its arrays meanwhile is its own affair. `_reference` is the plain engine that says
what is right, `_numba` the fast one, `_torch` the one for a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from neuralrules._data._rows import Rows
from neuralrules._engine._adam import Moments
from neuralrules._network._constraints import Constraints
from neuralrules._network._network import Network
from neuralrules._task._loss import Loss

OPERATIONS_ON_A_CPU = 2e9  # of a few cores, in a fraction of a second

Slopes = TypeVar("Slopes")


class Batches(NamedTuple):
    """A run of mini-batches.

    Attributes
    ----------
    rows : (n,) int32
        Row numbers, batch after batch.
    size : int
        Rows in each batch; the last one may be shorter.
    rates : (n_batches,) float64
        Learning rate of each step.
    gates : (n_batches, n_rules) float32
        Factor of each rule in each batch: 0 for a rule that is dropped, else 1 or,
        with dropout, more than 1, so that the expected output stays the same.
    """

    rows: np.ndarray
    size: int
    rates: np.ndarray
    gates: np.ndarray


def slopes_of(loss: Loss, table: Mapping[type[Loss], Slopes], engine: str, file: str) -> Slopes:
    """What an engine's own table of slopes has for a loss.

    Parameters
    ----------
    loss : Loss
    table : mapping from type of Loss
        The losses that the engine can train.
    engine : str
        How an error calls the engine.
    file : str
        Where the engine's slopes are written.

    Raises
    ------
    NotImplementedError
        If the table has no such loss.
    """
    if type(loss) not in table:
        known = sorted({kind.name for kind in table})
        raise NotImplementedError(
            f"The {engine} cannot train with {loss!r}. It has the slopes of the losses "
            f"{', '.join(known)}. Use another engine, or write the slopes in {file}."
        )
    return table[type(loss)]


class Session(Protocol):
    """The training of one network on some rows."""

    def run(self, batches: Batches) -> float:
        """Take one Adam step a batch; return the weighted sum of the losses before them.

        The gradient of a batch is that of the weighted mean of its losses plus, for
        the rules with an active row in it, l2 times the sum of their squared
        parameters but the biases. The intercept is not shrunk.
        """

    def network(self) -> Network:
        """The network as it is now; further runs do not change what was given."""

    def moments(self) -> Moments:
        """What Adam remembers now: with it a later session goes on as if there were one."""


class Decider(Protocol):
    """What predicts by a network."""

    def decide(self, network: Network, X: np.ndarray) -> np.ndarray:
        """Sum of the rules, without the intercept, for the encoded rows X.

        Returns (n_rows, n_outputs) float64: the products of float32 values and float32
        activations, which are exact, summed in the order of the rules.
        """


class Engine(Decider, Protocol):
    """What trains networks too.

    Attributes
    ----------
    operations_per_call : float
        Multiply-adds that it takes a fraction of a second for: between two runs of a session
        Ctrl-C is noticed.
    """

    operations_per_call: float

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
    ) -> Session:
        """Begin to train a network, which itself stays as it is.

        Parameters
        ----------
        network : Network
        rows : Rows
            Those to train on, and perhaps others: batches name rows by their numbers.
        loss : Loss
        constraints : Constraints, optional
            Kept by every step. None for none.
        l2 : float
            Factor of the penalty beside the mean loss.
        moments : Moments, optional
            Those of the session to go on from. None begins anew.
        fit_intercept : bool
            Whether the intercept moves too; the paper's networks have none.
        """

    def activations(self, network: Network, X: np.ndarray) -> np.ndarray:
        """min_j ReLU(literal_j) of every rule for the encoded rows X.

        Returns (n_rows, n_rules) float64: whole float32 numbers, the very ones that
        `decide` multiplies and sums.
        """
