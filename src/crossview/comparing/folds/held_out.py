"""Diagnostics of a comparison by folds: the scores of rows that were held out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from crossview.comparing.folds.parts import Data
from crossview.comparing.folds.splits import FoldRows
from crossview.comparing.folds.work import FoldScore
from crossview.comparing.run import Run
from crossview.data.labeled_source import take_rows
from crossview.scoring.collector import DiagnosticsCollector, cells_of_row
from crossview.scoring.diagnostics import Diagnostics, ScoredRows, ViewNumbers, n_sampled
from crossview.scoring.weights import ColumnNames

# rows that show an encoder what is usual in a column
ROWS_TO_ENCODE = 1000
# log odds of a model that are blended
PREDICTIONS = 200_000


def sample_rows(run: Run, n_rows: int, n_views: int) -> tuple[np.ndarray, np.ndarray]:
    """Return masks of the labeled rows for pictures and for the ensemble, by the seed of the run.

    n_rows, n_views: labeled rows, and views.
    Returns sampled (n_rows,): at most 20,000, fewer with many classes; blended (n_rows,): these,
      and more: at most 200,000 by the number of classes.
    """
    K = len(run.problem.classes)
    order = np.random.default_rng(run.seed).permutation(n_rows)
    masks = []
    for most in (n_sampled(K, n_views), PREDICTIONS // max(1, K - 1)):
        mask = np.zeros(n_rows, dtype=bool)
        mask[order[:most]] = True
        masks.append(mask)
    sampled, blended = masks
    return sampled, sampled | blended


def diagnose(
    run: Run,
    data: Data,
    scores: Mapping[str, Mapping[int, FoldScore]],
    models: Sequence[str],
    views: list[ViewNumbers],
) -> Diagnostics:
    """Return the diagnostics of a recommended model.

    scores: by model and fold; rows of an earlier comparison have none.
    models: the recommended one, then all of them, the best first.
    views: the views of the training rows of the first fold.
    Returns: without curves, which a comparison in stream order has.
    """
    found = Diagnostics(models[0], views, "the training rows of the first fold")
    if K := len(run.problem.classes):
        found.class_rows = np.bincount(run.problem.encode(data.y), minlength=K).tolist()
    mine = scores.get(found.model, {})
    found.scored = join_folds(data.splits, mine)
    found.experts = mine[0].experts if 0 in mine else None
    for model in models:
        kept = join_folds(data.splits, scores.get(model, {}))
        if kept is not None and kept.view_scores is not None:
            found.view_model, found.by_view = model, kept
            collector = DiagnosticsCollector(run.problem, data.layout.names)
            collector.add_scored(kept, _cells_of(data, data.labeled[kept.rows].tolist()))
            found.differing = collector.differing
            break
    return found


def _cells_of(data: Data, at: list[int]) -> Callable[[int], tuple[int, dict[str, str | None]]]:
    """Return a function that gives the place of a kept row in the source, and some of its cells."""
    encoder = data.encoder
    encodes = bool(ColumnNames(encoder).columns)
    if encodes:  # says which columns of a row stand out
        some = np.linspace(0, len(data.X) - 1, min(len(data.X), ROWS_TO_ENCODE)).astype(np.intp)
        encoder = clone(encoder).fit(take_rows(data.X, some))
    names = ColumnNames(encoder, getattr(data.X, "feature_names", None))

    def look_up(i: int) -> tuple[int, dict[str, str | None]]:
        encoded = encoder.transform(take_rows(data.X, np.array([at[i]]))) if encodes else None
        return at[i], cells_of_row(data.X, at[i], names, encoded)

    return look_up


def join_folds(splits: Sequence[FoldRows], scores: Mapping[int, FoldScore]) -> ScoredRows | None:
    """Return the kept rows of all folds, each row once, in their order."""
    parts, places = [], []
    seen: set[int] = set()
    for f, score in sorted(scores.items()):
        test = splits[f].test
        if score.kept is None or not seen.isdisjoint(test[:1].tolist()):
            break  # the folds of a repetition have the same rows
        seen.update(test.tolist())
        parts.append(score.kept)
        places.append(test[score.kept.rows])
    if not parts or not sum(map(len, places)):
        return None
    rows = np.concatenate(places)
    order = np.argsort(rows, kind="stable")
    joined: dict[str, Any] = {"rows": rows[order]}
    for one in dataclasses.fields(ScoredRows):
        arrays = [getattr(part, one.name) for part in parts]
        if one.name not in joined and one.name != "learned":
            is_there = all(array is not None for array in arrays)
            joined[one.name] = np.concatenate(arrays)[order] if is_there else None
    return ScoredRows(**joined)
