"""An ONNX graph under construction, and the user's columns as its inputs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from neuralrules._data._dates import EPOCH
from neuralrules._data._encoder import Encoder
from neuralrules._data._numbers import LARGEST
from neuralrules._fitted._formula import CellReading, cell_reading

# `Equal` takes strings since opset 19. onnxruntime loads these versions since release 1.16.
OPSET, IR_VERSION = 19, 9
# The name of the node at which a runtime stops. The error message of the runtime shows it.
REFUSAL = (
    f"refused: infinity, a number beyond {LARGEST:.2g}, or a date not in days since {EPOCH}"
)


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name, followed by underscores if it is empty or taken."""
    while not name or name in taken:
        name += "_"
    return name


class Graph:
    """Nodes and constants, all with different names.

    Parameters
    ----------
    taken : set of str
        Names in use, including those of the user's columns. The graph adds its own names.
    """

    def __init__(self, taken: set[str]) -> None:
        self.taken = taken
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def add(
        self, operator: str, *inputs: str | np.ndarray, output: str = "", **attributes: Any
    ) -> str:
        """Append a node with one output, and return the name of the output.

        An array among the inputs becomes a constant. `attributes` are those of the operator.
        """
        names = [item if isinstance(item, str) else self._constant(item) for item in inputs]
        result = output or self.name(operator)
        self._nodes.append(helper.make_node(operator, names, [result], **attributes))
        return result

    def name(self, stem: str) -> str:
        """A name that was not in use."""
        result = free_name(f"{stem}_{len(self.taken)}", self.taken)
        self.taken.add(result)
        return result

    def finished(self, inputs: list[Any], outputs: list[Any]) -> onnx.GraphProto:
        """The finished graph. `onnx.helper` has described its inputs and outputs."""
        return helper.make_graph(self._nodes, "neuralrules", inputs, outputs, self._constants)

    def _constant(self, array: np.ndarray) -> str:
        name = self.name("constant")
        self._constants.append(numpy_helper.from_array(array, name))
        return name


class Inputs:
    """The inputs of a graph: one table of numbers, or one for each of the user's columns.

    The graph splits them into blocks of rows, which an inner graph encodes. A block has one
    tensor for all columns of numbers, and one for each column of texts.

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
        dates = {s for s, reading in self._readings.items() if reading.is_date}
        self._dates = dates if self._apart else set()
        given = encoder.names if self._apart else ["X"]
        self.names: list[str] = []
        for name in given:
            usable = name and name not in self.names
            self.names.append(name if usable else free_name(name, {*given, *self.names}))
        self._numbers: list[int] = []
        self._blocks: dict[tuple[int, ...], str] = {}
        self._stacks: dict[tuple[int, ...], str] = {}

    def is_text(self, source: int) -> bool:
        """Whether a column of the table holds texts."""
        return source in self._texts

    def described(self) -> list[onnx.ValueInfoProto]:
        """All inputs, including those that no rule uses, so that whole rows can be passed."""
        width = 1 if self._apart else self._n_columns
        return [
            helper.make_tensor_value_info(
                name,
                self._type(source),
                ["N", width],
                doc_string=f"days since {EPOCH}" if source in self._dates else "",
            )
            for source, name in enumerate(self.names)
        ]

    def described_blocks(self) -> list[onnx.ValueInfoProto]:
        """The tensors of a block, which are the inputs of the inner graph."""
        return [
            helper.make_tensor_value_info(block, self._type(sources[0]), [None, len(sources)])
            for sources, block in self._blocks.items()
        ]

    def _type(self, source: int) -> int:
        return TensorProto.STRING if source in self._texts else TensorProto.DOUBLE

    def use(self, inner: Graph, used: list[int]) -> None:
        """Declare the columns of the table that rules use. `stacked` returns them later."""
        self._numbers = [source for source in used if source not in self._texts]
        if not self._apart:
            self._numbers = list(range(self._n_columns))
        texts = [(source,) for source in used if source in self._texts]
        for sources in filter(None, (tuple(self._numbers), *texts)):
            self._blocks[sources] = inner.name("block")
        if self._numbers:
            numbers = tuple(self._numbers)
            stack = inner.add("Transpose", self._blocks[numbers], perm=[1, 0])
            readings = [self._readings[source] for source in numbers]
            self._stacks[numbers] = checked(
                inner, without_markers(inner, stack, readings), readings
            )

    def split(self, graph: Graph, n_rows: int) -> list[str]:
        """Add nodes that split the inputs into sequences of blocks of up to `n_rows` rows."""
        sequences = []
        for sources in self._blocks:
            names = [self.names[source] for source in sources] if self._apart else self.names
            whole = names[0] if len(names) == 1 else graph.add("Concat", *names, axis=1)
            sequences.append(graph.add("SplitToSequence", whole, np.array(n_rows), axis=0))
        return sequences

    def stacked(self, inner: Graph, sources: list[int]) -> str:
        """Some columns of numbers, or one of texts, in a block of rows, (n_columns, n_rows)."""
        own = tuple(sources)
        if sources[0] in self._texts:
            return inner.add("Reshape", self._blocks[own], np.array([1, -1]))
        if own not in self._stacks:
            places = np.array([self._numbers.index(source) for source in sources])
            stack = self._stacks[tuple(self._numbers)]
            self._stacks[own] = inner.add("Gather", stack, places, axis=0)
        return self._stacks[own]


def without_markers(graph: Graph, stack: str, readings: list[CellReading]) -> str:
    """Columns of numbers (n_columns, n_rows) in which NaN replaces the markers."""
    known = [reading.missing_numbers for reading in readings]
    for numbers in zip_longest(*known, fillvalue=np.nan):  # NaN equals nothing
        marked = graph.add("Equal", stack, np.array(numbers)[:, None])
        stack = graph.add("Where", marked, np.array(np.nan), stack)
    return stack


def checked(graph: Graph, stack: str, readings: list[CellReading]) -> str:
    """Columns of numbers (n_columns, n_rows), or an error if the model refuses a number.

    ONNX has no operator that raises an error. But a `Gather` must fail if its index is out of
    range.
    """
    n, limits = len(readings), np.array([[reading.largest] for reading in readings])
    beyond = graph.add("Greater", graph.add("Abs", stack), limits)
    refused = graph.add("Cast", beyond, to=TensorProto.INT64)
    refused = graph.add("ReduceMax", refused, np.array([1]), keepdims=0)
    places = graph.add("Add", graph.add("Mul", refused, np.array([n])), np.arange(n))
    return graph.add("Gather", stack, places, name=REFUSAL, axis=0)
