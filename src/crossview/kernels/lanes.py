"""Eight numbers at a time: what a compiler does not make of a short loop by itself.

The loops over factors have eight or sixteen steps, of a number that is known at run time.
LLVM's vectorizer unrolls such a loop for long runs and leaves short ones to its scalar
remainder, so eight lanes are written as instructions here.  What eight lanes load is
best stored by eight lanes too: a processor waits where smaller stores make up a larger
load.  In plain Python the same functions work on slices.

An array may be of double or single precision.  Sums and products are made in double;
a step is made in the precision of the parameters.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from crossview.kernels.rows import EIGHT, TWO

WIDTH = 8
DOUBLE = ir.VectorType(ir.DoubleType(), WIDTH)
SINGLE = ir.VectorType(ir.FloatType(), WIDTH)
INDEX = types.uint64

# as large as a sum of squares at least is; where it is 0, so is the slope
TINY = {DOUBLE: 1e-300, SINGLE: 1e-37}


def add_four(S, s, A, a0, a1, a2, a3, x0, x1, x2, x3):
    """S[s:s+8] <- S[s:s+8] + x0 A[a0:a0+8] + ... + x3 A[a3:a3+8]."""
    own = slice(s, s + EIGHT)
    S[own] += (x0 * A[a0 : a0 + EIGHT] + x1 * A[a1 : a1 + EIGHT]) + (
        x2 * A[a2 : a2 + EIGHT] + x3 * A[a3 : a3 + EIGHT]
    )


def fill(out, o, value):
    """out[o:o+8] <- value."""
    out[o : o + EIGHT] = value


def copy(out, o, A, a):
    """out[o:o+8] <- A[a:a+8]."""
    out[o : o + EIGHT] = A[a : a + EIGHT]


def multiply(out, o, A, a, B, b):
    """out[o:o+8] <- A[a:a+8] B[b:b+8]."""
    out[o : o + EIGHT] = A[a : a + EIGHT] * B[b : b + EIGHT]


def add_product(out, o, A, a, B, b):
    """out[o:o+8] <- out[o:o+8] + A[a:a+8] B[b:b+8]."""
    out[o : o + EIGHT] += A[a : a + EIGHT] * B[b : b + EIGHT]


def adagrad_steps(A, G, g, n, x, j, lo, hi, offset, column_offset, alpha, rate):
    """AdaGrad's steps of the columns j[...] + column_offset, but for the last n mod 8 factors.

    A column has n parameters θ in A and then n sums h; it is passed over where x is 0.

        slope = x G + α θ;  h <- h + slope²;  θ <- θ - η slope / sqrt(h), 0 where h is 0
    """
    lanes = n - n % EIGHT
    for q in range(lo, hi):
        if x[q] != 0.0:
            place = (j[q - offset] + column_offset) * TWO * n
            theta, sums = A[place : place + lanes], A[place + n : place + n + lanes]
            slope = x[q] * G[g : g + lanes] + alpha * theta
            sums += slope * slope
            theta -= rate * slope / np.sqrt(np.where(sums > 0.0, sums, 1.0))


def _lanes(array: Any) -> Any:
    """The type of eight numbers of this array."""
    return DOUBLE if array.dtype == types.float64 else SINGLE


def _address(context: Any, builder: Any, signature: Any, args: Any, k: int, index: Any) -> Any:
    """Where eight numbers of array argument ``k`` lie."""
    data = context.make_array(signature.args[k])(context, builder, args[k]).data
    return builder.bitcast(builder.gep(data, [index]), _lanes(signature.args[k]).as_pointer())


def _as(builder: Any, value: Any, kind: Any) -> Any:
    """The eight numbers in this precision."""
    if value.type == kind:
        return value
    return builder.fpext(value, kind) if kind == DOUBLE else builder.fptrunc(value, kind)


def _load(builder: Any, address: Any, kind: Any = DOUBLE) -> Any:
    size = 8 if address.type.pointee == DOUBLE else 4
    return _as(builder, builder.load(address, align=size), kind)


def _store(builder: Any, value: Any, address: Any) -> None:
    size = 8 if address.type.pointee == DOUBLE else 4
    builder.store(_as(builder, value, address.type.pointee), address, align=size)


def _all(builder: Any, value: Any, kind: Any = DOUBLE) -> Any:
    """The same number in eight lanes."""
    if kind == SINGLE:
        value = builder.fptrunc(value, ir.FloatType())
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.IntType(32)(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), mask)


def _times(builder: Any, a: Any, b: Any) -> Any:
    return builder.fmul(a, b, flags=("contract",))


def _plus(builder: Any, a: Any, b: Any) -> Any:
    return builder.fadd(a, b, flags=("contract",))


def _minus(builder: Any, a: Any, b: Any) -> Any:
    return builder.fsub(a, b, flags=("contract",))


@intrinsic
def _add_four(
    typing_context, S, s, A, a0, a1, a2, a3, x0, x1, x2, x3
):  # pragma: no cover - runs in the compiler
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out = _address(context, builder, signature, args, 0, args[1])
        terms = [
            _times(
                builder,
                _all(builder, args[7 + i]),
                _load(builder, _address(context, builder, signature, args, 2, args[3 + i])),
            )
            for i in range(4)
        ]
        total = _plus(
            builder, _plus(builder, terms[0], terms[1]), _plus(builder, terms[2], terms[3])
        )
        _store(builder, _plus(builder, _load(builder, out), total), out)
        return context.get_dummy_value()

    number = types.float64
    return types.void(S, INDEX, A, *[INDEX] * 4, *[number] * 4), codegen


@intrinsic
def _fill(typing_context, out, o, value):  # pragma: no cover - runs in the compiler
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _address(context, builder, signature, args, 0, args[1])
        _store(builder, _all(builder, args[2]), place)
        return context.get_dummy_value()

    return types.void(out, INDEX, types.float64), codegen


@intrinsic
def _copy(typing_context, out, o, A, a):  # pragma: no cover - runs in the compiler
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _address(context, builder, signature, args, 0, args[1])
        value = _load(builder, _address(context, builder, signature, args, 2, args[3]))
        _store(builder, value, place)
        return context.get_dummy_value()

    return types.void(out, INDEX, A, INDEX), codegen


@intrinsic
def _multiply(typing_context, out, o, A, a, B, b):  # pragma: no cover - runs in the compiler
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        left, right = (
            _load(builder, _address(context, builder, signature, args, k, args[k + 1]))
            for k in (2, 4)
        )
        place = _address(context, builder, signature, args, 0, args[1])
        _store(builder, _times(builder, left, right), place)
        return context.get_dummy_value()

    return types.void(out, INDEX, A, INDEX, B, INDEX), codegen


@intrinsic
def _add_product(typing_context, out, o, A, a, B, b):  # pragma: no cover - runs in the compiler
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        left, right = (
            _load(builder, _address(context, builder, signature, args, k, args[k + 1]))
            for k in (2, 4)
        )
        place = _address(context, builder, signature, args, 0, args[1])
        total = _plus(builder, _load(builder, place), _times(builder, left, right))
        _store(builder, total, place)
        return context.get_dummy_value()

    return types.void(out, INDEX, A, INDEX, B, INDEX), codegen


def _write_step(
    builder: Any, theta: Any, sums: Any, source: Any, x: Any, alpha: Any, rate: Any, kind: Any
) -> None:
    """One step of eight parameters; the last three are the same in all lanes."""
    before = _load(builder, theta, kind)
    slope = _plus(
        builder,
        _times(builder, x, _load(builder, source, kind)),
        _times(builder, alpha, before),
    )
    total = _plus(builder, _load(builder, sums, kind), _times(builder, slope, slope))
    _store(builder, total, sums)
    least = ir.Constant(kind, [TINY[kind]] * WIDTH)
    total = builder.select(builder.fcmp_ordered(">", total, least), total, least)
    root = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(kind, [kind]),
        f"llvm.sqrt.v{WIDTH}{'f64' if kind == DOUBLE else 'f32'}",
    )
    step = builder.fdiv(_times(builder, rate, slope), builder.call(root, [total]))
    _store(builder, _minus(builder, before, step), theta)


def _write_steps(function: Any, kind: Any) -> None:
    """The steps of one view's columns, from pointers to the first of everything."""
    builder = ir.IRBuilder(function.append_basic_block())
    A, G, n, x, j, n_columns, column_offset, alpha, rate = function.args
    alpha, rate = _all(builder, alpha, kind), _all(builder, rate, kind)
    octets = builder.udiv(n, n.type(WIDTH))
    with cgutils.for_range(builder, n_columns, intp=n.type) as column:
        value = builder.load(builder.gep(x, [column.index]))
        with builder.if_then(builder.fcmp_unordered("!=", value, value.type(0.0))):
            value = _all(builder, value, kind)
            place = builder.zext(builder.load(builder.gep(j, [column.index])), n.type)
            place = builder.mul(builder.add(place, column_offset), builder.mul(n, n.type(2)))
            with cgutils.for_range(builder, octets, intp=n.type) as octet:
                f = builder.mul(octet.index, n.type(WIDTH))
                theta = builder.gep(A, [builder.add(place, f)])
                here, sums, source = (
                    builder.bitcast(pointer, kind.as_pointer())
                    for pointer in (theta, builder.gep(theta, [n]), builder.gep(G, [f]))
                )
                _write_step(builder, here, sums, source, value, alpha, rate, kind)
    builder.ret_void()


@intrinsic
def _adagrad_steps(
    typing_context, A, G, g, n, x, j, lo, hi, offset, column_offset, alpha, rate
):  # pragma: no cover - runs in the compiler
    """A call of a function of its own: in the middle of a long loop registers run out."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = (
            context.make_array(signature.args[k])(context, builder, args[k]).data
            for k in (0, 1, 4, 5)
        )
        A, G, x, j = arrays
        g, n, lo, hi, offset, column_offset, alpha, rate = (args[k] for k in (2, 3, *range(6, 12)))
        given = [
            A,
            builder.gep(G, [g]),
            n,
            builder.gep(x, [lo]),
            builder.gep(j, [builder.sub(lo, offset)]),
            builder.sub(hi, lo),
            column_offset,
            alpha,
            rate,
        ]
        kind = _lanes(signature.args[0])
        name = f"adagrad_steps.{kind}.{j.type}"
        function = builder.module.globals.get(name)
        if function is None:
            shape = ir.FunctionType(ir.VoidType(), [value.type for value in given])
            function = ir.Function(builder.module, shape, name)
            function.linkage = "internal"
            function.attributes.add("noinline")
            _write_steps(function, kind)
        builder.call(function, given)
        return context.get_dummy_value()

    number = types.float64
    return types.void(A, G, INDEX, INDEX, x, j, *[INDEX] * 4, number, number), codegen


@overload(add_four, inline="always")
def _overload_add_four(S, s, A, a0, a1, a2, a3, x0, x1, x2, x3):
    return lambda S, s, A, a0, a1, a2, a3, x0, x1, x2, x3: _add_four(
        S, s, A, a0, a1, a2, a3, x0, x1, x2, x3
    )


@overload(fill, inline="always")
def _overload_fill(out, o, value):
    return lambda out, o, value: _fill(out, o, value)


@overload(copy, inline="always")
def _overload_copy(out, o, A, a):
    return lambda out, o, A, a: _copy(out, o, A, a)


@overload(multiply, inline="always")
def _overload_multiply(out, o, A, a, B, b):
    return lambda out, o, A, a, B, b: _multiply(out, o, A, a, B, b)


@overload(add_product, inline="always")
def _overload_add_product(out, o, A, a, B, b):
    return lambda out, o, A, a, B, b: _add_product(out, o, A, a, B, b)


@overload(adagrad_steps, inline="always")
def _overload_adagrad_steps(A, G, g, n, x, j, lo, hi, offset, column_offset, alpha, rate):
    return lambda A, G, g, n, x, j, lo, hi, offset, column_offset, alpha, rate: _adagrad_steps(
        A, G, g, n, x, j, lo, hi, offset, column_offset, alpha, rate
    )
