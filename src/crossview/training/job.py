"""Jobs of training: a new model, or one that goes on with other rows."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from crossview.catalog.learner import BASELINE, Learner
from crossview.catalog.learners import ENSEMBLE, find_learner
from crossview.catalog.members import default_members, make_members
from crossview.catalog.metrics import metric_of
from crossview.catalog.names import check_is_name
from crossview.data.labeled import LabeledSource
from crossview.data.labeled_source import open_labeled, open_more
from crossview.data.row_sketch import RowSketch
from crossview.encoding.encode import ViewEncoder
from crossview.encoding.view_reader import ViewReader
from crossview.errors import InputError, argument
from crossview.estimators.targets import scale_of_skewed
from crossview.labels import Threshold, about_constant, about_weights, has_label, read_threshold
from crossview.saving.model_files import load, load_progress
from crossview.saving.pipelines import steps
from crossview.saving.schema import MAX_COUNT, check_header
from crossview.saving.training_info import read_training_info
from crossview.scoring.problems import Problem, make_problem
from crossview.scoring.specification import Scoring

# the part of the header of a finished model from which training goes on with other rows
FINISHED = "finished"
SCHEMA: dict[str, Any] = {
    FINISHED: {"threshold": (float, [float], str, None), "unlabeled": int, "skipped": int}
}


@dataclass
class Start:
    """A finished model from which training goes on with other rows.

    fitted: the encoder and the learner; its own copy.
    info: the metadata of the model.
    counts: of all rows that it has learned, each predicted before.
    threshold: what was asked for.
    unlabeled, skipped: rows without a label that were learned and passed over.
    sketch: of the rows that were learned, as far as they are known.
    """

    fitted: Any
    info: dict[str, Any]
    counts: dict[str, np.ndarray]
    threshold: Threshold | str | None
    unlabeled: int
    skipped: int
    sketch: RowSketch = field(default_factory=RowSketch)

    @classmethod
    def read(cls, model: Any) -> Start:
        """Return the model of a file, or of what `train` returned."""
        if hasattr(model, "progress"):
            fitted, info, progress = copy.deepcopy((model.fitted, model.info, model.progress))
            name = None
        else:
            fitted, name = load(model), os.fspath(model)
            info = read_training_info(model, steps(fitted)[1])
            try:
                progress = load_progress(model)
            except InputError:
                progress = None
        if progress is None:
            raise InputError(
                "holds no counts to go on from: it was not written by train, or learned all rows "
                "at once; train on all rows again",
                file=name,
            )
        header, counts = progress
        if FINISHED not in header:
            raise InputError(
                f"is the checkpoint of an unfinished run; go on by {argument('checkpoint')} and "
                f"{argument('resume')}",
                file=name,
            )
        try:
            check_header(header, SCHEMA, "training")
            start = cls(fitted, info, counts, **header[FINISHED])
            start._check()
            start.sketch = RowSketch.of_info(info) or start.sketch
        except InputError as error:
            raise InputError(f"is a damaged model file: {error.message}", file=name) from None
        return start

    def _check(self) -> None:
        """Raise an error if metadata and counts are of other rows; the counts say the rest."""
        if not self.info.get("metric") or "tally.n_rows" not in self.counts:
            raise InputError("it lacks the metric, or its counts")
        if self.counts["tally.n_rows"].tolist() != [self.info["rows"]]:
            raise InputError("its counts are not of the rows that it has learned")
        if not (0 <= self.unlabeled <= MAX_COUNT and 0 <= self.skipped <= MAX_COUNT):
            raise InputError("its rows without a label are no number")
        if not isinstance(self.threshold, str):
            read_threshold(self.threshold, len(getattr(steps(self.fitted)[1], "classes_", ())))

    @staticmethod
    def progress(
        counts: dict[str, np.ndarray],
        threshold: Threshold | str | None,
        unlabeled: int,
        skipped: int,
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what a finished model keeps, so that training can go on from it."""
        rows = {"unlabeled": unlabeled, "skipped": skipped}
        return {FINISHED: {"threshold": threshold, **rows}}, counts

    def refuse(self, **options: Any) -> None:
        """Raise an error for an option that the model has already."""
        for name, value in options.items():
            if value is not None and not (isinstance(value, Sized) and not len(value)):
                raise InputError(
                    f"leave {argument(name)} out; the model of {argument('init')} has its own"
                )


class Job(NamedTuple):
    """Learner, encoder and rows of a training.

    streamed: whether it learns row by row.
    learner, encoder: new ones, or those of ``start``; the encoder may be None.
    about: name, task, label, groups and seed, for `Trained`.
    start: the model to go on from.
    settings: parameters that were given.
    ordered: whether the order of the rows means something.
    """

    entry: Learner
    streamed: bool
    learner: Any
    encoder: Any
    source: LabeledSource
    task: Problem
    about: dict[str, Any]
    start: Start | None = None
    settings: Mapping[str, Any] = MappingProxyType({})
    ordered: bool = False

    def name_columns(self, encoder: Any) -> None:
        """Let an encoder that has learned the rows know the columns that are in no view.

        That of a model to go on from knows those of its own table.
        """
        is_new = self.start is None and isinstance(encoder, ViewEncoder)
        if is_new and self.source.has_columns:
            encoder.know_names(self.source.table.column_names)


def new_job(
    X: Any,
    y: Any,
    model: str,
    settings: Mapping[str, Any],
    encoder: ViewEncoder,
    task: str | None,
    scoring: Scoring,
    seed: int,
    *,
    class_rows: Sequence[int] | None = None,
    in_order: bool | None = False,
    **of_rows: Any,
) -> Job:
    """Return the job of a new model, with the arguments of `train`.

    ``class_rows``: number of rows of each class; None: as the source counts them. ``in_order``:
    whether the rows are learned in their order; None: if a query orders them. ``of_rows`` are
    arguments of `open_labeled`.
    """
    if settings.get("kernel") == "precomputed":  # rows of kernel values are no views
        encoder.set_params(scale_views=False)
    check_is_name(model)
    source = open_labeled(X, y, encoder=encoder, task=task, **{"unlabeled": True} | of_rows)
    task = source.task
    scoring.check_task(task)
    entry = _baseline(model, task) or find_learner(model, task, source.layout.names)
    rows = source.class_rows if class_rows is None else class_rows
    problem = make_problem(task, source.classes, scoring, class_rows=rows)
    if task == "classification":
        entry = entry.for_metric(problem.metric, problem.positive_label)
    if entry.view is not None:
        source = source.select_view(entry.view)
    given = entry.check_settings(settings)
    ordered = bool(in_order or (in_order is None and source.ordered))
    if ordered:
        given = {**entry.in_order_params, **given}
    if entry.name == ENSEMBLE:
        if task == "regression":
            given = {"loss": metric_of(problem.metric).trains, **given}
        words, scored = given.get("members") or (), (problem.metric, problem.positive_label)
        if ordered and not words:
            words = default_members(source.layout.names)
        if words and all(isinstance(one, str) for one in words):
            given |= make_members(words, task, source.layout.names, scored, ordered)
    learner = entry.make(**given, random_state=seed)
    learner.check_params()
    streamed = entry.is_streamed(given)
    source.settle_bins(streamed=entry.is_binned(given))
    if streamed:
        learner.check_streams()
    own = None if source.encoder is None else clone(source.encoder)
    label, groups = (one if isinstance(one, str) else None for one in (y, of_rows.get("groups")))
    about = {"name": entry.name, "task": task, "label": label, "seed": seed, "groups": groups}
    about |= {"time": source.time}
    return Job(
        *(entry, streamed, learner, own, source, problem, about),
        settings=settings,
        ordered=ordered,
    )


def continued_job(
    start: Start, X: Any, y: Any, of_rows: dict[str, Any], seed: int, *, by_time: bool
) -> Job:
    """Return the job of a model that has learned other rows before.

    ``y`` None: the label is the column of the model. ``of_rows`` are arguments of `open_labeled`.
    With ``by_time`` they have the order of time of those before.
    """
    info, (encoder, learner) = start.info, steps(start.fitted)
    task, classes = info["task"], getattr(learner, "classes_", None)
    y = info["label"] if y is None else y
    entry = find_learner(info["model"], task, learner.layout_.names)
    source = open_more(
        X,
        y,
        encoder,
        task=task,
        unlabeled=True,
        classes=None if classes is None else classes.tolist(),
        time_of_model=info.get("time") if by_time else None,
        **of_rows,
    )
    if entry.view is not None:
        source = source.select_view(entry.view)
    if isinstance(encoder, ViewEncoder):
        others = source.other_columns
        encoder.warn_of_unknown(one for one in source.table.column_names if one not in others)
    own = source.encoder
    if (
        isinstance(encoder, ViewReader)
        and isinstance(own, ViewReader)
        and own.views != encoder.views
    ):
        learner.widen(source.layout, encoder.widen(own.views))
    if source.layout != learner.layout_:
        raise InputError(
            f"the rows have the views {source.layout}, and the model {learner.layout_}",
            file=source.file,
        )
    metric, positive = info["metric"]["name"], info["positive"]
    scoring = Scoring(metric, positive=positive, threshold=start.threshold)
    problem = make_problem(task, classes, scoring, positive_by=info["positive_by"])
    known = {name: info.get(name) for name in ("task", "label", "groups")}
    own_time = source.time or info.get("time")
    about = {"name": entry.name, **known, "seed": seed, "time": own_time}
    return Job(entry, True, learner, encoder, source, problem, about, start)


def _baseline(model: str, task: str) -> Learner | None:
    """The entry of a baseline that a model file holds; None where the name is of no baseline."""
    if not model.startswith(BASELINE):
        return None
    # it takes long to load
    from crossview.baselines import check_trainable, find_baseline

    entry = find_baseline(model, task)
    check_trainable(entry)
    return entry


def check_passes(entry: Learner, epochs: int) -> None:
    """Raise an error if ``epochs`` does not apply to the learner."""
    if epochs == 1:
        return
    if entry.baseline or not (entry.streams or "tol" in entry.parameters()):
        raise InputError(f"{argument(epochs=epochs)}: {entry.name} has no passes; leave epochs out")
    if not entry.streams:
        raise InputError(
            f"{argument(epochs=epochs)}: {entry.name} makes no passes but stops by its parameter "
            "tol; leave epochs out, or set tol=0.0001"
        )
    switch = ", ".join(f"{name}={value}" for name, value in entry.stream_params.items())
    raise InputError(
        f"{argument(epochs=epochs)}: {entry.name} draws rows; leave epochs out, or set {switch}"
    )


def weight_notes(job: Job, given: bool) -> list[str]:
    """Return a line if weights of rows, ``given`` or of the source, have no effect."""
    ignored = (given or job.source.weighted) and not job.learner.weighs_rows
    return [about_weights([job.entry.name])] if ignored else []


def target_notes(job: Job, labels: list[np.ndarray]) -> list[str]:
    """Return a line if the numbers to predict are one, or if their logarithm may be better."""
    if job.task.name != "regression" or job.start is not None or not labels:
        return []
    y, scale = np.concatenate(labels), getattr(job.learner, "target_scale", None)
    y = y[has_label(y)].astype(np.float64)
    if len(y) and (y == y[0]).all():
        return [about_constant(y[0])]
    is_open = scale == "linear" and "target_scale" not in job.settings
    better = scale_of_skewed(y) if is_open else None
    if better is None or "target_scale" not in job.entry.parameters():
        return []
    return [
        f"the number to predict is skewed, as where effects multiply: set target_scale={better} to "
        "learn its logarithm, which may be better; crossview compare tries both"
    ]
