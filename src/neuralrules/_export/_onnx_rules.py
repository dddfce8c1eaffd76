"""The nodes that compute a network's outputs from encoded rows."""

from __future__ import annotations

import numpy as np

from neuralrules._export._onnx_graph import Graph
from neuralrules._network._network import Network

# One more bucket costs as much time as this share of all literals: some microseconds for each
# block of rows.
BUCKET_SHARE = 0.05


def outputs(graph: Graph, network: Network, rows: str) -> str:
    """Outputs (n_rows, n_outputs) float64 of encoded rows (n_rows, n_features) float32."""
    from onnx import TensorProto

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
