"""Write encoded columns and expressions as nodes of an ONNX graph.

Until columns are encoded, they are stacked in tensors of shape (n_columns, n_rows). In this
shape it is fast to pick some columns, and to compute with one mean for each column.
"""

from __future__ import annotations

from itertools import chain, groupby, zip_longest
from typing import Any

import numpy as np
from onnx import TensorProto

from neuralrules._export._onnx_graph import Graph, Inputs
from neuralrules._expression import _nodes as ops
from neuralrules._fitted._formula import FormulaColumn


class Printer:
    """Expressions as nodes of a graph, (n_expressions, n_rows) float64.

    Expressions of the same shape, such as all standardised numbers, share their nodes. The
    numbers in which they differ become a constant with one row for each expression.

    Parameters
    ----------
    graph : Graph
    inputs : Inputs
        The inputs, which hold the cells.
    steps : dict of str to str
        The tensors of earlier steps by their names.
    missing_texts : tuple of str
        Texts that mean missing, besides those that an expression lists.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Inputs,
        steps: dict[str, str] | None = None,
        missing_texts: tuple[str, ...] = (),
    ) -> None:
        self._graph, self._inputs, self._steps = graph, inputs, steps or {}
        self._missing_texts = missing_texts

    def rows(self, columns: list[FormulaColumn]) -> str:
        """The encoded columns, (n_rows, n_columns) float32."""
        add, blocks = self._graph.add, []
        for _, block in groupby([x.standardised for x in columns], self._shape):
            nodes = list(block)
            match nodes[0]:
                case ops.Standardised(ops.Indicator()):
                    blocks.append(self._indicators(nodes))
                case _:
                    blocks.append(add("Cast", self.numbers(nodes), to=TensorProto.FLOAT))
        stacked = blocks[0] if len(blocks) == 1 else add("Concat", *blocks, axis=0)
        return add("Transpose", stacked, perm=[1, 0])

    def numbers(self, nodes: list[Any]) -> str:
        """The values of expressions of the same shape, (n_expressions, n_rows) float64."""
        add, inner = self._graph.add, [getattr(node, "value", None) for node in nodes]
        match nodes[0]:
            case ops.Cell():
                return self._inputs.stacked(self._graph, [node.source for node in nodes])
            case ops.Named(name):
                return self._steps[name]
            case ops.Filled():
                cells = [cell_of(node) for node in inner]
                missing = add("IsNaN", self.numbers(cells))
                others = column([node.otherwise for node in nodes])
                return add("Where", missing, others, self.numbers(inner))
            case ops.Standardised():
                means = column([node.mean for node in nodes])
                distance = self._difference(self.numbers(inner), means)
                return add("Div", distance, column([node.scale for node in nodes]))
            case ops.Bounded(_, low, high):  # expressions of the same shape have equal bounds
                return add("Clip", self.numbers(inner), np.array(low), np.array(high))
            case ops.Line():
                return self._lines(self.numbers(inner), nodes)
            case ops.Call(function):
                return add(function.capitalize(), self.numbers(inner))
            case ops.Sum(terms, constant) if len(nodes) == 1:
                total: Any = np.array(constant)
                for factor, value in terms:
                    product = add("Mul", self.numbers([value]), np.array(factor))
                    total = add("Add", total, product)
                return total
            case _:
                raise TypeError(f"ONNX has no nodes for {nodes[0]!r}.")

    def _indicators(self, nodes: list[Any]) -> str:
        """Standardised indicators, (n_indicators, n_rows) float32."""
        conditions = [node.value.condition for node in nodes]
        on, off = (
            column([(raw - node.mean) / node.scale for node in nodes]).astype(np.float32)
            for raw in (1, 0)
        )
        return self._graph.add("Where", self._holds(conditions), on, off)

    def _holds(self, conditions: list[Any]) -> str:
        """Whether conditions of the same shape hold, (n_conditions, n_rows) bool."""
        add = self._graph.add
        match conditions[0]:
            case ops.Not(ops.IsAnyOf(cell)):
                texts = [text for one in conditions for text in self._texts(one.condition)]
                # ReduceMax takes booleans only since opset 20.
                equal = add("Cast", self._equals(cell, texts), to=TensorProto.FLOAT)
                any_holds = add("ReduceMax", equal, np.array([0]))
                return add("Not", add("Cast", any_holds, to=TensorProto.BOOL))
            case ops.IsAnyOf(cell):
                lists = [self._texts(condition) for condition in conditions]
                equal = self._equals(cell, list(chain(*lists)))
                sizes = [len(own) for own in lists]
                if set(sizes) == {1}:
                    return equal
                belongs = np.repeat(np.eye(len(lists), dtype=np.float32), sizes, axis=1)
                # The texts of a list are different, so at most one of them equals a cell.
                held = add("MatMul", belongs, add("Cast", equal, to=TensorProto.FLOAT))
                return add("Cast", held, to=TensorProto.BOOL)
            case _:
                return add("IsNaN", self.numbers([condition.cell for condition in conditions]))

    def _texts(self, condition: ops.IsAnyOf) -> list[str]:
        """All texts for which a condition holds."""
        known = [text for text in condition.texts if text not in self._missing_texts]
        return [*known, *self._missing_texts] if condition.missing else known

    def _equals(self, cell: ops.Cell, texts: list[str]) -> str:
        """Compare a column of cells with each of some texts, (n_texts, n_rows) bool."""
        return self._graph.add("Equal", self.numbers([cell]), np.array(texts, object)[:, None])

    def _difference(self, cells: str, constants: np.ndarray) -> str:
        """Cells minus constants, even if cells and constants are very small.

        The node is a sum, because onnxruntime drops the subtraction of a single constant that
        is 0 in float32, such as 1e-46.
        """
        return self._graph.add("Sum", cells, -constants)

    def _shape(self, node: Any) -> tuple[Any, ...]:
        """A key that is equal for expressions that can share nodes.

        Two columns of texts never share nodes.
        """
        match node:
            case ops.Cell(source):
                return ("text", source) if self._inputs.is_text(source) else ("number",)
            case ops.Bounded(value, low, high):
                return (ops.Bounded, low, high, *self._shape(value))
            case ops.Indicator(condition):
                return (type(condition), *self._shape(cell_of(condition)))
            case _:
                return (type(node), *self._shape(node.value))

    def _lines(self, raw: str, nodes: list[ops.Line]) -> str:
        """The values of lines through points, (n_columns, n_rows).

        All segments of all columns are computed at once, (n_columns, n_segments, n_rows). The
        result is the largest value among the segments whose start is not above the cell.
        """
        add = self._graph.add

        def padded(rows: list[Any], filler: float) -> np.ndarray:
            """One number for each segment, (n_columns, n_segments, 1) float64."""
            segments = zip_longest(*rows, fillvalue=filler)
            return np.array(list(segments), np.float64).T[:, :, None]

        starts = padded([node.x[:-1] for node in nodes], np.inf)  # inf: never reached
        lengths = padded([np.diff(node.x) for node in nodes], 1.0)
        low = padded([node.z[:-1] for node in nodes], 0.0)
        high = padded([node.z[1:] for node in nodes], 0.0)
        cells = add("Unsqueeze", raw, np.array([1]))
        share = add("Div", self._difference(cells, starts), lengths)
        values = add("Add", add("Mul", share, high - low), low)
        values = add("Min", values, high)
        reached = add("GreaterOrEqual", cells, starts)
        values = add("Where", reached, values, low[:, :1])
        return add("ReduceMax", values, np.array([1]), keepdims=0)


def cell_of(node: Any) -> ops.Cell:
    """The cell that an expression is about."""
    match node:
        case ops.Cell():
            return node
        case ops.Not(condition):
            return cell_of(condition)
        case ops.IsMissing(cell) | ops.IsAnyOf(cell):
            return cell
        case _:
            return cell_of(node.value)


def column(numbers: list[float]) -> np.ndarray:
    """One number for each expression, (n_expressions, 1) float64."""
    return np.array(numbers, np.float64)[:, None]
