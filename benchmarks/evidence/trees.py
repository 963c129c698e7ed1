"""What boosted trees gain where each split chooses among some of the features."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.metrics import log_loss

from benchmarks import data
from benchmarks.harness import Table, benchmark, listed, loaded, size
from crossview import MultiView, MultiViewTreesClassifier

DRAWS, LEARN, SCORE = size(4, 1), size(2400, 300), size(5600, 300)
SHARES = (1.0, 0.5, 0.2, 0.1)


def products() -> data.Rows:
    """4,000 rows of 20 normal numbers; the class is the sign of the product of two of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 20))
    return data.Rows(MultiView({"a": X[:, :10], "b": X[:, 10:]}), X[:, 0] * X[:, 1] > 0.0)


def friedman() -> data.Rows:
    """4,000 rows of 50 numbers, of which five matter; the class is whether a sum is high."""
    X, y = make_friedman1(4000, n_features=50, noise=1.0, random_state=0)
    return data.Rows(MultiView({"a": X[:, :25], "b": X[:, 25:]}), y > np.median(y))


SETS = data.tables(
    *("svmguide1", "ionosphere", "bupa", "breast-cancer", "spambase", "internet_ads"),
    *("webkb_course", "sms_spam", "criteo_sample", "a9a", "movielens_100k"),
    *("digits", "uci_mfeat", "wikipedia", "bbcsport", "movies"),
) | {"sign of a product": products, "five of 50 numbers": friedman}


def findings(tables: list[Table]) -> list[str]:
    """Count the sets on which the default is ahead of all features, and name the others."""
    (table,) = tables
    whole, share = table.column(str(SHARES[0])), table.column("0.2")
    gain = {name: 100.0 * (1.0 - share[name] / whole[name]) for name in whole}
    behind = [f"{name} ({-g:.0f} %)" for name, g in gain.items() if g < -1.0]
    ahead = sum(g > 1.0 for g in gain.values())
    return [
        f"With 0.2 the log loss is lower by more than 1 % on {ahead} of {len(gain)} sets, "
        f"in the median by {np.median(list(gain.values())):.0f} %; higher on {listed(behind)}."
    ]


@benchmark("docs/papers/trees.md", SETS, findings)
def trees(wanted: list[str]) -> list[Table]:
    """Log loss on other rows, by the share of the features."""
    table = Table(["set", *map(str, SHARES)])
    for name, rows in loaded(SETS, wanted):
        losses = []
        for draw in range(DRAWS):
            seen, new = rows.draw(draw, LEARN, SCORE, 3 / 4)
            models = [
                MultiViewTreesClassifier(max_features=share, random_state=draw).fit(seen.X, seen.y)
                for share in SHARES
            ]
            losses.append([log_loss(new.y, one.predict_proba(new.X)) for one in models])
        table.add(name, *(f"{loss:.4f}" for loss in np.mean(losses, axis=0)))
    return [table]
