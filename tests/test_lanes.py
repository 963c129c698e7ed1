"""Eight numbers at a time: the same as on slices, and really eight at a time."""

import numba
import numpy as np
import pytest

from crossview._jit import njit
from crossview.kernels import lanes


def arrays(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=40), rng.normal(size=40), rng.normal(size=40)


@njit
def call_add_four(S, A):
    o = np.uint64
    lanes.add_four(S, o(3), A, o(0), o(8), o(17), o(30), 0.5, -2.0, 0.0, 1.5)


@njit
def call_adagrad_step(A, G, alpha):
    lanes.adagrad_step(A, np.uint64(1), np.uint64(20), G, np.uint64(5), 0.7, alpha, 0.1)


@njit
def call_others(S, A, B):
    o = np.uint64
    lanes.fill(S, o(0), 2.5)
    lanes.copy(S, o(8), A, o(3))
    lanes.multiply(S, o(16), A, o(1), B, o(2))
    lanes.add_product(S, o(24), A, o(1), B, o(2))


def test_sums_and_products_are_those_of_slices():
    for call in (call_add_four, call_others):
        compiled, plain = arrays(), arrays()
        n = 2 if call is call_add_four else 3
        call(*compiled[:n])
        call.py_func(*plain[:n])
        for a, b in zip(compiled, plain, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-14)
        assert not np.array_equal(compiled[0], arrays()[0])


@pytest.mark.parametrize("size", [1e-140, 1e-30, 1e-3, 1.0, 1e3, 1e30, 1e140])
def test_the_step_is_that_of_a_root_and_a_division(size):
    (compiled, G, _), (plain, _, _) = arrays(), arrays()
    for A in (compiled, plain):
        A[20:28] = size * size * np.arange(8)  # sums, one of them 0
    G *= size
    call_adagrad_step(compiled, G, 0.0)
    call_adagrad_step.py_func(plain, G, 0.0)
    np.testing.assert_allclose(compiled, plain, rtol=1e-11, atol=0)
    assert not np.array_equal(compiled[1:9], arrays()[0][1:9])


def test_where_there_was_no_gradient_nothing_moves():
    for call in (call_adagrad_step, call_adagrad_step.py_func):
        A, G = np.arange(40.0), np.zeros(40)
        A[20:28] = 0.0
        before = A.copy()
        call(A, G, 0.0)
        np.testing.assert_array_equal(A, before)


def test_the_compiled_code_works_on_eight_lanes():
    A, G, _ = arrays()
    for call, arguments in ((call_add_four, (A, G)), (call_adagrad_step, (A, G, 0.1))):
        fresh = numba.njit(call.py_func)  # one from the disk has no code to look at
        fresh(*arguments)
        code = "".join(fresh.inspect_llvm().values())
        assert code.count("<8 x double>") > 5
