"""A model with a slider for each column, in a page that needs no server.

The page computes with the report's own script, `model.js`, which repeats encoder and network;
here are the sliders, and the words of the rules that light up.
"""

from __future__ import annotations

import math
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

from neuralrules import NeuralRuleClassifier
from neuralrules._data._numbers import as_numbers
from neuralrules._fitted._fitted import Fitted
from neuralrules._io._templates import digest, escaping_environment, page_bytes
from neuralrules._io._writing import whole_file
from neuralrules._reading._outcomes import outcome_of_class, rare_class
from neuralrules._reading._sentences import mentioned_rules, rare_first, start_sentences
from neuralrules._reading._text import rule_text
from neuralrules._reading._wording import EVERY_ROW, rule_words
from neuralrules._report._page_model import page_columns, page_formula, page_model

TEMPLATES = Path(__file__).parent / "templates"
N_STEPS = 200  # of a slider, about
UNBROKEN = "\N{NON-BREAKING HYPHEN}"  # so that dates stay in one line


def write_interactive(model: NeuralRuleClassifier, X: Any, path: Path, title: str) -> Path:
    """Write the page of a model of two classes.

    Parameters
    ----------
    model : NeuralRuleClassifier
    X : DataFrame
        Rows whose ranges the sliders run over, and in whose middle they start.
    path : Path
    title : str
    """
    fitted = model.fitted_
    columns = page_columns(fitted, X, None)
    for column in columns:
        if column["kind"] == "number":
            column.update(slider(as_numbers(X.iloc[:, column["source"]], column["name"])))
    rare = outcome_of_class(fitted.task, rare_class(fitted))
    data = {
        "title": title,
        "start": start_sentences(fitted, 3),
        "rare": rare.label,
        "inputs": columns,
        "rules": told(fitted),
        "formula": page_formula(fitted, columns),
        "page": {
            "model": page_model(fitted),
            "columns": columns,
            "place": rare.place,
            "effects": rare.effects(fitted.network.values).tolist(),
            "highest": np.asarray(fitted.activity.highest).tolist(),
        },
    }
    with whole_file(path) as file:
        file.write(page_bytes(render(data)))
    return path


def told(fitted: Fitted) -> list[dict[str, Any]]:
    """The words of each rule; those that the sentences leave out stand last."""
    shown = rare_first(fitted, mentioned_rules(fitted))
    rest = [rule for rule in range(fitted.network.n_rules) if rule not in shown]
    return [
        {"rule": rule, "says": words(fitted, rule).replace("-", UNBROKEN)}
        for rule in shown + rest
    ]


def words(fitted: Fitted, rule: int) -> str:
    says = rule_words(fitted, rule, 3, 3)
    return rule_text(fitted, rule, 3, 3) if says == EVERY_ROW else says


def slider(numbers: np.ndarray | None) -> dict[str, float]:
    """Round ends and steps that the numbers of a column lie between."""
    assert numbers is not None
    present = numbers[~np.isnan(numbers)]
    low, high = float(present.min()), float(present.max())
    if np.all(present == np.round(present)) and high - low <= N_STEPS:
        return {"low": low, "high": high, "step": 1}
    raw = (high - low) / N_STEPS
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
    if np.all(present == np.round(present)):
        step = max(1.0, step)  # days, and euros, are whole
    ends = {"low": math.floor(low / step) * step, "high": math.ceil(high / step) * step}
    return {name: float(f"{end:.12g}") for name, end in (ends | {"step": step}).items()}


def render(data: dict[str, Any]) -> str:
    """The page, with a policy that lets only its own style and script in."""
    ours = escaping_environment(jinja2, "neuralrules._report")
    assert ours.loader is not None
    ours.loader = jinja2.ChoiceLoader([jinja2.FileSystemLoader(TEMPLATES), ours.loader])
    theirs = files("neuralrules")
    style = theirs.joinpath("_io/templates/page.css").read_text("utf-8")
    style += (TEMPLATES / "interactive.css").read_text("utf-8")
    parts = [
        theirs.joinpath(f"_report/templates/{name}.js").read_text("utf-8")
        for name in ("model", "texts")
    ]
    own = (TEMPLATES / "interactive.js").read_text("utf-8")
    script = "\n".join(['"use strict";', "(() => {", data["formula"], *parts, own, "})();"])
    policy = (
        f"default-src 'none'; style-src '{digest(style)}'; script-src '{digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    page = ours.get_template("interactive.html")
    return page.render(data, policy=policy, style=Markup(style), script=Markup(script))
