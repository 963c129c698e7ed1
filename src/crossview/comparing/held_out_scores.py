"""What a comparison by folds keeps for pictures: the scores of rows that were held out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from crossview.data.labeled_source import take_rows
from crossview.scoring.diagnostics import (
    Diagnostics,
    DifferingRow,
    ScoredRows,
    most_differing,
    n_sampled,
)
from crossview.scoring.row_values import cells_of_row, columns_of
from crossview.scoring.weights import ColumnNames

if TYPE_CHECKING:  # training needs one function of this module, and nothing of comparing
    from crossview.comparing.folds.parts import Data
    from crossview.comparing.folds.splits import FoldRows
    from crossview.comparing.folds.work import FoldScore
    from crossview.comparing.run import Run

__all__ = [
    "differing_rows",
    "join_folds",
    "keep",
    "sample_rows",
]


# rows that show an encoder what is usual in a column
ROWS_TO_ENCODE = 1000


def sample_rows(run: Run, n_rows: int, n_views: int) -> np.ndarray:
    """Return which labeled rows are in the sample, by the seed of the run.

    Parameters
    ----------
    run : Run
        What is compared.
    n_rows, n_views : int
        Labeled rows, and views.

    Returns
    -------
    sampled : ndarray of bool of shape (n_rows,)
        At most 20,000, fewer with many classes.
    """
    most, sampled = n_sampled(len(run.task.classes), n_views), np.zeros(n_rows, dtype=bool)
    if n_rows <= most:
        return ~sampled
    sampled[np.random.default_rng(run.seed).choice(n_rows, most, replace=False)] = True
    return sampled


def keep(
    run: Run,
    data: Data,
    splits: Sequence[FoldRows],
    scores: Mapping[str, Mapping[int, FoldScore]],
    models: Sequence[str],
    about: Mapping[str, Any],
) -> Diagnostics:
    """Return what a comparison keeps of its recommended model.

    Parameters
    ----------
    run : Run
        What was compared.
    data : Data
        All rows.
    splits : list of FoldRows
        The folds.
    scores : mapping of str to mapping of int to FoldScore
        By model and fold; rows of an earlier comparison have none.
    models : sequence of str
        All of them, the best first.
    about : mapping of str to value
        ``model``, the recommended one, ``views`` and ``views_of``.

    Returns
    -------
    Diagnostics
        Without curves, which a comparison in stream order has.
    """
    found = Diagnostics(**about)
    K = len(run.task.classes)
    if K:
        found.class_rows = np.bincount(run.task.encode(data.y), minlength=K).tolist()
    mine = scores.get(found.model, {})
    found.scored = join_folds(splits, mine)
    found.experts = mine[0].experts if 0 in mine else None
    for model in (found.model, *models):
        kept = join_folds(splits, scores.get(model, {}))
        if kept is not None and kept.view_scores is not None:
            found.view_model, found.by_view = model, kept
            look_up = _cells_of(data, data.labeled[kept.rows].tolist())
            views = data.layout.names
            found.differing = differing_rows(kept, run.task.classes, views, look_up)
            break
    return found


def _cells_of(data: Data, at: list[int]) -> Callable[[int], tuple[int, dict[str, str | None]]]:
    """What returns the place of a kept row in the source, and some of its cells."""
    columns, encoder = columns_of(data.encoder), data.encoder
    if columns is not None:  # says which columns of a row stand out
        some = np.linspace(0, len(data.X) - 1, min(len(data.X), ROWS_TO_ENCODE)).astype(np.intp)
        encoder = clone(encoder).fit(take_rows(data.X, some))
    names = ColumnNames(encoder, getattr(data.X, "feature_names", None))

    def look_up(i: int) -> tuple[int, dict[str, str | None]]:
        encoded = None
        if columns is not None:
            encoded = encoder.transform(take_rows(data.X, np.array([at[i]])))
        return at[i], cells_of_row(data.X, at[i], names, columns, encoded)

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


def differing_rows(
    scored: ScoredRows, classes: Any, views: Sequence[str], look_up: Any
) -> list[DifferingRow]:
    """Return the rows in which the views differ most.

    Parameters
    ----------
    scored : ScoredRows
        The rows.
    classes : array-like
        The classes; empty where a number is predicted.
    views : sequence of str
        Names of the views.
    look_up : callable
        Takes the position of a row in ``scored``, and returns that in the source, and its values.

    Returns
    -------
    rows : list of DifferingRow
        The most differing one first.
    """
    found = []
    for i in most_differing(scored.view_scores).tolist():
        assert scored.view_scores is not None
        if scored.predicted is None:
            label, predicted = f"{scored.y[i]:.6g}", f"{scored.scores[i]:.6g}"
        else:
            label, predicted = (str(classes[k]) for k in (scored.y[i], scored.predicted[i]))
        each = {
            view: float(score)
            for view, score in zip(views, scored.view_scores[i].tolist(), strict=True)
            if score == score
        }
        row, values = look_up(i)
        found.append(DifferingRow(row, label, predicted, each, values))
    return found
