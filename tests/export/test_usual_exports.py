"""Every export scores the usual outcomes of texts as the model does."""

import re
from functools import cache

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from databases import DIALECTS, connected
from usual_models import TASKS, fitted_on_texts, network_outputs, rows_of

from neuralrules import NeuralRuleRegressor
from neuralrules._data._columns import Usual
from neuralrules._export._sql_lookups import MOST_CASES, MOST_ROWS

MODELS = [(task, False) for task in TASKS] + [("number", True)]


def agree(model, rows, found):
    """Probabilities or numbers are those of the model, within 1e-5."""
    found = np.asarray(found, float).reshape(len(rows), -1)
    if not hasattr(model, "classes_"):
        task = model.fitted_.task
        found = (found - task.centre) / task.scale
    expected = network_outputs(model, rows)
    assert np.ptp(expected) > 0.1
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


@pytest.fixture(scope="module", params=DIALECTS)
def database(request):
    with connected(request.param) as connection:
        yield connection


def scored(database, model, rows):
    frame = rows.assign(row=np.arange(len(rows)))
    if database.dialect == "duckdb" and len(rows) > 1000:  # it inserts row by row slowly
        database.connection.register("frame", frame)
        database.run("CREATE OR REPLACE TABLE rows AS SELECT * FROM frame")
    else:
        database.write("rows", frame)
    sql = model.to_sql("rows", dialect=database.dialect, keep=["row"])
    found = database.read(sql).sort_values("row").drop(columns="row")
    return found.drop(columns="prediction") if hasattr(model, "classes_") else found


@pytest.mark.parametrize(("task", "deep"), MODELS)
def test_sql(database, task, deep):
    model, X = fitted_on_texts(task, deep)
    rows = rows_of(X)
    agree(model, rows, scored(database, model, rows))


@pytest.mark.parametrize("n_values", [20, MOST_CASES + 20])
def test_few_texts_are_cases_and_more_are_a_table(database, n_values):
    model, X = fitted_on_texts("number", n_values=n_values)
    rows = rows_of(X)
    sql = model.to_sql("rows", dialect=database.dialect)
    assert ("LEFT JOIN values_0 ON" in sql) == (n_values > MOST_CASES)
    agree(model, rows, scored(database, model, rows))


SETTINGS = [
    ("duckdb", {"default_collation": "'NOCASE'"}),
    ("postgresql", {"standard_conforming_strings": "off", "backslash_quote": "off"}),
    ("sqlite", {"case_sensitive_like": "1", "reverse_unordered_selects": "1"}),
    ("sqlite", {"automatic_index": "0"}),
]


@pytest.mark.parametrize(("dialect", "settings"), SETTINGS, ids=str)
def test_settings_of_a_session_change_no_score(dialect, settings):
    model, X = fitted_on_texts("number")
    with connected(dialect) as database, database.session(settings):
        agree(model, rows_of(X), scored(database, model, rows_of(X)))


def test_a_table_that_is_named_like_the_lookup(database):
    model, X = fitted_on_texts("number")
    rows = rows_of(X)
    database.write("values_0", rows)
    sql = model.to_sql("values_0", dialect=database.dialect)
    database.run(f"CREATE VIEW scores AS {sql}")
    found = np.sort(database.read("SELECT * FROM scores")["prediction"].to_numpy(float))
    np.testing.assert_allclose(found, np.sort(model.predict(rows)), rtol=1e-5)
    database.run("DROP VIEW scores")


def onnx_scores(model, rows, missing_text=""):
    proto = model.to_onnx(missing_text=missing_text)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    feed = {
        "city": rows[["city"]].fillna(missing_text).to_numpy(object),
        "code": rows[["code"]].fillna(missing_text).to_numpy(object),
        "income": rows[["income"]].to_numpy(float),
    }
    return session.run(None, feed)[-1]


@pytest.mark.parametrize("missing_text", ["", "(none)"])
@pytest.mark.parametrize(("task", "deep"), MODELS)
def test_onnx(task, deep, missing_text):
    model, X = fitted_on_texts(task, deep)
    rows = rows_of(X)
    agree(model, rows, onnx_scores(model, rows, missing_text))


def test_onnx_uses_a_hash_table_only_for_usual_outcomes():
    model, X = fitted_on_texts("number")
    domains = {opset.domain: opset.version for opset in model.to_onnx().opset_import}
    assert domains == {"": 19, "ai.onnx.ml": 2}
    plain = NeuralRuleRegressor(2, usual_outcomes=False, n_epochs=2, random_state=0)
    plain.fit(X, network_outputs(model, X)[:, 0])
    assert {opset.domain for opset in plain.to_onnx().opset_import} == {""}


def test_onnx_refuses_a_missing_text_that_a_value_without_an_indicator_has():
    model, _ = fitted_on_texts("number")
    (usual, *_) = (c for c in model.encoder_.columns if isinstance(c, Usual) and c.source == 0)
    with pytest.raises(ValueError, match="is a category of column 'city'"):
        model.to_onnx(missing_text=usual.values.names[-1])


@pytest.mark.parametrize(("task", "deep"), MODELS)
def test_python(task, deep):
    model, X = fitted_on_texts(task, deep)
    rows = rows_of(X)
    source, module = model.to_python(), {}
    assert source.isascii()
    exec(source, module)
    if hasattr(model, "classes_"):
        answers = [module["predict_proba"](row) for row in rows.to_dict("records")]
        found = [[answer[label] for label in model.classes_] for answer in answers]
    else:
        found = [module["predict"](row) for row in rows.to_dict("records")]
    agree(model, rows, found)


@cache
def many(n_values):
    """A model with a column of this many texts, and rows with all of them."""
    rng = np.random.RandomState(0)
    own = rng.permutation(n_values) / n_values
    place = np.repeat(np.arange(n_values), 3)
    products = [f"it's product {i}" for i in place]
    X = pd.DataFrame({"product": products, "other": rng.rand(len(place))})
    model = NeuralRuleRegressor(3, n_trees=2, n_epochs=2, early_stopping=False, random_state=0)
    model.fit(X, own[place] + 0.1 * X["other"])
    rows = X.iloc[::3].reset_index(drop=True)
    rows.loc[:1, "product"] = [None, "unseen"]
    assert len(model.encoder_.values_of(0).names) == n_values
    return model, rows


SIZES = [20_000, pytest.param(100_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("n_values", SIZES)
def test_sql_of_many_values(database, n_values):
    model, rows = many(n_values)
    sql = model.to_sql("rows", dialect=database.dialect)
    assert sql.count("(VALUES\n") == n_values // MOST_ROWS
    agree(model, rows, scored(database, model, rows))


@pytest.mark.parametrize("n_values", SIZES)
def test_onnx_of_many_values(n_values):
    model, rows = many(n_values)
    proto = model.to_onnx()
    assert proto.ByteSize() < 60 * n_values
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    feed = {
        "product": rows[["product"]].fillna("").to_numpy(object),
        "other": rows[["other"]].to_numpy(),
    }
    agree(model, rows, session.run(None, feed)[0])


@pytest.mark.parametrize("n_values", SIZES)
def test_python_of_many_values(n_values):
    model, rows = many(n_values)
    module: dict = {}
    exec(model.to_python(), module)
    agree(model, rows, [module["predict"](row) for row in rows.to_dict("records")])


def test_texts_that_no_cell_can_hold_are_left_out(database):
    """PostgreSQL has no NUL in texts, and no database has lone surrogates."""
    texts = np.repeat([f"{mark}{i}" for i in range(40) for mark in ("\ud800", "\0", "a")], 4)
    X, y = texts.astype(object)[:, None], np.arange(len(texts)) % 480 / 4
    model = NeuralRuleRegressor(3, n_trees=2, n_epochs=2, random_state=0).fit(X, y)
    used = [model.encoder_.columns[feature] for feature in model.network_.features]
    assert any(isinstance(column, Usual) for column in used)
    held = ["a"] if database.dialect == "postgresql" else ["a", "\0"]
    rows = pd.DataFrame({"x0": [text for text in dict.fromkeys(texts) if text[0] in held]})
    agree(model, rows.to_numpy(), scored(database, model, rows))


def test_every_export_states_how_many_values_it_has():
    model, _ = fitted_on_texts("number")
    used = {model.encoder_.columns[feature] for feature in model.network_.features}
    sources = {column.source for column in used if isinstance(column, Usual)}
    n_values = sum(len(model.encoder_.values_of(source).names) for source in sources)
    says = f"with the usual outcomes of {n_values} values"
    for text in (model.to_sql("rows"), model.to_python(), model.to_onnx().doc_string):
        assert says in " ".join(text.split())


def test_names_in_the_query_are_readable():
    model, _ = fitted_on_texts("two numbers")
    assert re.search(r"AS x\d+_city_usual", model.to_sql("rows"))
