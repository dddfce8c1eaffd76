"""A fitted estimator made of a text: the text is the model, and a person may edit it."""

import re

import numpy as np
import pytest
from models import EVERY_MODEL, fitted, fitted_on_rare_codes, network_outputs, tailed_table
from sklearn.base import is_classifier

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor, load, read_rules


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
    kind = NeuralRuleClassifier if is_classifier(model) else NeuralRuleRegressor
    assert type(back) is kind  # a search is no part of a text
    assert (back.loss, back.deep) == (model.loss, deep)
    close(back, read_rules(text), X)
    assert back.predict(X).shape == model.predict(X).shape
    if back.fitted_.task.are_classes:
        assert (back.predict(X) == model.predict(X)).mean() > 0.99
    close(read_rules(back.exact_text(), estimator=True), read_rules(text), X)
    again = load(back.save(tmp_path / "model"))
    np.testing.assert_array_equal(network_outputs(again, X), network_outputs(back, X))


@pytest.mark.parametrize("with_holes", [False, True])
def test_rare_unseen_and_missing_categories(with_holes):
    model, X = fitted_on_rare_codes(with_holes)
    back = read_rules(model.exact_text(), estimator=True)
    close(back, read_rules(model.exact_text()), X)


@pytest.mark.parametrize("kind", ["mixed", "numbers", "two targets", "quantiles"])
def test_it_can_be_read_explained_exported_and_trained_further(kind, tmp_path):
    model, X, y = fitted(kind)
    back = read_rules(model.exact_text(), estimator=True)
    text = back.rules_text()
    assert len(re.findall("^Rule ", text, re.MULTILINE)) == model.network_.n_rules
    assert "covers" not in text
    assert "leaf" not in text
    assert str(back.explain(X[:1])).startswith("Row 0: ")
    assert "LEAST" in back.to_sql("rows")
    assert "def predict" in back.to_python()
    assert back.report(tmp_path / "report.html", X, y).stat().st_size > 10_000
    before = back.score(X, y)
    back.set_params(random_state=0)
    for _ in range(5):
        back.partial_fit(X, y)
    assert back.score(X, y) > before - 0.02
    assert "covers" in back.rules_text()


@pytest.mark.parametrize("trained", [False, True])
def test_training_goes_on_from_the_intercept(trained):
    model, X, y = fitted("two classes")
    written = f"intercept [{float(model.network_.intercept[0])!r}]"
    text = model.exact_text().replace(written, "intercept [-3.0]")
    back = read_rules(text, estimator=True)
    back.set_params(n_epochs=30, warm_start=True, fit_intercept=trained, random_state=0)
    shifted, expected = (
        network_outputs(one, X) - one.network_.intercept for one in (back, model)
    )
    np.testing.assert_allclose(shifted, expected, rtol=1e-5, atol=1e-5)
    assert back.network_.intercept == [-3.0]
    back.fit(X, y)
    if trained:  # back to where the rules need it
        assert back.network_.intercept[0] > -2.9
    else:
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
    both = network_outputs(deep, X) + network_outputs(shallow, X) - shallow.network_.intercept
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


HEAD = """neuralrules rules 1
task "numbers"
flat true
column "a" number missing 0.0 deviation 1.0
"""
TOO_LARGE = (
    "The rules hold a number that is too large for an estimator, which computes in float32. "
    "Write smaller numbers, or read the rules without estimator=True."
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + 'intercept [0.0]\nrule 0 value [1.0]\n  + 1e300 * "a" + 1.0', TOO_LARGE),
        (HEAD + 'intercept [0.0]\nrule 0 value [1e300]\n  + 1.0 * "a" + 1.0', TOO_LARGE),
        (HEAD + 'intercept [0.0]\nrule 0 value [1.0]\n  + 1.0 * "a" + 1e39', TOO_LARGE),
        (
            HEAD.replace("deviation 1.0", "deviation 1e-300")
            + 'intercept [0.0]\nrule 0 value [1.0]\n  + 1.0 * "a" + 1.0',
            "The rules weigh column 'a' by 1.0 for a deviation of 1e-300, which is too little "
            "for float32. Write a larger deviation, or read the rules without estimator=True.",
        ),
        (
            HEAD.replace("flat true", "flat true\nscale [1.0, 2.0]")
            + "intercept [0.0, 0.0]\nrule 0 value [1.0, 1.0]\n  + 1.0",
            "Line 4 of the rules: flat targets have one scale, not 2. "
            "The text must be as exact_text() wrote it.",
        ),
        (
            HEAD.replace("flat true", "flat false\nscale [3.0]")
            + "intercept [0.0, 0.0]\nrule 0 value [1.0, 1.0]\n  + 1.0",
            "Line 6 of the rules: expected an intercept for 1 outputs, found 2. "
            "The text must be as exact_text() wrote it.",
        ),
        (
            HEAD + 'column "c" categories []\nintercept [0.0]\nrule 0 value [1.0]\n  + 1.0',
            "Line 5 of the rules: a column of categories must have one, or be missing or rare. "
            "The text must be as exact_text() wrote it.",
        ),
        (
            HEAD.replace("flat true", "flat true\nnamed 3"),
            "Line 4 of the rules: named must be true or false, not 3. "
            "The text must be as exact_text() wrote it.",
        ),
    ],
)
def test_texts_that_make_no_estimator(text, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        read_rules(text, estimator=True)


def test_a_frame_whose_columns_are_named_like_those_of_an_array():
    pandas = pytest.importorskip("pandas")
    _, X, y = fitted("two classes")
    frame = pandas.DataFrame(X[:, :3], columns=["x0", "x1", "x2"])
    model = NeuralRuleClassifier(2, n_epochs=2, random_state=0).fit(frame, y)
    back = read_rules(model.exact_text(), estimator=True)
    assert back.feature_names_in_.tolist() == ["x0", "x1", "x2"]
    with pytest.raises(ValueError, match="feature names should match"):
        back.predict(frame[["x2", "x1", "x0"]])


def test_nothing_is_said_of_rows_and_leaves_that_are_not_known(tmp_path):
    model, X, y = fitted("mixed")
    back = read_rules(model.exact_text(), estimator=True)
    table = back.rules_table()
    assert table["share"].isna().all()
    assert (table["tree_rule"] == "not known").all()
    message = "This model was read from text and remembers no rows. Give X and y to report on."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        back.report(tmp_path / "report.html")
    back.partial_fit(X, y)
    assert "leaf" not in back.rules_text()
    table = back.rules_table()
    assert table["share"].notna().all()
    assert table["overlap"].isna().all()


def test_scaled_columns_come_back_bit_by_bit():
    X, y = tailed_table()
    # Indicators are standardised in a model and not in its text, which costs the last bits.
    X = X.select_dtypes("number").dropna()
    for deep in (False, True):
        model = NeuralRuleClassifier(
            n_trees=4, deep=deep, scaling="quantile", n_epochs=20, random_state=0
        ).fit(X, y[X.index])
        back = read_rules(model.exact_text(), estimator=True)
        np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
        assert back.exact_text() == model.exact_text()


def test_a_mean_that_no_table_has_is_refused():
    """`load` would not take it back."""
    with pytest.raises(ValueError, match=r"a mean and a deviation must not go beyond 1.8e"):
        read_rules(HEAD.replace("missing 0.0", "missing 1e30"))
