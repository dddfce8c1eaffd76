"""An ONNX graph under construction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import onnx

# Equal knows strings from opset 19 on; onnxruntime loads this pair since release 1.16.
OPSET, IR_VERSION = 19, 9


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name, with underscores after it if it is empty or taken."""
    while not name or name in taken:
        name += "_"
    return name


class Graph:
    """Nodes and constants, under names that are nobody else's.

    Parameters
    ----------
    taken : set of str
        Names that are in use, the user's among them; grows by the ones given out.
    """

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def add(
        self, operator: str, *inputs: str | np.ndarray, output: str = "", **attributes: Any
    ) -> str:
        """Append a node of one output and give back the output's name.

        An array among the inputs becomes a constant. Attributes are those of the operator.
        """
        from onnx import helper

        names = [item if isinstance(item, str) else self._constant(item) for item in inputs]
        result = output or self.name(operator)
        self._nodes.append(helper.make_node(operator, names, [result], **attributes))
        return result

    def inner(self) -> Graph:
        """An empty graph for an attribute of a node of this one."""
        return Graph(self._taken)

    def name(self, stem: str) -> str:
        """A name that was not in use."""
        result = free_name(f"{stem}_{len(self._taken)}", self._taken)
        self._taken.add(result)
        return result

    def finished(self, inputs: list[Any], outputs: list[Any]) -> onnx.GraphProto:
        """The graph between values that `onnx.helper` described."""
        from onnx import helper

        nodes, constants = self._nodes, self._constants
        return helper.make_graph(nodes, "neuralrules", inputs, outputs, constants)

    def _constant(self, array: np.ndarray) -> str:
        from onnx import numpy_helper

        name = self.name("constant")
        self._constants.append(numpy_helper.from_array(array, name))
        return name
