"""Why the model predicts what it predicts for a row: rules, contributions, limits, slopes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuralrules._data._columns import Number
from neuralrules._engine._protocol import Engine
from neuralrules._engine._reference import literals_forward, units_forward
from neuralrules._fitted._fitted import Fitted
from neuralrules._io._checks import import_pandas
from neuralrules._network._network import Network
from neuralrules._network._parameters import Parameters
from neuralrules._reading._notation import number, printable
from neuralrules._reading._text import base_text, check_counts, rule_text
from neuralrules._reading._wording import limit_text
from neuralrules._task._task import Task, chosen_classes

SHOWN_ROWS = 10  # rows that a printed explanation shows


@dataclass(frozen=True, repr=False)
class Explanation:
    """The rules that fire on some rows, and what each of these rules adds.

    Add the contributions of a row in the given order, then the intercept: the sum is the
    decision function bit for bit. With the reference ``engine="numpy"`` and more than 64 rules
    the two agree to the last digits of float32.

    Attributes
    ----------
    decision : (n_rows, n_outputs) float64
        The decision function. For a regression this is the prediction, or its logarithm with
        ``loss="poisson"``.
    intercept : (n_outputs,) float64
    rows, rules : (n_active,) int64
        Which rule fires on which row: row by row, in the order of the rules.
    activations : (n_active,) float64
        min_j ReLU(w_j . x + a_j) of the rule on the row.
    contributions : (n_active, n_outputs) float64
        The rule's part of the decision: its value times its activation.
    limits : (n_active,) int64
        The literal that limits the activation, counted from the rule's first literal. For a
        deep rule it is the unit of the second layer that limits the activation.
    margins : (n_active,) float64
        The distance of the row from leaving the rule, in standard deviations of the encoded
        columns.
    margins_are_exact : (n_active,) bool
        Whether the margin is exact. For a deep rule it may be a lower bound.
    slopes : (n_rows, n_columns, n_outputs) float64
        Derivative of the decision with respect to each column of the table, in the column's
        own units. NaN for categories and for missing numbers, which cannot change by a little.
    columns : list of str
    outputs : list
        Class labels (for two classes the second one) or the numbers of the targets.
    """

    decision: np.ndarray
    intercept: np.ndarray
    rows: np.ndarray
    rules: np.ndarray
    activations: np.ndarray
    contributions: np.ndarray
    limits: np.ndarray
    margins: np.ndarray
    margins_are_exact: np.ndarray
    slopes: np.ndarray
    columns: list[str]
    outputs: list[Any]
    _fitted: Fitted
    _limit_weights: np.ndarray
    _limit_biases: np.ndarray

    @property
    def n_rows(self) -> int:
        return len(self.decision)

    @property
    def are_classes(self) -> bool:
        """Whether the decision is about classes, not numbers."""
        return self._fitted.task.are_classes

    @property
    def base(self) -> str:
        """What every row starts with before any rule adds to it, such as "3.1 % for ill"."""
        return base_text(self._fitted)

    def limit_text(self, place: int, precision: int = 3, max_terms: int = 3) -> str:
        """The inequality that limits rule ``rules[place]`` on its row, in the user's units."""
        weights, bias = self._limit_weights[place], float(self._limit_biases[place])
        encoder, features = self._fitted.encoder, self._fitted.network.features
        return limit_text(encoder, features, weights, bias, precision, max_terms)

    def to_frame(self, *, precision: int = 3, max_terms: int = 3) -> Any:
        """A pandas frame with one line for each output of each rule that fires on a row.

        If the model has an intercept, each row gets one more line for it, without a rule, so
        that the contributions of a row sum to its decision.
        """
        pandas = import_pandas("to_frame")
        check_counts(precision=precision, max_terms=max_terms)
        start = np.arange(self.n_rows if self.intercept.any() else 0)
        rows, n_outputs = np.concatenate([start, self.rows]), len(self.intercept)
        order = np.argsort(rows, kind="stable")

        def column(of_start: Any, of_rules: np.ndarray) -> np.ndarray:
            cells = np.concatenate([np.full(len(start), of_start), of_rules])
            return np.repeat(cells[order], n_outputs)

        network, shown = self._fitted.network, (precision, max_terms)
        texts = [rule_text(self._fitted, rule, *shown) for rule in range(network.n_rules)]
        # The text of a shallow rule's literal is made only once.
        pairs = zip(self.rules.tolist(), self.limits.tolist(), strict=True)
        keys = list(range(len(self.rules)) if network.deep else pairs)
        places = {key: place for place, key in enumerate(keys)}
        limits = {key: self.limit_text(place, *shown) for key, place in places.items()}
        starts = np.tile(self.intercept, (len(start), 1))
        frame = pandas.DataFrame(
            {
                "row": np.repeat(rows[order], n_outputs),
                "rule": pandas.Series(column(np.nan, self.rules), dtype="Int64"),
                "output": np.tile(np.array(self.outputs, object), len(rows)),
                "contribution": np.concatenate([starts, self.contributions])[order].ravel(),
                "activation": column(np.nan, self.activations),
                "margin": column(np.nan, self.margins),
                "limited_by": column("", np.array([limits[key] for key in keys], object)),
                "text": column(f"start: {self.base}", np.array(texts, object)[self.rules]),
            }
        )
        return frame.drop(columns="output") if n_outputs == 1 else frame

    def slopes_frame(self) -> Any:
        """One line for each row, column and output, as a pandas frame."""
        pandas = import_pandas("slopes_frame")
        n_rows, n_columns, n_outputs = self.slopes.shape
        frame = pandas.DataFrame(
            {
                "row": np.repeat(np.arange(n_rows), n_columns * n_outputs),
                "column": np.tile(np.repeat(self.columns, n_outputs), n_rows),
                "output": np.tile(np.array(self.outputs, object), n_rows * n_columns),
                "slope": self.slopes.ravel(),
            }
        )
        return frame.drop(columns="output") if n_outputs == 1 else frame

    def __str__(self) -> str:
        return rows_text(self.n_rows, self._row_text)

    __repr__ = __str__

    def _row_text(self, row: int) -> str:
        places = np.flatnonzero(self.rows == row)
        largest = np.abs(self.contributions[places]).max(axis=1)

        def values(numbers: np.ndarray) -> str:
            return ", ".join(f"{number(value, 4):>8}" for value in numbers)

        names = [printable(str(name)) for name in self.outputs]
        heading = "" if len(names) == 1 else f"  ({', '.join(names)})"
        decision = f"decision {values(self.decision[row]).strip()}{heading}"
        said = predicted_text(self._fitted.task, self.decision[row])
        lines = [f"Row {row}: {said}{decision}"]
        if self.intercept.any():
            lines.append(f"{values(self.intercept)}  start: {self.base}")
        for place in places[np.argsort(-largest, kind="stable")]:
            least = "" if self.margins_are_exact[place] else "at least "
            lines.append(
                f"{values(self.contributions[place])}  rule {self.rules[place]}, limited by "
                f"{self.limit_text(place)}; margin {least}{number(self.margins[place], 2)}"
            )
        if not places.size:
            lines.append("No rule fires.")
        return "\n".join(lines)


def rows_text(n_rows: int, text: Callable[[int], str]) -> str:
    """The texts of the first rows, and how many rows are left out."""
    texts = [text(row) for row in range(min(n_rows, SHOWN_ROWS))]
    if n_rows > SHOWN_ROWS:
        texts.append(f"… and {n_rows - SHOWN_ROWS} more rows: see to_frame().")
    return "\n\n".join(texts)


def predicted_text(task: Task, decision: np.ndarray) -> str:
    """The prediction for a decision (n_outputs,): a class with its probability, or a number.

    Empty if the decision itself is the prediction.
    """
    outputs = decision[None]
    if task.are_classes:
        code = int(chosen_classes(outputs)[0])
        text = printable(str(task.labels[code]))
        if task.gives_probabilities:
            text += f" ({number(100 * float(task.probabilities(outputs)[0, code]), 3)} %)"
        return f"{text}, "
    if task.loss.link.is_identity:
        return ""
    numbers = np.ravel(task.predictions(outputs)).tolist()
    return f"prediction {', '.join(number(one, 4) for one in numbers)}, "


def explain(fitted: Fitted, X: Any, engine: Engine) -> Explanation:
    """Explain each row of a checked table: the rules that fire, and their contributions."""
    network, encoder = fitted.network, fitted.encoder
    encoded = encoder.transform(X)
    active = engine.activations(network, encoded)
    rows, rules = np.nonzero(active > 0)
    strength = active[rows, rules]
    limits, margins, exact, weights, biases = local_forms(network, encoded, rows, rules)
    slopes = np.zeros((len(encoded), network.features.size, network.n_outputs))
    for rule in np.unique(rules):
        own = rules == rule
        slopes[rows[own]] += weights[own][:, :, None] * network.values[rule]
    return Explanation(
        decision=engine.decide(network, encoded) + network.intercept,
        intercept=network.intercept,
        rows=rows,
        rules=rules,
        activations=strength,
        contributions=strength[:, None] * network.values[rules].astype(np.float64),
        limits=limits,
        margins=margins,
        margins_are_exact=exact,
        slopes=slopes_by_column(fitted, X, slopes),
        columns=list(encoder.names),
        outputs=fitted.task.output_names,
        _fitted=fitted,
        _limit_weights=weights,
        _limit_biases=biases,
    )


def exact_literals(network: Network, encoded: np.ndarray) -> tuple[Parameters, np.ndarray]:
    """The parameters, and the literals (n_rows, n_literals) of encoded rows, in float64."""
    parameters = Parameters(*(array.astype(np.float64) for array in network.parameters))
    x = encoded[:, network.features].astype(np.float64)
    return parameters, literals_forward(parameters, network.layout, x)


def local_forms(
    network: Network, encoded: np.ndarray, rows: np.ndarray, rules: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The linear form w . x + a that equals a rule's activation near each row that it fires on.

    If literals are equally small, the first one limits the activation, as in training.

    Returns
    -------
    limits : (n_active,) int64
    margins : (n_active,) float64
    exact : (n_active,) bool
    weights : (n_active, n_features) float64
    biases : (n_active,) float64
    """
    parameters, literals = exact_literals(network, encoded)
    units = units_forward(parameters, network.layout, literals)
    dense = network.layout.dense(parameters.weights)
    limits, margins = np.zeros(len(rows), np.int64), np.zeros(len(rows))
    exact = np.ones(len(rows), bool)
    weights, biases = np.zeros((len(rows), dense.shape[1])), np.zeros(len(rows))
    for rule in np.unique(rules):
        places, own = np.flatnonzero(rules == rule), network.layout.literals_of(rule)
        mine, below = units[rows[places], own], literals[rows[places], own]
        limit = limits[places] = mine.argmin(axis=1)
        slopes, constants = dense[own], parameters.biases[own]
        if not network.deep:
            weights[places], biases[places] = slopes[limit], constants[limit]
            margins[places] = distances(mine, np.linalg.norm(slopes, axis=1)).min(axis=1)
            continue
        mixing = network.second_layer(rule).astype(np.float64)
        through = mixing[limit] * (below > 0)
        weights[places] = through @ slopes
        biases[places] = through @ constants + parameters.shifts[own][limit]
        margins[places], exact[places] = deep_margins(mine, below, slopes, mixing)
    return limits, np.maximum(margins, 0), exact, weights, biases


def distances(values: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """How far `values` that fall by `slopes` are from 0; infinite if a slope is 0."""
    return np.where(slopes > 0, np.abs(values) / np.where(slopes > 0, slopes, 1), np.inf)


def deep_margins(
    units: np.ndarray, literals: np.ndarray, weights: np.ndarray, mixing: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How far rows are from leaving a deep rule, and for which rows the distance is exact.

    As long as no literal changes its sign, all units are linear. If the row leaves the rule
    before a literal changes its sign, the distance is exact. Otherwise there are two lower
    bounds: the distance to the first change of sign, and the distance if all literals changed
    as steeply as they can at once. The margin is then the larger of these bounds.

    `units` and `literals` are (n_rows, n_literals) float64, `weights` (n_literals, n_features),
    `mixing` (n_literals, n_literals). Both results are (n_rows,).
    """
    norms = np.linalg.norm(weights, axis=1)
    linear = distances(literals, norms).min(axis=1)
    # The Gram matrix of the literals' weights gives the squared slopes of all units at once.
    through = mixing[None] * (literals > 0)[:, None, :]
    squares = np.einsum("ruj,jk,ruk->ru", through, weights @ weights.T, through)
    straight = distances(units, np.sqrt(np.maximum(squares, 0))).min(axis=1)
    steepest = distances(units, np.abs(mixing) @ norms).min(axis=1)
    exact = straight <= linear
    return np.where(exact, straight, np.maximum(linear, steepest)), exact


def slopes_by_column(fitted: Fitted, X: Any, slopes: np.ndarray) -> np.ndarray:
    """Slopes for the columns of the user's table, (n_rows, n_columns, n_outputs) float64."""
    encoder, features = fitted.encoder, fitted.network.features.tolist()
    result = np.full((len(slopes), len(encoder.names), slopes.shape[2]), np.nan)
    for feature, column in enumerate(encoder.columns):
        if not isinstance(column, Number):
            continue
        cells = encoder.numbers(X, column.source)
        result[:, column.source] = 0
        if feature in features:
            own = np.broadcast_to(column.slopes(cells), len(cells))
            result[:, column.source] = slopes[:, features.index(feature)] * own[:, None]
        result[np.isnan(cells), column.source] = np.nan
    return result
