"""The tests by which `compare` chooses folds: false alarms, and what they find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import data
from benchmarks.harness import Table, benchmark, listed, loaded, size
from crossview import ViewEncoder
from crossview.data.labeled_source import open_labeled
from crossview.scoring.neighbors import NeighborTest, SplitFinding, find_split
from crossview.scoring.problems import make_problem
from crossview.scoring.specification import Scoring

# permuted tables, and tables that are drawn anew
PERMUTED, DRAWN = size(200, 2), size(20, 2)
ROWS = 2000
USERS, VISITS = 400, 10
FALSE = ["table", "draws", "order alarm", "order test", "columns", "group test"]
POWER = ["table", "draws", "by order", "by groups", "random folds say", "new rows"]


def find(rows: data.Rows, *, always: bool = False) -> SplitFinding:
    """Return what the tests find in some rows."""
    source = open_labeled(rows.X, rows.y, encoder=ViewEncoder(**rows.options))
    scoring = Scoring()
    problem = make_problem("classification", source.classes, scoring, class_rows=source.class_rows)
    return find_split(source, problem, always=always)


def users(seed: int, *, of_user: bool) -> data.Rows:
    """400 users with 10 rows each; the label is that of the user, or of the row.

    The column ``user_id`` is in no view.
    """
    rng = np.random.default_rng(seed)
    user = rng.permutation(np.repeat(np.arange(USERS), VISITS))
    profile = rng.normal(size=(USERS, 6))
    taste = profile[:, 0] + 2.0 * rng.normal(size=USERS)
    x = profile[user] + 0.3 * rng.normal(size=(len(user), 6))
    visit = rng.normal(size=(len(user), 6))
    score = taste[user] if of_user else x[:, 0] + visit[:, 0] + 1.5 * rng.normal(size=len(user))
    columns = {f"profile__{j}": x[:, j] for j in range(6)}
    columns |= {f"visit__{j}": visit[:, j] for j in range(6)}
    columns["user_id"] = np.array([f"u{i}" for i in user], dtype=object)
    views = {"views": {"profile": "profile__*", "visit": "visit__*"}}
    return data.Rows(pd.DataFrame(columns), score > 0.0, views)


def drifting(seed: int) -> data.Rows:
    """6,000 rows in the order of time: two levels wander, and the label follows them."""
    rng = np.random.default_rng(seed)
    levels = np.cumsum(0.1 * rng.normal(size=(6000, 2)), axis=0)
    day = np.sin(np.arange(6000) * 2.0 * np.pi / 48)
    score = day + np.sin(2.0 * levels[:, 0]) + np.cos(2.0 * levels[:, 1])
    score += 0.5 * rng.normal(size=6000)
    seen = np.column_stack([day, levels]) + [0.3, 0.1, 0.1] * rng.normal(size=(6000, 3))
    frame = pd.DataFrame(seen, columns=["day__a", "level__a", "level__b"])
    return data.Rows(frame, score > np.median(score))


def ratings() -> data.Rows:
    """100,000 ratings in the order of time, with the columns of users and films."""
    found = data.fetch("movielens_100k")
    frame = found.data.to_pandas()
    order = np.argsort(frame["time"].to_numpy(), kind="stable")
    frame = frame.iloc[order].reset_index(drop=True)
    views = {"user": "user__*", "item": "item__*"}  # the time is in none
    return data.Rows(frame, (found.target >= 4)[order], {"views": views})


REAL: dict[str, Callable[[], data.Rows]] = {
    "movielens_100k": ratings,
    **data.tables("spambase", "criteo_sample", "ipinyou_sample", "a9a", "sms_spam", "svmguide1"),
}
SYNTHETIC: dict[str, Callable[[int], data.Rows]] = {
    "label of the user": lambda seed: users(seed, of_user=True),
    "label of the row": lambda seed: users(seed, of_user=False),
    "wandering levels": drifting,
}


def permuted(rows: data.Rows, seed: int) -> data.Rows:
    """Rows in random order, each with the label of another one, and in random groups."""
    rng = np.random.default_rng(seed)
    some = rows.take(rng.permutation(len(rows.y))[:ROWS])
    labels = rng.permutation(some.y)
    if not isinstance(some.X, pd.DataFrame):
        return data.Rows(some.X, labels, some.options)
    views = some.options.get("views") or {v: f"{v}__*" for v in rows.views()}
    of_users = rng.integers(0, ROWS // 10, len(labels))
    columns = {"user_id": of_users, "shop": rng.integers(0, 60, len(labels))}
    frame = some.X.drop(columns="user_id", errors="ignore").reset_index(drop=True)
    return data.Rows(frame.assign(**columns), labels, {**some.options, "views": views})


def by_kind(found: list[SplitFinding]) -> tuple[list[NeighborTest], list[NeighborTest]]:
    """Return all tests of an order, and all of columns."""
    tests = [test for one in found for test in one.tests]
    return [t for t in tests if t.column is None], [t for t in tests if t.column is not None]


def alarms(tests: list[Any]) -> str:
    return f"{sum(one.matters for one in tests)} of {len(tests)}"


def findings(tables: list[Table]) -> list[str]:
    """Say how often the tests are wrong, and what they find."""
    false, power = tables
    order, alarm = false.column("order test"), false.column("order alarm")
    draws, groups = false.column("draws"), false.column("group test")
    tried, forward = (sum(false.column(k, 1).values()) for k in ("group test", "order test"))
    share = 100 * sum(groups.values()) / max(1, tried)
    by_order = [k for k, n in power.column("by order").items() if n]
    by_groups = [k for k, n in power.column("by groups").items() if n]
    return [
        f"Of {sum(draws.values()):.0f} permuted tables {sum(alarm.values()):.0f} have an order "
        f"alarm. Without it, {sum(order.values()):.0f} of {forward:.0f} tests of the order would "
        f"be false alarms, and {sum(groups.values()):.0f} of {tried:.0f} tests of columns with "
        f"random groups are ({share:.1f} %).",
        f"Folds are in order on {listed(by_order)}, and by groups on {listed(by_groups)}, in some "
        "draw at least.",
    ]


@benchmark("docs/reproduction.md", REAL, findings)
def splits(wanted: list[str]) -> list[Table]:
    """False alarms on permuted rows, and what is found on rows as they are."""
    false, power = Table(FALSE, title="Permuted rows"), Table(POWER, title="Rows as they are")
    made = {} if wanted else {name: [f(s) for s in range(DRAWN)] for name, f in SYNTHETIC.items()}
    real = {name: [rows] for name, rows in loaded(REAL, wanted)}
    for name, draws in (real | made).items():
        each = PERMUTED // len(REAL | SYNTHETIC)
        found = [find(permuted(draws[s % len(draws)], s), always=True) for s in range(max(1, each))]
        order, groups = by_kind(found)
        alarmed = sum(one.order_alarm for one in found)
        columns = f"{len(groups) / len(found):.1f}"
        false.add(name, len(found), alarmed, alarms(order), columns, alarms(groups))
        found = [find(rows) for rows in draws]
        order, groups = by_kind(found)
        chosen = [one.choice for one in found if one.choice is not None]
        value = {
            side: f"{chosen[0].metric} {np.mean([getattr(c, side) for c in chosen]):.3f}"
            for side in (("near", "apart") if chosen else ())
        }
        power.add(
            *(name, len(draws), alarms(order), alarms(groups)),
            value.get("near", "sorted by label" if found[0].sorted_by_label else ""),
            value.get("apart", ""),
        )
    return [false, power]
