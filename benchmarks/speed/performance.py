"""Training for a measure: the search for the most violated labeling, a9a, and wide sparse views."""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import scipy.sparse as sp

from benchmarks import data
from benchmarks.harness import Table, apart, benchmark, in_turn, loaded, middle, size, span
from crossview import MultiViewSVMPerf
from crossview.algorithms.performance.problem import all_tables, make_problem
from crossview.algorithms.performance.tables import f_loss, scan_tables, sort_sides

# rows of which all tables are looked at
MOST_TO_SCAN = size(30_000, 1_000)
SEARCHED = size((1_000, 10_000, 30_000, 100_000, 1_000_000), (1_000, 10_000))
ROWS, COLUMNS, PER_ROW = *size((100_000, 1_000_000), (1_000, 5_000)), 100


def search() -> Table:
    """Seconds of a search for F1, a quarter of the rows positive, and of looking at all tables."""
    header = ["F1: rows", "search", "ns / (n log2 n)", "scan of all tables", "times the search"]
    table = Table(header)
    for n in SEARCHED:
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
        fast, cells = middle(seconds["search"]), ("", "")
        if "scan" in seconds:
            slow = middle(seconds["scan"])
            cells = (f"{slow:.3f} s", f"{slow / fast:,.0f}")
        table.add(f"{n:,}", f"{1e3 * fast:.2f} ms", f"{1e9 * fast / (n * np.log2(n)):.1f}", *cells)
    return table


def adults() -> Table:
    """Training for F1 on a9a to a gap of 0.001; C as `MultiViewSVMPerf` and as SVM^perf has it."""
    table = Table(["a9a, F1", "fit", "rounds", "gap"])
    for _, rows in loaded({"a9a": data.census}, []):
        n = len(rows.y)
        settings = {f"C1 = {C1:g}": {"C1": C1} for C1 in (0.01, 0.1, 1.0, 10.0)}
        for c in (20, 200):
            settings[f"SVM^perf's c = {c}"] = {"C1": 25.0 * c / n**2, "scaling": "published"}
        for words, setting in settings.items():
            model = MultiViewSVMPerf(measure="f1", **setting)
            seconds = in_turn({"fit": partial(model.fit, rows.X.matrix, rows.y)}, 3)["fit"]
            took = f"{middle(seconds):.2f} s ({span(seconds, '.2f')})"
            table.add(words, took, model.n_iter_, f"{model.dual_gap_:.1e}")
    return table


def fit_wide(C2: float) -> tuple[float, int, float]:
    """One fit on wide sparse views, where some columns are in many rows, as words are."""
    rng = np.random.default_rng(0)
    half = COLUMNS // 2
    parts, score = [], 0.3 * rng.normal(size=ROWS)
    for _ in range(2):
        columns = (half * rng.random((ROWS, PER_ROW // 2)) ** 3).astype(np.int32)
        values = np.full(columns.size, PER_ROW**-0.5)
        ptr = np.arange(ROWS + 1, dtype=np.int32) * (PER_ROW // 2)
        part = sp.csr_array((values, np.sort(columns, axis=1).ravel(), ptr), shape=(ROWS, half))
        part.sum_duplicates()
        score += part @ rng.normal(size=half)
        parts.append(part)
    X = sp.hstack(parts, format="csr")
    y = score > np.quantile(score, 0.9)
    model = MultiViewSVMPerf([half, half], C2=C2).fit(X[:100], y[:100])
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start, model.n_iter_, float(model.dual_gap_)


def wide_views() -> Table:
    words = f"{ROWS:,} rows x {COLUMNS:,} columns, two views"
    table = Table([words, "fit", "rounds", "gap", "peak memory"])
    for C2 in (0.0, 0.001, 0.1):
        (seconds, cuts, gap), peak = apart(fit_wide, C2)
        table.add(f"C2 = {C2:g}", f"{seconds:.0f} s", cuts, f"{gap:.1e}", f"{peak:,.0f} MB")
    return table


@benchmark("docs/benchmarks.md")
def performance() -> list[Table]:
    """The search, a9a, and wide views."""
    return [search(), adults(), wide_views()]
