"""The display of one rule as a network, from columns to its value.

The numbers are taken from the model here; `_diagram_pen` draws them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralrules._charts._texts import (
    output_name,
    short_label,
    short_name,
    with_short_names,
)
from neuralrules._estimators._base import NeuralRuleModel, fitted_of
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._column_words import state_text
from neuralrules._reading._rules_table import literal_angles
from neuralrules._reading._text import split_text
from neuralrules.plot._diagram_pen import DiagramLayout, Edge, Pen
from neuralrules.plot._drawing import check_count, check_position, import_pyplot


class RuleDisplay:
    """One rule as a network: columns, literals, minimum, value.

    Parameters
    ----------
    rule : int
    columns : list of str
        The columns shown, in their order from the top.
    features : ndarray of shape (n_shown,), int
        Their places in `network_.features`.
    n_hidden : int
        Columns with a weight in this rule that are not shown.
    weights : ndarray of shape (n_literals, n_shown)
        Per standard deviation of the column.
    splits : list of str
        The tree split that each literal grew from.
    split_features : ndarray of shape (n_literals,), int
        Its place in `network_.features`; -1 if it is not there.
    angles, biases : ndarray of shape (n_literals,)
        Degrees by which training turned each literal, and its bias.
    mixing : ndarray of shape (n_literals, n_literals) or None
        Second layer of a deep rule.
    shifts : ndarray of shape (n_literals,) or None
        Its biases.
    values : ndarray of shape (n_outputs,)
    outputs : list of str

    Attributes
    ----------
    edges_ : list of Edge
        Every line that stands for a weight; zero weights have none.
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from neuralrules import NeuralRuleClassifier
    >>> from neuralrules.plot import RuleDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = NeuralRuleClassifier(n_trees=2, n_epochs=5, random_state=0).fit(X, y)
    >>> display = RuleDisplay.from_estimator(model, rule=1)
    >>> display.columns
    ['petal length (cm)']
    >>> display = display.plot(ax=display.ax_)  # again, on axes of one's own
    """

    def __init__(
        self,
        *,
        rule: int,
        columns: list[str],
        features: np.ndarray,
        n_hidden: int,
        weights: np.ndarray,
        splits: list[str],
        split_features: np.ndarray,
        angles: np.ndarray,
        biases: np.ndarray,
        mixing: np.ndarray | None,
        shifts: np.ndarray | None,
        values: np.ndarray,
        outputs: list[str],
    ) -> None:
        self.rule = rule
        self.columns = columns
        self.features = features
        self.n_hidden = n_hidden
        self.weights = weights
        self.splits = splits
        self.split_features = split_features
        self.angles = angles
        self.biases = biases
        self.mixing = mixing
        self.shifts = shifts
        self.values = values
        self.outputs = outputs

    @classmethod
    def from_estimator(
        cls, model: NeuralRuleModel, rule: int = 0, *, max_columns: int = 10, ax: Any = None
    ) -> RuleDisplay:
        """Draw a rule of a fitted model.

        Parameters
        ----------
        model : fitted estimator
        rule : int, default=0
            Number of the rule, as in `rules_table` and `rules_text`.
        max_columns : int, default=10
            Columns shown, those of largest weight.
        ax : Axes, optional
        """
        import_pyplot()
        fitted = fitted_of(model)
        network = fitted.network
        rule = check_position("rule", rule, network.n_rules, "rules of this model")
        check_count("max_columns", max_columns, 10)
        own = slice(network.offsets[rule], network.offsets[rule + 1])
        weights = network.weights[own]
        shown = shown_columns(weights, max_columns)
        splits, split_features = tree_splits(fitted, rule)
        return cls(
            rule=rule,
            columns=[input_text(fitted, int(network.features[place])) for place in shown],
            features=shown,
            n_hidden=int(np.count_nonzero(weights.any(axis=0))) - len(shown),
            weights=weights[:, shown],
            splits=splits,
            split_features=split_features,
            angles=literal_angles(network, fitted.rules)[own],
            biases=network.biases[own],
            mixing=network.second_layer(rule) if network.deep else None,
            shifts=network.shifts[own] if network.deep else None,
            values=network.values[rule],
            outputs=[output_name(fitted, k) for k in range(network.n_outputs)],
        ).plot(ax=ax)

    def plot(self, ax: Any = None) -> RuleDisplay:
        """Draw the network from left to right.

        Parameters
        ----------
        ax : Axes, optional
            By default a new figure as large as the diagram needs.

        Returns
        -------
        self
        """
        pyplot = import_pyplot()
        plan = DiagramLayout(self)
        if ax is None:
            width, height = plan.width / 72, plan.height / 72
            figure = pyplot.figure(figsize=(width, height + 0.4))
            ax = figure.add_axes((0, 0, 1, height / (height + 0.4)))
            scale = 1.0
        else:
            box = ax.get_window_extent()
            points = np.array([box.width, box.height]) * 72 / ax.figure.dpi
            scale = float(min(points / [plan.width, plan.height]))
            # Room to spare is shared out, so that circles stay circles.
            spare = points / scale - [plan.width, plan.height]
            plan.margin = spare / 2
        self.edges_: list[Edge] = Pen(self, plan, ax, scale).draw()
        self.ax_, self.figure_ = ax, ax.figure
        return self


def shown_columns(weights: np.ndarray, max_columns: int) -> np.ndarray:
    """Places of the columns of largest weight, ordered so that few edges cross."""
    sizes = np.abs(weights)
    largest = sizes.max(axis=0)
    best = np.argsort(-largest, kind="stable")[:max_columns]
    best = best[largest[best] > 0]
    height = np.arange(len(weights)) @ sizes[:, best] / sizes[:, best].sum(axis=0)
    return best[np.argsort(height, kind="stable")]


def tree_splits(fitted: Fitted, rule: int) -> tuple[list[str], np.ndarray]:
    """The split behind each literal of a rule, as text and as a place in the features."""
    network, rules = fitted.network, fitted.rules
    encoder = with_short_names(fitted).encoder
    texts, places = [], []
    for origin in network.origins[network.offsets[rule] : network.offsets[rule + 1]]:
        if origin < 0:
            texts.append("every row")
            places.append(-1)
            continue
        split = rules.offsets[rule] + origin
        feature, threshold = int(rules.features[split]), float(rules.thresholds[split])
        lower, upper = (threshold, None) if rules.signs[split] > 0 else (None, threshold)
        texts.append(split_text(encoder, feature, lower, upper, 3))
        found = np.flatnonzero(network.features == feature)
        places.append(int(found[0]) if found.size else -1)
    return texts, np.array(places)


def input_text(fitted: Fitted, feature: int) -> str:
    """A column, or what an indicator says, with short names."""
    encoder = fitted.encoder
    column = encoder.columns[feature]
    if column.kind == "number":
        return short_label(encoder.names[column.source])
    short = with_short_names(fitted).encoder
    return short_name(state_text(short, short.columns[feature]))
