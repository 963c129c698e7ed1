"""Training of one model, on a stream of rows or in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from crossview.catalog.names import check_task
from crossview.data.joining.views_as_table import label_of_model, open_views
from crossview.data.labeled_source import encoder_with_views, given_parameters
from crossview.data.row_columns import check_seed
from crossview.data.summaries.leaks import LeakCheck
from crossview.encoding.encode import ViewEncoder
from crossview.errors import InputError, argument, check_kind
from crossview.estimators.documentation import document_parameters
from crossview.readers.source import input_files
from crossview.saving.files import LOG, MODEL, alone, check_writable
from crossview.saving.model_files import checksum, save_steps
from crossview.saving.pipelines import named_steps
from crossview.scoring.models.trained import Trained, TrainingObserver
from crossview.scoring.specification import SHARED, Scoring
from crossview.training.checkpoint import Checkpoint, CheckpointFile
from crossview.training.fit_in_memory import fit_in_memory
from crossview.training.job import (
    Job,
    Start,
    check_passes,
    continued_job,
    new_job,
    target_notes,
    weight_notes,
)
from crossview.training.log import TrainingLog
from crossview.training.passes import Order, Passes
from crossview.views import column_called

__all__ = ["Trained", "TrainingObserver", "train"]

DEFAULT_MODEL = "stacking"


@document_parameters(SHARED)
def train(
    X: Any,
    y: Any = None,
    *,
    on: str | Sequence[str] | None = None,
    model: str | None = None,
    settings: Mapping[str, Any] | None = None,
    output: str | os.PathLike[str] | None = None,
    views: Mapping[str, Any] | None = None,
    encoder: ViewEncoder | None = None,
    task: str | None = None,
    scoring: str | Scoring | None = None,
    epochs: int = 1,
    in_order: bool | None = None,
    time: str | None = None,
    weight: Any = None,
    groups: Any = None,
    seed: int = 0,
    classes: Sequence[Any] | None = None,
    init: str | os.PathLike[str] | Trained | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    log: str | os.PathLike[str] | TrainingLog | TrainingObserver | None = None,
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
        ORDER BY, or the model of ``init`` has learned its rows in order.
    time : str, default=None
        A column of timestamps, dates or numbers: the rows are learned in its order, those of the
        same time in the order of the source.  The column is in no view.  The rows are sorted in
        memory, up to 512 MB; of more, give a query with ORDER BY.  None: of ``init``, the column of
        its training, unless X is such a query or ``in_order`` is given.
    weight : array-like of shape (n_samples,) or str, default=None
        How much each row counts in learning and calibration, 0 or more; 0: not at all.  The name of
        a column: its values; the column is in no view.  Loss, metric, threshold and encoder count
        each row once.  Weights multiply C, and mean as many equal rows to the calibration: divide
        them by their mean if that is far from 1.
    groups : array-like of shape (n_samples,) or str, default=None
        Which rows belong together, such as the patient of each visit, where later rows are of new
        ones: rows that are held out while the model is learned (to stop boosted trees, and to
        choose probabilities, a threshold, weights of an ensemble and the penalty of a kernel) have
        a group that is not learned.  A row without a group stands alone.  Otherwise trees learn the
        patients by heart.  The name of a
        column: its values; the column is in no view.  Online learners hold out no rows in their
        only pass, and the passes of machines and steps of Pegasos and KeCo are chosen by rows that
        stand alone: by groups machines stopped too early.  None: the rows stand alone, or the
        groups of a `MultiView`.
    seed : int, default=0
        Seed of the order of the rows and of the random numbers of the model.
    classes : sequence, default=None
        All labels that may occur.  None: an additional pass reads the label column first.
    init : path-like or Trained, default=None
        The model to go on from: a file that `train` wrote, or what it returned.  It has learned the
        rows before these, and its counts go on; if it has learned them with ``in_order=True``, the
        model is, to the last bit, the one of a single run over all rows in this order.  Model,
        settings, views, encoding, classes, metric and threshold are its own.  Categories and words
        may be new, labels not.  Where it is ``output``, too, another run with it at the same time
        is an error.  None: a new model.
    checkpoint : path-like or Checkpoint, default=None
        A file that keeps the run while it lasts, every minute; as a `Checkpoint` it also says how
        often, and whether the run goes on from it.  None: none.
    log : path-like, TrainingLog or TrainingObserver, default=None
        Who is told how the training goes.  A path: a file of JSON lines, one for each window of
        rows of the first pass; a `TrainingLog` also says how many rows a window has.  The methods
        of a `TrainingObserver` are called; with ``history`` the result has what pictures of the
        first pass need, and with ``log`` such a file is written, too.  None: nobody.

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
        The model predicts the same class for all or nearly all rows.
    LearnedRowsWarning
        Many of the rows are equal to rows that the model of ``init`` had learned.

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
    weight, groups, time = (column_called(X, one) for one in (weight, groups, time))
    check_kind("a whole number", epochs=epochs, seed=seed)
    check_kind("a mapping of names or None", settings=settings)
    check_kind("a name or None", task=task, time=time)
    check_kind("a name or one value per row or None", y=y, weight=weight, groups=groups)
    check_kind("True or False or None", in_order=in_order)
    check_kind("a list of names or None", classes=classes)
    check_kind("a path or None", output=output)
    check_kind("a path or a Trained or None", init=init)
    check_kind("a path or a Checkpoint or None", checkpoint=checkpoint)
    check_kind("a path or a TrainingLog or a TrainingObserver or None", log=log)
    encoder, scoring = encoder_with_views(encoder, views), Scoring.of(scoring)
    if not isinstance(checkpoint, Checkpoint | None):
        checkpoint = Checkpoint(checkpoint)
    observer = log if isinstance(log, TrainingObserver) else TrainingObserver(log=log)
    written = TrainingLog.of(observer.log)
    per_row = {"weight": weight, "time": time, "groups": groups}
    label = label_of_model(init)
    X, y, views = open_views(X, y, on, views=encoder.views, per_row=per_row, label=label)
    encoder.set_params(views=views)
    _check_files(X, init, output, checkpoint, written)
    if task is not None:
        scoring.check_task(check_task(task))
    if classes is not None and task == "regression":
        raise InputError(
            f"{argument('classes')} is about classes; leave it out where "
            f"{argument(task='regression')}"
        )
    if epochs < 1:
        raise InputError(f"{argument(epochs=epochs)}; give 1 or more")
    check_seed(seed)
    if time is not None and in_order is False:
        raise InputError(f"{argument(time=time)} is an order; leave {argument(in_order=False)} out")
    of_rows = {"classes": classes, "time": time, "weight": weight, "groups": groups}
    with ExitStack() as locks:
        if checkpoint is not None:
            locks.enter_context(alone(checkpoint.path))
        if output is not None and isinstance(init, str | os.PathLike) and _is_same(init, output):
            locks.enter_context(alone(output))  # another run would learn from the same model
        in_order = in_order if time is None else True
        if init is None:
            name = DEFAULT_MODEL if model is None else model
            given = name, settings or {}, encoder, task, scoring, seed
            job = new_job(X, y, *given, in_order=in_order, **of_rows)
        else:
            start = Start.read(init)
            if of_rows.pop("groups") is not None:
                raise InputError(
                    f"{argument('groups')} says which rows a new model holds out; leave it out, or "
                    f"leave {argument('init')} out"
                )
            own = {"model": model, "settings": settings, "classes": of_rows.pop("classes")}
            start.refuse(**own, **given_parameters(encoder), **scoring.given())
            start.refuse(task=task)
            job = continued_job(start, X, y, of_rows, seed, by_time=in_order is None)
        # 2. learn
        if job.streamed:
            before = None if job.start is None else job.start.info["order"]
            order = Order(job.source, in_order, seed, before)
            most = getattr(job.encoder, "max_users", None)
            if most is not None and (order.state is not None or epochs > 1):
                raise InputError(
                    f"{argument(max_users=most)} drops who was not seen for longest, so the rows "
                    f"are learned once, and in their order; give {argument(in_order=True)}, and "
                    "leave epochs out"
                )
            kept = None
            if checkpoint is not None:
                shuffled = "in order" if order.state is None else "shuffled"
                named = weight if isinstance(weight, str | None) else "in memory"
                run = _run_of(job, [epochs, shuffled, job.source.time]) | {"the weights": named}
                kept = CheckpointFile(checkpoint, run)
            leaks = LeakCheck(job.source)
            job.source.check = leaks.see
            passes = Passes(job, order, kept, written, observer)
            answer = passes.learn(epochs)
            answer.warnings = [*leaks.finish(), *order.notes, *target_notes(job, leaks.labels)]
            answer.warnings += passes.learned_before()
        else:
            check_passes(job.entry, epochs)
            for name, file in (("checkpoint", checkpoint), ("log", written)):
                if file is not None:
                    what = f"model {job.entry.name!r} learns all rows at once"
                    raise InputError(f"{what}, and has no {name}; leave it out")
            answer = fit_in_memory(job)
        answer.warnings += weight_notes(job, weight is not None)
        answer.warn_of_one_class()
        # 3. keep it
        job.name_columns(answer.encoder)
        if output is not None:
            parts, progress = named_steps(answer.encoder, answer.learner), answer.progress
            save_steps(parts, output, pipeline=len(parts) > 1, info=answer.info, progress=progress)
        if checkpoint is not None:
            checkpoint.path.unlink(missing_ok=True)
        return answer


def _check_files(
    X: Any,
    init: Any,
    output: str | os.PathLike[str] | None,
    checkpoint: Checkpoint | None,
    log: TrainingLog | None,
) -> None:
    """Raise an error for a file that must not be written, or is to be two things."""
    inputs = input_files(X)
    kept = None if checkpoint is None else checkpoint.path
    written = None if log is None else log.path
    for file, kind in ((output, MODEL), (kept, MODEL), (written, LOG)):
        if file is not None:
            check_writable(file, kind, inputs)
    before = init if isinstance(init, str | os.PathLike) else None
    for file, other, what in (
        (output, kept, "the model and its checkpoint"),
        (before, kept, "the model and its checkpoint"),
        (output, written, "the model or its checkpoint, and the log"),
        (kept, written, "the model or its checkpoint, and the log"),
    ):
        if file is not None and other is not None and _is_same(file, other):
            raise InputError(f"is {what}; name two files", file=str(file))


def _is_same(file: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Return whether two names lead to one file."""
    return os.path.realpath(file) == os.path.realpath(other)


def _run_of(job: Job, order: list[Any]) -> dict[str, Any]:
    """Return the identity of a run: with another value here, rows or updates are others."""
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
        "the columns of labels and the like": source.other_columns,
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
