"""H^-1, by a Cholesky factor or by conjugate gradients."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

# rows and columns of the largest matrix that is factorized
LARGEST_FACTOR = 5000
# residual at which conjugate gradients stop, relative to the right-hand side: multipliers of
# large C magnify it (at 1e-6 the gap of 100,000 rows stays above 0.002)
CG_TOLERANCE = 1e-8
# blocks of columns, multiplied in parallel; fixed, so that sums do not depend on the machine
N_BLOCKS = 4


class Inverse:
    """``H^-1 gamma``, for ``H = I + c M'M``.

    By a Cholesky factor of whichever of ``I + c M'M`` and ``I + c M M'`` is smaller; past
    `LARGEST_FACTOR` by conjugate gradients, preconditioned with the diagonal of H (columns
    differ in size more than rows do).  Without M, or for c = 0, H is the identity.
    """

    def __init__(self, M: Any, c: float) -> None:
        self.M, self.c = M, c
        self.iterative = False
        self.factor: Any = None
        if M is None or c == 0.0:
            self.M = None
            return
        n, d = M.shape
        self.by_columns = d <= n
        self.iterative = min(n, d) > LARGEST_FACTOR
        if self.iterative:
            self.preconditioner = 1.0 / (1.0 + c * np.asarray((M * M).sum(axis=0)).ravel())
            # blocks of columns with the same number of entries
            M = sp.csc_array(M)
            ends = np.searchsorted(M.indptr, np.linspace(0, M.nnz, N_BLOCKS + 1)[1:-1])
            self.M = [M[:, a:b] for a, b in pairwise([0, *ends.tolist(), d])]
            return
        product = M.T @ M if self.by_columns else M @ M.T
        product = product.toarray() if sp.issparse(product) else product
        self.factor = cho_factor(np.eye(min(n, d)) + c * product)

    def __call__(self, gamma: np.ndarray, norm: float | None = None) -> np.ndarray:
        """Return ``H^-1 gamma``; ``norm`` is what a residual is relative to, by default |gamma|."""
        M, c = self.M, self.c
        if M is None:
            return gamma
        if self.factor is None:
            return self._iterate(gamma, float(np.linalg.norm(gamma)) if norm is None else norm)
        if self.by_columns:
            return cho_solve(self.factor, gamma, check_finite=False)
        return gamma - c * (M.T @ cho_solve(self.factor, M @ gamma, check_finite=False))

    def _iterate(self, gamma: np.ndarray, norm: float) -> np.ndarray:
        M, c = self.M, self.c
        ends = np.cumsum([block.shape[1] for block in M])[:-1]
        with ThreadPoolExecutor(len(M)) as pool:

            def times_h(z: np.ndarray) -> np.ndarray:
                u = c * sum(pool.map(lambda block, part: block @ part, M, np.split(z, ends)))
                product = np.concatenate(list(pool.map(lambda block: block.T @ u, M)))
                product += z
                return product

            shape = len(gamma), len(gamma)
            H = LinearOperator(shape, matvec=times_h, dtype=np.float64)
            near = LinearOperator(shape, matvec=lambda r: r * self.preconditioner, dtype=np.float64)
            return cg(H, gamma, rtol=0.0, atol=CG_TOLERANCE * norm, M=near)[0]
