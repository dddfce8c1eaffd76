"""A cell counts in an export as it does in the model, or both refuse it."""

from __future__ import annotations

import datetime as dt
import re
import subprocess
import sys
import uuid
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from models import with_fitted
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from neuralrules import NeuralRuleRegressor
from neuralrules._data._dates import ISO_DATE, LAST_MOMENT, days_of_text
from neuralrules._data._scaling import Knots
from neuralrules._export._extras import size_text
from neuralrules._export._onnx_graph import REFUSAL
from neuralrules._export._python_printer import WIDTH

SCALINGS = ("standard", "quantile")
ROW = {"amount": 0.5, "opened": dt.date(2018, 1, 1), "flag": True, "code": "x"}
INDIA = dt.timezone(dt.timedelta(hours=5, minutes=30))
WEST = dt.timezone(-dt.timedelta(hours=12))
LEVELS = onnxruntime.GraphOptimizationLevel


@cache
def fitted(scaling):
    """A model that looks at a number, a date, a boolean and categories, all with holes."""
    rng = np.random.default_rng(0)
    n = 300
    days = rng.integers(0, 3000, n)
    X = pd.DataFrame(
        {
            "amount": rng.normal(size=n),
            "opened": pd.Timestamp("2015-01-01") + pd.to_timedelta(days, unit="D"),
            "flag": rng.random(n) < 0.5,
            "code": rng.choice(["1", "2020-01-01", "x", "True"], n),
        }
    )
    y = X["amount"] + days / 1000 + 3 * X["flag"]
    y += X["code"].map({"1": 2, "2020-01-01": 3, "x": 1, "True": 0})
    for step, name in ((5, "amount"), (7, "opened"), (11, "code")):
        X.loc[::step, name] = None
        y[::step] += 3
    model = NeuralRuleRegressor(
        n_trees=8, n_epochs=10, early_stopping=False, scaling=scaling, random_state=0
    ).fit(X, y)
    assert len(model.fitted_.used_columns) == len(ROW)
    return model


@cache
def module_of(scaling):
    module: dict = {}
    exec(fitted(scaling).to_python(), module)
    return module


def as_frame(row):
    """A row as a frame of objects, so that pandas changes none of them."""
    columns = {}
    for name, cell in row.items():
        columns[name] = np.empty(1, object)
        columns[name][0] = cell
    return pd.DataFrame(columns, dtype=object)


def score_of(predict, row):
    """What is predicted, or the error of who refuses the row."""
    try:
        return float(np.ravel(predict(row))[0])
    except (ValueError, TypeError) as error:
        return error


class Three:
    """A number of a type that nobody knows."""

    def __float__(self):
        return 3.0

    def __repr__(self):
        return "Three()"


class Text(str):
    """A text of a type of its own."""

    __slots__ = ()


NUMBERS = [
    *(0, 3, -1, 2.5, -0.0, 18262, 18262.5, True, False, np.True_, np.int8(3), np.float16(3)),
    *(np.uint64(2**63), np.float32(3.3), np.longdouble(3), Decimal("2.5"), Fraction(1, 3)),
    *(Three(), 5e-324, -5e-324, 1e-310, 1e18, -1e18, 10**19, 1e19, 1.8e19, 1.9e19, -1.9e19),
    *(2**64, 10**400, -(10**400), Fraction(10**400), Decimal("1e99"), Decimal("-Infinity")),
    *(np.inf, -np.inf, np.float32("inf")),
]
# What a date may be by mistake: seconds, milliseconds, days beyond the last.
OTHER_UNITS = [
    *(1577836800, 1577836800.0, 1577836800000, np.int64(1577836800), Decimal(1577836800)),
    *(LAST_MOMENT - 1, LAST_MOMENT - 0.5, LAST_MOMENT + 0.5, -LAST_MOMENT, -LAST_MOMENT - 1),
]
HOLES = [
    *(None, np.nan, np.float32("nan"), Decimal("NaN"), pd.NA, pd.NaT, np.datetime64("NaT")),
    np.timedelta64("NaT"),
]
TEXTS = [
    *("3", "2.5", "", "NA", "nan", "inf", "x", "True", "true", "1.0", "1e5", "1577836800"),
    *(b"3", b"x", bytearray(b"1"), np.str_("3"), Text("3")),
]
DATES = [
    *(dt.date(2020, 1, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.datetime(2020, 1, 1)),
    *(dt.datetime(2020, 1, 1, 10, 30, 1, 5), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)),
    *(dt.datetime(2020, 1, 1, tzinfo=INDIA), dt.datetime(1, 1, 1, tzinfo=INDIA)),
    *(
        dt.datetime(9999, 12, 31, 23, tzinfo=WEST),
        pd.Timestamp("2020-01-01 10:00:00.123456789"),
    ),
    *(pd.Timestamp("2020-01-01", tz="Asia/Tokyo"), pd.Timestamp("1880-01-01", tz="Asia/Tokyo")),
    *(np.datetime64(text) for text in ("2020", "2020-05", "2020-01-01", "2020-01-01T10")),
    *(np.datetime64(text) for text in ("12020-01-01", "-0044-03-15", "0000-01-01")),
    *(np.datetime64("2020-01-01T10:00:00.123456789"), np.datetime64(2600, "W")),
]
OTHERS = [
    *(dt.timedelta(days=1), pd.Timedelta(days=1), np.timedelta64(1, "D"), dt.time(10)),
    *(pd.Period("2020-01-01"), pd.Interval(0, 1), 1 + 2j, np.complex64(1), [1.0], (1.0,), {1}),
    *({"a": 1}, np.array(3.0), np.array([3.0]), uuid.UUID(int=1), range(1)),
]
CELLS = [*NUMBERS, *OTHER_UNITS, *HOLES, *TEXTS, *DATES, *OTHERS]
DATE_TEXTS = [
    *("2020-01-01", " 2020-01-01 ", "0001-01-01", "9999-12-31", "2020-01-01T10:00"),
    *("2020-01-01 10:00:00.123456", "2020-01-01 10:00:00.123456789", "2020-01-01T10:00:00Z"),
    *("2020-01-01 10:00:00 UTC", "2020-01-01T10:00+0530", "2020-01-01T10:00-05"),
    *("2020-01-01 10:00 +05:30", "9999-12-31T23:59:59", "0001-01-01T00:00+12:00"),
    *("9999-12-31T23:59:59-12:00", "2020-02-30", "2020-1-1", "20200101", "2020-W01-1"),
    *("2020-01-01T10", "2020-01-01T10:00:00z", "2020-01-01T24:00", "2020-01-01T10:60"),
    *("2020-01-01T10:00:60", "2020-01-01x10:00", "2020-01-01T10:00:00+05:30:10"),
    *("2020-01-01T10:00:00,5", "2020-01-01T10:00+24:00", "10000-01-01", "0000-01-01"),
    *("-2020-01-01", "\uff12020-01-01", "01/02/2020", "1577836800", "18262", "", "NA", "now"),
]


@pytest.mark.parametrize("column", ROW)
@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_module_scores_a_cell_as_the_model_does_or_refuses_it_too(scaling, column):
    model, module = fitted(scaling), module_of(scaling)
    scored = 0
    for cell in CELLS:
        row = ROW | {column: cell}
        expected = score_of(lambda row: model.predict(as_frame(row)), row)
        found = score_of(module["predict"], row)
        if isinstance(expected, Exception):
            assert f"olumn {column!r}" in str(expected), cell
            assert isinstance(found, ValueError), cell
            assert str(found).startswith(f"Column {column!r} "), cell
            assert repr(cell) in str(found), cell
            assert str(found).endswith("None for a missing value."), cell
        else:
            assert found == pytest.approx(expected, rel=1e-5, abs=1e-5), cell
            scored += 1
    assert len(CELLS) // 3 < scored
    assert (scored == len(CELLS)) == (column == "code")


@pytest.mark.parametrize("text", DATE_TEXTS)
def test_a_text_is_a_date_of_the_module_if_it_is_one_of_the_command_line(text):
    model, module = fitted("standard"), module_of("standard")
    found = score_of(module["predict"], ROW | {"opened": text})
    days = days_of_text(text)
    expected = None
    if days is not None:
        expected = score_of(lambda row: model.predict(as_frame(row)), ROW | {"opened": days})
    if isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)
        return
    assert str(found) == (
        f"Column 'opened' must hold a date such as 2020-12-31, not {text!r}. A number counts "
        "the days since 1970-01-01, up to the year 9999. Convert it, or give None for a "
        "missing value."
    )
    assert module["ISO_DATE"] == ISO_DATE
    assert module["LAST_MOMENT"] == LAST_MOMENT


def test_an_array_of_seconds_is_no_array_of_days():
    """A model of a frame without categories takes arrays too."""
    X = pd.DataFrame({"opened": pd.date_range("2015-01-01", periods=200)})
    model = NeuralRuleRegressor(n_trees=1, n_epochs=2, random_state=0).fit(X, np.arange(200.0))
    message = "'opened' held dates .* holds numbers that are no days since 1970-01-01 now"
    for cells in (np.array([[1577836800]]), np.array([[1577836800.0]])):
        with (
            pytest.warns(UserWarning, match="valid feature names"),
            pytest.raises(ValueError, match=message),
        ):
            model.predict(cells)


def test_a_module_with_dates_is_what_linters_and_formatters_want(tmp_path):
    source = fitted("standard").to_python()
    size = size_text(fitted("standard").fitted_)
    assert max(map(len, source.replace(size, "").splitlines())) <= WIDTH
    (tmp_path / "m.py").write_text(source)
    for command in (["check", "--target-version", "py39"], ["format", "--diff"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", tmp_path]
        answer = subprocess.run(ruff, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stdout + answer.stderr


def sessions(model):
    """The graph of a model as onnxruntime runs it, at each of its levels of optimisation."""
    proto = model.to_onnx().SerializeToString()
    levels = LEVELS.__members__.values()
    assert {LEVELS.ORT_DISABLE_ALL, LEVELS.ORT_ENABLE_BASIC, LEVELS.ORT_ENABLE_ALL} <= {*levels}
    for level in levels:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.log_severity_level = 4  # of refusals, which are tested for
        yield onnxruntime.InferenceSession(proto, options)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_graph_scores_a_number_as_the_model_does_or_refuses_it_too(scaling):
    model = fitted(scaling)
    cells = [float(cell) for cell in NUMBERS[:-9] + NUMBERS[-3:] + OTHER_UNITS] + [np.nan]
    days = (ROW["opened"] - dt.date(1970, 1, 1)).days
    row = {"amount": [[0.5]], "opened": [[float(days)]], "flag": [[1.0]], "code": [["x"]]}
    outcomes = set()
    for session in sessions(model):
        for column in ("amount", "opened", "flag"):
            for cell in cells:
                fed = {name: np.array(value) for name, value in row.items()}
                fed[column], fed["code"] = np.array([[cell]]), np.array([["x"]], object)
                expected = score_of(
                    lambda row: model.predict(as_frame(row)), ROW | {column: cell}
                )
                outcomes.add((column, type(expected)))
                if isinstance(expected, Exception):
                    with pytest.raises(InvalidArgument, match=re.escape(REFUSAL)):
                        session.run(None, fed)
                else:
                    (found,) = session.run(None, fed)
                    assert found[0] == pytest.approx(expected, rel=1e-5, abs=1e-5), cell
    assert len(outcomes) == 6


# The units that a column may have: a fit refuses deviations below 1e-280 and numbers beyond
# 1.8e19.
@pytest.mark.parametrize("unit", [1e-279, 1e-46, 1e-20, 1.0, 1e17])
@pytest.mark.parametrize("scaling", [*SCALINGS, "two knots"])
def test_a_column_may_be_in_any_unit(unit, scaling):
    """However onnxruntime has optimised the graph: 1e-46 is 0 in float32."""
    rng = np.random.RandomState(0)
    X = rng.normal(1, 1, (200, 1))
    y = np.abs(X[:, 0])
    model = NeuralRuleRegressor(
        n_trees=3, n_epochs=5, random_state=0, scaling=scaling.replace("two knots", "standard")
    ).fit(X * unit, y)
    if scaling == "two knots":
        (column,) = model.encoder_.columns
        knots = Knots((0.5 * unit, 2.0 * unit), (-1.0, 1.0))
        encoder = replace(model.encoder_, columns=[replace(column, knots=knots)])
        model = with_fitted(model, encoder=encoder)
    expected = model.predict(X * unit)
    assert np.ptp(expected) > 0.5
    for session in sessions(model):
        (found,) = session.run(None, {"X": X * unit})
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    module: dict = {}
    exec(model.to_python(), module)
    found = [module["predict"]({"x0": float(cell)}) for cell in X[:, 0] * unit]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_cells_far_outside_are_clipped_as_the_model_clips_them():
    rng = np.random.RandomState(0)
    X = rng.normal(0, 0.01, (200, 2))
    model = NeuralRuleRegressor(n_trees=3, n_epochs=5, random_state=0).fit(X, X[:, 0] - X[:, 1])
    cells = [1e18, -1e18, 1.8e17, 1.8e19, 5e-324, -5e-324, 0.0, 1e-310]
    rows = np.array([[a, b] for a in cells for b in cells])
    expected = model.predict(rows)
    far = np.abs(rows) >= 1.8e18  # beyond the limit of 1.8e19 deviations
    np.testing.assert_array_equal(
        expected, model.predict(np.where(far, np.sign(rows) * 1.8e18, rows))
    )
    for session in sessions(model):
        (found,) = session.run(None, {"X": rows})
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    module: dict = {}
    exec(model.to_python(), module)
    found = [module["predict"]({"x0": a, "x1": b}) for a, b in rows.tolist()]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
