"""Training of one model, on a stream of rows or in memory."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from crossview import __version__
from crossview.catalog.learner import Learner
from crossview.catalog.learners import LEARNERS, find_learner
from crossview.catalog.metrics import check_metric
from crossview.errors import InputError
from crossview.estimators.documentation import document_parameters
from crossview.evaluation.checkpoint import Checkpoint, Kept, Position, Start
from crossview.evaluation.label_order import LabelOrder
from crossview.evaluation.labeled_batch import stack_rows
from crossview.evaluation.parameters import ENCODING, SCORING
from crossview.evaluation.progressive import ProgressiveValidation, Record
from crossview.evaluation.read_labels import check_seed, with_label
from crossview.evaluation.sources import Labeled, input_files, open_labeled, open_more, take_rows
from crossview.evaluation.tasks import Classification, Regression, Task, check_classes_only
from crossview.files import MODEL, check_writable
from crossview.labels import has_label
from crossview.persistence import checksum, save
from crossview.streams.prefetch import prefetch
from crossview.views import MultiView

__all__ = ["Trained", "TrainingObserver", "train"]

# number of last training rows on which the shares of the views in the score are measured
ROWS_FOR_SHARE = 1000
DEFAULT_MODEL = "stacking"


@dataclass
class Trained:
    """The result of `train`: the fitted model and training statistics.

    Attributes
    ----------
    fitted : Pipeline or learner
        The encoder (of rows that are views the scaler) and the learner; the learner alone if
        there is nothing to encode.
    name : str
        The model's name for ``crossview train --model``.
    task : {"classification", "regression"}
        What it predicts.
    label : str or None
        The column of the labels.
    rows : int
        Number of labeled rows that were learned.
    unlabeled : int
        Number of unlabeled rows that were learned.
    skipped : int
        Number of unlabeled rows that were skipped.
    passes : int or None
        Number of passes over the rows; None if the learner had all rows in memory.
    order : str or None
        Order in which the rows were learned: "shuffled", "shuffled by blocks", "in order" or
        "in the order of the query".  None without passes.
    seed : int
        Seed of the order and of the model.
    seconds : float
        Training time, with reading.
    loss, accuracy : float or None
        Progressive loss and accuracy of the first pass: each row is predicted before it is
        learned.  None without passes, or if not defined.
    metric : dict or None
        ``name`` and progressive ``value`` of the metric, or None.
    positive : label or None
        With two classes: the one that metric and threshold are about.
    threshold : float or None
        The probability of the positive class above which it is predicted; None: a score above 0
        predicts the second class.
    view_shares : dict of str to float or None
        Mean absolute score of each view, as a fraction of the sum over the views; None for models
        with interactions, whose score is not a sum over views.
    rows_of_view_shares : int
        Number of last rows on which ``view_shares`` was measured.
    earlier : int
        How many of the rows the model of ``init`` had learned.
    progress : (dict, dict of str to ndarray) or None
        Counts from which ``train(init=)`` goes on; None without passes.
    """

    fitted: Any
    name: str
    task: str
    label: str | None
    rows: int
    unlabeled: int
    skipped: int
    passes: int | None
    order: str | None
    seed: int
    seconds: float
    loss: float | None
    accuracy: float | None
    metric: dict[str, Any] | None
    positive: Any
    threshold: float | None
    view_shares: dict[str, float] | None
    rows_of_view_shares: int
    earlier: int = 0
    progress: tuple[dict[str, Any], dict[str, np.ndarray]] | None = None

    @property
    def learner(self) -> Any:
        """The learner without the encoder."""
        return self.fitted[-1] if isinstance(self.fitted, Pipeline) else self.fitted

    @property
    def info(self) -> dict[str, Any]:
        """The metadata for the model file."""
        excluded = ("fitted", "name", "skipped", "seconds", "earlier", "progress")
        known = {key: value for key, value in vars(self).items() if key not in excluded}
        return {"crossview": __version__, "model": self.name, **known}


class TrainingObserver:
    """Observer of the progress of `train`; override the methods, which do nothing."""

    def start_pass(self, number: int, n_passes: int, n_rows: int | None) -> None:
        """Handle the start of pass ``number``, from 1; ``n_rows`` is None if it is unknown."""

    def add_rows(self, n_rows: int) -> None:
        """Handle ``n_rows`` more learned rows."""

    def add_record(self, record: Record) -> None:
        """Handle a record of the progressive loss and metric."""


@document_parameters(ENCODING, SCORING)
def train(
    X: Any,
    y: Any = None,
    *,
    model: str | None = None,
    settings: Mapping[str, Any] | None = None,
    output: str | os.PathLike[str] | None = None,
    views: Mapping[str, Any] | None = None,
    text: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    hash_bits: int = 18,
    scale_views: bool = True,
    bins: int | None = None,
    task: str = "classification",
    epochs: int = 1,
    in_order: bool | None = None,
    seed: int = 0,
    classes: Sequence[Any] | None = None,
    metric: str | None = None,
    k: int | float | None = None,
    cost: Mapping[str, float] | None = None,
    positive: Any = None,
    threshold: float | str | None = "tuned",
    init: str | os.PathLike[str] | Trained | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 60.0,
    resume: bool = False,
    observer: TrainingObserver | None = None,
) -> Trained:
    """Train a model on the rows of a source, in random order or in their own.

    Online learners learn row by row, and the rows are shuffled first: a model that learns them
    sorted by label follows the last labels.  All orders are equally likely where the rows take at
    most 512 MB of memory.  More rows pass through a buffer of that size, and Parquet files are read
    by row groups in random order.  With ``in_order=True`` memory holds one batch, whatever the size
    of the source.

    KeCo and Pegasos load all rows, because they draw rows at random; with ``schedule="stream"``
    they learn each row once, and keep at most 500 support vectors per view (``budget``).  The SVMs
    (``"svmperf"``) also load all rows, and are trained for the metric.

    Parameters
    ----------
    X : MultiView, data frame, path, glob or query
        The rows.
    y : array-like of shape (n_samples,) or str, default=None
        The labels (regression: numbers), or the name of their column.  None if the file format has
        labels, or for the column of the model of ``init``.
    model : str, default=None
        Name of the model, such as ``"pa:squared"``; ``crossview train --help`` lists them.
        None: "stacking", which learns several of them in one pass, and weighs them by how well they
        predict.
    settings : mapping of str to value, default=None
        Parameters of the model, such as ``{"C": 0.1}``.
    output : path-like, default=None
        The model file to write: a new one, or in place of a model.  None: no file.
    epochs : int, default=1
        Number of passes over the rows, each in another random order; only for online learners.
    in_order : bool, default=None
        Whether online learners learn the rows in the order of the source, as a stream that will
        go on: the progressive scores are then those of later rows.  None: only if X is a query with
        ORDER BY.
    seed : int, default=0
        Seed of the order of the rows and of the random numbers of the model.
    classes : sequence, default=None
        All labels that may occur.  None: an additional pass reads the label column first.
    init : path-like or Trained, default=None
        The model to go on from: a file that `train` wrote, or what it returned.  It has learned the
        rows before these, and its counts go on; with ``in_order=True`` both times, the model is, to
        the last bit, the one of a single run over all rows in this order.  Model, settings, views,
        encoding, classes, metric and threshold are its own.  Categories and words may be new,
        labels not.  None: a new model.
    checkpoint : path-like, default=None
        A file that keeps the run while it lasts: the model so far, its position in the source, and
        all counts.  It is itself a model file, and is removed at the end.  None: none.
    every : float, default=60.0
        Seconds between two checkpoints, 0 or more; 0: one after each batch.
    resume : bool, default=False
        Go on from the checkpoint, if the file is there: the model is, to the last bit, the one of a
        run that never stopped.
    observer : TrainingObserver, default=None
        Object whose methods are called during training; see `TrainingObserver`.

    Returns
    -------
    Trained
        The fitted model, and its progressive loss and metric: in the first pass each row is
        predicted before it is learned.

    Warns
    -----
    LabelOrderWarning
        The labels, in the order in which they were learned, come in long blocks: they change less
        than a twentieth as often as in random order.

    Examples
    --------
    >>> from crossview import datasets, train
    >>> trained = train(datasets.load("breast-cancer"), "diagnosis")
    >>> trained.rows, trained.accuracy > 0.9
    (569, True)
    >>> trained.fitted.predict(datasets.load("breast-cancer"))[:2].tolist()
    ['malignant', 'malignant']
    """
    # 1. check the arguments before a row is read
    _check_outputs(X, output, checkpoint)
    if checkpoint is not None and isinstance(init, str | os.PathLike):
        _check_different(init, checkpoint)
    if resume and checkpoint is None:
        raise InputError("resume= goes on from a file; name it by checkpoint=")
    check_classes_only(task, classes=classes, positive=positive, cost=cost, threshold=threshold)
    if epochs < 1:
        raise InputError(f"epochs={epochs}; give 1 or more")
    check_seed(seed)
    encoding: dict[str, Any] = {
        "views": views,
        "text": text,
        "categorical": categorical,
        "numeric": numeric,
        "hash_bits": hash_bits,
        "scale_views": scale_views,
        "bins": bins,
    }
    scoring = {"metric": metric, "k": k, "cost": cost, "positive": positive, "threshold": threshold}
    if init is None:
        rows = {"task": task, "classes": classes, **encoding}
        job = _new(X, y, model or DEFAULT_MODEL, settings or {}, rows, scoring, seed)
    else:
        own = {"model": model, "settings": settings, "classes": classes, **_given(encoding)}
        if task != "classification":
            own["task"] = task
        job = _go_on(Start.read(init), X, y, own | _given(scoring), seed)
    # 2. learn
    if not job.streamed or job.entry.one_pass:
        _check_one_pass(job.entry, epochs)
    if job.streamed:
        order = _Order(job.source, in_order, seed)
        stream = _Stream(job, order)
        if checkpoint is not None:
            shuffled = "in order" if order.state is None else "shuffled"
            run = _run_of(job, [epochs, shuffled])
            stream.checkpoint = Checkpoint(checkpoint, every, run, resume=resume)
        answer = stream.learn(epochs, observer or TrainingObserver())
    else:
        if checkpoint is not None:
            raise InputError(
                f"model {job.entry.name!r} learns all rows at once, and has no checkpoint; leave "
                "it out"
            )
        answer = _learn_at_once(job)
    # 3. keep it
    if output is not None:
        save(answer.fitted, output, info=answer.info, progress=answer.progress)
    if job.streamed and stream.checkpoint is not None:
        stream.checkpoint.remove()
    return answer


class _Job(NamedTuple):
    """What learns which rows.

    Attributes
    ----------
    entry : Learner
        Of the catalog.
    streamed : bool
        Whether it learns row by row.
    learner, encoder : estimator
        New ones, or those of ``start``; the encoder may be None.
    source : Labeled
        The rows.
    task : Task
        What is predicted.
    about : dict
        Name, task, label and seed, for `Trained`.
    start : Start or None
        The model to go on from.
    """

    entry: Learner
    streamed: bool
    learner: Any
    encoder: Any
    source: Labeled
    task: Task
    about: dict[str, Any]
    start: Start | None = None


def _new(
    X: Any,
    y: Any,
    model: str,
    settings: Mapping[str, Any],
    rows: dict[str, Any],
    scoring: dict[str, Any],
    seed: int,
) -> _Job:
    """A new model."""
    task = rows["task"]
    metric = check_metric(scoring["metric"], task=task, k=scoring["k"], cost=scoring["cost"])
    if settings.get("kernel") == "precomputed":  # rows of kernel values are no views
        rows["scale_views"] = False
    unlabeled = any(one.name == model and one.in_memory for one in LEARNERS)
    source = open_labeled(X, y, unlabeled=unlabeled, **rows)
    entry = find_learner(model, task, source.layout.names)
    predicted = _task_of(task, source.classes, metric, scoring)
    if task == "classification":
        entry = entry.for_metric(metric, predicted.positive_label)
    if entry.view is not None:
        source = source.select_view(entry.view)
    given = entry.check_settings(settings)
    learner = entry.make(**given, random_state=seed)
    learner.check_params()
    streamed = entry.is_streamed(given)
    if streamed:
        learner.check_streams()
    encoder = None if source.encoder is None else clone(source.encoder)
    label = y if isinstance(y, str) else None
    about = {"name": entry.name, "task": task, "label": label, "seed": seed}
    return _Job(entry, streamed, learner, encoder, source, predicted, about)


def _go_on(start: Start, X: Any, y: Any, own: dict[str, Any], seed: int) -> _Job:
    """A model that has learned other rows before; ``own`` are options that it has already."""
    start.refuse(**own)
    info, learner = start.info, start.learner
    task, classes = info["task"], getattr(learner, "classes_", None)
    y = info["label"] if y is None else y
    entry = find_learner(info["model"], task, learner.layout_.names)
    source = open_more(
        X,
        y,
        start.encoder,
        task=task,
        unlabeled=entry.learns_unlabeled,
        classes=None if classes is None else classes.tolist(),
    )
    if entry.view is not None:
        source = source.select_view(entry.view)
    if source.layout != learner.layout_:
        raise InputError(
            f"the rows have the views {source.layout}, and the model {learner.layout_}",
            file=source.file,
        )
    scoring = {"positive": info["positive"], "threshold": start.threshold}
    predicted = _task_of(task, classes, info["metric"]["name"], scoring)
    about = {"name": entry.name, "task": task, "label": info["label"], "seed": seed}
    return _Job(entry, True, learner, start.encoder, source, predicted, about, start)


def _task_of(task: str, classes: Any, metric: str, scoring: Mapping[str, Any]) -> Task:
    """What is predicted, and how it is scored."""
    if task == "regression":
        return Regression(metric)
    positive, threshold = scoring["positive"], scoring["threshold"]
    return Classification(classes, positive, metric=metric, threshold=threshold)


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are not left at their defaults."""
    defaults = {"hash_bits": 18, "scale_views": True, "threshold": "tuned"}
    return {name: value for name, value in options.items() if value != defaults.get(name)}


def _check_outputs(X: Any, *outputs: str | os.PathLike[str] | None) -> None:
    """Raise an error for a file that must not be written, or is to be two things."""
    files = [file for file in outputs if file is not None]
    for file in files:
        check_writable(file, MODEL, input_files(X))
    if len(files) == 2:
        _check_different(*files)


def _check_different(model: str | os.PathLike[str], checkpoint: str | os.PathLike[str]) -> None:
    """Raise an error for a checkpoint that would replace a model."""
    if os.path.realpath(model) == os.path.realpath(checkpoint):
        raise InputError("is the model and its checkpoint; name two files", file=str(model))


def _run_of(job: _Job, order: list[Any]) -> dict[str, Any]:
    """What makes a run: with another one of these, the rows or the updates are others."""
    source, task, start = job.source, job.task, job.start
    return {
        "the model": job.about["name"],
        "its settings": repr(job.learner),
        "the seed": job.about["seed"],
        "passes and order": order,
        "the encoding": repr(source.encoder),
        "the views": [list(source.layout.names), [int(width) for width in source.layout.widths]],
        "the classes": [str(label) for label in source.classes.tolist()],
        "the metric": [task.metric, str(task.positive_label), str(task.threshold)],
        "the number of rows": source.n_rows,
        "the model to go on from": None if start is None else checksum(start.counts, {}),
    }


def _check_one_pass(entry: Learner, epochs: int) -> None:
    """Raise an error if ``epochs`` does not apply to the learner."""
    if epochs == 1:
        return
    if entry.one_pass:
        raise InputError(
            f"epochs={epochs}: {entry.name} learns in one pass, in which each row is new to its "
            "experts; leave epochs out"
        )
    if not entry.streams:
        raise InputError(
            f"epochs={epochs}: {entry.name} makes no passes but stops by its parameter tol; leave "
            "epochs out, or set tol=0.0001"
        )
    switch = ", ".join(f"{name}={value}" for name, value in entry.stream_params.items())
    raise InputError(f"epochs={epochs}: {entry.name} draws rows; leave epochs out, or set {switch}")


class _Order:
    """The order in which the rows of a source are learned; the source is shuffled if need be."""

    def __init__(self, source: Labeled, in_order: bool | None, seed: int) -> None:
        by_query = in_order is None and source.ordered
        self._shuffled = None if in_order or by_query else source.shuffle(seed)
        self._own = "in the order of the query" if by_query else "in order"

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

    @property
    def in_memory(self) -> bool:
        """Whether the rows were shuffled in memory."""
        return self._shuffled is not None and bool(self._shuffled.exact)

    @property
    def advice(self) -> str:
        """What to do if the labels come in blocks."""
        if self._shuffled is None:
            return "shuffle the rows (--shuffle, in_order=False)"
        return (
            "the rows do not fit in memory, and the source is read in its order; shuffle it, for "
            "example by a query with ORDER BY random()"
        )


class _Stream:
    """Passes over the rows; only the first one is scored on unseen rows."""

    def __init__(self, job: _Job, order: _Order) -> None:
        self.entry, self.learner, self.source, self.order = (
            job.entry,
            job.learner,
            job.source,
            order,
        )
        self.encoder, self.about, self.start = job.encoder, job.about, job.start
        self.task = job.task.for_model(self.learner)
        self.labels = LabelOrder(self.source.classes)
        # of the first pass
        self.scored = ProgressiveValidation(self.learner, self.task)
        # the last rows of the stream
        self.tail: MultiView | None = None
        self.position = Position()
        self.checkpoint: Checkpoint | None = None

    def learn(self, epochs: int, observer: TrainingObserver) -> Trained:
        began = time.perf_counter()
        self._take_up()
        here = self.position
        calibration = getattr(self.learner, "calibration", None)
        for number in range(here.number, epochs + 1):
            observer.start_pass(number, epochs, self.source.n_rows)
            batches, scored = self._batches(observer), self.scored
            if number == 1:
                batches = self.labels.watch(batches)
            else:
                scored = ProgressiveValidation(self.learner, self.task)
                if calibration is not None:  # such a pass scores rows that were learned
                    self.learner.calibration = "none"
            for record in scored.records(batches):
                observer.add_record(record)
            here.number, here.batches = number + 1, 0
        if calibration is not None:
            self.learner.calibration = calibration
        earlier = 0 if self.start is None else self.start.info["rows"]
        if self.scored.tally.n_rows == earlier:
            rows = "row has a label" if here.unlabeled or here.skipped else "row is there"
            raise InputError(f"no {rows} to learn from", file=self.source.file)
        counts, threshold = self._counts(), self.task.fixed_threshold
        if self.scored.threshold is not None:
            threshold = self.scored.threshold.place()
        if threshold is not None:
            self.learner.set_threshold(threshold)
        if epochs > 1 and self.start is None:
            self._tune_after_passes(epochs)
        self.labels.warn(self.order.advice)
        tally, metric = self.scored.tally, self.task.metric
        classes = isinstance(self.task, Classification)
        return Trained(
            fitted=_fitted(self.encoder, self.learner),
            **self.about,
            rows=tally.n_rows,
            unlabeled=here.unlabeled,
            skipped=here.skipped,
            passes=epochs,
            order=str(self.order),
            seconds=time.perf_counter() - began,
            loss=tally.loss / tally.n_rows,
            accuracy=_defined(tally.value("accuracy")) if classes else None,
            metric={"name": metric, "value": _defined(tally.value(metric))},
            **_threshold_of(self.learner, self.task),
            **self._shares(),
            earlier=earlier,
            progress=Start.progress(counts, here, self.task.threshold),
        )

    def _shares(self) -> dict[str, Any]:
        """The shares of the views, on the last rows of this run and, if they are few, before."""
        shares = _view_shares(self.entry, self.learner, self.tail)
        n = 0 if self.tail is None else len(self.tail)
        before = {} if self.start is None else self.start.info
        more = min(before.get("rows_of_view_shares", 0), ROWS_FOR_SHARE - n)
        if shares is not None and more and before["view_shares"]:
            old = before["view_shares"]
            shares = {view: (n * shares[view] + more * old[view]) / (n + more) for view in shares}
            n += more
        return {"view_shares": shares, "rows_of_view_shares": n}

    def _counts(self) -> dict[str, np.ndarray]:
        """The counts of the first pass."""
        of_labels = {f"labels.{name}": array for name, array in self.labels.get_state().items()}
        return of_labels | self.scored.get_state()

    def _set_counts(self, counts: dict[str, np.ndarray]) -> None:
        self.scored.set_state(counts)
        of_labels = {
            key.removeprefix("labels."): array
            for key, array in counts.items()
            if key.startswith("labels.")
        }
        self.labels.set_state(of_labels)

    def _tune_after_passes(self, epochs: int) -> None:
        """Let rows held out by folds calibrate the learner, and place its threshold.

        In the first pass the rows were new to the learner, but it was another one then.  Rows that
        do not fit in memory keep the calibration and threshold of the first pass.
        """
        if not (isinstance(self.task, Classification) and self.task.tunes and self.order.in_memory):
            return
        data, y = self.source.load()
        known = np.flatnonzero(has_label(y))
        X = take_rows(data, known)
        X = X if self.encoder is None else self.encoder.transform(X)
        passes = self.entry.passes(epochs)
        held_out = _held_out(self.learner, self.task, X, y[known], self.about["seed"], **passes)
        if held_out is not None:
            _tune(self.learner, self.task, *held_out)

    def _take_up(self) -> None:
        """Go on from the checkpoint, if there is one, or from an earlier model."""
        kept = None if self.checkpoint is None else self.checkpoint.read()
        if kept is not None:
            fitted = kept.fitted
            self.encoder = fitted[0] if isinstance(fitted, Pipeline) else None
            calibration = getattr(self.learner, "calibration", None)
            self.learner = fitted[-1] if isinstance(fitted, Pipeline) else fitted
            if calibration is not None:  # a later pass has none
                self.learner.calibration = calibration
            self.scored.model = self.learner
            self.tail, self.position = kept.tail, kept.position
            self.order.state = kept.position.order
            self._set_counts(kept.counts)
        elif self.start is not None:
            self.position = Position(unlabeled=self.start.unlabeled, skipped=self.start.skipped)
            self._set_counts(self.start.counts)

    def _keep(self, encoder: Any) -> None:
        """Write the checkpoint, with the encoder as it was after the last batch."""
        assert self.checkpoint is not None
        self.position.order = self.order.state
        fitted = _fitted(encoder, self.learner)
        self.checkpoint.write(Kept(fitted, self.position, self._counts(), self.tail))

    def _batches(self, observer: TrainingObserver) -> Iterator[tuple[MultiView, np.ndarray]]:
        """Yield the rows to learn, count them, notify the observer, and keep what was learned."""
        here = self.position
        for X, y, encoder in prefetch(self._encoded()):
            n_missing = 0 if not len(self.source.classes) else int((~has_label(y)).sum())
            if n_missing and not self.entry.learns_unlabeled:
                here.skipped += n_missing if here.number == 1 else 0
                kept = list(with_label([(X, y)]))
            else:
                here.unlabeled += n_missing if here.number == 1 else 0
                kept = [(X, y)]
            for known, of_known in kept:
                yield known, of_known
                last = known[-ROWS_FOR_SHARE:]
                if self.tail is not None and len(last) < ROWS_FOR_SHARE:
                    last = stack_rows([self.tail[len(last) - ROWS_FOR_SHARE :], last])
                self.tail = last
            here.batches += 1
            observer.add_rows(len(y))
            if encoder is not None and self.scored.tally.n_rows:
                self._keep(encoder[0])

    def _encoded(self) -> Iterator[tuple[MultiView, np.ndarray, list[Any] | None]]:
        """The batches that are left; with those that are to be kept, the encoder after them."""
        here, encoder = self.position, self.encoder
        learn = here.number == 1
        done = here.batches
        for X, y in self.source.encoded(encoder, learn=learn, done=done):
            if self.checkpoint is None or not self.checkpoint.is_due():
                yield X, y, None
            else:  # in a moment, the encoder learns the next batch, in this thread
                yield X, y, [copy.deepcopy(encoder) if learn else encoder]


def _learn_at_once(job: _Job) -> Trained:
    """Fit the learner to all rows in memory, as in `compare` by folds."""
    entry, learner, source, about = job.entry, job.learner, job.source, job.about
    task = job.task.for_model(learner)
    start = time.perf_counter()
    data, y = source.load()
    known = np.flatnonzero(has_label(y))
    n_missing = len(y) - len(known)
    encoder = job.encoder
    if encoder is not None:
        encoder.fit(take_rows(data, known))
    if not entry.learns_unlabeled:
        data, y = take_rows(data, known), y[known]
    X = data if encoder is None else encoder.transform(data)
    if isinstance(task, Classification) and task.tunes:
        _fit_and_tune(learner, task, X, y, about["seed"])
    else:
        learner.fit(X, y)
        if task.fixed_threshold is not None:
            learner.set_threshold(task.fixed_threshold)
    seconds = time.perf_counter() - start
    tail = X[-ROWS_FOR_SHARE:]
    return Trained(
        fitted=_fitted(encoder, learner),
        **about,
        rows=len(known),
        unlabeled=n_missing if entry.learns_unlabeled else 0,
        skipped=0 if entry.learns_unlabeled else n_missing,
        passes=None,
        order=None,
        seconds=seconds,
        loss=None,
        accuracy=None,
        metric=None,
        **_threshold_of(learner, task),
        view_shares=_view_shares(entry, learner, tail),
        rows_of_view_shares=len(tail),
    )


def _fit_and_tune(
    learner: Any, task: Classification, X: MultiView, y: np.ndarray, seed: int
) -> None:
    """Fit the learner; the rows held out by three folds calibrate it, and choose its threshold.

    So the fits by which `fit` itself would calibrate it serve both.
    """
    calibration = learner.calibration
    held_out = _held_out(learner, task, X, y, seed)
    if held_out is not None:
        learner.calibration = "none"
    learner.fit(X, y)
    if held_out is not None:
        _tune(learner, task, *held_out)
        learner.calibration = calibration


def _held_out(
    learner: Any,
    task: Classification,
    X: MultiView,
    y: np.ndarray,
    seed: int,
    **params: Any,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Scores of rows held out by three folds, and their labels; None if too few to hold out."""
    known, unlabeled = np.flatnonzero(has_label(y)), np.flatnonzero(~has_label(y))
    labels = np.asarray(y[known].tolist())
    counts = np.unique(labels, return_counts=True)[1]
    precomputed = getattr(learner, "kernel", None) == "precomputed"  # rows are columns, too
    if precomputed or len(counts) < 2 or counts.min() < 2:
        return None
    scores, of_rows = [], []
    for train, test in task.inner_folds(labels, seed=seed).split(labels, labels):
        part = np.concatenate([known[train], unlabeled])
        model = clone(learner).set_params(calibration="none", **params).fit(X[part], y[part])
        scores.append(model.decision_function(X[known[test]]))
        of_rows.append(labels[test])
    return np.concatenate(scores), np.concatenate(of_rows)


def _tune(learner: Any, task: Classification, scores: np.ndarray, labels: np.ndarray) -> None:
    """Calibrate a fitted learner by scores of held-out rows, and place its threshold."""
    learner.calibrate(scores, labels)
    scored = task.decide(scores, learner.probabilities(scores))
    learner.set_threshold(task.tune(labels, scored)[0])


def _threshold_of(learner: Any, task: Task) -> dict[str, Any]:
    """The threshold of a classifier, as a probability of the positive class."""
    threshold = getattr(learner, "threshold_", None)
    return {
        "positive": task.positive_label,
        "threshold": None if threshold is None else task.of_other_side(threshold),
    }


def _fitted(encoder: Any, learner: Any) -> Any:
    if encoder is None:
        return learner
    return Pipeline([("encoder", encoder), ("model", learner)])


def _view_shares(entry: Learner, learner: Any, X: MultiView | None) -> dict[str, float] | None:
    """Return the mean absolute score of each view as a fraction of the sum; 0 for a missing view.

    None for a model with interactions, whose score is not a sum over views.
    """
    if X is None or entry.explained_by == "interactions":
        return None
    scores = np.abs(np.nan_to_num(learner.view_scores(X)))
    size = scores.reshape(len(X), learner.layout_.n_views, -1).mean(axis=(0, 2))
    if not size.sum() > 0:
        return None
    return dict(zip(learner.layout_.names, (size / size.sum()).tolist(), strict=True))


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else value
