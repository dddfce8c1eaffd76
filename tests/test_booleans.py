"""Columns of booleans: true and false in all texts, and the same numbers as ever."""

import re
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest

from neuralrules import NeuralRuleClassifier, load, read_rules
from neuralrules._data._columns import Flag


@cache
def table():
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "homeowner": rng.rand(500) < 0.4,
            "income": rng.lognormal(10, 0.5, 500),
            "late": rng.poisson(1, 500),
        }
    )
    bad = ((frame["income"] < 18_000) & ~frame["homeowner"]) | (frame["late"] > 2)
    return frame, np.where(bad, "bad", "good")


@cache
def fitted(**options):
    X, y = table()
    few = {"n_trees": 3, "max_depth": 2, "n_epochs": 15, "random_state": 0}
    return NeuralRuleClassifier(**few, **options).fit(X, y)


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_texts_say_true_and_false(scaling):
    model = fitted(literal_columns="own", scaling=scaling)
    X, _ = table()
    texts = {
        "conditions": model.rules_text(),
        "sentences": model.rules_text(style="sentences"),
        "reasons": str(model.reasons(X.iloc[:60], 4)),
        "card": str(model.scorecard()),
        "module": model.to_python(reasons=3),
    }
    for name, text in texts.items():
        assert re.search("homeowner is (true|false)", text), name
        if name != "module":  # whose code is in numbers
            assert not re.search(r"homeowner (<|>|≤|above|below|is [01])", text), name
    assert re.search("leaf .*homeowner is (true|false)", texts["conditions"])
    assert "homeowner is false, not true" in texts["reasons"]


@pytest.mark.parametrize("columns", ["own", "rule"])
def test_what_a_text_says_of_a_boolean_is_so(columns):
    """A rule that asks for one of both in words fires on no row that has the other."""
    model = fitted(literal_columns=columns)
    X, _ = table()
    explanation = model.explain(X)
    found = 0
    for block in model.rules_text(style="sentences").split("\n\n"):
        match = re.match(
            r"Rule (\d+): (?:.* and )?homeowner is (true|false)(?: and .*)?\.\n", block
        )
        if match:
            rows = explanation.rows[explanation.rules == int(match[1])]
            assert (X["homeowner"].to_numpy()[rows] == (match[2] == "true")).all()
            found += 1
    assert found


def test_texts_and_files_remember_booleans(tmp_path):
    model, (X, _) = fitted(literal_columns="own"), table()
    back = read_rules(model.exact_text(), estimator=True)
    loaded = load(model.save(tmp_path / "b.nrules"))
    for one in (back, loaded):
        assert isinstance(one.encoder_.columns[0], Flag)
        assert "homeowner is " in one.rules_text()
        assert one.exact_text() == model.exact_text() or one is back
        np.testing.assert_allclose(
            one.decision_function(X), model.decision_function(X), rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize(
    "as_frame", [lambda X: X.astype({"homeowner": "boolean"}), pl.DataFrame]
)
def test_booleans_of_other_frames(as_frame):
    X, y = table()
    other = NeuralRuleClassifier(n_trees=1, n_epochs=2, random_state=0).fit(as_frame(X), y)
    assert isinstance(other.encoder_.columns[0], Flag)
    numbers = NeuralRuleClassifier(n_trees=1, n_epochs=2, random_state=0)
    numbers.fit(X.astype({"homeowner": int}), y)
    assert not isinstance(numbers.encoder_.columns[0], Flag)
    np.testing.assert_array_equal(
        other.predict_proba(as_frame(X)), numbers.predict_proba(X.astype({"homeowner": int}))
    )


def test_a_boolean_with_holes():
    X, y = table()
    X = X.astype({"homeowner": "boolean"})
    X.loc[::5, "homeowner"] = pd.NA
    model = NeuralRuleClassifier(
        n_trees=3, max_depth=3, n_epochs=10, random_state=0, literal_columns="rule"
    ).fit(X, y)
    for style in ("conditions", "sentences"):
        assert "homeowner" in model.rules_text(style=style)
    text = str(model.reasons(X.iloc[:40], 4))
    assert re.search("homeowner is (true|false|missing)", text)
    assert "homeowner is 1" not in text
