"""The rules as a table: their texts, the rows that they cover, their values and origins."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralrules._fitted._activity import Activity, rule_importance
from neuralrules._fitted._fitted import Fitted
from neuralrules._io._checks import import_pandas
from neuralrules._network._network import Network
from neuralrules._reading._text import check_counts, rule_text, tree_rule_text
from neuralrules._rules._rules import Rules, margin_scores
from neuralrules._task._task import chosen_classes


def rules_table(
    fitted: Fitted, activity: Activity, *, precision: int = 3, max_terms: int = 3
) -> Any:
    """All rules of a fitted model as a pandas frame, the most important ones first.

    `activity` says how the rules fire on the rows that the table is about.
    """
    pandas = import_pandas("rules_table")
    check_counts(precision=precision, max_terms=max_terms)
    network, rules = fitted.network, fitted.rules
    n, starts = range(network.n_rules), network.offsets[:-1]
    angles = np.round(literal_angles(network, rules), 1)
    columns: dict[str, Any] = {
        "text": [rule_text(fitted, rule, precision, max_terms) for rule in n],
        "tree_rule": [tree_rule_text(fitted, rule, precision) for rule in n],
        **value_columns(fitted),
        "rows": activity.covered,
        # A model that remembers no rows has 0 of them.
        "share": activity.covered / (activity.n_rows or np.nan),
        **agreement_columns(fitted, activity),
        "margin_score": current_scores(fitted, activity),
        "importance": rule_importance(fitted.task, fitted.network, activity.activation),
        "n_literals": np.diff(network.offsets),
        "n_weights": np.add.reduceat(np.count_nonzero(network.weights, axis=1), starts),
        "angle": np.fmax.reduceat(angles, starts),
        "angles": [tuple(own.tolist()) for own in np.split(angles, starts[1:])],
        "overlap": overlaps(activity) if rules.grew else np.full(network.n_rules, np.nan),
    }
    table = pandas.DataFrame(columns, index=pandas.Index(n, name="rule"))
    return table.sort_values("importance", ascending=False, kind="stable")


def value_columns(fitted: Fitted) -> dict[str, np.ndarray]:
    values = fitted.network.values
    if values.shape[1] == 1:
        return {"value": values[:, 0]}
    names = fitted.task.output_names
    return {f"value_{name}": values[:, k] for k, name in enumerate(names)}


def agreement_columns(fitted: Fitted, activity: Activity) -> dict[str, np.ndarray]:
    """Precision and lift of the class that a rule speaks for, or the mean of its targets.

    For a regression the lift is the mean of the covered rows minus the mean of all rows. A
    rule that covers no row has NaN.
    """
    covered = np.where(activity.covered > 0, activity.covered, np.nan)
    classes = fitted.task.classes
    if classes is None:
        mean, scale = fitted.task.centre, fitted.task.scale
        means = activity.totals / covered[:, None] * scale + mean
        lifts = means - (activity.all_totals / (activity.n_rows or np.nan) * scale + mean)
        if means.shape[1] == 1:
            return {"mean": means[:, 0], "lift": lifts[:, 0]}
        columns: dict[str, np.ndarray] = {}
        for k in range(means.shape[1]):
            columns |= {f"mean_{k}": means[:, k], f"lift_{k}": lifts[:, k]}
        return columns
    spoken = chosen_classes(fitted.network.values)
    precision = activity.totals[np.arange(len(spoken)), spoken] / covered
    base = activity.all_totals[spoken] / (activity.n_rows or np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        return {"class": classes[spoken], "precision": precision, "lift": precision / base}


def current_scores(fitted: Fitted, activity: Activity) -> np.ndarray:
    """Margin scores (equation 8) on the rows that the rules now cover; 0 if there are none."""
    n = np.where(activity.covered > 0, activity.covered, 1)
    classes = fitted.rules.n_classes > 0
    mean = 0.0 if classes else activity.all_totals / max(activity.n_rows, 1)
    scores = margin_scores(n, activity.totals, classes=classes, mean=mean)
    return np.where(activity.covered > 0, scores, 0)


def literal_angles(network: Network, rules: Rules) -> np.ndarray:
    """Degrees by which training turned each literal from its tree split, (n_literals,).

    The angle is that between the normals in standardised columns: 0 if the literal is still
    parallel to its split, 180 if it points the other way. NaN if the literal has no weight
    left, or never was a split.
    """
    owner = np.repeat(np.arange(network.n_rules), np.diff(network.offsets))
    norms = np.linalg.norm(network.weights.astype(np.float64), axis=1)
    angles = np.full(network.n_literals, np.nan)
    for literal in np.flatnonzero((norms > 0) & (network.origins >= 0)):
        split = rules.offsets[owner[literal]] + network.origins[literal]
        place = np.flatnonzero(network.features == rules.features[split])
        along = network.weights[literal, place].sum() * float(rules.signs[split])
        angles[literal] = np.degrees(np.arccos(np.clip(along / norms[literal], -1, 1)))
    return angles


def overlaps(activity: Activity) -> np.ndarray:
    """Rows in both a rule and its leaf, divided by rows in either, (n_rules,); NaN if none."""
    either = activity.covered + activity.in_leaf - activity.in_both
    return activity.in_both / np.where(either > 0, either, np.nan)
