"""Every type that a column of polars or of Arrow can have is encoded, or refused by us."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from neuralrules._data._encoder import Encoder

NUMBERS = [0, 3, 1, 2, 3, 0]
DATES = [datetime.date(2020, 1, 1 + number) for number in NUMBERS]
TIMES = [datetime.datetime(2020, 1, 1 + number, 12) for number in NUMBERS]
CLOCKS = [datetime.time(number) for number in NUMBERS]
SPANS = [datetime.timedelta(number) for number in NUMBERS]
TEXTS = [f"t{number}" for number in NUMBERS]
NO_DATE = (
    "Column 'a' holds times without a date, or spans of time, which have no unit to split on."
)
NO_NUMBER = "argument must be a string or a number: column 'a' of X holds "


def integers(name):
    return pl.Series(NUMBERS).cast(getattr(pl, name))


# The column, and the number or text that each of its cells counts as.
POLARS = {
    **{
        name: (integers(name), NUMBERS)
        for name in ("Int8", "Int16", "Int32", "Int64", "Int128", "UInt8", "UInt64", "UInt128")
        if hasattr(pl, name)
    },
    **{
        name: (pl.Series(NUMBERS).cast(pl.Float64).cast(getattr(pl, name)), NUMBERS)
        for name in ("Float16", "Float32", "Float64")
        if hasattr(pl, name)
    },
    "Decimal": (pl.Series([Decimal(number) for number in NUMBERS]), NUMBERS),
    "Boolean": (pl.Series([bool(number) for number in NUMBERS]), [0, 1, 1, 1, 1, 0]),
    "Date": (pl.Series(DATES), [18262 + number for number in NUMBERS]),
    "Datetime": (
        pl.Series(TIMES).dt.replace_time_zone("UTC"),
        [18262.5 + number for number in NUMBERS],
    ),
    "Object of numbers": (pl.Series(NUMBERS, dtype=pl.Object), NUMBERS),
    "String": (pl.Series(TEXTS), TEXTS),
    "Categorical": (pl.Series(TEXTS).cast(pl.Categorical), TEXTS),
    "Enum": (pl.Series(TEXTS).cast(pl.Enum([*sorted(set(TEXTS))])), TEXTS),
    "Null": (pl.Series([None] * 6), [np.nan] * 6),
}
REFUSED_POLARS = {
    "List": (pl.Series([[number] for number in NUMBERS]), NO_NUMBER),
    "Array": (pl.Series([[1, 2]] * 6, dtype=pl.Array(pl.Int64, 2)), f"{NO_NUMBER}values of"),
    "Struct": (pl.Series([{"k": number} for number in NUMBERS]), f"{NO_NUMBER}values of"),
    "Object": (pl.Series([object()] * 6, dtype=pl.Object), NO_NUMBER),
    "Time": (pl.Series(CLOCKS), NO_DATE),
    "Duration": (pl.Series(SPANS), NO_DATE),
}
ARROW = {
    "decimal128": (pa.array([Decimal(number) for number in NUMBERS]), NUMBERS),
    "float16": (pa.array(np.array(NUMBERS, np.float16)), NUMBERS),
    "uint64": (pa.array(NUMBERS, pa.uint64()), NUMBERS),
    "bool": (pa.array([bool(number) for number in NUMBERS]), [0, 1, 1, 1, 1, 0]),
    "date32": (pa.array(DATES), [18262 + number for number in NUMBERS]),
    "timestamp": (
        pa.array(TIMES, pa.timestamp("ns", "UTC")),
        [18262.5 + number for number in NUMBERS],
    ),
    "string": (pa.array(TEXTS), TEXTS),
    "large_string": (pa.array(TEXTS, pa.large_string()), TEXTS),
    "dictionary": (pa.array(TEXTS).dictionary_encode(), TEXTS),
    "null": (pa.nulls(6), [np.nan] * 6),
}
REFUSED_ARROW = {
    "list": (pa.array([[number] for number in NUMBERS]), NO_NUMBER),
    "struct": (pa.array([{"k": number} for number in NUMBERS]), NO_NUMBER),
    "map": (pa.array([[("a", 1)]] * 6, pa.map_(pa.string(), pa.int64())), NO_NUMBER),
    "time64": (pa.array(CLOCKS), NO_DATE),
    "duration": (pa.array(SPANS), NO_DATE),
}


def polars_frame(column):
    return pl.DataFrame({"a": column})


def arrow_frame(column):
    held = pd.arrays.ArrowExtensionArray(pa.chunked_array([column]))
    return pd.DataFrame({"a": pd.Series(held)})


ENCODED = [
    *(pytest.param(polars_frame, *own, id=f"polars {name}") for name, own in POLARS.items()),
    *(pytest.param(arrow_frame, *own, id=f"Arrow {name}") for name, own in ARROW.items()),
]
REFUSED = [
    *(pytest.param(polars_frame, *own, id=f"polars {n}") for n, own in REFUSED_POLARS.items()),
    *(pytest.param(arrow_frame, *own, id=f"Arrow {n}") for n, own in REFUSED_ARROW.items()),
]


@pytest.mark.parametrize(("frame", "column", "cells"), ENCODED)
def test_a_type_counts_as_numbers_or_text(frame, column, cells):
    X, plain = frame(column), pd.DataFrame({"a": cells})
    weights = np.ones(6, np.float32)
    encoder, expected = Encoder.fit(X, weights), Encoder.fit(plain, weights)
    kinds = [(own.rank, own.record[2], own.mean, own.scale) for own in encoder.columns]
    assert kinds == [(own.rank, own.record[2], own.mean, own.scale) for own in expected.columns]
    np.testing.assert_array_equal(encoder.transform(X), expected.transform(plain))


@pytest.mark.parametrize(("frame", "column", "message"), REFUSED)
def test_a_type_that_no_rule_can_use(frame, column, message):
    with pytest.raises(TypeError) as caught:
        Encoder.fit(frame(column), np.ones(6, np.float32))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("name", [name for name in ("Int128", "UInt128") if hasattr(pl, name)])
def test_integers_of_128_bits_have_holes_and_all_their_size(name):
    X = pl.DataFrame({"a": pl.Series([None, 10**18, 3, 2**53 + 1]).cast(getattr(pl, name))})
    plain = pd.DataFrame({"a": [np.nan, 1e18, 3, float(2**53 + 1)]})
    weights = np.ones(4, np.float32)
    encoder = Encoder.fit(plain, weights)
    np.testing.assert_array_equal(
        Encoder.fit(X, weights).transform(X), encoder.transform(plain)
    )
