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
from neuralrules._data._columns import Number, Rare, Usual
from neuralrules._data._encoder import Encoder
from neuralrules._data._survey import Survey
from neuralrules._data._usual import Outcomes
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
        if isinstance(own, Usual):
            assert own.usual == pytest.approx(other.usual, rel=1e-9)
            assert own.otherwise == pytest.approx(other.otherwise, rel=1e-9)
            aside |= {"usual": (), "otherwise": 0.0}
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
    outcomes = Outcomes((frame[["y"]] == "yes").to_numpy(float), own)
    expected, X_expected = Encoder.fit_transform(
        X, own, named=True, scaling=scaling, outcomes=outcomes
    )
    assert sum(isinstance(column, Usual) for column in expected.columns) == 2
    assert_same_encoder(found.encoder, expected)
    pieces = [found.encoded(raw) for raw in stream.rows()]
    assert len(pieces) > 15
    X_found = np.concatenate([rows.X for rows in pieces])
    np.testing.assert_allclose(X_found, X_expected, rtol=1e-4, atol=1e-5)
    codes = np.concatenate([rows.codes for rows in pieces])
    np.testing.assert_array_equal(np.array(["no", "yes"])[codes], frame["y"])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(-1e6, 1e6).map(lambda number: round(number, 9)) | st.just(np.nan),
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
        survey.encoder(scaling="standard")[0],
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
    found, expected = survey.encoder(scaling="standard")[0], Encoder.fit(frame, np.ones(10_000))
    assert len(found.columns) == len(expected.columns) == MAX_CATEGORIES
    assert all(str(one.record[2]).startswith("often") for one in found.columns[:-1])
    assert isinstance(found.columns[-1], Rare)
    shares = sum(column.mean for column in found.columns)
    assert shares == pytest.approx(1)


@pytest.mark.parametrize("task", ["two classes", "three classes", "number", "two numbers"])
def test_usual_outcomes_of_pieces_in_any_grouping_are_those_of_the_whole(task):
    """As one machine adds pieces, as several join them, and with classes that come late."""
    frame, outcomes, weights = many_cities(task)
    expected, X_expected = Encoder.fit_transform(
        frame,
        weights,
        named=True,
        outcomes=Outcomes(np.stack([*outcomes.values()][task[-7:] == "classes" :], 1), weights),
    )
    usual = [column for column in expected.columns if isinstance(column, Usual)]
    assert len(usual) == {"two classes": 1}.get(task, 2)

    def survey_of(first, last):
        survey = Survey(list(frame))
        for start in range(first, last, 100):
            piece = slice(start, min(start + 100, last))
            own = {
                label: values[piece]
                for label, values in outcomes.items()
                if values.dtype != bool or values[piece].any()
            }
            survey.add(frame[piece], weights[piece], weights[piece] > 0, own, start)
        return survey

    joined = Survey(list(frame))
    for start in range(0, len(frame), 270):
        joined.join(survey_of(start, min(start + 270, len(frame))))
    labels = [*outcomes][task[-7:] == "classes" :]
    for survey in (survey_of(0, len(frame)), joined):
        found, sums = survey.encoder(scaling="standard", outcomes=labels)
        assert_same_encoder(found, expected)
        cells = found.training_cells(frame, sums, Outcomes(weights, weights).parts)
        np.testing.assert_allclose(
            found.transform(frame, cells), X_expected, rtol=1e-4, atol=1e-5
        )


def many_cities(task):
    """Cities with few rows each, holes, and a column that looks empty for a while."""
    rng = np.random.RandomState(0)
    places = rng.geometric(0.02, 1500)
    city = np.array([f"c{i}" for i in places], object)
    city[::13] = None
    late = np.where(np.arange(1500) < 300, None, [f"l{i % 40}" for i in places])
    frame = pd.DataFrame({"city": city, "late": late if task == "number" else city})
    frame = frame if task == "number" else frame[["city"]]
    numbers = 1e6 + np.sin(places) + rng.randn(1500)
    codes = rng.randint(0, 2 + (task == "three classes"), 1500)
    codes[:300] = np.minimum(codes[:300], 1)
    outcomes = {f"class {code}": codes == code for code in np.unique(codes)}
    if "number" in task:
        outcomes = {0: numbers, **({1: -numbers * 3} if task == "two numbers" else {})}
    return frame, outcomes, rng.randint(0, 3, 1500) / 2


def test_a_table_without_usual_outcomes_stays_without_them(tmp_path):
    path = written(every_kind(), tmp_path / "table.parquet", 400)
    settings_ = settings_of(NeuralRuleClassifier(usual_outcomes=False))
    stream = RowStream.of(ParquetTable(path), "y", None, settings_, seed=3)
    encoder = encoded_stream(stream, settings_, QUIET).encoder
    assert not any(isinstance(column, Usual) for column in encoder.columns)
