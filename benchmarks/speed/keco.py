"""KeCo: a whole grid of settings, a pass over approximate features, and a budgeted stream."""

from __future__ import annotations

import time

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier

from benchmarks.harness import Table, apart, benchmark, in_turn, middle, ratio, size
from crossview import KeCoClassifier, KernelSearchCV

LAMS, SIGMAS = size(([10.0**-k for k in range(10, 0, -1)], [2.0**k for k in range(-4, 4)]),
                    ([0.1], [1.0, 2.0]))  # fmt: skip
FOLDS, COLUMNS, GROUP = 10, 34, size(10_000, 500)
ROWS = size(100_000, 2_000)


def rows(n: int, columns: int, labeled: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two classes; of some the label is known."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = rng.normal(size=(n, columns)) + 0.3 * y[:, None]
    return X, np.where(rng.random(n) < labeled, y, np.nan)


def grid() -> Table:
    """80 settings x 10 folds x 2 views of 246 rows, a fifth labeled, as for Ionosphere."""
    X, y = rows(246, COLUMNS, 0.2)
    learner = KeCoClassifier(
        random_views=(2, 0.75), n_iterations=1000, schedule="half-labeled", random_state=0
    )
    gammas = [0.5 / sigma**2 for sigma in SIGMAS]
    fits = len(LAMS) * len(gammas) * FOLDS
    seconds = in_turn(
        {
            "grid": lambda: KernelSearchCV(learner, LAMS, gammas, cv=FOLDS, refit=False).fit(X, y),
            "one": lambda: learner.fit(X[:221], y[:221]),
        },
        5,
    )
    each = [s / fits for s in seconds["grid"]]
    table = Table(["kernel grid", "time", "times one fit of the grid"])
    table.add(f"the grid, {fits} fits", f"{middle(seconds['grid']):.2f} s", "")
    alone = f"{1e3 * middle(seconds['one']):.1f} ms"
    table.add("one fit alone, by `KeCoClassifier`", alone, ratio(seconds["one"], each))
    return table


def fourier() -> Table:
    """One pass over rows of two views of 20 columns, by 200 features each."""
    X, some = rows(ROWS, 40, 0.1)
    y = rows(ROWS, 40, 1.0)[1]

    def ours(labels: np.ndarray, n: int) -> None:
        given = {"approximation": "fourier", "schedule": "stream", "random_state": 0}
        KeCoClassifier([20, 20], n_components=n, **given).fit(X, labels)

    def scikit_learn() -> None:
        features = [
            RBFSampler(gamma=1 / 40, n_components=200, random_state=0).fit_transform(X[:, columns])
            for columns in (slice(0, 20), slice(20, 40))
        ]
        SGDClassifier(max_iter=1, tol=None).fit(np.hstack(features), y)

    tasks = {
        "KeCo, 200 features per view, all rows labeled": lambda: ours(y, 200),
        "KeCo, 200 features per view, a tenth labeled": lambda: ours(some, 200),
        "KeCo, 1,000 features per view, a tenth labeled": lambda: ours(some, 1000),
        "scikit-learn: RBFSampler, SGDClassifier, all labeled": scikit_learn,
    }
    seconds = in_turn(tasks, 3)
    base = next(iter(seconds.values()))
    table = Table([f"one pass over {ROWS:,} rows", "time", "times the first"])
    for name, s in seconds.items():
        table.add(name, f"{middle(s):.1f} s", ratio(s, base))
    return table


def learn_stream(n: int, maintenance: str) -> float:
    """Learn ``n`` rows, which are made as they are needed; seconds a row."""
    model = KeCoClassifier(
        [20, 20], gamma=1 / 40, budget=100, maintenance=maintenance, unlabeled_ratio=np.inf
    )
    seconds = 0.0
    for k in range(n // GROUP):
        X, y = rows(GROUP, 40, 0.5, seed=k)
        start = time.perf_counter()
        model.partial_fit(X, y, classes=[0, 1])
        seconds += (time.perf_counter() - start) * (k > 0)
    assert max(model.n_support_.values()) <= 100
    return seconds / (n - GROUP)


def streams() -> Table:
    """Processes of their own: seconds a row and the peak of their memory."""
    header = ["budget of 100 support vectors per view", "rows", "µs per row", "peak memory, MB"]
    table = Table(header)
    long, short = size(((100_000, 1_000_000), (20_000, 100_000)), ((1_000,),) * 2)
    for maintenance, sizes in (("removal", long), ("merging", long), ("projection", short)):
        for n in sizes:
            seconds, peak = apart(learn_stream, n, maintenance)
            table.add(maintenance, f"{n:,}", f"{1e6 * seconds:.0f}", f"{peak:.0f}")
    return table


@benchmark("docs/benchmarks.md")
def keco() -> list[Table]:
    """The grid, a pass, and streams."""
    return [grid(), fourier(), streams()]
