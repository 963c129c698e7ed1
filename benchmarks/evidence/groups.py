"""Several rows per user: what a fit holds out is rows one by one, or whole users."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.evidence.splits import USERS, VISITS, users
from benchmarks.harness import Table, benchmark, listed, size
from crossview import train

DRAWS = size(10, 1)
LEARN = 3 * USERS // 4
MODELS = {
    "boosted trees": "trees",
    "extra-trees": "extra-trees",
    "kernel ridge": "kernel-ridge",
    "passive-aggressive, coupled": "pa:squared",
    "late fusion": "late-fusion",
}
HEADER = ["model", "rows one by one", "whole users", "gain"]


def losses(seed: int, model: str) -> list[float]:
    """Return the log loss on the rows of users that were not learned: by rows, by users."""
    rows = users(seed, of_user=True)
    table = rows.X.assign(label=np.where(rows.y, "yes", "no"))
    of_learned = {f"u{i}" for i in np.random.default_rng(seed).permutation(USERS)[:LEARN]}
    learned = table["user_id"].isin(of_learned)
    given = {"views": rows.options["views"], "model": model, "seed": seed}
    found = []
    for groups in (None, "user_id"):
        fitted = train(table[learned], "label", groups=groups, **given).fitted
        new = table[~learned]
        found.append(log_loss(new["label"], fitted.predict_proba(new)))
    return found


def findings(tables: list[Table]) -> list[str]:
    """Name the models that gain more than two standard errors, and those that lose it."""
    (table,) = tables
    ahead, behind, _ = table.sides("gain", 2.0)
    return [
        f"By more than two standard errors better by whole users: {listed(ahead)}; "
        f"worse: {listed(behind)}."
    ]


@benchmark("docs/reproduction.md", findings=findings)
def groups() -> list[Table]:
    """Log loss on new users, mean over draws; gain with its standard error."""
    table = Table(HEADER, title=f"{LEARN} users with {VISITS} rows each")
    for name, model in MODELS.items():
        by_rows, by_users = np.transpose([losses(seed, model) for seed in range(DRAWS)])
        gain = by_rows - by_users
        error = gain.std(ddof=1) / np.sqrt(DRAWS) if DRAWS > 1 else 0.0
        means = (f"{one.mean():.3f}" for one in (by_rows, by_users))
        table.add(name, *means, f"{gain.mean():.3f} ± {error:.3f}")
    return [table]
