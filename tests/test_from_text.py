"""A fitted estimator made of a text: the text is the model, and a person may edit it."""

import re

import numpy as np
import pytest
from models import EVERY_MODEL, fitted, fitted_on_rare_codes, network_outputs

from neuralrules import NeuralRuleClassifier, load, read_rules


def close(model, exact, X):
    """An estimator decides what the plain reading of its text decides, in float32."""
    expected = np.reshape(exact.decision_function(X), (len(X), -1))
    outputs = network_outputs(model, X)
    size = model.fitted_.task.scale + np.abs(expected - model.network_.intercept)
    assert (np.abs(outputs - expected) <= 2e-5 * size).all()


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_it_predicts_what_the_text_says(kind, deep, tmp_path):
    model, X, _ = fitted(kind, deep)
    text = model.exact_text()
    back = read_rules(text, estimator=True)
    assert type(back) is type(model)
    assert (back.loss, back.deep) == (model.loss, deep)
    close(back, read_rules(text), X)
    assert back.predict(X).shape == model.predict(X).shape
    assert (back.predict(X) == model.predict(X)).mean() > 0.99 or kind.endswith("s")
    close(read_rules(back.exact_text(), estimator=True), read_rules(text), X)
    again = load(back.save(tmp_path / "model"))
    np.testing.assert_array_equal(network_outputs(again, X), network_outputs(back, X))


@pytest.mark.parametrize("with_holes", [False, True])
def test_rare_unseen_and_missing_categories(with_holes):
    model, X = fitted_on_rare_codes(with_holes)
    back = read_rules(model.exact_text(), estimator=True)
    close(back, read_rules(model.exact_text()), X)


@pytest.mark.parametrize("kind", ["mixed", "numbers", "two targets"])
def test_it_can_be_read_explained_exported_and_trained_further(kind, tmp_path):
    model, X, y = fitted(kind)
    back = read_rules(model.exact_text(), estimator=True)
    text = back.rules_text()
    assert len(re.findall("^Rule ", text, re.MULTILINE)) == model.network_.n_rules
    assert "covers" not in text
    assert "leaf" not in text
    assert str(back.explain(X[:1])).startswith("Row 0: decision ")
    assert "LEAST" in back.to_sql("rows")
    assert "def predict" in back.to_python()
    assert back.report(tmp_path / "report.html", X, y).stat().st_size > 10_000
    before = back.score(X, y)
    back.set_params(random_state=0)
    for _ in range(5):
        back.partial_fit(X, y)
    assert back.score(X, y) > before - 0.02
    assert "covers" in back.rules_text()


def test_training_goes_on_from_the_intercept():
    """A text of one rule whose intercept already explains nearly all."""
    model, X, y = fitted("two classes")
    text = model.exact_text().replace("intercept [0.0]", "intercept [-3.0]")
    back = read_rules(text, estimator=True).set_params(n_epochs=30, warm_start=True)
    shifted = network_outputs(back, X)
    np.testing.assert_allclose(shifted, network_outputs(model, X) - 3, rtol=1e-5, atol=1e-5)
    back.fit(X, y)
    assert back.network_.intercept == [-3.0]
    losses = back.history_["loss"]
    assert losses[-1] < losses[0]
    assert back.score(X, y) > 0.95


def test_a_rule_that_is_struck_out_is_gone():
    model, X, _ = fitted("two classes")
    whole = model.exact_text()
    kept = re.sub(r"\nrule 1 value .*?(?=\n\n|\Z)", "", whole, flags=re.DOTALL)
    back = read_rules(kept, estimator=True)
    assert back.network_.n_rules == model.network_.n_rules - 1
    others = np.setdiff1d(np.arange(model.network_.n_rules), 1)
    close(back, read_rules(kept), X)
    np.testing.assert_allclose(back.network_.values, model.network_.values[others])


def test_a_rule_written_by_hand():
    text = """neuralrules rules 1
task "classes"
classes ["bad", "good"]
loss "logistic"
column "income" number missing 20.0
column "city" categories ["Oslo", "Rome"]
intercept [-1.0]

rule 0 value [2.0]
  + 0.5 * "income" - 10.0
  + 1.0 * ["city" = "Rome"]
"""
    model = read_rules(text, estimator=True)
    frame = {"income": [20.0, 22.0, 30.0, 30.0, np.nan], "city": ["Rome"] * 3 + ["Oslo"] * 2}
    pandas = pytest.importorskip("pandas")
    decided = model.decision_function(pandas.DataFrame(frame))
    np.testing.assert_allclose(decided, [-1, 1, 1, -1, -1], atol=1e-6)
    assert model.predict(pandas.DataFrame(frame)).tolist() == [
        "bad",
        "good",
        "good",
        "bad",
        "bad",
    ]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pandas.DataFrame({"city": ["Rome"], "income": [1.0]}))


def test_deep_and_shallow_rules_in_one_text():
    deep, X, _ = fitted("two classes", True)
    shallow, _, _ = fitted("two classes", False)
    rules = shallow.exact_text().partition("\nrule 0 ")[2]
    text = f"{deep.exact_text()}\nrule 99 {rules}"
    back = read_rules(text, estimator=True)
    assert back.deep
    close(back, read_rules(text), X)
    both = network_outputs(deep, X) + network_outputs(shallow, X)
    np.testing.assert_allclose(network_outputs(back, X), both, rtol=1e-4, atol=1e-4)


def test_texts_without_deviations_and_scales_are_read():
    """As they were written before estimators were made of them."""
    model, X, _ = fitted("two targets")
    text = re.sub(r" deviation \S+", "", model.exact_text())
    text = re.sub(r"\nscale .*", "", text)
    back = read_rules(text, estimator=True)
    assert (back.fitted_.task.scale == 1).all()
    np.testing.assert_allclose(back.predict(X), model.predict(X), rtol=1e-4)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            r"scale \[.*\]",
            "scale [0.0]",
            "Line 4 of the rules: scales must be above 0. "
            "The text must be as exact_text() wrote it.",
        ),
        (
            r"flat true",
            'flat true\nloss "poisson"\nloss "huber"',
            "Line 5 of the rules: 'loss \"huber\"' does not declare a column. "
            "The text must be as exact_text() wrote it.",
        ),
        (
            r"flat true",
            'flat true\nloss "hinge"',
            "Line 4 of the rules: the loss must be one of squared, huber, poisson, not "
            "'hinge'. The text must be as exact_text() wrote it.",
        ),
        (
            r"deviation \S+",
            "deviation 0.0",
            "Line 5 of the rules: a deviation must be above 0. "
            "The text must be as exact_text() wrote it.",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(before, after, message):
    text = fitted("numbers")[0].exact_text()
    broken = re.sub(before, after, text, count=1)
    assert broken != text
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read_rules(broken, estimator=True)


def test_classes_out_of_order_are_refused():
    text = fitted("three classes")[0].exact_text().replace("[0, 1, 2]", "[0, 2, 1]")
    assert read_rules(text).predict([[5.0, 3.4, 1.5, 0.2]]) == [0]
    message = (
        "The classes [0, 2, 1] of the rules do not ascend, as those of an estimator must. "
        "Write them as [0, 1, 2] and order the values of the rules alike."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read_rules(text, estimator=True)


def test_names_that_are_those_of_arrays_ask_for_no_frame():
    model, _, _ = fitted("two classes")
    assert not hasattr(read_rules(model.exact_text(), estimator=True), "feature_names_in_")
    named, frame, _ = fitted("mixed")
    back = read_rules(named.exact_text(), estimator=True)
    assert back.feature_names_in_.tolist() == list(frame)
    assert isinstance(back, NeuralRuleClassifier)
