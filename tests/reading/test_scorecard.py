"""Score cards: points, what they stand for and what they cost, against slow counts."""

import html
import re
import sys

import numpy as np
import pandas as pd
import pytest
from models import credit_table, fitted
from sklearn.metrics import log_loss, mean_squared_error
from test_sentences import NUMBER, credit, rows_where

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor, read_rules
from neuralrules._reading._scorecard import MOST_BANDS

FACTOR = 20 / np.log(2)  # points for one of log odds


def dense_activations(model, X):
    """Activations of all rules, as the engine of the model computes them."""
    explanation = model.explain(X)
    active = np.zeros((len(X), model.network_.n_rules))
    active[explanation.rows, explanation.rules] = explanation.activations
    return active


def test_points_are_the_sum_of_rounded_contributions():
    model, X, _ = credit("rule")
    some = X.iloc[:200]
    card = model.scorecard()
    found = card.points(some)
    assert found.dtype == np.int64
    values = model.network_.values[:, 0].astype(float)  # for "good", which gains points
    for row, active in zip(found, dense_activations(model, some), strict=True):
        assert row == 600 + sum(
            round(value * strength * FACTOR)
            for value, strength in zip(values, active, strict=True)
        )
    assert card.points(X.iloc[3]) == found[3]
    shifted = model.scorecard(base=100, points_to_double=40, adverse="good")
    assert np.corrcoef(shifted.points(some), found)[0, 1] < -0.99


def test_what_points_stand_for():
    model, X, _ = credit()
    card = model.scorecard()
    start = 1 / (1 + np.exp(model.network_.intercept[0]))
    assert card.probability(600) == pytest.approx(start)
    odds = card.probability(np.array([580, 600, 620]))
    odds = odds / (1 - odds)
    np.testing.assert_allclose(odds[:-1] / odds[1:], 2)
    shown = card.probability(card.points(X))
    exact = model.decision_function(X)
    # No rule is moved by more than half a point.
    far = np.abs(np.log(1 / shown - 1) - exact).max() * FACTOR
    assert far <= model.network_.n_rules / 2
    assert far < 6


@pytest.mark.parametrize("weighted", [False, True])
def test_the_cost_of_whole_points(weighted):
    model, X, y = credit()
    weights = np.arange(len(y)) % 3 * 1.0 if weighted else None
    card = model.scorecard(X, y, sample_weight=weights)
    bad = (y == "bad").astype(int)
    before = log_loss(bad, model.predict_proba(X)[:, 0], sample_weight=weights)
    after = log_loss(bad, card.probability(card.points(X)), sample_weight=weights)
    assert card.cost.metric == "log loss"
    assert card.cost.before == pytest.approx(before, rel=1e-5)
    assert card.cost.after == pytest.approx(after, rel=1e-9)
    assert card.cost.n_rows == (len(y) if weights is None else np.count_nonzero(weights))
    assert f"is {before:.4g} by the model and {after:.4g} by whole points." in str(card)


def test_proportional_points_lose_less_than_levels():
    model, X, y = credit("rule")
    lost, moved = {}, {}
    for levels in (None, 2, 3, 4, 6):
        card = model.scorecard(X, y, levels=levels)
        lost[levels] = card.cost.after - card.cost.before
        log_odds = np.log(1 / card.probability(card.points(X)) - 1)
        moved[levels] = np.abs(log_odds - model.decision_function(X)).mean()
    assert abs(lost[None]) < 0.01 * card.cost.before
    assert lost[None] < min(lost[2], lost[3]) / 2
    assert moved[None] < min(moved[levels] for levels in (2, 3, 4, 6)) / 2


def test_levels_are_steps_of_the_activation():
    model, X, _ = credit()
    card = model.scorecard(levels=3)
    active = dense_activations(model, X)
    points = card.rule_points(active)
    values = model.network_.values[:, 0].astype(float)
    tops = active.max(axis=0)
    for rule, top in enumerate(tops):
        for level, (low, high) in enumerate([(0, 1 / 3), (1 / 3, 2 / 3), (2 / 3, 1)]):
            own = (active[:, rule] > low * top + 1e-9) & (active[:, rule] <= high * top - 1e-9)
            middle = (level + 0.5) / 3 * top
            assert (points[own, rule] == round(values[rule] * middle * FACTOR)).all()
        assert (points[active[:, rule] == 0, rule] == 0).all()
    np.testing.assert_array_equal(card.points(X), 600 + points.sum(axis=1))
    for line in card.to_frame().reset_index().to_dict("records"):
        own, top = active[:, line["rule"]], tops[line["rule"]]
        for level, (asked, shown) in enumerate(line["levels"]):
            inside, unclear = rows_where(X, asked or line["text"])
            reached = own >= level / 3 * top * (1 - 1e-5) if level else own > 0
            assert (inside[~unclear] == reached[~unclear]).all(), asked
            assert shown == round(values[line["rule"]] * (level + 0.5) / 3 * top * FACTOR)
    assert re.search(r"(?m)^ +[+-]\d+    at all\n +[+-]\d+    \w+ at (least|most) ", str(card))


def test_every_number_of_the_text():
    model, X, y = credit()
    card = model.scorecard(X, y)
    text = str(card)
    assert text.startswith(
        "Score card: the more points, the less bad.\nEvery row starts at 600"
    )
    active = dense_activations(model, X)
    values = model.network_.values[:, 0].astype(float)
    most = np.rint(values * active.max(axis=0) * FACTOR)
    shown = re.findall(
        rf"(?m)^ *([+-]\d+)  .* \(rule (\d+); ({NUMBER}) % of the rows, "
        rf"({NUMBER}) % of them bad;",
        text,
    )
    assert {int(rule) for _, rule, _, _ in shown} == set(np.flatnonzero(most).tolist())
    for points, rule, share, rate in shown:
        assert int(points) == most[int(rule)]
        fires = active[:, int(rule)] > 0
        assert float(share) == pytest.approx(100 * fires.mean(), abs=0.6)
        bad = (y[fires] == "bad").mean()
        error = (max(bad * (1 - bad), 1 / fires.sum()) / fires.sum()) ** 0.5
        assert abs(float(rate) - 100 * bad) <= 50 * error  # half a standard error
    signs = [int(points) > 0 for points, *_ in shown]
    assert signs == sorted(signs)  # what takes points stands first
    left_out = np.count_nonzero(most == 0)
    assert (f"Without a point: {left_out} of the rules." in text) == bool(left_out)
    lines = re.findall(rf"(?m)^ *(\d+) +({NUMBER}) % +({NUMBER}) % +({NUMBER}) %$", text)
    assert re.search("(?m)^points +mean probability +rows from there +of them bad$", text)
    points = card.points(X)
    assert len(lines) <= MOST_BANDS
    step = card.step
    assert step in (20, 40)
    below = points - (points - 600) % step
    assert {int(start) for start, *_ in lines} == set(below.tolist())
    for start, probability, share, rate in lines:
        own = (points >= int(start)) & (points < int(start) + step)
        log_odds = -model.network_.intercept[0] - (points[own] - 600) / FACTOR
        expected = np.mean(1 / (1 + np.exp(-log_odds)))  # of the same rows as what was seen
        near = 0.06 * min(expected, 1 - expected)
        assert float(probability) / 100 == pytest.approx(expected, abs=near)
        error = np.sqrt(max(own.mean() * (1 - own.mean()), 1 / len(own)) / len(own))
        assert abs(float(share) / 100 - own.mean()) <= error / 2 + 1e-9
        seen = (y[own] == "bad").mean()
        error = np.sqrt(max(seen * (1 - seen), 1 / own.sum()) / own.sum())
        assert abs(float(rate) / 100 - seen) <= error / 2 + 1e-9


def test_a_row_far_outside_of_the_table_has_points_too():
    X, _ = credit_table(400)
    X = X[["income"]]
    y = X["income"] > 30_000
    model = NeuralRuleClassifier(1, n_trees=2, n_epochs=5, random_state=0).fit(X, y)
    far = pd.concat([X, pd.DataFrame({"income": [1e17]})], ignore_index=True)
    card = model.scorecard(far, [*y, True])
    assert abs(card.points(far)[-1] - 600) > 1e9
    assert len(card.bands) == len(card.table()) < 100


def test_a_model_without_a_point():
    card = fitted("constant")[0].scorecard()
    assert card.to_frame().empty
    assert "Without a point: 1 of the rules." in str(card)


def test_a_card_without_rows_has_a_table_of_usual_points():
    model, _, _ = credit()
    card = model.scorecard()
    assert card.cost is None
    table = card.table()
    assert table[0][1] > 0.998
    assert table[-1][1] < 0.002
    assert "rows given" not in str(card)
    assert re.search("(?m)^points +probability$", str(card))


def test_the_page(tmp_path):
    X, y = credit_table(1000)
    hostile = X.rename(columns={"utilisation": "<b>use</b>"})
    model = NeuralRuleClassifier(2, n_trees=6, n_epochs=10, random_state=0).fit(hostile, y)
    for options in ({}, {"levels": 2}):
        card = model.scorecard(hostile, y, **options)
        path = card.to_html(tmp_path / "card.html")
        page = path.read_text(encoding="utf-8")
        (shown,) = re.findall('srcdoc="([^"]*)"', card._repr_html_())
        assert html.unescape(shown) == page  # what a notebook has in its frame
        assert "<b>use" not in page
        assert "&lt;b&gt;use&lt;/b&gt;" in page
        assert "<script" not in page
        assert "Content-Security-Policy" in page
        for line in card.to_frame().to_dict("records"):
            expected = [line["points"]] if not options else [p for _, p in line["levels"]]
            assert all(f">{points:+d}<" in page for points in expected)
        for points, _ in card.table():
            assert f">{points}</td>" in page
        lines = sum(1 + len(levels) for levels in card.to_frame()["levels"])
        assert page.count("<tr") == page.count("</tr>") == 2 + lines + len(card.table())


def test_the_page_asks_for_jinja2(tmp_path, monkeypatch):
    model, _, _ = credit()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"to_html fills templates .*neuralrules\[report\]"):
        model.scorecard().to_html(tmp_path / "card.html")
    assert model.scorecard()._repr_html_() is None  # a notebook shows the text


def test_a_regression_is_counted_in_units():
    X, _ = credit_table(800)
    y = X["late_payments"] * 30 + (X["age"] > 50) * 12.0 + 5
    model = NeuralRuleRegressor(2, n_trees=6, n_epochs=20, random_state=0).fit(X, y)
    card = model.scorecard(X, y)
    assert card.unit == 1
    active, network = dense_activations(model, X), model.network_
    expected = round(float(network.intercept[0])) + np.rint(
        active * network.values[:, 0].astype(float)
    ).sum(axis=1)
    np.testing.assert_array_equal(card.points(X), expected)
    np.testing.assert_array_equal(card.prediction(expected), expected)
    assert card.cost.after == pytest.approx(mean_squared_error(y, expected) ** 0.5)
    before = mean_squared_error(y, model.predict(X)) ** 0.5
    assert card.cost.before == pytest.approx(before, rel=1e-5)
    assert str(card).startswith("Score card: one point is 1.\nEvery row starts at ")
    halves = model.scorecard(unit=0.5)
    assert np.abs(halves.prediction(halves.points(X)) - model.predict(X)).max() < 0.25 * (
        network.n_rules + 1
    )
    with pytest.raises(ValueError, match=r"probability is for classes, .* Take prediction\."):
        card.probability(600)


def test_what_has_no_card_is_refused():
    model, X, _ = credit()
    for options, message in (
        ({"points_to_double": 0}, r"points_to_double=0 must be a number above 0\."),
        ({"base": 1.5}, r"base=1\.5 must be a whole number\."),
        ({"levels": 0}, r"levels=0 must be a whole number of at least 1\."),
        ({"unit": "x"}, r"unit='x' must be a number above 0\."),
        ({"adverse": "ugly"}, r"adverse='ugly' is no class\. The classes are "),
        ({"X": X}, r"X and y belong together: give both to measure on, or neither\."),
    ):
        with pytest.raises(ValueError, match=message):
            model.scorecard(**options)
    with pytest.raises(ValueError, match=r"prediction is for numbers, .* Take probability\."):
        model.scorecard().prediction(600)
    for kind, message in (
        (
            "three classes",
            r"has 3 classes, and a score card is one of two\. Fit a model of one",
        ),
        ("two targets", r"predicts 2 numbers, .* Fit a model for each target\."),
        ("hinge", r"loss='hinge', which gives no probabilities .* Fit it with loss='logistic'"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted(kind)[0].scorecard()
    counts = NeuralRuleRegressor(1, n_trees=1, n_epochs=1, loss="poisson")
    counts.fit(X.iloc[:100], X["late_payments"].iloc[:100])
    with pytest.raises(ValueError, match=r"loss='poisson': what its rules add .*'squared'"):
        counts.scorecard()
    with pytest.raises(ValueError, match=r"adverse='high' names a class, but .* regression"):
        fitted("numbers")[0].scorecard(adverse="high")
    again = read_rules(model.exact_text(), estimator=True)
    message = r"does not remember how strongly .* was read from text\. Give X and y to"
    with pytest.raises(ValueError, match=message):
        again.scorecard()
