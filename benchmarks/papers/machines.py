"""Multi-view machines (Cao, Zhou, Li and Yu 2016), whose paper has no experiments."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegressionCV, Ridge
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks import data as shared_data
from benchmarks.papers.experiment import Claim, Experiment, Results, in_parallel
from crossview import (
    FactorizationMachineClassifier,
    FactorizationMachineRegressor,
    MultiView,
    MultiViewMachineClassifier,
    MultiViewMachineRegressor,
    SupportTensorMachineClassifier,
    ViewEncoder,
    datasets,
)

SPLITS = 5
SOURCE = (
    'Cao, Zhou, Li and Yu, "Multi-view Machines" (2016). [Equations](multi-view-machines.md). '
    "The text of the paper that we have prints no table."
)


class Way(NamedTuple):
    """A model, and the strengths of regularization that are tried."""

    model: Any
    alphas: tuple[float, ...]
    rates: tuple[float, ...] = (0.05, 0.1)


MVM, FM = MultiViewMachineRegressor, FactorizationMachineRegressor
ALPHAS, STRENGTHS = (0.03, 0.05, 0.1), (0.003, 0.01, 0.03, 0.1)
WAYS: dict[str, dict[str, Way]] = {
    "linear": {"tuned": Way(MVM(), ALPHAS)},  # of one view, the concatenation
    "FM, all pairs": {"tuned": Way(FM(), ALPHAS)},
    "FM, pairs across views": {"tuned": Way(FM(cross_view_only=True), ALPHAS)},
    "MVM": {
        "as printed": Way(MVM(init="published"), ALPHAS),
        "corrected": Way(MVM(), (0.05,), (0.1,)),
        "tuned": Way(MVM(), ALPHAS),
    },
    "baseline: ridge regression": {"tuned": Way(Ridge(), (1.0, 3.0, 10.0, 30.0), (0.0,))},
}


def fitted(way: Way, X: Any, y: np.ndarray, seed: int) -> Any:
    """Fit on all rows, with the setting and the passes that were best on a held-out tenth."""
    if isinstance(way.model, LogisticRegressionCV):  # chooses by itself
        return clone(way.model).fit(X, y)
    if isinstance(way.model, Ridge):
        held, rest = np.arange(len(y) // 10), np.arange(len(y) // 10, len(y))
        losses = {}
        for alpha in way.alphas:
            model = clone(way.model).set_params(alpha=alpha).fit(X[rest], y[rest])
            losses[alpha] = np.mean((model.predict(X[held]) - y[held]) ** 2)
        return clone(way.model).set_params(alpha=min(losses, key=losses.get)).fit(X, y)
    tried = []
    for alpha in way.alphas:
        for rate in way.rates:
            model = clone(way.model).set_params(alpha=alpha, random_state=seed, early_stopping=True)
            if rate:
                model.set_params(learning_rate=rate)
            tried.append(model.fit(X, y))
    best = min(tried, key=lambda model: model.validation_loss_.min())
    passes = max(1, best.n_iter_)
    return clone(best).set_params(n_epochs=passes, early_stopping=False).fit(X, y)


def one_split(name: str, form: str, X: MultiView, y: np.ndarray, seed: int) -> float:
    """Return the error on a tenth of the rows."""
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = order[: len(y) // 10], order[len(y) // 10 :]
    way = WAYS[name][form]
    own = X.matrix if name in ("linear", "baseline: ridge regression") else X
    predicted = fitted(way, own[train], y[train], seed).predict(own[test])
    return float(np.sqrt(np.mean((predicted - y[test]) ** 2)))


def run(data: tuple[MultiView, np.ndarray]) -> Results:
    """Five random splits."""
    ways = [(name, form) for name, forms in WAYS.items() for form in forms]
    jobs = [(*way, *data, seed) for way in ways for seed in range(SPLITS)]
    found = iter(in_parallel(one_split, jobs))
    results: Results = {}
    for name, form in ways:
        values = [next(found) for _ in range(SPLITS)]
        results.setdefault(name, {})[form] = {"RMSE": values}
    return results


def ratings(views: list[str]) -> tuple[MultiView, np.ndarray]:
    """Return MovieLens-100k with some of its views."""
    X, y, _, _ = shared_data.movielens()
    return X.select(views), y


# --- clicks and dense views ---------------------------------------------------------------

CLASSIFIERS: dict[str, dict[str, Way]] = {
    "linear": {"tuned": Way(MultiViewMachineClassifier(), STRENGTHS)},
    "FM, all pairs": {"tuned": Way(FactorizationMachineClassifier(n_factors=8), STRENGTHS)},
    "FM, pairs across views": {
        "tuned": Way(FactorizationMachineClassifier(n_factors=8, cross_view_only=True), STRENGTHS)
    },
    "MVM": {
        "as printed": Way(MultiViewMachineClassifier(n_factors=8, init="published"), STRENGTHS),
        "corrected": Way(MultiViewMachineClassifier(n_factors=8), (0.01,), (0.1,)),
        "tuned": Way(MultiViewMachineClassifier(n_factors=8), STRENGTHS),
    },
    "STM": {
        "tuned": Way(SupportTensorMachineClassifier(loss="logistic"), (1e-4, 1e-3, 1e-2), (0.0,))
    },
    "baseline: logistic regression": {
        "tuned": Way(LogisticRegressionCV(Cs=5, cv=3, max_iter=500, scoring="roc_auc"), ())
    },
}


def scored(name: str, form: str, X: MultiView, y: np.ndarray, seed: int) -> dict[str, float]:
    """Return log loss and ROC area on a fifth of the rows."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=seed)
    way = CLASSIFIERS[name][form]
    own = X.matrix if name in ("linear", "baseline: logistic regression") else X
    model = fitted(way, own[train], y[train], seed)
    p = model.predict_proba(own[test])[:, 1]
    return {"log loss": log_loss(y[test], p), "ROC area": roc_auc_score(y[test], p)}


def run_classifiers(data: tuple[MultiView, np.ndarray]) -> Results:
    """Five random splits."""
    ways = [(name, form) for name, forms in CLASSIFIERS.items() for form in forms]
    found = iter(
        in_parallel(scored, [(*way, *data, seed) for way in ways for seed in range(SPLITS)])
    )
    results: Results = {}
    for name, form in ways:
        splits = [next(found) for _ in range(SPLITS)]
        results.setdefault(name, {})[form] = {
            measure: [float(one[measure]) for one in splits] for measure in splits[0]
        }
    return results


def encoded(name: str) -> tuple[MultiView, np.ndarray]:
    """Return a table of this package's datasets, standardized and hashed."""
    if name == "breast-cancer":
        table = datasets.load(name)
        y = table["diagnosis"].to_numpy() == "malignant"
        return ViewEncoder().fit_transform(table.drop_columns(["diagnosis"])), y
    shared_data.folder(name)
    if name == "ipinyou_sample":
        X, y = shared_data.ipinyou()
        return X, y
    found = shared_data.fetch(name)
    return ViewEncoder(hash_bits=14).fit_transform(found.data), found.target == 1


CLICKS = Experiment(
    name="machines-classes",
    title="Multi-view machines that classify",
    source=SOURCE,
    protocol="""\
Five random splits 80/20, k = 8 factors, AdaGrad; the support tensor machine (STM) has rank one and
the highest order only. A tenth of the training rows chooses alpha, the learning rate and the
number of passes; then all training rows are learned. As printed: all factors begin with N(0, σ²).
Corrected: bias rows begin with random signs, alpha is 0.01 and the rate 0.1.""",
    sets={
        name: partial(encoded, name)
        for name in ("criteo_sample", "ipinyou_sample", "breast-cancer")
    },
    run=run_classifiers,
    higher={"log loss": False, "ROC area": True},
    claims=tuple(
        Claim("MVM", than, "log loss")
        for than in ("linear", "FM, all pairs", "STM", "baseline: logistic regression")
    ),
    test_share=0.2,
    digits=4,
)

EXPERIMENT = Experiment(
    name="machines",
    title="Multi-view machines",
    source=SOURCE,
    protocol="""\
MovieLens-100k, ratings of 1 to 5; five random splits 90/10, k = 16 factors, AdaGrad. A tenth of
the training rows chooses alpha, the learning rate and the number of passes; then all training
rows are learned. As printed: all factors begin with N(0, σ²). Corrected: bias rows begin with
random signs and alpha and rate are 0.05 and 0.1. "linear" is the sum over all columns.""",
    sets={
        "user, item": lambda: ratings(["user", "item"]),
        "user, item, week": lambda: ratings(["user", "item", "week"]),
    },
    run=run,
    higher={"RMSE": False},
    claims=(
        Claim("MVM", "linear", "RMSE"),
        Claim("MVM", "FM, all pairs", "RMSE"),
        Claim("MVM", "FM, pairs across views", "RMSE"),
        Claim("MVM", "baseline: ridge regression", "RMSE"),
    ),
    test_share=0.1,
    digits=4,
)
