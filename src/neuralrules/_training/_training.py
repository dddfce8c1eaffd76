"""Joint training of all rules: batches, schedules, early stopping, interruption."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Batches, Engine, Examples, Optimizer
from neuralrules._io._progress import Progress
from neuralrules._network._network import Network, Parameters
from neuralrules._task._losses import Loss

# Multiply-adds in one call of an engine, a fraction of a second: between two calls
# Ctrl-C is noticed.
OPERATIONS_PER_CALL = 2e9
GATES_PER_CALL = 1e6  # bounds their memory when batches are small and rules are many
VALIDATION_CHUNK = 8192  # rows scored at a time


@dataclass(frozen=True)
class Plan:
    """How to train; the names are the estimators' parameters."""

    loss: Loss
    l2: float
    rule_dropout: float
    learning_rate: float
    schedule: str
    n_epochs: int
    batch_size: int
    patience: int | None
    verbose: bool
    keep_zeros: bool = False  # weights that are zero at the start stay zero

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
    optimizer: Optimizer
    n_steps: int

    @classmethod
    def start(cls, network: Network) -> State:
        return cls(network, Optimizer.start(network.parameters), 0)


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
    interrupted : bool
        Whether Ctrl-C ended training.
    """

    state: State
    history: dict[str, list[float]] = field(default_factory=dict)
    n_epochs: int = 0
    interrupted: bool = False


def train(
    state: State,
    rows: Rows,
    order: np.ndarray,
    validation: np.ndarray,
    plan: Plan,
    engine: Engine,
    random_state: np.random.RandomState,
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
    """
    trainer = Trainer(state, rows, order, plan, engine, random_state)
    best = Best()
    outcome = Outcome(state, history={"loss": []})
    if plan.patience is not None:
        outcome.history["validation_loss"] = []
    with interrupt_flag() as interrupted, Progress(plan.n_epochs, shown=plan.verbose) as bar:
        for epoch in range(plan.n_epochs):
            loss = trainer.train_epoch(epoch, interrupted)
            if interrupted():
                outcome.interrupted = True
                break
            outcome.n_epochs += 1
            outcome.history["loss"].append(loss)
            validation_loss = None
            if plan.patience is not None:
                validation_loss = mean_loss(trainer.network, rows, validation, engine)
                outcome.history["validation_loss"].append(validation_loss)
                best.consider(epoch, validation_loss, trainer.optimizer.parameters)
            bar.update(epoch + 1, loss, validation_loss)
            if plan.patience is not None and epoch - best.epoch >= plan.patience:
                break
    if best.parameters is not None:
        trainer.optimizer = trainer.optimizer._replace(parameters=best.parameters)
    outcome.state = State(trainer.network, trainer.optimizer, trainer.n_steps)
    return outcome


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
    ) -> None:
        self.optimizer = state.optimizer.copy()
        self.n_steps = state.n_steps
        self._start = state.network
        self._layout = state.network.layout
        self._examples = Examples(
            rows.X,
            state.network.features,
            rows.targets,
            rows.training_weights,
            rows.task.are_classes,
        )
        self._order = order
        self._plan, self._engine = plan, engine
        # Two streams: how many rows are shuffled must not change which rules are dropped.
        # And others in each continued fit, or it would drop the same rules again.
        self._row_random, self._gate_random = (
            np.random.RandomState([random_state.randint(2**31 - 1), state.n_steps])
            for _ in range(2)
        )
        self._weight = float(rows.training_weights[order].sum(dtype=np.float64))
        # Biases and values are never pruned: a zero among them is a number like others.
        parameters = self.optimizer.parameters
        self._zeros = [
            (array, moment, start == 0)
            for array, moment, start in (
                (parameters.weights, self.optimizer.means.weights, state.network.weights),
                (parameters.mixing, self.optimizer.means.mixing, state.network.mixing),
            )
        ]

    @property
    def network(self) -> Network:
        return self._start.with_parameters(self.optimizer.parameters)

    def train_epoch(self, epoch: int, interrupted: Callable[[], bool]) -> float:
        """Train on all rows once; return their mean loss."""
        plan = self._plan
        rows = shuffled_batches(self._order, plan.batch_size, self._row_random)
        rates = plan.rates(epoch, math.ceil(len(rows) / plan.batch_size))
        # The paper's penalty stands beside the sum of the losses, not beside their mean.
        l2 = plan.l2 / self._weight
        total = 0.0
        for batches in self._calls(rows, rates):
            total += self._engine.train(
                self.optimizer, self._layout, self._examples, batches, plan.loss.code, l2
            )
            self.n_steps += len(batches.rates)
            if plan.keep_zeros:
                for array, moment, zero in self._zeros:
                    array[zero] = moment[zero] = 0
            if interrupted():
                break
        finite = np.isfinite(self.optimizer.parameters.weights).all()
        if not (math.isfinite(total) and finite):
            raise ValueError(
                f"Training diverged in epoch {epoch + 1}: the loss is not finite. "
                f"Lower learning_rate (it is {plan.learning_rate})."
            )
        return total / self._weight

    def _calls(self, rows: np.ndarray, rates: np.ndarray) -> Iterator[Batches]:
        """Split an epoch into runs of batches that each take a fraction of a second."""
        size, n_rules = self._plan.batch_size, self._start.n_rules
        operations = size * max(self._start.weights.size + self._start.mixing.size, 1)
        n_batches = min(OPERATIONS_PER_CALL / operations, GATES_PER_CALL / n_rules)
        # Zeros are put back between calls: after every step.
        n_batches = 1 if self._plan.keep_zeros else max(1, int(n_batches))
        for first in range(0, len(rates), n_batches):
            last = min(first + n_batches, len(rates))
            yield Batches(
                rows=rows[first * size : last * size],
                size=size,
                rates=rates[first:last],
                gates=rule_gates(
                    (last - first, n_rules), self._plan.rule_dropout, self._gate_random
                ),
                first_step=self.n_steps,
            )


class Best:
    """The parameters with the lowest validation loss so far."""

    def __init__(self) -> None:
        self.parameters: Parameters | None = None
        self.loss = math.inf
        self.epoch = 0

    def consider(self, epoch: int, loss: float, parameters: Parameters) -> None:
        if loss < self.loss:
            self.epoch, self.loss, self.parameters = epoch, loss, parameters.copy()


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


def mean_loss(network: Network, rows: Rows, chosen: np.ndarray, engine: Engine) -> float:
    """Weighted mean loss over the rows with the given numbers."""
    total = 0.0
    for start in range(0, len(chosen), VALIDATION_CHUNK):
        some = rows.take(chosen[start : start + VALIDATION_CHUNK])
        outputs = engine.decide(network, some.X) + network.intercept
        losses, _ = rows.task.loss.evaluate(outputs, some.loss_targets)
        total += float(some.training_weights @ losses)
    return total / float(rows.training_weights[chosen].sum(dtype=np.float64))


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
