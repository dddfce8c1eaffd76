"""A fitted model made of rules that were read from text.

The text says nothing about the rows that the model was fitted on. So the rules have no leaves
that they grew from, and the model remembers nothing about rows until it is fitted further.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from neuralrules._data._columns import Category, EncodedColumn, Missing, Rare
from neuralrules._data._encoder import Encoder
from neuralrules._fitted._activity import Activity
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._performance import BINS, Performance
from neuralrules._network._network import Network
from neuralrules._reading._exact_rules import (
    DeclaredColumn,
    ExactRules,
    ParsedRule,
    Sum,
    Term,
)
from neuralrules._rules._rules import Rules
from neuralrules._task._task import Task
from neuralrules._training._training import State

# Smaller weights would lose digits in float32, or become 0.
SMALLEST_WEIGHT = float(np.finfo(np.float32).tiny)


def fitted_from_text(exact: ExactRules, estimator: str, *, named: bool) -> Fitted:
    """The model that a text describes.

    Parameters
    ----------
    exact : ExactRules
    estimator : str
        Name of the estimator class that will hold the model.
    named : bool
        Whether the columns' names are those of a frame.
    """
    labels = exact.task.labels
    if labels != sorted(labels):
        raise ValueError(
            f"The classes {labels} of the rules do not ascend, as those of an estimator must. "
            f"Write them as {sorted(labels)} and order the values of the rules alike."
        )
    encoder, places = encoder_of(exact, named=named)
    task = exact.task
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
    used = {
        term
        for rule in exact.rules
        for literal in rule.literals
        for _, term in literal
        if isinstance(term, Term)
    }
    found = [
        (term, encoded_column(source, column, term))
        for source, column in enumerate(exact.columns)
        for term in column.terms
        # Every column of numbers has a term for missing cells; keep it only if a rule uses it.
        if term.kind != "missing" or column.number is None or term in used
    ]
    found.sort(key=lambda pair: (pair[1].rank, pair[1].source))
    names = [column.name for column in exact.columns]
    encoder = Encoder(names, [column for _, column in found], named, exact.missing)
    return encoder, {term: place for place, (term, _) in enumerate(found)}


def encoded_column(source: int, column: DeclaredColumn, term: Term) -> EncodedColumn:
    if term.kind in ("number", "scaled"):
        assert column.number is not None
        return replace(column.number, source=source, mean=column.number.mean or 0.0)
    if term.kind == "rare":
        return Rare(source)
    if term.kind == "missing" and column.number is not None:
        return Missing(source)
    return Category(source, category=term.category)  # None for missing cells


def network_of(
    rules: list[ParsedRule], encoder: Encoder, places: dict[Term, int], values: np.ndarray
) -> Network:
    """The network of the rules; if one rule is deep, all rules of the network are deep."""
    n_columns = len(encoder.columns)
    literals = [literal for rule in rules for literal in rule.literals]
    dense = [dense_literal(literal, encoder, places) for literal in literals]
    deep = any(rule.units is not None for rule in rules)
    layers = [second_layer(rule) for rule in rules] if deep else []
    lengths = [len(rule.literals) for rule in rules]
    return Network.dense(
        weights=np.array([weights for weights, _ in dense], np.float32).reshape(-1, n_columns),
        biases=np.array([bias for _, bias in dense], np.float32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
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
    n_rules = network.n_rules
    return Rules(
        features=np.empty(0, np.int32),
        signs=np.empty(0, np.int8),
        thresholds=np.empty(0, np.float32),
        offsets=np.zeros(n_rules + 1, np.int64),
        values=network.values.astype(np.float64),
        n=np.zeros(n_rules),
        totals=np.zeros((n_rules, task.n_totals)),
        scores=np.zeros(n_rules),
        trees=np.zeros(n_rules, np.int32),
        n_training=0.0,
        n_classes=task.n_classes,
    )


def unknown_activity(task: Task, n_rules: int) -> Activity:
    """The activity of rules on no row at all."""
    covered, in_leaf, in_both, activation, highest = np.zeros((5, n_rules))
    return Activity(
        n_rows=0.0,
        all_totals=np.zeros(task.n_totals),
        covered=covered,
        totals=np.zeros((n_rules, task.n_totals)),
        in_leaf=in_leaf,
        in_both=in_both,
        activation=activation,
        highest=highest,
    )


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
