"""Comparisons of simulated models, of which the true difference is known."""

from __future__ import annotations

import numpy as np
from scipy.signal import lfilter

from crossview.evaluation.metrics import BlockTally, measure
from crossview.evaluation.significance import Posterior, jackknife_posterior

LOWER_IS_BETTER = ("log_loss", "rmse")


def scores_of_folds(
    rng: np.random.Generator, metric: str, n: int, n_models: int, *, repeats: int = 1,
    lead: float = 0.0,
) -> np.ndarray:  # fmt: skip
    """The metric of models per fold: of each model, least squares on its own five columns.

    The columns of all models have the same distribution, so the models are equal; those of model 0
    tell more by the lead.  Each model learns a training part that overlaps the others.
    """
    y = rng.permutation(np.arange(n) % 2)
    sign = 2.0 * y - 1.0
    signal = 0.3 + lead * (np.arange(n_models) == 0)
    X = np.ones((n_models, n, 6))
    X[:, :, :5] = rng.normal(size=(n_models, n, 5)) + 0.35 * rng.normal(size=(n, 1))
    X[:, :, :5] += signal[:, None, None] * sign[:, None]
    scores = []
    for _ in range(repeats):
        fold = rng.permutation(np.arange(n) % 5)
        for f in range(5):
            train, test = X[:, fold != f], X[:, fold == f]
            gram = train.transpose(0, 2, 1) @ train + np.eye(6)
            w = np.linalg.solve(gram, train.transpose(0, 2, 1) @ sign[fold != f, None])
            scores.append([measure(metric, y[fold == f], s) for s in (test @ w)[:, :, 0]])
    return np.array(scores)


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
