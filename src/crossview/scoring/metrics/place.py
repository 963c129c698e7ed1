"""Metrics of the place of the label among the classes of its row, the most probable one first.

Each function takes places, ndarray of int, 0 for the first one, and its ``k``; it returns which of
them count.  The value of the metric is the share of the rows that count.
"""

from __future__ import annotations

import numpy as np


def top_accuracy(places: np.ndarray, k: int) -> np.ndarray:
    """Return which places are among the first k."""
    return places < k


def places_of_labels(codes: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Return how many classes come before that of each row.

    ordered: what orders the classes, (n_samples, n_classes), the highest first; of two classes the
      score of the second one, (n_samples,).  Of equal ones the later class comes first, as in
      `top_k_accuracy_score` of scikit-learn, and of two the first one where the score is 0.

    >>> import numpy as np
    >>> p = np.array([[0.5, 0.3, 0.2], [0.2, 0.4, 0.4]])
    >>> places_of_labels(np.array([0, 1]), p).tolist()
    [0, 1]
    """
    if ordered.ndim == 1:
        return (codes != (ordered > 0.0)).astype(np.intp)
    own = np.take_along_axis(ordered, codes[:, None], axis=1)
    later = np.arange(ordered.shape[1]) > codes[:, None]
    return ((ordered > own) | ((ordered == own) & later)).sum(axis=1)
