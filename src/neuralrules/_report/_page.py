"""A fitted model as one HTML page that needs neither a server nor a network.

This module puts the data of the other modules into the templates and writes the file.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralrules._charts._texts import cell_text, plain_text
from neuralrules._engine._protocol import Engine
from neuralrules._fitted._fitted import Fitted
from neuralrules._io._checks import check_whole
from neuralrules._io._templates import (
    digest,
    escaping_environment,
    import_jinja2,
    page_bytes,
)
from neuralrules._io._writing import checked_path, whole_file
from neuralrules._report._sections import ReportRows, report_data
from neuralrules._simplify._path import SimplificationPath

if TYPE_CHECKING:
    import jinja2

# Parts of the page's script, in one scope. Each part may use the parts before it.
SCRIPTS = ("model", "texts", "table", "detail", "what_if", "reasons", "threshold", "start")


def report(
    fitted: Fitted,
    path: str | os.PathLike[str],
    given: ReportRows,
    engine: Engine,
    *,
    title: str | None = None,
    simplification: SimplificationPath | None = None,
) -> Path:
    """Write the report of a model; `Documents.report` documents the parameters."""
    jinja = import_jinja2("report")
    target = checked_path(path, "report.html")
    if title is None:
        title = f"Report of a {fitted.estimator}"
    if not isinstance(title, str):
        raise TypeError(f"title={title!r} must be a string or None.")
    if simplification is not None:
        check_simplification(simplification, fitted)
    with whole_file(target) as file:
        data = report_data(fitted, given, engine, title, simplification)
        file.write(page_bytes(render(environment(jinja), data)))
    return target


def check_given(X: Any, y: Any, sample_weight: Any, n_examples: Any) -> None:
    """Refuse rows that a report cannot measure on or show."""
    check_whole("n_examples", n_examples, 0)
    if X is None and y is not None:
        raise ValueError(
            "y was given without X: the report cannot measure without the rows. Give X too, "
            "or neither for the training rows."
        )
    if y is None and sample_weight is not None:
        raise ValueError(
            "sample_weight was given without X and y: there are no rows to weight. Give all "
            "three, or no sample_weight."
        )
    if X is None and n_examples:
        raise ValueError(
            f"n_examples={n_examples} was given without X: there are no rows to show. "
            "Give X too, or n_examples=0."
        )


def check_simplification(path: Any, fitted: Fitted) -> None:
    """Refuse the path of a model with other columns, another task, other classes or targets."""
    if not isinstance(path, SimplificationPath):
        raise TypeError(
            f"simplification={path!r} must be a SimplificationPath, as of "
            "model.simplification_path(X, y), or None."
        )
    (encoder, task), origin = (fitted.encoder, fitted.task), path.origin
    same = {
        "other columns": origin.encoder.names == encoder.names,
        "another task": origin.task.are_classes == task.are_classes,
        "other classes": origin.task.labels == task.labels,
        "another number of targets": origin.task.n_outputs == task.n_outputs,
    }
    for differs, is_same in same.items():
        if not is_same:
            raise ValueError(
                f"simplification={path!r} began with a model of {differs}. Give that of this "
                "model, model.simplification_path(X, y), or None."
            )


@cache
def environment(jinja: Any) -> jinja2.Environment:
    """The environment of the report's templates, which are compiled once per process."""
    result = escaping_environment(jinja, "neuralrules._report")
    result.policies["json.dumps_kwargs"] = {
        "sort_keys": False,
        "ensure_ascii": False,
        "allow_nan": False,
        "separators": (",", ":"),
    }
    result.filters["cell"] = cell_text
    result.filters["plain"] = plain_text
    return result


def render(templates: jinja2.Environment, data: dict[str, Any]) -> str:
    """The text of the page. Its security policy allows only its own style and script."""
    from markupsafe import Markup

    folder = files("neuralrules._report").joinpath("templates")
    style = folder.joinpath("report.css").read_text("utf-8")
    parts = [folder.joinpath(f"{name}.js").read_text("utf-8") for name in SCRIPTS]
    script = "\n".join(['"use strict";', "(() => {", data["formula"], *parts, "})();"])
    policy = (
        f"default-src 'none'; style-src '{digest(style)}'; script-src '{digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    template = templates.get_template("report.html")
    return template.render(data, policy=policy, style=Markup(style), script=Markup(script))
