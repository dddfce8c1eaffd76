"""Rules of experts in the estimators, in files and on the command line."""

import re

import numpy as np
import pandas as pd
import pytest
from command_line import done, refused

from neuralrules import (
    NeuralRuleClassifier,
    NeuralRuleClassifierCV,
    NeuralRuleRegressor,
    load,
)

RULES = ["late > 2 and region = north", "opened < 2019-01-01"]


@pytest.fixture(scope="module")
def loans():
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "late": rng.randint(0, 6, 150),
            "region": rng.choice(["north", "south", "west"], 150),
            "opened": np.datetime64("2015-01-01") + rng.randint(0, 3000, 150),
        }
    )
    y = np.where((frame["late"] > 2) & (frame["region"] == "north"), "bad", "good")
    return frame, y


def literals_of(network, rule):
    """All that says when a rule speaks, as bytes."""
    parts = [network.rule_weights(rule), network.biases[network.layout.literals_of(rule)]]
    if network.deep:
        own = network.layout.literals_of(rule)
        parts += [network.second_layer(rule), network.shifts[own]]
    return [part.tobytes() for part in parts]


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("engine", ["numba", "numpy"])
@pytest.mark.parametrize("start", ["hinge", "leaf"])
def test_frozen_literals_keep_their_bits_while_values_train(loans, deep, engine, start):
    options = {
        "n_trees": 2,
        "deep": deep,
        "engine": engine,
        "start": start,
        "random_state": 0,
        "expert_rules": RULES,
    }
    before, after = (
        NeuralRuleClassifier(n_epochs=n, **options).fit(*loans).network_ for n in (0, 3)
    )
    for rule in range(2):
        assert literals_of(before, rule) == literals_of(after, rule)
    assert (before.values[:2] != after.values[:2]).all()
    assert literals_of(before, 2) != literals_of(after, 2)
    one_free = {**options, "expert_rules": [RULES[0], f"free: {RULES[1]}"]}
    trained = NeuralRuleClassifier(n_epochs=3, **one_free).fit(*loans)
    assert trained.rules_.frozen[:3].tolist() == [1, 0, 0]
    assert literals_of(trained.network_, 0) == literals_of(before, 0)
    assert literals_of(trained.network_, 1) != literals_of(before, 1)


def test_rules_stand_alone_or_before_those_that_grow(loans):
    frame, y = loans
    free = [f"free: {rule}" for rule in RULES]
    alone = NeuralRuleClassifier(rule_source="expert", expert_rules=free, random_state=0)
    assert alone.fit(frame, y).network_.n_rules == 2
    assert alone.score(frame, y) > 0.95
    assert "late > 2 and region = north" in alone.rules_text()
    few = NeuralRuleClassifier(n_trees=3, max_rules=4, expert_rules=RULES, n_epochs=0)
    rules = few.fit(frame, y).rules_
    assert rules.n_rules == 6
    assert rules.n[0] == ((frame["late"] > 2) & (frame["region"] == "north")).sum()
    number = NeuralRuleRegressor(rule_source="expert", expert_rules=RULES[:1], n_epochs=5)
    assert number.fit(frame, frame["late"]).predict(frame).shape == (150,)


def test_further_training_and_a_search_keep_frozen_literals(loans):
    options = {"expert_rules": RULES, "n_trees": 2, "random_state": 0}
    model = NeuralRuleClassifier(n_epochs=2, **options).fit(*loans)
    first = literals_of(model.network_, 0)
    model.partial_fit(*loans)
    assert literals_of(model.network_, 0) == first
    search = NeuralRuleClassifierCV([{"max_depth": 1}], cv=2, n_epochs=2, **options).fit(*loans)
    assert search.rules_.frozen[:2].tolist() == [1, 1]
    assert literals_of(search.network_, 0) == first


def test_files_remember_experts_and_what_is_frozen(loans, tmp_path):
    options = {"n_trees": 2, "random_state": 0, "n_epochs": 1}
    model = NeuralRuleClassifier(expert_rules=RULES, **options).fit(*loans)
    model.save(tmp_path / "model.nrules")
    loaded = load(tmp_path / "model.nrules")
    assert list(loaded.expert_rules) == RULES
    assert loaded.rules_.frozen.tolist() == model.rules_.frozen.tolist()
    loaded.partial_fit(*loans)
    assert literals_of(loaded.network_, 1) == literals_of(model.network_, 1)
    free = [f"free: {text}" for text in RULES]
    model = NeuralRuleClassifier(expert_rules=free, **options).fit(*loans)
    model.save(tmp_path / "free.nrules")
    assert load(tmp_path / "free.nrules").rules_.frozen is None
    assert list(load(tmp_path / "free.nrules").expert_rules) == free


@pytest.mark.parametrize("deep", [False, True])
def test_texts_say_who_wrote_a_rule_and_what_is_fixed(loans, deep, tmp_path):
    X, y = loans
    options = {"n_trees": 2, "n_epochs": 8, "random_state": 0, "deep": deep}
    model = NeuralRuleClassifier(expert_rules=RULES, **options).fit(X, y).edit(freeze=[2])
    model.warm_start = True
    model.fit(X, y).save(tmp_path / "m.nrules")
    for one in (model, load(tmp_path / "m.nrules")):
        text = one.rules_text()
        assert re.search(
            r"Rule 0: .*\(an expert's rule, its conditions fixed\)\n  said  ", text
        )
        assert re.search(r"Rule 2: .*\(fixed\)\n  leaf  ", text)
        assert re.search(r"Rule 3: .*rows\)\n  leaf  ", text)
        sentences = one.rules_text(style="sentences")
        assert "Rule 0 (an expert's rule, its conditions fixed): " in sentences
        assert "  Written as late > 2" in sentences
    replaced = model.edit(replace={3: "late > 1"}, unfreeze=[2])
    texts = replaced.rules_text()
    assert "fixed)" in texts
    assert "(fixed)" not in texts
    assert texts.count("an expert's rule") == 3


@pytest.mark.parametrize("deep", [False, True])
def test_frozen_rules_and_directions(loans, deep):
    """Rules that no value can make obey are refused; others get a value that does."""
    X, y = loans
    options = {"n_trees": 2, "n_epochs": 8, "random_state": 0, "deep": deep}
    options |= {"expert_rules": ["late > 1", "late < 4"]}
    for direction in (1, -1):  # one of them is against what the rows say
        model = NeuralRuleClassifier(monotone={"late": {"good": direction}}, **options).fit(
            X, y
        )
        assert model.check_monotone() == []
        free = NeuralRuleClassifier(**options).fit(X, y)
        for rule in (0, 1):
            kept = [literals_of(one.network_, rule) for one in (model, free)]
            assert kept[0] == kept[1]
    for rule in ("late > 1 and late < 4", "late < 4 and late > 1 and region = north"):
        both = NeuralRuleClassifier(
            monotone={"late": {"good": 1}}, **{**options, "expert_rules": ["late > 3", rule]}
        )
        with pytest.raises(ValueError, match=r"^Rule 1 is frozen or written by hand, and"):
            both.fit(X, y)
    mixed = NeuralRuleClassifier(
        monotone={"late": {"good": 1}, "opened": {"good": 1}},
        **{**options, "expert_rules": ["late > 1 and opened < 2019-01-01"]},
    )
    with pytest.raises(ValueError, match=r"against monotone\. Rewrite or"):
        mixed.fit(X, y)
    out = NeuralRuleClassifier(exclude=["late"], **options)
    with pytest.raises(ValueError, match="'late' is against interactions or exclude"):
        out.fit(X, y)


def test_a_rule_that_is_frozen_by_hand_is_refused_when_directions_come(loans):
    X, y = loans
    model = NeuralRuleClassifier(n_trees=2, n_epochs=8, random_state=0).fit(X, y)
    (rule, name), *_ = model.check_monotone({"late": 1})
    edited = model.edit(freeze=[rule])
    edited.set_params(monotone={"late": {"good": 1}}, warm_start=True)
    with pytest.raises(ValueError, match=rf"^Rule {rule} is frozen .* column '{name}'"):
        edited.fit(X, y)
    assert edited.edit(unfreeze=[rule]).fit(X, y).check_monotone() == []


def test_errors(loans):
    message = (
        "rule_source='expert' needs rules: give expert_rules a list of them, such as "
        "['late > 0'], or another rule_source, one of ['boosting', 'forest', 'tree']."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        NeuralRuleClassifier(rule_source="expert").fit(*loans)
    with pytest.raises(ValueError, match=r"^The 'expert_rules' parameter"):
        NeuralRuleClassifier(expert_rules="late > 2").fit(*loans)
    with pytest.raises(TypeError, match=r"^expert_rules\[0\] must be a rule as text, got 3\.$"):
        NeuralRuleClassifier(expert_rules=[3]).fit(*loans)


def test_the_command_line_reads_them_from_a_file(loans, tmp_path):
    frame, y = loans
    data, rules, model = (tmp_path / name for name in ("t.csv", "rules.txt", "m.nrules"))
    frame.assign(y=y).to_csv(data, index=False)
    rules.write_text(f"# by hand\n\n{RULES[0]}\n  {RULES[1]}\nfree: late > 1\n", "utf-8")
    options = ["--dates", "opened", "--n-epochs", 1, "--n-trees", 2, "-o", model]
    arguments = ["fit", data, "--target", "y", "--expert-rules", rules, *options]
    done(*arguments)
    loaded = load(model)
    assert list(loaded.expert_rules) == [*RULES, "free: late > 1"]
    assert loaded.rules_.frozen[:4].tolist() == [1, 1, 0, 0]
    rules.write_text("lates > 2", "utf-8")
    text = "--expert-rules[0] cannot be read at the mark in '-->lates > 2': there is no column"
    assert text in refused(*arguments)
    rules.write_text("# nothing", "utf-8")
    assert "holds no rules. Write one on each line." in refused(*arguments)
    rules.write_bytes(b"\xff\xfe\xfa")
    assert "is not text in UTF-8. Save it as such." in refused(*arguments)
    rules.unlink()
    assert "No such file" in refused(*arguments)


def test_a_free_rule_against_what_the_rows_say_keeps_its_words(loans):
    """Its value, which the rows put on the wrong side, starts at 0 instead."""
    X, y = loans
    for direction in (1, -1):
        model = NeuralRuleClassifier(
            n_trees=1,
            n_epochs=0,
            expert_rules=["free: late > 2"],
            monotone={"late": {"bad": direction}},
        ).fit(X, y)
        assert model.check_monotone() == []
        assert model.rules_table().loc[0, "text"] == "late > 2"
