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
from typing import Any

from neuralrules._cluster._connection import Workers, failing_plainly, load_ray
from neuralrules._cluster._keeper import Keeper, Told
from neuralrules._cluster._table import parts_between
from neuralrules._cluster._worker import Cost, Job, work
from neuralrules._io._progress import Progress
from neuralrules._network._constraints import Constraints
from neuralrules._stream._checkpoint import Checkpoint, Stage
from neuralrules._stream._passes import Gathered
from neuralrules._training._training import Outcome, Plan, State

# How often workers that found no room are started again, each time after Ray's minute: a
# machine that was lost may come back, or another in its place.
STARTS = 2
SECONDS_BETWEEN_LOOKS = 0.5


@dataclass
class ClusterTraining:
    """The training of networks by workers, each of which has as many rows as any other.

    Attributes
    ----------
    refs : list of ray.ObjectRef of Rows
        Encoded rows to train on, piece by piece.
    lengths : list of int
        Rows of each piece.
    kept : Gathered
    seed : int
    workers : Workers
    checkpoint : Checkpoint
    costs : list of Cost
        What sharing cost in each stage.
    begun : list of list of int
        For each stage, the epochs that were done each time that its workers began.
    """

    refs: list[Any]
    lengths: list[int]
    kept: Gathered
    seed: int
    workers: Workers
    checkpoint: Checkpoint
    costs: list[Cost] = field(default_factory=list, init=False)
    begun: list[list[int]] = field(default_factory=list, init=False)

    def __call__(self, state: State, plan: Plan, constraints: Constraints | None) -> Outcome:
        """Train the network of `state` by a plan, within constraints."""
        number = len(self.costs)
        stage = self.checkpoint.stage(number, state)
        with failing_plainly(), own_interrupts():
            told = self._run(number, stage, plan, constraints)
        if told.error is not None:
            raise told.error
        assert told.outcome is not None  # the workers came to an end
        assert told.cost is not None
        self.checkpoint.arrays = told.checkpoint.arrays
        self.checkpoint.document = told.checkpoint.document
        self.costs.append(told.cost)
        self.begun.append(told.begun)
        many = "1 worker" if self.workers.number == 1 else f"{self.workers.number} workers"
        return replace(told.outcome, where=f" by {many} of a Ray cluster")

    def _run(
        self, number: int, stage: Stage, plan: Plan, constraints: Constraints | None
    ) -> Told:
        """Let the workers train one stage; what their keeper was told."""
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
        with tempfile.TemporaryDirectory() as folder, followed(keeper, plan):
            TorchTrainer(
                lambda: work(job),
                torch_config=TorchConfig(backend="nccl" if self.workers.gpu else "gloo"),
                scaling_config=ray.train.ScalingConfig(
                    num_workers=self.workers.number,
                    use_gpu=self.workers.gpu,
                    resources_per_worker=self.workers.resources,
                ),
                run_config=ray.train.RunConfig(
                    storage_path=folder,  # of Ray's notes; the keeper has what matters
                    failure_config=ray.train.FailureConfig(
                        max_failures=self.workers.max_failures,
                        controller_failure_limit=STARTS,
                    ),
                ),
            ).fit()
        return ray.get(keeper.told.remote())

    def _keeper(self, number: int, stage: Stage) -> Any:
        """An actor on this machine."""
        ray = load_ray()
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = ray.get_runtime_context().get_node_id()
        place = NodeAffinitySchedulingStrategy(here, soft=False)
        actor = ray.remote(num_cpus=0)(Keeper).options(scheduling_strategy=place)
        return actor.remote(self.checkpoint, number, stage)

    def _shards(self) -> list[Any]:
        """The rows of each worker, of which none has more than one row more than another."""
        n_workers, n_rows = self.workers.number, self.kept.n_training
        ends = [n_rows * place // n_workers for place in range(n_workers + 1)]
        return [
            parts_between(self.refs, self.lengths, first, last)
            for first, last in pairwise(ends)
        ]

    def _n_batches(self, plan: Plan) -> int:
        """Steps of an epoch: as many as the worker with most rows has batches."""
        n_workers = self.workers.number
        own_rows = math.ceil(self.kept.n_training / n_workers)
        return math.ceil(own_rows / math.ceil(plan.batch_size / n_workers))


@contextmanager
def followed(keeper: Any, plan: Plan) -> Iterator[None]:
    """Show meanwhile how far the workers have come, where that is asked for."""
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
def own_interrupts() -> Iterator[None]:
    """Let Ctrl-C be what it was, after Ray Train has made it end the program."""
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
