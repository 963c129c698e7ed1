"""What `compare` answers by default, and how models of scikit-learn do on the same folds."""

from __future__ import annotations

import numpy as np

import crossview
from benchmarks import data
from benchmarks.harness import Table, benchmark, listed, loaded, numbers, size
from crossview.baselines import baselines
from crossview.comparing.result.ranking import ComparisonRow

SETS = data.tables(
    *("webkb_course", "internet_ads", "uci_mfeat", "breast-cancer", "digits", "bbcsport"),
    *("reuters_1200", "movies", "cora", "msrc_v5", "wikipedia", "100leaves", "sms_spam"),
    *("criteo_sample", "a9a", "ipinyou_sample", "movielens_100k"),
)
BASELINES = [entry.name for entry in baselines()]
SHORT = [name.removeprefix("baseline:") for name in BASELINES]


def cell(row: ComparisonRow | None) -> str:
    """The value of a model; bold: level with the best one."""
    value = "left out" if row is None else f"{100 * row.value:.1f}"
    return f"**{value}**" if row is not None and row.equal else value


def findings(tables: list[Table]) -> list[str]:
    """Say how long it takes, and who is ahead on which sets."""
    (table,) = tables
    ours = table.column("best of ours", -1)
    theirs = {row[0]: max((numbers(c) or [0.0])[-1] for c in row[5:9]) for row in table.rows}
    lead = {name: ours[name] - theirs[name] for name in ours}
    promised = table.column("recommended", -1)
    seconds = table.column("s")
    late = [f"{name} ({s:.0f} s)" for name, s in seconds.items() if s > 60]

    def named(low: float, high: float) -> str:
        return listed(f"{n} ({gap:+.1f})" for n, gap in lead.items() if low <= gap < high)

    left = table.column("left out")
    baselines = [r for r in table.words("recommended").items() if r[1].split()[0] in BASELINES]
    return [
        f"It takes more than a minute on {listed(late)}. At most one model is left out on "
        f"{sum(n <= 1 for n in left.values())} of {len(left)} sets.",
        f"The best model of this package is ahead of every baseline by a point or more on "
        f"{named(1.0, np.inf)}; by less on {named(0.05, 1.0)}.",
        f"A baseline is ahead by less than a point on {named(-1.0, -0.05)}, and by more on "
        f"{named(-np.inf, -1.0)}. A baseline is recommended on "
        f"{listed(name for name, _ in baselines)}.",
        f"What is recommended is below the best single model of this package by a point or more on "
        f"{listed(name for name in ours if promised[name] <= ours[name] - 1.0)}.",
    ]


@benchmark("docs/reproduction.md", SETS, findings)
def compare(wanted: list[str]) -> list[Table]:
    """A row per set: the recommended model, and the best one of each kind."""
    header = ["set", "rows x views", "s", "recommended", "best of ours", *SHORT]
    table = Table([*header, "left out"])
    for name, (X, y, options) in loaded(SETS, wanted):
        scoring = crossview.Scoring(positive=True if y.dtype == bool else None)
        given = {"encoder": crossview.ViewEncoder(**options), "scoring": scoring}
        answer = crossview.compare(X, y, budget=size(60.0, 5.0), n_jobs=-1, **given)
        by_name = {row.model: row for row in answer.rows}
        ours = next(row for row in answer.rows if not (row.baseline or row.members))
        best = answer.recommended
        missed = {one.model for one in answer.left_out if one.what.startswith("not compared")}
        table.add(
            *(name, f"{answer.n_rows:,} x {len(answer.views)}", f"{answer.seconds:.0f}"),
            f"{best.model} {100 * best.value:.1f}",
            *(f"{ours.model} {cell(ours)}", *(cell(by_name.get(m)) for m in BASELINES)),
            len(missed),
        )
    return [table]
