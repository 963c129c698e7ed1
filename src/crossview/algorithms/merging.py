"""Models that learned different rows from the same start, as one model.

Symbols: model k of K has the share a_k of all rows, sum_k a_k = 1; θ_0 is what they started from.

- Parameters: the mean θ = sum_k a_k θ_k, one round of iterative parameter mixing (McDonald, Hall
  and Mann 2010, equation in figure 3).
- What adds up over the rows (counts, precisions): h = h_0 + sum_k (h_k - h_0).
- Gaussians N(w_k, S_k): S^-1 = S_0^-1 + sum_k (S_k^-1 - S_0^-1), and either w the mean, or the
  mean of the product of the densities, each divided by the start's:
  w = S (S_0^-1 w_0 + sum_k (S_k^-1 w_k - S_0^-1 w_0)).

Sums are taken in the order of the models, so the same models give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from scipy.linalg import solve_triangular

from crossview.algorithms import calibration
from crossview.algorithms.geometries import changes
from crossview.algorithms.geometries.covariance import (
    FULL,
    LOW_RANK,
    Covariance,
    init_covariance,
    make_scratch,
    no_rows,
    with_room,
)
from crossview.kernels.moments import total

Arrays = Sequence[np.ndarray]


def mean(values: Arrays, shares: Sequence[float]) -> np.ndarray:
    """Return sum_k a_k θ_k."""
    found = shares[0] * values[0]
    for share, value in zip(shares[1:], values[1:], strict=True):
        found += share * value
    return found


def seen_mean(values: Arrays, seen: Arrays, shares: Sequence[float]) -> np.ndarray:
    """Return the mean of each slot over the models that have seen it; elsewhere they are 0."""
    found = mean(values, shares)
    weight = mean([one.astype(found.dtype) for one in seen], shares)
    partly = np.logical_or.reduce(seen) & ~np.logical_and.reduce(seen)
    found[partly] /= weight[partly].reshape(-1, *[1] * (found.ndim - 1))
    return found


def averaged_weights(
    w: np.ndarray, models: Sequence[tuple[np.ndarray, np.ndarray, int]], start: tuple, t: int
) -> np.ndarray:
    """Return u of averaging for merged weights w after t rows.

    A model predicts with w_k - u_k / t_k, the mean of its weights after each row.  So
    t_k w_k - u_k is their sum, and sums add up.
    """
    w_0, u_0, t_0 = start
    sums = total([t_k * w_k - u_k for w_k, u_k, t_k in models], t_0 * w_0 - u_0)
    return t * w - sums


def calibrations(states: Arrays, shares: Sequence[float], start: np.ndarray) -> np.ndarray:
    """Return the mean of calibrations, after the rows of all; the rows of open blocks are left."""
    found = mean([np.where(np.isfinite(state), state, 0.0) for state in states], shares)
    K = (len(found) - 13) // 6
    found[4 + 3 * K :] = 0.0
    found[calibration.N] = total([s[calibration.N :][:1] for s in states], start[calibration.N])[0]
    return found


# --- Gaussians ------------------------------------------------------------------------------------


def same_form(covariances: Sequence[Covariance], bias: float) -> list[Covariance]:
    """Return the covariances in one form: diagonal if one is, else full if one is."""
    forms = [S.form for S in covariances]
    if len(set(forms)) == 1:
        return list(covariances)
    if set(forms) == {FULL, LOW_RANK}:
        return [changes.to_full(S, bias) if S.form == LOW_RANK else S for S in covariances]
    of_both = (FULL, LOW_RANK)
    return [changes.to_diagonal(S, bias) if S.form in of_both else S for S in covariances]


def covariances(
    models: Sequence[Covariance],
    start: Covariance,
    bias: float,
    faded: Sequence[float] | None = None,
) -> Covariance:
    """Return S; all covariances have the same form.

    ``faded`` are the shares of models that forget: what such a model knows of the start is unknown,
    and may be less than the start; S^-1 is then the mean.

    Of a low-rank one, S^-1 = diag(1/D) + sum_p rho_p b_p b_p', the diagonals add up and the new
    rows are joined.  Rows of the start that a model has reduced to its diagonal are compared with
    the start's, reduced likewise.
    """
    S, added = models[0], total
    if faded is not None:

        def added(values: Arrays, start: np.ndarray) -> np.ndarray:
            return mean(values, faded)

    if S.form == FULL:
        return _full(models, start, added)
    if S.form == LOW_RANK:
        return _low_rank(models, start, bias)
    D = 1.0 / added([1.0 / one.D for one in models], 1.0 / start.D)
    d = 1.0 / added([1.0 / one.d for one in models], 1.0 / start.d)
    return S._replace(D=D, d=d)


def product(
    S: Covariance,
    models: Sequence[tuple[Covariance, np.ndarray, np.ndarray]],
    start: tuple[Covariance, np.ndarray, np.ndarray],
    bias: float,
    faded: Sequence[float] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return w = S (S_0^-1 w_0 + sum_k (S_k^-1 w_k - S_0^-1 w_0)) of columns and intercepts.

    If the models forget, it is S times the mean of S_k^-1 w_k.  Each model is (S, W, b); W has one
    column per class, and b one row per covariance.
    """
    each = [_evidence(*one, bias) for one in models]
    evidence = total(each, _evidence(*start, bias)) if faded is None else mean(each, faded)
    W, b = np.empty_like(models[0][1]), np.empty_like(models[0][2])
    for v, (lo, hi) in enumerate(pairwise(S.ptr.tolist())):
        own = evidence[lo + v : hi + v + 1]
        w = changes.dense(S, v, bias) @ own if S.form == FULL else _weights(S, v, own, bias)
        b[v], W[lo:hi] = w[0], w[1:]
    return W, b


def _evidence(S: Covariance, W: np.ndarray, b: np.ndarray, bias: float) -> np.ndarray:
    """Return S^-1 w, view after view, each with its constant feature in front."""
    found = []
    for v, (lo, hi) in enumerate(pairwise(S.ptr.tolist())):
        w = np.concatenate([b[v : v + 1], W[lo:hi]])
        if S.form == FULL:
            found.append(_precision(S, v) @ w)
            continue
        own = w / _diagonal(S, v)[:, None]
        if S.form == LOW_RANK and S.kept[v]:
            B, rho = _rows(S, v, bias)
            own += B.T @ (rho[:, None] * (B @ w))
        found.append(own)
    return np.concatenate(found)


def _weights(S: Covariance, v: int, evidence: np.ndarray, bias: float) -> np.ndarray:
    """Return S times the evidence of a view: (D - D B' (diag(1/rho) + B D B')^-1 B D) z."""
    D = _diagonal(S, v)[:, None]
    w: np.ndarray = D * evidence
    if S.form == LOW_RANK and S.kept[v]:
        B, rho = _rows(S, v, bias)
        gram = (B * D[:, 0]) @ B.T
        gram[np.diag_indices_from(gram)] += 1.0 / rho
        w -= D * (B.T @ np.linalg.solve(gram, B @ w))
    return w


def _diagonal(S: Covariance, v: int) -> np.ndarray:
    """Return D of a view, that of the constant feature first."""
    return np.concatenate([S.d[v : v + 1], S.D[int(S.ptr[v]) : int(S.ptr[v + 1])]])


def _rows(S: Covariance, v: int, bias: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that a low-rank covariance keeps, as a matrix, and their precisions."""
    base, width, k = int(S.ptr[v]), int(S.ptr[v + 1] - S.ptr[v]), int(S.kept[v])
    x, j, indptr, rho = changes.kept_rows(S, v, 0, k)
    B = np.zeros((k, width + 1))
    B[changes.row_numbers(indptr), 1 + j.astype(np.int64) - base] = x
    B[:, 0] = bias
    return B, rho


def _precision(S: Covariance, v: int) -> np.ndarray:
    """Return S^-1 = T'^-1 D^-1 T^-1 of a full covariance."""
    T = _triangle(S, v)
    inverse = solve_triangular(T, np.eye(len(T)), unit_diagonal=True)
    found: np.ndarray = (inverse.T / _diagonal(S, v)) @ inverse
    return found


def _triangle(S: Covariance, v: int) -> np.ndarray:
    """Return T of a full covariance."""
    T = np.eye(int(S.ptr[v + 1] - S.ptr[v]) + 1)
    for c in range(1, len(T)):
        at = int(S.triangle_ptr[v]) + c * (c - 1) // 2
        T[:c, c] = S.T[at : at + c]
    return T


def _full(
    models: Sequence[Covariance],
    start: Covariance,
    added: Callable[[Arrays, np.ndarray], np.ndarray],
) -> Covariance:
    """Return S of full covariances: S^-1 = L D^-1 L' is S = T D T' with T = L'^-1."""
    new = init_covariance(FULL, start.ptr, 1.0)
    for v, (lo, hi) in enumerate(pairwise(start.ptr.tolist())):
        P = added([_precision(S, v) for S in models], _precision(start, v))
        C = np.linalg.cholesky(P)
        root = np.diag(C)
        T = solve_triangular((C / root).T, np.eye(len(C)), unit_diagonal=True)
        new.d[v], new.D[lo:hi] = root[0] ** -2.0, root[1:] ** -2.0
        for c in range(1, len(T)):
            at = int(new.triangle_ptr[v]) + c * (c - 1) // 2
            new.T[at : at + c] = T[:c, c]
    return new


def _low_rank(models: Sequence[Covariance], start: Covariance, bias: float) -> Covariance:
    """Return S of low-rank covariances, with the rows of all."""
    P, p = 1.0 / start.D, 1.0 / start.d
    kept: list[list[tuple]] = []
    for v in range(len(start.d)):
        lo, hi = int(start.ptr[v]), int(start.ptr[v + 1])
        n_start = int(start.kept[v])
        rows = [changes.kept_rows(start, v, 0, n_start)]
        for S in models:
            n_common = _n_common(S, start, v)
            D, d = start.D.copy(), start.d.copy()
            changes.add_to_diagonal(start, v, n_start - n_common, bias, D, d)
            P[lo:hi] += 1.0 / S.D[lo:hi] - 1.0 / D[lo:hi]
            p[v] += 1.0 / S.d[v] - 1.0 / d[v]
            rows.append(changes.kept_rows(S, v, n_common, int(S.kept[v])))
        kept.append(rows)
    most = max(sum(len(rho) for *_, rho in rows) for rows in kept)
    n_entries = sum(len(x) for rows in kept for x, *_ in rows)
    new = start._replace(D=1.0 / P, d=1.0 / p, **no_rows(len(p), 0, len(P)))
    new = with_room(new, rows=most, entries=n_entries)
    for v, rows in enumerate(kept):
        for each in rows:
            changes.grow_low_rank(new, v, bias, each, make_scratch(new))
    return new


def _n_common(S: Covariance, start: Covariance, v: int) -> int:
    """Return how many rows of the start are still the first rows of S: the last of them."""
    x_0, j_0, ptr_0, rho_0 = changes.kept_rows(start, v, 0, int(start.kept[v]))
    x, j, ptr, rho = changes.kept_rows(S, v, 0, int(S.kept[v]))
    for n in range(min(len(rho_0), len(rho)), 0, -1):
        first, end = int(ptr_0[len(rho_0) - n]), int(ptr[n])
        if (
            np.array_equal(rho_0[len(rho_0) - n :], rho[:n])
            and np.array_equal(j_0[first:], j[:end])
            and np.allclose(x_0[first:], x[:end], rtol=1e-9, atol=0.0)  # divided by another D
        ):
            return n
    return 0
