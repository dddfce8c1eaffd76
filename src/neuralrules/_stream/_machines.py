"""Who goes over a table and trains on it: this machine alone, or several together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from neuralrules._data._survey import Survey
from neuralrules._engine._protocol import Engine
from neuralrules._rules._rules import Rules
from neuralrules._stream._checkpoint import Checkpoint
from neuralrules._stream._passes import Gathered, counted, gathered, surveyed
from neuralrules._stream._progress import RowProgress
from neuralrules._stream._rows import EncodedStream, RowStream
from neuralrules._stream._targets import TargetSurvey
from neuralrules._stream._training import StreamTraining
from neuralrules._training._sparse import Training


class Machines(Protocol):
    """What a fit on a table that is not in memory asks for, in this order."""

    def surveyed(self, stream: RowStream, targets: TargetSurvey, *, keeps: bool) -> Survey:
        """What is in the columns and, told to `targets`, in the targets."""

    def gathered(self, rows: EncodedStream, n_sample: int) -> Gathered:
        """A sample of about `n_sample` rows, and those held out."""

    def counted(self, rules: Rules, rows: EncodedStream, kept: Gathered) -> Rules:
        """The rules with the training rows that each of them covers."""

    def training(
        self, rows: EncodedStream, kept: Gathered, engine: Engine, checkpoint: Checkpoint
    ) -> Training:
        """What trains on all rows."""


@dataclass(frozen=True)
class OneMachine:
    """Implements `Machines` by reading the table from the first row to the last.

    Attributes
    ----------
    bar : RowProgress
    """

    bar: RowProgress

    def surveyed(self, stream: RowStream, targets: TargetSurvey, *, keeps: bool) -> Survey:
        return surveyed(stream, targets, keeps=keeps, bar=self.bar)

    def gathered(self, rows: EncodedStream, n_sample: int) -> Gathered:
        return gathered(rows, n_sample, self.bar)

    def counted(self, rules: Rules, rows: EncodedStream, kept: Gathered) -> Rules:
        return counted(rules, rows, kept, self.bar)

    def training(
        self, rows: EncodedStream, kept: Gathered, engine: Engine, checkpoint: Checkpoint
    ) -> Training:
        return StreamTraining(rows, kept, engine, rows.stream.seed, self.bar, checkpoint)
