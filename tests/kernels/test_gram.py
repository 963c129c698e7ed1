"""Kernel values: the same bits however the rows are kept, and whatever else is in the call."""

import numpy as np
import pytest
import scipy.sparse as sp

from crossview.batch import make_rows, take_rows, views_of
from crossview.kernels.gram import LINEAR, POLY, RBF, Kernel, canonical_rows, gram, sqnorms_of
from crossview.views import ViewLayout

LAYOUT = ViewLayout(["a", "b"], [3, 23])
COLUMNS = (3, 26)
KERNELS = {
    "linear": Kernel(LINEAR, 1.0, 0.0, 1.0),
    "rbf": Kernel(RBF, 0.1, 0.0, 1.0),
    "poly": Kernel(POLY, 0.1, 1.0, 2.0),
}


@pytest.fixture(scope="module", name="X")
def rows_of_every_density():
    """Rows of every density, an empty one among them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 26)) * (rng.random((40, 26)) < np.linspace(0.0, 1.0, 40)[:, None])
    X[-5:] = rng.normal(size=(5, 26))
    return X


def view(X):
    return views_of(make_rows(X, LAYOUT))[1]


def values(kernel, a, b):
    return gram(KERNELS[kernel], a, b, COLUMNS, np.full((len(a.begin), len(b.begin)), np.nan))


def by_numpy(kernel, A, B):
    kind, gamma, coef0, degree = KERNELS[kernel]
    if kind == RBF:
        return np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(axis=2))
    return A @ B.T if kind == LINEAR else (gamma * A @ B.T + coef0) ** degree


@pytest.mark.parametrize("kernel", KERNELS)
def test_values_are_those_of_numpy(X, kernel):
    a, b = view(X), view(X[:7])
    expected = by_numpy(kernel, X[:, 3:], X[:7, 3:])
    np.testing.assert_allclose(values(kernel, a, b), expected, atol=1e-12)
    if kernel == "rbf":
        assert (np.diag(values(kernel, a, a)) == 1.0).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_bits_do_not_depend_on_storage_or_call(X, kernel, monkeypatch):
    dense, sparse = view(X), view(sp.csr_array(X))
    expected = values(kernel, dense, dense)  # half of it, mirrored
    monkeypatch.setattr("crossview.kernels.gram.ENTRIES_A_TILE", 1)  # the rest in tiles of 8 rows
    assert np.array_equal(expected, expected.T)
    for a, b in [(dense, sparse), (sparse, dense), (sparse, sparse), (dense, view(X.copy()))]:
        np.testing.assert_array_equal(values(kernel, a, b), expected)
    for i in (0, 17, 39):
        one = take_rows(dense, np.array([i]))
        np.testing.assert_array_equal(values(kernel, one, sparse), expected[i : i + 1])
        np.testing.assert_array_equal(values(kernel, sparse, one), expected[:, i : i + 1])
    np.testing.assert_array_equal(sqnorms_of(dense, COLUMNS), sqnorms_of(sparse, COLUMNS))


def test_rows_have_all_columns_or_none_that_is_0(X):
    for stored in (view(X), view(sp.csr_array(X))):
        rows = canonical_rows(stored, *COLUMNS)
        lengths = (rows.end - rows.begin).astype(int)
        found = np.zeros((len(X), 26))
        for i, (lo, hi) in enumerate(zip(rows.begin, rows.end, strict=True)):
            found[i, rows.indices[int(lo) : int(hi)]] = rows.data[int(lo) : int(hi)]
        np.testing.assert_array_equal(found[:, 3:], X[:, 3:])
        counts = np.count_nonzero(X[:, 3:], axis=1)
        assert lengths.tolist() == np.where(6 * counts >= 23, 23, counts).tolist()
        assert 0 < (lengths == 23).sum() < len(X)
        again = canonical_rows(rows, *COLUMNS)
        assert again is rows
