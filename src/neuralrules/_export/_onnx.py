"""A fitted model as ONNX, from the user's columns to labels and probabilities.

Only operators of ONNX's own domain are used, so categories are compared one by one
(``Equal`` on strings) although a hash table (``LabelEncoder`` of the domain ai.onnx.ml)
would be faster for columns of dozens of categories that all have weights.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from neuralrules._export._onnx_encoding import (
    Inputs,
    all_categories,
    check_missing_text,
    encoded_rows,
)
from neuralrules._export._onnx_graph import IR_VERSION, OPSET, Graph, free_name
from neuralrules._export._onnx_rules import outputs
from neuralrules._export._size import size_text
from neuralrules._network._network import Network

if TYPE_CHECKING:
    import onnx

    from neuralrules._estimators._base import NeuralRuleModel

# Rows that are computed at a time: the literals of all rules, some hundred numbers a row,
# then stay in a core's cache, and a long table needs no more memory than a short one. Not
# a power of two, or the cells of a column would fall on the same few lines of the cache.
BLOCK_ROWS = 1000


def to_onnx(model: NeuralRuleModel, *, missing_text: str = "") -> onnx.ModelProto:
    """See `PortableModel.to_onnx`, which calls it."""
    check_is_fitted(model)
    onnx = import_onnx()
    check_missing_text(model.encoder_, missing_text)
    check_texts(model, missing_text)
    inputs = Inputs(model)
    graph = Graph(set(inputs.names))
    decided = in_blocks(graph, inputs, model, missing_text)
    described = add_outputs(graph, model, decided, inputs.names)
    from neuralrules import __version__

    return onnx.helper.make_model(
        graph.finished(inputs.described(), described),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="neuralrules",
        producer_version=__version__,
        doc_string=size_text(model),
    )


def import_onnx() -> Any:
    """onnx, or an error that says how to get it."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "to_onnx builds its graph with onnx, and onnx is not installed. "
            'Install it with: pip install "neuralrules[onnx]"'
        ) from error
    return onnx


def in_blocks(graph: Graph, inputs: Inputs, model: NeuralRuleModel, missing_text: str) -> str:
    """Nodes from the inputs to outputs (n_rows, n_outputs) float64, by blocks of rows."""
    from onnx import TensorProto, helper

    network = prepared_network(model)
    inner = graph.inner()
    rows = encoded_rows(inner, inputs, model.encoder_, network.features, missing_text)
    decided = outputs(inner, network, rows)
    shape = [None, network.n_outputs]
    body = inner.finished(
        inputs.described_blocks(),
        [helper.make_tensor_value_info(decided, TensorProto.DOUBLE, shape)],
    )
    split = [
        graph.add("SplitToSequence", name, np.array(BLOCK_ROWS), axis=0)
        for name in inputs.blocks
    ]
    return graph.add("ConcatFromSequence", graph.add("SequenceMap", *split, body=body), axis=0)


def prepared_network(model: NeuralRuleModel) -> Network:
    """The network over at least one column, with an output for each class.

    Of two classes the first gets the output 0: softmax and the first largest output then
    mean the same for two classes as for more.
    """
    network = model.network_.without_unused_features()
    if not network.features.size:  # rows must come from somewhere
        network = replace(
            network,
            own_weights=np.zeros(network.n_literals, np.float32),
            columns=np.zeros(network.n_rules, np.int32),
            column_offsets=np.arange(network.n_rules + 1),
        )
    if len(getattr(model, "classes_", [])) == 2:
        values = np.hstack([np.zeros_like(network.values), network.values])
        network = replace(network, values=values, intercept=np.append(0, network.intercept))
    return network


def add_outputs(
    graph: Graph, model: Any, decided: str, columns: list[str]
) -> list[onnx.ValueInfoProto]:
    """Nodes from outputs (n_rows, n_outputs) to what the model's methods return."""
    from onnx import TensorProto, helper

    results: list[tuple[str, str, int, list[int]]] = []  # name, tensor, type, width
    if not hasattr(model, "classes_"):
        width = [] if model._flat_y else [model.network_.n_outputs]
        shaped = graph.add("Reshape", decided, np.array([-1, *width]))
        results.append(("prediction", shaped, TensorProto.DOUBLE, width))
    else:
        labels = label_array(model.classes_)
        chosen = graph.add("ArgMax", decided, axis=1, keepdims=0)
        label = graph.add("Gather", labels, chosen)
        results.append(("label", label, helper.np_dtype_to_tensor_dtype(labels.dtype), []))
        if model.loss == "logistic":
            shares = graph.add("Softmax", decided, axis=1)
            shares = graph.add("Cast", shares, to=TensorProto.FLOAT)
            results.append(("probabilities", shares, TensorProto.FLOAT, [len(labels)]))
        elif len(labels) == 2:
            second = graph.add("Gather", decided, np.array(1), axis=1)
            results.append(("decision", second, TensorProto.DOUBLE, []))
        else:
            results.append(("decision", decided, TensorProto.DOUBLE, [len(labels)]))
    described = []
    for name, tensor, kind, width in results:
        output = graph.add("Identity", tensor, output=free_name(name, columns))
        described.append(helper.make_tensor_value_info(output, kind, ["N", *width]))
    return described


def label_array(classes: np.ndarray) -> np.ndarray:
    """Labels (n_classes,) of a type that ONNX has: string, boolean, int64 or float64."""
    labels = classes.tolist()
    types = {type(label) for label in labels}
    for kind, dtype in ((str, object), (bool, np.bool_), (int, np.int64), (float, np.float64)):
        if types == {kind}:
            return np.array(labels, dtype)
    raise TypeError(
        f"to_onnx cannot write the classes {labels}: labels must be strings, numbers or "
        "booleans, all of one type. Fit on y with such labels, for example y.astype(str)."
    )


def check_texts(model: Any, missing_text: str) -> None:
    """Refuse text that is not Unicode: ONNX keeps all of it in UTF-8."""
    labels = [label for label in getattr(model, "classes_", []) if isinstance(label, str)]
    categories = [text for text in all_categories(model.encoder_) if text is not None]
    for text in (*model.encoder_.names, *categories, *labels, missing_text):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"to_onnx cannot write the text {text!r}: it holds half a character, which "
                "UTF-8 cannot express. Replace it in the table and fit again."
            ) from error
