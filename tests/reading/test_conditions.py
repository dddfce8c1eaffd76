"""Conditions as values: where a literal begins to hold, and where a rule is reached in full."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from models import credit_table, with_fitted

from neuralrules import NeuralRuleClassifier, compare
from neuralrules._data._columns import Number
from neuralrules._data._encoder import Encoder
from neuralrules._reading._column_words import COLUMN_WORDS, NumberWords
from neuralrules._reading._conditions import (
    Bound,
    Choice,
    Range,
    Settled,
    condition_of,
    literal_conditions,
    merged,
    sum_in_units,
)
from neuralrules._reading._wording import Wording


@pytest.fixture(scope="module", params=["standard", "quantile"])
def credit(request):
    X, y = credit_table(1500)
    model = NeuralRuleClassifier(
        2, n_trees=8, n_epochs=10, random_state=0, scaling=request.param, literal_columns="own"
    )
    return model.fit(X, y)


def number_at(bound, activation):
    """The number at which the literal of a bound comes to an activation, by its slope."""
    if bound.column.knots is None:
        return bound.threshold + activation / bound.slope
    start = float(bound.column.encoded(np.array(bound.threshold)))
    return bound.column.original(start + activation / bound.slope)


def test_a_bound_says_where_its_literal_comes_to_an_activation(credit):
    network, encoder = credit.network_, credit.encoder_
    checked = 0
    for literal in range(network.n_literals):
        weights, bias = network.weights[literal].astype(float), float(network.biases[literal])
        found = condition_of(
            encoder, sum_in_units(encoder, network.features, weights, bias), 3, 3
        )
        if not isinstance(found, Bound) or found.moves:
            continue
        place = [encoder.columns[feature] for feature in network.features].index(found.column)
        for activation in (0.0, 0.1, 0.3):
            number = number_at(found, activation)
            z = float(found.column.encoded(np.array(number)))
            low, high = found.column.span
            if found.column.knots is not None and not low < z < high:
                continue  # flat outside of the knots
            assert weights[place] * z + bias == pytest.approx(activation, abs=1e-5)
            checked += 1
        assert number_at(found, 0.0) == pytest.approx(found.threshold)
        assert (number_at(found, 0.5) >= found.threshold) == found.rises
    assert checked > 20


def test_only_the_column_s_own_missing_cells_decide_whether_they_pass():
    """Cells that are missing in another column move the threshold."""
    cells = np.arange(40.0)
    X = pd.DataFrame({"a": cells, "b": cells[::-1]}).mask(np.arange(80).reshape(40, 2) % 7 == 0)
    encoder = Encoder.fit(X, np.ones(40), named=True)
    assert [column.record[:2] for column in encoder.columns[2:]] == [
        [0, "missing"],
        [1, "missing"],
    ]
    for place, holds_missing in ((2, True), (3, False)):
        literal = sum_in_units(encoder, np.array([0, place]), np.array([1.0, 2.0]), -0.5)
        found = condition_of(encoder, literal, 3, 3)
        assert isinstance(found, Bound)
        assert found.holds_missing == holds_missing
        assert [move.column for move in found.moves] == encoder.columns[3:] * (place == 3)


def test_conditions_on_one_column_are_merged_to_one(credit):
    merged_any = False
    for rule in range(credit.network_.n_rules):
        single = literal_conditions(credit.fitted_, rule, 3, 3)
        together = merged(credit.encoder_, single)
        merged_any |= len(together) < len(single)
        sources = [
            one.low.column.source if isinstance(one, Range) else one.column.source
            for one in together
            if isinstance(one, Range) or (isinstance(one, Bound) and not one.moves)
        ]
        assert len(sources) == len(set(sources))
    assert merged_any


@pytest.mark.parametrize("missing", [True, False])
def test_of_several_bounds_the_strictest_of_each_side_stay(credit, missing):
    column = credit.encoder_.columns_of(0)[0]
    above = [Bound(column, True, at, 1.0, (), True) for at in (1.0, 3.0, 2.0)]
    below = [Bound(column, False, at, -1.0, (), missing) for at in (9.0, 7.0, 8.0)]
    assert merged(credit.encoder_, above) == [above[1]]
    assert merged(credit.encoder_, below) == [below[1]]
    assert merged(credit.encoder_, above + below) == [Range(above[1], below[1], missing)]


def test_choices_among_categories_are_merged_to_those_that_all_allow():
    X = pd.DataFrame({"city": list("abcd") * 20, "n": np.arange(80.0)})
    model = NeuralRuleClassifier(1, n_trees=1, n_epochs=0).fit(X, X["n"] > 40)
    encoder = model.encoder_
    a, b, c, d = encoder.columns_of(0)

    def words(*choices):
        (one,) = merged(encoder, choices)
        return Wording(encoder, 3, 3).condition(one)

    assert words(Choice((a, b), False), Choice((b, c), False)) == "city is b"
    assert words(Choice((a,), True), Choice((b,), True)) == "city is not a or b"
    assert words(Choice((a, b, c), False), Choice((b,), True)) == "city is a or c"
    assert merged(encoder, [Choice((a,), False), Choice((d,), False)]) == [Settled(False)]


def test_bounds_that_something_moves_stay_apart(credit):
    (first, *_) = (
        found
        for rule in range(credit.network_.n_rules)
        for found in literal_conditions(credit.fitted_, rule, 3, 3)
        if isinstance(found, Bound)
    )
    moved = replace(first, moves=(object(),))
    assert merged(credit.encoder_, [moved, first]) == [first, moved]


class Percent(Number):
    """Shares, as a kind of column that is made up for this test."""


class PercentWords(NumberWords):
    def resolved(self, value, precision, sign=""):
        return f"{super().resolved(100 * value, precision, sign)} %"

    def rounded(self, value, precision, sign=""):
        return f"{super().rounded(100 * value, precision, sign)} %"

    def cell(self, value):
        return f"{super().cell(100 * value)} %"


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_a_kind_of_column_gets_its_words_in_one_place(monkeypatch, scaling):
    X, y = credit_table(1500)
    options = {"n_trees": 8, "random_state": 0, "literal_columns": "own", "scaling": scaling}
    model = NeuralRuleClassifier(2, n_epochs=10, **options).fit(X, y)
    longer = NeuralRuleClassifier(2, n_epochs=20, **options).fit(X, y)
    place = list(X).index("utilisation")
    columns = [
        Percent(**vars(column)) if column.source == place else column
        for column in model.encoder_.columns
    ]
    encoder = replace(model.encoder_, columns=columns)
    other, longer = (with_fitted(own, encoder=encoder) for own in (model, longer))
    assert other.rules_text() == model.rules_text()  # as its base, without its own words
    monkeypatch.setitem(COLUMN_WORDS, Percent, PercentWords)
    texts = {
        "conditions": other.rules_text(),
        "sentences": other.rules_text(style="sentences"),
        "reasons": str(other.reasons(X[:60], k=5)),
        "explanation": str(other.explain(X[:60])),
        "card": str(other.scorecard(levels=3)),
        "comparison": str(compare(other, longer)),
    }
    for kind, text in texts.items():
        numbers = re.findall(
            r"utilisation (?:[<>≤]|is|above|below|at least|at most|between) ([\d.]+)( %)?", text
        )
        assert numbers, kind
        assert all(percent for _, percent in numbers), kind
