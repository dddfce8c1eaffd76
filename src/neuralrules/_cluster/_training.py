"""Training by the workers of a Ray cluster, one stage after the other.

The program that fits starts the workers and a keeper, which remembers their progress. Each
worker trains on its own rows, in step with the other workers.
"""

from __future__ import annotations

import math
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from neuralrules._cluster._connection import Workers, load_ray, plain_cluster_errors
from neuralrules._cluster._table import Part, parts_between
from neuralrules._data._rows import Rows
from neuralrules._fitted._lineage import counted
from neuralrules._io._progress import Progress
from neuralrules._network._constraints import Constraints
from neuralrules._network._network import Network
from neuralrules._stream._checkpoint import Checkpoint, Stage
from neuralrules._stream._passes import Gathered
from neuralrules._stream._rows import joined
from neuralrules._stream._training import started
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

# How often Ray tries again to start workers that found no room. Ray waits a minute before each
# start, so that a lost machine can come back, or another machine can replace it.
STARTS = 2
SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_BETWEEN_CHECKPOINTS = 60


@dataclass
class ClusterTraining:
    """The training of networks by workers that share the rows equally.

    Attributes
    ----------
    refs : list of ray.ObjectRef of Rows
        Encoded rows to train on, piece by piece.
    lengths : list of int
        The number of rows of each piece.
    costs : list of SharingCost
        The cost of sharing gradients in each stage.
    begun : list of list of int
        For each stage: the number of epochs done before each start of its workers.
    """

    refs: list[Any]
    lengths: list[int]
    kept: Gathered
    seed: int
    workers: Workers
    checkpoint: Checkpoint
    costs: list[SharingCost] = field(default_factory=list, init=False)
    begun: list[list[int]] = field(default_factory=list, init=False)

    def __call__(
        self, state: State, plan: Plan, constraints: Constraints | None
    ) -> TrainingOutcome:
        """Train the network of `state` by a plan, within constraints."""
        number = len(self.costs)
        stage = self.checkpoint.stage(number, state)
        with plain_cluster_errors(), interrupts_restored():
            report = self._run(number, stage, plan, constraints)
        if report.error is not None:
            raise report.error
        assert report.outcome is not None  # the workers came to an end
        assert report.cost is not None
        self.checkpoint.arrays = report.checkpoint.arrays
        self.checkpoint.document = report.checkpoint.document
        self.costs.append(report.cost)
        self.begun.append(report.begun)
        many = counted(self.workers.number, "worker")
        return replace(report.outcome, where=f" by {many} of a Ray cluster")

    def _run(
        self, number: int, stage: Stage, plan: Plan, constraints: Constraints | None
    ) -> StageReport:
        """Let the workers train one stage; return what they reported to their keeper."""
        ray = load_ray()
        from ray.train.torch import TorchConfig, TorchTrainer

        keeper = self._keeper(number, stage)
        job = Job(
            keeper,
            number,
            self._shards(),
            ray.put(self.kept.validation),
            plan,
            constraints,
            self._n_batches(plan),
            self.kept.weight,
            self.seed,
            self.workers.cpus,
            "cuda" if self.workers.gpu else "cpu",
        )
        with tempfile.TemporaryDirectory() as folder, progress_shown(keeper, plan):
            TorchTrainer(
                lambda: work(job),
                torch_config=TorchConfig(backend="nccl" if self.workers.gpu else "gloo"),
                scaling_config=ray.train.ScalingConfig(
                    num_workers=self.workers.number,
                    use_gpu=self.workers.gpu,
                    resources_per_worker=self.workers.resources,
                ),
                run_config=ray.train.RunConfig(
                    storage_path=folder,  # for Ray's own files; the keeper stores progress
                    failure_config=ray.train.FailureConfig(
                        max_failures=self.workers.max_failures,
                        controller_failure_limit=STARTS,
                    ),
                ),
            ).fit()
        return ray.get(keeper.report.remote())

    def _keeper(self, number: int, stage: Stage) -> Any:
        """A new keeper on this machine."""
        ray = load_ray()
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = ray.get_runtime_context().get_node_id()
        place = NodeAffinitySchedulingStrategy(here, soft=False)
        actor = ray.remote(num_cpus=0)(Keeper).options(scheduling_strategy=place)
        return actor.remote(self.checkpoint, number, stage)

    def _shards(self) -> list[Any]:
        """The rows of each worker. The workers' numbers of rows differ by one at most."""
        n_workers, n_rows = self.workers.number, self.kept.n_training
        ends = [n_rows * place // n_workers for place in range(n_workers + 1)]
        return [
            parts_between(self.refs, self.lengths, first, last)
            for first, last in pairwise(ends)
        ]

    def _n_batches(self, plan: Plan) -> int:
        """The steps of an epoch: the number of batches of the worker with the most rows."""
        n_workers = self.workers.number
        most_rows = math.ceil(self.kept.n_training / n_workers)
        return math.ceil(most_rows / math.ceil(plan.batch_size / n_workers))


@dataclass
class StageReport:
    """What a keeper knows of a stage of training.

    Attributes
    ----------
    checkpoint : Checkpoint
        The checkpoint with this stage.
    begun : list of int
        For each start of the workers, the number of epochs that were done before it.
    outcome, cost : TrainingOutcome, SharingCost, or None
        The result of training, once it is complete.
    error : ValueError or None
        The error that ended training.
    """

    checkpoint: Checkpoint
    begun: list[int] = field(default_factory=list)
    outcome: TrainingOutcome | None = None
    cost: SharingCost | None = None
    error: ValueError | None = None


class Keeper:
    """An actor that remembers the progress of one stage while workers come and go.

    The keeper runs on the machine of the program that fits. This machine is the only one that
    must not be lost. A network is small, so the machines need no shared storage. If the
    checkpoint has a path, the progress is also written there, in case this machine is lost too.
    `stage` is the progress at the beginning.
    """

    def __init__(self, checkpoint: Checkpoint, number: int, stage: Stage) -> None:
        self._number, self._stage, self._report = number, stage, StageReport(checkpoint)

    def begin(self, rank: int) -> Stage:
        """The progress from which a worker, or its replacement, continues."""
        if rank == 0:
            outcome = self._stage.outcome
            self._report.begun.append(0 if outcome is None else outcome.n_epochs)
        return self._stage

    def latest(self) -> TrainingOutcome | None:
        """The result of the completed epochs; None before training begins."""
        return self._stage.outcome

    def keep(self, stage: Stage) -> None:
        self._stage = stage
        self._report.checkpoint.write(self._number, stage)

    def finish(self, outcome: TrainingOutcome, cost: SharingCost) -> None:
        self._report.outcome, self._report.cost = outcome, cost

    def fail(self, error: ValueError) -> None:
        self._report.error = error

    def report(self) -> StageReport:
        return self._report


@contextmanager
def progress_shown(keeper: Any, plan: Plan) -> Iterator[None]:
    """Show the progress of the workers, if the plan asks for it."""
    ended = threading.Event()

    def follow() -> None:
        ray = load_ray()
        with suppress(ray.exceptions.RayError), Progress(plan.n_run, shown=True) as bar:
            has_ended = False
            while not has_ended:
                has_ended = ended.wait(SECONDS_BETWEEN_LOOKS)
                outcome = ray.get(keeper.latest.remote())
                if outcome is not None and outcome.n_epochs:
                    last = {name: losses[-1] for name, losses in outcome.history.items()}
                    bar.update(outcome.n_epochs, last["loss"], last.get("validation_loss"))

    thread = threading.Thread(target=follow, daemon=True)
    if plan.verbose:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if plan.verbose:
            thread.join()


@contextmanager
def interrupts_restored() -> Iterator[None]:
    """Restore the handler of Ctrl-C: Ray Train sets one that ends the program."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SystemExit:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, before)


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
    n_batches : int
        The number of steps of an epoch.
    weight : float
        The sum of the training weights of all rows.
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


@dataclass(frozen=True)
class SharingCost:
    """What sharing cost the first worker: see `neuralrules._cluster._sharing.Sharing`."""

    n_reductions: int
    n_bytes: int
    seconds: float


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


def trained(job: Job, rank: int, stage: Stage, sharing: Any) -> TrainingOutcome:
    """Continue training from `stage`. The outcome is the same on every worker."""
    ray = load_ray()
    from neuralrules._cluster._sharing import shared_engine, summed

    parts = job.shards[rank]
    pieces = zip(ray.get([part.ref for part in parts]), parts, strict=True)
    rows = joined([piece.take(slice(part.start, part.stop)) for piece, part in pieces])
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
        self._session = started(
            engine, stage.state, rows, job.plan, job.constraints, job.weight
        )

    def state(self) -> State:
        return State(self._session.network(), self._session.moments())

    def keep(self, outcome: TrainingOutcome, best: Best) -> None:
        self._stage = self._stage.with_epoch(outcome, best)
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
