"""Joint training of all rules: batches, schedules, early stopping, interruption."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from neuralrules._data._rows import Rows
from neuralrules._engine._adam import Moments
from neuralrules._engine._protocol import Batches, Decider, Engine
from neuralrules._io._progress import Progress
from neuralrules._network._constraints import Constraints
from neuralrules._network._network import Network
from neuralrules._task._loss import Loss

GATES_PER_CALL = 1e6  # bounds their memory when batches are small and rules are many
VALIDATION_CHUNK = 8192  # rows scored at a time


@dataclass(frozen=True)
class Plan:
    """How to train; the names are the estimators' parameters."""

    loss: Loss
    fit_intercept: bool
    l2: float
    rule_dropout: float
    learning_rate: float
    schedule: str
    n_epochs: int
    stop_after: int | None
    batch_size: int
    patience: int
    verbose: bool

    @property
    def n_run(self) -> int:
        """Epochs that are run, of a schedule made for `n_epochs`."""
        return self.n_epochs if self.stop_after is None else self.stop_after

    def rates(self, epoch: int, n_batches: int) -> np.ndarray:
        """Learning rates of the steps of one epoch, (n_batches,) float64."""
        if self.schedule == "constant":
            return np.full(n_batches, self.learning_rate)
        done = (epoch + np.arange(n_batches) / n_batches) / self.n_epochs
        return self.learning_rate * (1 + np.cos(np.pi * done)) / 2


@dataclass(frozen=True)
class State:
    """Where training stands: enough to go on from here."""

    network: Network
    moments: Moments

    @classmethod
    def start(cls, network: Network) -> State:
        return cls(network, Moments.start(network.parameters))


@dataclass
class Outcome:
    """Result of `train`.

    Attributes
    ----------
    state : State
    history : dict of str to list of float
        One entry an epoch: "loss" and, with early stopping, "validation_loss".
    n_epochs : int
        Epochs that were completed.
    best_epoch : int
        Epochs after which the network was as it is in `state`.
    interrupted : bool
        Whether Ctrl-C ended training.
    where : str
        Where it was trained, in words, if not on one machine.
    """

    state: State
    history: dict[str, list[float]] = field(default_factory=dict)
    n_epochs: int = 0
    best_epoch: int = 0
    interrupted: bool = False
    where: str = ""


def train(
    state: State,
    rows: Rows,
    order: np.ndarray,
    validation: np.ndarray,
    plan: Plan,
    engine: Engine,
    random_state: np.random.RandomState,
    constraints: Constraints | None = None,
) -> Outcome:
    """Train the network of `state` on some of the rows.

    Parameters
    ----------
    state : State
        Left as it is; the outcome holds a new one.
    rows : Rows
    order : (n_train,) int32
        Training rows, neighbours in the tree next to each other.
    validation : (n_validation,) int32
        Rows to stop early on; may be empty.
    plan : Plan
    engine : Engine
    random_state : RandomState
    constraints : Constraints, optional
    """
    trainer = Trainer(state, rows, order, plan, engine, random_state, constraints)
    measured = mean_loss_on(rows.take(validation), engine) if validation.size else None
    bar = Progress(plan.n_run, shown=plan.verbose)
    return run_epochs(trainer, plan, measured, bar)


class EpochTrainer(Protocol):
    """What takes a network through one epoch after the other."""

    def train_epoch(self, epoch: int, interrupted: Callable[[], bool]) -> float:
        """Train on all rows once; return their mean loss."""

    def state(self) -> State:
        """Where training stands."""

    def keep(self, outcome: Outcome, best: Best) -> None:
        """Note what there is between two epochs, so that training may go on from there."""


class EpochBar(AbstractContextManager[Any], Protocol):
    """What shows how far training has come."""

    def update(self, epoch: int, loss: float, validation_loss: float | None) -> None:
        """Show the state after `epoch` epochs."""


def run_epochs(
    trainer: EpochTrainer,
    plan: Plan,
    measured: Callable[[Network], float] | None,
    bar: EpochBar,
    outcome: Outcome | None = None,
    best: Best | None = None,
) -> Outcome:
    """Train until the last epoch, until it no longer helps, or until Ctrl-C.

    Parameters
    ----------
    trainer : EpochTrainer
    plan : Plan
    measured : callable, optional
        From a network to its loss on held-out rows, to stop early on.
    bar : EpochBar
    outcome, best : optional
        Those of an earlier training that goes on here.
    """
    if outcome is None or best is None:
        start = trainer.state()
        outcome, best = Outcome(start, history={"loss": []}), Best()
        if measured is not None:
            outcome.history["validation_loss"] = []
            # Training may do harm from its first step on: the start is a candidate too.
            best.consider(-1, measured(start.network), start.network)
        trainer.keep(outcome, best)
    with interrupt_flag() as interrupted, bar:
        for epoch in range(outcome.n_epochs, plan.n_run):
            if measured is not None and epoch - 1 - best.epoch >= plan.patience:
                break
            loss = trainer.train_epoch(epoch, interrupted)
            if interrupted():
                outcome.interrupted = True
                break
            outcome.n_epochs += 1
            outcome.history["loss"].append(loss)
            validation_loss = None
            if measured is not None:
                network = trainer.state().network
                validation_loss = measured(network)
                outcome.history["validation_loss"].append(validation_loss)
                best.consider(epoch, validation_loss, network)
            trainer.keep(outcome, best)
            bar.update(epoch + 1, loss, validation_loss)
    end = trainer.state()
    network = end.network if best.network is None else best.network
    if not all(np.isfinite(array).all() for array in network.parameters):
        raise divergence(plan, max(outcome.n_epochs - 1, 0))  # in its last steps
    outcome.best_epoch = outcome.n_epochs if best.network is None else best.epoch + 1
    outcome.state = State(network, end.moments)
    return outcome


def divergence(plan: Plan, epoch: int) -> ValueError:
    return ValueError(
        f"Training diverged in epoch {epoch + 1}: the loss is not finite. "
        f"Lower learning_rate (it is {plan.learning_rate})."
    )


class Trainer:
    """Takes a network through one epoch after the other."""

    def __init__(
        self,
        state: State,
        rows: Rows,
        order: np.ndarray,
        plan: Plan,
        engine: Engine,
        random_state: np.random.RandomState,
        constraints: Constraints | None,
    ) -> None:
        self._start, self._order, self._plan = state.network, order, plan
        # Two streams: how many rows are shuffled must not change which rules are dropped.
        # And others in each continued fit, or it would drop the same rules again.
        self._row_random, self._gate_random = (
            np.random.RandomState([random_state.randint(2**31 - 1), state.moments.n_steps])
            for _ in range(2)
        )
        self._per_call = engine.operations_per_call
        self._weight = float(rows.training_weights[order].sum(dtype=np.float64))
        self.session = engine.start(
            state.network,
            rows,
            plan.loss,
            constraints,
            # The paper's penalty stands beside the sum of the losses, not beside their mean.
            l2=plan.l2 / self._weight,
            moments=state.moments,
            fit_intercept=plan.fit_intercept,
        )

    def train_epoch(self, epoch: int, interrupted: Callable[[], bool]) -> float:
        """Train on all rows once; return their mean loss."""
        plan = self._plan
        rows = shuffled_batches(self._order, plan.batch_size, self._row_random)
        rates = plan.rates(epoch, math.ceil(len(rows) / plan.batch_size))
        total = 0.0
        random = self._gate_random
        for batches in calls(rows, rates, plan, self._start, random, self._per_call):
            total += self.session.run(batches)
            if interrupted():
                break
        if not math.isfinite(total):
            raise divergence(plan, epoch)
        return total / self._weight

    def state(self) -> State:
        return State(self.session.network(), self.session.moments())

    def keep(self, outcome: Outcome, best: Best) -> None:
        """Nothing: a training in memory is as quickly done again."""


def calls(
    rows: np.ndarray,
    rates: np.ndarray,
    plan: Plan,
    network: Network,
    gate_random: np.random.RandomState,
    operations_per_call: float,
) -> Iterator[Batches]:
    """Split rows into runs of batches that each take a fraction of a second.

    Parameters
    ----------
    rows : (n,) int32
        Row numbers, batch after batch.
    rates : (n_batches,) float64
        Learning rate of each step.
    plan : Plan
    network : Network
    gate_random : RandomState
        What rules are dropped by.
    operations_per_call : float
        See `Engine`.
    """
    size, n_rules = plan.batch_size, network.n_rules
    operations = size * max(network.own_weights.size + network.mixing.size, 1)
    n_batches = max(1, int(min(operations_per_call / operations, GATES_PER_CALL / n_rules)))
    for first in range(0, len(rates), n_batches):
        last = min(first + n_batches, len(rates))
        yield Batches(
            rows=rows[first * size : last * size],
            size=size,
            rates=rates[first:last],
            gates=rule_gates((last - first, n_rules), plan.rule_dropout, gate_random),
        )


class Best:
    """The network with the lowest validation loss so far."""

    def __init__(self) -> None:
        self.network: Network | None = None
        self.loss = math.inf
        self.epoch = -1

    def consider(self, epoch: int, loss: float, network: Network) -> None:
        if loss < self.loss:
            self.epoch, self.loss, self.network = epoch, loss, network


def shuffled_batches(
    order: np.ndarray, batch_size: int, random_state: np.random.RandomState
) -> np.ndarray:
    """The rows in random batches, each batch sorted by place in `order`.

    Which rows make a batch is random; their order within it only decides which
    rows share a tile of the fast engine.
    """
    places = random_state.permutation(len(order)).astype(np.int32)
    whole = len(order) // batch_size * batch_size
    places[:whole].reshape(-1, batch_size).sort(axis=1)
    places[whole:].sort()
    return order[places]


def rule_gates(
    shape: tuple[int, int], dropout: float, random_state: np.random.RandomState
) -> np.ndarray:
    """Gates (n_batches, n_rules) float32 that drop each rule with probability `dropout`."""
    if dropout == 0:
        return np.ones(shape, np.float32)
    kept = random_state.random_sample(shape) >= dropout
    return (kept / (1 - dropout)).astype(np.float32)


def total_loss_on(rows: Rows, engine: Decider) -> Callable[[Network], float]:
    """What measures the weighted sum of a network's losses on some rows, again and again."""
    starts = range(0, len(rows), VALIDATION_CHUNK)
    chunks = [rows.take(slice(start, start + VALIDATION_CHUNK)) for start in starts]
    targets = [chunk.loss_targets for chunk in chunks]

    def total_loss(network: Network) -> float:
        total = 0.0
        for chunk, wanted in zip(chunks, targets, strict=True):
            outputs = engine.decide(network, chunk.X) + network.intercept
            losses, _ = rows.task.loss.evaluate(outputs, wanted)
            total += float(chunk.training_weights @ losses)
        return total

    return total_loss


def mean_loss_on(rows: Rows, engine: Decider) -> Callable[[Network], float]:
    """What measures the weighted mean of a network's losses on some rows."""
    weight = float(rows.training_weights.sum(dtype=np.float64))
    total_loss = total_loss_on(rows, engine)
    return lambda network: total_loss(network) / weight


@contextmanager
def interrupt_flag() -> Iterator[Callable[[], bool]]:
    """Turn Ctrl-C into a flag, so that it cannot strike in the middle of a step.

    Only the main thread may handle signals; elsewhere the flag stays down.
    """
    raised = threading.Event()

    def raise_flag(number: int, frame: Any) -> None:
        raised.set()

    if threading.current_thread() is not threading.main_thread():
        yield raised.is_set
        return
    previous = signal.signal(signal.SIGINT, raise_flag)
    try:
        yield raised.is_set
    finally:
        signal.signal(signal.SIGINT, previous or signal.SIG_DFL)
