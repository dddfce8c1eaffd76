"""The data of a diagram that shows one rule as a network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuralrules._charts._texts import (
    output_name,
    short_label,
    short_name,
    with_short_names,
)
from neuralrules._data._columns import Number
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._column_words import state_text
from neuralrules._reading._rules_table import literal_angles
from neuralrules._reading._text import split_text


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RuleDiagram:
    """One rule as a network: columns, literals, minimum, value.

    `RuleDisplay` documents the fields.
    """

    rule: int
    columns: list[str]
    features: np.ndarray
    n_hidden: int
    weights: np.ndarray
    splits: list[str]
    split_features: np.ndarray
    angles: np.ndarray
    biases: np.ndarray
    mixing: np.ndarray | None
    shifts: np.ndarray | None
    values: np.ndarray
    outputs: list[str]


def rule_diagram(fitted: Fitted, rule: int, max_columns: int) -> RuleDiagram:
    """The diagram of a rule, with at most `max_columns` columns."""
    network = fitted.network
    literals = slice(network.offsets[rule], network.offsets[rule + 1])
    weights = network.weights[literals]
    shown = shown_columns(weights, max_columns)
    splits, split_features = tree_splits(fitted, rule)
    return RuleDiagram(
        rule=rule,
        columns=[input_text(fitted, int(network.features[place])) for place in shown],
        features=shown,
        n_hidden=int(np.count_nonzero(weights.any(axis=0))) - len(shown),
        weights=weights[:, shown],
        splits=splits,
        split_features=split_features,
        angles=literal_angles(network, fitted.rules)[literals],
        biases=network.biases[literals],
        mixing=network.second_layer(rule) if network.deep else None,
        shifts=network.shifts[literals] if network.deep else None,
        values=network.values[rule],
        outputs=[output_name(fitted, k) for k in range(network.n_outputs)],
    )


def shown_columns(weights: np.ndarray, max_columns: int) -> np.ndarray:
    """Places of the columns with the largest weights, ordered so that few edges cross."""
    sizes = np.abs(weights)
    largest = sizes.max(axis=0)
    best = np.argsort(-largest, kind="stable")[:max_columns]
    best = best[largest[best] > 0]
    height = np.arange(len(weights)) @ sizes[:, best] / sizes[:, best].sum(axis=0)
    return best[np.argsort(height, kind="stable")]


def tree_splits(fitted: Fitted, rule: int) -> tuple[list[str], np.ndarray]:
    """The text of the tree split behind each literal of a rule, and the place of its feature.

    The place in `network.features` is -1 if the network does not use the feature, or if the
    literal has no split.
    """
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
    """The short name of a column of numbers, or a short text of what an indicator says."""
    encoder = fitted.encoder
    column = encoder.columns[feature]
    if isinstance(column, Number):
        return short_label(encoder.names[column.source])
    short = with_short_names(fitted).encoder
    return short_name(state_text(short, short.columns[feature]))
