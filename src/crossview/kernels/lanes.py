"""Eight numbers at a time: what a compiler does not make of a short loop by itself.

The loops over factors have eight or sixteen steps, of a number that is known at run time.
LLVM's vectoriser unrolls such a loop for long runs and leaves short ones to its scalar
remainder, so eight lanes are written as instructions here.  What eight lanes load is
best stored by eight lanes too: a processor waits where smaller stores make up a larger
load.  In plain Python the same functions work on slices.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from crossview.kernels.rows import EIGHT

# the bits of 1/sqrt(h) are about this less half the bits of h (Lomont 2003, for 64 bits)
MAGIC = 0x5FE6EB50C7B537A9

WIDTH = 8
LANES = ir.VectorType(ir.DoubleType(), WIDTH)
BITS = ir.VectorType(ir.IntType(64), WIDTH)
INDEX = types.uint64


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


def adagrad_step(A, a, h, G, g, x, alpha, rate):
    """AdaGrad's step of eight parameters A[a:a+8], with their sums A[h:h+8].

    g = x G + α θ;  h <- h + g²;  θ <- θ - η g / sqrt(h), 0 where h is 0.
    """
    theta, sums = A[a : a + EIGHT], A[h : h + EIGHT]
    slope = x * G[g : g + EIGHT] + alpha * theta
    sums += slope * slope
    theta -= rate * slope / np.sqrt(np.where(sums > 0.0, sums, 1.0))


def _address(context: Any, builder: Any, signature: Any, args: Any, k: int, index: Any) -> Any:
    """Where eight numbers of array argument ``k`` lie."""
    data = context.make_array(signature.args[k])(context, builder, args[k]).data
    return builder.bitcast(builder.gep(data, [index]), LANES.as_pointer())


def _load(builder: Any, address: Any) -> Any:
    return builder.load(address, align=8)


def _all(builder: Any, value: Any) -> Any:
    """The same number in eight lanes."""
    first = builder.insert_element(ir.Constant(LANES, ir.Undefined), value, ir.IntType(32)(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(first, ir.Constant(LANES, ir.Undefined), mask)


def _constant(value: float) -> Any:
    return ir.Constant(LANES, [value] * WIDTH)


def _times(builder: Any, a: Any, b: Any) -> Any:
    return builder.fmul(a, b, flags=("contract",))


def _plus(builder: Any, a: Any, b: Any) -> Any:
    return builder.fadd(a, b, flags=("contract",))


def _minus(builder: Any, a: Any, b: Any) -> Any:
    return builder.fsub(a, b, flags=("contract",))


def _one_over_root(builder: Any, h: Any) -> Any:
    """1 / sqrt(h) to 12 digits, in about half the time of a root and a division.

    From the guess by bits, good to 3.4 %, three steps of Newton, whose first two
    aim a little higher, so that their errors lie on both sides (Walczyk, Moroz and
    Cieslinski 2018): 9e-4, 6e-7, 6e-13.  Where h is 0 the result is large but finite.
    """
    half_bits = builder.lshr(builder.bitcast(h, BITS), ir.Constant(BITS, [1] * WIDTH))
    y = builder.bitcast(builder.sub(ir.Constant(BITS, [MAGIC] * WIDTH), half_bits), LANES)
    half = _times(builder, h, _constant(0.5))
    for most in (1.5008789, 1.5000006, 1.5):
        square = _times(builder, _times(builder, half, y), y)
        y = _times(builder, y, _minus(builder, _constant(most), square))
    return y


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
        builder.store(_plus(builder, _load(builder, out), total), out, align=8)
        return context.get_dummy_value()

    number = types.float64
    return types.void(S, INDEX, A, *[INDEX] * 4, *[number] * 4), codegen


@intrinsic
def _fill(typing_context, out, o, value):  # pragma: no cover - runs in the compiler
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _address(context, builder, signature, args, 0, args[1])
        builder.store(_all(builder, args[2]), place, align=8)
        return context.get_dummy_value()

    return types.void(out, INDEX, types.float64), codegen


@intrinsic
def _copy(typing_context, out, o, A, a):  # pragma: no cover - runs in the compiler
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _address(context, builder, signature, args, 0, args[1])
        value = _load(builder, _address(context, builder, signature, args, 2, args[3]))
        builder.store(value, place, align=8)
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
        builder.store(_times(builder, left, right), place, align=8)
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
        builder.store(total, place, align=8)
        return context.get_dummy_value()

    return types.void(out, INDEX, A, INDEX, B, INDEX), codegen


@intrinsic
def _adagrad_step(
    typing_context, A, a, h, G, g, x, alpha, rate
):  # pragma: no cover - runs in the compiler
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _address(context, builder, signature, args, 0, args[1])
        place_of_sums = _address(context, builder, signature, args, 0, args[2])
        theta = _load(builder, place)
        slope = _plus(
            builder,
            _times(
                builder,
                _all(builder, args[5]),
                _load(builder, _address(context, builder, signature, args, 3, args[4])),
            ),
            _times(builder, _all(builder, args[6]), theta),
        )
        sums = _plus(builder, _load(builder, place_of_sums), _times(builder, slope, slope))
        builder.store(sums, place_of_sums, align=8)
        step = _times(builder, _all(builder, args[7]), slope)
        step = _times(builder, step, _one_over_root(builder, sums))
        builder.store(_minus(builder, theta, step), place, align=8)
        return context.get_dummy_value()

    number = types.float64
    return types.void(A, INDEX, INDEX, G, INDEX, number, number, number), codegen


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


@overload(adagrad_step, inline="always")
def _overload_adagrad_step(A, a, h, G, g, x, alpha, rate):
    return lambda A, a, h, G, g, x, alpha, rate: _adagrad_step(A, a, h, G, g, x, alpha, rate)
