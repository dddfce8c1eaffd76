"""The parameters that training changes, as flat arrays, and which rule each belongs to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Parameters(NamedTuple):
    """The parameters that training changes. Gradients and Adam's moments have the same form.

    Attributes
    ----------
    weights : (sum of n_literals * n_columns over the rules,) float32
        One matrix (n_literals, n_columns) after the other, row by row: the weights of a
        rule's literals on the rule's own columns.
    biases : (n_literals,) float32
    values : (n_rules, n_outputs) float32
    mixing : (sum of squared rule lengths,) float32
        Second layers of deep rules, one square matrix after the other; else empty.
    shifts : (n_literals,) float32
        Biases of the second layers; empty for shallow rules.
    intercept : (n_outputs,) float32
        The outputs before any rule adds to them.
    """

    weights: np.ndarray
    biases: np.ndarray
    values: np.ndarray
    mixing: np.ndarray
    shifts: np.ndarray
    intercept: np.ndarray

    def copy(self) -> Parameters:
        return Parameters(*(array.copy() for array in self))

    def zeros(self, dtype: type | None = None) -> Parameters:
        return self.filled(0, dtype)

    def filled(self, value: float, dtype: type | None = None) -> Parameters:
        """Arrays of the same shapes that hold `value` everywhere."""
        return Parameters(*(np.full_like(array, value, dtype) for array in self))


class Layout(NamedTuple):
    """Which parameters belong to which rule.

    Attributes
    ----------
    offsets : (n_rules + 1,) int64
        First literal of each rule, and the number of literals.
    weight_offsets : (n_rules + 1,) int64
        Start of each rule's matrix in ``Parameters.weights``, and the length of that array.
    column_offsets : (n_rules + 1,) int64
        Start of each rule's columns in `places`, and the length of `places`.
    places : (sum of n_columns over the rules,) int64
        The place of each rule's columns among the features of the network, rule after rule.
    mixing_offsets : (n_rules + 1,) int64
        Start of each rule's matrix in ``Parameters.mixing``, and the length of that array.
    blocks : (n_blocks + 1,) int64
        First rule of each block, and the number of rules.
    n_features : int
        Number of columns that the network looks at.
    deep : bool
    """

    offsets: np.ndarray
    weight_offsets: np.ndarray
    column_offsets: np.ndarray
    places: np.ndarray
    mixing_offsets: np.ndarray
    blocks: np.ndarray
    n_features: int
    deep: bool

    @property
    def n_rules(self) -> int:
        return len(self.offsets) - 1

    def literals_of(self, rule: int) -> slice:
        """The rule's literals among all literals."""
        return slice(int(self.offsets[rule]), int(self.offsets[rule + 1]))

    def places_of(self, rule: int) -> np.ndarray:
        """Where the rule's columns are among the features, ascending int64: a view."""
        return self.places[self.column_offsets[rule] : self.column_offsets[rule + 1]]

    def weights_of(self, weights: np.ndarray, rule: int) -> np.ndarray:
        """The rule's part of flat weights, (n_literals, n_columns): a view."""
        own = weights[self.weight_offsets[rule] : self.weight_offsets[rule + 1]]
        n_literals = self.offsets[rule + 1] - self.offsets[rule]
        return own.reshape(
            n_literals, self.column_offsets[rule + 1] - self.column_offsets[rule]
        )

    def mixing_of(self, mixing: np.ndarray, rule: int) -> np.ndarray:
        """The rule's part of flat second layers, (n_literals, n_literals): a view."""
        n = self.offsets[rule + 1] - self.offsets[rule]
        start = self.mixing_offsets[rule]
        return mixing[start : start + n * n].reshape(n, n)

    def dense(self, weights: np.ndarray) -> np.ndarray:
        """Flat weights as (n_literals, n_features), zero on columns that a rule does not own.

        A view if every rule owns all features, otherwise a copy.
        """
        n_literals = int(self.offsets[-1])
        if self.places.size == self.n_rules * self.n_features:
            return weights.reshape(n_literals, self.n_features)
        result = np.zeros((n_literals, self.n_features), weights.dtype)
        result[self.cells()] = weights
        return result

    def cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Row and column of every flat weight in the dense matrix, both int64."""
        n_literals, n_columns = np.diff(self.offsets), np.diff(self.column_offsets)
        literals = np.repeat(np.arange(self.offsets[-1]), np.repeat(n_columns, n_literals))
        columns = [
            np.tile(self.places_of(rule), n_literals[rule]) for rule in range(self.n_rules)
        ]
        return literals, np.concatenate([*columns, np.empty(0, np.int64)]).astype(np.int64)
