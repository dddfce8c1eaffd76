"""Rules that were read from the text of `exact_text`: they predict, or become a fitted model.

`neuralrules._reading._exact` describes the form of the text. The text says nothing about the
rows that the model was fitted on. So the rules of a model that was read from text have no
leaves that they grew from, and the model remembers nothing about rows until it is fitted
further.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.utils.metaestimators import available_if

from neuralrules._data._categories import as_categories
from neuralrules._data._columns import Category, EncodedColumn, Missing, Number
from neuralrules._data._encoder import Encoder, coded, places_of
from neuralrules._data._markers import Markers
from neuralrules._data._numbers import check_finite
from neuralrules._data._table import check_table, column_of, is_frame
from neuralrules._fitted._activity import Activity
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._performance import BINS, Performance
from neuralrules._network._network import Network, starts
from neuralrules._rules._rules import Rules, unmeasured
from neuralrules._task._task import Task
from neuralrules._training._training import State

# Smaller weights would lose digits in float32, or become 0.
SMALLEST_WEIGHT = float(np.finfo(np.float32).tiny)


class Term(NamedTuple):
    """What a factor multiplies: a column's number, or one of its indicators."""

    column: str
    kind: str  # number, missing, category or rare; "scaled" for a number with knots
    category: str | None = None


# Factors and what they multiply: a term, the positive part of a literal by its number, or None
# for a constant.
Sum: TypeAlias = tuple[tuple[float, Term | int | None], ...]


class DeclaredColumn(NamedTuple):
    """How the text declares a column: the terms that rules may use, as encoded columns."""

    name: str
    terms: dict[Term, EncodedColumn]

    @property
    def number(self) -> Number | None:
        """The encoded column of a column of numbers; None for a column of categories."""
        first = next(iter(self.terms.values()))
        return first if isinstance(first, Number) else None

    @property
    def stand_in(self) -> float | None:
        """The number that replaces a missing number; None for a column of categories.

        In a scaled column this is the column's mean, but it replaces nothing: a missing number
        has the scaled number 0.
        """
        return None if self.number is None else self.number.mean

    def values(self, data: Any, markers: Markers) -> dict[Any, np.ndarray]:
        """The column's terms for some cells, each of shape (n_rows,)."""
        number = self.number
        if number is None:
            known = [one.category for one in self.terms.values() if isinstance(one, Category)]
            names = as_categories(data, markers.texts)[:, 0]
            cells = coded(names, places_of(known, markers))
            return {term: column.raw(cells) for term, column in self.terms.items()}
        numbers = number.read(data, self.name, markers)
        check_finite(numbers[:, None], [self.name])
        missing = np.isnan(numbers)
        if number.knots is None:
            filled = np.where(missing, number.mean, numbers)
        else:
            filled = np.nan_to_num(number.encoded(numbers))
        return dict(zip(self.terms, (filled, missing), strict=True))


class ParsedRule(NamedTuple):
    """A rule as parsed: its values, its literals and, if it is deep, its units."""

    values: np.ndarray
    literals: list[Sum]
    units: list[Sum] | None


def _gives_probabilities(rules: Any) -> bool:
    if not rules.task.gives_probabilities:
        raise AttributeError(
            "predict_proba needs loss='logistic'; these rules have "
            f"loss={rules.task.loss.name!r}."
        )
    return True


@dataclass(frozen=True, eq=False)
class ExactRules:
    """Rules read back from text; they predict what the model predicts.

    The sums of the text are evaluated in float64, one after the other. The result agrees with
    the model to the rounding of the model's float32.

    Attributes
    ----------
    task : Task
        For a regression, the centre is 0. The scale is that of the fit, or 1 if the text does
        not give it. Text labels have dtype object, because NumPy's strings lose NULs at their
        end.
    columns : list of DeclaredColumn
    intercept : ndarray of shape (n_outputs,), float64
    rules : list of ParsedRule
    named : bool or None
        Whether the columns' names are those of a frame. None if the text does not say.
    missing : tuple of str
        The texts that mean missing, besides empty cells.
    """

    task: Task
    columns: list[DeclaredColumn]
    intercept: np.ndarray
    rules: list[ParsedRule] = field(repr=False)
    named: bool | None = None
    missing: tuple[str, ...] = ()

    @property
    def classes(self) -> list[Any]:
        """Class labels; empty for a regression."""
        return self.task.labels

    @property
    def loss(self) -> str:
        """The name of the loss that the rules were trained with."""
        return self.task.loss.name

    @property
    def flat(self) -> bool:
        """Whether a regression predicts (n_rows,) and not (n_rows, n_targets)."""
        return self.task.flat and not self.task.are_classes

    def decision_function(self, X: Any) -> np.ndarray:
        """Intercept and sum of the rules.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,) for one output, else (n_rows, n_outputs)
        """
        outputs = self._decide(X)
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, (n_rows, n_classes), for ``loss="logistic"``."""
        return self.task.probabilities(self._decide(X))

    def predict(self, X: Any) -> np.ndarray:
        """Classes or numbers, in the same shape as the predictions of the model."""
        return self.task.predictions(self._decide(X))

    def _decide(self, X: Any) -> np.ndarray:
        """Intercept and sum of the rules, (n_rows, n_outputs) float64."""
        X = check_table(X)
        if X.shape[1] != len(self.columns):
            raise ValueError(
                f"X has {X.shape[1]} columns, but the rules were written for "
                f"{len(self.columns)}: {', '.join(column.name for column in self.columns)}."
            )
        terms: dict[Any, np.ndarray] = {None: np.ones(X.shape[0])}
        markers = Markers.of(self.missing)
        names = [str(name) for name in X.columns] if is_frame(X) else []
        for place, column in enumerate(self.columns):
            if names and column.name not in names:
                raise ValueError(f"X has no column {column.name!r}, which the rules name.")
            place_in_X = names.index(column.name) if names else place
            terms |= column.values(column_of(X, place_in_X), markers)
        outputs = np.zeros((X.shape[0], len(self.intercept)))
        for rule in self.rules:
            values = evaluate(rule.literals, terms)
            if rule.units is not None:
                values = evaluate(rule.units, terms | dict(enumerate(np.maximum(values, 0))))
            outputs += np.outer(np.maximum(values.min(axis=0), 0), rule.values)
        return outputs + self.intercept


def evaluate(sums: list[Sum], terms: dict[Any, np.ndarray]) -> np.ndarray:
    """The sums for every row, (n_sums, n_rows) float64; `terms` has each term's values."""
    values = np.zeros((len(sums), len(terms[None])))
    for place, summands in enumerate(sums):
        for factor, term in summands:
            values[place] += factor * terms[term]
    return values


def fitted_from_text(exact: ExactRules, estimator: str, *, named: bool) -> Fitted:
    """The model that a text describes.

    `estimator` is the name of the estimator class that will hold the model. `named` says
    whether the columns' names are those of a frame.
    """
    task, labels = exact.task, exact.task.labels
    if labels != sorted(labels):
        raise ValueError(
            f"The classes {labels} of the rules do not ascend, as those of an estimator must. "
            f"Write them as {sorted(labels)} and order the values of the rules alike."
        )
    encoder, places = encoder_of(exact, named=named)
    if task.loss.link.is_identity and not task.are_classes:
        # Training subtracts the centre from the targets, because float32 is finest near 0.
        task = replace(task, centre=exact.intercept)
    shift, factor = task.loss.link.in_units(task.centre, task.scale)
    values = np.array([rule.values for rule in exact.rules]) / factor
    with np.errstate(over="ignore"):
        network = network_of(exact.rules, encoder, places, values)
    network = replace(network, intercept=(exact.intercept - shift) / factor)
    if not all(np.isfinite(array).all() for array in network.parameters):
        raise ValueError(
            "The rules hold a number that is too large for an estimator, which computes in "
            "float32. Write smaller numbers, or read the rules without estimator=True."
        )
    return Fitted(
        estimator=estimator,
        encoder=encoder,
        rules=leafless_rules(task, network),
        task=task,
        state=State.start(network.without_unused_features()),
        history={"loss": []},
        n_epochs=0,
        interrupted=False,
        activity=unknown_activity(task, network.n_rules),
        performance=unknown_performance(task),
    )


def encoder_of(exact: ExactRules, *, named: bool) -> tuple[Encoder, dict[Term, int]]:
    """An encoder of the text's terms, and the place of each term among its columns.

    Indicators stay 0 and 1. Numbers are standardised by their stand-ins and deviations.
    """
    used = {term for rule in exact.rules for literal in rule.literals for _, term in literal}
    found = [
        (term, column)
        for declared in exact.columns
        for term, column in declared.terms.items()
        # Every column of numbers has a term for missing cells; keep it only if a rule uses it.
        if term in used or not isinstance(column, Missing)
    ]
    found.sort(key=lambda pair: (pair[1].rank, pair[1].source))
    names = [column.name for column in exact.columns]
    encoder = Encoder(names, [column for _, column in found], named, exact.missing)
    return encoder, {term: place for place, (term, _) in enumerate(found)}


def network_of(
    rules: list[ParsedRule], encoder: Encoder, places: dict[Term, int], values: np.ndarray
) -> Network:
    """The network of the rules; if one rule is deep, all rules of the network are deep."""
    n_columns = len(encoder.columns)
    literals = [literal for rule in rules for literal in rule.literals]
    dense = [dense_literal(literal, encoder, places) for literal in literals]
    deep = any(rule.units is not None for rule in rules)
    layers = [second_layer(rule) for rule in rules] if deep else []
    return Network.dense(
        weights=np.array([weights for weights, _ in dense], np.float32).reshape(-1, n_columns),
        biases=np.array([bias for _, bias in dense], np.float32),
        offsets=starts([len(rule.literals) for rule in rules]),
        values=values.astype(np.float32),
        features=np.arange(n_columns, dtype=np.int32),
        intercept=np.zeros(values.shape[1]),
        mixing=np.concatenate([*(mixing.ravel() for mixing, _ in layers), []]).astype("f4"),
        shifts=np.concatenate([*(shifts for _, shifts in layers), []]).astype("f4"),
        origins=np.full(len(literals), -1, np.int64),
    )


def dense_literal(
    literal: Sum, encoder: Encoder, places: dict[Term, int]
) -> tuple[np.ndarray, float]:
    """Weights over all encoded columns, and the bias, in float64."""
    weights, bias = np.zeros(len(encoder.columns)), 0.0
    for factor, term in literal:
        if not isinstance(term, Term):
            bias += factor
            continue
        column = encoder.columns[places[term]].in_sums
        weight = factor * column.scale
        if abs(weight) < SMALLEST_WEIGHT and factor:
            raise ValueError(
                f"The rules weigh column {term.column!r} by {factor!r} for a deviation of "
                f"{column.scale!r}, which is too little for float32. Write a larger deviation, "
                "or read the rules without estimator=True."
            )
        weights[places[term]] += weight
        bias += factor * column.mean
    return weights, bias


def second_layer(rule: ParsedRule) -> tuple[np.ndarray, np.ndarray]:
    """Mixing (n_literals, n_literals) and shifts (n_literals,) of a rule.

    A shallow rule gets a second layer that changes nothing.
    """
    n = len(rule.literals)
    if rule.units is None:
        return np.eye(n), np.zeros(n)
    mixing, shifts = np.zeros((n, n)), np.zeros(n)
    for place, unit in enumerate(rule.units):
        for factor, literal in unit:
            if isinstance(literal, int):
                mixing[place, literal] += factor
            else:
                shifts[place] += factor
    return mixing, shifts


def leafless_rules(task: Task, network: Network) -> Rules:
    """Stand-ins for the tree rules: without literals or rows, one for each neural rule."""
    return replace(
        unmeasured([[]] * network.n_rules, task),
        values=network.values.astype(np.float64),
        trees=np.zeros(network.n_rules, np.int32),
    )


def unknown_activity(task: Task, n_rules: int) -> Activity:
    """The activity of rules on no row at all."""
    covered, in_leaf, in_both, activation, highest = np.zeros((5, n_rules))
    all_totals, totals = np.zeros(task.n_totals), np.zeros((n_rules, task.n_totals))
    return Activity(0.0, all_totals, covered, totals, in_leaf, in_both, activation, highest)


def unknown_performance(task: Task) -> Performance:
    """The performance of a model on no row at all."""
    n_classes = task.n_classes
    return Performance(
        n_rows=0,
        metrics={},
        confusion=np.zeros((n_classes, n_classes)) if n_classes else None,
        calibration=np.empty((0, BINS, 3)),
        n_rules=np.empty(0, np.int64),
        errors=np.empty(0),
    )
