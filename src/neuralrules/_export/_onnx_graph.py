"""An ONNX graph under construction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import onnx

# `Equal` takes strings since opset 19. onnxruntime loads these versions since release 1.16.
OPSET, IR_VERSION = 19, 9


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
        self._taken = taken
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def add(
        self, operator: str, *inputs: str | np.ndarray, output: str = "", **attributes: Any
    ) -> str:
        """Append a node with one output, and return the name of the output.

        An array among the inputs becomes a constant. `attributes` are those of the operator.
        """
        from onnx import helper

        names = [item if isinstance(item, str) else self._constant(item) for item in inputs]
        result = output or self.name(operator)
        self._nodes.append(helper.make_node(operator, names, [result], **attributes))
        return result

    def inner(self) -> Graph:
        """An empty graph that becomes an attribute of a node of this graph."""
        return Graph(self._taken)

    def name(self, stem: str) -> str:
        """A name that was not in use."""
        result = free_name(f"{stem}_{len(self._taken)}", self._taken)
        self._taken.add(result)
        return result

    def finished(self, inputs: list[Any], outputs: list[Any]) -> onnx.GraphProto:
        """The finished graph. `onnx.helper` has described its inputs and outputs."""
        from onnx import helper

        nodes, constants = self._nodes, self._constants
        return helper.make_graph(nodes, "neuralrules", inputs, outputs, constants)

    def _constant(self, array: np.ndarray) -> str:
        from onnx import numpy_helper

        name = self.name("constant")
        self._constants.append(numpy_helper.from_array(array, name))
        return name
