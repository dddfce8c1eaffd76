"""The few operations that plain numba code cannot express.

``evaluate_two`` evaluates two literals on a tile of ``TILE`` rows, with every sum in a vector
register. If it were written as loops, LLVM would keep the sums in memory and reach half the
speed of a matrix product. As vector IR it reaches the full speed of a matrix product.
``add_multiple`` adds a multiple of one row to another row, without the checks and remainder
loops that LLVM generates around a loop. The vectors are plain LLVM vectors, so the same code
runs on any instruction set. `_compile` says how wide they are.

``atomic_add`` and ``atomic_load`` implement the barrier between training threads.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from neuralrules._engine._kernels._compile import TILE, VECTORS

_INT = ir.IntType(64)
_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, VECTORS.lanes)
_MULTIPLY_ADD = ("contract",)  # lets a product and a sum become one fused operation
NARROW = 4  # lanes of the vectors for the remainder of a row


def _constant(value: int) -> ir.Constant:
    return ir.Constant(_INT, value)


def _broadcast(
    builder: ir.IRBuilder, scalar: ir.Value, vector: ir.VectorType = _VECTOR
) -> ir.Value:
    """A vector that holds `scalar` in every lane."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, lanes)


def _vector_pointer(
    builder: ir.IRBuilder, data: ir.Value, index: ir.Value, vector: ir.VectorType
) -> ir.Value:
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def _load_vector(
    builder: ir.IRBuilder, data: ir.Value, index: ir.Value, vector: ir.VectorType = _VECTOR
) -> ir.Value:
    loaded = builder.load(_vector_pointer(builder, data, index, vector))
    loaded.align = 4  # NumPy only guarantees the alignment of a single number
    return loaded


def _store_vector(
    builder: ir.IRBuilder, vector: ir.Value, data: ir.Value, index: ir.Value
) -> None:
    pointer = _vector_pointer(builder, data, index, vector.type)
    builder.store(vector, pointer).align = 4


def _weighted_sums(
    builder: ir.IRBuilder,
    weights: ir.Value,
    biases: ir.Value,
    inputs: ir.Value,
    n_inputs: ir.Value,
    tile: ir.Value,
    n_literals: int,
) -> list[list[ir.Value]]:
    """Emit z[l, r] = a_l + sum_i w_li x_ir for the rows of one pass.

    Returns one list of row vectors for each literal. Each number is one chain of multiply-adds
    in the order of the inputs, and does not depend on the width of the vectors.
    """
    n_vectors = VECTORS.at_once
    start = [
        _broadcast(builder, builder.load(builder.gep(biases, [_constant(literal)])))
        for literal in range(n_literals)
        for _ in range(n_vectors)
    ]
    entry = builder.block
    loop = builder.append_basic_block("inputs")
    done = builder.append_basic_block("inputs.done")
    builder.cbranch(builder.icmp_signed(">", n_inputs, _constant(0)), loop, done)

    builder.position_at_end(loop)
    number = builder.phi(_INT)
    sums = [builder.phi(_VECTOR) for _ in start]
    row = builder.mul(builder.load(builder.gep(inputs, [number])), _constant(TILE))
    x = [
        _load_vector(builder, tile, builder.add(row, _constant(v * VECTORS.lanes)))
        for v in range(n_vectors)
    ]
    added = []
    for literal in range(n_literals):
        first = builder.mul(n_inputs, _constant(literal))
        weight = builder.load(builder.gep(weights, [builder.add(first, number)]))
        w = _broadcast(builder, weight)
        for v in range(n_vectors):
            product = builder.fmul(w, x[v], flags=_MULTIPLY_ADD)
            total = sums[literal * n_vectors + v]
            added.append(builder.fadd(product, total, flags=_MULTIPLY_ADD))
    following = builder.add(number, _constant(1))
    number.add_incoming(_constant(0), entry)
    number.add_incoming(following, loop)
    for phi, initial, updated in zip(sums, start, added, strict=True):
        phi.add_incoming(initial, entry)
        phi.add_incoming(updated, loop)
    builder.cbranch(builder.icmp_signed("<", following, n_inputs), loop, done)

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


def _lower_minimum(
    builder: ir.IRBuilder, values: list[ir.Value], minimum: ir.Value, place: ir.Value
) -> ir.Value:
    """Emit minimum[place:] = min(minimum[place:], values) for the lanes of one vector.

    Returns the lanes whose minimum is still positive, as bits.
    """
    lowest = _load_vector(builder, minimum, place)
    for z in values:
        lowest = builder.select(builder.fcmp_ordered("<", z, lowest), z, lowest)
    _store_vector(builder, lowest, minimum, place)
    zero = ir.Constant(_VECTOR, [0.0] * VECTORS.lanes)
    positive = builder.fcmp_ordered(">", lowest, zero)
    return builder.zext(builder.bitcast(positive, ir.IntType(VECTORS.lanes)), _INT)


def literal_group(n_literals: int) -> Any:
    """Make the intrinsic that evaluates `n_literals` literals on one tile.

    The intrinsic is called as ``evaluate(layer, first, tile, values, minimum) -> uint64``:

    - layer : Layer
    - first : the first literal of the group, as an index into the literals of the layer
    - tile : (n_rows_of_tile, TILE) float32, C-contiguous: each of its rows is one input
    - values : (n_literals_of_layer, TILE) float32, filled with the literals' values
    - minimum : (TILE,) float32, lowered to the smallest value so far

    Bit r of the result says whether `minimum` is still positive for row r. If no
    bit is set, the rule is dead on the whole tile and its other literals need
    not be evaluated.
    """

    @intrinsic
    def evaluate(
        typing_context: Any, layer: Any, first: Any, tile: Any, values: Any, minimum: Any
    ) -> Any:
        signature = types.uint64(layer, types.intp, tile, values, minimum)

        def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
            def array(kind: Any, value: ir.Value) -> Any:
                return context.make_array(kind)(context, builder, value)

            weights, biases, inputs = (
                array(kind, builder.extract_value(args[0], place))
                for place, kind in enumerate(signature.args[0].types)
            )
            tile, values, minimum = (
                array(signature.args[place], args[place]).data for place in (2, 3, 4)
            )
            n_inputs = builder.extract_value(inputs.shape, 0)
            own_weights = builder.gep(weights.data, [builder.mul(args[1], n_inputs)])
            own_biases = builder.gep(biases.data, [args[1]])
            own_values = builder.gep(values, [builder.mul(args[1], _constant(TILE))])
            positive = _constant(0)
            for start in range(0, TILE, VECTORS.lanes * VECTORS.at_once):
                sums = _weighted_sums(
                    builder,
                    own_weights,
                    own_biases,
                    inputs.data,
                    n_inputs,
                    builder.gep(tile, [_constant(start)]),
                    n_literals,
                )
                for v in range(VECTORS.at_once):
                    place = start + v * VECTORS.lanes
                    column = [literal[v] for literal in sums]
                    for number, z in enumerate(column):
                        _store_vector(builder, z, own_values, _constant(number * TILE + place))
                    bits = _lower_minimum(builder, column, minimum, _constant(place))
                    positive = builder.or_(positive, builder.shl(bits, _constant(place)))
            return positive

        return signature, emit

    return evaluate


evaluate_one = literal_group(1)
evaluate_two = literal_group(2)


def _emit_chunks(
    builder: ir.IRBuilder,
    target: ir.Value,
    source: ir.Value,
    factor: ir.Value,
    bounds: tuple[ir.Value, ir.Value],
    lanes: int,
) -> ir.Value:
    """Emit target[i] += factor * source[i] from bounds[0], in whole chunks of `lanes`.

    The chunks end at bounds[1] or before. Returns the index after the last chunk, which is
    bounds[0] if no chunk fits.
    """
    wide = ir.VectorType(factor.type, lanes)
    kind = ir.VectorType(target.type.pointee, lanes)
    multiplier = _broadcast(builder, factor, wide)
    entry, test = builder.block, builder.append_basic_block("chunk.test")
    work, done = builder.append_basic_block("chunk"), builder.append_basic_block("chunk.done")
    builder.branch(test)
    builder.position_at_end(test)
    place = builder.phi(_INT)
    following = builder.add(place, _constant(lanes))
    builder.cbranch(builder.icmp_signed("<=", following, bounds[1]), work, done)
    builder.position_at_end(work)
    x = _load_vector(builder, source, place, ir.VectorType(_FLOAT, lanes))
    before = _load_vector(builder, target, place, kind)
    before = before if kind == wide else builder.fpext(before, wide)
    product = builder.fmul(multiplier, builder.fpext(x, wide), flags=_MULTIPLY_ADD)
    total = builder.fadd(product, before, flags=_MULTIPLY_ADD)
    total = total if kind == wide else builder.fptrunc(total, kind)
    _store_vector(builder, total, target, place)
    place.add_incoming(bounds[0], entry)
    place.add_incoming(following, work)
    builder.branch(test)
    builder.position_at_end(done)
    return place


@intrinsic
def add_multiple(
    typing_context: Any, target: Any, start: Any, table: Any, row: Any, factor: Any
) -> Any:
    """target[start + i] += factor * table[row, i] for every column of a float32 table.

    target : flat float32 or float64 array
    table : (n_rows, n_columns) float32, C-contiguous
    factor : float64; each sum is computed in float64 and then rounded to the target's type
    """
    signature = types.void(target, types.intp, table, types.intp, types.float64)

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        into, source = (
            context.make_array(signature.args[place])(context, builder, args[place])
            for place in (0, 2)
        )
        n_columns = builder.extract_value(source.shape, 1)
        target = builder.gep(into.data, [args[1]])
        cells = builder.gep(source.data, [builder.mul(args[3], n_columns)])
        place = _constant(0)
        for lanes in sorted({VECTORS.lanes // 2, NARROW, 1}, reverse=True):
            bounds = (place, n_columns)
            place = _emit_chunks(builder, target, cells, args[4], bounds, lanes)
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def add_gathered(
    typing_context: Any, target: Any, start: Any, table: Any, row: Any, places: Any, factor: Any
) -> Any:
    """target[start + i] += factor * table[row, places[i]] for each of the places (n,) int64.

    The same as `add_multiple`, but only for some of the columns.
    """
    signature = types.void(target, types.intp, table, types.intp, places, types.float64)

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        into, source, chosen = (
            context.make_array(signature.args[place])(context, builder, args[place])
            for place in (0, 2, 4)
        )
        target = builder.gep(into.data, [args[1]])
        n_columns = builder.extract_value(source.shape, 1)
        cells = builder.gep(source.data, [builder.mul(args[3], n_columns)])
        kind, wide = target.type.pointee, args[5].type
        with cgutils.for_range(builder, builder.extract_value(chosen.shape, 0)) as loop:
            place = builder.load(builder.gep(chosen.data, [loop.index]))
            x = builder.fpext(builder.load(builder.gep(cells, [place])), wide)
            pointer = builder.gep(target, [loop.index])
            before = builder.load(pointer)
            before = before if kind == wide else builder.fpext(before, wide)
            product = builder.fmul(args[5], x, flags=_MULTIPLY_ADD)
            total = builder.fadd(product, before, flags=_MULTIPLY_ADD)
            total = total if kind == wide else builder.fptrunc(total, kind)
            builder.store(total, pointer)
        return context.get_dummy_value()

    return signature, emit


@intrinsic
def first_equal(typing_context: Any, values: Any, n: Any, row: Any, wanted: Any) -> Any:
    """The first index i < n for which values[i, row] equals `wanted`.

    values : (n rows or more, TILE) float32

    At least one of the numbers must equal `wanted`. The code has no branch, because the CPU
    could mispredict it.
    """

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        column = builder.gep(array.data, [args[2]])
        found = cgutils.alloca_once_value(builder, _constant(0))
        with cgutils.for_range(builder, args[1]) as loop:
            number = builder.sub(builder.sub(args[1], loop.index), _constant(1))
            place = builder.mul(number, _constant(TILE))
            value = builder.load(builder.gep(column, [place]))
            same = builder.fcmp_ordered("==", value, args[3])
            builder.store(builder.select(same, number, builder.load(found)), found)
        return builder.load(found)

    return types.intp(values, types.intp, types.intp, types.float32), emit


@intrinsic
def lowest_bit(typing_context: Any, bits: Any) -> Any:
    """Position of the lowest bit that is set in a uint64, which must not be 0."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), emit


@intrinsic
def atomic_add(typing_context: Any, counter: Any) -> Any:
    """Add 1 to the only element of the int64 array `counter`, visible to all threads."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.atomic_rmw("add", data, _constant(1), "seq_cst")

    return types.int64(counter), emit


@intrinsic
def atomic_load(typing_context: Any, counter: Any) -> Any:
    """Read the only element of the int64 array `counter`, which other threads may change."""

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.load_atomic(data, "seq_cst", 8)

    return types.int64(counter), emit
