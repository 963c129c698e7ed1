"""The section of docs/reproduction.md on the answer of `compare`.

python benchmarks/reproduction.py --only compare
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import labeled_streams
import reproduction_intercept
import reproduction_thresholds
from crossview import MultiView, Scoring, compare
from crossview.baselines import baselines
from crossview.comparing.comparison import Comparison, ComparisonRow
from harness import table

BASELINES = [entry.name for entry in baselines()]


def say(*words: object) -> None:
    print(*words, file=sys.stderr, flush=True)


def plain(make: Callable[[], tuple[Any, np.ndarray]]) -> Callable[[], tuple]:
    """The same, without options."""
    return lambda: (*make(), {})


def two_views_of_a9a() -> tuple[MultiView, np.ndarray]:
    """32,561 people: two halves of 123 binary columns."""
    return reproduction_intercept.a9a()


OWN: dict[str, Callable[[], tuple]] = {
    "sms_spam": reproduction_thresholds.sms,
    "criteo_sample": reproduction_thresholds.criteo,
    "ipinyou_sample": reproduction_thresholds.ipinyou,
    "movielens_100k": plain(labeled_streams.movielens),
    "a9a": plain(two_views_of_a9a),
}


def measured(X: Any, y: np.ndarray, **options: Any) -> Comparison:
    """The default comparison, on all cores."""
    positive = True if y.dtype == bool else None
    return compare(X, y, scoring=Scoring(positive=positive), n_jobs=-1, **options)


def line(name: str, shape: str, answer: Comparison) -> list[str]:
    """The recommended model, and the best one of each kind."""

    def cell(row: ComparisonRow | None) -> str:
        if row is None:
            return "left out"
        value = f"{100 * row.value:.1f}"
        return f"**{value}**" if row.equal else value

    by_name = {row.model: row for row in answer.rows}
    ours = next(row for row in answer.rows if not row.baseline)
    followed = answer.followed
    assert followed is not None
    low, high = (100 * end for end in followed.interval)
    return [
        name,
        shape,
        f"{answer.seconds:.0f}",
        f"{answer.recommended.model} {100 * answer.recommended.value:.1f}",
        f"{100 * followed.value:.1f} ({low:.1f} to {high:.1f})",
        f"{ours.model} {cell(ours)}",
        *(cell(by_name.get(model)) for model in BASELINES),
        str(len({one.model for one in answer.left_out if one.what.startswith("not compared")})),
    ]


def section(names: list[str], sets: dict[str, Callable[[], tuple]]) -> str:
    """Return the section for some data sets."""
    makers = OWN | {name: plain(make) for name, make in sets.items() if name not in OWN}
    rows, absent = [], []
    for name in names:
        if name not in makers:
            continue
        try:
            X, y, options = makers[name]()
        except (pytest.skip.Exception, pytest.fail.Exception) as reason:
            absent.append(f"- {name}: {reason}")
            continue
        start = time.perf_counter()
        answer = measured(X, y, **options)
        shape = f"{answer.n_rows:,} x {len(answer.views)}"
        rows.append(line(name, shape, answer))
        say(*rows[-1], f"{time.perf_counter() - start:.0f} s")
    header = ["set", "rows x views", "s", "recommended", "following the answer", "best of ours"]
    header += [model.partition(":")[2] for model in BASELINES] + ["left out"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return "\n\n".join(
        [
            TEXT,
            table(header, rows),
            f"{os.cpu_count()} cores; peak memory {peak:,.0f} MB, and of the largest worker "
            f"{workers:,.0f} MB.",
            *(["Left out:\n\n" + "\n".join(absent)] if absent else []),
        ]
    )


TEXT = """## The answer of compare

How long does `crossview compare` take by default, what does it recommend, and how do models of
scikit-learn do on the same folds?

Command: `python benchmarks/reproduction.py --only compare`

Nothing is tuned for a set: the default budget of 60 s, 5 folds, F1 (of the positive class; with
more classes the mean over them), all cores. The table has the seconds by the clock, the
recommended model, what it gives to follow the answer (the model itself chosen anew in each
training part, 95 % interval), the best model of this package, and the baselines. Bold: not worse
than the best model of the table by more than 0.01. "Left out" counts the models that the budget
did not allow."""
