"""The neural rules as flat arrays.

A neural rule (equation 11 of the paper) is ``r(x) = c * min_j ReLU(w_j . x_T + a_j)``.
The literals of all rules lie one after the other: rule ``i`` owns the literals
``offsets[i]`` to ``offsets[i + 1]``. A deep neural rule puts a second layer
``h = mixing . ReLU(w x + a) + shifts`` between its literals and the minimum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from neuralrules._rules._rules import Rules

# Blocks of rules are what threads share out. Their number is fixed, whatever the
# number of threads, because outputs are summed block by block.
N_BLOCKS = 16


class Parameters(NamedTuple):
    """What training changes; also the shape of a gradient and of Adam's moments.

    Attributes
    ----------
    weights : (n_literals, n_features) float32
    biases : (n_literals,) float32
    values : (n_rules, n_outputs) float32
    mixing : (sum of squared rule lengths,) float32
        Second layers of deep rules, one square matrix after the other; else empty.
    shifts : (n_literals,) float32
        Biases of the second layers; empty for shallow rules.
    """

    weights: np.ndarray
    biases: np.ndarray
    values: np.ndarray
    mixing: np.ndarray
    shifts: np.ndarray

    def copy(self) -> Parameters:
        return Parameters(*(array.copy() for array in self))

    def zeros(self, dtype: type | None = None) -> Parameters:
        return Parameters(*(np.zeros_like(array, dtype) for array in self))


class Layout(NamedTuple):
    """Which parameters belong to which rule.

    Attributes
    ----------
    offsets : (n_rules + 1,) int64
        First literal of each rule, and the number of literals.
    mixing_offsets : (n_rules + 1,) int64
        Start of each rule's matrix in ``Parameters.mixing``.
    blocks : (n_blocks + 1,) int64
        First rule of each block, and the number of rules.
    deep : bool
    """

    offsets: np.ndarray
    mixing_offsets: np.ndarray
    blocks: np.ndarray
    deep: bool


@dataclass(frozen=True)
class Network:
    """A fitted or freshly started ensemble of neural rules.

    Attributes
    ----------
    weights : ndarray of shape (n_literals, n_features), float32
    biases : ndarray of shape (n_literals,), float32
    offsets : ndarray of shape (n_rules + 1,), int64
        Rule i owns the literals offsets[i] to offsets[i + 1].
    values : ndarray of shape (n_rules, n_outputs), float32
        Activation values c.
    features : ndarray of shape (n_features,), int32
        Columns of the standardised, encoded table that the network looks at:
        those that its trees use.
    intercept : ndarray of shape (n_outputs,), float64
        Added to the sum of the rules: zero for a classifier, the mean of the
        training targets for a regressor. In float64, since targets may lie far from
        zero compared with their spread.
    mixing : ndarray of shape (sum of squared rule lengths,), float32
        Second layers of deep rules, row by row; empty for shallow rules.
    shifts : ndarray of shape (n_literals,), float32
        Biases of the second layers; empty for shallow rules.
    origins : ndarray of shape (n_literals,), int64
        Place of the split that each literal grew from among those of its tree rule; -1
        for the constant literal of a rule without splits.
    """

    weights: np.ndarray
    biases: np.ndarray
    offsets: np.ndarray
    values: np.ndarray
    features: np.ndarray
    intercept: np.ndarray
    mixing: np.ndarray
    shifts: np.ndarray
    origins: np.ndarray

    @classmethod
    def from_rules(cls, rules: Rules, *, deep: bool) -> Network:
        """Start each neural rule exactly as its tree rule (section IV-A of the paper).

        A literal's weight is its sign on its own feature and 0 elsewhere, its bias
        is the threshold with the opposite sign. The second layer of a deep rule
        starts as the identity. A tree without a split has one rule without a
        literal, always true: it gets one literal that is constantly 1.
        """
        lengths = np.maximum(np.diff(rules.offsets), 1)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        features = np.unique(rules.features).astype(np.int32)
        weights = np.zeros((offsets[-1], features.size), np.float32)
        biases = np.ones(offsets[-1], np.float32)
        owner = np.repeat(np.arange(rules.n_rules), np.diff(rules.offsets))
        literal = np.arange(rules.n_literals) - rules.offsets[owner] + offsets[owner]
        weights[literal, np.searchsorted(features, rules.features)] = rules.signs
        biases[literal] = -rules.signs * rules.thresholds
        origins = np.full(offsets[-1], -1, np.int64)
        origins[literal] = np.arange(rules.n_literals) - rules.offsets[owner]
        mixing, shifts = np.empty(0, np.float32), np.empty(0, np.float32)
        if deep:
            identities = [np.eye(n, dtype=np.float32).ravel() for n in lengths]
            mixing, shifts = np.concatenate(identities), np.zeros_like(biases)
        return cls(
            weights=weights,
            biases=biases,
            offsets=offsets,
            values=rules.values.astype(np.float32),
            features=features,
            intercept=np.zeros(rules.values.shape[1]),
            mixing=mixing,
            shifts=shifts,
            origins=origins,
        )

    def with_parameters(self, parameters: Parameters) -> Network:
        """The same rules with other weights, biases, values and second layers."""
        return replace(self, **parameters._asdict())

    def in_target_units(self, mean: np.ndarray, scale: np.ndarray) -> Network:
        """Undo the standardisation of regression targets: mean + scale * output."""
        values = (self.values * scale).astype(np.float32)
        return replace(self, values=values, intercept=self.intercept * scale + mean)

    def take(self, rules: np.ndarray, literals: np.ndarray | None = None) -> Network:
        """Some of the rules, without some of their literals.

        Parameters
        ----------
        rules : (n,) int
            Indices of the rules to keep, in that order.
        literals : (n_literals,) bool, optional
            Which literals to keep, at least one of each kept rule; all by default. A
            deep rule loses the unit of its second layer together with the literal.
        """
        kept = np.ones(self.n_literals, bool) if literals is None else literals
        owned = [np.arange(self.offsets[i], self.offsets[i + 1]) for i in rules]
        chosen = np.concatenate([own[kept[own]] for own in owned])
        lengths = [np.count_nonzero(kept[own]) for own in owned]
        mixing = self.mixing
        if self.deep:
            squares = [
                self.second_layer(rule)[np.ix_(kept[own], kept[own])].ravel()
                for rule, own in zip(rules, owned, strict=True)
            ]
            mixing = np.concatenate(squares)
        return replace(
            self,
            weights=self.weights[chosen],
            biases=self.biases[chosen],
            offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            values=self.values[rules],
            mixing=mixing,
            shifts=self.shifts[chosen] if self.deep else self.shifts,
            origins=self.origins[chosen],
        )

    def without_unused_features(self) -> Network:
        """The same function over fewer columns: those with a weight other than zero."""
        used = self.weights.any(axis=0)
        return replace(
            self,
            weights=np.ascontiguousarray(self.weights[:, used]),
            features=self.features[used],
        )

    def second_layer(self, rule: int) -> np.ndarray:
        """The second layer of a deep rule, (n_literals, n_literals) float32: a view."""
        n = self.offsets[rule + 1] - self.offsets[rule]
        start = self.layout.mixing_offsets[rule]
        return self.mixing[start : start + n * n].reshape(n, n)

    @property
    def n_parameters(self) -> int:
        """Weights, biases, values and entries of second layers that are not zero."""
        return sum(int(np.count_nonzero(array)) for array in self.parameters)

    @property
    def parameters(self) -> Parameters:
        return Parameters(self.weights, self.biases, self.values, self.mixing, self.shifts)

    @property
    def layout(self) -> Layout:
        lengths = np.diff(self.offsets)
        squares = np.concatenate([[0], np.cumsum(lengths**2)]).astype(np.int64)
        ends = np.linspace(0, self.n_literals, min(N_BLOCKS, self.n_rules) + 1)
        blocks = np.unique(np.searchsorted(self.offsets, ends)).astype(np.int64)
        return Layout(self.offsets, squares if self.deep else squares * 0, blocks, self.deep)

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

    def __repr__(self) -> str:
        kind = "deep neural rules" if self.deep else "neural rules"
        return (
            f"Network({self.n_rules} {kind}, {self.n_literals} literals, "
            f"{self.features.size} features, {self.n_outputs} outputs)"
        )
