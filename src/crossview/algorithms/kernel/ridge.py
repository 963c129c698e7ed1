"""Kernel ridge regression with a Gaussian kernel on all views, each with a width of its own.

With landmarks z_j, some of the rows, the prediction is

    f(x) = b + sum_j β_j k(x, z_j),    k(x, z) = exp(-sum_v γ_v |x_v - z_v|²),

where b is the mean of y and β minimizes ``sum_i h_i (y_i - f(x_i))² + λ β'Kβ``, K the kernel of the
landmarks.  If all rows are landmarks this is kernel ridge regression (C. Saunders, A. Gammerman,
V. Vovk, ICML 1998), otherwise its Nyström form (C. Williams, M. Seeger, NIPS 2000): a ridge
regression on the features ``φ(x) = W^(-1/2) U'k(x)``, with ``K = U W U'`` and ``k(x)`` the kernel
of x and the landmarks.

γ and λ are those of the lowest squared error of rows that are left out one at a time, which the
residuals e_i and the leverages ``l_i = h_i φ_i'(Φ'HΦ + λ I)^(-1) φ_i`` of one fit tell:
``sum_i h_i (e_i / (1 - l_i))²`` (D. Allen, Technometrics 1974).  Rows that belong together are left
out by folds, each of which has a fit of the sums of the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from crossview._jit import borrowing
from crossview.kernels.rows import ONE

# λ to choose from
PENALTIES = (10.0 ** np.arange(-5.0, 2.5, 0.5)).tolist()
# γ to choose from, by the median squared distance: of all views, and then factors for each
WIDTHS = (0.03, 0.1, 0.3, 1.0, 3.0)
FACTORS = (0.0, 0.1, 1.0 / 3.0, 3.0, 10.0)
# times that each view is tried, and by what part the error has to fall
ROUNDS, ENOUGH = 2, 0.02
# share of the numbers of a column that are beyond each quantile, and how far an outlier is
AT_THE_ENDS, FAR = 0.01, 30.0
# beyond it a square has too few digits to be taken from a sum again
DIGITS = 1e3
# directions of the landmarks that are shorter, by the longest, are rounding
SMALLEST = 1e-7
# squared distances that are shorter, by the longest, are those of equal rows
EQUAL_ROWS = 1e-12
# 1 - l_i of a row that no other one is like
LEAST_REST = 1e-6


def without_outliers(x: np.ndarray, known: np.ndarray) -> np.ndarray | None:
    """Return numbers of which those far from nearly all others are moved near to them.

    A Gaussian kernel sees differences by the spread of a column, so one number that is far off
    would make all others the same.  A number is far if it is `FAR` times the distance of two
    quantiles, which no end of a sample is, beyond them; it is moved to one distance.

    x, known (n,): numbers, and whether each one counts.
    Returns near (n,): None: no number is far, or nearly all are the same.
    """
    counted = x[known]
    if len(counted) < 3:
        return None
    low = float(np.quantile(counted, AT_THE_ENDS, method="higher"))
    high = float(np.quantile(counted, 1.0 - AT_THE_ENDS, method="lower"))
    apart = high - low
    beyond = max(low - float(counted.min()), float(counted.max()) - high)
    if not beyond > FAR * apart > 0.0:
        return None
    return np.clip(x, low - apart, high + apart)


def squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """|a_i - b_j|² of all rows of ``a`` and ``b``."""
    squares = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2.0 * (a @ b.T)
    return np.asarray(np.maximum(squares, 0.0))


@borrowing
def score_rows(z, landmarks, beta, scores):
    """scores_i <- scores_i + sum_j β_j exp(-|z_i - z_j|²), one row like the other.

    z (n, p), landmarks (m, p), beta (m, K), scores (n, K).
    """
    for i in range(np.uint64(len(z))):
        for j in range(np.uint64(len(landmarks))):
            square = 0.0
            for c in range(np.uint64(z.shape[1])):
                square += (z[i, c] - landmarks[j, c]) ** 2
            value = math.exp(-square)
            for k in range(np.uint64(beta.shape[1])):
                scores[i, k] += beta[j, k] * value


class Others(NamedTuple):
    """Other coordinates of a row, one at a time: row i has those from ptr[i] to ptr[i + 1] - 1."""

    ptr: np.ndarray  # uint64 (n + 1,)
    column: np.ndarray  # uint64 (n_others,)
    value: np.ndarray  # float64 (n_others,)


@borrowing
def score_others(z, landmarks, beta, others, squares, scores):
    """scores_e <- scores_e + sum_j β_j exp(-|z_i - z_j|²) where z_i has the coordinate e.

    squares (m,): a buffer.
    """
    for i in range(np.uint64(len(z))):
        for j in range(np.uint64(len(landmarks))):
            squares[j] = 0.0
            for c in range(np.uint64(z.shape[1])):
                squares[j] += (z[i, c] - landmarks[j, c]) ** 2
        for e in range(others.ptr[i], others.ptr[i + ONE]):
            own = others.column[e]
            is_far = abs(z[i, own]) > DIGITS
            for j in range(np.uint64(len(landmarks))):
                square = squares[j] - (z[i, own] - landmarks[j, own]) ** 2
                if is_far:  # the difference has no digits left
                    square = 0.0
                    for c in range(np.uint64(z.shape[1])):
                        square += 0.0 if c == own else (z[i, c] - landmarks[j, c]) ** 2
                kernel = math.exp(-square - (others.value[e] - landmarks[j, own]) ** 2)
                for k in range(np.uint64(beta.shape[1])):
                    scores[e, k] += beta[j, k] * kernel


def basis(K: np.ndarray) -> np.ndarray:
    """U W^(-1/2) of the kernel of the landmarks, (m, r)."""
    w, U = eigh(K)
    used = w > SMALLEST * w[-1]
    return np.asarray(U[:, used] / np.sqrt(w[used]))


class LeftOut(NamedTuple):
    """Targets and weights of rows, and which of them are left out together."""

    y: np.ndarray  # (n, K)
    h: np.ndarray  # (n,)
    fold: np.ndarray | None = None  # (n,): None: each row is left out alone
    n_folds: int = 1

    def take(self, at: np.ndarray) -> LeftOut:
        """Return some of the rows."""
        fold = None if self.fold is None else self.fold[at]
        return LeftOut(self.y[at], self.h[at], fold, self.n_folds)

    def folds(self) -> list[Any]:
        """Return the rows of each fold; all of them, where each is left out alone."""
        if self.fold is None:
            return [slice(None)]
        return [np.flatnonzero(self.fold == f) for f in range(self.n_folds)]


class Moments(NamedTuple):
    """Φ'HΦ as its eigenvectors B and eigenvalues, and B'Φ'HY of K outputs."""

    values: np.ndarray  # (r,)
    B: np.ndarray  # (r, r)
    targets: np.ndarray  # (r, K)
    learned: bool  # whether the rows that are left out are among these

    @classmethod
    def of(cls, squares: np.ndarray, targets: np.ndarray, learned: bool = True) -> Moments:
        """Decompose Φ'HΦ, with Φ'HY."""
        values, B = eigh(squares)
        return cls(np.maximum(values, 0.0), B, B.T @ targets, learned)

    @classmethod
    def for_folds(cls, squares: np.ndarray, targets: np.ndarray) -> list[Moments]:
        """Return what leaves out the rows of each fold: of one fold each row alone.

        squares (n_folds, r, r), targets (n_folds, r, K): Φ'HΦ and Φ'HY of the rows of each.
        """
        if len(squares) == 1:
            return [cls.of(squares[0], targets[0])]
        squares, targets = squares.sum(axis=0) - squares, targets.sum(axis=0) - targets
        return [cls.of(*own, learned=False) for own in zip(squares, targets, strict=True)]

    def left_out(
        self, turned: np.ndarray, y: np.ndarray, h: np.ndarray, penalties: Sequence[float]
    ) -> Iterator[np.ndarray]:
        """Yield the errors y - f(x) of rows as if each was not learned, (n, K), for each penalty.

        turned (n, r): B'φ of some of the rows.
        y (n, K), h (n,): their targets less b, and weights.
        """
        shrunk = 1.0 / np.add.outer(self.values, penalties)
        rest = np.ones((len(y), shrunk.shape[1]))
        if self.learned:
            rest = np.maximum(1.0 - h[:, None] * ((turned * turned) @ shrunk), LEAST_REST)
        for own, left in zip(shrunk.T, rest.T, strict=True):
            yield (y - turned @ (own[:, None] * self.targets)) / left[:, None]

    def losses(self, turned: np.ndarray, y: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Return the sum of the squared errors of rows that are left out, for each penalty."""
        errors = self.left_out(turned, y, h, PENALTIES)
        return np.array([float(h @ (error * error).sum(axis=1)) for error in errors])

    def weights(self, penalty: float) -> np.ndarray:
        """Return the weights of the features, (r, K)."""
        return np.asarray(self.B @ (self.targets / (self.values + penalty)[:, None]))


def error_of(K: np.ndarray, landmarks: slice, data: LeftOut) -> float:
    """Return the lowest sum of squared errors of rows, each left out.

    K (n, m): kernel of the rows and the landmarks, which are rows themselves.
    """
    features = K @ basis(K[landmarks])
    weighted, folds = features * data.h[:, None], data.folds()
    squares = np.stack([features[at].T @ weighted[at] for at in folds])
    targets = np.stack([weighted[at].T @ data.y[at] for at in folds])
    losses = np.zeros(len(PENALTIES))
    for at, moments in zip(folds, Moments.for_folds(squares, targets), strict=True):
        losses += moments.losses(features[at] @ moments.B, data.y[at], data.h[at])
    return float(losses.min())


def choose_widths(distances: Sequence[np.ndarray], landmarks: slice, data: LeftOut) -> np.ndarray:
    """Return γ of each view: first the best that all share, then better ones of single views.

    A view of γ = 0 has no part in the kernel.

    distances (n, m): of each view, between rows and landmarks.
    """
    whole = np.sum(distances, axis=0)
    apart = whole[whole > EQUAL_ROWS * whole.max()]
    unit = 1.0 / float(np.median(apart)) if len(apart) else 1.0

    known: dict[bytes, float] = {}  # all factors of a view without part are the same

    def error(gammas: np.ndarray) -> float:
        if (key := gammas.tobytes()) not in known:
            known[key] = _error(gammas)
        return known[key]

    def _error(gammas: np.ndarray) -> float:
        exponents = sum(gamma * own for gamma, own in zip(gammas, distances, strict=True))
        return error_of(np.exp(-exponents), landmarks, data)

    shared = [np.full(len(distances), unit * width) for width in WIDTHS]
    errors = [error(gammas) for gammas in shared]
    best = int(np.argmin(errors))
    gammas, lowest = shared[best], errors[best]
    for _ in range(ROUNDS if len(distances) > 1 else 0):
        before = lowest
        for v in range(len(distances)):
            for factor in FACTORS:
                tried = gammas.copy()
                tried[v] *= factor
                found = error(tried) if tried.any() else np.inf
                if found < (1.0 - ENOUGH) * lowest:
                    gammas, lowest = tried, found
        if lowest == before:
            break
    return gammas
