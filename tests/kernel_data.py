"""Rows of some views for the tests of kernel learners, and the kernels of the slow reference."""

import numpy as np

from crossview.batch import make_rows
from crossview.views import ViewLayout

KERNELS = {
    "linear": lambda a, b: float(a @ b),
    "rbf": lambda a, b: float(np.exp(-0.5 * np.sum((a - b) ** 2))),
    "poly": lambda a, b: float((0.5 * (a @ b) + 1.0) ** 3),
}
WIDTHS = [3, 2, 4]

# the algorithm of the KeCo paper
PAPER = {
    "schedule": "half-labeled",
    "n_iterations": 1000,
    "include_self": False,
    "average": False,
    "fit_intercept": False,
}


def problem(n=60, widths=WIDTHS, labeled=0.4, seed=0, missing=False):
    """Views of rows of two classes, labels of some (0: none), all labels, views present."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], size=n)
    X = [np.round(rng.normal(size=(n, d)) + 0.7 * y[:, None], 3) for d in widths]
    X = [x * (rng.random(x.shape) < 0.8) for x in X]
    known = np.where(rng.random(n) < labeled, y, 0)
    known[:2] = y[:2] = [-1, 1]
    present = np.ones((n, len(widths)), dtype=bool)
    if missing:
        present = rng.random(present.shape) < 0.7
        present[:, 0] |= ~present.any(axis=1)
    return X, known, y, present


def as_table(X, present):
    return np.hstack([np.where(present[:, [n]], x, np.nan) for n, x in enumerate(X)])


def as_labels(y):
    return np.where(y == 0, np.nan, y).astype(float)


def as_rows(X, present, container=np.asarray):
    layout = ViewLayout([f"v{n}" for n in range(len(X))], [x.shape[1] for x in X])
    return make_rows(container(np.hstack(X)), layout, present)


def row_lists(X):
    """The rows as the reference takes them."""
    return [[x[i] for x in X] for i in range(len(X[0]))]
