"""Files as parts that workers read themselves, and what workers do with their rows."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from crossview.data.labeled import LabeledBatch, LabeledSource
from crossview.data.row_sketch import hash_rows
from crossview.data.shuffle import regroup
from crossview.distributed.fitting import sum_of_losses, without_calibration
from crossview.distributed.mixing import Learned
from crossview.distributed.sources import check_blocks, cut_evenly, frames_as_table
from crossview.errors import InputError
from crossview.labels import has_label
from crossview.readers.prefetch import prefetch
from crossview.readers.source import Source
from crossview.saving.pipelines import pipeline, steps
from crossview.scoring.problems import Problem
from crossview.views import MultiView

# of the last file or row group of a partition one of so many rows is held out, or of very many
# rows fewer, so that all of them together are about so many
HELD_OUT = 10
MOST_HELD_OUT = 50_000


class Part(NamedTuple):
    """Rows that one worker reads; one of every ``period`` is held out, of 0 none.

    ``frames`` are the partitions, if they are those of a Dask data frame.
    """

    source: LabeledSource
    period: int = 0
    frames: Sequence[Any] = ()

    def rows(self) -> LabeledSource:
        """Return the rows, where they are read."""
        if self.frames and self.source.has_columns:
            return self.source.with_sources(lambda table: frames_as_table(table, self.frames))
        return copy.copy(self.source)


def parts_of(source: LabeledSource, n: int, frames: Sequence[Any] = ()) -> list[list[Part]]:
    """Return the rows of files as ``n`` partitions; each holds out rows of its last block."""
    n_blocks = source.n_blocks
    check_blocks(n_blocks, n, source.file)
    cuts = cut_evenly(n_blocks, n)
    last = [source.of_blocks(slice(hi - 1, hi)) for _, hi in cuts]
    known = [one.known_rows or 0 for one in last]
    period = max(HELD_OUT, sum(known) // MOST_HELD_OUT)
    return [
        [
            *(
                [Part(source.of_blocks(slice(lo, hi - 1)), 0, frames[lo : hi - 1])]
                if hi - lo > 1
                else []
            ),
            Part(block, period, frames[hi - 1 : hi]),
        ]
        for (lo, hi), block in zip(cuts, last, strict=True)
    ]


def label_counts(rows: Source, frames: Sequence[Any], label: str | None) -> Counter[Any]:
    """Return in how many of some rows each label is; a missing one is an error."""
    if rows.has_columns:
        if frames:
            rows = frames_as_table(rows, frames)
        assert label is not None
        return Counter(rows.value_counts(label))
    found, unlabeled = rows.label_counts()
    if unlabeled is not None:
        file, row = unlabeled
        what = "the label is missing; give it a value, or leave the row out"
        raise InputError(what, file=file, row=row)
    return Counter(found)


class Kept(NamedTuple):
    """Held-out rows in the memory of a worker."""

    source: LabeledSource
    batches: list[LabeledBatch]

    def encoded(self, model: Any) -> Iterator[tuple[MultiView, np.ndarray, Any]]:
        """Yield them as views."""
        encoder, _ = steps(model)
        for batch in self.batches:
            yield self.source.encode(batch, encoder, False), batch.y, batch.weight


class HeldOut(NamedTuple):
    """Scores of held-out rows, and statistics of their views."""

    scores: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    X: MultiView  # the last ones

    @classmethod
    def of_all(cls, parts: Sequence[HeldOut | None], file: str | None = None) -> HeldOut:
        """Return those of all parts as one."""
        found = [part for part in parts if part is not None]
        if not found:
            raise InputError("no labeled row is held out; give more or larger files", file=file)
        scores, y, weight, X = zip(*found, strict=True)
        whole = None if weight[0] is None else np.concatenate(weight)
        return cls(np.concatenate(scores), np.concatenate(y), whole, X[-1])

    def take(self, rows: slice) -> HeldOut:
        """Return the scores of some rows."""
        weight = None if self.weight is None else self.weight[rows]
        return self._replace(scores=self.scores[rows], y=self.y[rows], weight=weight)


@dataclass(frozen=True)
class RowWork:
    """Work on the rows of files; models are pipelines of encoder and learner.

    seed: of the order of the rows.
    in_order: whether they are learned in the order of the files.
    """

    task: Problem
    seed: int
    in_order: bool

    @property
    def order(self) -> str:
        """The order in words."""
        return "in order" if self.in_order else "shuffled by blocks"

    def learn(self, before: Learned, block: Part, at: tuple[int, int, int]) -> Learned:
        """Learn the rows of a part; the encoder learns them in the first round."""
        encoder, learner = steps(copy.deepcopy(before.model))
        source, rows, sketch = block.rows(), before.rows, before.sketch
        batches: Any = regroup(source.read(), source.batch_rows)
        if not self.in_order:
            seed = np.random.SeedSequence([self.seed, *at]).generate_state(1)[0]
            batches = source.shuffle(int(seed))
        with_classes = {"classes": self.task.classes} if len(self.task.classes) else {}
        with without_calibration(learner, at[0] > 0):
            for batch in _learned(batches, block.period):
                X = source.encode(batch, encoder, at[0] == 0)
                if at[0] == 0:
                    sketch = sketch.with_rows(hash_rows(batch.X, encoder))
                learner.partial_fit(X, batch.y, sample_weight=batch.weight, **with_classes)
                rows += len(batch)
        return Learned(pipeline(encoder, learner), rows, sketch)

    def learned(self, part: Part) -> Iterator[LabeledBatch]:
        """Return the labeled rows of a part that are not held out, in their order."""
        source = part.rows()
        return _learned(regroup(source.read(), source.batch_rows), part.period)

    def rows_held_out(self, part: Part) -> Kept:
        """Return the labeled rows of a part that are held out, of very many the first ones."""
        source, kept, n = part.rows(), [], 0
        for batch in prefetch(regroup(source.read(), source.batch_rows)):
            batch = batch.take(np.flatnonzero(_is_held_out(batch, part.period) & _has_label(batch)))
            if len(batch):
                kept.append(batch)
                n += len(batch)
            if n >= MOST_HELD_OUT:  # the number of rows was not known before
                break
        return Kept(part.source, kept)

    def score(self, model: Any, block: Kept) -> tuple[float, float]:
        """Return the sum of the losses of held-out rows, and that of their weights."""
        _, learner = steps(model)
        return sum_of_losses(learner, block.encoded(model))

    def held_out(self, model: Any, block: Kept) -> HeldOut | None:
        """Return what the model says of held-out rows; None of no rows."""
        _, learner = steps(model)
        found = [
            HeldOut(self.task.scores(learner, X).scores, y, weight, X[-1000:])
            for X, y, weight in block.encoded(model)
        ]
        return HeldOut.of_all(found) if found else None


def _is_held_out(batch: LabeledBatch, period: int) -> np.ndarray:
    return np.asarray(batch.row % period == period - 1)


def _has_label(batch: LabeledBatch) -> np.ndarray:
    return has_label(batch.y) if batch.y.dtype == object else np.ones(len(batch), dtype=bool)


def _learned(batches: Iterable[LabeledBatch], period: int) -> Iterator[LabeledBatch]:
    """Yield the labeled rows that are learned."""
    for batch in prefetch(batches):
        is_learned = _has_label(batch)
        if period:
            is_learned &= ~_is_held_out(batch, period)
        if is_learned.any():
            yield batch if is_learned.all() else batch.take(np.flatnonzero(is_learned))
