"""The interface of an engine.

An engine evaluates networks, and trains a network in a session. A session starts with a
network and rows. It trains on each run of batches that it gets, and returns the trained
network on request. An engine may keep its arrays wherever it likes during the session.
`_reference` is the plain engine that defines the correct results, `_numba` is the fast engine
for CPUs, and `_torch` is the engine for GPUs.
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

OPERATIONS_ON_A_CPU = 2e9  # multiply-adds of a few cores in a fraction of a second

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
        Factor of each rule in each batch. It is 0 for a rule that dropout leaves out. For the
        other rules it is 1, or more than 1 with dropout, so that the expected output stays
        the same.
    """

    rows: np.ndarray
    size: int
    rates: np.ndarray
    gates: np.ndarray


def slopes_of(loss: Loss, table: Mapping[type[Loss], Slopes], engine: str, file: str) -> Slopes:
    """Look up the slopes of a loss in the table of an engine.

    Parameters
    ----------
    loss : Loss
    table : mapping from type of Loss
        The slopes of each loss that the engine can train.
    engine : str
        The name of the engine in the error message.
    file : str
        The file with the slopes of the engine, for the error message.

    Raises
    ------
    NotImplementedError
        If the table does not contain the loss.
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
        """Take one Adam step for each batch, and return the weighted sum of the losses.

        The loss of a batch is measured before its step. Each step follows the gradient of the
        weighted mean loss of the batch plus a penalty: l2 times the sum of the squared
        parameters of all rules with an active row in the batch. The penalty leaves out the
        biases and the intercept.
        """

    def network(self) -> Network:
        """The network at this moment. Later runs do not change the returned network."""

    def moments(self) -> Moments:
        """The moments of Adam at this moment.

        A later session that starts with these moments continues this session exactly.
        """


class Decider(Protocol):
    """An object that computes the outputs of a network."""

    def decide(self, network: Network, X: np.ndarray) -> np.ndarray:
        """Sum of the rules, without the intercept, for the encoded rows X.

        Returns (n_rows, n_outputs) float64. Each value is multiplied by its activation. Both
        are float32 numbers, so their product is exact in float64. The products are added in
        the order of the rules.
        """


class Engine(Decider, Protocol):
    """An object that also trains networks.

    Attributes
    ----------
    operations_per_call : float
        The number of multiply-adds that the engine does in a fraction of a second. A run
        should not take more than that, because Ctrl-C only works between two runs.
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
        """Start to train a network. The network that is passed does not change.

        Parameters
        ----------
        network : Network
        rows : Rows
            The training rows. There may be other rows among them, because batches list
            their rows by number.
        loss : Loss
        constraints : Constraints, optional
            Limits that every step keeps. None for no limits.
        l2 : float
            Factor of the penalty that is added to the mean loss.
        moments : Moments, optional
            The moments of an earlier session that this session continues. None to start with
            new moments.
        fit_intercept : bool
            Whether the intercept is trained too. The networks of the paper have no
            intercept.
        """

    def activations(self, network: Network, X: np.ndarray) -> np.ndarray:
        """min_j ReLU(literal_j) of every rule for the encoded rows X.

        Returns (n_rows, n_rules) float64. The activations are float32 numbers, the same that
        `decide` uses.
        """
