"""Eight numbers at a time: the same as on slices, and really eight at a time."""

import numba
import numpy as np
import pytest

from crossview._jit import njit
from crossview.algorithms.optimizers import Step
from crossview.kernels import lanes


def arrays(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=40), rng.normal(size=40), rng.normal(size=40)


@njit
def call_add_four(S, A):
    o = np.uint64
    lanes.add_four(S, o(3), A, (o(0), o(8), o(17), o(30)), (0.5, -2.0, 0.0, 1.5))


@njit
def call_adagrad_steps(A, G, x, j, alpha, forgetting=1.0, floor=0.0):
    o = np.uint64
    # columns 0, 2 and 4 of a view that begins in slot 1; 11 factors, of which 8 are lanes
    entries, table = lanes.Entries(o(3), o(6), o(3), o(1)), lanes.Table(A, o(11), o(22))
    step = Step(1, 0, alpha, 0.1, forgetting, floor)
    lanes.adagrad_steps(x, j, entries, table, G, o(5), step)


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


def columns(dtype, size=1.0):
    """A machine's parameters, slopes, the values 1, 0 and -0.7, and the columns that have them."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 2, 11))
    A[:, 1] = size * size * np.arange(11)  # sums, one of them 0
    x = np.array([9.0, 9.0, 9.0, 1.0, 0.0, -0.7])
    G = size * rng.normal(size=20)
    return A.reshape(-1).astype(dtype), G.astype(dtype), x, np.array([0, 2, 4], np.uint32)


@pytest.mark.parametrize(
    ("dtype", "size"),
    [(np.float64, size) for size in (1e-140, 1e-3, 1.0, 1e3, 1e140)]
    + [(np.float32, size) for size in (1e-15, 1e-3, 1.0, 1e3, 1e15)],
)
@pytest.mark.parametrize(("forgetting", "floor"), [(1.0, 0.0), (0.9, 2.0)])
def test_the_step_is_that_of_a_root_and_a_division(dtype, size, forgetting, floor):
    compiled, plain, before = (columns(dtype, size) for _ in range(3))
    call_adagrad_steps(*compiled, 0.0, forgetting, floor * size * size)
    call_adagrad_steps.py_func(*plain, 0.0, forgetting, floor * size * size)
    np.testing.assert_allclose(compiled[0], plain[0], rtol=16 * np.finfo(dtype).eps, atol=0)
    moved = (compiled[0] != before[0]).reshape(6, 2, 11)
    assert moved[[1, 5], 0, :8].all()  # columns 0 and 4; column 2 has the value 0
    assert not moved[[0, 2, 3, 4]].any()
    assert not moved[:, :, 8:].any()  # those beyond the lanes


def test_columns_may_have_64_bits():
    few, many = columns(np.float32), columns(np.float32)
    call_adagrad_steps(*few, 0.1)
    call_adagrad_steps(*many[:3], many[3].astype(np.uint64), 0.1)
    np.testing.assert_array_equal(few[0], many[0])


def test_sums_in_double_of_numbers_in_single():
    for call in (call_add_four, call_others):
        double, single = arrays(), arrays()
        n = 2 if call is call_add_four else 3
        call(double[0], *(a.astype(np.float32).astype(np.float64) for a in double[1:n]))
        call(single[0], *(a.astype(np.float32) for a in single[1:n]))
        np.testing.assert_array_equal(double[0], single[0])


def test_where_there_was_no_gradient_nothing_moves():
    for call in (call_adagrad_steps, call_adagrad_steps.py_func):
        A, G, x, j = columns(np.float32)
        A.reshape(6, 2, 11)[:, 1] = 0.0
        before = A.copy()
        call(A, 0.0 * G, x, j, 0.0)
        np.testing.assert_array_equal(A, before)


def test_the_compiled_code_works_on_eight_lanes():
    A, G, _ = arrays()
    for call, arguments, lane in (
        (call_add_four, (A, G), "<8 x double>"),
        (call_adagrad_steps, (*columns(np.float32), 0.1), "<8 x float>"),
    ):
        fresh = numba.njit(call.py_func)  # one from the disk has no code to look at
        fresh(*arguments)
        code = "".join(fresh.inspect_llvm().values())
        assert code.count(lane) > 5
