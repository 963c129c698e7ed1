"""One pass over a CSR matrix: against scikit-learn's PA-I, and two coupled views against one.

200,000 rows, 1,000,000 columns, 100 entries per row; every call is a whole `fit`,
input validation included.
"""

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

from crossview import MultiViewPAClassifier, PassiveAggressiveClassifier
from harness import in_turn, middle, ratio, table

ROWS, COLUMNS, PER_ROW = 200_000, 1_000_000, 100


def data():
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, COLUMNS, (ROWS, PER_ROW), dtype=np.int32), axis=1)
    X = sp.csr_array(
        (
            np.full(ROWS * PER_ROW, PER_ROW**-0.5),
            columns.ravel(),
            np.arange(ROWS + 1, dtype=np.int32) * PER_ROW,
        ),
        shape=(ROWS, COLUMNS),
    )
    X.sum_duplicates()
    truth = rng.normal(size=COLUMNS)
    return X, (X @ truth + 0.3 * rng.normal(size=ROWS) > 0).astype(int)


def main() -> str:
    warnings.filterwarnings("ignore")
    X, y = data()
    parts = []
    for shuffle in (False, True):
        half = [COLUMNS // 2, COLUMNS // 2]

        def ours(coupling=None, shuffle=shuffle, half=half):
            options = {"C": 1.0, "fit_intercept": False, "shuffle": shuffle, "random_state": 0}
            if coupling is None:
                return PassiveAggressiveClassifier(**options).fit(X, y)
            return MultiViewPAClassifier(half, coupling=coupling, **options).fit(X, y)

        def peer(shuffle=shuffle):
            return SGDClassifier(
                loss="hinge",
                penalty=None,
                learning_rate="pa1",
                eta0=1.0,
                fit_intercept=False,
                shuffle=shuffle,
                max_iter=1,
                tol=None,
                random_state=0,
            ).fit(X, y)

        if not shuffle:
            difference = np.abs(peer().coef_ - ours().coef_).max()
        seconds = in_turn(
            {
                "peer": peer,
                "ours": ours,
                "concatenated": lambda: ours("concatenated"),
                "squared": lambda: ours("squared"),
                "absolute": lambda: ours("absolute"),
                "independent": lambda: ours("independent"),
            },
            repeats=11,
        )
        s = seconds
        rows = [
            [
                "`PassiveAggressiveClassifier`",
                f"{middle(s['ours']):.3f}",
                f"{ratio(s['peer'], s['ours'])} times as fast as `SGDClassifier` "
                f"({middle(s['peer']):.3f} s)",
            ]
        ]
        rows += [
            [
                f"two views, {name}",
                f"{middle(s[name]):.3f}",
                f"{ratio(s[name], s['concatenated'])} times the cost of the concatenation "
                f"({middle(s['concatenated']):.3f} s)",
            ]
            for name in ("squared", "absolute", "independent")
        ]
        order = "rows in random order (`shuffle=True`)" if shuffle else "rows in file order"
        parts.append(f"**{order}**\n\n" + table(["learner", "seconds", "ratio"], rows))
    note = (
        f"The largest difference between our weights and scikit-learn's is {difference:.0e}: "
        "the same work was done."
    )
    return "\n\n".join([*parts, note])


if __name__ == "__main__":
    print(main())
