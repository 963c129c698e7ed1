"""Eight numbers at a time: what a compiler does not make of a short loop by itself.

The loops over factors have eight or sixteen steps, a number that is known at run time only.
LLVM's vectorizer unrolls such a loop for long runs and leaves short ones to its scalar
remainder, so eight lanes are written as instructions here.  What eight lanes load is
best stored by eight lanes too: a processor waits where smaller stores make up a larger
load.  In plain Python the same functions work on slices.

An array has double or single precision.  Sums and products are computed in double;
a step is computed in the precision of the parameters.
"""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from crossview._jit import inlined_borrowing
from crossview.kernels.rows import EIGHT, FIVE, FOUR, ONE, SEVEN, SIX, THREE, TWO, ZERO

WIDTH = 8
DOUBLE = ir.VectorType(ir.DoubleType(), WIDTH)
SINGLE = ir.VectorType(ir.FloatType(), WIDTH)
INDEX = types.uint64

# a lower bound of sums of squares; where the sum is 0, so is the slope
TINY = {DOUBLE: 1e-300, SINGLE: 1e-37}


class Table(NamedTuple):
    """Parameters of slots, in one dimension: slot s has those from ``s stride``, n of them."""

    values: np.ndarray
    n: np.uint64
    stride: np.uint64  # n, or 2 n where n sums of squares follow the parameters


class Entries(NamedTuple):
    """A part of a row: entry p has the value x[p] and the slot j[p - offset] + column_offset."""

    lo: int
    hi: int
    offset: int
    column_offset: int


# --- eight lanes --------------------------------------------------------------


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


def add_four(S, s, A, a, x):
    """S[s:s+8] <- S[s:s+8] + x_0 A[a_0:a_0+8] + ... + x_3 A[a_3:a_3+8]."""
    one, two, three, four = (x[i] * A[a[i] : a[i] + EIGHT] for i in range(4))
    S[s : s + EIGHT] += (one + two) + (three + four)


def adagrad_steps(x, j, entries, A, G, g, step):
    """Take AdaGrad's steps of all entries, of n factors but the last n mod 8.

    The entry p of a row, with the slope x[p] G + α θ; a value of 0 takes no step.

        h <- max(ρ h, floor) + slope²;  θ <- θ - η slope / sqrt(h), or θ where h is 0

    ``A`` is a `Table`, the slopes G begin at ``g``, and ``step`` has ``alpha``, ``rate``,
    ``forgetting`` (ρ) and ``floor``.
    """
    theta, n, stride = A
    lanes = n - n % EIGHT
    for p in range(entries.lo, entries.hi):
        if x[p] != 0.0:
            slot = (j[p - entries.offset] + entries.column_offset) * stride
            own, sums = theta[slot : slot + lanes], theta[slot + n : slot + n + lanes]
            slope = x[p] * G[g : g + lanes] + step.alpha * own
            sums[:] = np.maximum(step.forgetting * sums, step.floor) + slope * slope
            own -= step.rate * slope / np.sqrt(np.where(sums > 0.0, sums, 1.0))


# --- any number of factors ----------------------------------------------------


@inlined_borrowing
def copy_factors(out, o, A, slot):
    """out[o:o+n] <- the n parameters of a slot of a table."""
    values, n, stride = A
    whole = n - n % EIGHT
    first = slot * stride
    for f in range(ZERO, whole, EIGHT):
        copy(out, o + f, values, first + f)
    for f in range(whole, n):
        out[o + f] = values[first + f]


@inlined_borrowing
def add_entries(x, j, entries, A, S, s):
    """S[s:s+n] <- S[s:s+n] + sum_p x_p A[slot of p].

    Four entries at a time, so that S is loaded less often; where fewer are
    left, the last one stands in for them with the value 0.
    """
    lo, hi, offset, column_offset = entries
    values, n, stride = A
    whole = n - n % EIGHT
    for p in range(lo, hi, FOUR):
        last = hi - ONE
        p1, p2, p3 = min(p + ONE, last), min(p + TWO, last), min(p + THREE, last)
        x0 = x[p]
        x1 = x[p1] if p + ONE < hi else 0.0
        x2 = x[p2] if p + TWO < hi else 0.0
        x3 = x[p3] if p + THREE < hi else 0.0
        a0 = (j[p - offset] + column_offset) * stride
        a1 = (j[p1 - offset] + column_offset) * stride
        a2 = (j[p2 - offset] + column_offset) * stride
        a3 = (j[p3 - offset] + column_offset) * stride
        for f in range(ZERO, whole, EIGHT):
            add_four(S, s + f, values, (a0 + f, a1 + f, a2 + f, a3 + f), (x0, x1, x2, x3))
        for f in range(whole, n):
            S[s + f] += (x0 * values[a0 + f] + x1 * values[a1 + f]) + (
                x2 * values[a2 + f] + x3 * values[a3 + f]
            )


@inlined_borrowing
def sum_of(A, first, n):
    """Return the sum of A[first : first + n], eight at a time in pairs."""
    total = 0.0
    lanes = n - n % EIGHT
    for f in range(first, first + lanes, EIGHT):
        total += ((A[f] + A[f + ONE]) + (A[f + TWO] + A[f + THREE])) + (
            (A[f + FOUR] + A[f + FIVE]) + (A[f + SIX] + A[f + SEVEN])
        )
    for f in range(first + lanes, first + n):
        total += A[f]
    return total


# --- the instructions ---------------------------------------------------------


def _lanes(array: Any) -> Any:
    """Return the type of eight numbers of this array."""
    return DOUBLE if array.dtype == types.float64 else SINGLE


def _pointer(context: Any, builder: Any, signature: Any, args: Any, k: int) -> Any:
    """Return the first address of array argument ``k``."""
    return context.make_array(signature.args[k])(context, builder, args[k]).data


def _address(context: Any, builder: Any, signature: Any, args: Any, k: int, index: Any) -> Any:
    """Return where eight numbers of array argument ``k`` lie."""
    data = _pointer(context, builder, signature, args, k)
    return builder.bitcast(builder.gep(data, [index]), _lanes(signature.args[k]).as_pointer())


def _as(builder: Any, value: Any, kind: Any) -> Any:
    """Return the eight numbers in this precision."""
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
    """Return the same number in eight lanes."""
    if kind == SINGLE:
        value = builder.fptrunc(value, ir.FloatType())
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.IntType(32)(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), mask)


def _times(builder: Any, a: Any, b: Any) -> Any:
    return builder.fmul(a, b, flags=("contract",))


def _plus(builder: Any, a: Any, b: Any) -> Any:
    return builder.fadd(a, b, flags=("contract",))


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


@intrinsic
def _add_four(typing_context, S, s, A, a, x):  # pragma: no cover - runs in the compiler
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out = _address(context, builder, signature, args, 0, args[1])
        terms = []
        for i in range(4):
            index = builder.extract_value(args[3], i)
            factors = _load(builder, _address(context, builder, signature, args, 2, index))
            value = _all(builder, builder.extract_value(args[4], i))
            terms.append(_times(builder, value, factors))
        total = _plus(
            builder, _plus(builder, terms[0], terms[1]), _plus(builder, terms[2], terms[3])
        )
        _store(builder, _plus(builder, _load(builder, out), total), out)
        return context.get_dummy_value()

    four = types.UniTuple(INDEX, 4), types.UniTuple(types.float64, 4)
    return types.void(S, INDEX, A, *four), codegen


def _write_step(builder: Any, pointers: Any, x: Any, settings: Any, kind: Any) -> None:
    """Write one step of eight parameters; ``x`` and the settings are the same in all lanes."""
    theta, sums, source = pointers
    alpha, rate, forgetting, floor = settings
    before = _load(builder, theta, kind)
    slope = _plus(
        builder,
        _times(builder, x, _load(builder, source, kind)),
        _times(builder, alpha, before),
    )
    total = _times(builder, forgetting, _load(builder, sums, kind))
    total = builder.select(builder.fcmp_ordered(">", total, floor), total, floor)
    total = _plus(builder, total, _times(builder, slope, slope))
    _store(builder, total, sums)
    least = ir.Constant(kind, [TINY[kind]] * WIDTH)
    total = builder.select(builder.fcmp_ordered(">", total, least), total, least)
    root = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(kind, [kind]),
        f"llvm.sqrt.v{WIDTH}{'f64' if kind == DOUBLE else 'f32'}",
    )
    step = builder.fdiv(_times(builder, rate, slope), builder.call(root, [total]))
    _store(builder, builder.fsub(before, step, flags=("contract",)), theta)


def _write_steps(function: Any, kind: Any) -> None:
    """Write the steps of one view's columns, from pointers to the first of everything."""
    builder = ir.IRBuilder(function.append_basic_block())
    A, G, n, x, j, n_columns, column_offset, *settings = function.args
    settings = [_all(builder, setting, kind) for setting in settings]
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
                pointers = [
                    builder.bitcast(pointer, kind.as_pointer())
                    for pointer in (theta, builder.gep(theta, [n]), builder.gep(G, [f]))
                ]
                _write_step(builder, pointers, value, settings, kind)
    builder.ret_void()


@intrinsic
def _adagrad_steps(typing_context, x, j, entries, A, G, g, step):  # pragma: no cover
    """Call a function of its own: in the middle of a long loop registers run out."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def field(k: int, name: str) -> Any:
            return builder.extract_value(args[k], signature.args[k].fields.index(name))

        x, j, G = (_pointer(context, builder, signature, args, k) for k in (0, 1, 4))
        values = context.make_array(A[0])(context, builder, field(3, "values")).data
        lo, hi, offset = (field(2, name) for name in ("lo", "hi", "offset"))
        given = [
            values,
            builder.gep(G, [args[5]]),
            field(3, "n"),
            builder.gep(x, [lo]),
            builder.gep(j, [builder.sub(lo, offset)]),
            builder.sub(hi, lo),
            field(2, "column_offset"),
            *(field(6, name) for name in ("alpha", "rate", "forgetting", "floor")),
        ]
        kind = _lanes(A[0])
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

    return types.void(x, j, entries, A, G, INDEX, step), codegen


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


@overload(add_four, inline="always")
def _overload_add_four(S, s, A, a, x):
    return lambda S, s, A, a, x: _add_four(S, s, A, a, x)


@overload(adagrad_steps, inline="always")
def _overload_adagrad_steps(x, j, entries, A, G, g, step):
    return lambda x, j, entries, A, G, g, step: _adagrad_steps(x, j, entries, A, G, g, step)
