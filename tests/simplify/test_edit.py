"""Models changed by hand, and trained on: what is frozen keeps its bits."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import fitted, with_network
from strategies import random_network

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor, load
from neuralrules._estimators._base import engine_of
from neuralrules._reading._exact_rules import leafless_rules, unknown_activity

X = np.random.RandomState(0).randn(60, 5)
TARGETS = {
    "two classes": (X[:, 0] * X[:, 1] > 0).astype(int),
    "three classes": np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5]),
    "numbers": X[:, 0] * X[:, 1] + X[:, 2],
}


def rule_bits(network, rule, *, value=True):
    """Everything that is trained of one rule, as bytes."""
    own = network.layout.literals_of(rule)
    parts = [network.rule_columns(rule), network.rule_weights(rule), network.biases[own]]
    if network.deep:
        parts += [network.second_layer(rule), network.shifts[own]]
    if value:
        parts.append(network.values[rule])
    return [part.tobytes() for part in parts]


@pytest.mark.filterwarnings("ignore:.* predicts worse than a constant")
@settings(max_examples=25)
@given(
    st.integers(0, 2**31),
    st.sampled_from(sorted(TARGETS)),
    st.booleans(),
    st.sampled_from(["numba", "numpy"]),
    st.sampled_from(["own", "rule"]),
    st.sets(st.integers(0, 5)),
    st.sets(st.integers(6, 8), max_size=2),
)
def test_frozen_rules_keep_their_bits_in_a_refit(
    seed, task, deep, engine, columns, frozen, gone
):
    y = TARGETS[task]
    kind = NeuralRuleRegressor if task == "numbers" else NeuralRuleClassifier
    model = kind(
        1,
        n_trees=2,
        n_epochs=0,
        engine=engine,
        deep=deep,
        literal_columns=columns,
        rule_dropout=0.2,
        random_state=0,
    ).fit(X, y)
    n_outputs = 3 if task == "three classes" else 1
    network = random_network(seed, 9, 3, n_outputs, deep=deep)
    model = with_network(model, network)
    model.fitted_ = _with_rules(model.fitted_, network)
    edit = model.edit(freeze=sorted(frozen), drop=sorted(gone))
    before = edit.fitted_.state.network
    assert before.n_rules == 9 - len(gone)
    edit.set_params(n_epochs=2, early_stopping=False).refit(X, y)
    after = edit.fitted_.state.network
    for rule in frozen:
        assert rule_bits(before, rule) == rule_bits(after, rule)
        assert rule_bits(before, rule) == rule_bits(network, rule)
    assert rule_bits(model.fitted_.state.network, 0) == rule_bits(network, 0)


def _with_rules(whole, network):
    """A fitted model whose tree rules are as many as those of its network."""
    return replace(
        whole,
        rules=leafless_rules(whole.task, network),
        activity=unknown_activity(whole.task, network.n_rules),
    )


@pytest.fixture(scope="module")
def people():
    rng = np.random.RandomState(1)
    frame = pd.DataFrame(
        {"income": rng.lognormal(10, 0.5, 200), "age": rng.randint(18, 80, 200)}
    )
    y = (frame["income"] < 20000) | (frame["age"] > 60)
    return frame, np.where(y, "no", "yes")


@pytest.fixture(scope="module")
def model(people):
    return NeuralRuleClassifier(2, n_trees=3, n_epochs=10, random_state=0).fit(*people)


def test_a_model_is_edited_into_a_new_one(model, people):
    frame, y = people
    n_rules, text = model.network_.n_rules, "income < 20000 and age > 60"
    before = model.exact_text()
    other = model.edit(drop=[3], freeze=[0, 2], replace={4: text}, values={2: 0.8})
    assert model.exact_text() == before
    assert model.rules_.frozen is None
    assert type(other) is NeuralRuleClassifier
    assert other.network_.n_rules == n_rules - 1
    kept = [0, 1, 2, *range(4, n_rules)]
    for new, old in enumerate(kept):
        same = rule_bits(other.network_, new, value=False) == rule_bits(
            model.network_, old, value=False
        )
        assert same == (old != 4)
        assert (other.network_.values[new] == model.network_.values[old]) == (old != 2)
    assert other.network_.values[2, 0] == np.float32(0.8)
    assert "said  age > 60 and income ≤ 20000" in other.rules_text()
    assert other.rules_.frozen.tolist() == [2, 0, 2] + [0] * (n_rules - 4)
    X = other.encoder_.transform(frame)
    covered = engine_of(other).activations(other.network_, X)[:, 3] > 0
    assert covered.tolist() == ((frame["income"] < 20000) & (frame["age"] > 60)).tolist()
    frozen = [rule_bits(other.network_, rule) for rule in (0, 2)]
    assert other.refit(frame, y) is other
    assert [rule_bits(other.network_, rule) for rule in (0, 2)] == frozen
    assert other.fitted_.performance.n_rows == 200
    free = other.edit(unfreeze=[0, 2])
    assert free.rules_.frozen is None
    assert rule_bits(free.refit(frame, y).network_, 0) != frozen[0]


def test_what_is_known_of_the_rules_that_stay_is_kept(model, people, tmp_path):
    other = model.edit(drop=[1], values={0: 1.0})
    kept = [rule for rule in range(model.network_.n_rules) if rule != 1]
    assert (
        other.fitted_.activity.covered.tolist() == model.fitted_.activity.covered[kept].tolist()
    )
    message = "This model was edited and remembers no rows. Give X and y to report on."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        other.report(tmp_path / "page.html")
    assert other.report(tmp_path / "page.html", *people).exists()
    assert other.simplify(*people, X_val=people[0], y_val=people[1]).network_.n_rules


@pytest.mark.parametrize("deep", [False, True])
def test_simplify_keeps_frozen_rules(people, deep):
    frame, y = people
    whole = NeuralRuleClassifier(2, n_trees=3, n_epochs=10, deep=deep, random_state=0)
    whole = whole.fit(frame, y).edit(freeze=[0, 3], values={3: 0.01})
    path = whole.simplification_path(frame, y, X_val=frame, y_val=y)
    # The first step only drops free parts without effect, and keeps the intercept.
    assert whole.network_.intercept.all()
    first, outputs = path.model(1), whole.decision_function(frame)
    np.testing.assert_allclose(first.decision_function(frame), outputs, atol=1e-5)
    last = path.model(len(path.to_frame()) - 1)
    assert last.network_.n_rules < whole.network_.n_rules
    frozen = [rule_bits(whole.fitted_.state.network, rule) for rule in (0, 3)]
    kept = np.flatnonzero(last.rules_.frozen)
    assert [rule_bits(last.fitted_.state.network, rule) for rule in kept] == frozen
    assert np.isfinite(last.decision_function(frame)).all()


def test_files_remember_what_was_edited_and_frozen(model, people, tmp_path):
    other = model.edit(freeze=[1], replace={0: "age >= 65"})
    other.save(tmp_path / "edited.nrules")
    loaded = load(tmp_path / "edited.nrules")
    assert loaded.rules_.frozen.tolist() == other.rules_.frozen.tolist()
    assert loaded.predict_proba(people[0]).tobytes() == other.predict_proba(people[0]).tobytes()
    loaded.refit(*people)
    assert rule_bits(loaded.network_, 1) == rule_bits(other.network_, 1)


def test_values_are_in_the_units_of_the_targets_and_searches_are_edited(people):
    frame, _ = people
    income = NeuralRuleRegressor(1, n_trees=2, n_epochs=2).fit(frame, frame["income"])
    assert income.edit(values={1: 5000.0}).network_.values[1, 0] == pytest.approx(5000)
    search, X, y = fitted("two targets")
    other = search.edit(values={0: [1.0, -2.0]}, freeze=[0])
    assert type(other) is NeuralRuleRegressor
    assert other.network_.values[0] == pytest.approx([1, -2])
    before = rule_bits(other.fitted_.state.network, 0)
    other.set_params(n_epochs=1).refit(X, y)
    assert rule_bits(other.fitted_.state.network, 0) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"drop": [99]},
            "drop names the rule 99, but the model has the rules 0 to LAST. rules_table() "
            "shows their numbers.",
        ),
        (
            {"freeze": [True]},
            "freeze names the rule True, but the model has the rules 0 to LAST. rules_table() "
            "shows their numbers.",
        ),
        ({"drop": "3"}, "drop must be a list of rules, got '3'. For example drop=[0]."),
        ({"values": [1.0]}, "values must be a dict by the numbers of rules, got [1.0]."),
        ({"values": {0: np.nan}}, "values[0] must be a finite number, got nan."),
        ({"values": {0: [1, 2]}}, "values[0] must be a finite number, got [1, 2]."),
        ({"drop": "all"}, "drop names all ALL rules of the model. Keep at least one."),
        (
            {"drop": [1], "values": {1: 2.0}},
            "drop and values both name rule 1. Leave it out of one.",
        ),
        (
            {"freeze": [1], "unfreeze": [1]},
            "freeze and unfreeze both name rule 1. Leave it out of one.",
        ),
        (
            {"replace": {4: "agee > 3"}},
            "replace[4] cannot be read at the mark in '-->agee > 3': there is no column "
            "'agee'; did you mean age?",
        ),
    ],
)
def test_errors_name_what_came_and_the_remedy(model, options, message):
    n_rules = model.network_.n_rules
    message = message.replace("LAST", str(n_rules - 1)).replace("ALL", str(n_rules))
    options = {k: range(n_rules) if v == "all" else v for k, v in options.items()}
    with pytest.raises((ValueError, TypeError), match=f"^{re.escape(message)}$"):
        model.edit(**options)


def test_simplify_asks_for_unseen_rows_of_an_edited_model(model, people, tmp_path):
    """A twin that is fitted anew would be another model."""
    edited = model.edit(drop=[0])
    edited.warm_start = True
    refitted = edited.fit(*people)
    refitted.save(tmp_path / "edited.nrules")
    for one in (edited, refitted, load(tmp_path / "edited.nrules")):
        with pytest.raises(ValueError, match=r"^This model was edited by hand, .* Give X_val"):
            one.simplify(*people)
        assert one.simplify(*people, X_val=people[0], y_val=people[1])
    anew = refitted.set_params(warm_start=False).fit(*people)
    assert "edited" not in {event.what for event in anew.lineage_}


def test_an_edit_that_breaks_a_promise_is_refused(people):
    X, y = people
    name = X.columns[0]
    promised = {name: {"yes": 1}}
    model = NeuralRuleClassifier(2, n_trees=2, n_epochs=3, monotone=promised, random_state=0)
    model.fit(X, y)
    speaks_for = int(np.argmax(model.network_.values[:, 0]))
    assert model.network_.values[speaks_for, 0] > 0
    against = {speaks_for: f"{name} < {X[name].median()}"}
    message = (
        rf"^With these edits, rule {speaks_for} .* against monotone=.* in '{name}'\. "
        r"Change the sign of the value with values=, rewrite the rule, or drop "
    )
    with pytest.raises(ValueError, match=message):
        model.edit(replace=against)
    turned = model.edit(replace=against, values={speaks_for: -1.0})
    assert turned.check_monotone() == []
    free = model.set_params(monotone=None).edit(replace=against)
    assert free.check_monotone(promised) == [(speaks_for, name)]


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("option", ["exclude", "interactions"])
def test_an_edit_that_looks_at_forbidden_columns_is_refused(option, as_text):
    X = np.random.RandomState(0).randn(200, 3)
    y = X[:, 0] + X[:, 2] > 0
    promised = {"exclude": [1], "interactions": [[0, 2]]}[option]
    chosen = {"n_trees": 2, "n_epochs": 2, "random_state": 0, option: promised}
    model = NeuralRuleClassifier(2, **chosen).fit(X, y)
    if as_text:
        lines = model.exact_text().splitlines()
        first = lines.index(next(line for line in lines if line.startswith("rule 0")))
        lines[first + 1] = '  + 3.0 * "x0" + 3.0 * "x2" + 0.5 * "x1" + 0.25'
        changes = {"text": "\n".join(lines)}
    else:
        changes = {"replace": {0: "x0 > 0 and x2 > 0 and x1 > 0"}}
    beside = "" if option == "exclude" else " beside its other columns"
    message = (
        "With these edits, rule 0 of the new model breaks a promise: it looks at "
        f"'x1'{beside}, "
        f"against {option}={promised!r}. Leave the column out of the rule, or drop the "
        f"restriction first: model.set_params({option}=None)."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.edit(**changes)
    allowed = model.edit(replace={0: "x0 > 0 and x2 > 0"}, values={0: 2.0})
    assert allowed.network_.values[0, 0] == pytest.approx(2.0)
    free = model.set_params(**{option: None}).edit(**changes)
    assert 1 in free.network_.rule_columns(0)


@pytest.mark.parametrize("as_text", [False, True])
def test_what_a_rewritten_model_does_not_know_is_told_with_a_remedy(people, as_text):
    X, y = people
    model = NeuralRuleClassifier(2, n_trees=2, n_epochs=3, random_state=0).fit(X, y)
    name = X.columns[0]
    if as_text:
        first = model.exact_text().split("\n\n")
        first[1] = f'rule 0 value [1.5]\n  + 0.00005 * "{name}" - 1.0'
        edited = model.edit(text="\n\n".join(first))
    else:
        edited = model.edit(replace={0: f"{name} > {X[name].median()}"})
    for ask in (
        lambda: edited.rules_text(style="sentences"),
        lambda: edited.reasons(X[:3]),
        edited.scorecard,
    ):
        with pytest.raises(ValueError, match=r"was edited.*, or refit\(X, y\) it first\.$"):
            ask()

    # Rows given say what the card needs, and the card is still that of the model.
    card = edited.scorecard(X, y)
    assert card.most_points()[0] != 0
    assert card.probability(card.points(X)) == pytest.approx(
        edited.predict_proba(X)[:, list(edited.classes_).index(card.adverse)], abs=0.1
    )
    assert edited.to_python(scorecard=card)

    edited.refit(X, y)
    assert edited.rules_text(style="sentences")
    assert str(edited.scorecard())
    assert len(edited.reasons(X[:3]).reasons) == 3
