"""Probabilities that are calibrated in the pass, against `CalibratedClassifierCV`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit

from benchmarks import data
from benchmarks.harness import Table, benchmark, listed, loaded, size, span
from crossview import AROWClassifier, MultiViewPAClassifier
from crossview.scoring.metrics import measure

SETS = data.tables("criteo_sample", "ipinyou_sample", "sms_spam", "webkb_course", "uci_mfeat")
SPLITS = size(5, 1)
# passes that are timed, with and without calibration in turns
TIMED = size(41, 3)


def passive_aggressive(**options: Any) -> list[ClassifierMixin]:
    prices = [10.0**k for k in range(-4, 1)]
    return [MultiViewPAClassifier(coupling="concatenated", C=C, **options) for C in prices]


LEARNERS: dict[str, list[ClassifierMixin]] = {
    "PA": passive_aggressive(),
    "PA, averaged": passive_aggressive(average=True),
    "AROW": [AROWClassifier(r=10.0**k, covariance="diagonal") for k in range(-1, 3)],
}
WAYS = {"in the pass": None, "5 folds": False, "mean of 5 models": True}


def chosen(candidates: list[ClassifierMixin], X: Any, y: np.ndarray) -> ClassifierMixin:
    """Return the candidate with the lowest log loss of the rows before they were learned."""
    losses = []
    for model in candidates:
        _, p = clone(model).score_then_learn(X, y, np.unique(y), return_proba=True)
        losses.append(log_loss(y, p))
    return candidates[int(np.argmin(losses))]


def one_split(
    candidates: list[ClassifierMixin], X: Any, y: np.ndarray, train: np.ndarray, test: np.ndarray
) -> list[tuple[float, float]]:
    """Return log loss and calibration error on the test rows, of each way."""
    model = chosen(candidates, X[train], y[train]).set_params(random_state=0)
    plain, codes, found = clone(model).set_params(calibration="none"), np.unique(y), []
    for ensemble in WAYS.values():
        way = clone(model) if ensemble is None else CalibratedClassifierCV(plain, ensemble=ensemble)
        p = way.fit(X[train], y[train]).predict_proba(X[test])
        rows = np.searchsorted(codes, y[test])
        error = measure("expected_calibration_error", rows, p, probabilities=p)
        found.append((log_loss(y[test], p), error))
    return found


def cost(model: ClassifierMixin, X: Any, y: np.ndarray) -> float:
    """Return the time of a pass with calibration over that without, median of paired passes."""
    models = [clone(model).set_params(calibration=one) for one in ("sigmoid", "none")]
    ratios = []
    for i in range(TIMED + 1):
        seconds = []
        for one in models if i % 2 else models[::-1]:
            start = time.perf_counter()
            one.score_then_learn(X, y, np.unique(y))
            seconds.append(time.perf_counter() - start)
        ratios.append(seconds[0] / seconds[1] if i % 2 else seconds[1] / seconds[0])
    return float(np.median(ratios[1:]))  # the first passes start the state


def findings(tables: list[Table]) -> list[str]:
    """Say where the pass is as good as five models, and what it costs."""
    lines = []
    for learner in LEARNERS:
        mine = [t for t in tables if t.title == learner]
        for column in ("over 5 folds", "over 5 models"):
            excess = mine[0].column(column)
            near = [name for name, value in excess.items() if value <= 0.5]
            far = [f"{name} ({value:+.1f} %)" for name, value in excess.items() if value > 0.5]
            lines.append(
                f"{learner}: log loss {column.replace('over', 'against')}: at most .5 % higher on "
                f"{listed(near)}" + (f"; higher on {listed(far)}." if far else ".")
            )
    times = [value for table in tables for value in table.column("time").values()]
    return [*lines, f"A pass with calibration takes {span(times, '.2f')} times one without."]


@benchmark("docs/reproduction.md", SETS, findings)
def calibration(wanted: list[str]) -> list[Table]:
    """A table per learner, a row per set."""
    header = ["set", *WAYS, "over 5 folds", "over 5 models", "calibration error, %", "time"]
    tables = {learner: Table(header, title=learner) for learner in LEARNERS}
    for name, rows in loaded(SETS, wanted):
        X, y = rows.encoded(), rows.y
        for learner, candidates in LEARNERS.items():
            splits = StratifiedShuffleSplit(SPLITS, test_size=0.2, random_state=0).split(y, y)
            found = np.mean([one_split(candidates, X, y, *split) for split in splits], axis=0)
            (a, b, c), errors = found[:, 0], 100.0 * found[:, 1]
            share = cost(candidates[len(candidates) // 2], X, y)
            tables[learner].add(
                *(name, f"{a:.4f}", f"{b:.4f}", f"{c:.4f}"),
                *(f"{100 * (a / other - 1):+.1f} %" for other in (b, c)),
                *(f"{errors[0]:.1f} / {errors[2]:.1f}", f"{share:.3f}"),
            )
    return list(tables.values())
