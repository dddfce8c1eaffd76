"""`neuralrules predict`: what it writes, what it keeps, and what it refuses."""

import io

import numpy as np
import pandas as pd
import pytest
from command_line import done, features, houses, iris, mixed, refused
from models import fitted

from neuralrules import load
from neuralrules._cli._errors import InputError
from neuralrules._cli._model_rows import check_finite
from neuralrules._cli._tables._columns import Table
from neuralrules._files import stored_model

pytestmark = pytest.mark.usefixtures("here")  # a folder with tables and models


def table(text):
    return pd.read_csv(io.StringIO(text))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "tsv.xz", "parquet"])
def test_predictions_are_those_of_the_model(suffix):
    model = load("mixed.nrules")
    X = features(mixed(), "grade")
    out = f"out.{suffix}"
    result = done("predict", "mixed.nrules", "mixed.tsv.gz", "--proba", "--decision", "-o", out)
    assert result == (0, f"Wrote predictions of 400 rows to {out}.\n", "")
    written = (
        pd.read_parquet(out)
        if suffix == "parquet"
        else pd.read_csv(out, sep=None, engine="python")
    )
    labels = ["high", "low", "middle"]
    assert list(written) == [
        "prediction",
        *(f"probability_{label}" for label in labels),
        *(f"decision_{label}" for label in labels),
    ]
    assert (written["prediction"] == model.predict(X)).all()
    scores = written.to_numpy()[:, 1:].astype(float)
    expected = np.hstack([model.predict_proba(X), model.decision_function(X)])
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    # With all their digits: few rows are scored by NumPy, not by the model's kernels.
    outputs = model.fitted_.decide(X, stored_model("mixed.nrules").deciding_engine())
    assert (scores[:, 3:] == outputs).all()


def test_predictions_are_the_same_in_chunks_of_any_size(monkeypatch):
    """Also where a column of text that the model looks at is kept as it is."""
    fitted = load("mixed.nrules").fitted_
    assert "city" in [fitted.encoder.names[source] for source in fitted.used_columns]
    arguments = ("predict", "mixed.nrules", "mixed.tsv.gz", "--id", "city", "--proba")
    whole = done(*arguments).out
    batches = Table.batches
    monkeypatch.setattr(Table, "batches", lambda self, names: batches(self, names, n_rows=7))
    assert done(*arguments).out == whole


def test_identifiers_are_kept_as_they_are(here):
    lines = (here / "new.csv").read_text().splitlines()
    ids = ["plant", "007", "NA", "", "1e3", '"a,b"', " x ", *["p"] * 144]
    (here / "ids.csv").write_text(
        "\n".join(
            f"{one},{line.partition(',')[2]}" for one, line in zip(ids, lines, strict=True)
        )
    )
    shown = done("predict", "iris.nrules", "ids.csv", "--id", "plant").out.splitlines()
    assert [line.rpartition(",")[0] for line in shown] == ids


def test_a_column_of_the_model_can_be_kept_too():
    kept = ("petal width (cm)", "plant", "sepal length (cm)")
    ids = [word for name in kept for word in ("--id", name)]
    shown = table(done("predict", "iris.nrules", "iris.csv", *ids).out)
    assert list(shown) == [*kept, "prediction"]
    assert (shown[list(kept)] == iris()[list(kept)]).all(axis=None)
    plain = table(done("predict", "iris.nrules", "iris.csv").out)
    assert (shown["prediction"] == plain["prediction"]).all()


def test_standard_input_and_output(here):
    text = (here / "new.csv").read_text()
    piped = done("predict", "iris.nrules", "-", "-o", "-", stdin=text)
    assert piped.out == done("predict", "iris.nrules", "new.csv").out
    assert piped.err == "Wrote predictions of 150 rows to standard output.\n"
    assert done("predict", "iris.nrules", "-", "--quiet", stdin=text).err == ""


def test_a_regression_predicts_numbers_by_the_names_of_its_targets():
    X = features(houses(), "id", "price")
    shown = table(done("predict", "houses.nrules", "houses.parquet", "--id", "id").out)
    assert list(shown) == ["id", "prediction"]
    assert (shown["prediction"] == load("houses.nrules").predict(X)).all()
    shown = table(done("predict", "two.nrules", "houses.parquet").out)
    assert list(shown) == ["bmi", "bp"]
    X = features(houses(), "id", "bmi", "bp")
    assert (shown.to_numpy() == load("two.nrules").predict(X)).all()


@pytest.mark.parametrize("kind", ["two classes", "two targets"])
def test_a_model_without_names_takes_columns_by_name_or_place(kind, here):
    model, X, _ = fitted(kind)
    model.save("a.nrules")
    n = X.shape[1]
    expected = model.predict(X).reshape(len(X), -1)
    named = pd.DataFrame(X, columns=[f"x{k}" for k in range(n)])
    named[[*named.columns[::-1]]].assign(more=1).to_csv("named.csv", index=False)
    placed = named.set_axis([f"c{k}" for k in range(n)], axis=1)
    placed.insert(0, "row", "r")
    placed.to_csv("placed.csv", index=False)
    for arguments in (["named.csv"], ["placed.csv", "--id", "row"]):
        shown = table(done("predict", "a.nrules", *arguments).out)
        assert (shown[[name for name in shown if name != "row"]] == expected).all(axis=None)
    if kind == "two targets":
        assert list(shown) == ["row", "prediction_0", "prediction_1"]
    assert refused("predict", "a.nrules", "placed.csv") == (
        f"placed.csv has {n + 1} columns to predict from, but the model was fitted on {n} "
        "columns without names. Give exactly these, in their order, or name them x0, …."
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["iris.nrules", "new.csv", "--json"],
            2,
            "--json needs --output FILE: standard output cannot hold both the predictions and "
            "a JSON document.",
        ),
        (
            ["houses.nrules", "houses.parquet", "--proba"],
            2,
            "--proba is for classes, but the model is a regression. Leave it out.",
        ),
        (
            ["houses.nrules", "houses.parquet", "--decision"],
            2,
            "--decision is for classes, but the model is a regression. Leave it out.",
        ),
        (
            ["hinge.nrules", "new.csv", "--proba"],
            2,
            "--proba needs a model that was fitted with --loss logistic; this one has --loss "
            "hinge. Fit it again, or take --decision.",
        ),
        (
            ["iris.nrules", "new.csv", "--id", "plan"],
            1,
            "--id: new.csv has no column 'plan'. Did you mean 'plant'?",
        ),
        (
            ["iris.nrules", "new.csv", "--id", "plant", "--id", "plant"],
            2,
            "--id names a column twice. Give it once.",
        ),
        (
            ["two.nrules", "houses.parquet", "--id", "bmi"],
            1,
            "--id 'bmi' has the name of a column of predictions. Rename it in houses.parquet, "
            "or leave it out.",
        ),
        (
            ["iris.nrules", "new.csv", "-o", "new.csv"],
            2,
            "--output 'new.csv' is the input 'new.csv' itself. Give another name.",
        ),
        (
            ["iris.nrules", "new.csv", "-o", "out.txt"],
            1,
            "'out.txt': the name does not tell the table's format. Give a name that ends in "
            ".csv, .tsv or .parquet (if compressed, followed by .gz, .bz2, .xz, .zst).",
        ),
    ],
)
def test_predictions_that_cannot_be_made(arguments, code, message):
    assert refused("predict", *arguments, code=code) == message


def test_a_mistake_in_the_middle_leaves_what_was_there(here, monkeypatch):
    batches = Table.batches
    monkeypatch.setattr(Table, "batches", lambda self, names: batches(self, names, n_rows=10))
    (here / "bad.csv").write_text((here / "new.csv").read_text().replace("p100,6.3", "p100,x"))
    (here / "out.csv").write_text("before")
    files = {path.name for path in here.iterdir()}
    for kept in ([], ["--id", "sepal length (cm)"]):
        line = refused("predict", "iris.nrules", "bad.csv", "-o", "out.csv", *kept)
        assert line.startswith(
            "bad.csv, row 101, column 'sepal length (cm)': 'x' is not a number."
        )
    assert (here / "out.csv").read_text() == "before"
    assert {path.name for path in here.iterdir()} == files


def test_predict_says_in_json_what_it_wrote():
    record = done("predict", "iris.nrules", "new.csv", "-o", "o.csv", "--json").record
    assert record == {"output": "o.csv", "n_rows": 150}


def test_categories_that_the_fit_did_not_see_are_said(here):
    frame = mixed().drop(columns="grade")
    frame.loc[3:5, "city"] = "Atlantis"
    frame.to_csv("new.csv", index=False)
    result = done("predict", "mixed.nrules", "new.csv", "-o", "o.csv")
    assert result.err == (
        "neuralrules: note: 3 of 400 cells of 'city' hold categories that the fit did not see, "
        "such as 'Atlantis'.\n"
    )
    assert done("predict", "mixed.nrules", "new.csv", "-o", "o.csv", "--quiet").err == ""
    assert done("predict", "mixed.nrules", "mixed.tsv.gz", "-o", "o.csv").err == ""


def test_no_rows_score_to_no_rows(here):
    header = (here / "new.csv").read_text().splitlines()[0] + "\n"
    (here / "empty.csv").write_text(header)
    arguments = ("--id", "plant", "--proba", "--decision")
    whole = done("predict", "iris.nrules", "new.csv", *arguments).out
    expected = whole.splitlines()[0] + "\n"
    shown = done("predict", "iris.nrules", "empty.csv", *arguments)
    assert (shown.out, shown.err) == (
        expected,
        "Wrote predictions of 0 rows to standard output.\n",
    )
    assert done("predict", "iris.nrules", "-", *arguments, stdin=header).out == expected
    done("predict", "iris.nrules", "empty.csv", *arguments, "-o", "empty.parquet")
    assert pd.read_parquet("empty.parquet").shape == (0, len(expected.split(",")))


@pytest.mark.parametrize("model", ["houses", "two"])
def test_no_rows_keep_the_types_of_parquet(here, model):
    houses()[:0].to_parquet("nobody.parquet")
    for data, out in (("nobody.parquet", "none.parquet"), ("houses.parquet", "some.parquet")):
        done("predict", f"{model}.nrules", data, "--id", "id", "-o", out)
    none, some = pd.read_parquet("none.parquet"), pd.read_parquet("some.parquet")
    assert len(none) == 0
    assert none.dtypes.to_dict() == some.dtypes.to_dict()


def test_a_column_that_is_not_there_may_be_one_that_looks_like_it(here):
    frame = iris()
    frame.rename(columns={"sepal width (cm)": "Sepal.Width"}).to_csv("renamed.csv", index=False)
    assert refused("predict", "iris.nrules", "renamed.csv") == (
        "renamed.csv lacks the column 'sepal width (cm)', which the model was fitted on. Did "
        "you mean 'Sepal.Width'?"
    )


def test_a_target_or_another_column_of_the_model_is_not_suggested(here):
    frame = houses()[["bmi", "bp", "price"]].set_axis(["rate_1", "rate_2", "rate"], axis=1)
    frame.to_csv("rates.csv", index=False)
    done("fit", "rates.csv", "-t", "rate", "-o", "rates.nrules", "--n-epochs", 1)
    frame.drop(columns="rate_1").to_csv("without.csv", index=False)
    assert refused("predict", "rates.nrules", "without.csv") == (
        "without.csv lacks the column 'rate_1', which the model was fitted on. Its columns are "
        "'rate_2', 'rate'."
    )


def test_texts_that_are_formulas_to_a_spreadsheet(here):
    """As they are, or, if asked for, with an apostrophe; numbers never change."""
    names = {"setosa": "=cmd|'/c calc'!A0", "versicolor": "@x", "virginica": "-1"}
    frame = iris().assign(species=iris()["species"].map(names))
    frame["plant"] = ["+1+1", "\tx", "-5", "plain", "-5x"] * 30
    frame.to_csv("formulas.csv", index=False)
    quick = ("--n-epochs", 2, "--max-depth", 2, "--n-trees", 1, "--quiet")
    done(
        "fit",
        "formulas.csv",
        "--target",
        "species",
        "--drop",
        "plant",
        "-o",
        "f.nrules",
        *quick,
    )
    arguments = ("predict", "f.nrules", "formulas.csv", "--id", "plant", "--decision")
    plain = pd.read_csv(io.StringIO(done(*arguments).out), dtype=str)
    assert set(plain["prediction"]) <= set(names.values())
    assert plain["plant"].tolist() == frame["plant"].tolist()
    safe = pd.read_csv(io.StringIO(done(*arguments, "--spreadsheet-safe").out), dtype=str)
    assert list(safe) == list(plain)
    assert safe["plant"].tolist() == ["'+1+1", "'\tx", "-5", "plain", "'-5x"] * 30
    expected = ["-1" if label == "-1" else f"'{label}" for label in plain["prediction"]]
    assert safe["prediction"].tolist() == expected
    decisions = [name for name in plain if name.startswith("decision_")]
    assert len(decisions) == 3
    assert safe[decisions].equals(plain[decisions])
    assert refused(*arguments, "--spreadsheet-safe", "-o", "out.parquet") == (
        "--spreadsheet-safe is for CSV and TSV, not for Parquet. Leave it out."
    )


def test_numbers_that_are_too_large_are_named_by_their_row_of_the_table():
    """Tables are read in chunks, whose index counts the rows of the table from 0."""
    chunk = pd.DataFrame({"a": [1.0, 2.0], "b": [0.5, -np.inf]}, index=[50_000, 50_001])
    with pytest.raises(InputError) as caught:
        check_finite(chunk, "t.csv")
    assert str(caught.value) == (
        "t.csv, row 50002, column 'b': -inf is infinite or too large to compute with. Correct "
        "the cell, or give --missing '-inf' if it means missing."
    )
