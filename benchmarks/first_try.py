"""What a first try without settings gives: each class as it is, against logistic regression.

CROSSVIEW_DATA=... python benchmarks/first_try.py

ROC AUC (of several classes the mean, each against the rest) by five stratified folds, on the same
encoder fitted on each training part: `ViewEncoder` for columns, `ViewScaler` for views.  At most
6,000 rows of each set, drawn at random.  The output is in docs/learners.md.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

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
from harness import table

MOST_ROWS, FOLDS = 6000, 5
# options of the encoder where the columns need one
ENCODED: dict[str, dict[str, Any]] = {
    "sms_spam": {"text": ["words__message"]},
    "ipinyou_sample": {"hash_bits": 16},
}
# a hundred classes, and those that are fetched in parts that are not small
LEFT_OUT = ("100leaves", "mnist", "mnist_t10k", "usps")
MODELS: dict[str, Any] = {
    "logistic regression": LogisticRegression(max_iter=1000),
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
        found = datasets.fetch(name)
        data, y = found.data, np.asarray(found.target)
    order = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    return take(data, order), y[order]


def take(data: Any, rows: np.ndarray) -> Any:
    return data[rows] if isinstance(data, MultiView) else data.take(rows)


def scores_of(name: str, names: list[str]) -> dict[str, tuple[float, float]]:
    """Mean ROC AUC and seconds of a fit and a prediction, of each model."""
    data, y = rows_of(name)
    views = isinstance(data, MultiView)
    encoder = ViewScaler() if views else ViewEncoder(**ENCODED.get(name, {}))
    codes = np.unique(y, return_inverse=True)[1]
    found: dict[str, list[tuple[float, float]]] = {model: [] for model in names}
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(codes, codes):
        step = clone(encoder)
        parts = [step.fit_transform(take(data, train)), step.transform(take(data, test))]
        for model in names:
            plain = isinstance(MODELS[model], LogisticRegression)
            X = [part.matrix for part in parts] if plain else parts
            start = time.perf_counter()
            p = clone(MODELS[model]).fit(X[0], codes[train]).predict_proba(X[1])
            seconds = time.perf_counter() - start
            scored = p[:, 1] if p.shape[1] == 2 else p
            auc = roc_auc_score(codes[test], scored, multi_class="ovr")
            found[model].append((100.0 * auc, seconds))
    return {model: tuple(np.mean(each, axis=0)) for model, each in found.items()}  # type: ignore[misc]


def main(given: list[str]) -> None:
    warnings.simplefilter("ignore")
    names = list(MODELS)
    known = [one.name for one in datasets.known() if one.task == "classification"]
    wanted = given or [name for name in known if name not in LEFT_OUT]
    lines, results = [], []
    for name in wanted:
        found = scores_of(name, names)
        results.append([found[model] for model in names])
        best = max(auc for auc, _ in found.values())
        cells = [f"**{a:.1f}**" if a > best - 0.05 else f"{a:.1f}" for a, _ in found.values()]
        lines.append([name, *cells])
        print(lines[-1], file=sys.stderr, flush=True)
    auc, seconds = np.moveaxis(np.array(results), 2, 0)
    behind = auc[:, :1] - auc
    lines.append(["mean", *(f"{value:.1f}" for value in auc.mean(axis=0))])
    lines.append(["most behind logistic regression", *(f"{b:.1f}" for b in behind.max(axis=0))])
    lines.append(["seconds, median", *(f"{s:.2f}" for s in np.median(seconds, axis=0))])
    print(table(["ROC AUC, %", *names], lines))


if __name__ == "__main__":
    main(sys.argv[1:])
