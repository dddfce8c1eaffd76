"""From encoded rows to trained rules: steps 2 to 5 of a fit, by an estimator's parameters."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator

from neuralrules._data._encoder import Encoder
from neuralrules._data._restrictions import Restrictions, restrictions_of
from neuralrules._data._rows import Rows
from neuralrules._engine import Engine, get_engine
from neuralrules._network._constraints import Constraints
from neuralrules._network._network import Network
from neuralrules._network._restricted import restricted
from neuralrules._rules._expert import expert_rules
from neuralrules._rules._rules import Rules, select
from neuralrules._rules._sources import SOURCES, SourceOptions
from neuralrules._task._task import Task
from neuralrules._training._sparse import train_sparse
from neuralrules._training._start import tamed
from neuralrules._training._training import Outcome, Plan, State, train

EXPERT = "expert"  # rules that people write
# Trees of boosting with n_trees="auto": in all for one output, else of each. The more rows, the
# more rules a table can bear: above so many, there are as many more trees as rows, up to four
# times. docs/speed.md has what large tables cost and bring.
TREES, TREES_EACH = 32, 16
ROWS_OF_FEWEST_TREES, MOST_TIMES_TREES = 25_000, 4
# Rows in a leaf with min_samples_leaf="auto": a fiftieth of the table, within these bounds.
FEWEST_IN_LEAF, MOST_IN_LEAF = 5, 20


# Epochs with n_epochs="auto": as many as visit so many rows in all, within these bounds. So a
# table of up to 100,000 rows, a fifth of them held out, has the most. Of a million generated
# rows x 20, 30 epochs instead of up to 300, of which early stopping used 94 or more, come to
# the same loss or less: docs/speed.md has the numbers.
ROW_VISITS = 24_000_000
FEWEST_EPOCHS, MOST_EPOCHS = 3, 300


class Course(NamedTuple):
    """How training goes on: the estimators' parameters, but for `partial_fit`.

    With `stop_after`, training ends after that many epochs of a schedule made for `n_epochs`.
    """

    n_epochs: int | str
    schedule: str
    early_stopping: bool | str
    stop_after: int | None = None


ONE_EPOCH = Course(1, "constant", early_stopping=False)  # of `partial_fit`


class RuleBuilder(BaseEstimator):
    """How the parameters of an estimator grow, limit and train its rules."""

    def _build(
        self,
        rows: Rows,
        validation: np.ndarray,
        random_state: np.random.RandomState,
        course: Course,
        encoder: Encoder,
    ) -> tuple[Rules, Outcome]:
        """From encoded rows to trained rules; `validation` are those to stop early on."""
        restrictions = self._restrictions(encoder, rows.task)
        rules, network, order = self._begin(
            rows, validation, random_state, encoder, restrictions
        )
        engine = self._engine()

        def trained(state: State, plan: Plan, constraints: Constraints | None) -> Outcome:
            return train(
                state, rows, order, validation, plan, engine, random_state, constraints
            )

        # 5. Train all rules together.
        return rules, train_sparse(
            trained,
            State.start(network),
            self._plan(rows.task, len(order), course),
            self._constraints(network, rules, restrictions),
            self.max_terms,
        )

    def _begin(
        self,
        rows: Rows,
        validation: np.ndarray,
        random_state: np.random.RandomState,
        encoder: Encoder,
        restrictions: Restrictions | None,
    ) -> tuple[Rules, Network, np.ndarray]:
        """Rules, the network that they start as, and the order to train on rows in."""
        weights = rows.training_weights.copy()
        weights[validation] = 0
        own = replace(rows, training_weights=weights)
        # 2. Grow trees, take every leaf as a rule, and keep the best.
        rules, order = self._grow(own, random_state, restrictions)
        # 3. Put the rules of experts before them.
        rules = self._with_experts(rules, encoder, own)
        # 4. Turn every rule into a neural rule that starts as its leaf.
        network = Network.from_rules(
            rules,
            deep=self.deep,
            literal_columns=self.literal_columns,
            start=self.start,
            intercept=own.prior() if self.fit_intercept else None,
            groups=None if restrictions is None else restrictions.groups,
        )
        network = restricted(network, restrictions, rules.given_parts)
        if self.fit_intercept:
            network = tamed(network, rows, order, self._engine())
        return rules, network, order

    def _grow(
        self,
        rows: Rows,
        random_state: np.random.RandomState,
        restrictions: Restrictions | None,
    ) -> tuple[Rules | None, np.ndarray]:
        """The best rules that grow from rows, if any are to, and the order to train them in."""
        if self.rule_source == EXPERT:
            return None, np.flatnonzero(rows.training_weights).astype(np.int32)
        grow = SOURCES[self.rule_source]
        grown, order = grow(rows, self._source_options(rows, random_state, restrictions))
        return select(grown, self.max_rules), order

    def _with_experts(self, grown: Rules | None, encoder: Encoder, rows: Rows) -> Rules:
        """The rules of experts, then those that grew: the first rule is the first expert's."""
        texts = [] if self.expert_rules is None else self.expert_rules
        if not len(texts):
            if grown is None:
                raise ValueError(
                    "rule_source='expert' needs rules: give expert_rules a list of them, such "
                    f"as ['{encoder.names[0]} > 0'], or another rule_source, one of "
                    f"{sorted(SOURCES)}."
                )
            return grown
        written = expert_rules(texts, encoder, rows, frozen=self.frozen_rules == EXPERT)
        return written if grown is None else Rules.join([written, grown])

    def _restrictions(self, encoder: Encoder, task: Task) -> Restrictions | None:
        """What rules may not do with some columns; None if they may do all."""
        return restrictions_of(
            encoder,
            task,
            monotone=self.monotone,
            interactions=self.interactions,
            exclude=self.exclude,
        )

    def _constraints(
        self,
        network: Network,
        rules: Rules,
        restrictions: Restrictions | None,
        *,
        trained: bool = False,
    ) -> Constraints | None:
        """What training may not change: frozen rules, and the columns of literals.

        Once trained within `max_terms`, they keep to the columns that they have come to.
        """
        own = self.literal_columns == "own" or (trained and self.max_terms is not None)
        if not own and rules.frozen is None and restrictions is None:
            return None
        limits = Constraints.keep_columns(network) if own else Constraints.free(network)
        return limits.within(network, restrictions).freezing(network, rules.frozen)

    def _source_options(
        self,
        rows: Rows,
        random_state: np.random.RandomState,
        restrictions: Restrictions | None = None,
    ) -> SourceOptions:
        n_trees, in_leaf = self.n_trees, self.min_samples_leaf
        n_rows = int(np.count_nonzero(rows.training_weights))
        if n_trees == "auto":
            n_trees = trees(n_rows, rows.task.n_outputs)
        if in_leaf == "auto":
            in_leaf = int(np.clip(n_rows // 50, FEWEST_IN_LEAF, MOST_IN_LEAF))
        return SourceOptions(
            max_depth=self._deepest(),
            min_samples_leaf=in_leaf,
            n_trees=n_trees,
            tree_rate=float(self.tree_rate),
            n_jobs=self.n_jobs,
            random_state=random_state,
            restrictions=restrictions,
        )

    def _deepest(self) -> int | None:
        """The depth of the trees: every split on the way to a leaf becomes a literal."""
        limits = [limit for limit in (self.max_depth, self.max_literals) if limit is not None]
        return min(limits, default=None)

    def _plan(self, task: Task, n_rows: int, course: Course) -> Plan:
        n_epochs, stop = epochs(course.n_epochs, n_rows), course.stop_after
        return Plan(
            loss=task.loss,
            fit_intercept=self.fit_intercept,
            l2=float(self.l2),
            rule_dropout=float(self.rule_dropout),
            learning_rate=float(self.learning_rate),
            schedule=course.schedule,
            n_epochs=n_epochs,
            stop_after=None if stop is None else min(stop, n_epochs),
            batch_size=self._rows_per_batch(n_rows),
            patience=self.patience,
            verbose=bool(self.verbose),
        )

    def _rows_per_batch(self, n_rows: int) -> int:
        if isinstance(self.batch_size, str):
            smallest = 128 if self.batch_size == "paper" else 32
            return int(min(np.clip(n_rows // 16, smallest, 256), n_rows))
        return int(min(self.batch_size, n_rows))

    def _n_threads(self) -> int:
        return min(effective_n_jobs(self.n_jobs), os.cpu_count() or 1)

    def _engine(self) -> Engine:
        return get_engine(self.engine, self._n_threads(), self.device)


def trees(n_rows: int, n_outputs: int) -> int:
    """Trees of boosting for so many rows, in all for one output, else of each."""
    times = np.clip(n_rows / ROWS_OF_FEWEST_TREES, 1, MOST_TIMES_TREES)
    return int(times * (TREES if n_outputs == 1 else TREES_EACH))


def epochs(n_epochs: int | str, n_rows: int) -> int:
    """Epochs of training on so many rows; of very many rows "auto" takes fewer."""
    if isinstance(n_epochs, str):
        return int(np.clip(ROW_VISITS // max(n_rows, 1), FEWEST_EPOCHS, MOST_EPOCHS))
    return n_epochs
