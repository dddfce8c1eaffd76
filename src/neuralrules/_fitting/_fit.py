"""The fit itself: from a source of rows and settings to a fitted model."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np
from sklearn.utils import check_random_state

from neuralrules._data._restrictions import Restrictions
from neuralrules._data._rows import Rows
from neuralrules._engine import Engine
from neuralrules._fitted._activity import measure
from neuralrules._fitted._fitted import Fitted, in_target_units, remembered_rows
from neuralrules._fitted._lineage import GROWN, counted
from neuralrules._fitted._performance import perform
from neuralrules._fitting._gain import check_gain, no_worse_than_constant
from neuralrules._fitting._settings import EXPERT, Settings
from neuralrules._fitting._table import EncodedTable, split
from neuralrules._io._warn import warn
from neuralrules._network._network import Network
from neuralrules._network._restricted import restricted
from neuralrules._rules._expert import expert_rules
from neuralrules._rules._rules import Rules, select
from neuralrules._rules._sources import SOURCES
from neuralrules._training._training import State, TrainingOutcome, train_sparse, within_terms

# If the first call of `partial_fit` has fewer rows for each rule, its rules overfit these rows
# and suit later rows badly. A common rule of thumb asks for ten observations per parameter.
ROWS_PER_RULE = 10


class Source(Protocol):
    """A table that can encode its rows for a fit."""

    def encoded(self, settings: Settings) -> EncodedTable:
        """The rows of the table, encoded for a fit."""


def fit(source: Source, settings: Settings) -> Fitted:
    """Fit a model on the rows of a source."""
    # 1. Encode the table and the targets, both scaled by the training rows.
    table, engine = source.encoded(settings), settings.new_engine()
    rules, outcome = train_rules(table, settings, engine)
    if settings.in_parts:
        warn_of_few_rows(rules, len(table.training))
    else:
        check_gain(outcome, table, settings, engine)
    # 5. Measure the model on its rows, because it does not keep them.
    return measured(table, rules, outcome, settings, engine)


def train_rules(
    table: EncodedTable, settings: Settings, engine: Engine
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
    table: EncodedTable, rows: Rows, settings: Settings, restrictions: Restrictions | None
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
    if len(texts):
        written = expert_rules(texts, table.encoder, rows)
        return written if grown is None else Rules.join([written, grown]), order
    if grown is None:
        raise ValueError(
            "rule_source='expert' needs rules: give expert_rules a list of them, such "
            f"as ['{table.encoder.names[0]} > 0'], or another rule_source, one of "
            f"{sorted(SOURCES)}."
        )
    return grown, order


def train_further(fitted: Fitted, rows: Rows, settings: Settings, what: str) -> Fitted:
    """Train the rules of a model further on rows that its encoder encoded.

    `what` is the name of this training in the lineage of the model: see `Event`.
    """
    random_state, engine = check_random_state(settings.random_state), settings.new_engine()
    training, validation = split(rows, random_state, settings)
    encoder = fitted.encoder.covering(rows.X)
    table = EncodedTable(encoder, rows, training, validation, random_state)
    restrictions = settings.restrictions(encoder, rows.task)
    network = restricted(fitted.state.network, restrictions, fitted.rules.frozen)
    # New restrictions may change the network. Then training starts anew from the changed one.
    unchanged = network is fitted.state.network
    state = fitted.state if unchanged else State.start(network)
    state = within_terms(state, settings.max_terms)
    outcome = table.trainer(training, engine)(
        state,
        settings.plan(rows.task, len(training)),
        settings.constraints(state.network, fitted.rules, restrictions, trained=True),
    )
    if not settings.in_parts:
        check_gain(outcome, table, settings, engine)
    return measured(table, fitted.rules, outcome, settings, engine, fitted, what)


def warn_of_few_rows(rules: Rules, n_rows: int) -> None:
    """Warn if the first call of `partial_fit` had too few rows for its rules."""
    if n_rows < ROWS_PER_RULE * rules.n_rules:
        warn(
            f"The first call of partial_fit grew all {rules.n_rules} rules from its {n_rows} "
            "rows; further calls train them but grow none. Begin with more rows, at least "
            f"{ROWS_PER_RULE} for each rule, or fewer rules (n_trees, max_depth, max_rules)."
        )


def measured(
    table: EncodedTable,
    rules: Rules,
    outcome: TrainingOutcome,
    settings: Settings,
    engine: Engine,
    before: Fitted | None = None,
    what: str = GROWN,
    remark: str = "",
) -> Fitted:
    """The fitted model, with its performance on rows that it will not keep.

    Parameters
    ----------
    before : Fitted, optional
        The model before it was trained further. Its notes and its lineage are kept.
    what : str
        What was done to the model: see `Event`.
    remark : str
        A text that the lineage adds to the size of the model and the number of epochs.
    """
    rows = table.measured_rows
    network = in_target_units(outcome.state.network, rows.task)
    shown = remembered_rows(rows, outcome.n_epochs)
    model = Fitted(
        estimator=settings.estimator,
        encoder=table.encoder,
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
