"""The model as one SELECT, run by real databases."""

import os
import re
import subprocess
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from databases import DIALECTS, connected, postgresql_binaries, quoted
from hypothesis import given, settings
from hypothesis import strategies as st
from models import (
    EVERY_MODEL,
    fitted,
    mixed_table,
    network_outputs,
    simplified,
    with_network,
)
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from neuralrules import NeuralRuleClassifier, NeuralRuleClassifierCV, NeuralRuleRegressor
from neuralrules._data._columns import Number
from neuralrules._export import _sql_dialects
from neuralrules._export._extras import size_text
from neuralrules._network._network import Network

HOSTILE = [
    "plain",
    "it's",
    'a "quoted" one',
    "'; DROP TABLE rows; --",
    '"; DROP TABLE rows; --',
    "/* comment */ -- comment",
    "line\nbreak\r\n",
    "back\\slash\\'",
    "%s {cell} $1 :name ?",
    "Ünïcødé 数字 🙂",
    "trailing blank ",
    " ",
    "$$",
    "E'x'",
]


@pytest.fixture(scope="module")
def postgresql():
    with connected("postgresql") as connection:
        yield connection


@pytest.fixture(scope="module", params=DIALECTS)
def database(request):
    if request.param == "postgresql":
        yield request.getfixturevalue("postgresql")
    else:
        with connected(request.param) as connection:
            yield connection


def named(model, X):
    """The rows of an array as a frame with the names that the model gives its columns."""
    if isinstance(X, np.ndarray):
        return pd.DataFrame(X, columns=model.encoder_.names)
    return X.to_pandas() if isinstance(X, pl.DataFrame) else X


def score(database, model, X, *, table="rows", types=None):
    """What the SELECT returns for some rows, in their order."""
    frame = named(model, X)
    frame = frame.assign(**{"row number": np.arange(len(frame))})
    database.write(table, frame, types)
    sql = model.to_sql(table, dialect=database.dialect, keep=["row number"])
    result = database.read(sql)
    assert result.columns[0] == "row number"
    assert len(database.read(f"SELECT * FROM {quoted(table)}")) == len(frame)
    result = result.sort_values("row number", ignore_index=True)
    assert result["row number"].tolist() == list(range(len(frame)))
    return result.drop(columns="row number")


def agree(model, X, result):
    """Predictions of a database are those of the model, within 1e-5."""
    decided = network_outputs(model, X)
    n_labels = 1 if hasattr(model, "classes_") else 0
    # Not decimals, which are slow and need not fit.
    assert {type(cell) for cell in result.iloc[:, n_labels:].to_numpy().ravel()} == {float}
    if not hasattr(model, "classes_"):
        expected = decided
        assert list(result) == (
            ["prediction"]
            if decided.shape[1] == 1
            else [f"prediction_{i}" for i in range(decided.shape[1])]
        )
        # Rows far outside those of training predict far outside their spread.
        tolerance = 1e-5 * np.maximum(
            model.fitted_.task.scale, np.abs(decided - model.fitted_.task.centre)
        )
        assert (np.abs(result.to_numpy(float) - expected) <= tolerance).all()
        return
    numbers = result.iloc[:, 1:].to_numpy(float)
    if model.loss == "logistic":
        assert list(result) == ["prediction", *(f"probability_{c}" for c in model.classes_)]
        np.testing.assert_allclose(numbers, model.predict_proba(X), rtol=0, atol=1e-5)
        np.testing.assert_allclose(numbers.sum(axis=1), 1, rtol=1e-12)
    else:
        np.testing.assert_allclose(numbers, decided, rtol=1e-5, atol=1e-5)
    best = np.sort(np.hstack([decided, 0 * decided]) if decided.shape[1] == 1 else decided)
    clear = (best[:, -1] - best[:, -2] > 1e-5) | (best == 0).all(axis=1)
    assert clear.mean() > 0.9
    predicted = model.predict(X).tolist()
    given = [type(a)(b) for a, b in zip(predicted, result["prediction"], strict=True)]
    assert [a for a, b in zip(given, clear, strict=True) if b] == [
        a for a, b in zip(predicted, clear, strict=True) if b
    ]


def all_kinds_of_rows(model, X):
    """Rows as in training, at thresholds of rules, with holes, and unlike all of them."""
    rng = np.random.RandomState(0)
    frame = named(model, X).sample(240, replace=True, random_state=0).reset_index(drop=True)
    frame = frame.astype({name: float for name in frame if frame[name].dtype.kind in "iu"})
    encoder, rules = model.encoder_, model.rules_
    for row, (feature, threshold) in enumerate(
        zip(rules.features[:60], rules.thresholds[:60], strict=True)
    ):
        column = encoder.columns[feature]
        if isinstance(column, Number):
            value = column.original(float(threshold))
            frame.loc[row, encoder.names[column.source]] = value
    for name in frame.columns:
        holes = rng.rand(len(frame)) < 0.2
        holes[:60] = False
        frame[name] = frame[name].where(~holes, None)
        if frame[name].dtype.kind != "f":
            frame.loc[rng.rand(len(frame)) < 0.1, name] = "Atlantis"
        else:
            frame.loc[rng.rand(len(frame)) < 0.02, name] *= 1e3
    frame.loc[239] = None  # nothing but holes
    return frame.to_numpy(float) if isinstance(X, np.ndarray) else frame


def test_every_dialect_is_tried():
    assert list(_sql_dialects.DIALECTS) == list(DIALECTS)


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_a_database_predicts_what_the_model_predicts(database, kind, deep):
    model, X, _ = fitted(kind, deep)
    rows = all_kinds_of_rows(model, X)
    agree(model, rows, score(database, model, rows))


def test_every_type_of_column(database, mixed_frame):
    """Booleans, integers and text are cast; a category may be an integer."""
    frame, y = mixed_frame
    model = NeuralRuleClassifier(3, rule_source="forest", n_trees=8, n_epochs=2, random_state=0)
    model.fit(frame, y)
    used = {model.encoder_.columns[feature].source for feature in model.network_.features}
    assert len(used) == frame.shape[1]
    types = {"code": "smallint", "income": "real", "age": "numeric(5, 2)"}
    rows = frame.assign(income=frame["income"].astype(np.float32).astype(float))
    agree(model, rows, score(database, model, rows, types=types))


def test_numbers_may_be_nan_and_integers(database):
    model, X, _ = fitted("mixed")
    rows = X.head(60).assign(income=X["income"].head(60).round())
    agree(model, rows, score(database, model, rows, types={"income": "bigint"}))
    expected = score(database, model, rows.assign(income=np.nan))
    frame = rows.assign(income=np.nan)
    database.write("rows", frame)
    if database.dialect != "sqlite":  # which takes NaN for NULL itself
        database.run("UPDATE rows SET income = 'NaN'")
    result = database.read(model.to_sql("rows", dialect=database.dialect))
    pd.testing.assert_frame_equal(result, expected)


@pytest.mark.parametrize("spread", [1e-3, 1.0, 1e3])
def test_columns_far_from_zero_do_not_cancel(database, spread):
    rng = np.random.RandomState(0)
    X = np.column_stack([1e6 + spread * rng.randn(300), -1.6e12 + spread * rng.randn(300)])
    y = (X[:, 0] - 1e6) / spread + 3 * (X[:, 1] > -1.6e12)
    model = NeuralRuleRegressor.paper(3, n_epochs=10, random_state=0).fit(X, y)
    assert len(model.network_.features) == 2
    rows = all_kinds_of_rows(model, X)[:200]
    agree(model, rows, score(database, model, rows))


def test_hostile_names_categories_and_labels(database):
    rng = np.random.RandomState(0)
    names = [f"{text} {place}" for place, text in enumerate(HOSTILE)]
    frame = pd.DataFrame(rng.randn(400, len(names)), columns=names)
    frame['"city"\';--'] = rng.choice(HOSTILE, 400)
    labels = np.array([f"{text}!" for text in HOSTILE], object)
    best = frame[names].to_numpy() + 3 * (
        frame['"city"\';--'].to_numpy()[:, None] == np.array(HOSTILE, object)
    )
    model = NeuralRuleClassifier(
        6, n_epochs=20, rule_source="forest", n_trees=4, random_state=0
    )
    model.fit(frame, labels[best.argmax(axis=1)])
    kinds = {model.encoder_.columns[feature].stored_as for feature in model.network_.features}
    assert {"number", "category"} <= kinds
    agree(model, frame, score(database, model, frame))


def test_hostile_names_of_tables(database):
    model, X, _ = fitted("three classes")
    for table in [*HOSTILE, "select", "t", "cells", "encoded", "rules", "Outputs", "total"]:
        agree(model, X[::15], score(database, model, X[::15], table=table))
        database.run(f"DROP TABLE {quoted(table)}")


@settings(max_examples=15)
@given(st.lists(st.text(max_size=8), min_size=2, max_size=5, unique=True), st.data())
def test_categories_are_compared_exactly(texts, data):
    """Any two different texts are different categories."""
    y = np.repeat(np.arange(len(texts)) % 2, 10)
    X = np.repeat(np.array(texts, object), 10)[:, None]
    model = NeuralRuleClassifier.paper(4, n_epochs=5, min_samples_leaf=1, random_state=0).fit(
        X, y
    )
    others = data.draw(st.lists(st.text(max_size=8), max_size=3))
    rows = np.array([*texts, *others, *(text + " " for text in texts)], object)[:, None]
    for dialect in ("duckdb", "sqlite"):
        with connected(dialect) as database:
            agree(model, rows, score(database, model, rows, types={"x0": "text"}))


CATEGORIES = ["Rome", "rome", "Rome ", "", "NULL", "true", "1", "Röm", "Ro\\me", "x" * 300]


def by_category(texts):
    """A model that tells texts apart by their place in a list, and rows with all of them."""
    X = np.repeat(np.array(texts, object), 6)[:, None]
    y = np.repeat(np.arange(len(texts), dtype=float), 6)
    model = NeuralRuleRegressor.paper(None, n_epochs=0, min_samples_leaf=1, random_state=0).fit(
        X, y
    )
    return model, np.array([*texts, "elsewhere", None], object)[:, None]


@pytest.mark.parametrize("declared", ["text", "text collate nocase"])
def test_case_and_blanks_count(database, declared):
    """Whatever collation the column has."""
    model, rows = by_category(CATEGORIES)
    declared = {"x0": declared}
    result = score(database, model, rows, types=declared)
    assert result["prediction"].nunique() >= len(CATEGORIES)
    agree(model, rows, result)
    trimmed = np.array([[text and text.strip()] for text in rows[:, 0]], object)
    agree(model, trimmed, score(database, model, trimmed, types=declared))


@pytest.mark.parametrize("texts", [["ab", "ab  ", "abcd"], ["ab  ", "c   ", "abcd"]])
def test_blanks_that_pad_characters_are_read_as_by_a_client(postgresql, texts):
    model, _ = by_category(texts)
    cells = pd.DataFrame({"x0": ["ab", "c", "abcd", None]})
    postgresql.write("rows", cells, {"x0": "char(4)"})
    read = postgresql.read("SELECT * FROM rows")
    assert read["x0"].tolist() == ["ab  ", "c   ", "abcd", None]
    agree(model, read.to_numpy(), postgresql.read(model.to_sql("rows")))


def test_booleans_stand_for_true_and_false(database):
    texts = np.array([["True"], ["False"], [None]] * 20, object)
    model = NeuralRuleClassifier.paper(2, n_epochs=5, random_state=0)
    model.fit(texts, np.arange(60) % 3 == 0)
    for types, cells in (
        ({"x0": "boolean"}, [True, False, None]),
        ({}, ["True", "False", None]),
    ):
        frame = pd.DataFrame({"x0": pd.Series(cells, dtype=object)})
        database.write("rows", frame, types)
        result = database.read(model.to_sql("rows", dialect=database.dialect))
        found = result.filter(like="probability").to_numpy(float)
        np.testing.assert_allclose(found, model.predict_proba(texts[:3]), atol=1e-6)


def test_categories_that_no_cell_can_hold(database):
    """PostgreSQL's text has no NUL, and no database has lone surrogates."""
    texts = ["a", "a\0", "a\0b'", "\ud800", "b"]
    model, rows = by_category(texts)
    impossible = texts[1:4] if database.dialect == "postgresql" else texts[3:4]
    rows = np.array([[text] for text in rows[:, 0] if text not in impossible], object)
    agree(model, rows, score(database, model, rows))


def test_rare_categories_where_no_cell_can_hold_the_others(database):
    X = np.array([[f"\ud800{i // 4}"] for i in range(400)], object)
    X[300:] = [[f"rare {i}"] for i in range(100)]
    model = NeuralRuleRegressor.paper(3, n_epochs=2, random_state=0).fit(
        X, np.arange(400) >= 300
    )
    kinds = [model.encoder_.columns[feature].stored_as for feature in model.network_.features]
    assert "rare" in kinds
    rows = np.array([["rare 1"], ["new"], [None]], object)
    agree(model, rows, score(database, model, rows))


@pytest.mark.parametrize(
    "labels",
    [
        ["no", "yes"],
        [0, 1],
        [False, True],
        [0.0, 1.0],
        np.array([3, 7, 2**40]),
        np.array([-1.0, 7.0, 2.0**40]),
        ["a\0", "a"],
        ["ROME", "rome", "Rome"],
        ["x" * 70 + "1", "x" * 70 + "2"],
        ["ö" * 30 + "1", "ö" * 30 + "2"],  # 61 bytes in UTF-8
    ],
    ids=str,
)
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_labels_of_every_type(database, labels, loss):
    X, y = load_iris(return_X_y=True)
    options = np.array(labels, object if isinstance(labels[0], str) else None)
    model = NeuralRuleClassifier.paper(2, n_epochs=3, loss=loss, random_state=0)
    model.fit(X, options[np.minimum(y, len(options) - 1)])
    if database.dialect == "postgresql" and "a\0" in labels:
        message = (
            r"to_sql cannot write the class 'a\x00' for PostgreSQL: labels must be numbers or "
            "booleans, or strings that it can hold. Fit on y with such labels, for example "
            "their numbers."
        )
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            model.to_sql("rows")
        return
    result = score(database, model, X)
    # SQLite has no booleans.
    assert {type(label) for label in result["prediction"]} <= {type(options.tolist()[0]), int}
    kind = "probability" if loss == "logistic" else "decision"
    texts = list(map(str, labels))
    awkward = any("\0" in c or len(c.encode()) > 50 or c == "rome" for c in texts)
    classes = range(len(labels)) if awkward else model.classes_
    if loss == "hinge" and len(labels) == 2:
        assert list(result) == ["prediction", "decision"]
    else:
        assert list(result) == ["prediction", *(f"{kind}_{label}" for label in classes)]
        result.columns = ["prediction", *(f"{kind}_{label}" for label in model.classes_)]
    agree(model, X, result)


@pytest.mark.parametrize("kind", ["two classes", "three classes"])
def test_extreme_decisions_neither_overflow_nor_underflow(database, kind):
    model, X, _ = fitted(kind)
    rows = np.vstack([X[:20] * 1e6, X[:20] * -1e9])
    assert np.abs(network_outputs(model, rows)).max() > 1e4
    agree(model, rows, score(database, model, rows))


def one_column(mean=0.0, deviation=1.0, **options):
    """A model of one column of numbers, a fifth of them its mean."""
    x = mean + deviation * np.random.RandomState(0).randn(200, 1)
    x[:40] = mean
    model = NeuralRuleRegressor(n_trees=4, n_epochs=3, random_state=0, **options)
    return model.fit(x, ((x - mean) / deviation)[:, 0])


@pytest.mark.parametrize("mean", [0.0, 5.0, -1e6])
def test_cells_far_outside_are_clipped_as_by_the_model(database, mean):
    model = one_column(mean, 0.01)
    rows = np.array([[1e18], [-1e18], [1.8e19], [-1.8e19], [1e16], [mean], [np.nan]])
    assert np.abs(model.predict(rows)).max() > 1e15
    agree(model, rows, score(database, model, rows))


@pytest.mark.parametrize("deviation", [1e-279, 1.0, 1e15])
@pytest.mark.parametrize(
    "options", [{}, {"deep": True}, {"scaling": "quantile"}], ids=["plain", "deep", "quantile"]
)
def test_cells_next_to_zero_end_no_query(database, deviation, options):
    """PostgreSQL refuses products that it cannot write."""
    model = one_column(0.0, deviation, **options)
    rows = np.array([[5e-324], [-5e-324], [1e-310], [-2e-308], [0.0], [deviation], [np.nan]])
    agree(model, rows, score(database, model, rows))


@pytest.mark.parametrize("cell", [np.inf, -np.inf, 1e20, -1e300])
@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_cells_that_the_model_refuses_are_an_error(database, cell, scaling):
    model = one_column(scaling=scaling)
    rows = np.array([[0.0], [cell]])
    with pytest.raises(ValueError, match="infinity or a value too large"):
        model.predict(rows)
    with pytest.raises(Exception, match=r"column x0 holds (infinity, or a|no) number"):
        score(database, model, rows)


@pytest.mark.parametrize("kind", ["two classes", "three classes"])
def test_ties_go_to_the_first_class(database, kind):
    """Rows that no rule knows, and for three classes a tie of the last two."""
    model, X, _ = fitted(kind)
    network = model.network_
    silent = {"values": network.values * 0, "intercept": network.intercept * 0}
    silent = with_network(model, replace(network, **silent))
    result = score(database, silent, X[:3])
    assert result["prediction"].tolist() == [model.classes_[0]] * 3
    agree(silent, X[:3], result)
    if kind == "three classes":
        intercept = np.array([-1.0, 2.0, 2.0])
        silent = with_network(silent, replace(silent.network_, intercept=intercept))
        assert score(database, silent, X[:3])["prediction"].tolist() == [model.classes_[1]] * 3


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("kind", ["mixed", "two targets"])
def test_simplified_models(database, kind, deep):
    model, X, _ = fitted(kind, deep)
    small = simplified(kind, deep)
    assert small.network_.n_parameters < model.network_.n_parameters
    agree(small, X, score(database, small, X))
    assert len(small.to_sql("rows")) < len(model.to_sql("rows"))


def test_polars_and_searched_models(database):
    frame, y = mixed_table()
    rows = pl.from_pandas(frame)
    options = {"cv": 2, "n_trees": 2, "n_epochs": 3, "random_state": 0}
    model = NeuralRuleClassifierCV([{}, {"max_depth": 3}], **options)
    model.fit(rows, y)
    agree(model, rows, score(database, model, rows))


@pytest.fixture(scope="module")
def thousand_rules():
    rng = np.random.RandomState(0)
    X = rng.randn(1500, 60)
    y = np.digitize(X @ rng.randn(60), [-3, 3])
    options = {"rule_source": "forest", "n_trees": 60, "max_rules": 1100, "n_epochs": 0}
    return NeuralRuleClassifier.paper(5, **options, random_state=0).fit(X, y), X


def test_a_thousand_rules(database, thousand_rules):
    """More than one subquery can hold."""
    model, X = thousand_rules
    assert model.network_.n_rules == 1100
    assert "\noutputs_2 AS (" in model.to_sql("rows")
    agree(model, X[:50], score(database, model, X[:50]))


def test_rules_of_many_literals_and_columns(database):
    """More literals than a function of SQLite takes arguments, and sums as long."""
    n = 130
    rng = np.random.RandomState(0)
    X = rng.randn(400, n)
    for deep in (False, True):
        model = NeuralRuleRegressor.paper(2, deep=deep, n_epochs=0, random_state=0).fit(
            X, X[:, 0]
        )
        weights, mixing = np.eye(n, dtype=np.float32), np.eye(n, dtype=np.float32)
        weights[7], mixing[9] = 0.3 * rng.randn(n), 0.01 * rng.randn(n)
        network = Network.dense(
            weights=weights,
            biases=rng.uniform(2, 3, n).astype(np.float32),
            offsets=np.array([0, n]),
            values=np.ones((1, 1), np.float32),
            features=np.arange(n, dtype=np.int32),
            intercept=np.ones(1),
            mixing=mixing.ravel() if deep else np.empty(0, np.float32),
            shifts=np.ones(n, np.float32) if deep else np.empty(0, np.float32),
            origins=np.full(n, -1),
        )
        model = with_network(model, network)
        assert model.predict(X[:30]).std() > 0
        agree(model, X[:30], score(database, model, X[:30]))


@pytest.mark.parametrize(
    ("dialect", "step"), [("postgresql", "Subquery Scan on {}"), ("sqlite", "CO-ROUTINE {}")]
)
def test_subqueries_are_computed_once(request, dialect, step):
    """They stay apart, and stream; copied into each other they would take hours."""
    database = request.getfixturevalue("postgresql") if dialect == "postgresql" else None
    model, X, _ = fitted("three classes", True)
    with nullcontext(database) if database else connected(dialect) as database:
        score(database, model, X)
        explain = "EXPLAIN" if dialect == "postgresql" else "EXPLAIN QUERY PLAN"
        plan = database.read(f"{explain} {model.to_sql('rows', dialect=dialect)}")
        text = "\n".join(map(str, plan.iloc[:, -1]))
    for name in ("cells", "encoded", "literals", "rules", "outputs", "compared", "powers"):
        assert step.format(name) in text
    assert "MATERIALIZE" not in text


@pytest.mark.parametrize("kind", ["mixed", "two targets", "constant"])
def test_it_is_one_statement_that_can_be_a_view(database, kind):
    model, X, _ = fitted(kind)
    expected = score(database, model, X)
    sql = model.to_sql("rows", dialect=database.dialect)
    assert sql.endswith("\n")
    assert ";" not in sql
    database.run("DROP VIEW IF EXISTS scored")
    database.run(f"CREATE VIEW scored AS {sql}")
    pd.testing.assert_frame_equal(database.read("SELECT * FROM scored"), expected)
    names = ", ".join(map(quoted, expected.columns))
    pd.testing.assert_frame_equal(database.read(f"SELECT {names} FROM ({sql}) AS s"), expected)
    database.run("DROP VIEW scored")


def test_tables_in_a_schema(database):
    model, X, _ = fitted("mixed")
    expected = score(database, model, X, table="a.b")
    schema = "main" if database.dialect != "postgresql" else "public"
    sql = model.to_sql((schema, "a.b"), dialect=database.dialect)
    assert f'FROM "{schema}"."a.b" AS t' in sql
    pd.testing.assert_frame_equal(database.read(sql), expected)


def test_names_longer_than_postgresql_keeps(database):
    model, X, _ = fitted("three classes")
    long = {name: "ü" * 40 + f"{place}" for place, name in enumerate(model.encoder_.names)}
    frame = named(model, X)
    one = frame[["x2"]].rename(columns=long)
    short = NeuralRuleClassifier.paper(2, n_epochs=3, random_state=0).fit(
        one, load_iris().target
    )
    agree(short, one, score(database, short, one))


def test_a_missing_column_is_an_error_and_not_text(database):
    model, X, _ = fitted("mixed")
    database.write("rows", X.drop(columns="city"))
    with pytest.raises(Exception, match="city"):
        database.read(model.to_sql("rows", dialect=database.dialect))


def test_a_file_of_it_runs_in_the_shell(postgresql, tmp_path):
    model, X, _ = fitted("mixed")
    expected = score(postgresql, model, X)["prediction"]
    (tmp_path / "score.sql").write_text(model.to_sql("rows"))
    folder = postgresql.connection.info.host
    shell = [postgresql_binaries() / "psql", "-h", folder, "-U", "postgres", "--csv", "-f"]
    run = subprocess.run(
        [*shell, tmp_path / "score.sql"], capture_output=True, check=True, text=True
    )
    assert [line.split(",")[0] for line in run.stdout.splitlines()[1:]] == list(expected)


def test_the_shells_encoding_changes_no_category(postgresql, tmp_path):
    """A file of UTF-8 runs in a shell that takes it for Latin 1, as on Windows."""
    model, rows = by_category(["Röm", "Rom", "数字 🙂", "it's\\ü"])
    expected = score(postgresql, model, rows)["prediction"].astype(float)
    (tmp_path / "score.sql").write_text(model.to_sql("rows"), encoding="utf-8")
    folder = postgresql.connection.info.host
    shell = [postgresql_binaries() / "psql", "-h", folder, "-U", "postgres", "--csv", "-f"]
    run = subprocess.run(
        [*shell, tmp_path / "score.sql"],
        capture_output=True,
        check=True,
        text=True,
        env=os.environ | {"PGCLIENTENCODING": "LATIN1"},
    )
    np.testing.assert_allclose([float(line) for line in run.stdout.splitlines()[1:]], expected)


def test_it_states_its_size_and_is_readable():
    model, _, _ = fitted("mixed")
    sql = model.to_sql("rows", dialect="postgresql")
    assert sql.startswith(
        f"-- {size_text(model.fitted_)}.\n-- Written by neuralrules for PostgreSQL.\n"
    )
    assert "GREATEST(0, LEAST(\n" in sql
    assert (
        "CASE WHEN c2_city = 'Rome' THEN 1 ELSE 0 END AS DOUBLE PRECISION) AS x6_city_is_rome"
        in sql
    )
    network = model.network_
    # One line a literal.
    assert len(re.findall(r"^ {6}-?\d[^*\n]+\* x", sql, re.MULTILINE)) == network.n_literals


def test_numbers_have_every_digit():
    model, _, _ = fitted("numbers")
    sql = model.to_sql("rows")
    for value in model.network_.values[:, 0].tolist():
        assert f"{abs(value)!r} * r" in sql
    assert repr(float(model.network_.intercept[0])) in sql


def tiny(names, n_rows=40):
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(rng.randn(n_rows, len(names)), columns=list(names))
    y = np.sign(frame.to_numpy()).sum(axis=1)
    return NeuralRuleRegressor.paper(4, n_epochs=1, min_samples_leaf=1, random_state=0).fit(
        frame, y
    )


LONG = "x" * 63
WRONG = [
    ({"dialect": "mysql"}, "dialect='mysql' must be one of 'postgresql', 'duckdb', 'sqlite'."),
    (
        {"dialect": ["sqlite"]},
        "dialect=['sqlite'] must be one of 'postgresql', 'duckdb', 'sqlite'.",
    ),
    *(
        (
            {"table": table},
            f"table={table!r} must be a name, or a tuple of names such as ('schema', 'table').",
        )
        for table in (3, (), ("a", 3), ["a", "b"])
    ),
    *(
        (
            {"table": table},
            f"table={table!r} holds the name {name!r}, but names in SQL have at least one "
            "character, and neither NUL nor lone surrogates. Rename it, and fit again if it is "
            "a column of the model.",
        )
        for table, name in (("", ""), (("a", "b\0"), "b\0"), ("\ud800", "\ud800"))
    ),
    *(
        (
            {"keep": keep},
            f"keep={keep!r} must be a list of names of columns, for example keep=['id'].",
        )
        for keep in ("id", 3, [3], {"id"})
    ),
    (
        {"keep": [""]},
        "keep=[''] holds the name '', but names in SQL have at least one character, and "
        "neither NUL nor lone surrogates. Rename it, and fit again if it is a column of the "
        "model.",
    ),
    (
        {"keep": ["id", "id"]},
        "The result's columns 'id' and 'id' would be one: PostgreSQL takes names with the same "
        "first 63 bytes for the same. Rename one of them.",
    ),
    (
        {"keep": [f"{LONG}1", f"{LONG}2"]},
        f"The result's columns '{LONG}1' and '{LONG}2' would be one: PostgreSQL takes names "
        "with the same first 63 bytes for the same. Rename one of them.",
    ),
    (
        {"keep": ["Prediction"], "dialect": "sqlite"},
        "The result's columns 'Prediction' and 'prediction' would be one: SQLite takes names "
        "that differ only in case for the same. Rename one of them.",
    ),
    (
        {"keep": [f"column {place}" for place in range(997)]},
        "The subqueries would carry 1,001 columns, 2 encoded ones, 997 to keep and two for "
        "each of 1 outputs, but may carry 1,000. Simplify the model, or keep fewer columns.",
    ),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_what_is_refused(options, message):
    model = tiny(["a", "b"])
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.to_sql(**{"table": "rows"} | options)


def test_names_of_the_models_columns_that_are_refused():
    for names, dialect, message in (
        (
            ["a", "A"],
            "duckdb",
            "The model's columns 'a' and 'A' would be one: DuckDB takes names that differ only "
            "in case for the same. Rename one of them.",
        ),
        (
            [f"{LONG}1", f"{LONG}2"],
            "postgresql",
            f"The model's columns '{LONG}1' and '{LONG}2' would be one: PostgreSQL takes names "
            "with the same first 63 bytes for the same. Rename one of them.",
        ),
        (
            ["a", "\0"],
            "sqlite",
            r"The model holds the name '\x00', but names in SQL have at least one character, "
            "and neither NUL nor lone surrogates. Rename it, and fit again if it is a column "
            "of the model.",
        ),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            tiny(names).to_sql("rows", dialect=dialect)
    assert tiny(["a", "A"]).to_sql("rows", dialect="postgresql")
    assert tiny(["ä", "Ä"]).to_sql("rows", dialect="sqlite")


def test_as_many_columns_as_fit(database):
    """The widest result that is not refused runs."""
    model = tiny(["a", "b"])
    names = [f"column {place}" for place in range(996)]
    frame = pd.DataFrame(np.zeros((2, 998)), columns=["a", "b", *names])
    database.write("rows", frame)
    sql = model.to_sql("rows", dialect=database.dialect, keep=names)
    assert database.read(sql).shape == (2, 997)


def test_it_must_be_fitted():
    with pytest.raises(NotFittedError):
        NeuralRuleClassifier().to_sql("rows")
