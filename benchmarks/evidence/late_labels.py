"""Log loss where labels come late: of a stack that is told so, and of one that is not."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.evidence.streams import Stream, agrawal, random_rbf, real, sea
from benchmarks.harness import Table, benchmark, listed, loaded, size
from crossview import OnlineStackingClassifier, ViewEncoder, make_pipeline

ROWS = size(4000, 300)
DELAYS = 0, 1, 20, 100, 500
# above the constant by so much is more than chance on some thousand rows
NOISE = 0.02


def runs() -> Stream:
    """Labels in runs of 20 rows, of which 3 % are wrong; one of five numbers says a little."""
    rng = np.random.default_rng(0)
    state = np.cumsum(rng.random(ROWS) < 0.05) % 2
    X = rng.normal(size=(ROWS, 5))
    X[:, 0] += 0.6 * state
    columns = [f"x{j}" for j in range(5)]
    return pd.DataFrame(X, columns=columns), np.where(rng.random(ROWS) < 0.97, state, 1 - state)


def cut(stream: Callable[[], Stream]) -> Callable[[], Stream]:
    """Return a stream with half as many rows, the first ones of each of four parts."""

    def rows() -> Stream:
        X, y = stream()
        parts = np.array_split(np.arange(len(y)), 4)
        at = np.concatenate([part[: ROWS // 8] for part in parts])
        return X.iloc[at], y[at]

    return rows


STREAMS: dict[str, Callable[[], Stream]] = {
    "labels in runs": runs,
    "labels in runs, late from row 2,000 on": runs,
    "SEA": cut(sea),
    "Agrawal": cut(agrawal),
    "random RBF": cut(random_rbf),
    "phishing": real("Phishing"),
}


def losses(X: pd.DataFrame, y: np.ndarray, delays: np.ndarray, *, told: bool) -> np.ndarray:
    """Return the log loss of each row; its label comes after so many rows are predicted."""
    stack = OnlineStackingClassifier(memory=True, random_state=0).follow_stream()
    model = make_pipeline(ViewEncoder(), stack)
    waiting: deque[tuple[int, dict[str, Any], int, Any]] = deque()
    found, n_labels, classes = np.empty(len(y)), 0, y.max() + 1
    for t, (x, label) in enumerate(zip(X.to_dict("records"), y.tolist(), strict=True)):
        p, said = {}, None
        if n_labels:
            p, said = model.predict_proba_one(x), stack.expert_predictions()
        found[t] = -np.log(max(p.get(label, 0.0), 1e-6) if len(p) > 1 else 1 / classes)
        waiting.append((t, x, n_labels, said))
        while waiting and waiting[0][0] + delays[waiting[0][0]] <= t:
            i, row, then, said = waiting.popleft()
            if told:
                stack.set_delay(n_labels - then, said)
            model.learn_one(row, y[i].item())
            n_labels += 1
    return found


def constant(y: np.ndarray, delays: np.ndarray) -> np.ndarray:
    """Return the log loss of each row by the frequencies of the labels that have come."""
    counts, come, found = np.ones(y.max() + 1), 0, np.empty(len(y))
    for t, label in enumerate(y):
        found[t] = -np.log(counts[label] / counts.sum())
        while come <= t and come + delays[come] <= t:
            counts[y[come]] += 1
            come += 1
    return found


def findings(tables: list[Table]) -> list[str]:
    """Say where the stack is worse than the constant, and than one that is not told."""
    above, behind = [], []
    for delay in DELAYS:
        for name, cell in tables[0].words(str(delay)).items():
            told, other, least = map(float, cell.split(" / "))
            if told > least + NOISE:
                above.append(f"{name} at {delay} ({told:g}, {least:g})")
            if told > other * 1.01:
                behind.append(f"{name} at {delay} ({told:g}, {other:g})")
    return [
        f"Worse than the constant by more than {NOISE:g}: {listed(above)}.",
        f"Worse by more than 1 % than without being told: {listed(behind)}.",
    ]


@benchmark("docs/guide/live.md", STREAMS, findings)
def late_labels(wanted: list[str]) -> list[Table]:
    """Log loss of what was predicted, by how many rows later the label came."""
    table = Table(["stream", "rows", *map(str, DELAYS)])
    for name, (X, y) in loaded(STREAMS, wanted):
        codes, start = np.unique(y, return_inverse=True)[1], ROWS // 2 * name.endswith("on")
        cells = []
        for delay in DELAYS:
            delays = np.where(np.arange(len(codes)) >= start, delay, 0)
            own = losses(X, codes, delays, told=True)
            other = losses(X, codes, delays, told=False) if delay else own
            means = [one[start:].mean() for one in (own, other, constant(codes, delays))]
            cells.append(" / ".join(f"{value:.3f}" for value in means))
        table.add(name, f"{len(codes) - start:,}", *cells)
    return [table]
