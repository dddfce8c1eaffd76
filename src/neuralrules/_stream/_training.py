"""Training on a table in files: epochs over shuffled row groups, with checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine, Session
from neuralrules._io._progress import RowProgress
from neuralrules._network._constraints import Constraints
from neuralrules._stream._checkpoint import Checkpoint, Stage
from neuralrules._stream._passes import Gathered
from neuralrules._stream._rows import EncodedStream
from neuralrules._training._training import (
    Best,
    Plan,
    State,
    TrainingOutcome,
    calls,
    divergence,
    mean_loss_on,
    run_epochs,
    shuffled_batches,
)

BUFFER_BYTES = 2**27  # the size of the buffer of rows that wait to be trained on
BLOCK_ROWS = 2**16  # rows that are trained on at a time
SECONDS_BETWEEN_CHECKPOINTS = 120


class Buffer:
    """Rows that wait until they are drawn at random.

    `like` are rows of the same table. They give the shapes and dtypes of the arrays.
    """

    def __init__(self, like: Rows, capacity: int) -> None:
        self._task = like.task
        self._arrays = [
            np.empty((capacity, *array.shape[1:]), array.dtype) for array in arrays_of(like)
        ]
        self.capacity, self.n_rows = capacity, 0

    def put(self, rows: Rows, first: int) -> int:
        """Add rows from index `first` on until the buffer is full; return how many."""
        n = min(len(rows) - first, self.capacity - self.n_rows)
        for array, values in zip(self._arrays, arrays_of(rows), strict=True):
            array[self.n_rows : self.n_rows + n] = values[first : first + n]
        self.n_rows += n
        return n

    def draw(self, n: int, random: np.random.Generator) -> Rows:
        """Take out n random rows, in random order."""
        drawn = random.choice(self.n_rows, n, replace=False)
        X, targets, weights, training_weights = (array[drawn] for array in self._arrays)
        rows = Rows(X, targets, weights, training_weights, self._task)
        # The last rows take the places of the rows that were taken out.
        left = self.n_rows - n
        is_gone = np.zeros(n, bool)
        is_gone[drawn[drawn >= left] - left] = True
        holes, movers = drawn[drawn < left], left + np.flatnonzero(~is_gone)
        for array in self._arrays:
            array[holes] = array[movers]
        self.n_rows = left
        return rows


def arrays_of(rows: Rows) -> tuple[np.ndarray, ...]:
    return rows.X, rows.targets, rows.weights, rows.training_weights


def shuffled(
    pieces: Iterable[Rows],
    *,
    capacity: int,
    block: int,
    random: np.random.Generator,
) -> Iterator[Rows]:
    """All rows of some pieces in random order, `block` rows at a time; the last may be fewer.

    Rows wait in a buffer of `capacity` rows, so that neighbours in a file do not stay
    neighbours. If all rows fit into the buffer, every order is equally likely.
    """
    buffer: Buffer | None = None
    for rows in pieces:
        if buffer is None:
            buffer = Buffer(rows, max(capacity, block))
        first = 0
        while (first := first + buffer.put(rows, first)) < len(rows):
            yield buffer.draw(block, random)
    while buffer is not None and buffer.n_rows:
        yield buffer.draw(min(block, buffer.n_rows), random)


@dataclass
class StreamTraining:
    """The training of networks on a table in files, one stage after the other.

    `kept` are the rows in memory, and counts of all rows. This run writes its progress into
    `checkpoint`, which may hold the progress of an earlier run that was killed.
    """

    rows: EncodedStream
    kept: Gathered
    engine: Engine
    seed: int
    bar: RowProgress
    checkpoint: Checkpoint
    n_stages: int = field(default=0, init=False)

    def __call__(
        self, state: State, plan: Plan, constraints: Constraints | None
    ) -> TrainingOutcome:
        """Train the network of `state` by a plan, within constraints."""
        number, self.n_stages = self.n_stages, self.n_stages + 1
        stage = self.checkpoint.stage(number, state)
        trainer = StreamTrainer(self, number, stage, plan, constraints)
        self.bar.expect(plan.n_run - (stage.outcome.n_epochs if stage.outcome else 0))
        validation = self.kept.validation
        measured = mean_loss_on(validation, self.engine) if len(validation) else None
        return run_epochs(trainer, plan, measured, self.bar, stage.outcome, stage.best)

    @property
    def row_bytes(self) -> int:
        """The bytes of an encoded row with its targets and weights."""
        sample = self.kept.sample
        return sample.X.itemsize * (sample.X.shape[1] + sample.targets.shape[1] + 2)

    @cached_property
    def all_rows(self) -> list[Rows]:
        """All rows to train on, read once. Only for a table that fits into the buffer."""
        return list(self.rows.training_rows())


@dataclass
class StreamTrainer:
    """Implements `neuralrules._training._training.EpochTrainer` on files, for one stage."""

    training: StreamTraining
    number: int
    stage: Stage
    plan: Plan
    constraints: Constraints | None

    def __post_init__(self) -> None:
        self._last_kept = time.monotonic()

    def state(self) -> State:
        return self.stage.state

    def keep(self, outcome: TrainingOutcome, best: Best) -> None:
        self.stage = self.stage.with_epoch(outcome, best)
        self._write()

    def train_epoch(self, epoch: int, interrupted: Callable[[], bool]) -> float:
        """Train on all rows once, in random order; return their mean loss."""
        training, plan = self.training, self.plan
        n_batches = math.ceil(training.kept.n_training / plan.batch_size)
        rates, step = plan.rates(epoch, n_batches), 0
        training.bar.begin_pass(training.kept.n_training)
        done = self.stage.n_blocks
        for number, block in enumerate(self._blocks(epoch)):
            n_steps = math.ceil(len(block) / plan.batch_size)
            # A continued epoch has the same blocks in the same order. Skip those that are done.
            if number >= done:
                block_rates = rates[step : step + n_steps]
                self._train_block(block, block_rates, [self.number, epoch, number])
            step += n_steps
            training.bar.add(len(block), f"Epoch {epoch + 1}/{plan.n_run}")
            if interrupted():
                break
        if not math.isfinite(self.stage.total):
            raise divergence(plan, epoch)
        return self.stage.total / training.kept.weight

    def _blocks(self, epoch: int) -> Iterator[Rows]:
        """The training rows, in an order that depends on the seed and the epoch alone."""
        training, size = self.training, self.plan.batch_size
        places = [training.seed, self.number, epoch]
        capacity = max(2 * size, BUFFER_BYTES // training.row_bytes)
        # All batches but the last one are whole.
        block = max(size, min(BLOCK_ROWS, capacity // 2) // size * size)
        pieces = training.rows.training_rows(np.random.RandomState(places))
        return shuffled(
            training.all_rows if training.kept.n_training <= capacity else pieces,
            capacity=capacity,
            block=block,
            random=np.random.default_rng(places),
        )

    def _train_block(self, block: Rows, rates: np.ndarray, places: list[int]) -> None:
        """Train on a block of rows, and count the block as done."""
        training, plan, stage = self.training, self.plan, self.stage
        weight = training.kept.weight
        session = started(training.engine, stage.state, block, plan, self.constraints, weight)
        random = np.random.RandomState([training.seed, *places])
        order = np.arange(len(block), dtype=np.int32)
        rows = shuffled_batches(order, plan.batch_size, random)
        total = stage.total
        per_call = training.engine.operations_per_call
        for batches in calls(rows, rates, plan, stage.state.network, random, per_call):
            total += session.run(batches)
        state = State(session.network(), session.moments())
        self.stage = stage.with_block(state, total)
        if time.monotonic() - self._last_kept > SECONDS_BETWEEN_CHECKPOINTS:
            self._write()

    def _write(self) -> None:
        self.training.checkpoint.write(self.number, self.stage)
        self._last_kept = time.monotonic()


def started(
    engine: Engine,
    state: State,
    rows: Rows,
    plan: Plan,
    constraints: Constraints | None,
    weight: float,
) -> Session:
    """A session that trains on some rows of a table with a training weight of `weight`."""
    return engine.start(
        state.network,
        rows,
        plan.loss,
        constraints,
        # The paper adds the penalty to the sum of the losses, the engine to their mean.
        l2=plan.l2 / weight,
        moments=state.moments,
        fit_intercept=plan.fit_intercept,
    )
