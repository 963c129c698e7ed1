"""The disagreement of the views (5), as a quadratic form of the weights."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp


class ViewBlocks(NamedTuple):
    """All views side by side."""

    X: Any  # (n, d), dense or sparse
    ptr: np.ndarray  # (V + 1,): view v has the columns ptr[v] .. ptr[v + 1] - 1
    present: np.ndarray  # bool (n, V)
    weight: np.ndarray  # (n,)


def disagreement(blocks: ViewBlocks) -> Any:
    """Return M with ``|M w|² = sum over rows and u < v of (w_u·x_u - w_v·x_v)²``, both present.

    With c views in a row this is c times the sum of squares about their mean, and so a
    sum over all views but the first of ``c (k-1)/k (f_k - mean of the k - 1 before)²``:
    V - 1 blocks of rows instead of one for each of the V (V - 1) / 2 pairs.
    """
    X, ptr, present, weight = blocks
    number = present.sum(axis=1)
    stack, join = (sp.vstack, sp.hstack) if sp.issparse(X) else (np.vstack, np.hstack)
    parts = []
    for v in range(1, len(ptr) - 1):
        k = present[:, : v + 1].sum(axis=1)
        here = np.flatnonzero(present[:, v] & (k > 1))
        k = k[here]
        own = np.sqrt(weight[here] * number[here] * (k - 1) / k)
        x = X[here]
        before, after = x[:, : ptr[v]], x[:, ptr[v + 1] :]
        x = x[:, ptr[v] : ptr[v + 1]]
        parts.append(join([scale_rows(before, -own / (k - 1)), scale_rows(x, own), 0.0 * after]))
    M = stack(parts)
    if not sp.issparse(M):
        return M
    M = sp.csr_array(M)
    M.eliminate_zeros()
    return M


def scale_rows(X: Any, factor: np.ndarray) -> Any:
    """Return X with row i times ``factor[i]``."""
    return sp.diags_array(factor) @ X if sp.issparse(X) else X * factor[:, None]
