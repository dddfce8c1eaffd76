"""Which rule of one model is which rule of another."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import EVERY_MODEL, credit_table, fitted, with_fitted, with_network

from neuralrules import NeuralRuleClassifier, compare, read_rules
from neuralrules._compare import _rules
from neuralrules._compare._rules import distances, match_rules
from neuralrules._training._training import State


def reordered(model, order, literal_orders=None):
    """The same model with its rules, and the literals of shallow ones, in another order."""
    network, rules = model.fitted_.state.network, model.fitted_.rules
    network = network.take(np.array(order))
    if literal_orders is not None and not network.deep:
        weights, biases = network.weights.copy(), network.biases.copy()
        for rule, seed in enumerate(literal_orders):
            own = np.arange(network.offsets[rule], network.offsets[rule + 1])
            other = np.random.RandomState(seed).permutation(own)
            weights[own], biases[own] = network.weights[other], network.biases[other]
        network = replace(network.with_weights(weights), biases=biases)
    return with_fitted(model, state=State.start(network), rules=rules.take(np.array(order)))


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
@settings(max_examples=5)
@given(data=st.data())
def test_a_model_in_another_order_compares_as_the_same(kind, deep, data):
    model, _, _ = fitted(kind, deep)
    n_rules = model.network_.n_rules
    order = data.draw(st.permutations(range(n_rules)))
    seeds = data.draw(st.lists(st.integers(0, 99), min_size=n_rules, max_size=n_rules))
    other = reordered(model, order, seeds)
    matches = match_rules(model.fitted_, other.fitted_)
    assert [match.how for match in matches] == ["same"] * n_rules
    for match in matches:  # equal rules may stand for each other
        values = model.network_.values[[match.first, order[match.second]]]
        np.testing.assert_array_equal(*values)
    assert compare(model, other).is_same


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_a_model_read_back_from_its_text_is_the_same(kind, deep):
    model, X, _ = fitted(kind, deep)
    back = read_rules(model.exact_text(), estimator=True)
    compared = compare(model, back, X)
    assert compared.count("same") == model.network_.n_rules
    assert compared.rows.shown == ()


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_every_rule_is_in_one_match(kind, deep):
    first, second = fitted(kind, deep)[0], fitted(kind, deep, 3)[0]
    for one, other in ((first, second), (second, first)):
        matches = match_rules(one.fitted_, other.fitted_)
        for place, model in ((0, one), (1, other)):
            numbers = [match[place] for match in matches if match[place] is not None]
            assert sorted(numbers) == list(range(model.network_.n_rules))


def test_rules_that_were_trained_on_are_known_by_their_leaf():
    X, y = credit_table(1000)
    model = NeuralRuleClassifier(n_trees=4, n_epochs=3, random_state=0).fit(X, y)
    further = model.edit().set_params(n_epochs=5).refit(X, y)
    matches = match_rules(model.fitted_, further.fitted_)
    assert [match[:2] for match in matches] == [(i, i) for i in range(model.network_.n_rules)]
    assert {match.how for match in matches} <= {"leaf", "same"}
    assert sum(match.how == "leaf" for match in matches) > len(matches) / 2


def test_rules_of_another_table_are_matched_by_what_they_look_at():
    X, y = credit_table(4000)
    one, other = (
        NeuralRuleClassifier(n_trees=4, n_epochs=10, random_state=0).fit(X[rows], y[rows])
        for rows in (slice(0, 2000), slice(2000, None))
    )
    matches = match_rules(one.fitted_, other.fitted_)
    found = {match.how for match in matches}
    assert "columns" in found
    assert "same" not in found
    for match in matches:
        if match.how == "columns":
            values = one.network_.values[match.first], other.network_.values[match.second]
            assert (values[0] * values[1] >= 0).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_rules_with_opposite_values_are_not_matched_by_their_columns(sign):
    X, y = credit_table(500)
    model = NeuralRuleClassifier(2, n_trees=1, max_rules=1, n_epochs=0, random_state=0)
    back = read_rules(model.fit(X, y).exact_text(), estimator=True)  # knows no leaves
    network = back.network_
    network = replace(
        network, biases=network.biases + np.float32(0.1), values=sign * network.values
    )
    matches = match_rules(model.fitted_, with_network(back, network).fitted_)
    assert [match.how for match in matches] == (["columns"] if sign > 0 else ["", ""])


@pytest.mark.parametrize("chunk", [1, 7, 10_000])
def test_distances_are_those_of_a_slow_reference(monkeypatch, chunk):
    monkeypatch.setattr(_rules, "CHUNK_CELLS", chunk)
    rng = np.random.RandomState(0)
    one, other = rng.randn(7, 4), rng.randn(5, 4)
    offsets, others = np.array([0, 2, 3, 7]), np.array([0, 4, 5])

    def angle(a, b):
        cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
        return np.sin(np.arccos(np.clip(cosine, -1, 1)) / 2)

    expected = np.empty((3, 2))
    for i in range(3):
        for j in range(2):
            mine, yours = one[offsets[i] : offsets[i + 1]], other[others[j] : others[j + 1]]
            to = [min(angle(a, b) for b in yours) for a in mine]
            back = [min(angle(a, b) for a in mine) for b in yours]
            expected[i, j] = np.mean(to + back)
    apart, shared = distances(one, other, offsets, others)
    np.testing.assert_allclose(apart, expected, rtol=1e-7)
    assert not shared.any()
    other[2], other[4] = 2 * one[0], one[2]
    _, shared = distances(one, other, offsets, others)
    np.testing.assert_allclose(shared, [[2 / 6, 0], [0, 1], [0, 0]])


def test_a_rule_of_which_half_was_rewritten_is_still_that_rule():
    X, y = credit_table(500)
    rules = ["age > 50 and income > 20000", "age > 60 and region = west"]
    model = NeuralRuleClassifier(
        rule_source="expert", expert_rules=rules, n_epochs=0, random_state=0
    ).fit(X, y)
    text = model.exact_text()
    last = text.rstrip().rpartition("\n")[0]
    changed = model.edit(text=f'{last}\n  - 1.0 * "utilisation" + 0.3\n')
    assert match_rules(model.fitted_, changed.fitted_) == [(0, 0, "same"), (1, 1, "shared")]


def test_the_order_of_literals_counts_in_a_deep_rule():
    """Its second layer names them by it."""
    model, _, _ = fitted("two classes", True)
    network = model.fitted_.state.network
    turned = replace(network, mixing=-network.mixing)
    other = with_fitted(model, state=State.start(turned))
    assert compare(model, other).count("same") == 0
