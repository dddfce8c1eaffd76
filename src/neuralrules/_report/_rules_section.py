"""The report's table of rules: its columns, and the data for the details of each rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralrules._charts._texts import finite
from neuralrules._fitted._activity import Activity
from neuralrules._fitted._fitted import Fitted
from neuralrules._report._page_model import output_texts

SHOWN_TARGETS = 3  # number of targets whose values get a column of their own


def table_section(fitted: Fitted, activity: Activity, frame: Any, where: str) -> dict[str, Any]:
    """The table of rules: its columns, and for each rule the cells and the details.

    Parameters
    ----------
    fitted : Fitted
    activity : Activity
        Activity of the rules on the rows that they are measured on.
    frame : DataFrame
        The model's `rules_table` on these rows.
    where : str
        A text that says which rows these are.
    """
    network = fitted.network
    columns = table_columns(fitted, frame)
    several = "class" in frame and network.n_outputs > 1
    rules = []
    for rule, line in zip(frame.index.tolist(), frame.to_dict("records"), strict=True):
        values = network.values[rule].astype(np.float64)
        numbers = line | {"rule": rule, "value_own": values.max() if several else values[0]}
        label = str(line["class"]) if "class" in line else None
        rules.append(
            {
                "rule": rule,
                "text": line["text"],
                "tree": line["tree_rule"],
                "class": label,
                "cells": [
                    label if column["key"] == "class" else sortable(numbers[column["key"]])
                    for column in columns
                ],
                "values": values.tolist(),
                "rows": float(activity.covered[rule]),
                "leafRows": float(activity.in_leaf[rule]),
                "bothRows": float(activity.in_both[rule]),
                "angles": [finite(angle) for angle in line["angles"]],
                "facts": rule_facts(line),
            }
        )
    return {
        "columns": columns,
        "rules": rules,
        "classes": [str(label) for label in fitted.task.labels],
        "where": where,
        "outputs": output_texts(fitted),
    }


def sortable(value: Any) -> Any:
    """A cell of the table as a value that the script can sort."""
    return value if isinstance(value, str) else finite(value)


def table_columns(fitted: Fitted, frame: Any) -> list[dict[str, str]]:
    """Columns of the table of rules: key, heading, kind of number and what it means."""

    def column(key: str, name: str, kind: str, meaning: str) -> dict[str, str]:
        return {"key": key, "name": name, "kind": kind, "meaning": meaning}

    result = [
        column("rule", "Rule", "rule", "number of the rule"),
        column(
            "text", "Says", "text", "when the rule fires now, and the tree rule it grew from"
        ),
    ]
    if "class" in frame:
        result.append(column("class", "Class", "label", "the class that the rule speaks for"))
    n_outputs = fitted.network.n_outputs
    if "value" in frame or "class" in frame:
        result.append(
            column("value_own", "Value", "number", "what one unit of activation adds")
        )
    else:
        result += [
            column(f"value_{k}", f"Value, target {k}", "number", "of one unit of activation")
            for k in range(min(n_outputs, SHOWN_TARGETS))
        ]
    result.append(column("share", "Covers", "share", "share of the rows on which it fires"))
    if "precision" in frame:
        result.append(
            column("precision", "Precision", "share", "share of its class among these rows")
        )
    if "mean" in frame:
        result.append(column("mean", "Mean", "number", "mean target of the rows it covers"))
    if "lift" in frame:
        result.append(column("lift", "Lift", "number", "against all rows"))
    return [
        *result,
        column("importance", "Importance", "number", "mean absolute contribution"),
        column("angle", "Angle", "degrees", "largest turn of a literal from its tree split"),
        column("overlap", "Overlap", "share", "rows in both rule and leaf over rows in either"),
    ]


def rule_facts(line: dict[str, Any]) -> list[tuple[str, str, float | None]]:
    """The numbers in the details of a rule: the name, the kind and the value of each."""
    kinds = {
        "share": ("share", "covers"),
        "precision": ("share", "precision"),
        "mean": ("number", "mean target"),
        "lift": ("number", "lift"),
        "importance": ("number", "importance"),
        "margin_score": ("number", "margin score"),
        "n_literals": ("whole", "literals"),
        "n_weights": ("whole", "weights other than zero"),
    }
    kinds |= {
        key: ("number", key.replace("_", ", target "))
        for key in line
        if key.startswith(("mean_", "lift_"))
    }
    order = [key for key in line if key in kinds]
    return [(kinds[key][1], kinds[key][0], finite(line[key])) for key in order]
