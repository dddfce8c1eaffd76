"""Counterfactuals that switch a text column with usual outcomes to another of its values."""

import numpy as np
import pandas as pd
import pytest
from models import USUAL_KINDS, fitted_on_cities

from neuralrules import NeuralRuleClassifier
from neuralrules._counterfactual._choices import MOST_SWITCHES, switches


def table_of(n_values, n_rows=None, seed=0):
    """A column of texts with known rates of "yes"; the last value has one row."""
    rng = np.random.RandomState(seed)
    n_rows = n_rows or 12 * n_values
    place = np.arange(n_rows) % n_values
    place[-1] = n_values
    rates = np.linspace(0.02, 0.98, n_values + 1)
    y = np.where(rng.rand(n_rows) < rates[place], "yes", "no")
    names = np.array([f"v{i:05d}" for i in range(n_values)] + ["rare"], object)
    return pd.DataFrame({"shop": names[place], "size": rng.rand(n_rows)}), y


def model_of(n_values, **options):
    X, y = table_of(n_values, **options)
    parameters = {"n_trees": 5, "n_epochs": 10, "early_stopping": False, "random_state": 0}
    return NeuralRuleClassifier(2, **parameters).fit(X, y), X, y


def test_the_cheapest_switch_is_found_among_all_values():
    """Beside each of the values, with and without an indicator, in the same cell."""
    model, X, _ = model_of(90)
    values = model.categories_table()["value"].tolist()
    assert len(values) == 90
    for row in (3, 40):
        own = X.iloc[[row]]
        before = model.predict(own)[0]
        answer = model.counterfactual(own, fixed=["size"])
        every = pd.DataFrame({"shop": values, "size": own["size"].iloc[0]})
        reached = every["shop"][model.predict(every) != before].tolist()
        assert answer.found == bool(reached)
        (change,) = answer.changes
        assert change.column == "shop"
        assert change.after in reached
        assert (answer.cost, answer.optimal) == (1.0, True)
        assert model.predict(answer.x)[0] != before


def test_a_rare_value_may_be_chosen():
    model, X, _ = model_of(90)
    without = {column.category for column in model.encoder_.columns_of(0)[:-2]}
    rare = [one for one in model.categories_table()["value"] if one not in without]
    assert rare
    own = X.iloc[[3]]
    before = model.predict(own)[0]
    table = pd.DataFrame({"shop": rare, "size": own["size"].iloc[0]})
    reached = table["shop"][model.predict(table) != before].tolist()
    answer = model.counterfactual(own, fixed=["size"], bounds={"shop": reached[:1]})
    assert [change.after for change in answer.changes] == reached[:1]


def test_what_switches_are_tried_is_bounded_and_spread():
    model, _, _ = model_of(900)
    found = switches(model.encoder_, 0)
    table = model.categories_table().set_index("value")
    with_indicator = {column.category for column in model.encoder_.columns_of(0)[:-2]}
    others = table.loc[[name for name in table.index if name not in with_indicator], "usual"]
    chosen = others[others.index.isin(found)]
    assert with_indicator <= set(found)
    assert MOST_SWITCHES / 2 < len(chosen) <= MOST_SWITCHES
    assert (chosen.min(), chosen.max()) == (others.min(), others.max())
    # No gap between neighbours is larger than a step of the order, which holds few values.
    ranks = np.sort(others.rank(method="first")[chosen.index].to_numpy())
    assert np.diff(ranks).max() <= 2 * np.ceil(len(others) / (MOST_SWITCHES - 2))


def test_bounds_may_name_any_value_that_was_seen():
    model, X, _ = model_of(900)
    skipped = set(model.categories_table()["value"]) - set(switches(model.encoder_, 0))
    own = X.iloc[[3]]
    before = model.predict(own)[0]
    table = pd.DataFrame({"shop": sorted(skipped), "size": own["size"].iloc[0]})
    other = table["shop"][model.predict(table) != before].iloc[-1]
    answer = model.counterfactual(own, fixed=["size"], bounds={"shop": [other]})
    assert [change.after for change in answer.changes] == [other]
    with pytest.raises(
        ValueError, match="'nowhere', which is none of the categories"
    ) as caught:
        model.counterfactual(own, bounds={"shop": ["nowhere"]})
    assert len(str(caught.value)) < 1500
    assert " and 836 more." in str(caught.value)


@pytest.mark.parametrize("kind", USUAL_KINDS)
def test_every_kind_has_answers(kind):
    model, X, _ = fitted_on_cities(kind)
    own = X.iloc[[5]].assign(city="town14")
    target = None
    if kind in ("numbers", "two targets"):
        reached = [model.predict(own.assign(city=c)) for c in ("town1", "town14", "town30")]
        first = sorted(float(np.ravel(prediction)[0]) for prediction in reached)
        now = float(np.ravel(model.predict(own))[0])
        end = (first[-1] - 0.5, None) if now < first[-1] - 0.5 else (None, first[0] + 0.5)
        target = end if kind == "numbers" else [end, (None, None)]
    answer = model.counterfactual(own, target, time_limit=30)
    assert answer.found
    before, after = model.predict(own), model.predict(answer.x)
    assert (before != after).any()
    assert not any(word in str(answer) for word in ("None", "nan"))


def test_an_unseen_and_a_missing_value_may_change():
    model, X, _ = fitted_on_cities("two classes")
    for city in ("never seen", None):
        own = X.iloc[[5]].assign(city=city)
        answer = model.counterfactual(own, fixed=["income", "code"])
        (change,) = answer.changes
        assert change.before is None or change.before == city
        assert model.predict(answer.x)[0] != model.predict(own)[0]
