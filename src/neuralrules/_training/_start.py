"""A start that is not worse than knowing nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._network._network import Network
from neuralrules._training._training import mean_loss

HALVINGS = 10
MOST_ROWS = 200_000  # to judge by: more would tell the same


def tamed(network: Network, rows: Rows, chosen: np.ndarray, engine: Engine) -> Network:
    """The network with values halved until it is no worse than its intercept alone.

    Boosting by large steps gives leaves of few rows huge values. Within a leaf the trees make
    up for each other, but hinges reach far beyond, and training takes long to come back.

    Parameters
    ----------
    network : Network
    rows : Rows
    chosen : (n,) int32
        The rows to judge by.
    engine : Engine
    """
    chosen = chosen[:: -(-len(chosen) // MOST_ROWS)]
    silent = replace(network, values=np.zeros_like(network.values))
    worst = mean_loss(silent, rows, chosen, engine)
    for _ in range(HALVINGS):
        if mean_loss(network, rows, chosen, engine) <= worst:
            return network
        network = replace(network, values=network.values / np.float32(2))
    return silent
