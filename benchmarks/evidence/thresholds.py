"""One threshold per class, against the highest score and the highest probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import StratifiedShuffleSplit

from benchmarks import data
from benchmarks.harness import Table, benchmark, loaded, mean_and_error, size, span
from crossview import train

SETS = data.tables("cora", "movies", "wikipedia", "news20_w100") | {"movielens_100k": data.ratings}
SPLITS, MOST_ROWS = size(10, 1), 10_000
MODELS = ("arow", "linear", "stacking")
HEADER = ["set", "classes", "rarest", "F1: score", "probability", "thresholds", "gain"]


def one_split(model: str, X: Any, y: np.ndarray, rows: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return F1 and accuracy by score, by probability and by thresholds."""
    fitted = train(X[rows], y[rows], model=model, task="classification").fitted
    scores = fitted.decision_function(X[test])
    p = fitted.predict_proba(X[test])
    ways = [fitted.classes_[one.argmax(axis=1)] for one in (scores, p)] + [fitted.predict(X[test])]
    return np.array(
        [
            [f1_score(y[test], said, average="macro") for said in ways],
            [accuracy_score(y[test], said) for said in ways],
        ]
    )


def findings(tables: list[Table]) -> list[str]:
    """Say what thresholds gain, and what they cost."""
    lines = []
    for table in tables:
        gains, costs = table.column("gain"), table.column("accuracy")
        lines.append(
            f"{table.title}: thresholds change F1 by {span(gains.values(), '+.1f')} "
            f"points, and the accuracy by {span(costs.values(), '+.1f')}."
        )
    return lines


@benchmark("docs/reproduction.md", SETS, findings)
def thresholds(wanted: list[str]) -> list[Table]:
    """A table per model, a row per set."""
    tables = {model: Table([*HEADER, "accuracy"], title=model) for model in MODELS}
    for name, rows in loaded(SETS, wanted):
        some = np.random.default_rng(0).permutation(len(rows.y))[:MOST_ROWS]
        X, y = rows.encoded()[some], rows.y[some]
        counts = np.unique(y, return_counts=True)[1]
        for model, table in tables.items():
            splits = StratifiedShuffleSplit(SPLITS, test_size=0.5, random_state=0).split(y, y)
            found = 100.0 * np.array([one_split(model, X, y, *split) for split in splits])
            f1, accuracy = found.transpose(1, 2, 0)
            table.add(
                *(name, len(counts), f"{100.0 * counts.min() / len(y):.1f} %"),
                *(f"{one:.1f}" for one in f1.mean(axis=1)),
                mean_and_error(f1[2] - f1[0]),
                mean_and_error(accuracy[2] - accuracy[0]),
            )
    return list(tables.values())
