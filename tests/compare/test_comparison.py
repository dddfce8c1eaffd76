"""What is told of two models: in words, in numbers, on a page."""

import html
import re

import numpy as np
import pandas as pd
import pytest
from models import (
    EVERY_MODEL,
    credit_table,
    fitted,
    network_outputs,
    performance_on,
)

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor, compare
from neuralrules._compare._rules import changed_statements
from neuralrules._reading._wording import Statement


def model_of_credit(**options):
    X, y = credit_table(1500)
    model = NeuralRuleClassifier(n_trees=4, n_epochs=10, random_state=0, **options)
    return model.fit(X, y), X, y


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_what_the_rules_change_sums_to_what_the_outputs_change(kind, deep):
    model, X, y = fitted(kind, deep)
    other = fitted(kind, deep, 3)[0]
    compared = compare(model, other, X, y)
    before, after = network_outputs(model, X), network_outputs(other, X)
    for row in compared.rows.shown:
        change = row.outcome.effects((after - before)[row.row][None])[0]
        assert row.change == change
        size = np.abs(row.parts).sum() + np.abs(before).max()
        assert abs(row.parts.sum() - change) <= 1e-12 * size
        np.testing.assert_array_equal(row.before, model.predict(X)[row.row])
        np.testing.assert_array_equal(row.after, other.predict(X)[row.row])


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_rows_that_change_class_are_those_that_predict_says(kind, deep):
    model, X, _ = fitted(kind, deep)
    other = fitted(kind, deep, 3)[0]
    rows = compare(model, other, X).rows
    if not hasattr(model, "classes_"):
        assert rows.flips == ()
        return
    one, two = model.predict(X), other.predict(X)
    np.testing.assert_array_equal(rows.flipped, np.flatnonzero(one != two))
    assert sum(flip.n_rows for flip in rows.flips) == len(rows.flipped)
    for flip in rows.flips:
        assert flip.n_rows == ((one == flip.before) & (two == flip.after)).sum()


def test_both_are_measured_side_by_side_and_on_the_rows_that_change():
    model, X, y = model_of_credit()
    other = model.edit(drop=[0, 1, 2])
    weights = np.random.RandomState(0).rand(len(y))
    compared = compare(model, other, X, y, sample_weight=weights)
    one, two = (performance_on(m, X, y, weights).metrics for m in (model, other))
    assert compared.measured.metrics == {name: (one[name], two[name]) for name in one}
    changed = compared.rows.flipped
    assert changed.size
    right = [
        np.average((m.predict(X) == y)[changed], weights=weights[changed])
        for m in (model, other)
    ]
    assert compared.measured.of_flipped["accuracy"] == pytest.approx(right)
    moved = np.abs(model.predict_proba(X) - other.predict_proba(X))[:, 0]
    difference = compared.rows.differences[0]
    assert difference.mean == pytest.approx(np.average(moved, weights=weights))
    assert (difference.largest, difference.row) == (pytest.approx(moved.max()), moved.argmax())


def test_rows_of_no_weight_change_class_but_are_not_measured():
    model, X, y = model_of_credit()
    other = model.edit(drop=[0, 1, 2])
    changed = compare(model, other, X).rows.flipped
    weights = np.ones(len(y))
    weights[changed] = 0
    compared = compare(model, other, X, y, sample_weight=weights)
    np.testing.assert_array_equal(compared.rows.flipped, changed)
    assert compared.measured.of_flipped == {}
    assert "Of the rows that change class" not in str(compared)


def test_effects_are_mean_differences_of_contributions():
    model, X, _ = model_of_credit()
    other = model.edit(drop=[2], values={0: 1.0})
    compared = compare(model, other, X)
    one, two = (m.explain(X) for m in (model, other))
    for place, rule in enumerate(compared.rules):
        moved = np.zeros(len(X))
        for told, number, sign in ((one, rule.first, -1), (two, rule.second, 1)):
            own = told.rules == number
            moved[told.rows[own]] += sign * told.contributions[own, 0]
        assert compared.rows.effects[place] == pytest.approx(np.abs(moved).mean())
    assert list(compared.to_frame()["effect"]) == list(compared.rows.effects)


def test_edits_are_told_rule_by_rule():
    model, _, _ = model_of_credit()
    other = model.edit(
        drop=[1], values={0: 1.5}, replace={2: "late_payments > 2 and region = west"}
    )
    compared = compare(model, other)
    kinds = {(rule.first, rule.second): rule.kind for rule in compared.rules}
    assert kinds[0, 0] == "changed"
    assert kinds[1, None] == kinds[2, None] == "only in A"
    assert kinds[None, 1] == "only in B"
    assert all(kinds[i, i - 1] == "same" for i in range(3, model.network_.n_rules))
    text = str(compared)
    assert re.search(
        r"rule 0 \(the same conditions\)\n    - value .*\n    \+ value 1.5 for", text
    )
    written = r"Only in B:\n  rule 1: value .*: late_payments > 2 and \[region = west\] > 0.5"
    assert re.search(written, text)
    assert "rows given" not in text


def test_a_change_that_three_digits_hide_is_told_in_more():
    model, _, _ = model_of_credit()
    value = float(model.network_.values[0, 0])
    (changes,) = (
        rule.changes
        for rule in compare(model, model.edit(values={0: value * 1.0001})).rules
        if rule.kind == "changed"
    )
    ((before, after),) = changes
    assert before != after


def test_missing_numbers_that_count_otherwise_are_told():
    X = pd.DataFrame({"a": np.arange(60.0), "b": np.tile([0.0, 1], 30)})
    X.loc[::7, "a"] = np.nan
    y = (X["a"] > 30).to_numpy()
    one = NeuralRuleClassifier(n_trees=1, n_epochs=0, random_state=0).fit(X, y)
    other = NeuralRuleClassifier(n_trees=1, n_epochs=0, random_state=0).fit(X[:50], y[:50])
    assert "A missing a counts as" in str(compare(one, other))
    assert not compare(one, other).is_same


def test_models_of_other_questions_are_refused_in_one_line():
    X, y = credit_table(300)
    quick = {"n_trees": 1, "n_epochs": 0, "random_state": 0}
    model = NeuralRuleClassifier(**quick).fit(X, y)
    numbers = NeuralRuleRegressor(**quick).fit(X, X["age"])
    refusals = [
        (
            NeuralRuleClassifier(**quick).fit(X.drop(columns="age"), y),
            "The two models have other columns: 'age' is only in the first. Compare models "
            "that were fitted on the same columns.",
        ),
        (
            NeuralRuleClassifier(**quick).fit(X[X.columns[::-1]], y),
            "The two models have the same columns in another order. Compare models that were "
            "fitted on the same columns.",
        ),
        (
            NeuralRuleClassifier(**quick).fit(X, np.where(y == "bad", "ill", "well")),
            "The first model has the classes ['bad', 'good'], the second one ['ill', 'well']. "
            "Compare models of the same classes.",
        ),
        (
            numbers,
            "The first model predicts classes, the second one numbers. Compare models of the "
            "same target.",
        ),
        (
            NeuralRuleClassifier(loss="hinge", **quick).fit(X, y),
            "The models were fitted with loss='logistic' and loss='hinge', whose rules add up "
            "to different things. Compare models of the same loss.",
        ),
    ]
    for other, message in refusals:
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            compare(model, other)
    two = NeuralRuleRegressor(**quick).fit(X, X[["age", "income"]])
    with pytest.raises(ValueError, match="predicts 1 numbers, the second one 2"):
        compare(numbers, two)
    with pytest.raises(
        TypeError, match="model_b must be a fitted estimator of neuralrules, got"
    ):
        compare(model, "b.nrules")
    with pytest.raises(ValueError, match="y was given without X"):
        compare(model, model, y=y)
    with pytest.raises(ValueError, match="sample_weight was given without"):
        compare(model, model, X, sample_weight=np.ones(len(X)))


def test_the_page_says_what_the_text_says_and_escapes_names(tmp_path):
    X, y = credit_table(500)
    X = X.add_prefix("<b>")
    model = NeuralRuleClassifier(n_trees=2, n_epochs=2, random_state=0).fit(X, y)
    compared = compare(model, model.edit(drop=[0], values={1: 3.0}), X, y)
    page = compared.to_html(tmp_path / "page.html").read_text()
    (shown,) = re.findall('srcdoc="([^"]*)"', compared._repr_html_())
    assert html.unescape(shown) == page  # what a notebook has in its frame
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    assert "<script" not in page
    for row in compared.rows.shown:
        assert f"Row {row.row}: " in page
    plain = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))
    for sentence in str(compared).split("\n\n")[0].splitlines():
        assert sentence in plain


def test_a_statement_stands_beside_the_one_about_the_same_sum_and_side():
    def inequality(text):
        subject, sign, _ = text.rsplit(" ", 2)
        return Statement(text, subject, sign == ">", subject.split()[0])

    before = [inequality(text) for text in ("age > 20", "age < 60", "debt > 3", "late > 1")]
    after = [inequality(text) for text in ("debt - 2·late > 4", "age < 50", "age > 30")]
    assert changed_statements(before, after) == [
        ("age > 20", "age > 30"),
        ("age < 60", "age < 50"),
        ("debt > 3", "debt - 2·late > 4"),
        ("late > 1", ""),
    ]
    assert changed_statements(after, [*after, before[3]]) == [("", "late > 1")]
