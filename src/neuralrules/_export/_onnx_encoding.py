"""The user's columns as inputs of an ONNX graph, and the nodes that encode their rows.

Columns are stacked into tensors of shape (n_columns, n_rows) until they are encoded:
picking some of them, and computing with one mean for each, is fast only there.
"""

from __future__ import annotations

from itertools import chain, groupby, zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from neuralrules._data._columns import EncodedColumn
from neuralrules._data._dates import EPOCH, LAST_MOMENT
from neuralrules._data._encoder import Encoder
from neuralrules._data._markers import Markers
from neuralrules._data._numbers import LARGEST
from neuralrules._export._onnx_graph import Graph, free_name

if TYPE_CHECKING:
    import onnx


TEXT_KINDS = ("category", "rare")
# The name of the node at which a runtime stops, which its error message shows.
REFUSAL = (
    f"refused: infinity, a number beyond {LARGEST:.2g}, or a date not in days since {EPOCH}"
)


class Inputs:
    """The inputs of a graph: one table of numbers, or one for each of the user's columns.

    Attributes
    ----------
    names : list of str
        ``["X"]``, or the columns' names, with underscores where one is empty or repeated.
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
        self._dates = {c.source for c in encoder.columns if c.is_date}
        dates = self._dates if self._apart else ()
        self._remarks = {self.names[source]: f"days since {EPOCH}" for source in dates}
        self._numbers: list[int] = []
        self._stack = ""
        self._blocks: dict[tuple[int, ...], str] = {}

    def described(self) -> list[onnx.ValueInfoProto]:
        """All inputs, those that no rule uses among them, so that any row can be fed."""
        width = 1 if self._apart else self._n_columns
        return [
            self._described(name, place in self._texts, ["N", width])
            for place, name in enumerate(self.names)
        ]

    def use(self, graph: Graph, columns: list[EncodedColumn], encoder: Encoder) -> None:
        """Name blocks of rows that hold these columns, for `stacked` to take them from.

        All numbers stand in one table and are encoded together; a column of texts stands
        alone.
        """
        used = sorted({column.source for column in columns})
        self._numbers = [source for source in used if source not in self._texts]
        if not self._apart:
            self._numbers = list(range(self._n_columns))
        texts = [(source,) for source in used if source in self._texts]
        for sources in filter(None, (tuple(self._numbers), *texts)):
            self._blocks[sources] = graph.name("block")
        if self._numbers:
            block = self._blocks[tuple(self._numbers)]
            stack = graph.add("Transpose", block, perm=[1, 0])
            own = [encoder.columns_of(source)[0] for source in self._numbers]
            stack = without_markers(graph, stack, own, encoder.markers)
            self._stack = self._checked(graph, stack)

    def _checked(self, graph: Graph, stack: str) -> str:
        """The stack of numbers, or an error if the model would refuse one of them.

        ONNX has no operator that raises an error. But a `Gather` must fail if it is told to
        take a row that is not there.
        """
        from onnx import TensorProto

        n = len(self._numbers)
        ends = [LAST_MOMENT if source in self._dates else LARGEST for source in self._numbers]
        limits = np.array(ends, np.float64)[:, None]
        beyond = graph.add("Greater", graph.add("Abs", stack), limits)
        refused = graph.add("Cast", beyond, to=TensorProto.INT64)
        refused = graph.add("ReduceMax", refused, np.array([1]), keepdims=0)
        places = graph.add("Add", graph.add("Mul", refused, np.array([n])), np.arange(n))
        return graph.add("Gather", stack, places, name=REFUSAL, axis=0)

    def described_blocks(self) -> list[onnx.ValueInfoProto]:
        return [
            self._described(block, sources[0] in self._texts, [None, len(sources)])
            for sources, block in self._blocks.items()
        ]

    def split(self, graph: Graph, n_rows: int) -> list[str]:
        """Nodes from the inputs to a sequence of each block, of up to so many rows."""
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
        places = [self._numbers.index(source) for source in sources]
        return graph.add("Gather", self._stack, np.array(places), axis=0)

    def _described(
        self, name: str, text: bool, shape: list[str | int | None]
    ) -> onnx.ValueInfoProto:
        from onnx import TensorProto, helper

        kind = TensorProto.STRING if text else TensorProto.DOUBLE
        return helper.make_tensor_value_info(name, kind, shape, self._remarks.get(name, ""))


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
    inputs.use(graph, columns, encoder)
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
            table = texts_of(encoder, source, missing_text)
            cells = inputs.stacked(graph, [source])
            if kind == "category":
                holds = any_holds(graph, cells, [table[column.category] for column in own])
            else:
                holds = none_holds(graph, equals(graph, cells, list(chain(*table.values()))))
            blocks.append(indicators(graph, holds, own))
    stacked = blocks[0] if len(blocks) == 1 else graph.add("Concat", *blocks, axis=0)
    return graph.add("Transpose", stacked, perm=[1, 0])


def without_markers(
    graph: Graph, stack: str, columns: list[EncodedColumn], markers: Markers
) -> str:
    """Columns of numbers (n_columns, n_rows) with NaN for what the fit was told is missing."""
    known = [column.marked(markers) for column in columns]
    for numbers in zip_longest(*known, fillvalue=np.nan):  # which equals nothing
        marked = graph.add("Equal", stack, np.array(numbers)[:, None])
        stack = graph.add("Where", marked, np.array(np.nan), stack)
    return stack


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
    scaled = graph.add("Div", difference(graph, raw, mean), scale)
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
    share = graph.add("Div", difference(graph, cells, starts), lengths)
    values = graph.add("Add", graph.add("Mul", share, high - low), low)
    values = graph.add("Min", values, high)
    reached = graph.add("GreaterOrEqual", cells, starts)
    values = graph.add("Where", reached, values, low[:, :1])
    highest = graph.add("ReduceMax", values, np.array([1]), keepdims=0)
    filled = graph.add("Where", graph.add("IsNaN", raw), np.zeros(()), highest)
    return graph.add("Cast", filled, to=TensorProto.FLOAT)


def difference(graph: Graph, cells: str, constants: np.ndarray) -> str:
    """Cells minus constants of the same unit, however small that is.

    It is a sum, because onnxruntime leaves out a difference with one constant that is 0 in
    float32, such as 1e-46.
    """
    return graph.add("Sum", cells, -constants)


def indicators(graph: Graph, holds: str, columns: list[EncodedColumn]) -> str:
    """Standardised indicators from a tensor (n_columns, n_rows) of booleans."""
    on, off = (
        np.array([[(raw - column.mean) / column.scale] for column in columns], np.float32)
        for raw in (1, 0)
    )
    return graph.add("Where", holds, on, off)


def equals(graph: Graph, cells: str, texts: list[str]) -> str:
    """Whether cells (1, n_rows) are each of some texts, (n_texts, n_rows)."""
    return graph.add("Equal", cells, np.array(texts, object)[:, None])


def any_holds(graph: Graph, cells: str, texts: list[list[str]]) -> str:
    """Whether cells (1, n_rows) are any of the texts of each list, (n_lists, n_rows)."""
    from onnx import TensorProto

    equal = equals(graph, cells, list(chain(*texts)))
    if all(len(own) == 1 for own in texts):
        return equal
    sizes = [len(own) for own in texts]
    belongs = np.repeat(np.eye(len(texts), dtype=np.float32), sizes, axis=1)
    # No two texts are the same: a list has none or one that holds.
    held = graph.add("MatMul", belongs, graph.add("Cast", equal, to=TensorProto.FLOAT))
    return graph.add("Cast", held, to=TensorProto.BOOL)


def none_holds(graph: Graph, holds: str) -> str:
    """Whether all booleans of a row are false, (1, n_rows)."""
    from onnx import TensorProto

    # ReduceMax takes booleans from opset 20 on only.
    as_numbers = graph.add("Cast", holds, to=TensorProto.FLOAT)
    any_holds = graph.add("ReduceMax", as_numbers, np.array([0]))
    return graph.add("Not", graph.add("Cast", any_holds, to=TensorProto.BOOL))


def texts_of(encoder: Encoder, source: int, missing_text: str) -> dict[str | None, list[str]]:
    """The texts of each category of a column that has an indicator of its own."""
    own = [column for column in encoder.columns_of(source) if column.kind == "category"]
    texts: dict[str | None, list[str]] = {column.category: [] for column in own}
    for spelling, category in encoder.spellings(source).items():
        if spelling is not None and (spelling != missing_text or category is None):
            texts[category].append(spelling)
    if None in texts and missing_text not in texts[None]:
        texts[None].append(missing_text)
    return texts


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
