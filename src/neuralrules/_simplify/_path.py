"""Smaller models: error against size, and the smallest one that is good enough."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted

from neuralrules._engine._protocol import Examples
from neuralrules._fitted._outputs import chosen_classes
from neuralrules._io._frames import import_pandas
from neuralrules._network._constraints import Constraints
from neuralrules._network._network import Network
from neuralrules._rules._rules import Rules
from neuralrules._simplify._pruning import drop_idle, prune
from neuralrules._task._losses import expand_codes, loss_code, losses_and_slopes
from neuralrules._task._targets import Targets
from neuralrules._training._training import State, train

if TYPE_CHECKING:
    from neuralrules._estimators._base import NeuralRuleModel

SHARE = 0.2  # of the parameters, taken out in one step
EPOCHS = 30  # of training after each step, at least, and
UPDATES = 500  # of the parameters
RATE = 0.3  # of the model's learning rate, in them
SMALLEST = 0.03  # of the parameters: where a path ends
VALIDATION_SHARE = 0.2  # of the rows, to measure on


class Rows(NamedTuple):
    """Encoded rows with their targets and weights.

    Attributes
    ----------
    X : (n_rows, n_columns) float32
    targets : Targets
    weights : (n_rows,) float32
        What each row counts.
    training_weights : (n_rows,) float32
        What it counts in training and in the loss: a class may count more.
    """

    X: np.ndarray
    targets: Targets
    weights: np.ndarray
    training_weights: np.ndarray

    def take(self, rows: np.ndarray) -> Rows:
        return Rows(
            self.X[rows],
            self.targets.take(rows),
            self.weights[rows],
            self.training_weights[rows],
        )


class Loss(NamedTuple):
    """Mean loss and error of a network on some rows, and the error's standard error."""

    loss: float
    error: float
    error_se: float


class Step(NamedTuple):
    """One model on the way from the whole to the smallest.

    Attributes
    ----------
    network : Network
        In units of standardised targets.
    rules : Rules
    given : Loss
        On the rows that the network is trained on.
    validation : Loss
        On rows that it has not seen.
    """

    network: Network
    rules: Rules
    given: Loss
    validation: Loss


@dataclass(frozen=True, eq=False, repr=False)
class SimplificationPath:
    """Models of falling size, from the one given to a few percent of it.

    Step 0 is the model as it is; step 1 has lost only what never mattered on the rows
    given; each further step loses a fifth of its parameters and is trained again.

    Attributes
    ----------
    steps : tuple of Step
    """

    steps: tuple[Step, ...]
    _model: NeuralRuleModel
    _rows: Rows

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        sizes = [step.network.n_parameters for step in self.steps]
        return f"SimplificationPath({len(sizes)} steps, {sizes[0]} to {sizes[-1]} parameters)"

    def to_frame(self) -> Any:
        """Size, losses and error of each step, as a pandas frame.

        Returns
        -------
        DataFrame
            ``n_rules``, ``n_literals`` and ``n_parameters`` (other than zero);
            ``loss`` on the rows given; ``validation_loss``, ``error`` and its standard
            error ``error_se`` on rows that the models have not seen. The error is the
            share of wrong classes or, for a regression, of unexplained variance.
        """
        pandas = import_pandas("to_frame")
        table = [
            {
                "n_rules": step.network.n_rules,
                "n_literals": step.network.n_literals,
                "n_parameters": step.network.n_parameters,
                "loss": step.given.loss,
                "validation_loss": step.validation.loss,
                "error": step.validation.error,
                "error_se": step.validation.error_se,
            }
            for step in self.steps
        ]
        return pandas.DataFrame(table).rename_axis("step")

    def within(self, tolerance: float) -> int:
        """The smallest step that loses no more than `tolerance` on either kind of rows."""
        check_tolerance(tolerance)
        first = self.steps[0]
        good = [
            number
            for number, step in enumerate(self.steps)
            if step.given.loss <= first.given.loss + tolerance
            and step.validation.loss <= first.validation.loss + tolerance
        ]
        return min(good, key=lambda number: self.steps[number].network.n_parameters)

    def knee(self) -> int:
        """The smallest step whose error is within one standard error of the lowest."""
        errors = [step.validation.error for step in self.steps]
        best = self.steps[int(np.argmin(errors))].validation
        good = [n for n, error in enumerate(errors) if error <= best.error + best.error_se]
        return min(good, key=lambda number: self.steps[number].network.n_parameters)

    def model(self, step: int) -> Any:
        """The fitted estimator of a step, independent of the one the path began with."""
        if not isinstance(step, Integral) or not 0 <= step < len(self.steps):
            raise ValueError(
                f"step={step!r} is not one of the {len(self.steps)} steps of this path. "
                f"Give a number from 0 to {len(self.steps) - 1}."
            )
        network = self.steps[step].network.without_unused_features()
        smaller = copy.copy(self._model)
        smaller.rules_ = self.steps[step].rules
        smaller._state = State.start(network)
        smaller.network_ = network.in_target_units(smaller._target_mean, smaller._target_scale)
        smaller._remember(*self._rows[:3])
        return smaller


def check_tolerance(tolerance: Any) -> None:
    """Refuse what is not a number of at least 0."""
    number = isinstance(tolerance, Real) and not isinstance(tolerance, bool)
    if not number or not tolerance >= 0:
        raise ValueError(
            f"tolerance={tolerance!r} must be a number of at least 0: by how much the mean "
            "loss may grow. For example tolerance=0.01."
        )


def simplify(
    model: NeuralRuleModel, X: Any, y: Any, *, tolerance: float, **options: Any
) -> NeuralRuleModel:
    """The smallest model of the path that loses no more than `tolerance`."""
    check_tolerance(tolerance)
    path = simplification_path(model, X, y, **options)
    return path.model(path.within(float(tolerance)))


def simplification_path(
    model: NeuralRuleModel,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    X_val: Any = None,
    y_val: Any = None,
) -> SimplificationPath:
    """Prune and train a model step by step, measuring it on rows it has not seen.

    Without `X_val` there are no such rows: the model may have seen all of X. Then a
    twin is fitted without a fifth of the rows and pruned beside the model; what it
    loses on them says what the model, pruned as far, would lose. The model itself
    stays as it is.
    """
    check_is_fitted(model)
    if (X_val is None) != (y_val is None):
        raise ValueError("X_val and y_val belong together: give both or neither.")
    random_state = check_random_state(model.random_state)
    given = encoded_rows(model, X, y, sample_weight)
    if X_val is not None:
        validation = encoded_rows(model, X_val, y_val, None)
        steps = tuple(walk(model, given, validation, random_state))
        return SimplificationPath(steps, model, given)
    rest, held = held_out(given, random_state)
    weights = None if sample_weight is None else given.weights[rest]
    twin = fitted_twin(model, X, y, weights, rest)
    # The twin has an encoding of its own.
    rows = encoded_rows(twin, X, y, sample_weight)
    shown = walk(twin, rows.take(rest), rows.take(held), random_state)
    own = walk(model, given, given, random_state)
    steps = tuple(
        mine._replace(validation=theirs.validation)
        for mine, theirs in zip(own, shown, strict=False)
    )
    return SimplificationPath(steps, model, given)


def held_out(rows: Rows, random_state: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Rows to fit a twin on and rows to measure it on, the same share of each class."""
    counted = np.flatnonzero(rows.training_weights)
    groups = rows.targets.array[counted, 0] if rows.targets.are_classes else counted * 0
    held: list[np.ndarray] = []
    for group in np.unique(groups):
        members = random_state.permutation(counted[groups == group])
        held.append(members[: int(VALIDATION_SHARE * len(members))])
    validation = np.sort(np.concatenate(held))
    if not validation.size:
        raise ValueError(
            f"X has {len(counted)} rows, too few to hold a fifth of each class out. "
            "Give rows to measure on as X_val and y_val."
        )
    return np.setdiff1d(counted, validation), validation


def fitted_twin(
    model: NeuralRuleModel, X: Any, y: Any, weights: np.ndarray | None, rows: np.ndarray
) -> NeuralRuleModel:
    """A model like this one, fitted on some of the rows, whose weights are given."""
    twin = model._unfitted_twin()
    twin.fit(_safe_indexing(X, rows), _safe_indexing(y, rows), weights)
    if twin.interrupted_:
        raise KeyboardInterrupt
    return twin


def encoded_rows(model: NeuralRuleModel, X: Any, y: Any, sample_weight: Any) -> Rows:
    X = model._check_columns(X, reset=False)
    targets, weights = model._check_targets(X, y, sample_weight, known=True)
    training_weights = model._training_weights(targets, weights)
    return Rows(model.encoder_.transform(X), targets, weights, training_weights)


def walk(
    model: NeuralRuleModel, given: Rows, validation: Rows, random_state: np.random.RandomState
) -> Iterator[Step]:
    """Steps from the whole model down, measured on both kinds of rows."""
    network, rules = model._state.network, model.rules_

    def step() -> Step:
        losses = (mean_losses(model, network, rows) for rows in (given, validation))
        return Step(network, rules, *losses)

    yield step()
    whole = network.n_parameters
    network, kept = drop_idle(network, given.X, given.training_weights)
    rules = rules.take(kept)
    yield step()
    while network.n_parameters > SMALLEST * whole:
        smaller, kept = prune(network, given.X, given.training_weights, SHARE)
        smaller, still = drop_idle(smaller, given.X, given.training_weights)
        if smaller.n_parameters >= network.n_parameters:
            return
        network, rules = trained(model, smaller, given, random_state), rules.take(kept[still])
        yield step()


def trained(
    model: NeuralRuleModel, network: Network, rows: Rows, random_state: np.random.RandomState
) -> Network:
    """Train what is left of a network; zeros stay zero."""
    weights = rows.training_weights
    order = np.flatnonzero(weights).astype(np.int32)
    plan = model._plan(rows.targets, len(order), EPOCHS, "cosine")
    n_batches = math.ceil(len(order) / plan.batch_size)
    plan = replace(
        plan,
        n_epochs=max(EPOCHS, math.ceil(UPDATES / n_batches)),
        learning_rate=RATE * plan.learning_rate,
        patience=None,
        verbose=False,
    )
    outcome = train(
        State.start(network),
        Examples(rows.X, rows.targets.array, weights, rows.targets.are_classes),
        order,
        order[:0],
        plan,
        model._engine(),
        random_state,
        Constraints.keep_zeros(network),
    )
    if outcome.interrupted:
        raise KeyboardInterrupt
    return outcome.state.network


def mean_losses(model: NeuralRuleModel, network: Network, rows: Rows) -> Loss:
    """Mean loss and error of a network in units of standardised targets."""
    outputs = model._engine().decide(network, rows.X)
    y = rows.targets.array.astype(np.float64)
    code = loss_code(model.loss, multiclass=rows.targets.n_classes > 2)
    coded = expand_codes(y[:, 0], network.n_outputs) if rows.targets.are_classes else y
    losses, _ = losses_and_slopes(code, outputs, coded)
    if rows.targets.are_classes:
        errors = (chosen_classes(outputs) != y[:, 0]).astype(np.float64)
    else:
        spread = np.average((y - np.average(y, 0, rows.weights)) ** 2, 0, rows.weights)
        errors = ((outputs - y) ** 2 / np.where(spread > 0, spread, 1)).mean(axis=1)
    weights = rows.weights.astype(np.float64)
    error = np.average(errors, weights=weights)
    variance = np.average((errors - error) ** 2, weights=weights)
    return Loss(
        loss=float(np.average(losses, weights=rows.training_weights)),
        error=float(error),
        error_se=float(np.sqrt(variance * (weights**2).sum()) / weights.sum()),
    )
