"""Scaled views, bins of numbers, and numbers that are mostly 0."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score

from benchmarks import data
from benchmarks.evidence.automl import table_of
from benchmarks.harness import (
    Table,
    benchmark,
    listed,
    loaded,
    numbers,
    size,
    spread,
)
from crossview import (
    MultiView,
    ViewEncoder,
    compare,
)

FOLDS, MOST_ROWS, ROWS_OF_MANY_CLASSES = 3, size(1500, 300), size(700, 300)
LINEAR = ["pa:concatenated", "pa:squared", "arow:diagonal", "scw:diagonal"]
# these make many passes, for each class: only with two classes
MACHINES = size(["linear", "fm", "mvm"], ["linear"])


def clicks() -> data.Rows:
    """All bids that were clicked, and 2,000 that were not."""
    rows = data.bids()
    others = np.random.default_rng(0).choice(np.flatnonzero(~rows.y), 2000, replace=False)
    return rows.take(np.concatenate([np.flatnonzero(rows.y), others]))


def cora() -> data.Rows:
    """Citations and words as they are: rows of unit length have nothing to scale."""
    found = data.fetch("cora")
    return data.Rows(found.data.select(["citations", "words"]), found.target)


def counts() -> data.Rows:
    """The counts of Criteo alone."""
    rows = data.criteo()
    return data.halves(rows.X.filter(like="count__").to_numpy(), rows.y)


SCALED = data.tables("sms_spam", "spambase", "webkb_course", "criteo_sample") | {
    "ipinyou_sample": clicks,
    "cora": cora,
    **data.tables("breast-cancer", "wikipedia", "digits", "uci_mfeat"),
}
SPARSE = data.tables("webkb_course", "bbcsport", "reuters_1200", "cora")
OF_SPARSE = [*LINEAR, "logistic-regression"]
BY_AREA = ("criteo_sample", "ipinyou_sample")
BINNED = data.tables("svmguide1", "bupa", "ionosphere", "spambase", "criteo_sample")
BINNED |= {"criteo_sample": counts, **data.tables("breast-cancer")}


def values(rows: data.Rows, metric: str, models: list[str], **changed: Any) -> dict[str, list]:
    """The metric of each model over the folds."""
    if not isinstance(rows.X, MultiView):
        changed = {"hash_bits": 14, **rows.options, **changed}
    given = {"cv": FOLDS, "scoring": metric, "models": models, "encoder": ViewEncoder(**changed)}
    answer = compare(rows.X, rows.y, grid={"disagreement": [0.01, 0.1, 1.0]}, **given)
    return {row.model: row.scores for row in answer.rows}


def gains(table: Table) -> str:
    """Say how much the second number of a cell is above the first, column by column."""
    said = []
    for model in [name for name in table.header if name in (*OF_SPARSE, *MACHINES)]:
        before, after = table.column(model), table.column(model, 1)
        gap = {name: after[name] - before[name] for name in after}
        if gap:
            best = max(gap, key=gap.__getitem__)
            low = min(gap, key=gap.__getitem__)
            said.append(
                f"{model} {np.mean([*gap.values()]):+.1f} on average ({gap[low]:+.1f} on {low} to "
                f"{gap[best]:+.1f} on {best})"
            )
    return "; ".join(said)


def of_scaled(tables: list[Table]) -> list[str]:
    """Say what scaled views gain, and where a model is behind the best view alone."""
    (main,) = tables
    lines = []
    if main.rows:
        lines.append(f"Scaling the views gains {gains(main)}.")
        alone = main.column("best view alone")
        for place, when in enumerate(("before", "after")):
            best = {
                row[0]: max(n[place] for c in row[2:] if (n := numbers(c))) for row in main.rows
            }
            behind = [name for name in alone if best[name] < alone[name]]
            lines.append(f"All models are behind the best view alone, {when}: {listed(behind)}.")
    return lines


@benchmark("docs/reproduction.md", SCALED, of_scaled)
def scaled_views(wanted: list[str]) -> list[Table]:
    """A row per set: the best view alone, and each model on plain and on scaled views."""
    main = Table(["set", "best view alone", *LINEAR, *MACHINES])
    for name, whole in loaded(SCALED, wanted):
        metric = "roc_auc" if name in BY_AREA else "f1"
        many = len(np.unique(whole.y)) > 2
        models = LINEAR if many else [*LINEAR, *MACHINES]
        rows = whole.some(ROWS_OF_MANY_CLASSES if many else MOST_ROWS)
        alone = [f"view:{v}" for v in rows.views()]
        plain = values(rows, metric, [*alone, *models], scale_views=False)
        scaled = values(rows, metric, models)
        best = max((plain[v] for v in alone), key=np.mean)
        cells = [f"{100 * np.mean(plain[m]):.1f} → {spread(scaled[m])}" for m in models]
        cells += [""] * (len(LINEAR) + len(MACHINES) - len(models))
        main.add(f"{name} ({metric})", spread(best), *cells)
    return [main]


def of_bins(tables: list[Table]) -> list[str]:
    """Say what bins gain, and how far the best model is from gradient boosting."""
    (table,) = tables
    theirs, said = table.column("gradient boosting"), []
    for place, words in ((0, "without bins"), (1, "with bins")):
        best = {name: max(table.column(m, place)[name] for m in LINEAR) for name in theirs}
        gaps = listed(f"{name} ({best[name] - theirs[name]:+.1f})" for name in theirs)
        said.append(f"The best model {words} minus gradient boosting: {gaps}.")
    return [f"Bins gain {gains(table)}.", *said]


@benchmark("docs/reproduction.md", BINNED, of_bins)
def bins(wanted: list[str]) -> list[Table]:
    """A row per set: each linear model without and with bins, and gradient boosting."""
    table = Table(["set", *LINEAR, "gradient boosting"])
    for name, rows in loaded(BINNED, wanted):
        rows = rows.some(MOST_ROWS)
        plain, binned = (values(rows, "roc_auc", LINEAR, **how) for how in ({}, {"bins": 10}))
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        trees = HistGradientBoostingClassifier(random_state=0)
        theirs = cross_val_score(trees, rows.X.to_numpy(), rows.y, cv=folds, scoring="roc_auc")
        cells = [f"{100 * np.mean(plain[m]):.1f} → {spread(binned[m])}" for m in LINEAR]
        table.add(f"{name} (roc_auc)", *cells, spread(theirs))
    return [table]


def of_sparse(tables: list[Table]) -> list[str]:
    """Say what zeros that stay gain."""
    return [f"Columns that keep their zeros gain {gains(tables[0])}."]


@benchmark("docs/reproduction.md", SPARSE, of_sparse)
def sparse_columns(wanted: list[str]) -> list[Table]:
    """A row per set: each linear model on standardized numbers and on sparse ones."""
    table = Table(["set", *OF_SPARSE])
    for name, whole in loaded(SPARSE, wanted):
        rows = whole.some(ROWS_OF_MANY_CLASSES)
        frame = table_of(rows.X, rows.y).drop(columns="y")
        plain, sparse = (
            values(data.Rows(frame, rows.y), "f1", OF_SPARSE, **how) for how in ({"sparse": []}, {})
        )
        cells = [f"{100 * np.mean(plain[m]):.1f} → {spread(sparse[m])}" for m in OF_SPARSE]
        table.add(f"{name} (f1)", *cells)
    return [table]
