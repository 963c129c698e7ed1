"""Learned weights of the views in the coupled PA learners, against equal ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, StratifiedShuffleSplit

from benchmarks import data
from benchmarks.harness import Table, benchmark, listed, loaded, mean_and_error, size
from crossview import MultiView, MultiViewPAClassifier, ViewEncoder, ViewScaler

SPLITS, FOLDS, MOST_ROWS = size(10, 2), 3, size(3000, 300)
GRID = {"C": [0.01, 0.1, 1.0], "average": [False, True]}
COUPLINGS = ("squared", "independent")
NOISE = ", and noise"
GAIN = "learned minus equal"


def with_noise(rows: data.Rows) -> data.Rows:
    """The same rows with a view of 50 normal numbers that say nothing."""
    noise = np.random.default_rng(0).normal(size=(len(rows.y), 50))
    X = ViewEncoder(**rows.options).fit_transform(rows.X) if hasattr(rows.X, "iloc") else rows.X
    views = {name: X[name] for name in X.layout.names}
    if any(map(sp.issparse, views.values())):  # else the matrix of all views is dense
        noise = sp.csr_array(noise)
    return data.Rows(MultiView({**views, "noise": noise}), rows.y)


NAMES = (
    *("webkb_course", "internet_ads", "wikipedia", "cora", "bbcsport", "movies"),
    *("reuters_1200", "uci_mfeat", "digits", "msrc_v5", "breast-cancer", "spambase"),
)
SETS: dict[str, Callable[[], data.Rows]] = data.tables(*NAMES) | {
    name + NOISE: lambda name=name: with_noise(data.TABLES[name]())
    for name in ("webkb_course", "wikipedia", "uci_mfeat")
}


def one_split(rows: data.Rows, train: np.ndarray, test: np.ndarray, seed: int) -> dict[str, Any]:
    """Return F1 (of several classes their mean) of each coupling and kind of weights."""
    y, found = np.unique(rows.y, return_inverse=True)[1], {}
    seen, unseen = rows.take(train), rows.take(test)
    encoder = ViewScaler() if isinstance(rows.X, MultiView) else ViewEncoder(**rows.options)
    X, unseen_X = encoder.fit_transform(seen.X), encoder.transform(unseen.X)
    average = "binary" if y.max() == 1 else "macro"
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    for coupling in COUPLINGS:
        for weights in ("equal", "learned"):
            model = MultiViewPAClassifier(
                coupling=coupling, view_weights=weights, random_state=seed
            )
            search = GridSearchCV(model, GRID, scoring=f"f1_{average}".removesuffix("_binary"))
            search.set_params(cv=folds).fit(X, y[train])
            best = clone(search.best_estimator_).fit(X, y[train])
            found[coupling, weights] = f1_score(y[test], best.predict(unseen_X), average=average)
        found[coupling, "beta"] = best.view_weights_
    return found


def findings(tables: list[Table]) -> list[str]:
    """Say where learned weights are ahead and behind, by more than one standard error."""
    said = []
    for table in tables:
        ahead, behind, _ = table.sides(GAIN)
        real = [gap for name, gap in table.column(GAIN).items() if not name.endswith(NOISE)]
        mean = f"; {np.mean(real):+.1f} on average without the sets with noise" if real else ""
        said.append(
            f"{table.title}: learned weights are ahead by more than one standard error on "
            f"{listed(ahead)}; behind on {listed(behind)}{mean}."
        )
    return said


@benchmark("docs/papers/two-view.md", SETS, findings)
def view_weights(wanted: list[str]) -> list[Table]:
    """A table per coupling, a row per set: F1 in percent, and the learned weights."""
    tables = [
        Table(["set", "rows x views", "equal", "learned", GAIN, "β"], title=coupling)
        for coupling in COUPLINGS
    ]
    for name, rows in loaded(SETS, wanted):
        rows = rows.some(MOST_ROWS)
        splits = StratifiedShuffleSplit(SPLITS, test_size=0.25, random_state=0)
        runs = [
            one_split(rows, *split, seed) for seed, split in enumerate(splits.split(rows.y, rows.y))
        ]
        for table in tables:
            equal, learned = (
                100 * np.array([run[table.title, one] for run in runs])
                for one in ("equal", "learned")
            )
            beta = np.mean([run[table.title, "beta"] for run in runs], axis=0)
            table.add(
                name,
                f"{len(rows.y):,} x {len(beta)}",
                f"{equal.mean():.1f}",
                f"{learned.mean():.1f}",
                mean_and_error(learned - equal),
                " ".join(f"{one:.2f}" for one in beta),
            )
    return tables
