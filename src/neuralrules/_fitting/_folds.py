"""The folds of a search as sources of rows, and how the models of the folds are joined."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing, check_random_state

from neuralrules._data._encoder import Encoder
from neuralrules._data._rows import Rows
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitting._fit import measured, train_rules
from neuralrules._fitting._gain import ConstantComparison, beside_a_constant
from neuralrules._fitting._settings import Settings
from neuralrules._fitting._table import EncodedTable, TableSource
from neuralrules._fitting._targets import encode_targets, scaled_by_rows
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


class Scoring(NamedTuple):
    """How scikit-learn scores a model.

    Attributes
    ----------
    scorer : callable
        Takes an estimator, X and y, and returns a score.
    estimator_of : callable
        Turns a fitted model into the estimator that the scorer takes.
    """

    scorer: Callable[..., float]
    estimator_of: Callable[[Fitted], Any]


class ScaledTable(NamedTuple):
    """A user's table in memory, encoded with one scaling."""

    X: Any
    y: np.ndarray
    encoder: Encoder
    rows: Rows

    @classmethod
    def of(
        cls, source: TableSource, rows: Rows, scaling: str, missing: tuple[str, ...]
    ) -> ScaledTable:
        """Encode a table, scaled by all its rows. `rows` holds its targets and weights."""
        encoder, X = Encoder.fit_transform(
            source.X,
            rows.training_weights,
            scaling=scaling,
            named=source.named,
            missing=missing,
        )
        return cls(source.X, source.y, encoder, replace(rows, X=X))

    def encoded_by(self, weights: np.ndarray, scaling: str) -> ScaledTable:
        """Encode the table anew, scaled by the rows that have weight in `weights`."""
        encoder, X = Encoder.fit_transform(
            self.X,
            weights,
            scaling=scaling,
            named=self.encoder.named,
            missing=self.encoder.missing,
        )
        return self._replace(encoder=encoder, rows=replace(self.rows, X=X))

    def all_rows(self, settings: Settings) -> EncodedTable:
        """The table with all rows that have weight as training rows, and no validation rows."""
        training = np.flatnonzero(self.rows.training_weights).astype(np.int32)
        random_state = check_random_state(settings.random_state)
        return EncodedTable(self.encoder, self.rows, training, training[:0], random_state)


@dataclass(frozen=True, eq=False)
class Fold:
    """A source of rows: a table, with the test rows of one fold held out.

    The targets are standardised by the training rows of the fold. The columns are, too, unless
    the network will be joined with the networks of other folds, which must share the columns.

    Attributes
    ----------
    table : ScaledTable
    train, test : (n,) int64
        Indices of the training rows, and of the test rows. The test rows give the score and
        decide when to stop early.
    to_be_joined : bool
    """

    table: ScaledTable
    train: np.ndarray
    test: np.ndarray
    to_be_joined: bool

    def encoded(self, settings: Settings) -> EncodedTable:
        """The rows of the fold, encoded for a fit."""
        table, train = self.table, self.train.astype(np.int32)
        weights = np.zeros_like(table.rows.training_weights)
        weights[train] = table.rows.training_weights[train]
        if not self.to_be_joined:
            table = table.encoded_by(weights, settings.scaling)
        task, targets = table.rows.task, table.rows.targets
        if not task.are_classes:
            task = scaled_by_rows(task, table.y, weights)
            targets = encode_targets(task, table.y)
        # The test rows are held out anyway. So early stopping costs no training rows, however
        # few rows there are.
        stop_on = self.test.astype(np.int32) if settings.early_stopping else train[:0]
        weights[stop_on] = table.rows.training_weights[stop_on]
        rows = replace(table.rows, task=task, targets=targets, training_weights=weights)
        random_state = check_random_state(settings.random_state)
        return EncodedTable(table.encoder, rows, train, stop_on, random_state)


def train_member(
    settings: Settings,
    table: ScaledTable,
    train: np.ndarray,
    test: np.ndarray,
    scoring: Scoring | None,
    to_be_joined: bool,
) -> Member:
    """Train a candidate on the training rows of a fold, and score it on the test rows.

    Parameters
    ----------
    settings : Settings
        The settings of the candidate.
    table : ScaledTable
    train, test : (n,) int64
    scoring : Scoring or None
        None means that the score is the negative mean loss.
    to_be_joined : bool
        Whether the network will be joined with the networks of other folds.
    """
    fold = Fold(table, train, test, to_be_joined).encoded(settings)
    engine = settings.new_engine()
    rules, outcome = train_rules(fold, settings, engine)
    if outcome.interrupted:
        raise KeyboardInterrupt
    network = outcome.state.network
    # Without early stopping, the test rows have no weight in `fold.rows`. Here they need it.
    whole = replace(fold.rows, training_weights=table.rows.training_weights)
    compared = beside_a_constant(network, whole, train, test, engine)
    score = -compared.loss
    if scoring is not None:
        model = measured(fold.encoder, rules, outcome, fold.rows, settings, engine)
        score = scored(scoring, model, table, test)
    task = table.rows.task
    values, intercept = task.taken_over(network.values, network.intercept, fold.rows.task)
    as_whole = State.start(replace(network, values=values, intercept=intercept))
    return Member(rules, replace(outcome, state=as_whole), score, compared)


def scored(scoring: Scoring, model: Fitted, table: ScaledTable, test: np.ndarray) -> float:
    """The score of a fitted model on some rows of a table."""
    weights: dict[str, Any] = {}
    takes_weights = "sample_weight" in inspect.signature(scoring.scorer).parameters
    if takes_weights and np.ptp(table.rows.weights) > 0:
        weights["sample_weight"] = table.rows.weights[test]
    X, y = _safe_indexing(table.X, test), _safe_indexing(table.y, test)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="R.* score is not well-defined")
        return float(scoring.scorer(scoring.estimator_of(model), X, y, **weights))


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
