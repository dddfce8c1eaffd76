"""Models changed in their exact text: what the text still says keeps its bits."""

import re

import numpy as np
import pytest
from models import EVERY_MODEL, credit_table, fitted, network_outputs
from test_edit import rule_bits

from neuralrules import NeuralRuleClassifier, compare, read_rules


def credit(**options):
    X, y = credit_table(800)
    model = NeuralRuleClassifier(n_trees=3, n_epochs=5, random_state=0, **options)
    return model.fit(X, y), X, y


def blocks(text):
    """The head of a text, and its rules."""
    head, *rules = text.split("\n\n")
    return head, [rule.rstrip("\n") for rule in rules]


def joined(head, rules):
    return "\n\n".join([head, *rules]) + "\n"


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_a_text_that_was_not_changed_is_the_model_bit_for_bit(kind, deep):
    model, X, _ = fitted(kind, deep)
    same = model.edit(text=model.exact_text())
    np.testing.assert_array_equal(network_outputs(same, X), network_outputs(model, X))
    before, after = (one.fitted_.state.network for one in (model, same))
    for rule in range(before.n_rules):
        assert rule_bits(after, rule) == rule_bits(before, rule)
    np.testing.assert_array_equal(after.intercept, before.intercept)
    assert same.rules_text() == model.rules_text()
    assert same.lineage_[-1].summary == "no rule changed (as text)"


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_a_changed_text_predicts_what_it_says(kind, deep):
    """As the same text does that is read without the model."""
    model, X, _ = fitted(kind, deep)
    head, rules = blocks(model.exact_text())
    rules = [rules[-1], *rules[1:-1], re.sub(r"value \[-?", "value [1", rules[0])]
    head = re.sub(r"(?<=intercept \[)-?", "1", head)
    if len(model.network_.values) > 3:
        # a literal with other digits: another rule
        rules[1] = re.sub(r"  ([+-]) ([0-9])", r"  \1 1\2", rules[1], count=1)
        del rules[2]
    text = joined(head, rules)
    changed = model.edit(text=text)
    plain = read_rules(text, estimator=True)
    expected = network_outputs(plain, X)
    tolerance = 1e-4 * (1 + np.abs(expected).max())
    np.testing.assert_allclose(network_outputs(changed, X), expected, atol=tolerance)
    assert compare(plain, changed).count("same") == plain.network_.n_rules


def test_rules_that_the_text_still_says_keep_their_bits_leaves_and_frost():
    model, X, y = credit()
    model = model.edit(freeze=[2])
    head, rules = blocks(model.exact_text())
    changed = model.edit(text=joined(head, [rules[2], rules[3], rules[1]]))
    for number, before in enumerate([2, 3, 1]):
        assert rule_bits(changed.network_, number) == rule_bits(model.network_, before)
        one, other = changed.rules_.take([number]), model.rules_.take([before])
        np.testing.assert_array_equal(one.thresholds, other.thresholds)
    assert changed.rules_.frozen.tolist() == [model.rules_.frozen[2], 0, 0]
    gone = sorted({*range(model.network_.n_rules)} - {1, 2, 3})
    assert changed.lineage_[-1].summary == (
        f"rules {', '.join(map(str, gone))} taken out (as text)"
    )
    np.testing.assert_array_equal(
        changed.fitted_.activity.highest, model.fitted_.activity.highest[[2, 3, 1]]
    )
    str(changed.scorecard())
    changed.refit(X, y)


def test_a_new_rule_of_several_columns_gets_a_leaf_that_says_the_same():
    model, X, _ = credit()
    head, rules = blocks(model.exact_text())
    rules.append(
        'rule 99 value [2.0]\n  + 1.0 * "age" - 50.0\n  + 1.0 * ["region" = "west"] - 0.5'
    )
    changed = model.edit(text=joined(head, rules))
    assert "said  age > 50 and region = west" in changed.rules_text()
    inside = ((X["age"] > 50) & (X["region"] == "west")).to_numpy()
    moved = changed.decision_function(X) - model.decision_function(X)
    np.testing.assert_array_equal(np.abs(moved) > 1e-9, inside)
    np.testing.assert_allclose(moved[inside], 1.0, rtol=1e-5)


def test_other_columns_are_read_from_the_text():
    model, X, _ = credit()
    text = re.sub(
        r'"age" number missing [0-9.]+', '"age" number missing 33.0', model.exact_text()
    )
    changed = model.edit(text=text)
    assert changed.lineage_[-1].summary.endswith("other columns or targets are declared")
    assert [one.what for one in changed.lineage_] == ["grown and trained", "edited"]
    np.testing.assert_allclose(
        changed.decision_function(X), model.decision_function(X), atol=1e-4
    )


def test_what_is_no_such_text_is_refused():
    model, _, _ = credit()
    text = model.exact_text()
    with pytest.raises(ValueError, match=r"^Line 2 of the rules: "):
        model.edit(text=text.replace('task "classes"', 'task "poems"'))
    with pytest.raises(ValueError, match=r"^text is the whole model\."):
        model.edit(text=text, drop=[0])
    numbers, _, _ = fitted("numbers")
    with pytest.raises(ValueError, match=r"^The text predicts 1 number, the model 2 classes\."):
        model.edit(text=numbers.exact_text())
    with pytest.raises(ValueError, match=r"^The rules hold a number that is too large"):
        model.edit(text=f'{text}\nrule 9 value [1e99]\n  + 1.0 * "age"\n')
