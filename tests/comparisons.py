"""Small data with several views, and one value for every parameter that `compare` chooses."""

import functools
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

import crossview
from crossview import MultiView, ViewEncoder, ViewLayout
from crossview.catalog.learners import find_learner
from crossview.comparing.result.answer import fold_difference, make_answer
from crossview.comparing.result.ranking import ComparisonRow
from crossview.comparing.run import Run
from crossview.estimators.network import learner as networks
from crossview.estimators.trees import boosting
from crossview.scoring import neighbors
from crossview.scoring.problems import Classification, Regression

# a budget makes the answer depend on the clock, a learning curve fits further models, and what
# tests compute by hand is about rows as they are
compare = functools.partial(crossview.compare, encoder=ViewEncoder(scale_views=False))
thorough = functools.partial(compare, budget=None, curve=False)
train = functools.partial(crossview.train, encoder=ViewEncoder(scale_views=False))

OF_MACHINES = {"alpha": [1e-4], "learning_rate": [0.1], "bins": []}
OF_MACHINES |= {"max_leaf_nodes": [5], "max_features": []}  # of trees
ONE = OF_MACHINES | {
    "C": [0.1],
    "disagreement": [0.1],
    "r": [1.0],
    "confidence": [0.7],
    "initial_variance": [1.0],
    "lam": [0.001],
    "C1": [0.1],
    "C2": [0.01],
    "average": [],
    "epochs": [],
}


# bags, rates and boosted trees, passes of networks, and trees that look for rows that are alike
SMALL = {
    (boosting, "BAGS"): 1,
    (boosting, "OF_FEW_CLASSES"): (0.1, 30),
    (boosting, "OF_MANY_CLASSES"): (0.2, 10),
    (networks, "MOST_EPOCHS"): 3,
    (networks, "FEWEST_EPOCHS"): 3,
    (networks, "BLIND_EPOCHS"): 3,
    (neighbors, "TREES"): 5,
}
AS_IN_USE = {(module, name): getattr(module, name) for module, name in SMALL}


@contextmanager
def models_have(sizes):
    """Set the sizes of models that say nothing of them."""
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), size in sizes.items():
            patch.setattr(module, name, size)
        yield


def make_views(n=150, seed=0):
    """A view that tells, one that tells a little, and one of noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    sign = (2 * y - 1)[:, None]
    return MultiView(
        {
            "strong": rng.normal(size=(n, 4)) + 1.5 * sign,
            "weak": rng.normal(size=(n, 4)) + 0.3 * sign,
            "noise": rng.normal(size=(n, 4)),
        }
    ), np.where(y == 1, "yes", "no")


def make_noisy(n=300):
    """A label in five is wrong, so that a large C does harm."""
    X, y = make_views(n)
    wrong = np.random.default_rng(1).random(n) < 0.2
    return X.select(["strong", "weak"]), np.where(wrong, np.where(y == "yes", "no", "yes"), y)


def make_frame(n=150, seed=0):
    X, y = make_views(n, seed)
    columns = {f"{v}__{i}": X[v][:, i] for v in X.keys() for i in range(4)}  # noqa: SIM118
    return pd.DataFrame(columns | {"answer": y})


SOME = ["view:weak", "pa:squared", "scw", "svmperf", "mvm", "pegasos", "keco"]


def make_few(n=150):
    """Three rows in five have no label."""
    X, y = make_views(n)
    known = np.random.default_rng(2).random(n) < 0.4
    return X, np.where(known, y.astype(object), None), known


def make_numbers(n=300, seed=0):
    """A target that is mostly a product of a column of each of two views."""
    rng = np.random.default_rng(seed)
    X = MultiView({"user": rng.normal(size=(n, 3)), "item": rng.normal(size=(n, 3))})
    y = 40 + 5 * X["user"][:, 0] * X["item"][:, 1] + 2 * X["user"][:, 1] + rng.normal(size=n)
    return X, y


def make_numbers_frame(n=300):
    X, y = make_numbers(n)
    columns = {f"{v}__{i}": X[v][:, i] for v in X.keys() for i in range(3)}  # noqa: SIM118
    return pd.DataFrame(columns | {"rating": y})


def made_row(model, scores, task="classification", **more):
    """A row with these scores of the folds; the rows held out say the same."""
    entry = None if model.startswith("baseline:") else find_learner(model, task, ["a", "b"])
    spread = float(np.std(scores, ddof=1)) if len(scores) > 1 else np.nan
    means = {"value": float(np.mean(scores)), "std": spread}
    return ComparisonRow(
        **{
            "model": model,
            "title": entry.title if entry else "of another library",
            "rows_per_second": 1e5,
            "effort": entry.effort if entry else 9,
            "baseline": entry is None or entry.baseline,
            "scores": list(scores),
            "inner": list(scores),
            **means,
            **more,
        }
    )


def made_answer(rows, metric="f1", rope=0.01, in_order=False, **known):
    """The answer of rows that nobody computed; a mapping has the scores of each model."""
    task = (
        Regression(metric)
        if metric in ("rmse", "mae")
        else Classification(np.array(["no", "yes"]), metric=metric)
    )
    if isinstance(rows, dict):
        rows = [made_row(model, scores, task.name) for model, scores in rows.items()]
    n = len(rows[0].scores)
    return make_answer(
        Run([], task, 0, None, {}, in_order=in_order),
        ViewLayout(["a", "b"], [1, 1]),
        rows,
        fold_difference(metric, 1 / n),
        rope,
        **{
            "n_rows": 10,
            "n_scored": 9,
            "mode": "cross-validation",
            "test": "some test",
            "folds": n,
            "planned_folds": n,
            "test_share": 1 / n,
            "in_order": in_order,
            **known,
        },
    )


class Odd(BaseEstimator):
    """A model that gives labels alone: 1 where the sum of a row is positive."""

    def fit(self, X, y):
        assert isinstance(X, np.ndarray)
        self.classes_ = np.unique(y)
        assert self.classes_.tolist() == list(range(len(self.classes_)))
        return self

    def predict(self, X):
        return (X.sum(axis=1) > 0).astype(int)


class ByView(Odd):
    """A model that takes its views apart: the sum of one least-squares fit per view."""

    def fit(self, Xs, y):
        self.w_ = [np.linalg.lstsq(X, 2.0 * y - 1.0)[0] for X in Xs]
        return self

    def predict(self, Xs):
        return (sum(X @ w for X, w in zip(Xs, self.w_, strict=True)) > 0).astype(int)


class Perceptron(Odd):
    """A model that learns row by row: w <- w + sample_weight y x where y w.x <= 0."""

    def partial_fit(self, X, y, sample_weight=(1.0,)):
        self.w_ = getattr(self, "w_", np.zeros(X.shape[1]))
        sign = 2.0 * y[0] - 1.0
        self.w_ += (sign * (X[0] @ self.w_) <= 0.0) * sample_weight[0] * sign * X[0]
        return self

    def decision_function(self, X):
        return X @ self.w_


class FailingOnline(Perceptron):
    """A model that fails while it learns a row."""

    def partial_fit(self, X, y):
        raise ValueError("no\nluck")


class NaNOnline(Perceptron):
    """A model that says nothing of some rows."""

    def decision_function(self, X):
        return np.where(X[:, 0] > 1.0, np.nan, X[:, 0])


class Failing(Odd):
    """A model that fails in one of its methods."""

    def __init__(self, at="fit"):
        self.at = at

    def fit(self, X, y):
        if self.at == "fit":
            raise ValueError("no\nluck\n\nand more")
        return super().fit(X, y)

    def predict(self, X):
        if self.at == "predict":
            raise KeyError("lost")
        return super().predict(X)
