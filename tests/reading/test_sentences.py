"""Sentences about rules: every number in them against a slow count over the rows."""

import copy
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from models import credit_table, fitted, fitted_on_rare_codes, with_fitted

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor, read_rules
from neuralrules._data._columns import Rare
from neuralrules._engine._reference import rules_forward
from neuralrules._estimators._base import encoded_rows, engine_of
from neuralrules._network._network import Network
from neuralrules._reading._wording import rule_words

KEPT = ("biases", "values", "intercept", "mixing", "shifts", "origins")
NUMBER = r"-?\d[\d.]*(?:e[+-]?\d+)?"


@cache
def credit(literal_columns="own", **options):
    X, y = credit_table()
    model = NeuralRuleClassifier(
        2, n_trees=12, n_epochs=15, random_state=0, literal_columns=literal_columns, **options
    )
    return model.fit(X, y), X, y


def activations(model, X):
    network = model.network_
    x = model.encoder_.transform(X)[:, network.features]
    return rules_forward(network.parameters, network.layout, x).astype(float)


def blocks(text):
    """The lines of each rule, by its number."""
    found = re.findall(r"(?m)^Rule (\d+): (.*)\n((?:  .*\n?)*)", text)
    return {int(rule): (says.removesuffix("."), rest) for rule, says, rest in found}


def close(shown, value, rel=0.06):
    """Whether a number with two digits is that of a slow count."""
    return float(shown) == pytest.approx(value, rel=rel)


def holds(X, condition):
    """Rows on which a condition in words holds, and those that rounding leaves open."""
    pattern = (
        r"(\w+) (?:(above|at least|below|at most|after|from|before|up to) (\S+)"
        r"|between (\S+) and (\S+)|about (\S+))(?: \(at (.*)\))?"
    )
    if match := re.fullmatch(
        r"(\w+) ((?:after|from) \S+) and ((?:before|up to) \S+)", condition
    ):
        name, *sides = match.groups()
        after, before = (holds(X, f"{name} {side}")[0] for side in sides)
        return after & before, np.zeros(len(X), bool)
    if match := re.fullmatch(r"(\w+) is (not )?(.*)", condition):
        name, without, categories = match.groups()
        inside = X[name].isin(re.split(", | or ", categories)).to_numpy()
        return inside != bool(without), np.zeros(len(X), bool)
    name, side, bound, low, high, about, moved = re.fullmatch(pattern, condition).groups()
    cells = numbers(X, name)
    slack = {"opened": 1.0, "income": 51.0, "age": 0.06, "utilisation": 6e-4}.get(name, 6e-3)
    shift = moves(X, moved) if moved else 0.0
    if side is None:
        low, high = (low, high) if about is None else (about, about)
        inside = (cells > as_number(low)) & (cells < as_number(high))
        near = [abs(cells - as_number(end)) <= slack for end in (low, high)]
        return inside, near[0] | near[1]
    beyond = cells - as_number(bound) - shift
    if name == "opened" and not moved:  # the days that dates tell are exactly those
        own = {"after": beyond > 0, "from": beyond >= 0, "before": beyond < 0}
        return own.get(side, beyond <= 0), np.zeros(len(X), bool)
    rises = side in ("above", "at least", "after", "from")
    return (beyond > 0) == rises, abs(beyond) <= slack * (0.02 if moved else 1)


def numbers(X, name):
    if name == "opened":
        return (X[name] - pd.Timestamp("1970-01-01")).dt.days.to_numpy().astype(float)
    return X[name].to_numpy().astype(float)


def as_number(text):
    if re.fullmatch(r"\d{4}-\d\d-\d\d(?: .*)?", text):
        return (pd.Timestamp(text) - pd.Timestamp("1970-01-01")) / pd.Timedelta("1D")
    return float(text)


def moves(X, notes):
    """What other columns add to a threshold, row by row."""
    at, *changes = notes.split("; ")
    means = dict(part.rsplit(" ", 1) for part in at.split(" and "))
    total = np.zeros(len(X))
    for change in changes:
        size, direction, step, name = re.fullmatch(
            rf"({NUMBER}) (?:days? )?(more|less|later|earlier) per ({NUMBER}) "
            r"(?:more of (\w+)|days? that \w+ is later)",
            change,
        ).groups()
        name = name or change.split()[-3]
        sign = 1 if direction in ("more", "later") else -1
        away = numbers(X, name) - as_number(means[name])
        total += sign * float(size) * away / float(step)
    return total


def rows_where(X, conditions):
    if conditions == "every row":
        return np.ones(len(X), bool), np.zeros(len(X), bool)
    parts = re.split(
        r" and (?=\w+ (?:above|at |below|after|from|before|up|betw|about|is))",
        re.sub(r"\([^)]*\)", lambda m: m[0].replace(" and ", " & "), conditions),
    )
    inside, unclear = np.ones(len(X), bool), np.zeros(len(X), bool)
    for part in parts:
        own, near = holds(X, part.replace(" & ", " and "))
        inside, unclear = inside & own, unclear | near
    return inside, unclear


def test_every_number_of_a_rule_is_that_of_a_slow_count():
    model, X, y = credit()
    text = model.rules_text(style="sentences")
    active, values = activations(model, X), model.network_.values[:, 0]
    leaves = model.rules_.covers(model.encoder_.transform(X))
    found = blocks(text)
    assert len(found) > 20
    for rule, (says, rest) in found.items():
        own = active[:, rule]
        fires = own > 0
        inside, unclear = rows_where(X, says)
        np.testing.assert_array_equal(inside[~unclear], fires[~unclear], err_msg=says)
        assert unclear.mean() < 0.1
        share, rate = re.search(
            rf"Concerns ({NUMBER}) % of the rows, of which ({NUMBER}) % are bad\.", rest
        ).groups()
        assert float(share) == pytest.approx(100 * fires.mean(), abs=0.6)
        bad = (y[fires] == "bad").mean()
        error = (max(bad * (1 - bad), 1 / fires.sum()) / fires.sum()) ** 0.5
        assert abs(float(rate) - 100 * bad) <= 50 * error  # half a standard error
        match = re.search(
            rf"Odds of bad (times|divided by) ({NUMBER}) on average, ({NUMBER}) in full at "
            r"(.*?)\.\n",
            rest,
        )
        sense, mean, most, full = match.groups()
        assert (sense == "times") == (values[rule] < 0)
        assert close(float(most) - 1, np.expm1(abs(values[rule]) * own.max()))
        assert close(float(mean) - 1, np.expm1(abs(values[rule]) * own[fires].mean()))
        inside, unclear = rows_where(X, full)
        reached = own >= own.max() * (1 - 1e-5)
        np.testing.assert_array_equal(inside[~unclear], reached[~unclear], err_msg=rest)
        overlap = (fires & leaves[:, rule]).sum() / (fires | leaves[:, rule]).sum()
        shown = re.search(rf"Grew from .* \(({NUMBER}) % in common\)\.", rest)
        assert close(shown[1], 100 * overlap) if overlap else shown is None


def test_the_days_that_sentences_name_are_those_of_the_rules():
    days = pd.to_datetime("2023-01-01") + pd.to_timedelta(np.arange(120), "D")
    X = pd.DataFrame({"opened": np.repeat(days, 4)})
    y = np.repeat(np.abs(np.arange(120) - 60) < 20, 4)
    model = NeuralRuleClassifier(2, n_trees=6, n_epochs=20, random_state=0).fit(X, y)
    active, n_exact, sides = activations(model, X), 0, set()
    for rule, (says, rest) in blocks(model.rules_text(style="sentences")).items():
        own = active[:, rule]
        full = re.search(r" in full at (.*?)\.\n", rest)[1]
        for told, fires in ((says, own > 0), (full, own >= own.max() * (1 - 1e-5))):
            if "about" not in told:
                np.testing.assert_array_equal(rows_where(X, told)[0], fires, err_msg=told)
                sides |= set(re.findall("after|from|before|up to", told))
                n_exact += 1
    assert n_exact > 10
    assert {"after", "before"} < sides


def test_thresholds_that_other_columns_move():
    """With digits enough, the words say exactly where a rule of several columns fires."""
    model, X, _ = credit("rule")
    active = activations(model, X)
    found, n_growths = blocks(model.rules_text(style="sentences", precision=9)), 0
    assert sum(" per " in says for says, _ in found.values()) > 20
    for rule, (says, rest) in found.items():
        inside, unclear = rows_where(X, says)
        clear = ~unclear & (active[:, rule] != 0)
        assert (inside[clear] == (active[clear, rule] > 0)).all(), says
        for factor, step, number, date in re.findall(
            rf"a factor ({NUMBER}) per ({NUMBER}) "
            r"(?:(?:more|less) of (\w+)|days? that (\w+) is)",
            rest,
        ):
            slopes = np.abs(slopes_of(model, rule, number or date)) * float(step)
            assert np.isclose(float(factor) - 1, np.expm1(slopes), rtol=0.06).any(), rest
            n_growths += 1
    assert n_growths > 20


def slopes_of(model, rule, name):
    """By how much each literal of a rule changes the decision, a unit of the column."""
    network, encoder = model.network_, model.encoder_
    source = encoder.names.index(name)
    place = [encoder.columns[f].source for f in network.features].index(source)
    scale = encoder.columns[network.features[place]].scale
    own = slice(network.offsets[rule], network.offsets[rule + 1])
    return network.weights[own, place] / scale * network.values[rule, 0]


def test_the_base_rate_stands_first_and_the_rare_class_before_the_other():
    model, _, y = credit()
    text = model.rules_text(style="sentences")
    rate, start = re.match(
        rf"({NUMBER}) % of the rows are bad\. Every row starts at ({NUMBER}) % for bad\.", text
    ).groups()
    assert float(rate) == pytest.approx(100 * (y == "bad").mean(), abs=0.06)
    log_odds = model.network_.intercept[0]  # of "good", the second class
    assert close(start, 100 / (1 + np.exp(log_odds)), rel=5e-3)
    order = list(blocks(text))
    speaks = [" bad times " in blocks(text)[rule][1] for rule in order]
    assert speaks == sorted(speaks, reverse=True)
    assert any(speaks)
    assert not all(speaks)
    importance = model.rules_table()["importance"]
    for side in (True, False):
        own = [
            importance[rule] for rule, adds in zip(order, speaks, strict=True) if adds == side
        ]
        assert own == sorted(own, reverse=True)
    assert list(blocks(model.rules_text(style="sentences", max_rules=3))) == order[:3]


def test_dead_rules_and_what_always_holds_are_not_told():
    model, X, y = credit()
    network = model.fitted_.state.network
    biases, values = network.biases.copy(), network.values.copy()
    biases[network.offsets[3]] = -100.0  # concerns no row
    values[4] = 0.0  # adds nothing
    biases[network.offsets[10]] = 100.0  # what its first literal says, always holds
    before = blocks(model.rules_text(style="sentences"))
    assert {3, 4, 10} <= set(before)
    changed = copy.copy(model)
    changed.fitted_ = model.fitted_.with_network(
        replace(network, biases=biases, values=values),
        model.rules_,
        encoded_rows(model, X, y),
        engine_of(model),
    )
    text = changed.rules_text(style="sentences")
    told = blocks(text)
    assert not {3, 4} & set(told)
    assert "late_payments" in before[10][0]
    assert "late_payments" not in told[10][0]
    left_out = network.n_rules - len(told)
    assert f"Left out: {left_out} rules that concern no row, or add next to nothing." in text


def test_the_category_of_the_highest_activation_is_named_there():
    """Also where a term too small to show is what lifts the row there."""
    X, y = credit_table(300)
    X = X[["region"]]
    model = NeuralRuleClassifier(1, n_trees=1, n_epochs=0, random_state=0).fit(X, y)
    network, encoder = model.network_, model.encoder_
    (rule,) = [rule for rule in range(2) if network.rule_weights(rule).max() > 0]
    (main,) = network.rule_columns(rule)
    other = next(place for place in range(len(encoder.columns)) if place != main)
    weights = np.zeros((1, 2), np.float32)
    features = np.array(sorted([main, other]), np.int32)
    weights[0, list(features).index(main)], weights[0, list(features).index(other)] = 1, -1e-4
    tilted = Network.dense(
        weights=weights,
        features=features,
        offsets=np.array([0, 1]),
        **{name: getattr(network.take(np.array([rule])), name) for name in KEPT},
    )
    changed = copy.copy(model)
    changed.fitted_ = model.fitted_.with_network(
        tilted, model.rules_.take([rule]), encoded_rows(model, X, y), engine_of(model)
    )
    ((says, rest),) = blocks(changed.rules_text(style="sentences")).values()
    assert says == f"region is {encoder.columns[main].record[2]}"
    assert re.search(r"Odds of \w+ (?:times|divided by) \S+ wherever it holds\.", rest)


def test_categories_of_one_column_are_told_together():
    model, X = fitted_on_rare_codes(True)
    found = blocks(model.rules_text(style="sentences"))
    active = activations(model, X)
    codes = model.encoder_.transform(X)
    spelt = np.array(["another"] * len(X), object)
    for place, column in enumerate(model.encoder_.columns):
        name = "a rare value" if isinstance(column, Rare) else column.record[2] or "missing"
        spelt[codes[:, place] > 0] = name
    for rule, (says, _) in found.items():
        without, names = re.fullmatch(r"x0 is (not )?([^=<>]*)", says).groups()
        inside = np.isin(spelt, re.split(", | or ", names)) != bool(without)
        np.testing.assert_array_equal(inside, active[:, rule] > 0, err_msg=says)
    assert any(" or " in says for says, _ in found.values())


def test_a_rule_that_left_its_leaf_does_not_name_it():
    model, _, _ = credit()
    activity = model.fitted_.activity
    text = model.rules_text(style="sentences")
    rule = next(iter(blocks(text)))
    assert "Grew from" in blocks(text)[rule][1]
    in_both = activity.in_both.copy()
    in_both[rule] = 0
    moved = with_fitted(model, activity=replace(activity, in_both=in_both))
    assert "Grew from" not in blocks(moved.rules_text(style="sentences"))[rule][1]


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_numbers_are_told_in_their_units(loss):
    X, _ = credit_table(800)
    y = X["late_payments"] * 30 + (X["age"] > 50) * 12.0 + 5
    model = NeuralRuleRegressor(2, n_trees=6, n_epochs=20, random_state=0, loss=loss).fit(X, y)
    text = model.rules_text(style="sentences")
    assert re.match(rf"The mean target is ({NUMBER}) over all rows\.", text)
    mean = float(re.match(rf"The mean target is ({NUMBER})", text)[1])
    assert mean == pytest.approx(y.mean(), abs=y.std() / 28 / 2)
    active, values = activations(model, X), model.network_.values[:, 0]
    for rule, (_, rest) in blocks(text).items():
        own = active[:, rule]
        usual, most = abs(values[rule]) * np.array([own[own > 0].mean(), own.max()])
        if loss == "poisson":
            pattern = rf"Prediction (?:times|divided by) ({NUMBER}) on average, ({NUMBER}) "
            shown = [float(size) - 1 for size in re.search(pattern, rest).groups()]
            usual, most = np.expm1([usual, most])
        else:
            pattern = rf"(?:Adds|Takes) ({NUMBER}) (?:to|from) the prediction on average, "
            shown = re.search(rf"{pattern}({NUMBER}) ", rest).groups()
        assert close(shown[0], usual)
        assert close(shown[1], most)
        if shown := re.search(rf"whose mean target is ({NUMBER})\.", rest):
            error = y.std() / np.sqrt((own > 0).sum())
            assert abs(float(shown[1]) - y[own > 0].mean()) <= error / 2


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("kind", ["hinge", "mixed", "two targets", "quantiles", "constant"])
def test_every_kind_of_model_can_be_told(kind, deep):
    model, _, _ = fitted(kind, deep)
    text = model.rules_text(style="sentences")
    assert "nan" not in text
    assert "-0 " not in text
    assert "[]" not in text
    for _, rest in blocks(text).values():
        assert re.search(r"  Concerns (all rows\.|[\d.]+ % of the rows, )", rest)
        does = r"(Adds|Takes) [\d.]+ (to|from)|Odds of \S+ (times|divided by) [\d.]+"
        assert re.search(rf"  ({does}) .*(on average, [\d.]+|wherever it holds)", rest)


def test_a_rule_says_what_it_adds_to_every_target():
    X = np.random.RandomState(0).randn(200, 2)
    y = np.column_stack([X[:, 0], 2 * X[:, 0] + X[:, 1], -X[:, 0]])
    model = NeuralRuleRegressor(2, n_trees=2, n_epochs=5, random_state=0).fit(X, y)
    for _, rest in blocks(model.rules_text(style="sentences")).values():
        assert re.findall(r"prediction of target (\d)", rest) == ["0", "1", "2"]


def test_classes_that_are_weighted_in_training_are_counted_as_they_are():
    X, y = credit_table(1000)
    model = NeuralRuleClassifier(2, n_trees=2, n_epochs=2, class_weight="balanced").fit(X, y)
    rate, start = re.match(
        rf"({NUMBER}) % of the rows are bad\. Every row starts at ({NUMBER}) %",
        model.rules_text(style="sentences"),
    ).groups()
    assert float(rate) == pytest.approx(100 * (y == "bad").mean(), abs=0.1)
    assert float(start) > 30  # as the model was made to believe


def test_what_is_refused():
    model, _, _ = credit()
    with pytest.raises(ValueError, match=r"style='prose' must be 'conditions' or 'sentences'"):
        model.rules_text(style="prose")
    again = read_rules(model.exact_text(), estimator=True)
    with pytest.raises(ValueError, match=r"read from text and remembers none\. Take style="):
        again.rules_text(style="sentences")
    assert model.rules_text() == model.rules_text(style="conditions")


def test_of_two_categories_the_one_is_named_that_holds():
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"home": rng.choice(["yes", "no"], 400), "age": rng.randint(20, 70, 400)})
    y = np.where(rng.rand(400) < np.where(X["home"] == "yes", 0.8, 0.2), "good", "bad")
    model = NeuralRuleClassifier(1, n_trees=1, n_epochs=0, random_state=0).fit(X, y)
    said = {says for says, _ in blocks(model.rules_text(style="sentences")).values()}
    assert said == {"home is yes", "home is no"}


@pytest.mark.parametrize(
    ("indicator", "bias", "expected"),
    [
        (3.0, -3.0, "age above {} where home = no (none elsewhere)"),
        (-3.0, 3.0, "age above {} where home = no (any elsewhere)"),
        (3.0, 0.0, "age above {} (any where home = no)"),
        (-3.0, 0.0, "age above {} (none where home = no)"),
    ],
)
def test_a_number_that_matters_for_some_categories_only(indicator, bias, expected):
    rng = np.random.RandomState(0)
    X = pd.DataFrame(
        {"home": rng.choice(["no", "own", "rent"], 400), "age": rng.randint(20, 70, 400)}
    )
    y = rng.randint(0, 2, 400)
    model = NeuralRuleClassifier(1, n_trees=1, n_epochs=0, random_state=0).fit(X, y)
    names = [column.record[2] or "age" for column in model.encoder_.columns]
    network = model.network_.take(np.array([0]))
    weights = np.zeros((1, 2), np.float32)
    places = sorted([names.index("no"), names.index("age")])
    no = model.encoder_.columns[names.index("no")]
    weights[0, places.index(names.index("no"))] = indicator * no.scale
    weights[0, places.index(names.index("age"))] = 1
    changed = replace(
        Network.dense(
            weights=weights,
            features=np.array(places, np.int32),
            offsets=np.array([0, 1]),
            **{name: getattr(network, name) for name in KEPT},
        ),
        biases=np.array([bias + indicator * no.mean], np.float32),
    )
    fitted_model = model.fitted_.with_network(
        changed, model.rules_.take([0]), encoded_rows(model, X, y), engine_of(model)
    )
    says = rule_words(fitted_model, 0, 4, 2)
    mean = f"{X['age'].mean():.0f}"  # where the standardised number is 0
    assert re.sub(r"(?<=above )(\d+)[.\d]*", r"\1", says) == expected.format(mean), says
