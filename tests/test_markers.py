"""What else means missing, such as -999 or "unknown": every way of scoring applies it."""

from __future__ import annotations

import re
from datetime import date, datetime

import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pytest
from command_line import done
from databases import DIALECTS, connected

from neuralrules import (
    NeuralRuleClassifier,
    NeuralRuleClassifierCV,
    NeuralRuleRegressor,
    load,
    read_rules,
)
from neuralrules._data._categories import spellings
from neuralrules._data._encoder import Encoder
from neuralrules._data._markers import marker_texts
from neuralrules._data._survey import Survey

MARKERS = ["-999", "unknown", "1900-01-01"]
QUICK = {"n_trees": 6, "n_epochs": 8, "random_state": 0}
CLOSE = 1e-5


def raw_table():
    """Numbers, text, codes and dates; what is missing is marked, and matters."""
    rng = np.random.default_rng(0)
    n = 300
    days = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"))
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.normal(4e4, 1e4, n).round(2),
            "city": rng.choice(["Rome", "Oslo", "Bonn", "unknown"], n),
            "branch": rng.choice([1, 2, 3, -999], n),
            "opened": days,
            "member": rng.integers(0, 2, n),
        }
    )
    y = X["age"] / 20 + X["income"] / 2e4 + (X["city"] == "Rome") + (X["branch"] == 2)
    y = y + (days - days.min()).dt.days / 500 + X["member"]
    holes = {"age": -999, "income": -999.0, "opened": pd.Timestamp("1900-01-01")}
    for place, (name, marker) in enumerate(holes.items()):
        own = np.arange(n) % (place + 4) == 0
        X.loc[own, name] = marker
        y[own] += 2
    y += 2 * (X["city"] == "unknown") + 2 * (X["branch"] == -999)
    labels = np.where(y > y.median(), "high", "low")
    return X.astype({"branch": "category"}), labels


def cleaned(X):
    """The same with holes in place of the markers."""
    clean = X.replace({"age": {-999: np.nan}, "income": {-999.0: np.nan}})
    clean["city"] = clean["city"].astype(object).where(clean["city"] != "unknown", None)
    clean["branch"] = clean["branch"].cat.remove_categories([-999])
    clean["opened"] = clean["opened"].where(clean["opened"] != "1900-01-01")
    return clean


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A model file of the command line, its raw rows, and the scores of the same rows."""
    folder = tmp_path_factory.mktemp("markers")
    X, y = raw_table()
    X.assign(y=y).to_csv(folder / "rows.csv", index=False)
    path = folder / "model.nrules"
    options = [word for marker in MARKERS for word in ("--missing", marker)]
    done("fit", folder / "rows.csv", "-t", "y", "-o", path, "--dates", "opened", "--categories",
         "branch", "--n-trees", 6, "--n-epochs", 8, *options)  # fmt: skip
    done("predict", path, folder / "rows.csv", "-o", folder / "out.csv", "--proba")
    columns = pd.read_csv(folder / "out.csv").filter(like="high")
    return X, path, columns.iloc[:, -1].to_numpy()


def of_high(model, X):
    return model.predict_proba(X)[:, list(model.classes_).index("high")]


def test_a_loaded_model_scores_raw_rows_as_the_command_line_does(told):
    X, path, expected = told
    model = load(path)
    assert model.encoder_.missing == tuple(MARKERS) == tuple(model.missing)
    np.testing.assert_allclose(of_high(model, X), expected, rtol=CLOSE)
    assert (of_high(model, X) == of_high(model, cleaned(X))).all()
    assert np.ptp(expected) > 0.3
    # Without the markers, the same rows would have other scores.
    unaware = load(path)
    object.__setattr__(unaware.fitted_.encoder, "missing", ())
    unaware.fitted_.encoder.__dict__.pop("markers", None)
    unaware.fitted_.encoder.__dict__.pop("_places_of_categories", None)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(of_high(unaware, X), expected, rtol=0.1)


def test_frames_objects_and_single_rows_are_scored_alike(told, tmp_path):
    X, path, expected = told
    model = load(path)
    objects = X.astype({"age": object, "income": object, "branch": object})
    objects["opened"] = pd.Series([cell.date() for cell in X["opened"]], dtype=object)
    objects["age"] = objects["age"].replace(-999, "unknown")  # text among numbers
    for rows in (objects, pl.from_pandas(X.astype({"branch": str}))):
        np.testing.assert_allclose(of_high(model, rows), expected, rtol=CLOSE)
    for row, clean in zip(
        X.head(6).to_dict("records"), cleaned(X).head(6).to_dict("records"), strict=True
    ):
        assert str(model.explain(row)) == str(model.explain(clean))
        assert str(model.reasons(row)) == str(model.reasons(clean))
    slopes = model.explain(X).slopes
    assert np.isnan(slopes[X["age"] == -999, 0]).all()
    page = model.report(tmp_path / "report.html", X, raw_table()[1]).read_text()
    assert re.search(r'"marked": ?\[-999.0\]', page)
    # A missing number has no way to go.
    row = X.iloc[0].to_dict()
    answer = model.counterfactual(
        row, target="low" if model.predict(X.head(1)) == "high" else "high"
    )
    assert not {"age", "income", "opened"} & {change.column for change in answer.changes}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_databases_score_raw_rows_alike(told, dialect):
    X, path, expected = told
    with connected(dialect) as database:
        opened = X["opened"].dt.strftime("%Y-%m-%d").astype(object)
        rows = X.astype({"branch": int}).assign(opened=opened, row=range(len(X)))
        database.write("rows", rows, {"opened": "date"})
        found = database.read(load(path).to_sql("rows", dialect=dialect, keep=["row"]))
    found = found.astype({"row": int}).sort_values("row")
    high = found[[name for name in found.columns if "high" in name]].iloc[:, -1]
    np.testing.assert_allclose(high.astype(float), expected, rtol=CLOSE, atol=1e-6)


def test_onnx_scores_raw_rows_alike(told):
    X, path, expected = told
    graph = load(path).to_onnx()
    days = (X["opened"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    rows = X.assign(opened=days, branch=X["branch"].astype(str))
    feed = {
        name: cells.to_numpy(object if name in ("city", "branch") else float)[:, None]
        for name, cells in rows.items()
    }
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    (found,) = session.run(["probabilities"], feed)
    np.testing.assert_allclose(found[:, 0], expected, rtol=CLOSE, atol=1e-6)


def test_onnx_applies_to_each_column_its_own_markers():
    """Here numbers have two markers, dates one, and booleans none."""
    rng, n = np.random.default_rng(0), 200
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    X = pd.DataFrame({"size": rng.normal(size=n), "day": days, "member": rng.random(n) > 0.5})
    X.loc[::4, "size"], X.loc[1::4, "size"] = -999, -9
    X.loc[::5, "day"] = pd.Timestamp("1900-01-01")
    y = 5 * (np.arange(n) % 4 < 2) - (np.arange(n) % 5 < 1) + X["member"]
    markers = ["-999", "-9", "1900-01-01"]
    model = NeuralRuleRegressor(missing=markers, literal_columns="tree", **QUICK).fit(X, y)
    assert model.fitted_.used_columns == [0, 1, 2]
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    numbers = X.assign(day=(X["day"] - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1))
    feed = {name: cells.to_numpy(float)[:, None] for name, cells in numbers.items()}
    (found,) = session.run(["prediction"], feed)
    np.testing.assert_allclose(found, model.predict(X), rtol=CLOSE, atol=1e-5)


def test_the_python_module_scores_raw_rows_alike(told):
    X, path, expected = told
    module: dict = {}
    exec(load(path).to_python(), module)
    rows = X.to_dict("records")
    found = [module["predict_proba"](row)["high"] for row in rows]
    np.testing.assert_allclose(found, expected, rtol=CLOSE)
    texts = rows[1] | {"age": "unknown", "income": "-999.0", "opened": "1900-01-01"}
    holes = rows[1] | {"age": None, "income": None, "opened": date(1900, 1, 1)}
    assert module["decision"](texts) == module["decision"](holes)


def test_the_exact_text_keeps_what_means_missing(told):
    X, path, expected = told
    text = load(path).exact_text()
    assert f"\nmissing {MARKERS}\n".replace("'", '"') in text
    classes = load(path).classes_.tolist()
    found = read_rules(text).predict_proba(X)[:, classes.index("high")]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    again = read_rules(text, estimator=True)
    assert again.encoder_.missing == tuple(MARKERS)
    np.testing.assert_allclose(of_high(again, X), expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="missing must be a list of strings, not 3"):
        read_rules(text.replace(f"missing {MARKERS}".replace("'", '"'), "missing 3"))


def test_python_fits_what_the_command_line_fits(told):
    X, path, _ = told
    y = raw_table()[1]
    model = NeuralRuleClassifier(missing=MARKERS, **QUICK).fit(X, y)
    assert model.exact_text() == load(path).exact_text()
    clean = NeuralRuleClassifier(**QUICK).fit(cleaned(X), y)
    assert (model.predict_proba(X) == clean.predict_proba(cleaned(X))).all()
    own = NeuralRuleClassifier(missing=[-999, "unknown", "1900-01-01", np.nan], **QUICK)
    assert own.fit(X, y).exact_text() == model.exact_text()


def test_what_changes_a_model_keeps_what_means_missing(told, tmp_path):
    X, path, _ = told
    y = raw_table()[1]
    model = load(path)
    for changed in (
        load(model.save(tmp_path / "m")),
        model.simplify(X, y),
        load(path).partial_fit(X, y),
        load(path).refit(X, y),
    ):
        assert changed.encoder_.missing == tuple(MARKERS)
        assert (changed.predict_proba(X) == changed.predict_proba(cleaned(X))).all()


def test_a_search_and_files_apply_them(tmp_path):
    X, y = raw_table()
    depths = [{"max_depth": 1}, {"max_depth": 2}]
    search = NeuralRuleClassifierCV(depths, cv=2, missing=MARKERS, n_trees=3, n_epochs=2,
                                    random_state=0).fit(X, y)  # fmt: skip
    assert (search.predict_proba(X) == search.predict_proba(cleaned(X))).all()
    assert search.encoder_.missing == tuple(MARKERS)
    rows = X.astype({"branch": str}).assign(y=y)
    rows.to_parquet(tmp_path / "t.parquet")
    model = NeuralRuleClassifier(missing=MARKERS, **QUICK).fit(str(tmp_path / "t.parquet"), "y")
    assert (model.predict_proba(X) == model.predict_proba(cleaned(X))).all()
    kinds = [column.record for column in model.encoder_.columns]
    whole = NeuralRuleClassifier(missing=MARKERS, **QUICK).fit(X, y).encoder_
    assert kinds == [column.record for column in whole.columns]


def test_a_survey_learns_what_the_encoder_learns():
    X, _ = raw_table()
    X = X.assign(gone="unknown", some=pd.Series([1.5, "unknown", 2.5] * 100, dtype=object))
    weights = np.ones(len(X))
    survey = Survey(list(X.columns), tuple(MARKERS))
    for start in range(0, len(X), 100):
        some = slice(start, start + 100)
        survey.add(X.iloc[some], weights[some], weights[some] > 0)
    found, expected = survey.encoder(scaling="standard"), Encoder.fit(
        X, weights, named=True, missing=tuple(MARKERS)
    )  # fmt: skip
    assert [c.stored_as for c in expected.columns_of(X.columns.get_loc("some"))] == [
        "number",
        "missing",
    ]
    np.testing.assert_allclose(found.transform(X), expected.transform(X), rtol=1e-5, atol=1e-5)


def test_zero_may_mean_missing_beside_booleans():
    """0 in a column of numbers is missing; False is not, in whatever type it comes."""
    X = pd.DataFrame({"a": [0, 1, 2, 3] * 20, "b": [False, True] * 40})
    X["c"] = pd.Series([True, None, False, False] * 20, dtype=object)
    y = X["a"] + X["b"] * 2.0
    model = NeuralRuleRegressor(missing=0, n_trees=3, n_epochs=2, random_state=0).fit(X, y)
    encoded = model.encoder_.transform(X)
    kinds = [(column.source, column.stored_as) for column in model.encoder_.columns]
    assert kinds == [
        (0, "number"),
        (1, "boolean"),
        (2, "boolean"),
        (0, "missing"),
        (2, "missing"),
    ]
    assert len(np.unique(encoded[:, 1])) == 2
    assert len(np.unique(encoded[:, 2])) == 3
    module: dict = {}
    exec(model.to_python(), module)
    found = [module["predict"](row) for row in X.to_dict("records")]
    np.testing.assert_allclose(found, model.predict(X), rtol=CLOSE)


def test_a_marker_is_never_another_spelling_of_a_category():
    assert spellings(["True", "False"])["1"] == "True"
    assert "1" not in spellings(["True", "False"], ["1"])
    assert spellings(["True", "False", None], ["1"])["1"] is None


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        (None, ()),
        (-999, ("-999",)),
        (-999.0, ("-999",)),
        ("unknown", ("unknown",)),
        (np.array([-1, -9]), ("-1", "-9")),
        ([0.5, "?", "?", float("nan"), float("inf")], ("0.5", "?", "inf")),
    ],
)
def test_the_parameter_as_texts(given, texts):
    assert marker_texts(given) == texts


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            [True],
            "missing holds True, but must hold numbers and texts, such as -999 or 'unknown'. "
            "Write a date as text, such as '1900-01-01'.",
        ),
        ([None], "missing holds None, but must hold numbers and texts"),
        ([date(1900, 1, 1)], "missing holds datetime.date"),
        (["x" * 1001], "missing holds a text of 1,001 characters, but a text may have 1,000."),
        (list(range(1001)), "missing holds 1,001 values, but may hold 1,000."),
        ({"a": 1}, "The 'missing' parameter of NeuralRuleRegressor must be"),
    ],
)
def test_what_cannot_mean_missing_is_refused(given, message):
    X = np.arange(40.0)[:, None]
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        NeuralRuleRegressor(missing=given).fit(X, X[:, 0])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_many_markers_in_a_database(dialect):
    """A list of them, not one call inside of another: DuckDB would take hours."""
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"a": rng.randint(-40, 60, 200) * 1.0, "b": rng.choice(list("xyz"), 200)})
    model = NeuralRuleRegressor(
        n_trees=2, n_epochs=2, random_state=0, missing=[*range(-100, 0), -np.inf, "z"]
    ).fit(X, X["a"].clip(lower=-1) + 5 * (X["b"] == "x"))
    with connected(dialect) as database:
        database.write("rows", X.assign(place=range(200)))
        sql = model.to_sql("rows", dialect=dialect, keep=["place"])
        found = database.read(sql).sort_values("place")["prediction"]
    np.testing.assert_allclose(found.astype(float), model.predict(X), rtol=1e-5)


def test_an_infinite_marker_is_missing():
    X = np.arange(40.0)[:, None]
    X[3] = np.inf
    model = NeuralRuleRegressor(1, n_epochs=0, missing="inf").fit(X, np.arange(40.0))
    assert model.predict([[np.inf]]) == model.predict([[np.nan]])


@pytest.mark.parametrize("marker", [-999.9, 1e20, np.float32(-999.9)])
def test_markers_are_found_in_float32(marker):
    X = np.arange(40, dtype=np.float32)[:, None]
    X[::4] = np.float32(marker)
    model = NeuralRuleRegressor(1, n_epochs=0, missing=marker).fit(X, np.arange(40.0))
    assert [column.stored_as for column in model.encoder_.columns] == ["number", "missing"]
    assert model.encoder_.columns[0].lowest == 1


def test_a_date_that_means_missing_is_one_in_every_spelling():
    """Also among categories, for the model and for the Python module."""
    X = pd.DataFrame({"c": ["x", "y", "1900-01-01"] * 30})
    y = (X["c"] == "1900-01-01").to_numpy()
    model = NeuralRuleClassifier(1, n_epochs=0, missing="1900-01-01").fit(X, y)
    module: dict = {}
    exec(model.to_python(), module)
    missing = model.predict_proba(pd.DataFrame({"c": [None]}))[0, 1]
    for cell in ("1900-01-01", "1900-01-01 00:00:00", datetime(1900, 1, 1), date(1900, 1, 1)):
        row = pd.DataFrame({"c": pd.Series([cell], dtype=object)})
        assert model.predict_proba(row)[0, 1] == missing
        assert module["predict_proba"]({"c": cell})[1] == pytest.approx(missing)


def test_further_training_keeps_what_means_missing():
    X = np.arange(40.0)[:, None]
    model = NeuralRuleRegressor(1, n_epochs=1, warm_start=True).fit(X, X[:, 0])
    model.set_params(missing=-999)
    with pytest.raises(
        ValueError, match=r"^missing=-999 is not what the model was fitted with"
    ):
        model.fit(X, X[:, 0])
