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
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight

from neuralrules._engine._protocol import Engine
from neuralrules._fitted._activity import rule_importance
from neuralrules._fitted._fitted import Fitted
from neuralrules._io._checks import check_whole, import_pandas
from neuralrules._reading._notation import column_label

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
        label = column_label if self.kind == "columns" else str
        best = np.argsort(-self.values, kind="stable")[:5].tolist()
        texts = [f"{label(self.names[place])}: {self.values[place]:.3g}" for place in best]
        more = ", …" if len(self.names) > len(best) else ""
        return f"Importances({self.kind}: {', '.join(texts)}{more})"

    def to_frame(self) -> Any:
        """Each importance, its standard error and a 90 % interval; the largest comes first."""
        pandas = import_pandas("to_frame")
        low, high = np.quantile(self.resamples, [0.05, 0.95], axis=0)
        frame = pandas.DataFrame(
            {
                self.kind.removesuffix("s"): self.names,
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
    # Every call of `means` uses the same draws of rows.
    shares, seed = weights / weights.sum(), random_state.randint(2**31 - 1)
    means = partial(resampled_means, shares=shares, n_resamples=n_resamples, seed=seed)
    names: list[Any]
    if kind == "rules":
        names = list(range(fitted.network.n_rules))
        activations = means(engine.activations(fitted.network, encoded))
        result = np.array(
            [rule_importance(fitted.task, fitted.network, mean) for mean in activations]
        )
        return Importances(kind, names, result[0], result[1:])
    used, labels = fitted.used_columns, fitted.encoder.names
    measured = partial(
        group_importances, fitted, encoded, engine, donors_of(len(encoded), random_state), means
    )
    result = measured([(column,) for column in used])
    if kind == "columns":
        idle = [column for column in range(len(labels)) if column not in used]
        names = [labels[column] for column in [*used, *idle]]
        result = np.hstack([result, np.zeros((len(result), len(idle)))])
    else:
        best = np.sort(np.argsort(-result[0], kind="stable")[:PAIRED_COLUMNS])
        pairs = list(combinations([used[place] for place in best], 2))
        names = [(labels[one], labels[other]) for one, other in pairs]
        result = measured(pairs)
    return Importances(kind, names, result[0], result[1:])


def resampled_means(
    values: np.ndarray, *, shares: np.ndarray, n_resamples: int, seed: int
) -> np.ndarray:
    """Means of values (n_rows, n) over rows that count by their shares, (1 + n_resamples, n).

    The first line is the mean over the rows as they are, the others over rows drawn with
    replacement.
    """
    random_state = np.random.RandomState(seed)
    n_drawn = np.count_nonzero(shares)
    draws = (random_state.multinomial(n_drawn, shares) for _ in range(n_resamples))
    return np.array([shares @ values, *(counts @ values / n_drawn for counts in draws)])


def donors_of(n_rows: int, random_state: np.random.RandomState) -> list[np.ndarray]:
    """For each of `DONORS` rounds the row that each row borrows cells from, (n_rows,) int64.

    A row's donor is one of the other rows, all equally likely.
    """
    steps = random_state.choice(np.arange(1, n_rows), min(DONORS, n_rows - 1), replace=False)
    order = random_state.permutation(n_rows)
    places = np.argsort(order)
    return [np.roll(order, step)[places] for step in steps]


def group_importances(
    fitted: Fitted,
    encoded: np.ndarray,
    engine: Engine,
    rounds: list[np.ndarray],
    means: Callable[[np.ndarray], np.ndarray],
    groups: Sequence[tuple[int, ...]],
) -> np.ndarray:
    """Importance of groups of one or two columns, (1 + n_resamples, n_groups).

    In each of the `rounds`, the rows borrow cells from their donors. `means` gives the lines of
    the result: means over the rows as they are and over drawn rows.
    """
    sources = np.array([column.source for column in fitted.encoder.columns])

    def outputs(columns: Sequence[int], donors: np.ndarray) -> np.ndarray:
        """The decision function if the cells of some columns are those of the donors."""
        mixed, places = encoded.copy(), np.flatnonzero(np.isin(sources, columns))
        mixed[:, places] = encoded[np.ix_(donors, places)]
        return fitted.task.comparable(engine.decide(fitted.network, mixed))

    own = fitted.task.comparable(engine.decide(fitted.network, encoded))
    squares = np.zeros((len(own), len(groups)))
    for donors in rounds:
        columns = sorted({column for group in groups for column in group})
        singles = {column: outputs([column], donors) for column in columns}
        for place, group in enumerate(groups):
            change = own - sum(singles[column] for column in group)
            if len(group) == 2:
                change = change + outputs(group, donors)
            squares[:, place] += (change**2).sum(axis=1) / (2 * len(group))
    squares /= len(rounds)
    centred = own - own.mean(axis=0)
    moments = means(centred**2) - means(centred) ** 2
    variances = moments.sum(axis=1, keepdims=True)
    return means(squares) / np.where(variances > 0, variances, 1)


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
