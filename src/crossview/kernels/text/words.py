"""Eight bytes of text at a time."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from crossview._jit import inlined_borrowing
from crossview.kernels.rows import ONE, SEVEN

# a text is followed by so many bytes, whatever they are, so that eight can be read at its end
PADDING = 8
EACH = np.uint64(0x0101010101010101)
TOP_BITS = np.uint64(0x8080808080808080)


def load_word(text, p):
    """The eight bytes from p, the first one in the lowest bits."""
    return np.uint64(int.from_bytes(bytes(text[p : p + np.uint64(8)]), "little"))


@intrinsic
def _load_word(typing_context, text, p):  # pragma: no cover - runs in the compiler
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        address = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(64).as_pointer())
        return builder.load(address, align=1)

    return types.uint64(text, types.uint64), codegen


@overload(load_word, inline="always")
def _overload_load_word(text, p):
    return lambda text, p: _load_word(text, p)


@inlined_borrowing
def equal_bytes(word, byte):
    """The top bit of each byte that equals one; above the first of them, perhaps of others too."""
    difference = word ^ (np.uint64(byte) * EACH)
    return (difference - EACH) & ~difference & TOP_BITS


@inlined_borrowing
def bytes_below(word, byte):
    """The same of each byte below one, which is at most 128."""
    return (word - np.uint64(byte) * EACH) & ~word & TOP_BITS


@inlined_borrowing
def first_mark(marks):
    """The position of the first byte whose top bit is set."""
    lowest = marks & (~marks + ONE)
    return (((lowest >> SEVEN) - ONE) & EACH) * EACH >> np.uint64(56)
