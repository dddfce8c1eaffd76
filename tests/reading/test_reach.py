"""What no row of the training table can fail is left out of texts, or said to be so."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from models import EVERY_MODEL, fitted, mixed_table, with_network

from neuralrules import NeuralRuleClassifier, load, read_rules
from neuralrules._engine._reference import literals_forward, units_forward
from neuralrules._estimators._base import checked_table
from neuralrules._reading._conditions import Reach, cap, reach, rule_reaches
from neuralrules._reading._notation import number, resolved
from neuralrules._reading._text import condition_texts, rule_text

LONGEST = 24  # characters of a float64 with all its digits: -1.2345678901234567e-300


def loans():
    """A model, its table, and the number of a rule of two literals."""
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"loan_amount": 2e4 + 5e3 * rng.randn(200), "age": rng.rand(200)})
    y = (X["loan_amount"] < 2.2e4) & (X["age"] > 0.5)
    model = NeuralRuleClassifier.paper(2, n_epochs=0, random_state=0).fit(X, y)
    return model, X, int(np.flatnonzero(np.diff(model.network_.offsets) == 2)[0])


def with_first_literal(model, rule, weight, bias):
    """The model with another first literal of a rule, over the column that it has."""
    network = model.network_
    weights, biases = network.own_weights.copy(), network.biases.copy()
    start, stop = network.layout.weight_offsets[rule : rule + 2]
    own = weights[start:stop].reshape(2, -1)[0]
    own[own != 0] = weight
    biases[network.offsets[rule]] = bias
    return with_network(model, replace(network, own_weights=weights, biases=biases))


def longest_number(text):
    return max(len(found) for found in re.findall(r"-?\d[\d.]*(?:e[+-]\d+)?", text))


@pytest.mark.parametrize("remembers", [True, False])
def test_a_vanishing_weight_is_a_cap_and_no_threshold(remembers):
    model, X, rule = loans()
    model = with_first_literal(model, rule, -1e-35, 0.5)
    if not remembers:  # then only what no table may exceed is known
        model = read_rules(model.exact_text(), estimator=True)
    text = rule_text(model.fitted_, rule, 3, 3)
    assert re.fullmatch(r"\w+ [<>] [\d.]+; activation at most 0.5", text)
    assert longest_number(model.rules_text()) <= LONGEST
    assert longest_number(model.to_python().split("def ")[0]) <= LONGEST
    explanation = model.explain(X)
    limits = explanation.to_frame()["limited_by"]
    assert "its cap, activation at most 0.5" in set(limits)
    assert max(map(longest_number, limits[limits != ""])) <= LONGEST
    assert cap(model.fitted_, rule) == pytest.approx(0.5)


def test_what_no_row_can_fail_is_left_out_of_the_conditions():
    model, X, rule = loans()
    shown = condition_texts(model.fitted_, rule, 3, 3)
    assert len(shown) == 2
    # Positive up to 10 deviations above the mean: farther than the table goes.
    model = with_first_literal(model, rule, -0.1, 1.0)
    assert condition_texts(model.fitted_, rule, 3, 3) == shown[1:]
    assert cap(model.fitted_, rule) == np.inf
    limits = set(model.explain(X).to_frame()["limited_by"])
    assert any(re.fullmatch(r"how small \w+ is", limit) for limit in limits)


@pytest.mark.parametrize("sign", [">", "<"])
def test_a_rule_from_the_end_of_a_column_on_is_no_rule_of_every_row(sign):
    """The end, in deviations and float32, is not exactly where it was: for half of the columns
    beyond it.
    """
    rng = np.random.RandomState(0)
    late = pd.DataFrame(rng.poisson(0.5, (300, 8)) * (1 if sign == ">" else -1))
    late.columns = [f"late{place}" for place in range(8)]
    y = np.abs(late["late0"]) + rng.randn(300) > 1
    written = [f"{name} {sign} 0" for name in late]
    model = NeuralRuleClassifier(
        rule_source="expert", n_epochs=0, expert_rules=written, random_state=0
    ).fit(late, y)
    for rule, text in enumerate(written):
        assert condition_texts(model.fitted_, rule, 3, 3) == [text]
    assert not re.search(r"\de-", model.rules_text())


def test_a_rule_that_always_fires_says_how_strongly():
    x = np.arange(20.0)
    model = NeuralRuleClassifier.paper(1, n_epochs=0).fit(pd.DataFrame({"x": x}), x > 9)
    network = model.network_
    slanted = with_network(model, replace(network, biases=network.biases * 0 + 5))
    assert condition_texts(slanted.fitted_, 0, 3, 3) == ["every row, the more the smaller x"]
    never = with_network(model, replace(network, biases=network.biases * 0 - 5))
    assert condition_texts(never.fitted_, 0, 3, 3) == ["no row"]


def test_a_summand_that_no_digit_shows_is_left_out():
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"a": rng.randn(300), "b": 1e6 + rng.randn(300)})
    y = (X["a"] > 0) ^ (X["b"] > 1e6)
    model = NeuralRuleClassifier.paper(2, n_epochs=0, random_state=0).fit(X, y)
    before = condition_texts(model.fitted_, 0, 3, 3)
    touched = model.network_.own_weights.copy()
    touched[touched == 0] = 1e-9
    model = with_network(model, replace(model.network_, own_weights=touched))
    assert condition_texts(model.fitted_, 0, 3, 3) == before
    assert any("·" in text for text in condition_texts(model.fitted_, 0, 12, 3))


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_reaches_hold_all_rows_of_training(kind, deep):
    model, X, _ = fitted(kind, deep)
    network = model.network_
    x = model.encoder_.transform(checked_table(model, X))[:, network.features]
    literals = literals_forward(network.parameters, network.layout, x)
    units = units_forward(network.parameters, network.layout, literals)
    reaches = [rule_reaches(model.fitted_, rule) for rule in range(network.n_rules)]
    low, high = np.concatenate(reaches).T
    slack = 1e-4 * (1 + np.abs(units).max(axis=0))
    assert (units.min(axis=0) >= low - slack).all()
    assert (units.max(axis=0) <= high + slack).all()


def test_a_column_holds_one_category_at_a_time():
    frame, y = mixed_table()
    model = NeuralRuleClassifier.paper(2, n_epochs=0).fit(frame[["city"]], y)
    columns = model.encoder_.columns
    values = np.array([column.scale for column in columns])  # 1 more where a category holds
    low, high = reach(model.encoder_, np.arange(len(columns)), values, 0.0)
    assert high - low == pytest.approx(1)


def test_ranges_are_of_all_rows_and_are_saved(tmp_path):
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"x": rng.randn(300), "hole": np.nan})
    model = NeuralRuleClassifier(n_epochs=3, random_state=0).fit(X, X["x"] > 0)
    assert model.encoder_.columns[0].lowest == X["x"].min()  # of the rows held out as well
    assert model.encoder_.columns[0].highest == X["x"].max()
    assert model.encoder_.columns[1].lowest == model.encoder_.columns[1].highest == 0
    assert load(model.save(tmp_path / "m.nrules")).encoder_ == model.encoder_
    model.set_params(early_stopping=False).partial_fit(X - 9, X["x"] > 0)
    assert model.encoder_.columns[0].lowest == pytest.approx(X["x"].min() - 9, rel=1e-5)
    assert model.encoder_.columns[0].highest == X["x"].max()


def test_numbers_have_no_more_digits_than_a_float():
    assert len(number(7.7e42 / 3, 43)) <= LONGEST
    assert len(resolved(7.7e42 / 3, 5e3, 3)) <= LONGEST
    assert resolved(1.6e9 + 1, 1.0, 3) != resolved(1.6e9 + 1.01, 1.0, 3)


def test_reaches_name_what_they_are():
    assert Reach(1, 1.0005).flat
    assert not Reach(1, 2).flat
    assert Reach(1, 2).always
    assert Reach(-1, 0).never
