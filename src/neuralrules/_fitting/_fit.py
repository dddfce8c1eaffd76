"""The fit itself: from a source of rows and settings to a fitted model."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np
from sklearn.utils import check_random_state

from neuralrules._data._encoder import Encoder
from neuralrules._data._restrictions import Restrictions
from neuralrules._data._rows import Rows
from neuralrules._engine import Engine
from neuralrules._fitted._activity import measure
from neuralrules._fitted._fitted import Fitted, in_target_units, remembered_rows
from neuralrules._fitted._lineage import GROWN, counted
from neuralrules._fitted._performance import perform
from neuralrules._fitting._gain import (
    beside_a_constant,
    no_worse_than_constant,
    warn_of_few_counts,
    warn_of_no_gain,
)
from neuralrules._fitting._settings import EXPERT, Settings
from neuralrules._fitting._table import split
from neuralrules._io._warn import warn
from neuralrules._network._network import Network
from neuralrules._network._restricted import restricted
from neuralrules._rules._expert import expert_rules
from neuralrules._rules._rules import Rules, select
from neuralrules._rules._sources import SOURCES
from neuralrules._training._training import (
    State,
    Training,
    TrainingOutcome,
    train,
    train_sparse,
    within_terms,
)

# If the first call of `partial_fit` has fewer rows for each rule, its rules overfit these rows
# and suit later rows badly. A common rule of thumb asks for ten observations per parameter.
ROWS_PER_RULE = 10


class EncodedRows(Protocol):
    """The encoded rows of a source, ready for a fit.

    Attributes
    ----------
    encoder : Encoder
    rows : Rows
        The rows in memory. If the table is not in memory, they are a sample of its rows.
    training, validation : (n,) int
        Indices into `rows`: the rows to train on, and the rows that decide when to stop early.
    random_state : RandomState
    """

    @property
    def encoder(self) -> Encoder: ...

    @property
    def rows(self) -> Rows: ...

    @property
    def training(self) -> np.ndarray: ...

    @property
    def validation(self) -> np.ndarray: ...

    @property
    def random_state(self) -> np.random.RandomState: ...

    @property
    def measured_rows(self) -> Rows:
        """The rows that the fitted model is measured on."""

    def counted(self, rules: Rules, network: Network) -> Rules:
        """The rules with counts of all training rows; `network` is not trained yet."""

    def n_training(self, order: np.ndarray) -> int:
        """The number of rows to train on, including rows that are not in memory."""

    def trainer(self, order: np.ndarray, engine: Engine) -> Training:
        """A function that trains networks on all training rows.

        `order` holds the indices of the training rows in memory, in the order of training.
        """


class Source(Protocol):
    """A table that can encode its rows for a fit."""

    def encoded(self, settings: Settings) -> EncodedRows:
        """The rows of the table, encoded for a fit."""


def fit(source: Source, settings: Settings) -> Fitted:
    """Fit a model on the rows of a source."""
    # 1. Encode the table and the targets, both scaled by the training rows.
    table = source.encoded(settings)
    engine = settings.new_engine()
    rules, outcome = train_rules(table, settings, engine)
    if settings.in_parts:
        warn_of_few_rows(rules, len(table.training))
    else:
        check_gain(outcome, table.rows, table.training, table.validation, settings, engine)
    # 5. Measure the model on its rows, because it does not keep them.
    return measured(table.encoder, rules, outcome, table.measured_rows, settings, engine)


def train_rules(
    table: EncodedRows, settings: Settings, engine: Engine
) -> tuple[Rules, TrainingOutcome]:
    """Grow rules from encoded rows and train their network: steps 2 to 4 of a fit."""
    restrictions = settings.restrictions(table.encoder, table.rows.task)
    weights = table.rows.training_weights.copy()
    weights[table.validation] = 0
    training_rows = replace(table.rows, training_weights=weights)
    # 2. Grow trees, take every leaf as a rule and keep the best. Experts' rules come first.
    rules, order = grow(table, training_rows, settings, restrictions)
    # 3. Turn every rule into a neural rule that starts as its leaf.
    network = Network.from_rules(
        rules,
        deep=settings.deep,
        literal_columns=settings.literal_columns,
        start=settings.start,
        intercept=training_rows.prior() if settings.fit_intercept else None,
        groups=None if restrictions is None else restrictions.groups,
    )
    network = restricted(network, restrictions, rules.kept_parts)
    if settings.fit_intercept:
        network = no_worse_than_constant(network, table.rows, order, engine)
    # 4. Train all rules together.
    rules = table.counted(rules, network)
    outcome = train_sparse(
        table.trainer(order, engine),
        State.start(network),
        settings.plan(table.rows.task, table.n_training(order)),
        settings.constraints(network, rules, restrictions),
        settings.max_terms,
    )
    return rules, outcome


def grow(
    table: EncodedRows, rows: Rows, settings: Settings, restrictions: Restrictions | None
) -> tuple[Rules, np.ndarray]:
    """Grow rules from the rows that have training weight.

    Returns the rules, and the indices (n,) int32 of these rows in the order of training.
    """
    if settings.rule_source == EXPERT:
        order = np.flatnonzero(rows.training_weights).astype(np.int32)
        grown = None
    else:
        options = settings.source_options(rows, table.random_state, restrictions)
        grown, order = SOURCES[settings.rule_source](rows, options)
        grown = select(grown, settings.max_rules)
    texts = [] if settings.expert_rules is None else settings.expert_rules
    if not len(texts):
        if grown is None:
            raise ValueError(
                "rule_source='expert' needs rules: give expert_rules a list of them, such "
                f"as ['{table.encoder.names[0]} > 0'], or another rule_source, one of "
                f"{sorted(SOURCES)}."
            )
        return grown, order
    written = expert_rules(texts, table.encoder, rows)
    return written if grown is None else Rules.join([written, grown]), order


def train_further(fitted: Fitted, rows: Rows, settings: Settings, what: str) -> Fitted:
    """Train the rules of a model further on encoded rows.

    Parameters
    ----------
    fitted : Fitted
    rows : Rows
        Encoded by the encoder of `fitted`.
    settings : Settings
    what : str
        What the lineage of the model calls this training: see `Event`.
    """
    random_state, engine = check_random_state(settings.random_state), settings.new_engine()
    training, validation = split(
        rows.task, rows.targets, rows.training_weights, random_state, settings
    )
    restrictions = settings.restrictions(fitted.encoder, rows.task)
    network = restricted(fitted.state.network, restrictions, fitted.rules.frozen)
    # New restrictions may change the network. Then training starts anew from the changed one.
    unchanged = network is fitted.state.network
    state = fitted.state if unchanged else State.start(network)
    state = within_terms(state, settings.max_terms)
    outcome = train(
        state,
        rows,
        training,
        validation,
        settings.plan(rows.task, len(training)),
        engine,
        random_state,
        settings.constraints(state.network, fitted.rules, restrictions, trained=True),
    )
    if not settings.in_parts:
        check_gain(outcome, rows, training, validation, settings, engine)
    encoder = fitted.encoder.covering(rows.X)
    return measured(encoder, fitted.rules, outcome, rows, settings, engine, fitted, what)


def check_gain(
    outcome: TrainingOutcome,
    rows: Rows,
    training: np.ndarray,
    validation: np.ndarray,
    settings: Settings,
    engine: Engine,
) -> None:
    """Warn if the trained network predicts worse than a constant."""
    if outcome.interrupted or not outcome.n_epochs:
        return  # the user ended training, or asked for no training
    network = outcome.state.network
    chosen = validation if validation.size else training
    compared = beside_a_constant(network, rows, training, chosen, engine)
    if compared.is_worse:
        where = "rows held out to stop on" if validation.size else "training rows"
        warn_of_no_gain(compared, f"{len(chosen)} {where}", settings)
    else:
        warn_of_few_counts(rows, settings)


def warn_of_few_rows(rules: Rules, n_rows: int) -> None:
    """Warn if the first call of `partial_fit` had too few rows for its rules."""
    if n_rows < ROWS_PER_RULE * rules.n_rules:
        warn(
            f"The first call of partial_fit grew all {rules.n_rules} rules from its {n_rows} "
            "rows; further calls train them but grow none. Begin with more rows, at least "
            f"{ROWS_PER_RULE} for each rule, or fewer rules (n_trees, max_depth, max_rules)."
        )


def measured(
    encoder: Encoder,
    rules: Rules,
    outcome: TrainingOutcome,
    rows: Rows,
    settings: Settings,
    engine: Engine,
    before: Fitted | None = None,
    what: str = GROWN,
    remark: str = "",
) -> Fitted:
    """The fitted model, with its performance on rows that it will not keep.

    Parameters
    ----------
    encoder : Encoder
    rules : Rules
    outcome : TrainingOutcome
        The result of training.
    rows : Rows
        The rows to measure the model on.
    settings : Settings
    engine : Engine
    before : Fitted, optional
        The model before it was trained further. Its notes and its lineage are kept.
    what : str
        What was done to the model: see `Event`.
    remark : str
        A text that the lineage adds to the size of the model and the number of epochs.
    """
    network = in_target_units(outcome.state.network, rows.task)
    shown = remembered_rows(rows, outcome.n_epochs)
    model = Fitted(
        estimator=settings.estimator,
        encoder=encoder,
        rules=rules,
        task=rows.task,
        state=outcome.state,
        history=outcome.history,
        n_epochs=outcome.n_epochs,
        interrupted=outcome.interrupted,
        activity=measure(network, rules, shown, engine),
        performance=perform(network, shown, engine),
        notes={} if before is None else before.notes,
        lineage=() if before is None else before.lineage,
    )
    epochs = counted(outcome.n_epochs, "epoch") + outcome.where
    trained = f"interrupted after {epochs}" if outcome.interrupted else epochs
    if outcome.interrupted:
        warn(
            f"Training was interrupted after {outcome.n_epochs} whole epochs. "
            f"This {settings.estimator} is usable: it keeps what it learned so far."
        )
    summary = f"{model.size_text}, {trained}{remark}"
    return model.after(what, summary, int(np.count_nonzero(rows.weights)))
