"""The data of the report's sections, as plain dictionaries for its templates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from neuralrules._charts._rules import importance_bars
from neuralrules._charts._shapes import View, most_varied, shape_chart, view_of
from neuralrules._charts._texts import count, finite
from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._activity import Activity, measure
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._performance import perform
from neuralrules._reading._column_words import words_of
from neuralrules._reading._importance import importances
from neuralrules._reading._notation import column_label
from neuralrules._reading._outcomes import adverse_outcome
from neuralrules._reading._reasons import part_of_rule, reasons, usual_text
from neuralrules._reading._rules_table import rules_table
from neuralrules._reading._shapes import Shape, shapes
from neuralrules._reading._text import base_text, date_texts, scaled_texts
from neuralrules._report._page_model import (
    output_texts,
    page_columns,
    page_examples,
    page_formula,
    page_model,
)
from neuralrules._report._performance_section import (
    performance_section,
    rarer_class,
    size_section,
)
from neuralrules._report._svg import svg
from neuralrules._simplify._path import SimplificationPath
from neuralrules._version import __version__

# The templates of the panels, from the top of the page to its end.
PANELS = (
    "performance.html",
    "importance.html",
    "rules.html",
    "what_if.html",
    "reading.html",
    "lineage.html",
)
IMPORTANCE_ROWS = 2000  # rows that importances are measured on
SHOWN_COLUMNS = 20
SHOWN_RULES = 15
SHOWN_SHAPES = 6
SHOWN_LEVELS = 12  # most categories in one table: the most frequent ones are shown
SHOWN_REASONS = 4
SHOWN_TARGETS = 3  # number of targets whose values get a column in the table of rules
SHAPE_ROWS = 1000  # rows that shapes are averaged over
STILL = 1e-6  # smaller effects, as shares of the largest effect, are rounding errors


@dataclass(frozen=True)
class ReportRows:
    """The rows that a user gives for a report, and how many of them the page may show."""

    X: Any = None  # a checked table
    y: Any = None  # targets of X, which the page shows beside the example rows
    encoded: np.ndarray | None = None  # (n_rows, n_columns) float32: X as the network gets it
    # The encoded rows with their targets. Without targets, the report shows the performance on
    # the training rows.
    rows: Rows | None = None
    sample_weight: Any = None
    weighted: bool = False  # whether there are sample weights, or class weights in training
    n_examples: int = 0  # number of rows of X that become part of the page


def report_data(
    fitted: Fitted,
    given: ReportRows,
    engine: Engine,
    title: str,
    simplification: SimplificationPath | None,
) -> dict[str, Any]:
    """Everything that the templates need, and as ``page`` the data of the script."""
    performance, activity, rows = fitted.performance, fitted.activity, given.rows
    outputs = None
    if rows is not None:
        if not rows.weights.all():
            rows = rows.take(np.flatnonzero(rows.weights))
        outputs = engine.decide(fitted.network, rows.X) + fitted.network.intercept
        performance = perform(fitted.network, rows, engine, outputs)
        activity = measure(fitted.network, fitted.rules, rows, engine)
    rare = None
    if fitted.task.are_classes:
        rare = rarer_class(fitted, None if rows is None else rows.codes)
    frame = rules_table(fitted, activity)
    importance = importance_section(fitted, given, engine, frame)
    order = [bar["name"] for bar in importance["all_columns"]]
    columns = page_columns(fitted, given.X, order)
    reasons = reasons_section(fitted, rare)
    examples = []
    if given.n_examples:
        examples = page_examples(fitted, given.X, given.y, columns, given.n_examples)
        if reasons is not None:
            examples = example_reasons(fitted, given.X, examples, engine, rare)
    where = f"on the {count(performance.n_rows)} rows given"
    if given.y is None:
        sample = "a sample of " if fitted.remembers_a_sample else "the "
        where = f"on {sample}{count(performance.n_rows)} {fitted.rows_name}"
    table = table_section(fitted, activity, frame)
    # The names that sums of rules give to the encoded columns that the network uses.
    used = [fitted.encoder.columns[feature] for feature in fitted.network.features]
    names = "\n".join(words_of(fitted.encoder, column).in_sum for column in used)
    performed = performance_section(
        fitted, performance, rows, outputs, rare=rare, weighted=given.weighted
    )
    return {
        "title": title,
        "now": datetime.now().astimezone(),
        "version": __version__,
        "panels": PANELS,
        "fitted": fitted,
        "given": given,
        "where": where,
        "classes": [str(label) for label in fitted.task.labels],
        "outputs": output_texts(fitted),
        "facts": size_facts(fitted),
        "performance": performed,
        "importance": importance,
        "shapes": shapes_section(fitted, given, columns, engine, rare),
        "sizes": size_section(fitted, performance, rows, engine, simplification),
        "table": table,
        "inputs": columns,
        "examples": examples,
        "reasons": reasons,
        "scaled": scaled_texts(fitted.encoder, names, 4),
        "dates": date_texts(fitted.encoder, names),
        "formula": page_formula(fitted, columns),
        "page": {
            "model": page_model(fitted),
            "base": base_text(fitted),
            "rules": table["rules"],
            "keys": [column["key"] for column in table["columns"]],
            "columns": [
                {key: column.get(key) for key in ("name", "kind", "start", "input", "marked")}
                for column in columns
            ],
            "examples": examples,
            "reasons": reasons,
            "order": performed["order"],
            "threshold": performed["threshold"] and performed["threshold"]["data"],
        },
    }


def size_facts(fitted: Fitted) -> list[tuple[str, str]]:
    """The sizes of a model, and the number of rows that it remembers."""
    network = fitted.network
    more = " or more" if fitted.remembers_a_sample else ""
    n_columns = f"columns, {len(fitted.used_columns)} of them used"
    return [
        ("deep rules" if network.deep else "rules", count(network.n_rules)),
        ("literals in them", count(network.n_literals)),
        ("parameters other than zero", count(network.n_parameters)),
        (fitted.rows_name, count(fitted.performance.n_rows) + more),
        (n_columns, count(len(fitted.encoder.names))),
    ]


def importance_section(
    fitted: Fitted, given: ReportRows, engine: Engine, frame: Any
) -> dict[str, Any]:
    """Importance of rules and, if there are rows to measure it on, of columns."""
    encoded = np.empty((0, 0)) if given.encoded is None else given.encoded
    n_rows, rules = len(encoded), [str(rule) for rule in frame.index]
    bars = {"columns": [], "rules": bar_rows(rules, frame["importance"].to_numpy())}
    for kind, label in (("columns", column_label), ("rules", str)) if n_rows > 1 else ():
        measured = importances(
            fitted,
            n_rows,
            encoded.__getitem__,
            engine,
            kind=kind,
            n_resamples=100,
            max_rows=IMPORTANCE_ROWS,
            sample_weight=given.sample_weight,
            random_state=0,
        )
        found = importance_bars(measured, label)
        bars[kind] = bar_rows(found.labels, found.values, found.low, found.high)
    busy = [bar for bar in bars["columns"] if bar["value"] > 0]
    return {
        "enough": n_rows > 1,
        "n_rows": count(min(n_rows, IMPORTANCE_ROWS)),
        "sampled": n_rows > IMPORTANCE_ROWS,
        "all_columns": bars["columns"],
        "columns": busy[:SHOWN_COLUMNS],
        "n_columns": len(busy),
        "n_idle": len(bars["columns"]) - len(busy),
        "rules": bars["rules"][:SHOWN_RULES],
        "n_rules": len(bars["rules"]),
    }


def bar_rows(
    names: list[str],
    values: np.ndarray,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
) -> list[dict[str, Any]]:
    """Bars for numbers that are not negative, with their lengths in percent.

    `low` and `high` are the ends of intervals, and ``start`` and ``end`` are these ends in
    percent. 100 % is the longest bar or, if it is longer, the highest end of an interval.
    """
    longest = float(max(values.max(initial=0), 0 if high is None else high.max(initial=0)))
    unit = 100 / (longest or 1.0)
    rows: list[dict[str, Any]] = [
        {"name": name, "value": value, "length": round(unit * value, 2), "low": None}
        for name, value in zip(names, values.tolist(), strict=True)
    ]
    if low is not None and high is not None:
        for row, start, end in zip(rows, low.tolist(), high.tolist(), strict=True):
            places = round(unit * max(start, 0.0), 2), round(unit * end, 2)
            row |= {"low": start, "high": end, "start": places[0], "end": places[1]}
    return rows


def shapes_section(
    fitted: Fitted,
    given: ReportRows,
    columns: list[dict[str, Any]],
    engine: Engine,
    rare: int | None,
) -> dict[str, Any]:
    """Charts of the most important columns. The column that moves the output most is first.

    `columns` are the columns that the model uses, the most important ones first, and `rare` is
    the code of the rarest class.
    """
    X = given.X
    if X is None or not columns:
        return {"pictures": []}
    found = shapes(
        fitted,
        X,
        engine,
        [fitted.encoder.names[column["source"]] for column in columns[:SHOWN_SHAPES]],
        n_values=40,
        max_rows=SHAPE_ROWS,
        sample_weight=given.sample_weight,
        random_state=0,
    )
    found.sort(key=lambda shape: -shape.importance)
    moving = [shape for shape in found if shape.importance > STILL * found[0].importance]
    view = view_of(fitted, rare)
    return {
        "pictures": [picture(shape, view) for shape in moving],
        "n_rows": count(min(X.shape[0], SHAPE_ROWS)),
        "sampled": X.shape[0] > SHAPE_ROWS,
        "n_more": len(columns) - len(moving),
        "view": view,
    }


def picture(shape: Shape, view: View) -> dict[str, Any]:
    """A chart for a column of numbers or dates. Categories get a table, to fit long names."""
    lines, band = view.lines(shape.outputs), view.band(shape)
    chosen = most_varied(lines)
    result: dict[str, Any] = {
        "name": column_label(shape.column),
        "key": [view.names[k] for k in chosen] if band is None else [],
        "n_rules": len(shape.rules),
        "alone": int(shape.alone.sum()),
    }
    if shape._levels.names is None:
        return result | {"svg": svg(shape_chart(shape, view))}
    lines = lines[:, chosen]
    shown = np.sort(np.argsort(-shape.shares, kind="stable")[:SHOWN_LEVELS])
    reach = (lines if band is None else np.hstack([lines, band]))[shown]
    low, high = float(reach.min()), float(reach.max())

    def percent(values: np.ndarray) -> list[float]:
        return [round(4 + 92 * (v - low) / ((high - low) or 1.0), 2) for v in values.tolist()]

    levels = [
        {
            "name": shape._levels.text(place),
            "share": float(shape.shares[place]),
            "marks": percent(lines[place]),
            "ends": None if band is None else percent(band[place]),
            "text": ", ".join(view.text(line) for line in lines[place]),
            "outputs": lines[place].tolist(),
        }
        for place in shown[np.argsort(-lines[shown, 0], kind="stable")].tolist()
    ]
    return result | {"levels": levels, "n_more": len(shape.shares) - len(shown)}


def table_section(fitted: Fitted, activity: Activity, frame: Any) -> dict[str, Any]:
    """The table of rules: its columns, and for each rule the cells and the details.

    `frame` is the model's `rules_table` on some rows, and `activity` the activity of the rules
    on them.
    """
    network = fitted.network
    columns = table_columns(frame, network.n_outputs)
    several = "class" in frame and network.n_outputs > 1
    rules = []
    for rule, line in zip(frame.index.tolist(), frame.to_dict("records"), strict=True):
        values = network.values[rule].astype(np.float64)
        label = str(line["class"]) if "class" in line else None
        cells = line | {"rule": rule, "class": label}
        cells["value_own"] = values.max() if several else values[0]
        rules.append(
            {
                "rule": rule,
                "text": line["text"],
                "tree": line["tree_rule"],
                "class": label,
                "cells": [sortable(cells[column["key"]]) for column in columns],
                "values": values.tolist(),
                "rows": float(activity.covered[rule]),
                "leafRows": float(activity.in_leaf[rule]),
                "bothRows": float(activity.in_both[rule]),
                "angles": [finite(angle) for angle in line["angles"]],
                "facts": rule_facts(line),
            }
        )
    return {"columns": columns, "rules": rules}


def sortable(value: Any) -> Any:
    """A cell of the table as a value that the script can sort."""
    return value if isinstance(value, str) else finite(value)


# Columns of the table of rules: key, heading, kind of number and what it means.
FIRST_COLUMNS = (
    ("rule", "Rule", "rule", "number of the rule"),
    ("text", "Says", "text", "when the rule fires now, and the tree rule it grew from"),
    ("class", "Class", "label", "the class that the rule speaks for"),
)
VALUE_COLUMN = ("value_own", "Value", "number", "what one unit of activation adds")
LAST_COLUMNS = (
    ("share", "Covers", "share", "share of the rows on which it fires"),
    ("precision", "Precision", "share", "share of its class among these rows"),
    ("mean", "Mean", "number", "mean target of the rows it covers"),
    ("lift", "Lift", "number", "against all rows"),
    ("importance", "Importance", "number", "mean absolute contribution"),
    ("angle", "Angle", "degrees", "largest turn of a literal from its tree split"),
    ("overlap", "Overlap", "share", "rows in both rule and leaf over rows in either"),
)


def table_columns(frame: Any, n_outputs: int) -> list[dict[str, str]]:
    """The columns of the table of rules that this model has."""
    values = [VALUE_COLUMN]
    if "value" not in frame and "class" not in frame:
        values = [
            (f"value_{k}", f"Value, target {k}", "number", "of one unit of activation")
            for k in range(min(n_outputs, SHOWN_TARGETS))
        ]
    known = {"rule", *(column[0] for column in values), *frame}
    return [
        dict(zip(("key", "name", "kind", "meaning"), column, strict=True))
        for column in (*FIRST_COLUMNS, *values, *LAST_COLUMNS)
        if column[0] in known
    ]


# The numbers in the details of a rule: their names and kinds.
FACTS = {
    "share": ("covers", "share"),
    "precision": ("precision", "share"),
    "mean": ("mean target", "number"),
    "lift": ("lift", "number"),
    "importance": ("importance", "number"),
    "margin_score": ("margin score", "number"),
    "n_literals": ("literals", "whole"),
    "n_weights": ("weights other than zero", "whole"),
}


def rule_facts(line: dict[str, Any]) -> list[tuple[str, str, float | None]]:
    """The numbers in the details of a rule: the name, the kind and the value of each."""
    of_targets = {
        key: (key.replace("_", ", target "), "number")
        for key in line
        if key.startswith(("mean_", "lift_"))
    }
    facts = FACTS | of_targets
    return [(*facts[key], finite(value)) for key, value in line.items() if key in facts]


def reasons_section(fitted: Fitted, rare: int | None) -> dict[str, Any] | None:
    """What the page needs to find the reasons of any row; None if there are no reasons.

    Reasons compare a row with the training rows, and they are about one outcome. So there are
    no reasons if the model remembers no rows, or if the model has several targets.
    """
    task = fitted.task
    if not fitted.activity.n_rows or (not task.are_classes and task.n_outputs > 1):
        return None
    outcome = adverse_outcome(fitted, None if rare is None else task.labels[rare])
    what = outcome.multiplied or outcome.what.removeprefix("the ")
    return {
        "k": SHOWN_REASONS,
        "about": f"for {outcome.label}" if task.are_classes else "for a high prediction",
        "usual": usual_text(fitted, outcome),
        "rows": fitted.rows_name,
        "effects": outcome.effects(fitted.network.values).tolist(),
        "usualActivations": fitted.activity.activation.astype(np.float64).tolist(),
        "faint": outcome.faint,
        "multiplies": bool(outcome.multiplied),
        "what": f"odds of {outcome.label}" if outcome.is_odds else what,
        "parts": {kind: part_of_rule(outcome, kind) for kind in ("against", "missed", "weak")},
    }


def example_reasons(
    fitted: Fitted, X: Any, examples: list[dict[str, Any]], engine: Engine, rare: int | None
) -> list[dict[str, Any]]:
    """The examples, which are rows of a checked table, with their reasons in sentences."""
    adverse = None if rare is None else fitted.task.labels[rare]
    rows = [example["row"] for example in examples]
    found = reasons(fitted, _safe_indexing(X, rows), engine, SHOWN_REASONS, adverse)
    return [
        example | {"reasons": [{"rule": reason.rule, "text": reason.text} for reason in row]}
        for example, row in zip(examples, found.reasons, strict=True)
    ]
