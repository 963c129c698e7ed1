"""Kernel ridge regression against its definition, and the choice of the widths."""

import numpy as np
import pytest

from crossview.algorithms.kernel import ridge as ours
from reference import kernel_ridge as reference

VIEWS, GAMMAS = [[0, 1], [2, 3, 4]], [0.3, 0.05]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 5))
    y = np.column_stack([np.sin(X[:, 0]) + X[:, 2], X[:, 1] * X[:, 3]])
    return X, y - y.mean(axis=0), rng.uniform(0.5, 2.0, 25)


def distances(X, Z):
    return [ours.squared_distances(X[:, view], Z[:, view]) for view in VIEWS]


def moments_of(K, basis, y, h):
    phi = K @ basis
    return phi, ours.Moments.of(phi.T @ (phi * h[:, None]), phi.T @ (y * h[:, None]))


def test_all_rows_as_landmarks_are_the_dual_solution(data):
    X, y, h = data
    K = np.exp(-sum(g * d for g, d in zip(GAMMAS, distances(X, X), strict=True)))
    np.testing.assert_allclose(K, reference.gram(X, X, GAMMAS, VIEWS), atol=1e-14)
    basis = ours.basis(K)
    for penalty in (1e-2, 1.0):
        phi, moments = moments_of(K, basis, y, h)
        beta = basis @ moments.weights(penalty)
        np.testing.assert_allclose(K @ beta, K @ reference.solve(K, y, h, penalty), atol=1e-9)
        np.testing.assert_allclose(phi @ moments.weights(penalty), K @ beta, atol=1e-9)


def test_errors_of_rows_left_out_are_those_of_fits_without_them(data):
    X, y, h = data
    K = reference.gram(X, X, GAMMAS, VIEWS)
    phi, moments = moments_of(K, ours.basis(K), y, h)
    for i, penalty in enumerate(ours.PENALTIES):
        if penalty < 1e-3:  # what is near 0 / 0
            continue
        expected = reference.left_out_errors(K, y, h, penalty)
        (found,) = moments.left_out(phi @ moments.B, y, h, [penalty])
        np.testing.assert_allclose(found, expected, atol=1e-6)
        loss = float(h @ (expected**2).sum(axis=1))
        assert moments.losses(phi @ moments.B, y, h)[i] == pytest.approx(loss, rel=1e-6)


def test_errors_of_folds_are_those_of_fits_without_them(data):
    X, y, h = data
    K, fold = reference.gram(X, X, GAMMAS, VIEWS), np.arange(25) % 4
    basis, left = ours.basis(K), ours.LeftOut(y, h, fold, 4)
    assert [own.fold.tolist() for own in map(left.take, left.folds())] == [
        [f] * len(at) for f, at in enumerate(left.folds())
    ]
    phi = K @ basis
    squares = [phi[at].T @ (phi[at] * h[at, None]) for at in left.folds()]
    targets = [phi[at].T @ (y[at] * h[at, None]) for at in left.folds()]
    moments = ours.Moments.for_folds(np.stack(squares), np.stack(targets))
    losses = np.zeros(len(ours.PENALTIES))
    for at, own in zip(left.folds(), moments, strict=True):
        rest = np.setdiff1d(np.arange(25), at)
        for i, penalty in enumerate(ours.PENALTIES):
            beta = reference.solve(K[np.ix_(rest, rest)], y[rest], h[rest], penalty)
            expected = y[at] - K[np.ix_(at, rest)] @ beta
            (found,) = own.left_out(phi[at] @ own.B, y[at], h[at], [penalty])
            if penalty >= 1e-3:  # what is near 0 / 0
                np.testing.assert_allclose(found, expected, atol=1e-6)
            losses[i] += float(h[at] @ (found**2).sum(axis=1))
    assert ours.error_of(K, slice(None), left) == pytest.approx(losses.min(), rel=1e-6)


def test_widths_are_small_along_noise_and_large_where_the_target_changes_fast():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 5))
    y = (np.sin(2.0 * X[:, 0]) + X[:, 2])[:, None]
    views = [[0], [2], [1, 3, 4]]
    found = ours.choose_widths(
        [ours.squared_distances(X[:, v], X[:150, v]) for v in views],
        slice(0, 150),
        ours.LeftOut(y - y.mean(), np.ones(300)),
    )
    assert found[0] > 2.0 * found[1] > 20.0 * found[2]
