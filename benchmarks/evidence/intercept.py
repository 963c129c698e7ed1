"""The intercept of the linear learners: none, a column of ones, and the default."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

from benchmarks import data
from benchmarks.harness import Table, benchmark, loaded, mean_and_error, size, verdicts
from crossview import (
    AROWClassifier,
    MultiView,
    MultiViewPAClassifier,
    PassiveAggressiveClassifier,
)

SETS = data.tables(
    *("webkb_course", "internet_ads", "uci_mfeat", "bbcsport", "reuters_1200", "movies", "cora"),
    *("msrc_v5", "wikipedia", "spambase", "sms_spam", "criteo_sample", "a9a", "news20_w100"),
    *("svmguide1", "ionosphere"),
)
PRICES, NOISES = (0.001, 0.01, 0.1, 1.0, 10.0), (0.1, 1.0, 10.0, 100.0)
MOST_COLUMNS_FULL, MOST_ROWS_FULL = 320, 10_000
LEARNERS: dict[str, tuple[Any, str, tuple[float, ...]]] = {
    "PA-I, all columns": (PassiveAggressiveClassifier(), "C", PRICES),
    "PA-I, one view": (PassiveAggressiveClassifier(), "C", PRICES),
    "PA-I, squared coupling": (MultiViewPAClassifier(disagreement=0.001), "C", PRICES),
    "AROW, diagonal": (AROWClassifier(covariance="diagonal"), "r", NOISES),
    "AROW, full": (AROWClassifier(covariance="full"), "r", NOISES),
}
NONE, CONSTANT, DEFAULT = {"fit_intercept": False}, {"constant": True}, {"intercept_scaling": 1.0}
WAYS = {"none": NONE, "1": CONSTANT, "default": DEFAULT}
METRICS = ("accuracy", "F1", "ROC AUC")
Source = tuple[list[sp.csr_array], np.ndarray]


def measured(y: np.ndarray, scores: np.ndarray) -> list[float]:
    """Return accuracy, F1 (macro with several classes) and, of two classes, ROC AUC."""
    if scores.ndim > 1:
        predicted = scores.argmax(axis=1)
        return [accuracy_score(y, predicted), f1_score(y, predicted, average="macro"), np.nan]
    predicted, positive = (scores > 0).astype(int), int(np.mean(y) < 0.5)
    f1 = f1_score(y, predicted, pos_label=positive, zero_division=0.0)
    return [accuracy_score(y, predicted), f1, roc_auc_score(y, scores)]


def arranged(blocks: list[sp.csr_array], learner: str, constant: bool) -> MultiView:
    """Return the views that the learner sees, with a column of ones each, or without."""
    if learner == "PA-I, one view":
        # in the first view of Cora most rows have nothing in common with any other
        blocks = blocks[1:2] if len(blocks) == 4 else blocks[:1]
    elif learner != "PA-I, squared coupling":
        blocks = [sp.hstack(blocks, format="csr")]
    ones = [sp.csr_array(np.ones((blocks[0].shape[0], 1)))] * constant
    return MultiView(
        {f"view{v}": sp.csr_array(sp.hstack([block, *ones])) for v, block in enumerate(blocks)}
    )


def repetition(source: Source, learner: str, seed: int) -> list[list[float]]:
    """Return the metrics of each way on the last 30 % of the rows in a random order."""
    random, (blocks, y) = np.random.default_rng(seed), source
    order, K = random.permutation(len(y)), int(y.max()) + 1
    y = random.permutation(K)[y[order]] if K > 2 else y[order]
    blocks = [sp.csr_array(block[order]) for block in blocks]
    n, inner = int(0.7 * len(y)), int(0.525 * len(y))
    model, name, values = LEARNERS[learner]
    found = []
    for way in WAYS.values():
        X = arranged(blocks, learner, way is CONSTANT)
        options = NONE if way is CONSTANT else way

        def after(value: float, n: int, end: int, X: MultiView = X, o: dict = options) -> list:
            """The metrics after one pass over n rows, on the others."""
            one = type(model)(**{**model.get_params(), **o, name: value})
            one.partial_fit(X[:n], y[:n], np.unique(y[:end]))
            return measured(y[n:end], one.decision_function(X[n:end]))

        rates = [after(value, inner, n)[0] for value in values]
        found.append(after(values[int(np.argmax(rates))], n, len(y)))
    return found


def lead(values: dict[str, np.ndarray], way: str, metric: int) -> str:
    """Return the paired differences from the better one of no intercept and a constant of 1."""
    better = max(values["none"], values["1"], key=lambda v: v[:, metric].mean())
    gaps = values[way][:, metric] - better[:, metric]
    return "–" if np.isnan(gaps).any() else mean_and_error(gaps)


def findings(tables: list[Table]) -> list[str]:
    """Say what each way costs, and of each table where the default is ahead and behind."""
    lines = []
    for table in tables:
        by_way = {way: table.column(way) for way in WAYS}
        best = {name: max(v[name] for v in by_way.values()) for name in by_way["none"]}
        costs = []
        for way, values in by_way.items():
            worst = max(best, key=lambda name: best[name] - values[name])
            costs.append(f"{way} {best[worst] - values[worst]:.1f} ({worst})")
        lines.append(
            f"{table.title}: the default is {verdicts(table, 'accuracy')}. Points of accuracy "
            f"behind the best of the three, at most: {', '.join(costs)}."
        )
    return lines


@benchmark("docs/reproduction.md", SETS, findings)
def intercept(wanted: list[str]) -> list[Table]:
    """A table per learner, a row per set."""
    tables = {title: Table(["set", *WAYS, *METRICS], title=title) for title in LEARNERS}
    for name, rows in loaded(SETS, wanted):
        X = rows.encoded(hash_bits=16)
        source = (
            [sp.csr_array(X[view]) for view in X.layout.names],
            np.unique(rows.y, return_inverse=True)[1],
        )
        wide = X.layout.n_columns > MOST_COLUMNS_FULL or len(rows.y) > MOST_ROWS_FULL
        for learner in LEARNERS:
            if wide and learner == "AROW, full":
                continue
            times = size(6 if len(rows.y) > 4000 or learner.startswith("AROW") else 12, 2)
            runs = [repetition(source, learner, seed) for seed in range(times)]
            # (repetitions, metrics) of each way
            values = dict(zip(WAYS, 100 * np.array(runs).transpose(1, 0, 2), strict=True))
            accuracy = [f"{values[way][:, 0].mean():.1f}" for way in WAYS]
            gaps = (lead(values, "default", k) for k in range(len(METRICS)))
            tables[learner].add(name, *accuracy, *gaps)
    return list(tables.values())
