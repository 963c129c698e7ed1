"""The last rows that were learned, what they say of the views, and diagnostics of a training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from crossview.catalog.learner import Learner
from crossview.data.labeled import LabeledBatch, LabeledSource
from crossview.labels import has_label, places_of
from crossview.scoring.collector import (
    DiagnosticsCollector,
    cells_of_row,
    numbers_of,
    strong_columns,
)
from crossview.scoring.column_drift import make_column_reference
from crossview.scoring.diagnostics import (
    Diagnostics,
    DifferingRow,
    expert_weights,
    sizes_of_views,
)
from crossview.scoring.drift import BY_HEART, make_reference, scores_of_views
from crossview.scoring.models.weights import ColumnNames
from crossview.scoring.problems import Problem, errors_of, total_of_errors
from crossview.scoring.progressive import ProgressiveValidation
from crossview.training.job import Job
from crossview.views import MultiView

N_ROWS = 1000
# fewer new rows do not replace the reference of the rows before
FEWEST_ROWS = 250


class LastRows:
    """The last 1,000 rows that were learned, in the last pass over them.

    An encoder changes as it learns, and later rows meet the one of the end: of a view with a few
    values, such as categories, the norms in the pass are spread where those of later rows are not.

    X: the rows, encoded.
    read: the same rows before they were encoded.
    only_labeled: whether rows without a label are not learned.
    drawn: whether they are as many rows drawn at random instead.
    X: the rows as the encoder at the end has them; None before it does (`encode`).
    read: the rows before they were encoded; None before there are any, or where nobody needs them.
    """

    def __init__(
        self,
        X: MultiView | None = None,
        read: LabeledBatch | None = None,
        *,
        only_labeled: bool = False,
        drawn: bool = False,
    ) -> None:
        self.X = None if X is None else X[-N_ROWS:]
        self.only_labeled, self.drawn = only_labeled, drawn
        self.read: LabeledBatch | None = None
        if read is not None:
            self.see(read)

    @classmethod
    def of(cls, X: MultiView, read: LabeledBatch, job: Job) -> LastRows:
        """Return those of all rows; where their order means nothing, as many drawn at random.

        The last rows of a table that has another order, such as that of days, are not like all.
        """
        if job.ordered:
            return cls(X, read)
        some = np.random.default_rng(job.about["seed"]).permutation(len(X))[:N_ROWS]
        return cls(X[some], read.take(some), drawn=len(X) > N_ROWS)

    def encode(self, encoder: Any) -> None:
        """Encode the rows by an encoder that learns no more; None: they are views already."""
        if self.read is not None:
            self.X = self.read.X if encoder is None else encoder.transform(self.read.X)

    def stand_in(self, learner: Any, n_rows: int, *, goes_on: bool = False) -> None:
        """Let the learner of so many rows learn from these what stands in for missing views.

        ``goes_on``: it has learned that from other rows before, which a few rows do not replace.
        """
        if self.X is not None and not (goes_on and len(self.X) < FEWEST_ROWS):
            learner.learn_stand_ins(self.X, n_rows)

    def see(self, batch: LabeledBatch) -> None:
        """Keep a copy of the last rows of a batch that is not encoded yet, and not the batch."""
        known = np.flatnonzero(has_label(batch.y)) if self.only_labeled else np.arange(len(batch))
        some = batch.take(known[-N_ROWS:])
        if self.read is not None and len(some) < N_ROWS:
            before = np.arange(len(self.read))[len(some) - N_ROWS :]
            some = LabeledBatch.join([self.read.take(before), some])
        self.read = some

    def predicted(self, learner: Any) -> list[int] | None:
        """Return how many of the rows a classifier predicts as each of its classes."""
        if self.X is None:
            return None
        codes = places_of(learner.predict(self.X), learner.classes_)
        return list(np.bincount(codes, minlength=len(learner.classes_)).tolist())

    def known_by_heart(self, task: Problem, learner: Any, tally: Any) -> bool:
        """Return whether the learner errs in far fewer of these rows than of those in a tally.

        They were new to it when the tally counted them, so these are not scored as later ones are.
        """
        if self.X is None or self.read is None:
            return False
        known = has_label(self.read.y)
        errors = errors_of(task, self.read.y[known], task.scores(learner, self.X[known]))
        before = total_of_errors(task, tally) / tally.n_rows
        return bool(len(errors)) and bool(errors.mean() < BY_HEART * before)

    def about(
        self,
        entry: Learner,
        learner: Any,
        n_rows: int,
        with_scores: bool,
        earlier: Mapping[str, Any] | None = None,
        encoder: Any = None,
    ) -> dict[str, Any]:
        """Return what these rows say of the views.

        ``view_shares``: the mean size of each view (`sizes_of_views`), as a fraction of the sum;
        None for a model with interactions, whose score is not a sum over views.
        ``rows_of_view_shares``: number of rows. ``reference``: how inputs and scores of each view
        are distributed (`crossview.scoring.drift.make_reference`). ``column_reference``: what the
        columns of the encoder hold (`crossview.scoring.column_drift.make_column_reference`).

        ``with_scores``: whether the scores of these of its ``n_rows`` rows are about those of new
        ones. ``earlier``: the same of rows that were learned before, which count as far as these
        are too few.
        """
        reference, columns = map((earlier or {}).get, ("reference", "column_reference"))
        if self.X is not None and (reference is None or len(self.X) >= FEWEST_ROWS):
            reference = make_reference(learner, self.X, n_rows, with_scores=with_scores)
            if self.read is not None:
                columns = make_column_reference(encoder, self.read.X, n_rows)
        shares = self._shares(entry, learner, earlier)
        return shares | {"reference": reference, "column_reference": columns}

    def _shares(
        self, entry: Learner, learner: Any, earlier: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        n = 0 if self.X is None else len(self.X)
        shares = None
        adds_up = entry.explained_by != "interactions" and getattr(learner, "additive", True)
        if self.X is not None and adds_up:
            size = sizes_of_views(learner.view_scores(self.X)).mean(axis=0)
            if size.sum() > 0:
                each = (size / size.sum()).tolist()
                shares = dict(zip(learner.layout_.names, each, strict=True))
        before = (earlier or {}).get("view_shares")
        more = min(earlier["rows_of_view_shares"], N_ROWS - n) if earlier else 0
        if shares is not None and before is not None and more:
            shares = {v: (n * x + more * before[v]) / (n + more) for v, x in shares.items()}
            n += more
        return {"view_shares": shares, "rows_of_view_shares": n}


def diagnose(
    source: LabeledSource,
    task: Problem,
    learner: Any,
    encoder: Any,
    last: LastRows,
    name: str,
    scored: ProgressiveValidation | None = None,
) -> Diagnostics:
    """Return the diagnostics of a training.

    They have curves and scored rows where the first pass, ``scored``, kept its history.
    """
    found = Diagnostics(model=name, view_model=name, experts=expert_weights(learner))
    X = last.X
    if X is not None:
        found.views = numbers_of(source, X)
        n = f"{len(X):,} rows"
        found.views_of = f"{n} drawn at random" if last.drawn else f"the last {n}"
        if scored is None or scored.history is not None:
            names = ColumnNames.of_model(learner, encoder)
            found.differing = _differing(task, learner, names, last)
            which = "some" if last.drawn else "the last"
            found.differing_of = f"{which} that were learned"
            found.columns = strong_columns(learner, names, X)
            found.columns_of = f"{which} rows that were learned"
    if scored is None:
        return found
    if hasattr(scored.tally, "confusion"):
        found.class_rows = scored.tally.confusion.sum(axis=1).tolist()
    if scored.history is not None:
        found.errors, found.differences = scored.history.curves(name)
        found.scored = scored.history.sample.scored()
    return found


def _differing(
    task: Problem, learner: Any, names: ColumnNames, last: LastRows
) -> list[DifferingRow]:
    """Return the rows in which the views differ most, of those whose cells were kept."""
    read = last.read
    if last.X is None or read is None or not len(read) or last.X.layout.n_views < 2:
        return []
    read = read.take(np.arange(len(read))[-len(last.X) :])
    X = last.X[-len(read) :]
    placed = len(set(read.file.tolist())) == 1  # in the source, and not in one of its files

    def describe(i: int) -> tuple[int, Any, Any, dict[str, str | None]]:
        label = read.y[i] if has_label(read.y[[i]])[0] else ""
        values = cells_of_row(read.X, i, names, X[[i]])
        return int(read.row[i]) if placed else -1, label, learner.predict(X[[i]])[0], values

    collector = DiagnosticsCollector(task, X.layout.names)
    collector.add_differing(scores_of_views(learner, X), describe)
    return collector.differing
