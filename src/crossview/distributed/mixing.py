"""Iterative parameter mixing (McDonald, Hall and Mann 2010) as tasks of a Dask cluster.

In a round each partition is learned, block after block, by a copy of the common model; then the
copies are merged, weighted by rows.  A task is a pure function of a model and rows: a worker that
dies changes nothing, because its tasks run again elsewhere.  What is merged with what depends on
the number of partitions only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import getitem
from typing import Any, NamedTuple, Protocol

from crossview.data.row_sketch import RowSketch
from crossview.distributed.cluster import (
    RETRIES,
    compute,
    merge_in_tree,
    pass_on,
    result,
    results,
    share,
    task,
)
from crossview.distributed.sources import cut_evenly
from crossview.errors import InputError
from crossview.merging import merge

# rounds at most, and the relative fall of the loss that counts as better
MOST_ROUNDS = 20
TOL = 1e-3


class Learned(NamedTuple):
    """A model, how many rows of this round it has learned, and in the first round their sketch."""

    model: Any
    rows: int
    sketch: RowSketch = RowSketch()


class Work(Protocol):
    """Interface of the work on one worker; methods leave their arguments unchanged."""

    def learn(self, before: Learned, block: Any, at: tuple[int, int, int]) -> Learned:
        """Learn the rows of a block; ``at`` are the numbers of round, partition and block."""

    def score(self, model: Any, block: Any) -> tuple[float, float]:
        """Return the sum of the losses of held-out rows, and that of their weights."""


@dataclass
class Rounds:
    """State after the rounds so far.

    model: the best model by the held-out rows; without any the last.
    future: the same, on the workers.
    n_rounds: after how many rounds that is.
    rows: number of rows of a round.
    sketch: of these rows; empty where they are not known.
    losses: mean loss of the held-out rows after each round; empty without any.
    """

    model: Any = None
    future: Any = None
    n_rounds: int = 0
    rows: int = 0
    sketch: RowSketch = field(default_factory=RowSketch)
    losses: list[float] = field(default_factory=list)


def merge_learned(parts: Sequence[Learned], start: Any) -> Learned:
    """Return the merge of models, those of no rows left out."""
    parts = [part for part in parts if part.rows] or list(parts[:1])
    rows = [part.rows for part in parts]
    if not any(rows):
        return Learned(parts[0].model, 0)
    sketch = sum((part.sketch for part in parts), RowSketch())
    return Learned(merge([part.model for part in parts], rows, start), sum(rows), sketch)


@dataclass
class Mixer:
    """Rounds of parameter mixing on a cluster.

    partitions: the blocks of each partition: `dask.delayed.Delayed`, futures, or what says how to
      read the rows.
    held_out: blocks that are scored after each round.
    observer: is called after each round with its number, from 1, the rows, and the held-out loss or
      None.
    """

    client: Any
    work: Work
    partitions: Sequence[Sequence[Any]]
    held_out: Sequence[Any] = ()
    observer: Callable[[int, int, float | None], None] = lambda *_: None

    def run(self, start: Any, n_rounds: int | None, *, is_fitted: bool) -> Rounds:
        """Make the rounds; None: until the held-out loss gets no better."""
        common = share(self.client, start)
        found, best = Rounds(), None
        for r in range(n_rounds or MOST_ROUNDS):
            merged = self._round(common, r, is_fitted=is_fitted or r > 0)
            common, rows, sketch = (
                self.client.submit(getitem, merged, i, pure=False) for i in range(3)
            )
            found.rows = result(self.client, rows)
            if r == 0:
                found.sketch = result(self.client, sketch)
            if not found.rows:
                raise InputError("the partitions have no row to learn from")
            loss = self._loss(common) if self.held_out else None
            self.observer(r + 1, found.rows, loss)
            if loss is None:
                best, found.n_rounds = common, r + 1
                continue
            lowest = min(found.losses, default=float("inf"))
            found.losses.append(loss)
            if loss < lowest or best is None:
                best, found.n_rounds = common, r + 1
            if n_rounds is None and not loss < lowest * (1.0 - TOL):
                break
        assert best is not None
        found.model, found.future = result(self.client, best), best
        return found

    def _round(self, common: Any, r: int, *, is_fitted: bool) -> Any:
        """Learn all partitions from the common model; return a future of the merged one."""
        from dask.delayed import delayed

        pass_on(self.client, common)
        learn = task(self.work.learn)
        join = delayed(merge_learned, pure=False)
        parts = []
        for k, blocks in enumerate(self.partitions):
            model = delayed(Learned, pure=False)(common, 0)
            for i, block in enumerate(blocks):
                model = learn(model, block, (r, k, i))
            parts.append(model)
        start = common if is_fitted else None
        merged = merge_in_tree(parts, lambda some: join(some, start))
        return self.client.compute(merged, retries=RETRIES)

    def _loss(self, common: Any) -> float:
        """Return the mean loss of the held-out rows."""
        sums = compute(self.client, self.work.score, [(common, b) for b in self.held_out])
        losses, weights = zip(*results(self.client, sums), strict=True)
        if not sum(weights):
            raise InputError(
                "no labeled row is held out to score the rounds; give more or larger files"
            )
        return float(sum(losses) / sum(weights))


def split_evenly(blocks: Sequence[Any], n: int) -> list[list[Any]]:
    """Return consecutive blocks as ``n`` parts, whose sizes differ by one at most."""
    if len(blocks) < n:
        raise InputError(
            f"{n} partitions of {len(blocks)} blocks of rows; ask for fewer partitions, or give "
            "the rows in more files or row groups"
        )
    return [list(blocks[a:b]) for a, b in cut_evenly(len(blocks), n)]
