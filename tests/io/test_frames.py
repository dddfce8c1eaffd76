"""pandas is loaded when a frame is asked for, and its absence is an answer."""

from __future__ import annotations

import re
import sys

import numpy as np
import pandas as pd
import pytest

from neuralrules import NeuralRuleClassifier
from neuralrules._io._checks import import_pandas


def missing(what: str) -> str:
    sentence = (
        f"{what} needs pandas, which is not installed. "
        'Install it with: pip install "neuralrules[frames]"'
    )
    return f"^{re.escape(sentence)}$"


def hide_pandas(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)


def test_it_is_pandas():
    assert import_pandas("to_frame") is pd


def test_without_pandas_the_error_says_who_needs_it_and_how_to_get_it(monkeypatch):
    hide_pandas(monkeypatch)
    with pytest.raises(ImportError, match=missing("this method")) as caught:
        import_pandas("this method")
    assert isinstance(caught.value.__cause__, ImportError)  # pandas may be there but broken


def test_every_frame_is_refused_with_the_name_of_its_method(monkeypatch):
    X = np.random.RandomState(0).randn(80, 2)
    y = X[:, 0] > 0
    options = {"n_trees": 2, "n_epochs": 1, "engine": "numpy", "random_state": 0}
    model = NeuralRuleClassifier(2, **options).fit(X, y)
    explanation, importances = model.explain(X[:2]), model.importances(X)
    nearest, path = model.counterfactual(X[0]), model.simplification_path(X, y)
    hide_pandas(monkeypatch)
    for ask, name in (
        (model.rules_table, "rules_table"),
        (explanation.to_frame, "to_frame"),
        (explanation.slopes_frame, "slopes_frame"),
        (importances.to_frame, "to_frame"),
        (nearest.to_frame, "to_frame"),
        (path.to_frame, "to_frame"),
    ):
        with pytest.raises(ImportError, match=missing(name)):
            ask()
