"""KeCo: a whole grid of settings, a pass over approximate features, and a budgeted stream.

python benchmarks/keco.py
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.metrics.pairwise import rbf_kernel

from crossview import KeCoClassifier, KernelSearchCV
from crossview.algorithms.kernel.schedule import draw_rows
from crossview.batch import make_rows, views_of
from crossview.kernels import gram
from crossview.views import ViewLayout
from harness import in_turn, middle, ratio, run, table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from reference import keco as slow

LAMS = [10.0**-k for k in range(10, 0, -1)]
SIGMAS = [2.0**k for k in range(-4, 4)]
FOLDS, STEPS, COLUMNS = 10, 1000, 34
GROUP = 10_000


def rows(n, columns, labeled, seed=0):
    """Rows of two classes; of some the label is known."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = rng.normal(size=(n, columns)) + 0.3 * y[:, None]
    return X, np.where(rng.random(n) < labeled, y, np.nan)


def pair(a, b):
    """One value of the Gaussian kernel, sigma = 1."""
    return float(np.exp(-0.5 * np.sum((a - b) ** 2)))


def grid():
    """80 settings x 10 folds x 2 views of 246 rows, a fifth labeled, as for Ionosphere."""
    X, y = rows(246, COLUMNS, 0.2)
    given = {"n_iterations": STEPS, "schedule": "half-labeled", "random_state": 0}
    learner = KeCoClassifier(random_views=(2, 0.75), **given)
    gammas = [0.5 / sigma**2 for sigma in SIGMAS]
    fits = len(LAMS) * len(gammas) * FOLDS

    def ours():
        KernelSearchCV(learner, LAMS, gammas, cv=FOLDS, refit=False).fit(X, y)

    views = list(KeCoClassifier(random_views=(2, 0.75), **given).fit(X, y).view_columns().values())
    part = [[x[columns] for columns in views] for x in X[:221]]
    labels = np.where(np.isnan(y), 0, np.where(y == 1, 1, -1))[:221]
    known, unknown = np.flatnonzero(labels), np.flatnonzero(labels == 0)
    draws = draw_rows("half-labeled", known, unknown, STEPS, np.random.RandomState(0))

    def pairs():
        slow.learn(part, labels, draws.tolist(), 1e-3, pair)

    seconds = in_turn({"ours": ours, "pairs": pairs}, 3)
    each = [s / fits for s in seconds["ours"]]
    lines = [
        [f"the grid, {fits} fits", f"{middle(seconds['ours']):.2f} s", ""],
        [
            "one fit, one kernel value at a time (NumPy)",
            f"{middle(seconds['pairs']):.2f} s",
            f"{ratio(seconds['pairs'], each)}",
        ],
    ]
    return table(["kernel grid", "time", "times one fit of the grid"], lines)


def fourier():
    """One pass over 100,000 rows of two views of 20 columns, by 200 features each."""
    X, some = rows(100_000, 40, 0.1)
    y = rows(100_000, 40, 1.0)[1]

    def ours(labels, n):
        KeCoClassifier(
            [20, 20], approximation="fourier", n_components=n, schedule="stream", random_state=0
        ).fit(X, labels)

    def scikit_learn():
        parts = [
            RBFSampler(gamma=1 / 40, n_components=200, random_state=0).fit_transform(X[:, columns])
            for columns in (slice(0, 20), slice(20, 40))
        ]
        SGDClassifier(max_iter=1, tol=None).fit(np.hstack(parts), y)

    tasks = {
        "KeCo, 200 features per view, all rows labeled": lambda: ours(y, 200),
        "KeCo, 200 features per view, a tenth labeled": lambda: ours(some, 200),
        "KeCo, 1,000 features per view, a tenth labeled": lambda: ours(some, 1000),
        "scikit-learn: RBFSampler, SGDClassifier, all labeled": scikit_learn,
    }
    seconds = in_turn(tasks, 3)
    base = next(iter(seconds.values()))
    lines = [[name, f"{middle(s):.1f} s", ratio(s, base)] for name, s in seconds.items()]
    return table(["one pass over 100,000 rows", "time", "times the first"], lines)


def kernel_values():
    """The RBF kernel of all pairs of 3,000 rows of 500 columns, by how many of them are not 0."""
    lines = []
    layout, rng = ViewLayout(["x"], [500]), np.random.default_rng(0)
    for density in (1.0, 0.3, 0.03):
        X = rng.normal(size=(3_000, 500)) * (rng.random((3_000, 500)) < density)
        kernel = gram.Kernel(gram.RBF, 1 / 500, 0.0, 1.0)
        out = np.empty((3_000, 3_000))

        def ours(X, kernel=kernel, out=out):
            view = views_of(make_rows(X, layout))[0]
            gram.gram(kernel, view, view, (0, 500), out)

        tasks = {
            "an array": partial(ours, X),
            "a sparse matrix": partial(ours, sp.csr_array(X)),
            "scikit-learn": partial(rbf_kernel, X, gamma=1 / 500),
        }
        seconds = in_turn(tasks, 5)
        theirs = seconds["scikit-learn"]
        lines.append(
            [
                f"{density:.0%}",
                *(f"{middle(s):.2f} s" for s in seconds.values()),
                ratio(seconds["an array"], theirs),
            ]
        )
    names = ["an array", "a sparse matrix", "scikit-learn's `rbf_kernel`, an array"]
    return table(["entries that are not 0", *names, "the first over the last"], lines)


def stream(n, maintenance):
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


def streams():
    """Processes of their own: seconds a row and the peak of their memory."""
    lines = []
    for maintenance, sizes in (
        ("removal", (100_000, 1_000_000)),
        ("merging", (100_000, 1_000_000)),
        ("projection", (20_000, 100_000)),
    ):
        for n in sizes:
            done = run([sys.executable, __file__, "--stream", str(n), "--maintenance", maintenance])
            each = 1e6 * float(done.output.split()[-1])
            lines.append([maintenance, f"{n:,}", f"{each:.0f}", f"{done.peak_mb:.0f}"])
    return table(
        ["budget of 100 support vectors per view", "rows", "µs per row", "peak memory, MB"], lines
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stream", type=int)
    parser.add_argument("--maintenance", default="removal")
    options = parser.parse_args()
    if options.stream:
        print(stream(options.stream, options.maintenance))
    else:
        # first, as a process that has held much lends its size to those that it starts
        last = streams()
        print("\n\n".join([grid(), kernel_values(), fourier(), last]))
