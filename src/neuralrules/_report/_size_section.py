"""Error against size, in the report: fewer rules, and the steps of a simplification."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralrules._data._rows import Rows
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._performance import SIZE_ROWS, Performance, errors_by_size
from neuralrules._reading._numbers import number
from neuralrules._report._axes import log_axis, number_axis, tight_axis
from neuralrules._report._charts import Points, chart
from neuralrules._report._classes_section import RARE
from neuralrules._report._numbers import count
from neuralrules._simplify._path import SimplificationPath


def size_section(
    fitted: Fitted,
    performance: Performance,
    rows: Rows | None,
    engine: Engine,
    simplification: SimplificationPath | None,
) -> dict[str, Any]:
    """Error against the number of rules kept and, if given, along a simplification.

    Where a class is rare, hardly any row changes its class as rules go, and the mean loss says
    more. It takes rows: of those of training only the errors are remembered.
    """
    what = error_words(fitted)
    along = None if simplification is None else path_section(simplification, what)
    sizes, errors = performance.n_rules, performance.errors
    if rows is not None and has_rare_class(performance):
        some = np.linspace(0, len(rows) - 1, min(SIZE_ROWS, len(rows))).astype(int)
        sizes, errors = errors_by_size(fitted.network, rows.take(some), engine, loss=True)
        what = fitted.task.loss.metric
    known = np.isfinite(errors)
    sizes, errors = sizes[known], errors[known]
    texts = [
        f"{size} rules: {number(error, 3)}" for size, error in zip(sizes, errors, strict=True)
    ]
    rules_chart = None
    if known.any():
        rules_chart = chart(
            Points(sizes.astype(np.float64), errors, texts),
            tight_axis(
                "most important rules kept", float(sizes.min()), float(sizes.max()), whole=True
            ),
            number_axis(what, errors, zero=True),
            title="Error against the number of most important rules kept",
        )
    return {
        "what": what,
        "chart": rules_chart,
        "sampled": count(SIZE_ROWS) if performance.n_rows > SIZE_ROWS else None,
        "path": along,
        "path_what": error_words(fitted),
    }


def error_words(fitted: Fitted) -> str:
    classes = fitted.task.are_classes
    return "share of wrong classes" if classes else "share of unexplained variance"


def has_rare_class(performance: Performance) -> bool:
    """Whether some class has few of the rows."""
    if performance.confusion is None:
        return False
    totals = performance.confusion.sum(axis=1)
    return bool(totals.min() < RARE * totals.sum())


def path_section(simplification: SimplificationPath, what: str) -> dict[str, Any]:
    """Error against parameters along a simplification path."""
    steps = [
        {
            "step": place,
            "n_rules": step.network.n_rules,
            "n_literals": step.network.n_literals,
            "n_parameters": step.network.n_parameters,
            "error": step.validation.error,
            "error_se": step.validation.error_se,
        }
        for place, step in enumerate(simplification.steps)
    ]
    knee = simplification.knee()
    parameters, error, spread = (
        np.array([step[key] for step in steps], np.float64)
        for key in ("n_parameters", "error", "error_se")
    )
    texts = [
        f"step {step['step']}, {step['n_parameters']:,} parameters, "
        f"{step['n_rules']} rules: "
        f"{number(step['error'], 3)} ± {number(step['error_se'], 2)}"
        for step in steps
    ]
    return {
        "steps": steps,
        "knee": knee,
        "chart": chart(
            Points(parameters, error, texts, error - spread, error + spread, frozenset([knee])),
            log_axis(
                "parameters other than zero (log scale)",
                float(parameters.min()) / 1.15,
                float(parameters.max()) * 1.15,
            ),
            number_axis(what, np.concatenate([error, error + spread]), zero=True),
            title="Error against parameters other than zero along the simplification",
        ),
    }
