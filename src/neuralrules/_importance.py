"""Which rules, columns and pairs of columns matter, on given rows, and how surely.

Columns and pairs are judged by the decision function f itself. Replace a column's cell
by that of a random other row, x -> x_a: half the mean squared change of f, as a share of
its variance, is the total Sobol index of the column, estimated as by Jansen (1999). For
two columns, a quarter of the mean of (f(x) - f(x_a) - f(x_b) + f(x_ab))^2 is what only
both together explain: the superset importance of Liu and Owen (2006). Zero means that f
is a sum of one function without a and one without b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import check_is_fitted

from neuralrules._activity import activations
from neuralrules._frames import import_pandas
from neuralrules._table import rule_importance

if TYPE_CHECKING:
    from neuralrules._model import NeuralRuleModel

KINDS = ("rules", "columns", "pairs")
DONORS = 3  # other rows that each row borrows cells from
PAIRED_COLUMNS = 10  # pairs are looked for among the most important columns


@dataclass(frozen=True)
class Importances:
    """Importance of several things, and what it was on resampled rows.

    Attributes
    ----------
    kind : {"rules", "columns", "pairs"}
    names : list
        Rule numbers, column names, or pairs of column names.
    values : (n,) float64
        Rules: mean absolute contribution. Columns and pairs: share of the variance of
        the decision function that is lost without them.
    resamples : (n_resamples, n) float64
        The same on rows drawn with replacement.
    """

    kind: str
    names: list[Any]
    values: np.ndarray
    resamples: np.ndarray

    def to_frame(self) -> Any:
        """Importance, its standard error and a 90 % interval, the largest first."""
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
    model: NeuralRuleModel,
    X: Any,
    *,
    kind: str,
    n_resamples: int,
    max_rows: int | None,
    random_state: Any,
) -> Importances:
    """Importance of the rules, columns or pairs of columns of a fitted model."""
    check_is_fitted(model)
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not one of {', '.join(map(repr, KINDS))}.")
    for name, value in (("n_resamples", n_resamples), ("max_rows", max_rows)):
        if value is not None and (not isinstance(value, Integral) or value < 2):
            raise ValueError(f"{name}={value!r} must be a whole number of at least 2.")
    X = model._check_columns(X, reset=False)
    if X.shape[0] < 2:
        raise ValueError(f"X has {X.shape[0]} row; importances need at least 2 to compare.")
    random_state = check_random_state(random_state)
    if max_rows is not None and X.shape[0] > max_rows:
        chosen = np.sort(random_state.choice(X.shape[0], max_rows, replace=False))
        X = _safe_indexing(X, chosen)
    encoded = model.encoder_.transform(X)
    draws = bootstrap_weights(len(encoded), n_resamples, random_state)
    if kind == "rules":
        active = activations(model.network_, encoded, model._engine())
        means = np.vstack([active.mean(axis=0), draws @ active])
        first, *others = (rule_importance(model, mean) for mean in means)
        names: list[Any] = list(range(model.network_.n_rules))
        return Importances(kind, names, first, np.array(others))
    swaps = Swaps(model, encoded, random_state)
    groups: list[Any] = [(column,) for column in used_columns(model)]
    result = swaps.importances(groups, draws)
    labels = [model.encoder_.names[column] for (column,) in groups]
    if kind == "columns":
        idle = [name for name in range(len(model.encoder_.names)) if (name,) not in groups]
        zeros = np.zeros((len(result), len(idle)))
        labels += [model.encoder_.names[column] for column in idle]
        result = np.hstack([result, zeros])
        return Importances(kind, labels, result[0], result[1:])
    best = np.sort(np.argsort(-result[0], kind="stable")[:PAIRED_COLUMNS])
    pairs = list(combinations([groups[place][0] for place in best], 2))
    result = swaps.importances(pairs, draws)
    labels = [tuple(model.encoder_.names[column] for column in pair) for pair in pairs]
    return Importances(kind, labels, result[0], result[1:])


def bootstrap_weights(
    n_rows: int, n_resamples: int, random_state: np.random.RandomState
) -> np.ndarray:
    """Share of each row in rows drawn with replacement, (n_resamples, n_rows)."""
    return random_state.multinomial(n_rows, np.full(n_rows, 1 / n_rows), n_resamples) / n_rows


def used_columns(model: NeuralRuleModel) -> list[int]:
    """The columns of the user's table that some weight looks at."""
    network = model.network_
    used = network.features[network.weights.any(axis=0)]
    return sorted({model.encoder_.columns[feature].source for feature in used})


class Swaps:
    """The decision function on rows that borrow some columns from other rows."""

    def __init__(
        self, model: NeuralRuleModel, encoded: np.ndarray, random_state: np.random.RandomState
    ) -> None:
        self._network, self._engine = model.network_, model._engine()
        several_classes = len(getattr(model, "classes_", ())) > 2 and model.loss == "logistic"
        self._centred = several_classes
        self._encoded = encoded
        self._sources = np.array([column.source for column in model.encoder_.columns])
        n = len(encoded)
        # A row's donor is another row: n - 1 of them are equally likely.
        steps = random_state.choice(np.arange(1, n), min(DONORS, n - 1), replace=False)
        order = random_state.permutation(n)
        self._donors = []
        for step in steps:
            donors = np.empty(n, np.int64)
            donors[order] = np.roll(order, step)
            self._donors.append(donors)
        self._own = self._decide(encoded)

    def _decide(self, encoded: np.ndarray) -> np.ndarray:
        outputs = self._engine.decide(self._network, encoded)
        return outputs - outputs.mean(axis=1, keepdims=True) if self._centred else outputs

    def _borrowed(self, columns: Sequence[int], donors: np.ndarray) -> np.ndarray:
        mixed = self._encoded.copy()
        places = np.flatnonzero(np.isin(self._sources, columns))
        mixed[:, places] = self._encoded[np.ix_(donors, places)]
        return self._decide(mixed)

    def importances(self, groups: Sequence[tuple[int, ...]], draws: np.ndarray) -> np.ndarray:
        """Importance of groups of one or two columns, (1 + n_resamples, n_groups).

        The first line is on the rows as they are.
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
        n = len(self._own)
        weights = np.vstack([np.full(n, 1 / n), draws])
        means = weights @ self._own
        variances = (weights @ self._own**2 - means**2).sum(axis=1, keepdims=True)
        return weights @ squares / np.where(variances > 0, variances, 1)
