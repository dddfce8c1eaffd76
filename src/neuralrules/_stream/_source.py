"""Tables that are not in memory as sources of rows: each step of a fit reads all rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import numpy as np
from sklearn.utils import check_random_state

from neuralrules._data._encoder import Encoder, warn_of_rare
from neuralrules._data._rows import Rows
from neuralrules._data._survey import Survey
from neuralrules._engine import Engine
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitting._fit import fit
from neuralrules._fitting._settings import Settings, epochs
from neuralrules._fitting._table import EncodedTable
from neuralrules._fitting._targets import class_factors, learn_task
from neuralrules._io._progress import RowProgress
from neuralrules._network._network import Network
from neuralrules._rules._rules import Rules
from neuralrules._stream._checkpoint import Checkpoint
from neuralrules._stream._parquet import NamedTable, ParquetTable
from neuralrules._stream._passes import (
    ClassSurvey,
    Gathered,
    NumberSurvey,
    TargetSurvey,
    counted_piece,
    gathered_piece,
    joined_pieces,
    survey_piece,
    with_counts,
)
from neuralrules._stream._rows import EncodedStream, RowStream
from neuralrules._stream._training import StreamTraining
from neuralrules._task._class_losses import CLASS_LOSSES
from neuralrules._task._number_losses import NUMBER_LOSSES
from neuralrules._training._training import Training
from neuralrules._version import __version__

PASSES = 3  # over the table before training
# A killed fit may continue with other values of these settings, because the result does not
# depend on them. The seed is stored in the checkpoint.
WITHOUT_EFFECT = ("checkpoint", "n_jobs", "verbose", "random_state")


class Machines(Protocol):
    """One or more machines that read a table and train on it.

    A fit calls the methods in the order below.
    """

    def surveyed(self, stream: RowStream, targets: TargetSurvey, *, keeps: bool) -> Survey:
        """Survey the columns, and add the targets to the survey `targets`.

        With `keeps`, the numbers of a sample of rows are kept, to compute quantiles.
        """

    def gathered(self, rows: EncodedStream, n_sample: int) -> Gathered:
        """A sample of about `n_sample` rows, and the rows that are held out."""

    def counted(self, rules: Rules, rows: EncodedStream, kept: Gathered) -> Rules:
        """The rules with counts of the training rows that each rule covers."""

    def training(
        self, rows: EncodedStream, kept: Gathered, engine: Engine, checkpoint: Checkpoint
    ) -> Training:
        """A function that trains networks on all training rows."""


@dataclass(frozen=True)
class OneMachine:
    """Implements `Machines` by reading the table from the first row to the last."""

    bar: RowProgress

    def surveyed(self, stream: RowStream, targets: TargetSurvey, *, keeps: bool) -> Survey:
        survey = Survey(stream.features, stream.missing)
        self.bar.begin_pass(stream.table.n_rows)
        for raw in stream.rows():
            survey_piece(stream, raw, survey, targets, keeps=keeps)
            self.bar.add(len(raw.weights), "Looking at columns")
        return survey

    def gathered(self, rows: EncodedStream, n_sample: int) -> Gathered:
        self.bar.begin_pass(rows.stream.table.n_rows)
        pieces = []
        for raw in rows.stream.rows():
            pieces.append(gathered_piece(rows, raw, rows.encoded(raw), n_sample))
            self.bar.add(len(raw.weights), "Drawing a sample")
        return joined_pieces(pieces)

    def counted(self, rules: Rules, rows: EncodedStream, kept: Gathered) -> Rules:
        self.bar.begin_pass(kept.n_training)

        def pieces() -> Iterator[tuple[np.ndarray, float]]:
            for piece in rows.training_rows():
                yield counted_piece(rules, piece)
                self.bar.add(len(piece), "Counting rows of rules")

        return with_counts(rules, pieces(), kept)

    def training(
        self, rows: EncodedStream, kept: Gathered, engine: Engine, checkpoint: Checkpoint
    ) -> Training:
        return StreamTraining(rows, kept, engine, rows.stream.seed, self.bar, checkpoint)


def fit_files(table: Any, y: Any, sample_weight: Any, settings: Settings) -> Fitted:
    """Fit on Parquet files or a pyarrow dataset of them, on this machine alone.

    `y` and `sample_weight` are names of columns; `y` may be a list of names.
    """
    table = table if isinstance(table, ParquetTable) else ParquetTable(table)
    with RowProgress(shown=bool(settings.verbose)) as bar:
        bar.expect(PASSES + epochs(settings.n_epochs, table.n_rows))
        return fit_by_machines(table, y, sample_weight, settings, OneMachine(bar))


def fit_by_machines(
    table: NamedTable, y: Any, sample_weight: Any, settings: Settings, machines: Machines
) -> Fitted:
    """Fit on a table whose columns have names, on one machine or on several."""
    seed = int(check_random_state(settings.random_state).randint(2**31 - 1))
    checkpoint = Checkpoint.at(settings.checkpoint, seed)
    stream = RowStream.of(table, y, sample_weight, settings, checkpoint.seed)
    fitted = fit(StreamSource(stream, machines, checkpoint), settings)
    if not fitted.interrupted:
        checkpoint.finish()
    return fitted


@dataclass(frozen=True, eq=False)
class StreamSource:
    """A table that is read piece by piece, as a source of rows."""

    stream: RowStream
    machines: Machines
    checkpoint: Checkpoint

    def encoded(self, settings: Settings) -> StreamTable:
        """Encode the rows for a fit, in two passes over the table."""
        encoded = encoded_stream(self.stream, settings, self.machines)
        warn_of_rare(encoded.encoder)
        kept = self.machines.gathered(encoded, settings.n_sample_rows)
        check_held(kept, settings)
        return StreamTable(
            encoded.encoder,
            kept.sample,
            np.flatnonzero(~kept.held).astype(np.int32),
            np.flatnonzero(kept.held).astype(np.int32),
            np.random.RandomState(encoded.stream.seed),
            encoded,
            kept,
            self.machines,
            self.checkpoint,
            settings,
        )


@dataclass(frozen=True, eq=False)
class StreamTable(EncodedTable):
    """A table that is not in memory. Its rules grow from a sample of the rows."""

    encoded: EncodedStream
    kept: Gathered
    machines: Machines
    checkpoint: Checkpoint
    settings: Settings

    @property
    def measured_rows(self) -> Rows:
        """The sample, with weights that add up to the weight of the table."""
        weights = self.rows.weights
        factor = self.kept.all_weight / weights.sum(dtype=np.float64)
        return replace(self.rows, weights=(weights * factor).astype(np.float32))

    def counted(self, rules: Rules, network: Network) -> Rules:
        """The rules with counts of all training rows, in one more pass over the table."""
        rules = self.machines.counted(rules, self.encoded, self.kept)
        started = digest(self.settings, self.encoded.stream, self.encoder, rules, network)
        self.checkpoint.begin(started)
        return rules

    def n_training(self, order: np.ndarray) -> int:
        return self.kept.n_training

    def trainer(self, order: np.ndarray, engine: Engine) -> Training:
        return self.machines.training(self.encoded, self.kept, engine, self.checkpoint)


def encoded_stream(stream: RowStream, settings: Settings, machines: Machines) -> EncodedStream:
    """Learn the encoding of the columns and the task, in one pass over the table."""
    targets: TargetSurvey = ClassSurvey() if settings.predicts_classes else NumberSurvey()
    losses = CLASS_LOSSES if settings.predicts_classes else NUMBER_LOSSES
    by_moments = losses[settings.loss].standardises_by_moments
    keeps = settings.scaling == "quantile" or not by_moments
    survey = machines.surveyed(stream, targets, keeps=keeps)
    if not survey.weight:
        raise ValueError("The weight is zero for every row. Give some rows weight.")
    examples = targets.examples()
    task, factors = learn_task(examples, np.ones(len(examples)), settings), None
    if isinstance(targets, NumberSurvey):
        task = targets.scaled(task)
    else:
        if settings.class_weight is not None:
            factors = class_factors(task, targets.n_rows, settings.class_weight)
        # Every class must have training rows, as in a fit in memory.
        stream = replace(stream, never_held=targets.all_held)
    return EncodedStream(stream, survey.encoder(scaling=settings.scaling), task, factors)


def check_held(kept: Gathered, settings: Settings) -> None:
    """Refuse a table with no rows left to train on, or to stop early on."""
    n_held = len(kept.validation)
    if kept.n_training and (n_held or settings.early_stopping is not True):
        return
    raise ValueError(
        f"validation_fraction={settings.validation_fraction} leaves {n_held} rows to validate "
        f"and {kept.n_training} to train on. Change validation_fraction, add rows, or set "
        "early_stopping=False."
    )


def digest(
    settings: Settings, stream: RowStream, encoder: Encoder, rules: Rules, network: Network
) -> str:
    """A hash of everything that training begins from, to tell fits apart."""
    told = {
        field.name: getattr(settings, field.name)
        for field in fields(settings)
        if field.name not in WITHOUT_EFFECT
    }
    found = hashlib.sha256()
    for part in (__version__, told, stream.columns, encoder, stream.table.identity):
        found.update(repr(part).encode())
    for record in (rules, network):
        for value in (getattr(record, field.name) for field in fields(record)):
            array = isinstance(value, np.ndarray)
            found.update(value.tobytes() if array else repr(value).encode())
    return found.hexdigest()
