"""The model as ONNX, run by onnxruntime and by ONNX's own reference."""

import re
import sys
from dataclasses import replace
from itertools import combinations

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from models import (
    EVERY_MODEL,
    fitted,
    fitted_on_mixed,
    fitted_on_rare_codes,
    mixed_table,
    network_outputs,
    simplified,
    with_labels,
    with_network,
)
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError

from neuralrules import (
    NeuralRuleClassifier,
    NeuralRuleClassifierCV,
    NeuralRuleRegressor,
    NeuralRuleRegressorCV,
)
from neuralrules._data._categories import as_categories
from neuralrules._data._columns import Category, Number
from neuralrules._data._encoder import Encoder
from neuralrules._data._numbers import as_numbers
from neuralrules._data._table import column_of
from neuralrules._engine._reference import literals_forward, units_forward
from neuralrules._export._extras import size_text
from neuralrules._export._onnx import BLOCK_ROWS, BUCKET_SHARE, buckets
from neuralrules._export._onnx_graph import REFUSAL, Inputs

DEPTHS = [{"max_depth": 2}, {"max_depth": 3}]
CLOSE = 1e-5  # probabilities, or numbers in deviations of their target


def session(proto):
    onnx.checker.check_model(proto, full_check=True)
    return onnxruntime.InferenceSession(proto.SerializeToString())


def feed(proto, X, missing_text=""):
    """The cells of a table as the graph's inputs take them."""
    if isinstance(X, np.ndarray) and X.dtype != object:
        return {"X": X}
    cells = {}
    for place, value in enumerate(proto.graph.input):
        column = column_of(X, place)
        if value.type.tensor_type.elem_type == onnx.TensorProto.STRING:
            texts = as_categories(column)
            texts[[text is None for text in texts[:, 0]]] = missing_text
            cells[value.name] = texts
        else:
            cells[value.name] = as_numbers(column, value.name)[:, None]
    return cells


def uncancelled(model, X):
    """What the outputs would be if no sum cancelled, (n_rows,): rounding is relative to it."""
    network = model.network_
    sizes = type(network.parameters)(*(np.abs(a.astype(float)) for a in network.parameters))
    encoded = np.abs(model.encoder_.transform(X).astype(float))[:, network.features]
    units = units_forward(
        sizes, network.layout, literals_forward(sizes, network.layout, encoded)
    )
    largest = np.maximum.reduceat(units, network.offsets[:-1], axis=1)
    return (largest @ sizes.values).max(axis=1)


def agree(model, X, proto=None, missing_text="", room=0.0):
    """onnxruntime gives what the model's methods return.

    `room` (n_rows,) is what rounding may add to an output where a row is so far away that
    float32 itself is coarse.
    """
    proto = proto or model.to_onnx(missing_text=missing_text)
    results = session(proto).run(None, feed(proto, X, missing_text))
    compare(model, X, results, room)


def compare(model, X, results, room=0.0):
    decided, predicted = network_outputs(model, X), model.predict(X)
    if not hasattr(model, "classes_"):
        (outputs,) = results
        assert outputs.shape == predicted.shape
        assert outputs.dtype == np.float64
        # Relative to the target's spread, or to the distance from it.
        size = model.fitted_.task.scale + np.abs(decided - model.network_.intercept)
        error = np.abs(outputs.reshape(decided.shape) - decided)
        assert (error <= CLOSE * size + np.reshape(room, (-1, 1))).all()
        return
    labels, outputs = results
    assert labels.shape == predicted.shape
    both = np.hstack([0 * decided, decided]) if decided.shape[1] == 1 else decided
    best = np.sort(both, axis=1)
    clear = best[:, -1] - best[:, -2] > CLOSE + 2 * room
    exact_tie = (both == both[:, :1]).all(axis=1) & (decided == 0).all(axis=1)
    assert (labels == predicted)[clear | exact_tie].all()
    if model.loss == "logistic":
        expected, tolerance = model.predict_proba(X), CLOSE + room
    else:
        expected = model.decision_function(X)
        tolerance = CLOSE * (1 + np.abs(decided).max(axis=1)) + room
    assert outputs.shape == expected.shape
    error = np.abs(outputs - expected).reshape(len(expected), -1).max(axis=1)
    assert (error <= tolerance).all()


def random_rows(X, seed=1):
    """Rows around and outside those of X, cells drawn column by column."""
    rng = np.random.RandomState(seed)
    if not hasattr(X, "columns"):
        return rng.normal(X.mean(axis=0), 3 * X.std(axis=0) + 1e-3, (200, X.shape[1]))
    rows = X.apply(lambda column: column.sample(200, random_state=rng, replace=True).to_numpy())
    noise = rng.randn(200)
    return rows.assign(**{"income": rows["income"] * np.exp(noise), 'a "b" [c]': 3 * noise})


def holes(X):
    """Every cell missing once, all cells missing at once, and categories never seen."""
    if not hasattr(X, "columns"):
        rows = np.repeat(X[:1], X.shape[1] + 1, axis=0).astype(float)
        rows[np.arange(X.shape[1]), np.arange(X.shape[1])] = np.nan
        rows[-1] = np.nan
        return rows
    rows = X.dropna().iloc[np.zeros(len(X.columns) + 3, int)].reset_index(drop=True)
    rows = rows.astype({"children": float})
    for place, column in enumerate(X.columns):
        rows.loc[[place, len(X.columns)], column] = None
    rows.loc[len(X.columns) + 1, "city"] = "Atlantis"
    rows.loc[len(X.columns) + 2, "code"] = "c4000"
    return rows


def on_thresholds(model, X):
    """Training rows moved onto a leaf's threshold, and onto a literal's zero."""
    encoder, network, rules = model.encoder_, model.network_, model.rules_
    frame = pd.DataFrame(X)
    columns = encoder.columns
    moved = []
    for step, (feature, threshold) in enumerate(
        zip(rules.features, rules.thresholds, strict=True)
    ):
        if isinstance(columns[feature], Number):
            x = columns[feature].original(float(threshold))
            moved.append((step % len(frame), columns[feature].source, x))
    encoded = encoder.transform(X)[:, network.features].astype(np.float64)
    for literal, weights in enumerate(network.weights.astype(np.float64)):
        kinds = [isinstance(columns[feature], Number) for feature in network.features]
        if not np.any(weights * kinds):
            continue
        row = literal % len(frame)
        place = int(np.argmax(np.abs(weights * kinds)))
        column = columns[network.features[place]]
        height = encoded[row] @ weights + network.biases[literal]
        x = encoded[row, place] - height / weights[place]
        moved.append((row, column.source, column.original(x)))
    rows = frame.iloc[[row for row, _, _ in moved]].reset_index(drop=True)
    for source in {source for _, source, _ in moved}:
        rows[rows.columns[source]] = rows[rows.columns[source]].astype(float)
    for place, (_, source, x) in enumerate(moved):
        rows.iloc[place, source] = x
    return rows if hasattr(X, "columns") else rows.to_numpy()


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_it_predicts_what_the_model_predicts(kind, deep):
    model, X, _ = fitted(kind, deep)
    proto = model.to_onnx()
    agree(model, X, proto)
    agree(model, X[:1], proto)
    agree(model, random_rows(X), proto)
    agree(model, holes(X), proto)
    if kind != "constant":
        rows = on_thresholds(model, X)
        assert len(rows) > 3
        agree(model, rows, proto)


@pytest.mark.parametrize("deep", [False, True])
def test_untrained_rules_on_their_thresholds(deep):
    """The decision there is some last digits of float32, and the label falls as the model's."""
    X, y = np.arange(40.0)[:, None], np.arange(40) >= 20
    model = NeuralRuleClassifier.paper(1, n_epochs=0, deep=deep, random_state=0).fit(X, y)
    rows = on_thresholds(model, X)
    assert (np.abs(model.decision_function(rows)) < 1e-6).all()
    proto = model.to_onnx()
    labels, probabilities = session(proto).run(None, {"X": rows})
    assert labels.tolist() == model.predict(rows).tolist()
    np.testing.assert_allclose(probabilities, 0.5, atol=1e-6)


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_values_far_away(kind, deep):
    model, X, _ = fitted(kind, deep)
    for far in (1e6, -1e12, 1.8e19):
        if hasattr(X, "columns"):
            rows = X[:8].assign(**dict.fromkeys(["income", 'a "b" [c]'], far))
        else:
            rows = np.full((8, X.shape[1]), far)
            rows[::2, ::2] *= -1
        agree(model, rows, room=2e-6 * uncancelled(model, rows))


@pytest.mark.parametrize("cell", [np.inf, -np.inf, 1.9e19, -np.finfo(np.float64).max])
@pytest.mark.parametrize("kind", ["two classes", "two targets", "quantiles"])
def test_what_the_model_refuses_the_graph_refuses(kind, cell):
    """One bad cell behind a whole block of good rows, in onnxruntime and in ONNX's own."""
    model, X, _ = fitted(kind)
    proto = model.to_onnx()
    rows = pd.concat([pd.DataFrame(X)] * 6)[: BLOCK_ROWS + 5].reset_index(drop=True)
    source = model.fitted_.used_columns[0]
    rows[rows.columns[source]] = rows[rows.columns[source]].astype(float)
    rows.iloc[-1, source] = cell
    rows = rows if hasattr(X, "columns") else rows.to_numpy()
    with pytest.raises(ValueError, match="contains infinity or a value too large"):
        model.predict(rows)
    with pytest.raises(InvalidArgument, match=f"{re.escape(REFUSAL)}.* out of data bounds"):
        session(proto).run(None, feed(proto, rows))
    # Its warning is of the padding of knots, minus infinity times 0, which no row reaches.
    with np.errstate(invalid="ignore"), pytest.raises(IndexError):
        ReferenceEvaluator(proto).run(None, feed(proto, rows))


@pytest.mark.parametrize("n_rows", [1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 2500])
@pytest.mark.parametrize("deep", [False, True])
def test_any_number_of_rows(n_rows, deep):
    model, X, _ = fitted("mixed", deep)
    rows = pd.concat([X] * 7, ignore_index=True)[:n_rows]
    agree(model, rows)


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from nodes_of(attribute.g)


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_only_operators_of_onnx_itself(kind, deep):
    proto = fitted(kind, deep)[0].to_onnx()
    assert [(opset.domain, opset.version) for opset in proto.opset_import] == [("", 19)]
    assert proto.ir_version == 9
    assert len(proto.functions) == 0
    assert {node.domain for node in nodes_of(proto.graph)} == {""}


@pytest.mark.parametrize("kind", ["mixed", "two classes", "two targets"])
@pytest.mark.parametrize("deep", [False, True])
def test_another_engine(kind, deep):
    """ONNX's own reference: slow, and written apart from onnxruntime."""
    model, X, _ = fitted(kind, deep)
    proto = model.to_onnx()
    results = ReferenceEvaluator(proto).run(None, feed(proto, X))
    compare(model, X, results)


@pytest.mark.parametrize(("kind", "deep"), EVERY_MODEL)
def test_it_states_its_size(kind, deep):
    model, _, _ = fitted(kind, deep)
    proto = model.to_onnx()
    assert proto.doc_string == size_text(model.fitted_)
    assert proto.producer_name == "neuralrules"
    assert session(proto).get_modelmeta().description == size_text(model.fitted_)


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (NeuralRuleRegressor, {"deep": True}),
        (NeuralRuleRegressor, {"rule_source": "boosting", "n_trees": 4}),
        (NeuralRuleRegressorCV, {"candidates": DEPTHS, "cv": 2, "n_trees": 4}),
        (NeuralRuleClassifier, {"rule_source": "boosting", "n_trees": 4}),
        (NeuralRuleClassifier, {"loss": "squared"}),
        (NeuralRuleClassifierCV, {"candidates": DEPTHS, "cv": 2, "refit": "single"}),
        (NeuralRuleClassifier, {"start": "leaf", "n_trees": 4, "scaling": "quantile"}),
    ],
)
def test_every_way_to_fit_a_frame_with_holes(estimator, options):
    model, X = fitted_on_mixed(estimator, options)
    agree(model, X)
    agree(model, holes(X))


@pytest.mark.parametrize("kind", ["mixed", "two targets"])
@pytest.mark.parametrize("deep", [False, True])
def test_simplified_models(kind, deep):
    model, X, _ = fitted(kind, deep)
    small = simplified(kind, deep)
    assert small.network_.n_parameters < model.network_.n_parameters
    agree(small, X)


@pytest.mark.parametrize("spread", [1.0, 3600.0, 1e7])
def test_columns_far_from_zero(spread):
    rng = np.random.RandomState(0)
    X = np.column_stack([1.6e9 + spread * rng.randn(300), -1e6 + rng.randn(300)])
    y = (X[:, 0] - 1.6e9) / spread + (X[:, 1] > -1e6) + 1e6
    agree(NeuralRuleRegressor.paper(3, n_epochs=10, random_state=0).fit(X, y), X)


@pytest.mark.parametrize("n_targets", [None, 1, 2])
def test_predictions_have_the_models_shape(n_targets):
    X, y = load_diabetes(return_X_y=True)
    if n_targets:
        y = np.column_stack([y, -y])[:, :n_targets]
    model = NeuralRuleRegressor.paper(2, n_epochs=2, random_state=0).fit(X, y)
    agree(model, X)
    (output,) = model.to_onnx().graph.output
    assert output.name == "prediction"
    assert len(output.type.tensor_type.shape.dim) == y.ndim


@pytest.mark.parametrize("deep", [False, True])
def test_every_kind_of_column_and_rules_of_many_lengths(mixed_frame, deep):
    X, y = mixed_frame
    model = NeuralRuleClassifier.paper(6, n_epochs=5, deep=deep, random_state=0).fit(X, y)
    lengths = set(np.diff(model.network_.offsets).tolist())
    assert {3, 4, 5, 6} <= lengths  # some are padded to the length of others
    kinds = {model.encoder_.columns[feature].stored_as for feature in model.network_.features}
    assert kinds == {"number", "missing", "category"}
    agree(model, X)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=30).map(np.array))
@example(np.array([4] + [7] * 99))  # one short rule is padded,
@example(np.array([1] * 50 + [7] * 50))  # half of the rules are not
def test_buckets_cost_as_little_as_any_others(lengths):
    found = buckets(lengths)
    assert sorted(np.concatenate(found).tolist()) == list(range(len(lengths)))

    def cost(parts):
        return sum(len(part) * max(part) + BUCKET_SHARE * lengths.sum() for part in parts)

    ends = np.unique(lengths)
    ways = [
        np.split(np.sort(lengths), np.searchsorted(np.sort(lengths), cuts))
        for n_cuts in range(len(ends))
        for cuts in combinations(ends[1:].tolist(), n_cuts)
    ]
    assert cost([lengths[part] for part in found]) == pytest.approx(min(map(cost, ways)))


def test_polars_frames():
    frame, y = mixed_table()
    X = pl.from_pandas(frame)
    model = NeuralRuleClassifier.paper(4, n_epochs=5, random_state=0).fit(X, y)
    agree(model, X)
    agree(model, pl.concat([X, X.with_columns(pl.all().shuffle(1))]))


@pytest.mark.parametrize("with_holes", [False, True])
def test_rare_categories_and_holes(with_holes):
    """A hole is rare where training had none, and a category of its own where it had."""
    agree(*fitted_on_rare_codes(with_holes))


@pytest.mark.parametrize(
    ("classes", "kind"),
    [
        ([False, True], np.bool_),
        ([3, 7, 9], np.int64),
        (np.array([3, 7], np.uint8), np.int64),
        ([1.0, 2.0], np.float64),
        (["a", "b", "c"], object),
        (np.array(["a", "b\0"], object), object),
    ],
)
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_classes_keep_their_type(classes, kind, loss):
    X = np.arange(60.0)[:, None]
    y = np.repeat(classes, 60 // len(classes))
    model = NeuralRuleClassifier.paper(3, n_epochs=2, loss=loss).fit(X, y)
    proto = model.to_onnx()
    agree(model, X, proto)
    labels = session(proto).run(["label"], {"X": X})[0]
    assert labels.dtype == kind
    assert labels.tolist() == model.predict(X).tolist()
    second = "probabilities" if loss == "logistic" else "decision"
    assert [output.name for output in proto.graph.output] == ["label", second]


def test_labels_that_onnx_does_not_know():
    model = NeuralRuleClassifier.paper(1, n_epochs=0).fit(np.arange(4.0)[:, None], [0, 0, 1, 1])
    model = with_labels(model, [0, 1.5])
    message = (
        "to_onnx cannot write the classes [0, 1.5]: labels must be strings, numbers or "
        "booleans, all of one type. Fit on y with such labels, for example y.astype(str)."
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        model.to_onnx()


def test_an_array_is_one_input_and_a_frame_one_for_each_column():
    (value,) = fitted("three classes")[0].to_onnx().graph.input
    assert value.name == "X"
    model, X, _ = fitted("mixed")
    used = {model.encoder_.columns[f].source for f in model.network_.features}
    assert len(used) < len(X.columns)  # those that no rule uses are inputs too
    inputs = model.to_onnx().graph.input
    assert [value.name for value in inputs] == list(X.columns)
    types = [value.type.tensor_type.elem_type for value in inputs]
    number, text = onnx.TensorProto.DOUBLE, onnx.TensorProto.STRING
    assert types == [number, number, text, text, number]


def test_columns_without_weight_cost_nothing():
    model = fitted("mixed")[0]
    weights = model.network_.weights.copy()
    texts = [isinstance(model.encoder_.columns[f], Category) for f in model.network_.features]
    weights[:, texts] = 0
    model = with_network(model, model.network_.with_weights(weights))
    operators = [node.op_type for node in nodes_of(model.to_onnx().graph)]
    assert "Equal" not in operators
    assert operators.count("SplitToSequence") == len(model.fitted_.used_columns) == 1
    agree(model, fitted("mixed")[1])


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_the_numbers_of_a_frame_share_their_nodes(scaling):
    """A row that comes alone would wait for a node of each column."""
    rng = np.random.RandomState(0)
    counts = []
    for n_columns in (2, 12):
        X = pd.DataFrame(rng.randn(200, n_columns)).add_prefix("x")
        y = X.sum(axis=1) > 0
        X.iloc[::5] = np.nan  # an indicator for each column
        model = NeuralRuleClassifier.paper(1, n_epochs=0, scaling=scaling).fit(X, y)
        network = model.network_
        features = np.arange(2 * n_columns)
        network = replace(
            network,
            own_weights=rng.randn(network.n_literals * len(features)).astype(np.float32),
            columns=np.tile(features, network.n_rules),
            column_offsets=np.arange(network.n_rules + 1) * len(features),
        )
        model = with_network(model, network)
        proto = model.to_onnx()
        assert len(model.fitted_.used_columns) == len(proto.graph.input) == n_columns
        counts.append(len(list(nodes_of(proto.graph))))
        agree(model, X, proto)
    assert counts[0] == counts[1]


def test_columns_of_unequal_length_are_refused():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    proto = NeuralRuleRegressor.paper(3, n_epochs=1, random_state=0).fit(X, y).to_onnx()
    cells = feed(proto, X[:4])
    cells["bmi"] = cells["bmi"][:2]
    with pytest.raises(Exception, match="Concat"):
        session(proto).run(None, cells)


def test_outputs_give_way_to_columns():
    _, X, y = fitted("three classes")
    frame = pd.DataFrame(X, columns=["label", "label_", "probabilities", "N"])
    model = NeuralRuleClassifier.paper(3, n_epochs=5, random_state=0).fit(frame, y)
    proto = model.to_onnx()
    assert [value.name for value in proto.graph.input] == list(frame.columns)
    assert [value.name for value in proto.graph.output] == ["label__", "probabilities_"]
    agree(model, frame, proto)


def test_every_name_of_the_graph_as_a_column():
    """All the names that a graph gave its tensors, taken by columns at once."""
    model, _, _ = fitted("mixed", True)
    names = {name for node in nodes_of(model.to_onnx().graph) for name in node.output}
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(rng.randn(100, len(names)), columns=sorted(names))
    y = (frame.sum(axis=1) > 0).to_numpy()
    agree(NeuralRuleClassifier.paper(3, n_epochs=2, random_state=0).fit(frame, y), frame)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@settings(max_examples=25)
@given(texts, texts, texts)
@example("", "Rome\0", "other\0")
@example("label", "ROME", "Other")
@example("2", "é", "\u0065\u0301")
@example('a "b" [c]\n', "'; --", "{}")
def test_any_name_survives(column, category, label):
    assume(category not in ("Rome", "") and label != "other")
    frame = pd.DataFrame({column: ["Rome", category] * 10, column + "2": np.arange(20.0)})
    y = np.array(["other", label] * 10, object)
    model = NeuralRuleClassifier.paper(2, n_epochs=2, engine="numpy", random_state=0).fit(
        frame, y
    )
    proto = model.to_onnx()
    agree(model, frame, proto)
    labels = session(proto).run(None, feed(proto, frame))[0]
    assert labels.tolist() == model.predict(frame).tolist()
    assert proto.graph.input[0].name == (column or "_")


@pytest.mark.parametrize(
    ("given_names", "names"),
    [
        (["", "_", "a"], ["__", "_", "a"]),
        (["a", "a", "a_"], ["a", "a__", "a_"]),  # not every release of scikit-learn refuses it
    ],
)
def test_names_that_cannot_be_inputs(given_names, names):
    assert Inputs(Encoder(given_names, [], named=True)).names == names


@pytest.mark.parametrize("where", ["column", "category", "label"])
def test_text_that_is_not_unicode(where):
    column, category, label = (
        "half \ud800" if name == where else name for name in ("column", "category", "label")
    )
    cells = pd.Series(["Rome", category] * 10, dtype=object)
    frame = pd.DataFrame({0: cells}).set_axis(pd.Index([column], dtype=object), axis=1)
    y = np.array(["other", label] * 10, object)
    model = NeuralRuleClassifier.paper(1, n_epochs=0).fit(frame, y)
    message = (
        r"to_onnx cannot write the text 'half \ud800': it holds half a character, which "
        "UTF-8 cannot express. Replace it in the table and fit again."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.to_onnx()


def test_a_text_for_what_is_missing():
    X = pd.DataFrame({"city": ["", "Rome", None, "missing"] * 10})
    y = np.array([0, 1, 2, 3] * 10)
    model = NeuralRuleClassifier.paper(3, n_epochs=20, random_state=0).fit(X, y)
    message = (
        "missing_text='' is a category of column 'city', and ONNX has no other way to say "
        "that a text is missing. Give a missing_text that no category has, for example "
        "'missing_'."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        model.to_onnx()
    with pytest.raises(TypeError, match=r"^missing_text=None must be a string\.$"):
        model.to_onnx(missing_text=None)
    assert (model.predict(X) == y).all()
    agree(model, X, missing_text="missing_")


def test_a_text_for_what_is_missing_may_be_another_spelling_of_a_category():
    X = np.array([["1"], ["2"], [None]] * 20, object)
    model = NeuralRuleRegressor.paper(3, n_epochs=5, random_state=0)
    model.fit(X, np.arange(60.0) % 3)
    (found,) = session(model.to_onnx(missing_text="1.0")).run(
        None, {"x0": np.array([["1"], ["1.0"], ["2"], ["2.0"]], object)}
    )
    expected = model.predict(np.array([["1"], [None], ["2"], ["2"]], object))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert expected[0] != expected[1]


def test_onnx_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    for name in [name for name in sys.modules if name.startswith("neuralrules._export._onnx")]:
        monkeypatch.delitem(sys.modules, name)
    message = (
        "to_onnx builds its graph with onnx, and onnx is not installed. "
        'Install it with: pip install "neuralrules[onnx]"'
    )
    with pytest.raises(ImportError, match=f"^{re.escape(message)}$"):
        fitted("three classes")[0].to_onnx()


def test_only_a_fitted_model():
    with pytest.raises(NotFittedError):
        NeuralRuleClassifier().to_onnx()
