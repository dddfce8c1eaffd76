"""Charts of rules: their importance, their sum for one row, and one rule as a network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neuralrules._charts._texts import (
    LABEL_LENGTH,
    one_line,
    output_name,
    short_label,
    short_name,
    shortened,
    with_short_names,
)
from neuralrules._data._columns import Number
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._column_words import state_text
from neuralrules._reading._explain import Explanation
from neuralrules._reading._importance import Importances
from neuralrules._reading._rules_table import literal_angles
from neuralrules._reading._text import split_text


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ImportanceBars:
    """Importances of rules, columns or pairs with the ends of their 90 % intervals.

    `ImportanceDisplay` documents the fields.
    """

    kind: str
    names: list[Any]
    labels: list[str]
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray


def importance_bars(measured: Importances, label: Callable[[Any], str]) -> ImportanceBars:
    """The importances in descending order; `label` turns a name into the text of its bar."""
    order = np.argsort(-measured.values, kind="stable")
    names = [measured.names[place] for place in order]
    low, high = np.quantile(measured.resamples, [0.05, 0.95], axis=0)
    return ImportanceBars(
        kind=measured.kind,
        names=names,
        labels=[label(name) for name in names],
        values=measured.values[order],
        low=low[order],
        high=high[order],
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Waterfall:
    """How the rules add up to the decision about one row.

    `WaterfallDisplay` documents the fields.
    """

    row: int
    output: str
    intercept: float
    decision: float
    rules: np.ndarray
    contributions: np.ndarray
    limits: list[str]

    def _steps(self, max_rules: int) -> tuple[np.ndarray, list[str]]:
        """Lengths and labels of the bars. Rules after the first `max_rules` share a bar."""
        lengths = self.contributions[:max_rules]
        shown = zip(self.rules[:max_rules], self.limits, strict=False)
        labels = [f"rule {rule}: {limit}" for rule, limit in shown]
        if n_others := len(self.rules) - len(labels):
            lengths = np.append(lengths, self.contributions[max_rules:].sum())
            labels.append(f"{n_others} other rule{'s' if n_others > 1 else ''}")
        return lengths, labels

    @property
    def _label(self) -> str:
        """The label of the axis, which says what the bars add up to."""
        if self.output.startswith("class "):
            return f"decision function\n(higher values favour {self.output})"
        return self.output if "prediction" in self.output else f"prediction of {self.output}"


def waterfall(explanation: Explanation, place: int, row: int, output: int) -> Waterfall:
    """How an output adds up for the row at a place of an explanation, `row` in the table."""
    fitted = explanation._fitted
    fired = np.flatnonzero(explanation.rows == place)
    sizes = np.abs(explanation.contributions[fired, output])
    fired = fired[np.argsort(-sizes, kind="stable")]
    with_short = replace(explanation, _fitted=with_short_names(fitted))
    return Waterfall(
        row=row,
        output=output_name(fitted, output),
        intercept=float(explanation.intercept[output]),
        decision=float(explanation.decision[place, output]),
        rules=explanation.rules[fired],
        contributions=explanation.contributions[fired, output],
        limits=[limit_text(with_short, contribution) for contribution in fired.tolist()],
    )


def limit_text(explanation: Explanation, contribution: int) -> str:
    """The inequality that limits a rule, with as many terms as fit beside a bar, at most 3."""
    length = LABEL_LENGTH - 8
    for terms in (3, 2, 1):
        text = one_line(explanation.limit_text(contribution, 3, terms))
        if len(text) <= length:
            break
    return shortened(text, length)


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
    place_of = {feature: place for place, feature in enumerate(network.features.tolist())}
    texts, places = [], []
    for origin in network.origins[network.offsets[rule] : network.offsets[rule + 1]]:
        if origin < 0:
            texts.append("every row")
            places.append(-1)
            continue
        split = rules.offsets[rule] + origin
        feature, threshold = int(rules.features[split]), float(rules.thresholds[split])
        ends = (threshold, np.inf) if rules.signs[split] > 0 else (-np.inf, threshold)
        texts.append(split_text(encoder, encoder.columns[feature], *ends, 3))
        places.append(place_of.get(feature, -1))
    return texts, np.array(places)


def input_text(fitted: Fitted, feature: int) -> str:
    """The short name of a column of numbers, or a short text of what an indicator says."""
    column = fitted.encoder.columns[feature]
    if isinstance(column, Number):
        return short_label(fitted.encoder.names[column.source])
    short = with_short_names(fitted).encoder
    return short_name(state_text(short, short.columns[feature]))
