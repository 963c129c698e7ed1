"""Training of one model, on a stream of rows or in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from crossview.data.joining.views_as_table import label_of_model, open_views
from crossview.data.read_labels import check_seed
from crossview.data.source import input_files
from crossview.data.summaries.leak_check import LeakCheck
from crossview.errors import InputError
from crossview.estimators.documentation import document_parameters
from crossview.saving.files import MODEL, alone, check_writable
from crossview.saving.model_files import checksum, save_steps
from crossview.saving.pipelines import named_steps
from crossview.scoring.problems import check_classes_only
from crossview.scoring.shared_parameters import ENCODING, SCORING
from crossview.scoring.trained import Trained, TrainingObserver
from crossview.training.checkpoint import Checkpoint
from crossview.training.fit_in_memory import learn_at_once
from crossview.training.job import Job, check_passes, continued_job, new_job
from crossview.training.log import Log
from crossview.training.order import Order
from crossview.training.passes import Passes
from crossview.training.start import Start

__all__ = ["Trained", "TrainingObserver", "train"]

DEFAULT_MODEL = "stacking"


@document_parameters(ENCODING, SCORING)
def train(
    X: Any,
    y: Any = None,
    *,
    on: str | Sequence[str] | None = None,
    model: str | None = None,
    settings: Mapping[str, Any] | None = None,
    output: str | os.PathLike[str] | None = None,
    views: Mapping[str, Any] | None = None,
    text: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    date: Sequence[str] = (),
    ignore: Sequence[str] = (),
    hash_bits: int = 18,
    ngrams: int = 1,
    tf_idf: bool = False,
    scale_views: bool = True,
    bins: int | None = None,
    task: str = "classification",
    epochs: int = 1,
    in_order: bool | None = None,
    time: str | None = None,
    weight: Any = None,
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
    log: str | os.PathLike[str] | None = None,
    log_every: int | None = None,
    history: bool = False,
    observer: TrainingObserver | None = None,
) -> Trained:
    """Train a model on the rows of a source, in random order or in their own.

    Online learners learn row by row, and the rows are shuffled first: a model that learns them
    sorted by label follows the last labels.  All orders are equally likely where the rows take at
    most 512 MB of memory.  More rows pass through a buffer of half that size, and Parquet files are
    read by row groups in random order.  With ``in_order=True`` memory holds one batch, whatever the
    size of the source.

    KeCo and Pegasos load all rows, because they draw rows at random; with ``schedule="stream"``
    they learn each row once, and keep at most 500 support vectors per view (``budget``).  The SVMs
    (``"svmperf"``) also load all rows, and are trained for the metric.

    Parameters
    ----------
    X : MultiView, data frame, path, glob, query, or mapping of str to these
        The rows.  Several views may be apart, as a mapping such as ``{"mrna": "mrna.csv", "meth":
        frame}``; the columns of each are then called ``mrna__x``.  The table of the label gives the
        rows, in which other views may be missing; without a label all ids are rows.
    y : array-like of shape (n_samples,) or str, default=None
        The labels (regression: numbers), or the name of their column.  None if the file format has
        labels, or for the column of the model of ``init``.
    on : str or sequence of str, default=None
        Where ``X`` is a mapping of views to sources: the column, such as an id, by which their rows
        belong together.  None: frames have the same rows, in one order or by their pandas index.
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
        The first pass alone decides how a stack weighs its experts, its probabilities and its
        threshold, because its rows are new to them; further passes teach the experts.
    in_order : bool, default=None
        Whether online learners learn the rows in the order of the source, as a stream that will
        go on: the progressive scores are then those of later rows.  None: only if X is a query with
        ORDER BY.
    time : str, default=None
        A column of timestamps, dates or numbers: the rows are learned in its order, those of the
        same time in the order of the source.  The column is in no view.  The rows are sorted in
        memory, up to 512 MB; of more, give a query with ORDER BY.
    weight : array-like of shape (n_samples,) or str, default=None
        How much each row counts in learning and calibration, 0 or more; 0: not at all.  The name of
        a column: its values; the column is in no view.  Loss, metric, threshold and encoder count
        each row once.  Weights multiply C, and mean as many equal rows to the calibration: divide
        them by their mean if that is far from 1.
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
        A file that keeps the run while it lasts: the model so far, its position in the source, a
        hash of the rows that were read, and all counts.  It is itself a model file, and is removed
        at the end.  Two runs at the same time cannot share it.  None: none.
    every : float, default=60.0
        Seconds between two checkpoints, 0 or more; 0: one after each batch.
    resume : bool, default=False
        Go on from the checkpoint, if the file is there: the model is, to the last bit, the one of a
        run that never stopped.  The rows that the run had read are read again first, and if one is
        another, that is an error.
    log : path-like, default=None
        A file of JSON lines, one for each window of rows of the first pass: the rows so far, and of
        those of the window, each predicted before it was learned, loss, log loss, accuracy and
        metric.  None: none.
    log_every : int, default=None
        Rows of a window, 1 or more.  None: about 20 windows, of 100 rows or more.
    history : bool, default=False
        Whether to keep what pictures of the first pass need: the error so far, how the scores of
        the views differed, and a sample of the rows.  It changes no model, and takes a tenth more
        time at most; of a run that was resumed it begins there.
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
    LeakWarning
        A column of a table tells the label (`Trained.warnings`), in the first 100,000 rows that are
        learned or fewer: by where it is missing, or by its values.
    OneClassWarning
        The model predicts the same class for all rows.

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
    per_row, label = {"weight": weight, "time": time}, label_of_model(init)
    X, y, views = open_views(X, y, on, views=views, per_row=per_row, label=label)
    _check_outputs(X, output, checkpoint)
    if checkpoint is not None and isinstance(init, str | os.PathLike):
        _check_different(init, checkpoint, "the model and its checkpoint")
    for file in (output, checkpoint):
        if file is not None and log is not None:
            _check_different(file, log, "the model or its checkpoint, and the log")
    if resume and checkpoint is None:
        raise InputError("resume= goes on from a file; name it by checkpoint=")
    check_classes_only(task, classes=classes, positive=positive, cost=cost, threshold=threshold)
    if epochs < 1:
        raise InputError(f"epochs={epochs}; give 1 or more")
    check_seed(seed)
    if time is not None and in_order is False:
        raise InputError(f"time={time!r} is an order; leave in_order=False out")
    encoding: dict[str, Any] = {
        "views": views,
        "text": text,
        "categorical": categorical,
        "numeric": numeric,
        "date": date,
        "ignore": ignore,
        "hash_bits": hash_bits,
        "ngrams": ngrams,
        "tf_idf": tf_idf,
        "scale_views": scale_views,
        "bins": bins,
    }
    of_rows = {"time": time, "weight": weight}
    scoring = {"metric": metric, "k": k, "cost": cost, "positive": positive, "threshold": threshold}
    with nullcontext() if checkpoint is None else alone(checkpoint):
        if init is None:
            rows = {"task": task, "classes": classes, **encoding, **of_rows}
            job = new_job(X, y, model or DEFAULT_MODEL, settings or {}, rows, scoring, seed)
        else:
            own = {"model": model, "settings": settings, "classes": classes, **_given(encoding)}
            if task != "classification":
                own["task"] = task
            job = continued_job(Start.read(init), X, y, own | _given(scoring), of_rows, seed)
        # 2. learn
        if not job.streamed:
            check_passes(job.entry, epochs)
        if job.streamed:
            order = Order(job.source, in_order if time is None else True, seed)
            passes = Passes(job, order)
            passes.history = history
            if log is not None:
                passes.log = Log(log, log_every, input_files(X))
            if checkpoint is not None:
                shuffled = "in order" if order.state is None else "shuffled"
                named = weight if isinstance(weight, str | None) else "in memory"
                run = _run_of(job, [epochs, shuffled, time]) | {"the weights": named}
                passes.checkpoint = Checkpoint(checkpoint, every, run, resume=resume)
            leaks = LeakCheck(job.source)
            job.source.check = leaks.see
            answer = passes.learn(epochs, observer or TrainingObserver())
            answer.warnings = leaks.finish()
        else:
            for name, file in (("checkpoint", checkpoint), ("log", log)):
                if file is not None:
                    what = f"model {job.entry.name!r} learns all rows at once"
                    raise InputError(f"{what}, and has no {name}; leave it out")
            answer = learn_at_once(job)
        answer.warn_of_one_class()
        # 3. keep it
        if output is not None:
            parts, kept = named_steps(answer.encoder, answer.learner), answer.progress
            save_steps(parts, output, pipeline=len(parts) > 1, info=answer.info, progress=kept)
        if job.streamed and passes.checkpoint is not None:
            passes.checkpoint.remove()
        return answer


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are not left at their defaults."""
    defaults = {
        "hash_bits": 18,
        "ngrams": 1,
        "tf_idf": False,
        "scale_views": True,
        "threshold": "tuned",
    }
    return {name: value for name, value in options.items() if value != defaults.get(name)}


def _check_outputs(X: Any, *outputs: str | os.PathLike[str] | None) -> None:
    """Raise an error for a file that must not be written, or is to be two things."""
    files = [file for file in outputs if file is not None]
    for file in files:
        check_writable(file, MODEL, input_files(X))
    if len(files) == 2:
        _check_different(files[0], files[1], "the model and its checkpoint")


def _check_different(
    file: str | os.PathLike[str], other: str | os.PathLike[str], what: str
) -> None:
    """Raise an error for two outputs of which one would replace the other."""
    if os.path.realpath(file) == os.path.realpath(other):
        raise InputError(f"is {what}; name two files", file=str(file))


def _run_of(job: Job, order: list[Any]) -> dict[str, Any]:
    """What makes a run: with another one of these, the rows or the updates are others."""
    source, task, start = job.source, job.task, job.start
    return {
        "the model": job.about["name"],
        "its settings": settings_of(job.learner),
        "the seed": job.about["seed"],
        "passes and order": order,
        "the encoding": settings_of(source.encoder),
        "the views": [list(source.layout.names), [int(width) for width in source.layout.widths]],
        "the classes": [str(label) for label in source.classes.tolist()],
        "the metric": [task.metric, str(task.positive_label), str(task.threshold)],
        "the number of rows": source.n_rows,
        "the model to go on from": None if start is None else checksum(start.counts, {}),
        **{f"the hash of the {name}": found for name, found in source.hashes().items()},
    }


def settings_of(estimator: Any) -> str | None:
    """All parameters as text; ``repr`` leaves some out where they are many."""
    if estimator is None:
        return None
    params = estimator.get_params(deep=False).items()
    words = ", ".join(f"{name}={value!r}" for name, value in params)
    return f"{type(estimator).__name__}({words})"
