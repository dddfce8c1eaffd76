"""Who remembers where training stands while workers come and go."""

from __future__ import annotations

from typing import NamedTuple

from neuralrules._cluster._worker import Cost
from neuralrules._stream._checkpoint import Checkpoint, Stage
from neuralrules._training._training import Outcome


class Told(NamedTuple):
    """What came of a stage of training.

    Attributes
    ----------
    outcome : Outcome or None
    cost : Cost or None
        What sharing cost.
    error : ValueError or None
        Why there is no outcome.
    begun : list of int
        Epochs that were done each time that workers began.
    checkpoint : Checkpoint
        As it is now.
    """

    outcome: Outcome | None
    cost: Cost | None
    error: ValueError | None
    begun: list[int]
    checkpoint: Checkpoint


class Keeper:
    """An actor beside the program that fits: its machine is the one that must not be lost.

    A network is small, so that no storage is needed that all machines can reach. With a path,
    the checkpoint is written there as well, for the case that this machine is lost too.

    Parameters
    ----------
    checkpoint : Checkpoint
    number : int
        Of the stage of training.
    stage : Stage
        Where it begins.
    """

    def __init__(self, checkpoint: Checkpoint, number: int, stage: Stage) -> None:
        self._checkpoint, self._number, self._stage = checkpoint, number, stage
        self._outcome: Outcome | None = None
        self._cost: Cost | None = None
        self._error: ValueError | None = None
        self._begun: list[int] = []

    def begin(self, rank: int) -> Stage:
        """Where a worker begins, or another one in its place."""
        if rank == 0:
            outcome = self._stage.outcome
            self._begun.append(0 if outcome is None else outcome.n_epochs)
        return self._stage

    def latest(self) -> Outcome | None:
        """What whole epochs have come to."""
        return self._stage.outcome

    def keep(self, stage: Stage) -> None:
        self._stage = stage
        self._checkpoint.write(self._number, stage)

    def finish(self, outcome: Outcome, cost: Cost) -> None:
        self._outcome, self._cost = outcome, cost

    def fail(self, error: ValueError) -> None:
        self._error = error

    def told(self) -> Told:
        return Told(self._outcome, self._cost, self._error, self._begun, self._checkpoint)
