"""Training for a measure: the search for the most violated labeling, a9a, and wide sparse views.

python benchmarks/performance.py
python benchmarks/performance.py --papers    # only fits on more columns than rows
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from crossview import MultiViewSVMPerf
from crossview.algorithms.performance.contingency import f_loss
from crossview.algorithms.performance.problem import all_tables, make_problem
from crossview.algorithms.performance.tables import scan_tables, sort_sides
from harness import in_turn, middle, run, table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import shared_data

# rows of which all tables are looked at
MOST_TO_SCAN = 30_000
ROWS, COLUMNS, PER_ROW = 100_000, 1_000_000, 100


def search() -> str:
    """Seconds of a search for F1, a quarter of the rows positive, and of looking at all tables."""
    lines = []
    for n in (1_000, 10_000, MOST_TO_SCAN, 100_000, 1_000_000):
        rng = np.random.default_rng(0)
        y = np.where(rng.random(n) < 0.25, 1.0, -1.0)
        f = y + 2.0 * rng.normal(size=n)
        problem = make_problem("fbeta", y, np.ones(n))

        def scan(f: np.ndarray = f, y: np.ndarray = y) -> float:
            sides = sort_sides(f, np.flatnonzero(y > 0), np.flatnonzero(y < 0))
            P, N = len(sides.p), len(sides.q)
            delta = partial(f_loss, P=P, N=N, beta=1.0)
            tables = all_tables(delta, 2.0 * P, (P, N), concave=False)
            best = max(scan_tables(tables, sides.cp, sides.cq, np.arange(P + 1)))[0]
            return best - sides.cp[-1] / tables.unit

        tasks = {"search": partial(problem.search, f)}
        if n <= MOST_TO_SCAN:
            tasks["scan"] = scan
            delta, s = problem.search(f)
            assert abs(scan() - (delta - s @ f)) < 1e-9
        seconds = in_turn(tasks, 3 if n == MOST_TO_SCAN else 7)
        fast = middle(seconds["search"])
        slow = middle(seconds["scan"]) if "scan" in seconds else None
        lines.append(
            [
                f"{n:,}",
                f"{1e3 * fast:.2f} ms",
                f"{1e9 * fast / (n * np.log2(n)):.1f}",
                f"{slow:.3f} s" if slow else "",
                f"{slow / fast:,.0f}" if slow else "",
            ]
        )
    head = ["F1: rows", "search", "ns / (n log2 n)", "scan of all tables", "times the search"]
    return table(head, lines)


def adults() -> str:
    """Training for F1 on a9a to a gap of 0.001; C as `MultiViewSVMPerf` and as SVM^perf has it."""
    found = shared_data.fetch("a9a")
    train = found.part == "train"
    X, y = found.data["person"][train], found.target[train]
    n = len(y)
    settings = [(f"C1 = {C1:g}", {"C1": C1}) for C1 in (0.01, 0.1, 1.0, 10.0)]
    settings += [
        (f"SVM^perf's c = {c}", {"C1": 25.0 * c / n**2, "scaling": "published"}) for c in (20, 200)
    ]
    lines = []
    for words, setting in settings:
        model = MultiViewSVMPerf(measure="f1", **setting)
        seconds = in_turn({"fit": partial(model.fit, X, y)}, 3)["fit"]
        lines.append(
            [
                words,
                f"{middle(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})",
                model.n_iter_,
                f"{model.dual_gap_:.1e}",
            ]
        )
    return table(["a9a, F1", "fit", "rounds", "gap"], lines)


def wide(C2: float) -> None:
    """One fit on wide sparse views: some columns are in many rows, as words are."""
    rng = np.random.default_rng(0)
    half = COLUMNS // 2
    parts, score = [], 0.3 * rng.normal(size=ROWS)
    for _ in range(2):
        columns = (half * rng.random((ROWS, PER_ROW // 2)) ** 3).astype(np.int32)
        data = np.full(columns.size, PER_ROW**-0.5)
        ptr = np.arange(ROWS + 1, dtype=np.int32) * (PER_ROW // 2)
        part = sp.csr_array((data, np.sort(columns, axis=1).ravel(), ptr), shape=(ROWS, half))
        part.sum_duplicates()
        score += part @ rng.normal(size=half)
        parts.append(part)
    X = sp.hstack(parts, format="csr")
    y = score > np.quantile(score, 0.9)
    tiny = MultiViewSVMPerf([half, half], C2=C2).fit(X[:100], y[:100])
    start = time.perf_counter()
    model = tiny.fit(X, y)
    print(time.perf_counter() - start, model.n_iter_, model.dual_gap_, model.score(X, y))


def wide_views() -> str:
    lines = []
    for C2 in (0.0, 0.001, 0.1):
        process = run([sys.executable, __file__, "--wide", str(C2)])
        seconds, cuts, gap, _ = process.output.split()
        lines.append(
            [f"C2 = {C2:g}", f"{float(seconds):.0f} s", cuts, f"{float(gap):.1e}",
             f"{process.peak_mb:,.0f} MB"]
        )  # fmt: skip
    words = f"{ROWS:,} rows x {COLUMNS:,} columns, two views"
    return table([words, "fit", "rounds", "gap", "peak memory"], lines)


def papers() -> tuple[sp.csr_array, np.ndarray]:
    """Return 2,318 papers as Citeseer has them: citations (3,312 columns) and words (3,703)."""
    rng = np.random.default_rng(0)
    n, n_words, n_topics = 3_312, 3_703, 6
    topic = rng.integers(0, n_topics, n)
    lift = np.where(rng.random((n_topics, n_words)) < 0.1, 6.0, 1.0)
    p = lift / (np.arange(n_words) + 10.0)
    p /= p.sum(axis=1, keepdims=True)
    q = np.where(topic == np.arange(n_topics)[:, None], 3.0, 0.3) / (rng.permutation(n) + 20.0)
    q /= q.sum(axis=1, keepdims=True)
    words, links = sp.lil_array((n, n_words)), sp.lil_array((n, n))
    for i in range(n):
        words[i, rng.choice(n_words, 32, replace=False, p=p[topic[i]])] = 1.0
        for j in rng.choice(n, 1 + rng.poisson(1.7), replace=False, p=q[topic[i]]):
            links[i, j] = links[j, i] = 1.0
    train = np.sort(rng.permutation(n)[:2_318])
    X = sp.csr_array(sp.hstack([links, words]).tocsr()[train])
    return X, topic[train] == np.bincount(topic).argmax()


def wide_papers() -> str:
    """Processor time of training for F1 on more columns than rows: each C1 alone, and a path."""
    X, y = papers()
    C1s = (0.1, 1.0, 10.0)
    learner = MultiViewSVMPerf([3_312, 3_703], C2=1e-4, calibration="none")
    learner.fit(X[:200], y[:200])
    lines = []
    for C1 in C1s:
        model = learner.set_params(C1=C1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            start = time.process_time()
            model.fit(X, y)
        seconds = time.process_time() - start
        lines.append([f"C1 = {C1:g}", f"{seconds:.2f} s", model.n_iter_, f"{model.dual_gap_:.1e}"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.process_time()
        path = learner.fit_path(X, y, [{"C1": C1} for C1 in C1s])
    seconds = time.process_time() - start
    rounds, gap = sum(one.n_iter_ for one in path), max(one.dual_gap_ for one in path)
    lines += [["the three as a path", f"{seconds:.2f} s", rounds, f"{gap:.1e}"]]
    return table(
        ["2,318 rows x 7,015 columns, two views, C2 = 0.0001", "fit", "rounds", "gap"], lines
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--wide", type=float, help="only one fit on wide views, with this C2")
    parser.add_argument("--papers", action="store_true", help="only more columns than rows")
    options = parser.parse_args()
    if options.wide is not None:
        wide(options.wide)
    elif options.papers:
        print(wide_papers())
    else:
        print("\n\n".join([search(), adults(), wide_papers(), wide_views()]))
