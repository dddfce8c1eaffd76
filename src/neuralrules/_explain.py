"""Why the model says what it says about a row: rules, contributions, limits, slopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from neuralrules._activity import activations
from neuralrules._engine_numpy import literals_forward, units_forward
from neuralrules._frames import import_pandas
from neuralrules._network import Network, Parameters
from neuralrules._text import check_counts, inequality_text, number, rule_text

if TYPE_CHECKING:
    from neuralrules._model import NeuralRuleModel

SHOWN_ROWS = 10  # when an explanation is printed


@dataclass(frozen=True, repr=False)
class Explanation:
    """The rules that fire on some rows and what each of them adds.

    The contributions of a row, added in the order given, and then the intercept make
    up the decision function bit for bit.

    Attributes
    ----------
    decision : (n_rows, n_outputs) float64
        The decision function, or the prediction of a regression.
    intercept : (n_outputs,) float64
    rows, rules : (n_active,) int64
        Which rule fires on which row; row by row, in the order of the rules.
    activations : (n_active,) float64
        min_j ReLU(w_j . x + a_j) of the rule on the row.
    contributions : (n_active, n_outputs) float64
        Value times activation: the rule's part of the decision.
    limits : (n_active,) int64
        The literal that limits the activation, counted from the rule's first; for a
        deep rule the unit of its second layer.
    margins : (n_active,) float64
        How far the row is from leaving the rule: the distance in standard deviations
        of the columns. For a deep rule a lower bound of it.
    slopes : (n_rows, n_columns, n_outputs) float64
        Derivative of the decision by each column of the table, in its own units. NaN
        for categories and for missing numbers, which cannot change a little.
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
    slopes: np.ndarray
    columns: list[str]
    outputs: list[Any]
    _model: NeuralRuleModel
    _limit_weights: np.ndarray
    _limit_biases: np.ndarray

    @property
    def n_rows(self) -> int:
        return len(self.decision)

    def limit_text(self, place: int, precision: int = 3, max_terms: int = 3) -> str:
        """The inequality that limits the rule at a place of `rules`, in the user's units."""
        return inequality_text(
            self._model.encoder_,
            self._model.network_.features,
            self._limit_weights[place],
            float(self._limit_biases[place]),
            precision,
            max_terms,
        )

    def _limit_texts(self, precision: int, max_terms: int) -> list[str]:
        """The limits of all places; those of a shallow rule are its literals, written once."""
        deep = self._model.network_.deep
        texts: dict[tuple[int, ...], str] = {}
        result = []
        for place, pair in enumerate(
            zip(self.rules.tolist(), self.limits.tolist(), strict=True)
        ):
            key = (place,) if deep else pair
            if key not in texts:
                texts[key] = self.limit_text(place, precision, max_terms)
            result.append(texts[key])
        return result

    def to_frame(self, *, precision: int = 3, max_terms: int = 3) -> Any:
        """One line for each row, rule that fires on it, and output, as a pandas frame."""
        pandas = import_pandas("to_frame")
        check_counts(precision=precision, max_terms=max_terms)
        n_active, n_outputs = self.contributions.shape
        texts = [
            rule_text(self._model, rule, precision, max_terms)
            for rule in range(self._model.network_.n_rules)
        ]
        limits = self._limit_texts(precision, max_terms)
        frame = pandas.DataFrame(
            {
                "row": np.repeat(self.rows, n_outputs),
                "rule": np.repeat(self.rules, n_outputs),
                "output": np.tile(np.array(self.outputs, object), n_active),
                "contribution": self.contributions.ravel(),
                "activation": np.repeat(self.activations, n_outputs),
                "margin": np.repeat(self.margins, n_outputs),
                "limited_by": np.repeat(np.array(limits, object), n_outputs),
                "text": np.repeat(np.array([texts[i] for i in self.rules], object), n_outputs),
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
        texts = [self._row_text(row) for row in range(min(self.n_rows, SHOWN_ROWS))]
        if self.n_rows > SHOWN_ROWS:
            texts.append(f"… and {self.n_rows - SHOWN_ROWS} more rows: see to_frame().")
        return "\n\n".join(texts)

    __repr__ = __str__

    def _row_text(self, row: int) -> str:
        places = np.flatnonzero(self.rows == row)
        largest = np.abs(self.contributions[places]).max(axis=1)

        def values(numbers: np.ndarray) -> str:
            return ", ".join(f"{number(value, 4):>8}" for value in numbers)

        heading = "" if len(self.outputs) == 1 else f"  ({', '.join(map(str, self.outputs))})"
        lines = [f"Row {row}: decision {values(self.decision[row]).strip()}{heading}"]
        if self.intercept.any():
            lines.append(f"{values(self.intercept)}  intercept")
        for place in places[np.argsort(-largest, kind="stable")]:
            rule, margin = self.rules[place], number(self.margins[place], 2)
            lines.append(
                f"{values(self.contributions[place])}  rule {rule}, limited by "
                f"{self.limit_text(place)}; margin {margin}"
            )
        if not places.size:
            lines.append("No rule fires.")
        return "\n".join(lines)


def explain(model: NeuralRuleModel, X: Any) -> Explanation:
    """The rules that fire on each row of a table and what they contribute."""
    check_is_fitted(model)
    X = model._check_columns(X, reset=False)
    network, encoder = model.network_, model.encoder_
    encoded = encoder.transform(X)
    active = activations(network, encoded, model._engine())
    rows, rules = np.nonzero(active > 0)
    strength = active[rows, rules]
    contributions = strength[:, None] * network.values[rules].astype(np.float64)
    x = encoded[:, network.features].astype(np.float64)
    limits, margins, weights, biases = local_forms(network, x, rows, rules)
    slopes = np.zeros((len(x), network.features.size, network.n_outputs))
    for rule in np.unique(rules):
        own = rules == rule
        slopes[rows[own]] += weights[own][:, :, None] * network.values[rule]
    return Explanation(
        decision=model._decide(X),
        intercept=network.intercept,
        rows=rows,
        rules=rules,
        activations=strength,
        contributions=contributions,
        limits=limits,
        margins=margins,
        slopes=slopes_by_column(model, encoded, slopes),
        columns=list(encoder.names),
        outputs=output_names(model),
        _model=model,
        _limit_weights=weights,
        _limit_biases=biases,
    )


def local_forms(
    network: Network, x: np.ndarray, rows: np.ndarray, rules: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Around each active row and rule the activation is one linear form w . x + a.

    Of equally small literals the first one limits, as in training.

    Parameters
    ----------
    network : Network
    x : (n_rows, n_features) float64
    rows, rules : (n_active,) int

    Returns
    -------
    limits : (n_active,) int64
    margins : (n_active,) float64
    weights : (n_active, n_features) float64
    biases : (n_active,) float64
    """
    parameters = Parameters(*(array.astype(np.float64) for array in network.parameters))
    literals = literals_forward(parameters, x)
    units = units_forward(parameters, network.layout, literals)
    norms = np.linalg.norm(parameters.weights, axis=1)
    limits, margins = np.zeros(len(rows), np.int64), np.zeros(len(rows))
    weights, biases = np.zeros((len(rows), x.shape[1])), np.zeros(len(rows))
    for rule in np.unique(rules):
        places = np.flatnonzero(rules == rule)
        own = slice(network.offsets[rule], network.offsets[rule + 1])
        mine = units[rows[places], own]
        limits[places] = mine.argmin(axis=1)
        if network.deep:
            mixing = network.second_layer(rule).astype(np.float64)
            positive = literals[rows[places], own] > 0
            through = mixing[limits[places]] * positive
            weights[places] = through @ parameters.weights[own]
            biases[places] = (
                through @ parameters.biases[own] + parameters.shifts[own][limits[places]]
            )
            # No unit can fall faster than the sum of its literals' slopes.
            steepest = np.abs(mixing) @ norms[own]
        else:
            weights[places] = parameters.weights[own][limits[places]]
            biases[places] = parameters.biases[own][limits[places]]
            steepest = norms[own]
        with np.errstate(divide="ignore"):
            distances = np.where(steepest > 0, mine / steepest, np.inf)
        margins[places] = np.maximum(distances.min(axis=1), 0)
    return limits, margins, weights, biases


def slopes_by_column(
    model: NeuralRuleModel, encoded: np.ndarray, slopes: np.ndarray
) -> np.ndarray:
    """Slopes by the user's columns: (n_rows, n_columns, n_outputs) float64."""
    encoder, network = model.encoder_, model.network_
    result = np.full((len(encoded), len(encoder.names), network.n_outputs), np.nan)
    place_of = {feature: place for place, feature in enumerate(network.features.tolist())}
    for feature, column in enumerate(encoder.columns):
        if column.kind != "number":
            continue
        result[:, column.source] = 0
        if feature in place_of:
            result[:, column.source] = slopes[:, place_of[feature]] / column.scale
        hole = encoder.missing_indicators.get(feature)
        if hole is not None:
            result[encoded[:, hole] > 0, column.source] = np.nan
    return result


def output_names(model: NeuralRuleModel) -> list[Any]:
    """What the outputs stand for: classes (of two the second) or numbers of targets."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return list(range(model.network_.n_outputs))
    return list(classes[1:] if len(classes) == 2 else classes)
