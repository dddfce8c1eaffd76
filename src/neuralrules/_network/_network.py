"""The neural rules as flat arrays.

A neural rule (equation 11 of the paper) is ``r(x) = c * min_j ReLU(w_j . x_T + a_j)``.
Each rule owns the columns x_T that its literals look at, and no other columns. In the paper
these are all features of the tree, the same for every rule. The literals of all rules lie one
after the other, and so do their columns and their matrices of weights. A deep neural rule puts
a second layer ``h = mixing . ReLU(w x + a) + shifts`` between its literals and the minimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from neuralrules._network._columns import starting_columns
from neuralrules._network._parameters import Layout, Parameters
from neuralrules._rules._rules import Rules

# Threads share the work in blocks of rules. The number of blocks is the same for any number of
# threads, because outputs are summed block by block.
N_BLOCKS = 16
# Slope of a literal per standard deviation of its column, if the network starts as "leaf".
STEEPNESS = 6.0
STARTS = ("hinge", "leaf")


@dataclass(frozen=True)
class Network:
    """A fitted or freshly started ensemble of neural rules.

    Attributes
    ----------
    own_weights : ndarray of shape (sum of n_literals * n_columns over the rules,), float32
        One matrix (n_literals, n_columns) after the other; see `rule_weights`.
    columns : ndarray of shape (sum of n_columns over the rules,), int32
        Columns of the standardised, encoded table that each rule looks at, ascending
        within each rule, rule after rule; see `rule_columns`.
    column_offsets : ndarray of shape (n_rules + 1,), int64
        Rule i owns the columns column_offsets[i] to column_offsets[i + 1].
    biases : ndarray of shape (n_literals,), float32
    offsets : ndarray of shape (n_rules + 1,), int64
        Rule i owns the literals offsets[i] to offsets[i + 1].
    values : ndarray of shape (n_rules, n_outputs), float32
        Activation values c.
    intercept : ndarray of shape (n_outputs,), float64
        The output for a row on which no rule is active. It is added to the sum of the rules.
        In float64, since targets may lie far from zero compared with their spread.
    mixing : ndarray of shape (sum of squared rule lengths,), float32
        Second layers of deep rules, row by row; empty for shallow rules.
    shifts : ndarray of shape (n_literals,), float32
        Biases of the second layers; empty for shallow rules.
    origins : ndarray of shape (n_literals,), int64
        Number of the split that each literal grew from, counted within its tree rule; -1
        for a constant literal, which grew from no split.
    """

    own_weights: np.ndarray
    columns: np.ndarray
    column_offsets: np.ndarray
    biases: np.ndarray
    offsets: np.ndarray
    values: np.ndarray
    intercept: np.ndarray
    mixing: np.ndarray
    shifts: np.ndarray
    origins: np.ndarray

    @classmethod
    def from_rules(
        cls,
        rules: Rules,
        *,
        deep: bool,
        literal_columns: str = "tree",
        start: str = "hinge",
        intercept: np.ndarray | None = None,
        groups: Sequence[np.ndarray] | None = None,
    ) -> Network:
        """Start each neural rule as its tree rule.

        With start "hinge", a literal's weight is its sign on its own feature and 0 on all other
        columns. Its bias is minus the sign times the threshold (section IV-A of the paper). The
        rule is then active exactly in its leaf.

        With start "leaf", the literals are `STEEPNESS` times as steep and are 1/2 at the
        threshold. One more literal, which is constantly 1, caps the rule. Except for rows close
        to a threshold, the activation is then 1 inside the leaf and 0 outside, so the network
        starts at the output of the trees.

        The second layer of a deep rule starts as the identity. A tree without a split has one
        rule without literals, which is always true. This rule gets one literal that is
        constantly 1.

        Parameters
        ----------
        rules : Rules
        deep : bool
        literal_columns : {"own", "rule", "tree"}
        start : {"hinge", "leaf"}
        intercept : (n_outputs,) float64, optional
            The outputs before any rule adds to them; zero by default.
        groups : sequence of (n,) int, optional
            Columns that a rule may look at together.
        """
        n_splits = np.diff(rules.offsets)
        steep = start == "leaf"
        lengths = n_splits + 1 if steep else np.maximum(n_splits, 1)
        offsets = starts(lengths)
        columns, column_offsets = starting_columns(rules, literal_columns, groups)
        n_columns = np.diff(column_offsets)
        slopes = rules.signs * np.float32(STEEPNESS if steep else 1)
        owner = np.repeat(np.arange(rules.n_rules), n_splits)
        within = np.arange(rules.n_literals) - rules.offsets[owner]
        literal = within + offsets[owner]
        biases = np.ones(offsets[-1], np.float32)
        biases[literal] = -slopes * rules.thresholds + np.float32(0.5 if steep else 0)
        origins = np.full(offsets[-1], -1, np.int64)
        origins[literal] = within
        # Columns ascend within each rule, so rule * stride + column ascends over all rules.
        stride = int(max(columns.max(initial=0), rules.features.max(initial=0))) + 1
        keys = np.repeat(np.arange(rules.n_rules), n_columns) * stride + columns
        place = np.searchsorted(keys, owner * stride + rules.features) - column_offsets[owner]
        weight_offsets = starts(lengths * n_columns)
        weights = np.zeros(weight_offsets[-1], np.float32)
        weights[weight_offsets[owner] + within * n_columns[owner] + place] = slopes
        n_outputs = rules.values.shape[1]
        return cls(
            own_weights=weights,
            columns=columns,
            column_offsets=column_offsets,
            biases=biases,
            offsets=offsets,
            values=rules.values.astype(np.float32),
            intercept=np.zeros(n_outputs) if intercept is None else intercept,
            mixing=identities(lengths) if deep else np.empty(0, np.float32),
            shifts=np.zeros_like(biases) if deep else np.empty(0, np.float32),
            origins=origins,
        )

    @classmethod
    def dense(
        cls,
        *,
        weights: np.ndarray,
        features: np.ndarray,
        offsets: np.ndarray,
        **arrays: np.ndarray,
    ) -> Network:
        """A network in which every rule owns all features.

        Parameters
        ----------
        weights : (n_literals, n_features) float32
        features : (n_features,) int32
            Columns of the encoded table, in any order.
        offsets : (n_rules + 1,) int64
        arrays
            The other attributes, by name.
        """
        n_rules, order = len(offsets) - 1, np.argsort(features)
        return cls(
            own_weights=np.ascontiguousarray(weights[:, order]).ravel(),
            columns=np.tile(features[order], n_rules),
            column_offsets=np.arange(n_rules + 1, dtype=np.int64) * len(features),
            offsets=offsets,
            **arrays,
        )

    @classmethod
    def join(cls, networks: Sequence[Network], *, mean: bool = False) -> Network:
        """One network whose output is the sum, or the mean, of several.

        All networks must look at the same encoded table and have the same number of outputs.
        If some are deep, the rules of the others get an identity as second layer, which changes
        no activation. For the mean, values and intercepts are divided by the number of
        networks.

        Parameters
        ----------
        networks : sequence of Network
            At least one.
        mean : bool, default=False
        """
        if not networks:
            raise ValueError("networks is empty: give at least one network to join.")
        n_outputs = sorted({network.n_outputs for network in networks})
        if len(n_outputs) > 1:
            raise ValueError(
                f"networks have {n_outputs} outputs: only networks with the same number of "
                "outputs can be joined."
            )
        deep = any(network.deep for network in networks)
        parts = [network.deepened() if deep else network for network in networks]
        every = {
            field.name: np.concatenate([getattr(part, field.name) for part in parts])
            for field in fields(cls)
            if field.name not in ("offsets", "column_offsets", "intercept")
        }
        n_summed = len(parts) if mean else 1
        every["values"] /= np.float32(n_summed)
        return cls(
            **every,
            offsets=starts(np.concatenate([np.diff(part.offsets) for part in parts])),
            column_offsets=starts(
                np.concatenate([np.diff(part.column_offsets) for part in parts])
            ),
            intercept=np.sum([part.intercept for part in parts], axis=0) / n_summed,
        )

    def deepened(self) -> Self:
        """The same function with deep rules. New second layers are identities."""
        if self.deep:
            return self
        return replace(
            self, mixing=identities(np.diff(self.offsets)), shifts=np.zeros_like(self.biases)
        )

    def with_parameters(self, parameters: Parameters) -> Self:
        """The same rules with other weights, biases, values, second layers and intercept."""
        changed = parameters._asdict()
        network = replace(
            self,
            own_weights=changed.pop("weights"),
            intercept=changed.pop("intercept").astype(np.float64),
            **changed,
        )
        # Rules keep their columns, so `features` and `layout` do not change. They are not
        # computed again, because training needs them in each epoch.
        vars(network).update(features=self.features, layout=self.layout)
        return network

    def with_weights(self, weights: np.ndarray) -> Self:
        """The same rules with other weights, (n_literals, n_features) as in `self.weights`."""
        own = np.asarray(weights, np.float32)[self.layout.cells()]
        if np.count_nonzero(own) < np.count_nonzero(weights):
            raise ValueError("weights has a number on a column that its rule does not own.")
        return replace(self, own_weights=own)

    def take(self, rules: np.ndarray, literals: np.ndarray | None = None) -> Self:
        """Some of the rules, without some of their literals.

        Parameters
        ----------
        rules : (n,) int
            Indices of the rules to keep, in the order of the result.
        literals : (n_literals,) bool, optional
            Which literals to keep, at least one of each kept rule; all by default. With a
            literal, a deep rule also loses the unit of the same number in its second layer.
        """
        kept = np.ones(self.n_literals, bool) if literals is None else literals
        owned = [np.arange(self.offsets[i], self.offsets[i + 1]) for i in rules]
        chosen = np.concatenate([own[kept[own]] for own in owned])
        matrices = [
            self.rule_weights(rule)[kept[own]].ravel()
            for rule, own in zip(rules, owned, strict=True)
        ]
        columns = [self.rule_columns(rule) for rule in rules]
        mixing = self.mixing
        if self.deep:
            squares = [
                self.second_layer(rule)[np.ix_(kept[own], kept[own])].ravel()
                for rule, own in zip(rules, owned, strict=True)
            ]
            mixing = np.concatenate(squares)
        return replace(
            self,
            own_weights=np.concatenate(matrices),
            columns=np.concatenate(columns),
            column_offsets=starts([len(own) for own in columns]),
            biases=self.biases[chosen],
            offsets=starts([int(kept[own].sum()) for own in owned]),
            values=self.values[rules],
            mixing=mixing,
            shifts=self.shifts[chosen] if self.deep else self.shifts,
            origins=self.origins[chosen],
        )

    def without_unused_features(self) -> Self:
        """The same function. Each rule drops the columns on which all its weights are zero."""
        used = [self.rule_weights(rule).any(axis=0) for rule in range(self.n_rules)]
        matrices = [self.rule_weights(rule)[:, own].ravel() for rule, own in enumerate(used)]
        return replace(
            self,
            own_weights=np.concatenate(matrices),
            columns=self.columns[np.concatenate(used)],
            column_offsets=starts([int(own.sum()) for own in used]),
        )

    def rule_columns(self, rule: int) -> np.ndarray:
        """Columns of the encoded table that a rule owns, ascending int32: a view."""
        return self.columns[self.column_offsets[rule] : self.column_offsets[rule + 1]]

    def rule_weights(self, rule: int) -> np.ndarray:
        """Weights of a rule on its own columns, (n_literals, n_columns) float32: a view."""
        return self.layout.weights_of(self.own_weights, rule)

    def second_layer(self, rule: int) -> np.ndarray:
        """The second layer of a deep rule, (n_literals, n_literals) float32: a view."""
        return self.layout.mixing_of(self.mixing, rule)

    @cached_property
    def features(self) -> np.ndarray:
        """Columns that any rule looks at, (n_features,) int32, ascending."""
        return np.unique(self.columns).astype(np.int32)

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights on all `features`, (n_literals, n_features) float32, read-only.

        Weights are zero on columns that the literal's rule does not own.
        """
        weights = self.layout.dense(self.own_weights).view()
        weights.flags.writeable = False
        return weights

    @property
    def n_parameters(self) -> int:
        """How many of all `parameters`, including intercepts, are not zero."""
        return sum(int(np.count_nonzero(array)) for array in self.parameters)

    @property
    def parameters(self) -> Parameters:
        return Parameters(
            self.own_weights,
            self.biases,
            self.values,
            self.mixing,
            self.shifts,
            self.intercept.astype(np.float32),
        )

    @cached_property
    def layout(self) -> Layout:
        lengths, n_columns = np.diff(self.offsets), np.diff(self.column_offsets)
        ends = np.linspace(0, self.n_literals, min(N_BLOCKS, self.n_rules) + 1)
        return Layout(
            offsets=self.offsets,
            weight_offsets=starts(lengths * n_columns),
            column_offsets=self.column_offsets,
            places=np.searchsorted(self.features, self.columns).astype(np.int64),
            mixing_offsets=starts(lengths**2 * self.deep),
            blocks=np.unique(np.searchsorted(self.offsets, ends)).astype(np.int64),
            n_features=self.features.size,
            deep=self.deep,
        )

    @property
    def deep(self) -> bool:
        return self.mixing.size > 0

    @property
    def n_rules(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_literals(self) -> int:
        return len(self.biases)

    @property
    def n_outputs(self) -> int:
        return self.values.shape[1]

    def __getstate__(self) -> dict[str, Any]:
        """The state to pickle, without cached properties, which can be computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        kind = "deep neural rules" if self.deep else "neural rules"
        return (
            f"Network({self.n_rules} {kind}, {self.n_literals} literals, "
            f"{self.features.size} features, {self.n_outputs} outputs)"
        )


class NetworkInUnits(Network):
    """A network whose outputs are in the units of the targets: to measure, read and export.

    Training takes a `Network` for standardised targets and refuses this type.
    """


def starts(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """Where consecutive parts of these lengths begin, and where the last part ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def identities(lengths: np.ndarray) -> np.ndarray:
    """Identity matrices of these sizes, flat, one after the other, float32."""
    return np.concatenate([np.eye(n, dtype=np.float32).ravel() for n in lengths])
