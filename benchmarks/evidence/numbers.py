"""KeCo for numbers with few of them: whether unlabeled rows help."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from benchmarks import data
from benchmarks.harness import Table, benchmark, listed, loaded, mean_and_error, size, span
from crossview import KeCoRegressor, MultiView

SPLITS = size(8, 2)
COUNTS = size((10, 30, 100), (10,))
MOST_ROWS = 600
FOLDS = 3
LAMBDAS = (1e-3, 1e-2, 1e-1)
AGREEMENTS = (0.01, 0.1, 1.0)
ALONE, DEFAULT, HIGH = "kernel ridge per view", "KeCo, μ = 0.01", "KeCo, μ = 1"
CHOSEN, GAIN = "KeCo, μ chosen", "gain of the default"


def shared_part() -> tuple[MultiView, np.ndarray]:
    """Two views of 20 columns: two numbers of which the target is made, and five of their own."""
    rng, n = np.random.default_rng(0), MOST_ROWS
    z = rng.normal(size=(n, 2))
    views = {
        name: z @ rng.normal(size=(2, 20)) + rng.normal(size=(n, 5)) @ rng.normal(size=(5, 20))
        for name in ("a", "b")
    }
    return MultiView(views), z[:, 0] + 0.5 * z[:, 1] + 0.1 * rng.normal(size=n)


def friedman(*, apart: bool = False) -> tuple[MultiView, np.ndarray]:
    """Friedman's function of five numbers, which both views have with noise of their own.

    Apart: each view has other numbers, so that they share nothing.
    """
    rng = np.random.default_rng(0)
    x = rng.random((MOST_ROWS, 5))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    y = y + 10 * x[:, 3] + 5 * x[:, 4] + rng.normal(size=MOST_ROWS)
    if apart:
        return MultiView({"a": x[:, :3], "b": x[:, 3:]}), y
    return MultiView({name: x + 0.1 * rng.normal(size=x.shape) for name in ("a", "b")}), y


def diabetes() -> tuple[MultiView, np.ndarray]:
    """The progression of diabetes by person (age, sex, weight, pressure) and by blood serum."""
    X, y = load_diabetes(return_X_y=True)
    return MultiView({"person": X[:, :4], "serum": X[:, 4:]}), y


def digits() -> tuple[MultiView, np.ndarray]:
    """The first morphological feature of a digit, by its Fourier and Karhunen coefficients."""
    views, _ = data.mfeat()
    rows = np.random.default_rng(0).choice(len(views["mor"]), MOST_ROWS, replace=False)
    return MultiView({name: views[name][rows] for name in ("fou", "kar")}), views["mor"][rows, 0]


SETS: dict[str, Callable[[], tuple]] = {
    "shared": shared_part,
    "friedman": friedman,
    "friedman_apart": partial(friedman, apart=True),
    "diabetes": diabetes,
    "uci_mfeat": digits,
}


def rmse(model: Any, X: Any, y: np.ndarray) -> float:
    return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))


def chosen(model: KeCoRegressor, grid: list[dict], X: MultiView, y: np.ndarray, seed: int) -> Any:
    """The model with the setting that is best on inner folds of the labeled rows."""
    known = np.flatnonzero(~np.isnan(y))
    values = np.zeros(len(grid))
    for _, held_out in KFold(FOLDS, shuffle=True, random_state=seed).split(known):
        labels = y.copy()
        labels[known[held_out]] = np.nan
        for k, setting in enumerate(grid):
            fitted = clone(model).set_params(**setting).fit(X, labels)
            values[k] += rmse(fitted, X[known[held_out]], y[known[held_out]])
    return clone(model).set_params(**grid[int(values.argmin())])


def one_split(X: MultiView, y: np.ndarray, count: int, seed: int) -> dict[str, float]:
    """The RMSE of each method, in percent of the deviation of the rows to test, a quarter."""
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = order[: len(y) // 4], order[len(y) // 4 :]
    scaler = StandardScaler().fit(X[train].matrix)
    seen, unseen = (
        MultiView.from_matrix(scaler.transform(X[part].matrix), X.layout) for part in (train, test)
    )
    some = np.where(np.arange(len(train)) < count, y[train], np.nan)
    settings = [{"kernel": k, "lam": lam} for k in ("rbf", "linear") for lam in LAMBDAS]
    alone = chosen(KeCoRegressor(disagreement=0.0, random_state=0), settings, seen, some, seed)
    agreements = [{"disagreement": mu} for mu in (0.0, *AGREEMENTS)]
    models = {
        ALONE: alone,
        DEFAULT: clone(alone).set_params(disagreement=0.01),
        HIGH: clone(alone).set_params(disagreement=1.0),
        CHOSEN: chosen(alone, agreements, seen, some, seed),
    }
    error = {name: rmse(model.fit(seen, some), unseen, y[test]) for name, model in models.items()}
    ridge = RidgeCV(np.logspace(-2, 3, 6)).fit(seen.matrix[:count], some[:count])
    error["ridge, all columns"] = rmse(ridge, unseen.matrix, y[test])
    return {name: 100 * value / float(y[test].std()) for name, value in error.items()}


def findings(tables: list[Table]) -> list[str]:
    """Say where unlabeled rows help, by more than one standard error of the paired difference."""
    said = {
        "Unlabeled rows lower the error by more than one standard error": [],
        "Unlabeled rows raise the error by more than one standard error": [],
        "They make no more difference than that": [],
    }
    for table in tables:
        for side, counts in zip(said.values(), table.sides(GAIN), strict=True):
            side += [f"{table.title} with {count}" for count in counts]
    errors_of = {
        name: np.array([one for table in tables for one in table.column(name).values()])
        for name in (ALONE, DEFAULT, HIGH, CHOSEN)
    }
    alone = errors_of.pop(ALONE)
    compared = [
        f"{name} {np.mean(alone - own):+.1f} ({span(alone - own, '+.1f')})"
        for name, own in errors_of.items()
    ]
    return [
        f"Gain over {ALONE}, mean and range over the rows of the tables: {listed(compared)}.",
        *(f"{what} on {listed(sets)}." for what, sets in said.items() if sets),
    ]


@benchmark("docs/papers/keco.md", SETS, findings)
def numbers(wanted: list[str]) -> list[Table]:
    """A row per number of labels: RMSE in percent of the deviation, mean ± standard error."""
    tables = []
    for name, (X, y) in loaded(SETS, wanted):
        methods = ("ridge, all columns", ALONE, DEFAULT, HIGH, CHOSEN)
        table = Table(["labels", *methods, GAIN], title=name)
        for count in COUNTS:
            runs = [one_split(X, y, count, seed) for seed in range(SPLITS)]
            values = {m: np.array([run[m] for run in runs]) for m in methods}
            cells = [mean_and_error(v).removeprefix("+") for v in values.values()]
            table.add(count, *cells, mean_and_error(values[ALONE] - values[DEFAULT]))
        tables.append(table)
    return tables
