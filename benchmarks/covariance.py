"""The covariance step: full against NumPy and against memory, low-rank against full, diagonal
against PA-I.  Every call is a whole `partial_fit` or `fit`, input validation included.
"""

import numba
import numpy as np
import scipy.sparse as sp

import csr_pass
from crossview import AROWClassifier, PAMClassifier, PassiveAggressiveClassifier
from harness import in_turn, middle, ratio, table


def rows(count, columns, per_row=None, seed=0):
    """Rows of length about 1 with labels of no pattern, so that nearly all cause an update."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, count)
    if per_row is None:
        return rng.normal(size=(count, columns)) / columns**0.5, y
    where = np.sort(rng.integers(0, columns, (count, per_row)), axis=1)
    data = np.full(count * per_row, per_row**-0.5)
    X = sp.csr_array((data, where.ravel(), np.arange(count + 1) * per_row), (count, columns))
    X.sum_duplicates()
    return X, y


def numpy_pam(X, y, C=1.0):
    """PAM-II without intercept, as one writes it with NumPy; updates, weights and S."""
    w, S, updates = np.zeros(X.shape[1]), np.eye(X.shape[1]), 0
    for x, sign in zip(X, np.where(y == 1, 1.0, -1.0), strict=True):
        loss = 1.0 - sign * (w @ x)
        if loss > 0.0:
            g = S @ x
            n = x @ g
            w += loss / (n + 0.5 / C) * sign * g
            S -= np.outer(g, g) / (1.0 + n)
            updates += 1
    return updates, w


def pam(X, y, form, rank=1):
    model = PAMClassifier(covariance=form, rank=rank, fit_intercept=False)
    return model.partial_fit(X, y, classes=[0, 1])


@numba.njit
def _scale(array, factor):
    for i in range(array.shape[0]):
        array[i] *= factor


def bandwidth(repeats=15):
    """Bytes a second of one thread that reads and writes 1 GiB of float64 in place."""
    array = np.ones(2**27)
    seconds = in_turn({"scale": lambda: _scale(array, 1.0)}, repeats)["scale"]
    return 2 * array.nbytes / middle(seconds), array


def against_numpy(d=300, count=1000):
    X, y = rows(count, d)
    seconds = in_turn({"numpy": lambda: numpy_pam(X, y), "ours": lambda: pam(X, y, "full")})
    updates, w = numpy_pam(X, y)
    difference = np.abs(pam(X, y, "full").coef_[0] - w).max()
    return [
        f"full, {d} columns",
        f"{1e6 * middle(seconds['ours']) / updates:.0f} µs per step",
        f"{ratio(seconds['numpy'], seconds['ours'])} times as fast as NumPy "
        f"({1e6 * middle(seconds['numpy']) / updates:.0f} µs); largest difference between weights "
        f"{difference:.0e}",
    ]


def against_memory(d=2000, count=100):
    X, y = rows(count, d)
    updates, _ = numpy_pam(X, y)
    per_second, array = bandwidth()
    triangle = d * (d + 1) // 2
    ideal = 2 * 8 * triangle / per_second
    part = array[:triangle]
    seconds = in_turn({"ours": lambda: pam(X, y, "full"), "sweep": lambda: _scale(part, 1.0)}, 9)
    step = [s / updates for s in seconds["ours"]]
    return [
        f"full, {d:,} columns",
        f"{1e3 * middle(step):.2f} ms per step",
        f"{ratio(step, [ideal] * len(step))} times the {1e3 * ideal:.2f} ms in which a triangle "
        f"is read and written at {per_second / 1e9:.1f} GB/s "
        f"({middle(step) / middle(seconds['sweep']):.2f} times the time of repeated sweeps over a "
        "triangle, which the cache speeds up)",
    ]


def low_rank(per_row, columns=3000, count=1000):
    X, y = rows(count, columns, per_row)
    seconds = in_turn(
        {"full": lambda: pam(X, y, "full"), "low": lambda: pam(X, y, "low-rank", count)}, 3
    )
    kind = f"{per_row} entries per row" if per_row else "dense rows"
    return [
        f"low-rank, {columns:,} columns, {count:,} rows, {kind}",
        f"{middle(seconds['low']):.2f} s",
        f"{ratio(seconds['full'], seconds['low'])} times as fast as full "
        f"({middle(seconds['full']):.2f} s)",
    ]


def diagonal():
    X, y = csr_pass.data()
    lines = []
    for shuffle in (False, True):
        options = {"fit_intercept": False, "shuffle": shuffle, "random_state": 0}

        def first(options=options):
            return PassiveAggressiveClassifier(**options).fit(X, y)

        def second(options=options):
            return AROWClassifier(covariance="diagonal", **options).fit(X, y)

        seconds = in_turn({"PA-I": first, "AROW": second}, 11)
        order = "in random order" if shuffle else "in file order"
        lines.append(
            [
                f"diagonal AROW, 200,000 rows x 1,000,000 columns, {order}",
                f"{middle(seconds['AROW']):.3f} s",
                f"{ratio(seconds['AROW'], seconds['PA-I'])} times the cost of PA-I "
                f"({middle(seconds['PA-I']):.3f} s)",
            ]
        )
    return lines


def main() -> str:
    lines = [against_numpy(), against_memory(), low_rank(60), low_rank(None), *diagonal()]
    return table(["form", "time", "ratio"], lines)


if __name__ == "__main__":
    print(main())
