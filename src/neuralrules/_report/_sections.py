"""What the report says, section by section, as plain dictionaries for its templates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._activity import measure
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._performance import perform
from neuralrules._reading._column_words import words_of
from neuralrules._reading._importance import importances
from neuralrules._reading._names import column_label
from neuralrules._reading._rules_table import rules_table
from neuralrules._reading._text import base_text, date_texts, scaled_texts
from neuralrules._report._charts import bars
from neuralrules._report._classes_section import rarer_class
from neuralrules._report._numbers import count
from neuralrules._report._page_model import (
    page_columns,
    page_examples,
    page_model,
)
from neuralrules._report._performance_section import performance_section
from neuralrules._report._reasons_section import example_reasons, reasons_section
from neuralrules._report._rules_section import table_section
from neuralrules._report._shapes_section import shapes_section
from neuralrules._report._size_section import size_section
from neuralrules._simplify._path import SimplificationPath

IMPORTANCE_ROWS = 2000  # rows that importances are measured on
SHOWN_COLUMNS = 20
SHOWN_RULES = 15


@dataclass(frozen=True)
class Given:
    """What a report is asked to measure on, and how many rows of it it may show.

    Attributes
    ----------
    X : checked table or None
    y : array-like or None
        Its targets, for people to read beside the rows that are shown.
    encoded : (n_rows, n_columns) float32 or None
        The table as the network sees it.
    rows : Rows or None
        The same with its targets. None where there are none: then the training rows count.
    sample_weight : array-like or None
    weighted : bool
        Whether rows count differently, here or in training.
    n_examples : int
    """

    X: Any = None
    y: Any = None
    encoded: np.ndarray | None = None
    rows: Rows | None = None
    sample_weight: Any = None
    weighted: bool = False
    n_examples: int = 0


def report_data(
    fitted: Fitted,
    given: Given,
    engine: Engine,
    title: str,
    simplification: SimplificationPath | None,
) -> dict[str, Any]:
    """Everything that the template of the report needs.

    Returns
    -------
    dict
        ``header``, ``performance``, ``importance``, ``shapes``, ``sizes``, ``table``,
        ``inputs``, ``examples``, ``reasons``, ``scaled`` and ``dates``, what such columns
        are, ``lineage``, and ``page``, the data of the script.
    """
    performance, activity, rows = fitted.performance, fitted.activity, given.rows
    if rows is not None:
        rows = rows.take(np.flatnonzero(rows.weights))
        performance = perform(fitted.network, rows, engine)
        activity = measure(fitted.network, fitted.rules, rows, engine)
    rare = None
    if fitted.task.are_classes:
        rare = rarer_class(fitted, None if rows is None else rows.codes)
    frame = rules_table(fitted, activity)
    importance = importance_section(fitted, given, engine, frame)
    order = [bar.name for bar in importance["all_columns"]] if given.X is not None else None
    columns = page_columns(fitted, given.X, order)
    reasons = reasons_section(fitted, rare)
    examples = []
    if given.n_examples:
        examples = page_examples(fitted, given.X, given.y, columns, given.n_examples)
        if reasons is not None:
            examples = example_reasons(fitted, given.X, examples, engine, rare)
    where = measured_on(fitted, given, performance.n_rows)
    table = table_section(fitted, activity, frame, where)
    names = column_texts(fitted)
    performed = performance_section(
        fitted, performance, rows, engine, rare=rare, weighted=given.weighted
    )
    return {
        "header": header_section(fitted, title),
        "performance": performed | told_of_rows(fitted, given, where),
        "importance": importance,
        "shapes": shapes_section(
            fitted,
            given.X,
            [column["source"] for column in columns],
            given.sample_weight,
            engine,
            rare,
        ),
        "sizes": size_section(fitted, performance, rows, engine, simplification),
        "table": table,
        "inputs": columns,
        "examples": examples,
        "reasons": reasons,
        "scaled": scaled_texts(fitted.encoder, names, 4),
        "dates": date_texts(fitted.encoder, names),
        "lineage": fitted.lineage,
        "page": {
            "model": page_model(fitted, columns),
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


def told_of_rows(fitted: Fitted, given: Given, where: str) -> dict[str, Any]:
    """Which rows the performance was measured on."""
    return {
        "where": where,
        "training": given.y is None,
        "rounding": fitted.was_rounded,
        "only_X": given.X is not None and given.y is None,
        "weighted": given.weighted,
    }


def column_texts(fitted: Fitted) -> str:
    """The columns that rules may speak of, as their sums name them."""
    used = [fitted.encoder.columns[feature] for feature in fitted.network.features]
    return "\n".join(words_of(fitted.encoder, column).in_sum for column in used)


def header_section(fitted: Fitted, title: str) -> dict[str, Any]:
    from neuralrules._version import __version__

    network = fitted.network
    classes = fitted.task.classes
    n_targets = network.n_outputs
    if classes is not None:
        task = f"Classification into {len(classes)} classes"
    else:
        task = f"Regression of {n_targets} targets" if n_targets > 1 else "Regression"
    rows = count(fitted.performance.n_rows) + (" or more" if fitted.remembers_a_sample else "")
    now = datetime.now().astimezone()
    return {
        "title": title,
        "estimator": fitted.estimator,
        "task": task,
        "loss": fitted.task.loss.name,
        "date": now.strftime("%Y-%m-%d %H:%M"),
        "datetime": now.isoformat(timespec="seconds"),
        "version": __version__,
        "facts": [
            ("deep rules" if network.deep else "rules", count(network.n_rules)),
            ("literals in them", count(network.n_literals)),
            ("parameters other than zero", count(network.n_parameters)),
            (fitted.rows_name, rows),
            (
                f"columns, {len(fitted.used_columns)} of them used",
                count(len(fitted.encoder.names)),
            ),
        ],
    }


def measured_on(fitted: Fitted, given: Given, n_rows: int) -> str:
    """The rows that something was measured on, in words."""
    if given.y is not None:
        return f"on the {count(n_rows)} rows given"
    sample = "a sample of " if fitted.remembers_a_sample else "the "
    return f"on {sample}{count(n_rows)} {fitted.rows_name}"


def importance_section(
    fitted: Fitted, given: Given, engine: Engine, frame: Any
) -> dict[str, Any]:
    """Importance of rules and, where there are rows to try them on, of columns."""
    encoded = given.encoded
    n_rows = 0 if encoded is None else len(encoded)
    enough = n_rows > 1
    result: dict[str, Any] = {
        "given": encoded is not None,
        "enough": enough,
        "n_rows": count(min(n_rows, IMPORTANCE_ROWS)) if enough else "",
        "sampled": n_rows > IMPORTANCE_ROWS,
        "all_columns": [],
        "n_idle": 0,
    }
    if encoded is None or not enough:
        names = [str(rule) for rule in frame.index[:SHOWN_RULES]]
        values = frame["importance"].to_numpy()[:SHOWN_RULES]
        return result | {"columns": [], "rules": bars(names, values), "n_rules": len(frame)}
    found = {}
    for kind, singular in (("columns", "column"), ("rules", "rule")):
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
        table = measured.to_frame()
        numbers = (table[key].to_numpy() for key in ("importance", "low", "high"))
        label = column_label if kind == "columns" else str
        found[kind] = bars([label(name) for name in table[singular]], *numbers)
    busy = [bar for bar in found["columns"] if bar.value > 0]
    return result | {
        "all_columns": found["columns"],
        "columns": busy[:SHOWN_COLUMNS],
        "n_columns": len(busy),
        "n_idle": len(found["columns"]) - len(busy),
        "rules": found["rules"][:SHOWN_RULES],
        "n_rules": len(found["rules"]),
    }
