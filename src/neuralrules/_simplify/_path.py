"""A path of smaller and smaller models, and the choice of the smallest that is good enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._lineage import SIMPLIFIED
from neuralrules._fitted._performance import unexplained_of_each
from neuralrules._fitting._settings import Settings
from neuralrules._io._checks import check_position, import_pandas
from neuralrules._io._progress import ProgressLine
from neuralrules._io._warn import warn
from neuralrules._network._constraints import Constraints
from neuralrules._network._network import Network
from neuralrules._network._restricted import restricted
from neuralrules._rules._rules import Rules
from neuralrules._simplify._pruning import around_frozen, drop_idle, free_part, prune
from neuralrules._task._task import chosen_classes
from neuralrules._training._training import Plan, State, train

# Each step removes the share SHARE of the parameters, or LARGE_SHARE while there are more than
# LARGE parameters.
SHARE = 0.2
LARGE, LARGE_SHARE = 20_000, 0.5
# After each step the network is trained for at least EPOCHS epochs and UPDATES Adam steps, at
# the share RATE of the model's learning rate.
EPOCHS = 30
UPDATES = 500
RATE = 0.3
# The path ends when at most the share SMALLEST of the parameters, and at most FEW, are left.
SMALLEST = 0.03
FEW = 300
# The share of a model's gain over a constant that `simplify` may give up. For two classes of
# equal size that the model separates well, this is a log loss of about 0.013.
TOLERANCE = 0.02
# The share of the rows that a twin is not fitted on. The twin is measured on these rows.
VALIDATION_SHARE = 0.2


class Losses(NamedTuple):
    """A network's mean loss and error on some rows, and the standard error of the error."""

    loss: float
    error: float
    error_se: float


class Step(NamedTuple):
    """One model of a path from the whole model to the smallest.

    Its `network` is for standardised targets. Its losses are measured on the rows `given`,
    which it is trained on, and on `validation` rows, which it has not seen.
    """

    network: Network
    rules: Rules
    given: Losses
    validation: Losses


class ConstantLosses(NamedTuple):
    """The mean losses of the best constant prediction for the rows that a model is trained on.

    They are measured on these rows (`given`), and on rows that the model has not seen.
    """

    given: float
    validation: float


@dataclass(frozen=True, eq=False, repr=False)
class SimplificationPath:
    """Models of falling size, from a whole model to a few percent of its parameters.

    Step 0 is the model as it is. Step 1 drops only rules and literals that never mattered on
    the rows given. Each further step removes about a fifth of the parameters (half of them
    while there are more than 20,000), and the rest is trained again.

    Attributes
    ----------
    steps : tuple of Step
    origin : Fitted
        The model that the path began with.
    constant : ConstantLosses
        The losses of the best constant. A model's gain is how far its loss is below these.
    """

    steps: tuple[Step, ...]
    origin: Fitted
    constant: ConstantLosses
    _rows: Rows
    _engine: Engine
    _estimator_of: Callable[[Fitted], Any]

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
        sizes = ["n_rules", "n_literals", "n_parameters"]
        sizes_of = attrgetter(*sizes)
        table = [
            (*sizes_of(step.network), step.given.loss, *step.validation) for step in self.steps
        ]
        columns = [*sizes, "loss", "validation_loss", "error", "error_se"]
        return pandas.DataFrame(table, columns=columns).rename_axis("step")

    def within(self, tolerance: float) -> int:
        """The smallest step that gives up no more than a share of the model's gain.

        The gain is the loss of the best constant minus the loss of the model. The loss of a
        step may exceed the loss of the model by `tolerance` times the gain. This must hold on
        the rows given and on the rows that the model has not seen.
        """
        check_tolerance(tolerance)
        first, constant = self.steps[0], self.constant
        given = highest_loss(first.given.loss, constant.given, tolerance, "the rows given")
        unseen = highest_loss(
            first.validation.loss, constant.validation, tolerance, "rows that it has not seen"
        )
        return self._smallest(
            lambda step: step.given.loss <= given and step.validation.loss <= unseen
        )

    def knee(self) -> int:
        """The smallest step whose error is within one standard error of the lowest."""
        best = min((step.validation for step in self.steps), key=lambda losses: losses.error)
        return self._smallest(lambda step: step.validation.error <= best.error + best.error_se)

    def _smallest(self, good: Callable[[Step], bool]) -> int:
        """The number of the step with the fewest parameters among those that are good."""
        numbers = [number for number, step in enumerate(self.steps) if good(step)]
        return min(numbers, key=lambda number: self.steps[number].network.n_parameters)

    def model(self, step: int) -> Any:
        """The fitted estimator of a step.

        It is independent of the estimator that the path began with.
        """
        chosen = self.steps[check_position("step", step, len(self), "steps of this path")]
        network = chosen.network.without_unused_features()
        smaller = self.origin.with_network(network, chosen.rules, self._rows, self._engine)
        told = f"{self.origin.size_text} became {smaller.size_text}"
        n_rows = int(np.count_nonzero(self._rows.weights))
        return self._estimator_of(smaller.after(SIMPLIFIED, told, n_rows))


def highest_loss(loss: float, constant: float, tolerance: float, rows: str) -> float:
    """The highest loss that a step may have.

    If the model has no gain over the constant, this is the loss of the model itself.
    """
    if loss < constant:
        return loss + tolerance * (constant - loss)
    warn(
        f"On {rows} this model predicts no better than a constant: its loss is {loss:.4g}, "
        f"that of the best constant {constant:.4g}. There is no gain to give up a share of, so "
        "the smallest model is taken that is not worse there. Rather than simplify it, train "
        "it on more rows or other columns."
    )
    return loss


def check_tolerance(tolerance: Any) -> None:
    """Refuse a tolerance that is not a number of at least 0."""
    number = isinstance(tolerance, Real) and not isinstance(tolerance, bool)
    if not number or not tolerance >= 0:
        raise ValueError(
            f"tolerance={tolerance!r} must be a number of at least 0: the share of its gain "
            "over a constant that a model may give up. For example tolerance=0.02."
        )


def simplification_path(
    fitted: Fitted,
    given: Rows,
    validation: Rows | None,
    *,
    fit_twin: Callable[[np.ndarray], tuple[Fitted, Rows]],
    settings: Settings,
    estimator_of: Callable[[Fitted], Any],
) -> SimplificationPath:
    """Prune and train a model step by step, and measure it on rows that it has not seen.

    Without `validation`, the model may have seen all rows. Then a twin is fitted without a
    fifth of the rows and pruned in the same way. The losses of the twin's steps on this fifth
    stand for the validation losses of the model's steps.

    `fit_twin` takes the indices of some rows and fits a model like this one on these rows. It
    returns the new model, and all of `given` as the new model encodes it. `estimator_of` makes
    the estimator of a step from its fitted model.
    """
    engine, random_state = settings.new_engine(), check_random_state(settings.random_state)
    steps_of = partial(walk, settings=settings, engine=engine, random_state=random_state)
    with PathProgress(shown=bool(settings.verbose)) as bar:
        if validation is not None:
            seen, unseen = given, validation
            steps = tuple(map(bar.passing, steps_of(fitted, given, unseen)))
        else:
            rest, held = held_out(given, random_state)
            bar.begin("fitting a twin without a fifth of the rows, to measure on them")
            twin, rows = fit_twin(rest)
            seen, unseen = rows.take(rest), rows.take(held)
            own, measured = steps_of(fitted, given, given), steps_of(twin, seen, unseen)
            steps = tuple(
                mine._replace(validation=theirs.validation)
                for mine, theirs in zip(map(bar.passing, own), measured, strict=False)
            )
    constant = ConstantLosses(
        given.mean_loss(given.best_constant()), unseen.mean_loss(seen.best_constant())
    )
    return SimplificationPath(steps, fitted, constant, given, engine, estimator_of)


class PathProgress(ProgressLine):
    """The progress bar of a path, which shows how many rules and parameters are left.

    Each step removes a share of the parameters, so progress is measured by their logarithm.
    """

    _n_steps = 0
    _whole = 1

    def passing(self, step: Step) -> Step:
        """Show a step that has been made, and pass it on."""
        n_rules, left = step.network.n_rules, step.network.n_parameters
        if not self._n_steps:
            self._whole = max(left, 1)
        smallest = smallest_size(self._whole)
        done = math.log(self._whole / max(left, 1)) / math.log(self._whole / smallest)
        text = f"step {self._n_steps} · {n_rules} rules and {left} of {self._whole} parameters"
        self._n_steps += 1
        if done > 0:
            self.show(min(done, 1.0), f"{text} left")
        return step


def held_out(rows: Rows, random_state: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the rows to fit a twin on, and of the rows to measure the twin on.

    The rows to measure on contain the same share of each class.
    """
    counted = np.flatnonzero(rows.training_weights)
    groups = rows.codes[counted] if rows.task.are_classes else counted * 0
    members = [
        random_state.permutation(counted[groups == group]) for group in np.unique(groups)
    ]
    held = [own[: int(VALIDATION_SHARE * len(own))] for own in members]
    validation = np.sort(np.concatenate(held))
    if not validation.size:
        raise ValueError(
            f"X has {len(counted)} rows, too few to hold a fifth of each class out. "
            "Give rows to measure on as X_val and y_val."
        )
    return np.setdiff1d(counted, validation), validation


def walk(
    fitted: Fitted,
    given: Rows,
    validation: Rows,
    settings: Settings,
    engine: Engine,
    random_state: np.random.RandomState,
) -> Iterator[Step]:
    """The steps from the whole model to the smallest, measured on `given` and `validation`."""
    network, rules = fitted.state.network, fitted.rules

    def step() -> Step:
        losses = (mean_losses(network, rows, engine) for rows in (given, validation))
        return Step(network, rules, *losses)

    yield step()
    whole, weights = network.n_parameters, given.training_weights
    plan = settings.plan(given.task, int(np.count_nonzero(weights)))
    restrictions = settings.restrictions(fitted.encoder, fitted.task)
    directions = None if restrictions is None else restrictions.directions

    def without_idle(free: Network) -> tuple[Network, np.ndarray]:
        return drop_idle(free, given.X, weights, directions)

    def shrunk(free: Network) -> tuple[Network, np.ndarray]:
        share = LARGE_SHARE if network.n_parameters > LARGE else SHARE
        smaller, kept = prune(free, given.X, weights, share)
        smaller, still = without_idle(smaller)
        return smaller, kept[still]

    # The user may have added restrictions since the fit.
    network = restricted(network, restrictions, rules.frozen)
    network, kept = around_frozen(network, rules, without_idle)
    rules = rules.take(kept)
    yield step()
    # The path also ends when no free rule has a weight left. Rules without weights add a
    # constant. Pruning moves this constant to the intercept, and training would move it back.
    while network.n_parameters > smallest_size(whole) and free_part(network, rules).any():
        smaller, kept = around_frozen(network, rules, shrunk)
        if smaller.n_parameters >= network.n_parameters:
            return
        rules = rules.take(kept)
        limits = Constraints.keep_zeros(smaller).within(smaller, restrictions)
        limits = limits.freezing(smaller, rules.frozen)
        network = trained(smaller, given, plan, engine, random_state, limits)
        yield step()


def smallest_size(whole: int) -> float:
    """The number of parameters at which a path ends."""
    return min(SMALLEST * whole, FEW)


def trained(
    network: Network,
    rows: Rows,
    plan: Plan,
    engine: Engine,
    random_state: np.random.RandomState,
    limits: Constraints,
) -> Network:
    """Train what is left of a network, within some limits."""
    order = np.flatnonzero(rows.training_weights).astype(np.int32)
    n_batches = math.ceil(len(order) / plan.batch_size)
    plan = replace(
        plan,
        n_epochs=max(EPOCHS, math.ceil(UPDATES / n_batches)),
        schedule="cosine",
        learning_rate=RATE * plan.learning_rate,
        verbose=False,
    )
    start, none = State.start(network), order[:0]
    outcome = train(start, rows, order, none, plan, engine, random_state, limits)
    if outcome.interrupted:
        raise KeyboardInterrupt
    return outcome.state.network


def mean_losses(network: Network, rows: Rows, engine: Engine) -> Losses:
    """The mean loss and the error of a network for standardised targets."""
    outputs = engine.decide(network, rows.X) + network.intercept
    weights = rows.weights.astype(np.float64)
    if rows.task.are_classes:
        errors = (chosen_classes(outputs) != rows.codes).astype(np.float64)
    else:
        predicted = rows.task.loss.link.predictions(outputs)
        errors = unexplained_of_each(predicted, rows.targets.astype(np.float64), weights)
    error = np.average(errors, weights=weights)
    with np.errstate(over="ignore"):  # squares of very large errors
        variance = np.average((errors - error) ** 2, weights=weights)
    return Losses(
        loss=rows.mean_loss(outputs),
        error=float(error),
        error_se=float(np.sqrt(variance * (weights**2).sum()) / weights.sum()),
    )
