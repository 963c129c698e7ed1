"""What stands in for the score of a view that is missing.

A learner leaves a missing view out of the score.  If no learned row lacked the view, nothing says
what the score is without it: with the view goes its part of how frequent the classes are.  So a
constant stands in for it, that makes no difference in the mean of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from crossview.estimators.base.state import Models, Schema, State, StatePart
from crossview.kernels.moments import total
from crossview.kernels.rows import Rows
from crossview.saving.schema import Array
from crossview.views import ViewLayout

# rows whose scores are compared with those without a view
N_ROWS = 512
# share of them that lacks a view above which the learner has learned what the score is without it
ENOUGH = 0.02
# learned rows that lack a view after which half of what stands in for it is left: the learner has
# learned the rest
HALF = 50


class StandIns(StatePart):
    """What a row gets for each view that it lacks, and for lacking all of them, and who did so.

    stand_in (V + 1, K): added to the score; the last one if all views are missing, too.
    lacked (V + 1,): number of learned rows that lacked the view; at the end all views.
    """

    def schema(self) -> Schema:
        """Return what the arrays look like."""
        n = self.slots.n_views + 1
        return {
            "stand_in": Array("f8", (n, self.n_scores)),
            "lacked": Array("f8", (n,), low=0.0),
        }

    def merged(self, models: Models) -> State:
        """Return the mean of the models that know them, and the rows of all."""
        pairs = zip(models.states, models.shares, strict=True)
        own = [(state, share) for state, share in pairs if "stand_in" in state]
        known, shares = [state["stand_in"] for state, _ in own], [share for _, share in own]
        lacked = [state["lacked"] for state, _ in own]
        return {
            "stand_in": np.average(known, axis=0, weights=shares),
            "lacked": total(lacked, models.start.get("lacked", np.zeros_like(lacked[0]))),
        }

    def grow(self, moved: np.ndarray, before: ViewLayout) -> None:
        """Add new views, for which nothing stands in."""
        at, n = before.n_views, self.slots.n_views - before.n_views
        for name in ("stand_in", "lacked"):
            self.state[name] = np.insert(self.state[name], [at] * n, 0.0, axis=0)

    def insert_class(self, n_classes: int, position: int, n_rows: int) -> None:
        """Add a class, for which nothing stands in; there are no scores of two classes for more."""
        known = self.state["stand_in"]
        if n_classes < 3:
            self.state["stand_in"] = np.zeros((len(known), n_classes + 1 if n_classes > 1 else 1))
        else:
            self.state["stand_in"] = np.insert(known, position, 0.0, axis=1)

    @property
    def values(self) -> np.ndarray:
        """What is added to the score now, (V + 1, K)."""
        return np.asarray(self.state["stand_in"] * _left(self.state["lacked"])[:, None])

    def learn(
        self, rows: Rows, score: Callable[[Rows, np.ndarray | None], np.ndarray], n_rows: int
    ) -> None:
        """Learn them from a sample of the ``n_rows`` learned rows.

        ``score(rows, present)`` returns the scores f of rows with these views; None: with all.

            a_v = mean (f(x) - f(x without v)),    a_all = mean f(x) - f(nothing) - sum_v a_v,

        where the first mean is that of the rows that have the view; 0 if enough rows lack it.
        """
        lacks = _lacks(rows)
        n, V = len(lacks), lacks.shape[1] - 1
        full, found = score(rows, None), np.zeros((V + 1, self.n_scores))
        unknown = lacks.mean(axis=0) < ENOUGH
        for v in np.flatnonzero(unknown[:V]):
            present = ~lacks[:, :V]
            present[:, v] = False
            found[v] = (full - score(rows, present))[~lacks[:, v]].mean(axis=0)
        if unknown[V]:
            nothing = score(rows, np.zeros((n, V), dtype=bool))[0]
            found[V] = full.mean(axis=0) - nothing - found[:V].sum(axis=0)
        if np.isfinite(found).all():
            before = self.state.get("lacked", np.zeros(V + 1))
            lacked = np.maximum(before, lacks.mean(axis=0) * n_rows)
            self.state |= {"stand_in": found, "lacked": lacked}

    def of_rows(self, rows: Rows) -> np.ndarray | float:
        """Return what is added to the score of each row, (n, K)."""
        return _lacks(rows) @ self.values if len(rows.present) else 0.0

    def pass_over(self, rows: Rows, order: np.ndarray, weight: np.ndarray) -> np.ndarray | float:
        """Count learned rows, in this order; return what was added to each score before."""
        if not len(rows.present):
            return 0.0
        lacks = _lacks(rows)[order] * (weight[order] > 0.0)[:, None]
        before = self.state["lacked"] + np.cumsum(lacks, axis=0) - lacks
        added = np.empty((len(rows.present), self.n_scores))
        added[order] = (_lacks(rows)[order] * _left(before)) @ self.state["stand_in"]
        self.state["lacked"] += lacks.sum(axis=0)
        return added


def _left(lacked: np.ndarray) -> np.ndarray:
    """Return the share of what stands in that is left after rows that lacked it were learned."""
    return HALF / (HALF + lacked)


def _lacks(rows: Rows) -> np.ndarray:
    """Return which views each row lacks, and at the end whether it lacks all, (n, V + 1)."""
    n, V = len(rows.indptr) - 1, len(rows.ptr) - 1
    missing = ~rows.present if len(rows.present) else np.zeros((n, V), dtype=bool)
    return np.column_stack([missing, missing.all(axis=1)])


def stand_ins_of(learner: Any) -> StandIns | None:
    """Return what stands in for the views of a learner; None before it is known."""
    state = learner._state
    return StandIns(state, learner) if "stand_in" in state else None


def stands_in(learner: Any, view: str) -> bool:
    """Return whether a row that lacks a view gets a constant, of a learner or of those in it."""
    return bool(learner._stands_in(view))
