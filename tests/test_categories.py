"""One category, one score: eight kinds of categories in every engine, cell by cell."""

from __future__ import annotations

import csv
from contextlib import ExitStack

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from command_line import done
from databases import DIALECTS, SESSIONS, connected
from hypothesis import given
from hypothesis import strategies as st

from neuralrules import NeuralRuleRegressor
from neuralrules._data._categories import category_name, number_spellings, spellings

# What each kind's cells are, and the types of a database's column that may hold them.
KINDS = {
    "int": ([1, 2, 3, 0, 1001], ["bigint", "double precision", "numeric(12, 2)", "text"]),
    "float": ([1.0, 2.5, 3.0, 0.1 + 0.2, 1e-5, 1e15, 2e20], ["double precision", "text"]),
    "bool": ([True, False], ["boolean", "text"]),
    "string": (["a", "007", "7", "1.10", "1.1", "True", "Rö\\me"], ["text"]),
    "mixed": ([1, 2.0, "a", True, "2.50"], ["text"]),
    "day": (["2020-03-04", "2020-04-03", "1999-12-31"], ["date", "timestamp", "text"]),
    "time": (["2020-03-04 12:30:00", "2020-04-03 01:02:03.25"], ["timestamp", "text"]),
    "moment": (
        ["2020-03-04 00:00:00+00:00", "2020-04-03T21:30:00-04:00", "1999-12-31 09:00:00+09"],
        ["timestamptz", "text"],
    ),
}
UNSEEN = {"int": 77, "float": 7.25, "bool": True, "string": "01", "mixed": "b"}
UNSEEN |= {"day": "2020-03-05", "time": "2020-03-04 12:31:00"}
UNSEEN |= {"moment": "2020-03-04 00:00:01+00:00"}
TEXTS = ("string", "mixed", "day", "time", "moment")
COLUMNS = [(kind, declared) for kind, (_, types) in KINDS.items() for declared in types]


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


def cells_of(kind):
    """Every category, a hole, and one that training did not have."""
    return [*KINDS[kind][0], None, UNSEEN[kind]]


@pytest.fixture(scope="module")
def model_of():
    """Models of one column; each category, and the hole, has a prediction of its own."""
    models = {}
    for kind, (known, _) in KINDS.items():
        # As codes: pandas would take True and 1 for the same.
        codes = np.arange(40 * (len(known) + 1)) % (len(known) + 1)
        held = pd.Series([[*known, None][code] for code in codes], dtype=object)
        if kind not in TEXTS:
            held = held.astype("category")
        model = NeuralRuleRegressor.paper(12, n_epochs=0, random_state=0)
        models[kind] = model.fit(pd.DataFrame({"code": held}), codes**2.0)
    return models


@pytest.fixture(scope="module")
def databases():
    with ExitStack() as stack:
        yield {name: stack.enter_context(connected(name)) for name in DIALECTS}


@pytest.fixture(scope="module", params=DIALECTS)
def database(request, databases):
    return databases[request.param]


def expected(model, kind):
    """What the model says of each cell, on the kind of column that it was fitted on."""
    cells = cells_of(kind)
    held = pd.Series(cells, dtype=object)
    if kind not in TEXTS:
        held = held.astype("category")
    predicted = model.predict(pd.DataFrame({"code": held}))
    own = np.sort(predicted[: len(KINDS[kind][0]) + 1])
    assert np.diff(own).min() > 0.1  # so that none can be taken for another
    return predicted


def same(predicted, model, kind):
    found = np.ravel(predicted).astype(float)
    np.testing.assert_allclose(found, expected(model, kind), atol=1e-3)


def test_a_frame_may_hold_them_as_it_likes(kind, model_of):
    """As objects, as text that Python writes, and as floats where there are only numbers."""
    model, cells = model_of[kind], cells_of(kind)
    texts = [None if cell is None else str(cell) for cell in cells]
    columns = [cells, texts]
    if kind in ("int", "float"):
        columns.append([np.nan if cell is None else float(cell) for cell in cells])
    for column in columns:
        held = pd.Series(column, dtype=object)
        same(model.predict(pd.DataFrame({"code": held})), model, kind)
        if column is not cells or kind != "mixed":  # pandas takes True for 1
            held = held.astype("category")
            same(model.predict(pd.DataFrame({"code": held})), model, kind)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_command_line(kind, suffix, model_of, tmp_path):
    model, cells = model_of[kind], cells_of(kind)
    model.save(tmp_path / "model.nrules")
    if suffix == "parquet":  # whose columns are of one type
        typed = [str(c) if kind == "mixed" and c is not None else c for c in cells]
        pd.DataFrame({"code": typed}).to_parquet(tmp_path / "rows.parquet")
    else:
        with (tmp_path / "rows.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["code"], *([cell] for cell in cells)])
    table = tmp_path / f"rows.{suffix}"
    scores = done("predict", tmp_path / "model.nrules", table, "--output", tmp_path / "out.csv")
    assert scores
    same(pd.read_csv(tmp_path / "out.csv")["prediction"], model, kind)


@pytest.mark.parametrize("write", [str, category_name])
def test_onnx(kind, write, model_of):
    model = model_of[kind]
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    texts = [["" if cell is None else write(cell)] for cell in cells_of(kind)]
    (predicted,) = session.run(["prediction"], {"code": np.array(texts, object)})
    same(predicted, model, kind)


@pytest.mark.parametrize("write", [lambda cell: cell, str, category_name])
def test_the_exported_module(kind, write, model_of):
    module: dict = {}
    exec(model_of[kind].to_python(), module)
    written = [None if cell is None else write(cell) for cell in cells_of(kind)]
    same([module["predict"]({"code": cell}) for cell in written], model_of[kind], kind)


@pytest.mark.parametrize(("kind", "declared"), COLUMNS)
def test_a_database(kind, declared, database, model_of):
    score_in(database, kind, declared, model_of[kind])


@pytest.mark.parametrize(("dialect", "settings"), SESSIONS, ids=str)
def test_settings_of_a_session_change_no_score(dialect, settings, databases, model_of):
    """Whatever a session says of dates, zones, digits, strings and collations."""
    with databases[dialect].session(settings):
        for kind, declared in COLUMNS:
            score_in(databases[dialect], kind, declared, model_of[kind])


def test_domains_and_types_of_ones_own(databases, model_of):
    """In PostgreSQL dates may hide in a domain, and texts in one, or in an enumeration."""
    database = databases["postgresql"]
    kinds = {
        "a_day": "date",
        "a_time": "timestamp",
        "a_moment": "timestamptz",
        "a_text": "text",
    }
    for name, declared in kinds.items():
        database.run(f"CREATE DOMAIN {name} AS {declared}")
    texts = ", ".join(f"'{cell}'" for cell in cells_of("string") if cell is not None)
    database.run(f"CREATE TYPE some_texts AS ENUM ({texts})")
    with database.session({"DateStyle": "'German'", "TimeZone": "'Asia/Kolkata'"}):
        for kind in ("day", "time", "moment"):
            score_in(database, kind, f"a_{kind}", model_of[kind])
        for declared in ("a_text", "some_texts"):
            score_in(database, "string", declared, model_of["string"])


def test_digits_that_a_session_hides_are_an_error(databases, model_of):
    database = databases["postgresql"]
    with database.session({"extra_float_digits": "0"}):
        score_in(database, "float", "text", model_of["float"])
        score_in(database, "int", "bigint", model_of["int"])
        with pytest.raises(
            Exception, match="run SET extra_float_digits = 1 first, column code"
        ):
            score_in(database, "float", "double precision", model_of["float"])


@pytest.mark.parametrize("declared", ["interval", "money", "bytea", "text[]"])
def test_types_that_each_session_writes_in_its_own_way_are_an_error(
    declared, databases, model_of
):
    database = databases["postgresql"]
    database.run("DROP TABLE IF EXISTS rows")
    database.run(f"CREATE TABLE rows (code {declared})")
    cell = "{1}" if declared == "text[]" else "1"
    database.run(f"INSERT INTO rows VALUES (NULL), ('{cell}')")
    for kind in ("string", "int"):
        with pytest.raises(Exception, match="column code must be cast to text or numbers"):
            database.read(model_of[kind].to_sql("rows"))


def score_in(database, kind, declared, model):
    """Write the cells of a kind to a column of a type, and compare the scores."""
    cells = cells_of(kind)
    if declared == "text":
        cells = [None if cell is None else str(cell) for cell in cells]
    if database.dialect == "sqlite" and declared == "numeric(12, 2)":
        declared = "real"
    frame = pd.DataFrame({"code": pd.Series(cells, dtype=object), "row": np.arange(len(cells))})
    database.write("rows", frame, {"code": declared})
    sql = model.to_sql("rows", dialect=database.dialect, keep=["row"])
    scored = database.read(sql).sort_values("row")
    np.testing.assert_allclose(
        scored["prediction"].astype(float),
        expected(model, kind),
        atol=1e-3,
        err_msg=f"{kind} as {declared}",
    )


def test_sqlite_keeps_what_each_cell_is(model_of):
    """A column without a type holds integers, reals and text side by side."""
    with connected("sqlite") as database:
        for kind in KINDS:
            cells = cells_of(kind)
            frame = pd.DataFrame(
                {"code": pd.Series(cells, dtype=object), "row": range(len(cells))}
            )
            if kind == "mixed":  # True is 1 there, which this column has as another category
                frame["code"] = frame["code"].map(lambda c: str(c) if c is True else c)
            database.write("rows", frame, {"code": "blob"})
            sql = model_of[kind].to_sql("rows", dialect="sqlite", keep=["row"])
            scored = database.read(sql).sort_values("row")
            same(scored["prediction"], model_of[kind], kind)


def test_nan_in_a_database_is_a_hole(model_of):
    for dialect in ("postgresql", "duckdb"):
        with connected(dialect) as database:
            database.run("CREATE TABLE rows (code double precision)")
            database.run("INSERT INTO rows VALUES ('NaN'), (NULL)")
            scored = database.read(model_of["float"].to_sql("rows", dialect=dialect))
            hole = expected(model_of["float"], "float")[-2]
            np.testing.assert_allclose(scored["prediction"].astype(float), hole, atol=1e-3)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_known_by_its_name_and_by_its_text(number):
    name = category_name(number)
    assert {name, repr(number)} <= {*number_spellings(name), name}


@given(st.lists(st.text(max_size=6), unique=True))
def test_a_name_is_never_taken_for_another(names):
    table = spellings([*names, None])
    assert all(table[name] == name for name in names)
    assert table[None] is None
    assert table[""] is (None if "" not in names else "")


def test_codes_of_one_length_may_have_lost_their_zeros():
    table = spellings(["00501", "10001", None])
    assert (table["501"], table["501.0"], table["10001.0"]) == ("00501", "00501", "10001")
    assert "7" not in spellings(["007", "08"])


def test_codes_are_no_numbers():
    assert spellings(["007", "1.10", "1e5", "0x10", "1_000", " 7"]).keys() == {
        *("007", "1.10", "1e5", "0x10", "1_000", " 7")
    }
