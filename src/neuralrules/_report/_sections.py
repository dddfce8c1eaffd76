"""The data of the report's sections, as plain dictionaries for its templates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from neuralrules._charts._bars import importance_bars
from neuralrules._charts._performance import (
    error_name,
    path_chart,
    rules_kept_chart,
    size_errors,
)
from neuralrules._charts._shapes import View, most_varied, shape_chart, view_of
from neuralrules._charts._texts import count
from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._activity import measure
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._performance import (
    SIZE_ROWS,
    Performance,
    errors_by_size,
    perform,
)
from neuralrules._reading._column_words import words_of
from neuralrules._reading._importance import importances
from neuralrules._reading._names import column_label
from neuralrules._reading._outcomes import adverse_outcome
from neuralrules._reading._reasons import part_of_rule, reasons, usual_text
from neuralrules._reading._rules_table import rules_table
from neuralrules._reading._shapes import Shape, shapes
from neuralrules._reading._text import base_text, date_texts, scaled_texts
from neuralrules._report._page_model import (
    page_columns,
    page_examples,
    page_formula,
    page_model,
)
from neuralrules._report._performance_section import (
    has_rare_class,
    performance_section,
    rarer_class,
)
from neuralrules._report._rules_section import table_section
from neuralrules._report._svg import svg
from neuralrules._simplify._path import SimplificationPath

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
SHAPE_ROWS = 1000  # rows that shapes are averaged over
STILL = 1e-6  # smaller effects, as shares of the largest effect, are rounding errors


@dataclass(frozen=True)
class ReportRows:
    """The rows that a user gives for a report, and how many of them the page may show.

    Attributes
    ----------
    X : checked table or None
    y : array-like or None
        Targets of X. The page shows them beside the example rows.
    encoded : (n_rows, n_columns) float32 or None
        X as the network gets it.
    rows : Rows or None
        The encoded rows with their targets. None without targets: the report then shows the
        performance on the training rows.
    sample_weight : array-like or None
    weighted : bool
        Whether there are sample weights here, or class weights in training.
    n_examples : int
        Number of rows of X that become part of the page.
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
    given: ReportRows,
    engine: Engine,
    title: str,
    simplification: SimplificationPath | None,
) -> dict[str, Any]:
    """Everything that the template of the report needs.

    Returns
    -------
    dict
        ``header``, ``panels`` (the templates of the panels), the data of the panels by name,
        and ``page`` (the data of the script).
    """
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
    order = [bar["name"] for bar in importance["all_columns"]] if given.X is not None else None
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
        fitted, performance, rows, outputs, rare=rare, weighted=given.weighted
    )
    return {
        "header": header_section(fitted, title),
        "panels": PANELS,
        "performance": performed | told_of_rows(fitted, given, where),
        "importance": importance,
        "shapes": shapes_section(
            fitted, given, [column["source"] for column in columns], engine, rare
        ),
        "sizes": size_section(fitted, performance, rows, engine, simplification),
        "table": table,
        "inputs": columns,
        "examples": examples,
        "reasons": reasons,
        "scaled": scaled_texts(fitted.encoder, names, 4),
        "dates": date_texts(fitted.encoder, names),
        "lineage": fitted.lineage,
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


def told_of_rows(fitted: Fitted, given: ReportRows, where: str) -> dict[str, Any]:
    """What the page says about the rows that the performance was measured on."""
    return {
        "where": where,
        "training": given.y is None,
        "rounding": fitted.was_rounded,
        "only_X": given.X is not None and given.y is None,
        "weighted": given.weighted,
    }


def column_texts(fitted: Fitted) -> str:
    """The names that sums of rules give to the encoded columns that the network uses."""
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


def measured_on(fitted: Fitted, given: ReportRows, n_rows: int) -> str:
    """A text that says which rows something was measured on."""
    if given.y is not None:
        return f"on the {count(n_rows)} rows given"
    sample = "a sample of " if fitted.remembers_a_sample else "the "
    return f"on {sample}{count(n_rows)} {fitted.rows_name}"


def importance_section(
    fitted: Fitted, given: ReportRows, engine: Engine, frame: Any
) -> dict[str, Any]:
    """Importance of rules and, if there are rows to measure it on, of columns."""
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
        rules = bar_rows(names, frame["importance"].to_numpy()[:SHOWN_RULES])
        return result | {"columns": [], "rules": rules, "n_rules": len(frame)}
    found = {}
    for kind, label in (("columns", column_label), ("rules", str)):
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
        bars = importance_bars(measured, label)
        found[kind] = bar_rows(bars.labels, bars.values, bars.low, bars.high)
    busy = [bar for bar in found["columns"] if bar["value"] > 0]
    return result | {
        "all_columns": found["columns"],
        "columns": busy[:SHOWN_COLUMNS],
        "n_columns": len(busy),
        "n_idle": len(found["columns"]) - len(busy),
        "rules": found["rules"][:SHOWN_RULES],
        "n_rules": len(found["rules"]),
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
    fitted: Fitted, given: ReportRows, sources: list[int], engine: Engine, rare: int | None
) -> dict[str, Any]:
    """Charts of the most important columns. The column that moves the output most is first.

    Parameters
    ----------
    fitted : Fitted
    given : ReportRows
    sources : list of int
        Columns that the model uses, the most important ones first.
    engine : Engine
    rare : int or None
        Code of the rarest class; None for a regression.
    """
    X = given.X
    if X is None or not sources:
        return {"pictures": []}
    found = shapes(
        fitted,
        X,
        engine,
        [fitted.encoder.names[source] for source in sources[:SHOWN_SHAPES]],
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
        "n_more": len(sources) - len(moving),
        "label": view.label,
        "several": len(view.names) > 1,
        "odds": view.unit == "odds",
    }


def picture(shape: Shape, view: View) -> dict[str, Any]:
    """A chart for a column of numbers or dates. Categories get a table, to fit long names."""
    lines = view.lines(shape.outputs)
    several = lines.shape[1] > 1
    result: dict[str, Any] = {
        "name": column_label(shape.column),
        "key": [view.names[k] for k in most_varied(lines)] if several else [],
        "n_rules": len(shape.rules),
        "alone": int(shape.alone.sum()),
    }
    if shape._levels.names is None:
        return result | {"svg": svg(shape_chart(shape, view))}
    shown = np.sort(np.argsort(-shape.shares, kind="stable")[:SHOWN_LEVELS])
    lines, reach = lines[:, most_varied(lines)], lines[:, most_varied(lines)]
    band = None
    if not several:
        band = np.sort(np.hstack([view.lines(shape.low), view.lines(shape.high)]), axis=1)
        reach = np.hstack([lines, band])
    low, high = float(reach[shown].min()), float(reach[shown].max())

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


def size_section(
    fitted: Fitted,
    performance: Performance,
    rows: Rows | None,
    engine: Engine,
    simplification: SimplificationPath | None,
) -> dict[str, Any]:
    """Error against the number of rules kept and, if given, along a simplification.

    If a class is rare, hardly any row changes its predicted class when rules are removed, so
    the chart shows the mean loss instead of the error. Computing the loss needs the rows. For
    the training rows, the chart shows the error, because the model remembers only errors.
    """
    what, sizes, errors = error_name(fitted.task), performance.n_rules, performance.errors
    if rows is not None and has_rare_class(performance):
        some = np.linspace(0, len(rows) - 1, min(SIZE_ROWS, len(rows))).astype(int)
        sizes, errors = errors_by_size(fitted.network, rows.take(some), engine, loss=True)
        what = fitted.task.loss.metric
    chart, along = rules_kept_chart(sizes, errors, what), None
    if simplification is not None:
        path = size_errors(simplification)
        along = {
            "svg": svg(path_chart(path)),
            "knee": path.knee,
            "steps": simplification.to_frame().to_dict("records"),
        }
    return {
        "what": what,
        "svg": chart and svg(chart),
        "sampled": count(SIZE_ROWS) if performance.n_rows > SIZE_ROWS else None,
        "path": along,
        "path_what": error_name(fitted.task),
    }


def reasons_section(fitted: Fitted, rare: int | None) -> dict[str, Any] | None:
    """What the page needs to find the reasons of any row; None if there are no reasons.

    Reasons compare a row with the training rows, and they are about one outcome. So there are
    no reasons if the model remembers no rows, or if the model has several targets.
    """
    task = fitted.task
    if not fitted.activity.n_rows or (not task.are_classes and task.n_outputs > 1):
        return None
    outcome = adverse_outcome(fitted, None if rare is None else task.labels[rare])
    kinds = ("against", "missed", "weak")
    what = outcome.what.removeprefix("the ")
    if outcome.multiplied:
        what = f"odds of {outcome.label}" if outcome.is_odds else outcome.multiplied
    return {
        "k": SHOWN_REASONS,
        "about": f"for {outcome.label}" if task.are_classes else "for a high prediction",
        "usual": usual_text(fitted, outcome),
        "rows": fitted.rows_name,
        "effects": outcome.effects(fitted.network.values).tolist(),
        "usualActivations": fitted.activity.activation.astype(np.float64).tolist(),
        "faint": outcome.faint,
        "multiplies": bool(outcome.multiplied),
        "what": what,
        "parts": {kind: part_of_rule(outcome, kind) for kind in kinds},
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
