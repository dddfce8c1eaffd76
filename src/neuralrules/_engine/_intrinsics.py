"""The few instructions that plain numba code cannot express.

``literal_group`` evaluates one or two literals on a tile of ``TILE`` rows with
every accumulator in a vector register. Written as loops, LLVM keeps the
accumulators in memory and reaches half the speed of a matrix product; written
as vector IR it reaches the speed of a matrix product. The vectors are plain
LLVM vectors, so that the same code runs on any instruction set.

``atomic_add`` and ``atomic_load`` carry the barrier between training threads.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

TILE = 64  # rows evaluated together: four 512-bit registers to a literal
LANES = 16  # float32 lanes of one vector

_INT = ir.IntType(64)
_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, LANES)
_MULTIPLY_ADD = ("contract",)  # lets a product and a sum become one fused operation


def _constant(value: int) -> ir.Constant:
    return ir.Constant(_INT, value)


def _broadcast(builder: ir.IRBuilder, scalar: ir.Value) -> ir.Value:
    """A vector that holds `scalar` in every lane."""
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, undefined, lanes)


def _vector_pointer(builder: ir.IRBuilder, data: ir.Value, index: ir.Value) -> ir.Value:
    return builder.bitcast(builder.gep(data, [index]), _VECTOR.as_pointer())


def _load_vector(builder: ir.IRBuilder, data: ir.Value, index: ir.Value) -> ir.Value:
    loaded = builder.load(_vector_pointer(builder, data, index))
    loaded.align = 4  # NumPy promises the alignment of one float32, no more
    return loaded


def _store_vector(
    builder: ir.IRBuilder, vector: ir.Value, data: ir.Value, index: ir.Value
) -> None:
    builder.store(vector, _vector_pointer(builder, data, index)).align = 4


def _weighted_sums(
    builder: ir.IRBuilder,
    weights: ir.Value,
    biases: ir.Value,
    tile: ir.Value,
    n_features: ir.Value,
    n_literals: int,
) -> list[list[ir.Value]]:
    """Emit z[l, r] = a_l + sum_f w_lf x_fr; one list of row vectors to a literal."""
    n_vectors = TILE // LANES
    start = [
        _broadcast(builder, builder.load(builder.gep(biases, [_constant(literal)])))
        for literal in range(n_literals)
        for _ in range(n_vectors)
    ]
    entry = builder.block
    loop = builder.append_basic_block("features")
    done = builder.append_basic_block("features.done")
    builder.cbranch(builder.icmp_signed(">", n_features, _constant(0)), loop, done)

    builder.position_at_end(loop)
    feature = builder.phi(_INT)
    sums = [builder.phi(_VECTOR) for _ in start]
    first_row = builder.mul(feature, _constant(TILE))
    x = [
        _load_vector(builder, tile, builder.add(first_row, _constant(v * LANES)))
        for v in range(n_vectors)
    ]
    added = []
    for literal in range(n_literals):
        row = builder.mul(n_features, _constant(literal))
        weight = builder.load(builder.gep(weights, [builder.add(row, feature)]))
        w = _broadcast(builder, weight)
        for v in range(n_vectors):
            product = builder.fmul(w, x[v], flags=_MULTIPLY_ADD)
            total = sums[literal * n_vectors + v]
            added.append(builder.fadd(product, total, flags=_MULTIPLY_ADD))
    following = builder.add(feature, _constant(1))
    feature.add_incoming(_constant(0), entry)
    feature.add_incoming(following, loop)
    for phi, initial, updated in zip(sums, start, added, strict=True):
        phi.add_incoming(initial, entry)
        phi.add_incoming(updated, loop)
    builder.cbranch(builder.icmp_signed("<", following, n_features), loop, done)

    builder.position_at_end(done)
    final = []
    for initial, updated in zip(start, added, strict=True):
        phi = builder.phi(_VECTOR)
        phi.add_incoming(initial, entry)
        phi.add_incoming(updated, loop)
        final.append(phi)
    return [
        final[literal * n_vectors : (literal + 1) * n_vectors] for literal in range(n_literals)
    ]


def literal_group(n_literals: int) -> Any:
    """Make the intrinsic that evaluates `n_literals` literals on one tile.

    The intrinsic is called as
    ``evaluate(weights, biases, first, tile, literals, minimum) -> uint64``:

    - weights : (n_literals_in_all, n_features) float32, C-contiguous
    - biases : (n_literals_in_all,) float32
    - first : the first literal of the group
    - tile : (n_features, TILE) float32, one column a row of X
    - literals : (>= n_literals, TILE) float32, filled with the literals' values
    - minimum : (TILE,) float32, lowered to the smallest value seen

    Bit r of the result says whether `minimum` is still positive for row r. If no
    bit is set, the rule is dead on the whole tile and its other literals need
    not be evaluated.
    """

    @intrinsic
    def evaluate(
        typing_context: Any,
        weights: Any,
        biases: Any,
        first: Any,
        tile: Any,
        literals: Any,
        minimum: Any,
    ) -> Any:
        signature = types.uint64(weights, biases, types.intp, tile, literals, minimum)

        def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            def array(position: int) -> Any:
                return context.make_array(signature.args[position])(
                    context, builder, args[position]
                )

            n_features = builder.extract_value(array(0).shape, 1)
            values = _weighted_sums(
                builder,
                builder.gep(array(0).data, [builder.mul(args[2], n_features)]),
                builder.gep(array(1).data, [args[2]]),
                array(3).data,
                n_features,
                n_literals,
            )
            zero = ir.Constant(_VECTOR, [0.0] * LANES)
            positive = _constant(0)
            for v in range(TILE // LANES):
                lowest = _load_vector(builder, array(5).data, _constant(v * LANES))
                for literal in range(n_literals):
                    z = values[literal][v]
                    position = _constant(literal * TILE + v * LANES)
                    _store_vector(builder, z, array(4).data, position)
                    lowest = builder.select(builder.fcmp_ordered("<", z, lowest), z, lowest)
                _store_vector(builder, lowest, array(5).data, _constant(v * LANES))
                lanes = builder.bitcast(
                    builder.fcmp_ordered(">", lowest, zero), ir.IntType(LANES)
                )
                bits = builder.shl(builder.zext(lanes, _INT), _constant(v * LANES))
                positive = builder.or_(positive, bits)
            return positive

        return signature, emit

    return evaluate


evaluate_one = literal_group(1)
evaluate_two = literal_group(2)


@intrinsic
def lowest_bit(typing_context: Any, bits: Any) -> Any:
    """Position of the lowest set bit of a uint64 that is not zero."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), emit


@intrinsic
def atomic_add(typing_context: Any, counter: Any) -> Any:
    """Add one to the int64 array `counter` of one element, seen by all threads."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.atomic_rmw("add", data, _constant(1), "seq_cst")

    return types.int64(counter), emit


@intrinsic
def atomic_load(typing_context: Any, counter: Any) -> Any:
    """Read the int64 array `counter` of one element as other threads left it."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.load_atomic(data, "seq_cst", 8)

    return types.int64(counter), emit
