"""A fitted model as ONNX, from the user's columns to labels and probabilities.

The graph only uses operators of the default domain of ONNX. Categories are therefore compared
one by one (``Equal`` on strings). A hash table (``LabelEncoder`` of the domain ai.onnx.ml)
would be faster for columns with dozens of categories that all have weights.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from neuralrules._export._extras import size_text
from neuralrules._export._onnx_encoding import (
    Inputs,
    Printer,
    all_categories,
    check_missing_text,
)
from neuralrules._export._onnx_graph import IR_VERSION, OPSET, Graph, free_name
from neuralrules._export._onnx_rules import outputs
from neuralrules._expression import _nodes as ops
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._formula import formula_column
from neuralrules._network._network import Network

if TYPE_CHECKING:
    import onnx


# Rows that are computed at a time. The literals of all rules, some hundred numbers for each
# row, then stay in the cache of a core, and a long table needs no more memory than a short one.
# This is not a power of two, because the cells of a column would then share a few cache lines.
BLOCK_ROWS = 1000


def to_onnx(fitted: Fitted, *, missing_text: str = "") -> onnx.ModelProto:
    """See `Documents.to_onnx`, which calls this function."""
    onnx = import_onnx()
    check_missing_text(fitted.encoder, missing_text)
    check_texts(fitted, missing_text)
    inputs = Inputs(fitted.encoder)
    graph = Graph(set(inputs.names))
    decided = in_blocks(graph, inputs, fitted, missing_text)
    described = add_outputs(graph, fitted, decided, inputs)
    from neuralrules._version import __version__

    return onnx.helper.make_model(
        graph.finished(inputs.described(), described),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="neuralrules",
        producer_version=__version__,
        doc_string=size_text(fitted),
    )


def import_onnx() -> Any:
    """The module onnx, or an error that says how to install it."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "to_onnx builds its graph with onnx, and onnx is not installed. "
            'Install it with: pip install "neuralrules[onnx]"'
        ) from error
    return onnx


def in_blocks(graph: Graph, inputs: Inputs, fitted: Fitted, missing_text: str) -> str:
    """Add nodes from the inputs to outputs (n_rows, n_outputs) float64, in blocks of rows."""
    from onnx import TensorProto, helper

    network = prepared_network(fitted)
    inner = graph.inner()
    encoder = fitted.encoder
    columns = [formula_column(encoder, feature) for feature in network.features.tolist()]
    inputs.use(inner, sorted({column.source for column in columns}))
    missing_texts = tuple(dict.fromkeys([missing_text, *sorted(encoder.markers.texts)]))
    rows = Printer(inner, inputs, missing_texts=missing_texts).rows(columns)
    decided = outputs(inner, network, rows)
    shape = [None, network.n_outputs]
    body = inner.finished(
        inputs.described_blocks(),
        [helper.make_tensor_value_info(decided, TensorProto.DOUBLE, shape)],
    )
    mapped = graph.add("SequenceMap", *inputs.split(graph, BLOCK_ROWS), body=body)
    return graph.add("ConcatFromSequence", mapped, axis=0)


def prepared_network(fitted: Fitted) -> Network:
    """The network with at least one column, and with an output for each class.

    The first of two classes gets the output 0. Softmax and the first largest output then work
    in the same way for two classes as for more.
    """
    network = fitted.network.without_unused_features()
    if not network.features.size:  # the number of rows must come from some column
        network = replace(
            network,
            own_weights=np.zeros(network.n_literals, np.float32),
            columns=np.zeros(network.n_rules, np.int32),
            column_offsets=np.arange(network.n_rules + 1),
        )
    if fitted.task.n_classes == 2:
        values = np.hstack([np.zeros_like(network.values), network.values])
        network = replace(network, values=values, intercept=np.append(0, network.intercept))
    return network


def add_outputs(
    graph: Graph, fitted: Fitted, decided: str, inputs: Inputs
) -> list[onnx.ValueInfoProto]:
    """Add nodes from outputs (n_rows, n_outputs) to the results of the model's methods."""
    from onnx import TensorProto, helper

    results: list[tuple[str, str, int, list[int]]] = []  # name, tensor, type, width
    if not fitted.task.are_classes:
        width = [] if fitted.task.flat else [fitted.network.n_outputs]
        prediction = fitted.task.loss.link.expression(ops.Named("outputs"))
        predicted = Printer(graph, inputs, {"outputs": decided}).numbers([prediction])
        shaped = graph.add("Reshape", predicted, np.array([-1, *width]))
        results.append(("prediction", shaped, TensorProto.DOUBLE, width))
    else:
        labels = label_array(fitted.task.labels)
        chosen = graph.add("ArgMax", decided, axis=1, keepdims=0)
        label = graph.add("Gather", labels, chosen)
        results.append(("label", label, helper.np_dtype_to_tensor_dtype(labels.dtype), []))
        if fitted.task.gives_probabilities:
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
        output = graph.add("Identity", tensor, output=free_name(name, inputs.names))
        described.append(helper.make_tensor_value_info(output, kind, ["N", *width]))
    return described


def label_array(labels: list[Any]) -> np.ndarray:
    """Labels (n_classes,) of a type that ONNX has: string, boolean, int64 or float64."""
    types = {type(label) for label in labels}
    for kind, dtype in ((str, object), (bool, np.bool_), (int, np.int64), (float, np.float64)):
        if types == {kind}:
            return np.array(labels, dtype)
    raise TypeError(
        f"to_onnx cannot write the classes {labels}: labels must be strings, numbers or "
        "booleans, all of one type. Fit on y with such labels, for example y.astype(str)."
    )


def check_texts(fitted: Fitted, missing_text: str) -> None:
    """Refuse text that is not valid Unicode, because ONNX stores all text in UTF-8."""
    labels = [label for label in fitted.task.labels if isinstance(label, str)]
    categories = all_categories(fitted.encoder)
    markers = fitted.encoder.missing
    for text in (*fitted.encoder.names, *categories, *labels, *markers, missing_text):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"to_onnx cannot write the text {text!r}: it holds half a character, which "
                "UTF-8 cannot express. Replace it in the table and fit again."
            ) from error
