"""What a penalty on the disagreement of views is worth in one pass of coupled PA."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from benchmarks.data import Rows, tables
from benchmarks.harness import Table, benchmark, listed, loaded, mean_and_error, size
from crossview import MultiViewPAClassifier

SETS = tables(
    *("webkb_course", "internet_ads", "cora", "bbcsport", "reuters_1200", "movies", "msrc_v5"),
    *("uci_mfeat", "breast-cancer", "spambase", "sms_spam", "a9a"),
    *("svmguide1", "ionosphere", "bupa"),
)
MOST_ROWS, SEEDS, FOLDS = size((2500, 2, 5), (300, 1, 3))
NONE, DEFAULT = "0", "0.01"
COUPLED = {f"{g:g}": MultiViewPAClassifier(disagreement=g) for g in (0.0, 0.01, 0.1, 1.0, 10.0)}
PAPER = MultiViewPAClassifier(coupling="absolute", disagreement=0.5, update="exact")
MODELS = COUPLED | {
    "γ = 0.5, exact": PAPER,
    "0.01, absolute": MultiViewPAClassifier(coupling="absolute"),
    "0.01, averaged": MultiViewPAClassifier(average=True),
    "independent": MultiViewPAClassifier(coupling="independent"),
}


def accuracies(rows: Rows, C: float) -> dict[str, np.ndarray]:
    """Return the accuracy of each model on each fold, in percent, after one pass."""
    X, y = rows.encoded(bins=None), np.unique(rows.y, return_inverse=True)[1]
    found: dict[str, list[float]] = {name: [] for name in MODELS}
    for seed in range(SEEDS):
        for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(y, y):
            for name, model in MODELS.items():
                own = clone(model).set_params(C=C, random_state=seed)
                found[name].append(100.0 * own.fit(X[train], y[train]).score(X[test], y[test]))
    return {name: np.array(values) for name, values in found.items()}


def findings(found: list[Table]) -> list[str]:
    """Say where a penalty costs, and where it helps."""
    lines = []
    for table in found:
        default = table.column(DEFAULT)
        costs = [f"{name} ({gap:+.1f})" for name, gap in default.items() if gap < -0.3]
        lines.append(f"{table.title}: {DEFAULT} costs more than 0.3 on {listed(costs)}.")
        for name in (*table.header[4:],):
            gaps = table.column(name)
            best, worst = (pick(gaps, key=gaps.__getitem__) for pick in (max, min))
            span = f"{gaps[worst]:+.1f} ({worst}) to {gaps[best]:+.1f} ({best})"
            lines.append(f"{table.title}, {name}: {span}.")
    return lines


@benchmark("docs/papers/two-view.md", SETS, findings)
def coupled(wanted: list[str]) -> list[Table]:
    """Accuracy, and differences: a row per set; a table per C."""
    made = [Table(["set", "rows", *MODELS], title=f"C = {C:g}") for C in (0.1, 1.0)]
    for name, rows in loaded(SETS, wanted):
        rows = rows.some(MOST_ROWS)
        for table, C in zip(made, (0.1, 1.0), strict=True):
            found = accuracies(rows, C)
            gaps = (mean_and_error(found[m] - found[NONE]) for m in MODELS if m != NONE)
            table.add(name, f"{len(rows.y):,}", f"{found[NONE].mean():.1f}", *gaps)
    return made
