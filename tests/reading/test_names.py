"""Names that are no words are set off from the arithmetic around them."""

import re

import numpy as np
import pandas as pd
import pytest

from neuralrules import NeuralRuleClassifier
from neuralrules._reading._notation import category_text, column_label, in_formula


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("age", "age"),
        ("größe_2", "größe_2"),
        ("x0", "x0"),
        ("3", "column 3"),
        ("loan amount", '"loan amount"'),
        ("a-b", '"a-b"'),
        ("2nd", '"2nd"'),
        ("-3", '"-3"'),
        ("1.5", '"1.5"'),
        ("", '""'),
        ("column 3", '"column 3"'),
        ('a "b"', r'"a \"b\""'),
        ("a\nb", r'"a\nb"'),
        ("a_very_long…end", "a_very_long…end"),
    ],
)
def test_names_in_formulas(name, text):
    assert in_formula(name) == text


def test_names_alone_and_categories():
    assert column_label("3") == "column 3"
    assert column_label("loan amount") == "loan amount"
    assert [category_text(name) for name in ("Rome", "3", "New York", "<=50K")] == [
        "Rome",
        "3",
        '"New York"',
        '"<=50K"',
    ]


@pytest.fixture(scope="module")
def numbered():
    """A model of a frame whose columns are numbers, and its table."""
    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.randn(300, 3)).assign(town=rng.choice(["New York", "Rome"], 300))
    y = (X[0] + X[1] > 0) ^ (X["town"] == "Rome")
    X.columns = [0, 1, 2, "home town"]
    X.columns = X.columns.astype(str)
    return NeuralRuleClassifier(n_trees=5, n_epochs=20, random_state=0).fit(X, y), X, y


def test_every_text_of_a_model_sets_them_off(numbered):
    model, X, _ = numbered
    rules = model.rules_text()
    assert "column 0 " in rules
    assert '"home town" = "New York"' in rules or '"home town" = Rome' in rules
    limits = "\n".join(model.explain(X).to_frame()["limited_by"])
    answer = str(model.counterfactual(X[:1]))
    comments = model.to_python()
    for text in (rules, limits):
        assert "column 1" in text
        assert not re.search(r"(?<![\w.])(?<!column )[012] [<>≤+-]", text)
    assert "Changing column " in answer or 'Changing "home town" from ' in answer
    assert "column 0" in comments


def test_labels_that_stand_alone_say_column(numbered, tmp_path):
    model, X, y = numbered
    assert "column 0: " in repr(model.importances(X, kind="columns", n_resamples=2))
    page = model.report(tmp_path / "report.html", X, y).read_text("utf-8")
    assert '<span class="name" title="column 0">column 0</span>' in page
    assert '<span class="name" title="home town">home town</span>' in page
