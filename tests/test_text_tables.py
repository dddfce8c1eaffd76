"""Databases' tables of text: read as the command line reads a file, or refused."""

from __future__ import annotations

import csv
import sqlite3

import numpy as np
import pandas as pd
import pytest
from command_line import done
from databases import DIALECTS, connected

from neuralrules import NeuralRuleRegressor, load


@pytest.fixture(scope="module")
def table():
    """Numbers, flags and holes, and a model that leans on all of them."""
    rng = np.random.default_rng(0)
    n = 300
    X = pd.DataFrame({"income": rng.normal(5e4, 2e4, n), "flag": rng.random(n) < 0.5})
    X["debt"] = rng.exponential(1e4, n).round()
    y = X["income"] / 1e4 + 3 * X["flag"] + X["debt"] / 1e4
    X.loc[::5, "income"] = np.nan
    X.loc[::7, "debt"] = np.nan
    y = y + X["debt"].isna() * 4 + X["income"].isna() * 4
    return X, NeuralRuleRegressor(n_trees=8, n_epochs=20, random_state=0).fit(X, y)


@pytest.fixture(scope="module", params=DIALECTS)
def database(request):
    with connected(request.param) as connection:
        yield connection


def scores(database, model):
    """Predictions by row, or the database's error."""
    scored = database.read(model.to_sql("rows", dialect=database.dialect, keep=["row"]))
    scored["row"] = scored["row"].astype(int)
    return scored.sort_values("row")["prediction"].to_numpy(float)


def as_text(X):
    texts = X.map(lambda cell: "" if pd.isna(cell) else str(cell))
    return texts.assign(row=[str(i) for i in range(len(X))])


def test_what_sqlite_imports_is_scored_as_the_command_line_does(table, tmp_path):
    X, model = table
    model.save(tmp_path / "model.nrules")
    texts = as_text(X)
    texts.loc[0, "debt"], texts.loc[1, "debt"], texts.loc[2, "debt"] = "NA", " 1e3 ", "+5."
    texts.loc[3, "flag"], texts.loc[4, "flag"] = "TRUE", "0"
    texts.to_csv(tmp_path / "rows.csv", index=False, quoting=csv.QUOTE_ALL)
    with connected("sqlite") as database:
        database.write("rows", texts)
        found = scores(database, model)
    output = tmp_path / "scores.csv"
    done("predict", tmp_path / "model.nrules", tmp_path / "rows.csv", "--output", output)
    expected = pd.read_csv(output)["prediction"]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(found[5:], model.predict(X)[5:], rtol=1e-5)


@pytest.mark.parametrize(
    "text", ["", "abc", "12abc", "1,861", "True", "x'00'", "2020-01-01", " ", "--5", "1e"]
)
def test_a_text_is_a_right_score_or_an_error(text, table, database):
    X, model = table
    texts = as_text(X.iloc[[1]]).assign(debt=text)
    database.write("rows", texts)
    right = {"": np.nan, "True": 1.0}
    if database.dialect == "sqlite" and text in right:
        expected = model.predict(X.iloc[[1]].assign(debt=right[text]))
        np.testing.assert_allclose(scores(database, model), expected, rtol=1e-5)
        return
    with pytest.raises(Exception, match=r"(?i)convert|invalid input syntax|path"):
        scores(database, model)


def test_sqlite_names_the_column_and_the_cell(table):
    X, model = table
    with connected("sqlite") as database:
        database.write("rows", as_text(X.iloc[[1]]).assign(debt="1,861"))
        with pytest.raises(sqlite3.OperationalError, match=r"column debt .* but 1,861"):
            scores(database, model)


def test_numbers_in_text_are_read_by_all(table, database):
    X, model = table
    whole = X.dropna().reset_index(drop=True).assign(flag=lambda frame: frame["flag"] * 1)
    database.write("rows", as_text(whole))
    np.testing.assert_allclose(scores(database, model), model.predict(whole), rtol=1e-5)


def test_digits_that_a_session_hides_are_an_error(table):
    """A column of zeros and ones may hold 0.25, which would be 0.2 in such a session."""
    X, model = table
    rows = X.head(4).assign(flag=[0.0, 1.0, 0.25, 1.0], row=range(4))
    with connected("postgresql") as database:
        database.write("rows", rows)
        expected = model.predict(rows[list(X)])
        for digits in (0, 3):
            with database.session({"extra_float_digits": str(digits)}):
                np.testing.assert_allclose(scores(database, model), expected, rtol=1e-5)
        with (
            database.session({"extra_float_digits": "-14"}),
            pytest.raises(Exception, match="run SET extra_float_digits = 1 first, column flag"),
        ):
            scores(database, model)


@pytest.mark.parametrize("declared", ["text", "text collate nocase"])
def test_flags_in_text_have_no_case(table, database, declared):
    """DuckDB refuses such text."""
    X, model = table
    rows = X.head(4).assign(row=range(4))
    expected = model.predict(rows.assign(flag=[1.0, 0.0, 1.0, 0.0])[list(X)])
    texts = rows.assign(flag=["TRUE", "False", "1", "0"])
    database.write("rows", texts, {"flag": declared})
    if database.dialect == "duckdb":
        with pytest.raises(Exception, match="Could not convert string 'TRUE'"):
            scores(database, model)
        return
    np.testing.assert_allclose(scores(database, model), expected, rtol=1e-5)


@pytest.mark.parametrize("declared", ["text", "text collate nocase"])
def test_what_means_missing_has_a_case(table, declared):
    X, model = table
    with connected("sqlite") as database:
        for text in ("NA", "na"):
            database.write("rows", X.head(1).assign(debt=text, row=0), {"debt": declared})
            if text == "NA":
                expected = model.predict(X.head(1).assign(debt=np.nan))
                np.testing.assert_allclose(scores(database, model), expected, rtol=1e-5)
            else:
                with pytest.raises(sqlite3.OperationalError, match=r"column debt .* but na"):
                    scores(database, model)


def test_duckdb_reads_a_file_as_text(table, tmp_path):
    """As read_csv(all_varchar=true) does, which makes NULL of empty cells."""
    X, model = table
    X = X.assign(flag=X["flag"] * 1)
    X.assign(row=range(len(X))).to_csv(tmp_path / "rows.csv", index=False)
    with connected("duckdb") as database:
        database.run(
            f"CREATE TABLE rows AS FROM read_csv('{tmp_path / 'rows.csv'}', all_varchar=true)"
        )
        np.testing.assert_allclose(scores(database, model), model.predict(X), rtol=1e-5)


def test_what_fit_was_told_to_be_missing_is_missing_in_a_database(tmp_path, database):
    """--missing of the command line: the model remembers it, and so does its SQL."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.choice(["x", "y", "?"], 200)})
    X["target"] = X["a"] + (X["b"] == "?") * 2
    X.loc[::3, "a"] = -999
    X.to_csv(tmp_path / "rows.csv", index=False)
    model, output = tmp_path / "model.nrules", tmp_path / "scores.csv"
    done("fit", tmp_path / "rows.csv", "--target", "target", "--missing", "-999", "--missing",
         "?", "--output", model, "--n-epochs", "5")  # fmt: skip
    done("predict", model, tmp_path / "rows.csv", "--output", output)
    exported = tmp_path / "model.sql"
    done("export", model, "--format", "sql", "--table", "rows", "--dialect", database.dialect,
         "--id", "row", "--output", exported)  # fmt: skip
    database.write("rows", X.drop(columns="target").assign(row=range(len(X))))
    scored = database.read(exported.read_text()).sort_values("row")
    expected = pd.read_csv(output)["prediction"]
    np.testing.assert_allclose(
        scored["prediction"].astype(float), expected, rtol=1e-5, atol=1e-6
    )


def test_numbers_with_other_marks_are_never_misread(tmp_path, database):
    """1.861 is 1861 in the file that the model was fitted on: no cast knows that."""
    rng = np.random.default_rng(0)
    amounts = rng.integers(200, 9000, 200)
    texts = [f"{amount:,}".replace(",", ".") for amount in amounts]
    frame = pd.DataFrame({"amount": texts, "y": [f"{amount},5" for amount in amounts]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.nrules"
    marks = ("--thousands", ".", "--decimal", ",")
    done("fit", tmp_path / "t.csv", "-t", "y", "-o", model, "--n-epochs", 5,
         "--task", "regression", *marks)  # fmt: skip
    sql = load(model).to_sql("rows", dialect=database.dialect, keep=["row"])
    rows = pd.DataFrame({"amount": amounts, "row": range(200)})
    database.write("rows", rows)
    found = database.read(sql).sort_values("row")["prediction"].astype(float)
    np.testing.assert_allclose(found, load(model).predict(rows[["amount"]]), rtol=1e-5)
    database.write("rows", rows.assign(amount=texts))
    with pytest.raises(Exception, match=r"(?i)no number|path|invalid"):
        database.read(sql)


def test_a_text_that_means_missing_is_so_unless_it_is_a_category(tmp_path, database):
    """NA is a hole; but if it is the code of Namibia, it is that, in every engine."""
    rng = np.random.default_rng(0)
    for known in (["DE", "FR", None], ["DE", "FR", "NA"]):
        country = rng.choice(np.array(known, object), 240)
        y = np.array([known.index(one) for one in country]) * 10.0
        model = NeuralRuleRegressor.paper(4, n_epochs=0, random_state=0)
        model.fit(pd.DataFrame({"country": pd.Series(country, dtype=object)}), y)
        model.save(tmp_path / "m.nrules")
        expected = model.predict(pd.DataFrame({"country": pd.Series(known, dtype=object)}))
        texts = pd.DataFrame({"country": ["DE", "FR", "NA"]})
        np.testing.assert_allclose(model.predict(texts), expected, rtol=1e-6)
        texts.to_csv(tmp_path / "t.csv", index=False)
        done("predict", tmp_path / "m.nrules", tmp_path / "t.csv", "-o", tmp_path / "out.csv")
        found = pd.read_csv(tmp_path / "out.csv")["prediction"]
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        database.write("rows", texts.assign(row=range(3)))
        found = scores(database, model)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
