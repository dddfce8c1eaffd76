"""A fitted model as a value: everything that was learned, without the parameters of the fit."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from neuralrules._data._encoder import Encoder
from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Decider, Engine
from neuralrules._fitted._activity import Activity, measure
from neuralrules._fitted._lineage import EDITED, ROUNDED, Event, counted, event, followed
from neuralrules._fitted._performance import Performance, perform
from neuralrules._network._network import Network, NetworkInUnits
from neuralrules._rules._rules import Rules
from neuralrules._task._task import Task
from neuralrules._training._training import State

# A model is measured on at most this many rows for each epoch: more would take longer than the
# training itself.
READ_ROWS_PER_EPOCH = 2_000


@dataclass(frozen=True, eq=False, repr=False)
class Fitted:
    """A fitted model. Everything that reads, draws, exports or saves a model takes a `Fitted`.

    `activity` says what the rules do on the training rows, or on a sample of them, and
    `performance` how good the model is on the same rows. For a rounded model, these are the
    rows that it was rounded on.
    """

    estimator: str  # the name of the class that was fitted
    encoder: Encoder
    rules: Rules  # the trees' rules that the neural rules grew from
    task: Task
    state: State  # the network for standardised targets, and how far its training is
    history: dict[str, list[float]]  # losses of each epoch
    n_epochs: int  # epochs that were completed
    interrupted: bool  # whether Ctrl-C ended training
    activity: Activity
    performance: Performance
    notes: dict[str, list[str]] = field(default_factory=dict)  # of the program that fitted
    lineage: tuple[Event, ...] = ()  # what was done to the model since it grew

    @cached_property
    def network(self) -> NetworkInUnits:
        """The neural rules in the units of the targets."""
        return in_target_units(self.state.network, self.task)

    @property
    def remembers_a_sample(self) -> bool:
        """Whether `activity` and `performance` may come from only some of the training rows."""
        sampled = self.performance.n_rows == READ_ROWS_PER_EPOCH * max(self.n_epochs, 1)
        return sampled and not self.was_rounded

    @property
    def was_rounded(self) -> bool:
        """Whether the rows of `activity` are those of `round_numbers` and not of training.

        Editing measures nothing, so the last event that is not an edit counts.
        """
        measured = [event.what for event in self.lineage if event.what != EDITED]
        return measured[-1:] == [ROUNDED]

    @property
    def rows_name(self) -> str:
        """What to call the rows of `activity` and `performance`."""
        return "rows it was rounded on" if self.was_rounded else "training rows"

    @property
    def why_no_rows(self) -> str:
        """Why a model remembers no training rows, for error messages."""
        edited = any(event.what == EDITED for event in self.lineage)
        return "edited" if edited or self.rules.grew else "read from text"

    @property
    def used_columns(self) -> list[int]:
        """Places of the user's columns on which some weight is not zero, ascending."""
        network = self.network
        used = network.features[network.weights.any(axis=0)]
        return sorted({self.encoder.columns[feature].source for feature in used})

    def decide(self, X: Any, engine: Decider) -> np.ndarray:
        """Outputs of the network for a checked table, (n_rows, n_outputs) float64."""
        outputs = np.empty((X.shape[0], self.network.n_outputs))
        for start, stop, encoded in self.encoder.chunks(X):
            outputs[start:stop] = engine.decide(self.network, encoded)
        return outputs + self.network.intercept

    def predict(self, X: Any, engine: Engine) -> np.ndarray:
        """Labels or numbers for a checked table."""
        return self.task.predictions(self.decide(X, engine))

    def after(self, what: str, summary: str, n_rows: int = 0) -> Fitted:
        """The same model with one more event in its lineage."""
        return replace(self, lineage=followed(self.lineage, event(what, summary, n_rows)))

    @property
    def size_text(self) -> str:
        """How many rules and literals the model has, in words."""
        network = self.network
        return f"{counted(network.n_rules, 'rule')}, {counted(network.n_literals, 'literal')}"

    def with_network(
        self, network: Network, rules: Rules, rows: Rows, engine: Engine
    ) -> Fitted:
        """The same model with another network, which is measured on some rows.

        `network` is for standardised targets. Its training starts anew.
        """
        shown = in_target_units(network, self.task)
        return replace(
            self,
            state=State.start(network),
            rules=rules,
            activity=measure(shown, rules, rows, engine),
            performance=perform(shown, rows, engine),
        )


def in_target_units(network: Network, task: Task) -> NetworkInUnits:
    """The network with outputs in the units of the targets, which are not standardised."""
    parts = {field.name: getattr(network, field.name) for field in fields(network)}
    parts["values"], parts["intercept"] = task.in_units(network.values, network.intercept)
    return NetworkInUnits(**parts)


def remembered_rows(rows: Rows, n_epochs: int) -> Rows:
    """The training rows to measure a new model on.

    These are all rows, unless measuring them would take long compared with the training.
    Otherwise they are an evenly spaced sample. The weights of the sample are scaled so that
    they add up to those of all rows.
    """
    counted = np.flatnonzero(rows.weights)
    n_rows = min(len(counted), READ_ROWS_PER_EPOCH * max(n_epochs, 1))
    if n_rows == len(rows):
        return rows
    some = rows.take(counted[np.linspace(0, len(counted) - 1, n_rows).astype(int)])
    share = some.weights.sum(dtype=np.float64) / rows.weights.sum(dtype=np.float64)
    return replace(some, weights=(some.weights / share).astype(np.float32))
