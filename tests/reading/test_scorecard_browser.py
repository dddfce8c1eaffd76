"""The card as a committee gets it: one sheet of paper."""

import re

import pandas as pd
import pytest
from browsing import new_page

from benchmarks.generators import loans
from neuralrules import NeuralRuleClassifier


@pytest.mark.slow
def test_a_card_of_sixteen_rules_is_printed_on_one_sheet(browser, tmp_path):
    table = loans(6000, 0)
    X, y = table.drop(columns=["outcome", "age", "region"]), table["outcome"]
    X["employed_since"] = pd.to_datetime(X["employed_since"])
    model = NeuralRuleClassifier(2, n_trees=4, max_terms=2, n_epochs=20, random_state=0)
    model.fit(X[:4000], y[:4000])
    card = model.scorecard(X[4000:], y[4000:]).to_html(tmp_path / "card.html")
    page = new_page(browser)
    page.goto(card.as_uri())
    assert page.locator("table.rules tbody tr").count() >= 12
    printed = page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b[^s]", printed)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("levels", [None, 3])
def test_a_card_fits_on_a_phone(browser, tmp_path, levels):
    table = loans(6000, 0)
    X, y = table[["late_payments", "utilisation", "amount"]], table["outcome"]
    model = NeuralRuleClassifier(2, n_trees=4, max_terms=2, n_epochs=5, random_state=0)
    card = model.fit(X, y).scorecard(X, y, levels=levels).to_html(tmp_path / "card.html")
    page = new_page(browser, viewport={"width": 390, "height": 800})
    page.goto(card.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    where = page.locator("table.rules thead th").nth(1).bounding_box()
    assert where["width"] > 390 / 3
