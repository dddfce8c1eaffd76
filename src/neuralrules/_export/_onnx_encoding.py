"""The user's columns as inputs of an ONNX graph, and the nodes that encode their rows.

Until columns are encoded, they are stacked in tensors of shape (n_columns, n_rows). In this
shape it is fast to pick some columns, and to compute with one mean for each column.
"""

from __future__ import annotations

from itertools import chain, groupby, zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from neuralrules._data._columns import Category
from neuralrules._data._dates import EPOCH
from neuralrules._data._encoder import Encoder
from neuralrules._data._numbers import LARGEST
from neuralrules._export._onnx_graph import Graph, free_name
from neuralrules._expression import _nodes as ops
from neuralrules._fitted._formula import CellReading, FormulaColumn, cell_reading

if TYPE_CHECKING:
    import onnx


# The name of the node at which a runtime stops. The error message of the runtime shows it.
REFUSAL = (
    f"refused: infinity, a number beyond {LARGEST:.2g}, or a date not in days since {EPOCH}"
)


class Inputs:
    """The inputs of a graph: one table of numbers, or one for each of the user's columns.

    Attributes
    ----------
    names : list of str
        ``["X"]``, or the names of the columns. Empty and repeated names get underscores.
    """

    def __init__(self, encoder: Encoder) -> None:
        sources = sorted({column.source for column in encoder.columns})
        self._readings = {source: cell_reading(encoder, source) for source in sources}
        self._texts = {s for s, reading in self._readings.items() if reading.is_text}
        self._n_columns = len(encoder.names)
        self._apart = encoder.named or bool(self._texts)
        given = encoder.names if self._apart else ["X"]
        self.names: list[str] = []
        for name in given:
            usable = name and name not in self.names
            self.names.append(name if usable else free_name(name, {*given, *self.names}))
        self._remarks = {
            self.names[source]: f"days since {EPOCH}"
            for source, reading in self._readings.items()
            if self._apart and reading.is_date
        }
        self._numbers: list[int] = []
        self._stack = ""
        self._gathered: dict[tuple[int, ...], str] = {}
        self._blocks: dict[tuple[int, ...], str] = {}

    def described(self) -> list[onnx.ValueInfoProto]:
        """All inputs, including those that no rule uses, so that whole rows can be passed."""
        width = 1 if self._apart else self._n_columns
        return [
            self._described(name, place in self._texts, ["N", width])
            for place, name in enumerate(self.names)
        ]

    def is_text(self, source: int) -> bool:
        """Whether a column of the table holds texts."""
        return source in self._texts

    def use(self, graph: Graph, used: list[int]) -> None:
        """Declare the columns of the table that rules use. `stacked` returns them later.

        Each block of rows has one tensor for all columns of numbers, which are encoded
        together, and one tensor for each column of texts.
        """
        self._numbers = [source for source in used if source not in self._texts]
        if not self._apart:
            self._numbers = list(range(self._n_columns))
        texts = [(source,) for source in used if source in self._texts]
        for sources in filter(None, (tuple(self._numbers), *texts)):
            self._blocks[sources] = graph.name("block")
        if self._numbers:
            block = self._blocks[tuple(self._numbers)]
            stack = graph.add("Transpose", block, perm=[1, 0])
            readings = [self._readings[source] for source in self._numbers]
            stack = without_markers(graph, stack, readings)
            self._stack = checked(graph, stack, readings)

    def described_blocks(self) -> list[onnx.ValueInfoProto]:
        return [
            self._described(block, sources[0] in self._texts, [None, len(sources)])
            for sources, block in self._blocks.items()
        ]

    def split(self, graph: Graph, n_rows: int) -> list[str]:
        """Add nodes that split the inputs into sequences of blocks of up to `n_rows` rows.

        There is one sequence for the numbers, and one for each column of texts.
        """
        sequences = []
        for sources in self._blocks:
            names = [self.names[source] for source in sources] if self._apart else self.names
            whole = names[0] if len(names) == 1 else graph.add("Concat", *names, axis=1)
            sequences.append(graph.add("SplitToSequence", whole, np.array(n_rows), axis=0))
        return sequences

    def stacked(self, graph: Graph, sources: list[int]) -> str:
        """Some columns of numbers, or one of texts, in a block of rows, (n_columns, n_rows)."""
        if sources[0] in self._texts:
            return graph.add("Reshape", self._blocks[tuple(sources)], np.array([1, -1]))
        if sources == self._numbers:
            return self._stack
        if tuple(sources) not in self._gathered:
            places = np.array([self._numbers.index(source) for source in sources])
            self._gathered[tuple(sources)] = graph.add("Gather", self._stack, places, axis=0)
        return self._gathered[tuple(sources)]

    def _described(
        self, name: str, text: bool, shape: list[str | int | None]
    ) -> onnx.ValueInfoProto:
        from onnx import TensorProto, helper

        kind = TensorProto.STRING if text else TensorProto.DOUBLE
        return helper.make_tensor_value_info(name, kind, shape, self._remarks.get(name, ""))


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
        from onnx import TensorProto

        blocks = []
        shapes = groupby([x.standardised for x in columns], self._shape)
        for block in (list(group) for _, group in shapes):
            match block[0]:
                case ops.Standardised(ops.Indicator()):
                    blocks.append(self._indicators(block))
                case _:
                    numbers = self.numbers(block)
                    blocks.append(self._graph.add("Cast", numbers, to=TensorProto.FLOAT))
        stacked = blocks[0] if len(blocks) == 1 else self._graph.add("Concat", *blocks, axis=0)
        return self._graph.add("Transpose", stacked, perm=[1, 0])

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
                distance = difference(self._graph, self.numbers(inner), means)
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
                    total = add(
                        "Add", total, add("Mul", self.numbers([value]), np.array(factor))
                    )
                return total
            case _:
                raise TypeError(f"ONNX has no nodes for {nodes[0]!r}.")

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
        match conditions[0]:
            case ops.Not(ops.IsAnyOf(cell)):
                texts = [text for one in conditions for text in self._texts(one.condition)]
                return none_holds(self._graph, equals(self._graph, self.numbers([cell]), texts))
            case ops.IsAnyOf(cell):
                lists = [self._texts(condition) for condition in conditions]
                return any_holds(self._graph, self.numbers([cell]), lists)
            case _:
                cells = self.numbers([condition.cell for condition in conditions])
                return self._graph.add("IsNaN", cells)

    def _texts(self, condition: ops.IsAnyOf) -> list[str]:
        """All texts for which a condition holds."""
        known = [text for text in condition.texts if text not in self._missing_texts]
        return [*known, *self._missing_texts] if condition.missing else known

    def _lines(self, raw: str, nodes: list[ops.Line]) -> str:
        """The values of lines through points, (n_columns, n_rows).

        All segments of all columns are computed at once, (n_columns, n_segments, n_rows). The
        result is the largest value among the segments whose start is not above the cell.
        """
        add, n_segments = self._graph.add, max(len(node.x) for node in nodes) - 1

        def padded(each: list[np.ndarray], filler: float) -> np.ndarray:
            """One number for each segment, (n_columns, n_segments, 1) float64."""
            widths = [(0, n_segments - len(one)) for one in each]
            rows = [
                np.pad(one, width, constant_values=filler)
                for one, width in zip(each, widths, strict=True)
            ]
            return np.array(rows)[:, :, None]

        starts = padded([np.array(node.x[:-1]) for node in nodes], np.inf)  # inf: never reached
        lengths = padded([np.diff(node.x) for node in nodes], 1.0)
        low = padded([np.array(node.z[:-1]) for node in nodes], 0.0)
        high = padded([np.array(node.z[1:]) for node in nodes], 0.0)
        cells = add("Unsqueeze", raw, np.array([1]))
        share = add("Div", difference(self._graph, cells, starts), lengths)
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


def checked(graph: Graph, stack: str, readings: list[CellReading]) -> str:
    """Columns of numbers (n_columns, n_rows), or an error if the model refuses a number.

    ONNX has no operator that raises an error. But a `Gather` must fail if its index is out of
    range.
    """
    from onnx import TensorProto

    n, limits = len(readings), column([reading.largest for reading in readings])
    beyond = graph.add("Greater", graph.add("Abs", stack), limits)
    refused = graph.add("Cast", beyond, to=TensorProto.INT64)
    refused = graph.add("ReduceMax", refused, np.array([1]), keepdims=0)
    places = graph.add("Add", graph.add("Mul", refused, np.array([n])), np.arange(n))
    return graph.add("Gather", stack, places, name=REFUSAL, axis=0)


def without_markers(graph: Graph, stack: str, readings: list[CellReading]) -> str:
    """Columns of numbers (n_columns, n_rows) in which NaN replaces the markers."""
    known = [reading.missing_numbers for reading in readings]
    for numbers in zip_longest(*known, fillvalue=np.nan):  # NaN equals nothing
        marked = graph.add("Equal", stack, np.array(numbers)[:, None])
        stack = graph.add("Where", marked, np.array(np.nan), stack)
    return stack


def difference(graph: Graph, cells: str, constants: np.ndarray) -> str:
    """Cells minus constants, even if cells and constants are very small.

    The node is a sum, because onnxruntime drops the subtraction of a single constant that is 0
    in float32, such as 1e-46.
    """
    return graph.add("Sum", cells, -constants)


def equals(graph: Graph, cells: str, texts: list[str]) -> str:
    """Compare cells (1, n_rows) with each of some texts, (n_texts, n_rows) bool."""
    return graph.add("Equal", cells, np.array(texts, object)[:, None])


def any_holds(graph: Graph, cells: str, texts: list[list[str]]) -> str:
    """Whether cells (1, n_rows) equal any text of each list, (n_lists, n_rows) bool."""
    from onnx import TensorProto

    equal = equals(graph, cells, list(chain(*texts)))
    if all(len(own) == 1 for own in texts):
        return equal
    sizes = [len(own) for own in texts]
    belongs = np.repeat(np.eye(len(texts), dtype=np.float32), sizes, axis=1)
    # The texts of a list are different, so at most one of them equals a cell.
    held = graph.add("MatMul", belongs, graph.add("Cast", equal, to=TensorProto.FLOAT))
    return graph.add("Cast", held, to=TensorProto.BOOL)


def none_holds(graph: Graph, holds: str) -> str:
    """Whether all booleans of each row are false, (1, n_rows) bool.

    holds : (n_booleans, n_rows) bool
    """
    from onnx import TensorProto

    # ReduceMax takes booleans only since opset 20.
    as_numbers = graph.add("Cast", holds, to=TensorProto.FLOAT)
    any_holds = graph.add("ReduceMax", as_numbers, np.array([0]))
    return graph.add("Not", graph.add("Cast", any_holds, to=TensorProto.BOOL))


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


def all_categories(encoder: Encoder) -> list[str]:
    columns = (column for column in encoder.columns if isinstance(column, Category))
    return [column.category for column in columns if column.category is not None]
