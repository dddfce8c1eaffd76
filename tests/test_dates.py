"""Dates are days since 1970-01-01, in every table and every engine."""

from __future__ import annotations

import datetime as dt
import re
from contextlib import ExitStack

import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pytest
from command_line import done, refused
from databases import DIALECTS, SESSIONS, connected
from hypothesis import given
from hypothesis import strategies as st

from neuralrules import NeuralRuleClassifier, NeuralRuleRegressor, load, read_rules
from neuralrules._data._columns import Date
from neuralrules._data._dates import as_days, date_text, days_of_text
from neuralrules._reading._text import condition_statements

ONE_DAY = dt.date(2019, 5, 1), pd.Timestamp("2019-05-01")


@pytest.fixture(scope="module")
def table():
    """A table with dates and holes, the days' share of its target, and a model of it."""
    rng = np.random.default_rng(0)
    days = rng.integers(0, 3000, 300)
    opened = pd.Series(pd.Timestamp("2015-01-01") + pd.to_timedelta(days, unit="D"))
    y = (days > 1500) * 2.0 + (days % 365 > 100) + rng.normal(0, 0.1, 300)
    opened[::10] = pd.NaT
    X = pd.DataFrame({"opened": opened, "a": rng.normal(size=300)})
    return X, NeuralRuleRegressor(n_trees=8, n_epochs=30, random_state=0).fit(X, y), y


@pytest.fixture(scope="module")
def databases():
    with ExitStack() as stack:
        yield {name: stack.enter_context(connected(name)) for name in DIALECTS}


@pytest.fixture(scope="module", params=DIALECTS)
def database(request, databases):
    return databases[request.param]


def close(found, expected):
    np.testing.assert_allclose(np.asarray(found, float), expected, atol=1e-4)


def test_a_model_learns_from_them(table):
    X, model, y = table
    assert model.score(X, y) > 0.6
    (opened, *_) = model.encoder_.columns
    assert isinstance(opened, Date)
    assert date_text(opened.mean).startswith("2019-")


def test_every_type_of_dates_is_the_same(table):
    X, model, _ = table
    expected = model.predict(X)
    for column in (
        X["opened"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        X["opened"].astype(object),
        X["opened"].dt.date,
        X["opened"].astype("datetime64[s]"),
        X["opened"].astype("timestamp[us][pyarrow]"),
        X["opened"].dt.date.astype("date32[pyarrow]"),
        as_days(X["opened"]),
    ):
        close(model.predict(X.assign(opened=column)), expected)
    for frame in (
        pl.from_pandas(X),
        pl.from_pandas(X).with_columns(pl.col("opened").cast(pl.Date)),
    ):
        close(model.predict(frame), expected)
    one = [pd.DataFrame({"opened": [cell], "a": [0.0]}) for cell in ONE_DAY]
    close(model.predict(one[0]), model.predict(one[1]))


def test_other_columns_are_refused(table):
    X, model, y = table
    with pytest.raises(ValueError, match=r"'opened' held dates .* holds text .* to dates"):
        model.predict(X.assign(opened="2020-01-01"))
    with pytest.raises(ValueError, match=r"'a' held numbers .* holds dates now"):
        model.predict(X.assign(a=X["opened"]))
    with pytest.raises(TypeError, match="'a' holds times without a date, or spans of time"):
        NeuralRuleRegressor().fit(X.assign(a=X["opened"] - X["opened"].min()), y)
    with pytest.raises(TypeError, match="holds a date"):
        NeuralRuleRegressor().fit(X.assign(a=[dt.date(2020, 1, 1), 1.0] * 150), y)


def test_files_and_texts_keep_them(table, tmp_path):
    X, model, _ = table
    model.save(tmp_path / "model.nrules")
    again = load(tmp_path / "model.nrules")
    assert again.encoder_ == model.encoder_
    close(again.predict(X), model.predict(X))
    close(read_rules(model.exact_text()).predict(X), model.predict(X))
    read = read_rules(model.exact_text(), estimator=True)
    assert [isinstance(c, Date) for c in read.encoder_.columns][:2] == [True, False]
    close(read.predict(X), model.predict(X))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_command_line(table, suffix, tmp_path):
    X, _, y = table
    data, model, out = (tmp_path / name for name in (f"t.{suffix}", "m.nrules", "out.csv"))
    frame = X.assign(y=y)
    if suffix == "csv":
        frame.to_csv(data, index=False)
    else:
        frame.to_parquet(data)
    dates = ["--dates", "opened"] if suffix == "csv" else []
    done("fit", data, "-t", "y", "-o", model, "--n-epochs", 5, *dates)
    done("predict", model, data, "-o", out)
    close(pd.read_csv(out)["prediction"], load(model).predict(X))
    assert isinstance(load(model).encoder_.columns[0], Date)
    frame.astype({"opened": str}).replace("NaT", None).to_parquet(tmp_path / "text.parquet")
    done("predict", model, tmp_path / "text.parquet", "-o", out)
    close(pd.read_csv(out)["prediction"], load(model).predict(X))


def test_the_command_line_says_where_no_date_is(table, tmp_path):
    X, _, y = table
    frame = X.assign(y=y, opened=X["opened"].dt.strftime("%Y-%m-%d"))
    frame.loc[4, "opened"] = "2020-02-31"
    data = tmp_path / "t.csv"
    frame.to_csv(data, index=False)
    common = ("fit", data, "-t", "y", "-o", tmp_path / "m")
    assert refused(*common, "--dates", "opened") == (
        f"{data}, row 5, column 'opened': '2020-02-31' is not a date. Write it like 2020-12-31 "
        "or 2020-12-31T23:59:59, or give --missing if it means missing."
    )
    assert "Did you mean 'opened'?" in refused(*common, "--dates", "openend")
    assert "is no column to learn from" in refused(*common, "--dates", "y")


def test_onnx(table):
    X, model, _ = table
    proto = model.to_onnx()
    assert [value.doc_string for value in proto.graph.input] == ["days since 1970-01-01", ""]
    cells = {"opened": as_days(X["opened"])[:, None], "a": X[["a"]].to_numpy()}
    (found,) = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, cells)
    close(found, model.predict(X))


def test_the_exported_module(table):
    X, model, _ = table
    module: dict = {}
    exec(model.to_python(), module)
    expected = model.predict(X)
    for column in (
        X["opened"],
        X["opened"].astype(object).where(X["opened"].notna(), None),
        X["opened"].dt.date,
        X["opened"].dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
        as_days(X["opened"]),
    ):
        rows = X.assign(opened=pd.Series(column, dtype=object)).to_dict("records")
        close([module["predict"](row) for row in rows], expected)
    with pytest.raises(ValueError, match="must hold a date such as 2020-12-31, not 'x'"):
        module["predict"]({"opened": "x", "a": 0})


DATE_TYPES = ["date", "timestamp", "timestamptz", "text"]


@pytest.mark.parametrize("declared", DATE_TYPES)
def test_a_database(table, database, declared):
    score_in(database, table, declared)


@pytest.mark.parametrize(("dialect", "settings"), SESSIONS, ids=str)
def test_settings_of_a_session_change_no_date(table, databases, dialect, settings):
    with databases[dialect].session(settings):
        for declared in DATE_TYPES:
            score_in(databases[dialect], table, declared)
        if dialect == "postgresql":
            for declared in ("date", "timestamptz"):
                databases[dialect].run(f"DROP DOMAIN IF EXISTS a_{declared} CASCADE")
                databases[dialect].run(f"CREATE DOMAIN a_{declared} AS {declared}")
                score_in(databases[dialect], table, f"a_{declared}")


def score_in(database, table, declared):
    """Write the dates to a column of a type, and compare the scores."""
    X, model, _ = table
    form = "%Y-%m-%d" if declared.endswith("date") else "%Y-%m-%d %H:%M:%S"
    cells = X["opened"].dt.strftime(form)
    if declared.endswith("timestamptz"):
        cells += "+00:00"
    frame = X.assign(opened=cells.astype(object), row=range(len(X)))
    database.write("rows", frame, {"opened": declared})
    sql = model.to_sql("rows", dialect=database.dialect, keep=["row"])
    scored = database.read(sql).sort_values("row")
    close(scored["prediction"], model.predict(X))


@pytest.mark.parametrize("text", ["2020", "now", "12:00", "x", "2020-02-31x"])
def test_a_text_that_is_no_date_is_an_error(table, database, text):
    X, model, _ = table
    database.write("rows", X.head(1).assign(opened=text), {"opened": "text"})
    with pytest.raises(Exception, match=r"(?i)no date|path|invalid|convert|format|range"):
        database.read(model.to_sql("rows", dialect=database.dialect))


@given(st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30)))
def test_a_text_is_the_moment_that_it_says(moment):
    (days,) = as_days(np.array([moment], "datetime64[us]"))
    for text in (moment.isoformat(), moment.isoformat(" "), moment.isoformat() + "Z"):
        assert days_of_text(text) == pytest.approx(days, abs=1e-9)
    ahead = moment.replace(tzinfo=dt.timezone(dt.timedelta(hours=-7)))
    assert days_of_text(ahead.isoformat()) == pytest.approx(days + 7 / 24, abs=1e-9)
    (cell,) = as_days(np.array([ahead], object))
    assert cell == pytest.approx(days + 7 / 24, abs=1e-9)


@given(st.dates())
def test_a_day_is_written_as_it_is_read(day):
    days = days_of_text(day.isoformat())
    assert days == (day - dt.date(1970, 1, 1)).days
    assert date_text(days) == day.isoformat()


NO_DATES = ["", "2020", "2020-1-1", "2020-13-01", "2020-01-01T25:00", "x", "01/02/2020"]


@pytest.mark.parametrize("text", [*NO_DATES, "2020-01-01 10:00:61", "2020-01-01T10"])
def test_no_other_text_is_a_date(text):
    assert days_of_text(text) is None


def test_texts_show_dates(table):
    _, model, _ = table
    text = model.rules_text()
    leaves = [line for line in text.splitlines() if re.match("  leaf .*opened [<>≤]", line)]
    assert leaves
    assert all(re.search(r"opened [<>≤] \d{4}-\d\d-\d\d", line) for line in leaves)
    assert re.search(r"(now|and)   opened [<>] 20\d\d-\d\d-\d\d$", text, re.MULTILINE)
    assert "Missing numbers count as their means: opened 2019-" in text
    if "days(opened)" in text:
        assert "days(opened) counts the days since 1970-01-01." in text
    assert not re.search(r"(?<!days\()opened [<>]=? ?-?[0-9.]+(e|$)", text, re.MULTILINE)


def low_row(table):
    """A row with a date and a low prediction, which a later date would raise."""
    X, model, _ = table
    known = X[X["opened"].notna()]
    return known.iloc[[np.argmin(model.predict(known))]]


TOKYO = "datetime64[s, Asia/Tokyo]"


@pytest.mark.parametrize("kind", ["datetime64[us]", TOKYO, "date", "polars"])
def test_a_smallest_change_is_a_date_of_the_same_type(table, kind):
    row, model = low_row(table), table[1]
    if kind == "polars":
        row = pl.from_pandas(row).with_columns(pl.col("opened").cast(pl.Date))
    elif kind == "date":
        row = row.assign(opened=row["opened"].dt.date)
    elif kind == TOKYO:
        row = row.assign(opened=row["opened"].dt.tz_localize("UTC").astype(kind))
    before = model.predict(row)[0]
    answer = model.counterfactual(row, (before + 0.5, None), fixed=["a"])
    (change,) = answer.changes
    assert change.column == "opened"
    assert type(change.after) is type(change.before)
    assert model.predict(answer.x)[0] >= before + 0.5 - 1e-5
    assert re.search(r"opened from 20\d\d-\d\d-\d\d.* to 20\d\d-\d\d-\d\d", str(answer))


@pytest.mark.parametrize("whole", [None, [], ["a"]])
def test_a_date_gets_no_time_of_day(table, whole):
    row, model = low_row(table), table[1]
    row = row.assign(opened=row["opened"].dt.normalize())
    goal = (model.predict(row)[0] + 0.5, None)
    (change,) = model.counterfactual(row, goal, fixed=["a"], whole=whole).changes
    assert change.after == change.after.normalize()


def test_bounds_may_be_dates(table):
    row, model = low_row(table), table[1]
    own, before = row["opened"].iloc[0], model.predict(row)[0]
    wanted = (before + 0.5, None)
    for low, high in ((own.date(), None), (str(own), "2030-01-01")):
        answer = model.counterfactual(row, wanted, bounds={"opened": (low, high)}, fixed=["a"])
        assert answer.x["opened"].iloc[0] > own
    near = {"opened": (own - pd.Timedelta(days=1), own + pd.Timedelta(days=1))}
    assert not model.counterfactual(row, wanted, bounds=near, fixed=["a"]).found


@pytest.mark.parametrize("zone", ["+02:00", "-05:30", "Z", ""])
def test_a_zone_in_a_text_counts(table, database, zone, tmp_path):
    """As on the command line, in every database."""
    X, model, _ = table
    texts = X["opened"].dt.strftime("%Y-%m-%dT22:30:00") + zone
    expected = model.predict(X.assign(opened=pd.to_datetime(texts, utc=True)))
    frame = X.assign(opened=texts.astype(object), row=range(len(X)))
    database.write("rows", frame, {"opened": "text"})
    scored = database.read(model.to_sql("rows", dialect=database.dialect, keep=["row"]))
    close(scored.sort_values("row")["prediction"], expected)
    module: dict = {}
    exec(model.to_python(), module)
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    close([module["predict"](row) for row in rows], expected)


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30",
        "2024-3-5",
        "2024-03-05 BC",
        "infinity",
        "epoch",
        "2021-02-03 9 PM",
        "2021-02-03 24:00",
        "2021-02-03 10:00:60",
        "2021-02-03 10:00+24:00",
        "na",
    ],
)
@pytest.mark.parametrize("declared", ["text", "text collate nocase"])
def test_what_the_command_line_refuses_no_database_scores(table, database, text, declared):
    """Not even in a column whose collation takes na for NA, which means missing."""
    X, model, _ = table
    assert days_of_text(text) is None
    database.write("rows", X.head(1).assign(opened=text), {"opened": declared})
    with pytest.raises(Exception, match=r"(?i)no date|path|invalid|convert|range"):
        database.read(model.to_sql("rows", dialect=database.dialect))


@pytest.mark.parametrize("cell", ["infinity", "-infinity", "12000-01-01"])
def test_days_that_the_model_refuses_are_an_error(table, databases, cell):
    X, model, _ = table
    for dialect in ("postgresql", "duckdb"):
        for declared in ("date", "timestamp"):
            database = databases[dialect]
            database.write("rows", X.head(1).assign(opened=cell), {"opened": declared})
            with pytest.raises(Exception, match=r"column opened holds (a date beyond|no date)"):
                database.read(model.to_sql("rows", dialect=dialect))


def test_a_moment_of_an_old_zone_has_seconds(databases):
    """Tokyo was 9:18:59 ahead of UTC until 1887, which DuckDB writes as 9:18."""
    seconds = np.arange(300) % 60
    rows = pd.DataFrame({"opened": pd.Timestamp("1880-01-01") + pd.to_timedelta(seconds, "s")})
    model = NeuralRuleRegressor(n_trees=4, n_epochs=5, random_state=0).fit(rows, seconds)
    cells = rows["opened"].dt.strftime("%Y-%m-%d %H:%M:%S+00:00").astype(object)
    for dialect in ("postgresql", "duckdb"):
        database = databases[dialect]
        frame = pd.DataFrame({"opened": cells, "row": range(300)})
        database.write("rows", frame, {"opened": "timestamptz"})
        with database.session({"TimeZone": "'Asia/Tokyo'"}):
            sql = model.to_sql("rows", dialect=dialect, keep=["row"])
            found = database.read(sql).sort_values("row")["prediction"].astype(float)
        np.testing.assert_allclose(found, model.predict(rows), atol=0.1)


def test_a_date_may_mean_missing(table, database, tmp_path):
    X, _, y = table
    frame = X.assign(y=y, opened=X["opened"].fillna(pd.Timestamp("1900-01-01")))
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    model, out = tmp_path / "m.nrules", tmp_path / "out.csv"
    told = ("--dates", "opened", "--missing", "1900-01-01", "--n-epochs", 5)
    done("fit", tmp_path / "t.csv", "-t", "y", "-o", model, *told)
    expected = load(model).predict(X)
    for suffix in ("csv", "parquet"):
        done("predict", model, tmp_path / f"t.{suffix}", "-o", out)
        close(pd.read_csv(out)["prediction"], expected)
    for declared in ("date", "text"):
        cells = frame["opened"].dt.strftime("%Y-%m-%d").astype(object)
        rows = frame.drop(columns="y").assign(opened=cells, row=range(len(X)))
        database.write("rows", rows, {"opened": declared})
        sql = load(model).to_sql("rows", dialect=database.dialect, keep=["row"])
        close(database.read(sql).sort_values("row")["prediction"], expected)


def test_objects_of_numpy_are_dates_and_other_numbers_are_refused(table):
    X, model, _ = table
    for unit in ("D", "s", "ns"):
        cells = [np.datetime64(cell, unit) for cell in X["opened"].dropna().to_numpy()]
        rows = X.dropna().assign(opened=pd.Series(cells, dtype=object, index=X.dropna().index))
        close(model.predict(rows), model.predict(X.dropna()))
    ticks = X.dropna()["opened"].astype("datetime64[ns]").astype("int64")
    with pytest.raises(ValueError, match="numbers that are no days since 1970-01-01"):
        model.predict(X.dropna().assign(opened=ticks))
    module: dict = {}
    exec(model.to_python(), module)
    row = {"opened": np.datetime64("2020-01-11T00:00:00.000000000"), "a": 0.0}
    close(module["predict"](row), module["predict"](row | {"opened": "2020-01-11"}))


def test_a_leaf_names_days_that_are_in_it():
    """A threshold half way between two days: the day before is in, the day after is out."""
    X = pd.DataFrame({"opened": pd.date_range("2020-01-01", periods=400)})
    y = np.where(X["opened"] < "2020-07-19", "a", "b")
    text = NeuralRuleClassifier(n_trees=1, max_depth=1, random_state=0).fit(X, y).rules_text()
    assert "opened ≤ 2020-07-18" in text
    assert "opened > 2020-07-18" in text


def test_a_row_without_a_date_has_a_smallest_change(table):
    X, model, _ = table
    row = X[X["opened"].isna()].head(1)
    answer = model.counterfactual(row, (model.predict(row)[0] + 0.01, None))
    assert answer.found or answer.optimal


def test_moments_near_each_other_are_told_with_their_time():
    rng = np.random.default_rng(0)
    opened = pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.uniform(0, 5, 300), unit="D")
    X = pd.DataFrame({"opened": opened})
    y = X["opened"] > "2024-03-03 12:00"
    model = NeuralRuleClassifier(n_trees=2, max_depth=1, random_state=0).fit(X, y)
    assert re.search(r"opened [<>] 2024-03-0\d \d\d:\d\d", model.rules_text())
    for rule in range(model.network_.n_rules):
        for one in condition_statements(model.fitted_, rule, 3, 3):
            assert (one.subject, one.rises) == ("opened", " > " in one.text)


@pytest.mark.parametrize("opened", [1577836800.0, 3e6])
def test_a_text_read_back_refuses_what_the_model_refuses(table, opened):
    X, model, _ = table
    rows = X.head(2).assign(opened=opened)
    for refusing in (model, read_rules(model.exact_text())):
        with pytest.raises(ValueError, match="numbers that are no days since 1970-01-01"):
            refusing.predict(rows)
