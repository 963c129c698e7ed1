"""Comparisons of simulated models, of which the true difference is known."""

from __future__ import annotations

import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtr

from crossview.scoring.metrics import BlockTally, measure
from crossview.scoring.significance import Posterior, jackknife_posterior

# of the noise that all columns of all models have in common
COMMON = 0.35
LOWER_IS_BETTER = ("log_loss", "rmse")


def scores_of_folds(
    rng: np.random.Generator, metric: str, n: int, n_models: int, *, repeats: int = 1,
    lead: float = 0.0,
) -> np.ndarray:  # fmt: skip
    """The metric of models per fold: of each model, least squares on its own five columns.

    The columns of all models have the same distribution, so the models are equal; those of model 0
    tell more by the lead.  Each model learns a training part that overlaps the others.
    """
    X, y = _rows_of_models(rng, n, 0.3 + lead * (np.arange(n_models) == 0))
    scores = []
    for _ in range(repeats):
        fold = rng.permutation(np.arange(n) % 5)
        for f in range(5):
            s, _ = _least_squares(X, y, fold != f, fold == f)
            scores.append([measure(metric, y[fold == f], one) for one in s])
    return np.array(scores)


def folds_to_follow(
    rng: np.random.Generator, metric: str, n: int, signals: np.ndarray, *, repeats: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The metric per fold and model: on held-out inner rows, on the test rows, and its true value.

    The models are those of `scores_of_folds`, with these signals; the metric is accuracy, roc_auc
    or f1.  As in `compare`, folds are stratified, and the inner rows are those of three folds in
    the training part.  The true value is that in the distribution of the rows, which is known.
    """
    X, y = _rows_of_models(rng, n, signals)
    inner, scores, truth = [], [], []
    for _ in range(repeats):
        fold = _stratified(rng, y, np.arange(n), 5)
        for f in range(5):
            s, w = _least_squares(X, y, fold != f, fold == f)
            scores.append([measure(metric, y[fold == f], one) for one in s])
            truth.append(_true_value(metric, w, signals))
            part = _stratified(rng, y, np.flatnonzero(fold != f), 3)
            held_out = np.empty((len(signals), n))
            for k in range(3):
                train = (part >= 0) & (part != k)
                held_out[:, part == k], _ = _least_squares(X, y, train, part == k)
            known = part >= 0
            inner.append([measure(metric, y[known], one) for one in held_out[:, known]])
    return np.array(inner), np.array(scores), np.array(truth)


def _stratified(rng: np.random.Generator, y: np.ndarray, rows: np.ndarray, k: int) -> np.ndarray:
    """The fold of each of these rows, with each class in proportion; -1 for the others."""
    fold = np.full(len(y), -1)
    for label in (0, 1):
        here = rows[y[rows] == label]
        fold[here] = rng.permutation(np.arange(len(here)) % k)
    return fold


def _rows_of_models(
    rng: np.random.Generator, n: int, signals: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of shape (models, n, 6), with a last column of ones, and their classes."""
    y = rng.permutation(np.arange(n) % 2)
    X = np.ones((len(signals), n, 6))
    X[:, :, :5] = rng.normal(size=(len(signals), n, 5)) + COMMON * rng.normal(size=(n, 1))
    X[:, :, :5] += signals[:, None, None] * (2.0 * y - 1.0)[:, None]
    return X, y


def _least_squares(
    X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The scores of the test rows by each model, and the weights."""
    learned = X[:, train]
    gram = learned.transpose(0, 2, 1) @ learned + np.eye(6)
    w = np.linalg.solve(gram, learned.transpose(0, 2, 1) @ (2.0 * y[train, None] - 1.0))
    return (X[:, test] @ w)[:, :, 0], w[:, :, 0]


def _true_value(metric: str, w: np.ndarray, signals: np.ndarray) -> np.ndarray:
    """The metric of each model's weights in the distribution of the rows."""
    total, intercept = w[:, :5].sum(axis=1), w[:, 5]
    spread = np.sqrt((w[:, :5] ** 2).sum(axis=1) + (COMMON * total) ** 2)
    lead = signals * total
    if metric == "roc_auc":
        return ndtr(np.sqrt(2.0) * lead / spread)
    found, false = ndtr((intercept + lead) / spread), ndtr((intercept - lead) / spread)
    return {"accuracy": (1.0 + found - false) / 2.0, "f1": 2.0 * found / (1.0 + found + false)}[
        metric
    ]


def stream(
    rng: np.random.Generator, metric: str, n: int, n_models: int, *, drift: float = 0.0,
    lead: float = 0.0,
) -> list[tuple]:  # fmt: skip
    """What BlockTally takes of each model: equal ones, but for the lead of model 0.

    Drift: the correlation of a model's error with that of the row before.
    """
    if metric == "rmse":
        y = rng.normal(size=n)
        common = 0.5 * rng.normal(size=n)
        return [
            (y, y + common + (0.7 - lead * (m == 0)) * _noise(rng, n, drift))
            for m in range(n_models)
        ]
    y = (rng.random(n) < 0.3).astype(int)
    common = rng.normal(size=n) + 1.5 * y - 1.0
    found = []
    for m in range(n_models):
        scores = common + (0.7 - lead * (m == 0)) * _noise(rng, n, drift)
        p = 1.0 / (1.0 + np.exp(-scores))
        found.append((y, scores, np.column_stack([1.0 - p, p]), (scores > 0.0).astype(int)))
    return found


def _noise(rng: np.random.Generator, n: int, drift: float) -> np.ndarray:
    return lfilter([np.sqrt(1.0 - drift**2)], [1.0, -drift], rng.normal(size=n))


def differences(metric: str, models: list[tuple]) -> list[list[Posterior]]:
    """The posterior of each model's difference from each other one; above 0 is better."""
    sign = -1.0 if metric in LOWER_IS_BETTER else 1.0
    values = []
    for model in models:
        how = {} if metric == "rmse" else {"n_classes": 2, "typical_scores": model[1][:100]}
        tally = BlockTally(metric, **how)
        tally.update(*model)
        whole, without, rows = tally.values()
        values.append((sign * whole, sign * without, rows))
    return [
        [jackknife_posterior(a[0] - b[0], a[0] - b[0], a[1] - b[1], a[2]) for b in values]
        for a in values
    ]
