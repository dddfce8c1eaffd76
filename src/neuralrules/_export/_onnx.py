"""A fitted model as ONNX, from the user's columns to labels and probabilities.

The graph only uses operators of the default domain of ONNX. Categories are therefore compared
one by one (``Equal`` on strings). A hash table (``LabelEncoder`` of the domain ai.onnx.ml)
would be faster for columns with dozens of categories that all have weights.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

try:
    import onnx
    from onnx import TensorProto, helper
except ImportError as error:
    raise ImportError(
        "to_onnx builds its graph with onnx, and onnx is not installed. "
        'Install it with: pip install "neuralrules[onnx]"'
    ) from error

from neuralrules._data._columns import Category
from neuralrules._data._encoder import Encoder
from neuralrules._export._extras import size_text
from neuralrules._export._onnx_graph import IR_VERSION, OPSET, Graph, Inputs, free_name
from neuralrules._export._onnx_printer import Printer
from neuralrules._expression import _nodes as ops
from neuralrules._fitted._fitted import Fitted
from neuralrules._fitted._formula import formula_column
from neuralrules._network._network import Network

# Rows that are computed at a time. The literals of all rules, some hundred numbers for each
# row, then stay in the cache of a core, and a long table needs no more memory than a short one.
# This is not a power of two, because the cells of a column would then share a few cache lines.
BLOCK_ROWS = 1000
# One more bucket of rules costs as much time as this share of all literals: some microseconds
# for each block of rows.
BUCKET_SHARE = 0.05


def to_onnx(fitted: Fitted, *, missing_text: str = "") -> onnx.ModelProto:
    """See `Documents.to_onnx`, which calls this function."""
    from neuralrules._version import __version__

    check_missing_text(fitted.encoder, missing_text)
    check_texts(fitted, missing_text)
    inputs = Inputs(fitted.encoder)
    graph = Graph(set(inputs.names))
    decided = in_blocks(graph, inputs, fitted, missing_text)
    described = add_outputs(graph, fitted, decided, inputs)
    return helper.make_model(
        graph.finished(inputs.described(), described),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="neuralrules",
        producer_version=__version__,
        doc_string=size_text(fitted),
    )


def in_blocks(graph: Graph, inputs: Inputs, fitted: Fitted, missing_text: str) -> str:
    """Add nodes from the inputs to outputs (n_rows, n_outputs) float64, in blocks of rows."""
    network, encoder = prepared_network(fitted), fitted.encoder
    inner = Graph(graph.taken)
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


def outputs(graph: Graph, network: Network, rows: str) -> str:
    """Outputs (n_rows, n_outputs) float64 of encoded rows (n_rows, n_features) float32."""
    parts, order = [], []
    for rules in buckets(np.diff(network.offsets)):
        smallest = deep_minimum if network.deep else minimum
        parts.append(smallest(graph, network, rules, rows))
        order.append(rules)
    units = parts[0] if len(parts) == 1 else graph.add("Concat", *parts, axis=1)
    # min_j ReLU(z_j) is ReLU(min_j z_j). The sum over the rules is in float64, as in the
    # engines, because targets may lie far from zero compared with their spread.
    active = graph.add("Cast", graph.add("Relu", units), to=TensorProto.DOUBLE)
    values = network.values[np.concatenate(order)].astype(np.float64)
    return graph.add("Gemm", active, values, network.intercept)


def buckets(lengths: np.ndarray) -> list[np.ndarray]:
    """Buckets of rules of similar length, (n,) int each, with shorter rules first.

    Each bucket is computed with one product and one minimum. Its shorter rules are padded to
    the length of its longest rule. The rules are cut into buckets in the way with the lowest
    cost: the number of literals with padding, plus a fixed cost for the nodes of each bucket
    (`BUCKET_SHARE` of all literals).
    """
    ends, counts = np.unique(lengths, return_counts=True)
    below = np.append(0, counts.cumsum())  # rules that are shorter than each end
    room = BUCKET_SHARE * lengths.sum()
    # best[i] is for the rules of the i shortest lengths: the lowest cost, and where to cut.
    best: list[tuple[float, list[int]]] = [(0.0, [])]
    for stop, end in enumerate(ends, start=1):
        best.append(
            min(
                (cost + room + end * (below[stop] - below[start]), [*cuts, stop])
                for start, (cost, cuts) in enumerate(best)
            )
        )
    order = np.argsort(lengths, kind="stable")
    return np.split(order, below[best[-1][1][:-1]])


def slots(network: Network, rules: np.ndarray) -> np.ndarray:
    """Literals (n_rules, longest) of some rules. A shorter rule repeats its last literal."""
    lengths = np.diff(network.offsets)[rules, None]
    return network.offsets[rules, None] + np.minimum(np.arange(lengths.max()), lengths - 1)


def minimum(graph: Graph, network: Network, rules: np.ndarray, rows: str) -> str:
    """The smallest literal of each rule, (n_rows, n_rules) float32.

    The first literals of all rules come first, then all second literals, and so on. So the
    minimum compares contiguous pieces of memory.
    """
    own = slots(network, rules).T
    weights, biases = network.weights[own.ravel()], network.biases[own.ravel()]
    literals = graph.add("Gemm", rows, weights.T, biases)
    apart = graph.add("Reshape", literals, np.array([0, *own.shape]))
    return graph.add("ReduceMin", apart, np.array([1]), keepdims=0)


def deep_minimum(graph: Graph, network: Network, rules: np.ndarray, rows: str) -> str:
    """The smallest unit of each deep rule's second layer, (n_rows, n_rules) float32.

    Rows are the last dimension until the end. A second layer is a small matrix, and its product
    with another matrix is only fast if the other matrix is long.
    """
    own = slots(network, rules)
    weights, biases = network.weights[own.ravel()], network.biases[own.ravel()]
    literals = graph.add("Gemm", weights, rows, biases[:, None], transB=1)
    apart = graph.add("Reshape", graph.add("Relu", literals), np.array([*own.shape, -1]))
    mixing = np.zeros((*own.shape, own.shape[1]), np.float32)
    for place, rule in enumerate(rules):
        layer = network.second_layer(rule)
        # A shorter rule repeats its last unit, which does not change the minimum. Repeated
        # literals have the weight 0 in all units.
        mixing[place, :, : len(layer)] = layer[own[place] - network.offsets[rule]]
    mixed = graph.add("MatMul", mixing, apart)
    units = graph.add("Add", mixed, network.shifts[own][:, :, None])
    smallest = graph.add("ReduceMin", units, np.array([1]), keepdims=0)
    return graph.add("Transpose", smallest, perm=[1, 0])


def add_outputs(
    graph: Graph, fitted: Fitted, decided: str, inputs: Inputs
) -> list[onnx.ValueInfoProto]:
    """Add nodes from outputs (n_rows, n_outputs) to the results of the model's methods."""
    task, described = fitted.task, []

    def result(name: str, tensor: str, kind: int, width: list[int]) -> None:
        output = graph.add("Identity", tensor, output=free_name(name, inputs.names))
        described.append(helper.make_tensor_value_info(output, kind, ["N", *width]))

    if not task.are_classes:
        width = [] if task.flat else [fitted.network.n_outputs]
        prediction = task.loss.link.expression(ops.Named("outputs"))
        predicted = Printer(graph, inputs, {"outputs": decided}).numbers([prediction])
        shaped = graph.add("Reshape", predicted, np.array([-1, *width]))
        result("prediction", shaped, TensorProto.DOUBLE, width)
        return described
    labels = label_array(task.labels)
    label = graph.add("Gather", labels, graph.add("ArgMax", decided, axis=1, keepdims=0))
    if task.gives_probabilities:
        shares = graph.add("Softmax", decided, axis=1)
        name, kind, width = "probabilities", TensorProto.FLOAT, [len(labels)]
        second = graph.add("Cast", shares, to=kind)
    else:
        name, kind, width = "decision", TensorProto.DOUBLE, [len(labels)]
        second = decided
        if len(labels) == 2:
            second, width = graph.add("Gather", decided, np.array(1), axis=1), []
    result("label", label, helper.np_dtype_to_tensor_dtype(labels.dtype), [])
    result(name, second, kind, width)
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


def check_missing_text(encoder: Encoder, missing_text: Any) -> None:
    """Refuse a text for missing cells that also stands for a category."""
    if not isinstance(missing_text, str):
        raise TypeError(f"missing_text={missing_text!r} must be a string.")
    for column in encoder.columns:
        if isinstance(column, Category) and column.category == missing_text:
            raise ValueError(
                f"missing_text={missing_text!r} is a category of column "
                f"{encoder.names[column.source]!r}, and ONNX has no other way to say that a "
                "text is missing. Give a missing_text that no category has, for example "
                f"{free_name('missing', all_categories(encoder))!r}."
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


def all_categories(encoder: Encoder) -> list[str]:
    columns = (column for column in encoder.columns if isinstance(column, Category))
    return [column.category for column in columns if column.category is not None]
