"""The equations of a merge: exact where the evidence of each row is Gaussian."""

from itertools import pairwise

import numpy as np
import pytest

from crossview.algorithms import merging
from crossview.algorithms.geometries import changes
from crossview.algorithms.geometries import covariance as forms
from crossview.kernels.moments import merged_moments, total
from reference import merging as reference

PTR = np.array([0, 3, 5])


def grown(S, rows, rho):
    """The covariance after rows of both views, (view, x, rho)."""
    if S.form == forms.LOW_RANK:
        S = forms.with_room(S, rows=S.begin.shape[1] + len(rows), entries=5 * len(rows))
    for v, (lo, hi) in enumerate(pairwise(PTR)):
        x = np.ascontiguousarray(rows[:, lo:hi]).reshape(-1)
        j = np.tile(np.arange(lo, hi), len(rows)).astype(np.uint32)
        indptr = (np.arange(len(rows) + 1) * (hi - lo)).astype(np.uint64)
        kept = (x, j, indptr, rho.copy())
        for array in kept:
            array.flags.writeable = False
        if S.form == forms.FULL:
            changes.grow_full(S, v, 1.0, kept, forms.make_scratch(S))
        elif S.form == forms.LOW_RANK:
            changes.grow_low_rank(S, v, 1.0, kept, forms.make_scratch(S))
        else:
            rho_x = (rho[:, None] * rows[:, lo:hi] ** 2).sum(axis=0)
            S.D[lo:hi] = 1.0 / (1.0 / S.D[lo:hi] + rho_x)
            S.d[v] = 1.0 / (1.0 / S.d[v] + rho.sum())
    return S


@pytest.mark.parametrize("form", [forms.FULL, forms.LOW_RANK, forms.DIAGONAL])
def test_parts_of_gaussian_evidence_merge_to_that_of_all_rows(form):
    """The twin of AROW for least squares: the merge is the posterior of all rows, in two rounds."""
    rng = np.random.default_rng(0)
    S_0 = forms.init_covariance(form, PTR, 0.7)
    W_0, b_0 = rng.normal(size=(5, 2)), rng.normal(size=(2, 2))
    start = (S_0, W_0, b_0)
    for _ in range(2):  # the second round starts from the rows of the first
        models, S_all = [], _copy(start[0])
        evidence = [changes.dense(S_all, v, 1.0) for v in range(2)]
        before = [np.linalg.inv(S) @ _w(start, v) for v, S in enumerate(evidence)]
        after = [one.copy() for one in before]
        for _ in range(3):
            rows, rho, y = rng.normal(size=(4, 5)), rng.uniform(0.1, 2, 4), rng.normal(size=(4, 2))
            S = grown(_copy(start[0]), rows, rho)
            S_all = grown(S_all, rows, rho)
            W, b = np.empty((5, 2)), np.empty((2, 2))
            for v in range(2):
                x = np.column_stack([np.ones(4), rows[:, PTR[v] : PTR[v + 1]]])
                own = x.T @ (rho[:, None] * y)
                after[v] += own
                w = changes.dense(S, v, 1.0) @ (before[v] + own)
                b[v], W[PTR[v] : PTR[v + 1]] = w[0], w[1:]
            models.append((S, W, b))
        S = merging.covariances([one[0] for one in models], start[0], 1.0)
        W, b = merging.product(S, models, start, 1.0)
        for v in range(2):
            expected = changes.dense(S_all, v, 1.0)
            np.testing.assert_allclose(changes.dense(S, v, 1.0), expected, rtol=1e-9)
            np.testing.assert_allclose(_w((S, W, b), v), expected @ after[v], rtol=1e-8)
            of_models = [(changes.dense(one[0], v, 1.0), _w(one, v)) for one in models]
            first = changes.dense(start[0], v, 1.0), _w(start, v)
            S_v, w_v = reference.product(first, of_models)
            np.testing.assert_allclose(S_v, expected, rtol=1e-7, atol=1e-12)
            np.testing.assert_allclose(w_v, expected @ after[v], rtol=1e-6)
        start = (S, W, b)


def _copy(S):
    return S._replace(**{name: np.array(getattr(S, name)) for name in S._fields[2:]})


def _w(model, v):
    """The weights of a view, with the intercept in front."""
    _, W, b = model
    return np.concatenate([b[v : v + 1], W[PTR[v] : PTR[v + 1]]])


def test_rows_that_a_model_has_reduced_to_its_diagonal_count_once():
    rng = np.random.default_rng(1)
    start = grown(
        forms.init_covariance(forms.LOW_RANK, PTR, 1.0), rng.normal(size=(6, 5)), np.ones(6)
    )
    forgot = changes.forget_older_half(start, 1.0, 6)
    rows, rho = rng.normal(size=(2, 5)), np.ones(2)
    S = merging.covariances([grown(_copy(forgot), rows, rho), _copy(start)], start, 1.0)
    assert S.kept.tolist() == [8, 8]  # the six of the start, and the two new ones
    expected = grown(_copy(start), rows, rho)
    for v in range(2):
        np.testing.assert_allclose(changes.dense(S, v, 1.0), changes.dense(expected, v, 1.0))


def test_moments_of_parts_are_those_of_all_rows():
    rng = np.random.default_rng(2)
    first, *others = np.split(rng.normal(3.0, 2.0, size=(80, 3)), 4)

    def moments(x):
        return np.stack(
            [np.full(3, float(len(x))), x.mean(axis=0), ((x - x.mean(axis=0)) ** 2).sum(axis=0)]
        )

    empty = np.zeros((3, 3))
    np.testing.assert_allclose(
        merged_moments([moments(x) for x in (first, *others)], empty),
        moments(np.concatenate([first, *others])),
    )
    with_start = [moments(np.concatenate([first, x])) for x in others]
    np.testing.assert_allclose(
        merged_moments([*with_start, moments(first)], moments(first)),
        moments(np.concatenate([first, *others])),
    )


def test_averages_are_means_over_the_rows_of_all():
    rng = np.random.default_rng(3)
    paths = [rng.normal(size=(n, 2)) for n in (5, 9)]  # the weights after each row
    start = np.zeros(2), np.zeros(2), 0
    models = [(w[-1], len(w) * w[-1] - w.sum(axis=0), len(w)) for w in paths]
    w = rng.normal(size=2)
    u = merging.averaged_weights(w, models, start, 14)
    np.testing.assert_allclose(w - u / 14, np.concatenate(paths).mean(axis=0))
    assert total([np.array([5]), np.array([9])], np.array([2])).tolist() == [12]
