"""The table of rules, column by column, against a slow reading of the definitions."""

import sys

import numpy as np
import pandas as pd
import pytest
from models import EVERY_MODEL, KINDS, fitted, mixed_table
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor
from neuralrules._engine._reference import rules_forward
from neuralrules._reading._text import rule_text, tree_rule_text


def inside(model, X):
    network = model.network_
    x = model.encoder_.transform(X)[:, network.features]
    return rules_forward(network.parameters, network.layout, x)


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_every_column_by_its_definition(kind, deep):
    model, X, y = fitted(kind, deep)
    table = model.rules_table()
    network, y = model.network_, np.asarray(y)
    active, leaf = inside(model, X), model.rules_.covers(model.encoder_.transform(X))
    assert sorted(table.index) == list(range(network.n_rules))
    assert (np.diff(table["importance"]) <= 0).all()
    for rule, line in table.iterrows():
        covered = active[:, rule] > 0
        assert line["text"] == rule_text(model.fitted_, rule, 3, 3)
        assert line["tree_rule"] == tree_rule_text(model.fitted_, rule, 3)
        assert line["rows"] == covered.sum()
        assert line["share"] == pytest.approx(covered.mean())
        assert line["n_literals"] == network.offsets[rule + 1] - network.offsets[rule]
        own = slice(network.offsets[rule], network.offsets[rule + 1])
        assert line["n_weights"] == np.count_nonzero(network.weights[own])
        either = covered | leaf[:, rule]
        overlap = (covered & leaf[:, rule]).sum() / either.sum() if either.any() else np.nan
        assert line["overlap"] == pytest.approx(overlap, nan_ok=True)
        values = network.values[rule].astype(float)
        if kind in ("three classes", "mixed"):
            values = values - values.mean()
        if kind == "two targets":
            values = values / y.std(axis=0)
        importance = np.abs(values).mean() * active[:, rule].mean()
        assert line["importance"] == pytest.approx(importance, rel=1e-3, abs=1e-6)
        if hasattr(model, "classes_"):
            check_classes(model, line, y, covered, network.values[rule])
        else:
            check_numbers(line, y.reshape(len(y), -1), covered)


def check_classes(model, line, y, covered, values):
    spoken = model.classes_[int(values[0] > 0) if len(values) == 1 else values.argmax()]
    assert line["class"] == spoken
    if covered.any():
        precision = (y[covered] == spoken).mean()
        assert line["precision"] == pytest.approx(precision)
        assert line["lift"] == pytest.approx(precision / (y == spoken).mean())
        counts = np.array([(y[covered] == label).sum() for label in model.classes_])
        score = ((2 * counts - covered.sum()) ** 2).sum() / covered.sum() / 2
        assert line["margin_score"] == pytest.approx(score)
    else:
        assert np.isnan(line["precision"])


def check_numbers(line, y, covered):
    for k in range(y.shape[1]):
        suffix = "" if y.shape[1] == 1 else f"_{k}"
        if not covered.any():
            assert np.isnan(line[[f"mean{suffix}", f"lift{suffix}"]].astype(float)).all()
            continue
        mean = y[covered, k].mean()
        assert line[f"mean{suffix}"] == pytest.approx(mean, rel=1e-4)
        scale = y[:, k].std()
        assert line[f"lift{suffix}"] == pytest.approx(
            mean - y[:, k].mean(), rel=1e-3, abs=1e-4 * scale
        )


def test_angles_are_those_between_normals():
    model, _, _ = fitted("two classes")
    table, network, rules = model.rules_table(), model.network_, model.rules_
    for rule, line in table.iterrows():
        for j, angle in enumerate(line["angles"]):
            split = rules.offsets[rule] + j
            normal = np.zeros(model.encoder_.transform(np.ones((1, 30))).shape[1])
            normal[rules.features[split]] = rules.signs[split]
            weights = np.zeros_like(normal)
            weights[network.features] = network.weights[network.offsets[rule] + j]
            cosine = normal @ weights / np.linalg.norm(weights)
            assert angle == pytest.approx(np.degrees(np.arccos(cosine)), abs=0.06)
        assert line["angle"] == max(line["angles"])


@pytest.mark.parametrize("kind", ["two classes", "mixed", "numbers", "constant"])
def test_an_untrained_model_has_not_drifted(kind):
    estimator, (X, y), options = KINDS[kind]()
    # Counted are all rows of the fit, so the trees must have grown on all.
    model = estimator(max_depth=3, n_epochs=0, early_stopping=False, random_state=0, **options)
    table = model.fit(X, y).rules_table()
    assert (table["angle"].fillna(0) == 0).all()
    assert table["angle"].isna().all() == (kind == "constant")
    assert (table["overlap"] == 1).all()
    np.testing.assert_allclose(table.loc[range(model.rules_.n_rules), "rows"], model.rules_.n)
    if kind != "numbers":
        np.testing.assert_allclose(
            table.loc[range(model.rules_.n_rules), "margin_score"], model.rules_.scores
        )


def test_rows_given_and_training_rows():
    model, X, y = fitted("two classes")
    pd.testing.assert_frame_equal(model.rules_table(), model.rules_table(X, y))
    half = model.rules_table(X[:200], y[:200])
    assert half["rows"].max() <= 200
    twice = model.rules_table(X, y, sample_weight=np.full(len(X), 2.0))
    np.testing.assert_allclose(twice["rows"], 2 * model.rules_table()["rows"])


def test_weights_of_the_fit_count():
    X = np.arange(10.0)[:, None]
    weights = np.arange(1.0, 11.0)
    model = NeuralRuleClassifier.paper(1, n_epochs=0, random_state=0)
    table = model.fit(X, X[:, 0] > 4, sample_weight=weights).rules_table()
    assert table.loc[[0, 1], "rows"].tolist() == [15, 40]
    weights[:3] = 0
    table = model.fit(X, X[:, 0] > 4, sample_weight=weights).rules_table()
    assert table.loc[[0, 1], "rows"].tolist() == [9, 40]


def test_class_weights_change_the_model_and_not_the_counts():
    rng = np.random.RandomState(0)
    X = rng.randn(800, 3)
    y = X[:, 0] + rng.randn(800) > 2
    model = NeuralRuleClassifier.paper(3, class_weight="balanced", n_epochs=20, random_state=0)
    table = model.fit(X, y).rules_table()
    active = inside(model, X) > 0
    for rule, line in table.iterrows():
        assert line["rows"] == active[:, rule].sum()
        if line["rows"]:
            expected = (y[active[:, rule]] == line["class"]).mean()
            assert line["precision"] == pytest.approx(expected)
    found = model.fitted_.performance
    assert found.metrics["accuracy"] == pytest.approx(model.score(X, y))
    assert found.confusion.sum() == 800
    path = model.simplification_path(X, y, X_val=X, y_val=y)
    assert path.steps[0].given.error == pytest.approx(1 - model.score(X, y))
    plain = NeuralRuleClassifier.paper(3, n_epochs=20, random_state=0).fit(X, y)
    assert (plain.predict(X) != model.predict(X)).any()


def test_literals_that_look_at_nothing_have_no_angle():
    model, X, y = fitted("two classes")
    path = model.simplification_path(X, y, X_val=X, y_val=y)
    idle = 0
    for step in range(len(path)):
        smaller = path.model(step)
        empty = ~smaller.network_.weights.any(axis=1)
        angles = [
            angle for group in smaller.rules_table().sort_index()["angles"] for angle in group
        ]
        np.testing.assert_array_equal(np.isnan(angles), empty)
        idle += empty.sum()
    assert idle


def test_units_of_targets_do_not_change_what_matters():
    model, X, y = fitted("two targets")
    other = clone(model).fit(X, y * [1, 1e6])
    np.testing.assert_allclose(
        other.rules_table()["importance"], model.rules_table()["importance"], rtol=1e-3
    )
    first, second = (one.importances(X, random_state=0).values for one in (model, other))
    np.testing.assert_allclose(first, second, rtol=1e-3)


def test_large_tables_are_read_on_a_sample_when_training_is_short(monkeypatch):
    monkeypatch.setattr("neuralrules._fitted._fitted.READ_ROWS_PER_EPOCH", 100)
    X = np.random.RandomState(0).randn(1000, 2)
    model = NeuralRuleClassifier.paper(2, n_epochs=2, random_state=0).fit(X, X[:, 0] > 0)
    assert model.fitted_.performance.n_rows == 200
    assert model.fitted_.activity.n_rows == 1000  # the sample stands for all
    table = model.rules_table()
    np.testing.assert_allclose(table["rows"], 1000 * table["share"], rtol=1e-5)
    model.fit(X, X[:, 0] > 0, sample_weight=np.arange(1000) % 2)
    assert model.fitted_.performance.n_rows == 200
    assert model.fitted_.activity.n_rows == 500
    model.set_params(n_epochs=10).fit(X, X[:, 0] > 0)
    assert model.fitted_.activity.n_rows == 1000


def test_columns_of_several_outputs():
    model, _, _ = fitted("three classes")
    assert {"value_0", "value_1", "value_2"} <= set(model.rules_table().columns)
    model, _, _ = fitted("two targets")
    assert {"value_0", "mean_1", "lift_0"} <= set(model.rules_table().columns)


def holds(text, frame):
    """Which rows of the mixed table a tree rule's text is about, read as a person would."""
    result = np.ones(len(frame), bool)
    for part in text.replace(r'"a \"b\" [c]"', 'a "b" [c]').split(" and "):
        result &= part_holds(part, frame)
    return result


def part_holds(part, frame):
    if part.startswith("("):
        inner = part[1:].removesuffix(" or missing)")
        column = next(name for name in frame.columns if name in inner)
        return part_holds(inner, frame) | frame[column].isna().to_numpy()
    for name in frame.columns:
        column = frame[name]
        if part == f"{name} is missing":
            return column.isna().to_numpy()
        if part == f"{name} is known":
            return column.notna().to_numpy()
        for sign, equal in (("=", True), ("≠", False)):
            if part.startswith(f"{name} {sign} "):
                category = part.split(f" {sign} ")[1]
                counts = frame["code"].value_counts()
                is_rare = column.isin(counts.index[63:]) if category == "a rare value" else None
                same = is_rare if is_rare is not None else column == category
                return same.to_numpy(bool) == equal
        if name in part:
            low, high = -np.inf, np.inf
            if " < " in part:
                low = float(part.split(" < ")[0])
            if " ≤ " in part:
                high = float(part.split(" ≤ ")[1])
            if " > " in part:
                low = float(part.split(" > ")[1])
            return ((column > low) & (column <= high)).to_numpy(bool)
    raise AssertionError(part)


@pytest.mark.parametrize("depth", [3, 7])
def test_tree_rules_read_as_a_person_would_cover_the_rows_of_their_leaf(depth):
    X, y = mixed_table()
    X = X.drop(columns="code")
    X["code"] = X["city"]  # a column of few categories
    model = NeuralRuleClassifier.paper(depth, n_epochs=0, random_state=0).fit(X, y)
    covers = model.rules_.covers(model.encoder_.transform(X))
    texts = [tree_rule_text(model.fitted_, rule, 9) for rule in range(model.rules_.n_rules)]
    for rule, text in enumerate(texts):
        np.testing.assert_array_equal(holds(text, X), covers[:, rule], err_msg=text)


def test_tree_rules_have_no_redundancy():
    X, y = mixed_table()
    model = NeuralRuleClassifier.paper(8, n_epochs=0, random_state=0).fit(X, y)
    for text in model.rules_table()["tree_rule"]:
        parts = [part.strip("()") for part in text.split(" and ")]
        assert len(parts) == len(set(parts))
        for name in ("income", "children", 'a "b" [c]'):
            assert sum(name in part for part in parts) <= 1, text
        # What equals one city is not also different from another.
        if "city = " in text:
            assert "city ≠" not in text


def test_errors():
    with pytest.raises(NotFittedError):
        NeuralRuleRegressor().rules_table()
    model, X, _ = fitted("two classes")
    with pytest.raises(ValueError, match="X and y belong together: give both to measure on"):
        model.rules_table(X)
    with pytest.raises(ValueError, match="sample_weight was given without X and y"):
        model.rules_table(sample_weight=np.ones(len(X)))
    with pytest.raises(ValueError, match="precision=99 must be at most 17: a number has no"):
        model.rules_table(precision=99)
    with pytest.raises(ValueError, match="precision=0 must be a whole number of at least 1"):
        model.rules_table(precision=0)


def test_a_frame_needs_pandas(monkeypatch):
    model, _, _ = fitted("two classes")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError) as caught:
        model.rules_table()
    assert str(caught.value) == (
        "rules_table needs pandas, which is not installed. "
        'Install it with: pip install "neuralrules[frames]"'
    )
