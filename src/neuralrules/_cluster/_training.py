"""Training by the workers of a Ray cluster, one stage after the other."""

from __future__ import annotations

import math
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

from neuralrules._cluster._connection import Workers, load_ray, plain_cluster_errors
from neuralrules._cluster._table import parts_between
from neuralrules._cluster._worker import Job, SharingCost, work
from neuralrules._io._progress import Progress
from neuralrules._network._constraints import Constraints
from neuralrules._stream._checkpoint import Checkpoint, Stage
from neuralrules._stream._passes import Gathered
from neuralrules._training._training import Plan, State, TrainingOutcome

# How often Ray tries again to start workers that found no room. Ray waits a minute before each
# start, so that a lost machine can come back, or another machine can replace it.
STARTS = 2
SECONDS_BETWEEN_LOOKS = 0.5


class StageReport(NamedTuple):
    """The result of a stage of training.

    Attributes
    ----------
    outcome : TrainingOutcome or None
    cost : SharingCost or None
    error : ValueError or None
        The error that ended training, if there is no outcome.
    begun : list of int
        For each start of the workers, the number of epochs that were done before it.
    checkpoint : Checkpoint
        The checkpoint with this stage.
    """

    outcome: TrainingOutcome | None
    cost: SharingCost | None
    error: ValueError | None
    begun: list[int]
    checkpoint: Checkpoint


class Keeper:
    """An actor that remembers the progress of training while workers come and go.

    The keeper runs on the machine of the program that fits. This machine is the only one that
    must not be lost. A network is small, so the machines need no shared storage. If the
    checkpoint has a path, the progress is also written there, in case this machine is lost too.

    Parameters
    ----------
    checkpoint : Checkpoint
    number : int
        The number of the stage of training.
    stage : Stage
        The progress at the beginning of the stage.
    """

    def __init__(self, checkpoint: Checkpoint, number: int, stage: Stage) -> None:
        self._checkpoint, self._number, self._stage = checkpoint, number, stage
        self._outcome: TrainingOutcome | None = None
        self._cost: SharingCost | None = None
        self._error: ValueError | None = None
        self._begun: list[int] = []

    def begin(self, rank: int) -> Stage:
        """The progress from which a worker, or its replacement, continues."""
        if rank == 0:
            outcome = self._stage.outcome
            self._begun.append(0 if outcome is None else outcome.n_epochs)
        return self._stage

    def latest(self) -> TrainingOutcome | None:
        """The result of the completed epochs; None before training begins."""
        return self._stage.outcome

    def keep(self, stage: Stage) -> None:
        self._stage = stage
        self._checkpoint.write(self._number, stage)

    def finish(self, outcome: TrainingOutcome, cost: SharingCost) -> None:
        self._outcome, self._cost = outcome, cost

    def fail(self, error: ValueError) -> None:
        self._error = error

    def report(self) -> StageReport:
        return StageReport(
            self._outcome, self._cost, self._error, self._begun, self._checkpoint
        )


@dataclass
class ClusterTraining:
    """The training of networks by workers that share the rows equally.

    Attributes
    ----------
    refs : list of ray.ObjectRef of Rows
        Encoded rows to train on, piece by piece.
    lengths : list of int
        The number of rows of each piece.
    kept : Gathered
    seed : int
    workers : Workers
    checkpoint : Checkpoint
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
        many = "1 worker" if self.workers.number == 1 else f"{self.workers.number} workers"
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
