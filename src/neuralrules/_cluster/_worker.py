"""The work of one worker: it trains on its rows, in step with the other workers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neuralrules._cluster._connection import load_ray
from neuralrules._cluster._table import Part
from neuralrules._data._rows import Rows
from neuralrules._io._progress import Progress
from neuralrules._network._constraints import Constraints
from neuralrules._network._network import Network
from neuralrules._stream._checkpoint import Stage
from neuralrules._stream._rows import joined
from neuralrules._training._training import (
    Best,
    Plan,
    State,
    TrainingOutcome,
    calls,
    divergence,
    run_epochs,
    shuffled_batches,
    total_loss_on,
)

SECONDS_BETWEEN_CHECKPOINTS = 60


@dataclass(frozen=True)
class Job:
    """A stage of training, as every worker gets it.

    Attributes
    ----------
    keeper : actor handle of Keeper
    number : int
        The number of the stage of training.
    shards : list of list of Part
        The rows of each worker. The workers' numbers of rows differ by one at most.
    validation : ray.ObjectRef of Rows
        The held-out rows that decide when to stop early; may be empty.
    plan : Plan
    constraints : Constraints or None
    n_batches : int
        The number of steps of an epoch.
    weight : float
        The sum of the training weights of all rows.
    seed : int
    n_threads : int
    device : str
    """

    keeper: Any
    number: int
    shards: list[list[Part]]
    validation: Any
    plan: Plan
    constraints: Constraints | None
    n_batches: int
    weight: float
    seed: int
    n_threads: int
    device: str

    @property
    def plan_of_worker(self) -> Plan:
        """The plan of one worker, with its share of each batch, rounded up."""
        return replace(self.plan, batch_size=math.ceil(self.plan.batch_size / len(self.shards)))


def work(job: Job) -> None:
    """Train to the end of a stage, from the point that earlier workers reached."""
    ray = load_ray()
    import torch.distributed as dist

    from neuralrules._cluster._sharing import Sharing

    rank = ray.train.get_context().get_world_rank()
    stage = ray.get(job.keeper.begin.remote(rank))
    dist.barrier()  # all workers begin at this stage, before the first one stores another
    sharing = Sharing()
    try:
        outcome = trained(job, rank, stage, sharing)
    except ValueError as error:  # our own: training diverged, and would diverge again
        ray.get(job.keeper.fail.remote(error))
        return
    if rank == 0:
        cost = SharingCost(sharing.n_reductions, sharing.n_bytes, sharing.seconds)
        ray.get(job.keeper.finish.remote(outcome, cost))


@dataclass(frozen=True)
class SharingCost:
    """What sharing cost the first worker: see `neuralrules._cluster._sharing.Sharing`."""

    n_reductions: int
    n_bytes: int
    seconds: float


def trained(job: Job, rank: int, stage: Stage, sharing: Any) -> TrainingOutcome:
    """Continue training from `stage`. The outcome is the same on every worker."""
    ray = load_ray()
    from neuralrules._cluster._sharing import shared_engine, summed

    parts = job.shards[rank]
    pieces = ray.get([part.ref for part in parts])
    rows = joined(
        [
            rows.take(slice(part.start, part.stop))
            for rows, part in zip(pieces, parts, strict=True)
        ]
    )
    del pieces
    engine = shared_engine(sharing, job.n_threads, job.device)
    trainer = ShardTrainer(job, rank, stage, rows, engine)
    measured = None
    validation = ray.get(job.validation)
    if len(validation):
        some = np.arange(rank, len(validation), len(job.shards))
        weight = float(validation.training_weights.sum(dtype=np.float64))

        total_loss = total_loss_on(validation.take(some), engine)

        def measured(network: Network) -> float:
            return float(summed([total_loss(network)], engine.device)[0]) / weight

    bar = Progress(job.plan.n_run, shown=False)
    return run_epochs(trainer, job.plan_of_worker, measured, bar, stage.outcome, stage.best)


class ShardTrainer:
    """Implements `neuralrules._training._training.EpochTrainer` on one worker's rows."""

    def __init__(self, job: Job, rank: int, stage: Stage, rows: Rows, engine: Any) -> None:
        self._job, self._rank, self._stage, self._engine = job, rank, stage, engine
        self._order = np.arange(len(rows), dtype=np.int32)
        self._last_kept = time.monotonic()
        plan = job.plan
        self._session = engine.start(
            stage.state.network,
            rows,
            plan.loss,
            job.constraints,
            # The paper adds the penalty to the sum of the losses, the engine to their mean.
            l2=plan.l2 / job.weight,
            moments=stage.state.moments,
            fit_intercept=plan.fit_intercept,
        )

    def state(self) -> State:
        return State(self._session.network(), self._session.moments())

    def keep(self, outcome: TrainingOutcome, best: Best) -> None:
        self._stage = replace(self._stage, outcome=outcome, best=best, n_blocks=0, total=0.0)
        self._store()

    def train_epoch(self, epoch: int, interrupted: Callable[[], bool]) -> float:
        """Train on all rows once, in random order; return the mean loss of all workers."""
        job, plan = self._job, self._job.plan_of_worker
        places = [job.seed, job.number, epoch]
        # Each worker shuffles its own rows, but all workers drop the same rules.
        row_random = np.random.RandomState([*places, 1 + self._rank])
        gate_random = np.random.RandomState([*places, 0])
        rows = shuffled_batches(self._order, plan.batch_size, row_random)
        rates, network = plan.rates(epoch, job.n_batches), self._stage.state.network
        per_call = self._engine.operations_per_call
        done = self._stage.n_blocks
        for number, batches in enumerate(
            calls(rows, rates, plan, network, gate_random, per_call)
        ):
            if number < done:  # trained on before workers were lost
                continue
            total = self._stage.total + self._session.run(batches)
            self._stage = replace(self._stage, n_blocks=number + 1, total=total)
            if time.monotonic() - self._last_kept > SECONDS_BETWEEN_CHECKPOINTS:
                self._store()
        if not math.isfinite(self._stage.total):
            raise divergence(plan, epoch)
        self._engine.align()
        return self._stage.total / job.weight

    def _store(self) -> None:
        """Store the progress of training. The first worker does this for all workers."""
        if self._rank == 0:
            stage = replace(self._stage, state=self.state())
            load_ray().get(self._job.keeper.keep.remote(stage))
        self._last_kept = time.monotonic()
