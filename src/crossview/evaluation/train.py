"""Training of one model, on a stream of rows or in memory."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from crossview import __version__
from crossview.catalog.learner import Learner
from crossview.catalog.learners import LEARNERS, find_learner
from crossview.catalog.metrics import check_metric
from crossview.errors import InputError
from crossview.estimators.documentation import document_parameters
from crossview.evaluation.checkpoint import Checkpoint, Kept, Position
from crossview.evaluation.drift import make_reference
from crossview.evaluation.label_order import LabelOrder
from crossview.evaluation.labeled_batch import stack_rows
from crossview.evaluation.parameters import ENCODING, SCORING
from crossview.evaluation.progressive import ProgressiveValidation, Record
from crossview.evaluation.read_labels import check_seed, with_label
from crossview.evaluation.sources import Labeled, input_files, open_labeled, take_rows
from crossview.evaluation.tasks import Classification, Regression, Task, check_classes_only
from crossview.files import MODEL, check_writable
from crossview.labels import has_label
from crossview.persistence import save
from crossview.streams.prefetch import prefetch
from crossview.views import MultiView

__all__ = ["Trained", "TrainingObserver", "train"]

# number of last training rows on which the shares of the views in the score are measured
ROWS_FOR_SHARE = 1000


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
    reference : dict or None
        How inputs and scores of each view were distributed over these rows; `evaluate` and
        `predict` compare later rows with it.  None for fewer than 50 rows.
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
    reference: dict[str, Any] | None

    @property
    def learner(self) -> Any:
        """The learner without the encoder."""
        return self.fitted[-1] if isinstance(self.fitted, Pipeline) else self.fitted

    @property
    def info(self) -> dict[str, Any]:
        """The metadata for the model file."""
        excluded = ("fitted", "name", "skipped", "seconds")
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
    model: str = "stacking",
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
        labels.
    model : str, default="stacking"
        Name of the model, such as ``"pa:squared"``; ``crossview train --help`` lists them.
        "stacking" learns several of them in one pass, and weighs them by how well they predict.
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
    if resume and checkpoint is None:
        raise InputError("resume= goes on from a file; name it by checkpoint=")
    metric = check_metric(metric, task=task, k=k, cost=cost)
    check_classes_only(task, classes=classes, positive=positive, cost=cost, threshold=threshold)
    if epochs < 1:
        raise InputError(f"epochs={epochs}; give 1 or more")
    check_seed(seed)
    source = open_labeled(
        X,
        y,
        task=task,
        unlabeled=any(one.name == model and one.in_memory for one in LEARNERS),
        classes=classes,
        views=views,
        text=text,
        categorical=categorical,
        numeric=numeric,
        hash_bits=hash_bits,
        # rows of kernel values are no views
        scale_views=scale_views and (settings or {}).get("kernel") != "precomputed",
        bins=bins,
    )
    entry = find_learner(model, task, source.layout.names)
    predicted: Task = (
        Regression(metric)
        if task == "regression"
        else Classification(source.classes, positive, metric=metric, threshold=threshold)
    )
    if task == "classification":
        entry = entry.for_metric(metric, predicted.positive_label)
    if entry.view is not None:
        source = source.select_view(entry.view)
    given = entry.check_settings(settings or {})
    learner = entry.make(**given, random_state=seed)
    learner.check_params()
    label = y if isinstance(y, str) else None
    about = {"name": entry.name, "task": task, "label": label, "seed": seed}
    # 2. learn
    if entry.one_pass or not entry.is_streamed(given):
        _check_one_pass(entry, epochs)
    if entry.is_streamed(given):
        learner.check_streams()
        order = _Order(source, in_order, seed)
        stream = _Stream(entry, learner, source, predicted, order)
        if checkpoint is not None:
            shuffled = "in order" if order.state is None else "shuffled"
            run = _run_of(about, learner, source, predicted, [epochs, shuffled])
            stream.checkpoint = Checkpoint(checkpoint, every, run, resume=resume)
        answer = stream.learn(epochs, observer or TrainingObserver(), about)
    else:
        if checkpoint is not None:
            raise InputError(
                f"model {entry.name!r} learns all rows at once, and has no checkpoint; leave it out"
            )
        answer = _learn_at_once(entry, learner, source, predicted, about)
    # 3. keep it
    if output is not None:
        save(answer.fitted, output, info=answer.info)
    if entry.is_streamed(given) and stream.checkpoint is not None:
        stream.checkpoint.remove()
    return answer


def _check_outputs(X: Any, *outputs: str | os.PathLike[str] | None) -> None:
    """Raise an error for a file that must not be written, or is to be two things."""
    files = [file for file in outputs if file is not None]
    for file in files:
        check_writable(file, MODEL, input_files(X))
    if len({os.path.realpath(file) for file in files}) < len(files):
        raise InputError("is the model and its checkpoint; name two files", file=str(files[0]))


def _run_of(
    about: dict[str, Any], learner: Any, source: Labeled, task: Task, order: list[Any]
) -> dict[str, Any]:
    """What makes a run: with another one of these, the rows or the updates are others."""
    return {
        "the model": about["name"],
        "its settings": repr(learner),
        "the seed": about["seed"],
        "passes and order": order,
        "the encoding": repr(source.encoder),
        "the views": [list(source.layout.names), [int(width) for width in source.layout.widths]],
        "the classes": [str(label) for label in source.classes.tolist()],
        "the metric": [task.metric, str(task.positive_label), str(task.threshold)],
        "the number of rows": source.n_rows,
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

    def __init__(
        self, entry: Learner, learner: Any, source: Labeled, task: Task, order: _Order
    ) -> None:
        self.entry, self.learner, self.source, self.order = entry, learner, source, order
        self.task = task.for_model(learner)
        self.encoder: Any = None if source.encoder is None else clone(source.encoder)
        # the last rows of the stream
        self.tail: MultiView | None = None
        self.position = Position()
        self.checkpoint: Checkpoint | None = None

    def learn(self, epochs: int, observer: TrainingObserver, about: dict[str, Any]) -> Trained:
        start = time.perf_counter()
        labels = LabelOrder(self.source.classes)
        calibration = getattr(self.learner, "calibration", None)
        counts = self._take_up(labels)
        here = self.position
        for number in range(here.number, epochs + 1):
            observer.start_pass(number, epochs, self.source.n_rows)
            last = None
            if calibration is not None and number > 1:  # such a pass scores rows that were learned
                self.learner.calibration = "none"
            one_pass = ProgressiveValidation(self.learner, self.task)
            if counts:
                one_pass.set_state(counts)
                counts = {}
            batches = self._batches(observer, one_pass, labels)
            for last in one_pass.records(labels.watch(batches) if number == 1 else batches):
                observer.add_record(last)
            if number == 1:
                here.first = last
                if one_pass.threshold is not None:
                    here.threshold = one_pass.threshold.place()
            here.number, here.batches = number + 1, 0
        if calibration is not None:
            self.learner.calibration = calibration
        first, threshold = here.first, self.task.fixed_threshold
        if first is None:
            rows = "row has a label" if here.unlabeled or here.skipped else "row is there"
            raise InputError(f"no {rows} to learn from", file=self.source.file)
        if here.threshold is not None:
            threshold = here.threshold
        if threshold is not None:
            self.learner.set_threshold(threshold)
        if epochs > 1:
            self._tune_after_passes(epochs, about["seed"])
        labels.warn(self.order.advice)
        return Trained(
            fitted=_fitted(self.encoder, self.learner),
            **about,
            rows=first.rows,
            unlabeled=here.unlabeled,
            skipped=here.skipped,
            passes=epochs,
            order=str(self.order),
            seconds=time.perf_counter() - start,
            loss=first.loss,
            accuracy=_defined(first.accuracy),
            metric={"name": self.task.metric, "value": _defined(first.metric)},
            **_threshold_of(self.learner, self.task),
            **_about_tail(
                *(self.entry, self.learner, self.tail, first.rows + here.unlabeled),
                once=epochs == 1,
            ),
        )

    def _tune_after_passes(self, epochs: int, seed: int) -> None:
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
        held_out = _held_out(self.learner, self.task, X, y[known], seed, **passes)
        if held_out is not None:
            _tune(self.learner, self.task, *held_out)

    def _take_up(self, labels: LabelOrder) -> dict[str, np.ndarray]:
        """Go on from the checkpoint, if there is one; return the counts of the pass."""
        kept = None if self.checkpoint is None else self.checkpoint.read()
        if kept is None:
            return {}
        if isinstance(kept.fitted, Pipeline):
            self.encoder, learner = kept.fitted[0], kept.fitted[-1]
        else:
            learner = kept.fitted
        if hasattr(learner, "calibration"):  # a later pass has none
            learner.calibration = self.learner.calibration
        self.learner, self.tail, self.position = learner, kept.tail, kept.position
        self.order.state = kept.position.order
        of_labels = {name: kept.counts.pop(f"labels.{name}") for name in labels.STATE}
        labels.set_state(of_labels)
        return kept.counts

    def _keep(self, encoder: Any, one_pass: ProgressiveValidation, labels: LabelOrder) -> None:
        """Write the checkpoint, with the encoder as it was after the last batch."""
        assert self.checkpoint is not None
        self.position.order = self.order.state
        counts = {f"labels.{name}": array for name, array in labels.get_state().items()}
        fitted = _fitted(encoder, self.learner)
        self.checkpoint.write(Kept(fitted, self.position, counts | one_pass.get_state(), self.tail))

    def _batches(
        self, observer: TrainingObserver, one_pass: ProgressiveValidation, labels: LabelOrder
    ) -> Iterator[tuple[MultiView, np.ndarray]]:
        """Yield the rows to learn, count them, notify the observer, and keep what was learned."""
        here = self.position
        if not here.batches:
            here.unlabeled = here.skipped = 0
        for X, y, encoder in prefetch(self._encoded()):
            n_missing = 0 if not len(self.source.classes) else int((~has_label(y)).sum())
            if n_missing and not self.entry.learns_unlabeled:
                here.skipped += n_missing
                kept = list(with_label([(X, y)]))
            else:
                here.unlabeled += n_missing
                kept = [(X, y)]
            for known, of_known in kept:
                before = [] if self.tail is None or len(known) >= ROWS_FOR_SHARE else [self.tail]
                self.tail = stack_rows([*before, known])[-ROWS_FOR_SHARE:]
                yield known, of_known
            here.batches += 1
            observer.add_rows(len(y))
            if encoder is not None and one_pass.tally.n_rows:
                self._keep(encoder[0], one_pass, labels)

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


def _learn_at_once(
    entry: Learner, learner: Any, source: Labeled, task: Task, about: dict[str, Any]
) -> Trained:
    """Fit the learner to all rows in memory, as in `compare` by folds."""
    task = task.for_model(learner)
    start = time.perf_counter()
    data, y = source.load()
    known = np.flatnonzero(has_label(y))
    n_missing = len(y) - len(known)
    encoder: Any = None
    if source.encoder is not None:
        encoder = clone(source.encoder).fit(take_rows(data, known))
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
        **_about_tail(entry, learner, X[-ROWS_FOR_SHARE:], len(X), once=False),
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


def _about_tail(
    entry: Learner, learner: Any, X: MultiView | None, n_rows: int, *, once: bool
) -> dict[str, Any]:
    """What is measured on the last of the rows: shares in the score, and a reference for drift."""
    return {
        "view_shares": _view_shares(entry, learner, X),
        "rows_of_view_shares": 0 if X is None else len(X),
        "reference": None if X is None else make_reference(learner, X, n_rows, once=once),
    }


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
