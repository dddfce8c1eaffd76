"""The commands that read a model: what they print and write, and what they refuse."""

import re
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from command_line import done, features, houses, iris, mixed, refused, run
from models import performance_on

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor, load, read_rules
from neuralrules._cli._console import Console
from neuralrules._cli._edit import simplify
from neuralrules._cli._tables._columns import Table
from neuralrules._simplify._path import TOLERANCE

pytestmark = pytest.mark.usefixtures("here")  # a folder with tables and models


# Models


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "no.nrules",
            "MODEL 'no.nrules': there is no such file. Give a file that `fit` wrote.",
        ),
        (".", "MODEL '.' is a folder. Give a file that `fit` wrote."),
        (
            "new.csv",
            "MODEL 'new.csv' is a table by its name, not a model. The model comes first: "
            "MODEL DATA.",
        ),
        (
            "cut.nrules",
            "'cut.nrules' cannot be loaded: it is cut short, within its header. Copy or save "
            "the file again.",
        ),
    ],
)
def test_a_model_that_is_none(model, message, here):
    (here / "cut.nrules").write_bytes((here / "iris.nrules").read_bytes()[:300])
    for command in (["rules", model], ["predict", model, "new.csv"]):
        assert refused(*command) == message


# evaluate


def test_evaluate_prints_a_table_and_the_confusion():
    model = load("iris.nrules")
    frame = iris().iloc[::3]
    y = frame["species"].to_numpy(object)
    expected = performance_on(model, features(frame, "plant", "species"), y)
    record = done("evaluate", "iris.nrules", "iris_test.csv", "--json").record
    assert record == {
        "n_rows": 50,
        "metrics": expected.metrics,
        "confusion": {
            "labels": ["setosa", "versicolor", "virginica"],
            "rows": expected.confusion.tolist(),
        },
    }
    shown = done("evaluate", "iris.nrules", "iris_test.csv", "--quiet").out.splitlines()
    assert shown[0] == "  rows               50"
    assert [line[:19].strip() for line in shown[1:4]] == [
        *("accuracy", "balanced accuracy", "log loss")
    ]
    assert shown[4:8] == [
        "",
        "              predicted",
        "  true class  setosa  versicolor  virginica",
        "  setosa          17           0          0",
    ]


def test_evaluate_a_regression_of_several_targets():
    record = done("evaluate", "two.nrules", "houses.parquet", "--json").record
    frame = houses()
    X = features(frame, "id", "bmi", "bp")
    expected = performance_on(load("two.nrules"), X, frame[["bmi", "bp"]].to_numpy())
    assert record == {"n_rows": len(frame), "metrics": pytest.approx(expected.metrics)}


def test_evaluate_weighs_rows_and_takes_another_target(here):
    frame = iris().rename(columns={"species": "kind"}).assign(w=np.arange(150.0))
    frame.to_csv("w.csv", index=False)
    arguments = ("evaluate", "iris.nrules", "w.csv", "--json")
    record = done(*arguments, "--target", "kind", "--weight", "w").record
    X, y = features(frame, "plant", "kind", "w"), frame["kind"].to_numpy(object)
    expected = performance_on(load("iris.nrules"), X, y, frame["w"].to_numpy())
    assert record["metrics"] == expected.metrics
    assert refused(*arguments[:3]) == (
        "--target: w.csv has no column 'species'. Its columns are 'plant', "
        "'sepal length (cm)', 'sepal width (cm)', 'petal length (cm)', 'petal width (cm)', "
        "'kind', 'w'."
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("versicolor", "versicolour"),
            "Row 18 of bad.csv has the target 'versicolour', which is none of the model's "
            "classes 'setosa', 'versicolor', 'virginica'. Correct or remove such rows, or fit "
            "a new model.",
        ),
        (
            ("virginica", ""),
            "The target 'species' is missing in 16 of 50 rows of bad.csv, first in row 35. "
            "Remove or complete such rows.",
        ),
        (
            ("petal", "Petal"),
            "bad.csv lacks the 2 columns 'petal length (cm)', 'petal width (cm)', which the "
            "model was fitted on. Did you mean 'Petal length (cm)'?",
        ),
        (
            ("p000,5.1", "p000,five"),
            "bad.csv, row 1, column 'sepal length (cm)': 'five' is not a number. Correct the "
            "cell, or give --missing 'five' if it means missing.",
        ),
    ],
)
def test_a_table_that_does_not_fit_the_model(change, message, here):
    text = (here / "iris_test.csv").read_text().replace(*change)
    (here / "bad.csv").write_text(text)
    assert refused("evaluate", "iris.nrules", "bad.csv") == message


def test_a_target_must_not_be_a_column_of_the_model_and_there_must_be_rows(here):
    arguments = ("evaluate", "iris.nrules", "iris.csv", "--target")
    assert refused(*arguments, "sepal width (cm)") == (
        "The target 'sepal width (cm)' is one of the columns that the model predicts from. "
        "Name another one with --target."
    )
    assert refused(*arguments, "plant", "--target", "species") == (
        "The model has 1 target(s), but 2 are named: 'plant', 'species'. Give --target once "
        "for each."
    )
    (here / "none.csv").write_text((here / "iris.csv").read_text().splitlines()[0])
    assert refused("evaluate", "iris.nrules", "none.csv") == (
        "none.csv has columns but no rows. Give a table with rows."
    )


@pytest.mark.parametrize("labels", [[0, 1], [0.0, 7.0], [False, True], ["1", "two"]])
def test_labels_of_every_kind_are_found_in_text(labels, here):
    x = np.arange(40.0)
    y = np.array(labels)[(x > 20).astype(int)]
    model = NeuralRuleClassifier.paper(1, n_epochs=1).fit(pd.DataFrame({"x": x}), y)
    model.save("l.nrules")
    pd.DataFrame({"x": x, "y": y}).to_csv("l.csv", index=False)
    record = done("evaluate", "l.nrules", "l.csv", "--target", "y", "--json").record
    assert record["metrics"]["accuracy"] == 1
    assert record["confusion"]["labels"] == labels
    assert refused("evaluate", "l.nrules", "l.csv") == (
        "The model does not say which column is its target, since it was not made by "
        "`neuralrules fit`. Name it with --target."
    )


# rules and explain


def test_a_terminal_that_cannot_show_a_character_does_not_cost_the_result():
    shown = run("rules", "mixed.nrules", encoding="latin-1")
    assert (shown.code, shown.err) == (0, "")
    expected = load("mixed.nrules").rules_text().encode("latin-1", "replace")
    assert b"income ? " in expected
    assert shown.out.encode(errors="surrogateescape") == expected + b"\n"
    for option in ("--json", "--exact"):
        whole = run("rules", "mixed.nrules", option, encoding="latin-1")
        assert whole == run("rules", "mixed.nrules", option)


def test_rules_are_those_of_the_model():
    model = load("mixed.nrules")
    assert done("rules", "mixed.nrules").out == f"{model.rules_text()}\n"
    short = done("rules", "mixed.nrules", "--max-rules", 2, "--precision", 2, "--max-terms", 1)
    assert short.out == f"{model.rules_text(max_rules=2, precision=2, max_terms=1)}\n"
    records = done("rules", "mixed.nrules", "--max-rules", 3, "--json").record
    expected = model.rules_table().head(3)
    assert [record["rule"] for record in records] == expected.index.tolist()
    assert [record["importance"] for record in records] == expected["importance"].tolist()
    assert [record["text"] for record in records] == expected["text"].tolist()
    assert len(done("rules", "mixed.nrules", "--json").record) == model.network_.n_rules


def test_rules_in_sentences():
    text = load("mixed.nrules").rules_text(style="sentences", max_rules=2)
    shown = done("rules", "mixed.nrules", "--style", "sentences", "--max-rules", 2).out
    assert shown == f"{text}\n"
    plain = done("rules", "mixed.nrules", "--style", "conditions").out
    assert plain == done("rules", "mixed.nrules").out
    assert refused("rules", "mixed.nrules", "--style", "sentences", "--json", code=2) == (
        "--style is for people, not for --json. Leave one out."
    )
    assert refused("rules", "mixed.nrules", "--style", "sentences", "--exact", code=2) == (
        "--style is not for --exact, which prints the whole model."
    )


def test_exact_rules_can_be_read_back():
    X = features(mixed(), "grade")
    text = done("rules", "mixed.nrules", "--exact").out
    assert text == f"{load('mixed.nrules').exact_text()}\n"
    assert (read_rules(text).predict(X) == load("mixed.nrules").predict(X)).all()
    for option in (["--json"], ["--max-rules", 2]):
        assert refused("rules", "mixed.nrules", "--exact", *option, code=2) == (
            f"{option[0]} is not for --exact, which prints the whole model."
        )


def test_explanations_are_those_of_the_model_and_rows_count_from_1():
    model = load("iris.nrules")
    X = features(iris(), "plant", "species")
    shown = done("explain", "iris.nrules", "iris.csv", "--row", 150, "--row", 1).out
    last, first = (str(model.explain(X.iloc[[place]])) for place in (149, 0))
    assert shown == (
        f"Row 150: {last.removeprefix('Row 0: ')}\n\nRow 1: {first.removeprefix('Row 0: ')}\n"
    )
    share = 100 * model.predict_proba(X.iloc[:1]).max()
    said = re.match(r"Row 0: (\w+) \(([\d.]+) %\), decision ", first)
    assert said[1] == model.predict(X)[0]
    assert float(said[2]) == pytest.approx(share, rel=1e-2)
    (record,) = done("explain", "iris.nrules", "iris.csv", "--row", 51, "--json").record
    explanation = model.explain(X.iloc[[50]])
    assert (record["row"], record["prediction"]) == (51, model.predict(X)[50])
    assert record["decision"] == explanation.decision[0].tolist()
    assert record["outputs"] == ["setosa", "versicolor", "virginica"]
    contributions = explanation.to_frame()["contribution"].tolist()
    assert [item["contribution"] for item in record["contributions"]] == contributions
    assert [item["slope"] for item in record["slopes"]] == explanation.slopes.ravel().tolist()


def test_reasons_are_those_of_the_model():
    model = load("iris.nrules")
    X = features(iris(), "plant", "species")
    options = ("--row", 150, "--reasons", "--max-reasons", 2, "--adverse", "setosa")
    found = model.reasons(X.iloc[[149]], 2, adverse="setosa")
    shown = done("explain", "iris.nrules", "iris.csv", *options).out
    assert shown == f"Row 150: {found.row_text(0)}\n"
    (record,) = done("explain", "iris.nrules", "iris.csv", *options, "--json").record
    assert record["adverse"] == "setosa"
    assert record["probability"] == found.probabilities[0]
    assert [reason["text"] for reason in record["reasons"]] == found.to_frame()["text"].tolist()
    assert record["contributions"]
    shown = done("explain", "houses.nrules", "houses.parquet", "--row", 2, "--reasons").out
    assert shown.startswith("Row 2: ")
    assert "compared with the average row" in shown
    assert refused(
        "explain", "iris.nrules", "iris.csv", "--row", 1, "--reasons", "--adverse", "rose"
    ).startswith("--adverse 'rose' is no class. The classes are ['setosa', ")
    assert (
        refused("explain", "iris.nrules", "iris.csv", "--row", 1, "--adverse", "setosa", code=2)
        == "--adverse is for --reasons. Give both, or neither."
    )


def test_an_explained_regression_and_a_row_with_holes():
    shown = done("explain", "houses.nrules", "houses.parquet", "--row", 2).out
    assert shown.startswith("Row 2: decision ")
    (record,) = done("explain", "mixed.nrules", "mixed.tsv.gz", "--row", 1, "--json").record
    slopes = {item["column"]: item["slope"] for item in record["slopes"]}
    assert slopes["income"] is None
    assert slopes["children"] is not None


def test_a_row_that_is_not_there():
    assert refused("explain", "iris.nrules", "iris.csv", "--row", 1, "--row", 151) == (
        "--row 151: iris.csv has 150 rows. Give a number from 1 to 150."
    )


def test_explain_reads_no_further_than_the_row(here, monkeypatch):
    batches = Table.batches
    monkeypatch.setattr(Table, "batches", lambda self, names: batches(self, names, n_rows=10))
    (here / "late.csv").write_text((here / "iris.csv").read_text() + "broken\n")
    assert "Row 7: setosa" in done("explain", "iris.nrules", "late.csv", "--row", 7).out
    assert refused("explain", "iris.nrules", "late.csv", "--row", 200).startswith(
        "late.csv, row 151: it has 1 cell"
    )


# report, simplify and export


def test_reports_of_the_training_rows_of_others_and_of_rows_without_target(here):
    result = done("report", "iris.nrules", "-o", "r.html", "--title", "Irises & more")
    assert re.fullmatch(r"Wrote r\.html, \d+\.\d kB\. Open it in a browser\.\n", result.out)
    assert "Irises &amp; more" in (here / "r.html").read_text()
    record = done(
        *("report", "iris.nrules", "iris_test.csv", "--examples", 3, "-o", "r.html", "--json")
    ).record
    size = (here / "r.html").stat().st_size
    assert record == {"output": "r.html", "bytes": size, "n_rows": 50}
    done("report", "iris.nrules", "iris_test.csv", "-o", "without.html")
    assert size > (here / "without.html").stat().st_size
    assert done("report", "iris.nrules", "new.csv", "-o", "r.html").err == (
        "neuralrules: note: no target is known in new.csv (--target names it), so the page "
        "shows the performance on the training rows. The rows of DATA are used for the "
        "importance of columns only.\n"
    )
    assert refused("report", "iris.nrules", "--examples", 3, "-o", "r.html", code=2) == (
        "--examples needs DATA, the table that it is about."
    )


def test_simplify_writes_a_smaller_model_and_compares(here):
    arguments = ("simplify", "houses.nrules", "houses.parquet", "-o", "s.nrules")
    options = ("--tolerance", 0.2, "--validation", "houses.parquet")
    shown = done(*arguments, *options).out.splitlines()
    small, whole = load("s.nrules"), load("houses.nrules")
    X = features(houses(), "id", "price")
    y = houses()["price"].to_numpy()
    expected = whole.simplify(X, y, tolerance=0.2, X_val=X, y_val=y)
    assert (small.network_.weights == expected.network_.weights).all()
    assert small.fitted_.notes == whole.fitted_.notes
    assert shown[0].split() == ["before", "after"]
    assert shown[3].split() == [
        "parameters",
        *(f"{one.network_.n_parameters:,}" for one in (whole, small)),
    ]
    assert shown[-1].startswith("Saved in s.nrules, ")
    record = done(*arguments, *options, "--json").record
    assert record["before"]["n_parameters"] == whole.network_.n_parameters
    assert record["after"]["n_parameters"] == small.network_.n_parameters
    assert record["after"]["loss"] <= record["before"]["loss"] + 0.2


def test_long_work_shows_its_steps_on_a_terminal(here, monkeypatch):
    monkeypatch.setattr(Console, "shows_progress", True)
    options = ("--validation", "houses.parquet", "-o", "s.nrules")
    shown = done("simplify", "houses.nrules", "houses.parquet", *options).err
    assert re.fullmatch(r"[█░]{24} step \d+ · \d+ rules and \d+ of .* left\n", shown)
    assert load("s.nrules").verbose == 0
    options = ("--cv", "--folds", 2, "--max-depths", "1,2", "--n-epochs", 1, "-o", "c.nrules")
    shown = done("fit", "iris.csv", "-t", "species", "--drop", "plant", *options).err
    assert "█ fold 2/2 · candidate 2/2 · best so far candidate " in shown
    assert load("c.nrules").verbose == 0


def test_the_tolerance_is_that_of_the_library():
    (option,) = (one for one in simplify.params if one.name == "tolerance")
    assert option.default == TOLERANCE


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tolerance", "nan"], "Invalid value for '--tolerance': nan is not a number."),
        (
            ["--tolerance", "-1"],
            "Invalid value for '--tolerance': -1.0 is not in the range x>=0.",
        ),
        (["--validation", "-"], "DATA and --validation cannot both be standard input."),
    ],
)
def test_a_simplification_that_cannot_be(arguments, message):
    line = refused("simplify", "iris.nrules", "-", "-o", "s", *arguments, code=2)
    assert line == message


def test_exports_are_those_of_the_library_and_state_the_size(here):
    model = load("iris.nrules")
    from neuralrules._export._extras import size_text

    expected = {
        "onnx": model.to_onnx().SerializeToString(),
        "python": model.to_python().encode(),
        "sql --table t": model.to_sql("t", dialect="postgresql", keep=()).encode(),
        "sql --table t --dialect sqlite --id plant": model.to_sql(
            "t", dialect="sqlite", keep=("plant",)
        ).encode(),
    }
    for form, content in expected.items():
        result = done("export", "iris.nrules", "--format", *form.split(), "-o", "out")
        assert (here / "out").read_bytes() == content
        first, second = result.out.splitlines()
        assert re.fullmatch(r"Wrote \d+\.\d kB to out\.", first)
        assert second == size_text(model.fitted_)
        record = done(
            "export", "iris.nrules", "--format", *form.split(), "-o", "out", "--json"
        ).record
        assert record["bytes"] == len(content)
        if form != "onnx":
            result = done("export", "iris.nrules", "--format", *form.split())
            assert result.out == content.decode()
            assert result.err.endswith(f"{second}\n")


def test_an_exported_query_scores_a_table():
    query = done(
        *("export", "iris.nrules", "-f", "sql", "--table", "plants", "--dialect", "sqlite"),
        *("--id", "plant", "--quiet"),
    ).out
    with closing(sqlite3.connect(":memory:")) as database:
        iris().to_sql("plants", database, index=False)
        scored = pd.read_sql(query, database).sort_values("plant")
    predicted = load("iris.nrules").predict(features(iris(), "plant", "species"))
    assert (scored["prediction"].to_numpy() == predicted).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["sql"],
            "--format sql needs --table NAME, the table to score in the database.",
        ),
        (["onnx", "--table", "t"], "--table is for --format sql, not for onnx."),
        (["python", "--dialect", "sqlite"], "--dialect is for --format sql, not for python."),
        (["python", "--id", "x"], "--id is for --format sql, not for python."),
        (["onnx", "--schema", "s"], "--schema is for --format sql, not for onnx."),
        (["sql", "--missing-text", "?"], "--missing-text is for --format onnx, not for sql."),
        (
            ["onnx", "--reasons", "2"],
            "--reasons is for --format sql and python, not for onnx.",
        ),
        (["python", "--base", "0"], "--base is for --points. Give both, or neither."),
        (
            ["python", "--adverse", "x"],
            "--adverse is for --reasons and --points. Give one of them.",
        ),
        (
            ["python", "--json"],
            "--json needs --output FILE: standard output cannot hold both the export and a "
            "JSON document.",
        ),
    ],
)
def test_exports_that_cannot_be_made(arguments, message):
    assert refused("export", "iris.nrules", "--format", *arguments, code=2) == message


def test_exports_count_points_and_tell_reasons(here):
    model = load("houses.nrules")
    options = ("--points", "--levels", "2", "--reasons", "2", "--adverse", "low", "--quiet")
    asked = {"scorecard": model.scorecard(levels=2), "reasons": 2, "adverse": "low"}
    assert done("export", "houses.nrules", "-f", "python", *options).out == model.to_python(
        **asked
    )
    sql = done("export", "houses.nrules", "-f", "sql", "--table", "t", *options).out
    assert sql == model.to_sql("t", **asked)
    told = done(
        "export", "iris.nrules", "-f", "python", "--reasons", "1", "--adverse", "setosa"
    )
    iris_model = load("iris.nrules")
    assert told.out == iris_model.to_python(reasons=1, adverse="setosa")
    assert refused("export", "iris.nrules", "-f", "python", "--points") == (
        "The model has 3 classes, and a score card is one of two. Fit a model of one class "
        "against the others."
    )
    assert refused(
        "export", "iris.nrules", "-f", "python", "--reasons", "1", "--adverse", "x"
    ) == ("--adverse 'x' is no class. The classes are ['setosa', 'versicolor', 'virginica'].")


def test_a_table_in_a_schema(here):
    sql = done("export", "iris.nrules", "-f", "sql", "--schema", "lab", "--table", "t").out
    assert 'FROM "lab"."t" AS t' in sql


def test_a_text_for_missing_categories(here):
    frame = pd.DataFrame({"c": ["", "a", "b"] * 20, "y": ["u", "v", "v"] * 20})
    frame.to_parquet("empty.parquet")
    done("fit", "empty.parquet", "-t", "y", "-o", "e.nrules", "--n-epochs", 1)
    arguments = ("export", "e.nrules", "-f", "onnx", "-o", "e.onnx")
    assert refused(*arguments).startswith("--missing-text '' is a category of")
    done(*arguments, "--missing-text", "?")


def test_labels_that_are_numbers_are_said_as_numbers(here):
    (here / "n.csv").write_text("x,y\n1,0\n2,1\n3,0\n4,1\n")
    done("fit", "n.csv", "-t", "y", "-o", "n.nrules", "--n-epochs", 1)
    (here / "n.csv").write_text("x,y\n1,0\n2,7\n")
    assert refused("evaluate", "n.nrules", "n.csv") == (
        "Row 2 of n.csv has the target 7, which is none of the model's classes 0, 1. Correct "
        "or remove such rows, or fit a new model."
    )


def test_every_command_gives_one_json_document():
    for arguments in (
        ["evaluate", "iris.nrules", "iris.csv"],
        ["predict", "iris.nrules", "iris.csv", "-o", "o.csv"],
        ["rules", "iris.nrules"],
        ["explain", "iris.nrules", "iris.csv", "--row", 1],
        ["report", "iris.nrules", "-o", "o.html"],
        ["export", "iris.nrules", "-f", "python", "-o", "o.py"],
    ):
        result = run(*arguments, "--json", "--quiet")
        assert result.err == ""
        assert result.record


def test_regressions_fitted_in_python_are_evaluated(here):
    X = features(houses(), "id", "price")
    model = NeuralRuleRegressor(2, n_epochs=2, random_state=0)
    model.fit(X, houses()[["price"]].to_numpy())
    model.save("p.nrules")
    record = done("evaluate", "p.nrules", "houses.parquet", "-t", "price", "--json").record
    expected = performance_on(model, X, houses()[["price"]].to_numpy())
    assert record["metrics"] == expected.metrics
