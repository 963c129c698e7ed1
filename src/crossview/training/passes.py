"""Passes over a stream of rows, of which the first one is scored on unseen rows."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from crossview.compiling import seconds_of_compiling
from crossview.data.labeled import LabeledBatch, LabeledSource
from crossview.data.row_columns import with_label, with_row_location
from crossview.data.row_sketch import Found, RowSketch, hash_rows
from crossview.errors import InputError, LearnedRowsWarning, NoRowsError, argument
from crossview.estimators.targets import scaled_targets
from crossview.labels import has_label
from crossview.readers.prefetch import prefetch
from crossview.saving.pipelines import pipeline, steps
from crossview.scoring.collector import DiagnosticsCollector
from crossview.scoring.diagnostics import MOST_ROWS_OF_STREAM
from crossview.scoring.metrics import RunningThreshold
from crossview.scoring.models.trained import Trained, TrainingObserver
from crossview.scoring.problems import Classification
from crossview.scoring.progressive import LabelOrder, ProgressiveValidation
from crossview.training.checkpoint import CheckpointFile, Kept, Position
from crossview.training.held_out import held_out_scores, threshold_of, tune
from crossview.training.job import Job, Start
from crossview.training.last_rows import LastRows, diagnose
from crossview.training.log import TrainingLog
from crossview.views import MultiView


class Order:
    """The order in which the rows of a source are learned; the source is shuffled if need be.

    seed: of the order.
    before: the order of the rows that the model has learned before, which goes on if nobody asks
        for another one; None: it is new.
    """

    def __init__(
        self, source: LabeledSource, in_order: bool | None, seed: int, before: str | None = None
    ) -> None:
        by_query = in_order is None and source.ordered
        self._of_source = LabelOrder(source.classes)
        self._asked = in_order is not None
        self._dates = source.dates
        self._shuffled = None
        self._group: int | None = None  # of the last row
        if in_order is None and before is not None:
            in_order = before.startswith("in ")
        if not (in_order or by_query):
            self._shuffled = source.shuffle(seed, self._see)
        self._own = "in order"
        if by_query or source.time is not None:
            self._own = f"in the order of {'the query' if by_query else repr(source.time)}"

    def __str__(self) -> str:
        if self._shuffled is None:
            return self._own
        return "shuffled" if self._shuffled.exact else "shuffled by blocks"

    @property
    def state(self) -> dict[str, Any] | None:
        """The random numbers that give the order of the pass, if there are any."""
        return None if self._shuffled is None else dict(self._shuffled.order_state)

    @state.setter
    def state(self, state: dict[str, Any] | None) -> None:
        if self._shuffled is not None and state is not None:
            self._shuffled.set_order(state)

    def _see(self, batch: LabeledBatch) -> None:
        """Count labels in the order of the source: one of each run of rows of the same group."""
        y, groups = batch.y, batch.groups
        if groups is not None and len(groups):
            before = groups[0] - 1 if self._group is None else self._group
            y, self._group = y[np.diff(groups, prepend=before) != 0], groups[-1]
        self._of_source.update(y)

    @property
    def in_memory(self) -> bool:
        """True where the rows were shuffled in memory."""
        return self._shuffled is not None and bool(self._shuffled.exact)

    @property
    def notes(self) -> list[str]:
        """A line if rows were shuffled whose order may mean something, and nobody asked for it."""
        labels, why = self._of_source, []
        if self._shuffled is None or self._asked:
            return []
        if labels.in_runs:
            why.append(
                f"in their order the label changes in {labels.n_changes:,} of "
                f"{labels.counts.sum():,} {'rows' if self._group is None else 'groups'}, and by "
                f"chance in {labels.expected[0]:,.0f}"
            )
        if self._dates:
            why.append(f"{self._dates[0]!r} is a date")
        if not why:
            return []
        choice = argument(in_order=True)
        if self._dates:
            choice = f"{argument(time=self._dates[0])} or {choice}"
        return [
            f"the rows were shuffled, and their order may mean something: {'; '.join(why)}. For a "
            f"stream that goes on, {choice} learns them in order, and its scores are those of "
            f"later rows; {argument(in_order=False)} says that the order means nothing"
        ]

    @property
    def advice(self) -> str:
        """Advice for labels that come in blocks."""
        if self._shuffled is None:
            return f"shuffle the rows ({argument(in_order=False)})"
        return (
            "the rows do not fit in memory, and the source is read in its order; shuffle it, for "
            "example by a query with ORDER BY random()"
        )


class Passes:
    """Passes over the rows; only the first one is scored on unseen rows.

    log: gets a line for each window of the first pass.
    """

    def __init__(
        self,
        job: Job,
        order: Order,
        checkpoint: CheckpointFile | None,
        log: TrainingLog | None,
        observer: TrainingObserver,
    ) -> None:
        self.entry, self.learner, self.encoder = job.entry, job.learner, job.encoder
        self.source, self.order, self.about, self.start = job.source, order, job.about, job.start
        self.task = job.task.for_model(self.learner)
        self.labels = LabelOrder(self.source.classes)
        # of the first pass
        self.scored = ProgressiveValidation(self.learner, self.task)
        self.scored.labels = self.labels
        self.last_rows = LastRows(only_labeled=not self.entry.learns_unlabeled)
        self.sketch = RowSketch()
        self._found = Found()  # rows that the model to go on from has learned
        self.position = Position()
        self.checkpoint, self.log, self.observer = checkpoint, log, observer
        self.began = 0.0, 0.0

    def learn(self, epochs: int) -> Trained:
        """Make the passes, and tell the observer."""
        self.began = time.perf_counter(), seconds_of_compiling()
        self._take_up()
        if self.observer.history:
            given = (self.task, self.source.layout.names, MOST_ROWS_OF_STREAM)
            self.scored.history = DiagnosticsCollector(*given, seed=self.about["seed"])
            self.scored.history.go_on(self.scored.tally)
        here = self.position
        calibration = getattr(self.learner, "calibration", None)
        for number in range(here.number, epochs + 1):
            n_rows, n_done = self.source.n_rows, here.batches * self.source.batch_rows
            self.observer.start_pass(number, epochs, n_rows, min(n_done, n_rows))
            batches, scored = self._batches(), self.scored
            if number == 1:
                batches = self.labels.watch(batches)
            else:
                scored = ProgressiveValidation(self.learner, self.task)
                _learn_again(self.learner, True, calibration)
            for record in scored.records(batches, background=self.checkpoint is None):
                self.observer.add_record(record)
            here.number, here.batches = number + 1, 0
        _learn_again(self.learner, False, calibration)
        before = None if self.start is None else self.start.info
        earlier = 0 if before is None else before["rows"]
        if self.scored.tally.n_rows == earlier:
            some = here.unlabeled or here.skipped
            rows, kind = ("has a label", InputError) if some else ("is there", NoRowsError)
            raise kind(f"no row {rows} to learn from", file=self.source.file)
        name, last = self.about["name"], self.last_rows
        last.encode(self.encoder)
        goes_on = self.start is not None
        last.stand_in(self.learner, self.scored.tally.n_rows, goes_on=goes_on)
        kept = diagnose(self.source, self.task, self.learner, self.encoder, last, name, self.scored)
        counts, threshold = self.scored.get_state(), self.task.fixed_threshold
        if self.scored.threshold is not None:
            threshold = self.scored.threshold.place()
        if self.scored.threshold_without is not None:  # rows to predict have no last labels
            without = self.scored.threshold_without.place()
            self.learner.set_threshold(without, stream_threshold=threshold)
        elif threshold is not None:
            self.learner.set_threshold(threshold)
        tuned = None
        if epochs > 1 and self.start is None and not self.entry.one_pass:
            tuned = _tune_after_passes(self, epochs)
        self.labels.warn(self.order.advice)
        tally, metric = self.scored.tally, self.task.metric
        # rows to predict have no last labels
        said = tally if self.scored.tally_without is None else self.scored.tally_without
        by_heart = last.known_by_heart(self.task, self.learner, said)
        known, classes = tally.n_rows + here.unlabeled, isinstance(self.task, Classification)
        return Trained(
            self.encoder,
            self.learner,
            **self.about,
            rows=tally.n_rows,
            unlabeled=here.unlabeled,
            skipped=here.skipped,
            passes=epochs,
            order=str(self.order),
            seconds=time.perf_counter() - self.began[0],
            compiled=seconds_of_compiling() - self.began[1],
            loss=tally.loss / tally.n_rows,
            accuracy=_defined(tally.value("accuracy")) if classes else None,
            metric={"name": metric, "value": _defined(tally.value(metric))},
            class_rows=tally.confusion.sum(axis=1).tolist() if classes else None,
            predicted_rows=_predicted_rows(self, tuned) if classes else None,
            **threshold_of(self.learner, self.task),
            **last.about(
                *(self.entry, self.learner, known, epochs == 1 and not by_heart, before),
                encoder=self.encoder,
            ),
            row_sketch=self.sketch.to_json(),
            earlier=earlier,
            diagnostics=kept,
            metric_without_memory=_defined(said.value(metric)) if said is not tally else None,
            progress=Start.progress(counts, self.task.threshold, here.unlabeled, here.skipped),
        )

    def learned_before(self) -> list[str]:
        """Return a line if the earlier model has learned many of the rows; it is a warning, too."""
        share = None if self.start is None else self.start.sketch.learned_share(self._found)
        if not share:
            return []
        line = (
            f"{share:.0%} of the rows are equal to rows that the model had learned; if they are "
            f"the same, they count twice now, and its metrics are too good: go on from the model "
            f"before ({argument('init')}), with new rows alone"
        )
        warnings.warn(line, LearnedRowsWarning, stacklevel=3)
        return [line]

    def _take_up(self) -> None:
        """Go on from the checkpoint, if there is one, or from an earlier model."""
        kept = None if self.checkpoint is None else _kept_before(self.checkpoint, self.source)
        if kept is not None:
            calibration = getattr(self.learner, "calibration", None)
            self.encoder, self.learner = steps(kept.fitted)
            if calibration is not None:  # a later pass has none
                self.learner.calibration = calibration
            self.scored.model = self.learner
            self.position = here = kept.position
            self.began = self.began[0] - here.seconds, self.began[1] - here.compiled
            self.sketch = kept.sketch
            self.order.state = kept.position.order
            self._go_on(kept.counts, "resume")
        elif self.start is not None:
            self.position = Position(unlabeled=self.start.unlabeled, skipped=self.start.skipped)
            self.sketch = self.start.sketch
            self._go_on(self.start.counts, "init")
        if self.log is not None:
            windows = self.log.windows(self.task, self.source.n_rows)
            windows.n_rows = self.scored.tally.n_rows
            if kept is not None and kept.windows:
                windows.set_state(kept.windows)
            self.log.begin(0 if kept is None else windows.n_rows)
            self.scored.windows = windows

    def _go_on(self, counts: dict[str, np.ndarray], name: str) -> None:
        try:
            self.scored.set_state(counts)
        except InputError as error:
            raise InputError(
                f"{argument(name)} has counts from which this version of crossview cannot go on "
                f"({error.message}); train without it"
            ) from None

    def _keep(self, encoder: Any) -> None:
        """Write the checkpoint, with the encoder as it was after the last batch."""
        assert self.checkpoint is not None
        here = self.position
        here.order = self.order.state
        here.seconds = time.perf_counter() - self.began[0]
        here.compiled = seconds_of_compiling() - self.began[1]
        fitted, windows = pipeline(encoder, self.learner), self.scored.windows
        state = {} if windows is None else windows.get_state()
        counts = self.scored.get_state()
        self.checkpoint.write(Kept(fitted, here, counts, state, self.sketch))

    def _batches(self) -> Iterator[tuple]:
        """Yield the rows to learn, count them, notify the observer, and keep what was learned."""
        here, carried = self.position, list[np.ndarray]()
        for X, y, weight, batch, hashes, encoder in prefetch(self._encoded()):
            labeled = has_label(y)
            n_missing = int((~labeled).sum()) if here.number == 1 else 0
            known: tuple | None = X, y, weight
            if self.entry.learns_unlabeled:
                here.unlabeled += n_missing
            else:
                here.skipped += n_missing
                known = with_label(X, y, weight, carried)
                hashes = hashes[labeled] if len(hashes) else hashes
            if known is not None:
                yield known
                self.last_rows.see(batch)
            if self.start is not None and here.number == 1:
                self._found += self.start.sketch.find(hashes)
            self.sketch = self.sketch.with_rows(hashes)
            here.batches += 1
            self.observer.add_rows(len(y))
            if encoder is not None and self.scored.tally.n_rows and not carried:
                self._keep(encoder[0])

    def _encoded(
        self,
    ) -> Iterator[tuple[MultiView, np.ndarray, Any, LabeledBatch, np.ndarray, list[Any] | None]]:
        """The batches that are left, as they were read, too, with hashes in the first pass.

        With those that are to be kept comes the encoder after them.
        """
        here, encoder = self.position, self.encoder
        learn, read, last = here.number == 1, list[LabeledBatch](), self.last_rows
        last.read = None

        def see(batch: LabeledBatch) -> None:
            read[:] = [batch]
            with with_row_location(batch):
                scaled_targets(batch.y, getattr(self.learner, "target_scale", "linear"))

        encoded = self.source.encoded(
            encoder, learn=learn, done=here.batches, see=see, see_done=last.see
        )
        for X, y, weight in encoded:
            hashes = hash_rows(read[0].X, encoder) if learn else np.empty(0, dtype=np.uint64)
            if self.checkpoint is None or not self.checkpoint.is_due():
                yield X, y, weight, read[0], hashes, None
            else:  # in a moment, the encoder learns the next batch, in this thread
                yield X, y, weight, read[0], hashes, [copy.deepcopy(encoder) if learn else encoder]


def _kept_before(checkpoint: CheckpointFile, source: LabeledSource) -> Kept | None:
    """Return the content of a checkpoint, if there is one; the rows it has read must be there."""
    checkpoint.rows_read = source.note_rows()
    kept = checkpoint.read()
    if kept is not None:
        checkpoint.rows_read.compare(kept.read, source.batches(), str(checkpoint.path))
    return kept


def _learn_again(learner: Any, again: bool, calibration: str | None) -> None:
    """Let the scores of a later pass, whose rows were learned, say nothing; or else as before."""
    if calibration is not None:
        learner.calibration = "none" if again else calibration
    if hasattr(learner, "learns_combination"):
        learner.learns_combination = not again


def _tune_after_passes(run: Passes, epochs: int) -> np.ndarray | None:
    """Let rows held out by folds calibrate the learner, and place its threshold.

    Returns how many of them are predicted as each class.

    In the first pass the rows were new to the learner, but it was another one then.  Rows that
    do not fit in memory keep the calibration and threshold of the first pass.
    """
    if not (isinstance(run.task, Classification) and run.task.tunes and run.order.in_memory):
        return None
    rows = run.source.load()
    rows = rows.take(np.flatnonzero(has_label(rows.y)))
    X = rows.X if run.encoder is None else run.encoder.transform(rows.X)
    X = X if rows.groups is None else X.with_groups(rows.groups)
    passes = run.entry.passes(epochs)
    given = (run.learner, run.task, X, rows.y, rows.weight)
    scored = held_out_scores(*given, run.about["seed"], **passes)
    return None if scored is None else tune(run.learner, run.task, *scored)


def _predicted_rows(run: Passes, tuned: np.ndarray | None) -> list[int] | None:
    """Count the rows that are predicted as each class: held-out ones, all before, or the last."""
    if tuned is not None:
        return list(tuned.tolist())
    threshold = run.scored.threshold_without or run.scored.threshold
    if isinstance(threshold, RunningThreshold):
        return threshold.predicted_rows()
    return run.last_rows.predicted(run.learner)


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else value
