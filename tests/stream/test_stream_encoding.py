"""An encoder that saw a table once, piece by piece, is that of the table in memory."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parquet_tables import every_kind, written

from neuralrules import NeuralRuleClassifier
from neuralrules._data import _survey
from neuralrules._data._categories import MAX_CATEGORIES
from neuralrules._data._columns import Number, Rare
from neuralrules._data._encoder import Encoder
from neuralrules._data._survey import Survey
from neuralrules._estimators._base import settings_of
from neuralrules._io._progress import RowProgress
from neuralrules._stream import _parquet
from neuralrules._stream._parquet import ParquetTable
from neuralrules._stream._rows import VALIDATION, RowStream, chosen
from neuralrules._stream._source import OneMachine, encoded_stream

QUIET = OneMachine(RowProgress(shown=False))


def assert_same_encoder(found, expected):
    assert found.names == expected.names
    assert found.named == expected.named
    numbers = ("mean", "scale", "lowest", "highest")
    for own, other in zip(found.columns, expected.columns, strict=True):
        for name in numbers:
            assert getattr(own, name) == pytest.approx(getattr(other, name), rel=1e-9), own
        assert (own.knots is None) == (other.knots is None)
        if own.knots is not None:
            assert own.knots.x == other.knots.x
            np.testing.assert_allclose(own.knots.z, other.knots.z, rtol=1e-9)
        aside: dict = dict.fromkeys(numbers, 0)
        aside |= {"knots": None} if isinstance(own, Number) else {}
        assert replace(own, **aside) == replace(other, **aside)


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
@pytest.mark.parametrize("held_share", [0.0, 0.2])
def test_the_encoder_of_files_is_that_of_the_same_table_in_memory(
    tmp_path, monkeypatch, scaling, held_share
):
    table = every_kind()
    path = written(table, tmp_path / "table.parquet", 400)
    monkeypatch.setattr(_parquet, "CHUNK_CELLS", 23 * 150)  # several pieces in a row group
    settings_ = settings_of(NeuralRuleClassifier(scaling=scaling))
    stream = RowStream.of(ParquetTable(path), "y", None, settings_, seed=3)
    stream = replace(stream, held_share=held_share)
    found = encoded_stream(stream, settings_, QUIET)

    frame = pd.read_parquet(path)
    own = np.where(chosen(0, len(frame), held_share, 3, VALIDATION), 0, 1).astype(np.float32)
    assert 0 < own.mean() <= 1
    X = frame.drop(columns="y")
    expected = Encoder.fit(X, own, named=True, scaling=scaling)
    assert_same_encoder(found.encoder, expected)
    pieces = [found.encoded(raw) for raw in stream.rows()]
    assert len(pieces) > 15
    X_found = np.concatenate([rows.X for rows in pieces])
    np.testing.assert_allclose(X_found, expected.transform(X), rtol=1e-4, atol=1e-5)
    codes = np.concatenate([rows.codes for rows in pieces])
    np.testing.assert_array_equal(np.array(["no", "yes"])[codes], frame["y"])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(-1e6, 1e6) | st.just(np.nan),
            st.sampled_from(["a", "b", "c", None]),
            st.sampled_from([0.0, 1.0, 3.0]),
        ),
        min_size=2,
        max_size=40,
    ),
    st.integers(1, 7),
)
def test_pieces_of_any_size_give_the_encoder_of_the_whole(rows, size):
    numbers, words, weights = zip(*rows, strict=True)
    frame = pd.DataFrame({"number": numbers, "word": pd.Series(words, dtype=object)})
    weights = np.array(weights)
    weights[0] = 1.0
    survey = Survey(list(frame))
    for start in range(0, len(frame), size):
        own = weights[start : start + size]
        survey.add(frame.iloc[start : start + size], own, own > 0)
    found, expected = (
        survey.encoder(scaling="standard"),
        Encoder.fit(frame, weights, named=True),
    )
    for own, other in zip(found.columns, expected.columns, strict=True):
        kinds = [one.record for one in (own, other)]
        assert kinds[0] == kinds[1]
        assert (own.lowest, own.highest) == (other.lowest, other.highest)
        assert own.mean == pytest.approx(other.mean, rel=1e-9, abs=1e-6)
        assert own.scale == pytest.approx(other.scale, rel=1e-6, abs=1e-6)


def test_of_very_many_names_the_rarest_are_forgotten_and_the_frequent_counted(monkeypatch):
    monkeypatch.setattr(_survey, "MOST_NAMES", 200)
    rng = np.random.RandomState(0)
    names = [f"id{i}" for i in range(3000)] + [f"often{i % 70:02}" for i in range(7000)]
    frame = pd.DataFrame({"name": rng.permutation(names)})
    survey = Survey(["name"])
    for start in range(0, len(frame), 500):
        survey.add(frame[start : start + 500], np.ones(500), np.zeros(500, bool))
    found, expected = survey.encoder(scaling="standard"), Encoder.fit(frame, np.ones(10_000))
    assert len(found.columns) == len(expected.columns) == MAX_CATEGORIES
    assert all(str(one.record[2]).startswith("often") for one in found.columns[:-1])
    assert isinstance(found.columns[-1], Rare)
    shares = sum(column.mean for column in found.columns)
    assert shares == pytest.approx(1)
