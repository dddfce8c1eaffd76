"""Joint training of all rules: batches, schedules, early stopping, interruption."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

import numpy as np

from neuralrules._data._rows import Rows
from neuralrules._engine._adam import Moments
from neuralrules._engine._protocol import Batches, Decider, Engine
from neuralrules._io._progress import Progress
from neuralrules._network._constraints import Constraints
from neuralrules._network._network import Network, NetworkInUnits
from neuralrules._task._loss import Loss

GATES_PER_CALL = 1e6  # limits the memory of gates if batches are small and rules are many
VALIDATION_CHUNK = 8192  # rows scored at a time


@dataclass(frozen=True)
class Plan:
    """How to train. The attributes have the names of the estimators' parameters."""

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
        """The number of epochs to run, although the schedule is made for `n_epochs`."""
        return self.n_epochs if self.stop_after is None else self.stop_after

    def rates(self, epoch: int, n_batches: int) -> np.ndarray:
        """Learning rates of the steps of one epoch, (n_batches,) float64."""
        if self.schedule == "constant":
            return np.full(n_batches, self.learning_rate)
        done = (epoch + np.arange(n_batches) / n_batches) / self.n_epochs
        return self.learning_rate * (1 + np.cos(np.pi * done)) / 2


@dataclass(frozen=True)
class State:
    """The state of training: everything that is needed to continue."""

    network: Network
    moments: Moments

    def __post_init__(self) -> None:
        if isinstance(self.network, NetworkInUnits):
            raise TypeError(
                "A network in the units of the targets cannot be trained: take the network for "
                "standardised targets, fitted.state.network."
            )

    @classmethod
    def start(cls, network: Network) -> State:
        return cls(network, Moments.start(network.parameters))


@dataclass
class TrainingOutcome:
    """Result of `train`.

    Attributes
    ----------
    state : State
    history : dict of str to list of float
        One entry for each epoch: "loss" and, with early stopping, "validation_loss".
    n_epochs : int
        The number of completed epochs.
    best_epoch : int
        The number of epochs after which the network of `state` was reached.
    interrupted : bool
        Whether Ctrl-C ended training.
    where : str
        Words for messages about where the network was trained; empty for one machine.
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
) -> TrainingOutcome:
    """Train the network of `state` on some of the rows.

    Parameters
    ----------
    state : State
        Stays unchanged: the outcome holds a new state.
    rows : Rows
    order : (n_train,) int32
        Indices of the training rows. Rows of neighbouring leaves are next to each other.
    validation : (n_validation,) int32
        Indices of the rows that decide when to stop early; may be empty.
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
    """Trains a network, one epoch after the other."""

    def train_epoch(self, epoch: int, interrupted: Callable[[], bool]) -> float:
        """Train on all rows once; return their mean loss."""

    def state(self) -> State:
        """The present state of training."""

    def keep(self, outcome: TrainingOutcome, best: Best) -> None:
        """Store the progress between two epochs, so that training can continue from there."""


class EpochBar(AbstractContextManager[Any], Protocol):
    """Shows the progress of training."""

    def update(self, epoch: int, loss: float, validation_loss: float | None) -> None:
        """Show the state after `epoch` epochs."""


def run_epochs(
    trainer: EpochTrainer,
    plan: Plan,
    measured: Callable[[Network], float] | None,
    bar: EpochBar,
    outcome: TrainingOutcome | None = None,
    best: Best | None = None,
) -> TrainingOutcome:
    """Train until the last epoch, until early stopping, or until Ctrl-C.

    Parameters
    ----------
    trainer : EpochTrainer
    plan : Plan
    measured : callable, optional
        Gives the loss of a network on held-out rows. None means no early stopping.
    bar : EpochBar
    outcome, best : optional
        The outcome and the best network so far of an earlier training that continues here.
    """
    if outcome is None or best is None:
        start = trainer.state()
        outcome, best = TrainingOutcome(start, history={"loss": []}), Best()
        if measured is not None:
            outcome.history["validation_loss"] = []
            # Training may do harm from its first step on. So the start may be the best network.
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
        raise divergence(plan, max(outcome.n_epochs - 1, 0))  # in the last steps
    outcome.best_epoch = outcome.n_epochs if best.network is None else best.epoch + 1
    outcome.state = State(network, end.moments)
    return outcome


def divergence(plan: Plan, epoch: int) -> ValueError:
    return ValueError(
        f"Training diverged in epoch {epoch + 1}: the loss is not finite. "
        f"Lower learning_rate (it is {plan.learning_rate})."
    )


class Trainer:
    """Implements `EpochTrainer` on rows in memory."""

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
        # Two streams of random numbers, because the number of shuffled rows must not change
        # which rules are dropped. A continued fit must have other streams: otherwise it would
        # drop the same rules again.
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
            # The paper adds the penalty to the sum of the losses, the engine to their mean.
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

    def keep(self, outcome: TrainingOutcome, best: Best) -> None:
        """Store nothing: training in memory can simply be repeated."""


def calls(
    rows: np.ndarray,
    rates: np.ndarray,
    plan: Plan,
    network: Network,
    gate_random: np.random.RandomState,
    operations_per_call: float,
) -> Iterator[Batches]:
    """Split rows into runs of batches. Each run takes a fraction of a second.

    Parameters
    ----------
    rows : (n,) int32
        Row numbers, batch after batch.
    rates : (n_batches,) float64
        The learning rate of each step.
    plan : Plan
    network : Network
    gate_random : RandomState
        Decides which rules are dropped.
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

    The rows of a batch are random. Their order within the batch only decides which rows share
    a tile of the fast engine.
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
    """A function from a network to the weighted sum of its losses on some rows."""
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
    """A function from a network to the weighted mean of its losses on some rows."""
    weight = float(rows.training_weights.sum(dtype=np.float64))
    total_loss = total_loss_on(rows, engine)
    return lambda network: total_loss(network) / weight


@contextmanager
def interrupt_flag() -> Iterator[Callable[[], bool]]:
    """Turn Ctrl-C into a flag, so that it cannot interrupt a step.

    Only the main thread may handle signals. In other threads the flag stays down.
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


# For this share of the epochs, literals may use all columns of their rule. This shows which
# columns matter.
FREE_SHARE = 1 / 3


# A function that trains a state by a plan, within constraints.
Training: TypeAlias = Callable[[State, Plan, Constraints | None], TrainingOutcome]


def train_sparse(
    trained: Training,
    state: State,
    plan: Plan,
    constraints: Constraints | None,
    max_terms: int | None,
) -> TrainingOutcome:
    """Train with `trained` so that in the end no literal has more than `max_terms` weights.

    Literals are first trained without this limit, for a third of the epochs of the plan. Then
    each literal keeps its largest weights, and the network is trained for all epochs of the
    plan. The best epoch is counted from the start of this second training.
    """
    if max_terms is None or np.diff(state.network.column_offsets).max() <= max_terms:
        return trained(state, plan, constraints)
    n_free = int(np.ceil(FREE_SHARE * plan.n_epochs))
    free = trained(state, replace(plan, n_epochs=n_free, stop_after=None), constraints)
    network = with_largest_weights(free.state.network, max_terms)
    start = State.start(network)
    if free.interrupted:
        return replace(free, state=start)
    limits = Constraints.keep_columns(network)
    if constraints is not None:
        limits = constraints.also(limits)
    sparse = trained(start, plan, limits)
    return replace(
        sparse,
        history={name: free.history[name] + losses for name, losses in sparse.history.items()},
        n_epochs=free.n_epochs + sparse.n_epochs,
    )


def within_terms(state: State, max_terms: int | None) -> State:
    """The same state or, if a literal has too many terms, a new start with fewer terms."""
    n_terms = np.count_nonzero(state.network.weights, axis=1)
    if max_terms is None or n_terms.max(initial=0) <= max_terms:
        return state
    return State.start(with_largest_weights(state.network, max_terms))


def with_largest_weights(network: Network, max_terms: int) -> Network:
    """The network, in which each literal keeps only its `max_terms` largest weights."""
    weights = network.own_weights.copy()
    for rule in range(network.n_rules):
        of_rule = network.layout.weights_of(weights, rule)  # a view
        order = np.argsort(-np.abs(of_rule), axis=1, kind="stable")
        np.put_along_axis(of_rule, order[:, max_terms:], 0, axis=1)
    return replace(network, own_weights=weights)
