"""The quadratic form H: disagreement of the views, and its inverse in each form."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from crossview.algorithms.performance import inverse
from crossview.algorithms.performance.disagreement import (
    ROWS_AT_ONCE,
    Disagreement,
    ViewBlocks,
    weighted_gram,
)
from crossview.algorithms.performance.inverse import Inverse, row_gram

PTR = np.array([0, 2, 5, 6, 9])


def some_views(form, n=12):
    """Four views, some of them missing, and rows without any."""
    rng = np.random.default_rng(7)
    present = rng.random((n, 4)) < 0.7
    present[0] = False
    columns = np.searchsorted(PTR, np.arange(9), side="right") - 1
    X, weight = rng.normal(size=(n, 9)) * present[:, columns], rng.uniform(0.5, 2, n)
    return ViewBlocks(form(X), PTR, present, weight)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_disagreement_is_that_of_all_pairs_of_views_present(form):
    X, ptr, present, weight = blocks = some_views(form)
    w = np.random.default_rng(8).normal(size=9)
    f = np.array([X[:, a:b] @ w[a:b] for a, b in pairwise(ptr)])
    expected = sum(
        weight[i] * (f[u, i] - f[v, i]) ** 2
        for i in range(12)
        for v in range(4)
        for u in range(v)
        if present[i, u] and present[i, v]
    )
    D = Disagreement(blocks)
    assert w @ D.times(w) == pytest.approx(expected)
    assert w @ D.matrix() @ w == pytest.approx(expected)
    np.testing.assert_allclose(D.diagonal(), np.diag(D.matrix()))
    some = np.array([7, 1, 3])
    np.testing.assert_allclose(D.matrix(some), D.matrix()[np.ix_(some, some)])


@pytest.mark.parametrize("n", [0, ROWS_AT_ONCE, 2 * ROWS_AT_ONCE + 1])
def test_a_weighted_gram_is_the_sum_over_all_rows(n):
    rng = np.random.default_rng(9)
    X, factor = rng.normal(size=(n, 3)), rng.uniform(size=n)
    np.testing.assert_allclose(weighted_gram(X, factor), np.einsum("ij,i,ik->jk", X, factor, X))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_each_form_of_the_inverse_gives_the_same(monkeypatch, form):
    blocks = some_views(form)
    H = np.eye(9) + 0.7 * Disagreement(blocks).matrix()
    gamma = np.random.default_rng(5).normal(size=9)
    expected = np.linalg.solve(H, gamma)
    np.testing.assert_allclose(Inverse(Disagreement(blocks), 0.7, iterative=False)(gamma), expected)
    monkeypatch.setattr(inverse, "HEAVY_COLUMNS", 4)
    monkeypatch.setattr(inverse, "CG_TOLERANCE", 1e-12)
    np.testing.assert_allclose(Inverse(Disagreement(blocks), 0.7, iterative=True)(gamma), expected)
    X = blocks.X.toarray() if sp.issparse(blocks.X) else blocks.X
    np.testing.assert_allclose(row_gram(blocks, 0.7), X @ np.linalg.solve(H, X.T), atol=1e-12)
    np.testing.assert_allclose(row_gram(blocks, 0.0), X @ X.T)
