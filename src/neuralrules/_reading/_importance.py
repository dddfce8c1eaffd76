"""Which rules, columns and pairs of columns matter on given rows, and how certain this is.

The importance of columns and pairs is measured by the decision function f itself. In a row x,
replace the cell of column a by the cell of another random row; the result is x_a. The
importance of the column is half the mean squared change of f, divided by the variance of f. The
importance of two columns is a quarter of the mean of (f(x) - f(x_a) - f(x_b) + f(x_ab))^2,
divided by the variance of f. It measures what only both columns together do. It is zero if f is
the sum of a function without a and a function without b.

If columns are independent, importances are shares of the variance: the total Sobol index,
estimated as by Jansen (1999), and the superset importance of Liu and Owen (2006). If columns
are dependent, borrowed cells make rows unlike all rows seen. Then the importances say what the
model would do on such rows, and may exceed 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight

from neuralrules._engine._protocol import Engine
from neuralrules._fitted._activity import rule_importance
from neuralrules._fitted._fitted import Fitted
from neuralrules._io._checks import check_whole
from neuralrules._io._frames import import_pandas
from neuralrules._reading._names import column_label

KINDS = ("rules", "columns", "pairs")
DONORS = 3  # other rows that each row borrows cells from
PAIRED_COLUMNS = 10  # only pairs of this many most important columns are measured


@dataclass(frozen=True, eq=False, repr=False)
class Importances:
    """The importance of rules, columns or pairs, on the given rows and on resampled rows.

    Attributes
    ----------
    kind : {"rules", "columns", "pairs"}
    names : list
        Rule numbers, column names, or pairs of column names.
    values : (n,) float64
        For rules, the mean absolute contribution. For columns and pairs, the mean squared
        change of the decision function when cells are borrowed from other rows, divided by the
        variance of the decision function. It is multiplied by 1/2 for columns and by 1/4 for
        pairs.
    resamples : (n_resamples, n) float64
        The importances on rows drawn with replacement.
    """

    kind: str
    names: list[Any]
    values: np.ndarray
    resamples: np.ndarray

    def __repr__(self) -> str:
        best = np.argsort(-self.values, kind="stable")[:5]
        texts = [f"{self._label(place)}: {self.values[place]:.3g}" for place in best]
        more = ", …" if len(self.names) > len(best) else ""
        return f"Importances({self.kind}: {', '.join(texts)}{more})"

    def _label(self, place: int) -> str:
        name = self.names[place]
        return column_label(name) if self.kind == "columns" else str(name)

    def to_frame(self) -> Any:
        """Each importance, its standard error and a 90 % interval; the largest comes first."""
        pandas = import_pandas("to_frame")
        singular = {"rules": "rule", "columns": "column", "pairs": "pair"}[self.kind]
        low, high = np.quantile(self.resamples, [0.05, 0.95], axis=0)
        frame = pandas.DataFrame(
            {
                singular: self.names,
                "importance": self.values,
                "se": self.resamples.std(axis=0),
                "low": low,
                "high": high,
            }
        )
        return frame.sort_values(
            "importance", ascending=False, kind="stable", ignore_index=True
        )


def importances(
    fitted: Fitted,
    n_rows: int,
    encode: Callable[[np.ndarray], np.ndarray],
    engine: Engine,
    *,
    kind: str,
    n_resamples: int,
    max_rows: int | None,
    sample_weight: Any,
    random_state: Any,
) -> Importances:
    """Importance of the rules, columns or pairs of columns, on some of `n_rows` rows.

    `encode` returns the encoded rows for an array of row numbers, because only a sample of a
    long table needs to be encoded.
    """
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not one of {', '.join(map(repr, KINDS))}.")
    check_whole("n_resamples", n_resamples, 2)
    if max_rows is not None:
        check_whole("max_rows", max_rows, 2)
    if n_rows < 2:
        raise ValueError(f"X has {n_rows} row; importances need at least 2 to compare.")
    random_state = check_random_state(random_state)
    weights = _check_sample_weight(
        sample_weight, np.empty((n_rows, 0)), dtype=np.float64, ensure_non_negative=True
    )
    chosen = np.arange(n_rows)
    if max_rows is not None and n_rows > max_rows:
        chosen = np.sort(random_state.choice(n_rows, max_rows, replace=False))
        weights = weights[chosen]
    if not weights.any():
        raise ValueError("sample_weight is zero for every row. Give some rows weight.")
    encoded = encode(chosen)
    draws = Draws(weights, n_resamples, random_state)
    if kind == "rules":
        active = engine.activations(fitted.network, encoded)
        result = np.array(
            [rule_importance(fitted.task, fitted.network, mean) for mean in draws.means(active)]
        )
        return Importances(kind, list(range(fitted.network.n_rules)), result[0], result[1:])
    swaps = Swaps(fitted, encoded, engine, random_state)
    groups: list[Any] = [(column,) for column in fitted.used_columns]
    result = swaps.importances(groups, draws)
    labels = [fitted.encoder.names[column] for (column,) in groups]
    if kind == "columns":
        idle = [name for name in range(len(fitted.encoder.names)) if (name,) not in groups]
        zeros = np.zeros((len(result), len(idle)))
        labels += [fitted.encoder.names[column] for column in idle]
        result = np.hstack([result, zeros])
        return Importances(kind, labels, result[0], result[1:])
    best = np.sort(np.argsort(-result[0], kind="stable")[:PAIRED_COLUMNS])
    pairs = list(combinations([groups[place][0] for place in best], 2))
    result = swaps.importances(pairs, draws)
    labels = [tuple(fitted.encoder.names[column] for column in pair) for pair in pairs]
    return Importances(kind, labels, result[0], result[1:])


def column_shares(fitted: Fitted) -> np.ndarray:
    """How much each column of the table matters, without any rows: (n_columns,) float64.

    The mean absolute contribution of each rule on the training rows is divided among the
    columns of the rule, in proportion to the sizes of their weights on standardised columns.
    The shares sum to 1, or are all 0 if no rule looks at any column. If the model remembers no
    rows, the size of a rule's value takes the place of its mean contribution.
    """
    network, activity = fitted.network, fitted.activity
    activation = activity.activation if activity.n_rows else np.ones(network.n_rules)
    rules = rule_importance(fitted.task, network, activation)
    sizes = np.add.reduceat(np.abs(network.weights, dtype=np.float64), network.offsets[:-1])
    sums = sizes.sum(axis=1, keepdims=True)
    of_features = rules @ (sizes / np.where(sums > 0, sums, 1))
    sources = [fitted.encoder.columns[feature].source for feature in network.features]
    shares = np.bincount(sources, of_features, len(fitted.encoder.names))
    total = shares.sum()
    return shares / total if total > 0 else shares


class Draws:
    """Means over the rows as they are, and over rows drawn with replacement."""

    def __init__(
        self, weights: np.ndarray, n_resamples: int, random_state: np.random.RandomState
    ) -> None:
        self._shares = weights / weights.sum()
        self._n_resamples = n_resamples
        self._seed = random_state.randint(2**31 - 1)

    def means(self, values: np.ndarray) -> np.ndarray:
        """Means of values (n_rows, n), (1 + n_resamples, n); every call uses the same draws.

        The first line is the mean over the rows as they are.
        """
        random_state = np.random.RandomState(self._seed)
        n_drawn = np.count_nonzero(self._shares)
        result = [self._shares @ values]
        for _ in range(self._n_resamples):
            counts = random_state.multinomial(n_drawn, self._shares)
            result.append(counts @ values / n_drawn)
        return np.array(result)


class Swaps:
    """The decision function on rows that borrow some columns from other rows."""

    def __init__(
        self,
        fitted: Fitted,
        encoded: np.ndarray,
        engine: Engine,
        random_state: np.random.RandomState,
    ) -> None:
        self._fitted, self._engine = fitted, engine
        self._encoded = encoded
        self._sources = np.array([column.source for column in fitted.encoder.columns])
        n = len(encoded)
        # A row's donor is one of the n - 1 other rows, all equally likely.
        steps = random_state.choice(np.arange(1, n), min(DONORS, n - 1), replace=False)
        order = random_state.permutation(n)
        self._donors = []
        for step in steps:
            donors = np.empty(n, np.int64)
            donors[order] = np.roll(order, step)
            self._donors.append(donors)
        self._own = self._decide(encoded)

    def _decide(self, encoded: np.ndarray) -> np.ndarray:
        outputs = self._engine.decide(self._fitted.network, encoded)
        return self._fitted.task.comparable(outputs)

    def _borrowed(self, columns: Sequence[int], donors: np.ndarray) -> np.ndarray:
        mixed = self._encoded.copy()
        places = np.flatnonzero(np.isin(self._sources, columns))
        mixed[:, places] = self._encoded[np.ix_(donors, places)]
        return self._decide(mixed)

    def importances(self, groups: Sequence[tuple[int, ...]], draws: Draws) -> np.ndarray:
        """Importance of groups of one or two columns, (1 + n_resamples, n_groups).

        The first line is the importance on the rows as they are.
        """
        squares = np.zeros((len(self._own), len(groups)))
        for donors in self._donors:
            singles = {
                column: self._borrowed([column], donors)
                for column in sorted({column for group in groups for column in group})
            }
            for place, group in enumerate(groups):
                change = self._own - sum(singles[column] for column in group)
                if len(group) == 2:
                    change = change + self._borrowed(group, donors)
                squares[:, place] += (change**2).sum(axis=1) / (2 * len(group))
        squares /= len(self._donors)
        centred = self._own - self._own.mean(axis=0)
        moments = draws.means(centred**2) - draws.means(centred) ** 2
        variances = moments.sum(axis=1, keepdims=True)
        return draws.means(squares) / np.where(variances > 0, variances, 1)
