"""The nodes that compute a network's outputs from encoded rows."""

from __future__ import annotations

import numpy as np

from neuralrules._export._onnx_graph import Graph
from neuralrules._network._network import Network

# A bucket of rules costs as much as this share of all literals: some microseconds a block.
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
    # min_j ReLU(z_j) is ReLU(min_j z_j). The sum over the rules is in float64, as the
    # engines': targets may lie far from zero compared with their spread.
    active = graph.add("Cast", graph.add("Relu", units), to=TensorProto.DOUBLE)
    values = network.values[np.concatenate(order)].astype(np.float64)
    return graph.add("Gemm", active, values, network.intercept)


def buckets(lengths: np.ndarray) -> list[np.ndarray]:
    """Rules of similar length, (n,) int each, shorter ones first.

    One product and one minimum serve a bucket, whose shorter rules are padded to its
    longest. Of all ways to cut the rules into buckets this is the one of the fewest
    literals, each further bucket counting as a share of them for the nodes that it needs.
    """
    ends, counts = np.unique(lengths, return_counts=True)
    below = np.append(0, counts.cumsum())  # rules that are shorter than each end
    room = BUCKET_SHARE * lengths.sum()
    best: list[tuple[float, list[int]]] = [(0.0, [])]  # of the rules below an end: cost, cuts
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
    """Literals (n_rules, longest) of some rules; a shorter one repeats its last."""
    lengths = np.diff(network.offsets)[rules, None]
    return network.offsets[rules, None] + np.minimum(np.arange(lengths.max()), lengths - 1)


def minimum(graph: Graph, network: Network, rules: np.ndarray, rows: str) -> str:
    """The smallest literal of each rule, (n_rows, n_rules) float32.

    The first literals of all rules stand first, then all second ones, so that a minimum
    compares whole stretches of memory.
    """
    own = slots(network, rules).T
    weights, biases = network.weights[own.ravel()], network.biases[own.ravel()]
    literals = graph.add("Gemm", rows, weights.T, biases)
    apart = graph.add("Reshape", literals, np.array([0, *own.shape]))
    return graph.add("ReduceMin", apart, np.array([1]), keepdims=0)


def deep_minimum(graph: Graph, network: Network, rules: np.ndarray, rows: str) -> str:
    """The smallest unit of each deep rule's second layer, (n_rows, n_rules) float32.

    Rows stand last until the end: a second layer is a small matrix, and its product is
    fast only if the other side is long.
    """
    own = slots(network, rules)
    weights, biases = network.weights[own.ravel()], network.biases[own.ravel()]
    literals = graph.add("Gemm", weights, rows, biases[:, None], transB=1)
    apart = graph.add("Reshape", graph.add("Relu", literals), np.array([*own.shape, -1]))
    mixing = np.zeros((*own.shape, own.shape[1]), np.float32)
    for place, rule in enumerate(rules):
        layer = network.second_layer(rule)
        # The last unit is repeated; repeated literals weigh nothing in any.
        mixing[place, :, : len(layer)] = layer[own[place] - network.offsets[rule]]
    mixed = graph.add("MatMul", mixing, apart)
    units = graph.add("Add", mixed, network.shifts[own][:, :, None])
    smallest = graph.add("ReduceMin", units, np.array([1]), keepdims=0)
    return graph.add("Transpose", smallest, perm=[1, 0])
