"""Tables of every kind become standardised float32 columns."""

from datetime import timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from neuralrules import NeuralRuleClassifier
from neuralrules._data import _encoder
from neuralrules._data._categories import MAX_CATEGORIES
from neuralrules._data._columns import Rare
from neuralrules._data._encoder import Encoder
from neuralrules._data._table import check_table


def encode(X, weights=None):
    X = check_table(X)
    weights = np.ones(X.shape[0], np.float32) if weights is None else weights
    encoder = Encoder.fit(X, weights)
    return encoder, encoder.transform(X)


def test_numbers_are_standardised_and_constant_columns_become_zero():
    X = np.random.RandomState(0).randn(300, 3) * [1, 100, 0] + 7
    _, encoded = encode(X)
    assert encoded.dtype == np.float32
    np.testing.assert_allclose(encoded.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(encoded.std(axis=0), [1, 1, 0], atol=1e-5)


def test_weights_enter_mean_and_deviation():
    X = np.random.RandomState(0).randn(50, 2)
    weights = np.random.RandomState(1).randint(1, 4, 50)
    _, repeated = encode(np.repeat(X, weights, axis=0))
    _, weighted = encode(X, weights.astype(np.float32))
    np.testing.assert_allclose(np.repeat(weighted, weights, axis=0), repeated, atol=1e-6)


def test_chunks_change_nothing(monkeypatch, mixed_frame):
    frame, _ = mixed_frame
    _, at_once = encode(frame)
    monkeypatch.setattr(_encoder, "CHUNK_CELLS", 1)
    encoder, in_chunks = encode(frame)
    np.testing.assert_allclose(in_chunks, at_once, atol=1e-5)
    pieces = list(encoder.chunks(frame))
    assert len(pieces) == -(-len(frame) // 64)
    np.testing.assert_array_equal(np.vstack([piece for _, _, piece in pieces]), in_chunks)


def test_columns_say_where_they_come_from(mixed_frame):
    frame, _ = mixed_frame
    encoder, encoded = encode(frame)
    found = [(encoder.names[c.source], *c.record[1:]) for c in encoder.columns]
    assert found == [
        ("income", "number", None),
        ("children", "number", None),
        ("employed", "boolean", None),
        ("age", "number", None),
        ("member", "boolean", None),
        ("income", "missing", None),
        ("age", "missing", None),
        ("member", "missing", None),
        ("city", "category", "Lima"),
        ("city", "category", "Oslo"),
        ("city", "category", "Rome"),
        ("city", "category", None),
        ("grade", "category", "a"),
        ("grade", "category", "b"),
        ("code", "category", "1"),
        ("code", "category", "2"),
        ("code", "category", "3"),
    ]
    income = encoder.columns[0]
    present = frame["income"].notna().to_numpy()
    np.testing.assert_allclose(
        encoded[present, 0] * income.scale + income.mean, frame["income"][present], rtol=1e-4
    )
    assert (encoded[~present, 0] == 0).all()  # a missing number takes the mean
    rome = encoder.columns[10]
    np.testing.assert_allclose(
        encoded[:, 10] * rome.scale + rome.mean, frame["city"] == "Rome", atol=1e-6
    )


def test_polars_and_pandas_give_the_same_model(mixed_frame):
    frame, y = mixed_frame
    frame = frame.drop(columns="code")  # polars has no integer categories
    same = pl.DataFrame(
        {
            name: [
                None if missing else cell
                for cell, missing in zip(column, column.isna(), strict=True)
            ]
            for name, column in frame.items()
        }
    )
    a = NeuralRuleClassifier(random_state=0).fit(frame, y)
    b = NeuralRuleClassifier(random_state=0).fit(same, y)
    assert list(b.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(a.decision_function(frame), b.decision_function(same))


def test_polars_kinds():
    frame = pl.DataFrame(
        {
            "n": [1, None, 3, 4] * 10,
            "s": ["a", None, "b", "b"] * 10,
            "b": [True, False, None, True] * 10,
            "e": pl.Series(["u", "v", "v", None] * 10, dtype=pl.Enum(["u", "v"])),
            "c": pl.Series(["u", "v", "v", None] * 10, dtype=pl.Categorical),
        }
    )
    encoder, encoded = encode(frame)
    numbers = ["number", "boolean", "missing", "missing"]
    assert [c.stored_as for c in encoder.columns] == numbers + ["category"] * 9
    assert np.isfinite(encoded).all()


def test_object_arrays_may_mix_numbers_and_strings():
    X = np.array([[1.5, "a"], [None, "b"], [np.nan, None], [4, "a"]], dtype=object)
    encoder, _ = encode(X)
    assert [c.stored_as for c in encoder.columns] == ["number", "missing"] + ["category"] * 3
    assert encoder.names == ["x0", "x1"]


def test_rare_categories_share_one_indicator_and_take_in_unseen_ones():
    n = MAX_CATEGORIES + 20
    values = np.repeat([f"c{i:03}" for i in range(n)], np.arange(n, 0, -1))
    frame = pd.DataFrame({"name": values})
    encoder, encoded = encode(frame)
    assert len(encoder.columns) == MAX_CATEGORIES
    assert isinstance(encoder.columns[-1], Rare)
    unseen = encoder.transform(pd.DataFrame({"name": ["new"]}))
    np.testing.assert_array_equal(unseen[0], encoded[-1])


def test_an_unseen_category_is_none_of_the_known_ones():
    frame = pd.DataFrame({"city": ["Oslo", "Rome"] * 10})
    encoder, encoded = encode(frame)
    unseen = encoder.transform(pd.DataFrame({"city": ["Lima"]}))[0]
    assert (unseen == encoded.min(axis=0)).all()


def test_missing_values_at_prediction_only():
    X = np.random.RandomState(0).randn(100, 2)
    y = (X[:, 0] > 0).astype(int)
    model = NeuralRuleClassifier(2, random_state=0).fit(X, y)
    with_hole = X[:1].copy()
    with_hole[0, 1] = np.nan
    assert np.isfinite(model.decision_function(with_hole)).all()


def test_a_column_that_is_always_missing():
    X = np.random.RandomState(0).randn(100, 2)
    X[:, 1] = np.nan
    _, encoded = encode(X)
    assert np.isfinite(encoded).all()


@pytest.mark.parametrize("gone", [slice(0, 90), slice(60, 140), slice(120, 200)])
@pytest.mark.parametrize("by", ["missing", "weight zero"])
def test_a_column_that_is_missing_in_a_whole_chunk(monkeypatch, gone, by):
    X = 50 * np.random.RandomState(0).randn(200, 1) + 7
    weights = np.random.RandomState(1).uniform(0.5, 2, 200).astype(np.float32)
    if by == "missing":
        X[gone] = np.nan
    else:
        weights[gone] = 0
    present = ~np.isnan(X[:, 0])
    mean = np.average(X[present, 0], weights=weights[present])
    deviation = np.sqrt(np.average((X[present, 0] - mean) ** 2, weights=weights[present]))
    monkeypatch.setattr(_encoder, "CHUNK_CELLS", 1)
    encoder, _ = encode(X, weights)
    assert encoder.columns[0].mean == pytest.approx(mean)
    assert encoder.columns[0].scale == pytest.approx(deviation)


def test_constant_columns_far_from_zero_stay_zero(monkeypatch):
    monkeypatch.setattr(_encoder, "CHUNK_CELLS", 1)
    _, encoded = encode(np.full((1000, 1), 1e9 + 0.1))
    assert np.abs(encoded).max() < 1e-3


def test_categories_do_not_depend_on_their_neighbours():
    """A hole turns integer categories into floats, but only in its own piece."""
    frame = pd.DataFrame({"code": pd.Categorical([1, 2, 3, None] * 20)})
    y = (frame["code"] == 2).to_numpy()
    model = NeuralRuleClassifier(2, random_state=0).fit(frame, y)
    assert [c.record[2] for c in model.encoder_.columns] == ["1", "2", "3", None]
    whole = model.decision_function(frame)
    one_by_one = [model.decision_function(frame.iloc[[row]])[0] for row in range(4)]
    np.testing.assert_array_equal(whole[:4], one_by_one)


def test_lists_keep_numbers_beside_strings():
    encoder, _ = encode([[1.5, "a"], [2.5, "b"]])
    assert [c.stored_as for c in encoder.columns] == ["number", "category", "category"]


def test_numbers_for_a_model_fitted_with_categories():
    frame = pd.DataFrame({"a": ["x", "y"] * 20, "b": np.arange(40.0)})
    model = NeuralRuleClassifier(2, n_epochs=1).fit(frame.to_numpy(), np.arange(40) % 2)
    assert model.predict(np.zeros((3, 2))).shape == (3,)  # unknown categories


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        (
            pd.DataFrame({"took": pd.to_timedelta([1, 2], unit="D")}),
            TypeError,
            "Column 'took' holds times without a date, or spans of time, which have no unit to "
            "split on. Turn it into a number first, for example of hours.",
        ),
        (
            pl.DataFrame({"took": [timedelta(1), None]}),
            TypeError,
            "Column 'took' holds times without a date",
        ),
        (
            pd.DataFrame({"a": [1.0, np.inf]}),
            ValueError,
            "Input X contains infinity or a value too large to multiply in float32: column 'a' "
            "holds inf. "
            "Replace it by a finite number, or by NaN if it is missing.",
        ),
        (np.array([[1e30], [0]]), ValueError, "column 'x0' holds 1e\\+30"),
        (sparse.eye(3).tocsr(), TypeError, "Sparse data was passed"),
        (np.array([1.0, 2.0]), ValueError, "Expected 2D array, got 1D array"),
        (pd.DataFrame({"a": []}), ValueError, "0 sample"),
        (np.empty((0, 3)), ValueError, "0 sample"),
        (
            np.array([[{}], [1]], dtype=object),
            TypeError,
            "argument must be a string or a number",
        ),
        (np.array([[1 + 2j], [0]]), ValueError, "Complex data not supported"),
    ],
    ids=lambda value: None,
)
def test_bad_tables_are_refused(table, error, message):
    with pytest.raises(error, match=message):
        encode(table)


def test_a_numeric_column_that_turns_into_text_is_named():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    encoder, _ = encode(frame)
    message = (
        "Column 'a' held numbers when the model was fitted and holds text or categories now. "
        "Convert it to numbers, or fit again."
    )
    with pytest.raises(ValueError, match=message):
        encoder.transform(pd.DataFrame({"a": ["x"]}))


def test_rows_far_outside_the_training_rows_do_not_overflow():
    X = np.random.RandomState(0).randn(100, 2) * 1e-25
    model = NeuralRuleClassifier(2, n_epochs=5, random_state=0).fit(X, X[:, 0] > 0)
    assert np.isfinite(model.decision_function(np.full((2, 2), 1e15))).all()


def test_deviation_is_kept_however_far_the_column_and_heavy_the_rows():
    column = 1.7e12 + np.arange(2000.0) % 1000
    encoder, _ = encode(column[:, None], np.full(2000, 1e11, np.float32))
    assert encoder.columns[0].scale == pytest.approx(column.std(), rel=1e-3)


@pytest.mark.parametrize("chunk_cells", [2**21, 1])
@pytest.mark.parametrize("size", [1e-100, 1e-155, 1e-165, 1e-250])
def test_columns_of_tiny_numbers_are_standardised(size, chunk_cells, monkeypatch):
    """Below about 1e-162 a square is zero."""
    monkeypatch.setattr(_encoder, "CHUNK_CELLS", chunk_cells)
    rng = np.random.RandomState(0)
    plain = rng.randn(200, 2) + 3
    plain[::7, 1] = np.nan
    weights = rng.randint(0, 3, 200).astype(np.float32)
    tiny = plain * [size, 1]
    # What has no weight has no part in the scale, whatever it is.
    tiny[0, 0], weights[0] = 1e9, 0
    encoder, expected = (Encoder.fit(X, weights) for X in (tiny, plain))
    for one, other, unit in zip(encoder.columns, expected.columns, (size, 1, 1), strict=True):
        assert one.scale == pytest.approx(other.scale * unit, rel=1e-12, abs=0)
        assert one.mean == pytest.approx(other.mean * unit, rel=1e-12, abs=0)
    encoded = encoder.transform(tiny)
    np.testing.assert_allclose(encoded[1:], expected.transform(plain)[1:], rtol=1e-5, atol=1e-6)
    assert np.isfinite(encoded).all()


def test_small_numbers_before_large_ones_count_in_the_deviation(monkeypatch):
    monkeypatch.setattr(_encoder, "CHUNK_CELLS", 1)  # 64 rows at a time
    column = np.repeat([1e-130, 3e-120], 64)[:, None]
    (encoded,) = Encoder.fit(column, np.ones(128)).columns
    assert encoded.scale == pytest.approx(1.5e-120, rel=1e-9, abs=0)


def test_deviations_that_cannot_be_divided_by_are_refused():
    X = np.stack([np.arange(9.0), np.arange(9) * 1e-300], axis=1)
    message = (
        r"^Column 'x1' of X has a standard deviation of 2.58e-300, too small to divide by\. "
        r"Give it in a smaller unit, so that its deviation is at least 1e-280, or leave"
    )
    with pytest.raises(ValueError, match=message):
        NeuralRuleClassifier().fit(X, np.arange(9) % 2)


def test_a_query_must_be_run_first():
    frame = pl.DataFrame({"a": range(20), "b": range(20)})
    y = np.arange(20) > 9
    model = NeuralRuleClassifier(n_trees=1, n_epochs=1, random_state=0).fit(frame, y)
    for use in (lambda X: model.fit(X, y), model.predict, model.explain):
        with pytest.raises(TypeError, match=r"^X is a LazyFrame, .* Call X\.collect\(\) first"):
            use(frame.lazy())
