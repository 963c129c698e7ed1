"""Rows a second, one by one: each is predicted, then learned; River's in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.harness import Table, benchmark, middle, ratio, results_in_turn, size

PAGE = "docs/benchmarks.md"
ROWS, FEW, BATCH = size((10_000, 2_000, 100), (300, 100, 10))


def stream(n: int) -> tuple[list[dict[str, float]], list[bool]]:
    """Rows of six numbers, and their labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    y = X @ rng.normal(size=6) + rng.normal(size=n) > 0.0
    return [dict(zip("abcdef", x, strict=True)) for x in X.tolist()], y.tolist()


def models() -> dict[str, Callable[[], Any]]:
    """The models of the table, River's first."""
    from river import linear_model, preprocessing

    import crossview as cv

    def encoded(learner: Any, **options: Any) -> Any:
        return cv.make_pipeline(cv.ViewEncoder(**options), learner)

    diagonal = {"covariance": "diagonal"}
    return {
        "River, LogisticRegression": linear_model.LogisticRegression,
        "River, StandardScaler and LogisticRegression": lambda: (
            preprocessing.StandardScaler() | linear_model.LogisticRegression()
        ),
        "`PassiveAggressiveClassifier`": cv.PassiveAggressiveClassifier,
        "`AROWClassifier`, diagonal": lambda: cv.AROWClassifier(**diagonal),
        "`FactorizationMachineClassifier`": lambda: cv.FactorizationMachineClassifier(
            early_stopping=False, random_state=0
        ),
        "`OnlineStackingClassifier`": lambda: cv.OnlineStackingClassifier(random_state=0),
        "`ViewEncoder`, `AROWClassifier`": lambda: encoded(cv.AROWClassifier(**diagonal)),
        "the same without bins": lambda: encoded(cv.AROWClassifier(**diagonal), bins=None),
        "`ViewEncoder`, `OnlineStackingClassifier`": lambda: encoded(
            cv.OnlineStackingClassifier(random_state=0)
        ),
    }


def seconds(model: Any, rows: Iterable[tuple[dict[str, float], bool]]) -> float:
    """Predict and learn rows; return the processor time."""
    began = time.process_time()
    for x, y in rows:
        model.predict_proba_one(x)
        model.learn_one(x, y)
    return time.process_time() - began


def seconds_of_batch(model: Any) -> float:
    """Learn a batch; return the processor time of one, of 20."""
    rows, y = stream(BATCH)
    names = list(rows[0])
    X: Any = np.array([list(x.values()) for x in rows])
    if hasattr(model, "steps"):
        X = pa.table({name: X[:, i] for i, name in enumerate(names)})
    target = np.array(y)
    model.partial_fit(X, target)
    began = time.process_time()
    for _ in range(20):
        model.partial_fit(X, target)
    return (time.process_time() - began) / 20


@benchmark(PAGE)
def one_by_one() -> list[Table]:
    """Rows a second, and what a batch costs in rows that are learned one by one."""
    rows, y = stream(ROWS)
    pairs = list(zip(rows, y, strict=True))
    tasks: dict[str, Callable[[], float]] = {}
    learned: dict[str, Any] = {}
    for name, make in models().items():
        learned[name] = make()
        seconds(learned[name], pairs[:FEW])
        own = pairs[FEW:] if "Stacking" not in name else pairs[FEW : 2 * FEW]

        def task(model: Any = learned[name], own: Any = own) -> float:
            return seconds(model, own) / len(own)

        tasks[name] = task
    found = results_in_turn(tasks, 5)
    peer = found["River, LogisticRegression"]
    table = Table(["", "rows a second", "time of River's", f"batch of {BATCH}"])
    for name, own in found.items():
        batch = (
            "" if name.startswith("River") else f"{seconds_of_batch(learned[name]) * 1e6:.0f} µs"
        )
        share = ratio(own, peer) if own is not peer else "1"
        table.add(name, f"{1.0 / middle(own):,.0f}", share, batch)
    return [table]
