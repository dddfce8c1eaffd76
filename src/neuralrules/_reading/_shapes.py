"""Shapes: what one column, or a pair of columns, does to the output of a model.

The shape of a column is a partial dependence. Take some rows, move the column over its values,
and leave all other columns as they are. For each value, the shape is the mean output of the
model over these rows: log odds, a score, or a number in the target's own units.

The shape is computed from the rules. Rules that do not use the column add a constant. Every
other rule adds a part: its value times its mean activation. The constant and the parts sum to
the shape. A rule that uses no other column adds the same in every row. A rule that uses other
columns adds different amounts, and the band from the 10 % to the 90 % quantile of the rows
shows how much the rows differ. Before the quantiles are taken, each row's line is shifted so
that its mean over the column's values is the mean of the shape. So the band of a column that
interacts with no other column has no width.

A shape is exact at each of its values. Between two values it is a straight line. The line is
exact too if all rules that use the column use no other column (`Shape.exact`), because the
values of the shape include those at which these rules bend.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _check_sample_weight

from neuralrules._engine._protocol import Engine
from neuralrules._fitted._fitted import Fitted
from neuralrules._io._checks import check_whole, import_pandas
from neuralrules._network._network import Network
from neuralrules._reading._levels import Levels, activations_along, levels, rules_that_use
from neuralrules._reading._notation import column_label

BAND = (0.1, 0.9)  # quantiles of the rows
PAIR_VALUES = 20  # about how many numbers or dates each column of a pair is moved over


@dataclass(frozen=True, eq=False, repr=False)
class Shape:
    """What one column does to the output, averaged over some rows.

    Attributes
    ----------
    column : str
    outputs : (n_values, n_outputs) float64
        Mean output of the model with the column at each of its values.
    low, high : (n_values, n_outputs) float64
        The limits between which 80 % of the rows lie, after each row's line was shifted to the
        mean of the shape.
    parts : (n_parts, n_values, n_outputs) float64
        What each rule that uses the column adds.
    rules : (n_parts,) int64
        The rules that use the column.
    alone : (n_parts,) bool
        Whether a rule uses no other column, so that its part is the same in every row.
    rest : (n_outputs,) float64
        What the intercept and all other rules add: ``rest + parts.sum(axis=0)`` is `outputs`.
    shares : (n_values,) float64
        Share of the rows at each value; a row between two values counts for both.
    importance : float
        Standard deviation of the shape over the rows. If there are several outputs, this is one
        number for all of them.
    output_names : list
        Class labels (for two classes the second one), or the numbers of the targets.
    """

    column: str
    outputs: np.ndarray
    low: np.ndarray
    high: np.ndarray
    parts: np.ndarray
    rules: np.ndarray
    alone: np.ndarray
    rest: np.ndarray
    shares: np.ndarray
    importance: float
    output_names: list[Any]
    _levels: Levels
    _weights: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """Values of the column: (n_values,) float64, datetime64[s], or texts.

        Numbers and dates ascend. A missing cell is a value of its own, which comes last: NaN,
        NaT or None.
        """
        return self._levels.values

    @property
    def mean(self) -> np.ndarray:
        """Mean of the shape over the values that the rows have, (n_outputs,) float64."""
        return self.shares @ self.outputs

    @property
    def exact(self) -> bool:
        """Whether the shape is exactly a straight line between the values."""
        return self._levels.kind == "category" or bool(self.alone.all())

    def __repr__(self) -> str:
        name = column_label(self.column)
        return (
            f"Shape({name}: {len(self.shares)} values, {len(self.rules)} rules, "
            f"importance {self.importance:.3g})"
        )

    def to_frame(self) -> Any:
        """One line for each value and output, as a pandas frame."""
        pandas = import_pandas("to_frame")
        n_values, n_outputs = self.outputs.shape
        return pandas.DataFrame(
            {
                "value": np.repeat(self.values, n_outputs),
                "output": self.output_names * n_values,
                "mean": self.outputs.ravel(),
                "low": self.low.ravel(),
                "high": self.high.ravel(),
                "share": np.repeat(self.shares, n_outputs),
            }
        )


@dataclass(frozen=True, eq=False, repr=False)
class PairShape:
    """What two columns do to the output together, averaged over some rows.

    Attributes
    ----------
    columns : tuple of two str
    outputs : (n_first, n_second, n_outputs) float64
        Mean output of the model with both columns at each pair of their values.
    interaction : (n_first, n_second, n_outputs) float64
        What only both columns together do: the outputs, minus the shapes of both columns, plus
        the mean output. Exactly zero if no rule uses both columns.
    rules : (n_both,) int64
        The rules that use both columns.
    shares : (n_first, n_second) float64
        Share of the rows at each pair of values.
    importance : float
        Root of the mean square of the interaction over the rows.
    output_names : list
        Class labels (for two classes the second one), or the numbers of the targets.
    """

    columns: tuple[str, str]
    outputs: np.ndarray
    interaction: np.ndarray
    rules: np.ndarray
    shares: np.ndarray
    importance: float
    output_names: list[Any]
    _levels: tuple[Levels, Levels]

    @property
    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """Values of the two columns, in the form that `Shape.values` has."""
        return self._levels[0].values, self._levels[1].values

    def __repr__(self) -> str:
        names = " and ".join(map(column_label, self.columns))
        return (
            f"PairShape({names}: {len(self.rules)} rules use both, "
            f"importance {self.importance:.3g})"
        )


def shapes(
    fitted: Fitted,
    X: Any,
    engine: Engine,
    columns: Any,
    *,
    n_values: int,
    max_rows: int | None,
    sample_weight: Any,
    random_state: Any,
) -> list[Any]:
    """Shapes of columns and pairs; see `Answers.shapes`."""
    check_whole("n_values", n_values, 2)
    if max_rows is not None:
        check_whole("max_rows", max_rows, 1)
    asked = asked_columns(fitted, columns)
    weights = _check_sample_weight(
        sample_weight, np.empty((X.shape[0], 0)), dtype=np.float64, ensure_non_negative=True
    )
    chosen = np.flatnonzero(weights)
    if not chosen.size:
        raise ValueError("sample_weight is zero for every row. Give some rows weight.")
    if max_rows is not None and len(chosen) > max_rows:
        some = check_random_state(random_state).choice(len(chosen), max_rows, replace=False)
        chosen = chosen[np.sort(some)]
    table = X if len(chosen) == X.shape[0] else _safe_indexing(X, chosen)
    rows = MovedRows(fitted, table, weights[chosen], engine)
    found = [
        rows.shape(group[0], int(n_values)) if len(group) == 1 else rows.pair(*group)
        for group in asked
    ]
    if columns is None:
        found.sort(key=lambda shape: -shape.importance)
    return found


def asked_columns(fitted: Fitted, columns: Any) -> list[tuple[int, ...]]:
    """The places of the columns or of the pairs of columns that `columns` names."""
    if columns is None:
        return [(source,) for source in fitted.used_columns]
    names = fitted.encoder.names
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise ValueError(
            f"columns={columns!r} must be a list of columns, or of pairs of them. For example "
            f"columns=[{names[0]!r}] or columns=[({names[0]!r}, {names[-1]!r})]."
        )
    groups = []
    for item in columns:
        pair = isinstance(item, tuple | list)
        keys: Sequence[Any] = item if pair else (item,)
        group = tuple(fitted.encoder.position_of("columns", key) for key in keys)
        if pair and len(set(group)) != 2:
            raise ValueError(
                f"columns holds {item!r}, which are not two different columns. Give a name, or "
                f"a pair as ({names[0]!r}, {names[-1]!r})."
            )
        groups.append(group)
    return groups


class MovedRows:
    """Rows in which columns are moved, and each rule's mean contribution before the move."""

    def __init__(self, fitted: Fitted, X: Any, weights: np.ndarray, engine: Engine) -> None:
        self._fitted, self._X = fitted, X
        self._network: Network = fitted.network
        self._weights = weights / weights.sum()
        self._encoded = fitted.encoder.transform(X)
        active = engine.activations(self._network, self._encoded)
        self._means = self._contribution(slice(None), active)

    def shape(self, source: int, n_values: int) -> Shape:
        """What one column does."""
        network, own = self._network, self._levels(source, n_values, bent=True)
        rules, alone = rules_that_use(network, own.features)
        parts = np.zeros((len(rules), len(own), network.n_outputs))
        moved = np.zeros((len(self._weights), len(own), network.n_outputs))
        for place, rule in enumerate(rules.tolist()):
            active = self._along(rule, own.features, own.encoded)
            parts[place] = self._contribution(rule, active)
            moved += active[:, :, None] * network.values[rule].astype(np.float64)
        rest = self._rest(rules)
        outputs = rest + parts.sum(axis=0)
        shares = own.shares(self._weights)
        mean = shares @ outputs
        moved -= np.einsum("v,rvk->rk", shares, moved)[:, None]
        low, high = (mean + line for line in self._band(moved))
        return Shape(
            column=self._fitted.encoder.names[source],
            outputs=outputs,
            low=low,
            high=high,
            parts=parts,
            rules=rules,
            alone=alone,
            rest=rest,
            shares=shares,
            importance=self._size(outputs - mean, shares),
            output_names=self._fitted.task.output_names,
            _levels=own,
            _weights=self._weights,
        )

    def pair(self, first: int, second: int) -> PairShape:
        """What two columns do together."""
        a, b = (self._levels(source, PAIR_VALUES, bent=False) for source in (first, second))
        uses_a, uses_b = (rules_that_use(self._network, own.features)[0] for own in (a, b))
        both = np.intersect1d(uses_a, uses_b)
        features = np.concatenate([a.features, b.features])
        cells = [np.repeat(a.encoded, len(b), axis=0), np.tile(b.encoded, (len(a), 1))]
        order = np.argsort(features)
        together = self._added(both, features[order], np.hstack(cells)[:, order])
        together = together.reshape(len(a), len(b), -1)
        only_a = self._added(np.setdiff1d(uses_a, both), a.features, a.encoded)
        only_b = self._added(np.setdiff1d(uses_b, both), b.features, b.encoded)
        rest = self._rest(np.union1d(uses_a, uses_b))
        interaction = together - self._added(both, a.features, a.encoded)[:, None]
        interaction -= self._added(both, b.features, b.encoded)
        interaction += self._means[both].sum(axis=0)
        shares = pair_shares(a, b, self._weights)
        names = self._fitted.encoder.names
        return PairShape(
            columns=(names[first], names[second]),
            outputs=rest + only_a[:, None] + only_b + together,
            interaction=interaction,
            rules=both,
            shares=shares,
            importance=self._size(
                interaction.reshape(-1, self._network.n_outputs), shares.ravel()
            ),
            output_names=self._fitted.task.output_names,
            _levels=(a, b),
        )

    def _levels(self, source: int, n_values: int, *, bent: bool) -> Levels:
        encoder = self._fitted.encoder
        return levels(encoder, self._network, self._X, source, n_values, bent=bent)

    def _along(self, rule: int, features: np.ndarray, moved: np.ndarray) -> np.ndarray:
        return activations_along(self._network, rule, self._encoded, features, moved)

    def _added(self, rules: np.ndarray, features: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """What some rules add while columns move, (n_values, n_outputs)."""
        total = np.zeros((len(moved), self._network.n_outputs))
        for rule in rules.tolist():
            total += self._contribution(rule, self._along(rule, features, moved))
        return total

    def _rest(self, rules: np.ndarray) -> np.ndarray:
        """What the intercept and all rules except some add, (n_outputs,)."""
        return self._network.intercept + np.delete(self._means, rules, axis=0).sum(axis=0)

    def _contribution(self, rule: int | slice, active: np.ndarray) -> np.ndarray:
        """Mean contributions (n, n_outputs) for activations (n_rows, n)."""
        values = self._network.values[rule].astype(np.float64)
        return (self._weights @ active)[:, None] * values

    def _band(self, lines: np.ndarray) -> list[np.ndarray]:
        """Quantiles of the rows' lines (n_rows, n_values, n_outputs) at each value."""
        order = np.argsort(lines, axis=0)
        upto = np.cumsum(self._weights[order], axis=0)
        # The first row, in ascending order, at which the summed weights reach the level.
        places = (np.argmax(upto >= level * (1 - 1e-12), axis=0) for level in BAND)
        rows = (np.take_along_axis(order, place[None], axis=0) for place in places)
        return [np.take_along_axis(lines, row, axis=0)[0] for row in rows]

    def _size(self, effects: np.ndarray, shares: np.ndarray) -> float:
        """Root of the mean square of effects (n, n_outputs), summed over the outputs."""
        comparable = self._fitted.task.comparable(effects)
        return float(np.sqrt(shares @ (comparable**2).sum(axis=1)))


def pair_shares(a: Levels, b: Levels, weights: np.ndarray) -> np.ndarray:
    """Shares of the rows at each pair of values, (n_first, n_second) float64."""
    counts = np.zeros((len(a), len(b)))
    # A row between two values counts for both, in both columns.
    sides = (
        [(own.below, 1 - own.beyond), (np.minimum(own.below + 1, len(own) - 1), own.beyond)]
        for own in (a, b)
    )
    for (place_a, near_a), (place_b, near_b) in product(*sides):
        np.add.at(counts, (place_a, place_b), weights * near_a * near_b)
    return counts / weights.sum()
