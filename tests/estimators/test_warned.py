"""What fits warn of and refuse: few counts that decide, rare texts, repeated names, weights."""

import inspect
import re
import tempfile
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import done
from sklearn.datasets import make_low_rank_matrix
from sklearn.exceptions import ConvergenceWarning

from neuralrules import NeuralRuleClassifier, NeuralRuleClassifierCV, NeuralRuleRegressor
from neuralrules._data._encoder import RareCategoriesWarning

SMALL = {"n_trees": 2, "n_epochs": 2, "random_state": 0}
NOISE = np.random.RandomState(0).randn(600, 3)
TEXTS = pd.DataFrame({"id": [f"t{i}" for i in range(300)], "x": NOISE[:300, 0]})
CODES = (TEXTS["x"] > 0).astype(int).to_numpy()


def heavy_tail():
    """The counts of scikit-learn's own test of boosting by the Poisson loss."""
    rng = np.random.RandomState(42)
    X = make_low_rank_matrix(n_samples=600, n_features=100, random_state=rng)
    coef = rng.uniform(low=-2, high=2, size=100) / np.max(X, axis=0)
    return X, rng.poisson(lam=np.exp(X @ coef))


def test_counts_that_few_rows_decide_are_warned_of():
    X, y = heavy_tail()
    message = r"^About \d+ of 600 rows decide the loss 'poisson', .* worse than a constant"
    with pytest.warns(ConvergenceWarning, match=message):
        NeuralRuleRegressor(loss="poisson", **SMALL).fit(X, y)
    NeuralRuleRegressor(loss="squared", **SMALL).fit(X, np.minimum(y, 10))
    NeuralRuleRegressor(loss="poisson", **SMALL).fit(X, np.minimum(y, 10))


def test_rare_counts_are_not_warned_of():
    y = np.zeros(600)
    y[:8] = 1
    NeuralRuleRegressor(loss="poisson", early_stopping=False, **SMALL).fit(NOISE, y)


@pytest.mark.parametrize("kind", ["frame", "search", "file"])
def test_many_rare_texts_are_warned_of_once(kind, tmp_path):
    X, y, model = TEXTS, CODES, NeuralRuleClassifier(**SMALL)
    if kind == "search":
        options = {"candidates": [{}, {"scaling": "quantile"}], "cv": 2}
        model = NeuralRuleClassifierCV(**options, **SMALL)
    elif kind == "file":
        X, y = tmp_path / "rows.parquet", "y"
        TEXTS.assign(y=CODES).to_parquet(X)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, y)
        model.predict(TEXTS)
    found = [one for one in told if issubclass(one.category, RareCategoriesWarning)]
    assert len(found) == 1
    assert re.search(r"in column 'id' \((79|80)% of its rows\)", str(found[0].message))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_command_line_says_it_once(ending, tmp_path):
    file = tmp_path / f"rows.{ending}"
    table = TEXTS.assign(y=CODES)
    table.loc[0, "id"] = "t1"  # so that not every text is another
    table.to_csv(file, index=False) if ending == "csv" else table.to_parquet(file)
    options = ("--target", "y", "-o", tmp_path / "m.nrules", "--n-epochs", 1)
    said = done("fit", file, *options)
    assert said.err.count("'id'") == 1
    # No note looks at a column that the user says is one of categories.
    said = done("fit", file, *options, "--categories", "id")
    assert "Rare texts all count as one category, in column 'id'" in said.err


@pytest.mark.parametrize("kind", ["fit", "predict", "file"])
def test_repeated_names_of_columns_are_refused(kind, tmp_path):
    X = pd.DataFrame(NOISE[:300], columns=["a", "b", "c"])
    repeated = X.set_axis(["a", "b", "a"], axis=1)
    model = NeuralRuleClassifier(**SMALL).fit(X, CODES)
    message = "^Several columns of the table have the same name: 'a'. Rename or drop"
    file = tmp_path / "rows.parquet"
    arrays = [pa.array(column) for column in (*X.to_numpy().T, CODES)]
    pq.write_table(pa.Table.from_arrays(arrays, ["a", "b", "a", "y"]), file)
    calls = {
        "fit": lambda: model.fit(repeated, CODES),
        "predict": lambda: model.predict(repeated),
        "file": lambda: model.fit(file, "y"),
    }
    with pytest.raises(ValueError, match=message):
        calls[kind]()


@pytest.mark.parametrize("weight", [np.inf, np.nan, -1.0, 1e300])
def test_weights_that_are_none_are_refused_without_a_warning(weight):
    X = TEXTS[["x"]]
    with pytest.raises(ValueError, match=r"^class_weight=\{.*\} must give every class"):
        NeuralRuleClassifier(class_weight={0: weight, 1: 1}, **SMALL).fit(X, CODES)
    weights = np.where(np.arange(300) == 3, weight, 1.0)
    with pytest.raises(ValueError, match="sample_weight"):
        NeuralRuleClassifier(**SMALL).fit(X, CODES, sample_weight=weights)


BY_HEART = {"tree_rate": 0.5, "min_samples_leaf": 1, "start": "leaf", "learning_rate": 1e-9}


def no_gain(X, y):
    NeuralRuleClassifier(6, n_epochs=1, random_state=0, **BY_HEART).fit(X, y)


def no_gain_of_a_file(X, y):
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    with tempfile.TemporaryDirectory() as folder:
        table.to_parquet(f"{folder}/rows.parquet")
        NeuralRuleClassifier(6, n_epochs=1, random_state=0, **BY_HEART).fit(folder, "y")


def no_gain_of_a_search(X, y):
    depths = [{"max_depth": 8}]
    search = NeuralRuleClassifierCV.paper(candidates=depths, cv=2, n_epochs=20, random_state=0)
    search.fit(X, y)


def few_rows_of_a_part(X, y):
    NeuralRuleClassifier(random_state=0).partial_fit(X[:100], y[:100])


def an_expert_rule_without_rows(X, y):
    NeuralRuleClassifier(expert_rules=["x0 > 99"], **SMALL).fit(X, y)


def a_direction_of_an_unnamed_class(X, y):
    labels = np.where(y, "yes", "no")
    NeuralRuleClassifier(monotone={0: 1}, **SMALL).fit(X, labels)


def rare_texts(X, y):
    NeuralRuleClassifier(**SMALL).fit(TEXTS, CODES)


@pytest.mark.parametrize(
    "fit",
    [
        no_gain,
        no_gain_of_a_file,
        no_gain_of_a_search,
        few_rows_of_a_part,
        an_expert_rule_without_rows,
        a_direction_of_an_unnamed_class,
        rare_texts,
    ],
)
def test_a_warning_names_the_line_of_the_user(fit):
    y = np.random.RandomState(1).rand(600) > 0.5  # the columns of NOISE say nothing about it
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fit(NOISE, y)
    found = [one for one in told if issubclass(one.category, UserWarning)]
    assert found
    last = fit.__code__.co_firstlineno + len(inspect.getsourcelines(fit)[0]) - 1
    assert {(one.filename, one.lineno) for one in found} == {(__file__, last)}
