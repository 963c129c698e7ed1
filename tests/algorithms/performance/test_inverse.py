"""The quadratic form H: disagreement of the views, and its inverse."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from crossview.algorithms.performance import inverse
from crossview.algorithms.performance.disagreement import ViewBlocks, disagreement
from crossview.algorithms.performance.inverse import Inverse


def test_each_way_of_solving_for_h_gives_the_same(monkeypatch):
    rng = np.random.default_rng(5)
    M, gamma = rng.normal(size=(30, 20)), rng.normal(size=20)
    expected = np.linalg.solve(np.eye(20) + 0.7 * M.T @ M, gamma)
    wide, wider = M[:9], rng.normal(size=20)
    np.testing.assert_allclose(Inverse(M, 0.7)(gamma), expected)
    H = np.eye(20) + 0.7 * wide.T @ wide
    np.testing.assert_allclose(Inverse(wide, 0.7)(wider), np.linalg.solve(H, wider))
    monkeypatch.setattr(inverse, "LARGEST_FACTOR", 5)
    monkeypatch.setattr(inverse, "CG_TOLERANCE", 1e-12)
    iterative = Inverse(sp.csr_array(M), 0.7)
    assert iterative.iterative
    np.testing.assert_allclose(iterative(gamma), expected)
    iterative = Inverse(sp.csr_array(wide), 0.7)
    assert iterative.iterative
    np.testing.assert_allclose(iterative(wider), np.linalg.solve(H, wider))


def test_disagreement_is_that_of_all_pairs_of_views_present():
    rng = np.random.default_rng(7)
    ptr = np.array([0, 2, 5, 6, 9])
    present = rng.random((12, 4)) < 0.7
    columns = np.searchsorted(ptr, np.arange(9), side="right") - 1
    X, w = rng.normal(size=(12, 9)) * present[:, columns], rng.normal(size=9)
    weight = rng.random(12)
    f = np.array([X[:, a:b] @ w[a:b] for a, b in pairwise(ptr)])
    expected = sum(
        weight[i] * (f[u, i] - f[v, i]) ** 2
        for i in range(12)
        for v in range(4)
        for u in range(v)
        if present[i, u] and present[i, v]
    )
    for form in (np.asarray, sp.csr_array):
        M = disagreement(ViewBlocks(form(X), ptr, present, weight))
        assert np.sum((M @ w) ** 2) == pytest.approx(expected)
