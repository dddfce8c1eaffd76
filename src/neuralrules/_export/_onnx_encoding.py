"""The user's columns as inputs of an ONNX graph, and the nodes that encode their rows.

Columns are stacked into tensors of shape (n_columns, n_rows) until they are encoded:
picking some of them, and computing with one mean for each, is fast only there.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from neuralrules._data._encoded_column import LARGEST, EncodedColumn
from neuralrules._data._encoding import Encoder
from neuralrules._export._onnx_graph import Graph, free_name

if TYPE_CHECKING:
    import onnx


TEXT_KINDS = ("category", "rare")


class Inputs:
    """The inputs of a graph: one table of numbers, or one for each of the user's columns.

    Attributes
    ----------
    names : list of str
        ``["X"]``, or the columns' names, with underscores where one is empty or repeated.
    blocks : dict of str to str
        For the inputs that were used, the name of a block of their rows.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._texts = {c.source for c in encoder.columns if c.kind in TEXT_KINDS}
        self._n_columns = len(encoder.names)
        self._apart = encoder.named or bool(self._texts)
        given = encoder.names if self._apart else ["X"]
        self.names: list[str] = []
        for name in given:
            usable = name and name not in self.names
            self.names.append(name if usable else free_name(name, {*given, *self.names}))
        self.blocks: dict[str, str] = {}

    def described(self) -> list[onnx.ValueInfoProto]:
        """All inputs, those that no rule uses among them, so that any row can be fed."""
        return [self._described(name, name, "N") for name in self.names]

    def described_blocks(self) -> list[onnx.ValueInfoProto]:
        return [self._described(name, block, None) for name, block in self.blocks.items()]

    def stacked(self, graph: Graph, sources: list[int]) -> str:
        """Some columns of one type in a block of rows, (n_columns, n_rows)."""
        if not self._apart:
            turned = graph.add("Transpose", self._block(graph, "X"), perm=[1, 0])
            return graph.add("Gather", turned, np.array(sources), axis=0)
        columns = [self._block(graph, self.names[source]) for source in sources]
        flat = [graph.add("Reshape", column, np.array([1, -1])) for column in columns]
        return flat[0] if len(flat) == 1 else graph.add("Concat", *flat, axis=0)

    def _block(self, graph: Graph, name: str) -> str:
        if name not in self.blocks:
            self.blocks[name] = graph.name("block")
        return self.blocks[name]

    def _described(self, name: str, shown: str, n_rows: str | None) -> onnx.ValueInfoProto:
        from onnx import TensorProto, helper

        text = self.names.index(name) in self._texts
        kind = TensorProto.STRING if text else TensorProto.DOUBLE
        shape = [n_rows, 1 if self._apart else self._n_columns]
        return helper.make_tensor_value_info(shown, kind, shape)


def encoded_rows(
    graph: Graph, inputs: Inputs, encoder: Encoder, features: np.ndarray, missing_text: str
) -> str:
    """Nodes that do what `Encoder.transform` does, for some of its columns.

    Returns
    -------
    str
        Tensor of shape (n_rows, n_features), float32.
    """
    columns = [encoder.columns[feature] for feature in features]
    blocks = []
    for (kind, source), group in groupby(columns, stackable):
        own = list(group)
        if kind == "number":
            blocks.append(numbers(graph, inputs, own))
        elif kind == "scaled":
            blocks.append(scaled(graph, inputs, own))
        elif kind == "missing":
            raw = inputs.stacked(graph, [column.source for column in own])
            blocks.append(indicators(graph, graph.add("IsNaN", raw), own))
        else:
            known = own if kind == "category" else categories_of(encoder, source)
            texts = [missing_text if c.category is None else c.category for c in known]
            cells = inputs.stacked(graph, [source])
            equal = graph.add("Equal", cells, np.array(texts, object)[:, None])
            holds = equal if kind == "category" else none_holds(graph, equal)
            blocks.append(indicators(graph, holds, own))
    stacked = blocks[0] if len(blocks) == 1 else graph.add("Concat", *blocks, axis=0)
    return graph.add("Transpose", stacked, perm=[1, 0])


def stackable(column: EncodedColumn) -> tuple[str, int]:
    """Equal for neighbours that are encoded together: all numbers, one column's texts."""
    if column.knots is not None:
        return "scaled", -1
    return column.kind, column.source if column.kind in TEXT_KINDS else -1


def numbers(graph: Graph, inputs: Inputs, columns: list[EncodedColumn]) -> str:
    """Standardised in float64, or a column far from zero would lose its digits."""
    from onnx import TensorProto

    mean = np.array([[column.mean] for column in columns])
    scale = np.array([[column.scale] for column in columns])
    raw = inputs.stacked(graph, [column.source for column in columns])
    scaled = graph.add("Div", graph.add("Sub", raw, mean), scale)
    single = graph.add("Cast", scaled, to=TensorProto.FLOAT)
    filled = graph.add("Where", graph.add("IsNaN", single), np.zeros((), np.float32), single)
    return graph.add("Clip", filled, np.array(-LARGEST), np.array(LARGEST))


def scaled(graph: Graph, inputs: Inputs, columns: list[EncodedColumn]) -> str:
    """Scaled by their quantiles in float64: the highest segment whose start is reached.

    All segments of all columns are computed at once, (n_columns, n_segments, n_rows).
    """
    from onnx import TensorProto

    knots = [column.knots for column in columns if column.knots is not None]
    n_segments = max(len(own.x) for own in knots) - 1

    def padded(each: list[np.ndarray], filler: float) -> np.ndarray:
        """One number for each segment, (n_columns, n_segments, 1) float64."""
        rows = [np.pad(one, (0, n_segments - len(one)), constant_values=filler) for one in each]
        return np.array(rows)[:, :, None]

    starts = padded([np.array(own.x[:-1]) for own in knots], np.inf)  # which none reaches
    lengths = padded([np.diff(own.x) for own in knots], 1.0)
    low = padded([np.array(own.z[:-1]) for own in knots], 0.0)
    high = padded([np.array(own.z[1:]) for own in knots], 0.0)
    raw = inputs.stacked(graph, [column.source for column in columns])
    cells = graph.add("Unsqueeze", raw, np.array([1]))
    share = graph.add("Div", graph.add("Sub", cells, starts), lengths)
    values = graph.add("Add", graph.add("Mul", share, high - low), low)
    values = graph.add("Min", values, high)
    reached = graph.add("GreaterOrEqual", cells, starts)
    values = graph.add("Where", reached, values, low[:, :1])
    highest = graph.add("ReduceMax", values, np.array([1]), keepdims=0)
    filled = graph.add("Where", graph.add("IsNaN", raw), np.zeros(()), highest)
    return graph.add("Cast", filled, to=TensorProto.FLOAT)


def indicators(graph: Graph, holds: str, columns: list[EncodedColumn]) -> str:
    """Standardised indicators from a tensor (n_columns, n_rows) of booleans."""
    on, off = (
        np.array([[(raw - column.mean) / column.scale] for column in columns], np.float32)
        for raw in (1, 0)
    )
    return graph.add("Where", holds, on, off)


def none_holds(graph: Graph, holds: str) -> str:
    """Whether all booleans of a row are false, (1, n_rows)."""
    from onnx import TensorProto

    # ReduceMax takes booleans from opset 20 on only.
    as_numbers = graph.add("Cast", holds, to=TensorProto.FLOAT)
    any_holds = graph.add("ReduceMax", as_numbers, np.array([0]))
    return graph.add("Not", graph.add("Cast", any_holds, to=TensorProto.BOOL))


def categories_of(encoder: Encoder, source: int) -> list[EncodedColumn]:
    """The categories of a column that have an indicator of their own."""
    return [column for column in encoder.columns_of(source) if column.kind == "category"]


def check_missing_text(encoder: Encoder, missing_text: Any) -> None:
    """Refuse a text for missing cells that also stands for a category."""
    if not isinstance(missing_text, str):
        raise TypeError(f"missing_text={missing_text!r} must be a string.")
    for column in encoder.columns:
        if column.kind == "category" and column.category == missing_text:
            raise ValueError(
                f"missing_text={missing_text!r} is a category of column "
                f"{encoder.names[column.source]!r}, and ONNX has no other way to say that a "
                "text is missing. Give a missing_text that no category has, for example "
                f"{free_name('missing', all_categories(encoder))!r}."
            )


def all_categories(encoder: Encoder) -> list[str]:
    return [column.category for column in encoder.columns if column.kind == "category"]
