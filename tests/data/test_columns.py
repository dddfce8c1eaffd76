"""Each kind of encoded column encodes its cells, knows its bounds and says what it means."""

import numpy as np
import pandas as pd
import pytest

from neuralrules._data._columns import (
    COLUMN_TYPES,
    Category,
    Date,
    Flag,
    Missing,
    Number,
    Rare,
)
from neuralrules._data._encoder import Encoder
from neuralrules._data._markers import Markers

N = 600


@pytest.fixture(scope="module", params=["standard", "quantile"])
def encoder(request):
    return Encoder.fit(
        table(), np.arange(N) % 4 / 2, named=True, scaling=request.param, missing=("-1", "none")
    )


def table():
    """Numbers with holes and marked holes, dates, booleans, categories and too many texts."""
    rng = np.random.RandomState(0)
    numbers = rng.lognormal(0, 2, N)
    numbers[::7], numbers[::11] = np.nan, -1
    days = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.randint(0, 900, N), "D"))
    return pd.DataFrame(
        {
            "amount": numbers,
            "day": days.where(np.arange(N) % 13 > 0),
            "member": rng.rand(N) > 0.3,
            "town": rng.choice(["Lima", "Oslo", "none", "2"], N),
            "id": [f"id{i % 97}" for i in range(N)],
        }
    )


def test_columns_encode_as_their_encoder_does(encoder):
    rows = table()
    encoded = encoder.transform(rows)
    assert {type(column) for column in encoder.columns} == set(COLUMN_TYPES)
    for place, column in enumerate(encoder.columns):
        own = column.encode(encoder.cells(rows, column.source))
        assert own.dtype == np.float32
        np.testing.assert_array_equal(own, encoded[:, place], err_msg=str(column))


def test_indicators_are_1_exactly_where_their_cells_say(encoder):
    rows = table()
    towns = rows["town"].where(rows["town"] != "none", None)
    ids = {column.category for column in encoder.columns_of(4) if isinstance(column, Category)}
    assert 0 < len(ids) < rows["id"].nunique()
    truths = {
        Missing: {0: rows["amount"].isna() | (rows["amount"] == -1), 1: rows["day"].isna()},
        Rare: {4: ~rows["id"].isin(ids)},
    }
    encoded = encoder.transform(rows)
    found = set()
    for place, column in enumerate(encoder.columns):
        if isinstance(column, Category):
            cells = towns if column.source == 3 else rows["id"]
            truth = cells.isna() if column.category is None else cells == column.category
        elif type(column) in truths:
            truth = truths[type(column)][column.source]
        else:
            continue
        found.add((type(column), column.source, column.means_missing))
        original = encoded[:, place] * column.scale + column.mean
        np.testing.assert_allclose(original, truth, atol=1e-6, err_msg=str(column))
    assert len(found) == 6


def test_encoded_rows_lie_in_the_span(encoder):
    encoded = encoder.transform(table())
    for place, column in enumerate(encoder.columns):
        low, high = column.span
        values = encoded[:, place]
        present = values != 0  # a missing number counts as 0, wherever that is
        assert (values[present] >= np.float32(low) - 1e-6).all()
        assert (values[present] <= np.float32(high) + 1e-6).all()
        if not isinstance(column, Number):
            np.testing.assert_allclose([values.min(), values.max()], [low, high], rtol=1e-6)


def test_one_table_read_once_or_twice_is_encoded_the_same(encoder):
    weights = np.arange(N) % 4 / 2
    scaling = "standard" if encoder.columns[0].knots is None else "quantile"
    again, encoded = Encoder.fit_transform(
        table(), weights, named=True, scaling=scaling, missing=("-1", "none")
    )
    assert again == encoder
    np.testing.assert_array_equal(encoded, encoder.transform(table()))


def test_what_means_missing_depends_on_the_kind():
    markers = Markers.of(["0", "1970-01-02", "-9"])
    cells = np.array([0.0, 1.0, -9.0, 5.0])
    kinds = {Number: [0, 2], Date: [1], Flag: []}
    for kind, holes in kinds.items():
        found = np.isnan(kind(0).without_markers(cells, markers))
        assert np.flatnonzero(found).tolist() == holes
    assert Missing(0).marked(markers) == Rare(0).marked(markers) == ()


def test_columns_that_mean_missing():
    named = [Missing(0), Category(0, category=None), Category(0, category="a"), Rare(0)]
    assert [column.means_missing for column in named] == [True, True, False, False]
    assert not any(kind(0).means_missing for kind in (Number, Date, Flag))


@pytest.mark.parametrize(
    ("kind", "text", "number"),
    [
        (Number, "2.5", 2.5),
        (Number, "-1e3", -1000),
        (Number, "inf", None),
        (Number, "1970-01-02", None),
        (Date, "1970-01-02", 1),
        (Date, "1970-01-01 06:00", 0.25),
        (Date, "2.5", None),
        (Flag, "1", 1),
    ],
)
def test_numbers_are_read_from_texts(kind, text, number):
    assert kind(0).number_in(text) == number
