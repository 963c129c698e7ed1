"""The steps of KeCo and Pegasos in all three loops, against the paper's algorithm."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from crossview.algorithms.kernel.explicit import Features, learn_explicit
from crossview.algorithms.kernel.gram import Draws, learn_from_gram
from crossview.algorithms.kernel.quota import unlimited
from crossview.algorithms.kernel.rounds import drawable
from crossview.algorithms.kernel.schedule import draw_rows
from crossview.algorithms.kernel.step import Examples, Settings, co_agreement, init_memory
from crossview.batch import read_only
from kernel_data import KERNELS, WIDTHS, as_labels, as_rows, problem, row_lists
from reference import keco as reference

LAM = [0.05, 0.2, 0.01]  # of each view


def lams(lam):
    return read_only(np.array(lam))


def examples_of(y, present):
    labels, weight = as_labels(y)[:, None], np.ones(len(y))
    return Examples(read_only(labels), read_only(weight), read_only(present))


def drawn(schedule, y, steps, seed=0):
    rng = np.random.RandomState(seed)
    return draw_rows(schedule, np.flatnonzero(y), np.flatnonzero(y == 0), steps, rng)


def run(X, y, draws, settings, name, present):
    """The Gram form, from kernel values by the reference's kernels."""
    kernel = KERNELS[name]
    gram = np.array([[[kernel(a, b) for b in x] for a in x] for x in X])
    memory = init_memory(len(X), 1, len(y))
    draws = read_only(draws)
    examples = examples_of(y, present)
    assert learn_from_gram(gram, Draws(draws, draws), examples, memory, settings, 0) == len(draws)
    return memory


# pairwise, with both values of include_self and supervised for every schedule and kernel
CASES = [
    ("linear", "half-labeled", WIDTHS, False),
    ("rbf", "half-labeled", WIDTHS, True),
    ("poly", "half-labeled", [3, 4], False),
    ("linear", "published", WIDTHS, True),
    ("rbf", "published", [3, 4], False),
    ("poly", "uniform", WIDTHS, True),
    ("rbf", "uniform", WIDTHS, False),
]


@pytest.mark.parametrize(("include_self", "supervised"), [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize(("name", "schedule", "widths", "missing"), CASES)
def test_counts_equal_the_slow_reference(name, schedule, widths, missing, include_self, supervised):
    X, y, _, present = problem(n=40, widths=widths, missing=missing)
    draws = drawn(schedule, y, 200, seed=3)
    settings = Settings(lams(LAM[: len(X)]), 0.0, bool(include_self), bool(supervised))
    memory = run(X, y, draws, settings, name, present)
    alpha, z = reference.learn(
        row_lists(X),
        y,
        draws,
        LAM[: len(X)],
        KERNELS[name],
        include_self=include_self,
        supervised=supervised,
        present=present,
    )
    for v, (counts, signs) in enumerate(zip(alpha, z, strict=True)):
        expected = np.array([counts.get(j, 0) for j in range(40)])
        assert_array_equal(memory.alpha[v, 0], expected)
        assert expected.any()
        assert_array_equal(
            memory.beta[v, 0], [counts.get(j, 0) * signs.get(j, 0) for j in range(40)]
        )


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_the_linear_kernel_equals_the_explicit_form(include_self, container):
    X, y, _, present = problem(missing=True)
    draws = drawn("half-labeled", y, 400)
    settings = Settings(lams(LAM), 0.0, include_self, False)
    expected = run(X, y, draws, settings, "linear", present)
    rows = as_rows(X, present, container)
    memory = init_memory(3, 1, len(y))
    W = np.zeros((sum(WIDTHS), 1))
    stream = unlimited(len(draws), 1)
    examples = examples_of(y, present)
    features = Features(rows, W, np.zeros((3, 1)), (W[:0], np.zeros((0, 1))))
    learn_explicit(features, read_only(draws), examples, memory, settings, stream, 0)
    assert_array_equal(memory.alpha, expected.alpha)
    blank = np.hstack([x * present[:, [v]] for v, x in enumerate(X)])
    for v, (lo, hi) in enumerate(itertools.pairwise(rows.ptr.astype(int))):
        assert_allclose(W[lo:hi, 0], expected.beta[v, 0] @ blank[:, lo:hi], atol=1e-10)


KECO = Settings(lams([0.1, 0.1]), 0.0, include_self=False, supervised=False)
ALL_PRESENT = np.empty((0, 2), dtype=bool)


def test_an_unlabeled_row_keeps_its_label_until_it_is_drawn_again():
    # one labeled row at 1; view 1 of the unlabeled row changes sides between its draws
    X = [np.array([[1.0], [1.0], [1.0]]), np.array([[1.0], [1.0], [-3.0]])]
    y = np.array([1, 0, -1])
    first = run(X, y, np.array([0, 1]), KECO, "linear", ALL_PRESENT)
    assert_array_equal(first.beta[:, 0, 1] >= 0.0, [True, True])
    later = run(X, y, np.array([0, 1, 2, 2, 2, 1]), KECO, "linear", ALL_PRESENT)
    assert later.beta[1, 0, 1] <= 0.0 <= first.beta[1, 0, 1]


def test_the_views_agree_on_the_top_class_of_several():
    rng = np.random.default_rng(0)
    agreed, here = np.empty(4), np.array([True, True, False, True])
    for k in range(50):
        last = rng.normal(size=(4, 4, 1)) if k else np.zeros((4, 4, 1))
        scores = np.where(here[:, None], last[:, :, 0], 0.0)
        for n in (0, 1, 3):
            co_agreement(last, 0, n, here, agreed)
            assert_array_equal(agreed, reference.top_class(scores.tolist(), n))


def test_a_row_without_co_agreement_is_counted_and_has_no_effect():
    X, y, _, present = problem(n=10)
    settings = KECO._replace(lam=lams([0.1] * len(X)))
    memory = run(X, np.zeros(len(y)), np.array([4, 4, 5]), settings, "rbf", present)
    assert_array_equal(memory.alpha[:, 0, 4], 2.0)
    assert not memory.beta.any()


def test_the_schedules_draw_unlabeled_rows_when_the_paper_and_the_code_say():
    labeled, unlabeled = np.arange(10), np.arange(10, 30)
    steps = {
        name: np.flatnonzero(
            draw_rows(name, labeled, unlabeled, 1000, np.random.RandomState(0)) >= 10
        )
        for name in ("half-labeled", "published")
    }
    assert_array_equal(steps["half-labeled"], np.arange(501, 1000, 2))
    assert_array_equal(steps["published"], np.arange(502, 1000, 2))


def test_rows_of_weight_0_are_not_drawn():
    labels, weight = np.array([[1.0], [-1.0], [np.nan], [np.nan]]), np.array([1.0, 0.0, 1.0, 0.0])
    _, _, known, unknown, _ = drawable(labels, weight)
    assert_array_equal(known, [0])
    assert_array_equal(unknown, [2])
