"""Reasons for one case, against a slow reading of what they claim."""

import re

import numpy as np
import pandas as pd
import pytest
from models import fitted
from test_sentences import NUMBER, activations, credit

from neuralrules import NeuralRuleClassifier, read_rules

FAINT = 0.005


def slow_shortfalls(model, X, rows):
    """What each rule adds to the log odds of bad, less what it adds on average."""
    effects = -model.network_.values[:, 0].astype(float)  # "good" is the second class
    contributions = activations(model, X) * effects
    return contributions[rows] - contributions.mean(axis=0)


def risky(model, X, n=40):
    """Rows of every kind, those with the highest risk among them."""
    order = np.argsort(-model.predict_proba(X)[:, 0], kind="stable")
    return np.concatenate([order[:n], order[:: len(order) // n]])


@pytest.mark.parametrize("columns", ["own", "rule"])
def test_reasons_are_the_rules_that_leave_a_row_worst_off(columns):
    model, X, _ = credit(columns)
    rows = risky(model, X)
    found = model.reasons(X.iloc[rows])
    active = activations(model, X)[rows]
    effects = -model.network_.values[:, 0]
    for place, own in enumerate(slow_shortfalls(model, X, rows)):
        told = found.reasons[place]
        expected = [rule for rule in np.argsort(-own)[:4] if own[rule] > FAINT]
        # Rules that are as strong but for the last digits may change places.
        np.testing.assert_allclose(own[[r.rule for r in told]], own[expected], atol=1e-4)
        for reason in told:
            rule = reason.rule
            kind = "against" if effects[rule] > 0 else "weak"
            assert reason.kind == (kind if active[place, rule] > 0 else "missed")
            assert reason.shortfall == pytest.approx(own[rule], abs=1e-4)
            factor = float(re.search(rf"odds of bad times ({NUMBER}) compared", reason.text)[1])
            assert factor == pytest.approx(np.exp(own[rule]), rel=0.06)
            assert f"(rule {rule} " in reason.text
        assert found.predictions[place] == model.predict(X.iloc[[rows[place]]])[0]
    np.testing.assert_allclose(found.probabilities, model.predict_proba(X.iloc[rows])[:, 0])
    kinds = {reason.kind for own in found.reasons for reason in own}
    assert kinds == {"against", "missed", "weak"}


@pytest.mark.parametrize("columns", ["own", "rule"])
def test_the_numbers_of_a_reason_are_those_of_the_row(columns):
    """A cell is as in the table, its bound on the side that is told, the gap their distance;
    and a cell that is moved just beyond the bound settles what was missed.
    """
    model, X, _ = credit(columns)
    rows = risky(model, X)
    settled = 0
    for place, own in enumerate(model.reasons(X.iloc[rows]).reasons):
        row = X.iloc[rows[place]]
        for reason in own:
            gaps = re.findall(
                rf"(\w+) is (\S+), not (above|below|after|before) (\S+) \(({NUMBER})",
                reason.text,
            )
            facts = re.findall(
                r"(\w+) is (\S+), (above|below|after|before) (\S+?)[: ]", reason.text
            )
            assert bool(gaps) == (reason.kind == "missed")
            for name, shown, side, asked, *gap in [*gaps, *facts]:
                cell, bound = as_number(shown), as_number(asked)
                assert cell == pytest.approx(as_number(str(row[name])))
                rises = side in ("above", "after")
                passes = cell > bound if rises else cell < bound
                assert passes != bool(gap) or cell == bound
                if gap:
                    beyond = 1 if name == "opened" else 0  # the first day that passes
                    assert float(gap[0]) == pytest.approx(abs(bound - cell) + beyond, abs=1e-9)
            if len(gaps) == 1 or (gaps and columns == "own"):
                settled += 1
                assert fires(model, moved(row, gaps), reason.rule), reason.text
    assert settled > 10


def test_a_weak_reason_tells_what_keeps_the_rule_from_firing_more():
    model, X, _ = credit()
    rows, network, n_of_several = risky(model, X), model.network_, 0
    literals = model.encoder_.transform(X.iloc[rows])[:, network.features] @ network.weights.T
    literals = literals.astype(float) + network.biases
    for place, own in enumerate(model.reasons(X.iloc[rows]).reasons):
        for reason in (found for found in own if found.kind == "weak"):
            first, end = network.offsets[reason.rule : reason.rule + 2]
            least = first + np.argmin(literals[place, first:end])
            (feature,) = network.features[np.flatnonzero(network.weights[least])]
            name = X.columns[model.encoder_.columns[feature].source]
            facts = reason.text.partition(": ")[0]
            assert re.findall(r"(\w+) is ", facts) == [name], reason.text
            n_of_several += end - first > 1
    assert n_of_several > 10


def as_number(text):
    if re.match(r"\d{4}-\d\d-\d\d", text):
        return (pd.Timestamp(text) - pd.Timestamp("1970-01-01")) / pd.Timedelta("1D")
    return float(text)


def moved(row, gaps):
    """A row with what it lacks, just beyond each bound."""
    changed = pd.DataFrame([row]).infer_objects()
    for name, _, side, bound, *_ in gaps:
        step = 1e-4 if side in ("above", "after") else -1e-4
        if name == "opened":
            changed[name] = pd.Timestamp(bound) + np.sign(step) * pd.Timedelta("1D")
        else:
            changed[name] = float(bound) * (1 + 1e-9) + step * (1e4 if name == "income" else 1)
    return changed


def fires(model, row, rule):
    return activations(model, row)[0, rule] > 0


def test_contributions_still_sum_exactly():
    model, X, _ = credit("rule")
    rows = X.iloc[risky(model, X)]
    found = model.reasons(rows)
    explanation = found.explanation
    decision = model.decision_function(rows)
    for row, own in enumerate(found.reasons):
        places = explanation.rows == row
        total = np.zeros(1)
        for contribution in explanation.contributions[places]:
            total = total + contribution
        assert (total + explanation.intercept)[0] == decision[row]
        added = dict(
            zip(explanation.rules[places], explanation.contributions[places, 0], strict=True)
        )
        for reason in own:
            assert reason.contribution == -added.get(reason.rule, 0.0)


@pytest.mark.parametrize("columns", ["own", "rule"])
def test_a_tiny_change_of_a_row_changes_no_reason(columns):
    model, X, _ = credit(columns)
    rng = np.random.RandomState(0)
    rows = risky(model, X, 150)
    before = X.iloc[rows].astype({"late_payments": float, "age": float})
    after = before.copy()
    for name in ("late_payments", "utilisation", "income", "age", "opened"):
        after[name] += 1e-6 * X[name].std() * rng.choice([-1, 1], len(rows))
    assert not after.equals(before)
    first, second = (model.reasons(some).reasons for some in (before, after))
    n_ties = 0
    strengths = slow_shortfalls(model, X, rows)
    for own, other, strength in zip(first, second, strengths, strict=True):
        strongest = np.sort(np.append(strength, FAINT))[::-1][:6]
        tied = np.diff(strongest).max() > -1e-4
        n_ties += tied
        if not tied:
            assert [r.rule for r in own] == [r.rule for r in other]
    assert n_ties < len(rows) / 10


def test_how_many_and_for_what():
    model, X, _ = credit()
    row = X.iloc[risky(model, X)[0]]
    assert [len(model.reasons(row, k).reasons[0]) for k in (1, 2, 3)] == [1, 2, 3]
    bad, good = model.reasons(row), model.reasons(row, adverse="good")
    assert (bad.adverse, good.adverse) == ("bad", "good")
    assert bad.probabilities + good.probabilities == pytest.approx(1)
    assert str(bad).startswith(f"Row 0: bad; {100 * bad.probabilities[0]:.3g} % for bad (3.2 %")
    frame = bad.to_frame()
    assert frame["text"].tolist() == [reason.text for reason in bad.reasons[0]]
    assert list(frame) == ["row", "rule", "kind", "contribution", "shortfall", "text"]
    assert str(model.reasons(X.iloc[:12])).endswith("… and 2 more rows: see to_frame().")


def test_reasons_for_a_number():
    model, X, _ = fitted("numbers")
    for adverse, sign in (("high", 1), ("low", -1)):
        effects = sign * model.network_.values[:, 0].astype(float)
        contributions = activations(model, X) * effects
        shortfalls = contributions - contributions.mean(axis=0)
        found = model.reasons(X[:20], adverse=adverse)
        np.testing.assert_array_equal(found.predictions, model.predict(X[:20]))
        for own, expected in zip(found.reasons, shortfalls, strict=False):
            assert own
            for reason in own:
                assert reason.shortfall == pytest.approx(expected[reason.rule], rel=1e-3)
                word = "higher" if sign > 0 else "lower"
                size = re.search(rf"prediction {word} by ({NUMBER}) compared", reason.text)[1]
                assert float(size) == pytest.approx(expected[reason.rule], rel=0.06)


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("kind", ["hinge", "mixed", "quantiles", "constant"])
def test_every_kind_of_model_gives_reasons(kind, deep):
    model, X, _ = fitted(kind, deep)
    found = model.reasons(X.iloc[:30] if hasattr(X, "iloc") else X[:30])
    assert "nan" not in str(found)
    assert (found.probabilities is None) == (kind == "hinge")


def test_a_category_and_a_missing_number_are_told():
    model, X, _ = fitted("mixed")
    text = "".join(found.text for own in model.reasons(X.iloc[:200]).reasons for found in own)
    assert "income is missing" in text
    assert re.search("city is (Oslo|Lima), not Rome", text)
    assert "another value" not in text


def test_what_is_refused():
    model, X, _ = credit()
    row = X.iloc[[0]]
    with pytest.raises(ValueError, match=r"k=0 must be a whole number of at least 1\."):
        model.reasons(row, 0)
    with pytest.raises(ValueError, match=r"adverse='ugly' is no class\. The classes are \["):
        model.reasons(row, adverse="ugly")
    numbers, rows, _ = fitted("numbers")
    with pytest.raises(ValueError, match=r"adverse=3 must be 'high' or 'low'"):
        numbers.reasons(rows[:1], adverse=3)
    two, rows, _ = fitted("two targets")
    with pytest.raises(ValueError, match=r"predicts 2 numbers, .* Fit a model for each target"):
        two.reasons(rows[:1])
    again = read_rules(model.exact_text(), estimator=True)
    with pytest.raises(ValueError, match=r"text and remembers none\. Take explain, or"):
        again.reasons(row)


def test_days_missed_are_counted_to_the_first_that_passes():
    days = pd.to_datetime("2023-01-01") + pd.to_timedelta(np.arange(60), "D")
    X, y = pd.DataFrame({"since": np.repeat(days, 4)}), np.repeat(np.arange(60) >= 30, 4)
    model = NeuralRuleClassifier(1, n_trees=3, n_epochs=20, random_state=0).fit(X, y)
    rows, singular = X.iloc[::4], 0
    for row, own in enumerate(model.reasons(rows, adverse=False).reasons):
        for reason in (found for found in own if found.kind == "missed"):
            since, side, bound, gap = re.search(
                r"since is (\S+), not (after|before) (\S+) \((1 day|\d+ days) too", reason.text
            ).groups()
            n_days, way = int(gap.split()[0]), 1 if side == "after" else -1
            assert as_number(since) + way * n_days == as_number(bound) + way
            for missing, passes in ((0, True), (1, False)):
                other = pd.DataFrame(
                    {"since": [days[row] + way * pd.Timedelta(n_days - missing, "D")]}
                )
                assert fires(model, other, reason.rule) == passes, reason.text
            singular += gap == "1 day"
    assert singular
