"""Progressive validation: predict, score, then learn; and labels that come in long blocks."""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from sklearn.base import is_regressor

from crossview.errors import InputError, LabelOrderWarning, argument
from crossview.estimators.validation import select_rows
from crossview.labels import has_label, known_labels, places_of
from crossview.readers.prefetch import prefetch
from crossview.saving.schema import Array
from crossview.scoring.collector import DiagnosticsCollector
from crossview.scoring.metrics.tally import COUNT, Resumable, counts_of_shape, sum_of
from crossview.scoring.problems import (
    Classification,
    Problem,
    Regression,
    gives_probabilities,
    make_problem,
)
from crossview.scoring.specification import Scoring
from crossview.views import MultiView

# labels that change less often than this share of what random order gives come in blocks; on 4,601
# e-mails PA and SCW lose nothing at 0.04, and 0.06 to 0.12 of their accuracy at 0.01
SHARE_OF_CHANGES = 0.05
# and those that change less often than this share follow each other, as in a stream
SHARE_IN_RUNS = 0.9
# and chance does not explain it: standard deviations below the mean
DEVIATIONS = 4.0


Batch = TypeVar("Batch", bound=tuple)


def serial_correlation(y: np.ndarray) -> float:
    """Return how numbers correlate with the next ones; 0 where they are all the same."""
    apart = y - y.mean()
    total = float((apart**2).sum())
    return float((apart[1:] * apart[:-1]).sum()) / total if total > 0.0 else 0.0


class LabelOrder(Resumable):
    """Counts of how often the label changes from row to row, and of the rows of each class.

    In random order n labels, n_k of class k, change (n² - Σ n_k²) / n times in the mean (Barton and
    David, "Multiple runs", Biometrika 44 (1957), 168-178; with two classes the runs test of Wald
    and Wolfowitz).  The count is compared with that mean, and with its standard deviation.  Without
    classes, where numbers are predicted, nothing is counted.
    """

    OPTIONAL = ("_last",)

    def __init__(self, classes: np.ndarray) -> None:
        self._classes = classes
        self._last: int | None = None
        self.n_changes = 0
        self.counts = np.zeros(len(classes), dtype=np.int64)

    def _state_schema(self) -> dict[str, Array]:
        return {
            "_last": Array("i8", (1,), 0, len(self._classes) - 1),
            "n_changes": COUNT,
            "counts": counts_of_shape(self.counts.shape),
        }

    def update(self, y: np.ndarray) -> None:
        """Count more labels; rows without one are ignored."""
        if not len(self._classes):
            return
        known = known_labels(y)
        if not len(known):
            return
        codes = places_of(known, self._classes)
        self.n_changes += int(np.count_nonzero(codes[1:] != codes[:-1]))
        self.n_changes += self._last is not None and self._last != codes[0]
        self._last = int(codes[-1])
        self.counts += np.bincount(codes, minlength=len(self._classes))

    def watch(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches (X, y, ...), and count the labels of each once it has been used."""
        for batch in batches:
            yield batch
            self.update(batch[1])

    @property
    def expected(self) -> tuple[float, float]:
        """Mean and standard deviation of the number of changes in random order."""
        n = float(self.counts.sum())
        if n < 2:
            return 0.0, 0.0
        p = self.counts / n
        squares, cubes = float((p**2).sum()), float((p**3).sum())
        variance = n * n * (squares * (squares + (n + 1) / n) - 2 * cubes - 1 / n) / (n - 1)
        return n * (1.0 - squares), math.sqrt(max(variance, 0.0))

    @property
    def deviations(self) -> float:
        """How many standard deviations less often the labels change than in random order."""
        mean, deviation = self.expected
        return (mean - self.n_changes) / deviation if deviation else 0.0

    @property
    def in_blocks(self) -> bool:
        """True if the labels change far less often than in random order."""
        few = self.n_changes < SHARE_OF_CHANGES * self.expected[0]
        return few and self.deviations > DEVIATIONS

    @property
    def in_runs(self) -> bool:
        """True if the last label says something of the next one, and rows are not sorted by it."""
        few = self.n_changes < SHARE_IN_RUNS * self.expected[0]
        return few and self.deviations > DEVIATIONS and not self.in_blocks

    def warn(self, advice: str) -> None:
        """Warn if the labels come in blocks, and say what to do."""
        if self.in_blocks:
            warnings.warn(
                f"the labels come in long blocks: the label changes in {self.n_changes:,} of "
                f"{self.counts.sum():,} rows, and in {self.expected[0]:,.0f} in random order; a "
                f"model that learns row by row follows the block it is in, and its scores on the "
                f"way mislead; {advice}",
                LabelOrderWarning,
                stacklevel=3,
            )


@dataclass(frozen=True)
class Record:
    """Progressive loss and metric of a model on a stream so far.

    Attributes
    ----------
    rows : int
        Number of labeled rows that were predicted and then learned.
    loss : float
        Mean hinge loss of these rows, each before it was learned; where a
        number is predicted, the mean squared error.
    loss_since_last : float
        The same of the rows since the previous record.
    metric : float
        The metric of these rows.
    accuracy : float
        Share of these rows predicted right; NaN where a number is predicted.
    seconds : float
        Time since the start, with reading.
    metric_name : str
        Which metric it is.
    positive : label or None
        With two classes: the one that the metric is about.
    positive_by : {"given", "name", "majority", "rarer", "guess"} or None
        What chose it.
    """

    rows: int
    loss: float
    loss_since_last: float
    metric: float
    accuracy: float
    seconds: float
    metric_name: str = "metric"
    positive: Any = None
    positive_by: str | None = None


def progressive(
    model: Any,
    batches: Iterable[tuple[Any, Any]],
    classes: Any = None,
    *,
    scoring: str | Scoring | None = None,
) -> Iterator[Record]:
    """Evaluate a model by progressive validation: predict, score, then learn each row.

    Each row is predicted by the model that has learned from the rows before it, so that no held-out
    set is needed; at the end the model is trained on the stream.

    Parameters
    ----------
    model : online classifier or regressor
        A model of this package with `score_then_learn`.
    batches : iterable of (X, y)
        The stream, in its order.  Unlabeled rows (None, NaN) are not
        scored; semi-supervised models learn from them.
    classes : array-like of shape (n_classes,), default=None
        All labels that may occur; a regressor has none.
    scoring : str or Scoring, default=None
        The metric to report besides the loss, or a `Scoring` with its parameters, the positive
        class and the threshold.  A tuned threshold is for each row the best one for the metric on
        the rows before it; a model without probabilities (``calibration="none"``) has none.  k is
        of the highest scores so far: NaN until there are as many.  None: rmse, or accuracy without
        a tuned threshold: the mistakes of `predict`.

    Yields
    ------
    Record
        After 1, 2, 4, 8, ... rows, and at the end.

    Warns
    -----
    LabelOrderWarning
        The labels come in long blocks: they change less than a twentieth as often as in random
        order.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import PassiveAggressiveClassifier, progressive
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PassiveAggressiveClassifier(C=0.01)
    >>> records = list(progressive(model, [(scale(X), y)], classes=[0, 1]))
    >>> [record.rows for record in records]
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 569]
    >>> round(records[-1].accuracy, 2)
    0.95
    """
    task: Problem
    scoring = Scoring.of(scoring)
    if is_regressor(model):
        if classes is not None or scoring.positive is not None:
            raise InputError(
                f"a regressor has no classes; leave {argument('classes')} and "
                f"{argument('positive')} out"
            )
        scoring.check_task("regression")
        task = make_problem("regression", np.empty(0), scoring)
    else:
        classes = np.unique(np.asarray([] if classes is None else classes))
        if len(classes) < 2:
            raise InputError(
                f"{argument('classes')} has {len(classes)} class(es); a classifier needs two or "
                "more"
            )
        if scoring.metric is None and scoring.cost is None:
            own = None if scoring.threshold == "auto" else scoring.threshold
            scoring = replace(scoring, metric="accuracy", threshold=own)
        task = make_problem("classification", classes, scoring)
    labels = LabelOrder(task.classes)
    counted = labels.watch((X, np.asarray(y)) for X, y in batches)
    yield from ProgressiveValidation(model, task).records(counted)
    labels.warn("if the order means nothing, shuffle the rows")


class _LastRecord(Resumable):
    """Rows and loss of the last record that was yielded."""

    def __init__(self) -> None:
        self.n_rows, self.loss = 0, 0.0

    def _state_schema(self) -> dict[str, Array]:
        return {"n_rows": COUNT, "loss": sum_of()}


class Windows(Resumable):
    """Loss and metric of equal numbers of consecutive rows, each before it was learned.

    At the end of each window of ``every`` rows ``tell`` is called with a dict: ``rows`` so far,
    those of the ``window``, its mean ``loss`` (hinge, or squared), of classes ``log_loss`` and
    ``accuracy``, and ``metric`` and its ``value``.
    """

    def __init__(self, task: Problem, every: int, tell: Callable[[dict[str, Any]], None]) -> None:
        self.task, self.every, self._tell = task, every, tell
        self.n_rows = 0
        self.tally: Any = task.tally()

    def _state_schema(self) -> dict[str, Array]:
        return {"n_rows": COUNT}

    def _parts(self) -> dict[str, Resumable]:
        return {"tally": self.tally}

    @property
    def left(self) -> int:
        """Rows until the end of this window, at least one."""
        return max(1, self.every - int(self.tally.n_rows))

    def count(self, y: np.ndarray, scored: Any) -> None:
        """Count rows, at most those that are left."""
        self.task.count(self.tally, y, scored)
        self.n_rows += len(y)
        if self.tally.n_rows >= self.every:
            self.close()

    def close(self) -> None:
        """Tell of a window, also of an unfinished one, and begin the next."""
        tally, metric = self.tally, self.task.metric
        n = tally.n_rows
        if not n:
            return
        about = {"rows": self.n_rows, "window": n, "loss": tally.loss / n}
        if not isinstance(self.task, Regression):
            about |= {name: tally.value(name) for name in ("log_loss", "accuracy")}
        self._tell(about | {"metric": metric, "value": tally.value(metric)})
        self.tally = self.task.tally()


class ProgressiveValidation(Resumable):
    """A model on a stream, what is predicted, and the counts so far.

    ``threshold`` follows the rows, if it is tuned; ``labels`` are what the batches are watched by;
    ``windows`` counts the rows by windows, too; and ``history`` collects diagnostics of the stream.
    All four may be None.
    """

    labels: LabelOrder | None = None

    def __init__(self, model: Any, task: Problem) -> None:
        self.model, self.task = model, task.for_model(model)
        self.tally: Any = self.task.tally()
        self.threshold = self.task.running_threshold()
        # of what `predict` says where the model counts the last labels, too
        self.counts_twice = isinstance(self.task, Classification) and bool(
            getattr(model, "memory", False)
        )
        self.tally_without: Any = self.task.tally() if self.counts_twice else None
        self.threshold_without = self.task.running_threshold() if self.counts_twice else None
        self.windows: Windows | None = None
        self.history: DiagnosticsCollector | None = None
        self._last = _LastRecord()

    def _parts(self) -> dict[str, Resumable]:
        parts = {
            "labels": self.labels,
            "tally": self.tally,
            "last": self._last,
            "threshold": self.threshold,
            "tally_without_memory": self.tally_without,
            "threshold_without_memory": self.threshold_without,
        }
        return {name: counts for name, counts in parts.items() if counts is not None}

    def records(self, batches: Iterable[tuple], *, background: bool = False) -> Iterator[Record]:
        """Learn batches (X, y) or (X, y, weight).

        Yields a record after 1, 2, 4, 8, ... rows, and at the end.  With ``background`` another
        thread learns the next rows while the metrics of these are updated, unless windows are
        counted, too.  Until the end the model has then learned more rows than were counted.
        """
        tally, task, last = self.tally, self.task, self._last
        background = background and self.windows is None
        start, told = time.perf_counter(), False

        def record() -> Record:
            since = tally.n_rows - last.n_rows
            return Record(
                rows=tally.n_rows,
                loss=tally.loss / tally.n_rows,
                loss_since_last=(tally.loss - last.loss) / since if since else np.nan,
                metric=tally.value(task.metric),
                accuracy=np.nan if isinstance(task, Regression) else tally.value("accuracy"),
                seconds=time.perf_counter() - start,
                metric_name=task.metric,
                positive=task.positive_label,
                positive_by=task.positive_by,
            )

        scored_rows = self._score_then_learn(batches)
        for y, scored, without in prefetch(scored_rows) if background else scored_rows:
            next_record = 1 << tally.n_rows.bit_length()
            self._count(y, scored)
            if without is not None:
                without = task.decide_by(self.threshold_without, y, without)
                task.count(self.tally_without, y, without)
            if tally.n_rows == next_record:
                yield record()
                told = True
                last.n_rows, last.loss = tally.n_rows, tally.loss
        if self.windows is not None:
            self.windows.close()
        if tally.n_rows > last.n_rows or (tally.n_rows and not told):
            yield record()

    def _score_then_learn(self, batches: Iterable[tuple]) -> Iterator[tuple[np.ndarray, Any, Any]]:
        """Learn the batches in pieces; yield the labels that are present, and their scores.

        The last are those without memory, or None.

        A piece ends at the next doubling, so that its record has its own time.
        """
        task, windows, history, n_rows = self.task, self.windows, self.history, self.tally.n_rows
        scorer = task
        if windows is not None and gives_probabilities(self.model):  # they have a log loss
            scorer = copy.copy(task)
            scorer.needs_probabilities = True
        for X, y, *more in batches:
            y, weight = np.asarray(y), more[0] if more else None
            known = np.flatnonzero(has_label(y))
            done = 0
            while done < len(y):
                most = (1 << n_rows.bit_length()) - n_rows
                if windows is not None:
                    most = min(most, windows.left)
                if history is not None:
                    most = min(most, history.differences.left(n_rows))
                here = known[known >= done][:most]
                piece = slice(done, int(here[-1]) + 1 if len(here) == most else len(y))
                if history is not None and len(here):
                    first = int(here[0])
                    if first > done:  # what comes before this row is learned before it is scored
                        piece, here = slice(done, first), here[:0]
                    elif history.differences.is_due(n_rows):
                        row = _rows(X, slice(first, first + 1))
                        history.differences.add(self.model, row, n_rows)
                part = X if piece == slice(0, len(y)) else _rows(X, piece)
                own = None if weight is None else weight[piece]
                scored = scorer.score_then_learn(self.model, part, y[piece], own)
                without = task.without_memory(self.model) if self.counts_twice else None
                if len(here) < piece.stop - done:
                    scored = scored.take(here - done)
                    without = None if without is None else without.take(here - done)
                done, n_rows = piece.stop, n_rows + len(here)
                if len(here):
                    yield y[here], scored, without

    def _count(self, y: np.ndarray, scored: Any) -> None:
        """Count rows with a label, each scored before it was learned."""
        task, windows = self.task, self.windows
        scored = task.decide_by(self.threshold, y, scored)
        if windows is not None:
            windows.count(y, scored)
            if not task.needs_probabilities:  # those are of the windows
                scored = scored._replace(probabilities=None)
        task.count(self.tally, y, scored)
        if self.history is not None:
            self.history.add(y, scored)


def _rows(X: Any, rows: slice) -> Any:
    # scikit-learn asks first whether it is a data frame, for which it loads pandas
    return X[rows] if isinstance(X, MultiView) else select_rows(X, rows)
