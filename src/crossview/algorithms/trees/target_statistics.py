"""Ordered target statistics: a category as the mean target of the rows before.

Prokhorenkova et al., "CatBoost: unbiased boosting with categorical features" (NeurIPS 2018),
equation 5: with the rows in random order σ, row i of category k gets

    x_i = (sum_{σ(j) < σ(i), k_j = k} w_j y_j + a p) / (sum_{σ(j) < σ(i), k_j = k} w_j + a),

which does not know y_i; a new row gets the same of all rows.  p is the mean target of all rows.

The weight a of the prior decides what a rare category may say.  It is that of `WEIGHTS` under
which each x_i predicts its y_i best: by the log loss for classes, where the sum over i is the
marginal likelihood of a Dirichlet prior and so the same in each order, or by the squared error.
"""

import numpy as np

WEIGHTS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0)


def best_weight(
    codes: np.ndarray, targets: np.ndarray, weight: np.ndarray, order: np.ndarray
) -> float:
    """Return the weight a of the prior; the parameters are those of `ordered_statistics`."""
    there, before, prior = _sums_before(codes, targets, weight, order)
    if not len(there):
        return WEIGHTS[0]
    losses = [
        float(weight[there] @ _losses(_shrunk(before, prior, a), targets[there])) for a in WEIGHTS
    ]
    return WEIGHTS[int(np.argmin(losses))]


def ordered_statistics(
    codes: np.ndarray, targets: np.ndarray, weight: np.ndarray, order: np.ndarray, a: float
) -> np.ndarray:
    """Return x of each row that is learned, and the weights of the rows that it is the mean of.

    ``codes`` are the categories from 0, and -1 where it is missing, which has the mean of all rows.
    ``targets`` (n_rows, n_targets) are numbers, or 0 and 1 for each class, of two classes for the
    second alone. ``order`` is the position of each row in the random order, the same for rows of
    one group, none of which tells of another; a is the weight of the prior. The result has the
    shape (n_rows, n_targets + 1), and the weights are its last column.
    """
    there, before, prior = _sums_before(codes, targets, weight, order)
    found = np.tile(np.append(prior, 0.0), (len(codes), 1))
    found[there] = np.column_stack([_shrunk(before, prior, a), before[:, -1]])
    return found


def category_statistics(
    codes: np.ndarray, n: int, targets: np.ndarray, weight: np.ndarray, a: float
) -> np.ndarray:
    """Return the same of new rows for each of n categories, (n, n_targets + 1)."""
    sums = np.zeros((n, targets.shape[1] + 1))
    there = codes >= 0
    np.add.at(sums, codes[there], _with_weights(targets, weight)[there])
    prior = weight @ targets / weight.sum()
    return np.column_stack([_shrunk(sums, prior, a), sums[:, -1]])


def _with_weights(targets: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the weighted targets and, in the last column, the weights."""
    return weight[:, None] * np.column_stack([targets, np.ones(len(targets))])


def _sums_before(
    codes: np.ndarray, targets: np.ndarray, weight: np.ndarray, order: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows with a category, the sums over those before each of them, and the prior."""
    there = np.flatnonzero(codes >= 0)
    there = there[np.lexsort((order[there], codes[there]))]
    sums = _with_weights(targets, weight)[there]
    before = np.cumsum(sums, axis=0) - sums
    codes, order = codes[there], order[there]
    first = np.searchsorted(codes, codes)  # the first row of the same category
    begins = np.append(True, (np.diff(codes) != 0) | (np.diff(order) != 0))[: len(there)]
    group = np.flatnonzero(begins)[np.cumsum(begins) - 1]  # the first row of its group in it
    return there, before[group] - before[first], weight @ targets / weight.sum()


def _shrunk(sums: np.ndarray, prior: np.ndarray, a: float) -> np.ndarray:
    """Return the means from sums of targets and, in the last column, of weights."""
    return (sums[:, :-1] + a * prior) / (sums[:, -1:] + a)


def _losses(x: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the loss of each row: log loss of classes, or squared error."""
    if ((targets != 0.0) & (targets != 1.0)).any():
        return ((x - targets) ** 2).sum(axis=1)
    p = (x * targets).sum(axis=1)
    if x.shape[1] == 1:  # of two classes
        p += ((1.0 - x) * (1.0 - targets))[:, 0]
    return -np.log(np.maximum(p, np.finfo(float).tiny))
