"""The folds of a search: the training of their models, and how these models are joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from neuralrules._data._encoder import Encoder
from neuralrules._data._rows import Rows
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitting._fit import measured, train_rules
from neuralrules._fitting._gain import ConstantComparison, beside_a_constant
from neuralrules._fitting._settings import Settings
from neuralrules._fitting._table import EncodedTable, TableSource
from neuralrules._network._network import Network
from neuralrules._rules._rules import Rules
from neuralrules._training._training import State, TrainingOutcome


class Member(NamedTuple):
    """A candidate that was trained on the training part of one fold.

    Attributes
    ----------
    rules : Rules
        Their values and totals are for targets standardised by the fold's training rows.
    outcome : TrainingOutcome
        Its network is for targets standardised by all rows, so that members can be joined.
    score : float
        The score on the test rows of the fold, by default the negative mean loss. Higher is
        better.
    compared : ConstantComparison
        The losses of the member and of a constant on the test rows of the fold.
    """

    rules: Rules
    outcome: TrainingOutcome
    score: float
    compared: ConstantComparison


def train_member(
    settings: Settings,
    source: TableSource,
    encoder: Encoder,
    rows: Rows,
    train: np.ndarray,
    test: np.ndarray,
    to_be_joined: bool,
    score_on: Callable[[Fitted, np.ndarray], float] | None,
) -> Member:
    """Train a candidate on the training rows of a fold, and score it on the test rows.

    Parameters
    ----------
    settings : Settings
        The settings of the candidate.
    encoder, rows : Encoder, Rows
        All rows of `source`, scaled by all rows.
    train, test : (n,) int64
    to_be_joined : bool
        Whether the network will be joined with the networks of other folds.
    score_on : callable or None
        The score of a fitted model on some rows of the table. None means the negative mean
        loss.
    """
    scaled_by = np.zeros_like(rows.training_weights)
    scaled_by[train] = rows.training_weights[train]
    fold = rows
    if not to_be_joined:  # networks that are joined must share the columns
        encoder, fold = source.with_columns(fold, scaled_by, settings)
    fold = source.with_scaled_targets(fold, scaled_by)
    # The test rows are held out anyway. So early stopping costs no training rows, however few
    # rows there are.
    places = train.astype(np.int32)
    stop_on = test.astype(np.int32) if settings.early_stopping else places[:0]
    weights = scaled_by.copy()
    weights[stop_on] = rows.training_weights[stop_on]
    table = EncodedTable(
        encoder,
        replace(fold, training_weights=weights),
        places,
        stop_on,
        check_random_state(settings.random_state),
    )
    engine = settings.new_engine()
    rules, outcome = train_rules(table, settings, engine)
    if outcome.interrupted:
        raise KeyboardInterrupt
    network = outcome.state.network
    # `fold` has the weights of all rows: the loss on the test rows needs theirs.
    compared = beside_a_constant(network, fold, train, test, engine)
    score = -compared.loss
    if score_on is not None:
        score = score_on(measured(table, rules, outcome, settings, engine), test)
    values, intercept = rows.task.taken_over(network.values, network.intercept, fold.task)
    as_whole = State.start(replace(network, values=values, intercept=intercept))
    return Member(rules, replace(outcome, state=as_whole), score, compared)


def joined(members: Sequence[Member]) -> tuple[Rules, TrainingOutcome]:
    """The rules of several members, and one network that is the mean of their networks.

    The history is the mean of the members' histories. It ends with the shortest of them,
    because a later mean would include fewer networks.
    """
    outcomes = [member.outcome for member in members]
    network = Network.join([outcome.state.network for outcome in outcomes], mean=True)
    names = set.intersection(*(set(outcome.history) for outcome in outcomes))
    history = {}
    for name in sorted(names):
        losses = [outcome.history[name] for outcome in outcomes]
        history[name] = [float(np.mean(epoch)) for epoch in zip(*losses, strict=False)]
    outcome = TrainingOutcome(
        State.start(network),
        history=history,
        n_epochs=min(outcome.n_epochs for outcome in outcomes),
        best_epoch=min(outcome.best_epoch for outcome in outcomes),
    )
    return Rules.join([member.rules for member in members]), outcome
