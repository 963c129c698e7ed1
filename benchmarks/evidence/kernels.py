"""Kernel ridge regression on all views beside trees, linear models and one kernel per view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2
from sklearn.metrics import log_loss

import crossview
from benchmarks import data
from benchmarks.harness import Table, benchmark, listed, loaded, size
from crossview import MultiView

DRAWS, LEARN, SCORE = size(3, 1), size(1000, 150), size(3000, 150)
OURS = "kernel ridge"
CLASSES: dict[str, Callable[[int], Any]] = {
    OURS: lambda seed: crossview.MultiViewKernelRidgeClassifier(random_state=seed),
    "boosted trees": lambda seed: crossview.MultiViewTreesClassifier(random_state=seed),
    "logistic regression": lambda seed: crossview.MultiViewLogisticRegression(C=0.1),
    "Pegasos": lambda seed: crossview.PegasosClassifier(random_state=seed),
}
NUMBERS: dict[str, Callable[[int], Any]] = {
    OURS: lambda seed: crossview.MultiViewKernelRidgeRegressor(random_state=seed),
    "boosted trees": lambda seed: crossview.MultiViewTreesRegressor(random_state=seed),
    "ridge": lambda seed: crossview.MultiViewRidge(),
    "KeCo": lambda seed: crossview.KeCoRegressor(disagreement=0.0, lam=1e-4, random_state=seed),
}


def halved(X: np.ndarray, y: np.ndarray, first: int) -> data.Rows:
    """Two views, of the first columns and of the others."""
    return data.Rows(MultiView({"a": X[:, :first], "b": X[:, first:]}), y)


SETS = data.tables(
    *("svmguide1", "ionosphere", "bupa", "breast-cancer", "spambase"),
    *("digits", "uci_mfeat", "wikipedia", "msrc_v5", "100leaves"),
) | {
    "friedman1": lambda: halved(*make_friedman1(4000, noise=1.0, random_state=0), 5),
    "friedman2": lambda: halved(*make_friedman2(4000, noise=50.0, random_state=0), 2),
    "diabetes": lambda: halved(*load_diabetes(return_X_y=True), 4),
}


def findings(tables: list[Table]) -> list[str]:
    """Name the sets on which it is the best of the four."""
    found = []
    for table in tables:
        ours = table.column(OURS)
        others = [table.column(name) for name in table.header[1:] if name != OURS]
        best = [name for name in ours if all(ours[name] < other[name] for other in others)]
        names = listed(best) if best else "no set"
        found.append(f"{table.title}: the lowest is that of kernel ridge on {names}.")
    return found


def losses_on_other_rows(
    sets: dict[str, Any],
    wanted: list[str],
    models: Callable[[bool, int], dict[str, Any]],
    learn: int,
) -> list[Table]:
    """Return the log loss of classes and the root mean squared error of numbers, on other rows.

    models: of whether numbers are predicted, and a seed.
    learn: rows that they learn, at most.
    """
    titles = {False: "Log loss", True: "Root mean squared error by standard deviation"}
    tables = {kind: Table(["set", *models(kind, 0)], title=titles[kind]) for kind in titles}
    for name, rows in loaded(sets, wanted):
        is_number, losses = np.asarray(rows.y).dtype.kind == "f", []
        for draw in range(DRAWS):
            seen, new = rows.draw(draw, learn, SCORE, 2 / 3)
            fitted = [one.fit(seen.X, seen.y) for one in models(is_number, draw).values()]
            if is_number:
                errors = [np.mean((one.predict(new.X) - new.y) ** 2) for one in fitted]
                losses.append(np.sqrt(errors) / new.y.std())
            else:
                p, classes = (one.predict_proba(new.X) for one in fitted), np.unique(seen.y)
                losses.append([log_loss(new.y, own, labels=classes) for own in p])
        tables[is_number].add(name, *(f"{loss:.3f}" for loss in np.mean(losses, axis=0)))
    return [table for table in tables.values() if len(table.rows)]


@benchmark("docs/reproduction.md", SETS, findings)
def kernels(wanted: list[str]) -> list[Table]:
    """Log loss of classes and root mean squared error of numbers, on other rows."""

    def models(is_number: bool, seed: int) -> dict[str, Any]:
        return {name: make(seed) for name, make in (NUMBERS if is_number else CLASSES).items()}

    return losses_on_other_rows(SETS, wanted, models, LEARN)
