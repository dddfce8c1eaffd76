"""Counterfactuals: the smallest change of one row that gives it another prediction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import scipy  # its parts load when they are used

from neuralrules._counterfactual._choices import (
    as_float,
    check_pair,
    promised_ways,
    read_choices,
    read_options,
)
from neuralrules._counterfactual._program import Goal
from neuralrules._counterfactual._row import cell_text
from neuralrules._counterfactual._solve import (
    NO_ROW,
    TOLERANCE,
    Change,
    Deadline,
    Found,
    Problem,
    Wanted,
    search,
)
from neuralrules._data._restrictions import Restrictions
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._fitted import Fitted
from neuralrules._io._checks import check_whole, import_pandas
from neuralrules._network._network import Network
from neuralrules._reading._notation import number
from neuralrules._task._task import chosen_classes

LEAST = 1e-6  # probabilities nearer to 0 or 1 lose the digits that a proof needs
SAME = 1e-5  # a cost that exceeds the bound by at most this share does so by rounding only


@dataclass(frozen=True, eq=False, repr=False)
class Counterfactual:
    """The smallest change of a row that changes its prediction, as far as the search knows.

    Attributes
    ----------
    x : frame or ndarray of shape (1, n_columns), or None
        The changed row, in the form in which the user gave the row; None if none was found.
    changes : tuple of Change
        The cells that differ, the most expensive change first.
    cost : float
        The sum of the costs of the changes; infinite if no row was found.
    bound : float
        No counterfactual costs less than this; infinite if there is no counterfactual.
    optimal : bool
        Whether the search ended with a proof. If a row was found, the proof says that no
        counterfactual is cheaper by more than 0.1 %. If no row was found, the proof says that
        no counterfactual is in reach.
    found : bool
    prediction_before, prediction_after : object
        What the model predicts for the row and for `x`; `prediction_after` is None if no row
        was found.
    seconds : float
        How long the search took.
    probability_of : object
        The class whose probability the user asked for, if any.
    probability_before, probability_after : float or None
        The probability of this class.
    others : tuple of Counterfactual
        Further answers, if the user asked for several. For every earlier answer, a further
        answer leaves at least one of the columns unchanged that the earlier answer changed. It
        is the smallest such change. If there are fewer answers than the user asked for, the
        last one is not `found`, and its `optimal` says whether this is proven.
    """

    x: Any
    changes: tuple[Change, ...]
    cost: float
    bound: float
    optimal: bool
    found: bool
    prediction_before: Any
    prediction_after: Any
    seconds: float
    probability_of: Any = None
    probability_before: float | None = None
    probability_after: float | None = None
    others: tuple[Counterfactual, ...] = ()

    def to_frame(self) -> Any:
        """The changes as a pandas frame with the columns column, before, after and cost."""
        pd = import_pandas("to_frame")
        names = ["column", "before", "after", "cost"]
        cells = [[getattr(change, name) for name in names] for change in self.changes]
        return pd.DataFrame(cells, columns=names)

    def __str__(self) -> str:
        others = [other._sentence(first=False) for other in self.others]
        return "\n".join([self._sentence(), *others])

    def _sentence(self, *, first: bool = True) -> str:
        """The answer in words. If not `first`, the text calls it another answer."""
        what, digits = "prediction", 6
        before, after = self.prediction_before, self.prediction_after
        if self.probability_before is not None:
            what, digits = f"probability of {cell_text(self.probability_of)}", 3
            before, after = self.probability_before, self.probability_after
        before, after = cell_text(before, digits), cell_text(after, digits)
        if not self.found:
            known = f", because none costs up to {number(self.bound, 3)}: proven."
            if np.isinf(self.bound):
                known = ", because there is none within the bounds: proven."
            elif not self.optimal:
                known = f" so far; every one costs at least {number(self.bound, 3)}."
            which = "counterfactual" if first else "other counterfactual"
            return f"No {which} for the {what} {before} was found{known}"
        parts = [str(change) for change in self.changes]
        listed = " and ".join([*([", ".join(parts[:-1])] if parts[1:] else []), parts[-1]])
        smallest = "smallest" if first else "smallest of the others"
        known = f"proven {smallest}"
        if self.optimal and self.bound < self.cost * (1 - SAME):
            known += f" to {100 * TOLERANCE:g} %"
        if not self.optimal:
            known = f"the {smallest} is at least {number(self.bound, 3)}"
        start = "Changing" if first else "Or changing"
        return (
            f"{start} {listed} turns the {what} from {before} into {after}. "
            f"Cost {number(self.cost, 3)} ({known})."
        )

    def __repr__(self) -> str:
        return f"<Counterfactual: {self}>"


def counterfactual(
    fitted: Fitted,
    table: Any,
    engine: Engine,
    target: Any,
    *,
    probability: Any,
    max_changes: int | None,
    n_answers: int,
    time_limit: float,
    restrictions: Restrictions | None,
    **options: Any,
) -> Counterfactual:
    """Find a counterfactual: `Answers.counterfactual` calls this with a checked table.

    See there for the parameters. `restrictions` are those that the model was trained under, and
    `options` are those that `read_options` takes.
    """
    if not isinstance(time_limit, Real) or not as_float(time_limit) > 0:
        raise ValueError(
            f"time_limit must be a positive number of seconds, got {time_limit!r}."
        )
    deadline = Deadline(as_float(time_limit))
    if max_changes is not None:
        check_whole("max_changes", max_changes, 1)
    check_whole("n_answers", n_answers, 1)
    asked = read_options(fitted.encoder, **options)
    if table.shape[0] != 1:
        raise ValueError(
            f"x must be one row, got {table.shape[0]} rows. Pass for example X.iloc[[0]], "
            f"X[:1] or a dict with the columns {fitted.encoder.names}."
        )
    columns = read_choices(fitted.encoder, table, asked)
    outputs = fitted.decide(table, engine)
    if probability is not None:
        wanted = wanted_probability(fitted, target, probability, outputs)
    else:
        read_target = wanted_classes if fitted.task.are_classes else wanted_range
        wanted = read_target(fitted, target, fitted.task.predictions(outputs)[0])
    for position, way in promised_ways(fitted, restrictions, wanted.goals).items():
        if position not in asked.directions:
            columns[position] = columns[position].going(way)
    problem = Problem.of(fitted, engine, table, columns, wanted, max_changes)
    answers: list[Counterfactual] = []
    for _ in range(n_answers):
        known = answers[-1].bound if answers else 0.0
        found = search(problem, deadline, known)
        answers.append(answer_of(problem, found, deadline.elapsed()))
        if not answers[-1].found:
            break
        problem = problem.excluding(found.best.positions)
        deadline = Deadline(as_float(time_limit))
    return replace(answers[0], others=tuple(answers[1:]))


def answer_of(problem: Problem, found: Found, seconds: float) -> Counterfactual:
    """The answer for the user, from the result of a search that took some seconds."""
    best, of_class = found.best, problem.wanted.of_class
    before, probability = problem.predicted(problem.table)
    return Counterfactual(
        x=best.table,
        changes=best.changes,
        cost=best.cost,
        bound=found.bound,
        optimal=found.proven,
        found=best is not NO_ROW,
        prediction_before=before,
        prediction_after=best.prediction,
        seconds=seconds,
        probability_of=None if of_class is None else problem.fitted.task.labels[of_class],
        probability_before=probability,
        probability_after=best.probability,
    )


def wanted_probability(
    fitted: Fitted, target: Any, probability: Any, outputs: np.ndarray
) -> Wanted:
    """Read the parameter `probability` for a row with outputs (1, 1)."""
    task = fitted.task
    if not task.are_classes:
        raise ValueError(
            "probability is for classifiers. Ask a regressor for target=(low, high)."
        )
    if task.n_classes != 2 or not task.gives_probabilities:
        has = f"{task.n_classes} classes and loss={task.loss.name!r}"
        raise ValueError(
            f"probability needs two classes and loss='logistic'; this model has {has}. "
            "Leave it out to ask for another class."
        )
    low, high = probability_range(probability)
    code = 1 - int(chosen_classes(outputs)[0])
    if target is not None:
        (code,) = codes_of(task.labels, target)
    now = float(task.probabilities(outputs)[0, code])
    if low <= now <= high:
        raise ValueError(
            f"probability={probability!r} holds already: that of class {task.labels[code]!r} "
            f"is {now:.6g} for the row. Ask for another range or target."
        )
    sign = 1 if code == 1 else -1
    need = np.array([sign if now < low else -sign])
    ends = scipy.special.logit(np.clip([[low], [high]], 0, 1))
    goal = range_goal(fitted.network, ends[0], ends[1], need, sign)
    return Wanted([goal], lambda chance: low <= chance <= high, code)


def probability_range(probability: Any) -> tuple[float, float]:
    """Read a smallest probability, or a pair (low, high); return two floats."""
    alone = isinstance(probability, Real) and not isinstance(probability, bool)
    try:
        low, high = check_pair("probability", (probability, None) if alone else probability)
    except ValueError:
        low = high = np.nan
    inside = [LEAST <= end <= 1 - LEAST for end in (low, high) if np.isfinite(end)]
    if not low < high or not inside or not all(inside):
        raise ValueError(
            "probability must be a number p, for at least p, or a pair (low, high) with "
            f"low < high, one of which may be None; all between {LEAST:g} and 1 - {LEAST:g}. "
            f"Got {probability!r}."
        )
    return low, high


def wanted_classes(fitted: Fitted, target: Any, before: Any) -> Wanted:
    """Read the class `target`, or None for any other class than `before`."""
    classes = fitted.task.labels
    if target is None:
        codes = [code for code, label in enumerate(classes) if label != before]
    else:
        codes = codes_of(classes, target)
    if target is not None and target == before:
        raise ValueError(
            f"target={target!r} is what the model predicts for the row already. Ask for "
            f"another of its classes {classes}, or leave target out."
        )
    goals = [class_goal(fitted.network, code, classes.index(before)) for code in codes]
    labels = [classes[code] for code in codes]
    return Wanted(goals, lambda prediction: prediction in labels)


def codes_of(classes: list[Any], target: Any) -> list[int]:
    """The position of the class that a target names, as a list."""
    codes = [code for code, label in enumerate(classes) if is_class(label, target)]
    if not codes:
        raise ValueError(f"target={target!r} is none of the model's classes {classes}.")
    return codes


def is_class(label: Any, target: Any) -> bool:
    """Whether a target is the class `label`: false for arrays, or if == has no truth value."""
    try:
        return np.ndim(target) == 0 and bool(label == target)
    except (TypeError, ValueError):
        return False


def class_goal(network: Network, code: int, before: int) -> Goal:
    """The condition under which `predict` chooses the class `code` instead of `before`.

    Among equal outputs, the first wins.
    """
    values, intercept = network.values.T.astype(float), network.intercept
    if len(values) == 1:  # two classes: the second one if the output is positive
        sign = 1 if code == 1 else -1
        strict, widths, need = np.array([code == 1]), np.array([np.inf]), np.array([sign])
        return Goal(sign * values, sign * intercept, strict, widths, need)
    places = np.arange(len(values))
    others = places[places != code]
    return Goal(
        gains=values[code] - values[others],
        constants=intercept[code] - intercept[others],
        strict=others < code,
        widths=np.full(len(others), np.inf),
        need=(places == code).astype(int) - (places == before),
    )


def wanted_range(fitted: Fitted, target: Any, before: Any) -> Wanted:
    """Read the pair (low, high) of each target for a row whose prediction is `before`."""
    n_outputs, loss = fitted.network.n_outputs, fitted.task.loss
    given = [target] if n_outputs == 1 else target
    if not isinstance(given, list | tuple) or len(given) != n_outputs:
        raise ValueError(
            f"target must be a list of {n_outputs} pairs (low, high), one for each target of "
            f"the regressor; got {target!r}."
        )
    pairs = np.array([check_pair("target", pair) for pair in given])
    for pair, (low, high) in zip(given, pairs, strict=True):
        if low == high:
            raise ValueError(
                f"target must be a range with low < high, got {pair!r}: predictions are made "
                "in float32 and meet a single number only by chance. Ask for a range around "
                "it, or give None where there is no bound."
            )

    def accepts(prediction: Any) -> bool:
        value = np.atleast_1d(prediction)
        return bool(((pairs[:, 0] <= value) & (value <= pairs[:, 1])).all())

    if accepts(before):
        raise ValueError(
            f"target={target!r} holds already: the model predicts {before.tolist()} for the "
            "row. Ask for another range."
        )
    low, high = loss.link.inverse(pairs).T
    for pair, lowest, highest in zip(given, low, high, strict=True):
        if lowest == np.inf or highest == -np.inf:
            raise ValueError(
                f"target must be a range that predictions can reach, got {pair!r}: with "
                f"loss={loss.name!r} they are {loss.link.range_words}. Ask for another range."
            )
    now = np.atleast_1d(before)
    need = (now < pairs[:, 0]).astype(int) - (now > pairs[:, 1])
    return Wanted([range_goal(fitted.network, low, high, need)], accepts)


def range_goal(
    network: Network, low: np.ndarray, high: np.ndarray, need: np.ndarray, sign: int = 1
) -> Goal:
    """The condition that outputs times `sign` lie between `low` and `high`, (n_outputs,).

    These bounds may be infinite.
    """
    values, intercept = sign * network.values.T.astype(float), sign * network.intercept
    gains = np.concatenate([values, -values])
    constants = np.concatenate([intercept - low, high - intercept])
    bounded = np.isfinite(constants)
    strict, widths = np.zeros(bounded.sum(), bool), np.tile(high - low, 2)[bounded]
    return Goal(gains[bounded], constants[bounded], strict, widths, need)
