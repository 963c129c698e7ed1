"""What a first try without settings gives: each class as it is, against logistic regression."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.data import fetch
from benchmarks.harness import Table, benchmark, loaded, size, span
from crossview import (
    AROWClassifier,
    MultiView,
    MultiViewPAClassifier,
    OnlineStackingClassifier,
    PassiveAggressiveClassifier,
    ViewEncoder,
    ViewScaler,
    datasets,
)

MOST_ROWS, FOLDS = size(6000, 400), 5
# options of the encoder where the columns need one
ENCODED: dict[str, dict[str, Any]] = {
    "sms_spam": {"text": ["words__message"]},
    "ipinyou_sample": {"hash_bits": 16},
}
# a hundred classes, and those that are fetched in parts that are not small
LEFT_OUT = ("100leaves", "mnist", "mnist_t10k", "usps")
PLAIN = "logistic regression"
MODELS: dict[str, Any] = {
    PLAIN: LogisticRegression(max_iter=1000),
    "stacking": OnlineStackingClassifier(random_state=0),
    "AROW": AROWClassifier(random_state=0),
    "AROW, averaged": AROWClassifier(average=True, random_state=0),
    "PA": PassiveAggressiveClassifier(average=False, random_state=0),
    "PA, averaged": PassiveAggressiveClassifier(average=True, random_state=0),
    "coupled": MultiViewPAClassifier(average=False, random_state=0),
    "coupled, averaged": MultiViewPAClassifier(average=True, random_state=0),
    "averaged, C=0.1": MultiViewPAClassifier(C=0.1, average=True, random_state=0),
    "averaged, C=0.01": MultiViewPAClassifier(C=0.01, average=True, random_state=0),
}


def rows_of(name: str) -> tuple[Any, np.ndarray]:
    """Rows and labels; at most `MOST_ROWS`, drawn at random."""
    if name in datasets.names():
        whole = datasets.load(name)
        label = whole.column_names[-1]
        data, y = whole.drop_columns(label), whole[label].to_numpy(zero_copy_only=False)
    else:
        found = fetch(name)
        data, y = found.data, np.asarray(found.target)
    order = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    return take(data, order), y[order]


def take(data: Any, rows: np.ndarray) -> Any:
    return data[rows] if isinstance(data, MultiView) else data.take(rows)


SETS = {
    one.name: lambda name=one.name: rows_of(name)
    for one in datasets.known()
    if one.task == "classification" and one.name not in LEFT_OUT
}


def scores_of(name: str, data: Any, y: np.ndarray) -> np.ndarray:
    """ROC AUC in percent, and seconds of a fit and a prediction, of each model."""
    encoder = ViewScaler() if isinstance(data, MultiView) else ViewEncoder(**ENCODED.get(name, {}))
    codes = np.unique(y, return_inverse=True)[1]
    found = []
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(codes, codes):
        step = clone(encoder)
        parts = [step.fit_transform(take(data, train)), step.transform(take(data, test))]
        found.append([])
        for model in MODELS.values():
            plain = isinstance(model, LogisticRegression)
            X = [part.matrix for part in parts] if plain else parts
            start = time.perf_counter()
            p = clone(model).fit(X[0], codes[train]).predict_proba(X[1])
            seconds = time.perf_counter() - start
            scored = p[:, 1] if p.shape[1] == 2 else p
            auc = roc_auc_score(codes[test], scored, multi_class="ovr")
            found[-1].append((100.0 * auc, seconds))
    return np.mean(found, axis=0)


def findings(tables: list[Table]) -> list[str]:
    """Say how far each model is from logistic regression."""
    areas = tables[0]
    plain = areas.column(PLAIN)
    lines = []
    for model in [*MODELS][1:]:
        gaps = {name: value - plain[name] for name, value in areas.column(model).items()}
        worst = min(gaps, key=gaps.__getitem__)
        lines.append(
            f"{model}: {np.mean([*gaps.values()]):+.1f} on average against logistic regression, "
            f"{gaps[worst]:+.1f} at worst ({worst})."
        )
    return [f"Logistic regression has a ROC AUC of {span(plain.values())}.", *lines]


@benchmark("docs/learners.md", SETS, findings)
def first_try(wanted: list[str]) -> list[Table]:
    """ROC AUC, and seconds: a row per set, a column per model."""
    areas, seconds = (Table([title, *MODELS]) for title in ("ROC AUC, %", "seconds"))
    areas.title, seconds.title = "ROC AUC", "Seconds"
    for name, (rows, y) in loaded(SETS, wanted):
        auc, took = scores_of(name, rows, y).T
        areas.add(name, *(f"**{a:.1f}**" if a > max(auc) - 0.05 else f"{a:.1f}" for a in auc))
        seconds.add(name, *(f"{s:.2f}" for s in took))
    return [areas, seconds]
