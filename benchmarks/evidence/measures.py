"""By which measure to choose a model: what luck costs where few rows choose."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

import crossview as cv
from benchmarks import data
from benchmarks.harness import Table, benchmark, loaded, remembered, size
from crossview.algorithms.stacking.blend import blend_classes, log_odds
from crossview.scoring.metrics import best_threshold, measure, signed_score

SETS = data.tables("spambase", "svmguide1", "a9a", "criteo_sample", "movielens_100k", "sms_spam")
MEASURES = ("f1", "roc_auc", "average_precision", "log_loss")
BLEND = "blend of three"
LEARN, SCORE, DRAWS = size(1200, 200), 8000, size(25, 2)
# rows that choose, and how many of them are positive; None: as many as there are
CHOOSE = size(
    ((200, None), (600, None), (2000, None), (1000, 10), (2500, 25), (4000, 40)),
    ((60, None),),
)


def models(X: cv.MultiView, y: np.ndarray) -> Iterator[Any]:
    """Yield models of different kinds, some of one view alone, that have learned the rows."""
    for view in (None, *X.layout.names):
        for kind, parameters in (
            (cv.AROWClassifier, {}),
            (cv.PassiveAggressiveClassifier, {"C": 0.01}),
            (cv.MultiViewMachineClassifier, {}),
            (cv.MultiViewTreesClassifier, {"max_iter": 30}),
        ):
            if view is None or kind is not cv.MultiViewMachineClassifier:
                own = X if view is None else X.select([view])
                yield view, kind(random_state=0, **parameters).fit(own, y)


def predictions(X: Any, y: np.ndarray, options: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities of all models for rows that they did not learn, and whether each is
    positive."""
    positive = y == np.unique(y)[-1]
    if positive.mean() > 0.5:
        positive = ~positive
    order = np.random.default_rng(0).permutation(len(y))[: LEARN + 4 * SCORE]
    rows = data.Rows(X, positive, options).take(order)
    Z = rows.encoded()
    learned, others = Z[np.arange(LEARN)], Z[np.arange(LEARN, len(order))]
    found = [
        one.predict_proba(others if view is None else others.select([view]))[:, 1]
        for view, one in models(learned, rows.y[:LEARN])
    ]
    return np.array(found), rows.y[LEARN:]


def values(y: np.ndarray, p: np.ndarray, cut: float) -> list[float]:
    """Return the measures of some rows; more is better."""
    codes, odds = y.astype(int), np.log(p / (1 - p))
    both, above = np.column_stack([1 - p, p]), (p > cut).astype(int)
    return [
        signed_score(name, measure(name, codes, odds, probabilities=both, predicted=above))
        for name in MEASURES
    ]


def blended(y: np.ndarray, p: np.ndarray, first: np.ndarray, others: np.ndarray) -> list[float]:
    """Return the measures of other rows by the blend that suits the first rows best."""
    odds = np.stack([log_odds(np.column_stack([1 - one, one])) for one in p])
    blend = blend_classes(odds[:, first], y[first].astype(int))
    of_first, of_others = (
        1 / (1 + np.exp(-blend.combine(odds[blend.members][:, rows])[:, 0]))
        for rows in (first, others)
    )
    return values(y[others], of_others, best_threshold("f1", None, of_first)[0])


def regrets(X: Any, y: np.ndarray, options: dict[str, Any]) -> list[list[Any]]:
    """Return the regret of each choice in each measure, for each number of rows that choose.

    The regret is what the model that is best on the other rows has more, times 100.  The last
    choice is the blend of three.
    """
    p, positive = predictions(X, y, options)
    p, found = np.clip(p, 1e-4, 1 - 1e-4), []
    yes, no = np.flatnonzero(positive), np.flatnonzero(~positive)
    for n, few in CHOOSE:
        share = positive.mean() if few is None else few / n
        k = round(n * share)
        if n - k > len(no) // 2 or k > len(yes) // 2:
            continue
        for draw in range(DRAWS):
            rng = np.random.default_rng(draw)
            a, b = rng.permutation(yes), rng.permutation(no)
            first, rest = np.r_[a[:k], b[: n - k]], b[n - k :][:SCORE]
            others = np.r_[a[k:][: round(len(rest) * share / (1 - share))], rest]
            q = p
            if few is not None:  # probabilities of so few positive rows
                odds = np.log(p / (1 - p) * share / (1 - share) * len(no) / len(yes))
                q = np.clip(1 / (1 + np.exp(-odds)), 1e-6, 1 - 1e-6)
            cuts = [best_threshold("f1", positive[first].astype(int), one[first])[0] for one in q]
            here = np.array(
                [values(positive[first], *of) for of in zip(q[:, first], cuts, strict=True)]
            )
            there = np.array(
                [values(positive[others], *of) for of in zip(q[:, others], cuts, strict=True)]
            )
            best, chosen = there.max(axis=0), there[here.argmax(axis=0)]
            behind = 100 * (best - np.vstack([chosen, blended(positive, q, first, others)]))
            found.append([n, few, behind.tolist()])
    return found


def findings(tables: list[Table]) -> list[str]:
    """Say which choice has the least regret."""
    lines = []
    for (n, few), table in product(CHOOSE, tables):
        of = {row[0]: row for row in table.rows if row[0].endswith(kind(n, few))}
        blend = of.pop(f"{BLEND}{kind(n, few)}", None)
        least = {
            name: min(of, key=lambda row: float(of[row][table.header.index(name)])).split(",")[0]
            for name in MEASURES
            if of
        }
        words = ", ".join(f"{name} by {best}" for name, best in least.items())
        if of:
            least_of = f"Least regret of a single model{kind(n, few)}: in {words}"
            lines.append(f"{least_of}; the {BLEND} has {blend[2]} in f1." if blend else least_of)
    return lines


def kind(n: int, few: int | None) -> str:
    """Return the rows that choose, in words."""
    return f", {n:,} rows" + (f" with {few} positive" if few else "")


@benchmark("docs/reproduction.md", SETS, findings)
def measures(wanted: list[str]) -> list[Table]:
    """Regret in each measure where each one chooses."""
    found = []
    for name, (X, y, options) in loaded(SETS, wanted):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found += remembered((name,), regrets, X, np.asarray(y), options)
    table = Table(["chosen by", "draws", *MEASURES])
    for n, few in CHOOSE:
        some = [behind for rows, positive, behind in found if (rows, positive) == (n, few)]
        for at, name in enumerate((*MEASURES, BLEND)):
            if some:
                means = np.mean(some, axis=0)[at]
                table.add(f"{name}{kind(n, few)}", len(some), *(f"{one:.2f}" for one in means))
    return [table]
